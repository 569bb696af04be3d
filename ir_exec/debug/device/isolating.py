"""`compare` with `isolate`: compare the complete run with a device, and run each layer by itself on it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

from ir_exec.build.cutting import source
from ir_exec.codes import Code
from ir_exec.debug.comparison.anchors import as_type_of
from ir_exec.debug.comparison.judging import decide
from ir_exec.debug.comparison.metrics import Difference, Settings, difference
from ir_exec.debug.comparison.records import ComparedLayer, Status
from ir_exec.debug.comparison.report_text import Comparison
from ir_exec.debug.device.devices import Asker, Engine, PartQuestion, device_of
from ir_exec.debug.device.parts import IsolatedPart, LeftOut, blocks_of, parts_of, scopes_of
from ir_exec.debug.device.records import Isolation, IsolationVerdict, PartStatus, RunPart, part_note
from ir_exec.debug.device.verdicts import PartCase, WrongTogether, judge_again
from ir_exec.debug.inputs.drawing import Drawn, checked_inputs
from ir_exec.debug.traces.walk import Visit, Walker, Where
from ir_exec.errors import EvaluationError, IRError
from ir_exec.graph import Node, Value
from ir_exec.hints import suggested
from ir_exec.model import Model, ShapeLike
from ir_exec.ops.infrastructure.values import Const, ReadsVariable
from ir_exec.runtime.arguments import Inputs, bind_inputs
from ir_exec.runtime.calls import bind_calls
from ir_exec.runtime.precision import as_declared
from ir_exec.types import Array, ElementType

__all__ = ["BATCH_BYTES", "BATCH_PARTS", "BLOCK_LAYERS", "Isolator", "compare_isolated"]

BATCH_PARTS = 64
"""Maximum parts in a batch. Compiling a model takes at least 20 ms on a CPU, and seconds on a GPU."""

BLOCK_LAYERS = 32
"""Layers of a block on devices for which single layers are too slow."""

BATCH_BYTES = 2**28
"""Maximum bytes of inputs, expected outputs and weights in a batch; a single part may be larger."""


@dataclass
class _Pending:
    """A part whose layers are being run, with the values of its inputs and outputs computed up to here."""

    part: IsolatedPart
    where: Where
    left: set[Node]
    given: dict[Value, Array] = field(default_factory=dict)
    made: dict[Value, Array] = field(default_factory=dict)

    @property
    def size(self) -> int:
        return sum(array.nbytes for array in (*self.given.values(), *self.made.values()))


class Isolator:
    """Runner of a model, and of each of its parts on a device.

    Args:
        settings: The precision and the tolerances.
        block: As for `parts_of`. Without one, devices with `prefers_blocks` run blocks of consecutive layers, and
            the layers of those that are wrong or do not run alone.

    Raises:
        EvaluationError: If no layer is in a block.
    """

    def __init__(self, model: Model, asker: Asker, settings: Settings, block: str | None = None) -> None:
        self._asker = asker
        self._settings = settings
        self._walker = Walker(model, threads=settings.threads, precision=settings.precision)
        self._starts: dict[tuple[tuple[str, ...], Node], IsolatedPart] = {}
        self._order: list[IsolatedPart] = []
        self._left: list[LeftOut] = []
        self._is_in_blocks = block is None and asker.device.prefers_blocks
        for scope in scopes_of(model):
            parts, left = blocks_of(scope, BLOCK_LAYERS) if self._is_in_blocks else parts_of(scope, block)
            self._order += parts
            self._left += left
            self._starts |= _starts_of(parts)
        if block is not None and all(part.is_single for part in self._order):
            names = ", ".join(part.name for part in self._order[:3])
            message = f"no layer has a name that begins with {block!r}; the first layers are: {names}"
            raise EvaluationError(message, code=Code.unknown_input)
        self._pending: dict[IsolatedPart, _Pending] = {}
        self._batch: list[tuple[IsolatedPart, PartCase]] = []
        self._size = 0
        self._found: dict[IsolatedPart, RunPart] = {}

    def run(self, calls: Sequence[Sequence[Array]]) -> list[RunPart]:
        """Run all calls, and each part with its inputs in the last call.

        Raises:
            IRError: The errors of a run.
        """
        self._run_parts(calls)
        if self._is_in_blocks and self._divide_blocks():
            self._run_parts(calls)
        parts = [
            self._found.get(part) or _run_part(part, "not run", note="the body did not run") for part in self._order
        ]
        return parts + [
            RunPart(
                name=left.path,
                layers=(left.path,),
                layer_ids=(left.node.id,),
                types=(left.node.type,),
                status="left out",
                note=left.reason,
            )
            for left in self._left
        ]

    def _run_parts(self, calls: Sequence[Sequence[Array]]) -> None:
        for number, arrays in enumerate(calls):
            is_last = number == len(calls) - 1
            self._walker.run(list(arrays), self._visit if is_last else None, goes_on=number > 0)
        self._flush()

    def _divide_blocks(self) -> bool:
        """Replace the blocks that are wrong, or do not run, by their layers; return True if there are any."""
        order: list[IsolatedPart] = []
        divided: list[IsolatedPart] = []
        for part in self._order:
            run = self._found.get(part)
            if part.is_single or run is None or run.status not in ("wrong", "refused", "crashed", "left out"):
                order.append(part)
                continue
            scope = part.scope.region.scope
            layers = [
                part.scope.part("/".join((*scope, node.name)), [node], is_single=True)
                for node in part.nodes
                if any(value in part.scope.readers for value in node.outputs)
            ]
            order += layers
            divided += layers
        self._order = order
        self._starts = _starts_of(divided)
        return bool(divided)

    def _visit(self, visit: Visit) -> None:
        if self._settings.progress is not None:
            self._settings.progress(visit.path)
        part = self._starts.get((visit.where.scope, visit.node))
        if part is None or part in self._found:
            return
        pending = self._pending.get(part)
        if pending is None:
            pending = self._pending[part] = _Pending(part, visit.where, set(part.nodes))
        if pending.where != visit.where or visit.node not in pending.left:
            return
        pending.left.discard(visit.node)
        for value, array in zip(visit.node.values_in, visit.inputs, strict=True):
            if value.node not in part.inside and value not in part.scope.constant:
                pending.given[source(value)] = array
        pending.made |= {
            value: array
            for value, array in zip(visit.node.outputs, visit.outputs, strict=False)
            if value in part.outputs
        }
        if not pending.left:
            del self._pending[part]
            self._add(pending, visit)

    def _add(self, pending: _Pending, visit: Visit) -> None:
        """Add a part to the batch, or record the reason why it is left out."""
        part = pending.part
        try:
            network = part.network()
            ports = zip(network.inputs, network.model.inputs, strict=True)
            inputs = [as_declared(pending.given[value], port.element_type) for value, port in ports]
            case = self._case(pending, visit, PartQuestion(network.model, inputs))
        except IRError as error:
            self._found[part] = _run_part(part, "left out", note=f"cannot be extracted: {error.message}")
            return
        self._found[part] = _run_part(part, "not run")
        self._batch.append((part, case))
        constants = (node.op for node in network.model.graph.nodes)
        self._size += pending.size + sum(op.size for op in constants if isinstance(op, Const))
        if len(self._batch) >= BATCH_PARTS or self._size >= BATCH_BYTES:
            self._flush()

    def _case(self, pending: _Pending, visit: Visit, question: PartQuestion) -> PartCase:
        """The part with its expected outputs for the inputs of the device, rounded to 16-bit floats if declared so."""
        part = pending.part
        network = part.network()
        rounded = dict(zip(network.inputs, question.inputs, strict=True))
        is_same = all(pending.given[value].dtype == array.dtype for value, array in rounded.items())
        if len(part.nodes) > 1:
            if is_same:
                return PartCase(question, [pending.made[value] for value in network.outputs])
            walker = Walker(network.model, threads=self._settings.threads, precision=self._settings.precision)
            return PartCase(question, walker.run(list(question.inputs)))
        positions = [value.position for value in network.outputs]
        if is_same:
            expected = [pending.made[value] for value in network.outputs]
            return PartCase(question, expected, visit.node, visit.inputs, positions)
        arrays = [
            as_type_of(rounded[source(value)], array) if source(value) in rounded else array
            for value, array in zip(visit.node.values_in, visit.inputs, strict=True)
        ]
        outputs = self._walker.again(visit.node, arrays)
        return PartCase(question, [outputs[position] for position in positions], visit.node, arrays, positions)

    def _flush(self) -> None:
        batch, self._batch, self._size = self._batch, [], 0
        answers = self._asker.ask_all([case.question for _, case in batch])
        for (part, case), answer in zip(batch, answers, strict=True):
            judgement = judge_again(case, answer, self._asker, self._settings)
            self._found[part] = _run_part(part, judgement.status, judgement.error, judgement.note)
            part.forget()


def _starts_of(parts: Iterable[IsolatedPart]) -> dict[tuple[tuple[str, ...], Node], IsolatedPart]:
    return {(part.scope.region.scope, node): part for part in parts for node in part.nodes}


def _run_part(
    part: IsolatedPart, status: PartStatus, error: Difference | None = None, note: str | None = None
) -> RunPart:
    scope = part.scope.region.scope
    return RunPart(
        name=part.name,
        kind="layer" if part.is_single else "block",
        layers=tuple("/".join((*scope, node.name)) for node in part.nodes),
        layer_ids=tuple(node.id for node in part.nodes),
        types=tuple(node.type for node in part.nodes),
        status=status,
        error=error,
        note=note,
    )


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
