"""Tolerances between two implementations, from element types, operators and the length of sums."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from ir_exec.debug.comparison.cancellation import terms_count
from ir_exec.graph import Node
from ir_exec.ops.base.registry import canonical
from ir_exec.types import Array, ElementType

__all__ = [
    "ACCURACY",
    "SAME_ENGINE",
    "Accuracy",
    "Tolerance",
    "least_error",
    "own_tolerance",
    "relative_step",
    "same_engine_tolerance",
    "tolerance_of",
]


@dataclass(frozen=True)
class Tolerance:
    """Maximum difference of an element: atol + scale * max(|finite elements of the reference|) + rtol * |reference|.

    Attributes:
        rms: `rms` times the root mean square of the finite elements of the reference is added to `atol`.
        terms: If the terms of an element are known, `terms` * (sum of their magnitudes) applies instead where it is
            larger.
    """

    rtol: float = 0.0
    atol: float = 0.0
    scale: float = 0.0
    terms: float = 0.0
    rms: float = 0.0


@dataclass(frozen=True)
class Accuracy:
    """Error allowed for an operator in addition to the rounding of every layer, in ULP of the element type.

    Attributes:
        absolute: ULP of 1, for any value.
        argument: ULP of the argument, for functions that multiply by it or lose its precision.
        positions: ULP of the greatest element per position of the longest sampled axis.
        reason: The reason, as printed in the documentation.
    """

    absolute: float = 0.0
    argument: float = 0.0
    positions: float = 0.0
    reason: str = ""


_SIGMOID = "bounded by 1; rational approximations and 1 / (1 + exp(-x)) have an absolute error relative to 1"
_BOUNDED = "bounded; polynomials after a range reduction have an absolute error relative to 1"
_LINEAR = "alpha * x + beta is rounded to the precision of beta before it is clamped to 0 and 1"
_GATED = "the argument times a bounded factor, which has an absolute error relative to 1"
_EXPM1 = "exp(x) - 1 cancels near 0"
_RECURRENT = "Sigmoid and Tanh of the gates, once per step"
_SAMPLED = (
    "a coordinate is rounded relative to the axis length, and the slope between two elements multiplies this error"
)

ACCURACY: Mapping[str, Accuracy] = MappingProxyType(
    {
        "Sigmoid": Accuracy(absolute=4, reason=_SIGMOID),
        "Tanh": Accuracy(absolute=4, reason=_SIGMOID),
        "Erf": Accuracy(absolute=8, reason="bounded by 1; Abramowitz and Stegun's 7.1.26 times exp(-x²)"),
        "HardSigmoid": Accuracy(absolute=4, reason=_LINEAR),
        "HSigmoid": Accuracy(absolute=4, reason=_LINEAR),
        "SoftMax": Accuracy(absolute=1, reason="bounded by 1; exponentials below the smallest normal number become 0"),
        "LogSoftmax": Accuracy(absolute=4, reason="the logarithm of a sum near 1"),
        "Sin": Accuracy(absolute=4, argument=1, reason=f"{_BOUNDED}; the reduction has the precision of the argument"),
        "Cos": Accuracy(absolute=4, argument=1, reason=f"{_BOUNDED}; the reduction has the precision of the argument"),
        "Asin": Accuracy(absolute=4, reason=_BOUNDED),
        "Acos": Accuracy(absolute=4, reason=_BOUNDED),
        "Atan": Accuracy(absolute=4, reason=_BOUNDED),
        "SoftPlus": Accuracy(absolute=20, argument=2, reason="log(1 + exp(x)) and x + log(1 + exp(-x)) lose precision"),
        "Swish": Accuracy(argument=4, reason=_GATED),
        "HSwish": Accuracy(argument=4, reason=_GATED),
        "Mish": Accuracy(argument=4, reason=_GATED),
        "Gelu": Accuracy(argument=8, reason=_GATED),
        "Elu": Accuracy(absolute=4, reason=_EXPM1),
        "Selu": Accuracy(absolute=8, reason=f"{_EXPM1}; lambda * alpha is 1.76"),
        "Log": Accuracy(absolute=2, reason="a table or polynomial for the mantissa plus the exponent"),
        "Asinh": Accuracy(absolute=4, reason="the logarithm of a number near 1"),
        "Acosh": Accuracy(absolute=4, reason="the logarithm of a number near 1"),
        "Atanh": Accuracy(absolute=4, reason="the logarithm of a number near 1"),
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
"""Additional errors by operator: at least twice the largest error measured in OpenVINO 2026.4 and onnxruntime 1.32
(f32, AMD EPYC with AVX-512). docs/explanation/tolerances.md lists the measurements."""

_NONE = Accuracy()

_EPSILON = {"f64": 2.0**-52, "f32": 2.0**-23, "f16": 2.0**-10, "bf16": 2.0**-7, "f8e4m3": 2.0**-3, "f8e5m2": 2.0**-2}
_CARRIED = {"f64": 1e-9, "f32": 1e-3, "f16": 2e-2, "bf16": 1e-1}
"""Difference of outputs of models without faults, relative to the largest element, by experience."""

_SMALLEST_NORMAL = 2.0**-126
"""Smallest normal number of f32 and bf16, the error of processors that flush subnormal numbers to zero."""


def own_tolerance(node: Node, inputs: Sequence[Array], kinds: Sequence[ElementType]) -> Tolerance:
    """Return the tolerance for two implementations of a layer with the same inputs.

    It grows with the step of the coarsest element type, the square root of the length of the layer's sums, and the
    operator's entry in `ACCURACY`. Integers, booleans and strings must be equal.
    """
    if not relative_step(kinds):
        return Tolerance()
    # The other implementation may have kept inputs of a short type in a longer one.
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
    """Return the tolerance of values with the accumulated rounding errors of many layers.

    The absolute error of its operator is added.

    Args:
        node: The layer that computes the values, if known.
    """
    if not any(kind.is_float for kind in kinds):
        return Tolerance()
    least = max(_CARRIED.get(kind.name, 0.3 if kind.is_float else 0.0) for kind in kinds)
    step = relative_step(kinds)
    absolute = 0.0 if node is None else ACCURACY.get(canonical(node.type), _NONE).absolute
    # Errors of the terms have no common direction.
    return Tolerance(rtol=least, atol=absolute * step + _flushed(step), scale=least, terms=least / 10)


SAME_ENGINE = 1e-5
"""Maximum error of values that ir_exec computes from two files with equal layers, relative to their root mean square.

Identical layers have identical bits. Only sums in another order, of constants that were folded differently, explain an
error, and that of 50 layers in f32 is below 1e-6.
"""


def same_engine_tolerance(kinds: Sequence[ElementType], floor: float, node: Node | None = None) -> Tolerance:
    """Return the tolerance of values that ir_exec computes from two files of the same precision.

    Args:
        floor: The maximum error relative to the root mean square, such as `SAME_ENGINE`.
        node: The layer that computes the values, if known.
    """
    if not any(kind.is_float for kind in kinds):
        return Tolerance()
    step = relative_step(kinds)
    absolute = 0.0 if node is None else ACCURACY.get(canonical(node.type), _NONE).absolute
    floor = max(floor, 4 * step)
    return Tolerance(rtol=floor, atol=absolute * step + _flushed(step), terms=floor / 10, rms=floor)


def least_error(kinds: Sequence[ElementType]) -> float:
    """Return the relative error that rounding and approximations of one layer in these types do not explain."""
    return max((_CARRIED.get(kind.name, 0.3) for kind in kinds if kind.is_float), default=0.0)


def relative_step(kinds: Sequence[ElementType]) -> float:
    """Return the relative step of the coarsest of these types; 0 if none is a float."""
    return max((_EPSILON.get(kind.name, 0.5) if kind.is_float else 0.0 for kind in kinds), default=0.0)


def _flushed(step: float) -> float:
    return _SMALLEST_NORMAL if step >= _EPSILON["f32"] else 0.0
