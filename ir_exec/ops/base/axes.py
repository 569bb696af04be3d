"""Axes: as attributes and inputs give them, counted from the front."""

from __future__ import annotations

from collections.abc import Iterable

from ir_exec.errors import EvaluationError, ShapeError
from ir_exec.kernels.indices import as_integers
from ir_exec.ops.base.shapes import ints, known_int, normalize_axis, require_one_element
from ir_exec.types import Array, TensorType, element_types

__all__ = ["AXES", "axes_of", "distinct_axes", "given_axes", "given_axis", "known_axis"]


def known_axis(axis: TensorType, rank: int | None) -> int | None:
    """The axis that an input names, counted from the front, where it and the rank of the data are known.

    The input is a scalar or has one element; raises ShapeError IR501, IR502 or IR503.
    """
    require_one_element(axis, "axis")
    if rank is None:
        return None
    if rank == 0:
        raise ShapeError("data is a scalar, expected rank 1 or more: it has no axis", code="IR501", port="data")
    value = known_int(axis)
    return None if value is None else normalize_axis(value, rank)


def given_axis(axis: Array, rank: int) -> int:
    """The axis that an input names, counted from the front; EvaluationError IR704 where the data has no such axis."""
    value = int(as_integers(axis).reshape(-1)[0])
    try:
        return normalize_axis(value, rank)
    except ShapeError as error:
        raise EvaluationError(error.message, port="axis") from None


def given_axes(axes: Array, rank: int, *, name: str = "axes") -> list[int]:
    """The axes that the input `name` holds, counted from the front, in their order; errors as in `given_axis`."""
    try:
        return [normalize_axis(int(axis), rank, name=name) for axis in as_integers(axes).ravel().tolist()]
    except ShapeError as error:
        raise EvaluationError(error.message, port=name) from None


AXES = element_types("i8 i16 i32 i64 u8 u16 u32 u64")


def distinct_axes(axes: Iterable[int], rank: int) -> tuple[int, ...]:
    """The axes counted from the front, in rising order, each once.

    The specification wants unique axes; OpenVINO takes repeated ones as one, and so do we.
    Raises ShapeError IR503 for an axis outside of -rank .. rank - 1.
    """
    return tuple(sorted({normalize_axis(axis, rank, name="axis") for axis in axes}))


def axes_of(axes: Array, rank: int) -> tuple[int, ...]:
    """The same for axes that came as an array; raises EvaluationError IR701."""
    try:
        return distinct_axes(ints(axes), rank)
    except ShapeError as error:
        raise EvaluationError(error.message, code="IR701", port="axes") from None
