"""Pairs of inputs and outputs of two models without common names: by type, shape and position, or as requested."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal, TypeAlias

from ir_exec.debug.values.entries import Entry, Key, find
from ir_exec.report.records import Record
from ir_exec.types import ElementType

__all__ = ["Pairing", "agree", "asked_pairs", "paired_ends", "same_family", "unnamed_pairs"]


class Pairing(Record):
    """A pair of values of MODEL and the reference that is not found by name.

    Attributes:
        end: "value" for a value that is neither an input nor an output.
        how: The method: by the adjacent layers, by position, by a unique element type and shape, or as requested by the
            caller.
    """

    end: Literal["input", "output", "value"]
    model: str
    reference: str
    how: Literal["structure", "position", "type and shape", "asked"]


End: TypeAlias = Literal["input", "output", "value"]


def asked_pairs(
    ours: Sequence[Entry], theirs: Sequence[Entry], asked: Mapping[str, str]
) -> tuple[dict[Key, Entry], list[Pairing]]:
    """Return the partners that the caller names, and the pairings.

    Raises:
        EvaluationError: For an unknown name.
    """
    matches: dict[Key, Entry] = {}
    pairings = []
    for name, other in asked.items():
        entry, partner = find(ours, name), find(theirs, other)
        matches[entry.key] = partner
        end: End = "input" if entry.is_input else "output" if entry.output else "value"
        pairings.append(Pairing(end=end, model=_title(entry), reference=_title(partner), how="asked"))
    return matches, pairings


def paired_ends(
    ours: Sequence[Entry], theirs: Sequence[Entry], partners: Mapping[Key, Entry]
) -> tuple[dict[Key, Entry], list[Pairing]]:
    """Return partners for inputs and outputs without one, if the choice is unambiguous, and the pairings.

    Args:
        ours: The values of MODEL.
        theirs: The values of the reference.
        partners: The known pairs.
    """
    matches: dict[Key, Entry] = {}
    pairings: list[Pairing] = []
    used = {partner.key for partner in partners.values()}
    ends: tuple[tuple[End, Callable[[Entry], bool]], ...]
    ends = ("input", lambda entry: entry.is_input), ("output", lambda entry: entry.output)
    for end, is_end in ends:
        mine = [our for our in ours if is_end(our) and our.key not in partners]
        other = [their for their in theirs if is_end(their) and their.key not in used]
        for entry, partner, how in _pair_if_unambiguous(mine, other):
            matches[entry.key] = partner
            pairings.append(Pairing(end=end, model=_title(entry), reference=_title(partner), how=how))
    return matches, pairings


def unnamed_pairs(ours: Sequence[Entry], partners: Mapping[Key, Entry], reported: Sequence[Pairing]) -> list[Pairing]:
    """Return the pairings of inputs and outputs without a common name, except those in `reported`."""
    told = {pairing.model for pairing in reported}
    pairings = []
    for entry in ours:
        partner = partners.get(entry.key)
        if not entry.is_end or partner is None or _title(entry) in told:
            continue
        if {entry.layer_name, *entry.names}.isdisjoint({partner.layer_name, *partner.names}):
            end: End = "input" if entry.is_input else "output"
            pairings.append(Pairing(end=end, model=_title(entry), reference=_title(partner), how="structure"))
    return pairings


def _title(entry: Entry) -> str:
    return entry.names[0] if entry.names else entry.path


def _pair_if_unambiguous(
    ours: Sequence[Entry], theirs: Sequence[Entry]
) -> Iterable[tuple[Entry, Entry, Literal["position", "type and shape"]]]:
    """The pairs, if they are unambiguous: both sides have the same number of similar values."""
    if len(ours) != len(theirs):
        return
    if all(_are_alike(entry, partner) for entry, partner in zip(ours, theirs, strict=True)):
        for entry, partner in zip(ours, theirs, strict=True):
            yield entry, partner, "position"
        return
    kinds, others = (Counter((value.element_type, value.shape) for value in side) for side in (ours, theirs))
    if kinds == others and max(kinds.values()) == 1:
        by_kind = {(their.element_type, their.shape): their for their in theirs}
        for entry in ours:
            yield entry, by_kind[entry.element_type, entry.shape], "type and shape"


def _are_alike(entry: Entry, partner: Entry) -> bool:
    """Return True if known types and shapes do not differ; floats of different widths do not differ."""
    return same_family(entry, partner) and agree(entry.shape, partner.shape)


def same_family(entry: Entry, partner: Entry) -> bool:
    """Return True if both or neither are floats, or if a type is unknown."""
    kinds = [entry.element_type, partner.element_type]
    if None in kinds or str(ElementType.dynamic) in kinds:
        return True
    return ("f" in str(kinds[0])) == ("f" in str(kinds[1]))


def agree(shape: str | None, other: str | None) -> bool:
    """Return True if the known dims of two shapes are equal."""
    if shape is None or other is None or shape == other:
        return True
    if "..." in shape + other:
        return True  # any rank
    dims, others = ([dim for dim in text[1:-1].split(",") if dim] for text in (shape, other))
    if len(dims) != len(others):
        return False
    return all(a == b or not a.isdigit() or not b.isdigit() for a, b in zip(dims, others, strict=True))
