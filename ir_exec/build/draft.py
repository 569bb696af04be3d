"""A model or body during editing: its layers in order, the source of each input port, and indexes of both.

An edit costs as much in a model of a hundred thousand layers as in one of ten: nothing here scans the layers except the
functions that return all of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, MutableMapping
from typing import NamedTuple, TypeVar

from ir_exec.build.network import edge
from ir_exec.codes import Code
from ir_exec.errors import EvaluationError, GraphError
from ir_exec.hints import suggested
from ir_exec.ir import Edge, Layer
from ir_exec.ops.base.registry import newest
from ir_exec.ops.infrastructure.values import AssignsVariable

__all__ = ["Connections", "LayerDraft", "LayerPort", "OrderedLayers", "unused_name"]

Key = TypeVar("Key")

GAP = 2**32
"""The distance between the ranks of neighboring layers, for layers inserted between them."""


class LayerPort(NamedTuple):
    """A port of a layer, by the ids of both."""

    layer: str
    port: str


def unused_name(name: str, names: Collection[str]) -> str:
    """Return the name, or a similar one that is not taken."""
    number = 0
    candidate = name
    while candidate in names:
        number += 1
        candidate = f"{name}_{number}"
    return candidate


def _is_end(layer: Layer) -> bool:
    """Return True for inputs and outputs of a graph, and for Assigns, which are needed without readers."""
    if layer.is_parameter or layer.is_result:
        return True
    cls = newest(layer.type)
    return cls is not None and issubclass(cls, AssignsVariable)


class OrderedLayers(Mapping[str, Layer]):
    """The layers of a file by their ids, in their order; a layer is inserted in constant time.

    Each layer has a rank, a number that grows with the order and leaves a gap for layers inserted later.
    """

    def __init__(self, layers: Iterable[Layer]) -> None:
        self._layers = {layer.id: layer for layer in layers}
        self._ranks = {id: GAP * position for position, id in enumerate(self._layers)}
        ids: list[str | None] = [*self._layers, None]
        self._next = dict(zip(self._layers, ids[1:], strict=True))
        self._first = ids[0]
        self._last = next(reversed(self._layers), None)

    def __getitem__(self, id: str) -> Layer:
        return self._layers[id]

    def __contains__(self, id: object) -> bool:
        return id in self._layers

    def __len__(self) -> int:
        return len(self._layers)

    def __iter__(self) -> Iterator[str]:
        id = self._first
        while id is not None:
            if id in self._layers:
                yield id
            id = self._next[id]

    @property
    def last(self) -> str | None:
        """The id of the last position, whose layer may be removed; None if there was no layer."""
        return self._last

    def rank(self, id: str) -> int:
        """Return a number that grows with the position of the layers."""
        return self._ranks[id]

    def replace(self, layer: Layer) -> None:
        """Replace the layer with this id; its position is unchanged."""
        self._layers[layer.id] = layer

    def insert(self, layer: Layer, after: str | None) -> None:
        """Add a layer directly after another one, or as the first one."""
        following = self._first if after is None else self._next[after]
        start = self._ranks[after] if after is not None else (self._ranks[following] - 2 * GAP if following else 0)
        end = self._ranks[following] if following is not None else start + 2 * GAP
        if end - start < 2:
            self._spread_ranks()
            self.insert(layer, after)
            return
        self._layers[layer.id] = layer
        self._ranks[layer.id] = (start + end) // 2
        self._next[layer.id] = following
        if after is None:
            self._first = layer.id
        else:
            self._next[after] = layer.id
        if following is None:
            self._last = layer.id

    def _spread_ranks(self) -> None:
        """Number the layers again, for a place where the gap is used up."""
        id, position = self._first, 0
        while id is not None:
            self._ranks[id] = GAP * position
            id, position = self._next[id], position + 1

    def remove(self, id: str) -> Layer:
        """Remove a layer and return it. Its position remains in the list, as its id is not used again."""
        return self._layers.pop(id)


class Connections(MutableMapping[LayerPort, LayerPort]):
    """By input port, the output port that it reads; with the readers of each output port."""

    def __init__(self, sources: Iterable[tuple[LayerPort, LayerPort]]) -> None:
        self._sources: dict[LayerPort, LayerPort] = {}
        self._readers: dict[LayerPort, dict[LayerPort, int]] = {}
        self._numbers: dict[LayerPort, int] = {}
        self._next_number = 0
        for target, source in sources:
            self[target] = source

    def __getitem__(self, target: LayerPort) -> LayerPort:
        return self._sources[target]

    def __setitem__(self, target: LayerPort, source: LayerPort) -> None:
        former = self._sources.get(target)
        if former is None:
            self._numbers[target] = self._next_number
            self._next_number += 1
        else:
            del self._readers[former][target]
        self._sources[target] = source
        self._readers.setdefault(source, {})[target] = self._numbers[target]

    def __delitem__(self, target: LayerPort) -> None:
        del self._readers[self._sources.pop(target)][target]
        del self._numbers[target]

    def __iter__(self) -> Iterator[LayerPort]:
        return iter(self._sources)

    def __len__(self) -> int:
        return len(self._sources)

    def readers(self, source: LayerPort) -> list[LayerPort]:
        """Return the input ports that read an output port, in the order in which they were connected first."""
        numbers = self._readers.get(source, {})
        return sorted(numbers, key=numbers.__getitem__)


class _LayerIndex:
    """The ids of layers and the ports by their names, and the ids of the Parameters."""

    def __init__(self) -> None:
        self.parameters: dict[str, None] = {}
        self.layers: dict[str, dict[str, None]] = {}
        self.outputs: dict[str, dict[str, None]] = {}
        self.tensors: dict[str, dict[LayerPort, None]] = {}

    def add(self, layer: Layer) -> None:
        if layer.is_parameter:
            self.parameters[layer.id] = None
        self.layers.setdefault(layer.name, {})[layer.id] = None
        for name in layer.output_names:
            self.outputs.setdefault(name, {})[layer.id] = None
        for port in layer.outputs:
            for name in port.names:
                self.tensors.setdefault(name, {})[LayerPort(layer.id, port.id)] = None

    def remove(self, layer: Layer) -> None:
        self.parameters.pop(layer.id, None)
        _discard(self.layers, layer.name, layer.id)
        for name in layer.output_names:
            _discard(self.outputs, name, layer.id)
        for port in layer.outputs:
            for name in port.names:
                _discard(self.tensors, name, LayerPort(layer.id, port.id))


def _discard(index: dict[str, dict[Key, None]], name: str, key: Key) -> None:
    keys = index.get(name)
    if keys is not None:
        keys.pop(key, None)
        if not keys:
            del index[name]


class LayerDraft:
    """The layers of a graph that is being edited.

    Attributes:
        path: The prefix for names of its layers in messages, `loop/body/` for layers of a body.
        layers: The layers by their ids, in the order of the file.
        sources: By input port, the output port that it reads.
    """

    def __init__(self, layers: Iterable[Layer], edges: Iterable[Edge], path: str = "") -> None:
        self.path = path
        self._next_id = 0
        self.become(layers, edges)

    def become(self, layers: Iterable[Layer], edges: Iterable[Edge]) -> None:
        """Replace the content by these layers; ids of earlier layers are not used again."""
        self.layers = OrderedLayers(layers)
        self.sources = Connections(
            (LayerPort(edge.to_layer, edge.to_port), LayerPort(edge.from_layer, edge.from_port)) for edge in edges
        )
        self._index = _LayerIndex()
        for layer in self.layers.values():
            self._index.add(layer)
        self._next_numbers: dict[str, int] = {}
        self._next_id = max([self._next_id, *(int(id) + 1 for id in self.layers)])
        # Layers that were unneeded in the file are kept.
        self._unneeded = self.layers.keys() - self.needed_ids()

    def content(self) -> tuple[tuple[Layer, ...], tuple[Edge, ...]]:
        """Return the current layers and edges, without layers that an edit has made unneeded."""
        retained = self.needed_ids() | (self._unneeded & self.layers.keys())
        layers = tuple([layer for layer in self.layers.values() if layer.id in retained])
        edges = tuple([edge(*source, *target) for target, source in self.sources.items() if target.layer in retained])
        return layers, edges

    def needed_ids(self) -> set[str]:
        """Return the ids of the inputs, the outputs, the Assigns, and of all layers that these need."""
        return self.reachable([layer.id for layer in self.layers.values() if _is_end(layer)])

    def reachable(self, ends: Iterable[str]) -> set[str]:
        """Return the ids of these layers and of the layers that they depend on."""
        ids = set(ends)
        pending = list(ids)
        while pending:
            for port in self.inputs(self.layers[pending.pop()]):
                source = self.sources.get(port)
                if source is not None and source.layer not in ids and source.layer in self.layers:
                    ids.add(source.layer)
                    pending.append(source.layer)
        return ids

    def inputs(self, layer: Layer) -> list[LayerPort]:
        """Return the input ports of a layer."""
        return [LayerPort(layer.id, port.id) for port in layer.inputs]

    def readers(self, value: LayerPort) -> list[LayerPort]:
        """Return the input ports that read an output port."""
        return self.sources.readers(value)

    def new_id(self) -> int:
        """Return an id that no layer has or had."""
        self._next_id += 1
        return self._next_id - 1

    def new_name(self, name: str) -> str:
        """Return the name, or a similar one that no layer has."""
        if name not in self._index.layers:
            return name
        number = self._next_numbers.get(name, 1)
        while f"{name}_{number}" in self._index.layers:
            number += 1
        self._next_numbers[name] = number
        return f"{name}_{number}"

    def put(self, layer: Layer) -> None:
        """Replace the layer with this id by a changed one."""
        self._index.remove(self.layers[layer.id])
        self._index.add(layer)
        self.layers.replace(layer)

    def put_after(self, layers: Iterable[Layer], ids: Iterable[str]) -> None:
        """Add layers directly after the last of the layers with these ids, or as the first ones."""
        self._insert(layers, max((id for id in ids if id in self.layers), key=self.layers.rank, default=None))

    def put_after_parameters(self, layers: Iterable[Layer]) -> None:
        """Add layers directly after the last Parameter, or as the first ones."""
        self.put_after(layers, self._index.parameters)

    def append(self, layers: Iterable[Layer]) -> None:
        """Add layers after all others."""
        self._insert(layers, self.layers.last)

    def _insert(self, layers: Iterable[Layer], last: str | None) -> None:
        for layer in layers:
            self.layers.insert(layer, last)
            self._index.add(layer)
            last = layer.id

    def drop(self, id: str) -> None:
        """Remove a layer, and the edges to its inputs."""
        layer = self.layers.remove(id)
        self._index.remove(layer)
        for port in self.inputs(layer):
            self.sources.pop(port, None)

    def parameters(self) -> list[Layer]:
        """Return the Parameters, in the order of the file."""
        return self._in_order(self._index.parameters)

    def find_layers(self, name: str) -> list[Layer]:
        """Return the layers with this name, in the order of the file."""
        return self._in_order(self._index.layers.get(name, ()))

    def find_enclosing_layers(self, name: str) -> list[Layer]:
        """Return the layers whose name is a part of `name` before a slash, in the order of the file."""
        parts = [name[:position] for position, character in enumerate(name) if character == "/"]
        return self._in_order({id for part in parts for id in self._index.layers.get(part, ())})

    def find_by_any_name(self, name: str) -> list[Layer]:
        """Return the layers with this name, with an output of this name, or with a tensor of this name, in order."""
        ids = {*self._index.layers.get(name, ()), *self._index.outputs.get(name, ())}
        return self._in_order(ids | {port.layer for port in self._index.tensors.get(name, ())})

    def has_tensor(self, name: str) -> bool:
        """Return True if a value has this tensor name."""
        return name in self._index.tensors

    def has_name(self, name: str) -> bool:
        """Return True if a layer or a value has this name."""
        return name in self._index.layers or self._find_value(name) is not None

    def _in_order(self, ids: Iterable[str]) -> list[Layer]:
        return [self.layers[id] for id in sorted(ids, key=self.layers.rank)]

    def layer(self, name: str) -> Layer:
        """Return the layer of this name; EvaluationError (IR705) if there is none, GraphError if there are several."""
        layers = self.find_layers(name)
        path_name = f"{self.path}{name}"
        if len(layers) > 1:
            raise GraphError(f"{len(layers)} layers are named {path_name!r}", code=Code.duplicate_layer_name)
        if not layers:
            names = [f"{self.path}{layer.name}" for layer in self.layers.values()]
            hint = suggested(path_name, names)
            raise EvaluationError(f"there is no layer {path_name!r}", code=Code.unknown_input, hint=hint)
        return layers[0]

    def value(self, name: str) -> LayerPort:
        """Return the value with this tensor name, output name, layer name (with one output) or `layer:1`.

        Raises:
            EvaluationError: IR705 if there is none.
        """
        port = self._find_value(name)
        if port is None:
            path_name = f"{self.path}{name}"
            hint = suggested(path_name, [f"{self.path}{other}" for other in self._value_names()])
            raise EvaluationError(f"there is no layer or tensor {path_name!r}", code=Code.unknown_input, hint=hint)
        return port

    def _find_value(self, name: str) -> LayerPort | None:
        """Return the last value with this tensor name, else output name, else name of a layer."""
        ports = self._index.tensors.get(name)
        if ports:
            return max(ports, key=lambda port: (self.layers.rank(port.layer), self._position(port)))
        for layer in reversed(self._in_order({*self._index.outputs.get(name, ()), *self._index.layers.get(name, ())})):
            source = self.sources.get(self.inputs(layer)[0]) if layer.is_result and layer.inputs else None
            if source is not None:
                return source
        candidates = [(layer, 0) for layer in self.find_layers(name) if len(layer.outputs) == 1]
        layer_name, colon, text = name.rpartition(":")
        for layer in self.find_layers(layer_name) if colon else ():
            candidates += [(layer, position) for position in range(len(layer.outputs)) if text == str(position)]
        if not candidates:
            return None
        layer, position = max(candidates, key=lambda candidate: self.layers.rank(candidate[0].id))
        return LayerPort(layer.id, layer.outputs[position].id)

    def _position(self, port: LayerPort) -> int:
        """Return the position of an output port."""
        return [output.id for output in self.layers[port.layer].outputs].index(port.port)

    def names(self) -> set[str]:
        """Return all names of layers and values."""
        return {layer.name for layer in self.layers.values()} | {*self._value_names()}

    def _value_names(self) -> list[str]:
        """Return every name of a value."""
        names: dict[str, None] = {}
        for layer in self.layers.values():
            names |= dict.fromkeys(f"{layer.name}:{position}" for position in range(len(layer.outputs)))
            if len(layer.outputs) == 1 or (layer.is_result and layer.inputs):
                names[layer.name] = None
            names |= dict.fromkeys(layer.output_names)
            names |= dict.fromkeys(name for port in layer.outputs for name in port.names)
        return list(names)
