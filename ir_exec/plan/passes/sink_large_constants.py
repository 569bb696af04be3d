"""Constants that are read from the file in every run."""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import TYPE_CHECKING

from ir_exec.graph import Node, Value
from ir_exec.ops.infrastructure.values import Const

if TYPE_CHECKING:
    from ir_exec.plan.constants import ModelConstants
    from ir_exec.plan.graph import PlanGraph

__all__ = ["sink_constant_layers", "sink_constants", "sink_large_constants"]


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


def sink_constant_layers(nodes: Sequence[Node], constants: Set[Value]) -> list[Node]:
    """The nodes with each layer that computes from constants alone right before its first reader.

    Files may list all layers that decompress weights first, and the expanded weights would be in memory at once.

    Args:
        constants: The values that depend on constants alone.
    """
    waiting: dict[Value, Node] = {}
    for node in nodes:
        if node.values_in and node.outputs and all(value in constants for value in node.outputs):
            waiting |= dict.fromkeys(node.outputs, node)
            # Their constants too, because those of less than a byte are unpacked.
            waiting |= {value: value.node for value in node.values_in if isinstance(value.node.op, Const)}
    ordered: dict[Node, None] = {}
    sunk = set(waiting.values())
    for node in nodes:
        if node in sunk:
            continue
        pending = [node]
        while pending:
            last = pending[-1]
            sources = [waiting[value] for value in last.values_in if value in waiting and waiting[value] not in ordered]
            if not sources:
                ordered[pending.pop()] = None
            pending += reversed(sources)
    return list(dict.fromkeys((*ordered, *nodes)))
