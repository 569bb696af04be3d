"""The number of threads of a run: from the caller, else the environment, else the cores of this process."""

from __future__ import annotations

import os

from ir_exec.errors import EvaluationError
from ir_exec.kernels.gemm.blas import CLAIM, BlasThreadLimit
from ir_exec.kernels.parallel import THREADS
from ir_exec.runtime.arguments import whole_number
from ir_exec.tuning.machine import machine

__all__ = ["VARIABLE", "RunThreads", "chosen_threads"]

VARIABLE = "IR_EXEC_THREADS"


class RunThreads:
    """`with RunThreads(count):` lets operators use `count` threads, and BLAS one, until the enclosed run ends."""

    __slots__ = ("_around", "_claim", "_count")

    def __init__(self, count: int) -> None:
        self._count = count
        self._claim = BlasThreadLimit()

    def __enter__(self) -> None:
        self._around = THREADS.set(self._count), CLAIM.set(self._claim)

    def __exit__(self, *_: object) -> None:
        self._claim.release()
        THREADS.reset(self._around[0])
        CLAIM.reset(self._around[1])


def chosen_threads(threads: int | None = None) -> int:
    """Return the caller's number, or IR_EXEC_THREADS, or the cores available to this process.

    Raises:
        EvaluationError: IR704 for a number below 1 and for text that is not a number.
    """
    if threads is not None:
        return whole_number(threads, "threads", 1)
    text = os.environ.get(VARIABLE, "").strip()
    if not text:
        return machine().cores
    try:
        number = int(text)
    except ValueError:
        raise EvaluationError(f"{VARIABLE} is", actual=repr(text), expected="a whole number") from None
    return whole_number(number, VARIABLE, 1)
