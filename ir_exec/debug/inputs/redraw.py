"""Repeated draws: inputs whose outputs are NaN, infinite or constant are replaced."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import Any

import numpy as np

from ir_exec.debug.inputs.drawing import Drawer
from ir_exec.debug.inputs.record import Drawn
from ir_exec.errors import IRError, ResourceError
from ir_exec.model import Model, ShapeLike
from ir_exec.runtime import compile_model
from ir_exec.runtime.precision import Precision
from ir_exec.runtime.weight_modes import weight_mode_of_one_run
from ir_exec.types import STRING, Array, ElementType

__all__ = ["Redraw", "checked_inputs"]

_MOST_DRAWS = 3
"""Maximum draws of one set of inputs, the first included."""

_MOST_SECONDS = 5.0
"""Maximum seconds of all runs of one set of inputs: a slower model is not run again."""

_LONGEST = 20.0
"""Maximum seconds of a run whose outputs are only judged."""


class Redraw:
    """Generated inputs that the caller runs, drawn again if their outputs are unusable.

    After each run, the caller passes its outputs to `again`, or its error to `again_after`, and runs again if the
    result is True. `arrays` and `drawn` are then those of the best draw.

    Attributes:
        arrays: The inputs of the next run.
    """

    def __init__(self, drawer: Drawer) -> None:
        self._drawer = drawer
        self._attempt = 0
        self._seconds = 0.0
        self._rejected: list[str] = []
        self._best: tuple[int, dict[str, Array], str | None] | None = None
        self.arrays = self._last = drawer.arrays(0)

    @property
    def is_best(self) -> bool:
        """Return True if the last run was that of the best draw."""
        return self._best is not None and self._best[1] is self._last

    @property
    def drawn(self) -> Drawn:
        """The record of the best draw."""
        record = self._drawer.record(self.arrays)
        problem = None if self._best is None else self._best[2]
        rejected = self._rejected if problem is None else self._rejected[:-1]
        return record.model_copy(
            update={"rejected": tuple(rejected), "problem": problem, "checked": self._best is not None}
        )

    def again(self, outputs: Sequence[Array], seconds: float) -> bool:
        """Return True if the inputs were drawn again and are to be run.

        Args:
            outputs: Those of the model in order.
        """
        if not self._drawer.is_random:
            return False
        depends, names = self._drawer.depends, self._drawer.names
        if len(outputs) != len(names):
            # A list whose length the inputs of the run determine.
            depends, names = [True] * len(outputs), [f"out{position}" for position in range(len(outputs))]
        return self._judge_draw(*judge(outputs, depends, names), seconds)

    def again_after(self, error: IRError, seconds: float) -> bool:
        """Return True if the inputs were drawn again, after a run that ended with an error."""
        return self._drawer.is_random and self._judge_draw(_FAILED, f"the run fails: {error.message}", seconds)

    def _judge_draw(self, score: int, problem: str | None, seconds: float) -> bool:
        self._last = self.arrays
        self._seconds += seconds
        if problem is not None:
            self._rejected.append(problem)
        if self._best is None or score < self._best[0]:
            self._best = score, self.arrays, problem
        self._attempt += 1
        if problem is None or self._attempt >= _MOST_DRAWS or self._seconds + seconds > _MOST_SECONDS:
            self.arrays = self._best[1]
            return False
        self.arrays = self._drawer.arrays(self._attempt)
        return True


_FAILED = 2**60
"""The score of a run that ended with an error."""


def judge(outputs: Sequence[Array], depends: Sequence[bool], names: Sequence[str]) -> tuple[int, str | None]:
    """The score of outputs, 0 if they are usable and higher if they are worse, and a description of the problem.

    An output is constant if it has several elements that are all equal. Constant integers and booleans count only if
    every output is constant.

    Args:
        depends: For each output, True if it depends on values of the inputs.
    """
    nans: list[str] = []
    infinite: list[str] = []
    constant: list[str] = []
    integers: list[str] = []
    for output, name, follows in zip(outputs, names, depends, strict=True):
        if not follows or not output.size or ElementType.of(output) in STRING:
            continue
        is_float = ElementType.of(output).is_float
        numbers = output.astype(np.float64) if is_float else output
        if is_float and np.isnan(numbers).any():
            nans.append(f"{name!r} is NaN{_share(np.isnan(numbers))}")
        elif is_float and np.isinf(numbers).any():
            infinite.append(f"{name!r} is infinite{_share(np.isinf(numbers))}")
        elif output.size > 1 and (output == output.reshape(-1)[0]).all():
            (constant if is_float else integers).append(f"{name!r} is constant")
    count = sum(depends)
    if len(constant) + len(integers) == count:
        constant += integers
    problems = [*nans, *infinite, *constant]
    score = len(nans) * 10**6 + len(infinite) * 10**3 + len(constant)
    return score, f"output {', '.join(problems[:3])}{' and others' if len(problems) > 3 else ''}" if problems else None


def _share(mask: Any) -> str:
    count = int(np.count_nonzero(mask))
    return "" if count == mask.size else f" in {count:,} of {mask.size:,} elements"


def checked_inputs(
    model: Model,
    seed: int,
    shapes: Mapping[str, ShapeLike] | None = None,
    given_arrays: Mapping[str, Array] | None = None,
    *,
    threads: int | None = None,
    precision: Precision = "f32",
) -> tuple[dict[str, Array], Drawn]:
    """All inputs as by `drawn_inputs`, drawn again if their outputs are unusable, and their record.

    The outputs of a run that exceeds some seconds are not judged. A run that fails is not an error here: the caller's
    own run reports it.

    Args:
        threads: The number of threads of a run, as for `compile_model`.
        precision: The precision of the runs, as for `compile_model`.

    Raises:
        IRError: The errors of `drawn_inputs`.
    """
    drawer = Drawer(model, seed, shapes, given_arrays)
    redraw = Redraw(drawer)
    if not drawer.is_random:
        return redraw.arrays, redraw.drawn
    try:
        mode = weight_mode_of_one_run(model, "auto", precision)
        compiled = compile_model(model, max_seconds=_LONGEST, threads=threads, precision=precision, weight_mode=mode)
    except IRError:
        return redraw.arrays, redraw.drawn
    goes_on = True
    while goes_on:
        start = perf_counter()
        try:
            compiled.reset_state()
            outputs = list(compiled(dict(redraw.arrays)).values())
        except ResourceError:
            break  # the run takes too much time or memory for outputs that are only judged
        except IRError as error:
            goes_on = redraw.again_after(error, perf_counter() - start)
        else:
            goes_on = redraw.again(outputs, perf_counter() - start)
    return redraw.arrays, redraw.drawn
