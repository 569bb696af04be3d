"""Values that are known from inference, and unused values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ir_exec.ops.infrastructure.values import Const
from ir_exec.plan.memory import read_only

if TYPE_CHECKING:
    from ir_exec.plan.constants import ModelConstants
    from ir_exec.plan.graph import PlanGraph

__all__ = ["eliminate_known_values"]


def eliminate_known_values(graph: PlanGraph, constants: ModelConstants) -> PlanGraph:
    """Remove values known from inference, and unused values."""
    slots = graph.slots
    for node in graph.nodes:
        if isinstance(node.op, Const):
            # It is too large to store.
            continue
        values = [graph.types[value.number].value for value in node.outputs] if node.op else []
        if all(value is not None for value in values):
            for output, value in zip(node.outputs, values, strict=False):
                slots[output.number] = None if value is None else read_only(value)
    unknown = {number for number in graph.results if slots[number] is None}
    needed = []
    for node in reversed(graph.nodes):
        has_effect = node.op is not None and bool(node.op.evaluate_context)
        if has_effect or any(value.number in unknown for value in node.outputs):
            needed.append(node)
            unknown.update(value.number for value in node.values_in if slots[value.number] is None)
    graph.set_nodes(needed[::-1])
    return graph
