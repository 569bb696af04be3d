"""BLAS limited to one thread for the duration of a run, since `parallel` provides the threads.

The threads of a BLAS wait for each other by spinning: next to other processes a product of 1.2 ms takes 57 ms. Chunks
of the product on our threads lose only the share of the cores used by the others.

The limit belongs to the process, not to a thread. Overlapping runs share it, and the last one to end restores the
number of threads that BLAS had before the first.
"""

from __future__ import annotations

import os
import threading
from contextvars import ContextVar

from ir_exec.tuning.machine import blas_libraries, machine

__all__ = ["CLAIM", "BlasThreadLimit", "blas_is_single_threaded", "prefers_tiles"]


class BlasThreadLimit:
    """The claim of one run that BLAS uses the calling thread only.

    It is made on first use, and ends with `release`; several threads may call.
    """

    __slots__ = ("_is_acquired",)

    def __init__(self) -> None:
        self._is_acquired: bool | None = None

    def hold(self) -> bool:
        """Limit BLAS to one thread until `release`; return True on success."""
        if self._is_acquired is None:
            with LIMIT.lock:
                if self._is_acquired is None:
                    self._is_acquired = LIMIT.acquire()
        return self._is_acquired

    def release(self) -> None:
        """Restore the threads of BLAS, unless another run holds it; the claim cannot be made again."""
        with LIMIT.lock:
            if self._is_acquired:
                LIMIT.release()
            self._is_acquired = False


CLAIM: ContextVar[BlasThreadLimit | None] = ContextVar("CLAIM", default=None)
"""The claim of the current run in this context.

It is no argument of a product: operators call kernels with arrays and attributes only, and runs overlap.
"""


def blas_is_single_threaded() -> bool:
    """Return True if BLAS uses the calling thread only until the run ends.

    The result is False outside of runs, and if threadpoolctl does not support the BLAS, or supports only limits of
    single threads (OpenMP). Products are then passed to BLAS as a whole, which manages its threads.
    """
    claim = CLAIM.get()
    return claim is not None and claim.hold()


def prefers_tiles() -> bool:
    """Return True if `blas_is_single_threaded`, and BLAS is faster for smaller products: see `multiply_in_tiles`."""
    return blas_is_single_threaded() and machine().has_small_kernels


class ThreadCounts:
    """The numbers of threads of every BLAS in the process; the caller holds the lock."""

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
                # Another thread of the process holds a separate limit.
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
        """Reset the state in a forked process: it continues no run of its parent."""
        self.lock = threading.Lock()
        if self._holders:
            self._holders = 0
            self._set(self._before)

    def _set(self, numbers: list[int]) -> None:
        for library, number in zip(blas_libraries(), numbers, strict=True):
            # Only the thread that set a limit last could restore it; a run may end on another thread.
            clear = getattr(library, "clear_controlling_thread", None)
            library.set_num_threads(number)
            if clear is not None:
                clear()


LIMIT = ThreadCounts()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=LIMIT.forget_holders)
