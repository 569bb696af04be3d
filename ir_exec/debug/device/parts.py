"""The parts of a model that run by themselves, as small models: layers, or blocks with a common name prefix."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from pathlib import Path

from ir_exec.build.cutting import Cut, Region, cut, is_counted, source
from ir_exec.graph import Graph, Node, Value
from ir_exec.ir import Body, Edge, Layer, Weights
from ir_exec.ir.writer import write_document
from ir_exec.model import Model
from ir_exec.ops.infrastructure.values import AssignsVariable, ReadsVariable
from ir_exec.plan.constant_values import constant_values
from ir_exec.types import Array

__all__ = [
    "IsolatedPart",
    "IsolationScope",
    "LeftOut",
    "blocks_of",
    "parts_of",
    "reason_to_leave_out",
    "scopes_of",
    "write_together",
]


def _with_constants(nodes: Iterable[Node], constant: Collection[Value]) -> list[Node]:
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


def _part_network(
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
    own = _with_constants(nodes, constant)
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


class IsolationScope:
    """The main graph or the graph of a body, indexed for parts.

    Attributes:
        constant: The values that depend only on weights.
        readers: The readers of each value, Results included.
    """

    def __init__(self, region: Region) -> None:
        self.region = region
        self.constant = constant_values(region.graph)
        self.readers: dict[Value, list[Node]] = {}
        for node in region.graph.nodes:
            for value in node.values_in:
                self.readers.setdefault(source(value), []).append(node)

    def part(self, name: str, nodes: Sequence[Node], *, is_single: bool) -> IsolatedPart:
        """The layers as a part. Its outputs are the values that other layers read."""
        inside = set(nodes)
        outputs = [
            value
            for node in nodes
            for value in node.outputs
            if any(reader not in inside for reader in self.readers.get(value, ()))
        ]
        return IsolatedPart(self, name, tuple(nodes), tuple(outputs), is_single)


@dataclass(eq=False)
class IsolatedPart:
    """Layers that run as one model.

    Attributes:
        name: The path of the layer, or the prefix of the block.
        outputs: The values that layers outside the part read.
        is_single: True for a layer, False for a block.
    """

    scope: IsolationScope
    name: str
    nodes: tuple[Node, ...]
    outputs: tuple[Value, ...]
    is_single: bool = True
    _made: Cut | None = field(default=None, init=False)

    @cached_property
    def inside(self) -> frozenset[Node]:
        """The layers as a set."""
        return frozenset(self.nodes)

    def network(self) -> Cut:
        """The model of the part, built once.

        Raises:
            IRError: The errors of building a graph.
        """
        if self._made is None:
            region = self.scope.region
            read = {source(value) for node in self.nodes for value in node.values_in}
            constants: dict[Value, Array] = {}
            for value in read:
                array = None if value.node in self.inside or value in self.scope.constant else region.known(value)
                if array is not None:
                    constants[value] = array
            self._made = _part_network(region, self.nodes, self.outputs, self.scope.constant, constants)
        return self._made

    def forget(self) -> None:
        """Release the model."""
        self._made = None


@dataclass(frozen=True)
class LeftOut:
    """A layer that cannot run by itself, and the reason."""

    node: Node
    path: str
    reason: str


def scopes_of(model: Model) -> Iterator[IsolationScope]:
    """The main graph of a model and the graphs of all bodies, outer graphs first."""
    has_bodies = any(node.bodies for node in model.graph.nodes)
    seen = model.all_types() if has_bodies else {}
    for scope, graph in model.graph.scopes(unreachable=True):
        types = [seen.get(value, value.declared) for value in graph.values] if scope else model.types
        yield IsolationScope(Region(model, graph, types, scope))


def parts_of(scope: IsolationScope, block: str | None = None) -> tuple[list[IsolatedPart], list[LeftOut]]:
    """The parts of a graph in topological order, and the layers that are left out.

    Args:
        block: A pattern of name prefixes. All layers with the same matching prefix are one part; layers without a
            matching prefix are single parts. `*` matches any characters except dots and slashes, `**` matches any
            characters.
    """
    prefix = None if block is None else _prefix(block)
    groups: dict[tuple[str, str | None], list[Node]] = {}
    left = []
    for node in scope.region.graph.nodes:
        if not is_counted(node):
            continue
        path = "/".join((*scope.region.scope, node.name))
        reason = reason_to_leave_out(node, scope)
        if reason is not None:
            left.append(LeftOut(node, path, reason))
            continue
        match = None if prefix is None else prefix.match(path)
        # Layers with the same name differ by id.
        groups.setdefault((path, node.id) if match is None else (match[0], None), []).append(node)
    parts = []
    for (name, id), nodes in groups.items():
        part = scope.part(name, nodes, is_single=id is not None)
        if part.outputs:
            parts.append(part)
        else:
            left += [LeftOut(node, name, "no layer reads its outputs") for node in nodes]
    return parts, left


def blocks_of(scope: IsolationScope, size: int) -> tuple[list[IsolatedPart], list[LeftOut]]:
    """The layers of a graph in blocks of consecutive layers, and the layers that are left out.

    A block is named after its first layer. The order is topological, so no path leaves a block and returns to it.

    Args:
        size: The number of layers of a block.
    """
    singles, left = parts_of(scope)
    omitted = {entry.node for entry in left}
    blocks: list[list[IsolatedPart]] = [[]]
    order = {node: part for part in singles for node in part.nodes}
    for node in scope.region.graph.nodes:
        if len(blocks[-1]) == size or (node in omitted and blocks[-1]):
            blocks.append([])
        if node in order:
            blocks[-1].append(order[node])
    parts = []
    for members in filter(None, blocks):
        nodes = [node for part in members for node in part.nodes]
        parts.append(members[0] if len(members) == 1 else scope.part(members[0].name, nodes, is_single=False))
    return parts, left


def _prefix(block: str) -> re.Pattern[str]:
    """The pattern of names that begin with a block. A block ends before a dot or a slash, or at the end of the name."""
    signs = {"**": ".*?", "*": "[^./]*", "?": "[^./]"}
    text = "".join(signs.get(sign, re.escape(sign)) for sign in re.split(r"(\*\*|[*?])", block.rstrip("./")))
    return re.compile(rf"{text}(?=[./]|\Z)")


def reason_to_leave_out(node: Node, scope: IsolationScope) -> str | None:
    """The reason why a layer cannot run by itself; None if it can."""
    inside = [node, *(inner for body in node.bodies for inner in body.graph.all_nodes())]
    if any(isinstance(inner.op, (AssignsVariable, ReadsVariable)) for inner in inside):
        return "keeps a variable"
    if any(inner.op is not None and not inner.op.deterministic and is_counted(inner) for inner in inside):
        return "random numbers"
    if node.outputs and scope.constant.issuperset(node.outputs):
        return "depends only on weights, runs with the layers that read it"
    return None
