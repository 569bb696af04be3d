"""Anchors of the values of a run, the findings about its layers, and doubtful values of the reference.

A reference that fuses layers may return a value with a different shape or meaning for a layer inside a fusion, although
the result of the fusion is correct. If a layer is beyond its tolerance, its value is doubtful. The next layer is then
computed from the doubtful value and, if the result differs from the reference's value, from the results of the model's
layers for the values before the fusion. If that result agrees, the layers between are not comparable.

The reference may also return a value that none of its other layers uses. The model is run again with this value in
place of its own. If the outputs then move away from those of the reference, the reference has not computed its outputs
from this value, and the layer cannot be judged by it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import NamedTuple, TypeAlias

from ir_exec.debug.comparison.discontinuities import Untested, find_untested_reason
from ir_exec.debug.comparison.metrics import Difference, Settings, difference, same_bits
from ir_exec.debug.comparison.records import MOST_INCLUDED, ComparedLayer, Unmatched
from ir_exec.debug.traces.walk import Visit, Walker
from ir_exec.debug.values.entries import Entry, Key
from ir_exec.errors import IRError
from ir_exec.graph import Graph, Node
from ir_exec.ops.infrastructure.values import ReadsVariable
from ir_exec.types import STRING, Array, ElementType, convert

__all__ = [
    "NOTE",
    "SAME",
    "Anchor",
    "BodyPair",
    "Computed",
    "LayerFindings",
    "Own",
    "Place",
    "Suspect",
    "Takers",
    "as_type_of",
    "find_contradicted",
    "from_undoubted",
    "in_doubt",
    "is_doubtful",
    "maker_of",
    "unmatched_of",
]

Place: TypeAlias = tuple[tuple[str, ...], str]
"""A layer: its scope and its id."""


@dataclass(slots=True)
class Anchor:
    """The value of the reference that corresponds to a value of the model.

    Attributes:
        load: Returns the array; None if `same`.
        same: True if it is bit-identical to the model's value.
        is_known: True if it follows from values of the reference.
        includes: Layers without a partner between the reference's values and this one.
        maker: The path of the nearest upstream layer whose own error it includes.
        other: For a doubtful value of the reference, the result of the model's layers.
        inside: The layers with doubtful values before such a result.
    """

    load: Callable[[], Array | None]
    same: bool
    is_known: bool = True
    includes: tuple[str, ...] = ()
    maker: str | None = None
    other: Anchor | None = None
    inside: tuple[Place, ...] = ()

    def value(self, ours: Array) -> Array:
        array = ours if self.same else self.load()
        assert array is not None, "the value was loaded before"
        return array


SAME = Anchor(lambda: None, same=True)


@dataclass(slots=True)
class LayerFindings:
    """Findings about a layer after some of its runs.

    Attributes:
        untested: The reason why none of them can show a fault.
    """

    layer: ComparedLayer
    untested: Untested | None = None
    runs: int = 1

    def ran(self, node: Node, outputs: Sequence[Array]) -> None:
        """Count a further run, which may be the first that can show a fault."""
        self.runs += 1
        if self.untested is not None:
            self.untested = find_untested_reason(node, outputs)

    def make_layer(self) -> ComparedLayer:
        """Return the layer with the number of its runs, and the reason why none of them can show a fault."""
        agrees = self.layer.status in ("equal", "close", "unmatched")
        untested = self.untested if agrees else None
        changed = (self.layer.runs, self.layer.untested) != (self.runs, untested)
        return self.layer.model_copy(update={"runs": self.runs, "untested": untested}) if changed else self.layer


class BodyPair(NamedTuple):
    """A body of the model and its partner in the reference.

    Attributes:
        scope: The scope of the reference's body.
        numbers: Pairs of value numbers, the model's first.
        layers: The layers of the model's body, with their findings.
    """

    scope: tuple[str, ...]
    numbers: list[tuple[int, int]]
    layers: list[tuple[Node, LayerFindings]]

    def is_same(self, ours: Sequence[Array], theirs: Sequence[Array]) -> bool:
        """Return True if all values of an iteration are equal."""
        return all(same_bits(ours[number], theirs[other]) for number, other in self.numbers)


class Takers:
    """Mapping of the place of a layer to the names of the layers that read its outputs."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._names: dict[tuple[str, ...], dict[str, dict[Node, None]]] = {}

    def __call__(self, layer_key: tuple[tuple[str, ...], str]) -> tuple[str, ...]:
        scope, layer_id = layer_key
        if scope not in self._names:
            self._names[scope] = self._in_scope(scope)
        return tuple([node.name for node in self._names[scope].get(layer_id, ())])

    def _in_scope(self, scope: tuple[str, ...]) -> dict[str, dict[Node, None]]:
        graph = self._graph
        for step in range(0, len(scope), 2):
            node = next(node for node, name in graph.holder_names().items() if name == scope[step])
            graph = next(body.graph for body in node.bodies if body.name == scope[step + 1])
        readers: dict[str, dict[Node, None]] = defaultdict(dict)
        for node in graph.nodes:
            for value in node.values_in:
                readers[value.node.id][node] = None
        return readers


def unmatched_of(
    ours: Sequence[Entry],
    theirs: Sequence[Entry],
    partners: Mapping[Key, Entry],
    findings: Mapping[tuple[tuple[str, ...], str], LayerFindings],
) -> list[Unmatched]:
    """Return the values of either side without a partner; values that ran on neither side are omitted."""
    listed = []
    for entry in ours:
        if entry.key not in partners:
            why = "the reference has no matching layer or tensor"
            listed.append(Unmatched(side="model", path=entry.path, type=entry.type, why=why))
            continue
        layer_findings = findings.get((entry.scope, entry.layer_id))
        if layer_findings is not None and layer_findings.layer.status == "unmatched":
            listed.append(
                Unmatched(side="model", path=entry.path, type=entry.type, why="the reference has no value for it")
            )
    used = {partner.key for partner in partners.values()}
    for entry in theirs:
        if entry.key not in used:
            why = "the model has no matching layer or tensor"
            listed.append(Unmatched(side="reference", path=entry.path, type=entry.type, why=why))
    return listed


def maker_of(anchors: Sequence[Anchor]) -> str | None:
    """Return the path of the nearest upstream layer whose own error is included in one of the anchors."""
    return next((anchor.maker for anchor in anchors if anchor.maker is not None), None)


def as_type_of(array: Array, other: Array) -> Array:
    """Return an array converted to the element type of another; raises ValueError if only one of them has strings."""
    if array.dtype == other.dtype:
        return array
    element_type = ElementType.of(other)
    if element_type in STRING or ElementType.of(array) in STRING:
        raise ValueError(f"element type is {ElementType.of(array)}, expected {element_type}")
    return convert(array, element_type)


_MOST_RUNS = 8
"""Maximum layers to run the model for."""

_NEARER = 0.5
"""Maximum noise of the outputs, relative to a run without a value of the reference, if that value explains it."""


class Suspect(NamedTuple):
    """A layer with a wrong value, and the outputs of the layer in the reference; None for unknown ones."""

    node: Node
    values: Sequence[Array | None]


def find_contradicted(
    walker: Walker,
    arrays: Sequence[Array],
    outputs: Sequence[Array],
    suspects: Sequence[Suspect],
    expected: Sequence[Array],
    settings: Settings,
) -> list[Node]:
    """Return the suspects whose values in the reference do not lead to its outputs, of the first few.

    Args:
        arrays: The inputs of the model.
        outputs: The outputs of the model.
        expected: The outputs of the reference.
    """
    nodes = walker.model.graph.all_nodes()
    if any(isinstance(node.op, ReadsVariable) for node in nodes):
        return []  # a further run would change the variables
    before = _errors(outputs, expected, walker, settings)
    contradicted = []
    for suspect in suspects[:_MOST_RUNS]:
        try:
            others = _run_with(walker, arrays, {suspect.node: suspect.values})
        except (IRError, ValueError):
            contradicted.append(suspect.node)  # the next layers cannot have read this value
            continue
        if _leads_away(before, _errors(others, expected, walker, settings)):
            contradicted.append(suspect.node)
    return contradicted


def _run_with(walker: Walker, arrays: Sequence[Array], values: Mapping[Node, Sequence[Array | None]]) -> list[Array]:
    """Run the model with other outputs of these layers."""

    def replace_values(visit: Visit) -> list[Array] | None:
        others = values.get(visit.node)
        if others is None or visit.where.scope:
            return None
        pairs = zip(visit.outputs, [*others, *[None] * (len(visit.outputs) - len(others))], strict=True)
        return [ours if other is None else as_type_of(other, ours) for ours, other in pairs]

    return walker.run(list(arrays), replace_values)


def _errors(
    outputs: Sequence[Array], expected: Sequence[Array], walker: Walker, settings: Settings
) -> list[Difference]:
    ends = [result.values_in[0].node for result in walker.model.graph.results]
    return [
        difference(ours, theirs, settings.carried_tolerance((ElementType.of(ours), ElementType.of(theirs)), node))
        for node, ours, theirs in zip(ends, outputs, expected, strict=True)
    ]


def _leads_away(before: Sequence[Difference], after: Sequence[Difference]) -> bool:
    """Return True if outputs within the tolerance leave it, or if others only go away from those of the reference."""
    pairs = list(zip(before, after, strict=True))
    if any(new.problem is not None or (old.is_within and not new.is_within) for old, new in pairs):
        return True
    differ = [(old, new) for old, new in pairs if not old.is_within]
    if any(new.is_within or (isfinite(new.max_abs) and new.rmse <= _NEARER * old.rmse) for old, new in differ):
        return False
    # The mean leaves out elements that are infinite on one side.
    return any(new.rmse * _NEARER > old.rmse or new.max_abs > old.max_abs / _NEARER for old, new in differ)


NOTE = "inside a fusion of the reference: not comparable"

_DOUBTED = ("wrong", "reference", "failed")

Own: TypeAlias = tuple[list[Array] | None, Sequence[Array] | None, str | None]
"""The outputs of a layer computed from anchors, the values of the anchors, and the error message of a failed layer."""


class Computed(NamedTuple):
    """A layer computed from anchors.

    Attributes:
        anchors: The anchors that count.
        own: The layer's result for these anchors.
        above: If some of them are still doubtful, the undoubted anchors before.
        other: The layer's result for the undoubted anchors.
    """

    anchors: Sequence[Anchor]
    own: Own
    above: Sequence[Anchor] | None
    other: list[Array] | None


def from_undoubted(
    compute: Callable[[Sequence[Anchor]], Own],
    anchors: Sequence[Anchor],
    values: Sequence[Array | None],
    settings: Settings,
    findings: MutableMapping[Place, LayerFindings],
) -> Computed:
    """Compute a layer from the reference's values or, if these are doubtful and the result differs, from the model's.

    Args:
        values: The reference's outputs.
        findings: Findings, in which layers inside a fusion are marked as not comparable.
    """
    own = compute(anchors)
    are_undoubted = all(anchor.other is None for anchor in anchors)
    is_seen = any(expected is not None for expected in values)
    if are_undoubted or (is_seen and _agree(own[0], values, settings)):
        return Computed(anchors, own, None, own[0])
    above = [anchor.other or anchor for anchor in anchors]
    trial = compute(above)
    if is_seen and _agree(trial[0], values, settings):
        _skip(above, findings)
        return Computed(above, trial, None, trial[0])
    return Computed(anchors, own, above, trial[0])


def _agree(outputs: Sequence[Array] | None, values: Sequence[Array | None], settings: Settings) -> bool:
    """Return True if all outputs with a value in the reference are within the tolerance of a chain of layers."""
    pairs = [(a, b) for a, b in zip(outputs or (), values, strict=False) if b is not None]
    return outputs is not None and all(
        difference(a, b, settings.chain_tolerance([ElementType.of(a), ElementType.of(b)])).is_within for a, b in pairs
    )


def _skip(anchors: Sequence[Anchor], findings: MutableMapping[Place, LayerFindings]) -> None:
    """Mark the layers between these anchors and the reference's values as not comparable."""
    for layer_key in dict.fromkeys(layer_key for anchor in anchors for layer_key in anchor.inside):
        layer_findings = findings.get(layer_key)
        if layer_findings is not None and layer_findings.layer.status in _DOUBTED:
            note = f"{NOTE}; {layer_findings.layer.note}" if layer_findings.layer.note else NOTE
            layer_findings.layer = layer_findings.layer.model_copy(update={"status": "skipped", "note": note})


def is_doubtful(layer: ComparedLayer, computed: Computed) -> bool:
    """Return True if the reference may use different values of a layer than those that it returns."""
    return layer.status in _DOUBTED or (layer.status == "unmatched" and computed.above is not None)


def in_doubt(visit: Visit, computed: Computed, frame: MutableMapping[int, Anchor]) -> None:
    """Store the results of the model's layers as alternatives to the doubtful anchors of a layer's outputs."""
    above = computed.above or computed.anchors
    includes = dict.fromkeys(name for source in above for name in source.includes)
    inside = dict.fromkeys(layer_key for source in above for layer_key in source.inside)
    for value, output, ours in zip(visit.node.outputs, computed.other or (), visit.outputs, strict=False):
        anchor = frame.get(value.number)
        if anchor is not None and not anchor.same:
            anchor.other = Anchor(
                lambda array=output: array,  # type: ignore[misc]  # bound now
                output is ours,
                includes=(*includes, visit.path)[-MOST_INCLUDED:],
                inside=(*inside, (visit.where.scope, visit.node.id)),
            )
