"""Passes for variables and for sizes that change from run to run, with modules imported by plans that need them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ir_exec.ops.infrastructure.values import AssignsVariable

if TYPE_CHECKING:
    from ir_exec.plan.constants import ModelConstants
    from ir_exec.plan.graph import PlanGraph

__all__ = ["fuse_grouped_attention", "grow_variables", "precompute_sizes", "trace_sizes"]


def grow_variables(graph: PlanGraph, constants: ModelConstants) -> PlanGraph:
    """Append to variables in place, if a run assigns the value that it has read followed by new elements."""
    if any(isinstance(node.op, AssignsVariable) for node in graph.nodes):
        from ir_exec.plan.passes.grow_variables import replace_appends

        replace_appends(graph)
    return graph


def trace_sizes(graph: PlanGraph, constants: ModelConstants) -> PlanGraph:
    """Infer the types of nodes for the sizes of a run, as expressions."""
    if graph.sizes is not None:
        from ir_exec.plan.passes.trace_sizes import trace_types

        graph.traced = trace_types(graph, graph.sizes, constants.setting.graph.parameters)
    return graph


def fuse_grouped_attention(graph: PlanGraph, constants: ModelConstants) -> PlanGraph:
    """Replace attention to repeated heads, in plans whose sizes are traced."""
    if graph.traced is not None:
        from ir_exec.plan.passes.fuse_grouped_attention import replace_attention

        replace_attention(graph, graph.traced)
    return graph


def precompute_sizes(graph: PlanGraph, constants: ModelConstants) -> PlanGraph:
    """Compute values that follow from the sizes of a run before its steps, and remove the nodes that compute them."""
    if graph.traced is not None:
        from ir_exec.plan.passes.trace_sizes import precompute_values

        precompute_values(graph, graph.traced)
    return graph
