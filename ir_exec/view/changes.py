"""Two models in one graph: the first model with its differences, and the layers that are only in the second."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import inf
from typing import NamedTuple

from ir_exec.debug import NetworkDiff, diff
from ir_exec.debug.comparison.metrics import difference_text
from ir_exec.debug.comparison.pairing.structure import Side, pair_layers
from ir_exec.debug.diffs.report import ChangedLayer
from ir_exec.debug.precision.weights import weight_line
from ir_exec.graph import Graph, Node
from ir_exec.view.data import BodyView, ChangeView, GraphView, InputView, LayerView, Section
from ir_exec.view.networks import OpenedFile
from ir_exec.view.text import LayerPlaces, printable

__all__ = ["OTHER", "Merger", "changes_of", "diff_of", "section_of_diff"]

OTHER = "other:"
"""Prefix of the keys of layers that are only in the second model."""

_MOST_LINES = 200


def diff_of(a: OpenedFile, b: OpenedFile, *, rt_info: bool = False) -> NetworkDiff:
    """The differences between two models."""
    return diff(a.loaded, b.loaded, rt_info=rt_info)


def section_of_diff(differences: NetworkDiff) -> Section:
    """The summary, and a line for each difference."""
    lines = [differences.summary, *(line for _, line in differences.lines(every=True))]
    left = len(lines) - _MOST_LINES
    printed = [*lines[:_MOST_LINES], f"... {left} more lines"] if left > 0 else lines
    return Section(
        heading=f"{printable(differences.a)} and {printable(differences.b)}",
        lines=tuple([printable(line, 1000) for line in printed]),
    )


def changes_of(
    differences: NetworkDiff, a: LayerPlaces, b: LayerPlaces
) -> tuple[dict[Node, ChangeView], dict[Node, ChangeView]]:
    """The changes of the layers of both models."""
    mine: dict[Node, ChangeView] = {}
    theirs: dict[Node, ChangeView] = {}
    for places, listed, said in ((a, differences.removed, mine), (b, differences.added, theirs)):
        for location in listed:
            node = places.of_path(location.path, location.layer_id)
            if node is not None:
                said[node] = ChangeView(kind="removed" if said is mine else "added")
    for layers, change_type in ((differences.changed, "changed"), (differences.consequences, "consequence")):
        for layer in layers:
            node = a.of_path(layer.path, layer.layer_id)
            if node is not None:
                mine[node] = ChangeView.model_validate({"kind": change_type, "lines": tuple(_lines(layer))})
    for weight in differences.quantized:
        line = printable(weight_line(weight))
        sides = (a, mine, "removed"), (b, theirs, "added")
        of_weight = (weight.path, weight.layer_ids), (weight.partner, weight.partner_ids)
        ours = of_weight if weight.side == "a" else of_weight[::-1]
        for (places, said, change_type), (path, ids) in zip(sides, ours, strict=True):
            for node in _layers_of(places, path, ids):
                said[node] = (
                    ChangeView(kind="changed", lines=(line,)) if node.id == ids[0] else ChangeView(kind=change_type)
                )
    return mine, theirs


def _layers_of(places: LayerPlaces, path: str, ids: Sequence[str]) -> list[Node]:
    """The layers of a weight.

    Args:
        path: The path of the constant, which has the first id.
    """
    constant = places.of_path(path, ids[0])
    if constant is None:
        return []
    scope = places.scopes[constant]
    return [node for node, layer_scope in places.scopes.items() if layer_scope == scope and node.id in ids]


def _lines(layer: ChangedLayer) -> Iterator[str]:
    if layer.path != layer.path_b:
        yield printable(f"now {layer.path_b!r}")
    for change in layer.changes:
        before, after = ("(none)" if text is None else text for text in (change.before, change.after))
        yield printable(f"{change.what}: {before} -> {after}")
    if layer.constant is not None:
        yield f"values: {difference_text(layer.constant)}"


class _Graph(NamedTuple):
    """A graph of one of the models, and its view."""

    nodes: Sequence[Node]
    view: GraphView

    @classmethod
    def of(cls, graph: Graph, view: GraphView) -> _Graph:
        return cls([*graph.nodes, *graph.unreachable], view)


class Merger:
    """A merger of the graphs of two models, and of the bodies that are in both."""

    def __init__(self, a: OpenedFile, b: OpenedFile) -> None:
        self._a, self._b = a, b

    def merge(self, a: GraphView, b: GraphView) -> GraphView:
        """The layers of the first model, and the layers that are only in the second, at their place in the order."""
        return self._graphs(self._a.loaded.graph, self._b.loaded.graph, a, b)

    def _graphs(self, a: Graph, b: Graph, a_view: GraphView, b_view: GraphView) -> GraphView:
        pairs = pair_layers(Side(a, self._a.loaded.weights), Side(b, self._b.loaded.weights))
        mine, theirs = _Graph.of(a, a_view), _Graph.of(b, b_view)
        partner = {other: node for node, other in pairs.items()}
        order = _order(mine.nodes, theirs.nodes, partner)
        position = {node: index for index, node in enumerate(order)}
        views = dict(zip(theirs.nodes, theirs.view.layers, strict=True))
        layers = []
        for node, view in zip(mine.nodes, mine.view.layers, strict=True):
            inputs = _move_inputs(node, view, position, {})
            if node in pairs:
                other, other_view = pairs[node], views[pairs[node]]
                # Inputs of this layer in the second model from layers that are not in the first.
                others = _move_inputs(other, other_view, position, partner)
                inputs += [
                    value_view.model_copy(update={"name": f"{value_view.name} (other)"})
                    for value_view, value in zip(others, other.inputs, strict=True)
                    if value is not None and value.node not in partner
                ]
                view = view.model_copy(update={"bodies": self._bodies(node, other, view, other_view)})
            layers.append((position[node], view.model_copy(update={"inputs": tuple(inputs)})))
        for node, view in views.items():
            if node not in partner:
                inputs = _move_inputs(node, view, position, partner)
                layers.append((position[node], _as_other(view).model_copy(update={"inputs": tuple(inputs)})))
        return GraphView(layers=tuple([view for _, view in sorted(layers, key=lambda layer: layer[0])]))

    def _bodies(self, a: Node, b: Node, a_view: LayerView, b_view: LayerView) -> tuple[BodyView, ...]:
        theirs = {body.name: (body.graph, view.graph) for body, view in zip(b.bodies, b_view.bodies, strict=True)}
        bodies = []
        for body, view in zip(a.bodies, a_view.bodies, strict=True):
            if body.name in theirs:
                graph, other_view = theirs[body.name]
                view = BodyView(name=view.name, graph=self._graphs(body.graph, graph, view.graph, other_view))
            bodies.append(view)
        return tuple(bodies)


def _order(mine: Sequence[Node], theirs: Sequence[Node], partner: Mapping[Node, Node]) -> list[Node]:
    """The layers of the first model in order; added layers are after their inputs, or else before their readers."""
    rank = {node: float(position) for position, node in enumerate(mine)}
    first_reader: dict[Node, float] = {}
    for node in theirs:
        if node in partner:
            for value in node.values_in:
                first_reader[value.node] = min(first_reader.get(value.node, inf), rank[partner[node]])
    added = [node for node in theirs if node not in partner]
    for node in added:
        sources = [rank.get(partner.get(value.node, value.node), -1.0) for value in node.values_in]
        rank[node] = max(sources) if sources else first_reader.get(node, float(len(mine))) - 1
    # Python's sort is stable: added layers follow the layer with the same place, in the order of the second model.
    return sorted([*mine, *added], key=lambda node: rank[node])


def _move_inputs(
    node: Node, view: LayerView, position: Mapping[Node, int], partner: Mapping[Node, Node]
) -> list[InputView]:
    """The inputs of a layer, with positions in the merged list."""
    return [
        shown_input
        if value is None
        else shown_input.model_copy(update={"layer": position[partner.get(value.node, value.node)]})
        for shown_input, value in zip(view.inputs, node.inputs, strict=True)
    ]


def _as_other(view: LayerView) -> LayerView:
    """A layer of the second model and of its bodies, with a distinct key."""
    bodies = [
        BodyView(name=body.name, graph=GraphView(layers=tuple([_as_other(layer) for layer in body.graph.layers])))
        for body in view.bodies
    ]
    return view.model_copy(update={"key": f"{OTHER}{view.key}", "bodies": tuple(bodies)})
