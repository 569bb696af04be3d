"""The types of an edited model: after an edit, only types that it may have changed are inferred again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import TypeAlias

from ir_exec.build.draft import LayerDraft, LayerPort
from ir_exec.build.network import edge
from ir_exec.codes import Code
from ir_exec.errors import IRError
from ir_exec.graph import Graph, Value, build_graph
from ir_exec.infer import infer_types, retain_equal
from ir_exec.ir import Document, Layer, Weights
from ir_exec.ir.array_weights import ArrayWeights
from ir_exec.types import Array, TensorType

__all__ = ["EditedTypes", "Path", "value_paths"]

Path: TypeAlias = tuple[str | int, ...]
"""A value by the ids of its layer and of the enclosing ones, which an edit does not change."""

_OF_THE_REST = {Code.no_result, Code.variable_without_pair}
"""Faults of a layer alone that it does not have in its model."""


def value_paths(graph: Graph, prefix: Path = ()) -> dict[Value, Path]:
    """Return the path of every value of a graph and its bodies."""
    paths: dict[Value, Path] = {}
    for node in (*graph.nodes, *graph.unreachable):
        for value in node.outputs:
            paths[value] = (*prefix, node.id, value.position)
        for body in node.bodies:
            paths |= value_paths(body.graph, (*prefix, node.id, body.name))
    return paths


@dataclass
class EditedTypes:
    """The types of all values by their paths, and the layers whose types an edit may have changed.

    Attributes:
        infer_all: Infers the types of the complete model, and calls `replace_all`. It raises the faults of the model.
        edited_layer: Returns a layer of the model by its id, with its edited bodies.
        draft: The layers of the model.
        weights: The weights of the model before all edits.
        arrays: The arrays of new constants, by offset.
        types: The types; None if an edit may have changed all of them.
        changed: The ids of layers of the model whose types an edit may have changed, since their last inference.
    """

    infer_all: Callable[[], None]
    edited_layer: Callable[[str], Layer]
    draft: LayerDraft
    weights: Weights | None
    arrays: Mapping[int, Array]
    types: dict[Path, TensorType] | None
    changed: set[str] = field(default_factory=set)

    def replace_all(self, types: dict[Path, TensorType] | None) -> None:
        """Replace all types; None if they are not known."""
        self.types = types
        self.changed.clear()

    def put(self, path: Path, type: TensorType) -> None:
        """Add the type of a new value."""
        if self.types is not None:
            self.types[path] = type

    def are_equal(self, first: Path, second: Path) -> bool:
        """Return True if readers of one value can read the other without another inference."""
        before, after = ((self.types or {}).get(path) for path in (first, second))
        return before is not None and after is not None and retain_equal(before, after) is before

    def get(self, path: Path) -> TensorType:
        """Return the type of a value.

        Raises:
            IRError: The faults of the edited model.
        """
        types = self.types
        if types is not None and self.changed:
            self._update(types)
            types = self.types
        if types is None or path not in types:
            self.infer_all()
            types = self.types
        assert types is not None, "inference gives every value a type"
        return types[path]

    def _update(self, types: dict[Path, TensorType]) -> None:
        """Infer the changed layers, and those that read values with other types, in the order of the file.

        After a fault, and for layers in such an order that they are inferred again and again, no type is known.
        """
        layers = self.draft.layers
        pending = [(layers.rank(id), id) for id in self.changed if id in layers]
        pending.sort()
        queued = {id for _, id in pending}
        remaining = len(layers)
        while pending:
            _, id = heappop(pending)
            queued.discard(id)
            remaining -= 1
            inferred = None if remaining < 0 else self._infer(self.edited_layer(id), types)
            if inferred is None:
                self.replace_all(None)
                return
            for path, type in inferred:
                earlier = types.get(path)
                if earlier is not None and retain_equal(earlier, type) is earlier:
                    continue
                types[path] = type
                for reader in self._readers(path):
                    if reader not in queued:
                        queued.add(reader)
                        heappush(pending, (layers.rank(reader), reader))
        self.changed.clear()

    def _readers(self, path: Path) -> Iterator[str]:
        """Yield the ids of the layers that read a value of the model; none for values of bodies."""
        if len(path) == 2:
            id, position = str(path[0]), int(path[1])
            port = LayerPort(id, self.draft.layers[id].outputs[position].id)
            yield from (reader.layer for reader in self.draft.readers(port))

    def _infer(self, layer: Layer, types: Mapping[Path, TensorType]) -> list[tuple[Path, TensorType]] | None:
        """Infer the values of a layer and its bodies from the types of its inputs; None after a fault."""
        if not layer.outputs:
            return []
        ports = self.draft.inputs(layer)
        sources = {port: source for port in ports if (source := self.draft.sources.get(port)) is not None}
        inputs = {source.layer: self.draft.layers[source.layer] for source in sources.values()}
        if layer.id in inputs:
            return None
        layers = [*map(_stand_in, inputs.values()), layer]
        edges = [edge(*source, *target) for target, source in sources.items()]
        document = Document.model_construct(name="", version=11, layers=tuple(layers), edges=tuple(edges))
        weights = self._weights_of(document)
        faults: list[IRError] = []
        graph = build_graph(document, weights, report=faults.append)
        inferred: dict[Value, TensorType] = {}
        try:
            overrides = {
                value: types[value.node.id, value.position]
                for node in graph.nodes
                if node.id in inputs
                for value in node.outputs
            }
            infer_types(graph, weights=weights, overrides=overrides, seen=inferred)
        except (IRError, KeyError):  # the inference of all layers reports the fault
            return None
        if any(fault.severity == "error" and fault.code not in _OF_THE_REST for fault in faults):
            return None
        paths = value_paths(graph)
        return [(paths[value], type) for value, type in inferred.items() if paths[value][0] == layer.id]

    def _weights_of(self, document: Document) -> Weights | None:
        """Return weights with the constants of a few layers."""
        offsets = {int(layer.data["offset"]) for layer in document.all_layers() if layer.is_constant}
        arrays = {offset: self.arrays[offset] for offset in offsets if offset in self.arrays}
        return ArrayWeights(arrays, self.weights if len(arrays) < len(offsets) else None) if arrays else self.weights


_SCALAR = {"element_type": "f32", "shape": ""}


def _stand_in(layer: Layer) -> Layer:
    """Return a Parameter with the outputs of a layer; their types are given to the inference."""
    return Layer.model_construct(
        id=layer.id, name=layer.name, type="Parameter", version="opset1", data=_SCALAR, outputs=layer.outputs
    )
