"""Arrays that grow along one axis in memory with room for more elements."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ir_exec.errors import ResourceError
from ir_exec.kernels.chunks import by_rows
from ir_exec.kernels.limits import check_time, current_limits
from ir_exec.types import Array

__all__ = ["LEAST_ROOM", "GrowingArray", "capacity_for", "copy_elements"]

LEAST_ROOM = 64
"""Minimum elements along the axis for which new memory has room."""


ROOM_SHARE = 8
"""The divisor of the size that is the room of memory whose readers read all of it."""


class GrowingArray:
    """Memory for an array that grows along one axis, by default twice as long as the array when it is allocated.

    Every element is written once, before the first array that contains it is returned, so no array changes after it was
    returned. Only an array that ends at the last written element can be extended in place.

    Args:
        shape: The shape without elements along the axis.
        size: Elements along the axis that will be written first.
        capacity: Elements along the axis of memory whose unwritten elements are 0, for readers of all of it.

    Attributes:
        latest: The array of all elements so far, read-only.
        is_cleared: Unwritten elements are 0.
    """

    __slots__ = ("_axis", "_before", "_memory", "_readable", "is_cleared", "latest")

    def __init__(
        self, shape: tuple[int, ...], axis: int, dtype: np.dtype[Any], size: int, capacity: int | None = None
    ) -> None:
        self.is_cleared = capacity is not None
        room = _size_with_room(shape, axis, dtype, size) if capacity is None else capacity
        full = (*shape[:axis], room, *shape[axis + 1 :])
        if capacity is not None:
            current_limits().require(prod(full) * dtype.itemsize)
        memory = (np.empty if capacity is None else np.zeros)(prod(full) * dtype.itemsize, np.uint8)
        # Arrays for readers have another owner, which is read-only: runs count the memory of writable owners.
        readable = np.frombuffer(memory, dtype)
        readable.flags.writeable = False
        self._axis = axis
        self._before = (slice(None),) * axis
        self._memory = memory.view(dtype).reshape(full)
        self._readable = readable.reshape(full)
        self.latest: Array = self._readable[self._between(0, 0)]

    @property
    def memory(self) -> Array:
        """All of the memory, read-only: the latest array, followed by room."""
        return self._readable

    @property
    def capacity(self) -> int:
        """The elements along the axis for which the memory has room."""
        return int(self._memory.shape[self._axis])

    @staticmethod
    def can_hold(shape: tuple[int, ...], axis: int, dtype: np.dtype[Any]) -> bool:
        """Return True for arrays of numbers that are not empty except along the axis."""
        return not dtype.hasobject and dtype.itemsize > 0 and prod(shape[:axis]) * prod(shape[axis + 1 :]) > 0

    def allocate(self, size: int) -> Array | None:
        """Return writable memory of the next `size` elements along the axis, None without room for them.

        Once its elements are written, `extend` makes them readable.
        """
        start = self.latest.shape[self._axis]
        if start + size > self._memory.shape[self._axis]:
            return None
        memory: Array = self._memory[self._between(start, start + size)]
        return memory

    def extend(self, size: int) -> Array:
        """Return the array with the next `size` elements along the axis, which must be written."""
        self.latest = self._readable[self._between(0, self.latest.shape[self._axis] + size)]
        return self.latest

    def append(self, elements: Array) -> Array | None:
        """Return the latest array followed by these elements, None without room for them."""
        axis, before = self._axis, self._before
        start = self.latest.shape[axis]
        stop = start + elements.shape[axis]
        if stop > self._memory.shape[axis]:
            return None
        copy_elements(self._memory[(*before, slice(start, stop))], elements)
        self.latest = self._readable[(*before, slice(stop))]
        return self.latest

    def fits(self, value: Array, axis: int) -> bool:
        """Return True if elements appended along the axis follow this value: it is the latest array."""
        return value is self.latest and axis == self._axis

    def _between(self, start: int, stop: int) -> tuple[slice, ...]:
        return (*self._before, slice(start, stop))


def capacity_for(size: int) -> int:
    """Return the capacity for an array of this size that all readers read: room costs them time."""
    return size + max(LEAST_ROOM, size // ROOM_SHARE)


def copy_elements(target: Array, source: Array) -> None:
    """Copy an array to memory of the same shape and element type. All copies of this module are made here."""
    check_time()
    target[...] = by_rows(source)


def _size_with_room(shape: tuple[int, ...], axis: int, dtype: np.dtype[Any], size: int) -> int:
    """Return twice the size along the axis, or the size itself if memory is short."""
    roomy = max(2 * size, LEAST_ROOM)
    element_bytes = prod(shape[:axis]) * prod(shape[axis + 1 :]) * dtype.itemsize
    try:
        current_limits().require(roomy * element_bytes)
    except ResourceError:
        current_limits().require(size * element_bytes)
        return size
    return roomy
