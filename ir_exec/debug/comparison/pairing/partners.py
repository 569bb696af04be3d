"""The value of a reference for each value of a model, and the inputs of the reference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ir_exec.debug.comparison.pairing.ends import (
    Pairing,
    asked_pairs,
    paired_ends,
    pairs_by_name,
    unnamed_pairs,
)
from ir_exec.debug.comparison.pairing.matching import match_values
from ir_exec.debug.comparison.references.reference import Lowered, Reference
from ir_exec.debug.values.entries import Entry, Key, entries_of
from ir_exec.model import Model
from ir_exec.types import Array

__all__ = ["given_by_key", "partners_of"]


def partners_of(
    ours: Sequence[Entry], theirs: Sequence[Entry], reference: Reference, asked: Mapping[str, str]
) -> tuple[dict[Key, Entry], list[Pairing]]:
    """Return the value of the reference for each of our values, and the pairings that are not by name.

    Pairs of inputs and outputs without a common name are the start for further pairs. A reference that shares its names
    with the model is paired only by these.
    """
    asked_partners, pairings = asked_pairs(ours, theirs, asked)
    if reference.shares_names:
        return pairs_by_name(ours, theirs) | asked_partners, pairings
    partners = match_values(ours, theirs, asked_partners)
    ends, more = paired_ends(ours, theirs, partners)
    if ends:
        partners = match_values(ours, theirs, {**asked_partners, **ends}) | ends
    seeds = {entry.key: partners[entry.key] for entry in ours if entry.is_end and entry.key in partners}
    if seeds and _have_modules(ours) and _have_modules(theirs):
        # Inputs and outputs are paired first: a folded layer may resemble an output.
        partners |= match_values(ours, theirs, {**asked_partners, **seeds}, by_source=True)
    if seeds and isinstance(reference, Lowered) and _are_names_different(ours, partners):
        used = {partner.key for partner in partners.values()}
        more_partners = _by_structure(ours, theirs, reference, seeds, is_by_module=not ends)
        partners |= {key: partner for key, partner in more_partners.items() if partner.key not in used} | partners
    pairings += more
    return partners, pairings + unnamed_pairs(ours, partners, pairings)


_FEW_NAMED = 0.5
"""Maximum share of layers with a partner by name, for the layers of an export to be paired by source."""


def _module_of(entry: Entry) -> str | None:
    return None if entry.source is None else entry.source.module


def _have_modules(entries: Sequence[Entry]) -> bool:
    return any(map(_module_of, entries))


def _are_names_different(ours: Sequence[Entry], partners: Mapping[Key, Entry]) -> bool:
    """Return True if no layer has a partner by name; few of them for layers of an export."""
    layers = [entry for entry in ours if not entry.is_constant and not entry.is_end]
    count = sum(entry.key in partners for entry in layers)
    return not count or (_have_modules(layers) and count <= _FEW_NAMED * len(layers))


def _by_structure(
    ours: Sequence[Entry], theirs: Sequence[Entry], reference: Lowered, ends: Mapping[Key, Entry], *, is_by_module: bool
) -> dict[Key, Entry]:
    """The partners in the reference after it is lowered to IR, for layers with different names.

    Args:
        is_by_module: Match only layers of the same module.
    """
    lowered = reference.lower_model()
    if lowered is None:
        return {}
    entries = list(entries_of(lowered))
    by_name = {name: entry for entry in entries for name in entry.names}
    tensors = {name: entry for entry in theirs for name in entry.names}
    seeds = {key: by_name[name] for key, end in ends.items() for name in end.names if name in by_name}
    partners = {}
    modules = {entry.key: _module_of(entry) for entry in ours}
    for key, entry in match_values(ours, entries, seeds, by_source=True).items():
        if is_by_module and _module_of(entry) != modules[key]:
            continue
        tensor = next((tensors[name] for name in entry.names if name in tensors), None)
        if tensor is not None and not entry.is_end:
            partners[key] = tensor
    return partners


def given_by_key(
    model: Model, ours: Sequence[Entry], theirs: Sequence[Entry], partners: Mapping[Key, Entry], arrays: Sequence[Array]
) -> dict[Key, Array]:
    """The inputs of the reference by key: an input with another name is found by position."""
    by_key: dict[Key, Array] = {}
    left: list[Array] = []
    for node, array in zip(model.graph.parameters, arrays, strict=True):
        partner = partners.get(((), node.id, 0))
        if partner is not None and partner.is_input:
            by_key[partner.key] = array
        else:
            left.append(array)
    others = [entry for entry in theirs if entry.is_input and entry.key not in by_key]
    if len(others) == len(left):
        by_key |= {entry.key: array for entry, array in zip(others, left, strict=True)}
    return by_key
