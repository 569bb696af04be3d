"""The representations of values of an ONNX graph during conversion, and queries of the operators' functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from ir_exec import build
from ir_exec.build import Value
from ir_exec.codes import Code
from ir_exec.errors import EvaluationError, NotKnownError, ShapeError, UnsupportedError
from ir_exec.onnx.lowering.demands import request_values
from ir_exec.types import Array, Dim, ElementType

__all__ = [
    "Appended",
    "GraphValue",
    "Missing",
    "MissingValueError",
    "Narrow",
    "Sequence",
    "Stack",
    "as_i64",
    "as_vector",
    "cast",
    "checked_gather",
    "concat",
    "dims_of",
    "gather_from_front",
    "in_floats",
    "ints",
    "known_array",
    "known_ints",
    "known_rank",
    "known_scalar",
    "known_size",
    "normal_axis",
    "number",
    "numbers",
    "require_few",
    "reshape",
    "shape_of",
    "size_along",
]


@dataclass(frozen=True)
class Sequence:
    """A list of values of known length.

    Attributes:
        element_type: The type of its elements, also for an empty list.
    """

    items: tuple[GraphValue, ...]
    element_type: ElementType = ElementType.dynamic

    @property
    def tensors(self) -> list[Value]:
        """The elements as tensors.

        Raises:
            UnsupportedError: If an element is not a tensor.
        """
        tensors = [item for item in self.items if isinstance(item, Value)]
        if len(tensors) != len(self.items):
            raise UnsupportedError("the list contains elements other than tensors of element types of IR")
        return tensors


@dataclass(frozen=True)
class Stack:
    """A list of tensors of equal shape and unknown length: slices of one tensor along axis 0."""

    value: Value

    @property
    def element_type(self) -> ElementType:
        return self.value.element_type

    def to_sequence(self) -> Sequence:
        """The elements as a list.

        Raises:
            NotKnownError: If their number is unknown.
        """
        count = known_size(self.value, 0, "the length of a list")
        require_few(count)
        return Sequence(tuple([build.gather(self.value, index, 0) for index in range(count)]), self.element_type)


_MOST_PARTS = 2**12
"""Maximum tensors in a list that is split from one tensor."""


def require_few(parts: int) -> None:
    """Raise UnsupportedError for a list longer than the maximum."""
    if parts > _MOST_PARTS:
        raise UnsupportedError(f"the list has more than {_MOST_PARTS} elements")


@dataclass(frozen=True)
class Appended:
    """A list inside the loop in which it grows, with only the elements appended so far in an iteration.

    Attributes:
        position: The index among the values carried by the loop.
    """

    position: int
    element_type: ElementType
    items: tuple[Value, ...] = ()


@dataclass(frozen=True)
class Missing:
    """A value without an operator of IR, because of a node that cannot be converted."""


class MissingValueError(UnsupportedError):
    """The reason why the node of a body cannot be converted: a node of the body, which is reported separately."""

    def __init__(self) -> None:
        super().__init__("a node of the body cannot be lowered to IR")


@dataclass(frozen=True)
class Narrow:
    """A tensor of an element type that IR does not have, in a wider type that represents all of its values.

    Attributes:
        data_type: Its TensorProto.DataType.
    """

    value: Value
    data_type: int


GraphValue: TypeAlias = "Value | Narrow | Sequence | Stack | Appended | Missing | None"
"""None is a missing input of a node, or an optional without an element; an optional with an element is the element."""


def known_array(value: Value, what: str) -> Array:
    """The value of a tensor that is not an input in IR.

    Raises:
        NotKnownError: If the value is unknown at conversion.
    """
    arrays = request_values(value)
    if arrays is None:
        raise NotKnownError(f"{what} must be known at conversion")
    return arrays[0]


def known_ints(value: Value, what: str) -> tuple[int, ...]:
    return tuple(int(element) for element in known_array(value, what).ravel())


def known_scalar(value: Value, what: str) -> float:
    array = known_array(value, what)
    if array.size != 1:
        raise UnsupportedError(f"{what} has", actual=array.size, detail="elements", expected="one")
    return array.ravel()[0].item()  # type: ignore[no-any-return]  # of the type of the tensor


def known_rank(value: Value, what: str) -> int:
    """The rank of a tensor.

    Raises:
        NotKnownError: If the rank is unknown at conversion.
    """
    rank = value.type.rank
    return rank if rank is not None else known_array(shape_of(value), f"the rank of {what}").size


def dims_of(value: Value, what: str) -> tuple[int, ...]:
    """The sizes of a tensor.

    Raises:
        NotKnownError: If a size is unknown at conversion.
    """
    shape = value.type.shape
    return shape.static if shape.is_static else known_ints(shape_of(value), f"the shape of {what}")


def known_size(value: Value, axis: int, what: str) -> int:
    """The size of an axis of a tensor.

    Raises:
        NotKnownError: If the size is unknown at conversion.
    """
    size = size_along(value, axis)
    if size.is_static:
        return size.size
    sizes = known_ints(shape_of(value), what)
    return sizes[normal_axis(axis, len(sizes))]


def size_along(value: Value, axis: int) -> Dim:
    """The dim of an axis of a tensor.

    Raises:
        ShapeError: If the tensor has no such axis.
    """
    dims = value.type.shape.dims
    if dims == ():
        raise ShapeError("the input is", actual="a scalar", expected="rank 1 or more", code=Code.wrong_rank)
    return Dim.any() if dims is None else dims[normal_axis(axis, len(dims))]


def normal_axis(axis: int, rank: int) -> int:
    """The axis counted from the front.

    Raises:
        ShapeError: If the axis is out of range for the rank.
    """
    if not -rank <= axis < max(rank, 0 if axis else 1):
        raise ShapeError(f"axis {axis} is out of range for rank {rank}", code=Code.axis_out_of_range)
    return axis % rank if rank else 0


def number(value: float, like: Value) -> Value:
    """A scalar of the element type of `like`."""
    return build.constant(_array(value, like.type.element_type))


def numbers(values: Iterable[float], like: Value) -> Value:
    """A tensor of rank 1 of the element type of `like`."""
    return build.constant(_array(list(values), like.type.element_type))


def _array(values: float | list[float], element_type: ElementType) -> Array:
    return (
        np.asarray(values, element_type.dtype)
        if element_type is ElementType.string
        else np.asarray(values).astype(element_type.dtype)
    )


def ints(*values: int) -> Value:
    """A tensor of rank 1 of i64.

    Raises:
        ShapeError: For sums of attributes beyond 64 bits.
    """
    try:
        return build.constant(np.array(values, np.int64))
    except OverflowError:
        raise ShapeError(
            "the number is", actual=max(values, key=abs), expected="a 64-bit integer", code=Code.impossible_shape
        ) from None


def as_i64(value: Value) -> Value:
    return cast(value, ElementType.i64)


def cast(value: Value, element_type: ElementType) -> Value:
    """The value in another element type; the value itself if it has this type."""
    return value if value.type.element_type is element_type else build.convert(value, element_type)


def in_floats(data: Value, compute: Callable[[Value], Value]) -> Value:
    """The result of `compute` for the data; integers are computed as f64 and truncated: attributes are floats."""
    if not data.element_type.is_integer:
        return compute(data)
    return cast(compute(cast(data, ElementType.f64)), data.element_type)


def shape_of(value: Value) -> Value:
    return build.shape_of(value)


def concat(parts: Iterable[Value], axis: int = 0) -> Value:
    """One tensor of all parts; a single part itself."""
    listed = list(parts)
    return listed[0] if len(listed) == 1 else build.concat(listed, axis)


def checked_gather(data: Value, indices: Value, axis: int, *, batch_dims: int = 0) -> Value:
    """A Gather whose indices come from the file or its inputs: out of range they are errors in ONNX, zeros in IR."""
    size, constant = size_along(data, axis), indices.constant
    if constant is not None and size.is_static and ((constant >= -size.size) & (constant < size.size)).all():
        return build.gather(data, indices, axis, batch_dims=batch_dims)
    return build.gather(data, indices, axis, batch_dims=batch_dims, out_of_range="error")


def gather_from_front(data: Value, indices: Value, axis: int, name: str) -> Value:
    """A Gather with indices of 0 or more: negative indices are errors, as are indices that are too large.

    Args:
        name: ONNX's name of the indices, for messages.
    """
    constant = indices.constant
    if constant is not None and constant.size and constant.min() < 0:
        raise EvaluationError(
            f"{name} contains",
            actual=constant.min(),
            expected="indices of 0 or more",
            code=Code.index_out_of_range,
            port=name,
        )
    if constant is None and indices.element_type.is_signed:
        # Beyond the end of every axis.
        beyond = number(np.iinfo(indices.element_type.dtype).max, indices)
        indices = build.select(build.less(indices, number(0, indices)), beyond, indices)
    return checked_gather(data, indices, axis)


def as_vector(value: Value) -> Value:
    """The elements as a vector: onnxruntime accepts other ranks of many inputs."""
    return value if value.rank in (1, None) else reshape(value, -1)


def reshape(value: Value, *dims: int) -> Value:
    """The value with these dims; -1 is the remaining size, 0 has no special meaning."""
    return build.reshape(value, ints(*dims), special_zero=False)
