"""The sizes at the start of a run, the values of a plan that follow from them, and the plans made for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from ir_exec.errors import IRError
from ir_exec.graph import Node
from ir_exec.types import Array, TensorType
from ir_exec.types.traced_size import SizeTrace

if TYPE_CHECKING:
    from ir_exec.plan.records import Plan

__all__ = ["BoundPlan", "EvaluatesSlots", "RunSizes", "SizedPlans", "SizedSlots", "TracedTypes"]

MOST_PLANS = 6
"""Maximum plans for sizes of one dynamic plan. Sizes of 0 and 1 often have separate ones."""

RUNS_BEFORE_PLAN = 2
"""Runs of other sizes before a plan is made for them: planning takes as long as many runs."""


class RunSizes(NamedTuple):
    """The sizes at the start of a run.

    Attributes:
        inputs: The shapes of the inputs.
        variables: The shapes of the variables that have a value, and that no body assigns.
    """

    inputs: tuple[tuple[int, ...], ...]
    variables: tuple[tuple[str, tuple[int, ...]], ...]


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
        shapes = dict(sizes.variables)
        variables = [shapes.get(name) for name in self.variables]
        if None in variables:
            return None
        return self.evaluate(*[sizes.inputs[position] for position in self.inputs], *variables)


@dataclass(slots=True)
class TracedTypes:
    """Types of a plan as expressions of the sizes of a run.

    Attributes:
        types: The types with traced dims and elements, by the numbers of the values.
        nodes: The nodes whose inputs and outputs all have such types; they need no inference in a run.
        comparisons: The comparisons of all inferences.
        names: The names in expressions, by the positions of inputs and by variables.
    """

    types: dict[int, TensorType] = field(default_factory=dict)
    nodes: set[Node] = field(default_factory=set)
    comparisons: SizeTrace = field(default_factory=SizeTrace)
    names: dict[int | str, str] = field(default_factory=dict)


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
        make_traced: Makes the plan for all runs whose sizes give the same results of comparisons.
        make_exact: Makes the plan for these sizes only.

    Attributes:
        traced: The plans for many sizes, the latest first.
        exact: The plans for sizes that do not change from run to run, None for those that inference refuses.
    """

    def __init__(self, make_traced: Callable[[RunSizes], Plan], make_exact: Callable[[RunSizes], Plan]) -> None:
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
