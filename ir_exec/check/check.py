"""`check_model`: all checks of one file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from ir_exec.check.findings import Findings, Repair
from ir_exec.check.releases import newer_than, requirement, target_release
from ir_exec.check.report import Report, Requirement
from ir_exec.check.structure import (
    all_graphs,
    colliding_names,
    cut_off_weights,
    duplicate_names,
    duplicate_port_ids,
    layers_in_doubt,
    odd_constants,
    overlapping_constants,
    repeated_rt_info,
    unknown_tokenizer_operators,
    unreachable_layers,
    unreferenced_weights,
)
from ir_exec.check.types import check_types
from ir_exec.check.what_if import InputShapes, check_shapes, given_types
from ir_exec.codes import Code
from ir_exec.errors import IRError, ReportFault, ResourceError, ShapeError, internal_error
from ir_exec.graph import Graph, Node, Value, build_graph
from ir_exec.infer import foreign_weights
from ir_exec.ir.files import differing_weights
from ir_exec.ir.markup import is_text
from ir_exec.model import Loaded, Model, Source, WeightsSource, load, ports_of
from ir_exec.ops.infrastructure.values import Parameter
from ir_exec.types import Shape, TensorType

__all__ = ["CheckedFile", "check_model", "run_check", "unbounded_inputs"]


def check_model(
    source: Model | Source,
    *,
    weights: WeightsSource | None = None,
    shapes: InputShapes | None = None,
    batch: int | None = None,
    target: str | None = None,
    weights_values: bool = False,
) -> Report:
    """Report everything that is wrong with a file, or with a model in memory; never raises.

    Args:
        source: The .xml or .onnx, as a path or as bytes, a model in memory as for `read_model`, or a Model, which is
            checked as it would be saved. The report of an unreadable path contains this fault.
        weights: The .bin, as a path or as bytes, by default the file next to the .xml.
        shapes: New shapes of inputs, by name or as `"x[1..8,3],y[2]"`; layers that do not accept them are reported as
            well, and the report contains the types of the outputs for these shapes.
        batch: A new batch size: the first dim of the inputs, or the dim N of their layout; reported like `shapes`.
        target: A release of OpenVINO, `"2023.0"`; features that it cannot read are errors (IR119).
        weights_values: Check constants of every size for NaN, infinities and saturated f16, not only up to 1 MiB.
    """
    question = _Wanted(shapes, batch, target, weights_values)
    checked = run_check(source, weights, question)
    if checked.loaded is not None:
        checked.loaded.graph.take_apart()
    return checked.report


class CheckedFile(NamedTuple):
    """A report, the repairs of wrong port declarations, and the readable content of the file."""

    report: Report
    repairs: list[Repair]
    loaded: Loaded | None


@dataclass(frozen=True, slots=True)
class _Wanted:
    """The options of `check_model` beyond the file itself."""

    shapes: InputShapes | None = None
    batch: int | None = None
    target: str | None = None
    weights_values: bool = False


def run_check(
    source: Model | Source,
    weights: WeightsSource | None = None,
    question: _Wanted | None = None,
    *,
    inferred: dict[Value, TensorType] | None = None,
    read: Callable[[ReportFault], Loaded | None] | None = None,
) -> CheckedFile:
    """Run all checks of a file; never raises.

    Args:
        read: Reads the content, by default from the source, which is only named in the report otherwise.
        inferred: Filled with the type of every value that can be inferred, independent of the declared types.
    """
    findings = Findings(_path(source))
    loaded: Loaded | None = None
    layers = checked = left_out = 0
    requires: Requirement | None = None
    outputs: dict[str, str] | None = None
    try:
        question = question or _Wanted()
        if read is not None:
            loaded = read(findings)
        elif isinstance(source, Model):
            loaded = _reload(source, findings)
        else:
            loaded = load(source, weights, report=findings)
        if loaded is not None and loaded.left_out and read is None and not isinstance(source, Model):
            shapes = _shapes_asked_for(loaded, question)
            if shapes:
                # The shapes may determine nodes that were left out.
                findings = Findings(_path(source))
                loaded = load(source, weights, report=findings, shapes=shapes)
        if loaded is not None:
            graphs = list(all_graphs(loaded.graph))
            layers = sum(len(graph.nodes) + len(graph.unreachable) for graph in graphs) - len(loaded.stand_ins)
            left_out = loaded.left_out
            # No release that can be installed reads older versions.
            requires = requirement(loaded.document, loaded.version) if loaded.version >= 10 else None
            checked = max(0, _check(loaded, findings, question, inferred) - len(loaded.stand_ins))
            outputs = _what_if(loaded, findings, question)
            _doubt_weights(loaded, findings)
    except IRError as error:
        findings(error)
    except MemoryError:
        findings(ResourceError("there is not enough memory to check the file"))
    except Exception as error:
        findings(internal_error(error))
    report = Report(
        path=_path(source),
        diagnostics=findings.sorted(),
        layers_checked=checked,
        layers_not_checked=layers - checked + left_out,
        requires=requires,
        outputs=outputs,
    )
    return CheckedFile(report, findings.repairs, loaded)


def _shapes_asked_for(loaded: Loaded, question: _Wanted) -> dict[str, Shape]:
    """The requested shapes of inputs, by name; none if these are wrong, which is reported later."""
    try:
        types = given_types(loaded.graph, question.shapes, question.batch)
    except IRError:
        return {}
    return {value.node.name: type.shape for value, type in types.items()}


def _reload(model: Model, findings: Findings) -> Loaded:
    """The content of the file to which the model would be saved."""
    try:
        model.require_complete()
    except IRError as error:
        findings(error)
    document = model.current_document()
    graph = build_graph(document, model.weights, report=findings)
    return Loaded(document, graph, model.weights, document, model.left_out, model.stand_ins)


def _check(loaded: Loaded, findings: Findings, question: _Wanted, inferred: dict[Value, TensorType] | None) -> int:
    """Run every check, and return the number of layers that were checked."""
    graphs = list(all_graphs(loaded.graph))
    for layer in layers_in_doubt(loaded.document.layers, loaded.document.edges):
        findings.mute(layer)
    for error in (*repeated_rt_info(loaded.source), *colliding_names(loaded.source)):
        findings(error)
    for graph in graphs:
        for error in (*duplicate_port_ids(graph), *duplicate_names(graph)):
            if error.location.layer_id not in loaded.stand_ins:
                findings(error)
    # After a fault of the structure, layers may be unreachable only because an edge was dropped.
    if loaded.document.is_complete and not findings.has_error("IR10"):
        for graph in graphs:
            for error in unreachable_layers(graph):
                findings(error)
    if loaded.weights is not None and findings.has_error(Code.weights_short):
        cut_off = cut_off_weights(loaded.graph, loaded.weights)
        if cut_off is not None:
            findings.merge(cut_off)
    for error in unknown_tokenizer_operators(loaded.graph, loaded.document):
        findings(error)
    checked = check_types(loaded.graph, loaded.weights, findings, inferred)
    # Older versions have blobs instead of constants, whose parts may be read separately.
    if loaded.version >= 10:
        for error in overlapping_constants(loaded.graph, findings.is_faulty):
            findings.lead(error)
    if loaded.weights is not None:
        # Reading has compared a sample.
        digest = loaded.digest if question.weights_values else None
        if digest is not None:
            loaded.weights.fetch()
        if digest is not None and not digest.is_digest_of(loaded.weights.file_size, loaded.weights.slice):
            findings(differing_weights(loaded.weights, digest))
        if not findings.has_error("IR1", "IR2", "IR3"):
            for error in unreferenced_weights(loaded.graph, loaded.weights):
                findings(error)
        for error in odd_constants(
            loaded.graph, loaded.weights, everything=question.weights_values, skip=findings.is_faulty
        ):
            findings(error)
    return checked


def _doubt_weights(loaded: Loaded, findings: Findings) -> None:
    """Report weights of another model instead of the faults that follow from them."""
    is_explained = findings.has_error(Code.overlapping_constants)
    if loaded.weights is not None and findings.may_follow_from_weights and not is_explained:
        error = foreign_weights(loaded.graph, loaded.weights)
        if error is not None:
            findings.replace_by(error)


def _what_if(loaded: Loaded, findings: Findings, question: _Wanted) -> dict[str, str] | None:
    """Check other input shapes and an older release.

    Returns:
        The types of the outputs for the other input shapes, or None without other shapes.
    """
    outputs: dict[str, str] | None = None
    new_types: dict[Value, TensorType] = {}
    try:
        new_types = given_types(loaded.graph, question.shapes, question.batch)
    except IRError as error:
        findings(error)
    if new_types:
        types = check_shapes(loaded.graph, loaded.weights, new_types, findings)
        ends = ((node, node.values_in[0]) for node in loaded.graph.results if node.values_in)
        outputs = {port.name: f"{port.element_type}{port.shape}" for port in ports_of(ends, types)}
    for fault in unbounded_inputs(loaded.graph, new_types):
        if fault.location.layer_id not in loaded.stand_ins:
            findings(fault)
    if question.target is not None:
        try:
            target = target_release(str(question.target))
        except ValueError as error:
            findings(IRError(str(error), code=Code.unknown_input))
            return outputs
        for fault in newer_than(target, loaded.document, loaded.version):
            findings(fault)
    return outputs


def _path(source: Model | Source) -> str | None:
    if isinstance(source, Model):
        return source.document.path
    if isinstance(source, (bytes, bytearray, memoryview)) or is_text(source):
        return None
    try:
        return os.fsdecode(source)  # type: ignore[arg-type]  # an object that is not a path raises
    except Exception:
        # A path may be an object of any class, and its `__fspath__` may raise anything.
        return None


def unbounded_inputs(graph: Graph, new_types: Mapping[Value, TensorType]) -> Iterator[IRError]:
    """IR507 for each input with a dynamic rank, IR508 for each input with a dim without an upper bound.

    Args:
        new_types: Types that replace those of the file.
    """
    for node in graph.parameters:
        shape = _shape(node, new_types)
        if shape is None:
            continue
        if shape.dims is None:
            message = "the rank of this input is dynamic; some devices reject such models"
            yield ShapeError(message, code=Code.dynamic_rank).located(node.location)
        elif not all(dim.is_bounded for dim in shape.dims):
            message = "a dim of this input has no upper bound; some devices reject such models"
            yield ShapeError(message, code=Code.unbounded_dim).located(node.location)


def _shape(node: Node, new_types: Mapping[Value, TensorType]) -> Shape | None:
    for value in node.outputs:
        if value in new_types:
            return new_types[value].shape
    return node.op.shape if isinstance(node.op, Parameter) else None
