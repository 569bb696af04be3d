"""The steps of a reduction of a model, for IR and for ONNX: trials of smaller models, limits, and interruptions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Generic, Protocol, TypeVar

from ir_exec.codes import Code
from ir_exec.debug.reduction.minimizing import SearchEnded
from ir_exec.errors import EvaluationError, IRError
from ir_exec.report.numbers import format_count

__all__ = ["ModelReducer", "ReductionInterrupted", "ReductionState"]


class ReductionState(Protocol):
    """A failing model with its inputs."""

    @property
    def count(self) -> int:
        """The number of its layers or nodes."""

    @property
    def size(self) -> tuple[int, ...]:
        """Sizes to reduce, the most important first."""


State = TypeVar("State", bound=ReductionState)


class ReductionInterrupted(KeyboardInterrupt):
    """Ctrl-C during a reduction that had found a smaller model.

    Attributes:
        found: The smallest failing model so far, a `Reduced` or `ReducedOnnx`. It is also written if the reduction has
            an output file.
    """

    def __init__(self, reduced: Any) -> None:
        super().__init__("the reduction was interrupted")
        self.found = reduced


class ModelReducer(ABC, Generic[State]):
    """Search for the smallest failing model.

    Attributes:
        noun: What is removed, "layer" or "node".
        best: The smallest failing model so far; None if the complete model has not failed yet.
        runs: The number of models that were tested.
    """

    noun: str

    def __init__(self, limit: int | None, progress: Callable[[str], None] | None) -> None:
        self.runs = 0
        self.best: State | None = None
        self._limit = limit
        self._progress = progress
        self._allowed: frozenset[str] = frozenset()

    @property
    @abstractmethod
    def steps(self) -> Sequence[Callable[[State], None]]:
        """The steps to repeat until none reduces the size; each gets the smallest model so far."""

    @abstractmethod
    def reduce_constants(self, state: State) -> None:
        """Reduce the constants of the model, the last step."""

    @abstractmethod
    def write(self, state: State) -> None:
        """Write the files of a model, replacing those of the previous one."""

    @abstractmethod
    def find_errors(self, state: State) -> frozenset[str]:
        """Return the codes of the errors that `check` finds in the last written model."""

    @abstractmethod
    def fails(self, state: State) -> bool:
        """Return True if the last written model fails."""

    def run(self, initial: State) -> bool:
        """Reduce `best` to the smallest failing model; return True if Ctrl-C ended the search.

        Raises:
            EvaluationError: If the complete model does not fail.
            KeyboardInterrupt: If no smaller model was found before Ctrl-C.
        """
        try:
            self._reduce(initial)
        except KeyboardInterrupt:
            if self.best in (None, initial):
                raise
            return True
        return False

    def _reduce(self, initial: State) -> None:
        self.write(initial)
        self._allowed = self.find_errors(initial)
        if not self._test(initial):
            raise EvaluationError(
                "the complete model does not fail", expected="a failing model to reduce", code=Code.bad_value
            )
        self.best = initial
        try:
            while True:
                before = self.best.size
                for step in self.steps:
                    step(self.best)
                if self.best.size >= before:
                    break
            self.reduce_constants(self.best)
        except SearchEnded:
            pass

    def accepts(self, make: Callable[[], State]) -> bool:
        """Return True if a model fails, and keep it as the best one so far.

        Args:
            make: Returns the model; an IRError means that it is not a valid one, or that its inputs cannot be computed.

        Raises:
            SearchEnded: At the limit of runs.
            IRError: IR009 if its files cannot be written.
        """
        try:
            state = make()
            if self._limit is not None and self.runs >= self._limit:
                raise SearchEnded
            self.write(state)
            if self.find_errors(state) - self._allowed:
                return False
        except IRError as error:
            if error.code == Code.unwritable:
                raise
            return False
        if not self._test(state):
            return False
        self.best = state
        return True

    def _test(self, state: State) -> bool:
        self.runs += 1
        fails = self.fails(state)
        if self._progress is not None:
            remaining = state.count if fails or self.best is None else self.best.count
            self._progress(f"{format_count(remaining, self.noun)} left")
        return fails
