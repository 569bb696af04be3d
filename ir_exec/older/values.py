"""Helpers shared by the functions of layer types."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ir_exec import build
from ir_exec.build import Value
from ir_exec.codes import Code
from ir_exec.errors import ShapeError, UnsupportedError
from ir_exec.types import ElementType

__all__ = [
    "as_floats",
    "as_integers",
    "as_number",
    "axis_of",
    "cast",
    "channel_constant",
    "dims_of",
    "known_integers",
    "number",
    "of_one_type",
    "rank_of",
    "reshape_to",
    "vector",
]


_LEAST_FLOAT = 1e-30


def cast(value: Value, element_type: ElementType) -> Value:
    """The value in another element type; the value itself if it has this type."""
    return value if value.element_type is element_type else build.convert(value, element_type)


def as_floats(value: Value) -> Value:
    """The value as f32 unless it is a float."""
    return value if value.element_type.is_float else build.convert(value, ElementType.f32)


def as_integers(value: Value) -> Value:
    """The value as i64 unless it is an integer: indices and sizes are floats in files of one precision."""
    if value.element_type.is_integer:
        return value
    constant = value.constant
    if constant is not None:
        numbers = np.ascontiguousarray(constant)
        # Some tools stored integers in a layer of floats: read as floats they are denormal or NaN.
        if numbers.dtype == np.float32 and not ((numbers == 0) | (np.abs(numbers) > _LEAST_FLOAT)).all():
            numbers = numbers.view(np.int32)
        return build.constant(numbers.astype(np.int64))
    return build.convert(value, ElementType.i64)


def of_one_type(values: Iterable[Value]) -> list[Value]:
    """The values in one element type: f32 if one of them is a float, else the type of the first."""
    listed = list(values)
    types = {value.element_type for value in listed}
    if len(types) == 1:
        return listed
    common_type = ElementType.f32 if any(type.is_float for type in types) else listed[0].element_type
    return [cast(value, common_type) for value in listed]


def number(value: float, like: Value) -> Value:
    """A scalar of the element type of a value."""
    return build.constant(np.asarray(value).astype(like.element_type.dtype))


def as_number(value: float) -> Value:
    """A scalar of f32."""
    return build.constant(np.float32(value))


def vector(*values: int) -> Value:
    """A constant of i64 of rank 1."""
    return build.constant(np.array(values, np.int64))


def rank_of(value: Value) -> int:
    """The rank.

    Raises:
        UnsupportedError: If the rank is unknown.
    """
    if value.rank is None:
        raise UnsupportedError("the rank of the input must be known to lower the layer")
    return value.rank


def dims_of(value: Value) -> tuple[int, ...]:
    """The dims.

    Raises:
        UnsupportedError: If a dim is unknown.
    """
    if not value.shape.is_static:
        raise UnsupportedError("the shape of the input must be known to lower the layer")
    return value.shape.static


def axis_of(axis: int, value: Value) -> int:
    """The axis, counted from 0.

    Raises:
        ShapeError: If the axis is out of range.
    """
    rank = rank_of(value)
    if not -rank <= axis < rank:
        raise ShapeError(f"axis {axis} is out of range for rank {rank}", code=Code.axis_out_of_range)
    return axis % rank


def known_integers(value: Value, what: str) -> tuple[int, ...]:
    """The elements.

    Raises:
        UnsupportedError: If the elements are known only at run time.
    """
    constant = value.constant
    if constant is None:
        raise UnsupportedError(f"{what} must be a constant to lower the layer")
    return tuple(int(element) for element in np.asarray(constant).ravel())


def reshape_to(value: Value, *dims: int) -> Value:
    """The value with these dims; -1 is the remaining size."""
    return build.reshape(value, vector(*dims), special_zero=False)


def channel_constant(value: Value, rank: int) -> Value:
    """A vector for the channels, axis 1 of a tensor of this rank, reshaped to broadcast."""
    return value if rank < 2 else reshape_to(value, 1, -1, *[1] * (rank - 2))
