"""Networks side by side: which layer of one stands for which of another."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

from ir_exec.debug.entries import Entry
from ir_exec.debug.matching import matched
from ir_exec.view.data import GraphView, LayerView, Link, NetworkView
from ir_exec.view.foreign import execution_graph, is_execution_graph, onnx_network
from ir_exec.view.networks import network_view, open_network

__all__ = ["links_between", "network_beside"]

MadeOf = Mapping[str, tuple[str, ...]]
"""For layers, by their keys, the names of the layers of another network that they were made of."""


def network_beside(path: str | os.PathLike[str]) -> tuple[NetworkView, MadeOf]:
    """A network of any form: an IR, an execution graph of OpenVINO, or an ONNX file.

    Raises what reading it raises.
    """
    place = Path(path)
    if place.suffix.lower() == ".onnx":
        return onnx_network(place), {}
    if is_execution_graph(place):
        return execution_graph(place)
    opened = open_network(os.fspath(path))
    made_of = {}
    for node, key in opened.places.keys.items():
        for mark in node.layer.rt_info.children:
            if mark.attributes.get("name") == "fused_names":
                made_of[key] = tuple(mark.attributes.get("value", "").split(","))
    return network_view(opened), made_of


def links_between(first: NetworkView, other: NetworkView, made_of: MadeOf, index: int) -> tuple[Link, ...]:
    """The links from the first network to network number `index`, one to many where layers were fused or split."""
    ours, theirs = dict(_entries(first.graph)), dict(_entries(other.graph))
    keys = {entry.key: key for key, entry in (*_ports(first.graph),)}
    their_keys = {entry.key: key for key, entry in (*_ports(other.graph),)}
    found: dict[str, dict[str, None]] = defaultdict(dict)
    by_name = {entry.layer_name: key for key, entry in ours.items()}
    for key, names in made_of.items():
        for name in names:
            if name in by_name and key in theirs:
                found[by_name[name]][key] = None
    taken = {key for others in found.values() for key in others}
    mine = [entry for _, entry in _ports(first.graph)]
    for value, partner in matched(mine, [entry for _, entry in _ports(other.graph)]).items():
        key, their_key = keys[value], their_keys[partner.key]
        # What OpenVINO tells of its layers is better than what names and positions do.
        if not (their_key in taken or key in found):
            found[key][their_key] = None
    if made_of:
        _fused_into_readers(first.graph, found)
    return tuple([Link(network=index, layer=key, others=tuple(others)) for key, others in found.items() if others])


def _fused_into_readers(graph: GraphView, found: dict[str, dict[str, None]]) -> None:
    """Layers that no layer of the other network names went, as all that reads them did, into one layer there."""
    readers: dict[int, list[str]] = defaultdict(list)
    for layer in graph.layers:
        for read in layer.inputs:
            if read.layer is not None:
                readers[read.layer].append(layer.key)
    for position, layer in reversed(list(enumerate(graph.layers))):
        below = [tuple(found.get(key, ())) for key in readers[position]]
        if layer.key not in found and not layer.constant and below and len(below[0]) == 1 and len(set(below)) == 1:
            found[layer.key] = dict.fromkeys(below[0])


def _entries(graph: GraphView) -> Iterator[tuple[str, Entry]]:
    """The first value of each layer, by its key."""
    for key, entry in _ports(graph):
        if entry.port == 0:
            yield key, entry


def _ports(graph: GraphView, scope: tuple[str, ...] = ()) -> Iterator[tuple[str, Entry]]:
    """Every value, by the key of its layer; Results as values of their own."""
    for layer in graph.layers:
        for body in layer.bodies:
            yield from _ports(body.graph, (*scope, layer.name, body.name))
        for port in range(max(len(layer.outputs), 1)):
            yield layer.key, _entry(layer, scope, port)


def _entry(layer: LayerView, scope: tuple[str, ...], port: int) -> Entry:
    output = layer.outputs[port] if layer.outputs else None
    type = "" if output is None else output.inferred or output.declared
    element_type, _, shape = type.partition("[")
    return Entry(
        scope,
        layer.key,
        layer.name,
        {"Input": "Parameter", "Output": "Result", "Constant": "Const"}.get(layer.type, layer.type),
        port,
        max(len(layer.outputs), 1),
        () if output is None else output.names,
        element_type=element_type if element_type in ("f32", "f16", "i64", "i32", "i8", "u8", "boolean") else None,
        shape=f"[{shape}" if shape else None,
    )
