"""Models for older readers: operators replaced by their older versions with the same meaning."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from ir_exec.build.network import edge
from ir_exec.codes import Code
from ir_exec.errors import GraphError, Location, raise_error
from ir_exec.graph import Graph, Node, Value, build_graph
from ir_exec.infer import infer_types
from ir_exec.ir import Body, Document, Edge, Layer, Port
from ir_exec.ir.array_weights import ArrayWeights, reserve_offset
from ir_exec.model import Loaded, Model
from ir_exec.ops import Op, resolve
from ir_exec.ops.base.graph_facts import OlderVersion
from ir_exec.report.numbers import format_count
from ir_exec.types import Array, ElementType, TensorType

__all__ = ["downgrade_operators"]

IsReadable: TypeAlias = Callable[[str, str], bool]
"""Return True if the reader supports a type of an opset: `("Pad", "opset12")`."""

_MOST_NAMED = 10


def downgrade_operators(model: Model, is_readable: IsReadable, reader: str) -> Model:
    """Return the model with every layer in a version that a reader supports; supported layers are unchanged.

    Args:
        reader: Its name in messages.

    Raises:
        GraphError: IR119 that names the layers without an equivalent supported version.
    """
    document = model.current_document()
    graph = build_graph(document, model.weights, report=raise_error)
    types: dict[Value, TensorType] = {}
    infer_types(graph, weights=model.weights, seen=types)
    rewriting = _Rewriting(is_readable, types, document)
    layers, edges = rewriting.network(graph, document.layers, document.edges)
    if rewriting.unsupported:
        raise _error(rewriting.unsupported, reader, document.path)
    changed = document.model_copy(update={"layers": layers, "edges": edges})
    weights = ArrayWeights(rewriting.arrays, model.weights) if rewriting.arrays else model.weights
    return Model(Loaded(changed, build_graph(changed, weights, report=raise_error), weights, changed))


class _Rewriting:
    """The rewriting of a model for an older opset.

    Attributes:
        unsupported: The nodes without an older equivalent, with the reason.
        arrays: The arrays of new constants, by offset.
    """

    def __init__(self, is_readable: IsReadable, types: dict[Value, TensorType], document: Document) -> None:
        self._is_readable = is_readable
        self._types = types
        self._next_id = max((int(layer.id) for layer in document.all_layers()), default=-1) + 1
        self.unsupported: list[tuple[Node, str]] = []
        self.arrays: dict[int, Array] = {}

    def network(
        self, graph: Graph, layers: tuple[Layer, ...], edges: tuple[Edge, ...]
    ) -> tuple[tuple[Layer, ...], tuple[Edge, ...]]:
        nodes = {node.id: node for node in (*graph.nodes, *graph.unreachable)}
        rewritten: list[Layer] = []
        added: list[Edge] = []
        for layer in layers:
            changed = self._layer(nodes[layer.id], layer)
            separated = _separated_input(nodes[layer.id], changed)
            if separated is not None:
                constant, changed = self._split(nodes[layer.id], changed, separated)
                rewritten.append(constant)
                added.append(edge(constant.id, "0", changed.id, constant.id))
            rewritten.append(changed)
        return tuple(rewritten), (*edges, *added)

    def _split(self, node: Node, layer: Layer, position: int) -> tuple[Layer, Layer]:
        """Return a constant for the ignored input, and the layer that reads it.

        Args:
            position: The position of the input that the older version has as two.
        """
        before, target, after = layer.inputs[:position], layer.inputs[position], layer.inputs[position + 1 :]
        is_of_sizes = layer.data.get("shape_calculation_mode", "").lower() == "sizes"
        count = self._types[node.values_in[position]].shape.static[0]
        unread = np.ones(count, np.float32 if is_of_sizes else np.int64)
        offset = reserve_offset(unread.nbytes)
        self.arrays[offset] = unread
        element_type = ElementType.of(unread)
        port = Port(id="0", precision=element_type.precision, dims=(count,))
        attributes = {
            "element_type": element_type.name,
            "shape": str(count),
            "offset": str(offset),
            "size": str(unread.nbytes),
        }
        name = f"{layer.name}/{'scales' if is_of_sizes else 'sizes'}"
        constant = Layer(
            id=str(self._next_id), name=name, type="Const", version="opset1", data=attributes, outputs=(port,)
        ).with_source_of(layer)
        self._next_id += 1
        further = port.model_copy(update={"id": constant.id})
        pair = (target, further) if is_of_sizes else (further, target)
        return constant, layer.model_copy(update={"inputs": (*before, *pair, *after)})

    def _layer(self, node: Node, layer: Layer) -> Layer:
        if layer.bodies:
            inner = {body.name: body.graph for body in node.bodies}
            bodies = tuple([self._body(inner[body.name], body) for body in layer.bodies])
            layer = layer.model_copy(update={"bodies": bodies})
        op, data = node.op, dict(layer.data)
        if op is None or layer.version is None or self._is_readable(layer.type, layer.version):
            return layer
        cls = type(op)
        since = cls.since
        while not self._is_readable(layer.type, f"opset{since}"):
            older = cls.older
            why = f"version {since} is the oldest" if older is None else self._refusal(node, op, older)
            if older is None or why is not None:
                self.unsupported.append((node, why or ""))
                return layer
            since = older.since
            cls = resolve(layer.type, f"opset{since}")
            for name, _ in older.without:
                data.pop(name, None)
        return layer.model_copy(update={"version": f"opset{since}", "data": data})

    def _body(self, graph: Graph, body: Body) -> Body:
        layers, edges = self.network(graph, body.layers, body.edges)
        return body.model_copy(update={"layers": layers, "edges": edges})

    def _refusal(self, node: Node, op: Op, older: OlderVersion) -> str | None:
        """Return the reason for a different meaning of the older version; None if it is equivalent."""
        for name, harmless in older.without:
            if getattr(op, name) not in harmless:
                return f"version {older.since} has no {name}"
        for name, value in older.refused:
            if getattr(op, name) == value:
                return f"version {older.since} has no {name} {value!r}"
        if older.inputs is not None and len(node.values_in) > older.inputs:
            return f"version {older.since} has no {op.inputs[older.inputs].name}"
        if older.separated:
            separated = node.values_in[_position(op, older.separated)]
            if not self._types[separated].shape.is_static:
                return f"version {older.since} requires a known number of sizes and scales"
        for name in older.nonnegative:
            constant = self._types[node.values_in[_position(op, name)]].value
            if constant is None or (constant.size and constant.min() < 0):
                return f"version {older.since} requires {name} of 0 or more" + (
                    ", which are not known" * (constant is None)
                )
        return None


def _separated_input(node: Node, layer: Layer) -> int | None:
    """Return the position of the input that the older version of a layer has as two; None if there is none."""
    op = node.op
    if op is None or op.older is None or not op.older.separated or layer.version == node.layer.version:
        return None
    return _position(op, op.older.separated)


def _position(op: Op, name: str) -> int:
    return [input.name for input in op.inputs].index(name)


def _error(unsupported: list[tuple[Node, str]], reader: str, path: str | None) -> GraphError:
    named = [f'{node.type} "{node.name}" ({why})' for node, why in unsupported[:_MOST_NAMED]]
    named += [f"{len(unsupported) - _MOST_NAMED} more"] if len(unsupported) > _MOST_NAMED else []
    message = f"{format_count(len(unsupported), 'layer')} cannot be written for {reader}: {'; '.join(named)}"
    return GraphError(message, code=Code.newer_than_target, location=Location(path))
