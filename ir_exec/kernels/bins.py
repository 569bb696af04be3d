"""Rectangular bins of images, reduced to one element of each channel."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ir_exec.kernels import costs
from ir_exec.kernels.limits import check_time
from ir_exec.types import Array

__all__ = ["reduce_bins"]


def reduce_bins(
    ufunc: np.ufunc, places: Array, width: int, starts: Array, rows: Array, columns: Array, neutral: float
) -> Array:
    """Bins reduced by a function: [regions, bins down, bins across, channels].

    places: [places, channels], the elements of images one after the other, row by row; `width` places make a row.
    starts: the place at which the image of each bin begins; broadcasts to [regions, bins down, bins across].
    rows, columns: begin and end, [regions, bins, 2] i64, within the image. neutral: what changes no result, and what
    bins without elements are.
    """
    regions, down, across = len(rows), rows.shape[1], columns.shape[1]
    channels = places.shape[1]
    result = np.empty((regions, down, across, channels), places.dtype)
    if not result.size:
        return result
    # Bins are filled up with the last place.
    known = np.concatenate([places, np.full((1, channels), neutral, places.dtype)])
    starts = np.broadcast_to(starts, result.shape[:3])
    height = np.maximum(rows[..., 1] - rows[..., 0], 0).max(axis=1)
    breadth = np.maximum(columns[..., 1] - columns[..., 0], 0).max(axis=1)
    for some in _alike(height * breadth, costs.CHUNK_ELEMENTS // (down * across * channels)):
        check_time()
        of_rows, of_columns = _elements(rows[some], height[some].max()), _elements(columns[some], breadth[some].max())
        row, column = of_rows[:, np.newaxis, :, :, np.newaxis], of_columns[np.newaxis, :, :, np.newaxis]
        chosen = np.where((row < 0) | (column < 0), len(places), row * width + column + starts[some])
        taken = np.take(known, chosen.reshape(-1, *chosen.shape[2:]), axis=0, mode="clip")
        result[some] = ufunc.reduce(taken, axis=0, initial=places.dtype.type(neutral))
    return result


def _elements(bins: Array, most: int) -> Array:
    """The indices of each bin's elements, filled up with -1: [most, regions, bins]."""
    found = bins[..., 0] + np.arange(most)[:, np.newaxis, np.newaxis]
    return np.where(found < bins[..., 1], found, -1)


def _alike(sizes: Array, room: int) -> Iterator[Array]:
    """The indices of regions, those of like sizes together, which fill the room if all are as large as the largest."""
    order = np.argsort(sizes, kind="stable")
    start = 0
    for stop in range(1, len(order) + 1):
        if stop == len(order) or (stop + 1 - start) * sizes[order[stop]] > room:
            yield order[start:stop]
            start = stop
