"""The body of a layer during a run, for every way of running it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from ir_exec.graph import BodyGraph
from ir_exec.infer import InferredBody, OuterTypes, infer_body
from ir_exec.ops.base.bodies import Iterations
from ir_exec.ops.infrastructure.values import AssignsVariable, Parameter
from ir_exec.plan.planner import MAX_PLANS
from ir_exec.runtime.state import CurrentVariables
from ir_exec.types import Array, TensorType

__all__ = ["InterpretedBody", "RunsBody"]

RunsBody: TypeAlias = Callable[[list[Array], Iterations | None], list[Array]]
"""Computes the Results of a body from its Parameters, with the arguments of `RunningBody.run`."""


class InterpretedBody(InferredBody):
    """The RunningBody of an operator.

    Args:
        state: The variables that the body writes to.
        runs: Computes the Results.
    """

    def __init__(self, body: BodyGraph, outer: OuterTypes, state: CurrentVariables, runs: RunsBody) -> None:
        super().__init__(body, outer)
        self._runs = runs
        self._state = state
        self._inferred: dict[object, list[TensorType]] = {}
        self._assigned = frozenset(
            node.op.variable_id for node in body.graph.all_nodes() if isinstance(node.op, AssignsVariable)
        )

    def infer(self, types: list[TensorType]) -> list[TensorType]:
        key = None if any(type.source for type in types) else tuple([(type.element_type, type.shape) for type in types])
        inferred = self._inferred.get(key)
        if inferred is None:
            inferred = infer_body(self.graph, types, self.outer.weights, ops=self.outer.ops)
            if key is not None and len(self._inferred) < MAX_PLANS:
                self._inferred[key] = inferred
        return inferred

    def run(self, arrays: list[Array], iterations: Iterations | None = None) -> list[Array]:
        return self._runs(arrays, iterations)

    def advance(self) -> None:
        if self._assigned:
            self._state.advance(self._assigned)

    def parameter_types(self) -> list[TensorType]:
        ops = [self.outer.ops.get(node, node.op) for node in self.graph.parameters]
        return [op.infer() for op in ops if isinstance(op, Parameter)]
