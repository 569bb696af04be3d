"""Pairs of layers of two graphs: by meaningful names, and by the adjacent layers."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable
from difflib import SequenceMatcher
from hashlib import sha256

from ir_exec.graph import Graph, Node, Value
from ir_exec.graph.compressed import CompressedWeight, find_compressed_weights, find_weight
from ir_exec.ir import Weights
from ir_exec.ops.base.registry import type_key
from ir_exec.ops.infrastructure.values import Const

__all__ = ["Side", "is_generated", "pair_layers", "plain_attributes"]

_GENERATED = re.compile(r"^([A-Za-z][A-Za-z0-9]*_)?\d+(:\d+)?$")
"""Names that converters number (`Add_45`, `45`): files that were converted separately share them by chance."""

_AGREEMENT = 0.9
"""Minimum share of common generated names whose layers have the same type, for these names to count."""


def is_generated(name: str) -> bool:
    """Return True for a name that a converter numbered."""
    return bool(_GENERATED.match(name))


class Side:
    """A graph to be paired, with the readers of each value.

    A compressed weight is folded: its constant of codes replaces all of its layers, which are not in `nodes`. Weights
    are not folded without `weights`.

    Attributes:
        weights: None if the .bin does not exist.
        folded: The chains of compressed weights, by the constant of codes.
        ranges: Bypassed FakeQuantize layers.
        has_compressed_weights: False without `weights`.
        sources: By the value of a folded weight its codes, and by that of a bypassed FakeQuantize layer its input.
    """

    def __init__(self, graph: Graph, weights: Weights | None) -> None:
        self.graph = graph
        self.weights = weights
        compressed_weights = {} if weights is None else find_compressed_weights(graph)
        self.has_compressed_weights = bool(compressed_weights)
        self.folded = _foldable(graph, compressed_weights.values()) if compressed_weights else {}
        self.ranges: list[Node] = []
        self._index()

    def fold_conversions(self) -> None:
        """Fold constants that are stored in a shorter float type, like compressed weights."""
        for node in self.nodes:
            chain = None if not node.op_class.is_conversion or not node.outputs else find_weight(node.outputs[0])
            if chain is None or chain.line != (node,) or not chain.element_type.is_float:
                continue
            if len(self.consumers[chain.codes.outputs[0]]) == 1 and chain.codes not in self.folded:
                self.folded[chain.codes] = chain
        self._index()

    def pass_ranges(self) -> None:
        """Bypass FakeQuantize layers: remove them and their limits from `nodes`."""
        inside = {node for chain in self.folded.values() for node in chain.nodes}
        for node in (*self.graph.nodes, *self.graph.unreachable):
            is_range = node.op_class.steps == "levels" and node not in inside and None not in node.inputs
            if is_range and all(isinstance(value.node.op, Const) for value in node.values_in[1:]):
                self.ranges.append(node)
        self._index()

    def unfold(self, codes: Iterable[Node]) -> None:
        """Restore the layers of folded chains.

        Args:
            codes: The constants of these chains.
        """
        for node in codes:
            del self.folded[node]
        self._index()

    def _index(self) -> None:
        hidden = {node for codes, chain in self.folded.items() for node in chain.nodes if node is not codes}
        for node in self.ranges:
            hidden |= {node, *(value.node for value in node.values_in[1:])}
        self.nodes = [node for node in (*self.graph.nodes, *self.graph.unreachable) if node not in hidden]
        self.sources = {chain.value: codes.outputs[0] for codes, chain in self.folded.items()}
        self.sources |= {node.outputs[0]: node.values_in[0] for node in self.ranges}
        self.consumers: dict[Value, list[tuple[Node, int]]] = defaultdict(list)
        for node in self.nodes:
            for position, value in enumerate(self.inputs(node)):
                if value is not None:
                    self.consumers[value].append((node, position))

    def source(self, value: Value | None) -> Value | None:
        """Return the codes of a folded weight, the input of a bypassed FakeQuantize, or else the value itself."""
        while value in self.sources:
            value = self.sources[value]
        return value

    def inputs(self, node: Node) -> tuple[Value | None, ...]:
        """Return the inputs of a layer, with codes for folded weights."""
        return tuple(map(self.source, node.inputs))

    def is_float(self, node: Node) -> bool:
        """Return True if a constant represents floats."""
        return node in self.folded or (isinstance(node.op, Const) and node.op.element_type.is_float)

    def type_of(self, node: Node) -> Hashable:
        """Return the type of a layer; for constants also the shape, and True if they represent floats."""
        if node in self.folded:
            return "const", str(self.folded[node].value.declared.shape), True
        return _type_alone(node)

    def signatures(self, nodes: Iterable[Node] | None = None) -> dict[Node, str]:
        """A digest for each layer of its computation from the inputs, without names, ids and declared types.

        Args:
            nodes: The layers to compute digests for, and for the layers above them; None for all.
        """
        digests: dict[Node, str] = {}
        places = {node: position for position, node in enumerate(self.graph.parameters)}
        needed = set(self.nodes) if nodes is None else self._with_layers_above(nodes)
        for node in self.nodes:
            if node not in needed:
                continue
            inputs = self.inputs(node)
            sources = [None if value is None else (digests.get(value.node), value.position) for value in inputs]
            bodies = [(body.name, self._inside(body.graph)) for body in node.bodies]
            text = repr((type_key(node.type), plain_attributes(node), places.get(node), sources, bodies))
            digest = sha256(text.encode("utf-8", "surrogatepass"))
            if isinstance(node.op, Const) and self.weights is not None:
                digest.update(self.weights.slice(node.op.offset, node.op.size))
            digests[node] = digest.hexdigest()
        return digests

    def _with_layers_above(self, nodes: Iterable[Node]) -> set[Node]:
        pending = list(nodes)
        visited = set(pending)
        while pending:
            for value in self.inputs(pending.pop()):
                if value is not None and value.node not in visited:
                    visited.add(value.node)
                    pending.append(value.node)
        return visited

    def _inside(self, graph: Graph) -> list[str]:
        """The signatures of the outputs of a body."""
        digests = Side(graph, self.weights).signatures()
        return [digests[result] for result in graph.results]


def plain_attributes(node: Node) -> dict[str, str]:
    """The attributes of a layer as text, including defaults, without the offset and size of constants."""
    left_out = ("offset", "size") if isinstance(node.op, Const) else ()
    if node.op is None:
        return dict(sorted(node.layer.data.items()))
    values = {**node.layer.data, **{field.attribute: getattr(node.op, field.name) for field in node.op.fields()}}
    return {name: _as_text(value) for name, value in sorted(values.items()) if name not in left_out}


def _as_text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (list, tuple)):
        return ",".join(map(_as_text, value))
    return str(value)


class _LayerPairs:
    """The pairs found. No layer is in two pairs."""

    def __init__(self, a: Side, b: Side) -> None:
        self.a, self.b = a, b
        self.found: dict[Node, Node] = {}
        self._used: set[Node] = set()
        self._own = {*a.graph.nodes, *a.graph.unreachable}

    def add(self, a: Node, b: Node, *, any_type: bool = False) -> None:
        """Pair two layers, and the adjacent layers that match unambiguously."""
        pending = [(a, b)]
        while pending:
            a, b = pending.pop()
            if a in self.found or b in self._used:
                continue
            if (type_key(a.type) != type_key(b.type) and not any_type) or not self._comparable(a, b):
                continue
            any_type = False
            self.found[a] = b
            self._used.add(b)
            for mine, theirs in zip(self.a.inputs(a), self.b.inputs(b), strict=False):
                if mine is not None and theirs is not None and mine.position == theirs.position:
                    pending.append((mine.node, theirs.node))
            for mine, theirs in zip(a.outputs, b.outputs, strict=False):
                pending += self._only_consumers(mine, theirs)

    def _only_consumers(self, a: Value, b: Value) -> list[tuple[Node, Node]]:
        mine = _by_consumer_type(node for node in self.a.consumers[a] if node[0] not in self.found)
        theirs = _by_consumer_type(node for node in self.b.consumers[b] if node[0] not in self._used)
        return [
            (nodes[0], theirs[consumer_type][0])
            for consumer_type, nodes in mine.items()
            if len(nodes) == 1 and len(theirs.get(consumer_type, ())) == 1
        ]

    def _comparable(self, a: Node, b: Node) -> bool:
        """Return False for an integer and a float constant: the former is the start of a chain that computes floats."""
        if not isinstance(a.op, Const) or not isinstance(b.op, Const):
            return True
        return self.a.is_float(a) == self.b.is_float(b)

    def find_unpaired(self) -> tuple[list[Node], list[Node]]:
        """The layers of both graphs without a partner."""
        a = [node for node in self.a.nodes if node not in self.found]
        return a, [node for node in self.b.nodes if node not in self._used]

    def inputs(self, node: Node) -> tuple[Value | None, ...]:
        """Return the inputs of a layer of either graph."""
        return (self.a if node in self._own else self.b).inputs(node)

    def add_unique(self, names: Callable[[Node], Iterable[Hashable]], *, any_type: bool = False) -> None:
        """Pair the layers with the same name, if it is unique on both sides."""
        a, b = self.find_unpaired()
        mine, theirs = _unique(a, names), _unique(b, names)
        for name, node in mine.items():
            if name in theirs:
                self.add(node, theirs[name], any_type=any_type)


def _by_consumer_type(consumers: Iterable[tuple[Node, int]]) -> dict[tuple[str, int], list[Node]]:
    consumers_by_type: dict[tuple[str, int], list[Node]] = defaultdict(list)
    for node, position in consumers:
        consumers_by_type[type_key(node.type), position].append(node)
    return consumers_by_type


def _unique(nodes: Iterable[Node], names: Callable[[Node], Iterable[Hashable]]) -> dict[Hashable, Node]:
    listed = [(name, node) for node in nodes for name in dict.fromkeys(names(node))]
    counts = Counter(name for name, _ in listed)
    return {name: node for name, node in listed if counts[name] == 1}


def pair_layers(a: Side, b: Side) -> dict[Node, Node]:
    """Return the matching layer of `b` for each layer of `a`, if there is one.

    Layers are paired by tensor name, by layer name, by equal computation, as neighbors of such pairs, and in the
    longest sequences of equal types. Last, layers of different types are paired if they have the same name or read the
    same values. If only one graph has FakeQuantize layers, these are bypassed.
    """
    if a.folded or b.folded:
        a.fold_conversions()
        b.fold_conversions()
    has_ranges = [any(node.op_class.steps == "levels" for node in side.nodes) for side in (a, b)]
    if has_ranges[0] != has_ranges[1]:
        (a if has_ranges[0] else b).pass_ranges()
    pairs = _LayerPairs(a, b)
    _pair_rounds(pairs)
    if _unfold(pairs):
        _pair_rounds(pairs)
    return pairs.found


def _unfold(pairs: _LayerPairs) -> bool:
    """Unfold weights without a partner, and pairs with the same layers. Return True if any had no partner.

    Pairs are also unfolded if neither weight is compressed.
    """
    mine, theirs = pairs.a.folded, pairs.b.folded
    alike = [(a, b) for a, b in pairs.found.items() if a in mine and b in theirs and mine[a].has_same_layers(theirs[b])]
    retained = [
        (a, b)
        for a, b in pairs.found.items()
        if (a, b) not in alike and any(chain and chain.is_compressed for chain in (mine.get(a), theirs.get(b)))
    ]
    ours, others = {a for a, _ in retained}, {b for _, b in retained}
    layers = [(mine[a].nodes, theirs[b].nodes) for a, b in alike]
    same = {a for a, _ in alike}, {b for _, b in alike}
    alone = (
        [pair for pair in mine if pair not in ours | same[0]],
        [their for their in theirs if their not in others | same[1]],
    )
    pairs.a.unfold([node for node in mine if node not in ours])
    pairs.b.unfold([node for node in theirs if node not in others])
    for nodes, partners in layers:
        for node, other in zip(nodes, partners, strict=True):
            pairs.add(node, other)
    return any(alone)


def _foldable(graph: Graph, weights: Iterable[CompressedWeight]) -> dict[Node, CompressedWeight]:
    """The compressed weights of a graph by constant of codes, if no other layer reads their intermediate values."""
    readers: dict[Node, set[Node]] = defaultdict(set)
    for node in (*graph.nodes, *graph.unreachable):
        for value in node.values_in:
            readers[value.node].add(node)
    chains = {}
    for chain in weights:
        inside = set(chain.nodes)
        if all(readers[node] <= inside for node in inside if node is not chain.value.node):
            chains[chain.codes] = chain
    return chains


def _pair_rounds(pairs: _LayerPairs) -> None:
    a, b = pairs.a, pairs.b
    pairs.add_unique(lambda node: [name for value in node.outputs for name in value.names if not is_generated(name)])
    pairs.add_unique(lambda node: [] if is_generated(node.name) else [node.name])
    # Constants that OpenVINO stores as f16 have this suffix; the conversion has the original name.
    pairs.add_unique(lambda node: [node.name.removesuffix("_compressed")] if isinstance(node.op, Const) else [])
    unpaired = pairs.find_unpaired()
    if all(unpaired):
        # Signatures are digests of all constants above.
        mine, theirs = a.signatures(unpaired[0]), b.signatures(unpaired[1])
        pairs.add_unique(lambda node: [mine.get(node) or theirs[node]])
    trusted = _agree_in_names(a.nodes, b.nodes)
    pairs.add_unique(lambda node: [node.name] if trusted else [])
    for has_outputs in (True, False):
        _pair_runs(pairs, has_outputs)
    pairs.add_unique(lambda node: [node.name] if trusted or not is_generated(node.name) else [], any_type=True)
    inverse = {partner: node for node, partner in pairs.found.items()}
    pairs.add_unique(lambda node: _sources(pairs.inputs(node), node, inverse), any_type=True)


def _agree_in_names(a: Iterable[Node], b: Iterable[Node]) -> bool:
    types = {node.name: type_key(node.type) for node in b if is_generated(node.name)}
    shared = [type_key(node.type) == types[node.name] for node in a if node.name in types]
    return not shared or sum(shared) >= _AGREEMENT * len(shared) - 1


def _type_alone(node: Node) -> Hashable:
    if isinstance(node.op, Const):
        # Most models have many constants: away from known pairs, the type alone is no evidence for a match.
        return "const", str(node.op.shape), node.op.element_type.is_float
    return type_key(node.type)


def _pair_runs(pairs: _LayerPairs, has_outputs: bool) -> None:
    """Pair the longest sequences of equal types.

    Args:
        has_outputs: True if declared outputs must be equal as well.
    """

    def sign(side: Side, node: Node) -> Hashable:
        is_plain = has_outputs and node not in side.folded
        return side.type_of(node), tuple([str(value.declared) for value in node.outputs]) if is_plain else ()

    a, b = pairs.find_unpaired()
    matcher = SequenceMatcher(
        None, [sign(pairs.a, layer) for layer in a], [sign(pairs.b, layer) for layer in b], autojunk=False
    )
    for block in matcher.get_matching_blocks():
        for step in range(block.size):
            pairs.add(a[block.a + step], b[block.b + step])


def _sources(inputs: Iterable[Value | None], node: Node, inverse: dict[Node, Node]) -> Iterable[Hashable]:
    """The inputs of a layer, expressed by layers of the first graph; empty for layers without inputs."""
    sources = [
        (inverse.get(value.node, value.node), value.position)
        for value in inputs
        if value is not None and not isinstance(value.node.op, Const)
    ]
    return [(len(node.outputs), tuple(sources))] if sources else []
