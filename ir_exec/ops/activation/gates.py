"""Activation functions that multiply data by a gate from 0 to 1, and the hard gate itself.

`kernels/elementwise.py` defines the types they are computed in. The private array functions take a vector of f32 or f64
and may overwrite it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, Literal

from ir_exec.kernels.elementwise import (
    EXPONENT,
    Function,
    apply_real,
    at_most,
    clip_elements,
    numbers,
    power,
)
from ir_exec.kernels.error_function import normal_odds_exponent
from ir_exec.kernels.precision import CALCULABLE_FLOAT
from ir_exec.ops.base import In, Op, op
from ir_exec.ops.base.attributes import LOWER
from ir_exec.ops.base.elementwise import Unary, real_kernel, unary
from ir_exec.ops.base.facts import GATED, LINEAR, Accuracy
from ir_exec.ops.base.shapes import require_rank
from ir_exec.types import Array, TensorType

__all__ = ["Gelu2", "Gelu7", "HSigmoid", "HSwish", "Mish", "Swish"]


# The sixth of 6 is 1.
_OF_HARD = numbers(3, 0, 6, 1 / 6)


def _hswish(x: Array) -> Array:
    three, zero, six, sixth = _OF_HARD[x.dtype.char]
    share = x + three
    clip_elements(share, lowest=zero, highest=six, out=share)
    share *= sixth
    x *= share
    return x


def _hsigmoid(x: Array) -> Array:
    three, zero, six, sixth = _OF_HARD[x.dtype.char]
    x += three
    clip_elements(x, lowest=zero, highest=six, out=x)
    x *= sixth
    return x


HSigmoid = unary(
    "HSigmoid",
    _hsigmoid,
    "output = min(max(data + 3, 0), 6) / 6.",
    page="activation/hsigmoid-5",
    since=5,
    accuracy=LINEAR,
    limits=(0.0, 1.0),
)

HSwish = unary(
    "HSwish",
    _hswish,
    "output = data · min(max(data + 3, 0), 6) / 6.",
    page="activation/hswish-4",
    since=4,
    accuracy=GATED,
)


_OF_GATE = numbers(1)


def _gate(exponent: Array, x: Array) -> Array:
    """x / (1 + power(exponent)), over both."""
    (unit,) = _OF_GATE[x.dtype.char]
    power(exponent, out=exponent)
    exponent += unit
    x /= exponent
    return x


_OF_SWISH = numbers(-EXPONENT)


def _swish(x: Array, beta: float | None = None) -> Array:
    (factor,) = _OF_SWISH[x.dtype.char]
    return _gate(x * (factor if beta is None else -beta * EXPONENT), x)


@op("Swish", since=4)
class Swish(Op):
    """output = data / (1 + e^-(beta · data)).

    Specification: activation/swish-4.

    Inputs:
        data: Any shape, any float type.
        beta: A scalar of the type of data, by default 1.

    Outputs:
        output: Like data.

    Raises:
        IRError: IR501 for a beta that is not a scalar.
    """

    accuracy = GATED

    inputs = (In("data", types=CALCULABLE_FLOAT), In("beta", types=CALCULABLE_FLOAT, like="data", optional=True))
    is_elementwise = True
    inplace_inputs = ("data",)

    def infer(self, data: TensorType, beta: TensorType | None = None) -> TensorType:
        if beta is not None:
            require_rank(beta, 0, "beta")
        return data.without_values()

    def evaluate(self, data: Array, beta: Array | None = None, *, out: Array | None = None) -> Array:
        return apply_real(_swish if beta is None else partial(_swish, beta=float(beta.reshape(()))), data, out)

    def kernel(self, *types: TensorType, unread: frozenset[str] = frozenset()) -> Callable[..., Any]:
        return self.evaluate if len(types) > 1 else real_kernel(_swish, types[0], self.evaluate)


def _mish(x: Array) -> Array:
    # tanh(ln(1 + e)) = (e² + 2e) / (e² + 2e + 2); beyond 20 that is 1 in f64, and e² does not overflow before.
    e = at_most(x, 20)
    e *= EXPONENT
    power(e, out=e)
    e *= e + 2
    e /= e + 2
    x *= e
    return x


Mish = unary(
    "Mish",
    _mish,
    "output = data · tanh(ln(1 + e^data)).",
    page="activation/mish-4",
    since=4,
    types=CALCULABLE_FLOAT,
    accuracy=GATED,
)


def _gelu(x: Array) -> Array:
    return _gate(normal_odds_exponent(x), x)


# (1 + tanh(y)) / 2 = 1 / (1 + e^-2y)
_FACTOR = -math.sqrt(8 / math.pi) * EXPONENT
_OF_GELU = numbers(0.044715 * _FACTOR, _FACTOR)


def _gelu_tanh(x: Array) -> Array:
    slope, factor = _OF_GELU[x.dtype.char]
    inner = x * x
    inner *= slope
    inner += factor
    inner *= x
    return _gate(inner, x)


_GELU = Accuracy(argument=8, reason=GATED.reason)

Gelu2 = unary(
    "Gelu",
    _gelu,
    "output = data · (1 + erf(data / √2)) / 2.",
    page="activation/gelu-2",
    since=2,
    types=CALCULABLE_FLOAT,
    accuracy=_GELU,
)


@op("Gelu", since=7)
class Gelu7(Unary):
    """output = data · Φ(data), where Φ is the distribution function of the standard normal distribution.

    Specification: activation/gelu-7.

    Inputs:
        data: Any shape, any float type.

    Attributes:
        approximation_mode: `erf`, the default, is Φ(x) = (1 + erf(x / √2)) / 2; `tanh` approximates it by (1 +
            tanh(√(2/π) · (x + 0.044715 x³))) / 2.

    Outputs:
        output: Like data.
    """

    accuracy = _GELU

    inputs = (In("data", types=CALCULABLE_FLOAT),)
    inplace_inputs = ("data",)

    approximation_mode: Annotated[Literal["erf", "tanh"], LOWER] = "erf"

    def evaluate(self, data: Array, *, out: Array | None = None) -> Array:
        return apply_real(self._function, data, out)

    def kernel(self, *types: TensorType, unread: frozenset[str] = frozenset()) -> Callable[..., Any]:
        return real_kernel(self._function, types[0], self.evaluate)

    @property
    def _function(self) -> Function:
        return _gelu if self.approximation_mode == "erf" else _gelu_tanh
