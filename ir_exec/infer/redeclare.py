"""What a document declares, brought up to date with types that are others than those of the file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from ir_exec.graph import Graph, Node, Value
from ir_exec.ir import Body, Document, Layer, Port
from ir_exec.types import TensorType

__all__ = ["TypesOfAll", "declared_port", "redeclared"]

TypesOfAll: TypeAlias = Mapping[Value, TensorType]
"""The type of every value of a graph and of its bodies."""


def redeclared(document: Document, graph: Graph, before: TypesOfAll, after: TypesOfAll) -> Document:
    """The document of a graph whose values had the types `before` and have the types `after`.

    Ports, and the attributes of Parameters, are written anew where the type has changed; all else stays as the file
    has it, what it declares wrongly included.
    """
    changed = {value for value, type in after.items() if type != before.get(value)}
    return (
        document
        if not changed
        else document.model_copy(update={"layers": _layers(document.layers, graph, after, changed)})
    )


def declared_port(port: Port, type: TensorType) -> Port:
    """The port of a value of this type; an input port that declares no element type still declares none."""
    dims = type.shape.dims
    sizes = () if dims is None else tuple([dim.lo if dim.is_static else -1 for dim in dims])
    precision = None if port.precision is None else type.element_type.precision
    return port.model_copy(update={"dims": sizes, "precision": precision})


def _layers(layers: Iterable[Layer], graph: Graph, types: TypesOfAll, changed: set[Value]) -> tuple[Layer, ...]:
    nodes = {node.id: node for node in (*graph.nodes, *graph.unreachable)}
    return tuple([_layer(layer, nodes[layer.id], types, changed) if layer.id in nodes else layer for layer in layers])


def _layer(layer: Layer, node: Node, types: TypesOfAll, changed: set[Value]) -> Layer:
    update: dict[str, object] = {}
    if not changed.isdisjoint(node.values_in):
        # The graph may have left an input out that the document has.
        update["inputs"] = _ports(layer.inputs, node.inputs, types, changed)
    if not changed.isdisjoint(node.outputs):
        update["outputs"] = _ports(layer.outputs, node.outputs, types, changed)
        if layer.is_parameter:
            type = types[node.outputs[0]]
            update["data"] = {**layer.data, "shape": _shape(type), "element_type": type.element_type.name}
    if node.bodies:
        graphs = {body.name: body.graph for body in node.bodies}
        update["bodies"] = tuple([_body(body, graphs[body.name], types, changed) for body in layer.bodies])
    return layer.model_copy(update=update) if update else layer


def _body(body: Body, graph: Graph, types: TypesOfAll, changed: set[Value]) -> Body:
    return body.model_copy(update={"layers": _layers(body.layers, graph, types, changed)})


def _ports(
    ports: tuple[Port, ...], values: Iterable[Value | None], types: TypesOfAll, changed: set[Value]
) -> tuple[Port, ...]:
    found = list(ports)
    for position, value in enumerate(values):
        if value in changed:
            found[position] = declared_port(ports[position], types[value])
    return tuple(found)


def _shape(type: TensorType) -> str:
    return "..." if type.shape.dims is None else ",".join(map(str, type.shape.dims))
