"""The types that a layer passes to the Parameters of its bodies against those that they declare."""

from __future__ import annotations

from collections.abc import Iterator

from ir_exec.check.compare import difference, fits
from ir_exec.codes import Code
from ir_exec.errors import IRError, ShapeError
from ir_exec.graph import Graph, Node
from ir_exec.ops.base.bodies import BodyInput, Ties
from ir_exec.ops.base.shapes import normalize_axis
from ir_exec.ops.infrastructure.values import Parameter
from ir_exec.types import Dim, Shape, TensorType

__all__ = ["body_input_types"]


def body_input_types(node: Node, inputs: list[TensorType]) -> Iterator[tuple[Node, IRError]]:
    """IR605 for each Parameter that declares another type than it is passed, with the Parameter.

    Values carried round a loop are compared by element type alone: their shape may change between iterations.
    """
    for body in node.bodies:
        if body.ties is None:
            continue
        for entry in body.ties.inputs:
            fault = _fault(body.graph, body.ties, entry, inputs)
            if fault is not None:
                inner = body.graph.parameters[entry.parameter]
                yield inner, fault.located(inner.location)


def _fault(graph: Graph, ties: Ties, entry: BodyInput, inputs: list[TensorType]) -> IRError | None:
    op = graph.parameters[entry.parameter].op
    if entry.position is None or entry.counts_iterations or not isinstance(op, Parameter):
        return None
    declared = TensorType(op.element_type, op.shape)
    handed = _part(inputs[entry.position], entry)
    if any(edge.parameter == entry.parameter for edge in ties.back_edges):
        handed = TensorType(handed.element_type, Shape.unknown())
    if fits(declared, handed):
        return None
    message = f"the Parameter is {declared}, but the layer hands it {handed}: {difference(declared, handed)}"
    return ShapeError(message, code=Code.body_input_type)


def _part(type: TensorType, entry: BodyInput) -> TensorType:
    """The type of the slice of an input that one iteration reads."""
    dims = type.shape.dims
    if entry.part is None or dims is None or not -len(dims) <= entry.part.axis < len(dims):
        return type.without_values()
    axis = normalize_axis(entry.part.axis, len(dims))
    sizes = [Dim(entry.part.part_size) if index == axis else dim for index, dim in enumerate(dims)]
    return TensorType(type.element_type, Shape(sizes))
