"""Inputs whose size is not bounded before the network runs: no fault, but some devices refuse them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ir_exec.codes import Code
from ir_exec.errors import IRError, ShapeError
from ir_exec.graph import Graph, Node, Value
from ir_exec.ops.infrastructure.values import Parameter
from ir_exec.types import Shape, TensorType

__all__ = ["unbounded_inputs"]


def unbounded_inputs(graph: Graph, given: Mapping[Value, TensorType]) -> Iterator[IRError]:
    """IR507 for each input of unknown rank, IR508 for each input with a dim without upper bound.

    given: types that replace those of the file.
    """
    for node in graph.parameters:
        shape = _shape(node, given)
        if shape is None:
            continue
        if shape.dims is None:
            message = "the rank of this input is not known, which some devices refuse"
            yield ShapeError(message, code=Code.dynamic_rank).located(node.location)
        elif not all(dim.is_bounded for dim in shape.dims):
            message = "a dim of this input has no upper bound, which some devices refuse"
            yield ShapeError(message, code=Code.unbounded_dim).located(node.location)


def _shape(node: Node, given: Mapping[Value, TensorType]) -> Shape | None:
    for value in node.outputs:
        if value in given:
            return given[value].shape
    return node.op.shape if isinstance(node.op, Parameter) else None
