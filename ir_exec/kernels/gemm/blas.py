"""BLAS on one thread for as long as a run lasts, so that the threads that work are those of `parallel`.

The threads of a BLAS wait for each other by spinning: beside other processes a product of 1.2 ms takes 57. Pieces of
the product on threads of ours lose no more than the share of the cores that the others take.

The limit is one of the process, not of a thread. Runs that overlap hold it together, and the last one to end gives BLAS
back the threads that it had before the first.
"""

from __future__ import annotations

import os
import threading
from contextvars import ContextVar

from ir_exec.tuning.machine import blas_libraries, machine

__all__ = ["CLAIM", "BlasThreadLimit", "blas_is_single_threaded", "takes_strips"]


class BlasThreadLimit:
    """The claim of one run that BLAS works on the calling thread alone. It is made when it is first needed, and ends
    with `release`; several threads may call."""

    __slots__ = ("_is_held",)

    def __init__(self) -> None:
        self._is_held: bool | None = None

    def hold(self) -> bool:
        """Limit BLAS to one thread from here on; whether it could be done."""
        if self._is_held is None:
            with LIMIT.lock:
                if self._is_held is None:
                    self._is_held = LIMIT.acquire()
        return self._is_held

    def release(self) -> None:
        """Give BLAS its threads back, unless another run holds it; the claim cannot be made again."""
        with LIMIT.lock:
            if self._is_held:
                LIMIT.release()
            self._is_held = False


CLAIM: ContextVar[BlasThreadLimit | None] = ContextVar("CLAIM", default=None)
"""The claim of the run that goes on in this context."""


def blas_is_single_threaded() -> bool:
    """Whether BLAS works on the calling thread alone until the run ends.

    It does not outside of runs, nor where threadpoolctl does not know the BLAS, or knows a limit of single threads only
    (OpenMP's); products are then given to BLAS as a whole, which shares them as it likes.
    """
    claim = CLAIM.get()
    return claim is not None and claim.hold()


def takes_strips() -> bool:
    """Whether the same holds, and BLAS is the faster, the smaller its products are: see `strips`."""
    return blas_is_single_threaded() and machine().has_small_kernels


class ThreadCounts:
    """The numbers of threads of every BLAS in the process; whoever calls has the lock."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self._before: list[int] = []
        self._holders = 0

    def acquire(self) -> bool:
        libraries = blas_libraries()
        if not self._holders:
            if not libraries:
                return False
            before = [library.get_num_threads() for library in libraries]
            self._set([1] * len(before))
            if any(library.get_num_threads() != 1 for library in libraries):
                # Another thread of the process holds a limit of its own.
                self._set(before)
                return False
            self._before = before
        self._holders += 1
        return True

    def release(self) -> None:
        self._holders -= 1
        if not self._holders:
            self._set(self._before)

    def forget_holders(self) -> None:
        """Start anew: the runs of a process go on in none of its forks."""
        self.lock = threading.Lock()
        if self._holders:
            self._holders = 0
            self._set(self._before)

    def _set(self, numbers: list[int]) -> None:
        for library, number in zip(blas_libraries(), numbers, strict=True):
            # The thread that has set a limit last would be the only one that may; a run may end on another thread.
            clear = getattr(library, "clear_controlling_thread", None)
            library.set_num_threads(number)
            if clear is not None:
                clear()


LIMIT = ThreadCounts()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=LIMIT.forget_holders)
