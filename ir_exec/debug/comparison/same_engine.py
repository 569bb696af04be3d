"""Maximum difference of values that ir_exec computes from two files."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

from ir_exec.debug.comparison.references.reference import IRReference, Reference, TraceReference
from ir_exec.debug.comparison.tolerances import SAME_ENGINE, Tolerance
from ir_exec.debug.precision.partners import FoldedWeights
from ir_exec.debug.precision.weights import QuantizedWeight
from ir_exec.debug.values.entries import Entry, Key
from ir_exec.types import ElementType

__all__ = ["compression_tolerance", "floor_of"]

_OTHER_LAYERS = 10 * SAME_ENGINE
"""Maximum error if layers of one file have no partner in the other: a fused layer sums in another order."""


def floor_of(
    reference: Reference,
    ours: Sequence[Entry],
    theirs: Sequence[Entry],
    partners: Mapping[Key, Entry],
    folded: FoldedWeights,
    conversions: Collection[Key],
) -> float | None:
    """Return the maximum error of a value relative to its root mean square.

    Args:
        conversions: Conversions of constants in the reference that need no partner.

    Returns:
        None if another program computes the reference, or if the precisions of the files differ.
    """
    if not isinstance(reference, (IRReference, TraceReference)) or folded.has_other_formats:
        return None
    if isinstance(reference, TraceReference):
        return SAME_ENGINE  # a trace lacks only values that its run has not computed
    if _short_types(ours) != _short_types(theirs):
        return None
    used = {partner.key for partner in partners.values()}
    is_same = all(entry.key in partners for entry in ours)
    is_same = is_same and all(entry.key in used or entry.key in conversions for entry in theirs)
    return SAME_ENGINE if is_same else _OTHER_LAYERS


def _short_types(entries: Sequence[Entry]) -> set[str]:
    """Return the element types of constants that round more than f32."""
    kinds = {entry.element_type for entry in entries if entry.is_constant and entry.element_type is not None}
    return {
        element_type
        for element_type in kinds
        if ElementType.parse(element_type).is_float and ElementType.parse(element_type).bits < 32
    }


_MOST_SIGMAS = 4
"""Maximum error of an element of an output, in standard deviations: 1 of 16,000 elements exceeds it."""

_MOST_EXPLAINED = 0.5
"""Maximum error of an output that a compression explains, relative to the root mean square of the output."""


def compression_tolerance(weights: Sequence[QuantizedWeight]) -> Tolerance | None:
    """Return the tolerance of outputs that follows from the errors of the compressed weights of one side.

    Each weight adds noise with the signal-to-noise ratio of the weight, and the noises of the weights are independent.

    Returns:
        None without compressed weights, or if one has an error that its format does not explain.
    """
    if not weights or any(weight.is_fault for weight in weights):
        return None
    ratios = [10 ** (-float(weight.error.sqnr_db) / 20) for weight in weights if weight.error.sqnr_db is not None]
    most = min(_MOST_SIGMAS * math.sqrt(sum(ratio * ratio for ratio in ratios)), _MOST_EXPLAINED)
    return Tolerance(rtol=most, rms=most) if most else None
