"""Segments: rows of a table with the same id in `segment_ids`; checks of their number and ids."""

from __future__ import annotations

import numpy as np

from ir_exec.codes import Code
from ir_exec.errors import EvaluationError, IRError, ShapeError
from ir_exec.kernels.indices import lie_within
from ir_exec.ops.base.shapes import known_bounds, known_faults
from ir_exec.types import UNBOUNDED, Array, Dim, TensorType

__all__ = [
    "given_count",
    "number_of_rows",
    "require_rising",
    "require_within",
    "run_starts",
    "segment_faults",
    "segments_of",
]


def number_of_rows(tensor: TensorType, port: str) -> Dim:
    """The dim whose size is the first element of `tensor`; a dynamic dim if it is not known."""
    bounds = known_bounds(tensor)
    if not bounds:
        return Dim.any()
    lo, hi = bounds[0]
    if hi < 0:
        raise ShapeError(f"{port} is", actual=hi, expected="0 or more", port=port)
    return Dim(max(lo, 0), min(hi, UNBOUNDED))


def given_count(num_segments: Array) -> int:
    """num_segments as an int.

    Raises:
        EvaluationError: IR704 if num_segments is negative.
    """
    count = int(num_segments)
    if count < 0:
        raise EvaluationError("num_segments is", actual=count, expected="0 or more", port="num_segments")
    return count


def require_within(numbers: Array, size: int, what: str, port: str) -> None:
    """Raise EvaluationError IR701 for a number outside of 0 to size - 1."""
    if not lie_within(numbers, size):
        wrong = (numbers < 0) | (numbers >= size)
        raise EvaluationError(
            f"{what} is",
            actual=numbers[int(np.argmax(wrong))],
            expected=f"0 to {size - 1}" if size else "none",
            code=Code.index_out_of_range,
            port=port,
        )


def require_rising(numbers: Array, port: str) -> None:
    """Raise EvaluationError IR704 for a number that is less than the one before it."""
    falls = numbers[1:] < numbers[:-1]
    if falls.any():
        at = int(np.argmax(falls))
        raise EvaluationError(
            f"{port} has {numbers[at]} before",
            actual=numbers[at + 1],
            expected="ascending numbers",
            code=Code.bad_value,
            port=port,
        )


def segment_faults(segment_ids: TensorType, num_segments: TensorType | None) -> list[IRError]:
    """The faults of known segments: IR704 for a negative number of segments, IR701 for an id out of range."""
    if num_segments is None:
        return known_faults(segments_of, segment_ids, count=UNBOUNDED)
    faults = known_faults(given_count, num_segments)
    if faults:
        return faults
    count = num_segments.value
    return known_faults(segments_of, segment_ids, count=UNBOUNDED if count is None else given_count(count))


def segments_of(segment_ids: Array, count: int) -> Array:
    """segment_ids as i64.

    Raises:
        EvaluationError: IR701 for an id outside of 0 to count - 1.
    """
    require_within(segment_ids, count, "a segment of segment_ids", "segment_ids")
    return segment_ids.astype(np.int64)


def run_starts(sorted_numbers: Array) -> Array:
    """The starts of runs of equal numbers."""
    is_start = np.ones(len(sorted_numbers), np.bool_)
    np.not_equal(sorted_numbers[1:], sorted_numbers[:-1], out=is_start[1:])
    return np.flatnonzero(is_start)
