"""Ways to break a valid file in one place, each with the layer that is then at fault."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import TypeAlias

from lxml import etree

from ir_exec.ops.base.registry import resolve

__all__ = ["MUTATIONS", "Mutation"]

Element: TypeAlias = etree._Element

Mutation: TypeAlias = Callable[[Element, Random], Element | list[Element] | None]
"""Changes the tree and returns the layer at fault, or the layers of which one is; None where nothing was broken."""

MUTATIONS: dict[str, Mutation] = {}


def mutation(function: Mutation) -> Mutation:
    MUTATIONS[function.__name__] = function
    return function


def layers(net: Element, *types: str) -> list[Element]:
    return [layer for layer in net.iterfind("layers/layer") if not types or layer.get("type") in types]


def layer_of(net: Element, id: str | None) -> Element:
    return next(layer for layer in layers(net) if layer.get("id") == id)


def ports(net: Element, side: str) -> list[tuple[Element, Element]]:
    """Layers with their ports; only outputs with a reader, since only readers fix their rank."""
    connected = {(edge.get("from-layer"), edge.get("from-port")) for edge in net.iterfind("edges/edge")}
    return [
        (layer, port)
        for layer in layers(net)
        for port in layer.iterfind(f"{side}/port")
        if side == "input" or (layer.get("id"), port.get("id")) in connected
    ]


def data(layer: Element) -> Element:
    element = layer.find("data")
    assert element is not None
    return element


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
    # A larger size is read, with a warning.
    data(layer).set("size", str(int(data(layer).get("size", "")) // 2))
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
    layer = random.choice([layer for layer in layers(net, "Parameter") if data(layer).get("element_type") != "f64"])
    data(layer).set("element_type", "f64")
    return layer


@mutation
def attribute_missing(net: Element, random: Random) -> Element | None:
    needed = [("Parameter", "shape"), ("Const", "offset"), ("GatherElements", "axis"), ("Concat", "axis")]
    type, name = random.choice(needed)
    candidates = layers(net, type)
    if not candidates:
        return None
    layer = random.choice(candidates)
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
    layer = random.choice([layer for layer in layers(net, "Convert") if data(layer).get("destination_type") != "f64"])
    data(layer).set("destination_type", "f64")
    return layer


@mutation
def negative_dim(net: Element, random: Random) -> Element | None:
    side = random.choice(["input", "output"])
    layer, port = random.choice([(layer, port) for layer, port in ports(net, side) if port.find("dim") is not None])
    random.choice(port.findall("dim")).text = "-3"
    return layer


@mutation
def unreadable_dim(net: Element, random: Random) -> Element | None:
    layer, port = random.choice([(layer, port) for layer, port in ports(net, "input") if port.find("dim") is not None])
    random.choice(port.findall("dim")).text = random.choice(["x", "", "1.5", "9" * 30])
    return layer


@mutation
def precision_of_no_type(net: Element, random: Random) -> Element | None:
    layer, port = random.choice(ports(net, random.choice(["input", "output"])))
    port.set("precision", "FP33")
    return layer


@mutation
def precision_left_out(net: Element, random: Random) -> Element | None:
    layer, port = random.choice(ports(net, "output"))
    del port.attrib["precision"]
    return layer


@mutation
def dims_left_out(net: Element, random: Random) -> Element | None:
    side = random.choice(["input", "output"])
    layer, port = random.choice([(layer, port) for layer, port in ports(net, side) if port.find("dim") is not None])
    for dim in port.findall("dim"):
        port.remove(dim)
    return layer


@mutation
def duplicate_layer_id(net: Element, random: Random) -> list[Element]:
    layer, other = random.sample(layers(net), 2)
    layer.set("id", other.get("id", ""))
    return [layer, other]


@mutation
def layer_id_of_no_number(net: Element, random: Random) -> Element | None:
    layer = random.choice(layers(net))
    layer.set("id", "one")
    return layer


@mutation
def duplicate_port_id(net: Element, random: Random) -> Element | None:
    several = [layer for layer in layers(net) if len(layer.findall("input/port")) > 1]
    layer = random.choice(several)
    first, second = layer.findall("input/port")[:2]
    second.set("id", first.get("id", ""))
    return layer


@mutation
def edge_doubled(net: Element, random: Random) -> Element | None:
    edges = net.find("edges")
    assert edges is not None
    edge = random.choice(edges.findall("edge"))
    other = random.choice([candidate for candidate in edges.findall("edge") if candidate is not edge])
    copy = etree.SubElement(edges, "edge", dict(edge.attrib))
    copy.set("from-layer", other.get("from-layer", ""))
    copy.set("from-port", other.get("from-port", ""))
    return layer_of(net, edge.get("to-layer"))


@mutation
def edge_to_no_layer(net: Element, random: Random) -> list[Element]:
    edge = random.choice(net.findall("edges/edge"))
    ends = [layer_of(net, edge.get("to-layer")), layer_of(net, edge.get("from-layer"))]
    edge.set("to-layer", "99999")
    return ends


@mutation
def edge_from_no_port(net: Element, random: Random) -> Element | None:
    edge = random.choice(net.findall("edges/edge"))
    edge.set("from-port", "55")
    return layer_of(net, edge.get("to-layer"))


@mutation
def self_edge(net: Element, random: Random) -> Element | None:
    fed = [edge for edge in net.findall("edges/edge") if layer_of(net, edge.get("to-layer")).find("output") is not None]
    edge = random.choice(fed)
    layer = layer_of(net, edge.get("to-layer"))
    port = layer.find("output/port")
    assert port is not None
    edge.set("from-layer", layer.get("id", ""))
    edge.set("from-port", port.get("id", ""))
    return layer


@mutation
def cycle(net: Element, random: Random) -> list[Element] | None:
    """An input of a layer takes what a layer below it gives."""
    edges = net.findall("edges/edge")
    below: dict[str, list[str]] = {}
    for edge in edges:
        below.setdefault(edge.get("from-layer", ""), []).append(edge.get("to-layer", ""))
    edge = random.choice(edges)
    start = edge.get("to-layer", "")
    walk = [start]
    while len(walk) < random.randint(2, 6) and below.get(walk[-1]):
        walk.append(random.choice(below[walk[-1]]))
    last = layer_of(net, walk[-1])
    port = last.find("output/port")
    if len(walk) < 2 or port is None:
        return None
    edge.set("from-layer", walk[-1])
    edge.set("from-port", port.get("id", ""))
    return [layer_of(net, id) for id in walk]


@mutation
def input_port_removed(net: Element, random: Random) -> Element | None:
    layer, port = random.choice(ports(net, "input"))
    parent = port.getparent()
    assert parent is not None
    parent.remove(port)
    return layer


@mutation
def swapped_inputs(net: Element, random: Random) -> Element | None:
    """Of a layer whose first two inputs declare different ranks or element types, so that it is seen."""
    edges = net.findall("edges/edge")

    def signature(port: Element) -> tuple[str | None, int]:
        return port.get("precision"), len(port.findall("dim"))

    choices = []
    for layer in layers(net):
        pair = layer.findall("input/port")[:2]
        if len(pair) == 2 and signature(pair[0]) != signature(pair[1]):
            choices.append((layer, pair))
    layer, pair = random.choice(choices)
    ends = [
        next(
            edge for edge in edges if edge.get("to-layer") == layer.get("id") and edge.get("to-port") == port.get("id")
        )
        for port in pair
    ]
    ends[0].set("to-port", pair[1].get("id", ""))
    ends[1].set("to-port", pair[0].get("id", ""))
    return layer


@mutation
def type_of_another_arity(net: Element, random: Random) -> Element | None:
    layer = random.choice([layer for layer in layers(net) if len(layer.findall("input/port")) == 2])
    layer.set("type", "Select")
    layer.set("version", "opset1")
    return layer


@mutation
def opset_without_the_type(net: Element, random: Random) -> Element | None:
    recent = []
    for layer in layers(net):
        if (layer.get("version") or "").startswith("opset") and resolve(
            layer.get("type", ""), layer.get("version", "")
        ):
            since = resolve(layer.get("type", ""), layer.get("version", "")).since
            if since > 4:
                recent.append(layer)
    layer = random.choice([layer for layer in recent if layer.get("type") not in ("Assign", "ReadValue")])
    try:
        resolve(layer.get("type", ""), "opset1")
    except Exception:
        layer.set("version", "opset1")
        return layer
    return None


@mutation
def version_left_out(net: Element, random: Random) -> Element | None:
    layer = random.choice(layers(net)[1:])
    del layer.attrib["version"]
    return layer


@mutation
def axis_out_of_range(net: Element, random: Random) -> Element | None:
    layer = random.choice(layers(net, "Concat", "SoftMax", "GatherElements", "ScatterElementsUpdate"))
    if "axis" not in data(layer).attrib:
        return None
    data(layer).set("axis", random.choice(["64", "-65"]))
    return layer


@mutation
def value_out_of_the_enumeration(net: Element, random: Random) -> Element | None:
    names = ("auto_broadcast", "auto_pad", "rounding_type", "mode", "direction", "reduction")
    choices = [
        (layer, name)
        for layer in layers(net)
        for name in names
        if layer.find("data") is not None
        if name in data(layer).attrib
    ]
    layer, name = random.choice(choices)
    data(layer).set(name, "sideways")
    return layer


@mutation
def constant_offset_negative(net: Element, random: Random) -> Element | None:
    layer = random.choice(layers(net, "Const"))
    data(layer).set("offset", "-4")
    return layer


@mutation
def constant_of_no_type(net: Element, random: Random) -> Element | None:
    layer = random.choice(layers(net, "Const"))
    data(layer).set("element_type", "float")
    return layer


@mutation
def parameter_shape_of_no_dims(net: Element, random: Random) -> Element | None:
    layer = random.choice(layers(net, "Parameter"))
    data(layer).set("shape", "1;2")
    return layer


def inner(net: Element, *types: str) -> list[Element]:
    """Layers of bodies."""
    return [
        layer
        for name in ("body", "then_body", "else_body")
        for layer in net.iterfind(f".//{name}/layers/layer")
        if not types or layer.get("type") in types
    ]


@mutation
def dim_in_a_body(net: Element, random: Random) -> Element | None:
    choices = [(layer, dim) for layer in inner(net) for dim in layer.iterfind("input/port/dim") if dim.text != "-1"]
    layer, dim = random.choice(choices)
    dim.text = str(int(dim.text or "") + 2)
    return layer


@mutation
def type_in_a_body(net: Element, random: Random) -> Element | None:
    layer = random.choice([layer for layer in inner(net) if layer.get("type") not in ("Parameter", "Result")])
    layer.set("type", "Nonesuch")
    return layer


@mutation
def constant_in_a_body(net: Element, random: Random) -> Element | None:
    layer = random.choice(inner(net, "Const"))
    data(layer).set("size", str(int(data(layer).get("size", "")) // 2))
    return layer


@mutation
def port_map_to_no_layer(net: Element, random: Random) -> Element | None:
    entries = [
        entry
        for name in ("port_map", "then_port_map", "else_port_map")
        for entry in net.iterfind(f"layers/layer/{name}/*")
    ]
    entry = random.choice(entries)
    entry.set("internal_layer_id", "99999")
    parent = entry.getparent()
    assert parent is not None
    return parent.getparent()


@mutation
def port_map_to_no_port(net: Element, random: Random) -> Element | None:
    entries = [
        entry
        for name in ("port_map", "then_port_map", "else_port_map")
        for entry in net.iterfind(f"layers/layer/{name}/*")
        if entry.get("external_port_id") != "-1"
    ]
    entry = random.choice(entries)
    entry.set("external_port_id", "88")
    parent = entry.getparent()
    assert parent is not None
    return parent.getparent()


@mutation
def back_edge_to_no_parameter(net: Element, random: Random) -> Element | None:
    edge = random.choice(net.findall("layers/layer/back_edges/edge"))
    edge.set("to-layer", "99999")
    parent = edge.getparent()
    assert parent is not None
    return parent.getparent()


@mutation
def edge_to_another_layer(net: Element, random: Random) -> list[Element]:
    edge = random.choice(net.findall("edges/edge"))
    before = layer_of(net, edge.get("to-layer"))
    after = random.choice([layer for layer in layers(net) if layer is not before and layer.find("input") is not None])
    edge.set("to-layer", after.get("id", ""))
    return [before, after]


@mutation
def variable_without_pair(net: Element, random: Random) -> list[Element]:
    layer = random.choice(layers(net, "ReadValue", "Assign"))
    pair = [
        candidate
        for candidate in layers(net, "ReadValue", "Assign")
        if data(candidate).get("variable_id") == data(layer).get("variable_id")
    ]
    data(layer).set("variable_id", "nobody")
    return pair
