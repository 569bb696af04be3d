"""How far values of two implementations may be apart: by element type, by operator, and by the length of sums."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from ir_exec.debug.comparison.cancellation import terms_count
from ir_exec.graph import Node
from ir_exec.ops.base.registry import canonical
from ir_exec.types import Array, ElementType

__all__ = ["ACCURACY", "Accuracy", "Tolerance", "own_tolerance", "relative_step", "tolerance_of"]


@dataclass(frozen=True)
class Tolerance:
    """Elements may differ by atol + scale * (greatest finite element of the reference) + rtol * (the reference's).

    terms: or, where that is more, by this much of the sum of the magnitudes of an element's terms, if those are known.
    """

    rtol: float = 0.0
    atol: float = 0.0
    scale: float = 0.0
    terms: float = 0.0


@dataclass(frozen=True)
class Accuracy:
    """What an operator may be off by beside the rounding of every layer, in ULP of the element type.

    absolute: ULP of 1, whatever the value. argument: ULP of the argument, for functions that multiply by it or lose
    digits of it. positions: ULP of the greatest element for each position of the longest sampled axis. reason: why,
    as the documentation prints it.
    """

    absolute: float = 0.0
    argument: float = 0.0
    positions: float = 0.0
    reason: str = ""


_SIGMOID = "bounded by 1; rational approximations and 1 / (1 + exp(-x)) are exact to digits of 1"
_BOUNDED = "bounded; polynomials after a range reduction are exact to digits of 1"
_LINEAR = "alpha * x + beta loses the digits of beta before it is clamped to 0 and 1"
_GATED = "the argument times a bounded factor that is exact to digits of 1"
_EXPM1 = "exp(x) - 1 loses the digits of 1 next to 0"
_RECURRENT = "Sigmoid and Tanh of the gates, once a step"
_SAMPLED = "a coordinate has the digits of the axis's length, and the slope between two elements multiplies its error"

ACCURACY: Mapping[str, Accuracy] = MappingProxyType(
    {
        "Sigmoid": Accuracy(absolute=4, reason=_SIGMOID),
        "Tanh": Accuracy(absolute=4, reason=_SIGMOID),
        "Erf": Accuracy(absolute=8, reason="bounded by 1; Abramowitz and Stegun's 7.1.26 times exp(-x²)"),
        "HardSigmoid": Accuracy(absolute=4, reason=_LINEAR),
        "HSigmoid": Accuracy(absolute=4, reason=_LINEAR),
        "SoftMax": Accuracy(absolute=1, reason="bounded by 1; exponentials below the smallest normal number become 0"),
        "LogSoftmax": Accuracy(absolute=4, reason="the logarithm of a sum next to 1"),
        "Sin": Accuracy(absolute=4, argument=1, reason=f"{_BOUNDED}; the reduction keeps the argument's digits"),
        "Cos": Accuracy(absolute=4, argument=1, reason=f"{_BOUNDED}; the reduction keeps the argument's digits"),
        "Asin": Accuracy(absolute=4, reason=_BOUNDED),
        "Acos": Accuracy(absolute=4, reason=_BOUNDED),
        "Atan": Accuracy(absolute=4, reason=_BOUNDED),
        "SoftPlus": Accuracy(absolute=20, argument=2, reason="log(1 + exp(x)) and x + log(1 + exp(-x)) lose digits"),
        "Swish": Accuracy(argument=4, reason=_GATED),
        "HSwish": Accuracy(argument=4, reason=_GATED),
        "Mish": Accuracy(argument=4, reason=_GATED),
        "Gelu": Accuracy(argument=8, reason=_GATED),
        "Elu": Accuracy(absolute=4, reason=_EXPM1),
        "Selu": Accuracy(absolute=8, reason=f"{_EXPM1}; lambda * alpha is 1.76"),
        "Log": Accuracy(absolute=2, reason="table or polynomial of the mantissa plus the exponent"),
        "Asinh": Accuracy(absolute=4, reason="the logarithm of a number next to 1"),
        "Acosh": Accuracy(absolute=4, reason="the logarithm of a number next to 1"),
        "Atanh": Accuracy(absolute=4, reason="the logarithm of a number next to 1"),
        "LSTMCell": Accuracy(absolute=8, reason=_RECURRENT),
        "LSTMSequence": Accuracy(absolute=8, reason=_RECURRENT),
        "GRUCell": Accuracy(absolute=8, reason=_RECURRENT),
        "GRUSequence": Accuracy(absolute=8, reason=_RECURRENT),
        "RNNCell": Accuracy(absolute=8, reason=_RECURRENT),
        "RNNSequence": Accuracy(absolute=8, reason=_RECURRENT),
        "RegionYolo": Accuracy(absolute=4, reason=_SIGMOID),
        "Interpolate": Accuracy(positions=3, reason=_SAMPLED),
        "GridSample": Accuracy(positions=3, reason=_SAMPLED),
        "ROIAlign": Accuracy(positions=3, reason=_SAMPLED),
        "ROIAlignRotated": Accuracy(positions=3, reason=_SAMPLED),
        "DeformableConvolution": Accuracy(positions=3, reason=_SAMPLED),
    }
)
"""By operator; the figures are at least twice the greatest error found in OpenVINO 2026.4 and onnxruntime 1.32 (f32,
AMD EPYC with AVX-512), as docs/explanation/tolerances.md lists them."""

_NONE = Accuracy()

_EPSILON = {"f64": 2.0**-52, "f32": 2.0**-23, "f16": 2.0**-10, "bf16": 2.0**-7, "f8e4m3": 2.0**-3, "f8e5m2": 2.0**-2}
_CARRIED = {"f64": 1e-9, "f32": 1e-3, "f16": 2e-2, "bf16": 1e-1}
"""Of the largest element: how far outputs of networks of this type drift apart without any fault, by experience."""

_SMALLEST_NORMAL = 2.0**-126
"""Of f32 and bf16: processors that flush subnormal numbers to zero lose as much."""


def own_tolerance(node: Node, inputs: Sequence[Array], kinds: Sequence[ElementType]) -> Tolerance:
    """Return the tolerance of a layer against another implementation of it, for the same inputs.

    It grows with the step of the coarsest element type, with the square root of the length of the layer's sums, and by
    what `ACCURACY` holds of the operator. Integers, booleans and strings are to be equal.
    """
    if not relative_step(kinds):
        return Tolerance()
    # What comes in a short type may have been kept longer by the other implementation.
    step = relative_step([*kinds, *(ElementType.of(array) for array in inputs)])
    length = math.sqrt(terms_count(node, inputs))
    accuracy = ACCURACY.get(canonical(node.type), _NONE)
    positions = accuracy.positions * max((max(array.shape[2:], default=1) for array in inputs[:1]), default=1)
    return Tolerance(
        rtol=32 * step,
        atol=accuracy.absolute * step + _flushed(step),
        scale=step * (16 + 4 * length + positions),
        terms=step * (accuracy.argument or 2 + length / 2),
    )


def tolerance_of(kinds: Sequence[ElementType], node: Node | None = None) -> Tolerance:
    """Return the tolerance of values that rounding errors of many layers came to.

    node: the layer that gives the values, where it is known: the absolute error of its operator counts as well.
    """
    if not any(kind.is_float for kind in kinds):
        return Tolerance()
    least = max(_CARRIED.get(kind.name, 0.3 if kind.is_float else 0.0) for kind in kinds)
    step = relative_step(kinds)
    absolute = 0.0 if node is None else ACCURACY.get(canonical(node.type), _NONE).absolute
    # Errors of the terms have no common direction.
    return Tolerance(rtol=least, atol=absolute * step + _flushed(step), scale=least, terms=least / 10)


def relative_step(kinds: Sequence[ElementType]) -> float:
    """Return the relative step of the coarsest of these types; 0 where none is a float."""
    return max((_EPSILON.get(kind.name, 0.5) if kind.is_float else 0.0 for kind in kinds), default=0.0)


def _flushed(step: float) -> float:
    return _SMALLEST_NORMAL if step >= _EPSILON["f32"] else 0.0
