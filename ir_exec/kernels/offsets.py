"""Chunks of index arithmetic: indices become offsets into flattened tensors, some tens of thousands at a time.

A chunk is small enough for its indices, offsets and elements to stay in the processor's cache between the steps, and
large enough for NumPy's calls not to count. One reduction finds whether all indices of a chunk lie on their axis; the
offsets go into a buffer that the next chunk uses again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Any, TypeAlias

import numpy as np

from ir_exec.kernels.indices import Negative, as_integers, lie_within
from ir_exec.types import Array

__all__ = [
    "CHUNK",
    "FAR",
    "FEW",
    "PER_BYTE",
    "PER_ELEMENT",
    "AlongAxis",
    "AxisOffsets",
    "Indices",
    "OutOfRangeError",
    "Tile",
    "TupleOffsets",
    "chunk_size",
    "slices_cost",
    "slices_of_piece",
]

FEW = 2**15
"""Elements up to which a few NumPy calls on all of them are quicker than chunks."""

CHUNK = 2**17
"""Elements of a chunk at most."""

NEAR = 2**20
"""Bytes of which random elements are read or written quickly: about what a core's own cache holds."""

FAR = 2**22
"""Bytes up to which going through a tensor column by column, for the sake of the cache, takes more than it saves."""

RUN = 64
"""Elements that shall lie side by side in a part of a tensor, for what memory gives is never one element alone."""

LINE = 16
"""The fewest of them: of four bytes each, so many fill a line of the cache."""

COPY = 2**23
"""Bytes at most of a part that is copied, in every thread."""

PER_ELEMENT = 1.0
"""Nanoseconds that it takes to find and to move an element, about."""

PER_BYTE = 0.04
"""Nanoseconds that it takes to move a byte of a slice, about."""

PIECE = 60_000
"""Nanoseconds of work that are worth NumPy's calls, and being handed to a thread."""

MOST_PIECES = 16
"""Pieces of about equal size into which work is split for threads to share."""

Tile: TypeAlias = tuple[slice, slice, slice]
"""A part of a tensor seen as (before, axis, after)."""


def chunk_size(total: int) -> int:
    """How many of so many elements make a chunk: there shall be some chunks to share, but none that is over at once."""
    return min(CHUNK, max(2 * FEW, total // 4))


def slices_cost(count: int, nbytes: int) -> float:
    """Nanoseconds that it takes to move so many slices of so many bytes, about."""
    return count * max(PER_ELEMENT, nbytes * PER_BYTE)


def slices_of_piece(count: int, nbytes: int) -> int:
    """How many of so many slices of so many bytes make a piece of work: see `chunk_size`."""
    total = max(slices_cost(count, nbytes), 1.0)
    pieces = min(max(1, int(total / PIECE)), MOST_PIECES)
    return max(1, min(-(-count // pieces), CHUNK))


class OutOfRangeError(Exception):
    """An index does not lie on its axis. Whoever catches this looks for it in all indices to say which."""


@dataclass(frozen=True, slots=True)
class Indices:
    """Indices that NumPy can calculate with. negative: whether those below zero count from the end of their axis."""

    array: Array
    negative: bool

    @classmethod
    def of(cls, indices: Array, negative: Negative, longest: int) -> Indices:
        """longest: the size of the longest axis that they count on."""
        integers = as_integers(indices)
        signed = integers.dtype.kind == "i"
        if signed and longest > 2**7 and longest > np.iinfo(integers.dtype).max:
            # Such an axis is longer than a narrow negative number, seen as unsigned, is large.
            integers = integers.astype(np.int64)
        elif integers.dtype == np.uint64:
            # What lies on an axis fits into i64; what does not is found out of range there too.
            integers = integers.view(np.int64)
        return cls(integers, signed and negative != "refused")


@dataclass(frozen=True, slots=True)
class AlongAxis:
    """Indices of shape (before, length, after) that choose along the axis of a tensor (before, size, after)."""

    before: int
    length: int
    after: int
    size: int

    def tiles(self, itemsize: int, *, copied: bool = False) -> tuple[int, int, int]:
        """The sizes of the chunks: so many along before, length and after.

        A chunk is a piece of memory without gaps, unless the tensor is so long along the axis that only a part of its
        columns stays in the cache; then the chunk is a part of the columns too.
        copied: whether the work is done in a copy of these columns, which shall not take much memory.
        """
        most = chunk_size(self.before * self.length * self.after)
        columns = min(self.after, most)
        if self.size * self.after * itemsize > FAR and 4 * self.length > self.size:
            columns = min(columns, max(RUN, NEAR // (self.size * itemsize) // RUN * RUN))
            if copied and self.size * columns * itemsize > COPY:
                columns = LINE if self.size * LINE * itemsize <= COPY else min(self.after, most)
        rows = min(self.length, max(1, most // max(columns, 1)))
        whole = columns == self.after and rows == self.length
        return (min(self.before, max(1, most // max(rows * columns, 1))) if whole else 1), rows, columns

    def groups(self, tiles: tuple[int, int, int], *, apart: int) -> list[list[Tile]]:
        """All tiles, in groups that touch different elements of the tensor.

        apart: how many groups at least there shall be, even if they then share elements of the tensor; 0: never share.
        """
        totals = (self.before, self.length, self.after)
        befores, rows, afters = (list(_slices(total, step)) for total, step in zip(totals, tiles, strict=True))
        share = max(1, len(rows) if not apart else len(rows) * len(befores) * len(afters) // apart)
        parts = [rows[first : first + share] for first in range(0, len(rows), share)]
        return [[(b, j, k) for j in part] for b in befores for k in afters for part in parts]


def _slices(total: int, step: int) -> Iterator[slice]:
    return (slice(first, min(first + step, total)) for first in range(0, total, max(step, 1)))


class AxisOffsets:
    """Turns chunks of indices along one axis into offsets. Each thread has one of its own, for it has the buffer."""

    def __init__(self, capacity: int, size: int, negative: bool) -> None:
        self._buffer = np.empty(capacity, np.int64)
        self._size = size
        self._negative = negative

    def __call__(self, indices: Array, columns: int) -> Array:
        """Offsets of elements [b, indices[b, j, k], k] in a flattened tensor of shape (before, size, columns).

        They count from the chunk's first element [0, 0, 0] and hold until the next call. Raises OutOfRangeError.
        """
        found = indices if lie_within(indices, self._size) else self._count_from_front(indices)
        before = found.shape[0]
        if columns == 1 and before == 1:
            return found
        # Half as many bytes are half the time, and i32 holds the offsets within all but the largest chunks.
        narrow = found.dtype == np.int32 and before * self._size * columns < 2**31
        buffer = self._buffer.view(np.int32) if narrow else self._buffer
        offsets = buffer[: found.size].reshape(found.shape)
        if columns > 1:
            found = np.multiply(found, columns, out=offsets, dtype=offsets.dtype)
        return np.add(found, _grid(found.shape, self._size * columns, offsets.dtype), out=offsets)

    def _count_from_front(self, indices: Array) -> Array:
        if not self._negative:
            raise OutOfRangeError
        buffer = self._buffer[: indices.size].reshape(indices.shape)
        buffer[...] = indices
        # The shift leaves -1 of what is negative and 0 of the rest: no branch, no mask.
        buffer += (buffer >> 63) & self._size
        if not lie_within(buffer, self._size):
            raise OutOfRangeError
        return buffer


@lru_cache(maxsize=4)
def _grid(shape: tuple[int, ...], stride: int, dtype: np.dtype[Any]) -> Array:
    """b * stride + k for every [b, j, k] of this shape, which most chunks of a tensor and of the next run share."""
    grid = np.empty(shape, dtype)
    first = np.arange(shape[0], dtype=dtype) * stride
    np.add(first[:, np.newaxis, np.newaxis], np.arange(shape[2], dtype=dtype), out=grid)
    return grid


class TupleOffsets:
    """Turns chunks of tuples of indices into offsets. Each thread has one of its own, for it has the buffer."""

    def __init__(self, capacity: int, sizes: Sequence[int], negative: bool) -> None:
        self._buffer = np.empty(capacity * len(sizes), np.int64)
        self._sizes = np.array(sizes, np.int64)[:, np.newaxis]
        # As for AxisOffsets.
        self._narrow = prod(sizes) < 2**31
        self._narrow_sizes = self._sizes.astype(np.int32)
        self._negative = negative

    def __call__(self, indices: Array) -> Array:
        """Offsets of the slices that tuples of shape (count, len(sizes)) choose, counted in slices.

        They hold until the next call. Raises OutOfRangeError.
        """
        count, length = indices.shape
        if not length:
            return np.zeros(count, np.int64)
        if length == 1 and lie_within(indices, int(self._sizes[0, 0])):
            return indices[:, 0]
        narrow = self._narrow and indices.dtype == np.int32
        buffer, sizes = (self._buffer.view(np.int32), self._narrow_sizes) if narrow else (self._buffer, self._sizes)
        columns = buffer[: indices.size].reshape(length, count)
        columns[...] = indices.T
        if not _lie_within_each(columns, sizes):
            if not self._negative:
                raise OutOfRangeError
            columns += (columns >> (31 if narrow else 63)) & sizes
            if not _lie_within_each(columns, sizes):
                raise OutOfRangeError
        offsets: Array = columns[0]
        for component in range(1, length):
            offsets *= sizes[component, 0]
            offsets += columns[component]
        return offsets


def _lie_within_each(columns: Array, sizes: Array) -> bool:
    """Whether each of the rows of `columns` lies on an axis of its size; see `lie_within`."""
    unsigned = np.dtype(f"u{columns.itemsize}")
    return not columns.size or bool((columns.view(unsigned).max(axis=1) < sizes[:, 0].view(unsigned)).all())
