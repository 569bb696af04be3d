"""Rows of a table that belong together: which rows indices choose, and sums over runs of them."""

from __future__ import annotations

import numpy as np

from ir_exec.errors import EvaluationError, ShapeError
from ir_exec.ops.base.shapes import known_bounds
from ir_exec.types import UNBOUNDED, Array, Dim, TensorType, element_types

__all__ = ["NUMBERS", "filled", "given_count", "number_of_rows", "require_within", "run_starts", "segments_of"]

NUMBERS = element_types("bf16 f16 f32 f64 i8 i16 i32 i64 u8 u16 u32 u64")


def number_of_rows(tensor: TensorType, port: str) -> Dim:
    """The dim that the first element of a tensor gives."""
    bounds = known_bounds(tensor)
    if not bounds:
        return Dim.any()
    lo, hi = bounds[0]
    if hi < 0:
        raise ShapeError(f"{port} is {hi}, expected 0 or more", port=port)
    return Dim(max(lo, 0), min(hi, UNBOUNDED))


def given_count(num_segments: Array) -> int:
    count = int(num_segments)
    if count < 0:
        raise EvaluationError(f"num_segments is {count}, expected 0 or more", port="num_segments")
    return count


def require_within(numbers: Array, size: int, what: str, port: str) -> None:
    """Raises EvaluationError IR701 where a number is not one of 0 to size - 1."""
    wrong = (numbers < 0) | (numbers >= size)
    if wrong.any():
        allowed = f"allowed are 0 to {size - 1}" if size else "none is allowed"
        message = f"{what} is {numbers[int(np.argmax(wrong))]}, {allowed}"
        raise EvaluationError(message, code="IR701", port=port)


def segments_of(segment_ids: Array, count: int) -> Array:
    require_within(segment_ids, count, "a segment of segment_ids", "segment_ids")
    return segment_ids.astype(np.int64)


def run_starts(sorted_numbers: Array) -> Array:
    """Where runs of equal numbers begin."""
    is_start = np.ones(len(sorted_numbers), np.bool_)
    np.not_equal(sorted_numbers[1:], sorted_numbers[:-1], out=is_start[1:])
    return np.flatnonzero(is_start)


def filled(sums: Array, empty: Array, table: Array, default_index: Array | None) -> Array:
    default = -1 if default_index is None else int(default_index)
    if default != -1 and empty.any():
        require_within(np.array([default]), len(table), "default_index", "default_index")
        sums[empty] = table[default]
    return sums
