"""A transformation of OpenVINO as a pattern, and the search for its matches and near misses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from typing import Any

from ir_exec.errors import Citation
from ir_exec.fusions.network import FusionGraph
from ir_exec.fusions.records import FusionTarget, MissedFusion
from ir_exec.graph import Node, Value
from ir_exec.plan.patterns import Match, Mismatch, NodePattern, explain

__all__ = ["Matches", "Transformation", "openvino_source", "search"]

_RELEASE = "releases/2026/4"
_LEAST_AFTER = 3
"""Minimum matched nodes of a search that stops between an anchor and the end of the pattern."""

_REACH = 12
"""Maximum layers between an anchor and the last layer of its pattern."""


def openvino_source(transformation: str, path: str) -> Citation:
    """The citation of a transformation in the sources of OpenVINO's release."""
    return Citation(
        transformation, "OpenVINO 2026.4", f"https://github.com/openvinotoolkit/openvino/blob/{_RELEASE}/{path}"
    )


@dataclass(frozen=True)
class Matches:
    """Matches and near misses of one transformation.

    Attributes:
        roots: The last value of each match, in the order of the model.
        details: The matches of patterns, with all of their nodes.
        missed: A record for each near miss.
        unknown: The reason for an unknown number of matches.
        fails: The transformation fails as a whole.
    """

    roots: tuple[Value, ...] = ()
    details: tuple[Match, ...] = ()
    missed: tuple[MissedFusion, ...] = ()
    unknown: str | None = None
    fails: bool = False


@dataclass(frozen=True)
class Transformation:
    """A transformation of OpenVINO.

    Attributes:
        name: The operator that it makes.
        targets: The devices and pipelines whose graphs it changes.
        source: Its release and its address.
        find: Searches a graph for a target; it may replace the nodes of matches, for the transformations that follow.
        loss: The consequence of a miss; None if a miss only costs time.
        is_step: Returns True for the steps of the CPU plugin's runtime model that the transformation makes; None if the
            runtime model does not show them. A step has a type, the type of its kernel, and numbers of inputs and
            outputs.
    """

    name: str
    targets: frozenset[FusionTarget]
    source: Citation
    find: Callable[[FusionGraph, FusionTarget], Matches]
    loss: str | None = None
    is_step: Callable[[Mapping[str, Any]], bool] | None = None


def search(
    graph: FusionGraph,
    pattern: NodePattern,
    anchor: NodePattern | None = None,
    *,
    least: int = 2,
    is_other: Callable[[Match], bool] | None = None,
) -> Matches:
    """Search the graph for a pattern, and for anchors at which it almost matches.

    Args:
        anchor: A characteristic part of the pattern. An anchor outside of all matches is a near miss.
        least: The nodes in addition to the anchor that the deepest partial match needs to be a near miss.
        is_other: Returns True for anchors that belong to another computation.
    """
    matches: dict[Value, Match] = {}
    covered: set[Node] = set()
    for value in _values_of_kinds(graph, pattern.kinds):
        node = node_of(graph, value)
        if node not in covered:
            result = explain(pattern, graph, node, value.position)
            if isinstance(result, Match):
                matches[value] = result
                covered.update(result.nodes)
    matches = dict(reversed(matches.items()))
    missed = []
    if anchor is not None:
        for value in _values_of_kinds(graph, anchor.kinds):
            node = node_of(graph, value)
            if node in covered:
                continue
            part = explain(anchor, graph, node, value.position)
            if isinstance(part, Match) and not (is_other is not None and is_other(part)):
                reason = _deepest_mismatch(graph, pattern, part, least, covered)
                if reason is not None:
                    missed.append(as_missed(reason))
    return Matches(tuple(matches), tuple(matches.values()), tuple(dict.fromkeys(reversed(missed))))


def node_of(graph: FusionGraph, value: Value) -> Node:
    """The node that computes a value of the graph."""
    node = graph.producer(value)
    assert node is not None, "the value is one of a node"
    return node


def as_missed(reason: Mismatch) -> MissedFusion:
    """The record of a mismatch."""
    return MissedFusion(layer=reason.node.name, expected=reason.expected, actual=reason.found, hint=reason.hint or None)


def _values_of_kinds(graph: FusionGraph, kinds: Iterable[str]) -> Iterator[Value]:
    """The outputs of nodes of these types, the last nodes first, to find the longest match first."""
    selected = frozenset(kinds)
    for node in reversed(tuple(graph.nodes)):
        if graph.kind(node) in selected:
            yield from node.outputs


def _deepest_mismatch(
    graph: FusionGraph, pattern: NodePattern, part: Match, least: int, covered: Set[Node]
) -> Mismatch | None:
    """The mismatch with the most matched nodes, of all searches that end after an anchor.

    A search that passes the anchor takes precedence over one that stops between the anchor and the end.

    Args:
        covered: The nodes of all matches.
    """
    anchor = part.nodes[0]
    following = list(_following(graph, anchor))
    deepest: tuple[bool, int, Mismatch] | None = None
    for node in following:
        if graph.kind(node) not in pattern.kinds:
            continue
        result = explain(pattern, graph, node)
        if not isinstance(result, Mismatch):
            continue
        passes = anchor in result.passed
        count = len(set(result.passed) - set(part.nodes))
        is_after = result.node in following and covered.isdisjoint(result.passed)
        is_deep = count >= least if passes else count >= _LEAST_AFTER and is_after
        if is_deep and (deepest is None or (passes, count) > deepest[:2]):
            deepest = (passes, count, result)
    return None if deepest is None else deepest[2]


def _following(graph: FusionGraph, node: Node) -> Iterator[Node]:
    """The node and the nodes that depend on it, at most `_REACH` steps away."""
    current, seen = [node], {node}
    yield node
    for _ in range(_REACH):
        following = [
            reader
            for before in current
            for value in before.outputs
            for reader in graph.readers(value)
            if reader not in seen
        ]
        current = list(dict.fromkeys(following))
        seen.update(current)
        yield from current
