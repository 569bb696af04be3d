"""The view of a model for a page, complete as far as its file can be read."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from ir_exec.check import Diagnostic, Report
from ir_exec.check.check import CheckedFile, run_check
from ir_exec.check.rules import rule_of
from ir_exec.errors import IRError
from ir_exec.graph import Graph, Node, Value
from ir_exec.graph.sources import find_sources
from ir_exec.ir.markup import load as read_raw
from ir_exec.ir.sources import CodeLocation
from ir_exec.model import Loaded, Model, Source, WeightsSource, load
from ir_exec.onnx.lowering.layer_names import node_of_layer
from ir_exec.ops.infrastructure.values import Const, Parameter, ReadsVariable
from ir_exec.ports import port_names
from ir_exec.types import TensorType
from ir_exec.view.data import (
    BodyView,
    ChangeView,
    CodeView,
    ErrorView,
    FindingView,
    GraphView,
    InputView,
    LayerView,
    NetworkView,
    OutputView,
    TimeView,
    ValuesView,
)
from ir_exec.view.text import LayerPlaces, printable, source_of_layers

__all__ = ["Notes", "OpenedFile", "finding_view", "network_view", "open_network"]

_MOST_KNOWN = 16
"""Maximum elements of a value that is shown."""


@dataclass
class Notes:
    """Facts about layers and values from reports and runs."""

    values: dict[Value, ValuesView] = field(default_factory=dict)
    errors: dict[Node, ErrorView] = field(default_factory=dict)
    times: dict[Node, TimeView] = field(default_factory=dict)
    changes: dict[Node, ChangeView] = field(default_factory=dict)


@dataclass
class OpenedFile:
    """A file that was read.

    Attributes:
        source: None for a model without a file.
        report: None if it was not checked.
        inferred: The inferred types of its values, independent of the declared types.
    """

    source: Source | None
    report: Report | None
    loaded: Loaded
    inferred: Mapping[Value, TensorType]
    places: LayerPlaces

    @property
    def title(self) -> str:
        path = self.loaded.document.path
        return os.path.basename(path) if path else self.loaded.document.name


def open_network(source: Model | Source, weights: WeightsSource | None = None) -> OpenedFile:
    """Read and check a file, or check a model in memory. A faulty file is shown as far as it can be read.

    Raises:
        IRError: The first error if nothing can be read.
    """
    inferred: dict[Value, TensorType] = {}
    checked: CheckedFile = run_check(source, weights, inferred=inferred)
    if checked.loaded is None:
        if not isinstance(source, Model):
            load(source, weights)
        raise AssertionError("a file without a document has a fault that raises")
    file = None if isinstance(source, Model) else source
    return OpenedFile(file, checked.report, checked.loaded, inferred, LayerPlaces(checked.loaded.graph))


def network_view(
    opened: OpenedFile, notes: Notes | None = None, *, with_source: bool = True, report: Report | None = None
) -> NetworkView:
    """The view of a model for a page.

    Args:
        with_source: True to include the lines of each layer.
        report: The report of the check; by default the report of `opened`.
    """
    places, graph = opened.places, opened.loaded.graph
    report = report or opened.report
    lines = _source_lines(opened) if with_source else {}
    layers = _Layers(opened, notes or Notes(), lines)
    return NetworkView(
        title=printable(opened.title),
        file=printable(opened.loaded.document.path or ""),
        facts=_facts(opened),
        graph=layers.graph(graph),
        findings=tuple([finding_view(diagnostic, places) for diagnostic in report.diagnostics]) if report else (),
        unchecked=report is None,
    )


def _source_lines(opened: OpenedFile) -> dict[int, str]:
    has_lines = any(node.layer.line for node in opened.places.keys)
    if not isinstance(opened.source, (str, os.PathLike, bytes)) or not has_lines:
        # Models in memory and layers of files of other formats have no lines.
        return {}
    try:
        _, raw = read_raw(opened.source)
    except IRError:
        return {}
    return source_of_layers(raw, [node.layer.line for node in opened.places.keys])


class _Layers:
    """A factory of the views of layers."""

    def __init__(self, opened: OpenedFile, notes: Notes, lines: Mapping[int, str]) -> None:
        self._keys = opened.places.keys
        self._inferred = opened.inferred
        self._notes = notes
        self._lines = lines
        self._operators = _onnx_operators(opened.source)
        graph = opened.loaded.graph
        self._code = find_sources(graph, opened.loaded.document)
        ends = [(node, node.outputs[0]) for node in graph.parameters if node.outputs]
        self._ports = dict(zip((node for node, _ in ends), port_names(ends), strict=True))
        ends = [(node, node.values_in[0]) for node in graph.results if node.values_in]
        self._ports |= dict(zip((node for node, _ in ends), port_names(ends), strict=True))

    def graph(self, graph: Graph) -> GraphView:
        nodes = [*graph.nodes, *graph.unreachable]
        positions = {node: position for position, node in enumerate(nodes)}
        dead = set(graph.unreachable)
        constant: set[Node] = set()
        layers = []
        for node in nodes:
            if _is_constant(node, constant):
                constant.add(node)
            layers.append(self._layer(node, positions, is_constant=node in constant, is_dead=node in dead))
        return GraphView(layers=tuple(layers))

    def _layer(self, node: Node, positions: Mapping[Node, int], *, is_constant: bool, is_dead: bool) -> LayerView:
        layer, notes = node.layer, self._notes
        bodies = tuple([BodyView(name=body.name, graph=self.graph(body.graph)) for body in node.bodies])
        return LayerView(
            key=self._keys[node],
            name=printable(layer.name),
            type=printable(layer.type),
            opset=printable(layer.version or ""),
            attributes=self._onnx_node(layer.name)
            | {printable(name): printable(text) for name, text in layer.data.items()},
            inputs=tuple([self._input(node, position, positions) for position in range(len(node.inputs))]),
            outputs=tuple([self._output(value) for value in node.outputs]),
            bodies=bodies,
            constant=is_constant,
            unreachable=is_dead,
            line=layer.line or None,
            source=self._lines.get(layer.line),
            code=_code_view(self._code.get(node)),
            error=notes.errors.get(node),
            time=notes.times.get(node),
            change=notes.changes.get(node),
            port=printable(self._ports[node][0]) if node in self._ports else None,
        )

    def _onnx_node(self, name: str) -> dict[str, str]:
        """The node of an ONNX file from which a layer was made, with its operator."""
        node = node_of_layer(name, self._operators) if self._operators else None
        return {} if node is None else {"ONNX node": printable(f"{node} ({self._operators[node]})")}

    def _input(self, node: Node, position: int, positions: Mapping[Node, int]) -> InputView:
        value = node.inputs[position]
        return InputView(
            layer=None if value is None else positions.get(value.node),
            port=0 if value is None else value.position,
            name="" if node.op is None else node.op.input_name(position),
            declared=str(node.declared_inputs[position]),
        )

    def _output(self, value: Value) -> OutputView:
        inferred = self._inferred.get(value)
        return OutputView(
            declared=str(value.declared),
            inferred=None if inferred is None else str(inferred),
            names=tuple([printable(name) for name in value.names]),
            known=None if inferred is None else _known_elements(inferred),
            values=self._notes.values.get(value),
        )


def _onnx_operators(source: Source | None) -> dict[str, str]:
    """The operators of the nodes of an ONNX file by their names; none for other files, and for damaged ones."""
    if not isinstance(source, (str, os.PathLike)) or os.path.splitext(os.fsdecode(source))[1].lower() != ".onnx":
        return {}
    from ir_exec.onnx.reading.node_operators import node_operators  # imported for ONNX files only

    try:
        return node_operators(source)
    except IRError:
        return {}


def _code_view(source: CodeLocation | None) -> CodeView | None:
    if source is None:
        return None
    texts = (source.module, source.module_class, source.file, source.function, source.code)
    module, module_class, file, function, code = (None if text is None else printable(text, 1000) for text in texts)
    return CodeView(module=module, module_class=module_class, file=file, line=source.line, function=function, code=code)


def _is_constant(node: Node, constant: set[Node]) -> bool:
    if isinstance(node.op, Const):
        return True
    if node.op is None or node.bodies or node.op_class.is_result or not node.inputs or not node.op.deterministic:
        return False
    if isinstance(node.op, (Parameter, ReadsVariable)):
        return False
    return all(value is not None and value.node in constant for value in node.inputs)


def _known_elements(type: TensorType) -> str | None:
    """The elements of a small value that inference computes."""
    if type.source is None or not type.shape.is_static:
        return None
    count = 1
    for dim in type.shape.dims or ():
        count *= dim.lo
    if count > _MOST_KNOWN:
        return None
    value = type.value
    return None if value is None else printable(str(value.tolist()))


def finding_view(diagnostic: Diagnostic, places: LayerPlaces | None) -> FindingView:
    """The view of a finding, with its layer.

    Args:
        places: None without a model.
    """
    source = None if diagnostic.source is None else f"source: {diagnostic.source}"
    hint = "; ".join(filter(None, (diagnostic.hint, source)))
    node = None if places is None else places.of_location(diagnostic.location)
    return FindingView(
        code=diagnostic.code,
        rule=diagnostic.name,
        severity=diagnostic.severity,
        message=printable(diagnostic.message, 1000),
        hint=printable(hint, 1000) if hint else None,
        means=rule_of(diagnostic.code).summary,
        layer=None if node is None or places is None else places.keys[node],
        port=None if diagnostic.location.port is None else printable(diagnostic.location.port),
        line=diagnostic.location.line,
    )


def _facts(opened: OpenedFile) -> tuple[tuple[str, str], ...]:
    loaded, report = opened.loaded, opened.report
    nodes = list(opened.places.keys)
    constants = {(node.op.offset, node.op.size) for node in nodes if isinstance(node.op, Const)}
    stored = sum(size for _, size in constants)
    facts = [("name", printable(loaded.document.name)), ("IR version", str(loaded.version))]
    facts.append(("layers", f"{len(nodes):,}, {len(constants):,} distinct constants with {stored:,} bytes"))
    if report is not None:
        facts.append(("checked", f"{report.layers_checked:,} layers, {report.layers_not_checked:,} not checked"))
    if report is not None and report.requires is not None:
        facts.append(("requires", f"OpenVINO {report.requires.release} or newer"))
    return tuple(facts)
