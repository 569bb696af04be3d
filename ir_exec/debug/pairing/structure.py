"""Which layer of one graph is which of another: by names where these mean something, and by what is around a layer."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable
from difflib import SequenceMatcher
from hashlib import blake2b

from ir_exec.graph import Graph, Node, Value
from ir_exec.ir import Weights
from ir_exec.ops.base.attributes import fields_of
from ir_exec.ops.base.registry import type_key
from ir_exec.ops.infrastructure.values import Const

__all__ = ["Side", "is_generated", "paired", "plain_attributes"]

_GENERATED = re.compile(r"^([A-Za-z][A-Za-z0-9]*_)?\d+(:\d+)?$")
"""Names that converters count up (`Add_45`, `45`): files that were made apart share them by chance."""

_AGREEMENT = 0.9
"""The share of equal generated names whose layers must be of one type for these names to count."""


def is_generated(name: str) -> bool:
    """Whether a converter has counted this name up."""
    return bool(_GENERATED.match(name))


class Side:
    """A graph to be paired, with what reads each of its values. weights: None where the .bin is not there."""

    def __init__(self, graph: Graph, weights: Weights | None) -> None:
        self.graph = graph
        self.weights = weights
        self.nodes = [*graph.nodes, *graph.unreachable]
        self.consumers: dict[Value, list[tuple[Node, int]]] = defaultdict(list)
        for node in self.nodes:
            for position, value in enumerate(node.inputs):
                if value is not None:
                    self.consumers[value].append((node, position))

    def signatures(self) -> dict[Node, str]:
        """For each layer a digest of all that it is computed from, names, ids and declared types left out."""
        found: dict[Node, str] = {}
        places = {node: position for position, node in enumerate(self.graph.parameters)}
        for node in self.nodes:
            sources = [None if value is None else (found.get(value.node), value.position) for value in node.inputs]
            bodies = [(body.name, self._inside(body.graph)) for body in node.bodies]
            text = repr((type_key(node.type), plain_attributes(node), places.get(node), sources, bodies))
            digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16)
            if isinstance(node.op, Const) and self.weights is not None:
                digest.update(self.weights.slice(node.op.offset, node.op.size))
            found[node] = digest.hexdigest()
        return found

    def _inside(self, graph: Graph) -> list[str]:
        """The signatures of the outputs of a body."""
        found = Side(graph, self.weights).signatures()
        return [found[result] for result in graph.results]


def plain_attributes(node: Node) -> dict[str, str]:
    """The attributes of a layer as text, defaults among them; where the bytes of a constant stand is left out."""
    left_out = ("offset", "size") if isinstance(node.op, Const) else ()
    if node.op is None:
        return dict(sorted(node.layer.data.items()))
    values = {**node.layer.data, **{one.attribute: getattr(node.op, one.name) for one in fields_of(type(node.op))}}
    return {name: _as_text(value) for name, value in sorted(values.items()) if name not in left_out}


def _as_text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (list, tuple)):
        return ",".join(map(_as_text, value))
    return str(value)


class _LayerPairs:
    """The pairs so far; no layer is in two of them."""

    def __init__(self, a: Side, b: Side) -> None:
        self.a, self.b = a, b
        self.found: dict[Node, Node] = {}
        self._used: set[Node] = set()

    def add(self, a: Node, b: Node, *, any_type: bool = False) -> None:
        """Pair two layers, and those around them that can only be each other."""
        pending = [(a, b)]
        while pending:
            a, b = pending.pop()
            if a in self.found or b in self._used:
                continue
            if (type_key(a.type) != type_key(b.type) and not any_type) or not _comparable(a, b):
                continue
            any_type = False
            self.found[a] = b
            self._used.add(b)
            for mine, theirs in zip(a.inputs, b.inputs, strict=False):
                if mine is not None and theirs is not None and mine.position == theirs.position:
                    pending.append((mine.node, theirs.node))
            for mine, theirs in zip(a.outputs, b.outputs, strict=False):
                pending += self._only_consumers(mine, theirs)

    def _only_consumers(self, a: Value, b: Value) -> list[tuple[Node, Node]]:
        mine = _by_kind(node for node in self.a.consumers[a] if node[0] not in self.found)
        theirs = _by_kind(node for node in self.b.consumers[b] if node[0] not in self._used)
        return [
            (nodes[0], theirs[kind][0])
            for kind, nodes in mine.items()
            if len(nodes) == 1 and len(theirs.get(kind, ())) == 1
        ]

    def left(self) -> tuple[list[Node], list[Node]]:
        """The layers of both that have no partner."""
        a = [node for node in self.a.nodes if node not in self.found]
        return a, [node for node in self.b.nodes if node not in self._used]

    def add_unique(self, names: Callable[[Node], Iterable[Hashable]], *, any_type: bool = False) -> None:
        """Pair what alone has a name on both sides."""
        a, b = self.left()
        mine, theirs = _unique(a, names), _unique(b, names)
        for name, node in mine.items():
            if name in theirs:
                self.add(node, theirs[name], any_type=any_type)


def _comparable(a: Node, b: Node) -> bool:
    """A constant of integers is not one of floats under the same name: it is the first of a chain that makes it."""
    if not isinstance(a.op, Const) or not isinstance(b.op, Const):
        return True
    return a.op.element_type.is_float == b.op.element_type.is_float


def _by_kind(consumers: Iterable[tuple[Node, int]]) -> dict[tuple[str, int], list[Node]]:
    found: dict[tuple[str, int], list[Node]] = defaultdict(list)
    for node, position in consumers:
        found[type_key(node.type), position].append(node)
    return found


def _unique(nodes: Iterable[Node], names: Callable[[Node], Iterable[Hashable]]) -> dict[Hashable, Node]:
    listed = [(name, node) for node in nodes for name in dict.fromkeys(names(node))]
    counts = Counter(name for name, _ in listed)
    return {name: node for name, node in listed if counts[name] == 1}


def paired(a: Side, b: Side) -> dict[Node, Node]:
    """For each layer of `a` the one of `b` that it is, where there is one.

    They go together by tensor name, by layer name, by equal computation, as neighbours of such pairs, and in the
    longest runs of equal types; last, layers of other types that have one name or read the same values.
    """
    pairs = _LayerPairs(a, b)
    pairs.add_unique(lambda node: [one for value in node.outputs for one in value.names if not is_generated(one)])
    pairs.add_unique(lambda node: [] if is_generated(node.name) else [node.name])
    mine, theirs = a.signatures(), b.signatures()
    pairs.add_unique(lambda node: [mine.get(node) or theirs[node]])
    trusted = _agree_in_names(a.nodes, b.nodes)
    pairs.add_unique(lambda node: [node.name] if trusted else [])
    for sign in (_type_and_outputs, _type_alone):
        _pair_runs(pairs, sign)
    pairs.add_unique(lambda node: [node.name] if trusted or not is_generated(node.name) else [], any_type=True)
    inverse = {partner: node for node, partner in pairs.found.items()}
    pairs.add_unique(lambda node: _sources(node, inverse), any_type=True)
    return pairs.found


def _agree_in_names(a: Iterable[Node], b: Iterable[Node]) -> bool:
    types = {node.name: type_key(node.type) for node in b if is_generated(node.name)}
    shared = [type_key(node.type) == types[node.name] for node in a if node.name in types]
    return not shared or sum(shared) >= _AGREEMENT * len(shared) - 1


def _type_and_outputs(node: Node) -> Hashable:
    return _type_alone(node), tuple([str(value.declared) for value in node.outputs])


def _type_alone(node: Node) -> Hashable:
    if isinstance(node.op, Const):
        # Most networks have many constants: two that are no neighbours of a pair agree in more than the type.
        return "const", str(node.op.shape), node.op.element_type.is_float
    return type_key(node.type)


def _pair_runs(pairs: _LayerPairs, sign: Callable[[Node], Hashable]) -> None:
    a, b = pairs.left()
    matcher = SequenceMatcher(None, [sign(node) for node in a], [sign(node) for node in b], autojunk=False)
    for block in matcher.get_matching_blocks():
        for step in range(block.size):
            pairs.add(a[block.a + step], b[block.b + step])


def _sources(node: Node, inverse: dict[Node, Node]) -> Iterable[Hashable]:
    """What a layer reads, in the terms of the first graph; nothing for layers that read nothing."""
    sources = [
        (inverse.get(value.node, value.node), value.position)
        for value in node.inputs
        if value is not None and not isinstance(value.node.op, Const)
    ]
    return [(len(node.outputs), tuple(sources))] if sources else []
