"""Values that depend on weights alone, and are computed once."""

from __future__ import annotations

from ir_exec.graph import Graph, Node, Value
from ir_exec.infer import Types
from ir_exec.ops.infrastructure.values import Const, Parameter
from ir_exec.runtime.memory import byte_size

__all__ = ["constant_values", "foldable"]

SMALL = 2**12
"""Bytes: constants up to this size are kept whatever they come from."""


def foldable(graph: Graph, types: Types, *, expand_weights: bool) -> set[Value]:
    """The values that depend on no input, no variable and no random number.

    Without `expand_weights` only those that take no more memory than the weights they come from: the others, for
    instance f32 from u4, are computed in every run and freed again.
    types: of every value, as the run has it.
    """
    constant: set[Value] = set()
    stored: dict[Value, int] = {}
    for node in graph.nodes:
        if not _is_constant(node, constant):
            continue
        sources = sum(stored[value] for value in node.values_in)
        if isinstance(node.op, Const):
            sources = node.op.size
        sizes = [byte_size(types[value.number]) for value in node.outputs]
        if not expand_weights and sum(sizes) > max(sources, SMALL):
            continue
        for value, size in zip(node.outputs, sizes, strict=True):
            constant.add(value)
            stored[value] = min(size, sources) if isinstance(node.op, Const) else size
    return constant


def constant_values(graph: Graph) -> set[Value]:
    """The values that depend on no input, no variable and no random number, whatever memory they take."""
    constant: set[Value] = set()
    for node in graph.nodes:
        if _is_constant(node, constant):
            constant.update(node.outputs)
    return constant


def _is_constant(node: Node, constant: set[Value]) -> bool:
    op = node.op
    if op is None or isinstance(op, Parameter) or not op.deterministic:
        return False
    if isinstance(op, Const):
        return True
    return not op.evaluate_context and bool(node.inputs) and all(value in constant for value in node.values_in)
