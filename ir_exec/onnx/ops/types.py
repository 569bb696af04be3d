"""Constants, identities and conversions of element types."""

from __future__ import annotations

from ir_exec import build
from ir_exec.build import Value
from ir_exec.errors import InvalidAttributeError, UnsupportedError
from ir_exec.onnx.attributes import Floats, Ints, Sparse, Strings, Tensor
from ir_exec.onnx.convert import Call
from ir_exec.onnx.registry import onnx_op
from ir_exec.onnx.tensors import element_type_of
from ir_exec.onnx.values import Held, cast, number
from ir_exec.types import Array, ElementType

import numpy as np

__all__ = ["convert_saturated"]


@onnx_op("Constant", since=1)
def constant_1(*, value: Tensor, call: Call) -> Value:
    return build.constant(call.array(value))


@onnx_op("Constant", since=11)
def constant_11(*, value: Tensor | None = None, sparse_value: Sparse | None = None, call: Call) -> Value:
    return constant(value=value, sparse_value=sparse_value, call=call)


@onnx_op("Constant", since=12)
def constant(
    *,
    value: Tensor | None = None,
    sparse_value: Sparse | None = None,
    value_float: float | None = None,
    value_floats: Floats | None = None,
    value_int: int | None = None,
    value_ints: Ints | None = None,
    value_string: str | None = None,
    value_strings: Strings | None = None,
    call: Call,
) -> Value:
    """The one attribute that is given."""
    given = (value, sparse_value, value_float, value_floats, value_int, value_ints, value_string, value_strings)
    if sum(one is not None for one in given) != 1:
        raise InvalidAttributeError("expected exactly one attribute")
    if value is not None:
        return build.constant(call.array(value))
    if sparse_value is not None:
        return build.constant(_dense(sparse_value, call))
    if value_float is not None or value_floats is not None:
        return build.constant(np.array(value_float if value_floats is None else value_floats, np.float32))
    if value_int is not None or value_ints is not None:
        return build.constant(np.array(value_int if value_ints is None else value_ints, np.int64))
    return build.constant(np.array(value_string if value_strings is None else list(value_strings or ()), object))


def _dense(sparse: Sparse, call: Call) -> Array:
    """Zeros with the values at their places: `indices` are flat, or one row of coordinates for each value."""
    values, indices = call.array(sparse.values), call.array(sparse.indices)
    dims = tuple(sparse.dims)
    found = np.zeros(dims, values.dtype)
    flat = indices if indices.ndim == 1 else np.ravel_multi_index(tuple(indices.T), dims)
    found.reshape(-1)[flat] = values
    return found


@onnx_op("Identity", since=1)
def identity(data: Held) -> Held:
    return data


@onnx_op("Cast", since=1)
def cast_1(data: Value, *, to: str) -> Value:
    return convert_saturated(data, _named(to))


def _named(name: str) -> ElementType:
    from onnx import TensorProto

    try:
        return element_type_of(TensorProto.DataType.Value(name))
    except ValueError:
        raise InvalidAttributeError(f"{name!r} is no element type of ONNX") from None


@onnx_op("Cast", since=6)
def cast_6(data: Value, *, to: int) -> Value:
    return convert_saturated(data, element_type_of(to))


@onnx_op("Cast", since=19)
def cast_19(data: Value, *, to: int, saturate: bool = True) -> Value:
    return convert_saturated(data, element_type_of(to), saturate)


@onnx_op("Cast", since=24)
def cast_24(data: Value, *, to: int, saturate: bool = True, round_mode: str = "up") -> Value:
    return convert_saturated(data, element_type_of(to), saturate, round_mode)


@onnx_op("CastLike", since=15)
def cast_like_15(data: Value, target: Value) -> Value:
    return convert_saturated(data, target.element_type)


@onnx_op("CastLike", since=19)
def cast_like_19(data: Value, target: Value, *, saturate: bool = True) -> Value:
    return convert_saturated(data, target.element_type, saturate)


@onnx_op("CastLike", since=24)
def cast_like_24(data: Value, target: Value, *, saturate: bool = True, round_mode: str = "up") -> Value:
    return convert_saturated(data, target.element_type, saturate, round_mode)


_LARGEST = {ElementType.f8e4m3: 448.0, ElementType.f8e5m2: 57344.0}


def convert_saturated(data: Value, kind: ElementType, saturate: bool = True, round_mode: str = "up") -> Value:
    """The data in another element type; floats of 8 bits end at their largest value where `saturate` says so."""
    if data.element_type is kind:
        return data
    if ElementType.string in (kind, data.element_type):
        raise UnsupportedError("IR has no conversion of strings to numbers, nor back")
    if kind in _LARGEST and saturate and data.element_type.is_float and data.element_type not in _LARGEST:
        largest = _LARGEST[kind]
        data = build.clamp(data, min=-largest, max=largest)
    return cast(data, kind)
