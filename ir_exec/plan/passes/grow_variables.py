"""Variables that runs append to, such as the cache of a decoder, which are extended in place.

Exporters write a cache as ReadValue, Gather by the indices of beams, Concat with the new elements, and Assign.
"""

from __future__ import annotations

from typing import Any

from ir_exec.graph import Node
from ir_exec.ops import In, Op
from ir_exec.ops.base.bodies import State
from ir_exec.ops.base.operator import check_contract
from ir_exec.ops.infrastructure.values import AssignsVariable, ReadsVariable
from ir_exec.plan.graph import Fusion, PlanGraph
from ir_exec.types import INTEGER, Array, TensorType

__all__ = ["AppendToVariable", "ReorderVariable", "replace_appends"]


class AppendToVariable(Op):
    """Concat of the value of a variable and new elements, to which the variable is set at the end of the run."""

    inputs = (In("value"), In("elements", like="value"))
    is_data_movement = True
    deterministic = False

    variable_id: str
    _concat: Any
    _axis: int

    def __init__(self, variable_id: str, concat: Op, axis: int) -> None:
        """A Concat along an axis, counted from the first one."""
        vars(self).update(variable_id=variable_id, _concat=concat, _axis=axis)

    def infer(self, value: TensorType, elements: TensorType) -> TensorType:
        type: TensorType = self._concat.infer(value, elements)
        return type

    def evaluate(self, value: Array, elements: Array, *, state: State) -> Array:
        appended = state.append(self.variable_id, value, elements, self._axis)
        if appended is None:
            appended = self._concat.evaluate(value, elements)
        return appended


class ReorderVariable(Op):
    """Gather of slices of the value of a variable, before new elements are appended along another axis."""

    inputs = (In("data"), In("indices", types=INTEGER), In("axis", types=INTEGER))
    may_alias = True
    is_data_movement = True
    deterministic = False

    variable_id: str
    _gather: Any
    _axis: int
    _growing_axis: int

    def __init__(self, variable_id: str, gather: Op, axis: int, growing_axis: int) -> None:
        """A Gather along an axis of a variable that grows along another one."""
        vars(self).update(variable_id=variable_id, _gather=gather, _axis=axis, _growing_axis=growing_axis)

    def infer(self, data: TensorType, indices: TensorType, axis: TensorType) -> TensorType:
        type: TensorType = self._gather.infer(data, indices, axis)
        return type

    def evaluate(self, data: Array, indices: Array, axis: Array, *, state: State) -> Array:
        reordered = state.reorder(self.variable_id, data, indices, self._axis, self._growing_axis)
        if reordered is None:
            reordered = self._gather.evaluate(data, indices, axis)
        return reordered


check_contract(AppendToVariable, "AppendToVariable")
check_contract(ReorderVariable, "ReorderVariable")


def replace_appends(graph: PlanGraph) -> None:
    """Append to variables in place, if a run assigns the value that it has read followed by new elements.

    This is not a `FusionRule`: the nodes remain separate, since others read their values too.
    """
    for node in graph.nodes:
        if isinstance(node.op, AssignsVariable):
            _replace_append(graph, node)
    graph.apply_replacements()


def _replace_append(graph: PlanGraph, assign: Node) -> None:
    """Replace the Concat of an assigned value, and the Gather before it, if they append to the same variable."""
    variable_id: str = vars(graph.operator(assign))["variable_id"]
    append = graph.producer(assign.values_in[0])
    if append is None or graph.kind(append) != "Concat" or len(append.values_in) != 2:
        return
    operator, rank = graph.operator(append), graph.type(append.outputs[0]).rank
    if rank is None:
        return
    axis = vars(operator)["axis"] % rank
    source = graph.producer(append.values_in[0])
    reorder: Fusion | None = None
    if source is not None and graph.kind(source) == "Gather":
        reorder = _make_reorder(graph, source, variable_id, axis)
        source = None if reorder is None else graph.producer(source.values_in[0])
    if source is None or not isinstance(source.op, ReadsVariable):
        return
    if vars(graph.operator(source))["variable_id"] != variable_id:
        return
    graph.replace(Fusion([append], AppendToVariable(variable_id, operator, axis), append.values_in), "grow_variables")
    if reorder is not None:
        graph.replace(reorder, "grow_variables")


def _make_reorder(graph: PlanGraph, gather: Node, variable_id: str, growing_axis: int) -> Fusion | None:
    """The replacement of a Gather of slices along a known axis, other than the one that grows."""
    data, indices, axis_value = gather.values_in
    operator, rank, axis = graph.operator(gather), graph.type(data).rank, graph.number(axis_value)
    if rank is None or axis is None or graph.type(indices).rank != 1 or vars(operator).get("batch_dims"):
        return None
    along = int(axis) % rank
    if along == growing_axis:
        return None
    return Fusion([gather], ReorderVariable(variable_id, operator, along, growing_axis), gather.values_in)
