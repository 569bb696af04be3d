"""Operators that compute each element from the elements at the same position, broadcast as in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

from ir_exec import build
from ir_exec.build import Value
from ir_exec.codes import Code
from ir_exec.errors import InvalidAttributeError, ShapeError
from ir_exec.onnx.lowering.registry import onnx_op
from ir_exec.onnx.lowering.values import cast, in_floats, known_rank, normal_axis, number
from ir_exec.types import ElementType

__all__: list[str] = []

_LARGEST = 3.4028234663852886e38
"""The largest f32, the bound of Clip-1 by its text."""

Binary = Callable[[Value, Value], Value]


def _reciprocal(data: Value) -> Value:
    return build.divide(number(1, data), data)


def _register_unary(name: str, function: Callable[..., Any], since: int | tuple[int, ...]) -> None:
    def unary(data: Value) -> Value:
        result: Value = function(data)
        return result

    onnx_op(name, since=since)(unary)


for _name, _function, _since in (
    ("Abs", build.abs, (1, 6)),
    ("Acos", build.acos, 7),
    ("Acosh", build.acosh, 9),
    ("Asin", build.asin, 7),
    ("Asinh", build.asinh, 9),
    ("Atan", build.atan, 7),
    ("Atanh", build.atanh, 9),
    ("BitwiseNot", build.bitwise_not, 18),
    ("Ceil", build.ceiling, (1, 6)),
    ("Cos", build.cos, 7),
    ("Cosh", build.cosh, 9),
    ("Erf", build.erf, 9),
    ("Exp", build.exp, (1, 6)),
    ("Floor", build.floor, (1, 6)),
    ("HardSwish", build.hswish, 14),
    ("IsNaN", build.is_nan, 9),
    ("Log", build.log, (1, 6)),
    ("Mish", build.mish, 18),
    ("Neg", build.negative, (1, 6)),
    ("Not", build.logical_not, 1),
    ("Reciprocal", _reciprocal, (1, 6)),
    ("Relu", build.relu, (1, 6)),
    ("Sigmoid", build.sigmoid, (1, 6)),
    ("Sign", build.sign, 9),
    ("Sin", build.sin, 7),
    ("Sinh", build.sinh, 9),
    ("Softplus", build.softplus, 1),
    ("Softsign", build.softsign, 1),
    ("Sqrt", build.sqrt, (1, 6)),
    ("Tan", build.tan, 7),
    ("Tanh", build.tanh, (1, 6)),
):
    _register_unary(_name, _function, _since)


@onnx_op("Round", since=11)
def round_(data: Value) -> Value:
    return build.round(data, mode="half_to_even")


def align_axes(a: Value, b: Value, axis: int | None) -> Value:
    """b with trailing axes of size 1, which align its first axis with `axis` of a: broadcasting before version 7."""
    if axis is None:
        return b
    rank, other = known_rank(a, "the first input"), known_rank(b, "the second input")
    behind = rank - other - normal_axis(axis, rank)
    return build.unsqueeze(b, list(range(other, other + behind))) if behind > 0 else b


def _divide(a: Value, b: Value) -> Value:
    """Integer division truncates."""
    if a.element_type.is_integer:
        return build.divide(a, b, m_pythondiv=False)
    return build.divide(a, b)


def _power(a: Value, b: Value) -> Value:
    """The exponent may have another element type; the result has the type of the base."""
    if a.element_type is b.element_type:
        return build.power(a, b)
    if a.element_type.is_integer and b.element_type.is_float:
        wide = ElementType.f64
        return cast(build.power(cast(a, wide), cast(b, wide)), a.element_type)
    return build.power(a, cast(b, a.element_type))


def _register_binary(name: str, function: Binary, since: int | tuple[int, ...]) -> None:
    def binary(a: Value, b: Value) -> Value:
        return function(a, b)

    onnx_op(name, since=since)(binary)


def _register_aligned(name: str, function: Binary, since: tuple[int, ...]) -> None:
    """Register an operator that aligns its inputs by `axis` up to version 6, and broadcasts as in NumPy since 7."""

    def binary(a: Value, b: Value, *, axis: int | None) -> Value:
        return function(a, align_axes(a, b, axis))

    onnx_op(name, since=since, unused=("broadcast",))(binary)


for _name, _binary, _versions in (
    ("Add", build.add, (1, 6, 7)),
    ("And", build.logical_and, (1, 7)),
    ("Div", _divide, (1, 6, 7)),
    ("Equal", build.equal, (1, 7)),
    ("Greater", build.greater, (1, 7)),
    ("Less", build.less, (1, 7)),
    ("Mul", build.multiply, (1, 6, 7)),
    ("Or", build.logical_or, (1, 7)),
    ("Pow", _power, (1, 7)),
    ("Sub", build.subtract, (1, 6, 7)),
    ("Xor", build.logical_xor, (1, 7)),
):
    _register_aligned(_name, _binary, _versions)

for _name, _binary, _since in (
    ("BitwiseAnd", build.bitwise_and, 18),
    ("BitwiseOr", build.bitwise_or, 18),
    ("BitwiseXor", build.bitwise_xor, 18),
    ("GreaterOrEqual", build.greater_equal, 12),
    ("LessOrEqual", build.less_equal, 12),
):
    _register_binary(_name, _binary, _since)


@onnx_op("BitShift", since=11)
def bit_shift(data: Value, shift: Value, *, direction: str) -> Value:
    """A shift by at least the number of bits, or by a negative number, removes all bits; only the sign remains."""
    if direction not in ("LEFT", "RIGHT"):
        raise InvalidAttributeError("direction is", actual=repr(direction), expected="LEFT or RIGHT")
    shifted = build.bitwise_left_shift if direction == "LEFT" else build.bitwise_right_shift
    constant, bits = shift.constant, data.element_type.bits
    if constant is not None and ((constant >= 0) & (constant < bits)).all():
        return shifted(data, shift)
    zero = number(0, data)
    beyond = build.greater_equal(shift, number(bits, shift))
    if shift.element_type.is_signed:
        beyond = build.logical_or(beyond, build.less(shift, zero))
    result = shifted(data, build.select(beyond, zero, shift))
    left = zero
    if direction == "RIGHT" and data.element_type.is_signed:
        left = build.select(build.less(data, zero), number(-1, data), zero)
    return build.select(beyond, left, result)


@onnx_op("Mod", since=10)
def mod(a: Value, b: Value, *, fmod: bool) -> Value:
    """The sign of the result is the sign of the divisor, and with fmod the sign of the dividend."""
    if fmod:
        return build.mod(a, b)
    return build.floor_mod(a, b)


@onnx_op("Where", since=9)
def where(condition: Value, x: Value, y: Value) -> Value:
    return build.select(condition, x, y)


def _variadic(name: str, function: Callable[[tuple[Value, ...]], Value]) -> None:
    """Register an operator of any number of inputs, which broadcast since version 8."""

    def variadic(*inputs: Value) -> Value:
        return function(inputs)

    onnx_op(name, since=(1, 6))(variadic)


def _at_least_one(inputs: tuple[Value, ...]) -> tuple[Value, ...]:
    if not inputs:
        raise ShapeError(
            "the node has", actual=0, detail="inputs", expected="1 or more", code=Code.wrong_number_of_inputs
        )
    return inputs


_variadic("Max", lambda inputs: reduce(build.maximum, _at_least_one(inputs)))
_variadic("Min", lambda inputs: reduce(build.minimum, _at_least_one(inputs)))
_variadic("Sum", lambda inputs: reduce(build.add, _at_least_one(inputs)))


def _mean(inputs: tuple[Value, ...]) -> Value:
    total = reduce(build.add, _at_least_one(inputs))
    return build.divide(total, number(len(inputs), total))


_variadic("Mean", _mean)


@onnx_op("Clip", since=(1, 6))
def clip_6(data: Value, *, min: float = -_LARGEST, max: float = _LARGEST) -> Value:
    return build.clamp(data, min=min, max=max)


@onnx_op("Clip", since=11)
def clip_11(data: Value, min: Value | None, max: Value | None) -> Value:
    """The upper bound wins if the bounds cross; known bounds that do not cross become a Clamp."""
    if min is not None and max is not None and data.element_type.is_float:
        low, high = min.type.value, max.type.value
        if low is not None and high is not None and low.size == high.size == 1 and low <= high:
            return build.clamp(data, min=float(low.item()), max=float(high.item()))
    bounded = data if min is None else build.maximum(data, min)
    return bounded if max is None else build.minimum(bounded, max)


@onnx_op("IsInf", since=10)
def is_inf(data: Value, *, detect_negative: bool, detect_positive: bool) -> Value:
    return build.is_inf(data, detect_negative=detect_negative, detect_positive=detect_positive)


@onnx_op("LeakyRelu", since=(1, 6))
def leaky_relu(data: Value, *, alpha: float) -> Value:
    # No version accepts integers; ONNX's reference truncates alpha to their type.
    return build.prelu(data, number(alpha, data))


@onnx_op("PRelu", since=(1, 6, 7))
def prelu(data: Value, slope: Value, *, since: int) -> Value:
    """A slope of rank 1 applies to the channels, as in IR; since version 7 it broadcasts as in NumPy."""
    is_single = slope.shape.is_static and slope.shape.static == (1,)
    if since >= 7 and slope.rank == 1 and not is_single and data.rank != 1:
        zero = number(0, data)
        return build.add(build.maximum(data, zero), build.multiply(slope, build.minimum(data, zero)))
    return build.prelu(data, slope)


@onnx_op("Elu", since=(1, 6))
def elu(data: Value, *, alpha: float) -> Value:
    return in_floats(data, lambda x: build.elu(x, alpha=alpha))


@onnx_op("Celu", since=12)
def celu(data: Value, *, alpha: float) -> Value:
    """max(0, x) + min(0, alpha (exp(x / alpha) - 1))."""

    def apply_celu(x: Value) -> Value:
        unit = build.elu(build.divide(x, number(alpha, x)), alpha=1.0)
        return build.add(build.relu(x), build.minimum(number(0, x), build.multiply(number(alpha, x), unit)))

    return in_floats(data, apply_celu)


@onnx_op("Selu", since=(1, 6))
def selu(data: Value, *, alpha: float, gamma: float) -> Value:
    return in_floats(data, lambda x: build.selu(x, number(alpha, x), number(gamma, x)))


@onnx_op("HardSigmoid", since=(1, 6))
def hard_sigmoid(data: Value, *, alpha: float, beta: float) -> Value:
    return in_floats(data, lambda x: build.hard_sigmoid(x, number(alpha, x), number(beta, x)))


@onnx_op("ThresholdedRelu", since=10)
def thresholded_relu(data: Value, *, alpha: float) -> Value:
    return in_floats(data, lambda x: build.select(build.greater(x, number(alpha, x)), x, number(0, x)))


@onnx_op("Shrink", since=9)
def shrink(data: Value, *, bias: float, lambd: float) -> Value:
    """x + bias below -lambd, or else x - bias above lambd, or else 0; with a negative lambd both may apply."""

    def shrunk(x: Value) -> Value:
        above = build.greater(x, number(lambd, x))
        below = build.less(x, number(-lambd, x))
        otherwise = build.select(above, build.subtract(x, number(bias, x)), number(0, x))
        return build.select(below, build.add(x, number(bias, x)), otherwise)

    return in_floats(data, shrunk)


@onnx_op("Gelu", since=20)
def gelu(data: Value, *, approximate: str) -> Value:
    if approximate not in ("none", "tanh"):
        raise InvalidAttributeError("approximate is", actual=repr(approximate), expected="none or tanh")
    return build.gelu(data, approximation_mode="tanh" if approximate == "tanh" else "erf")


@onnx_op("Swish", since=24)
def swish(data: Value, *, alpha: float) -> Value:
    return in_floats(data, lambda x: build.swish(x, number(alpha, x)))
