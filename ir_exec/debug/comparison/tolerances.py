"""Tolerances between two implementations, from element types, operators and the length of sums."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ir_exec.debug.comparison.terms import count_positions, count_terms
from ir_exec.graph import Node
from ir_exec.ops.base.facts import Accuracy
from ir_exec.types import Array, ElementType

__all__ = [
    "SAME_ENGINE",
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


_EPSILON = {"f64": 2.0**-52, "f32": 2.0**-23, "f16": 2.0**-10, "bf16": 2.0**-7, "f8e4m3": 2.0**-3, "f8e5m2": 2.0**-2}
_CARRIED = {"f64": 1e-9, "f32": 1e-3, "f16": 2e-2, "bf16": 1e-1}
"""Difference of outputs of models without faults, relative to the largest element, by experience."""

_SMALLEST_NORMAL = 2.0**-126
"""Smallest normal number of f32 and bf16, the error of processors that flush subnormal numbers to zero."""


def own_tolerance(node: Node, inputs: Sequence[Array], kinds: Sequence[ElementType]) -> Tolerance:
    """Return the tolerance for two implementations of a layer with the same inputs.

    It grows with the step of the coarsest element type, the square root of the length of the layer's sums, and the
    operator's `accuracy`. Integers, booleans and strings must be equal.
    """
    if not relative_step(kinds):
        return Tolerance()
    # The other implementation may have kept inputs of a short type in a longer one.
    step = relative_step([*kinds, *(ElementType.of(array) for array in inputs)])
    length = math.sqrt(count_terms(node, inputs))
    accuracy = _get_accuracy(node)
    positions = accuracy.positions * (count_positions(node, inputs) if accuracy.positions else 0)
    return Tolerance(
        rtol=32 * step,
        atol=accuracy.absolute * step + _flush_subnormal(step),
        scale=step * (16 + 4 * length + positions),
        terms=step * (accuracy.argument or 2 + length / 2),
    )


def tolerance_of(kinds: Sequence[ElementType], node: Node | None = None) -> Tolerance:
    """Return the tolerance of values with the accumulated rounding errors of many layers.

    The absolute error of its operator is added.

    Args:
        node: The layer that computes the values, if known.
    """
    if not any(element_type.is_float for element_type in kinds):
        return Tolerance()
    least = max(_CARRIED.get(element_type.name, 0.3 if element_type.is_float else 0.0) for element_type in kinds)
    step = relative_step(kinds)
    absolute = 0.0 if node is None else _get_accuracy(node).absolute
    # Errors of the terms have no common direction.
    return Tolerance(rtol=least, atol=absolute * step + _flush_subnormal(step), scale=least, terms=least / 10)


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
    if not any(element_type.is_float for element_type in kinds):
        return Tolerance()
    step = relative_step(kinds)
    absolute = 0.0 if node is None else _get_accuracy(node).absolute
    floor = max(floor, 4 * step)
    return Tolerance(rtol=floor, atol=absolute * step + _flush_subnormal(step), terms=floor / 10, rms=floor)


def least_error(kinds: Sequence[ElementType]) -> float:
    """Return the relative error that rounding and approximations of one layer in these types do not explain."""
    return max((_CARRIED.get(element_type.name, 0.3) for element_type in kinds if element_type.is_float), default=0.0)


def _get_accuracy(node: Node) -> Accuracy:
    return node.op_class.accuracy if node.op is None else node.op.accuracy


def relative_step(kinds: Sequence[ElementType]) -> float:
    """Return the relative step of the coarsest of these types; 0 if none is a float."""
    return max(
        (_EPSILON.get(element_type.name, 0.5) if element_type.is_float else 0.0 for element_type in kinds), default=0.0
    )


def _flush_subnormal(step: float) -> float:
    return _SMALLEST_NORMAL if step >= _EPSILON["f32"] else 0.0
