"""Networks of the older format, lowered layer by layer through the builder."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from ir_exec import build
from ir_exec.build import Value
from ir_exec.build.operators import make
from ir_exec.build.values import BuiltLayer, new_layer, next_serial
from ir_exec.codes import Code
from ir_exec.errors import GraphError, IRError, Location, ReportFault, Severity, UnsupportedError, internal_error
from ir_exec.ir import Edge, Weights
from ir_exec.ir.older_document import OlderBody, OlderDocument, OlderLayer, OlderPort
from ir_exec.older.call import LayerCall, OlderNetwork, PortKey, parsed_precision
from ir_exec.older.preprocess import preprocessed_input, subtract_mean
from ir_exec.older.registry import find_lowering
from ir_exec.ops import Op
from ir_exec.ops.base.registry import newest
from ir_exec.ops.infrastructure.values import Const
from ir_exec.types import ElementType, Shape, TensorType

__all__ = ["OlderLowerer", "Origin"]

_STRUCTURAL = frozenset(("const", "constant", "parameter", "result"))

UNKNOWN_OPSET = "older_ir"
"""The opset of layers of unknown types."""


@dataclass(frozen=True, slots=True)
class Origin:
    """The layer of the file that new layers originate from.

    Attributes:
        first: The first serial of these layers.
        last: The end of their serials, exclusive.
    """

    layer: OlderLayer
    first: int
    last: int
    outputs: tuple[Value | None, ...]


class OlderLowerer:
    """Lowers the network of a file and the networks of its bodies.

    Args:
        raises: True if the report raises errors; layers of unknown types are then omitted.

    Attributes:
        origins: The origin of every new layer, in the order of creation.
        lines: The lines of layers that are made for elements inside a layer.
        tensor_names: The names of values; no two are equal.
    """

    def __init__(
        self, document: OlderDocument, weights: Weights | None, report: ReportFault, *, raises: bool = False
    ) -> None:
        self._unknown_severity: Severity = "warning" if raises else "error"
        self._document = document
        self._weights = weights
        self._report = report
        self.origins: list[Origin] = []
        self.lines: dict[BuiltLayer, int] = {}
        self.left_out = 0
        self.tensor_names: set[str] = set()
        self._preprocessed = preprocessed_input(document)

    def network(
        self,
        network: OlderDocument | OlderBody,
        body_inputs: Mapping[PortKey, Value] | None = None,
        body_outputs: Iterable[PortKey] = (),
    ) -> OlderNetwork:
        """Lower the layers of a network. For bodies: with the values of input ports, and the ports that are outputs."""
        lowered = OlderNetwork()
        links = _Links(network, self._fault)
        for layer in links.sort_layers():
            inputs = [self._input(layer, port, links, lowered, body_inputs or {}) for port in layer.inputs]
            if layer.type.lower() == "input" and body_inputs is not None:
                body_input = next((body_inputs[key] for key in _output_keys(layer) if key in body_inputs), None)
                if body_input is not None:
                    lowered.values.update(dict.fromkeys(_output_keys(layer), body_input))
                    continue
            mark = next_serial()
            outputs = self._outputs(layer, inputs, lowered)
            is_input = layer.type.lower() == "input"
            outputs_of_layer = tuple(lowered.inputs[-1:] if is_input and outputs[0] is not None else outputs)
            self.origins.append(Origin(layer, mark, next_serial(), outputs_of_layer))
            if not is_input:
                self._name(layer, outputs, mark)
            for key, value in zip(_output_keys(layer), outputs, strict=False):
                if value is not None:
                    lowered.values[key] = value
        body_outputs = set(body_outputs)
        for layer in network.layers:
            self._find_ends(layer, links, lowered, body_outputs)
        return lowered

    def _fault(self, error: IRError) -> None:
        self._report(error.located(Location(self._document.path)))

    def _input(
        self,
        layer: OlderLayer,
        port: OlderPort,
        links: _Links,
        lowered: OlderNetwork,
        body_inputs: Mapping[PortKey, Value],
    ) -> Value | None:
        """The value at an input port; None if it is missing because of a reported fault."""
        if (layer.id, port.id) in body_inputs:
            return body_inputs[layer.id, port.id]
        source = links.sources.get((layer.id, port.id))
        if source is None:
            if not links.is_faulty((layer.id, port.id)):
                message = f"input port {port.id} has no edge"
                self._fault(GraphError(message, code=Code.input_without_edge, location=_location_of(layer)))
            return None
        value = lowered.values.get(source.key)
        if value is not None:
            self._compare(layer, port, source.port)
        return value

    def _compare(self, layer: OlderLayer, port: OlderPort, source: OlderPort) -> None:
        """Report ports of an edge that declare different dims, which the Inference Engine rejects."""
        if port.dims and source.dims and port.dims != source.dims and -1 not in (*port.dims, *source.dims):
            message = f"input port {port.id} declares {list(port.dims)}, but its source declares {list(source.dims)}"
            location = replace(_location_of(layer), line=port.line, port=port.id)
            self._fault(GraphError(message, code=Code.ports_disagree, severity="warning", location=location))

    def _outputs(self, layer: OlderLayer, inputs: Sequence[Value | None], lowered: OlderNetwork) -> list[Value | None]:
        if layer.type.lower() == "input":
            return [self._parameter(layer, lowered)]
        if any(value is None for value in inputs):
            return self._stand_ins(layer, [value for value in inputs if value is not None])
        present = [value for value in inputs if value is not None]
        lowering = find_lowering(layer.type)
        if lowering is None:
            return self._current_operator(layer, present) or self._unknown(layer, present)
        try:
            if not lowering.least_inputs <= len(present) <= lowering.most_inputs:
                least, most = lowering.least_inputs, lowering.most_inputs
                expected = (
                    str(least) if least == most else f"{least} to {most}" if most < 2**31 else f"at least {least}"
                )
                code = Code.wrong_number_of_inputs
                raise GraphError("the layer has", actual=len(present), detail="inputs", expected=expected, code=code)
            call = LayerCall(
                layer,
                self._document.version,
                self._document.precision,
                self._weights,
                lambda fault: self._fault(fault.located(_location_of(layer))),
                self.network,
                self.lines,
            )
            result = lowering.function(call, *present)
        except UnsupportedError as error:
            self._fault(error.changed(severity=self._unknown_severity).located(_location_of(layer)))
            return self._unknown(layer, present, is_reported=True)
        except IRError as error:
            location = replace(error.location, layer_id=None, layer_name=None, layer_type=None)
            self._fault(error.changed(location=location).located(_location_of(layer)))
            return self._stand_ins(layer, present)
        except RecursionError:
            raise
        except Exception as error:
            raise internal_error(error).located(_location_of(layer)) from error
        if result is None:
            return []
        outputs = list(result) if isinstance(result, (tuple, list)) else [result]
        lowered.sinks += [value for value in outputs if value.layer.type == "Assign"]
        outputs = [value for value in outputs if value.layer.type != "Assign"]
        return [self._as_declared(layer, value, position) for position, value in enumerate(outputs)]

    def _as_declared(self, layer: OlderLayer, value: Value, position: int) -> Value:
        """Booleans in the declared precision: the Inference Engine had no boolean type."""
        if value.element_type is not ElementType.boolean or position >= len(layer.outputs):
            return value
        declared = parsed_precision(layer.outputs[position].precision) or parsed_precision(layer.precision)
        if declared in (None, ElementType.boolean, ElementType.f16):
            declared = ElementType.f32
        assert declared is not None, "None is replaced above"
        return build.convert(value, declared)

    def _parameter(self, layer: OlderLayer, lowered: OlderNetwork) -> Value | None:
        port = layer.outputs[0] if layer.outputs else None
        if port is None:
            message = "the Input layer has no output port"
            self._fault(GraphError(message, code=Code.missing_markup, location=_location_of(layer)))
            return None
        element_type = self._precision(layer, port)
        shape = Shape([None if dim < 0 else dim for dim in port.dims])
        name = layer.name if layer.name and layer.name not in self.tensor_names else f"{layer.name}#{layer.id}"
        self.tensor_names.add(name)
        value = build.parameter(shape, element_type, name=name)
        lowered.inputs.append(value)
        tree = self._document.pre_process
        if tree is None or layer is not self._preprocessed:
            return value
        try:
            return subtract_mean(tree, value, self._weights)
        except IRError as error:
            self._fault(error.located(Location(line=tree.line)))
            return value

    def _precision(self, layer: OlderLayer, port: OlderPort) -> ElementType:
        """The element type of an input: f16 becomes f32, because FP16 networks have FP32 inputs and outputs."""
        try:
            element_type = parsed_precision(port.precision) or parsed_precision(layer.precision)
            element_type = element_type or parsed_precision(self._document.precision)
        except IRError as error:
            self._fault(error.located(_location_of(layer)))
            element_type = None
        return ElementType.f32 if element_type in (None, ElementType.f16) else element_type or ElementType.f32

    def _current_operator(self, layer: OlderLayer, inputs: Sequence[Value]) -> list[Value | None] | None:
        """Return the outputs of the current operator with the layer's type; None if the layer does not fit it."""
        cls = newest(layer.type)
        if cls is None or cls.is_parameter or cls.is_result or cls.evaluate_context:
            return None
        names = {name for field in cls.fields() for name in (field.attribute, field.name)}
        if not names.issuperset(layer.data):
            return None
        try:
            outputs = make(cls, list(inputs), layer.data, outputs=len(layer.outputs)).outputs
        except IRError:
            return None
        if len(outputs) != len(layer.outputs):
            return None
        declared = [Shape([None if dim < 0 else dim for dim in port.dims]) for port in layer.outputs]
        is_as_declared = all((value.shape & shape) is not None for value, shape in zip(outputs, declared, strict=True))
        return list(outputs) if is_as_declared else None

    def _unknown(self, layer: OlderLayer, inputs: Sequence[Value], *, is_reported: bool = False) -> list[Value | None]:
        """A layer of the file's type with its attributes, which cannot be executed."""
        if not is_reported:
            shown = ", ".join(f"{name}={value!r}" for name, value in layer.data.items()) or "none"
            message = f"unknown layer type {layer.type} of IR version {self._document.version}; attributes: {shown}"
            severity = self._unknown_severity
            self._fault(
                UnsupportedError(message, code=Code.unknown_type, severity=severity, location=_location_of(layer))
            )
        return self._opaque(layer, inputs)

    def _stand_ins(self, layer: OlderLayer, inputs: Sequence[Value]) -> list[Value | None]:
        """A placeholder for a layer that could not be lowered, to check its readers against its declared types."""
        self.left_out += 1
        return self._opaque(layer, inputs)

    def _opaque(self, layer: OlderLayer, inputs: Sequence[Value]) -> list[Value | None]:
        types = []
        for port in layer.outputs:
            element_type = self._precision(layer, port)
            types.append(TensorType(element_type, Shape([None if dim < 0 else dim for dim in port.dims])))
        operands = (*inputs, *self._raw_blobs(layer))
        # A type that shapes the graph would be read as what it is in current files.
        type_name = f"Older{layer.type}" if layer.type.lower() in _STRUCTURAL else layer.type
        opaque_layer = new_layer(type_name, Op(), operands, types, version=UNKNOWN_OPSET, attributes=dict(layer.data))
        return list(opaque_layer.outputs)

    def _raw_blobs(self, layer: OlderLayer) -> list[Value]:
        """The bytes of the blobs of a layer, to keep them with the layer."""
        values: list[Value] = []
        for blob in layer.blobs:
            op = Const(
                element_type=ElementType.u8, shape=Shape([max(blob.size, 0)]), offset=blob.offset, size=blob.size
            )
            try:
                (self._weights or Weights.of_bytes(b"")).check(ElementType.u8, op.shape.static, blob.offset, blob.size)
            except IRError:
                continue
            attributes = {
                "element_type": "u8",
                "shape": str(blob.size),
                "offset": str(blob.offset),
                "size": str(blob.size),
            }
            name = f"{layer.name}/{blob.name}"
            values += new_layer("Const", op, (), [op.infer(weights=None)], name=name, attributes=attributes).outputs
        return values

    def _name(self, layer: OlderLayer, outputs: Sequence[Value | None], mark: int) -> None:
        """Name new layers after their layer of the file: as a prefix, except for the layer of the first output."""
        values = [value for value in outputs if value is not None]
        names = [layer.name] if len(values) == 1 else [f"{layer.name}.{position}" for position in range(len(values))]
        pending = [value.layer for value in values if value.layer.serial > mark]
        seen = set(pending)
        first = values[0].layer if values else None
        while pending:
            built_layer = pending.pop()
            if not built_layer.name:
                built_layer.name = layer.name if built_layer is first else f"{layer.name}/{built_layer.type}"
            for value in built_layer.inputs:
                if value.layer.serial > mark and value.layer not in seen:
                    seen.add(value.layer)
                    pending.append(value.layer)
        for value, name in zip(values, names, strict=True):
            if value.layer.serial > mark and not value.tensor_names and name not in self.tensor_names:
                self.tensor_names.add(name)
                value.tensor_names = (name,)

    def _find_ends(self, layer: OlderLayer, links: _Links, lowered: OlderNetwork, body_outputs: set[PortKey]) -> None:
        """Collect the values without readers as outputs of the network, except constants and inputs."""
        keys = _output_keys(layer)
        for position, key in enumerate(keys):
            value = lowered.values.get(key)
            is_output = layer.type.lower() not in ("input", "const") and key not in links.read
            if value is not None and is_output and key not in body_outputs:
                lowered.ends.append((layer.name if len(keys) == 1 else f"{layer.name}.{position}", value))


def _location_of(layer: OlderLayer) -> Location:
    return Location(None, layer.line, layer.id, layer.name, layer.type)


def _output_keys(layer: OlderLayer) -> list[PortKey]:
    return [(layer.id, port.id) for port in layer.outputs]


@dataclass(frozen=True, slots=True)
class _Source:
    key: PortKey
    port: OlderPort


class _Links:
    """The edges of a network by their ends.

    Attributes:
        sources: The source ports by input port.
        read: The output ports with readers.
    """

    def __init__(self, network: OlderDocument | OlderBody, report: ReportFault) -> None:
        self._report = report
        self._layers: dict[str, OlderLayer] = {}
        self.sources: dict[PortKey, _Source] = {}
        self.read: set[PortKey] = set()
        self._faulty: set[PortKey] = set()
        for layer in network.layers:
            if self._layers.setdefault(layer.id, layer) is not layer:
                message = f"another layer has the id {layer.id}"
                report(GraphError(message, code=Code.duplicate_layer_id, location=_location_of(layer)))
        for edge in network.edges:
            self._add(edge)

    def is_faulty(self, key: PortKey) -> bool:
        """Return True if an edge to this port was reported and omitted."""
        return key in self._faulty

    def _add(self, edge: Edge) -> None:
        source, target = self._layers.get(edge.from_layer), self._layers.get(edge.to_layer)
        location = Location(line=edge.line)
        to = (edge.to_layer, edge.to_port)
        self._faulty.add(to)
        if source is None or target is None:
            missing = edge.from_layer if source is None else edge.to_layer
            self._report(
                GraphError(
                    f"the edge refers to layer {missing}, which does not exist",
                    code=Code.dangling_edge,
                    location=location,
                )
            )
            return
        port = next((output for output in source.outputs if output.id == edge.from_port), None)
        if port is None:
            message = f"layer {source.id} has no output port {edge.from_port}"
            self._report(GraphError(message, code=Code.wrong_port, location=location.filled_from(_location_of(source))))
            return
        if all(input.id != edge.to_port for input in target.inputs):
            message = f"layer {target.id} has no input port {edge.to_port}"
            self._report(GraphError(message, code=Code.wrong_port, location=location.filled_from(_location_of(target))))
            return
        if to in self.sources:
            message = f"input port {edge.to_port} has more than one edge"
            self._report(GraphError(message, code=Code.two_edges, location=location.filled_from(_location_of(target))))
            return
        self._faulty.discard(to)
        self.sources[to] = _Source((source.id, port.id), port)
        self.read.add((source.id, port.id))

    def sort_layers(self) -> list[OlderLayer]:
        """The layers, each after its sources; the layers of a cycle are omitted and reported."""
        waiting = {
            id: {source.key[0] for port in layer.inputs if (source := self.sources.get((id, port.id))) is not None}
            for id, layer in self._layers.items()
        }
        readers: dict[str, list[str]] = {}
        for id, sources in waiting.items():
            for source_id in sources:
                readers.setdefault(source_id, []).append(id)
        counts = {id: len(sources) for id, sources in waiting.items()}
        ready = [id for id, count in reversed(counts.items()) if count == 0]
        ordered = []
        while ready:
            id = ready.pop()
            ordered.append(self._layers[id])
            for reader in readers.get(id, ()):
                counts[reader] -= 1
                if counts[reader] == 0:
                    ready.append(reader)
        left = [layer for id, layer in self._layers.items() if counts[id] > 0]
        if left:
            message = f"{len(left)} layers form a cycle or depend on one"
            self._report(GraphError(message, code=Code.cycle, location=_location_of(left[0])))
        return ordered
