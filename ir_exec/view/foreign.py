"""Models next to an IR: ONNX files and execution graphs of OpenVINO, with links between their layers."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from lxml import etree

from ir_exec.codes import Code
from ir_exec.debug.comparison.pairing.matching import match_values
from ir_exec.debug.values.entries import Entry
from ir_exec.errors import ParseError
from ir_exec.hints import install_hint
from ir_exec.ir import split_names
from ir_exec.onnx.reading.objects import message_of
from ir_exec.openvino import serialize_graph
from ir_exec.readers import ModelObject, is_compiled_by_openvino, reader_of
from ir_exec.view.data import GraphView, InputView, LayerView, Link, NetworkView, OutputView
from ir_exec.view.networks import network_view, open_network
from ir_exec.view.text import printable

__all__ = ["execution_graph", "is_execution_graph", "links_between", "network_beside", "onnx_network"]

_MOST_BYTES = 2**27
_MOST_VALUES = 16


def is_execution_graph(path: Path) -> bool:
    """Return True if an .xml is the execution graph of a model compiled by OpenVINO."""
    try:
        with path.open("rb") as file:
            return b"execOrder=" in file.read(2**16)
    except OSError:
        return False


def execution_graph(path: Path) -> tuple[NetworkView, dict[str, tuple[str, ...]]]:
    """The layers that OpenVINO executes, and the names of their original layers by key."""
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise ParseError(
                f"{path} is too large for an execution graph",
                expected=f"at most {_MOST_BYTES:,} bytes",
                code=Code.not_ir,
            )
        return _execution_graph_in(path.read_bytes(), path.name, str(path))
    except (OSError, etree.XMLSyntaxError) as error:
        raise ParseError(f"{path} cannot be read: {error}", code=Code.unreadable_path) from None


def _execution_graph_in(content: bytes, title: str, file: str) -> tuple[NetworkView, dict[str, tuple[str, ...]]]:
    """The layers in an .xml, as `execution_graph` returns those of a file."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True, remove_comments=True, remove_pis=True)
    root = etree.fromstring(content, parser)
    elements = sorted(root.iterfind("layers/layer"), key=_execution_order)
    position = {element.get("id", ""): index for index, element in enumerate(elements)}
    sources: dict[tuple[str, str], tuple[int, int]] = {}
    outputs = {
        element.get("id", ""): [port_element.get("id", "") for port_element in element.iterfind("output/port")]
        for element in elements
    }
    for edge in root.iterfind("edges/edge"):
        start, port = edge.get("from-layer", ""), edge.get("from-port", "")
        if start in position and port in outputs[start]:
            source = (position[start], outputs[start].index(port))
            sources[edge.get("to-layer", ""), edge.get("to-port", "")] = source
    layers, made_of = [], {}
    for index, element in enumerate(elements):
        data = element.find("data")
        attributes = {} if data is None else {str(name): str(text) for name, text in data.attrib.items()}
        key = str(index)
        made_of[key] = split_names(attributes.get("originalLayersNames"))
        inputs = [
            _input(sources.get((element.get("id", ""), port.get("id", ""))), _type(port))
            for port in element.iterfind("input/port")
        ]
        layers.append(
            LayerView(
                key=key,
                name=printable(element.get("name", "")),
                type=printable(element.get("type", "")),
                attributes={printable(name): printable(text) for name, text in attributes.items()},
                inputs=tuple(inputs),
                outputs=tuple([OutputView(declared=_type(port)) for port in element.iterfind("output/port")]),
                constant=element.get("type") in ("Const", "Constant"),  # both spellings of these files
            )
        )
    facts = (("format", "execution graph of OpenVINO"), ("layers", f"{len(layers):,}"))
    return NetworkView(title=title, file=file, facts=facts, graph=GraphView(layers=tuple(layers))), made_of


def _execution_order(element: Any) -> int:
    data = element.find("data")
    text = "" if data is None else data.get("execOrder", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 12 else 0


def _type(port: Any) -> str:
    dims = [(dim.text or "").strip() for dim in port.iterfind("dim")]
    names = {"FP32": "f32", "FP16": "f16", "BF16": "bf16", "FP64": "f64", "BOOL": "boolean"}
    precision = port.get("precision", "")
    return printable(
        f"{names.get(precision, precision.lower())}[{','.join('?' if dim == '-1' else dim for dim in dims)}]"
    )


def _input(source: tuple[int, int] | None, type: str) -> InputView:
    return InputView(declared=type) if source is None else InputView(layer=source[0], port=source[1], declared=type)


def onnx_network(path: Path) -> NetworkView:
    """The nodes and constants of an ONNX file.

    Raises:
        ParseError: If the file or the package onnx is missing.
    """
    if find_spec("onnx") is None:
        hint = install_hint("onnx")
        raise ParseError(
            "reading .onnx files requires onnx, which is not installed", code=Code.unknown_input, hint=hint
        )
    import onnx

    try:
        model = onnx.load(os.fspath(path), load_external_data=False)
    except Exception as error:
        raise ParseError(f"{path} cannot be read: {error}", code=Code.unreadable_path) from None
    return _onnx_network_of(model, path.name, str(path))


def _onnx_network_of(model: Any, title: str, file: str) -> NetworkView:
    """The nodes and constants of a message."""
    types = {item.name: _onnx_type(item) for item in (*model.graph.value_info, *model.graph.input, *model.graph.output)}
    layers = tuple(_onnx_layers(model.graph, types))
    domains = {item.domain or "ai.onnx": item.version for item in model.opset_import}
    facts = (("format", "ONNX"), ("opset", ", ".join(f"{name} {version}" for name, version in domains.items())))
    return NetworkView(title=title, file=file, facts=facts, graph=GraphView(layers=layers))


def _onnx_layers(graph: Any, types: Mapping[str, str]) -> Iterator[LayerView]:
    producers: dict[str, tuple[int, int]] = {}
    count = 0
    stored = {value.name: value for value in graph.initializer}
    for name in [*stored, *(value.name for value in graph.input if value.name not in stored)]:
        producers[name] = (count, 0)
        type = types.get(name) or _stored_type(stored[name]) if name in stored else types.get(name, "")
        yield LayerView(
            key=str(count),
            name=printable(name),
            type="Constant" if name in stored else "Parameter",
            outputs=(OutputView(declared=type, names=(printable(name),)),),
            constant=name in stored,
        )
        count += 1
    for node in graph.node:
        outputs = tuple([OutputView(declared=types.get(name, ""), names=(printable(name),)) for name in node.output])
        inputs = tuple([_input(producers.get(name), types.get(name, "")) for name in node.input if name])
        producers.update({name: (count, position) for position, name in enumerate(node.output)})
        yield LayerView(
            key=str(count),
            name=printable(node.name or (node.output[0] if node.output else node.op_type)),
            type=printable(node.op_type),
            opset=printable(node.domain),
            attributes={printable(value.name): printable(_attribute(value)) for value in node.attribute},
            inputs=inputs,
            outputs=outputs,
            constant=node.op_type == "Constant",
        )
        count += 1
    for value in graph.output:
        inputs = (_input(producers.get(value.name), types.get(value.name, "")),)
        yield LayerView(key=str(count), name=printable(value.name), type="Result", inputs=inputs)
        count += 1


def _onnx_type(info: Any) -> str:
    tensor = info.type.tensor_type
    if not info.type.HasField("tensor_type"):
        return ""
    dims = [str(dim.dim_value) if dim.HasField("dim_value") else dim.dim_param or "?" for dim in tensor.shape.dim]
    return printable(f"{_element_name(tensor.elem_type)}[{','.join(dims)}]")


def _stored_type(tensor: Any) -> str:
    return f"{_element_name(tensor.data_type)}[{','.join(map(str, tensor.dims))}]"


def _element_name(number: int) -> str:
    import onnx

    data_types = onnx.TensorProto.DataType
    name = data_types.Name(number).lower() if number in data_types.values() else str(number)
    short = {"float": "f32", "float16": "f16", "double": "f64", "bfloat16": "bf16", "bool": "boolean"}
    return short.get(name, name.replace("uint", "u").replace("int", "i"))


def _attribute(attribute: Any) -> str:
    import onnx

    if attribute.type in (onnx.AttributeProto.GRAPH, onnx.AttributeProto.GRAPHS):
        return "a graph"
    if attribute.type == onnx.AttributeProto.TENSOR:
        return _stored_type(attribute.t)
    value = onnx.helper.get_attribute_value(attribute)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, Sequence) and not isinstance(value, str) and len(value) > _MOST_VALUES:
        return f"{len(value)} values"
    return str(list(value) if isinstance(value, Sequence) and not isinstance(value, str) else value)


MadeOf = Mapping[str, tuple[str, ...]]
"""The names of the original layers in another model, by the key of a layer."""


def network_beside(source: str | os.PathLike[str] | ModelObject) -> tuple[NetworkView, MadeOf]:
    """A model in any format: an IR, an execution graph of OpenVINO, or an ONNX file, or a model in memory.

    Args:
        source: A path, a model in memory as for `read_model`, or an `openvino.CompiledModel`.

    Raises:
        IRError: The errors of reading the file.
    """
    if not isinstance(source, (str, os.PathLike)):
        return _object_beside(source)
    file_path = Path(source)
    if file_path.suffix.lower() == ".onnx":
        return onnx_network(file_path), {}
    if is_execution_graph(file_path):
        return execution_graph(file_path)
    return _ir_beside(os.fspath(source))


def _object_beside(source: Any) -> tuple[NetworkView, MadeOf]:
    """A model in memory, as `network_beside` returns a file."""
    if is_compiled_by_openvino(source):
        runtime_model = source.get_runtime_model()
        try:
            content = serialize_graph(runtime_model)
        except RuntimeError as error:
            raise ParseError(f"OpenVINO cannot write the execution graph: {error}", code=Code.not_ir) from None
        return _execution_graph_in(content, printable(runtime_model.get_friendly_name()), "")
    if reader_of(source) is None:
        return _ir_beside(source)
    message, _ = message_of(source)
    return _onnx_network_of(message, printable(message.graph.name), ""), {}


def _ir_beside(source: str | ModelObject) -> tuple[NetworkView, MadeOf]:
    opened = open_network(source)
    made_of = {}
    for node, key in opened.places.keys.items():
        for mark in node.layer.rt_info.children:
            if mark.attributes.get("name") == "fused_names":
                made_of[key] = tuple(mark.attributes.get("value", "").split(","))
    return network_view(opened), made_of


def links_between(first: NetworkView, other: NetworkView, made_of: MadeOf, index: int) -> tuple[Link, ...]:
    """The links from the first model to model number `index`. A link has several layers if layers were split."""
    ours, theirs = dict(_entries(first.graph)), dict(_entries(other.graph))
    keys = {entry.key: key for key, entry in (*_ports(first.graph),)}
    their_keys = {entry.key: key for key, entry in (*_ports(other.graph),)}
    links: dict[str, dict[str, None]] = defaultdict(dict)
    by_name = {entry.layer_name: key for key, entry in ours.items()}
    for key, names in made_of.items():
        for name in names:
            if name in by_name and key in theirs:
                links[by_name[name]][key] = None
    linked = {key for others in links.values() for key in others}
    mine = [entry for _, entry in _ports(first.graph)]
    for value, partner in match_values(mine, [entry for _, entry in _ports(other.graph)]).items():
        key, their_key = keys[value], their_keys[partner.key]
        # The original names that OpenVINO reports are more reliable than names and positions.
        if not (their_key in linked or key in links):
            links[key][their_key] = None
    if made_of:
        _fused_into_readers(first.graph, links)
    return tuple([Link(network=index, layer=key, others=tuple(others)) for key, others in links.items() if others])


def _fused_into_readers(graph: GraphView, links: dict[str, dict[str, None]]) -> None:
    """Link layers without a link to the layer of the other model that all of their readers are linked to."""
    readers: dict[int, list[str]] = defaultdict(list)
    for layer in graph.layers:
        for read in layer.inputs:
            if read.layer is not None:
                readers[read.layer].append(layer.key)
    for position, layer in reversed(list(enumerate(graph.layers))):
        below = [tuple(links.get(key, ())) for key in readers[position]]
        if layer.key not in links and not layer.constant and below and len(below[0]) == 1 and len(set(below)) == 1:
            links[layer.key] = dict.fromkeys(below[0])


def _entries(graph: GraphView) -> Iterator[tuple[str, Entry]]:
    """Yield the first value of each layer, with its key."""
    for key, entry in _ports(graph):
        if entry.port == 0:
            yield key, entry


def _ports(graph: GraphView, scope: tuple[str, ...] = ()) -> Iterator[tuple[str, Entry]]:
    """Yield every value, with the key of its layer. A Result is a value as well."""
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
