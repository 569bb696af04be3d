"""Rectangular bins of images, reduced to one element of each channel."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

import numpy as np

from ir_exec.kernels import costs
from ir_exec.kernels.limits import check_time
from ir_exec.kernels.sampling import copy_channels
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
    # Bins are filled up with the last place.
    last = prod(places.shape[:-1])
    known = np.empty((last + 1, channels), places.dtype)
    copy_channels(places, known[:last].reshape(places.shape))
    known[last] = neutral
    row_starts, column_starts = (
        np.broadcast_to(start, bins.shape[:2]) for start, bins in zip(starts, (rows, columns), strict=True)
    )
    height = np.maximum(rows[..., 1] - rows[..., 0], 0).max(axis=1)
    breadth = np.maximum(columns[..., 1] - columns[..., 0], 0).max(axis=1)
    # On one thread: NumPy's calls are so short here that a second one makes it slower.
    for some in _alike(height, breadth, costs.INTERMEDIATE_ELEMENTS // (down * across * channels)):
        check_time()
        row = _offsets(rows[some], height[some].max(), width, row_starts[some], last)
        column = _offsets(columns[some], breadth[some].max(), 1, column_starts[some], last)
        # Regions last, as few bins are many.
        chosen = row[:, np.newaxis, :, np.newaxis] + column[:, np.newaxis]
        taken = np.take(known, chosen.reshape(-1, *chosen.shape[2:]), axis=0, mode="clip")
        reduced = ufunc.reduce(taken, axis=0, initial=places.dtype.type(neutral))
        result[some] = reduced.transpose(2, 0, 1, 3)
    return result


def _offsets(bins: Array, most: int, step: int, starts: Array, outside: int) -> Array:
    """Where the elements of each bin lie, filled up with `outside`: [most, bins, regions]."""
    found = bins[..., 0].T + np.arange(most)[:, np.newaxis, np.newaxis]
    return np.ascontiguousarray(np.where(found < bins[..., 1].T, found * step + starts.T, outside))


def _alike(height: Array, breadth: Array, room: int) -> Iterator[Array]:
    """The indices of regions, those of like sizes together, which fill the room if all are as large as the largest."""
    order = np.lexsort((breadth, height))
    sizes = zip(height[order].tolist(), breadth[order].tolist(), strict=True)
    start = widest = 0
    for place, (high, wide) in enumerate(sizes):
        if place > start and (place + 1 - start) * high * max(widest, wide) > room:
            yield order[start:place]
            start, widest = place, 0
        widest = max(widest, wide)
    yield order[start:]
