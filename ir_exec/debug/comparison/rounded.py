"""Weights of one side that are the other side's weights rounded to a shorter element type.

A model and its copy with f16 weights have the same constants except for rounding. This is a property of all weights,
so it is reported once, and rounded constants do not count as wrong.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import numpy as np

from ir_exec.debug.comparison.metrics import Difference, difference
from ir_exec.debug.comparison.tolerances import Tolerance
from ir_exec.debug.values.entries import Entry, Key, conversions_of_constants
from ir_exec.debug.values.facts import pieces
from ir_exec.graph import Node, Value
from ir_exec.ir import Weights
from ir_exec.ops.infrastructure.values import Const
from ir_exec.report.numbers import format_count
from ir_exec.report.records import Number, Record
from ir_exec.types import STRING, Array, ElementType, convert

__all__ = ["ROUNDED", "RoundedWeights", "StoredWeights", "WeightsNote", "rounded_to", "same_storage"]

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
    if any(element_type in STRING or not element_type.is_float for element_type in kinds):
        return None
    return next((element_type for element_type in _SHORT if _is_rounded(wide, short, element_type)), None)


def _is_rounded(wide: Array, short: Array, element_type: ElementType) -> bool:
    greatest = _GREATEST[element_type]
    with np.errstate(all="ignore"):
        for _, (exact, stored) in pieces(wide, short):
            exact = convert(exact, ElementType.f32)
            stored = convert(stored, ElementType.f32)
            rounded = convert(convert(exact, element_type), ElementType.f32)
            differs = ~((rounded == stored) | (np.isnan(rounded) & np.isnan(stored)))
            if not differs.any():
                continue
            beyond = (np.abs(exact) > greatest) & (np.abs(stored) == greatest) & (np.sign(exact) == np.sign(stored))
            flushed = (stored == 0) & (np.abs(exact) < _LEAST[element_type])
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
        theirs: Array,
        error: Difference,
        stored: tuple[ElementType | None, ElementType | None] = (None, None),
    ) -> bool:
        """Record a pair of constants and return True if one side is the other one rounded.

        Args:
            error: The difference of both.
            stored: The element types in the files; None for the types of the arrays. A constant stored in a longer type
                counts as rounded only if many of its elements are: a few round numbers do not make it a copy.
        """
        sides = (("reference", ours, theirs, stored[1]), ("model", theirs, ours, stored[0]))
        for side, wide, short, stored_type in sides:
            short_type = rounded_to(wide, short)
            if short_type is not None and (
                (stored_type or ElementType.of(short)) is short_type or _are_many(wide, short)
            ):
                self._found[key] = short_type, side, error  # type: ignore[assignment]  # the literals above
                return True
        return False

    @property
    def element_type(self) -> ElementType | None:
        """The shortest type; None if no constant is rounded."""
        kinds = {short_type for short_type, _, _ in self._found.values()}
        return next((short_type for short_type in reversed(_SHORT) if short_type in kinds), None)

    def note(self) -> WeightsNote | None:
        """Return a note on all rounded constants; None if no constant is rounded."""
        short_type = self.element_type
        if short_type is None:
            return None
        sides: list[Side] = [side for _, side, _ in self._found.values()]
        noise = signal = 0.0
        for _, _, error in self._found.values():
            part = (float(error.rmse) ** 2) * error.elements
            if error.sqnr_db is not None:
                noise += part
                signal += part * 10 ** (float(error.sqnr_db) / 10)
        return WeightsNote(
            element_type=str(short_type),
            side="model" if 2 * sides.count("model") > len(sides) else "reference",
            count=len(sides),
            elements=sum(error.elements for _, _, error in self._found.values()),
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


class StoredWeights:
    """Pairs of a constant and its rounded copy, and the conversions that follow only one of the two."""

    def __init__(self, weights: tuple[Weights | None, Weights | None]) -> None:
        self._weights = weights
        self._rounded = RoundedWeights()
        self._pairs: dict[Node, Node] = {}
        self._conversions: set[Node] = set()

    def add(self, pairs: Mapping[Node, Node], unpaired: Iterable[Node], scope: tuple[str, ...]) -> set[Node]:
        """Add the rounded constants among the pairs of a graph, and return their conversions.

        Args:
            unpaired: The layers of either graph without a partner.
        """
        found = {a: b for a, b in pairs.items() if self._is_rounded(a, b, scope)}
        self._pairs |= found
        stored = {*found, *found.values()}
        conversions = {
            node
            for node in unpaired
            if node.op_class.is_conversion and node.values_in and node.values_in[0].node in stored
        }
        self._conversions |= conversions
        return conversions

    def is_pair(self, a: Node, b: Node) -> bool:
        """Return True if one of these constants is the other one rounded."""
        return self._pairs.get(a) is b

    def through(self, value: Value | None) -> Value | None:
        """Return the constant before a conversion that the other model does not have; other values unchanged."""
        return value.node.values_in[0] if value is not None and value.node in self._conversions else value

    def note(self) -> WeightsNote | None:
        """Return a note on all rounded constants; None if there are none."""
        found = self._rounded.note()
        if found is None:
            return None
        return found.model_copy(update={"side": "b" if found.side == "reference" else "a"})

    def _is_rounded(self, a: Node, b: Node, scope: tuple[str, ...]) -> bool:
        mine, theirs = self._weights
        if mine is None or theirs is None or not isinstance(a.op, Const) or not isinstance(b.op, Const):
            return False
        kinds = a.op.element_type, b.op.element_type
        if kinds[0] == kinds[1] or not all(kind.is_float for kind in kinds) or a.op.shape != b.op.shape:
            return False
        ours, other = a.op.evaluate(weights=mine), b.op.evaluate(weights=theirs)
        return self._rounded.add((scope, a.id, 0), ours, other, difference(ours, other, Tolerance()))
