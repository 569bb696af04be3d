"""Layers with a body or with state: TensorIterator and Memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ir_exec import build
from ir_exec.build import Collected, Sliced, Value
from ir_exec.codes import Code
from ir_exec.errors import GraphError, Location
from ir_exec.ir import PortMapEntry
from ir_exec.ir.older_document import OlderBody
from ir_exec.older.call import LayerCall
from ir_exec.older.registry import older_layer
from ir_exec.older.values import vector

__all__: list[str] = []

Key = tuple[str, str]

_Ended = tuple[int, Key, PortMapEntry]
"""The position of an output, the port of the body that produces it, and its entry in the port map."""

_Iteration = Callable[..., tuple[list[Value], list[Collected]]]


@older_layer("Memory")
def memory(layer: LayerCall, *values: Value) -> Value:
    """A variable: without inputs its value, zeros in the first run; with an input its value for the next run.

    Layers with equal `id` are one variable. Source: mkldnn_memory_node.cpp.
    """
    variable = layer.text("id")
    if not values:
        dims = layer.declared_dims()
        if dims is None:
            raise GraphError("the output of a Memory declares no dims", code=Code.missing_markup)
        zeros = build.constant(np.float32(0))
        return build.read_value(build.broadcast(zeros, vector(*dims)), variable)
    return build.assign(values[0], variable)


@older_layer("TensorIterator")
def tensor_iterator(layer: LayerCall, *values: Value) -> list[Value]:
    """A body that runs for each slice of an input.

    Port maps and back edges refer to ports of layers in the body, `internal_layer_id` and `internal_port_id`: the input
    port that receives a value, and the output port that produces one.
    """
    body = layer.layer.bodies[0] if layer.layer.bodies else None
    if body is None:
        raise GraphError("the layer has no body", code=Code.missing_markup)
    return _OlderIteration(layer, body, values).lower()


class _OlderIteration:
    """A TensorIterator while it is lowered."""

    def __init__(self, layer: LayerCall, body: OlderBody, values: Sequence[Value]) -> None:
        self._layer = layer
        self._body = body
        ids = [port.id for port in layer.layer.inputs]
        outer = dict(zip(ids, values, strict=True))
        self._places = {port.id: position for position, port in enumerate(layer.layer.outputs)}
        self._after = {self._to(edge.to_layer, edge.to_port): edge for edge in body.back_edges}
        self._initial: dict[Key, Value] = {}
        self._parts: dict[Key, Sliced] = {}
        self._fixed: dict[Key, Value] = {}
        self._results: list[_Ended] = []
        for entry in body.port_map:
            key = self._to(entry.internal_layer_id, entry.internal_port_id)
            location = Location(line=entry.line)
            if entry.direction == "output":
                if str(entry.external_port_id) not in self._places:
                    raise self._no_port(entry)
                self._results.append((self._places[str(entry.external_port_id)], key, entry))
                continue
            if str(entry.external_port_id) not in outer:
                raise self._no_port(entry)
            value = outer[str(entry.external_port_id)]
            if entry.axis is not None and entry.axis >= 0:
                self._parts[key] = Sliced(value, entry.axis, *_range(entry))
            elif key in self._after:
                self._initial[key] = value
            else:
                self._fixed[key] = value
            if entry.axis is not None and entry.axis >= 0 and key in self._after:
                message = "a back edge enters a sliced input"
                raise GraphError(message, code=Code.body_port_map, location=location)
        missing = [key for key in self._after if key not in self._initial]
        if missing:
            message = f"a back edge enters port {missing[0][1]} of layer {missing[0][0]}, but no input is mapped to it"
            raise GraphError(message, code=Code.body_port_map, location=Location(line=self._after[missing[0]].line))

    def lower(self) -> list[Value]:
        """The outputs of the layer, in the order of its ports."""
        collected = [result for result in self._results if result[2].axis is not None and result[2].axis >= 0]
        last = [result for result in self._results if result not in collected]
        results = build.tensor_iterator(
            self._body_function(collected, last),
            carried=list(self._initial.values()),
            sliced=list(self._parts.values()),
        )
        carried, remaining = results[: len(self._initial)], list(results[len(self._initial) :])
        sources = [self._from(self._after[key].from_layer, self._after[key].from_port) for key in self._initial]
        outputs: dict[int, Value] = {}
        for index, _, _ in collected:
            outputs[index] = remaining.pop(0)
        for index, key, _ in last:
            if key in sources:
                outputs[index] = carried[sources.index(key)]
            else:
                final = build.gather(remaining.pop(0), vector(-1), vector(0))
                outputs[index] = build.squeeze(final, vector(0))
        if sorted(outputs) != list(range(len(self._places))):
            raise GraphError("no port of the body is mapped to an output port", code=Code.body_port_map)
        return [outputs[index] for index in sorted(outputs)]

    def _body_function(self, collected: Sequence[_Ended], last: Sequence[_Ended]) -> _Iteration:
        sources = [self._from(self._after[key].from_layer, self._after[key].from_port) for key in self._initial]

        def lower_iteration(*tensors: Value) -> tuple[list[Value], list[Collected]]:
            inner: dict[Key, Value] = dict(zip((*self._initial, *self._parts), tensors, strict=True))
            requested = [*sources, *(key for _, key, _ in self._results)]
            lowered = self._layer.lower_body(self._body, {**self._fixed, **inner}, requested)
            values = lowered.values
            after = [_value(values, key) for key in sources]
            parts = [Collected(_value(values, key), entry.axis or 0, *_range(entry)) for _, key, entry in collected]
            for _, key, _ in last:
                if key not in sources:
                    parts.append(Collected(build.unsqueeze(_value(values, key), vector(0)), 0))
            return after, parts

        return lower_iteration

    def _to(self, layer_id: str, port_id: str | None) -> Key:
        return layer_id, port_id if port_id is not None else self._only_port(layer_id)

    def _from(self, layer_id: str, port_id: str | None) -> Key:
        return layer_id, port_id if port_id is not None else self._only_port(layer_id)

    def _only_port(self, layer_id: str) -> str:
        """The first output port of a layer of the body, or its first input port."""
        match = next((layer for layer in self._body.layers if layer.id == layer_id), None)
        ports = (match.outputs or match.inputs) if match is not None else ()
        return ports[0].id if ports else "0"

    def _no_port(self, entry: PortMapEntry) -> GraphError:
        message = f"the layer has no {entry.direction} port {entry.external_port_id}"
        return GraphError(message, code=Code.body_port_map, location=Location(line=entry.line))


def _value(values: Mapping[Key, Value], key: Key) -> Value:
    value = values.get(key)
    if value is None:
        message = f"port {key[1]} of layer {key[0]} of the body has no value"
        raise GraphError(message, code=Code.body_port_map)
    return value


def _range(entry: PortMapEntry) -> tuple[int, int, int, int]:
    start = 0 if entry.start is None else entry.start
    end = -1 if entry.end is None else entry.end
    return start, end, entry.stride or 1, entry.part_size or 1
