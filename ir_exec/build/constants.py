"""Constants and Parameters, and the conversion of arrays and numbers to values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np

from ir_exec.build.values import Value, new_layer
from ir_exec.codes import Code
from ir_exec.errors import ElementTypeError, ShapeError
from ir_exec.ir.array_weights import reserve_offset, stored_size
from ir_exec.model import ShapeLike, as_shape
from ir_exec.ops.infrastructure.values import Const, Parameter
from ir_exec.types import Array, ElementType, Shape, TensorType

__all__ = ["ElementTypeLike", "Input", "ShapeLike", "as_array", "as_element_type", "constant", "parameter"]

ElementTypeLike: TypeAlias = "ElementType | str | np.dtype[Any] | type"
"""`"f32"`, ElementType.f32, np.float32 or a NumPy dtype."""

Input: TypeAlias = "Value | Array | int | float | bool | str | Sequence[Any]"
"""An input of an operator: a value, or anything that can be converted to a constant."""

_COPIED = 2**12
"""Maximum bytes of arrays that are copied, to protect known values from later changes."""


def as_element_type(source: ElementTypeLike) -> ElementType:
    """Return the element type; ElementTypeError for anything else."""
    if isinstance(source, ElementType):
        return source
    try:
        return ElementType.parse(source) if isinstance(source, str) else ElementType.of_dtype(np.dtype(source))
    except (ValueError, TypeError):
        raise ElementTypeError(
            f"{source!r} is not an element type", expected="for example 'f32' or np.float32"
        ) from None


def parameter(
    shape: ShapeLike,
    element_type: ElementTypeLike = "f32",
    *,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """Return an input of the model with this shape (`"1..8,?,64"`, `[1, None, (1, 512)]`) and `element_type`.

    Its name is also a tensor name, unless others are given.
    """
    parsed_type = as_element_type(element_type)
    parsed_shape = as_shape(shape)
    layer = new_layer(
        "Parameter",
        Parameter(element_type=parsed_type, shape=parsed_shape),
        (),
        [TensorType(parsed_type, parsed_shape)],
        name=name,
        attributes={
            "shape": "..." if parsed_shape.dims is None else ",".join(map(str, parsed_shape)),
            "element_type": parsed_type.name,
        },
        tensor_names=tensor_names or ((name,) if name else ()),
    )
    return layer.outputs[0]


def constant(
    array: Any,
    element_type: ElementTypeLike | None = None,
    *,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """Return a constant: an array, a number or nested lists, converted to `element_type` if that is given.

    Without it an array keeps its type, Python integers are i64, and Python floats f32. Large arrays are not copied:
    they must not change afterwards.

    Raises:
        ElementTypeError: If no element type matches the array's dtype, and if the conversion changes values by more
            than rounding.
    """
    requested_type = None if element_type is None else as_element_type(element_type)
    value = as_array(array, requested_type)
    actual_type = ElementType.of(value)
    size = stored_size(value)
    if size <= _COPIED and value is array:
        value = value.copy()
    value = np.ascontiguousarray(value).reshape(value.shape).view()
    value.flags.writeable = False
    offset = reserve_offset(size)
    shape = Shape(value.shape)
    layer = new_layer(
        "Const",
        Const(element_type=actual_type, shape=shape, offset=offset, size=size),
        (),
        [TensorType(actual_type, shape, lambda: (value, value))],
        name=name,
        attributes={
            "element_type": actual_type.name,
            "shape": ",".join(map(str, value.shape)),
            "offset": str(offset),
            "size": str(size),
        },
        tensor_names=tensor_names,
        constant=value,
    )
    return layer.outputs[0]


def as_array(data: Any, element_type: ElementType | None) -> Array:
    """Return the array for a constant, in this element type if it is given."""
    if isinstance(data, np.ndarray | np.generic):
        array = np.asarray(data)
        if array.dtype.kind in "US":
            array = array.astype(str).astype(object)
    else:
        array = _from_python(data)
    if element_type is None or not element_type.is_known:
        try:
            ElementType.of(array)
        except ValueError as error:
            raise ElementTypeError(str(error)) from None
        return array
    return array if array.dtype == element_type.dtype else _convert(array, element_type)


def _from_python(data: Any) -> Array:
    """Return an array of i64, f32, boolean or strings; an empty list is i64, for axes, sizes or pads."""
    if isinstance(data, (list, tuple)) and not data:
        return np.empty(0, np.int64)
    try:
        array = np.array(data)
    except (ValueError, TypeError, OverflowError) as error:
        raise ShapeError(f"{type(data).__name__} cannot be converted to a constant: {error}") from None
    dtype_kind = array.dtype.kind
    if dtype_kind not in "biufUS":
        raise ElementTypeError(f"{type(data).__name__} cannot be converted to a constant")
    if dtype_kind in "US":
        return array.astype(object)
    return array.astype(np.float32) if array.dtype == np.float64 else array


def _convert(array: Array, element_type: ElementType) -> Array:
    """Return the array in another type; ElementTypeError if a number changes by more than rounding."""
    refused = ElementTypeError(f"{array.dtype} cannot be converted to {element_type}", code=Code.element_types_differ)
    if (array.dtype == object) != (element_type is ElementType.string) or element_type.dtype.names is not None:
        raise refused
    with np.errstate(all="ignore"):
        converted = array.astype(element_type.dtype)
        if not element_type.is_float and not np.array_equal(converted.astype(array.dtype), array):
            raise refused
    return converted
