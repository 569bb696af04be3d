"""Pairs of values of two graphs with the same tensor names: a model, and what a runtime runs of the same file."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from ir_exec.debug.comparison.pairing.ends import same_family
from ir_exec.debug.values.entries import Entry, Key
from ir_exec.types import ElementType

__all__ = ["pairs_by_name"]


def pairs_by_name(ours: Sequence[Entry], theirs: Sequence[Entry]) -> dict[Key, Entry]:
    """Return the value of the reference with the same tensor name for each value outside bodies that has one.

    A value without tensor names, such as a constant, has the name of its layer. Floats of few bits, which the reference
    may store as codes in integers, are paired only if the element types are equal. Outputs at the same position are
    paired first: a layer may have the name of an output that another layer computes. An output may also have the name
    of its layer in the reference.
    """
    mine, others = (_unique_names(side) for side in (ours, theirs))
    pairs = _outputs_by_place(ours, theirs)
    used = {partner.key for partner in pairs.values()}
    outputs = ((entry.path, entry) for entry in ours if entry.output and not entry.scope and entry.path not in mine)
    for name, entry in (*mine.items(), *outputs):
        partner = others.get(name)
        if partner is None or entry.key in pairs or partner.key in used or not _have_same_storage(entry, partner):
            continue
        pairs[entry.key] = partner
        used.add(partner.key)
    return pairs


def _outputs_by_place(ours: Sequence[Entry], theirs: Sequence[Entry]) -> dict[Key, Entry]:
    """The outputs at the same position with a common name."""
    by_place = {entry.place: entry for entry in theirs if entry.output and entry.place is not None}
    pairs: dict[Key, Entry] = {}
    for entry in ours:
        partner = by_place.get(entry.place) if entry.output and entry.place is not None else None
        if partner is not None and not set(entry.names).isdisjoint(partner.names):
            pairs[entry.key] = partner
    return pairs


def _unique_names(entries: Iterable[Entry]) -> dict[str, Entry]:
    """The values by name, without names of several values. Names of tensors have priority over those of layers."""
    outer = [entry for entry in entries if not entry.scope]
    owners: dict[str, dict[Key, Entry]] = defaultdict(dict)
    for entry in outer:
        for name in entry.names:
            owners[name][entry.key] = entry
    of_layers: dict[str, dict[Key, Entry]] = defaultdict(dict)
    for entry in outer:
        if not entry.names and entry.path not in owners:
            of_layers[entry.path][entry.key] = entry
    return {name: next(iter(named.values())) for name, named in (owners | of_layers).items() if len(named) == 1}


def _have_same_storage(entry: Entry, partner: Entry) -> bool:
    if _is_short_float(entry):
        return entry.element_type == partner.element_type
    return not entry.is_constant or same_family(entry, partner)


def _is_short_float(entry: Entry) -> bool:
    """Return True for a type that may be stored as codes in 8-bit integers."""
    element_type = ElementType.dynamic if entry.element_type is None else ElementType.parse(entry.element_type)
    return element_type.is_known and element_type.is_float and element_type.bits <= 8
