"""The values that a network has, by name, and which value of another network each of them stands for."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from ir_exec.codes import Code
from ir_exec.errors import EvaluationError
from ir_exec.graph import Graph
from ir_exec.graph.outputs import suggested
from ir_exec.infer import Types
from ir_exec.ir import RtInfo, split_names
from ir_exec.model import Model
from ir_exec.ops.base.registry import canonical, type_key
from ir_exec.ops.infrastructure.values import Const, Parameter
from ir_exec.types import ElementType

__all__ = ["Entry", "Key", "by_key", "entries_of", "find", "matched"]

Key = tuple[tuple[str, ...], str, int]
"""A value of a network: the scope that its layer is in, the id of the layer, and the position of the output."""

_GENERATED = re.compile(r"^[A-Za-z][A-Za-z0-9]*_\d+$")
"""Names that converters count up (`Add_45`): two files that were made apart share them by chance."""

_AGREEMENT = 0.9
"""The share of equal generated names whose layers must be of one type for these names to count."""


@dataclass(frozen=True)
class Entry:
    """A value that can be compared.

    scope: names of layers and bodies around it. port: the position of the output, of `ports` outputs.
    names: its tensor names. fused: names of the layers that the layer was made of. output: whether it is an output of
    the network. shape: as far as it is declared; None where it is not known.
    """

    scope: tuple[str, ...]
    layer_id: str
    layer_name: str
    type: str
    port: int = 0
    ports: int = 1
    names: tuple[str, ...] = ()
    fused: tuple[str, ...] = ()
    element_type: str | None = None
    shape: str | None = None
    output: bool = False

    @property
    def key(self) -> Key:
        return self.scope, self.layer_id, self.port

    @property
    def path(self) -> str:
        """`loop/body/name`, with the position of the output where there are several."""
        return "/".join((*self.scope, self.layer_name)) + (f":{self.port}" if self.ports > 1 else "")

    @property
    def is_constant(self) -> bool:
        return canonical(self.type) == "Const"

    @property
    def is_input(self) -> bool:
        return canonical(self.type) == "Parameter" and not self.scope


def entries_of(model: Model) -> Iterator[Entry]:
    """Every value of a network in the order of computation, those of bodies before the outputs of their layer."""
    return _entries(model.graph, (), model.types)


def _entries(graph: Graph, scope: tuple[str, ...], types: Types | None) -> Iterator[Entry]:
    """types: as they are inferred; what bodies declare is all that is known of them before a run."""
    outputs = {result.values_in[0] for result in graph.results} if not scope else set()
    output_names: dict[object, list[str]] = defaultdict(list)
    for result in graph.results if not scope else ():
        output_names[result.values_in[0]] += [*result.layer.output_names, result.name]
    for node in graph.nodes:
        for body in node.bodies:
            yield from _entries(body.graph, (*scope, node.name, body.name), None)
        for value in node.outputs:
            type = value.declared if types is None else types[value.number]
            kind = (
                "Const" if isinstance(node.op, Const) else "Parameter" if isinstance(node.op, Parameter) else node.type
            )
            yield Entry(
                scope=scope,
                layer_id=node.id,
                layer_name=node.name,
                type=kind,
                port=value.position,
                ports=len(node.outputs),
                names=tuple(dict.fromkeys((*value.names, *output_names[value]))),
                fused=_fused(node.layer.rt_info),
                element_type=str(node.op.element_type if isinstance(node.op, Const) else type.element_type),
                shape=str(type.shape),
                output=value in outputs,
            )


def _fused(info: RtInfo) -> tuple[str, ...]:
    for child in info.children:
        if child.attributes.get("name") == "fused_names":
            return split_names(child.attributes.get("value"))
    return ()


def by_key(entries: Iterable[Entry]) -> dict[Key, Entry]:
    return {entry.key: entry for entry in entries}


def find(entries: Sequence[Entry], name: str) -> Entry:
    """The value of this tensor name, path (`loop/body/name`, `split:1`), layer name or layer id.

    Raises EvaluationError, with names that are like it, where there is none.
    """
    for test in (
        lambda entry: name in entry.names and not entry.scope,
        lambda entry: name in entry.names,
        lambda entry: name == entry.path,
        lambda entry: name == "/".join((*entry.scope, entry.layer_name)),
        lambda entry: name == entry.layer_name,
    ):
        for entry in entries:
            if test(entry):
                return entry
    known = [text for entry in entries for text in (*entry.names, entry.path)]
    raise EvaluationError(f"there is no layer or tensor {name!r}", code=Code.unknown_input, hint=suggested(name, known))


def matched(ours: Sequence[Entry], theirs: Sequence[Entry]) -> dict[Key, Entry]:
    """For each of our values the one of theirs that it stands for, where there is one.

    They go together by tensor name, then by layer name, by `fused_names`, and by position among layers of one type.
    Bodies are matched where the layers around them are.
    """
    found: dict[Key, Entry] = {}
    our_scopes, their_scopes = _by_scope(ours), _by_scope(theirs)
    pending: list[tuple[tuple[str, ...], tuple[str, ...]]] = [((), ())]
    while pending:
        mine, other = pending.pop()
        pairs = _in_scope(our_scopes.get(mine, []), their_scopes.get(other, []))
        found |= {entry.key: partner for entry, partner in pairs}
        partners = {entry.layer_name: partner.layer_name for entry, partner in pairs}
        pending += [
            (scope, (*other, partners[scope[-2]], scope[-1]))
            for scope in our_scopes
            if len(scope) == len(mine) + 2 and scope[:-2] == mine and scope[-2] in partners
        ]
    return found


def _by_scope(entries: Iterable[Entry]) -> dict[tuple[str, ...], list[Entry]]:
    scopes: dict[tuple[str, ...], list[Entry]] = defaultdict(list)
    for entry in entries:
        scopes[entry.scope].append(entry)
    return scopes


class _Pairs:
    """What was matched so far in one scope; nothing is matched twice."""

    def __init__(self) -> None:
        self.found: list[tuple[Entry, Entry]] = []
        self.taken: set[Key] = set()
        self.used: set[Key] = set()

    def add(self, entry: Entry | None, partner: Entry | None) -> None:
        if entry is None or partner is None or entry.key in self.taken or partner.key in self.used:
            return
        if _comparable(entry, partner):
            self.found.append((entry, partner))
            self.taken.add(entry.key)
            self.used.add(partner.key)


def _in_scope(ours: list[Entry], theirs: list[Entry]) -> list[tuple[Entry, Entry]]:
    pairs = _Pairs()
    trusts_generated = _agree_in_names(ours, theirs)

    def counts(name: str) -> bool:
        return trusts_generated or not _GENERATED.match(name)

    tensors = _unique((name, entry) for entry in theirs for name in entry.names if counts(name))
    for entry in ours:
        for name in entry.names:
            pairs.add(entry, tensors.get(name))
    layers = _unique((_port_name(entry), entry) for entry in theirs if counts(entry.layer_name))
    for name, entry in _unique((_port_name(entry), entry) for entry in ours if counts(entry.layer_name)).items():
        pairs.add(entry, layers.get(name))
        # Files of arrays know names alone: that of a layer may stand there as a tensor's.
        pairs.add(entry, tensors.get(name))
    _pair_fused(ours, theirs, pairs.add)
    _pair_fused(theirs, ours, lambda partner, entry: pairs.add(entry, partner))
    left = [entry for entry in ours if entry.key not in pairs.taken]
    _pair_by_position(left, [entry for entry in theirs if entry.key not in pairs.used], pairs)
    return pairs.found


def _port_name(entry: Entry) -> str:
    return entry.layer_name if entry.ports == 1 else f"{entry.layer_name}:{entry.port}"


def _comparable(entry: Entry, partner: Entry) -> bool:
    """A constant of integers is not one of floats under the same name: it is the first of a chain that makes it."""
    if not (entry.is_constant and partner.is_constant):
        return True
    kinds = [entry.element_type, partner.element_type]
    if None in kinds or str(ElementType.dynamic) in kinds:
        return True
    return ("f" in str(kinds[0])) == ("f" in str(kinds[1]))


def _agree_in_names(ours: Sequence[Entry], theirs: Sequence[Entry]) -> bool:
    """Whether generated names mean the same on both sides."""
    types = {entry.layer_name: type_key(entry.type) for entry in theirs if _GENERATED.match(entry.layer_name)}
    shared = [type_key(entry.type) == types[entry.layer_name] for entry in ours if types.get(entry.layer_name)]
    return not shared or sum(shared) >= _AGREEMENT * len(shared) - 1


def _unique(pairs: Iterable[tuple[str, Entry]]) -> dict[str, Entry]:
    """By name, those whose name is the name of one value alone."""
    found: dict[str, Entry] = {}
    shared: set[str] = set()
    for name, entry in pairs:
        if found.setdefault(name, entry).key != entry.key:
            shared.add(name)
    return {name: entry for name, entry in found.items() if name not in shared}


def _pair_fused(made: Sequence[Entry], parts: Sequence[Entry], pair: Callable[[Entry, Entry], None]) -> None:
    """A layer that was made of others stands for the last of these."""
    place = {entry.layer_name: (position, entry) for position, entry in enumerate(parts) if entry.ports == 1}
    for entry in made:
        if entry.ports == 1 and not entry.is_constant and entry.fused not in ((), (entry.layer_name,)):
            held = [place[name] for name in entry.fused if name in place]
            if held:
                pair(entry, max(held, key=lambda one: one[0])[1])


def _pair_by_position(ours: list[Entry], theirs: list[Entry], pairs: _Pairs) -> None:
    """The first of a type is the first there; where their numbers differ, in the longest runs of equal types."""
    types: Mapping[str, list[Entry]] = defaultdict(list)
    others: Mapping[str, list[Entry]] = defaultdict(list)
    for entry in ours:
        types[entry.type].append(entry)
    for entry in theirs:
        others[entry.type].append(entry)
    for kind, entries in types.items():
        partners = others.get(kind, [])
        if len(entries) == len(partners):
            for entry, partner in zip(entries, partners, strict=True):
                if entry.port == partner.port and entry.ports == partner.ports:
                    pairs.add(entry, partner)
            continue
        matcher = SequenceMatcher(None, _signs(entries), _signs(partners), autojunk=False)
        for block in matcher.get_matching_blocks():
            for step in range(block.size):
                pairs.add(entries[block.a + step], partners[block.b + step])


def _signs(entries: Sequence[Entry]) -> list[tuple[int, int, str | None, str | None]]:
    return [(one.port, one.ports, one.element_type, one.shape) for one in entries]
