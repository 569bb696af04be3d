"""`compare` with `isolate`: compare the whole run with a device, and run each layer by itself on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from typing import Any

from ir_exec.codes import Code
from ir_exec.debug.comparison.judging import decide
from ir_exec.debug.comparison.metrics import Difference, Settings, difference
from ir_exec.debug.comparison.records import ComparedLayer, Status
from ir_exec.debug.comparison.report import Comparison
from ir_exec.debug.device.asking import Asker, PartQuestion
from ir_exec.debug.device.devices import Engine, device_of
from ir_exec.debug.device.isolating import Isolator
from ir_exec.debug.device.records import Isolation, IsolationVerdict, RunPart
from ir_exec.debug.device.text import part_note
from ir_exec.debug.device.together import WrongTogether
from ir_exec.debug.inputs.drawing import Drawn, checked_inputs
from ir_exec.debug.traces.walk import Walker
from ir_exec.errors import EvaluationError, IRError
from ir_exec.graph import Node
from ir_exec.hints import suggested
from ir_exec.model import Model, ShapeLike
from ir_exec.ops.infrastructure.values import ReadsVariable
from ir_exec.runtime.arguments import Inputs, bind_inputs
from ir_exec.runtime.calls import bind_calls
from ir_exec.runtime.precision import as_declared
from ir_exec.types import Array, ElementType

__all__ = ["compare_isolated"]

_ENGINES: Mapping[str, Engine] = {"openvino": "openvino", "onnxruntime": "onnxruntime"}

_MOST_SEARCHED = 3
"""Maximum layers for which a wrong fusion is searched for: each search takes several runs."""

_SEVERITY: Sequence[Status] = (
    "skipped",
    "unmatched",
    "equal",
    "close",
    "carried",
    "step",
    "failed",
    "reference",
    "wrong",
)


def compare_isolated(
    model: Model,
    reference: object,
    inputs: Inputs | None,
    then: Sequence[Inputs],
    calls: int | None,
    seed: int,
    shapes: Mapping[str, ShapeLike] | None,
    *,
    block: str | None,
    settings: Settings,
    device: str,
    hint: str,
    timeout: float,
    compare_complete: Callable[[Model, Sequence[Sequence[Array]]], Comparison],
) -> Comparison:
    """Compare the whole model, and each part by itself.

    Args:
        block: The pattern of blocks, None for single layers.
        compare_complete: Compares calls of the whole model.

    Raises:
        EvaluationError: If the reference is not an engine or the device does not exist, and the errors of a run.
    """
    if not isinstance(reference, str) or reference not in _ENGINES:
        raise EvaluationError(
            f"{reference!r} cannot run single layers",
            expected="openvino or onnxruntime",
            code=Code.unknown_input,
            hint=suggested(str(reference), list(_ENGINES)),
        )
    options: dict[str, Any] = {"threads": settings.threads, "precision": settings.precision}
    asked = device_of(_ENGINES[reference], device, hint=hint, timeout=timeout, **options)
    if model.lowered_from is not None:
        asked.title = f"{asked.title.removesuffix(')')}, lowered by ir_exec)"
    with closing(asked):
        drawn: Drawn | None = None
        if inputs is None:
            inputs, drawn = checked_inputs(model, seed, shapes, **options)
        model, rows, _ = bind_calls(model, inputs, *then)
        while len(rows) < (calls or 1):
            again = checked_inputs(model, seed + len(rows), shapes, **options)[0] if drawn and not then else None
            rows.append(rows[-1] if again is None else bind_inputs(again, model.inputs))
        asker = Asker(asked)
        isolator = Isolator(model, asker, settings, block)
        try:
            report = compare_complete(model, rows)
        except IRError as error:
            name = model.graph.path or model.name
            sizes = {port.name: array.shape for port, array in zip(model.inputs, rows[0], strict=True)}
            failed = Comparison(
                model=name, reference=asked.title, verdict="failed", equal=False, failure=error.message, inputs=sizes
            )
            report = decide(failed, "failed", settings.fail_on)
        seed_of = None if drawn is None else drawn.seed
        report = report.model_copy(update={"seed": seed_of, "drawn": drawn})
        return _with_parts(model, rows, report, isolator.run(rows), asker, settings, block)


def _with_parts(
    model: Model,
    rows: Sequence[Sequence[Array]],
    report: Comparison,
    found_parts: Sequence[RunPart],
    asker: Asker,
    settings: Settings,
    block: str | None,
) -> Comparison:
    """Add the parts, the wrong fusions and the verdict to a report.

    Args:
        found_parts: The results of `Isolator.run`.
    """
    device = asker.device
    parts = [_with_whole(part, report) for part in found_parts]
    has_state = any(isinstance(node.op, ReadsVariable) for node in model.graph.all_nodes())
    optimized: Difference | None = None
    ends: list[Node] = []
    if len(rows) == 1 and not has_state:
        ends, optimized = _differing_ends(model, rows[0], report, asker, settings)
    fusions: list[RunPart] = []
    if len(rows) == 1:
        search = WrongTogether(model, rows[0], asker, settings)
        for node in _suspects(model, parts, ends, report)[:_MOST_SEARCHED]:
            group = search.above(node)
            # A larger group is a consequence of the smaller group that it contains.
            if group is not None and not any(set(fusion.layers) <= set(group.layers) for fusion in fusions):
                fusions.append(_with_whole(group, report))
    isolation = Isolation(
        device=device.title,
        version=device.version,
        block=block,
        verdict=_verdict(parts, fusions, report, bool(ends)),
        parts=tuple(parts),
        fusions=tuple(fusions),
        call=len(rows),
        whole=optimized,
        networks=asker.networks,
        crashes=asker.crashes,
    )
    return decide(_add_notes(report, isolation), report.verdict, settings.fail_on)


def _verdict(
    parts: Sequence[RunPart], fusions: Sequence[RunPart], report: Comparison, differs: bool
) -> IsolationVerdict:
    if any(part.status == "wrong" for part in parts):
        return "layer"
    if fusions:
        return "fusion"
    if any(part.status in ("refused", "crashed") for part in parts):
        return "refused"
    if report.verdict == "failed":
        return "whole"
    right = {layer for part in parts if part.status in ("right", "step") for layer in part.layers}
    is_by_setting = report.verdict == "reference" and bool(report.settings)
    if (report.verdict == "reference" and not is_by_setting) or any(fault.path in right for fault in report.faults):
        return "fusion"
    return "carried" if differs or report.verdict == "different" else "right"


def _with_whole(part: RunPart, report: Comparison) -> RunPart:
    """The part with the worst status of its layers in the whole run."""
    own = set(zip(part.layers, part.layer_ids, strict=True))
    statuses = [layer.status for layer in report.layers if (layer.path, layer.layer_id) in own]
    return part.model_copy(update={"whole": max(statuses, key=_SEVERITY.index)}) if statuses else part


def _suspects(model: Model, parts: Sequence[RunPart], ends: Sequence[Node], report: Comparison) -> list[Node]:
    """Layers that are right by themselves and wrong in the whole run, followed by the layers of outputs that differ.

    The latter are left out if a layer that is wrong by itself explains the difference.
    """
    fine = [part for part in parts if part.status in ("right", "step")]
    right = {layer_key for part in fine for layer_key in zip(part.layers, part.layer_ids, strict=True)}
    wrong = {(layer.path, layer.layer_id) for layer in report.layers if layer.status in ("wrong", "reference")}
    suspects = [node for node in model.graph.nodes if (node.name, node.id) in wrong & right]
    if not any(part.status == "wrong" for part in parts):
        suspects += [node for node in ends if (node.name, node.id) in right and node not in suspects]
    return suspects


def _differing_ends(
    model: Model, inputs: Sequence[Array], report: Comparison, asker: Asker, settings: Settings
) -> tuple[list[Node], Difference | None]:
    """The layers of outputs that differ in the optimized run, and the worst error if `report` is of a plain run."""
    ends = [result.values_in[0].node for result in model.graph.results]
    if not report.reference.startswith("onnxruntime"):
        names = {
            result.path.rpartition(":")[0] or result.path
            for result in report.output_results
            if result.status == "different"
        }
        names |= {result.path for result in report.output_results if result.status == "different"}
        return [node for node in ends if node.name in names], None
    answer = asker.ask(PartQuestion(model, inputs), fuses=True)
    if answer.problem is not None:
        return [], None
    walker = Walker(model, threads=settings.threads, precision=settings.precision)
    expected = walker.run(list(inputs))
    differ, worst = [], None
    for node, port, ours, theirs in zip(ends, model.outputs, expected, answer.outputs, strict=True):
        kinds = [ElementType.of(ours), ElementType.of(theirs)]
        error = difference(as_declared(ours, port.element_type), theirs, settings.carried_tolerance(kinds, node))
        worst = error if worst is None or error.beyond > worst.beyond else worst
        if not error.is_within:
            differ.append(node)
    return differ, worst


def _add_notes(report: Comparison, isolation: Isolation) -> Comparison:
    """The comparison with the parts, and with a note for each layer that ran by itself.

    Layers missing from the comparison, for example because the whole model does not run, are added to it.
    """
    single = {(part.layers[0], part.layer_ids[0]): part for part in isolation.parts if part.kind == "layer"}
    layers: list[ComparedLayer] = []
    for layer in report.layers:
        part = single.pop((layer.path, layer.layer_id), None)
        layers.append(layer if part is None else _with_part(layer, part, isolation.device))
    for (path, id), part in single.items():
        added = ComparedLayer(layer_id=id, layer_name=path, path=path, type=part.types[0], status="unmatched")
        if part.status not in ("left out", "not run"):
            layers.append(_with_part(added, part, isolation.device))
    return report.model_copy(update={"layers": tuple(layers), "isolation": isolation})


def _with_part(layer: ComparedLayer, part: RunPart, device: str) -> ComparedLayer:
    is_plain = part.status == "right" and layer.status in ("equal", "close")
    notes = "; ".join(filter(None, (layer.note, None if is_plain else part_note(part, device)))) or None
    return layer.model_copy(update={"alone": part.status, "alone_error": part.error, "note": notes})
