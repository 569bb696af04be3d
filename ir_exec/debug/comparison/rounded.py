"""Weights of one side that are the other side's weights rounded to a shorter element type.

A model and its copy with f16 weights have the same constants except for rounding. This is a property of all weights,
so it is reported once, and rounded constants do not count as wrong.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np

from ir_exec.debug.comparison.metrics import Difference
from ir_exec.debug.comparison.tolerances import Tolerance
from ir_exec.debug.values.entries import Entry, Key, conversions_of_constants
from ir_exec.debug.values.facts import pieces
from ir_exec.report.numbers import format_count
from ir_exec.report.records import Number, Record
from ir_exec.types import STRING, Array, ElementType, convert

__all__ = ["ROUNDED", "RoundedWeights", "WeightsNote", "rounded_to", "same_storage"]

Side = Literal["model", "reference", "a", "b"]

ROUNDED = Tolerance(rtol=math.inf)
"""Tolerance for rounded constants of the other side: they are always within it, and their error is reported."""

_SHORT = (ElementType.f16, ElementType.bf16)


class WeightsNote(Record):
    """Constants that are the other side's constants, rounded.

    Attributes:
        element_type: The type they are rounded to, the shortest of several.
        side: The side with the rounded constants: the model or the reference of a comparison, `a` or `b` of a diff.
        count: The number of constants.
        elements: The total number of their elements.
        sqnr_db: Their overall signal-to-noise ratio.
    """

    element_type: str
    side: Side
    count: int
    elements: int
    sqnr_db: Number | None = None

    def __str__(self) -> str:
        ratio = "" if self.sqnr_db is None else f": SQNR {self.sqnr_db:.1f} dB"
        where = {
            "model": "",
            "reference": " in the reference",
            "a": " in the first",
            "b": " in the second",
        }[self.side]
        return f"weights are {self.element_type}{where}{ratio} ({format_count(self.count, 'constant', ',')})"


def rounded_to(wide: Array, short: Array) -> ElementType | None:
    """Return the element type to which the elements of `wide` are rounded in `short`; None for other differences.

    Numbers beyond the range of the type may be clamped to its limits or become infinite.
    """
    if wide.shape != short.shape or not wide.size:
        return None
    kinds = ElementType.of(wide), ElementType.of(short)
    if any(kind in STRING or not kind.is_float for kind in kinds):
        return None
    return next((kind for kind in _SHORT if _is_rounded(wide, short, kind)), None)


def _is_rounded(wide: Array, short: Array, kind: ElementType) -> bool:
    greatest = _GREATEST[kind]
    with np.errstate(all="ignore"):
        for _, (exact, found) in pieces(wide, short):
            exact = convert(exact, ElementType.f32)
            found = convert(found, ElementType.f32)
            rounded = convert(convert(exact, kind), ElementType.f32)
            differs = ~((rounded == found) | (np.isnan(rounded) & np.isnan(found)))
            if not differs.any():
                continue
            beyond = (np.abs(exact) > greatest) & (np.abs(found) == greatest) & (np.sign(exact) == np.sign(found))
            flushed = (found == 0) & (np.abs(exact) < _LEAST[kind])
            if bool((differs & ~beyond & ~flushed).any()):
                return False
    return True


_MANY = 16
"""Minimum number of different values that distinguishes rounding from other differences."""


def _are_many(wide: Array, short: Array) -> bool:
    differs = convert(wide, ElementType.f32) != convert(short, ElementType.f32)
    return np.unique(convert(short[differs], ElementType.f32)).size >= _MANY


_GREATEST = {ElementType.f16: 65504.0, ElementType.bf16: float(np.finfo(np.float32).max)}
_LEAST = {ElementType.f16: 2.0**-14, ElementType.bf16: 2.0**-126}
"""The greatest finite and the smallest normal number of each type."""


class RoundedWeights:
    """The rounded constants of a comparison and their element types."""

    def __init__(self) -> None:
        self._found: dict[Key, tuple[ElementType, Side, Difference]] = {}

    def add(
        self,
        key: Key,
        ours: Array,
        wanted: Array,
        found: Difference,
        stored: tuple[ElementType | None, ElementType | None] = (None, None),
    ) -> bool:
        """Record a pair of constants and return True if one side is the other one rounded.

        Args:
            found: The difference of both.
            stored: The element types in the files; None for the types of the arrays. A constant stored in a longer type
                counts as rounded only if many of its elements are: a few round numbers do not make it a copy.
        """
        sides = (("reference", ours, wanted, stored[1]), ("model", wanted, ours, stored[0]))
        for side, wide, short, kept in sides:
            kind = rounded_to(wide, short)
            if kind is not None and ((kept or ElementType.of(short)) is kind or _are_many(wide, short)):
                self._found[key] = kind, side, found  # type: ignore[assignment]  # the literals above
                return True
        return False

    @property
    def element_type(self) -> ElementType | None:
        """The shortest type; None if no constant is rounded."""
        kinds = {kind for kind, _, _ in self._found.values()}
        return next((kind for kind in reversed(_SHORT) if kind in kinds), None)

    def note(self) -> WeightsNote | None:
        """Return a note on all rounded constants; None if no constant is rounded."""
        kind = self.element_type
        if kind is None:
            return None
        sides: list[Side] = [side for _, side, _ in self._found.values()]
        noise = signal = 0.0
        for _, _, found in self._found.values():
            part = (float(found.rmse) ** 2) * found.elements
            if found.sqnr_db is not None:
                noise += part
                signal += part * 10 ** (float(found.sqnr_db) / 10)
        return WeightsNote(
            element_type=str(kind),
            side="model" if 2 * sides.count("model") > len(sides) else "reference",
            count=len(sides),
            elements=sum(found.elements for _, _, found in self._found.values()),
            sqnr_db=10 * math.log10(signal / noise) if noise > 0 and signal > 0 else None,
        )


def same_storage(
    ours: Sequence[Entry], theirs: Sequence[Entry], partners: Mapping[Key, Entry]
) -> tuple[dict[Key, Entry], set[Key]]:
    """Return partners for conversions of stored constants, and the reference's conversions that need no partner.

    A constant that one side stores in f16 and converts is the other side's constant before and after the conversion.
    """
    more: dict[Key, Entry] = {}
    for entry, source in conversions_of_constants(ours):
        partner = partners.get(source.key)
        if entry.key not in partners and partner is not None and (partner.is_constant or partner.type == "Initializer"):
            more[entry.key] = partner
    used = {partner.key for partner in partners.values()}
    return more, {entry.key for entry, source in conversions_of_constants(theirs) if source.key in used}
