"""Pooling: the greatest element or the sum of windows, one axis at a time, and reductions of rectangular bins."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from math import isqrt, prod
from typing import Any, NamedTuple

import numpy as np

from ir_exec.kernels.indices import element_offsets
from ir_exec.kernels.limits import check_time
from ir_exec.kernels.parallel import for_ranges
from ir_exec.kernels.precision import round_to, type_limits
from ir_exec.kernels.resample import copy_channels
from ir_exec.kernels.sorting import comparable
from ir_exec.kernels.windows import SlidingAxis
from ir_exec.tuning import thresholds
from ir_exec.types import Array

__all__ = [
    "by_images",
    "greatest",
    "greatest_and_places",
    "pooled_along",
    "reduce_bins",
]


def pooled_along(ufunc: np.ufunc, data: Array, axis: SlidingAxis, position: int, start: object) -> Array:
    """Every window of one axis of the data reduced to one element; `start` counts in windows with padding."""
    if (axis.kernel, axis.stride, axis.pad, axis.count) == (1, 1, 0, axis.size):
        return data
    shape = (*data.shape[:position], axis.count, *data.shape[position + 1 :])
    before = (slice(None),) * position
    complete, partial = _elements(axis)
    if len(complete) > 1:
        result = np.empty(shape, data.dtype)
        ufunc(data[(*before, complete[0])], data[(*before, complete[1])], out=result)
        for elements in complete[2:]:
            ufunc(result, data[(*before, elements)], out=result)
    else:
        result = np.full(shape, start, data.dtype)
        partial = (*partial, *[(slice(0, axis.count), elements) for elements in complete])
    for windows, elements in partial:
        target = result[(*before, windows)]
        ufunc(target, data[(*before, elements)], out=target)
    return result


@lru_cache(256)
def _elements(axis: SlidingAxis) -> tuple[tuple[slice, ...], tuple[tuple[slice, slice], ...]]:
    """The elements of the data at each place of a window.

    Places that are inside the data only in some windows are listed with these windows.
    """
    reached = [reach for k in axis.positions() if (reach := axis.reach(k)) is not None]
    every = slice(0, axis.count)
    complete = tuple([elements for windows, elements in reached if windows == every])
    return complete, tuple([reach for reach in reached if reach[0] != every])


def by_images(pool: Callable[[Array], Array], data: Array, axes: Sequence[SlidingAxis]) -> Array:
    """Images [images, spatial...] pooled, in chunks that fit the cache: [batch, channels, windows...]."""
    batch, channels, *sizes = data.shape
    counts = [axis.count for axis in axes]
    if data.size <= thresholds.CHUNK_ELEMENTS:
        pooled = pool(data.reshape(batch * channels, *sizes)).reshape(batch, channels, *counts)
        # Windows of one element each are a view of the data.
        return pooled.copy() if np.may_share_memory(pooled, data) else pooled
    result = np.empty((batch * channels, *counts), data.dtype)
    images = data.reshape(batch * channels, *sizes)

    def work(start: int, stop: int) -> None:
        result[start:stop] = pool(images[start:stop])

    for_ranges(len(images), max(thresholds.CHUNK_ELEMENTS // max(prod(sizes), 1), 1), work, nanoseconds=images.size)
    return result.reshape(batch, channels, *counts)


def _images(data: Array, sizes: Sequence[int]) -> Iterator[tuple[slice, Array]]:
    count = data.shape[0] * data.shape[1]
    flat = data.reshape(count, *sizes)
    step = max(thresholds.CHUNK_ELEMENTS // max(prod(sizes), 1), 1)
    for first in range(0, count, step):
        some = slice(first, min(first + step, count))
        yield some, flat[some]


def _comparable(data: Array) -> tuple[Array, np.ufunc, Any]:
    """The data in a comparable dtype, the function for the greater of two elements, and the lowest finite one."""
    wide = comparable(data)
    return wide, np.fmax if wide.dtype.kind == "f" else np.maximum, wide.dtype.type(type_limits(data.dtype)[0])


def greatest(data: Array, axes: Sequence[SlidingAxis]) -> Array:
    """The greatest element of each window, [batch, channels, windows...], of the type of data; padding never counts."""
    wide, greater, lowest = _comparable(data)

    def pool(images: Array) -> Array:
        for position, axis in enumerate(axes, 1):
            images = pooled_along(greater, images, axis, position, lowest)
        # A window without an element that counts, or with NaN only.
        if wide.dtype.kind != "f" or images.min(initial=lowest) >= lowest:
            return images
        return np.asarray(greater(images, lowest))

    return round_to(by_images(pool, wide, axes), data.dtype)


def greatest_and_places(data: Array, axes: Sequence[SlidingAxis]) -> tuple[Array, Array]:
    """The greatest element of each window, and its index in the flattened data: the first of equal ones."""
    wide, greater, lowest = _comparable(data)
    sizes = data.shape[2:]
    shape = (data.shape[0] * data.shape[1], *[axis.count for axis in axes])
    values, indices = np.empty(shape, wide.dtype), np.empty(shape, np.int64)
    if not data.size:
        return greatest(data, axes), np.zeros((*data.shape[:2], *shape[1:]), np.int64)
    for some, images in _images(wide, sizes):
        places = np.empty(0, np.int64)
        # Starting at the last axis: this keeps the first of equal elements of the flattened window.
        for position, axis in reversed(list(enumerate(axes, 1))):
            maxima = greater(pooled_along(greater, images, axis, position, lowest), lowest)
            chosen, missing = _first_equal(images, maxima, axis, position)
            offsets = element_offsets(chosen, position, images.shape)
            places = np.take(places, offsets, mode="clip") if places.size else offsets
            if missing is not None:
                places[missing] = -1
            images = maxima
        values[some] = images
        firsts = np.arange(some.stop - some.start).reshape(-1, *[1] * len(axes)) * prod(sizes)
        np.add(np.maximum(places, firsts), some.start * prod(sizes), out=indices[some])
    shape = (*data.shape[:2], *shape[1:])
    return round_to(values.reshape(shape), data.dtype), indices.reshape(shape)


def _first_equal(data: Array, greatest: Array, axis: SlidingAxis, position: int) -> tuple[Array, Array | None]:
    """The index along one axis of the first element of each window that equals the result there.

    The second array is True where there is none, or None if there always is one.
    """
    positions = list(axis.positions())
    # Numbers of few bytes are compared many at a time: 0 means no element, 1 the last of the window.
    numbers = np.zeros(greatest.shape, np.min_scalar_type(len(positions)))
    before: tuple[Any, ...] = (slice(None),) * position
    for number, k in enumerate(reversed(positions), 1):
        reach = axis.reach(k)
        if reach is not None:
            windows, elements = (*before, reach[0]), (*before, reach[1])
            target = numbers[windows]
            np.maximum(target, (data[elements] == greatest[windows]) * numbers.dtype.type(number), out=target)
    chosen = np.take(np.array([0, *reversed(positions)], np.int64) * axis.dilation - axis.pad, numbers)
    chosen += (np.arange(axis.count) * axis.stride).reshape(-1, *[1] * (greatest.ndim - position - 1))
    return chosen, None if numbers.all() else numbers == 0


def reduce_bins(
    ufunc: np.ufunc,
    places: Array,
    width: int,
    starts: tuple[Array, Array],
    rows: Array,
    columns: Array,
    neutral: float,
) -> Array:
    """Bins reduced by a function: [regions, bins down, bins across, channels].

    Args:
        places: [..., channels], the elements of consecutive images, row by row; `width` places make a row.
        starts: The image of a bin begins at the place that is the sum of both, which broadcast to [regions, bins down]
            and [regions, bins across].
        rows: Begin and end of the rows of each bin, [regions, bins, 2] i64, within the image.
        columns: Begin and end of the columns of each bin, in the same form.
        neutral: The neutral element, and the result of empty bins.
    """
    regions, down, across = len(rows), rows.shape[1], columns.shape[1]
    channels = places.shape[-1]
    result = np.empty((regions, down, across, channels), places.dtype)
    if not result.size:
        return result
    extents = [np.maximum(bins[..., 1] - bins[..., 0], 0) for bins in (rows, columns)]
    total = prod(places.shape[:-1])
    is_worth_tables = ufunc is np.maximum and result.size >= thresholds.CHUNK_ELEMENTS
    doublings = _doublings(extents, total, channels) if is_worth_tables else 0
    # Tables of the greatest elements of rectangles with sides 1, 2, 4, ... at each position. Rectangles cover bins.
    sides = doublings + 1
    last = sides**2 * total
    table = np.empty((last + 1, channels), places.dtype)
    copy_channels(places, table[:total].reshape(places.shape))
    tables = table[:last].reshape(sides, sides, total, channels)
    for power in range(doublings):
        _join(tables[power, 0], tables[power + 1, 0], width << power)
    for power in range(doublings):
        _join(tables[:, power], tables[:, power + 1], 1 << power)
    # Bins are padded with the index of the last element, which is neutral.
    table[last] = neutral
    down_axis = _axis(rows, extents[0], starts[0], doublings, sides * total)
    across_axis = _axis(columns, extents[1], starts[1], doublings, total)
    # On one thread: NumPy's calls are so short here that a second thread slows them down.
    for some in _alike(
        down_axis.counts, across_axis.counts, thresholds.INTERMEDIATE_ELEMENTS // (down * across * channels)
    ):
        check_time()
        row, column = _offsets(down_axis, some, width, last), _offsets(across_axis, some, 1, last)
        # Regions are the last axis, since there are rarely many bins.
        chosen = row[:, np.newaxis, :, np.newaxis] + column[:, np.newaxis]
        elements = np.take(table, chosen.reshape(-1, *chosen.shape[2:]), axis=0, mode="clip")
        reduced = ufunc.reduce(elements, axis=0, initial=places.dtype.type(neutral))
        result[some] = reduced.transpose(2, 0, 1, 3)
    return result


def _doublings(extents: list[Array], places: int, channels: int) -> int:
    """The number of worthwhile doublings of the sides of the rectangles that cover bins."""
    elements = int(extents[0].sum(axis=1) @ extents[1].sum(axis=1))
    longest = max(int(extent.max()) for extent in extents)
    tables = min(elements // max(places, 1), thresholds.WORKING_ELEMENTS // max(places * channels, 1))
    return max(min(isqrt(tables), longest.bit_length()) - 1, 0)


def _join(rows: Array, target: Array, distance: int) -> None:
    """The greatest of both, along the axis before the last, where an element exists at this distance."""
    np.maximum(rows[..., :-distance, :], rows[..., distance:, :], out=target[..., :-distance, :])


class _Axis(NamedTuple):
    """Bins [regions, bins, 2] along an axis.

    Attributes:
        starts: The index of the first element.
        sizes: The length of the segments of each bin, [regions, bins], None for one element.
        counts: The maximum number of segments of a bin of a region.
    """

    bins: Array
    starts: Array
    sizes: Array | None
    counts: Array


def _axis(bins: Array, extents: Array, starts: Array, doublings: int, table: int) -> _Axis:
    """The bins along one axis.

    Args:
        table: The number of elements between the tables for one side length and for twice that length.
    """
    starts = np.broadcast_to(starts, extents.shape)
    if not doublings:
        return _Axis(bins, starts, None, extents.max(axis=1))
    powers = np.clip(np.frexp(extents)[1] - 1, 0, doublings).astype(np.int64)
    sizes = 1 << powers
    return _Axis(bins, starts + powers * table, sizes, (-(-extents // sizes)).max(axis=1))


def _offsets(axis: _Axis, some: Array, step: int, outside: int) -> Array:
    """The beginnings of the segments of each bin, padded with `outside`: [most, bins, regions]."""
    (begins, ends), positions = axis.bins[some].T, np.arange(axis.counts[some].max())[:, np.newaxis, np.newaxis]
    if axis.sizes is None:
        places = positions = positions + begins
    else:
        sizes = axis.sizes[some].T
        positions = positions * sizes + begins
        places = np.minimum(positions, ends - sizes)
    return np.ascontiguousarray(np.where(positions < ends, places * step + axis.starts[some].T, outside))


def _alike(height: Array, breadth: Array, most: int) -> Iterator[Array]:
    """The indices of regions of similar sizes, in chunks that fit the memory if all are as large as the largest."""
    order = np.lexsort((breadth, height))
    sizes = zip(height[order].tolist(), breadth[order].tolist(), strict=True)
    start = widest = 0
    for end, (high, wide) in enumerate(sizes):
        widest = wide if wide > widest else widest
        if end > start and (end + 1 - start) * high * widest > most:
            yield order[start:end]
            start, widest = end, wide
    yield order[start:]
