"""One graph that runs: its constants computed once, a plan for every set of input shapes. Bodies are graphs too."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

from ir_exec.graph import BodyGraph, Graph, Node, Value
from ir_exec.infer import Types, infer_body, infer_types
from ir_exec.ops.sources import Parameter
from ir_exec.runtime.loop import Observer, run_steps
from ir_exec.runtime.plan import Context, Plan, Step, constant_values, plan_steps
from ir_exec.runtime.state import Variables
from ir_exec.types import Array, ElementType, Shape, TensorType

__all__ = ["Executor"]

MAX_PLANS = 32
"""How many sets of input shapes a graph remembers."""


class Executor:
    """Runs a graph on arrays that fit its Parameters."""

    def __init__(self, graph: Graph, context: Context, max_memory: int) -> None:
        self._graph = graph
        self._context = context
        self.weights = context["weights"]
        self._max_memory = max_memory
        self._plans: dict[Any, Plan] = {}
        self._folded: dict[int, Array] | None = None
        self._bodies = {
            node: tuple(_Body(body, context, max_memory) for body in node.bodies) for node in graph.nodes if node.bodies
        }

    def run(self, arrays: list[Array], observe: Observer | None = None) -> list[Array]:
        """The values of the Results, from those of the Parameters, both in the order of the file."""
        plan = self._plan(arrays)
        slots: list[Array | None] = [None] * len(self._graph.values)
        for number, constant in (self._folded or {}).items():
            slots[number] = constant
        for node, given in zip(self._graph.parameters, arrays, strict=True):
            slots[node.outputs[0].number] = given
        run_steps(plan.steps, slots, observe)
        return [array for number in plan.results if (array := slots[number]) is not None]

    @cached_property
    def _constant(self) -> set[Value]:
        return constant_values(self._graph)

    def _fold(self, types: Types) -> dict[int, Array]:
        """The constant values that other nodes take, by slot."""
        used = {value.number for value in self._taken()}
        nodes = [node for node in self._graph.nodes if self._is_constant(node)]
        slots: list[Array | None] = [None] * len(self._graph.values)
        run_steps(self._steps(nodes, types, used), slots)
        return {number: array for number in used if (array := slots[number]) is not None}

    def _taken(self) -> Iterator[Value]:
        for node in self._graph.nodes:
            if not self._is_constant(node):
                yield from (value for value in node.values_in if value in self._constant)

    def _is_constant(self, node: Node) -> bool:
        return bool(node.outputs) and node.outputs[0] in self._constant

    def _plan(self, arrays: list[Array]) -> Plan:
        key = tuple([(array.dtype, array.shape) for array in arrays])
        plan = self._plans.get(key)
        if plan is None:
            if len(self._plans) >= MAX_PLANS:
                self._plans.pop(next(iter(self._plans)))
            plan = self._plans[key] = self._new_plan(arrays)
        return plan

    def _new_plan(self, arrays: list[Array]) -> Plan:
        given = {
            node.outputs[0]: TensorType(ElementType.of(array), Shape(array.shape))
            for node, array in zip(self._graph.parameters, arrays, strict=True)
        }
        types = infer_types(self._graph, weights=self.weights, given=given)
        if self._folded is None:
            self._folded = self._fold(types)
        nodes = [node for node in self._graph.nodes if not self._is_constant(node)]
        results = [node.values_in[0].number for node in self._graph.results]
        return Plan(self._steps(nodes, types, {*results, *self._folded}), results)

    def _steps(self, nodes: list[Node], types: Types, keep: set[int]) -> list[Step]:
        return plan_steps(nodes, types, keep, self._context, self._bodies, self._max_memory)


class _Body:
    """A body that runs; the RunningBody of the operator that holds it."""

    def __init__(self, body: BodyGraph, context: Context, max_memory: int) -> None:
        assert body.ties is not None, "a graph with bodies that are not tied is refused when it is built"
        self.ties = body.ties
        self._graph = body.graph
        self._executor = Executor(body.graph, context, max_memory)
        self._state: Variables = context["state"]

    def infer(self, types: list[TensorType]) -> list[TensorType]:
        return infer_body(self._graph, types, self._executor.weights)

    def run(self, arrays: list[Array]) -> list[Array]:
        results = self._executor.run(arrays)
        self._state.advance()
        return results

    def parameter_types(self) -> list[TensorType]:
        return [_declared(node) for node in self._graph.parameters]

    def result_types(self) -> list[TensorType]:
        types = infer_types(self._graph, weights=self._executor.weights)
        return [types[node.values_in[0].number] for node in self._graph.results]


def _declared(node: Node) -> TensorType:
    assert isinstance(node.op, Parameter)
    return node.op.infer()
