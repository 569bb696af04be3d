"""Variables of a model: the layers that read them, and conditions on the readers of values."""

from __future__ import annotations

from ir_exec.fusions.network import FusionGraph
from ir_exec.graph import Node, Value
from ir_exec.plan.patterns import Match

__all__ = ["appends_to_variable", "graph_of", "has_cached_keys", "has_one_reader", "list_readers"]

_REACH = 8
"""Maximum layers between the softmax of attention and its keys: mask, scale, product, and the heads of groups."""

_STEPS = 4
"""Maximum layers between a variable and the new elements: a Gather, a Transpose, a Reshape."""


def graph_of(match: Match) -> FusionGraph:
    """The graph of a match of a transformation."""
    assert isinstance(match.graph, FusionGraph), "the pattern is one of a transformation"
    return match.graph


def has_one_reader(match: Match, value: Value) -> bool:
    """Return True if one node reads the elements of a value; its shape may have further readers."""
    graph = graph_of(match)
    return sum(graph.kind(reader) != "ShapeOf" for reader in graph.readers(value)) == 1


def list_readers(match: Match, value: Value) -> str:
    """The layers that read the elements of a value, as the actual value of a condition on readers."""
    graph = graph_of(match)
    readers = [f'{reader.type} "{reader.name}"' for reader in graph.readers(value) if graph.kind(reader) != "ShapeOf"]
    return ", ".join(readers) or "no reader"


def has_cached_keys(graph: FusionGraph, attention: Node) -> bool:
    """Return True if the keys of an attention operator are those of a variable and new ones."""
    keys = graph.producer(attention.values_in[1])
    if keys is None:
        return False
    if graph.kind(keys) == "Concat":
        return _continues_variable(graph, keys)
    return appends_to_variable(graph, keys)


def appends_to_variable(graph: FusionGraph, node: Node) -> bool:
    """Return True if a node reads a variable with new elements appended, at most `_REACH` layers away."""
    current, seen = [node], {node}
    for _ in range(_REACH):
        sources = [graph.producer(value) for reader in current for value in reader.values_in]
        current = [source for source in dict.fromkeys(sources) if source is not None and source not in seen]
        current = [source for source in current if graph.kind(source) != "ShapeOf"]
        if any(graph.kind(source) == "Concat" and _continues_variable(graph, source) for source in current):
            return True
        seen.update(current)
    return False


def _continues_variable(graph: FusionGraph, concat: Node) -> bool:
    """Return True if the first input is a variable, with its elements in another order or of another shape."""
    node: Node | None = graph.producer(concat.values_in[0])
    for _ in range(_STEPS):
        if node is None or not node.values_in:
            return False
        if graph.kind(node) == "ReadValue":
            return True
        node = graph.producer(node.values_in[0])
    return False
