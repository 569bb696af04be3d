"""Constants that are read from the file in every run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ir_exec.graph import Node, Value
from ir_exec.ops.infrastructure.values import Const

if TYPE_CHECKING:
    from ir_exec.plan.constants import ModelConstants
    from ir_exec.plan.graph import PlanGraph

__all__ = ["sink_constants", "sink_large_constants"]


def sink_large_constants(graph: PlanGraph, constants: ModelConstants) -> PlanGraph:
    """Read each constant that is not stored right before its first reader."""
    graph.set_nodes(sink_constants(graph.nodes))
    return graph


def sink_constants(nodes: Sequence[Node]) -> list[Node]:
    """The nodes with each Const right before its first reader."""
    waiting: dict[Value, Node] = {node.outputs[0]: node for node in nodes if isinstance(node.op, Const)}
    ordered: list[Node] = []
    for node in nodes:
        if not isinstance(node.op, Const):
            ordered += [waiting.pop(value) for value in dict.fromkeys(node.values_in) if value in waiting]
            ordered.append(node)
    return ordered + list(waiting.values())
