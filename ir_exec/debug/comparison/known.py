"""Findings about layers during a comparison."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from ir_exec.debug.comparison.metrics import same_bits
from ir_exec.debug.comparison.records import ComparedLayer, Unmatched
from ir_exec.debug.comparison.sensitivity import Untested, find_untested_reason
from ir_exec.debug.values.entries import Entry, Key
from ir_exec.graph import Graph, Node
from ir_exec.types import STRING, Array, ElementType, convert

__all__ = ["SAME", "Anchor", "BodyPair", "LayerFindings", "Place", "Takers", "as_type_of", "maker_of", "unmatched_of"]


Place: TypeAlias = tuple[tuple[str, ...], str]
"""A layer: its scope and its id."""


@dataclass(slots=True)
class Anchor:
    """The value of the reference that corresponds to a value of the model.

    Attributes:
        load: Returns the array.
        same: True if it is bit-identical to the model's value.
        is_known: True if it follows from values of the reference.
        includes: Layers without a partner between the reference's values and this one.
        maker: The path of the nearest upstream layer whose own error it includes.
        other: For a doubtful value of the reference, the result of the model's layers.
        inside: The layers with doubtful values before such a result.
    """

    load: Callable[[], Array]
    same: bool
    is_known: bool = True
    includes: tuple[str, ...] = ()
    maker: str | None = None
    other: Anchor | None = None
    inside: tuple[Place, ...] = ()

    def value(self, ours: Array) -> Array:
        return ours if self.same else self.load()


def _ours() -> Array:
    raise AssertionError("identical values are not loaded")


SAME = Anchor(_ours, same=True)


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
        if (self.layer.runs, self.layer.untested) == (self.runs, untested):
            return self.layer
        return self.layer.model_copy(update={"runs": self.runs, "untested": untested})


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
