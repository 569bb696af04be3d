"""Choice between the interpreter and an engine by the times of the first calls, for `engine="auto"`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from threading import Lock
from time import perf_counter
from typing import Any

from ir_exec.engines.report import EngineChoice
from ir_exec.ops.base.bodies import Iterations
from ir_exec.runtime.executor import Executor
from ir_exec.runtime.loop import Observer
from ir_exec.types import Array

__all__ = ["MOST_CHOICES", "TRIAL_CALLS", "FasterExecutor"]

_CALLS = 3
"""Calls of the interpreter, and of the engine, that count: each follows one call that does not count."""

TRIAL_CALLS = 2 * (1 + _CALLS)
"""Maximum calls with inputs of similar shapes before the faster executor is known."""

_LONG = 0.1
"""Seconds of a call after which a second one is not measured."""

MOST_CHOICES = 256
"""Maximum sets of input shapes that have a choice; the engine runs inputs of further shapes."""

Shapes = tuple[tuple[int, ...], ...]


@dataclass
class _Trial:
    """The calls for a set of input shapes until the faster executor is known.

    Attributes:
        shapes: The input shapes of the first call.
        interpreter: The seconds of the interpreter's calls; the first one does not count.
        engine: The seconds of the engine's calls, which follow; the first one does not count.
        is_measuring: If true, a call is being measured. Calls of other threads are not measured meanwhile.
    """

    shapes: Shapes
    interpreter: list[float] = field(default_factory=list)
    engine: list[float] = field(default_factory=list)
    is_measuring: bool = False


class FasterExecutor(Executor):
    """Runs a graph by the interpreter and by an engine in its first calls, and by the faster of both in later ones.

    The interpreter is measured first, because the threads of an engine may occupy the cores for some milliseconds after
    a call. Each has a discarded call and up to three calls that count; the least time decides. The choice holds for
    input shapes whose dims are equal after rounding up to powers of two. Both compute the same graph with the same
    variables, so their calls may alternate.

    Args:
        is_useful: If false, the engine runs no layer, and nothing is measured.
        close: Releases the resources of the engine.
    """

    def __init__(
        self,
        interpreter: Executor,
        engine: Executor,
        *,
        is_useful: bool = True,
        close: Callable[[], None] = lambda: None,
        clock: Callable[[], float] = perf_counter,
    ) -> None:
        self._interpreter = interpreter
        self.engine = engine
        self._close_engine = close
        self._clock = clock
        self._is_useful = is_useful
        self._is_closed = False
        self._trials: dict[Shapes, _Trial] = {}
        self._chosen: dict[Shapes, Executor] = {}
        self._lock = Lock()

    @property
    def constant_bytes(self) -> int:
        return self._interpreter.constant_bytes

    def plan(self, inputs: Any) -> Any:
        return self._interpreter.plan(inputs)

    def run(
        self, arrays: list[Array], observe: Observer | None = None, *, iterations: Iterations | None = None
    ) -> list[Array]:
        if observe is not None:
            return self._interpreter.run(arrays, observe)
        if self._is_closed:
            # It raises the error of closed models.
            return self.engine.run(arrays)
        if not self._is_useful:
            return self._interpreter.run(arrays)
        shapes = tuple([array.shape for array in arrays])
        chosen = self._chosen.get(shapes)
        return self._measure(shapes, arrays) if chosen is None else chosen.run(arrays)

    def close(self) -> None:
        """Release the resources of the engine."""
        self._is_closed = True
        self._close_engine()

    def _measure(self, shapes: Shapes, arrays: list[Array]) -> list[Array]:
        """Run the executor that is to be measured next, or the faster one if it is known for similar shapes."""
        similar = tuple([tuple([_round_up(dim) for dim in shape]) for shape in shapes])
        with self._lock:
            trial = self._trials.get(similar)
            if trial is None and len(self._trials) < MOST_CHOICES:
                trial = self._trials[similar] = _Trial(shapes)
            if trial is None or trial.is_measuring:
                chosen: Executor | None = self.engine
            else:
                chosen = self._choose(trial)
                trial.is_measuring = chosen is None
                if chosen is not None and len(self._chosen) < MOST_CHOICES:
                    self._chosen[shapes] = chosen
        if trial is None or chosen is not None:
            return (chosen or self.engine).run(arrays)
        try:
            is_complete = _is_complete(trial.interpreter)
            executor, times = (self.engine, trial.engine) if is_complete else (self._interpreter, trial.interpreter)
            start = self._clock()
            outputs = executor.run(arrays)
            times.append(self._clock() - start)
            return outputs
        finally:
            trial.is_measuring = False

    def _choose(self, trial: _Trial) -> Executor | None:
        """Return the faster executor; None before the last call of the trial."""
        if not (_is_complete(trial.interpreter) and _is_complete(trial.engine)):
            return None
        return self.engine if min(trial.engine[1:]) <= min(trial.interpreter[1:]) else self._interpreter

    def has_chosen_engine(self, shapes: Shapes) -> bool:
        """Return True if the engine is the faster one for inputs of these shapes."""
        return self._chosen.get(shapes) is self.engine

    @property
    def choices(self) -> tuple[EngineChoice, ...]:
        """The times for each set of input shapes so far, and what runs it."""
        with self._lock:
            trials = [*self._trials.values()]
        return tuple([self._report(trial) for trial in trials])

    def _report(self, trial: _Trial) -> EngineChoice:
        chosen = self._choose(trial)
        return EngineChoice(
            shapes=trial.shapes,
            interpreter_seconds=min(trial.interpreter[1:], default=None),
            engine_seconds=min(trial.engine[1:], default=None),
            interpreter_calls=len(trial.interpreter),
            engine_calls=len(trial.engine),
            runs_on=None if chosen is None else "engine" if chosen is self.engine else "interpreter",
        )


def _is_complete(seconds: Sequence[float]) -> bool:
    """Return True if no further call of this executor is to be measured."""
    return len(seconds) > _CALLS or (len(seconds) > 1 and seconds[-1] > _LONG)


def _round_up(dim: int) -> int:
    return 1 << (dim - 1).bit_length() if dim > 1 else dim
