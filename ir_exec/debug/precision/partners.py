"""Compressed weights of a model and of its reference as single constants, to pair a weight as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ir_exec.debug.comparison.references.reference import IRReference, Reference
from ir_exec.debug.precision.weights import (
    ComparedWeight,
    QuantizedWeight,
    as_reported,
    compared_weight,
    described_weight,
    plain_weight,
)
from ir_exec.debug.values.entries import Entry, Key
from ir_exec.graph import Graph, Node
from ir_exec.graph.compressed import CompressedWeight, find_compressed_weights
from ir_exec.model import Model
from ir_exec.ops.infrastructure.values import Const
from ir_exec.types import Array, ElementType

__all__ = ["FoldedWeights"]


class _Folded:
    """The values of a model, with each compressed weight as one constant.

    Attributes:
        chains: The compressed weights by key.
        entries: Its values, without the layers that expand weights.
    """

    def __init__(self, model: Model | None, entries: Sequence[Entry]) -> None:
        self.model = model
        self.all = list(entries)
        self.chains: dict[Key, CompressedWeight] = {}
        self.hidden: dict[Key, Key] = {}
        self._attributes: dict[tuple[tuple[str, ...], str], tuple[tuple[str, str], ...]] = {}
        for scope, graph in () if model is None else model.graph.scopes():
            for value, chain in find_compressed_weights(graph).items():
                key = scope, value.node.id, value.position
                self.chains[key] = chain
                self.hidden |= {(scope, node.id, 0): key for node in chain.nodes if node is not value.node}
            for node in graph.nodes:
                if any((scope, value.node.id, value.position) in self.chains for value in node.values_in):
                    self._attributes[scope, node.id] = tuple(sorted(node.layer.data.items()))
        self.entries = [self._constant(entry) for entry in entries if entry.key not in self.hidden]

    def pass_through(self) -> None:
        """Bypass FakeQuantize layers: their readers read the values that they quantize."""
        through = {
            entry.key: entry.sources[0]
            for entry in self.entries
            if entry.is_quantization and entry.sources and not entry.output
        }

        def source(key: Key | None) -> Key | None:
            while key in through:
                key = through[key]
            return key

        self.entries = [
            replace(entry, sources=None if entry.sources is None else tuple(map(source, entry.sources)))
            for entry in self.entries
            if entry.key not in through
        ]

    def _constant(self, entry: Entry) -> Entry:
        """A constant with the name of its codes in place of a weight, and the attributes for readers of weights."""
        chain = self.chains.get(entry.key)
        if chain is not None:
            return replace(entry, type="Const", layer_name=chain.codes.name, names=(), sources=(), attributes=())
        attributes = self._attributes.get(entry.key[:2])
        return entry if attributes is None else replace(entry, attributes=attributes)

    def side(self, entry: Entry, array: Array | None) -> ComparedWeight | None:
        """The weight of a value; None if it has none.

        Args:
            array: The elements of a constant.
        """
        key = entry.key
        chain = self.chains.get(key)
        if chain is not None:
            assert self.model is not None
            return None if self.model.weights is None else described_weight(chain, self.model.weights, key[0])
        if array is None:
            return None
        element_type = ElementType.of(array) if entry.element_type is None else ElementType.parse(entry.element_type)
        return plain_weight(entry.path, (entry.layer_id,), array, element_type)


class FoldedWeights:
    """The compressed weights of both sides of a comparison.

    Weights are not folded if both sides have the same values.

    Attributes:
        ours: The values to be paired.
        theirs: The values to be paired.
        passed: FakeQuantize layers that are missing from the reference.
        parts: Notes for layers inside compressed weights, and for limits of FakeQuantize layers.
        other_parts: Layers inside compressed weights of the reference.
    """

    def __init__(self, model: Model, ours: Sequence[Entry], reference: Reference) -> None:
        theirs = reference.entries()
        other = reference.model if isinstance(reference, IRReference) else None
        is_same = [(our.key, our.type) for our in ours] == [(their.key, their.type) for their in theirs]
        has_graph = all(their.sources is not None for their in theirs)
        self._ours = _Folded(model if has_graph and not is_same else None, ours)
        self._theirs = _Folded(other if not is_same else None, theirs)
        # The reference may have a FakeQuantize that is lowered to ONNX.
        rounding = ("levels", "halves")
        self._passes = not any(their.op_class.steps in rounding or their.type == "QuantizeLinear" for their in theirs)
        if self._ours.model is not None and self._passes:
            self._ours.pass_through()
        self.ours, self.theirs = self._ours.entries, self._theirs.entries
        self.weights: dict[Key, QuantizedWeight] = {}
        self._pairs: dict[Key, Entry] = {}
        self._model = model
        self._known = {entry.key: entry for entry in ours}
        self.passed: set[Key] = set()
        self.parts: dict[Key, str] = {}
        self.other_parts: set[Key] = set()

    def unfold(self, partners: dict[Key, Entry]) -> None:
        """Pair the layers of weights with the same format on both sides; other weights are compared by `judge`."""
        partner_entries = {entry.key: entry for entry in self._theirs.all}
        for key, partner in list(partners.items()):
            mine, theirs = self._ours.chains.get(key), self._theirs.chains.get(partner.key)
            if mine is None and theirs is None:
                continue
            if mine is not None and theirs is not None and mine.has_same_layers(theirs):
                for node, other in zip(mine.nodes, theirs.nodes, strict=True):
                    partners[key[0], node.id, 0] = partner_entries[partner.key[0], other.id, 0]
            elif partner.is_constant:
                self._pairs[key] = partner
                self._note_parts(key, partner.key)

    @property
    def has_other_formats(self) -> bool:
        """True if a weight or an activation is quantized on one side only, or in another format."""
        return bool(self._pairs or self.weights or self.passed)

    def pass_through(self, partners: dict[Key, Entry]) -> None:
        """Pair FakeQuantize layers that are missing from the reference with the values that they quantize."""
        for entry in self._ours.all:
            if entry.is_quantization and entry.key not in partners and entry.sources:
                partner = None if entry.sources[0] is None else partners.get(entry.sources[0])
                if partner is not None and not entry.output and self._passes:
                    partners[entry.key] = partner
                    self.passed.add(entry.key)
                    limits = {source for source in entry.sources[1:] if source is not None and source not in partners}
                    self.parts |= dict.fromkeys(limits, f"a limit of the FakeQuantize {entry.layer_name!r}")

    def judge(self, reference: Reference) -> dict[Key, QuantizedWeight]:
        """Compare the weights with those of a reference that has run. Later calls return the same result."""
        if self._pairs:
            judgments = {key: self._compare_weight(key, partner, reference) for key, partner in self._pairs.items()}
            comparable = {key: weight for key, weight in judgments.items() if weight is not None}
            self.weights = dict(zip(comparable, as_reported(list(comparable.values())), strict=True))
            self._pairs = {}
        return self.weights

    def _compare_weight(self, key: Key, partner: Entry, reference: Reference) -> QuantizedWeight | None:
        ours = self._plain_ours(key) if key not in self._ours.chains else None
        plain = reference.value(partner.key, ()) if partner.key not in self._theirs.chains else None
        mine, theirs = self._ours.side(self._known[key], ours), self._theirs.side(partner, plain)
        return None if mine is None or theirs is None else compared_weight(mine, theirs, ("model", "reference"))

    def _plain_ours(self, key: Key) -> Array | None:
        node = next((candidate for candidate in _graph_at(self._model.graph, key[0]) if candidate.id == key[1]), None)
        if node is None or not isinstance(node.op, Const) or self._model.weights is None:
            return None
        return node.op.evaluate(weights=self._model.weights)

    def _note_parts(self, key: Key, partner: Key) -> None:
        if key in self._ours.chains:
            name = f"a layer of the compressed weight {self._ours.chains[key].codes.name!r}"
            self.parts |= {part: name for part, weight in self._ours.hidden.items() if weight == key}
        self.other_parts |= {part for part, weight in self._theirs.hidden.items() if weight == partner}


def _graph_at(graph: Graph, scope: tuple[str, ...]) -> Sequence[Node]:
    return next((graph_in_scope.nodes for path, graph_in_scope in graph.scopes() if path == scope), ())
