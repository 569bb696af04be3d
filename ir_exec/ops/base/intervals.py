"""Intervals of the indices that cut an axis: what is known of the length of a slice whose ends are not known.

An index counts from the end where it is negative, and one beyond the axis is clamped to it. An index at the end of the
range of i32 or i64 means "to the end of the axis", however long that is.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from ir_exec.kernels.indices import as_integers
from ir_exec.types import INDEX, UNBOUNDED, Array, Dim, ElementType, TensorType

__all__ = [
    "ANYWHERE",
    "BEYOND",
    "HUGE",
    "Interval",
    "clamped",
    "index_bounds",
    "index_values",
    "slice_length",
    "sliced_dim",
]

Interval: TypeAlias = tuple[int, int]
"""The least and the greatest value of an index."""

BEYOND = 2**400
"""An index beyond every axis, even after division by any step."""

HUGE = 2**48
"""Sizes and bounds from here on mean nothing: no tensor has so many elements."""

ANYWHERE: Interval = (-BEYOND, BEYOND)


def clamped(size: int, start: int, stop: int, step: int) -> Interval:
    """Where a slice of an axis of this size starts and stops, negative indices counted from the end.

    A backward slice that takes the first element stops at -1.
    """
    # As OpenVINO does, and Python does not, a backward slice that starts before the axis starts at its first element.
    start += size if start < 0 else 0
    stop += size if stop < 0 else 0
    if step > 0:
        return min(max(start, 0), size), min(max(stop, 0), size)
    return min(max(start, 0), size - 1), min(max(stop, -1), size)


def slice_length(size: int, start: int, stop: int, step: int) -> int:
    """How many elements of an axis of this size a slice takes."""
    first, end = clamped(size, start, stop, step)
    return max(0, -((first - end) // step))


def sliced_dim(dim: Dim, start: Interval, stop: Interval, step: int) -> Dim:
    """The least interval that holds the length of the slice for every size in `dim` and every start and stop."""
    lengths = [
        slice_length(size, first, end, step)
        for first in _ends(start)
        for end in _ends(stop)
        for size in _turning_sizes(dim.lo, dim.hi, first, end)
    ]
    longest = max(lengths)
    # As in OpenVINO, a backward slice from a known place is as long at most as an axis of 2**63 - 1 elements makes it.
    if longest >= HUGE and not dim.is_bounded and (step > 0 or start[1] == BEYOND):
        longest = UNBOUNDED
    return Dim(min(lengths), longest)


def _ends(index: Interval) -> set[int]:
    # The element that an index names moves with the index, but jumps from the last to the first between -1 and 0.
    low, high = index
    return {low, -1, 0, high} if low < 0 <= high else {low, high}


def _turning_sizes(low: int, high: int, start: int, stop: int) -> set[int]:
    # Between two of these sizes no index begins or ceases to be clamped: the length is linear in the size.
    turns = (1, start, start + 1, -start, stop, -stop, -1 - stop)
    return {low, high, *(size for size in turns if low < size < high)}


def index_bounds(indices: TensorType) -> list[Interval] | None:
    """The bounds of every index of a vector, -BEYOND and BEYOND where it has none; None where nothing is known."""
    bounds = indices.bounds
    if bounds is None:
        return None
    lower, upper = bounds
    known = lower is upper or np.array_equal(lower, upper)
    return list(zip(index_values(lower, known=known), index_values(upper, known=known), strict=True))


def index_values(indices: Array, *, known: bool = True) -> list[int]:
    """The indices of a vector, those at the ends of the range of their type replaced by -BEYOND and BEYOND.

    known: whether these are the indices themselves, not bounds of them: then only i32 and i64 have such ends.
    """
    values: list[int] = as_integers(indices).ravel().tolist()
    # Shorter types hold indices at the end of their range that mean what they say.
    if known and ElementType.of(indices) not in INDEX:
        return values
    limits = np.iinfo(as_integers(indices).dtype)
    ends = {limits.max: BEYOND} | ({limits.min: -BEYOND} if limits.min else {})
    return [ends.get(value, value) for value in values]
