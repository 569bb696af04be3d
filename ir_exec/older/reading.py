"""The conversion of an older file to a model of current IR.

The resulting document has the ids, names, lines and declared dims of the file if a layer became one layer: later passes
report faults at the layers of the file. Inputs and outputs of FP16 are FP32, as in the Inference Engine.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from itertools import count

import numpy as np

from ir_exec import build
from ir_exec.build import Value
from ir_exec.build.network import assemble, needed_layers, result
from ir_exec.build.values import BuiltLayer
from ir_exec.codes import Code
from ir_exec.errors import GraphError, IRError, Location, ParseError, ReportFault, WeightsError, raise_error
from ir_exec.graph import build_graph
from ir_exec.hints import path_word
from ir_exec.ir import Document, Edge, Layer, Port, RtInfo, Weights
from ir_exec.ir.array_weights import ArrayWeights
from ir_exec.ir.document import id_number
from ir_exec.ir.markup import Markup
from ir_exec.ir.older_document import OlderDocument, read_older_document
from ir_exec.model import Loaded, WeightsSource, opened_weights
from ir_exec.older.call import OlderNetwork
from ir_exec.older.network import OlderLowerer, Origin

__all__ = ["load_older", "writer_of"]

_RELEASES = {"1.0": "2018 R1", "1.2.110": "2018 R2", "1.2.185": "2018 R3", "1.4": "2018 R4", "1.5": "2018 R5"}
"""Releases by the first digits of the version that their Model Optimizer wrote."""


def load_older(
    markup: Markup, *, path: str | None, weights: WeightsSource | None, report: ReportFault
) -> Loaded | None:
    """Read a file of versions 2 to 7 as a model of current IR and report every fault; None if nothing can be read."""

    def report_in_file(error: IRError) -> None:
        report(error.located(Location(path)))

    document = read_older_document(markup, path, report_in_file)
    opened = opened_weights(path, weights, report, are_needed=_has_blobs(document))
    report(_version_warning(document, markup))
    lowerer = OlderLowerer(document, opened, report_in_file, raises=report is raise_error)
    try:
        lowered = lowerer.network(document)
        return _load(document, lowered, lowerer, opened, report_in_file)
    except IRError as error:
        report_in_file(error)
        return None


def _has_blobs(document: OlderDocument) -> bool:
    return any(layer.blobs or layer.bodies for layer in document.layers) or document.pre_process is not None


def writer_of(document: OlderDocument) -> str | None:
    """The tool that wrote the file, `Model Optimizer 2018 R5 (1.5.12)`; None if the file does not name it."""
    version = document.meta_data.value("MO_version") if document.meta_data is not None else None
    if version is None:
        return None
    release = next((name for start, name in _RELEASES.items() if f"{version}.".startswith(f"{start}.")), None)
    number = re.match(r"[0-9.]*[0-9]", version)
    short = number[0] if number else version
    return f"Model Optimizer {release} ({version})" if release else f"Model Optimizer {short}"


def _version_warning(document: OlderDocument, markup: Markup) -> ParseError:
    """The warning IR005."""
    writer = writer_of(document)
    by = f", written by {writer}" if writer else ""
    message = f"IR version {document.version}{by} cannot be read by OpenVINO 2022.1 and later; ir_exec reads it"
    name = path_word(os.path.basename(document.path)) if document.path else "OLD.xml"
    hint = f"convert it to version 11: `ir-exec convert {name} -o NEW.xml`"
    location = Location(document.path, markup.line_of(markup.root))
    return ParseError(message, code=Code.ir_version, severity="warning", hint=hint, location=location)


def _load(
    document: OlderDocument, lowered: OlderNetwork, lowerer: OlderLowerer, weights: Weights | None, report: ReportFault
) -> Loaded | None:
    if not lowered.ends and not lowered.sinks:
        location = Location(document.path)
        report(GraphError("the model has no output", code=Code.no_result, location=location))
        return None
    results = [_result(name, value, lowerer.tensor_names) for name, value in lowered.ends]
    needed = needed_layers([*results, *lowered.sinks, *lowered.inputs])
    network = assemble(needed, lowered.inputs, results, document.name)
    ends = {value.layer for value in (*lowered.inputs, *results)}
    ordered = [input.layer for input in lowered.inputs]
    ordered += [layer for layer in needed if layer not in ends]
    ordered += [result.layer for result in results]
    # Without the .bin no constant is known: the missing file is reported once.
    lacks_weights = weights is None and _has_blobs(document)
    array_weights = None if lacks_weights else ArrayWeights(network.constants, weights)
    layers, edges = _Relabelling(lowerer, ordered).relabel(network.layers, network.edges)
    current_document = Document(
        name=document.name,
        version=11,
        layers=layers,
        edges=edges,
        rt_info=_rt_info(document),
        path=document.path,
        is_complete=document.is_complete and not lowerer.left_out,
    )
    shown = {"version": document.version, "meta_data": document.meta_data}
    source = current_document.model_copy(update={**shown, "rt_info": RtInfo(name="rt_info")})
    if network.constants and weights is not None and not lowerer.left_out:
        for fault in _unreferenced_bytes(layers, weights):
            report(fault)
    graph = build_graph(current_document, array_weights, report=_without_unknown(report))
    return Loaded(current_document, graph, array_weights, source, left_out=0)


def _unreferenced_bytes(layers: Iterable[Layer], weights: Weights) -> Iterator[WeightsError]:
    """IR207 if the weights continue after the last byte that a constant uses."""
    pending, end = list(layers), 0
    while pending:
        layer = pending.pop()
        pending += [inner for body in layer.bodies for inner in body.layers]
        if layer.is_constant and int(layer.data["offset"]) < weights.size:
            end = max(end, int(layer.data["offset"]) + int(layer.data["size"]))
    if 0 < end < weights.size:
        message = f"no constant uses the last {weights.size - end:,} of {weights.size:,} bytes of the weights"
        location = Location(path=weights.path)
        yield WeightsError(message, code=Code.unreferenced_weights, severity="info", location=location)


def _result(name: str, value: Value, names: set[str]) -> Value:
    """A Result named after its value; an input that is also an output needs a separate tensor."""
    if value.layer.type == "Parameter" or (value.tensor_names and name not in value.tensor_names):
        value = build.convert(value, value.element_type)
    if name not in value.tensor_names:
        number = next(suffix for suffix in count() if f"{name}#{suffix}" not in names)
        name = name if name and name not in names else f"{name}#{number}"
        names.add(name)
    return result(value, tensor_names=(name,))


def _without_unknown(report: ReportFault) -> ReportFault:
    """A report that omits the opset of layers that could not be lowered, which are already reported."""

    def report_known(error: IRError) -> None:
        if error.code not in (Code.unknown_opset, Code.unknown_type, Code.extension_operator):
            report(error)

    return report_known


def _rt_info(document: OlderDocument) -> RtInfo:
    from ir_exec import __version__

    program = RtInfo(name="ir_exec_version", attributes={"value": __version__})
    version = RtInfo(name="source_ir_version", attributes={"value": str(document.version)})
    writer = writer_of(document)
    writer_info = (RtInfo(name="source_writer", attributes={"value": writer}),) if writer else ()
    return RtInfo(name="rt_info", children=(program, version, *writer_info))


class _Relabelling:
    """Assigns the ids, lines and declared dims of the file to the layers made from its layers."""

    def __init__(self, lowerer: OlderLowerer, ordered: list[BuiltLayer]) -> None:
        self._ordered = ordered
        self._lines = lowerer.lines
        self._origins = sorted(lowerer.origins, key=lambda origin: origin.first)
        self._firsts = np.array([origin.first for origin in self._origins], np.int64)
        numbers = [number for origin in self._origins if (number := id_number(origin.layer.id)) is not None]
        self._next = max(numbers, default=-1) + 1
        self._used: set[str] = set()

    def relabel(self, layers: tuple[Layer, ...], edges: tuple[Edge, ...]) -> tuple[tuple[Layer, ...], tuple[Edge, ...]]:
        ids: dict[str, str] = {}
        new_layers = []
        for built, layer in zip(self._ordered, layers, strict=True):
            origin = self._origin(built)
            ids[layer.id] = self._id(built, origin)
            line = self._lines.get(built) or (origin.layer.line if origin else 0)
            data_line = origin.layer.data_line if origin else line
            outputs = self._declared_ports(built, layer, origin)
            update = {"id": ids[layer.id], "line": line, "data_line": data_line, "outputs": outputs}
            new_layers.append(layer.model_copy(update=update))
        new_edges = [
            edge.model_copy(update={"from_layer": ids[edge.from_layer], "to_layer": ids[edge.to_layer]})
            for edge in edges
        ]
        return tuple(new_layers), tuple(new_edges)

    def _origin(self, built: BuiltLayer) -> Origin | None:
        """The innermost layer of the file from which a layer was made."""
        index = int(np.searchsorted(self._firsts, built.serial)) - 1
        while index >= 0:
            origin = self._origins[index]
            if built.serial < origin.last:
                return origin
            index -= 1
        return None

    def _id(self, built: BuiltLayer, origin: Origin | None) -> str:
        """The id of the file's layer for the layer that computes its first output, a new id for others."""
        values = [value for value in origin.outputs if value is not None] if origin else []
        if origin is not None and values and values[0].layer is built and origin.layer.id not in self._used:
            self._used.add(origin.layer.id)
            return origin.layer.id
        self._next += 1
        return str(self._next - 1)

    def _declared_ports(self, built: BuiltLayer, layer: Layer, origin: Origin | None) -> tuple[Port, ...]:
        """The output ports with the dims that the file declares, if they correspond to a port of the file."""
        if origin is None:
            return layer.outputs
        ports = list(layer.outputs)
        for value, port in zip(origin.outputs, origin.layer.outputs, strict=False):
            if value is not None and value.layer is built and port.dims and value.position < len(ports):
                update = {"dims": port.dims, "line": port.line}
                ports[value.position] = ports[value.position].model_copy(update=update)
        return tuple(ports)
