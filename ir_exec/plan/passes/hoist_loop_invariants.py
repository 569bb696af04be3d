"""Loops: values that are equal in every iteration are computed in the first one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ir_exec.plan.graph import PlanGraph
from ir_exec.plan.memory import byte_size
from ir_exec.plan.passes.fold_shapes import partition_precomputable

if TYPE_CHECKING:
    from ir_exec.plan.constants import ModelConstants

__all__ = ["hoist_loop_invariants"]

_INPUT = np.empty(0)
"""A placeholder for the value of an input during planning."""


def hoist_loop_invariants(graph: PlanGraph, constants: ModelConstants) -> PlanGraph:
    """Compute values only in the first iteration that the others would compute again."""
    fixed = constants.setting.fixed
    if not fixed:
        return graph
    slots = graph.slots.copy()
    hoisted = graph.prologue.results if graph.prologue is not None else []
    for number in (*fixed, *hoisted):
        slots[number] = _INPUT
    max_bytes = constants.weight_memory.left_for_precomputed - sum(byte_size(graph.types[number]) for number in hoisted)
    now, stored, later = partition_precomputable(
        graph.nodes, graph.types, slots, graph.results, passing=frozenset(), max_bytes=max_bytes
    )
    graph.set_nodes(later)
    if now:
        nodes = now if graph.prologue is None else [*graph.prologue.nodes, *now]
        graph.prologue = PlanGraph(nodes, graph.types, graph.slots, sorted({*hoisted, *stored}), graph.operator)
    return graph
