"""The limits of a run (memory, iterations of loops, time) and its consumption so far.

Most sizes are known before a run and are then compared with the budget. Sizes known only in the run are counted here:
arrays whose size depends on values, and arrays kept from iterations of a loop. Code that makes such an array first
calls `current_limits().require(size)`. Outside of a run there are no limits.
"""

from __future__ import annotations

import sys
from collections.abc import Container, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import monotonic
from typing import Final
from weakref import ref

import numpy as np

from ir_exec.errors import ResourceError
from ir_exec.types import Array

__all__ = [
    "LIMITS",
    "MOST_ITERATIONS",
    "Budget",
    "Limits",
    "MemoryMeter",
    "check_time",
    "current_limits",
    "limited_memory",
    "owner_of",
    "owners",
    "require_temporary",
]

MOST_ITERATIONS = 1_000_000
"""Maximum iterations of all loops of a run. No real model needs more; a damaged file may request any number."""

OVERHEAD = 512
"""Bytes per array in addition to its elements, including its record here: loops may keep a million small arrays."""


METERED = 2**16
"""Bytes after which a `MemoryMeter` compares its sum with the limits again."""


_MEMORY_HINT = (
    'raise the budget with max_memory of compile_model, or keep weights compressed with weight_mode="keep" '
    "or --weight-mode keep"
)


class Budget:
    """The memory that a model may use, over all of its runs.

    Attributes:
        max_memory: Bytes.
        constants: Bytes of folded constants, which remain in memory between runs.
        hint: The hint of errors.
    """

    __slots__ = ("constants", "hint", "max_memory")

    def __init__(self, max_memory: int = sys.maxsize, hint: str = _MEMORY_HINT) -> None:
        self.max_memory = max_memory
        self.constants = 0
        self.hint = hint

    def require(self, size: int) -> None:
        """Raise ResourceError if `size` bytes in addition to the constants exceed the budget."""
        total = size + self.constants
        if total > self.max_memory:
            message = f"the run takes {total:,} bytes at this layer, the budget is {self.max_memory:,}"
            raise ResourceError(message, hint=self.hint)


class Limits:
    """The limits of one run, and its consumption.

    Args:
        max_seconds: The time limit, measured from the construction; None for no limit.

    Attributes:
        planned: Bytes of the tensors of known size that exist in addition to the tensors of the running layer.
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
        """Raise ResourceError if `size` more bytes exceed the limits."""
        self._budget.require(self.planned + self._counted + size)

    def keep(self, array: Array, *, planned: int = 0, excluded: Container[int] = ()) -> None:
        """Count the memory of an array for its lifetime.

        Read-only memory belongs to constants, variables or the caller.

        Args:
            planned: Bytes of it that are already counted.
            excluded: `owners` of memory counted elsewhere, whose views need none.
        """
        owner = owner_of(array)
        key = id(owner)
        if not owner.flags.writeable or key in excluded:
            return
        size = max(owner.nbytes + OVERHEAD - planned, 0)
        entry = self._kept.get(key)
        if entry is None:
            entry = self._kept[key] = _Kept(owner, _release_entry)
            entry.key, entry.limits, entry.size = key, self, 0
        self._counted += size - entry.size
        entry.size = size
        if self.planned + self._counted + self._budget.constants > self._budget.max_memory:
            self.require(0)

    def iterate(self, size: int) -> None:
        """Count an iteration of a loop, which keeps `size` bytes not counted elsewhere.

        Raises:
            ResourceError: For too many iterations, or if no time or memory is left.
        """
        self._iterations += 1
        if self._iterations > MOST_ITERATIONS:
            raise ResourceError(f"the loops of the run make more than {MOST_ITERATIONS:,} iterations together")
        if self.is_timed:
            self.check_time()
        if self.planned + self._counted + self._budget.constants + size > self._budget.max_memory:
            self.require(size)

    def check_time(self) -> None:
        """Raise ResourceError if the run exceeds its time limit."""
        if self.is_timed and monotonic() > self._end:
            message = f"the run takes longer than {self._max_seconds:g} seconds"
            raise ResourceError(message, hint="raise the limit with max_seconds of compile_model")

    @property
    def seconds_left(self) -> float:
        """The remaining time of a run with a time limit; 0 if it is exceeded."""
        return max(self._end - monotonic(), 0.0)

    @property
    def max_seconds(self) -> float | None:
        """The time limit of the run; None without one."""
        return self._max_seconds

    def close(self) -> None:
        """Stop counting: the run is over, and its arrays may be kept."""
        self._kept.clear()
        self._counted = 0

    def release(self, entry: _Kept) -> None:
        if self._kept.pop(entry.key, None) is not None:
            self._counted -= entry.size


class _Kept(ref[Array]):
    """An array whose memory is counted, until it is freed."""

    __slots__ = ("key", "limits", "size")
    key: int
    limits: Limits
    size: int


def _release_entry(entry: ref[Array]) -> None:
    assert isinstance(entry, _Kept)
    entry.limits.release(entry)


LIMITS: ContextVar[Limits | None] = ContextVar("LIMITS", default=None)
"""The limits of the current run in this context.

It is no argument of a kernel: operators call kernels with arrays and attributes only, on any thread.
"""


def current_limits() -> Limits:
    """The limits of the current run in this context, or unlimited ones."""
    return LIMITS.get() or Limits()


def check_time() -> None:
    """Raise ResourceError if the current run in this context exceeds its time limit.

    Long layers call this between chunks: one layer may take longer than all others together.
    """
    limits = LIMITS.get()
    if limits is not None and limits.is_timed:
        limits.check_time()


@contextmanager
def limited_memory(max_memory: int) -> Iterator[None]:
    """Limit the memory of operators that are evaluated outside of a run, such as by the check of a folder.

    Within a run, the limits of the run apply.
    """
    if LIMITS.get() is not None:
        yield
        return
    token = LIMITS.set(Limits(Budget(max_memory)))
    try:
        yield
    finally:
        LIMITS.reset(token)


FEW_BYTES = 2**20
"""Maximum bytes of an intermediate array that is not counted."""


def require_temporary(size: int, proportional: int = 0) -> None:
    """Compare an intermediate array of a layer with the memory of the run before it is allocated.

    Layers call this if attributes or values, such as pads and numbers of samples, can make the array far larger than
    the inputs and the outputs.

    Args:
        size: Bytes of the array.
        proportional: Bytes of the inputs and outputs of the layer: an array of the same size is not counted.

    Raises:
        ResourceError: If the array exceeds the budget.
    """
    if size > max(2 * proportional, FEW_BYTES):
        current_limits().require(size)


class MemoryMeter:
    """The memory of values that grow within a layer, compared with the limits of the run before each of them is kept.

    Attributes:
        size: Bytes so far.
    """

    __slots__ = ("_limits", "_next", "size")

    def __init__(self) -> None:
        self._limits = current_limits()
        self._next = 0
        self.size = 0

    def add(self, size: int) -> None:
        """Count `size` more bytes.

        Raises:
            ResourceError: If they exceed the budget, or if no time is left.
        """
        self.size += size
        if self.size >= self._next:
            self._limits.require(self.size)
            self._limits.check_time()
            self._next = self.size + METERED


def owner_of(array: Array) -> Array:
    """The array whose memory this is a view of: the last one up the chain of `base`."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def owners(arrays: Iterable[Array]) -> frozenset[int]:
    """The arrays that own the memory of these arrays, for `Limits.keep`; valid for their lifetime."""
    return frozenset([id(owner_of(array)) for array in arrays])
