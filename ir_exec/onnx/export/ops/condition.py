"""Lowerings of the folder condition."""

from __future__ import annotations

from ir_exec.graph import BodyGraph
from ir_exec.onnx.export.bodies import lower_branch
from ir_exec.onnx.export.node import ExportNode
from ir_exec.onnx.export.ops.common import align_operand, aligned_name, working
from ir_exec.onnx.export.registry import Outputs, export
from ir_exec.ops.condition import If, NonZero, Select
from ir_exec.types import ElementType


@export(Select)
def select(node: ExportNode) -> Outputs:
    if node.op.auto_broadcast != "pdpd":
        return node.emit("Where", *node.inputs)
    condition = aligned_name(node, node.inputs[0], 0, to=1)
    return node.emit("Where", condition, node.inputs[1], align_operand(node, 2, to=1))


@export(NonZero)
def non_zero(node: ExportNode) -> Outputs:
    element_type = node.kind()
    value = node.inputs[0] if element_type is ElementType.boolean else node.cast(working(node, 0), ElementType.boolean)
    if node.rank() == 0:
        count = node.reshape(node.cast(value, ElementType.i64), [1])
        indices = node.emit("Expand", node.constant(0, ElementType.i64), node.concat([count, count]))
    else:
        indices = node.emit("NonZero", value)
    return node.cast(indices, node.op.output_type)


@export(If, inline=True)
def if_(node: ExportNode) -> Outputs:
    graphs = {}
    count = len(node.out_types)
    for body, attribute in zip(node.bodies, ("then_branch", "else_branch"), strict=True):
        graphs[attribute] = lower_branch(node, body, _positions(body, count), _lifts(node, body, count))
    condition = node.inputs[0]
    if node.rank() != 0:
        condition = node.reshape(condition, [])
    kinds = [type.element_type for type in node.out_types]
    outputs = node.emit("If", condition, outputs=count, kinds=kinds, **graphs)
    return (outputs,) if isinstance(outputs, str) else outputs


def _positions(body: BodyGraph, count: int) -> list[int]:
    """The Result of a body for each output of the layer."""
    assert body.ties is not None
    by_position = {tie.position: tie.result for tie in body.ties.outputs}
    return [by_position[position] for position in range(count)]


def _lifts(node: ExportNode, body: BodyGraph, count: int) -> list[bool]:
    """Return True for each output that is a scalar in the body and a vector of the layer."""
    results = _positions(body, count)
    lifts = []
    for position, result in enumerate(results):
        type = node.lowerer.type_of(body.graph.results[result].values_in[0])
        lifts.append(type.rank == 0 and node.out_types[position].rank == 1)
    return lifts
