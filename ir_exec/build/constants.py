"""Constants and Parameters, and what may stand for a value: arrays and numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np

from ir_exec.build.values import Value, new_layer
from ir_exec.codes import Code
from ir_exec.errors import ElementTypeError, ShapeError
from ir_exec.ir.held import reserve_offset, stored_size
from ir_exec.model import ShapeLike, as_shape
from ir_exec.ops.infrastructure.values import Const, Parameter
from ir_exec.types import Array, ElementType, Shape, TensorType

__all__ = ["ElementTypeLike", "Input", "ShapeLike", "as_array", "as_element_type", "constant", "parameter"]

ElementTypeLike: TypeAlias = "ElementType | str | np.dtype[Any] | type"
"""`"f32"`, ElementType.f32, np.float32 or a NumPy dtype."""

Input: TypeAlias = "Value | Array | int | float | bool | str | Sequence[Any]"
"""What an operator takes as an input: a value, or what becomes a constant."""

_COPIED = 2**12
"""Bytes of arrays that are copied, so that known values stay what they were when types were inferred from them."""


def as_element_type(given: ElementTypeLike) -> ElementType:
    """The element type; ElementTypeError for what is none."""
    if isinstance(given, ElementType):
        return given
    try:
        return ElementType.parse(given) if isinstance(given, str) else ElementType.of_dtype(np.dtype(given))
    except (ValueError, TypeError):
        raise ElementTypeError(f"{given!r} is no element type: expected one such as 'f32' or np.float32") from None


def parameter(
    shape: ShapeLike,
    element_type: ElementTypeLike = "f32",
    *,
    name: str | None = None,
    tensor_names: Iterable[str] = (),
) -> Value:
    """An input of the network, of this shape (`"1..8,?,64"`, `[1, None, (1, 512)]`) and `element_type`.

    Its name is a tensor name too, unless there are others.
    """
    kind = as_element_type(element_type)
    found = as_shape(shape)
    layer = new_layer(
        "Parameter",
        Parameter(element_type=kind, shape=found),
        (),
        [TensorType(kind, found)],
        name=name,
        attributes={"shape": "..." if found.dims is None else ",".join(map(str, found)), "element_type": kind.name},
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
    """A constant: an array, a number or nested lists, converted to `element_type` where that is given.

    Without it an array keeps its own type, and integers of Python are i64, other numbers f32. Large arrays are kept,
    not copied: they must not change afterwards. Raises ElementTypeError where no element type is held in the array's
    dtype, and where the conversion loses more than precision.
    """
    kind = None if element_type is None else as_element_type(element_type)
    value = as_array(array, kind)
    found = ElementType.of(value)
    size = stored_size(value)
    if size <= _COPIED and value is array:
        value = value.copy()
    value = np.ascontiguousarray(value).reshape(value.shape).view()
    value.flags.writeable = False
    offset = reserve_offset(size)
    shape = Shape(value.shape)
    layer = new_layer(
        "Const",
        Const(element_type=found, shape=shape, offset=offset, size=size),
        (),
        [TensorType(found, shape, lambda: (value, value))],
        name=name,
        attributes={
            "element_type": found.name,
            "shape": ",".join(map(str, value.shape)),
            "offset": str(offset),
            "size": str(size),
        },
        tensor_names=tensor_names,
        constant=value,
    )
    return layer.outputs[0]


def as_array(given: Any, kind: ElementType | None) -> Array:
    """The array for what stands for a constant, in this element type where it is given."""
    if isinstance(given, np.ndarray | np.generic):
        array = np.asarray(given)
        if array.dtype.kind in "US":
            array = array.astype(str).astype(object)
    else:
        array = _from_python(given)
    if kind is None or not kind.is_known:
        try:
            ElementType.of(array)
        except ValueError as error:
            raise ElementTypeError(str(error)) from None
        return array
    return array if array.dtype == kind.dtype else _converted(array, kind)


def _from_python(given: Any) -> Array:
    """An array of i64, f32, boolean or strings; an empty list is that of axes, sizes or pads."""
    if isinstance(given, (list, tuple)) and not given:
        return np.empty(0, np.int64)
    try:
        array = np.array(given)
    except (ValueError, TypeError, OverflowError) as error:
        raise ShapeError(f"a constant cannot be made of {type(given).__name__}: {error}") from None
    kind = array.dtype.kind
    if kind not in "biufUS":
        raise ElementTypeError(f"a constant cannot be made of {type(given).__name__}")
    if kind in "US":
        return array.astype(object)
    return array.astype(np.float32) if array.dtype == np.float64 else array


def _converted(array: Array, kind: ElementType) -> Array:
    """The array in another type; ElementTypeError where a number becomes another one by more than rounding."""
    refused = ElementTypeError(f"{array.dtype} cannot become {kind}", code=Code.element_types_differ)
    if (array.dtype == object) != (kind is ElementType.string) or kind.dtype.names is not None:
        raise refused
    with np.errstate(all="ignore"):
        found = array.astype(kind.dtype)
        if not kind.is_float and not np.array_equal(found.astype(array.dtype), array):
            raise refused
    return found
