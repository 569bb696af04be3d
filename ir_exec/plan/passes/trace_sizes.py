"""Sizes that change from run to run, inferred once as expressions of the sizes of inputs and variables.

A plan with dynamic dims infers the types of many steps in every run. Here the inference is traced for the sizes of one
run: the plan then needs no inference for all runs whose sizes give the same results of the traced comparisons. Shapes
that layers compute from sizes are computed by the expressions, before the run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ir_exec.errors import IRError, raise_error
from ir_exec.graph import Node
from ir_exec.infer import infer_outputs
from ir_exec.ops import Op
from ir_exec.ops.infrastructure.values import ReadsVariable
from ir_exec.plan.memory import byte_size
from ir_exec.plan.run_sizes import EvaluatesSlots, RunSizes, SizedSlots, TracedTypes
from ir_exec.types import Array, Dim, Shape, TensorType
from ir_exec.types.traced_size import SizeTrace, TracedSize

if TYPE_CHECKING:
    from ir_exec.plan.graph import PlanGraph

__all__ = ["precompute_values", "trace_types"]

MOST_ELEMENTS = 64
"""Maximum elements of a value that is traced."""

MOST_GUARDS = 1024
"""Maximum comparisons of the sizes of a plan."""


def trace_types(graph: PlanGraph, sizes: RunSizes, parameters: Sequence[Node]) -> TracedTypes:
    """Infer the types of nodes for the sizes of a run, as expressions."""
    traced = TracedTypes()
    _Tracer(graph, sizes, traced).trace(parameters)
    return traced


def precompute_values(graph: PlanGraph, traced: TracedTypes) -> None:
    """Compute values that follow from the sizes of a run before its steps, and remove the nodes that compute them."""
    if traced.nodes and len(traced.comparisons.guards) <= MOST_GUARDS:
        nodes, computed = _partition(graph, traced)
        graph.sized = _make_slots(graph, traced, nodes, computed)
        graph.set_nodes(nodes)


@dataclass(slots=True)
class _Tracer:
    """Infers the nodes of a plan with traced sizes."""

    graph: PlanGraph
    sizes: RunSizes
    traced: TracedTypes

    def trace(self, parameters: Sequence[Node]) -> None:
        variables = dict(self.sizes.variables)
        for position, node in enumerate(parameters):
            self._enter(node.outputs[0].number, position, self.sizes.inputs[position])
        for node in self.graph.nodes:
            op = self.graph.operator(node)
            if isinstance(op, ReadsVariable):
                shape = variables.get(op.variable_id)
                if shape is not None:
                    self._enter(node.outputs[0].number, op.variable_id, shape)
                    self.traced.nodes.add(node)
            elif not node.bodies and not op.infer_context and not op.pads_to_static:
                self._infer(node, op)

    def _enter(self, number: int, key: int | str, shape: tuple[int, ...]) -> None:
        """Trace the dynamic dims of an input or of a variable."""
        type = self.graph.types[number]
        if not type.element_type.is_known or type.rank not in (None, len(shape)):
            return
        declared = type.shape.dims or [Dim.any()] * len(shape)
        if all(dim.is_static for dim in declared) and isinstance(key, int):
            self.traced.types[number] = type
            return
        name = self.traced.names.setdefault(key, f"s{len(self.traced.names)}")
        dims = [
            dim if dim.is_static and dim == size else _traced_dim(self.traced.comparisons, size, f"{name}[{axis}]")
            for axis, (dim, size) in enumerate(zip(declared, shape, strict=True))
        ]
        self.traced.comparisons.require(f"len({name}) == {len(shape)}")
        for axis, dim in enumerate(dims):
            if isinstance(key, str) and not isinstance(dim.lo, TracedSize):
                self.traced.comparisons.require(f"{name}[{axis}] == {dim.lo}")
        self.traced.types[number] = TensorType(type.element_type, Shape(dims))

    def _infer(self, node: Node, op: Op) -> None:
        types: list[TensorType] = []
        unknown: list[bool] = []

        def note_unknown() -> None:
            unknown.append(True)

        for value in node.values_in:
            array = self.graph.known(value)
            type = self.traced.types.get(value.number) if array is None else TensorType.of(array)
            if type is None:
                return
            types.append(type if type.source else TensorType(type.element_type, type.shape, note_unknown))
        try:
            outputs = infer_outputs(op, types, {}, raise_error) or []
        except (IRError, TypeError):
            return
        if unknown:
            # Faults depend on elements that are known in the run only.
            return
        if len(outputs) != len(node.outputs) or not all(_is_traced(type) for type in outputs):
            return
        values = self._compute(op, types, outputs)
        for output, type, elements in zip(node.outputs, outputs, values, strict=True):
            unbounded = type.without_values()
            self.traced.types[output.number] = unbounded if elements is None else type.with_bounds(elements, elements)
        self.traced.nodes.add(node)

    def _compute(self, op: Op, types: list[TensorType], outputs: list[TensorType]) -> list[Array | None]:
        """The traced elements of the outputs, None for those that are unknown."""
        unknown: list[Array | None] = [None] * len(outputs)
        if not op.deterministic or op.evaluate_context or not all(map(_is_small_integer, outputs)):
            return unknown
        try:
            values = [type.value for type in outputs]
            if all(value is not None for value in values):
                return values
            arrays = [type.value for type in types]
            if any(array is None or not _is_small_integer(type) for array, type in zip(arrays, types, strict=True)):
                return unknown
            return self._evaluate(op, cast("list[Array]", arrays), types, outputs)
        except Exception:
            # An operator that cannot compute with traced integers, or a fault that the run reports.
            return unknown

    def _evaluate(
        self, op: Op, arrays: list[Array], types: list[TensorType], outputs: list[TensorType]
    ) -> list[Array | None]:
        """The outputs of `evaluate` for traced elements, if they are those for ordinary ones."""
        ordinary = [_ordinary(array).astype(type.element_type.dtype) for array, type in zip(arrays, types, strict=True)]
        expected, actual = (
            result if isinstance(result, tuple) else (result,)
            for result in (op.evaluate_known(*ordinary), _evaluate_traced(op, arrays))
        )
        for value, exact, type in zip(actual, expected, outputs, strict=True):
            if value.shape != exact.shape or not np.array_equal(_ordinary(value), exact):
                return [None] * len(outputs)
            limits = np.iinfo(type.element_type.dtype)
            for element in value.ravel().tolist():
                if isinstance(element, TracedSize) and not (int(limits.min) <= element <= int(limits.max)):
                    return [None] * len(outputs)
        return list(actual)


def _traced_dim(trace: SizeTrace, size: int, code: str) -> Dim:
    # Dims compute with traced sizes as with integers.
    return Dim(cast(int, TracedSize(trace, size, code, is_natural=True)))


def _is_traced(type: TensorType) -> bool:
    """Return True if the element type is known and every dim is one expression."""
    return type.element_type.is_known and type.shape.is_static


def _is_small_integer(type: TensorType) -> bool:
    if not type.element_type.is_integer or type.element_type.bits < 32:
        return False
    count = 1
    for dim in type.shape:
        if isinstance(dim.lo, TracedSize):
            return False
        count *= dim.lo
    return count <= MOST_ELEMENTS


def _ordinary(array: Array) -> Array:
    """The values of traced integers."""
    if not array.dtype.hasobject:
        return array
    values = [element.value if isinstance(element, TracedSize) else element for element in array.ravel().tolist()]
    return np.array(values, np.int64).reshape(array.shape)


def _evaluate_traced(op: Op, arrays: list[Array]) -> Any:
    # NumPy's own integers of constants are not needed: objects compute with integers of any size.
    return arrays[0] if op.is_conversion else op.evaluate_known(*arrays)


def _partition(graph: PlanGraph, traced: TracedTypes) -> tuple[list[Node], list[int]]:
    """The nodes that a run needs, and the numbers of the values that are computed before it."""
    needed = {number for number in graph.results if graph.slots[number] is None}
    needed_nodes: list[Node] = []
    computed: list[int] = []
    for node in reversed(graph.nodes):
        numbers = [value.number for value in node.outputs]
        op = graph.operator(node)
        types = [traced.types.get(number) for number in numbers]
        is_computed = node in traced.nodes and not graph.keep.intersection(numbers)
        if is_computed and not op.evaluate_context and all(type and type.value is not None for type in types):
            computed += [number for number in numbers if number in needed]
        elif op.evaluate_context or not needed.isdisjoint(numbers):
            needed_nodes.append(node)
            needed.update(value.number for value in node.values_in if graph.slots[value.number] is None)
    return needed_nodes[::-1], computed


def _make_slots(graph: PlanGraph, traced: TracedTypes, nodes: Sequence[Node], computed: Sequence[int]) -> SizedSlots:
    """Compile the expressions."""
    names: dict[str, Any] = {"__builtins__": {}, "len": len, "sum": sum, "array": np.array}
    parts = []
    for number in computed:
        type = traced.types[number]
        value = type.value
        assert value is not None, "its elements are traced"
        elements = ", ".join(
            [element.code if isinstance(element, TracedSize) else str(element) for element in value.ravel().tolist()]
        )
        names[f"dtype{number}"] = type.element_type.dtype
        part = f"array([{elements}], dtype{number})"
        parts.append(part if value.ndim == 1 else f"{part}.reshape({value.shape})")
    sizes = Counter(size for node in nodes if node in traced.nodes for size in _dynamic_sizes(graph, traced, node))
    # Not `+`, which nests: there may be thousands of sizes.
    total = f"sum(({''.join(f'{count} * {size}, ' for size, count in sizes.items())}))"
    result = f"({total}, ({''.join(f'{part}, ' for part in parts)}))"
    condition = " and ".join(traced.comparisons.guards) or "True"
    parameters = ", ".join(traced.names.values())
    # The source has sizes, comparisons and arithmetic only, none of it from the file.
    evaluate: EvaluatesSlots = eval(f"lambda {parameters}: {result} if {condition} else None", names)
    inputs = tuple([key for key in traced.names if isinstance(key, int)])
    variables = tuple([key for key in traced.names if isinstance(key, str)])
    return SizedSlots(tuple(computed), inputs, variables, evaluate)


def _dynamic_sizes(graph: PlanGraph, traced: TracedTypes, node: Node) -> Iterator[str]:
    """Yield expressions for the bytes of the outputs that the memory of the plan does not count."""
    op = graph.operator(node)
    for value in node.outputs:
        type = traced.types[value.number]
        size: int | TracedSize = byte_size(type)
        if isinstance(size, TracedSize) and not isinstance(op, ReadsVariable):
            yield size.code
