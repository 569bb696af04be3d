"""Differences between two models, independent of the ids, the order and generated names of their layers.

Constants are compared as arrays, and compressed weights by their expanded values.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ir_exec.debug.comparison.metrics import Difference, Tolerance, difference, same_bits
from ir_exec.debug.comparison.pairing.structure import Side, is_generated, pair_layers, plain_attributes
from ir_exec.debug.comparison.rounded import StoredWeights
from ir_exec.debug.diffs.listing import is_onnx_source, opened
from ir_exec.debug.diffs.report import Change, ChangedLayer, Differences, NetworkDiff, UnmatchedLayer
from ir_exec.debug.precision.activations import QuantizedRange
from ir_exec.debug.precision.weights import (
    QuantizedWeight,
    as_reported,
    compared_weight,
    described_weight,
)
from ir_exec.graph import Graph, Node, Value
from ir_exec.graph.compressed import CompressedWeight, find_weight
from ir_exec.graph.constant_parts import read_numbers
from ir_exec.graph.decoding import decode_weight
from ir_exec.ir import RtInfo, Weights
from ir_exec.model import Loaded, Model, Source, WeightsSource
from ir_exec.ops.base.registry import type_key
from ir_exec.ops.infrastructure.values import Const, Result
from ir_exec.types import STRING, Shape, TensorType

__all__ = [
    "constant_difference",
    "diff",
]


def diff(
    a: Model | Loaded | Source,
    b: Model | Loaded | Source,
    *,
    weights: tuple[WeightsSource | None, WeightsSource | None] = (None, None),
    rt_info: bool = False,
) -> NetworkDiff:
    """Find the differences between the models `a` and `b`: added, removed and changed layers, and constants.

    Types and dims are compared as declared in the files. Two ONNX files are compared as ONNX: nodes, constants, inputs,
    outputs, opsets, functions and metadata. They may be damaged, invalid, and have unknown operators.

    Args:
        weights: The .bin files, if they are not next to the .xml. If one is missing, constants are not compared, and
            the report contains their number.
        rt_info: Compare rt_info, too; for ONNX files, doc strings and metadata of nodes.

    Raises:
        IRError: What `read_model` raises, except for missing weights.
    """
    if is_onnx_source(a) and is_onnx_source(b):
        from ir_exec.debug.diffs.onnx_diffing import diff_onnx  # imported for ONNX files only

        return diff_onnx(a, b, metadata=rt_info)  # type: ignore[arg-type]  # a path or bytes
    mine, theirs = opened(a, weights[0]), opened(b, weights[1])
    found = _Diff((mine.weights, theirs.weights), rt_info)
    found.graphs(mine.graph, theirs.graph, (), is_touched=False)
    if rt_info:
        found.order += [f"{change.what} of the model" for change in _info_changes(mine.rt_info, theirs.rt_info)]
    return found.report(
        mine.graph.path or mine.graph.name,
        theirs.graph.path or theirs.graph.name,
        "layer",
        weights=found.stored.note(),
        quantized=as_reported(found.quantized),
        ranges=found.ranges,
    )


class _Diff(Differences):
    """A comparison of the layers of two models."""

    def __init__(self, weights: tuple[Weights | None, Weights | None], rt_info: bool) -> None:
        super().__init__()
        self._weights = weights
        self._rt_info = rt_info
        self.stored = StoredWeights(weights)
        self.quantized: list[QuantizedWeight] = []
        self.ranges: list[QuantizedRange] = []
        self._sources: dict[Value, Value] = {}
        self._has_compressed_weights = False

    def graphs(self, a: Graph, b: Graph, scope: tuple[str, ...], *, is_touched: bool) -> None:
        """Compare two graphs.

        Args:
            is_touched: True if values from the enclosing graph differ.
        """
        mine, theirs = Side(a, self._weights[0]), Side(b, self._weights[1])
        pairs = pair_layers(mine, theirs)
        self._sources |= mine.sources | theirs.sources
        self._has_compressed_weights |= mine.has_compressed_weights or theirs.has_compressed_weights
        self.ranges += [_range(node, scope, side.weights) for side in (mine, theirs) for node in side.ranges]
        partners = set(pairs.values())
        removed = [node for node in mine.nodes if node not in pairs]
        added = [node for node in theirs.nodes if node not in partners]
        conversions = self.stored.add(pairs, (*removed, *added), scope)
        self.removed += [_place(node, scope) for node in removed if node not in conversions]
        self.added += [_place(node, scope) for node in added if node not in conversions]
        for what, nodes, others in (("inputs", a.parameters, b.parameters), ("outputs", a.results, b.results)):
            kept = [pairs[node] for node in nodes if node in pairs]
            if kept != [node for node in others if node in partners]:
                self.order.append(f"the order of the {what}" + (f" of {'/'.join(scope)}" if scope else ""))
        touched = set(a.parameters) if is_touched else set()
        for node in mine.nodes:
            is_below = any(value.node in touched for value in node.values_in) or node in touched
            if node in conversions:
                continue
            if node in pairs and self._compared_weights(node, pairs[node], mine, theirs, scope):
                continue
            if node not in pairs or self._layers(node, pairs[node], pairs, scope, is_below=is_below) or is_below:
                touched.add(node)

    def _compared_weights(self, a: Node, b: Node, mine: Side, theirs: Side, scope: tuple[str, ...]) -> bool:
        """Compare two weights and return True if one of them is compressed; return False for all other pairs."""
        chains = mine.folded.get(a), theirs.folded.get(b)
        if chains == (None, None) or mine.weights is None or theirs.weights is None:
            return False
        first, second = (
            described_weight(chain or CompressedWeight(node.outputs[0], node), weights, scope)
            for chain, node, weights in zip(chains, (a, b), (mine.weights, theirs.weights), strict=True)
        )
        self.quantized.append(compared_weight(first, second, ("a", "b")))
        return True

    def _source(self, node: Node, position: int) -> Value | None:
        """Return the value that a layer reads: the codes of a folded weight, or the constant before a conversion."""
        value = node.inputs[position] if position < len(node.inputs) else None
        while value in self._sources:
            value = self._sources[value]
        return self.stored.through(value)

    def _layers(self, a: Node, b: Node, pairs: dict[Node, Node], scope: tuple[str, ...], *, is_below: bool) -> bool:
        """Compare two layers and return True if they differ.

        Args:
            is_below: True if an upstream layer differs.
        """
        if self.stored.is_pair(a, b):
            return False
        changes = [*self._own_changes(a, b), *self._edges(a, b, pairs)]
        changes += self._requantized(a, b, pairs)
        constant = None
        if isinstance(a.op, Const) and isinstance(b.op, Const):
            constant = constant_difference(a, b, self._weights)
            if None in self._weights:
                self.not_compared += 1
                constant = None
        types = list(_type_changes(a, b))
        differs = bool(changes) or constant is not None or (bool(types) and not is_below)
        if differs:
            self.changed.append(_changed(a, b, scope, (*changes, *types), constant))
        elif types:
            self.consequences.append(_changed(a, b, scope, tuple(types), None))
        else:
            self.unchanged += 1
        for body in a.bodies:
            other = next((one for one in b.bodies if one.name == body.name), None)
            if other is not None:
                before = len(self.changed) + len(self.added) + len(self.removed)
                self.graphs(body.graph, other.graph, (*scope, a.name, body.name), is_touched=is_below or differs)
                differs |= len(self.changed) + len(self.added) + len(self.removed) > before
        return differs

    def _own_changes(self, a: Node, b: Node) -> Iterator[Change]:
        if a.name != b.name and not (is_generated(a.name) or is_generated(b.name) or isinstance(a.op, Result)):
            yield Change(what="name", before=a.name, after=b.name)
        if type_key(a.type) != type_key(b.type):
            yield Change(what="type", before=a.type, after=b.type)
        elif a.layer.version != b.layer.version and (a.op is None or type(a.op) is not type(b.op)):
            # If the classes are equal, both opsets contain the same version of the operator.
            yield Change(what="opset", before=a.layer.version, after=b.layer.version)
        if type_key(a.type) == type_key(b.type):
            mine, theirs = plain_attributes(a), plain_attributes(b)
            written = {*a.layer.data, *b.layer.data}
            for name in sorted({*mine, *theirs}) if mine != theirs else ():
                # A version without the attribute behaves like the default of the other version.
                if mine.get(name) != theirs.get(name) and (name in written or (name in mine and name in theirs)):
                    yield Change(what=f"attribute {name}", before=mine.get(name), after=theirs.get(name))
        for position, (one, other) in enumerate(zip(a.outputs, b.outputs, strict=False)):
            before = sorted(name for name in one.names if not is_generated(name))
            after = sorted(name for name in other.names if not is_generated(name))
            if before and after and before != after:
                what = "tensor names" if len(a.outputs) == 1 else f"tensor names of output {position}"
                yield Change(what=what, before=", ".join(before), after=", ".join(after))
        if len(a.outputs) != len(b.outputs):
            yield Change(what="outputs", before=str(len(a.outputs)), after=str(len(b.outputs)))
        if self._rt_info:
            yield from _info_changes(a.layer.rt_info, b.layer.rt_info)

    def _edges(self, a: Node, b: Node, pairs: dict[Node, Node]) -> Iterator[Change]:
        for position in range(max(len(a.inputs), len(b.inputs))):
            mine, theirs = (self._source(node, position) for node in (a, b))
            if mine is None or theirs is None:
                same = mine is theirs
            else:
                same = pairs.get(mine.node) is theirs.node and mine.position == theirs.position
            if not same:
                before, after = _named(mine), _named(theirs)
                if before == after and mine is not None and theirs is not None:
                    before, after = f"{before} ({mine.node.type})", f"{after} ({theirs.node.type})"
                yield Change(what=f"input {position}", before=before, after=after)

    def _requantized(self, a: Node, b: Node, pairs: dict[Node, Node]) -> Iterator[Change]:
        """Yield the changes of compressed weights of layers in both models, by their expanded values."""
        if not self._has_compressed_weights or None in self._weights:
            return
        if any(find_weight(value) is not None for value in a.outputs):
            return
        for position in range(min(len(a.inputs), len(b.inputs))):
            values = (self._source(node, position) for node in (a, b))
            mine, theirs = (None if value is None else find_weight(value) for value in values)
            if mine is None or theirs is None or not (mine.is_compressed or theirs.is_compressed):
                continue
            if self._differ(mine.constants, theirs.constants, pairs):
                apart = self._apart(mine, theirs)
                what = f"weights of input {position}, requantized: max abs {apart.max_abs:.4g}"
                if apart.sqnr_db is not None:
                    what += f", SQNR {apart.sqnr_db:.1f} dB"
                yield Change(what=what, before=_kinds(mine.constants), after=_kinds(theirs.constants))

    def _apart(self, a: CompressedWeight, b: CompressedWeight) -> Difference:
        mine, theirs = self._weights
        assert mine is not None
        assert theirs is not None
        return difference(decode_weight(b, theirs), decode_weight(a, mine), Tolerance())

    def _differ(self, a: Sequence[Node], b: Sequence[Node], pairs: dict[Node, Node]) -> bool:
        if len(a) != len(b) or any(pairs.get(one) is not other for one, other in zip(a, b, strict=True)):
            return True
        return any(
            not self.stored.is_pair(one, other) and constant_difference(one, other, self._weights)
            for one, other in zip(a, b, strict=True)
        )


def _kinds(constants: Sequence[Node]) -> str:
    return " ".join(dict.fromkeys(str(node.op.element_type) for node in constants if isinstance(node.op, Const)))


def _named(value: Value | None) -> str | None:
    return None if value is None else value.name


def _type_changes(a: Node, b: Node) -> Iterator[Change]:
    for position, (one, other) in enumerate(zip(a.outputs, b.outputs, strict=False)):
        if one.declared != other.declared and str(_stored_type(one)) != str(_stored_type(other)):
            what = "output" if len(a.outputs) == 1 else f"output {position}"
            yield Change(what=what, before=str(one.declared), after=str(other.declared))


def _stored_type(value: Value) -> TensorType:
    """Return the declared type as ports of an IR file store it.

    A port stores no bounds of dims, and a port without dims is a scalar or has an unknown rank.
    """
    type = value.declared
    if not type.rank:
        return TensorType(type.element_type, Shape.unknown())
    return TensorType(type.element_type, Shape([dim if dim.is_static else None for dim in type.shape]))


def _info_changes(a: RtInfo, b: RtInfo) -> Iterator[Change]:
    mine, theirs = _entries(a), _entries(b)
    for name in sorted({*mine, *theirs}):
        if mine.get(name) != theirs.get(name):
            yield Change(what=f"rt_info {name}", before=mine.get(name), after=theirs.get(name))


def _entries(info: RtInfo) -> dict[str, str]:
    found: dict[str, str] = {}
    for child in info.children:
        name = child.attributes.get("name", child.name)
        rest = [f"{key}={value}" for key, value in sorted(child.attributes.items()) if key != "name"]
        inner = [f"{key}: {value}" for key, value in _entries(child).items()]
        found[name] = " ".join([*rest, child.text.strip(), *inner]).strip()
    return found


def _place(node: Node, scope: tuple[str, ...]) -> UnmatchedLayer:
    return UnmatchedLayer(
        layer_id=node.id,
        path="/".join((*scope, node.name)),
        type=node.type,
        opset=node.layer.version,
        outputs=tuple([str(value.declared) for value in node.outputs]),
        inputs=tuple([value.name for value in node.values_in]),
    )


def _range(node: Node, scope: tuple[str, ...], weights: Weights | None) -> QuantizedRange:
    ends = [] if weights is None else [read_numbers(value, weights) for value in node.values_in[1:3]]
    return QuantizedRange(
        path="/".join((*scope, node.name)),
        layer_id=node.id,
        levels=int(getattr(node.op, "levels", 0)),
        low=float(ends[0].min()) if ends else 0.0,
        high=float(ends[1].max()) if ends else 0.0,
    )


def _changed(
    a: Node, b: Node, scope: tuple[str, ...], changes: tuple[Change, ...], constant: Difference | None
) -> ChangedLayer:
    return ChangedLayer(
        path="/".join((*scope, a.name)),
        path_b="/".join((*scope, b.name)),
        type=a.type,
        layer_id=a.id,
        layer_id_b=b.id,
        changes=changes,
        constant=constant,
    )


def constant_difference(a: Node, b: Node, weights: tuple[Weights | None, Weights | None]) -> Difference | None:
    """Return the difference of two constants; None if they are bit-identical. Weights may be missing on one side."""
    if weights[0] is None or weights[1] is None:
        return Difference(problem="not compared: the .bin is missing")
    assert isinstance(a.op, Const)
    assert isinstance(b.op, Const)
    mine, theirs = a.op.evaluate(weights=weights[0]), b.op.evaluate(weights=weights[1])
    if same_bits(mine, theirs):
        return None
    if mine.shape != theirs.shape:
        return Difference(problem=f"shapes {list(mine.shape)} and {list(theirs.shape)} differ")
    if (a.op.element_type in STRING) != (b.op.element_type in STRING):
        return Difference(problem="only one side has strings")
    return difference(theirs, mine, Tolerance())
