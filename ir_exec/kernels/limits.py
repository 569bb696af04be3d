"""What a run may take: memory, iterations of loops, time; and what it has taken so far.

Most sizes are known before a run, and are compared with the budget then. What shows its size in the run alone is
counted here: arrays whose size depends on values, and what the iterations of a loop leave behind. Whoever makes such
an array asks first: `current_limits().require(size)`. Outside of a run nothing is limited.
"""

from __future__ import annotations

import sys
from collections.abc import Container, Iterable
from contextvars import ContextVar
from time import monotonic
from typing import Final
from weakref import ref

import numpy as np

from ir_exec.errors import ResourceError
from ir_exec.types import Array

__all__ = ["LIMITS", "MOST_ITERATIONS", "Budget", "Limits", "check_time", "current_limits", "owner_of", "owners"]

MOST_ITERATIONS = 1_000_000
"""Of all loops of a run together. No network of any use makes more; a damaged file may ask for more than the age of the
universe allows."""

OVERHEAD = 512
"""Bytes that an array takes beside its elements, and the record of it here: loops may leave a million small ones."""


class Budget:
    """The memory that a network may take, over all of its runs.

    max_memory: bytes. constants: bytes of folded constants, which stay in memory from run to run.
    """

    __slots__ = ("constants", "max_memory")

    def __init__(self, max_memory: int = sys.maxsize) -> None:
        self.max_memory = max_memory
        self.constants = 0

    def require(self, size: int) -> None:
        """Raise ResourceError where `size` bytes beside the constants are over the budget."""
        total = size + self.constants
        if total > self.max_memory:
            message = f"the run takes {total:,} bytes at this layer, the budget is {self.max_memory:,}"
            raise ResourceError(message, hint="max_memory of compile_model sets the budget")


class Limits:
    """What one run may take, and what it has taken.

    planned: bytes of the tensors of known size that exist beside those of the layer that runs.
    max_seconds: from now on; None: no limit.
    """

    def __init__(self, budget: Budget | None = None, max_seconds: float | None = None) -> None:
        self.planned = 0
        self.is_timed: Final = max_seconds is not None
        self._budget = budget or Budget()
        self._max_seconds = max_seconds
        self._end = monotonic() + (max_seconds or 0)
        self._iterations = 0
        self._counted = 0
        self._kept: dict[int, _Kept] = {}

    def require(self, size: int) -> None:
        """Raise ResourceError where there is no room for `size` more bytes."""
        self._budget.require(self.planned + self._counted + size)

    def keep(self, array: Array, *, planned: int = 0, besides: Container[int] = ()) -> None:
        """Count the memory of an array for as long as it lives.

        planned: bytes of it that are counted already. besides: `owners` of memory that is counted elsewhere; views of
        it take none. Read-only memory is that of constants, of variables or of the caller.
        """
        owner = owner_of(array)
        key = id(owner)
        if not owner.flags.writeable or key in besides:
            return
        size = max(owner.nbytes + OVERHEAD - planned, 0)
        kept = self._kept.get(key)
        if kept is None:
            kept = self._kept[key] = _Kept(owner, _freed)
            kept.key, kept.limits, kept.size = key, self, 0
        self._counted += size - kept.size
        kept.size = size
        if self.planned + self._counted + self._budget.constants > self._budget.max_memory:
            self.require(0)

    def iterate(self, size: int) -> None:
        """Count an iteration of a loop, which has left `size` bytes that nobody else counts.

        Raises ResourceError where there were too many iterations, or no time or memory is left.
        """
        self._iterations += 1
        if self._iterations > MOST_ITERATIONS:
            raise ResourceError(f"the loops of the run make more than {MOST_ITERATIONS:,} iterations together")
        if self.is_timed:
            self.check_time()
        if self.planned + self._counted + self._budget.constants + size > self._budget.max_memory:
            self.require(size)

    def check_time(self) -> None:
        """Raise ResourceError where the run takes longer than it may."""
        if self.is_timed and monotonic() > self._end:
            message = f"the run takes longer than {self._max_seconds:g} seconds"
            raise ResourceError(message, hint="max_seconds of compile_model sets the limit")

    @property
    def seconds_left(self) -> float:
        """The time that the run may still take; 0 where it is over."""
        return max(self._end - monotonic(), 0.0)

    def close(self) -> None:
        """Count no longer: the run is over, and whoever holds its arrays may keep them."""
        self._kept.clear()
        self._counted = 0

    def release(self, kept: _Kept) -> None:
        if self._kept.pop(kept.key, None) is not None:
            self._counted -= kept.size


class _Kept(ref[Array]):
    """An array whose memory is counted, until it is freed."""

    __slots__ = ("key", "limits", "size")
    key: int
    limits: Limits
    size: int


def _freed(kept: ref[Array]) -> None:
    assert isinstance(kept, _Kept)
    kept.limits.release(kept)


LIMITS: ContextVar[Limits | None] = ContextVar("LIMITS", default=None)
"""The limits of the run that goes on in this context."""


def current_limits() -> Limits:
    """The limits of the run that goes on in this context, or none at all."""
    return LIMITS.get() or Limits()


def check_time() -> None:
    """Raise ResourceError where the run that goes on in this context takes longer than it may.

    For whoever works part by part: one layer may take longer than all others together.
    """
    limits = LIMITS.get()
    if limits is not None and limits.is_timed:
        limits.check_time()


def owner_of(array: Array) -> Array:
    """The array whose memory this is a view of: the last one up the chain of `base`."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def owners(arrays: Iterable[Array]) -> frozenset[int]:
    """Whose memory the arrays are views of, for `Limits.keep`; good for as long as the arrays live."""
    return frozenset([id(owner_of(array)) for array in arrays])
