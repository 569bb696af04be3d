"""Arithmetic functions of every element: signs, rounding, roots, logarithms, trigonometry, the error function.

`kernels/elementwise.py` defines the types they are computed in.
"""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np

from ir_exec.kernels.elementwise import apply_elementwise, apply_real
from ir_exec.kernels.error_function import erf, erfinv
from ir_exec.kernels.precision import CALCULABLE_FLOAT
from ir_exec.ops.base import In, op
from ir_exec.ops.base.attributes import LOWER
from ir_exec.ops.base.elementwise import Unary, unary
from ir_exec.ops.base.facts import BOUNDED, SIGMOID, Accuracy
from ir_exec.ops.base.inputs import Angles, ValueRange
from ir_exec.types import Array, Bounds, ElementType

__all__ = [
    "Abs",
    "Acos",
    "Acosh",
    "Asin",
    "Asinh",
    "Atan",
    "Atanh",
    "Ceiling",
    "Cos",
    "Cosh",
    "Erf",
    "ErfInv",
    "Floor",
    "Log",
    "Negative",
    "Round",
    "Sign",
    "Sin",
    "Sinh",
    "Sqrt",
    "Tan",
    "Tanh",
]

Negative = unary(
    "Negative",
    np.negative,
    "output = -data; integers wrap.",
    page="arithmetic/negative-1",
    of_integers=np.negative,
    is_monotone=True,
)


@op("Abs", since=1)
class Abs(Unary):
    """output = |data|; the lowest integer of a signed type wraps to itself.

    Specification: arithmetic/abs-1.

    Inputs:
        data: Any shape, any numeric type.

    Outputs:
        output: Like data.
    """

    inplace_inputs = ("data",)

    def evaluate(self, data: Array, *, out: Array | None = None) -> Array:
        return apply_elementwise(np.abs, data, out=out)

    def evaluate_bounds(self, data: Bounds) -> Bounds:
        lower, upper = data
        ends = np.abs(lower), np.abs(upper)
        least = np.where((lower <= 0) & (upper >= 0), 0, np.minimum(*ends))
        greatest = np.maximum(*ends)
        if ElementType.of(lower).is_integer:
            limits = np.iinfo(lower.dtype)
            greatest = np.where((lower == limits.min) & (lower < 0), limits.max, greatest)
        return least.astype(lower.dtype), greatest.astype(lower.dtype)


Sign = unary(
    "Sign",
    np.sign,
    "output = -1, 0 or 1 as data is negative, zero or positive; NaN for NaN.",
    page="arithmetic/sign-1",
    of_integers=np.sign,
    is_increasing=True,
    is_discontinuous=True,
    steps="zero",
)

# A copy, not the data itself: an output aliases an input only in operators that declare it.
Floor = unary(
    "Floor",
    np.floor,
    "output = the greatest integer that is not above data.",
    page="arithmetic/floor-1",
    of_integers=np.copy,
    is_increasing=True,
    is_discontinuous=True,
    steps="integers",
)

Ceiling = unary(
    "Ceiling",
    np.ceil,
    "output = the least integer that is not below data.",
    page="arithmetic/ceiling-1",
    of_integers=np.copy,
    is_increasing=True,
    is_discontinuous=True,
    steps="integers",
)


@op("Round", since=5)
class Round(Unary):
    """output = the integer nearest to data.

    Specification: arithmetic/round-5.

    Inputs:
        data: Any shape, any numeric type.

    Attributes:
        mode: The choice between two equally near integers: the even one (`half_to_even`, the default) or the one
            farther from zero (`half_away_from_zero`).

    Outputs:
        output: Like data.
    """

    steps = "halves"

    increasing_in = ("data",)
    is_discontinuous = True

    mode: Annotated[Literal["half_to_even", "half_away_from_zero"], LOWER] = "half_to_even"

    def evaluate(self, data: Array) -> Array:
        if ElementType.of(data).is_integer:
            return np.copy(data)
        return apply_real(np.rint if self.mode == "half_to_even" else _half_away_from_zero, data)


def _half_away_from_zero(x: Array) -> Array:
    # Adding 0.5 would round the number just below 0.5 up to 1.
    almost_half = np.nextafter(x.dtype.type(0.5), x.dtype.type(0))
    x += np.copysign(almost_half, x)
    return np.trunc(x, out=x)


Sqrt = unary(
    "Sqrt",
    np.sqrt,
    "output = √data; NaN for negative data.",
    page="arithmetic/sqrt-1",
    domain=ValueRange(0.1, 2, "the square root is taken", defined_above=0),
)

_LOGARITHM = Accuracy(absolute=4, reason="the logarithm of a number near 1")

_SINE = Accuracy(absolute=4, argument=1, reason=f"{BOUNDED.reason}; the reduction has the precision of the argument")

Log = unary(
    "Log",
    np.log,
    "output = ln data; -inf for 0, NaN for negative data.",
    page="arithmetic/log-1",
    accuracy=Accuracy(absolute=2, reason="a table or polynomial for the mantissa plus the exponent"),
    domain=ValueRange(0.1, 1, "the logarithm is taken", defined_above=0),
)

Sin = unary(
    "Sin", np.sin, "output = sin data, with data in radians.", page="arithmetic/sin-1", accuracy=_SINE, domain=Angles()
)

Cos = unary(
    "Cos", np.cos, "output = cos data, with data in radians.", page="arithmetic/cos-1", accuracy=_SINE, domain=Angles()
)

Tan = unary("Tan", np.tan, "output = tan data, with data in radians.", page="arithmetic/tan-1")

Asin = unary(
    "Asin",
    np.arcsin,
    "output = arcsin data, in radians; NaN beyond [-1, 1].",
    page="arithmetic/asin-1",
    accuracy=BOUNDED,
    domain=ValueRange(-0.9, 0.9, "the arc sine is taken"),
)

Acos = unary(
    "Acos",
    np.arccos,
    "output = arccos data, in radians; NaN beyond [-1, 1].",
    page="arithmetic/acos-1",
    accuracy=BOUNDED,
    domain=ValueRange(-0.9, 0.9, "the arc cosine is taken"),
)

Atan = unary("Atan", np.arctan, "output = arctan data, in radians.", page="arithmetic/atan-1", accuracy=BOUNDED)

Sinh = unary("Sinh", np.sinh, "output = sinh data.", page="arithmetic/sinh-1")

Cosh = unary("Cosh", np.cosh, "output = cosh data.", page="arithmetic/cosh-1")

Tanh = unary("Tanh", np.tanh, "output = tanh data.", page="arithmetic/tanh-1", accuracy=SIGMOID, limits=(-1.0, 1.0))

Asinh = unary("Asinh", np.arcsinh, "output = arsinh data.", page="arithmetic/asinh-3", since=4, accuracy=_LOGARITHM)

Acosh = unary(
    "Acosh",
    np.arccosh,
    "output = arcosh data; NaN below 1.",
    page="arithmetic/acosh-3",
    since=4,
    accuracy=_LOGARITHM,
    domain=ValueRange(1.1, 3, "the inverse hyperbolic cosine is taken", defined_above=1),
)

Atanh = unary(
    "Atanh",
    np.arctanh,
    "output = artanh data; ±inf at ±1, NaN beyond.",
    page="arithmetic/atanh-3",
    since=4,
    accuracy=_LOGARITHM,
    domain=ValueRange(-0.9, 0.9, "the inverse hyperbolic tangent is taken"),
)

Erf = unary(
    "Erf",
    erf,
    "output = 2/√π · ∫ exp(-t²) dt from 0 to data.",
    page="arithmetic/erf-1",
    accuracy=Accuracy(absolute=8, reason="bounded by 1; Abramowitz and Stegun's 7.1.26 times exp(-x²)"),
    limits=(-1.0, 1.0),
)


@op("ErfInv", since=17)
class ErfInv(Unary):
    """output = the y with erf(y) = data; ±inf at ±1, NaN beyond.

    Specification: arithmetic/erfinv-17.

    Inputs:
        data: Any shape, any float type.

    Outputs:
        output: Like data.
    """

    inputs = (In("data", types=CALCULABLE_FLOAT, domain=ValueRange(-0.9, 0.9, "the inverse error function is taken")),)

    def evaluate(self, data: Array) -> Array:
        return apply_real(erfinv, data)
