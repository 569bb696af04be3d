"""Small models: the layers of a part with Parameters for their inputs, and several such models in one file."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import accumulate
from pathlib import Path

from ir_exec.build.cutting import Cut, Region, cut, source
from ir_exec.graph import Graph, Node, Value
from ir_exec.ir import Body, Edge, Layer, Weights
from ir_exec.ir.writer import write_document
from ir_exec.model import Model
from ir_exec.types import Array

__all__ = ["part_network", "with_constants", "write_together"]


def with_constants(nodes: Iterable[Node], constant: Collection[Value]) -> list[Node]:
    """The layers, and the upstream layers that depend only on weights, in topological order.

    Args:
        constant: The values that depend only on weights.
    """
    ordered: dict[Node, None] = {}
    for node in nodes:
        pending = [node]
        while pending:
            current = pending[-1]
            above = [value.node for value in current.values_in if value in constant and value.node not in ordered]
            if above:
                pending += above
            else:
                ordered[pending.pop()] = None
    return list(ordered)


def part_network(
    region: Region,
    nodes: Sequence[Node],
    outputs: Sequence[Value],
    constant: Collection[Value],
    values: Mapping[Value, Array],
) -> Cut:
    """The model of these layers and their weights; other values that they read are its inputs.

    Args:
        nodes: The nodes in topological order.
        constant: The values that depend only on weights.
        values: Values that become constants.

    Raises:
        IRError: The errors of building a graph.
    """
    own = with_constants(nodes, constant)
    keep = {node for node in own if not node.layer.is_constant}
    inputs = dict.fromkeys(source(value).node for node in own for value in node.values_in)
    order = [*(node for node in inputs if node not in keep), *(node for node in own if node in keep)]
    # A graph of only this part, because `cut` visits all nodes of a graph.
    graph = Graph(region.graph.name, order, [], [], [], [])
    return cut(Region(region.model, graph, region.types, region.scope), keep, outputs, constants=values)


def write_together(models: Sequence[Model], ranks: Sequence[int], path: Path) -> None:
    """Write models as independent parts of one model: an .xml at `path`, and a .bin.

    Inputs and outputs are in the order of the models. Layers are named `N/NAME`. Dims of inputs are static or dynamic
    without limits, because plugins allocate memory for an upper limit, which may exceed the available memory.

    Args:
        ranks: The ranks of all inputs, used for inputs of unknown rank.

    Raises:
        IRError: If the files cannot be written.
    """
    layers: list[Layer] = []
    edges: list[Edge] = []
    joined = _Joined([model.weights for model in models])
    next_id = 0
    pending = iter(ranks)
    for number, model in enumerate(models):
        document = model.current_document()
        ids = {layer.id: str(next_id + position) for position, layer in enumerate(document.layers)}
        next_id += len(ids)
        move = joined.starts[number]
        for layer in document.layers:
            moved = _move_layer(layer, ids[layer.id], f"{number}/{layer.name}", move)
            layers.append(_without_limits(moved, next(pending)) if layer.is_parameter else moved)
        edges += [
            Edge(
                from_layer=ids[edge.from_layer],
                from_port=edge.from_port,
                to_layer=ids[edge.to_layer],
                to_port=edge.to_port,
            )
            for edge in document.edges
        ]
    # The bit order of weights depends on the release that wrote the first document.
    joined_document = (
        models[0].current_document().changed(name="parts", layers=tuple(layers), edges=tuple(edges), path=None)
    )
    write_document(joined_document, joined, path)


def _move_layer(layer: Layer, id: str, name: str, move: int) -> Layer:
    """The layer with another id, name and offset of weights, and without tensor names."""
    outputs = tuple([port.changed(names=()) if port.names else port for port in layer.outputs])
    return _reading(layer, move).changed(id=id, name=name, outputs=outputs, output_names=())


def _without_limits(parameter: Layer, rank: int) -> Layer:
    """The input without limits of dims, and with a known rank."""
    shape = parameter.data.get("shape", "")
    dims = ["?"] * rank if shape.strip() == "..." else shape.split(",")
    data = {**parameter.data, "shape": ",".join("?" if ".." in dim else dim for dim in dims)}
    ports = tuple([port.changed(dims=(-1,) * rank) if not port.dims and rank else port for port in parameter.outputs])
    return parameter.changed(data=data, outputs=ports if shape.strip() == "..." else parameter.outputs)


def _reading(layer: Layer, move: int) -> Layer:
    data = layer.data
    if layer.is_constant and move and "offset" in data:
        data = {**data, "offset": str(int(data["offset"]) + move)}
    bodies = tuple([_body_reading(body, move) for body in layer.bodies])
    return layer.changed(data=data, bodies=bodies)


def _body_reading(body: Body, move: int) -> Body:
    return body.changed(layers=tuple([_reading(layer, move) for layer in body.layers]))


class _Joined:
    """The concatenated weights of several models, without a copy.

    Attributes:
        starts: The offset of each model.
    """

    def __init__(self, parts: Sequence[Weights | None]) -> None:
        self._parts = parts
        self.starts = list(accumulate((0 if part is None else part.size for part in parts), initial=0))

    def slice(self, offset: int, size: int) -> memoryview:
        number = min(bisect_right(self.starts, offset) - 1, len(self._parts) - 1)
        part = self._parts[number]
        return memoryview(b"") if part is None else part.slice(offset - self.starts[number], size)
