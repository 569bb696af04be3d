"""Constants, identities and conversions of element types."""

from __future__ import annotations

import numpy as np

from ir_exec import build
from ir_exec.build import Value
from ir_exec.errors import InvalidAttributeError, UnsupportedError
from ir_exec.onnx.lowering.attributes import Floats, Ints, Sparse, Strings, Tensor
from ir_exec.onnx.lowering.graphs import Call
from ir_exec.onnx.lowering.registry import onnx_op
from ir_exec.onnx.lowering.values import GraphValue, Narrow, cast, known_array, number
from ir_exec.onnx.ops.strings import numbers_of_strings, strings_of_numbers
from ir_exec.onnx.reading.tensors import dense, element_type_of, is_narrow, onnx_type, wider_type_of
from ir_exec.types import BOOLEAN, INTEGER, ElementType

__all__ = ["convert_saturated", "convert_to", "type_of"]


@onnx_op("Constant", since=(1, 11, 12), ignores_attributes=True)
def constant(
    *,
    value: Tensor | None,
    sparse_value: Sparse | None,
    value_float: float | None,
    value_floats: Floats | None,
    value_int: int | None,
    value_ints: Ints | None,
    value_string: str | None,
    value_strings: Strings | None,
    call: Call,
) -> Value:
    """The value of the only given attribute."""
    attributes = (value, sparse_value, value_float, value_floats, value_int, value_ints, value_string, value_strings)
    count = sum(attribute is not None for attribute in attributes)
    if count != 1:
        raise InvalidAttributeError("the node has", actual=count, detail="attributes", expected=1)
    if value is not None:
        return build.constant(call.array(value))
    if sparse_value is not None:
        return build.constant(dense(sparse_value, call.array))
    if value_float is not None or value_floats is not None:
        return build.constant(np.array(value_float if value_floats is None else value_floats, np.float32))
    if value_int is not None or value_ints is not None:
        return build.constant(np.array(value_int if value_ints is None else value_ints, np.int64))
    return build.constant(np.array(value_string if value_strings is None else list(value_strings or ()), object))


@onnx_op("Identity", since=1)
def identity(data: GraphValue) -> GraphValue:
    return data


@onnx_op("Cast", since=1)
def cast_1(data: GraphValue, *, to: str) -> GraphValue:
    return convert_to(data, _type_by_name(to))


def _type_by_name(name: str) -> int:
    from onnx import TensorProto

    try:
        return int(TensorProto.DataType.Value(name))
    except ValueError:
        raise InvalidAttributeError(f"{name!r} is not an element type of ONNX") from None


@onnx_op("Cast", since=(6, 19, 24))
def cast_6(data: GraphValue, *, to: int, saturate: bool, round_mode: str) -> GraphValue:
    return convert_to(data, to, saturate, round_mode)


@onnx_op("CastLike", since=(15, 19, 24))
def cast_like(data: GraphValue, target: GraphValue, *, saturate: bool, round_mode: str) -> GraphValue:
    return convert_to(data, type_of(target), saturate, round_mode)


@onnx_op("BitCast", since=26)
def bit_cast(data: Value, *, to: int) -> Value:
    """Integers of the same width keep their bits in conversions; no operator of IR reads the bits of floats."""
    element_type = element_type_of(to)
    supported = INTEGER | BOOLEAN
    if element_type is data.element_type:
        return data
    if element_type not in INTEGER or data.element_type not in supported or element_type.bits != data.element_type.bits:
        raise UnsupportedError(
            f"IR has no operator that reinterprets the bits of {data.element_type} as {element_type}"
        )
    return cast(data, element_type)


def type_of(value: GraphValue) -> int:
    """The TensorProto.DataType of a tensor."""
    if isinstance(value, Narrow):
        return value.data_type
    if not isinstance(value, Value):
        raise UnsupportedError("the input is a sequence", expected="a tensor")
    return onnx_type(value.element_type)


def convert_to(data: GraphValue, code: int, saturate: bool = True, round_mode: str = "up") -> GraphValue:
    """A tensor in the element type of this TensorProto.DataType."""
    if type_of(data) == code:
        return data
    value = data.value if isinstance(data, Narrow) else data
    assert isinstance(value, Value)
    if not is_narrow(code):
        return convert_saturated(value, element_type_of(code), saturate, round_mode)
    return Narrow(_narrow_values(value, code, saturate), code)


def _narrow_values(value: Value, code: int, saturate: bool) -> Value:
    """The values of a type that IR does not have, in a wider type."""
    from onnx import TensorProto

    if ElementType.string is value.element_type:
        value = convert_saturated(value, ElementType.f32)
    name = TensorProto.DataType.Name(code)
    if name == "INT2":
        # The lowest two bits, the higher one of which is the sign.
        low = build.bitwise_and(cast(value, ElementType.i32), build.constant(np.int32(3)))
        two = build.constant(np.int32(2))
        return cast(build.subtract(build.bitwise_xor(low, two), two), wider_type_of(code))
    wide = value if value.element_type is ElementType.f64 else cast(value, ElementType.f32)
    return _unsigned_zero_float(wide, name == "FLOAT8E4M3FNUZ", saturate)


def _unsigned_zero_float(value: Value, is_e4m3: bool, saturate: bool) -> Value:
    """f32 or f64 rounded to f8e4m3fnuz or f8e5m2fnuz, whose values are half of those of f8e4m3 and f8e5m2.

    The largest values need care: twice 240 is not an f8e4m3, and f8e5m2 and f8e5m2fnuz have equal values of 1 or more.
    """
    largest = 240.0 if is_e4m3 else 57344.0
    end = number(largest, value)
    size = build.abs(value)
    two = number(2, value)
    f8_type = ElementType.f8e4m3 if is_e4m3 else ElementType.f8e5m2
    bounded = build.clamp(value, min=-largest, max=largest)
    halves = build.divide(_nearest_f8(build.multiply(bounded, two), f8_type), two)
    if is_e4m3:
        # Twice 232 is in the middle between two values, the lower one of which is even.
        top = build.multiply(build.sign(bounded), end)
        rounded = build.select(build.greater(build.abs(bounded), number(232, value)), top, halves)
    else:
        above = build.greater_equal(build.abs(bounded), number(1, value))
        rounded = build.select(above, _nearest_f8(bounded, f8_type), halves)
    if not saturate:
        limit = number(248.0 if is_e4m3 else 61440.0, value)
        nan = number(np.nan, value)
        rounded = build.select(build.greater_equal(size, limit), nan, rounded)
    # There is no negative zero.
    return cast(build.add(rounded, number(0, value)), ElementType.f32)


_LARGEST = {ElementType.f8e4m3: 448.0, ElementType.f8e5m2: 57344.0}

_MIDDLE = {ElementType.f8e4m3: 464.0, ElementType.f8e5m2: 61440.0}
"""Half way from the largest value to the next value of the same exponent."""


def _nearest_f8(data: Value, f8_type: ElementType) -> Value:
    """The floats, none larger than the largest of `f8_type`, rounded to its values, but still in their own type.

    Convert of IR rounds f32 to f16 first, as OpenVINO does: resulting ties are resolved by the original float.
    """
    wide = data.element_type
    twice = cast(cast(data, f8_type), wide)
    middle = cast(cast(data, ElementType.f16), wide)
    other = build.subtract(build.add(middle, middle), twice)
    is_value = build.equal(cast(cast(other, f8_type), wide), other)
    is_nearer = build.less(build.abs(build.subtract(data, other)), build.abs(build.subtract(data, twice)))
    return build.select(build.logical_and(is_value, is_nearer), other, twice)


def _as_f8(data: Value, f8_type: ElementType, saturate: bool) -> Value:
    """Rounded once; beyond the largest value NaN in f8e4m3 and infinities in f8e5m2, unless they saturate."""
    middle = number(_MIDDLE[f8_type], data)
    bounded = build.clamp(data, min=-_LARGEST[f8_type], max=_LARGEST[f8_type])
    rounded = bounded if data.element_type.bits < 32 else _nearest_f8(bounded, f8_type)
    if not saturate:
        size = build.abs(data)
        if f8_type is ElementType.f8e4m3:
            rounded = build.select(build.greater(size, middle), number(np.nan, data), rounded)
        else:
            far = build.multiply(build.sign(data), number(np.inf, data))
            rounded = build.select(build.greater_equal(size, middle), far, rounded)
    # NaN is kept.
    return cast(build.select(build.is_nan(data), data, rounded), f8_type)


def convert_saturated(data: Value, element_type: ElementType, saturate: bool = True, round_mode: str = "up") -> Value:
    """The data in another element type; floats of 8 bits saturate to their largest value with `saturate`."""
    if data.element_type is element_type:
        return data
    if ElementType.string in (element_type, data.element_type):
        array = known_array(data, "the input of a Cast between strings and numbers")
        is_text = element_type is ElementType.string
        return build.constant(strings_of_numbers(array) if is_text else numbers_of_strings(array, element_type))
    if element_type in _LARGEST and data.element_type not in _LARGEST:
        return _as_f8(data if data.element_type.is_float else cast(data, ElementType.f32), element_type, saturate)
    if element_type is ElementType.f8e8m0 and round_mode != "nearest":
        return _rounded_power(cast(data, ElementType.f32), round_mode)
    if element_type is ElementType.f4e2m1 and data.element_type.is_float:
        # It has no NaN: ONNX's own implementation returns a negative zero.
        data = build.select(build.is_nan(data), number(-0.0, data), data)
    return cast(data, element_type)


def _rounded_power(data: Value, round_mode: str) -> Value:
    """The next power of two that is at least, or at most, the data."""
    if round_mode not in ("up", "down"):
        raise InvalidAttributeError("round_mode is", actual=repr(round_mode), expected="up, down or nearest")
    f8_type = ElementType.f8e8m0
    near = cast(cast(data, f8_type), ElementType.f32)
    if round_mode == "up":
        wrong, factor = build.less(near, data), 2.0
    else:
        wrong, factor = build.greater(near, data), 0.5
    return cast(build.select(wrong, build.multiply(near, number(factor, near)), near), f8_type)
