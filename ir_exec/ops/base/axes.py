"""Axes that inputs and attributes name: checked against the rank of the data, and counted from the front.

`known_...` read the types of inputs and raise ShapeError, `given_...` read arrays and raise EvaluationError.
`shapes.py` has the same for axes that are integers already: `normalize_axis`, `normalize_axes`, `known_axes`.
"""

from __future__ import annotations

from collections.abc import Iterable

from ir_exec.codes import Code
from ir_exec.errors import EvaluationError, ShapeError
from ir_exec.kernels.indices import as_integers
from ir_exec.ops.base.shapes import known_int, normalize_axis, require_one_element
from ir_exec.types import Array, TensorType, element_types

__all__ = ["AXES", "axes_of", "distinct_axes", "given_axes", "given_axis", "known_axis"]

AXES = element_types("i8 i16 i32 i64 u8 u16 u32 u64")
"""The element types of an input that names axes of a reduction."""


def known_axis(axis: TensorType, rank: int | None) -> int | None:
    """The axis that an input names, or None while it or the rank of the data is unknown.

    The input is a scalar or has one element. Raises ShapeError: IR501 or IR502 for another shape of it, IR501 for
    data that is a scalar, IR503 for an axis outside of -rank .. rank - 1.
    """
    require_one_element(axis, "axis")
    if rank is None:
        return None
    if rank == 0:
        raise ShapeError("data is a scalar, expected rank 1 or more: it has no axis", code=Code.wrong_rank, port="data")
    value = known_int(axis)
    return None if value is None else normalize_axis(value, rank)


def given_axis(axis: Array, rank: int) -> int:
    """The axis that an input names; raises EvaluationError IR704 unless it is one, within -rank .. rank - 1."""
    axes = given_axes(axis, rank, name="axis")
    if len(axes) != 1:
        raise EvaluationError(f"axis has {len(axes)} elements, expected one", port="axis")
    return axes[0]


def given_axes(axes: Array, rank: int, *, name: str = "axes", code: str = Code.bad_value) -> list[int]:
    """The axes that the input `name` holds, in their order; raises EvaluationError outside of -rank .. rank - 1."""
    try:
        return [normalize_axis(axis, rank, name=name) for axis in as_integers(axes).ravel().tolist()]
    except ShapeError as error:
        raise EvaluationError(error.message, code=code, port=name) from None


def distinct_axes(axes: Iterable[int], rank: int) -> tuple[int, ...]:
    """The axes in rising order, each once; raises ShapeError IR503 outside of -rank .. rank - 1.

    The specification wants unique axes; OpenVINO takes an axis that is named twice as named once, and so do we.
    """
    return tuple(sorted({normalize_axis(axis, rank, name="axis") for axis in axes}))


def axes_of(axes: Array, rank: int) -> tuple[int, ...]:
    """The axes that the input `axes` holds, in rising order, each once; raises EvaluationError IR701."""
    return tuple(sorted(set(given_axes(axes, rank, code=Code.index_out_of_range))))
