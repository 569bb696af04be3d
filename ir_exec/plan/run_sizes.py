"""The sizes at the start of a run, the values of a plan that follow from them, and the plans made for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from ir_exec.graph import Node
from ir_exec.types import Array

if TYPE_CHECKING:
    from ir_exec.plan.records import Plan

__all__ = ["EvaluatesSlots", "RunSizes", "SizedPlans", "SizedSlots", "TracedNodes"]

MOST_PLANS = 6
"""Maximum plans for sizes of one dynamic plan. Sizes of 0 and 1 often have separate ones."""

RUNS_BEFORE_PLAN = 2
"""Runs of other sizes before a plan is made for them: planning takes as long as many runs."""


class RunSizes(NamedTuple):
    """The sizes at the start of a run.

    Attributes:
        inputs: The shapes of the inputs.
        variables: The shapes of the variables that have a value.
    """

    inputs: tuple[tuple[int, ...], ...]
    variables: Mapping[str, tuple[int, ...]]


EvaluatesSlots: TypeAlias = Callable[..., "tuple[int, tuple[Array, ...]] | None"]


@dataclass(frozen=True, slots=True)
class SizedSlots:
    """The values of a plan that follow from the sizes of a run.

    Attributes:
        numbers: Their slots.
        inputs: The positions of the inputs whose sizes are read.
        variables: The variables whose sizes are read.
        evaluate: Computes the bytes of all tensors whose sizes are traced, and the values, from these sizes; None if
            the plan does not apply to them.
    """

    numbers: tuple[int, ...]
    inputs: tuple[int, ...]
    variables: tuple[str, ...]
    evaluate: EvaluatesSlots

    def bind(self, sizes: RunSizes) -> tuple[int, tuple[Array, ...]] | None:
        """Return the bytes and the values for the sizes of a run; None if the plan does not apply to them."""
        variables = [sizes.variables.get(name) for name in self.variables]
        if None in variables:
            return None
        return self.evaluate(*[sizes.inputs[position] for position in self.inputs], *variables)


@dataclass(frozen=True, slots=True)
class TracedNodes:
    """The nodes whose types are expressions.

    Attributes:
        slots: The values before a run.
        nodes: The nodes that need no inference in a run.
    """

    slots: SizedSlots
    nodes: frozenset[Node]


class SizedPlans:
    """The plans for sizes of one dynamic plan, the latest first.

    Args:
        make: Makes the plan for all runs whose sizes give the same results of comparisons.

    Attributes:
        plans: The plans so far.
    """

    def __init__(self, make: Callable[[RunSizes], Plan]) -> None:
        self._make = make
        self.plans: list[Plan] = []
        self._misses = 0

    def get(self, sizes: RunSizes) -> tuple[Plan, int, tuple[Array, ...]] | None:
        """Return the plan for these sizes, the bytes of its tensors, and the values of its slots.

        Returns:
            None if these sizes have no plan yet.
        """
        match = self._find(sizes)
        if match is not None or len(self.plans) >= MOST_PLANS:
            return match
        self._misses += 1
        if self._misses <= RUNS_BEFORE_PLAN:
            return None
        self._misses = 0
        plan = self._make(sizes)
        # Without traced nodes no further plan is made.
        self.plans[:0] = [plan] * (MOST_PLANS if plan.sized is None else 1)
        return self._find(sizes)

    def _find(self, sizes: RunSizes) -> tuple[Plan, int, tuple[Array, ...]] | None:
        for plan in self.plans:
            if plan.sized is not None and (bound := plan.sized.bind(sizes)) is not None:
                return plan, *bound
        return None
