"""Ways to break a valid file in one place, each with the layer that is then at fault."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import TypeAlias

from lxml import etree

__all__ = ["MUTATIONS", "Mutation"]

Element: TypeAlias = etree._Element

Mutation: TypeAlias = Callable[[Element, Random], Element | None]
"""Changes the tree and returns the layer at fault, or None where the choice would not have broken anything."""

MUTATIONS: dict[str, Mutation] = {}


def mutation(function: Mutation) -> Mutation:
    MUTATIONS[function.__name__] = function
    return function


def layers(net: Element, *types: str) -> list[Element]:
    return [layer for layer in net.iterfind("layers/layer") if not types or layer.get("type") in types]


def layer_of(net: Element, id: str | None) -> Element:
    return next(layer for layer in layers(net) if layer.get("id") == id)


def ports(net: Element, side: str) -> list[tuple[Element, Element]]:
    """Layers with their ports; only outputs that some layer takes, since nothing else tells their rank."""
    taken = {(edge.get("from-layer"), edge.get("from-port")) for edge in net.iterfind("edges/edge")}
    return [
        (layer, port)
        for layer in layers(net)
        for port in layer.iterfind(f"{side}/port")
        if side == "input" or (layer.get("id"), port.get("id")) in taken
    ]


def data(layer: Element) -> Element:
    found = layer.find("data")
    assert found is not None
    return found


def _dim(net: Element, random: Random, side: str) -> Element:
    choices = [(layer, dim) for layer, port in ports(net, side) for dim in port.iterfind("dim") if dim.text != "-1"]
    layer, dim = random.choice(choices)
    dim.text = str(int(dim.text or "") + random.choice([1, 2, 5]))
    return layer


def _rank(net: Element, random: Random, side: str) -> Element:
    layer, port = random.choice([(layer, port) for layer, port in ports(net, side) if port.find("dim") is not None])
    if random.random() < 0.5:
        etree.SubElement(port, "dim").text = "1"
    else:
        port.remove(port.findall("dim")[-1])
    return layer


def _precision(net: Element, random: Random, side: str) -> Element:
    layer, port = random.choice(ports(net, side))
    others = [name for name in ("FP32", "I64", "I32", "FP16", "BOOL", "U8") if name != port.get("precision")]
    port.set("precision", random.choice(others))
    return layer


@mutation
def input_dim(net: Element, random: Random) -> Element | None:
    return _dim(net, random, "input")


@mutation
def output_dim(net: Element, random: Random) -> Element | None:
    return _dim(net, random, "output")


@mutation
def input_rank(net: Element, random: Random) -> Element | None:
    return _rank(net, random, "input")


@mutation
def output_rank(net: Element, random: Random) -> Element | None:
    return _rank(net, random, "output")


@mutation
def input_precision(net: Element, random: Random) -> Element | None:
    return _precision(net, random, "input")


@mutation
def output_precision(net: Element, random: Random) -> Element | None:
    return _precision(net, random, "output")


@mutation
def edge_from_another_layer(net: Element, random: Random) -> Element | None:
    edges = net.findall("edges/edge")
    edge, other = random.choice(edges), random.choice(edges)

    def signature(end: Element) -> tuple[str | None, list[str | None]]:
        source = layer_of(net, end.get("from-layer"))
        port = next(port for port in source.iterfind("output/port") if port.get("id") == end.get("from-port"))
        return port.get("precision"), [dim.text for dim in port.iterfind("dim")]

    mine, theirs = signature(edge), signature(other)
    clear = mine[0] != theirs[0] or (len(mine[1]) != len(theirs[1]) and mine[1] and theirs[1])
    forward = int(other.get("from-layer", "")) < int(edge.get("to-layer", ""))
    if not clear or not forward:
        return None
    edge.set("from-layer", other.get("from-layer", ""))
    edge.set("from-port", other.get("from-port", ""))
    return layer_of(net, edge.get("to-layer"))


@mutation
def edge_removed(net: Element, random: Random) -> Element | None:
    edges = net.find("edges")
    assert edges is not None
    edge = random.choice(edges.findall("edge"))
    edges.remove(edge)
    return layer_of(net, edge.get("to-layer"))


@mutation
def edge_to_no_port(net: Element, random: Random) -> Element | None:
    edge = random.choice(net.findall("edges/edge"))
    edge.set("to-port", "77")
    return layer_of(net, edge.get("to-layer"))


@mutation
def edge_from_no_layer(net: Element, random: Random) -> Element | None:
    edge = random.choice(net.findall("edges/edge"))
    edge.set("from-layer", "99999")
    return layer_of(net, edge.get("to-layer"))


@mutation
def unknown_type(net: Element, random: Random) -> Element | None:
    layer = random.choice([layer for layer in layers(net) if layer.get("type") != "Result"])
    layer.set("type", "Nonesuch")
    return layer


@mutation
def unknown_opset(net: Element, random: Random) -> Element | None:
    layer = random.choice(layers(net))
    layer.set("version", "opset99")
    return layer


@mutation
def constant_offset(net: Element, random: Random) -> Element | None:
    layer = random.choice([layer for layer in layers(net, "Const") if data(layer).get("shape") != "0"])
    data(layer).set("offset", "1000000000")
    return layer


@mutation
def constant_size(net: Element, random: Random) -> Element | None:
    layer = random.choice(layers(net, "Const"))
    data(layer).set("size", str(int(data(layer).get("size", "")) + 4))
    return layer


@mutation
def constant_shape(net: Element, random: Random) -> Element | None:
    layer = random.choice(layers(net, "Const"))
    shape = data(layer).get("shape")
    data(layer).set("shape", f"{shape},2" if shape else "2")
    return layer


@mutation
def constant_element_type(net: Element, random: Random) -> Element | None:
    layer = random.choice(layers(net, "Const"))
    same_width = {"f32": "i32", "i32": "f32", "i64": "f64", "u4": "i4", "f16": "bf16"}
    data(layer).set("element_type", same_width.get(data(layer).get("element_type", ""), "f64"))
    return layer


@mutation
def parameter_shape(net: Element, random: Random) -> Element | None:
    layer = random.choice(layers(net, "Parameter"))
    data(layer).set("shape", data(layer).get("shape", "") + ",2")
    return layer


@mutation
def parameter_element_type(net: Element, random: Random) -> Element | None:
    layer = random.choice(layers(net, "Parameter"))
    data(layer).set("element_type", "f64")
    return layer


@mutation
def attribute_missing(net: Element, random: Random) -> Element | None:
    needed = [("Parameter", "shape"), ("Const", "offset"), ("GatherElements", "axis"), ("Concat", "axis")]
    type, name = random.choice(needed)
    found = layers(net, type)
    if not found:
        return None
    layer = random.choice(found)
    del data(layer).attrib[name]
    return layer


@mutation
def attribute_unreadable(net: Element, random: Random) -> Element | None:
    layer = random.choice(layers(net, "Parameter", "Const", "GatherElements", "Concat", "Split", "Convert", "TopK"))
    name = random.choice(sorted(map(str, data(layer).keys())))
    data(layer).set(name, "banana")
    return layer


@mutation
def destination_type(net: Element, random: Random) -> Element | None:
    found = layers(net, "Convert")
    if not found:
        return None
    layer = random.choice(found)
    data(layer).set("destination_type", "f64")
    return layer
