"""Activation functions, in forms that are accurate and finite for arguments of any size.

`kernels/elementwise.py` defines the types they are computed in. The private array functions take a vector of f32 or f64
and may overwrite it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ir_exec.codes import Code
from ir_exec.errors import ShapeError
from ir_exec.kernels.chunks import empty_in_layout_of
from ir_exec.kernels.elementwise import (
    apply_elementwise,
    apply_real,
    at_least,
    at_most,
    clip,
    clip_elements,
    in_parts,
    sigmoid,
    working_dtype,
)
from ir_exec.kernels.precision import CALCULABLE, CALCULABLE_FLOAT, round_to, type_limits
from ir_exec.ops.base import In, Op, op
from ir_exec.ops.base.attributes import AttributeValueError, Float
from ir_exec.ops.base.elementwise import Unary, clip_kernel, real_kernel, unary
from ir_exec.ops.base.facts import LINEAR, SIGMOID, Accuracy
from ir_exec.ops.base.shapes import broadcasts_to, require_rank
from ir_exec.tuning import thresholds
from ir_exec.types import Array, ElementType, Shape, TensorType, convert

__all__ = [
    "Clamp",
    "Elu",
    "Exp",
    "HardSigmoid",
    "Identity",
    "PReLU",
    "ReLU",
    "Selu",
    "Sigmoid",
    "SoftPlus",
    "SoftSign",
]


@op("Identity", since=16)
class Identity(Op):
    """output = data.

    Specification: activation/identity-16.

    Inputs:
        data: Any shape, any type.

    Outputs:
        output: Like data; it may alias data.
    """

    inputs = (In("data"),)
    increasing_in = ("data",)
    may_alias = True
    is_data_movement = True
    preserves_order = True

    def infer(self, data: TensorType) -> TensorType:
        return data

    def evaluate(self, data: Array) -> Array:
        return data


Exp = unary("Exp", np.exp, "output = e^data.", page="activation/exp-1")


@op("ReLU", since=1)
class ReLU(Unary):
    """output = data where it is positive, else 0.

    Specification: activation/relu-1.

    Inputs:
        data: Any shape, any numeric type.

    Outputs:
        output: Like data.
    """

    increasing_in = ("data",)
    inplace_inputs = ("data",)

    def evaluate(self, data: Array, *, out: Array | None = None) -> Array:
        return clip(data, 0, _greatest(ElementType.of(data)), out)

    def kernel(self, *types: TensorType, unread: frozenset[str] = frozenset()) -> Callable[..., Any]:
        element_type = types[0].element_type
        return (
            clip_kernel(types[0], 0, _greatest(element_type), self.evaluate) if element_type.is_known else self.evaluate
        )


def _greatest(element_type: ElementType) -> float:
    """The greatest value of the type."""
    return math.inf if element_type.is_float else int(type_limits(element_type.dtype)[1])


@op("Clamp", since=1)
class Clamp(Unary):
    """output = min(max(data, min), max). For integers `min` is rounded up and `max` down.

    Specification: activation/clamp-1.

    Inputs:
        data: Any shape, any numeric type.

    Outputs:
        output: Like data.

    Raises:
        IRError: IR302 where min is above max, or one of them is NaN.
    """

    increasing_in = ("data",)
    inplace_inputs = ("data",)

    min: Float
    max: Float

    def check_attributes(self) -> None:
        if not self.min <= self.max:
            raise AttributeValueError(
                "attribute min is", actual=self.min, expected=f"at most {self.max}", reason="the attribute max"
            )

    def evaluate(self, data: Array, *, out: Array | None = None) -> Array:
        return clip(data, *self._limits(ElementType.of(data)), out)

    def kernel(self, *types: TensorType, unread: frozenset[str] = frozenset()) -> Callable[..., Any]:
        element_type = types[0].element_type
        return (
            clip_kernel(types[0], *self._limits(element_type), self.evaluate)
            if element_type.is_known
            else self.evaluate
        )

    def _limits(self, element_type: ElementType) -> tuple[float, float]:
        lowest, highest = self.min, self.max
        if not element_type.is_integer:
            return lowest, highest
        least, greatest = type_limits(element_type.dtype)
        # Infinity has no ceil, and a limit outside the range of the type has no effect.
        lowest = math.ceil(min(max(lowest, float(least)), float(greatest)))
        highest = math.floor(min(max(highest, float(least)), float(greatest)))
        # f64 cannot represent the greatest i64: it rounds to a value out of range.
        lowest, highest = (min(max(limit, int(least)), int(greatest)) for limit in (lowest, highest))
        return lowest, highest


@op("PReLU", since=1)
class PReLU(Op):
    """output = data where it is not negative, else slope · data.

    The specification has one float type for both; OpenVINO accepts any two numeric types, and so does this class: f16
    and bf16 are multiplied in f32, integers by floats in f64, rounded to the nearest.

    Specification: activation/prelu-1.

    Inputs:
        data: Any shape.
        slope: A vector with a slope for each channel (axis 1 of data), else any shape that broadcasts to the shape of
            data.

    Outputs:
        output: Like data.

    Raises:
        IRError: IR504 for a slope that does not broadcast to data, which OpenVINO either repeats or rejects.
    """

    inputs = (In("data", types=CALCULABLE), In("slope", types=CALCULABLE))
    redundant_attributes = "channel_shared filler_type filler_value max mean min sparse std variance_norm"
    is_elementwise = True

    def infer(self, data: TensorType, slope: TensorType) -> TensorType:
        if not _may_be_slope(data.shape, slope.shape):
            message = f"slope {slope.shape} has no slope for each channel of data {data.shape}, and does not broadcast"
            raise ShapeError(message, code=Code.no_broadcast, port="slope")
        return data.without_values()

    def evaluate(self, data: Array, slope: Array) -> Array:
        if slope.ndim == 1 and data.ndim > 1 and slope.size == data.shape[1]:
            slope = slope.reshape(slope.shape + (1,) * (data.ndim - 2))
        if slope.dtype == data.dtype:
            result = apply_elementwise(_leaky, data, slope)
        else:
            is_real = ElementType.of(data).is_integer and ElementType.of(slope).is_float
            working = np.dtype(np.float64) if is_real else working_dtype(data.dtype)
            result = _leaky(data.astype(working), convert(slope, ElementType.of_dtype(working)))
            result = round_to(np.rint(result) if is_real else result, data.dtype)
        # Where slope has more dims than data, broadcasting has put ones in front.
        return result.reshape(data.shape)


def _leaky(data: Array, slope: Array) -> Array:
    if data.dtype.kind != "f" or not np.isfinite(slope).all():
        return np.where(data < 0, data * slope, data)
    shape = np.broadcast_shapes(data.shape, slope.shape)
    out = empty_in_layout_of(data) if shape == data.shape else np.empty(shape, data.dtype)
    bent = _bent_up if slope.size and slope.min() > 0 and slope.max() <= 1 else _bent
    return in_parts(bent, (data, slope), out) if out.size >= thresholds.SPLIT_ELEMENTS else bent(data, slope, out)


def _bent_up(data: Array, slope: Array, out: Array) -> Array:
    """PReLU for slopes that enlarge no element and produce no NaN from an infinite one."""
    np.multiply(data, slope, out=out)
    return np.maximum(data, out, out=out)


def _bent(data: Array, slope: Array, out: Array) -> Array:
    """PReLU as a sum of two terms, one of which is 0: the sum is exact.

    np.where is several times slower if signs alternate.
    """
    at_most(data, 0, out)
    np.multiply(out, slope, out=out)
    return np.add(out, at_least(data, 0), out=out)


def _may_be_slope(data: Shape, slope: Shape) -> bool:
    if data.dims is None or slope.dims is None:
        return True
    if len(slope) == 1 and len(data) > 1 and (slope[0] & data[1]) is not None:
        return True
    return broadcasts_to(slope, data)


Sigmoid = unary(
    "Sigmoid", sigmoid, "output = 1 / (1 + e^-data).", page="activation/sigmoid-1", accuracy=SIGMOID, limits=(0.0, 1.0)
)


@op("HardSigmoid", since=1)
class HardSigmoid(Op):
    """output = max(0, min(1, alpha · data + beta)).

    All inputs have one numeric type; the specification has floats only, OpenVINO takes all.

    Specification: activation/hard-sigmoid-1.

    Inputs:
        data: Any shape.
        alpha: A scalar.
        beta: Like `alpha`.

    Outputs:
        output: Like data.

    Raises:
        IRError: IR501 for an alpha or a beta that is not a scalar.
    """

    accuracy = LINEAR
    limits = (0.0, 1.0)

    inputs = (
        In("data", types=CALCULABLE),
        In("alpha", types=CALCULABLE, like="data"),
        In("beta", types=CALCULABLE, like="data"),
    )
    is_elementwise = True

    def infer(self, data: TensorType, alpha: TensorType, beta: TensorType) -> TensorType:
        require_rank(alpha, 0, "alpha")
        require_rank(beta, 0, "beta")
        return data.without_values()

    def evaluate(self, data: Array, alpha: Array, beta: Array) -> Array:
        factor, offset = float(alpha.reshape(())), float(beta.reshape(()))

        def hard_sigmoid(x: Array) -> Array:
            x *= factor
            x += offset
            clip_elements(x, lowest=0, highest=1, out=x)
            return x

        return apply_real(hard_sigmoid, data)


SoftSign = unary(
    "SoftSign",
    lambda x: x / (1 + np.abs(x)),
    "output = data / (1 + |data|).",
    page="activation/softsign-9",
    since=9,
    types=CALCULABLE_FLOAT,
    limits=(-1.0, 1.0),
)


def _softplus(x: Array) -> Array:
    # ln(1 + e), where the part of e lost in 1 + e is added to the first order: np.log1p is four times slower.
    e = np.exp(-np.abs(x))
    one_plus_e = 1 + e
    e -= one_plus_e - 1
    e /= one_plus_e
    e += np.log(one_plus_e, out=one_plus_e)
    e += at_least(x, 0, x)
    return e


SoftPlus = unary(
    "SoftPlus",
    _softplus,
    "output = ln(1 + e^data).",
    page="activation/softplus-4",
    since=4,
    types=CALCULABLE_FLOAT,
    accuracy=Accuracy(absolute=20, argument=2, reason="log(1 + exp(x)) and x + log(1 + exp(-x)) lose precision"),
)


def _elu(x: Array, alpha: float) -> Array:
    # e^x - 1 = 2t / (1 - t) with t = tanh(x / 2), which loses no digits below zero: np.expm1 is four times slower.
    below = at_most(x, 0)
    below *= 0.5
    np.tanh(below, out=below)
    divisor = 1 - below
    below /= divisor
    below *= 2 * alpha
    positive = at_least(x, 0, x)
    # An infinite alpha must not be multiplied by 0 where data is positive.
    return np.add(positive, below, out=below) if math.isfinite(alpha) else np.where(positive > 0, positive, below)


@op("Elu", since=1)
class Elu(Unary):
    """output = data where it is positive, else alpha · (e^data - 1).

    Specification: activation/elu-1.

    Inputs:
        data: Any shape, any numeric type; the specification has floats only, OpenVINO takes all.

    Outputs:
        output: Like data.
    """

    accuracy = Accuracy(absolute=4, reason="exp(x) - 1 cancels near 0")

    inplace_inputs = ("data",)

    alpha: Float

    def evaluate(self, data: Array, *, out: Array | None = None) -> Array:
        return apply_real(partial(_elu, alpha=self.alpha), data, out)

    def kernel(self, *types: TensorType, unread: frozenset[str] = frozenset()) -> Callable[..., Any]:
        return real_kernel(partial(_elu, alpha=self.alpha), types[0], self.evaluate)


@op("Selu", since=1)
class Selu(Op):
    """output = lambda · data where data is positive, else lambda · alpha · (e^data - 1).

    All inputs have one float type.

    Specification: activation/selu-1.

    Inputs:
        data: Any shape.
        alpha: One element; the specification has vectors, OpenVINO takes any shape.
        lambda_: Like `alpha`.

    Outputs:
        output: Like data.

    Raises:
        IRError: IR505 for an alpha or a lambda that does not have one element.
    """

    accuracy = Accuracy(absolute=8, reason="exp(x) - 1 cancels near 0; lambda * alpha is 1.76")

    # "lambda" is a keyword of Python.
    inputs = (
        In("data", types=CALCULABLE_FLOAT),
        In("alpha", types=CALCULABLE_FLOAT, like="data"),
        In("lambda_", types=CALCULABLE_FLOAT, like="data"),
    )
    is_elementwise = True

    def infer(self, data: TensorType, alpha: TensorType, lambda_: TensorType) -> TensorType:
        for name, factor in (("alpha", alpha), ("lambda", lambda_)):
            if 1 not in factor.shape.size:
                raise ShapeError(
                    f"{name} has shape",
                    actual=factor.shape,
                    expected="one element",
                    code=Code.impossible_shape,
                    port=name,
                )
        return data.without_values()

    def evaluate(self, data: Array, alpha: Array, lambda_: Array) -> Array:
        curve, scale = float(alpha.reshape(())), float(lambda_.reshape(()))
        return apply_real(lambda x: scale * _elu(x, curve), data)
