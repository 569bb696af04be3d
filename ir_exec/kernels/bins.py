"""Rectangular bins of images, reduced to one element of each channel."""

from __future__ import annotations

from collections.abc import Iterator
from math import isqrt, prod
from typing import NamedTuple

import numpy as np

from ir_exec.kernels import costs
from ir_exec.kernels.limits import check_time
from ir_exec.kernels.resample import copy_channels
from ir_exec.types import Array

__all__ = ["reduce_bins"]


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

    places: [..., channels], the elements of images one after the other, row by row; `width` places make a row.
    starts: the image of a bin begins at the place that is the sum of both, which broadcast to [regions, bins down] and
        [regions, bins across].
    rows, columns: begin and end, [regions, bins, 2] i64, within the image. neutral: what changes no result, and what
    bins without elements are.
    """
    regions, down, across = len(rows), rows.shape[1], columns.shape[1]
    channels = places.shape[-1]
    result = np.empty((regions, down, across, channels), places.dtype)
    if not result.size:
        return result
    extents = [np.maximum(bins[..., 1] - bins[..., 0], 0) for bins in (rows, columns)]
    total = prod(places.shape[:-1])
    is_worth_tables = ufunc is np.maximum and result.size >= costs.BINS_WORTH_TABLES
    doublings = _doublings(extents, total, channels) if is_worth_tables else 0
    # For the greatest elements of rectangles from each place on, whose sides are 1, 2, 4 and so on: they make up bins.
    sides = doublings + 1
    last = sides**2 * total
    known = np.empty((last + 1, channels), places.dtype)
    copy_channels(places, known[:total].reshape(places.shape))
    tables = known[:last].reshape(sides, sides, total, channels)
    for power in range(doublings):
        _join(tables[power, 0], tables[power + 1, 0], width << power)
    for power in range(doublings):
        _join(tables[:, power], tables[:, power + 1], 1 << power)
    # Bins are filled up with the last place.
    known[last] = neutral
    down_axis = _axis(rows, extents[0], starts[0], doublings, sides * total)
    across_axis = _axis(columns, extents[1], starts[1], doublings, total)
    # On one thread: NumPy's calls are so short here that a second one makes it slower.
    for some in _alike(down_axis.counts, across_axis.counts, costs.INTERMEDIATE_ELEMENTS // (down * across * channels)):
        check_time()
        row, column = _offsets(down_axis, some, width, last), _offsets(across_axis, some, 1, last)
        # Regions last, as few bins are many.
        chosen = row[:, np.newaxis, :, np.newaxis] + column[:, np.newaxis]
        taken = np.take(known, chosen.reshape(-1, *chosen.shape[2:]), axis=0, mode="clip")
        reduced = ufunc.reduce(taken, axis=0, initial=places.dtype.type(neutral))
        result[some] = reduced.transpose(2, 0, 1, 3)
    return result


def _doublings(extents: list[Array], places: int, channels: int) -> int:
    """How often it pays to double both sides of the rectangles of which bins are made."""
    elements = int(extents[0].sum(axis=1) @ extents[1].sum(axis=1))
    longest = max(int(extent.max()) for extent in extents)
    tables = min(elements // max(places, 1), costs.ELEMENTS_OF_TABLES // max(places * channels, 1))
    return max(min(isqrt(tables), longest.bit_length()) - 1, 0)


def _join(rows: Array, target: Array, distance: int) -> None:
    """The greatest of both, along the axis before the last, where there is an element at this distance."""
    np.maximum(rows[..., :-distance, :], rows[..., distance:, :], out=target[..., :-distance, :])


class _Axis(NamedTuple):
    """Bins [regions, bins, 2] along an axis, where their places are counted from, how long the parts are of which each
    is made, [regions, bins], None for one element, and of how many parts a bin of a region is made at most.
    """

    bins: Array
    starts: Array
    sizes: Array | None
    counts: Array


def _axis(bins: Array, extents: Array, starts: Array, doublings: int, table: int) -> _Axis:
    """table: so many places lie between the rectangles of a side and those of twice that side."""
    starts = np.broadcast_to(starts, extents.shape)
    if not doublings:
        return _Axis(bins, starts, None, extents.max(axis=1))
    powers = np.clip(np.frexp(extents)[1] - 1, 0, doublings).astype(np.int64)
    sizes = 1 << powers
    return _Axis(bins, starts + powers * table, sizes, (-(-extents // sizes)).max(axis=1))


def _offsets(axis: _Axis, some: Array, step: int, outside: int) -> Array:
    """Where the parts of each bin begin, filled up with `outside`: [most, bins, regions]."""
    (begins, ends), found = axis.bins[some].T, np.arange(axis.counts[some].max())[:, np.newaxis, np.newaxis]
    if axis.sizes is None:
        places = found = found + begins
    else:
        sizes = axis.sizes[some].T
        found = found * sizes + begins
        places = np.minimum(found, ends - sizes)
    return np.ascontiguousarray(np.where(found < ends, places * step + axis.starts[some].T, outside))


def _alike(height: Array, breadth: Array, room: int) -> Iterator[Array]:
    """The indices of regions, those of like sizes together, which fill the room if all are as large as the largest."""
    order = np.lexsort((breadth, height))
    sizes = zip(height[order].tolist(), breadth[order].tolist(), strict=True)
    start = widest = 0
    for place, (high, wide) in enumerate(sizes):
        widest = wide if wide > widest else widest
        if place > start and (place + 1 - start) * high * widest > room:
            yield order[start:place]
            start, widest = place, wide
    yield order[start:]
