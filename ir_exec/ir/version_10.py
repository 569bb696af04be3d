"""Documents of version 10 of the format, rewritten in version 11.

OpenVINO changes the inputs and outputs of old files: f16 inputs become f32; i64, u64, i32 and u32 outputs become i32,
and every other output that is not f32 becomes f32. Inputs and outputs are named after their layers, and `<pre-process>`
subtracts a mean from an input. These changes become layers of the document. The element types of the outputs are known
only after inference, so they are converted in a second step.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from ir_exec.codes import Code
from ir_exec.errors import IRError, Location, ParseError, ReportFault, raise_error
from ir_exec.ir.document import Document, Edge, Layer, Port, RtInfo, id_number
from ir_exec.ir.weights import Weights
from ir_exec.types import Array, ElementType

__all__ = ["upgrade", "with_outputs_converted"]

_TO_I32 = {ElementType.i64, ElementType.u64, ElementType.i32, ElementType.u32}
_NOT_CONVERTED = {ElementType.dynamic, ElementType.string}


def upgrade(document: Document, weights: Weights | None, report: ReportFault) -> tuple[Document, Weights | None]:
    """Convert a document of version 10 to version 11, and append the means to the weights; outputs are unchanged.

    Documents of version 11 are returned unchanged. No error is raised; a `<pre-process>` that cannot be used is
    reported.
    """
    if document.version >= 11:
        return document, weights
    upgrade = _Upgrade(document, weights, report)
    upgrade.name_ports()
    upgrade.subtract_means()
    upgrade.convert_inputs()
    return upgrade.document(), upgrade.weights


def with_outputs_converted(document: Document, types: Mapping[str, ElementType]) -> Document:
    """An upgraded document with the element types that OpenVINO gives outputs of version 10.

    Args:
        types: The actual element types of the values of the Results, by the Result's id, which may differ from the
            declared ones.
    """
    upgrade = _Upgrade(document, None, raise_error)
    upgrade.convert_outputs(types)
    return upgrade.document()


@dataclass
class _Upgrade:
    """The layers and edges during rewriting; `layers` by id, in the order of the file."""

    source: Document
    weights: Weights | None
    report: ReportFault
    layers: dict[str, Layer] = field(default_factory=dict)
    retained: list[Layer] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)

    def __post_init__(self) -> None:
        for layer in self.source.layers:
            # Edges refer to the first of several layers with one id; the others are kept, to be reported.
            if self.layers.setdefault(layer.id, layer) is not layer:
                self.retained.append(layer)
        self.edges = list(self.source.edges)
        numbers = (number for id in self.layers if (number := id_number(id)) is not None)
        self.next_id = max(numbers, default=-1) + 1

    def document(self) -> Document:
        layers = (*self.layers.values(), *self.retained)
        return self.source.changed(version=11, layers=layers, edges=tuple(self.edges), pre_process=None)

    def name_ports(self) -> None:
        for layer in [layer for layer in self.layers.values() if layer.is_parameter]:
            self.name_outputs(layer, [layer.name])
        for edge in self.result_edges():
            source = self.layers.get(edge.from_layer)
            if source is not None:
                count = len(source.outputs)
                self.name_outputs(source, [source.name] if count == 1 else [f"{source.name}.{i}" for i in range(count)])

    def name_outputs(self, layer: Layer, names: list[str]) -> None:
        outputs = tuple(
            port.changed(names=tuple(dict.fromkeys((*port.names, name))))
            for port, name in zip(layer.outputs, names, strict=False)
        )
        self.layers[layer.id] = layer.changed(outputs=outputs)

    def convert_inputs(self) -> None:
        for layer in list(self.layers.values()):
            if not layer.is_parameter or len(layer.outputs) != 1:
                continue
            if layer.data.get("element_type", "").lower() not in ("f16", "fp16"):
                continue
            port = layer.outputs[0]
            to_f16 = {"destination_type": "f16"}
            as_f32 = port.changed(precision="FP32")
            convert = self.add_layer("Convert", f"{layer.name}/Convert", layer, to_f16, [as_f32], _remove_names(port))
            self.insert_behind(layer.id, port.id, convert)
            data = {**layer.data, "element_type": "f32"}
            self.layers[layer.id] = layer.changed(data=data, outputs=(as_f32,))

    def convert_outputs(self, types: Mapping[str, ElementType]) -> None:
        converts: dict[tuple[str, str], Layer] = {}
        for edge in list(self.result_edges()):
            source = self.layers.get(edge.from_layer)
            inferred = types.get(edge.to_layer, ElementType.dynamic)
            port = next((port for port in source.outputs if port.id == edge.from_port), None) if source else None
            if source is None or port is None or inferred in _NOT_CONVERTED:
                continue
            expected = ElementType.i32 if inferred in _TO_I32 else ElementType.f32
            if inferred is expected:
                continue
            source_port = edge.from_layer, edge.from_port
            if source_port not in converts:
                # The port has no declared type: a wrong declaration is reported only at the source.
                original, converted = port.changed(precision=None), port.changed(precision=expected.precision)
                data = {"destination_type": expected.name}
                converts[source_port] = self.add_layer(
                    "Convert", f"{source.name}/Convert", source, data, [original], converted
                )
                outputs = tuple(_remove_names(other) if other is port else other for other in source.outputs)
                self.layers[source.id] = source.changed(outputs=outputs)
                self.connect(*source_port, converts[source_port], 0)
            convert = converts[source_port]
            self.edges[self.edges.index(edge)] = edge.changed(from_layer=convert.id, from_port=convert.outputs[0].id)
            result = self.layers[edge.to_layer]
            unconverted = {port.precision, inferred.precision, inferred.name}
            inputs = tuple(
                input.changed(precision=expected.precision) if input.precision in unconverted else input
                for input in result.inputs
            )
            self.layers[result.id] = result.changed(inputs=inputs)

    def subtract_means(self) -> None:
        tree = self.source.pre_process
        if tree is None:
            return
        layer_name = tree.attributes.get("reference-layer-name")
        inputs = [layer for layer in self.layers.values() if layer.is_parameter and len(layer.outputs) == 1]
        named = [layer for layer in inputs if layer.name == layer_name] if layer_name else inputs[:1]
        means = [child for child in tree.children if child.name == "channel" and child.child("mean") is not None]
        if not named or not means:
            return
        layer, port = named[0], named[0].outputs[0]
        try:
            channels = sorted(means, key=lambda channel: int(channel.attributes.get("id", "0") or 0))
            mean = np.stack([self.mean(channel, tree, port) for channel in channels])
            element_type = ElementType.parse(port.precision or "")
            stored = mean.astype(element_type.dtype).tobytes()
        except (IRError, ValueError, TypeError, OverflowError) as error:
            fault = ParseError(f"the mean of <pre-process> cannot be read: {error}", code=Code.unreadable_number)
            self.report(fault.located(Location(self.source.path, tree.line, layer.id, layer.name, layer.type)))
            return
        weights = self.weights or Weights.of_bytes(b"")
        shape = ",".join(map(str, mean.shape))
        data = {
            "element_type": element_type.name,
            "shape": shape,
            "offset": str(weights.size),
            "size": str(len(stored)),
        }
        self.weights = weights.append(stored)
        mean_port = port.changed(dims=mean.shape, names=())
        const = self.add_layer("Const", f"{layer.name}/mean", layer, data, [], mean_port)
        attributes = {"auto_broadcast": "numpy"}
        subtract = self.add_layer(
            "Subtract", f"{layer.name}/Subtract", layer, attributes, [port, mean_port], _remove_names(port)
        )
        self.insert_behind(layer.id, port.id, subtract)
        self.connect(const.id, const.outputs[0].id, subtract, 1)

    def mean(self, channel: RtInfo, tree: RtInfo, port: Port) -> Array:
        """The mean of a channel as f64 [1, 1], or [height, width] if there is one for every pixel."""
        entry = channel.child("mean")
        assert entry is not None
        if "value" in entry.attributes:
            return np.full((1, 1), float(entry.attributes["value"]))
        if self.weights is None or len(port.dims) < 2:
            raise ValueError("a mean image needs weights and an input with height and width")
        element_type = ElementType.parse(tree.attributes.get("mean-precision", "FP32"))
        offset, size = int(entry.attributes.get("offset", "-1")), int(entry.attributes.get("size", "-1"))
        height, width = port.dims[-2:]
        return self.weights.read(element_type, (height, width), offset, size).astype(np.float64)

    def add_layer(
        self, type: str, name: str, origin: Layer, data: dict[str, str], inputs: list[Port], output: Port
    ) -> Layer:
        """A new layer at the line of an old one, without edges; its ports are like `inputs` and `output`."""
        ports = tuple(_remove_names(port).changed(id=str(index)) for index, port in enumerate(inputs))
        layer = Layer(
            id=str(self.next_id),
            name=name,
            type=type,
            version="opset1",
            data=data,
            inputs=ports,
            outputs=(output.changed(id=str(len(inputs))),),
            line=origin.line,
            data_line=origin.data_line,
        )
        self.next_id += 1
        self.layers[layer.id] = layer
        return layer

    def insert_behind(self, layer_id: str, port_id: str, layer: Layer) -> None:
        """Insert a new layer between an output port and all of its readers."""
        for index, edge in enumerate(self.edges):
            if (edge.from_layer, edge.from_port) == (layer_id, port_id):
                self.edges[index] = edge.changed(from_layer=layer.id, from_port=layer.outputs[0].id)
        self.connect(layer_id, port_id, layer, 0)

    def connect(self, from_layer: str, from_port: str, layer: Layer, position: int) -> None:
        port = layer.inputs[position].id
        self.edges.append(
            Edge(from_layer=from_layer, from_port=from_port, to_layer=layer.id, to_port=port, line=layer.line)
        )

    def result_edges(self) -> Iterator[Edge]:
        for edge in self.edges:
            target = self.layers.get(edge.to_layer)
            if target is not None and target.is_result:
                yield edge


def _remove_names(port: Port) -> Port:
    return port.changed(names=())
