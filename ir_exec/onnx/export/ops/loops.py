"""Lowerings of Loop and TensorIterator to ONNX's Loop."""

from __future__ import annotations

import numpy as np

from ir_exec.graph import BodyGraph
from ir_exec.onnx.export.bodies import copy_outputs
from ir_exec.onnx.export.node import ExportNode
from ir_exec.onnx.export.registry import Outputs, export
from ir_exec.ops.base.bodies import BodyOutput, Part, Ties
from ir_exec.ops.infrastructure.loops import Loop, TensorIterator
from ir_exec.types import ElementType, TensorType


@export(TensorIterator, inline=True)
def tensor_iterator(node: ExportNode) -> Outputs:
    body, ties = _body(node)
    sliced = [(tie.position, tie.part) for tie in ties.inputs if tie.part is not None and tie.position is not None]
    if sliced:
        position, part = next(
            (
                (input_position, cut)
                for input_position, cut in sliced
                if node.rank(input_position) is not None and node.dims(input_position)[cut.axis].is_static
            ),
            sliced[0],
        )
        trips = _trips(node, position, part)
    else:
        lengths = [abs(tie.part.end - tie.part.start) // tie.part.part_size for tie in ties.outputs if tie.part]
        trips = node.constant(lengths[0] if lengths else 1, ElementType.i64)
    return _loop(node, body, ties, trips, node.constant(True, ElementType.boolean))


@export(Loop, inline=True)
def loop(node: ExportNode) -> Outputs:
    body, ties = _body(node)
    known_trips = node.known_ints(0)
    if known_trips is not None:
        trips = "" if known_trips[0] < 0 else node.constant(known_trips[0], ElementType.i64)
    else:
        trips = node.reshape(node.i64(0), [])
        is_open = node.emit("Less", trips, node.constant(0, ElementType.i64))
        trips = node.emit("Where", is_open, node.constant(2**63 - 1, ElementType.i64), trips)
    start = node.inputs[1] if node.rank(1) == 0 else node.reshape(node.inputs[1], [])
    return _loop(node, body, ties, trips, start)


def _body(node: ExportNode) -> tuple[BodyGraph, Ties]:
    (body,) = node.bodies
    assert body.ties is not None
    return body, body.ties


def _trips(node: ExportNode, position: int, part: Part) -> str:
    """The number of slices of an input."""
    axis = part.axis
    size = node.dim(axis, position)
    if isinstance(size, int):
        return node.constant(part._count(size), ElementType.i64)
    start, end = (node.plus(size, edge) if edge < 0 else edge for edge in (part.start, part.end))
    first, last = (start, end) if part.stride > 0 else (end, start)
    length = node.emit("Sub", node.dim_name(node.plus(last, 1)), node.dim_name(first))
    steps = node.emit("Div", node.emit("Sub", length, node.ints([part.part_size])), node.ints([abs(part.stride)]))
    return node.reshape(node.emit("Max", node.emit("Add", steps, node.ints([1])), node.ints([0])), [])


def _loop(node: ExportNode, body: BodyGraph, ties: Ties, trips: str, start: str) -> Outputs:
    """One Loop: back edges are carried, slices become scan outputs, last values are carried or scanned."""
    lowerer, writer = node.lowerer, node.writer
    graph = body.graph
    unsliced = {tie.parameter: tie.position for tie in ties.inputs if tie.part is None and tie.position is not None}
    carried = {edge.parameter: edge.result for edge in ties.back_edges}
    initial = {parameter: node.inputs[unsliced[parameter]] for parameter in carried}
    results = [lowerer.type_of(result.values_in[0]) for result in graph.results]
    extra = _carried_results(ties, results, set(carried.values()))
    iteration, going = writer.fresh(f"{node.name}/iteration"), writer.fresh(f"{node.name}/condition")
    writer.codes[iteration], writer.codes[going] = 7, 9
    inputs = [lowerer.plain_info(iteration, ()), lowerer.plain_info(going, ())]
    slices = []
    for index, parameter in enumerate(graph.parameters):
        value = parameter.outputs[0]
        if index in carried:
            name = writer.unique(lowerer.value_name(value))
            writer.codes[name] = writer.codes[initial[index]]
            lowerer.names[value] = name
            inputs.append(lowerer.plain_info(name))
        elif index in unsliced:
            lowerer.names[value] = node.inputs[unsliced[index]]
        else:
            slices.append((index, value))
    for result in extra:
        name = writer.fresh(f"{node.name}/last")
        writer.codes[name] = writer.code(results[result].element_type)
        inputs.append(lowerer.plain_info(name))
    scanned = list(dict.fromkeys(tie.result for tie in ties.outputs if _is_scanned(tie, carried, extra)))
    with writer.inside() as scope:
        for index, value in slices:
            lowerer.names[value] = _sliced_input(node, ties, index, iteration, lowerer.type_of(value))
        lowerer.nodes(graph)
        conditions = [tie.result for tie in ties.outputs if tie.is_condition]
        names = [lowerer.names[result.values_in[0]] for result in graph.results]
        condition = going
        if conditions:
            condition = names[conditions[0]]
            if results[conditions[0]].rank != 0:
                condition = node.reshape(condition, [])
        body_outputs = [
            condition,
            *(names[carried[index]] for index in carried),
            *(names[result_index] for result_index in (*extra, *scanned)),
        ]
        outputs = [lowerer.plain_info(output) for output in copy_outputs(node, scope, body_outputs)]
        proto = writer.graph(f"{node.name}/body", scope, inputs, outputs)
    zeros = [
        node.constant(np.zeros(results[result_index].shape.static, results[result_index].element_type.dtype))
        for result_index in extra
    ]
    kinds = [results[carried[index]].element_type for index in carried]
    kinds += [results[result_index].element_type for result_index in (*extra, *scanned)]
    order = [index for index in range(len(graph.parameters)) if index in carried]
    carried_inputs = [initial[index] for index in order]
    if list(carried) != order:
        node.refuse("the order of its back edges differs from the order of its parameters")
    loop_outputs = node.emit("Loop", trips, start, *carried_inputs, *zeros, outputs=len(kinds), kinds=kinds, body=proto)
    loop_outputs = (loop_outputs,) if isinstance(loop_outputs, str) else loop_outputs
    last = {**{result: loop_outputs[i] for i, result in enumerate(carried.values())}}
    last |= {result: loop_outputs[len(carried) + i] for i, result in enumerate(extra)}
    stacks = {result: loop_outputs[len(carried) + len(extra) + i] for i, result in enumerate(scanned)}
    final: dict[int, str] = {}
    for tie in ties.outputs:
        if tie.position is None:
            continue
        if tie.part is not None:
            final[tie.position] = _concatenate_slices(node, stacks[tie.result], tie.part, results[tie.result])
        elif tie.result in last:
            final[tie.position] = last[tie.result]
        else:
            final[tie.position] = node.emit("Gather", stacks[tie.result], node.constant(-1, ElementType.i64), axis=0)
    return [final[index] for index in range(len(node.out_types))]


def _carried_results(ties: Ties, results: list[TensorType], carried: set[int]) -> list[int]:
    """The Results without a back edge whose last values are outputs, and which can start as zeros."""
    last_results = [tie.result for tie in ties.outputs if tie.position is not None and tie.part is None]
    return [
        fromkey
        for fromkey in dict.fromkeys(last_results)
        if fromkey not in carried and results[fromkey].shape.is_static
    ]


def _is_scanned(tie: BodyOutput, carried: dict[int, int], extra: list[int]) -> bool:
    if tie.position is None:
        return False
    return tie.part is not None or (tie.result not in carried.values() and tie.result not in extra)


def _sliced_input(node: ExportNode, ties: Ties, parameter_index: int, iteration: str, type: TensorType) -> str:
    """The value of a Parameter in one iteration: a slice of an input, or the index of the iteration."""
    tie = next((input for input in ties.inputs if input.parameter == parameter_index), None)
    if tie is None or tie.counts_iterations:
        number = node.cast(iteration, type.element_type)
        return number if type.rank == 0 else node.reshape(number, [1] * (type.rank or 1))
    part = tie.part
    assert part is not None
    assert tie.position is not None
    axis = node.axis(part.axis, tie.position)
    offset = part.start
    size: int | str = node.dim(axis, tie.position) if part.start < 0 else 0
    first = node.plus(size, offset - (part.part_size - 1 if part.stride < 0 else 0))
    step = node.emit("Mul", node.reshape(iteration, [1]), node.ints([part.stride]))
    begin = node.emit("Add", step, node.dim_name(first))
    end = node.emit("Add", begin, node.ints([part.part_size]))
    return node.emit("Slice", node.inputs[tie.position], begin, end, node.ints([axis]))


def _concatenate_slices(node: ExportNode, stack: str, part: Part, type: TensorType) -> str:
    """The values of all iterations, concatenated along an axis."""
    if part.stride < 0:
        count = node.ints([0])
        stack = node.emit("Slice", stack, node.ints([-1]), node.ints([-(2**63)]), count, node.ints([-1]))
    rank = type.rank
    if rank is None:
        node.refuse("the rank of an output of its body is unknown")
    if rank == 0:
        return stack
    axis = part.axis % rank
    stack = node.transpose(stack, [*range(1, axis + 1), 0, *range(axis + 1, rank + 1)])
    dims: list[int | str] = [dim.size if dim.is_static else 0 for dim in type.shape]
    if type.shape.is_static and 0 not in dims:
        return node.reshape(stack, [*dims[:axis], -1, *dims[axis + 1 :]])  # type: ignore[list-item]  # all are numbers
    before = node.emit("Shape", stack, start=0, end=axis) if axis else ""
    merged = node.emit("Mul", node.dim_of(stack, axis), node.dim_of(stack, axis + 1))
    behind = node.emit("Shape", stack, start=axis + 2) if axis + 2 <= rank else ""
    return node.reshape_to(stack, [size for size in (before, merged, behind) if size])
