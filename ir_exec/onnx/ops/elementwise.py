"""Operators that compute each element from the elements at the same position, broadcast as in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

from ir_exec import build
from ir_exec.build import Value
from ir_exec.codes import Code
from ir_exec.errors import InvalidAttributeError, ShapeError
from ir_exec.onnx.lowering.attributes import Ints
from ir_exec.onnx.lowering.registry import onnx_op
from ir_exec.onnx.lowering.values import cast, in_floats, known_rank, normal_axis, number
from ir_exec.types import ElementType

__all__: list[str] = []

Unary = Callable[[Value], Value]
Binary = Callable[[Value, Value], Value]


def _unary(name: str, function: Callable[..., Any], *, since: int = 1) -> None:
    """Register an operator of one input whose versions differ only in element types."""

    def convert(data: Value) -> Value:
        found: Value = function(data)
        return found

    convert.__name__ = function.__name__
    onnx_op(name, since=since)(convert)


def _legacy_unary(name: str, function: Callable[..., Any]) -> None:
    """Register an operator whose first version lists the inputs that may be overwritten, without effect on values."""

    def convert(data: Value, *, consumed_inputs: Ints = ()) -> Value:
        found: Value = function(data)
        return found

    convert.__name__ = function.__name__
    onnx_op(name, since=1)(convert)
    _unary(name, function, since=6)


for _name, _function in (
    ("Abs", build.abs),
    ("Ceil", build.ceiling),
    ("Exp", build.exp),
    ("Floor", build.floor),
    ("Log", build.log),
    ("Neg", build.negative),
    ("Relu", build.relu),
    ("Sigmoid", build.sigmoid),
    ("Sqrt", build.sqrt),
    ("Tanh", build.tanh),
):
    _legacy_unary(_name, _function)

for _name, _function, _since in (
    ("Acos", build.acos, 7),
    ("Acosh", build.acosh, 9),
    ("Asin", build.asin, 7),
    ("Asinh", build.asinh, 9),
    ("Atan", build.atan, 7),
    ("Atanh", build.atanh, 9),
    ("BitwiseNot", build.bitwise_not, 18),
    ("Cos", build.cos, 7),
    ("Cosh", build.cosh, 9),
    ("Erf", build.erf, 9),
    ("IsNaN", build.is_nan, 9),
    ("Mish", build.mish, 18),
    ("Not", build.logical_not, 1),
    ("Sign", build.sign, 9),
    ("Sin", build.sin, 7),
    ("Sinh", build.sinh, 9),
    ("Softplus", build.softplus, 1),
    ("Softsign", build.softsign, 1),
    ("Tan", build.tan, 7),
):
    _unary(_name, _function, since=_since)


def _reciprocal(data: Value) -> Value:
    return build.divide(number(1, data), data)


_legacy_unary("Reciprocal", _reciprocal)


@onnx_op("Round", since=11)
def round_(data: Value) -> Value:
    return build.round(data, mode="half_to_even")


@onnx_op("HardSwish", since=14)
def hard_swish(data: Value) -> Value:
    return build.hswish(data)


def aligned(a: Value, b: Value, axis: int | None) -> Value:
    """b with trailing axes of size 1, which align its first axis with `axis` of a: broadcasting before version 7."""
    if axis is None:
        return b
    rank, other = known_rank(a, "the first input"), known_rank(b, "the second input")
    behind = rank - other - normal_axis(axis, rank)
    return build.unsqueeze(b, list(range(other, other + behind))) if behind > 0 else b


def _binary(name: str, function: Binary, *, consumed: bool = False) -> None:
    """Register an operator of two inputs that broadcasts by attributes up to version 6, and as in NumPy since 7."""

    def with_axis(a: Value, b: Value, *, axis: int | None = None, broadcast: bool = False) -> Value:
        if not broadcast and axis is None:
            return function(a, b)
        return function(a, aligned(a, b, axis))

    def consuming(
        a: Value, b: Value, *, axis: int | None = None, broadcast: bool = False, consumed_inputs: Ints = ()
    ) -> Value:
        return with_axis(a, b, axis=axis, broadcast=broadcast)

    def convert(a: Value, b: Value) -> Value:
        return function(a, b)

    convert.__name__ = name.lower()
    onnx_op(name, since=7)(convert)
    onnx_op(name, since=1)(consuming if consumed else with_axis)
    if consumed:
        onnx_op(name, since=6)(with_axis)


def _divide(a: Value, b: Value) -> Value:
    """Integer division truncates."""
    if a.element_type.is_integer:
        return build.divide(a, b, m_pythondiv=False)
    return build.divide(a, b)


def _equal(a: Value, b: Value) -> Value:
    return build.equal(a, b)


def _power(a: Value, b: Value) -> Value:
    """The exponent may have another element type; the result has the type of the base."""
    if a.element_type is b.element_type:
        return build.power(a, b)
    if a.element_type.is_integer and b.element_type.is_float:
        wide = ElementType.f64
        return cast(build.power(cast(a, wide), cast(b, wide)), a.element_type)
    return build.power(a, cast(b, a.element_type))


for _name, _two in (("Add", build.add), ("Sub", build.subtract), ("Mul", build.multiply), ("Div", _divide)):
    _binary(_name, _two, consumed=True)

for _name, _two in (
    ("And", build.logical_and),
    ("Or", build.logical_or),
    ("Xor", build.logical_xor),
    ("Equal", _equal),
    ("Greater", build.greater),
    ("Less", build.less),
    ("Pow", _power),
):
    _binary(_name, _two)


@onnx_op("GreaterOrEqual", since=12)
def greater_or_equal(a: Value, b: Value) -> Value:
    return build.greater_equal(a, b)


@onnx_op("LessOrEqual", since=12)
def less_or_equal(a: Value, b: Value) -> Value:
    return build.less_equal(a, b)


@onnx_op("BitwiseAnd", since=18)
def bitwise_and(a: Value, b: Value) -> Value:
    return build.bitwise_and(a, b)


@onnx_op("BitwiseOr", since=18)
def bitwise_or(a: Value, b: Value) -> Value:
    return build.bitwise_or(a, b)


@onnx_op("BitwiseXor", since=18)
def bitwise_xor(a: Value, b: Value) -> Value:
    return build.bitwise_xor(a, b)


@onnx_op("BitShift", since=11)
def bit_shift(data: Value, shift: Value, *, direction: str) -> Value:
    """A shift by at least the number of bits, or by a negative number, removes all bits; only the sign remains."""
    if direction not in ("LEFT", "RIGHT"):
        raise InvalidAttributeError(f"direction is {direction!r}, expected LEFT or RIGHT")
    shifted = build.bitwise_left_shift if direction == "LEFT" else build.bitwise_right_shift
    known, bits = shift.constant, data.element_type.bits
    if known is not None and ((known >= 0) & (known < bits)).all():
        return shifted(data, shift)
    zero = number(0, data)
    beyond = build.greater_equal(shift, number(bits, shift))
    if shift.element_type.is_signed:
        beyond = build.logical_or(beyond, build.less(shift, zero))
    found = shifted(data, build.select(beyond, zero, shift))
    left = zero
    if direction == "RIGHT" and data.element_type.is_signed:
        left = build.select(build.less(data, zero), number(-1, data), zero)
    return build.select(beyond, left, found)


@onnx_op("Mod", since=10)
def mod(a: Value, b: Value, *, fmod: bool = False) -> Value:
    """The sign of the result is the sign of the divisor, and with fmod the sign of the dividend."""
    if fmod:
        return build.mod(a, b)
    return build.floor_mod(a, b)


@onnx_op("Where", since=9)
def where(condition: Value, x: Value, y: Value) -> Value:
    return build.select(condition, x, y)


def _variadic(name: str, function: Callable[[tuple[Value, ...]], Value]) -> None:
    """Register an operator of any number of inputs, which broadcast since version 8."""

    def consuming(*inputs: Value, consumed_inputs: Ints = ()) -> Value:
        return function(inputs)

    def convert(*inputs: Value) -> Value:
        return function(inputs)

    onnx_op(name, since=1)(consuming)
    onnx_op(name, since=6)(convert)


def _at_least_one(inputs: tuple[Value, ...]) -> tuple[Value, ...]:
    if not inputs:
        raise ShapeError("expected 1 or more inputs, found 0", code=Code.wrong_number_of_inputs)
    return inputs


_variadic("Max", lambda inputs: reduce(build.maximum, _at_least_one(inputs)))
_variadic("Min", lambda inputs: reduce(build.minimum, _at_least_one(inputs)))
_variadic("Sum", lambda inputs: reduce(build.add, _at_least_one(inputs)))


def _mean(inputs: tuple[Value, ...]) -> Value:
    total = reduce(build.add, _at_least_one(inputs))
    return build.divide(total, number(len(inputs), total))


_variadic("Mean", _mean)


@onnx_op("Clip", since=1)
def clip_1(
    data: Value, *, min: float = -3.4028234663852886e38, max: float = 3.4028234663852886e38, consumed_inputs: Ints = ()
) -> Value:
    return clip_6(data, min=min, max=max)


@onnx_op("Clip", since=6)
def clip_6(data: Value, *, min: float = -3.4028234663852886e38, max: float = 3.4028234663852886e38) -> Value:
    return build.clamp(data, min=min, max=max)


@onnx_op("Clip", since=11)
def clip_11(data: Value, min: Value | None = None, max: Value | None = None) -> Value:
    """The upper bound wins if the bounds cross; known bounds that do not cross become a Clamp."""
    if min is not None and max is not None and data.element_type.is_float:
        low, high = min.type.value, max.type.value
        if low is not None and high is not None and low.size == high.size == 1 and low <= high:
            return build.clamp(data, min=float(low.item()), max=float(high.item()))
    bounded = data if min is None else build.maximum(data, min)
    return bounded if max is None else build.minimum(bounded, max)


@onnx_op("IsInf", since=10)
def is_inf(data: Value, *, detect_negative: bool = True, detect_positive: bool = True) -> Value:
    return build.is_inf(data, detect_negative=detect_negative, detect_positive=detect_positive)


@onnx_op("LeakyRelu", since=1)
def leaky_relu_1(data: Value, *, alpha: float = 0.01, consumed_inputs: Ints = ()) -> Value:
    return leaky_relu(data, alpha=alpha)


@onnx_op("LeakyRelu", since=6)
def leaky_relu(data: Value, *, alpha: float = 0.01) -> Value:
    # No version accepts integers; ONNX's reference truncates alpha to their type.
    return build.prelu(data, number(alpha, data))


@onnx_op("PRelu", since=1)
def prelu_1(data: Value, slope: Value, *, consumed_inputs: Ints = ()) -> Value:
    """A slope of rank 1 applies to the channels."""
    return build.prelu(data, slope)


@onnx_op("PRelu", since=6)
def prelu_6(data: Value, slope: Value) -> Value:
    """A slope of rank 1 applies to the channels."""
    return build.prelu(data, slope)


@onnx_op("PRelu", since=7)
def prelu(data: Value, slope: Value) -> Value:
    """The slope broadcasts as in NumPy; a slope of rank 1 of PReLU in IR applies to the channels."""
    if slope.rank == 1 and not (slope.shape.is_static and slope.shape.static == (1,)) and data.rank != 1:
        zero = number(0, data)
        return build.add(build.maximum(data, zero), build.multiply(slope, build.minimum(data, zero)))
    return build.prelu(data, slope)


@onnx_op("Elu", since=1)
def elu_1(data: Value, *, alpha: float = 1.0, consumed_inputs: Ints = ()) -> Value:
    return in_floats(data, lambda x: build.elu(x, alpha=alpha))


@onnx_op("Elu", since=6)
def elu(data: Value, *, alpha: float = 1.0) -> Value:
    return in_floats(data, lambda x: build.elu(x, alpha=alpha))


@onnx_op("Celu", since=12)
def celu(data: Value, *, alpha: float = 1.0) -> Value:
    """max(0, x) + min(0, alpha (exp(x / alpha) - 1))."""

    def curved(x: Value) -> Value:
        unit = build.elu(build.divide(x, number(alpha, x)), alpha=1.0)
        return build.add(build.relu(x), build.minimum(number(0, x), build.multiply(number(alpha, x), unit)))

    return in_floats(data, curved)


@onnx_op("Selu", since=1)
def selu_1(data: Value, *, alpha: float = 1.6732, gamma: float = 1.0507, consumed_inputs: Ints = ()) -> Value:
    return in_floats(data, lambda x: build.selu(x, number(alpha, x), number(gamma, x)))


@onnx_op("Selu", since=6)
def selu(data: Value, *, alpha: float = 1.67326319217681884765625, gamma: float = 1.05070102214813232421875) -> Value:
    return in_floats(data, lambda x: build.selu(x, number(alpha, x), number(gamma, x)))


@onnx_op("HardSigmoid", since=1)
def hard_sigmoid_1(data: Value, *, alpha: float = 0.2, beta: float = 0.5, consumed_inputs: Ints = ()) -> Value:
    return hard_sigmoid(data, alpha=alpha, beta=beta)


@onnx_op("HardSigmoid", since=6)
def hard_sigmoid(data: Value, *, alpha: float = 0.2, beta: float = 0.5) -> Value:
    return in_floats(data, lambda x: build.hard_sigmoid(x, number(alpha, x), number(beta, x)))


@onnx_op("ThresholdedRelu", since=10)
def thresholded_relu(data: Value, *, alpha: float = 1.0) -> Value:
    return in_floats(data, lambda x: build.select(build.greater(x, number(alpha, x)), x, number(0, x)))


@onnx_op("Shrink", since=9)
def shrink(data: Value, *, bias: float = 0.0, lambd: float = 0.5) -> Value:
    """x + bias below -lambd, or else x - bias above lambd, or else 0; with a negative lambd both may apply."""

    def shrunk(x: Value) -> Value:
        above = build.greater(x, number(lambd, x))
        below = build.less(x, number(-lambd, x))
        rest = build.select(above, build.subtract(x, number(bias, x)), number(0, x))
        return build.select(below, build.add(x, number(bias, x)), rest)

    return in_floats(data, shrunk)


@onnx_op("Gelu", since=20)
def gelu(data: Value, *, approximate: str = "none") -> Value:
    if approximate not in ("none", "tanh"):
        raise InvalidAttributeError(f"approximate is {approximate!r}, expected none or tanh")
    return build.gelu(data, approximation_mode="tanh" if approximate == "tanh" else "erf")


@onnx_op("Swish", since=24)
def swish(data: Value, *, alpha: float = 1.0) -> Value:
    return in_floats(data, lambda x: build.swish(x, number(alpha, x)))
