"""Chunks of index arithmetic: offsets into flattened tensors, some tens of thousands at a time.

A chunk is small enough for its indices, offsets and elements to remain in the processor's cache between the steps, and
large enough for a negligible overhead of NumPy's calls. One reduction checks that all indices of a chunk are within
their axis. The offsets are written to a buffer that the next chunk reuses. A `Strategy` is a method of moving the
elements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar, TypeVarTuple

import numpy as np

from ir_exec.kernels.chunks import as_unsigned
from ir_exec.kernels.indices import (
    OutOfRangeError,
    add_to_negative,
    as_wide_integers,
    element_offsets,
    lie_within,
    positions_within,
)
from ir_exec.tuning import thresholds
from ir_exec.tuning.machine import machine
from ir_exec.types import Array

__all__ = [
    "AlongAxis",
    "AxisOffsets",
    "Indices",
    "Strategy",
    "Tile",
    "TupleOffsets",
    "always",
    "choose",
    "chunk_size",
    "fits_table",
    "fits_tuple_table",
    "is_native",
    "slices_cost",
    "slices_per_chunk",
    "table_offsets",
    "table_tuple_offsets",
]

Tile: TypeAlias = tuple[slice, slice, slice]
"""A block of a tensor viewed as (before, axis, after)."""


def chunk_size(total: int) -> int:
    """The number of elements in a chunk out of `total`: a quarter, for threads to share, within reasonable limits."""
    return min(thresholds.CHUNK_ELEMENTS, max(2 * thresholds.FEW_ELEMENTS, total // 4))


def slices_cost(count: int, nbytes: int) -> float:
    """Estimated nanoseconds to move `count` slices of `nbytes` bytes."""
    return count * max(thresholds.ELEMENT_NANOSECONDS, nbytes * thresholds.BYTE_NANOSECONDS)


def slices_per_chunk(count: int, nbytes: int) -> int:
    """The number of slices in a chunk of work out of `count` slices of `nbytes` bytes."""
    total = max(slices_cost(count, nbytes), 1.0)
    chunks = min(max(1, int(total / thresholds.CHUNK_NANOSECONDS)), thresholds.MOST_CHUNKS)
    return max(1, min(-(-count // chunks), thresholds.CHUNK_ELEMENTS))


@dataclass(frozen=True, slots=True)
class Indices:
    """Indices whose offsets are computed with NumPy.

    Attributes:
        negative: True if negative indices count from the end of their axis.
    """

    array: Array
    negative: bool

    @classmethod
    def of(cls, indices: Array, longest: int, *, negative: bool = True) -> Indices:
        """The indices in a form for fast arithmetic.

        Args:
            longest: The size of the longest axis that they refer to.
            negative: Negative ones are allowed.
        """
        integers = as_wide_integers(indices, longest)
        signed = integers.dtype.kind == "i"
        if integers.dtype == np.uint64:
            # Indices within an axis fit into i64; others are out of range there too.
            integers = integers.view(np.int64)
        return cls(integers, signed and negative)


@dataclass(frozen=True, slots=True)
class AlongAxis:
    """Indices of shape (before, length, after) that select along the axis of a tensor (before, size, after)."""

    before: int
    length: int
    after: int
    size: int

    def tiles(self, itemsize: int, *, copied: bool = False) -> tuple[int, int, int]:
        """The sizes of a chunk along before, length and after.

        A chunk is contiguous, unless the tensor is too long along the axis for all of its columns to fit the cache; the
        chunk then has only some of the columns.

        Args:
            copied: The work is done in a copy of these columns, which must not take much memory.
        """
        most = chunk_size(self.before * self.length * self.after)
        columns = min(self.after, most)
        if self.size * self.after * itemsize > machine().shared_cache_bytes // 8 and 4 * self.length > self.size:
            columns = min(columns, self._near_columns(itemsize))
            if copied and self.size * columns * itemsize > 2 * thresholds.WORKING_ELEMENTS:
                line = thresholds.FEW_LINES
                fits = self.size * line * itemsize <= 2 * thresholds.WORKING_ELEMENTS
                columns = line if fits else min(self.after, most)
        rows = min(self.length, max(1, most // max(columns, 1)))
        is_complete = columns == self.after and rows == self.length
        return (min(self.before, max(1, most // max(rows * columns, 1))) if is_complete else 1), rows, columns

    def _near_columns(self, itemsize: int) -> int:
        """The number of columns of the tensor that fit a core's private cache, in whole cache lines, at least one."""
        run = thresholds.RUN_ELEMENTS
        return max(run, machine().core_cache_bytes // (self.size * itemsize) // run * run)

    def groups(self, tiles: tuple[int, int, int], *, apart: int) -> list[list[Tile]]:
        """All tiles, in groups that touch different elements of the tensor.

        Args:
            apart: The minimum number of groups, which may then share elements of the tensor; 0: groups never share
                elements.
        """
        totals = (self.before, self.length, self.after)
        befores, rows, afters = (list(_slices(total, step)) for total, step in zip(totals, tiles, strict=True))
        share = max(1, len(rows) if not apart else len(rows) * len(befores) * len(afters) // apart)
        parts = [rows[first : first + share] for first in range(0, len(rows), share)]
        return [[(b, j, k) for j in part] for b in befores for k in afters for part in parts]


def _slices(total: int, step: int) -> Iterator[slice]:
    return (slice(first, min(first + step, total)) for first in range(0, total, max(step, 1)))


class AxisOffsets:
    """A converter of chunks of indices along one axis to offsets. It owns a buffer, so each thread needs its own."""

    def __init__(self, capacity: int, size: int, negative: bool) -> None:
        self._buffer = np.empty(capacity, np.int64)
        self._size = size
        self._negative = negative

    def __call__(self, indices: Array, columns: int) -> Array:
        """Offsets of elements [b, indices[b, j, k], k] in a flattened tensor of shape (before, size, columns).

        They count from the chunk's first element [0, 0, 0] and are valid until the next call.

        Raises:
            OutOfRangeError: If an index is out of range.
        """
        positions = indices if lie_within(indices, self._size) else self._count_from_front(indices)
        before = positions.shape[0]
        if columns == 1 and before == 1:
            return positions
        # Half as many bytes take half the time, and the offsets within all but the largest chunks fit i32.
        narrow = positions.dtype == np.int32 and before * self._size * columns < 2**31
        buffer = self._buffer.view(np.int32) if narrow else self._buffer
        offsets = buffer[: positions.size].reshape(positions.shape)
        if columns > 1:
            positions = np.multiply(positions, columns, out=offsets, dtype=offsets.dtype)
        return np.add(positions, _grid(positions.shape, self._size * columns, offsets.dtype), out=offsets)

    def _count_from_front(self, indices: Array) -> Array:
        if not self._negative:
            raise OutOfRangeError
        buffer = self._buffer[: indices.size].reshape(indices.shape)
        buffer[...] = indices
        add_to_negative(buffer, self._size)
        if not lie_within(buffer, self._size):
            raise OutOfRangeError
        return buffer


@lru_cache(maxsize=4)
def _grid(shape: tuple[int, ...], stride: int, dtype: np.dtype[Any]) -> Array:
    """b * stride + k for every [b, j, k] of this shape, shared by most chunks of a tensor and by the next run.

    The cache has at most four grids of a chunk, 4 MiB.
    """
    grid = np.empty(shape, dtype)
    first = np.arange(shape[0], dtype=dtype) * stride
    np.add(first[:, np.newaxis, np.newaxis], np.arange(shape[2], dtype=dtype), out=grid)
    return grid


class TupleOffsets:
    """A converter of chunks of tuples of indices to offsets. It owns a buffer, so each thread needs its own."""

    def __init__(self, capacity: int, sizes: Sequence[int], negative: bool) -> None:
        self._buffer = np.empty(capacity * len(sizes), np.int64)
        self._sizes = np.array(sizes, np.int64)[:, np.newaxis]
        # As for AxisOffsets.
        self._narrow = prod(sizes) < 2**31
        self._narrow_sizes = self._sizes.astype(np.int32)
        self._negative = negative

    def __call__(self, indices: Array) -> Array:
        """Offsets of the slices selected by tuples of shape (count, len(sizes)), counted in slices.

        They are valid until the next call.

        Raises:
            OutOfRangeError: If an index is out of range.
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
            add_to_negative(columns, sizes)
            if not _lie_within_each(columns, sizes):
                raise OutOfRangeError
        offsets: Array = columns[0]
        for component in range(1, length):
            offsets *= sizes[component, 0]
            offsets += columns[component]
        return offsets


def _lie_within_each(columns: Array, sizes: Array) -> bool:
    """Return True if each of the rows of `columns` is within an axis of its size; see `lie_within`."""
    return not columns.size or bool((as_unsigned(columns).max(axis=1) < as_unsigned(sizes[:, 0])).all())


def is_native(indices: Array) -> bool:
    """Return True if NumPy's functions accept the indices directly."""
    return indices.dtype in _NATIVE


_NATIVE = (np.dtype(np.int32), np.dtype(np.int64))


def fits_table(indices: Array) -> bool:
    return indices.size <= thresholds.TABLE_ELEMENTS and indices.dtype in _NATIVE


def table_offsets(shape: tuple[int, ...], indices: Array, axis: int) -> Array:
    """Offsets into the flattened tensor of this shape, each on its axis, negative indices counted from the end.

    The indices are valid for the table.

    Raises:
        OutOfRangeError: If an index is out of range.
    """
    places, grid = _tables(shape, indices.shape, axis)
    if places is None:
        size, after = shape[axis], prod(shape[axis + 1 :])
        positions = indices if lie_within(indices, size) else positions_within(indices, size)
        offsets = np.multiply(positions, after, dtype=np.int64)
    else:
        try:
            # The look-up checks every index, counts the negative ones from the end and multiplies, all at once.
            offsets = places.take(indices)
        except IndexError:
            raise OutOfRangeError from None
    offsets += grid
    return offsets


@lru_cache(maxsize=64)
def _tables(shape: tuple[int, ...], indices_shape: tuple[int, ...], axis: int) -> tuple[Array | None, Array]:
    """The offset of each place on the axis (None: too many), and of each index on all other axes.

    The cache has at most 64 times two tables of 64 KiB, 8 MiB.
    """
    is_short = shape[axis] <= thresholds.TABLE_ELEMENTS
    places = np.arange(shape[axis], dtype=np.int64) * prod(shape[axis + 1 :]) if is_short else None
    return places, element_offsets(np.zeros(indices_shape, np.int64), axis, shape)


def fits_tuple_table(tuples: Array, sizes: tuple[int, ...]) -> bool:
    return (
        0 < tuples.size <= thresholds.TABLE_ELEMENTS and max(sizes) <= thresholds.TABLE_ELEMENTS and is_native(tuples)
    )


def table_tuple_offsets(tuples: Array, sizes: tuple[int, ...]) -> Array:
    """Offsets of the slices selected by tuples along the last of two axes, counted in slices; else as table_offsets."""
    tables = _tuple_tables(sizes)
    try:
        offsets = tables[0].take(tuples[:, 0])
        for component in range(1, len(sizes)):
            offsets += tables[component].take(tuples[:, component])
    except IndexError:
        raise OutOfRangeError from None
    return offsets


@lru_cache(maxsize=64)
def _tuple_tables(sizes: tuple[int, ...]) -> list[Array]:
    """The offset of each place on each axis.

    The cache has at most 64 times 64 KiB for each axis: 12 MiB for three.
    """
    return [np.arange(size, dtype=np.int64) * prod(sizes[axis + 1 :]) for axis, size in enumerate(sizes)]


Args = TypeVarTuple("Args")

R = TypeVar("R")


class Strategy(NamedTuple, Generic[*Args, R]):
    """A method of moving elements.

    Both functions take the arguments of the kernel whose list contains the strategy.

    Attributes:
        applies: Returns True if the strategy is possible and worthwhile for these arguments.
        run: Does the work.
        why: The gain.
    """

    name: str
    applies: Callable[[*Args], bool]
    run: Callable[[*Args], R]
    why: str


def choose(strategies: Sequence[Strategy[*Args, R]], *args: *Args) -> Strategy[*Args, R]:
    """The first strategy that applies to the arguments; the last of a list applies to all."""
    for strategy in strategies:
        if strategy.applies(*args):
            return strategy
    raise AssertionError("the last strategy always applies")


def always(*_args: object) -> bool:
    return True
