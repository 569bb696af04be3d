"""Ways to break a file that leave every layer, port and edge in its place: the file reads well and means nothing."""

from __future__ import annotations

from random import Random

from lxml import etree

from ir_exec.ops.base.registry import LAST_OPSET, resolve
from tests.mutations.kinds import MUTATIONS, Element, data, layer_of, layers, mutation

__all__ = ["MUTATIONS"]
"""All of them, those of the other module too."""


def dims(port: Element) -> list[str | None]:
    return [dim.text for dim in port.iterfind("dim")]


def is_static(port: Element) -> bool:
    return port.find("dim") is not None and "-1" not in dims(port)


def readers(net: Element, layer: Element) -> list[Element]:
    ends = [edge.get("to-layer") for edge in net.iterfind("edges/edge") if edge.get("from-layer") == layer.get("id")]
    return [layer_of(net, id) for id in dict.fromkeys(ends)]


def edge_to(net: Element, layer: Element, port: Element) -> Element:
    return next(
        edge
        for edge in net.iterfind("edges/edge")
        if (edge.get("to-layer"), edge.get("to-port")) == (layer.get("id"), port.get("id"))
    )


def outputs_of(net: Element, *types: str) -> list[Element]:
    """Layers of these types whose first output has dims that are all known."""
    pairs = [(layer, layer.find("output/port")) for layer in layers(net, *types)]
    return [layer for layer, port in pairs if port is not None and is_static(port)]


@mutation
def swapped_inputs_of_other_dims(net: Element, random: Random) -> Element | None:
    """An element type and rank in common, so that only the dims reveal the swap."""
    choices = []
    for layer in layers(net):
        ports = layer.findall("input/port")[:2]
        if len(ports) == 2 and all(map(is_static, ports)) and dims(ports[0]) != dims(ports[1]):
            same = ports[0].get("precision") == ports[1].get("precision")
            if same and len(dims(ports[0])) == len(dims(ports[1])):
                choices.append((layer, ports))
    layer, ports = random.choice(choices)
    ends = [edge_to(net, layer, port) for port in ports]
    ends[0].set("to-port", ports[1].get("id", ""))
    ends[1].set("to-port", ports[0].get("id", ""))
    return layer


@mutation
def input_ports_in_another_order(net: Element, random: Random) -> Element | None:
    """Ids and edges stay, and what each input means follows from its place."""
    choices = []
    for layer in layers(net, "Reshape", "Gather", "Transpose", "Unsqueeze", "Squeeze", "Broadcast", "StridedSlice"):
        ports = layer.findall("input/port")
        if {ports[0].get("precision"), ports[1].get("precision")} in ({"FP32", "I64"}, {"FP32", "I32"}):
            choices.append((layer, ports))
    layer, ports = random.choice(choices)
    parent = ports[0].getparent()
    assert parent is not None
    parent.insert(0, ports[1])
    return layer


@mutation
def edge_to_an_output_port(net: Element, random: Random) -> Element | None:
    return layer_of(net, _misled_edge(net, random, "to", "output").get("to-layer"))


@mutation
def edge_from_an_input_port(net: Element, random: Random) -> Element | None:
    return layer_of(net, _misled_edge(net, random, "from", "input").get("to-layer"))


def _misled_edge(net: Element, random: Random, end: str, side: str) -> Element:
    """An edge whose `end` is led to a port on the wrong side of its layer."""
    choices = [(edge, layer_of(net, edge.get(f"{end}-layer"))) for edge in net.findall("edges/edge")]
    edge, layer = random.choice([(edge, layer) for edge, layer in choices if layer.find(f"{side}/port") is not None])
    port = layer.find(f"{side}/port")
    assert port is not None
    edge.set(f"{end}-port", port.get("id", ""))
    return edge


@mutation
def constant_dims_in_another_order(net: Element, random: Random) -> Element | None:
    """The number of elements stays."""
    choices = []
    for layer in layers(net, "Const"):
        sizes = [size.strip() for size in data(layer).get("shape", "").split(",")]
        if sizes != sizes[::-1]:
            choices.append((layer, sizes))
    layer, sizes = random.choice(choices)
    data(layer).set("shape", ",".join(sizes[::-1]))
    return layer


@mutation
def constant_of_another_type_of_that_size(net: Element, random: Random) -> list[Element]:
    """In the attribute and at the port, so that only readers reveal it."""
    types = {"f32": ("i32", "I32"), "f16": ("i16", "I16"), "i64": ("f64", "FP64"), "i32": ("f32", "FP32")}
    layer = random.choice([layer for layer in layers(net, "Const") if data(layer).get("element_type") in types])
    element_type, precision = types[data(layer).get("element_type", "")]
    data(layer).set("element_type", element_type)
    port = layer.find("output/port")
    assert port is not None
    port.set("precision", precision)
    return [layer, *readers(net, layer)]


@mutation
def parameter_of_another_type(net: Element, random: Random) -> list[Element]:
    """In the attribute and at the port, so that only readers reveal it."""
    layer = random.choice([layer for layer in layers(net, "Parameter") if data(layer).get("element_type") != "f64"])
    data(layer).set("element_type", "f64")
    port = layer.find("output/port")
    assert port is not None
    port.set("precision", "FP64")
    return [layer, *readers(net, layer)]


@mutation
def parameter_with_another_dim(net: Element, random: Random) -> list[Element]:
    """In the attribute and at the port, so that only readers reveal it."""
    layer = random.choice(outputs_of(net, "Parameter"))
    dim = random.choice(layer.findall("output/port/dim"))
    dim.text = str(int(dim.text or "") + 1)
    port = layer.find("output/port")
    assert port is not None
    data(layer).set("shape", ",".join(str(size) for size in dims(port)))
    return [layer, *readers(net, layer)]


@mutation
def axis_off_by_one(net: Element, random: Random) -> Element | None:
    choices = []
    for layer in outputs_of(net, "Concat"):
        port = layer.find("output/port")
        assert port is not None
        axis = int(data(layer).get("axis", "")) % len(dims(port))
        if len(dims(port)) > 1 and len(layer.findall("input/port")) > 1:
            choices.append((layer, (axis + 1) % len(dims(port))))
    layer, axis = random.choice(choices)
    data(layer).set("axis", str(axis))
    return layer


@mutation
def wrong_pads(net: Element, random: Random) -> Element | None:
    types = ("Convolution", "GroupConvolution", "MaxPool", "AvgPool", "ConvolutionBackpropData")
    choices = [layer for layer in outputs_of(net, *types) if data(layer).get("auto_pad", "explicit") == "explicit"]
    layer = random.choice(
        [choice for choice in choices if set(data(choice).get("strides", "").replace(" ", "")) <= {"1", ","}]
    )
    pads = [int(pad) for pad in data(layer).get("pads_begin", "").split(",")]
    data(layer).set("pads_begin", ",".join([str(pads[0] + 1), *map(str, pads[1:])]))
    return layer


@mutation
def transposed_matrix(net: Element, random: Random) -> Element | None:
    choices = []
    for layer in layers(net, "MatMul"):
        port = layer.findall("input/port")[1]
        if is_static(port) and len(dims(port)) > 1 and dims(port)[-1] != dims(port)[-2]:
            choices.append(layer)
    layer = random.choice(choices)
    data(layer).set("transpose_b", "false" if data(layer).get("transpose_b") == "true" else "true")
    return layer


@mutation
def dims_kept_or_not(net: Element, random: Random) -> Element | None:
    reductions = [
        reduction
        for reduction in outputs_of(net)
        if reduction.find("data") is not None and "keep_dims" in data(reduction).attrib
    ]
    layer = random.choice(reductions)
    data(layer).set("keep_dims", "false" if data(layer).get("keep_dims") == "true" else "true")
    return layer


@mutation
def opset_that_left_the_type_out(net: Element, random: Random) -> Element | None:
    layer = random.choice(layers(net))
    try:
        resolve(layer.get("type", ""), f"opset{LAST_OPSET}")
    except Exception:
        layer.set("version", f"opset{LAST_OPSET}")
        return layer
    return None


@mutation
def one_output_more(net: Element, random: Random) -> Element | None:
    layer = random.choice(layers(net, "Add", "MatMul", "ReLU", "Split", "Concat", "Transpose"))
    outputs = layer.find("output")
    assert outputs is not None
    port = etree.SubElement(outputs, "port", {"id": "90", "precision": "FP32"})
    etree.SubElement(port, "dim").text = "1"
    return layer


@mutation
def port_map_with_one_input_twice(net: Element, random: Random) -> Element | None:
    """Another input is then taken by nothing."""
    choices = []
    for layer in layers(net, "TensorIterator", "Loop"):
        entries = [entry for entry in layer.iterfind("port_map/input") if entry.get("external_port_id") != "-1"]
        if len({entry.get("external_port_id") for entry in entries}) > 1:
            choices.append((layer, entries))
    layer, entries = random.choice(choices)
    first, second = random.sample(entries, 2)
    first.set("external_port_id", second.get("external_port_id", ""))
    return layer
