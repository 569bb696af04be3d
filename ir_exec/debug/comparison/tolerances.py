"""Tolerances between two implementations, from element types, operators and the terms of sums.

The rounding error of a sum is relative to its largest terms: if 1 and -1 cancel, the error is relative to 1, however
small the result is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ir_exec.debug.values.facts import as_numbers
from ir_exec.errors import IRError
from ir_exec.graph import Node, Value
from ir_exec.ops.base.facts import Accuracy
from ir_exec.ops.infrastructure.values import Const
from ir_exec.types import Array, Dim, ElementType

__all__ = [
    "SAME_ENGINE",
    "Tolerance",
    "cancelling_terms",
    "count_terms",
    "least_error",
    "own_tolerance",
    "relative_step",
    "tolerance_of",
]


def count_terms(node: Node, inputs: Sequence[Array]) -> int:
    """Return the maximum number of terms in the sum of an output element, at least 1.

    In a layer with bodies, the layer with the longest sums in any of them counts in every iteration.
    """
    if node.bodies:
        terms = [_count_in_layer(layer) for body in node.bodies for layer in body.graph.nodes]
        return max(terms, default=1) * _count_iterations(node, inputs)
    try:
        return 1 if node.op is None else max(node.op.count_terms(inputs), 1)
    except (IRError, ValueError):
        return 1  # the layer rejects these values


def _count_positions(node: Node, inputs: Sequence[Array]) -> int:
    """Return the length of the longest axis on which a layer computes positions, at least 1."""
    return 1 if node.op is None or not inputs else max(node.op.count_positions(inputs), 1)


def _count_in_layer(node: Node) -> int:
    """The terms of a layer in a body, of which only the declared types are known; 1 if a rank is not declared."""
    if any(value.declared.shape.dims is None for value in node.values_in):
        return 1
    inputs = [_make_stand_in(value) for value in node.values_in]
    count = count_terms(node, inputs)
    reads_constants = any(
        isinstance(value.node.op, Const) and value.declared.element_type.is_integer for value in node.values_in
    )
    # The constants may be axes, in the worst case all of them.
    return max(inputs[0].size, 1) if count > 1 and reads_constants else count


def _make_stand_in(value: Value) -> Array:
    """Zeros in the declared shape of a value, without memory; dynamic dims are 1."""
    dims = value.declared.shape.dims or ()
    shape = [dim.size if dim.is_static else 1 for dim in dims]
    element_type = value.declared.element_type
    return np.broadcast_to(np.zeros((), element_type.dtype if element_type.is_known else np.float32), shape)


def _count_iterations(node: Node, inputs: Sequence[Array]) -> int:
    """The number of slices of the inputs that the bodies read one by one, at least 1."""
    counts = [1]
    for body in node.bodies:
        for tie in () if body.ties is None else body.ties.inputs:
            if tie.part is not None and tie.position is not None and tie.position < len(inputs):
                count = tie.part.iterations(Dim.of(inputs[tie.position].shape[tie.part.axis]))
                counts.append(count.size if count.is_static else 1)
    return max(counts)


def cancelling_terms(node: Node, inputs: Sequence[Array]) -> Array | None:
    """Return the sum of the magnitudes of the terms of each element of the first output, in f64.

    Sums that are not finite are returned as 0.

    Returns:
        None for layers without sums that may cancel.
    """
    if node.op is None or not inputs or not ElementType.of(inputs[0]).is_float:
        return None
    wide = [as_numbers(array) if ElementType.of(array).is_float else array for array in inputs]
    try:
        with np.errstate(all="ignore"):
            magnitudes = node.op.sum_magnitudes(wide)
    except (IRError, ValueError):
        return None  # kernels for specific types reject f64
    return None if magnitudes is None else np.where(np.isfinite(magnitudes), magnitudes, 0.0)


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

_ROUNDED_ONCE = 2
"""Maximum steps between two values that are the same number rounded."""

_SMALLEST_NORMAL = 2.0**-126
"""Smallest normal number of f32 and bf16, the error of processors that flush subnormal numbers to zero."""


def own_tolerance(node: Node, inputs: Sequence[Array], kinds: Sequence[ElementType]) -> Tolerance:
    """Return the tolerance for two implementations of a layer with the same inputs.

    It grows with the step of the coarsest element type, the square root of the length of the layer's sums, and the
    operator's `accuracy`. Values of an operator that only rounds differ by two steps at most: some implementations
    truncate, and some round twice. Integers, booleans and strings must be equal.
    """
    if not relative_step(kinds):
        return Tolerance()
    # The other implementation may have kept inputs of a short type in a longer one.
    step = relative_step([*kinds, *(ElementType.of(array) for array in inputs)])
    if node.op_class.rounds:
        return Tolerance(rtol=_ROUNDED_ONCE * step, atol=_flush_subnormal(step))
    length = math.sqrt(count_terms(node, inputs))
    accuracy = _get_accuracy(node)
    positions = accuracy.positions * (_count_positions(node, inputs) if accuracy.positions else 0)
    return Tolerance(
        rtol=32 * step,
        atol=accuracy.absolute * step + _flush_subnormal(step),
        scale=step * (16 + 4 * length + positions),
        terms=step * (accuracy.argument or 2 + length / 2),
    )


SAME_ENGINE = 1e-5
"""Maximum error of values that ir_exec computes from two files with equal layers, relative to their root mean square.

Identical layers have identical bits. Only sums in another order, of constants that were folded differently, explain an
error, and that of 50 layers in f32 is below 1e-6.
"""


def tolerance_of(kinds: Sequence[ElementType], node: Node | None = None, floor: float | None = None) -> Tolerance:
    """Return the tolerance of values with the accumulated rounding errors of many layers.

    The absolute error of its operator is added.

    Args:
        node: The layer that computes the values, if known.
        floor: For values that ir_exec computes from two files of the same precision, the maximum error relative to the
            root mean square, such as `SAME_ENGINE`.
    """
    step = relative_step(kinds)
    if not step:
        return Tolerance()
    absolute = 0.0 if node is None else _get_accuracy(node).absolute
    atol = absolute * step + _flush_subnormal(step)
    limit = least_error(kinds) if floor is None else max(floor, 4 * step)
    # Errors of the terms have no common direction.
    tolerance = Tolerance(rtol=limit, atol=atol, terms=limit / 10)
    return replace(tolerance, scale=limit) if floor is None else replace(tolerance, rms=limit)


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
