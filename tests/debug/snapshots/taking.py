"""The reports of one network as text, without figures that differ between machines."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

from ir_exec import Model, debug, read_model
from ir_exec.debug.traces.walk import Visit, Walker
from ir_exec.types import Array
from tests.conformance.networks import COPIES, arrays
from tests.debug.comparison.planted import plant_fault, visible
from tests.plans.snapshot import fixed_machine

__all__ = ["NETWORKS", "RECORDED", "take_snapshot"]

RECORDED = Path(__file__).with_name("recorded")

NETWORKS = (
    "beam_search_gathertree",
    "bert_tiny_fp16",
    "branches",
    "conv_zoo",
    "dynamic_output_ops",
    "embedding_bag_dlrm",
    "gnn_gcn_gat",
    "index_ops",
    "llama_stateful",
    "lstm",
    "nms9",
    "script_if",
    "script_loop_seq",
)

_HAVE_BODIES = frozenset({"branches", "script_if", "script_loop_seq"})

_PROFILED = frozenset({"lstm", "script_if", "script_loop_seq"})

_SEEDS = 60
"""Planted faults that are tried until one is visible."""


def take_snapshot(name: str) -> str:
    """The text of all reports of a network."""
    path = COPIES / f"{name}.xml"
    inputs = arrays(path, "inputs")
    assert inputs is not None, "every copy has inputs"
    lines = ["# visits", *_visits(read_model(path), inputs)]
    lines += ["", "# compare with itself", *_comparison(debug.compare(read_model(path), read_model(path), inputs))]
    lines += ["", "# compare with the trace of itself", *_comparison(_with_trace(path, inputs))]
    for bodies in (False, True) if name in _HAVE_BODIES else (False,):
        where = "a body" if bodies else "the network"
        lines += ["", f"# compare with a fault in {where}", *_with_fault(path, inputs, bodies=bodies)]
    lines += ["", "# extract", *_extracted_lines(read_model(path), inputs)]
    if name in _PROFILED:
        lines += ["", "# profile", *_profile(read_model(path), inputs)]
    return "\n".join(lines) + "\n"


def _visits(model: Model, inputs: list[Array]) -> Iterator[str]:
    lines: list[str] = []

    def visit(visit: Visit) -> None:
        times = f"[{','.join(map(str, visit.where.iterations))}]" if visit.where.iterations else ""
        types = " ".join(map(_type, visit.inputs))
        outputs = " ".join(map(_type, visit.outputs))
        dying = ",".join(map(str, sorted(visit.dying)))
        lines.append(f"{visit.path}{times} {visit.node.type}({types}) -> {outputs}; dying {dying or '-'}")

    Walker(model, precision="f32").run(inputs, visit)
    yield from lines


def _type(array: Array) -> str:
    return f"{array.dtype}{list(array.shape)}".replace(" ", "")


def _with_trace(path: Path, inputs: list[Array]) -> debug.Comparison:
    return debug.compare(read_model(path), debug.trace(read_model(path), inputs), inputs)


def _with_fault(path: Path, inputs: list[Array], *, bodies: bool) -> Iterator[str]:
    xml, weights = path.read_bytes(), path.with_suffix(".bin").read_bytes()
    good = read_model(path)
    for seed in range(_SEEDS):
        fault = plant_fault(xml, weights, Random(seed), bodies=bodies)
        if fault is not None and visible(good, fault, inputs):
            yield f"planted: {' '.join(sorted(fault.paths))} ({fault.kind}, seed {seed})"
            yield from _comparison(debug.compare(read_model(fault.xml, weights=fault.weights), good, inputs))
            return
    yield "no visible fault"


def _comparison(report: debug.Comparison) -> Iterator[str]:
    """The report about every layer; equal bits and values within the tolerance are reported alike."""
    yield f"verdict {report.verdict}, calls {report.calls}, not run {report.not_run}, untested {report.untested}"
    yield f"first fault {report.first_fault.path if report.first_fault else '-'}, carried {report.first_carried or '-'}"
    for fault in report.faults:
        includes, takers = (",".join(names) or "-" for names in (fault.includes, fault.taken_by))
        yield f"fault {fault.path} includes {includes} taken by {takers}"
    for output in report.output_results:
        status = "within" if output.status in ("equal", "close") else output.status
        yield f"output {output.name} = {output.partner}: {status} {output.element_type} {output.shape}"
    plain = 0
    for layer in report.layers:
        status = "within" if layer.status in ("equal", "close") else layer.status
        if status == "within" and layer.runs == 1 and layer.partner == layer.path and layer.own and not layer.untested:
            plain += 1
            continue
        if plain:
            yield f"... {plain} layers that run once and are within"
            plain = 0
        errors = "/".join(
            "-" if error is None else "beyond" if not error.is_within else "within" for error in _errors(layer)
        )
        times = f"[{','.join(map(str, layer.iterations))}]" if status != "within" else ""
        partner = "" if layer.partner == layer.path else f" = {layer.partner}"
        further = f"errors {errors}, runs {layer.runs}, untested {layer.untested}"
        yield f"{layer.path}{times} {layer.type}{partner}: {status}, {further}"
    yield f"... {plain} layers that run once and are within"
    for value in report.unmatched:
        yield f"unmatched {value.side} {value.path} {value.type}"


def _errors(layer: debug.ComparedLayer) -> tuple[debug.Difference | None, debug.Difference | None]:
    return layer.own, layer.carried


def _extracted_lines(model: Model, inputs: list[Array]) -> Iterator[str]:
    """Each output of a layer with bodies or in the middle of the network, from the layers right above it."""
    nodes = [node for node in model.graph.nodes if node.values_in and len(node.outputs) == 1]
    for node in nodes[len(nodes) // 2 : len(nodes) // 2 + 1]:
        part = debug.extract(model, inputs, to=node.name)
        yield f"to {node.name}: {' '.join(node.name for node in part.model.graph.nodes)}"
        for title, values in (("inputs", part.inputs), ("outputs", part.outputs)):
            for name, array in (values or {}).items():
                yield f"{title} {name} {_type(array)}"


def _profile(model: Model, inputs: list[Array]) -> Iterator[str]:
    with fixed_machine():
        report = debug.profile(model, inputs, repeat=1, threads=1)
    yield f"not run {report.not_run}"
    for layer in report.layers:
        yield f"{layer.path} {layer.type} {layer.element_type} {layer.shape} calls {layer.calls} {list(layer.fused)}"
