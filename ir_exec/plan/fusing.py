"""Fusions by rules: a pattern, and the operator of the step that replaces its nodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ir_exec.graph import Node
from ir_exec.ops import Op
from ir_exec.plan.graph import Fusion, PlanGraph
from ir_exec.plan.patterns import Match, Mismatch, NodePattern, match
from ir_exec.plan.records import Skipped

__all__ = ["FusionRule", "fuse"]


@dataclass(frozen=True)
class FusionRule:
    """A node that replaces the nodes matched by a pattern.

    Attributes:
        pattern: The computation of the last output.
        inputs: The names in the pattern of the new node's inputs, in order, without absent steps.
        operator: Makes the operator of the new node, or a reason against it.
        anchors: The kinds of nodes that characterize the pattern: plans without them are not searched, and if one of
            them is in a partial match, the reason is stored.
    """

    pattern: NodePattern
    inputs: tuple[str, ...]
    operator: Callable[[Match], Op]
    anchors: frozenset[str]


def fuse(graph: PlanGraph, pass_name: str, rules: Sequence[FusionRule]) -> None:
    """Apply the rules wherever they match, the last nodes first, to find the longest pattern first."""
    present = {graph.kind(node) for node in graph.nodes}
    by_kind: dict[str, list[FusionRule]] = {}
    for rule in rules:
        if not (rule.anchors and present.isdisjoint(rule.anchors)):
            for kind in rule.pattern.kinds:
                by_kind.setdefault(kind, []).append(rule)
    if present.isdisjoint(by_kind):
        return
    places = {node: place for place, node in enumerate(graph.nodes)}
    reasons: dict[Node, Mismatch] = {}
    for node in reversed(graph.nodes):
        for rule in by_kind.get(graph.kind(node), ()) if graph.holds(node) else ():
            found = match(rule.pattern, graph, node)
            if isinstance(found, Match):
                inputs = [found.values[name] for name in rule.inputs if name in found.values]
                nodes = sorted(found.nodes, key=places.__getitem__)
                graph.replace(Fusion(nodes, rule.operator(found), inputs), pass_name)
                break
            if found is not None:
                _keep_longest(reasons, graph, rule, found)
    for anchor, reason in reasons.items():
        if graph.holds(anchor):
            graph.skipped.append(Skipped(pass_name, reason.node, reason.expected, reason.found))
    graph.apply_replacements()


def _keep_longest(reasons: dict[Node, Mismatch], graph: PlanGraph, rule: FusionRule, found: Mismatch) -> None:
    """Keep the reason after the most matched nodes for each anchor."""
    for node in found.passed:
        if graph.kind(node) in rule.anchors:
            before = reasons.get(node)
            if before is None or len(before.passed) < len(found.passed):
                reasons[node] = found
