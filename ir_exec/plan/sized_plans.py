"""The plans that replace a dynamic plan, for the sizes of runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ir_exec.errors import IRError
from ir_exec.plan.records import Plan
from ir_exec.plan.run_sizes import RunSizes
from ir_exec.types import Array

__all__ = ["BoundPlan", "SizedPlans"]

MOST_PLANS = 6
"""Maximum plans for sizes of one dynamic plan. Sizes of 0 and 1 often have separate ones."""

RUNS_BEFORE_PLAN = 2
"""Runs of other sizes before a plan is made for them: planning takes as long as many runs."""


class BoundPlan(NamedTuple):
    """A plan for the sizes of a run.

    Attributes:
        size: The bytes of the tensors that the plan does not count.
        numbers: The slots of `values`.
        values: The values that follow from the sizes.
    """

    plan: Plan
    size: int = 0
    numbers: tuple[int, ...] = ()
    values: tuple[Array, ...] = ()


class SizedPlans:
    """The plans for sizes of one dynamic plan.

    Args:
        plan: The dynamic plan.
        make_traced: Makes the plan for all runs whose sizes give the same results of comparisons.
        make_exact: Makes the plan for these sizes only.

    Attributes:
        traced: The plans for many sizes, the latest first.
        exact: The plans for sizes that do not change from run to run, None for those that inference refuses.
    """

    def __init__(
        self, plan: Plan, make_traced: Callable[[RunSizes], Plan], make_exact: Callable[[RunSizes], Plan]
    ) -> None:
        self.plan = plan
        self._make_traced = make_traced
        self._make_exact = make_exact
        self.traced: list[Plan] = []
        self.exact: dict[RunSizes, Plan | None] = {}
        self._misses = 0
        self._latest: RunSizes | None = None
        self._repeats = 0

    def get(self, sizes: RunSizes) -> BoundPlan | None:
        """Return the plan for these sizes; None if there is none yet."""
        if sizes.variables and (exact := self._get_exact(sizes)) is not None:
            return BoundPlan(exact)
        match = self._find(sizes)
        if match is not None or len(self.traced) >= MOST_PLANS:
            return match
        self._misses += 1
        if self._misses <= RUNS_BEFORE_PLAN:
            return None
        self._misses = 0
        try:
            plan = self._make_traced(sizes)
        except IRError:
            # The run reports the fault.
            return None
        # Without traced nodes no further plan is made.
        self.traced[:0] = [plan] * (MOST_PLANS if plan.sized is None else 1)
        return self._find(sizes)

    def _get_exact(self, sizes: RunSizes) -> Plan | None:
        if sizes in self.exact:
            return self.exact[sizes]
        self._repeats = self._repeats + 1 if sizes == self._latest else 0
        self._latest = sizes
        if self._repeats < RUNS_BEFORE_PLAN or len(self.exact) >= MOST_PLANS:
            return None
        try:
            self.exact[sizes] = self._make_exact(sizes)
        except IRError:
            # The run reports the fault.
            self.exact[sizes] = None
        return self.exact[sizes]

    def _find(self, sizes: RunSizes) -> BoundPlan | None:
        for plan in self.traced:
            if plan.sized is not None and (bound := plan.sized.bind(sizes)) is not None:
                size, values = bound
                return BoundPlan(plan, size, plan.sized.numbers, values)
        return None
