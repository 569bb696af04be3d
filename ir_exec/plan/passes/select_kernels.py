"""The steps of a plan: the kernel of each node, and the buffer of each output."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ir_exec.plan.planner import Planner
from ir_exec.plan.records import Plan

if TYPE_CHECKING:
    from ir_exec.plan.constants import ModelConstants
    from ir_exec.plan.graph import PlanGraph

__all__ = ["select_kernels"]


def select_kernels(graph: PlanGraph, constants: ModelConstants) -> PlanGraph:
    """Choose the kernel of each node and the buffer of each output, and make the steps."""
    setting = constants.setting
    planner = Planner(
        setting,
        graph.nodes,
        graph.types,
        graph.slots,
        graph.results,
        constants=constants,
        precomputed_bytes=graph.precomputed_bytes,
        back_edges=setting.back_edges,
        traced=graph.traced.nodes if graph.sized is not None and graph.traced is not None else (),
    )
    prologue = None if graph.prologue is None else _plan_prologue(graph.prologue, constants)
    graph.plan = planner.plan()
    graph.plan.prologue = prologue
    graph.plan.sized = graph.sized
    graph.plan.result_types = [graph.types[number] for number in graph.results]
    return graph


def _plan_prologue(graph: PlanGraph, constants: ModelConstants) -> Plan:
    return Planner(constants.setting, graph.nodes, graph.types, graph.slots, graph.results, constants=constants).plan()
