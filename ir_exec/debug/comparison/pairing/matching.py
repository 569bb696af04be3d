"""Pairs of all values of a model and a reference: by name, from the inputs and outputs, and by structure."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import SequenceMatcher

from ir_exec.debug.comparison.pairing.by_source import pairs_of_sources
from ir_exec.debug.comparison.pairing.ends import (
    agree,
    same_family,
)
from ir_exec.debug.values.entries import Entry, Key, conversions_of_constants, holder_names
from ir_exec.ops.base.registry import type_key

__all__ = ["match_values"]

_GENERATED = re.compile(r"^[A-Za-z][A-Za-z0-9]*_\d+$")
"""Names that converters number (`Add_45`): files that were converted separately share them by chance."""

_NUMBERED = re.compile(r"^.*_\d+$")
"""Names that may be numbered (`node_view_7`): if the earlier layers of two models differ, their numbers are shifted."""

_NUMBER = re.compile(r"^\d+$")
"""Numbers as names (`401`), assigned by PyTorch's exporters: in each exporter a number names a different value."""

_AGREEMENT = 0.9
"""Minimum share of common generated names whose layers have the same type and shape, for these names to count."""


def match_values(
    ours: Sequence[Entry],
    theirs: Sequence[Entry],
    pairs_outside: Mapping[Key, Entry] | None = None,
    *,
    by_source: bool = False,
) -> dict[Key, Entry]:
    """Return the matching value of `theirs` for each value of `ours`, if there is one.

    Values are matched by tensor name, then by layer name, by `fused_names`, as neighbors of such pairs, and by
    position among layers of the same type. Constants follow the layers that read them: a constant with the same name
    but another reader is not a match. An integer constant with another name has no match, because equivalent values may
    differ (axis 2, axis -1). Bodies are matched if their layers are.

    Args:
        pairs_outside: Given pairs, outside bodies.
        by_source: Match layers with other names by the modules that they were exported from.
    """
    matches: dict[Key, Entry] = {}
    our_scopes, their_scopes = _by_scope(ours), _by_scope(theirs)
    pending: list[tuple[tuple[str, ...], tuple[str, ...]]] = [((), ())]
    while pending:
        mine, other = pending.pop()
        scope_pairs = {} if mine or pairs_outside is None else pairs_outside
        pairs = _in_scope(our_scopes.get(mine, []), their_scopes.get(other, []), scope_pairs, by_source=by_source)
        matches |= {entry.key: partner for entry, partner in pairs}
        partners = {
            name: partner for entry, partner in pairs for name in holder_names(entry.layer_name, entry.layer_id)
        }
        for scope in our_scopes:
            if len(scope) == len(mine) + 2 and scope[:-2] == mine and scope[-2] in partners:
                names = holder_names(partners[scope[-2]].layer_name, partners[scope[-2]].layer_id)
                pending += [
                    (scope, candidate) for name in names if (candidate := (*other, name, scope[-1])) in their_scopes
                ]
    return matches


def _by_scope(entries: Iterable[Entry]) -> dict[tuple[str, ...], list[Entry]]:
    scopes: dict[tuple[str, ...], list[Entry]] = defaultdict(list)
    for entry in entries:
        scopes[entry.scope].append(entry)
    return scopes


class _ScopePairs:
    """The pairs found in one scope. No value is in two pairs."""

    def __init__(self, ours: list[Entry], partners: Mapping[Key, Entry]) -> None:
        self.found: list[tuple[Entry, Entry]] = []
        self.of_ours: dict[Key, Key] = {}
        self.of_theirs: dict[Key, Key] = {}
        for entry in ours:
            self.add(entry, partners.get(entry.key))

    def add(self, entry: Entry | None, partner: Entry | None) -> None:
        if entry is None or partner is None or self.has(entry, partner):
            return
        if _comparable(entry, partner):
            self.found.append((entry, partner))
            self.of_ours[entry.key] = partner.key
            self.of_theirs[partner.key] = entry.key

    def has(self, entry: Entry, partner: Entry) -> bool:
        """Return True if at least one of the two has a partner."""
        return entry.key in self.of_ours or partner.key in self.of_theirs

    def may_match(self, entry: Entry, partner: Entry) -> bool:
        """Return False if one of the two reads a value whose partner the other does not read."""
        mine, other = set(entry.sources or ()), set(partner.sources or ())
        ours = {self.of_ours[key] for key in mine if key in self.of_ours}
        theirs = {self.of_theirs[key] for key in other if key in self.of_theirs}
        return ours <= other and theirs <= mine

    def find_unpaired(self, ours: list[Entry], theirs: list[Entry]) -> tuple[list[Entry], list[Entry]]:
        """The values of both sides without a partner."""
        mine = [entry for entry in ours if entry.key not in self.of_ours]
        return mine, [entry for entry in theirs if entry.key not in self.of_theirs]


def _in_scope(
    ours: list[Entry], theirs: list[Entry], partners: Mapping[Key, Entry], *, by_source: bool
) -> list[tuple[Entry, Entry]]:
    if all(entry.sources is not None for entry in (*ours, *theirs)):
        return _in_graphs(ours, theirs, partners, by_source=by_source)
    pairs = _ScopePairs(ours, partners)
    _pair_by_names(ours, theirs, _make_name_filter(ours, theirs, _GENERATED), pairs.add)
    if _have_the_same_layers(ours, theirs):
        _pair_by_position(*pairs.find_unpaired(ours, theirs), pairs.add)
    _pair_outputs(*pairs.find_unpaired(ours, theirs), pairs.add)
    return pairs.found


_SAME_LAYERS = 0.6
"""Minimum share of layers with a counterpart of the same type, for two files to be versions of one model."""


def _have_the_same_layers(ours: list[Entry], theirs: list[Entry]) -> bool:
    """Return True if most layers of either side have a counterpart of the same type on the other side.

    In files written by different programs, equal numbers of layers of a type may be a coincidence.
    """
    mine, other = (Counter(type_key(entry.type) for entry in side if not entry.is_constant) for side in (ours, theirs))
    return (mine & other).total() >= _SAME_LAYERS * max(mine.total(), other.total())


def _in_graphs(
    ours: list[Entry], theirs: list[Entry], partners: Mapping[Key, Entry], *, by_source: bool
) -> list[tuple[Entry, Entry]]:
    """Pairs of two graphs whose edges are known."""
    if not partners and list(map(_identity, ours)) == list(map(_identity, theirs)):
        # Two runs of the same file, or a copy of it with other weights or operators.
        return [pair for pair in zip(ours, theirs, strict=True) if _comparable(*pair)]
    pairs, here, there = _ScopePairs(ours, partners), _Around(ours), _Around(theirs)
    layers, others = ([value for value in side if not value.is_constant] for side in (ours, theirs))
    has_names = any(entry.names for entry in layers) and any(entry.names for entry in others)

    def add_named(entry: Entry, partner: Entry | None) -> None:
        if partner is None or pairs.has(entry, partner) or _is_in_another_form(entry, partner, here, there):
            return
        mine, other = set(entry.names), set(partner.names)
        is_shared = not has_names or mine == other or not mine.isdisjoint(other)
        if is_shared or stand_alike(entry, partner, pairs, here, there):
            pairs.add(entry, partner)

    def add_alike(entry: Entry, partner: Entry) -> None:
        if pairs.has(entry, partner):
            return  # before the comparison of all inputs
        if _look_alike(entry, partner) and stand_alike(entry, partner, pairs, here, there):
            pairs.add(entry, partner)

    _pair_by_names(layers, others, _make_name_filter(layers, others, _NUMBERED), add_named)
    _pair_neighbors(pairs, here, there, add_alike)
    if by_source:
        _pair_by_source(pairs, layers, others, here, there)
        _pair_neighbors(pairs, here, there, add_alike)
    # Layers with the same inputs and the same name match, even if their operators differ.
    names = _unique((_port_name(entry), entry) for entry in others)
    for name, entry in _unique((_port_name(entry), entry) for entry in layers).items():
        if name in names and not pairs.has(entry, names[name]) and stand_alike(entry, names[name], pairs, here, there):
            pairs.add(entry, names[name])
    _pair_neighbors(pairs, here, there, add_alike)
    _pair_by_position(*pairs.find_unpaired(layers, others), add_alike)
    _pair_neighbors(pairs, here, there, add_alike)
    takers = _Takers(pairs, here, there)

    def add_taken(entry: Entry, partner: Entry | None) -> None:
        if partner is not None and not takers.tell_apart(entry, partner):
            pairs.add(entry, partner)

    constants, others = ([value for value in side if value.is_constant] for side in (ours, theirs))
    _pair_by_names(constants, others, _make_name_filter(ours, theirs, _GENERATED), add_taken)
    _pair_taken(pairs, here, there)
    return pairs.found


def _pair_by_source(pairs: _ScopePairs, ours: list[Entry], theirs: list[Entry], here: _Around, there: _Around) -> None:
    """Pair the layers that were exported from the same module, if nothing known contradicts the pair.

    A layer that moves elements is paired only after its data: a module moves similar values several times.
    """
    for candidates in pairs_of_sources(*pairs.find_unpaired(ours, theirs)):
        for entry, partner in candidates:
            if pairs.has(entry, partner) or entry.output != partner.output or not _look_alike(entry, partner):
                continue
            data, other_data = here.source(entry, 0), there.source(partner, 0)
            if entry.op_class.is_data_movement and (
                data is None or other_data is None or pairs.of_ours.get(data.key) != other_data.key
            ):
                continue
            if pairs.may_match(entry, partner):
                pairs.add(entry, partner)


def _identity(entry: Entry) -> tuple[object, ...]:
    return entry.layer_id, entry.port, entry.layer_name, entry.names, entry.sources, entry.attributes, entry.numbers


def _pair_by_names(
    ours: list[Entry],
    theirs: list[Entry],
    counts: Callable[[str], bool],
    pair: Callable[[Entry, Entry | None], None],
) -> None:
    tensors = _unique((name, entry) for entry in theirs for name in entry.names if counts(name))
    for entry in ours:
        for name in entry.names:
            pair(entry, tensors.get(name))
    layers = _unique((_port_name(entry), entry) for entry in theirs if counts(entry.layer_name))
    for name, entry in _unique((_port_name(entry), entry) for entry in ours if counts(entry.layer_name)).items():
        pair(entry, layers.get(name))
        # Files of arrays have only names: the name of a layer may occur there as a tensor name.
        pair(entry, tensors.get(name))
    _pair_fused(ours, theirs, pair)
    _pair_fused(theirs, ours, lambda partner, entry: pair(entry, partner))


class _Around:
    """The values of a graph by key, and their readers: the first output of a layer, and the position of the input.

    A constant that is stored in a shorter float type counts as read by the readers of its conversion.
    """

    def __init__(self, entries: list[Entry]) -> None:
        self.values = {entry.key: entry for entry in entries}
        self.readers: dict[Key, list[tuple[Entry, int]]] = defaultdict(list)
        self._stored = {entry.key: source.key for entry, source in conversions_of_constants(entries)}
        for entry in entries:
            if entry.port == 0:
                for position, source in enumerate(entry.sources or ()):
                    if source is not None:
                        self.readers[self._stored.get(source, source)].append((entry, position))

    def source(self, entry: Entry, position: int) -> Entry | None:
        sources = entry.sources or ()
        key = sources[position] if position < len(sources) else None
        return None if key is None else self.values.get(self._stored.get(key, key))


def _pair_neighbors(pairs: _ScopePairs, ours: _Around, theirs: _Around, pair: Callable[[Entry, Entry], None]) -> None:
    """Pair the layers at the same position next to a pair."""
    for entry, partner in pairs.found:  # grows during the loop
        if type_key(entry.type) != type_key(partner.type):
            continue
        neighbors = [(ours.source(entry, i), theirs.source(partner, i)) for i in range(len(entry.sources or ()))]
        mine, other = ours.readers[entry.key], theirs.readers[partner.key]
        if len(mine) == len(other) == 1 and mine[0][1] == other[0][1]:
            neighbors.append((mine[0][0], other[0][0]))
        for a, b in neighbors:
            if a is not None and b is not None and not a.is_constant and not b.is_constant:
                pair(a, b)


def _is_in_another_form(entry: Entry, partner: Entry, ours: _Around, theirs: _Around) -> bool:
    """Return True if a value has another shape that is not caused by a fault of its layer.

    Either the layer replaces several others and has their names, or the shapes of its inputs differ as well.
    """
    if agree(entry.shape, partner.shape) or (entry.output and partner.output):
        return False
    if type_key(entry.type) != type_key(partner.type) or len(entry.names) != len(partner.names):
        return True
    beside = [(ours.source(entry, i), theirs.source(partner, i)) for i in range(len(entry.sources or ()))]
    return any(a is not None and b is not None and not agree(a.shape, b.shape) for a, b in beside)


def stand_alike(entry: Entry, partner: Entry, pairs: _ScopePairs, ours: _Around, theirs: _Around) -> bool:
    """Return True if two layers read matching values, as far as these are known."""
    count = len(entry.sources or ())
    if count != len(partner.sources or ()):
        return False
    for position in range(count):
        a, b = ours.source(entry, position), theirs.source(partner, position)
        if a is None or b is None:
            if a is not b:
                return False
            continue
        if a.is_constant != b.is_constant or not agree(a.shape, b.shape) or a.numbers != b.numbers:
            return False
        if pairs.of_ours.get(a.key) == b.key:
            continue
        if type_key(a.type) != type_key(b.type):
            return False
        if pairs.of_ours.get(a.key, b.key) != b.key or pairs.of_theirs.get(b.key, a.key) != a.key:
            return False
    return True


def _look_alike(entry: Entry, partner: Entry) -> bool:
    """Return True if both have the same type and number of outputs, and their known shapes do not differ."""
    return (
        type_key(entry.type) == type_key(partner.type)
        and (entry.port, entry.ports) == (partner.port, partner.ports)
        and agree(entry.shape, partner.shape)
    )


class _Takers:
    """Evidence about constants from the pairs of layers that read them."""

    def __init__(self, pairs: _ScopePairs, ours: _Around, theirs: _Around) -> None:
        partners = {entry.key: partner for entry, partner in pairs.found}
        entries = {partner.key: entry for entry, partner in pairs.found}
        self._sides = (ours, theirs, partners), (theirs, ours, entries)

    def tell_apart(self, entry: Entry, partner: Entry) -> bool:
        """Return True if paired layers read different constants, or if only one of them transposes the constant."""
        for constant, other, (side, across, partners) in zip(
            (entry, partner), (partner, entry), self._sides, strict=True
        ):
            for reader, position in side.readers[constant.key]:
                beside = partners.get(reader.key)
                constant_beside = None if beside is None else across.source(beside, position)
                if beside is None or constant_beside is None or not constant_beside.is_constant:
                    continue
                if constant_beside.key != other.key or _transposes(reader) != _transposes(beside):
                    return True
        return False


def _transposes(entry: Entry) -> list[tuple[str, str]]:
    """The attributes of a matrix product that transpose its weights."""
    return [
        attribute
        for attribute in entry.attributes
        if attribute[0].startswith("transpose_") and attribute[1] in ("true", "1")
    ]


def _say_the_same(entry: Entry, partner: Entry) -> bool:
    """Return True if two layers have the same type and attributes."""
    return type_key(entry.type) == type_key(partner.type) and entry.attributes == partner.attributes


def _pair_taken(pairs: _ScopePairs, ours: _Around, theirs: _Around) -> None:
    """Pair the float constants that paired layers read at the same position."""
    for entry, partner in list(pairs.found):
        if not _say_the_same(entry, partner):
            continue
        for position in range(len(entry.sources or ())):
            a, b = ours.source(entry, position), theirs.source(partner, position)
            if a is not None and b is not None and _are_floats(a) and _are_floats(b) and _look_alike(a, b):
                pairs.add(a, b)


def _are_floats(entry: Entry) -> bool:
    return entry.is_constant and "f" in str(entry.element_type)


def _port_name(entry: Entry) -> str:
    return entry.layer_name if entry.ports == 1 else f"{entry.layer_name}:{entry.port}"


def _comparable(entry: Entry, partner: Entry) -> bool:
    """Return False for an integer and a float constant with the same name, and for such inputs.

    The integer constant is the start of a chain that computes the float constant. Inputs may have exchanged names. An
    input and a layer with its name match in a part of a model, unless their shapes differ.
    """
    if entry.is_input != partner.is_input and not agree(entry.shape, partner.shape):
        return False
    is_given = (entry.is_constant and partner.is_constant) or (entry.is_input and partner.is_input)
    return not is_given or same_family(entry, partner)


def _make_name_filter(
    ours: Sequence[Entry], theirs: Sequence[Entry], generated: re.Pattern[str]
) -> Callable[[str], bool]:
    """Return a predicate of the names that count: generated names count only if they agree on both sides.

    Arrays without types have only their names, which refer to this model.
    """
    if not any(entry.type for entry in theirs):
        return lambda name: True
    others = {entry.layer_name: entry for entry in theirs if generated.match(entry.layer_name)}
    shared = [_is_same_name(entry, others[entry.layer_name]) for entry in ours if entry.layer_name in others]
    counted = _unique((name, entry) for entry in theirs for name in entry.names if _NUMBER.match(name))
    numbers = [_is_same_name(entry, counted[name]) for entry in ours for name in entry.names if name in counted]
    trusts_generated = sum(shared) >= _AGREEMENT * len(shared) - 1
    trusts_numbers = sum(numbers) >= _AGREEMENT * len(numbers)
    return lambda name: trusts_numbers if _NUMBER.match(name) else trusts_generated or not generated.match(name)


def _is_same_name(entry: Entry, partner: Entry) -> bool:
    """Return True if layers with the same name match.

    Either type and shape agree, or type and id do: one file derives from the other, and a fault changed the shapes.
    """
    is_same_place = entry.layer_id == partner.layer_id and type_key(entry.type) == type_key(partner.type)
    return is_same_place or _look_alike(entry, partner)


def _unique(pairs: Iterable[tuple[str, Entry]]) -> dict[str, Entry]:
    """The values with a unique name, by name."""
    owners: dict[str, Entry] = {}
    shared: set[str] = set()
    for name, entry in pairs:
        if owners.setdefault(name, entry).key != entry.key:
            shared.add(name)
    return {name: entry for name, entry in owners.items() if name not in shared}


def _pair_fused(fused_entries: Sequence[Entry], parts: Sequence[Entry], pair: Callable[[Entry, Entry], None]) -> None:
    """Pair a fused layer with the last of the layers that it replaces."""
    parts_by_name = {entry.layer_name: (position, entry) for position, entry in enumerate(parts) if entry.ports == 1}
    for entry in fused_entries:
        if entry.ports == 1 and not entry.is_constant and entry.fused not in ((), (entry.layer_name,)):
            replaced = [parts_by_name[name] for name in entry.fused if name in parts_by_name]
            if replaced:
                pair(entry, max(replaced, key=lambda part: part[0])[1])


def _pair_by_position(ours: list[Entry], theirs: list[Entry], pair: Callable[[Entry, Entry], None]) -> None:
    """Pair layers of the same type in order; if their numbers differ, in the longest sequences of equal outputs."""
    types: Mapping[str, list[Entry]] = defaultdict(list)
    others: Mapping[str, list[Entry]] = defaultdict(list)
    for entry in ours:
        types[entry.type].append(entry)
    for entry in theirs:
        others[entry.type].append(entry)
    for layer_type, entries in types.items():
        partners = others.get(layer_type, [])
        if len(entries) == len(partners):
            for entry, partner in zip(entries, partners, strict=True):
                if entry.port == partner.port and entry.ports == partner.ports:
                    pair(entry, partner)
            continue
        matcher = SequenceMatcher(None, _signs(entries), _signs(partners), autojunk=False)
        for block in matcher.get_matching_blocks():
            for step in range(block.size):
                pair(entries[block.a + step], partners[block.b + step])


def _pair_outputs(ours: list[Entry], theirs: list[Entry], pair: Callable[[Entry, Entry], None]) -> None:
    """Pair the remaining outputs of two models in order, if both have the same number and the order is known."""
    mine, others = ({entry.place: entry for entry in side if entry.place is not None} for side in (ours, theirs))
    if mine.keys() == others.keys():
        for output_index in sorted(mine):
            pair(mine[output_index], others[output_index])


def _signs(entries: Sequence[Entry]) -> list[tuple[int, int, str | None, str | None]]:
    return [(entry.port, entry.ports, entry.element_type, entry.shape) for entry in entries]
