"""Elementwise layers: activations, Eltwise, Power, ScaleShift.

Source: the layer catalogue of the releases of 2018 and 2019, EltwiseValidator, MathValidator, math.cpp and
mkldnn_activation_node.cpp of the Inference Engine.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from math import prod

import numpy as np

from ir_exec import build
from ir_exec.build import Value
from ir_exec.codes import Code
from ir_exec.errors import InvalidAttributeError, WeightsError
from ir_exec.older.call import LayerCall, parsed_precision
from ir_exec.older.registry import find_lowering, older_layer
from ir_exec.older.values import as_floats, as_number, cast, channel_constant, dims_of, number, of_one_type, rank_of
from ir_exec.types import ElementType

__all__: list[str] = []

_UNARY: dict[str, Callable[[Value], Value]] = {
    "Abs": build.abs,
    "Acos": build.acos,
    "Acosh": build.acosh,
    "Asin": build.asin,
    "Asinh": build.asinh,
    "Atan": build.atan,
    "Atanh": build.atanh,
    "Ceil": build.ceiling,
    "Ceiling": build.ceiling,
    "Cos": build.cos,
    "Cosh": build.cosh,
    "Erf": build.erf,
    "Exp": build.exp,
    "Floor": build.floor,
    "HSwish": build.hswish,
    "Log": build.log,
    "Mish": build.mish,
    "Neg": build.negative,
    "Sigmoid": build.sigmoid,
    "Logistic": build.sigmoid,
    "Sign": build.sign,
    "Sin": build.sin,
    "Sinh": build.sinh,
    "Softplus": build.softplus,
    "Sqrt": build.sqrt,
    "Tan": build.tan,
    "TanH": build.tanh,
}


def _unary(function: Callable[[Value], Value]) -> Callable[[LayerCall, Value], Value]:
    def lower(layer: LayerCall, data: Value) -> Value:
        return function(as_floats(data))

    return lower


for _name, _function in _UNARY.items():
    older_layer(_name)(_unary(_function))


@older_layer("ReLU")
def relu(layer: LayerCall, data: Value, _slope: Value | None = None) -> Value:
    """max(x, 0), with a slope for negative numbers if `negative_slope` is not 0."""
    slope = layer.number("negative_slope", 0.0)
    if slope == 0:
        return build.relu(data)
    data = as_floats(data)
    return build.prelu(data, build.constant(np.array([slope], data.element_type.dtype)))


@older_layer("ReLU6")
def relu6(layer: LayerCall, data: Value) -> Value:
    """min(max(x, 0), n)."""
    return build.clamp(as_floats(data), 0.0, layer.number("n", 6.0))


@older_layer("PReLU")
def prelu(layer: LayerCall, data: Value, slope: Value | None = None) -> Value:
    """x for positive numbers, slope * x for others; a slope for all channels or one for each."""
    data = as_floats(data)
    if slope is not None:
        return build.prelu(data, as_floats(slope))
    count = layer.blob_count("weights")
    return build.prelu(data, layer.blob("weights", count))


@older_layer("ELU")
def elu(layer: LayerCall, data: Value) -> Value:
    """x for positive numbers, alpha * (exp(x) - 1) for others."""
    return build.elu(as_floats(data), layer.number("alpha", 1.0))


@older_layer("Clamp")
def clamp(layer: LayerCall, data: Value) -> Value:
    """min(max(x, min), max)."""
    return build.clamp(data, layer.number("min"), layer.number("max"))


@older_layer("Swish")
def swish(layer: LayerCall, data: Value) -> Value:
    """x * sigmoid(alpha * x)."""
    return build.swish(as_floats(data), as_number(layer.number("alpha", 1.0)))


@older_layer("Gelu")
def gelu(layer: LayerCall, data: Value) -> Value:
    """The Gaussian error linear unit."""
    return build.gelu(as_floats(data))


@older_layer("Not")
def not_(layer: LayerCall, data: Value) -> Value:
    """1 where x is 0, else 0."""
    return build.equal(data, number(0, data))


@older_layer("Reciprocal")
def reciprocal(layer: LayerCall, data: Value) -> Value:
    """1 / x."""
    data = as_floats(data)
    return build.divide(number(1, data), data)


@older_layer("HardSigmoid")
def hard_sigmoid(layer: LayerCall, data: Value) -> Value:
    """min(max(alpha * x + beta, 0), 1)."""
    alpha, beta = layer.number("alpha", 0.2), layer.number("beta", 0.5)
    return build.hard_sigmoid(as_floats(data), as_number(alpha), as_number(beta))


@older_layer("Selu")
def selu(layer: LayerCall, data: Value) -> Value:
    """gamma * x for positive numbers, gamma * alpha * (exp(x) - 1) for others."""
    alpha, gamma = layer.number("alpha", 1.67326319), layer.number("gamma", 1.05070102)
    return build.selu(as_floats(data), as_number(alpha), as_number(gamma))


@older_layer("Softsign")
def softsign(layer: LayerCall, data: Value) -> Value:
    """x / (1 + |x|)."""
    data = as_floats(data)
    return build.divide(data, build.add(build.abs(data), number(1, data)))


_ACTIVATIONS = {
    **{name.lower(): name for name in (*_UNARY, "ReLU", "ReLU6", "PReLU", "ELU", "Clamp", "Selu", "HardSigmoid")},
    "not": "Not",
    "softsign": "Softsign",
    "swish": "Swish",
    "gelu": "Gelu",
}


@older_layer("Activation")
def activation(layer: LayerCall, data: Value) -> Value:
    """The activation named by `type`, with its attributes."""
    lowering = find_lowering(layer.choice("type", _ACTIVATIONS))
    assert lowering is not None, "the table holds registered types"
    output: Value = lowering.function(layer, data)
    return output


@older_layer("Power")
def power(layer: LayerCall, data: Value) -> Value:
    """(shift + scale * x) ** power."""
    exponent, scale, shift = layer.number("power", 1.0), layer.number("scale", 1.0), layer.number("shift", 0.0)
    value = data if float(scale).is_integer() and float(shift).is_integer() and exponent == 1 else as_floats(data)
    if scale != 1:
        value = build.multiply(value, number(scale, value))
    if shift != 0:
        value = build.add(value, number(shift, value))
    if exponent != 1:
        value = build.power(value, number(exponent, value))
    # An identity is still a layer.
    return build.multiply(value, number(1, value)) if value is data else value


_BINARY: dict[str, Callable[[Value, Value], Value]] = {
    "sum": build.add,
    "add": build.add,
    "mul": build.multiply,
    "prod": build.multiply,
    "max": build.maximum,
    "min": build.minimum,
    "sub": build.subtract,
    "div": build.divide,
    "squared_diff": build.squared_difference,
    "floor_mod": build.floor_mod,
    "pow": build.power,
    "equal": build.equal,
    "not_equal": build.not_equal,
    "less": build.less,
    "less_equal": build.less_equal,
    "greater": build.greater,
    "greater_equal": build.greater_equal,
}
_LOGICAL = {"logical_and": build.logical_and, "logical_or": build.logical_or, "logical_xor": build.logical_xor}
_OPERATIONS: dict[str, str] = {name: name for name in (*_BINARY, *_LOGICAL, "logical_not", "mean")}


@older_layer("Eltwise")
def eltwise(layer: LayerCall, data: Value, *others: Value) -> Value:
    """Reduce two or more inputs from left to right; `coeff` contains a factor for each input of a sum."""
    operation = layer.choice("operation", _OPERATIONS, "sum")
    values = of_one_type([data, *others])
    if operation == "logical_not":
        return build.equal(data, number(0, data))
    if operation in _LOGICAL:
        return reduce(_LOGICAL[operation], [build.not_equal(value, number(0, value)) for value in values])
    if operation == "mean":
        values = [as_floats(value) for value in values]
        return build.divide(reduce(build.add, values), number(len(values), values[0]))
    coefficients = layer.numbers("coeff", ())
    if operation == "sum" and any(coefficient != 1 for coefficient in coefficients):
        if len(coefficients) != len(values):
            raise InvalidAttributeError(
                "coeff has",
                actual=len(coefficients),
                detail="elements",
                expected=len(values),
                reason="one for each input",
                code=Code.invalid_attribute,
            )
        pairs = zip(values, coefficients, strict=True)
        values = [value if factor == 1 else _scale(as_floats(value), factor) for value, factor in pairs]
        values = of_one_type(values)
    if len(values) == 1:
        return _scale(values[0], 1)
    return reduce(_BINARY[operation], values)


def _scale(value: Value, factor: float) -> Value:
    return build.multiply(value, number(factor, value))


@older_layer("ScaleShift")
def scale_shift(layer: LayerCall, data: Value, scale: Value | None = None, shift: Value | None = None) -> Value:
    """weights * x + biases, for each channel, for each element, or with one value for all."""
    data = as_floats(data)
    output = data
    if scale is not None or layer.has_blob("weights"):
        output = build.multiply(output, _per_channel(layer, "weights", data) if scale is None else _spread(scale, data))
    if shift is not None or layer.has_blob("biases"):
        output = build.add(output, _per_channel(layer, "biases", data) if shift is None else _spread(shift, data))
    if output is data:
        raise WeightsError("the layer has neither weights nor biases", code=Code.missing_markup)
    return output


def _per_channel(layer: LayerCall, name: str, data: Value) -> Value:
    dims = dims_of(data)
    count = layer.blob_count(name)
    channels = dims[1] if len(dims) > 1 else dims[0] if dims else 1
    if count not in (1, channels) and count == prod(dims[1:]):
        return layer.blob(name, 1, *dims[1:])
    ones = (1,) * max(len(dims) - 2, 0)
    return layer.blob(name, *(1,) * (len(dims) > 1), count if count == 1 else channels, *ones)


def _spread(value: Value, data: Value) -> Value:
    value = cast(value, data.element_type)
    return channel_constant(value, rank_of(data)) if value.rank == 1 else value


@older_layer("Copy")
def copy(layer: LayerCall, data: Value) -> Value:
    """The input."""
    return build.convert(data, data.element_type)


@older_layer("Convert")
def convert(layer: LayerCall, data: Value) -> Value:
    """The input in the element type of `precision`."""
    element_type = parsed_precision(layer.text("precision", "")) or layer.precision_of(0) or ElementType.f32
    return build.convert(data, ElementType.f32 if element_type is ElementType.f16 else element_type)


@older_layer("Select")
def select(layer: LayerCall, condition: Value, then: Value, otherwise: Value) -> Value:
    """An element of `then` where the condition is not 0, else an element of `otherwise`.

    Source: select.cpp.
    """
    chosen = of_one_type([then, otherwise])
    flag = condition
    if condition.element_type is not ElementType.boolean:
        flag = build.not_equal(condition, number(0, condition))
    rank = max(rank_of(value) for value in chosen)
    own = rank_of(flag)
    if 0 < own < rank and dims_of(flag) == dims_of(chosen[0])[:own]:
        # A condition of lower rank applies to the first axes.
        flag = build.unsqueeze(flag, build.constant(list(range(own, rank)), ElementType.i64))
    return build.select(flag, *chosen)
