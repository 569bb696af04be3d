"""Networks for older readers: layers in older versions of their operators, where those mean the same."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import NamedTuple, TypeAlias

from ir_exec.codes import Code
from ir_exec.errors import GraphError, Location, raise_error
from ir_exec.graph import Graph, Node, Value, build_graph
from ir_exec.infer import infer_types
from ir_exec.ir import Body, Document, Layer
from ir_exec.model import Loaded, Model
from ir_exec.ops import Op
from ir_exec.types import TensorType

__all__ = ["in_older_versions"]

IsReadable: TypeAlias = Callable[[str, str], bool]
"""Whether the reader knows a type of an opset: `("Pad", "opset12")`."""

_MOST_NAMED = 10


class _Older(NamedTuple):
    """An older version of an operator.

    since: of the older version. without: attributes that it does not have, each with the values that change nothing.
    refused: values of its other attributes that it does not take. counted: inputs whose numbers it takes from 0 on
        alone, which therefore must be known.
    """

    since: int
    without: tuple[tuple[str, Collection[object]], ...] = ()
    refused: tuple[tuple[str, str], ...] = ()
    counted: tuple[str, ...] = ()


_OLDER: dict[tuple[str, int], _Older] = {
    ("AvgPool", 16): _Older(14, without=(("dilations", ((), (1,), (1, 1), (1, 1, 1))),)),
    ("AvgPool", 14): _Older(1, refused=(("rounding_type", "ceil_torch"),)),
    ("MaxPool", 14): _Older(8, refused=(("rounding_type", "ceil_torch"),)),
    ("OneHot", 16): _Older(1, without=(("negative_indices_mode", ("ignore_negative",)),)),
    ("Pad", 12): _Older(1, counted=("pads_begin", "pads_end")),
    ("ROIAlign", 9): _Older(3, without=(("aligned_mode", ("asymmetric",)),)),
    ("ScatterElementsUpdate", 12): _Older(
        3, without=(("reduction", ("none",)), ("use_init_val", (True, False))), counted=("indices",)
    ),
    ("ScatterNDUpdate", 15): _Older(4, without=(("reduction", ("none",)),), counted=("indices",)),
    ("Squeeze", 15): _Older(1, without=(("allow_axis_skip", (False,)),)),
    ("TopK", 11): _Older(3, without=(("stable", (False,)),)),
}
"""By type and version, the next older version that may stand for it."""


def in_older_versions(model: Model, is_readable: IsReadable, reader: str) -> Model:
    """The network with every layer in a version that a reader knows; layers that it knows stay as they are.

    reader: what to call it in messages. Raises GraphError IR119 that names the layers of which no version that it knows
    means the same.
    """
    document = model.current_document()
    graph = build_graph(document, model.weights, report=raise_error)
    types: dict[Value, TensorType] = {}
    infer_types(graph, weights=model.weights, seen=types)
    rewriting = _Rewriting(is_readable, types)
    layers = rewriting.layers(graph, document.layers)
    if rewriting.left:
        raise _left(rewriting.left, reader, document.path)
    changed = document.model_copy(update={"layers": layers})
    return Model(_loaded(changed, model))


def _loaded(document: Document, model: Model) -> Loaded:
    return Loaded(document, build_graph(document, model.weights, report=raise_error), model.weights, document)


class _Rewriting:
    """left: the nodes that no older version stands for, with the reason."""

    def __init__(self, is_readable: IsReadable, types: dict[Value, TensorType]) -> None:
        self._is_readable = is_readable
        self._types = types
        self.left: list[tuple[Node, str]] = []

    def layers(self, graph: Graph, layers: tuple[Layer, ...]) -> tuple[Layer, ...]:
        nodes = {node.id: node for node in (*graph.nodes, *graph.unreachable)}
        return tuple([self._layer(nodes[layer.id], layer) for layer in layers])

    def _layer(self, node: Node, layer: Layer) -> Layer:
        if layer.bodies:
            inner = {body.name: body.graph for body in node.bodies}
            bodies = tuple([self._body(inner[body.name], body) for body in layer.bodies])
            layer = layer.model_copy(update={"bodies": bodies})
        op, data = node.op, dict(layer.data)
        if op is None or layer.version is None or self._is_readable(layer.type, layer.version):
            return layer
        since = type(op).since
        while not self._is_readable(layer.type, f"opset{since}"):
            older = _OLDER.get((layer.type, since))
            why = f"version {since} has no older one" if older is None else self._refusal(node, op, older)
            if older is None or why is not None:
                self.left.append((node, why or ""))
                return layer
            since = older.since
            for name, _ in older.without:
                data.pop(name, None)
        return layer.model_copy(update={"version": f"opset{since}", "data": data})

    def _body(self, graph: Graph, body: Body) -> Body:
        return body.model_copy(update={"layers": self.layers(graph, body.layers)})

    def _refusal(self, node: Node, op: Op, older: _Older) -> str | None:
        """Why the older version would not mean the same; None where it does."""
        for name, harmless in older.without:
            if getattr(op, name) not in harmless:
                return f"version {older.since} has no {name}"
        for name, value in older.refused:
            if getattr(op, name) == value:
                return f"version {older.since} has no {name} {value!r}"
        for name in older.counted:
            known = self._types[node.values_in[_position(op, name)]].value
            if known is None or (known.size and known.min() < 0):
                return f"version {older.since} takes {name} from 0 on alone" + (
                    ", which are not known" * (known is None)
                )
        return None


def _position(op: Op, name: str) -> int:
    return [one.name for one in op.inputs].index(name)


def _left(left: list[tuple[Node, str]], reader: str, path: str | None) -> GraphError:
    named = [f'{node.type} "{node.name}" ({why})' for node, why in left[:_MOST_NAMED]]
    named += [f"{len(left) - _MOST_NAMED} more"] if len(left) > _MOST_NAMED else []
    message = f"{len(left)} layer{'s' * (len(left) > 1)} cannot be written for {reader}: {'; '.join(named)}"
    return GraphError(message, code=Code.newer_than_target, location=Location(path))
