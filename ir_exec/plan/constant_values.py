"""The values of a graph that depend on no input, variable or random number."""

from __future__ import annotations

from collections.abc import Callable, Set

from ir_exec.graph import Graph, Node, Value
from ir_exec.infer import Types
from ir_exec.ops.infrastructure.values import Const, Parameter
from ir_exec.plan.memory import byte_size

__all__ = ["SMALL", "constant_values", "foldable", "is_constant"]

SMALL = 2**12
"""Maximum bytes of constants that are always stored."""


def foldable(
    graph: Graph, types: Types, *, expand_weights: bool, small: Callable[[Node], int] | None = None
) -> set[Value]:
    """The values that depend on no input, variable or random number.

    Without `expand_weights`, only values that take at most the memory of the weights they are computed from: others,
    for instance f32 from u4, are computed in every run and freed again.

    Args:
        types: The types of all values, in the run.
        small: Maximum bytes of a node's outputs that may take more memory.
    """
    constant: set[Value] = set()
    stored: dict[Value, int] = {}
    for node in graph.nodes:
        if not is_constant(node, constant):
            continue
        sources = sum(stored[value] for value in node.values_in)
        if isinstance(node.op, Const):
            sources = node.op.size
        sizes = [byte_size(types[value.number]) for value in node.outputs]
        limit = SMALL if small is None else small(node)
        if not expand_weights and sum(sizes) > max(sources, limit):
            continue
        for value, size in zip(node.outputs, sizes, strict=True):
            constant.add(value)
            stored[value] = min(size, sources) if isinstance(node.op, Const) else size
    return constant


def constant_values(graph: Graph) -> set[Value]:
    """The values that depend on no input, variable or random number, of any size."""
    constant: set[Value] = set()
    for node in graph.nodes:
        if is_constant(node, constant):
            constant.update(node.outputs)
    return constant


def is_constant(node: Node, constant: Set[Value]) -> bool:
    """Return True if the outputs of a node are constants, given the constants among its inputs."""
    op = node.op
    if op is None or isinstance(op, Parameter) or not op.deterministic:
        return False
    if isinstance(op, Const):
        return True
    return not op.evaluate_context and bool(node.inputs) and all(value in constant for value in node.values_in)
