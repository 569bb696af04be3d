"""`check_model`: every pass over one file, whatever the file."""

from __future__ import annotations

import os

from ir_exec.check.findings import Findings
from ir_exec.check.report import Report
from ir_exec.check.structure import (
    all_graphs,
    cut_off_weights,
    duplicate_names,
    duplicate_port_ids,
    layers_in_doubt,
    unreachable_layers,
    unreferenced_weights,
)
from ir_exec.check.types import check_types
from ir_exec.errors import IRError, Location, ResourceError, WeightsError, internal_error
from ir_exec.model import Loaded, Source, WeightsSource, load

__all__ = ["check_model"]


def check_model(source: Source, *, weights: WeightsSource | None = None) -> Report:
    """Everything that is wrong with a file, in one pass; never raises.

    source: the .xml, by its path or as bytes. weights: another .bin than the one beside the .xml, by its path or as
    bytes. A path that cannot be read, and anything else that can be passed here, gives a report that says so.
    """
    findings = Findings(_path(source))
    layers = checked = 0
    try:
        loaded = load(source, _usable(weights, findings), report=findings)
        if loaded is not None:
            graphs = list(all_graphs(loaded.graph))
            layers = sum(len(graph.nodes) + len(graph.unreachable) for graph in graphs)
            checked = _check(loaded, findings)
    except IRError as error:
        findings(error)
    except MemoryError:
        findings(ResourceError("there was not enough memory to check the file"))
    except Exception as error:
        findings(internal_error(error))
    return Report(
        path=_path(source),
        diagnostics=findings.sorted(),
        layers_checked=checked,
        layers_not_checked=layers - checked,
    )


def _check(loaded: Loaded, findings: Findings) -> int:
    """Every pass over what was read; how many layers were checked."""
    graphs = list(all_graphs(loaded.graph))
    for layer in layers_in_doubt(loaded.document.layers, loaded.document.edges):
        findings.mute(layer)
    for graph in graphs:
        for error in (*duplicate_port_ids(graph), *duplicate_names(graph)):
            findings(error)
    # After faults of the structure layers may be unreachable only because an edge could not be used.
    if loaded.document.is_complete and not findings.has_error("IR10"):
        for graph in graphs:
            for error in unreachable_layers(graph):
                findings(error)
    if loaded.weights is not None and findings.has_error("IR202"):
        cut_off = cut_off_weights(loaded.graph, loaded.weights)
        if cut_off is not None:
            findings.merge(cut_off)
    checked = check_types(loaded.graph, loaded.weights, findings)
    if loaded.weights is not None and not findings.has_error("IR1", "IR2", "IR3"):
        for error in unreferenced_weights(loaded.graph, loaded.weights):
            findings(error)
    return checked


def _usable(weights: WeightsSource | None, findings: Findings) -> WeightsSource | None:
    if weights is None or isinstance(weights, (str, os.PathLike, bytes, bytearray, memoryview)):
        return weights
    message = f"weights are a path or bytes, found {type(weights).__name__}"
    findings(WeightsError(message, code="IR201", location=Location(path=None)))
    return None


def _path(source: Source) -> str | None:
    if isinstance(source, (bytes, bytearray, memoryview)):
        return None
    try:
        return os.fsdecode(source)
    except Exception:
        # Paths may be objects of any class, whose `__fspath__` may raise anything.
        return None
