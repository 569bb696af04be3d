"""A model or body during editing: its layers by their ids, and the source of each input port."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from ir_exec.build.network import edge
from ir_exec.codes import Code
from ir_exec.errors import EvaluationError, GraphError
from ir_exec.hints import suggested
from ir_exec.ir import Edge, Layer
from ir_exec.ops.base.registry import newest
from ir_exec.ops.infrastructure.values import AssignsVariable

__all__ = ["LayerDraft", "LayerPort", "unused_name"]


class LayerPort(NamedTuple):
    """A port of a layer, by the ids of both."""

    layer: str
    port: str


def unused_name(name: str, taken: Collection[str]) -> str:
    """Return the name, or a similar one that is not taken."""
    number = 0
    found = name
    while found in taken:
        number += 1
        found = f"{name}_{number}"
    return found


def _is_end(layer: Layer) -> bool:
    """Return True for inputs and outputs of a graph, and for Assigns, which are needed without readers."""
    if layer.is_parameter or layer.is_result:
        return True
    cls = newest(layer.type)
    return cls is not None and issubclass(cls, AssignsVariable)


class LayerDraft:
    """The layers of a graph that is being edited.

    Attributes:
        path: The prefix for names of its layers in messages, `loop/body/` for layers of a body.
        layers: The layers in the order of the file.
        sources: By input port, the output port that it reads.
    """

    def __init__(self, layers: Iterable[Layer], edges: Iterable[Edge], path: str = "") -> None:
        self.path = path
        self._next_id = 0
        self.become(layers, edges)

    def become(self, layers: Iterable[Layer], edges: Iterable[Edge]) -> None:
        """Replace the content by these layers; ids of earlier layers are not used again."""
        self.layers: dict[str, Layer] = {layer.id: layer for layer in layers}
        self.sources: dict[LayerPort, LayerPort] = {
            LayerPort(one.to_layer, one.to_port): LayerPort(one.from_layer, one.from_port) for one in edges
        }
        self._next_id = max([self._next_id, *(int(id) + 1 for id in self.layers)])
        # Layers that were unneeded in the file are kept.
        self._unneeded = self.layers.keys() - self.needed()

    def kept(self) -> tuple[tuple[Layer, ...], tuple[Edge, ...]]:
        """Return the current layers and edges, without layers that an edit has made unneeded."""
        kept = self.needed() | (self._unneeded & self.layers.keys())
        layers = tuple([layer for layer in self.layers.values() if layer.id in kept])
        edges = tuple([edge(*source, *target) for target, source in self.sources.items() if target.layer in kept])
        return layers, edges

    def needed(self) -> set[str]:
        """Return the ids of the inputs, the outputs, the Assigns, and of all layers that these need."""
        return self.reachable([layer.id for layer in self.layers.values() if _is_end(layer)])

    def reachable(self, ends: Iterable[str]) -> set[str]:
        """Return the ids of these layers and of the layers that they depend on."""
        found = set(ends)
        pending = list(found)
        while pending:
            for place in self.inputs(self.layers[pending.pop()]):
                source = self.sources.get(place)
                if source is not None and source.layer not in found and source.layer in self.layers:
                    found.add(source.layer)
                    pending.append(source.layer)
        return found

    def inputs(self, layer: Layer) -> list[LayerPort]:
        """Return the input ports of a layer."""
        return [LayerPort(layer.id, port.id) for port in layer.inputs]

    def readers(self, value: LayerPort) -> list[LayerPort]:
        """Return the input ports that read an output port."""
        return [target for target, source in self.sources.items() if source == value]

    def new_id(self) -> int:
        """Return an id that no layer has or had."""
        self._next_id += 1
        return self._next_id - 1

    def new_name(self, name: str) -> str:
        """Return the name, or a similar one that no layer has."""
        return unused_name(name, {layer.name for layer in self.layers.values()})

    def put(self, layer: Layer) -> None:
        """Replace the layer with this id by a changed one."""
        self.layers[layer.id] = layer

    def put_after(self, layers: Iterable[Layer], ids: Iterable[str]) -> None:
        """Add layers directly after the last of the layers with these ids."""
        wanted = set(ids)
        order = list(self.layers.values())
        place = max((index for index, one in enumerate(order) if one.id in wanted), default=-1) + 1
        self.layers = {one.id: one for one in (*order[:place], *layers, *order[place:])}

    def drop(self, id: str) -> None:
        """Remove a layer, and the edges to its inputs."""
        for place in self.inputs(self.layers.pop(id)):
            self.sources.pop(place, None)

    def layer(self, name: str) -> Layer:
        """Return the layer of this name; EvaluationError (IR705) if there is none, GraphError if there are several."""
        found = [layer for layer in self.layers.values() if layer.name == name]
        path_name = f"{self.path}{name}"
        if len(found) > 1:
            raise GraphError(f"{len(found)} layers are named {path_name!r}", code=Code.duplicate_layer_name)
        if not found:
            known = [f"{self.path}{layer.name}" for layer in self.layers.values()]
            hint = suggested(path_name, known)
            raise EvaluationError(f"there is no layer {path_name!r}", code=Code.unknown_input, hint=hint)
        return found[0]

    def value(self, name: str) -> LayerPort:
        """Return the value with this tensor name, output name, layer name (with one output) or `layer:1`.

        Raises:
            EvaluationError: IR705 if there is none.
        """
        places = dict(self._named_values())
        found = places.get(name)
        if found is None:
            path_name = f"{self.path}{name}"
            hint = suggested(path_name, [f"{self.path}{known}" for known in places])
            raise EvaluationError(f"there is no layer or tensor {path_name!r}", code=Code.unknown_input, hint=hint)
        return found

    def names(self) -> set[str]:
        """Return all names of layers and values."""
        return {layer.name for layer in self.layers.values()} | dict(self._named_values()).keys()

    def _named_values(self) -> Iterator[tuple[str, LayerPort]]:
        """Yield every name of a value; for a name of several values the last one counts."""
        for layer in self.layers.values():
            for position, port in enumerate(layer.outputs):
                place = LayerPort(layer.id, port.id)
                yield f"{layer.name}:{position}", place
                if len(layer.outputs) == 1:
                    yield layer.name, place
        for layer in self.layers.values():
            source = self.sources.get(self.inputs(layer)[0]) if layer.is_result and layer.inputs else None
            if source is not None:
                yield from ((name, source) for name in (layer.name, *layer.output_names))
        for layer in self.layers.values():
            for port in layer.outputs:
                yield from ((name, LayerPort(layer.id, port.id)) for name in port.names)
