"""The report of a comparison as text: the verdict, then the details that explain it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from math import inf

from ir_exec.debug.comparison.metrics import Difference, difference_text
from ir_exec.debug.comparison.records import CONTRADICTION, ComparedLayer, ComparisonRecord, LayerFault
from ir_exec.debug.comparison.report_html import comparison_html
from ir_exec.debug.comparison.variation import variation_lines, variation_text
from ir_exec.debug.device.records import isolation_lines
from ir_exec.debug.precision.activations import range_line
from ir_exec.debug.precision.weights import summary_of, weight_line
from ir_exec.debug.values.entries import class_of_type
from ir_exec.ir.sources import module_order
from ir_exec.ops.infrastructure.values import Const
from ir_exec.printable import printable_lines
from ir_exec.report.numbers import format_count, format_number, pluralize
from ir_exec.report.text import format_remainder, join_counts, list_names

__all__ = [
    "Comparison",
    "beyond",
    "counts",
    "describe_drawn_inputs",
    "details",
    "first_line",
    "headline",
    "shown_layers",
]

_MOST_LISTED = 10

_FEW = 5
"""Maximum names in a line."""

_HOW = {
    "structure": "by adjacent layers",
    "position": "by position",
    "type and shape": "by type and shape",
    "asked": "as requested",
}

_NOTABLE = 1e-3
"""Minimum fraction of non-finite elements in outputs that the first line reports."""


def _render(report: ComparisonRecord) -> Iterator[str]:
    """Yield the lines of a report, without the table of all layers."""
    yield headline(report)
    yield from details(report)
    yield ""
    yield counts(report)


def headline(report: ComparisonRecord) -> str:
    """Return the verdict in one line, as decided."""
    return first_line(report) if report.decision is None else report.decision.line


def first_line(report: ComparisonRecord) -> str:
    """Compose the verdict in one line, with the elements and layers that were not tested or the first wrong layer."""
    calls = f" in {report.calls} calls" if report.calls > 1 else ""
    weights = "".join(f"; {text}" for text in (report.weights, *summary_of(report.quantized)) if text is not None)
    match report.verdict:
        case "failed":
            line = f"could not compare all values: {report.failure}"
        case "not compared" if report.failure is not None:
            line = f"not compared: {report.failure}"
        case "not compared":
            line = f"not compared: {_blind(report)}{calls}{_count_untested(report)}"
        case "equal":
            count = sum(pairing.how != "asked" and pairing.end == "output" for pairing in report.pairings)
            paired = f"; {format_count(count, 'output')} paired without a common name" if count else ""
            limits = "".join(f"; {limit}" for limit in _limits(report))
            line = f"equal: {_agreement(report)}{calls}{paired}{weights}{_not_compared(report)}"
            line += f"{_count_untested(report)}{limits}"
        case "reference" if report.variation is not None and report.variation.verdict == "varies":
            line = f"the reference differs from itself: {variation_text(report.variation)}"
        case "reference":
            line = f"the reference differs from itself: {_differing(report)}{calls}{_second_opinion(report)}"
            line += _not_compared(report)
        case "different in a layer":
            line = f"different in a layer: {_wrong_layers(report)}{weights}{_not_compared(report)}{calls}"
        case "different":
            line = f"different: {_differing(report)}{weights}{_not_compared(report)}{_cause(report)}"
    return line


def _agreement(report: ComparisonRecord) -> str:
    matched = [result for result in report.output_results if result.error is not None]
    if not matched:
        return "the reference has none of the outputs; all of its values agree"
    errors = [output.error for output in matched if output.error is not None]
    worst = max(errors, key=lambda error: error.max_abs)
    if all(output.status in ("equal", "not compared") for output in matched):
        how = "to the bit"
    else:
        least = min((error.sqnr_db for error in errors if error.sqnr_db is not None), default=None)
        how = f"the largest error is {format_number(worst.max_abs)}"
        how += "" if worst.sqnr_db is None else f" (SQNR {least:.1f} dB)"
    if any(output.is_explained for output in matched):
        how += ", as the compression of the weights explains"
    if any(output.status == "step" for output in matched):
        how += ", except on steps and in ties"
    if report.computes_in is not None:
        how += f", within the tolerances of {report.computes_in}"
    count = len(matched)
    subject = f'output "{matched[0].name}" agrees' if count == 1 else f"{count} outputs agree"
    subject += "" if report.runtime in (None, "ir_exec") else f" with {report.runtime}"
    left = len(report.output_results) - count
    return f"{subject}, {how}" + (f"; the reference lacks {left} of {left + count} outputs" if left else "")


def _differing(report: ComparisonRecord) -> str:
    """Describe the outputs that differ, with the error of the first one."""
    differ = [result for result in report.output_results if result.status in ("different", "unmatched")]
    if not differ:
        beyond = [layer for layer in report.layers if layer.partner is not None and not layer.is_within]
        return f"{len(beyond)} values of the reference"
    first = differ[0]
    call = f", call {first.call} of {report.calls}" if report.calls > 1 else ""
    error = "the reference has no such output" if first.error is None else _brief(first.error)
    more = f" and {len(differ) - 1} more of {len(report.output_results)} outputs" if len(differ) > 1 else ""
    runtime = "" if report.runtime in (None, "ir_exec") else f" from {report.runtime}"
    return f'output "{first.name}" ({error}{call}){more}{runtime}'


def _second_opinion(report: ComparisonRecord) -> str:
    """Return the end of the first line for a reference whose second answer agrees with the model."""
    region = _list_contradictions(report)
    if region:
        return f"; its values of {_from_to(region)} do not lead to its outputs, so they are inside a fusion"
    layer = next((layer for layer in report.layers if layer.status == "reference"), None)
    if layer is not None:
        return f"; {_layer_title(layer)}: {layer.note}"
    differ = [output for output in report.output_results if output.status == "different"]
    agrees = all(output.visible is not None and output.visible.is_within for output in differ)
    widest = next((output.spread for output in differ if output.is_within_spread), None)
    if widest is not None and not agrees:
        other = f"without {' and '.join(report.settings)}" if report.settings else "if intermediate values are outputs"
        return f"; its own answers differ as much {other} ({_brief(widest)})"
    if report.settings:
        return f"; it agrees without {' and '.join(report.settings)}"
    return "; it agrees if its intermediate values are outputs, so a fusion of the reference changes its result"


def _cause(report: ComparisonRecord) -> str:
    """Return the end of the first line: the layer that explains the differing outputs."""
    if _may_have_other_inputs(report):
        return f"; the inputs are drawn with seed {report.seed}, those of the reference are unknown: use --inputs"
    if report.first_fault is not None:
        fault = report.first_fault
        more = f", and {len(report.faults) - 1} more" if len(report.faults) > 1 else ""
        if fault.taken_by:
            return f"; {_layer_title(fault)} has different values{more}"
        call = f" in call {fault.call} of {report.calls}" if report.calls > 1 else ""
        if not fault.is_certain:
            return f"; {_describe_suspect(report, fault)}{call}{more}"
        return f"; {_layer_title(fault)} is the first wrong layer{call}{more}"
    first = next((layer for layer in report.layers if layer.path == report.first_carried), None)
    if first is None:
        return ""
    if first.status == "step":
        return f"; no single layer is wrong: {_layer_title(first)} has a step that amplifies small errors"
    rounding = _rounding_before(report, first)
    if rounding is not None:
        return f"; {_layer_title(rounding)} rounds to other values, beyond the tolerance from {first.path} on"
    return f"; no single layer is wrong: the carried error first exceeds the tolerance at {first.path}"


def _rounding_before(report: ComparisonRecord, first: ComparedLayer) -> ComparedLayer | None:
    """Return the layer that only rounds, within the tolerance of its own type, to the values that a later layer shows.

    One step of a short type is beyond the tolerance of layers that read it in a longer type.
    """
    before = report.layers[: report.layers.index(first)]
    closest = next((layer for layer in reversed(before) if layer.own is not None and layer.own.max_abs), None)
    if closest is None or closest.own is None or first.carried is None or not class_of_type(closest.type).rounds:
        return None
    return closest if closest.own.max_abs >= first.carried.max_abs else None


def _may_have_other_inputs(report: ComparisonRecord) -> bool:
    """Return True if stored values are compared with those of drawn inputs, and no layer is certain to be wrong."""
    is_certain = report.first_fault is not None and report.first_fault.is_certain
    return report.runtime is None and report.seed is not None and not is_certain


def _wrong_layers(report: ComparisonRecord) -> str:
    """Describe the layers with a gross error, and the outputs that do not show it."""
    fault, count = report.named_fault, sum(fault.path in report.failing for fault in report.faults)
    if fault is not None and count:
        error = "" if fault.own is None else f" ({_brief(fault.own)})"
        if not fault.is_certain:
            subject = f"{_describe_suspect(report, fault)}{error}"
        else:
            subject = f"{_layer_title(fault)} {'has different values' if fault.taken_by else 'is wrong'}{error}"
    else:
        layers = [layer for layer in report.layers if layer.path in report.failing]
        name = _layer_title(layers[0]) if layers else list_names(sorted(report.failing), _FEW)
        subject, count = f"{name} is not right alone on the device", len(layers)
    more = f", and {count - 1} more" if count > 1 else ""
    if any(result.status == "not compared" for result in report.output_results):
        return f"{subject}{more}; {_blind(report)}"
    return f"{subject}{more}, although {_agreement(report)}"


def _describe_suspect(report: ComparisonRecord, fault: LayerFault) -> str:
    """Describe a fault that may be in a layer before the one that shows it."""
    text = f"the fault is in or before {_layer_title(fault)}"
    if not fault.unseen:
        return text
    text += f": {fault.unseen:,} {pluralize(fault.unseen, 'layer has', 'layers have')} no value in the reference"
    layers = [layer for layer in report.layers if layer.partner is not None and not _is_source(layer)]
    return text + (": use --with MODEL" if all(is_output(layer, report) for layer in layers) else "")


def _is_source(layer: ComparedLayer) -> bool:
    """Return True for constants and inputs."""
    cls = class_of_type(layer.type)
    return cls.is_parameter or issubclass(cls, Const)


def _list_contradictions(report: ComparisonRecord) -> list[ComparedLayer]:
    """Return the layers whose values in the reference do not lead to its outputs."""
    layers = [layer for layer in report.layers if layer.status == "reference" and layer.note is not None]
    return [layer for layer in layers if layer.note is not None and layer.note.startswith(CONTRADICTION)]


def _from_to(layers: Sequence[ComparedLayer]) -> str:
    """Name a region by its first and its last layer."""
    names = [_layer_title(layer) for layer in (layers[0], layers[-1])]
    return names[0] if len(layers) == 1 else f"{len(layers)} layers from {names[0]} to {names[1]}"


def _limits(report: ComparisonRecord) -> Iterator[str]:
    """Yield what differs although the outputs agree: layers, values inside fusions, and attributes."""
    if report.faults:
        yield f"{format_count(len(report.faults), 'layer', ',')} beyond the tolerance"
    region = _list_contradictions(report)
    if region:
        yield f"the reference differs from itself in {_from_to(region)}, inside a fusion"
    layers = [layer for layer in report.layers if layer.other_attributes]
    if layers:
        more = f", and {len(layers) - 1} more layers" if len(layers) > 1 else ""
        names = ", ".join(layers[0].other_attributes)
        yield f"these inputs do not show another {names} of {_layer_title(layers[0])}{more}"


def _blind(report: ComparisonRecord) -> str:
    """Describe the outputs in which a fault would not be visible."""
    names = [f'"{result.name}"' for result in report.output_results if result.status == "not compared"]
    if not names:
        return "no value has a finite element on both sides"
    subject = f"output {names[0]} has" if len(names) == 1 else f"outputs {list_names(names, _FEW)} have"
    return f"{subject} no finite element on either side"


def _not_compared(report: ComparisonRecord) -> str:
    elements = sum(result.error.elements for result in report.output_results if result.error is not None)
    text = f"; not compared: {report.not_compared:,} of {elements:,} elements, NaN or infinite on both sides"
    return text if report.not_compared and report.not_compared >= _NOTABLE * elements else ""


def _count_untested(report: ComparisonRecord) -> str:
    count = sum(layer.runs > 0 for layer in report.layers) + report.not_run
    return f"; not tested by these inputs: {report.untested:,} of {count:,} layers" if report.untested else ""


def _brief(error: Difference) -> str:
    """Return a short description of a difference."""
    if error.problem is not None:
        return error.problem
    sqnr = "" if error.sqnr_db is None else f", SQNR {error.sqnr_db:.1f} dB"
    return f"max abs {format_number(error.max_abs)}{sqnr}"


def is_output(layer: ComparedLayer, report: ComparisonRecord) -> bool:
    """Return True if an output of the model is an output of this layer: `split:1` is an output of `split`."""
    names = {layer.path, *(f"{layer.path}:{name.rpartition(':')[2]}" for name in report.outputs)}
    return not names.isdisjoint(report.outputs)


def beyond(report: ComparisonRecord) -> Iterator[str]:
    """Yield a line for each wrong layer of a comparison whose outputs agree."""
    for fault in report.faults[:_MOST_LISTED]:
        note = f"; {fault.note}" if fault.note else ""
        text = "" if fault.own is None else difference_text(fault.own)
        yield f"  beyond the tolerance: {_layer_title(fault)}: {text}{note}"
    yield from format_remainder(len(report.faults), _MOST_LISTED, indent="  ")


def details(report: ComparisonRecord) -> Iterator[str]:
    """Yield the lines that explain the verdict: faults, steps and ties, layers without a partner, and notes."""
    if report.isolation is not None:
        yield from isolation_lines(report.isolation)
    if report.variation is not None:
        yield from variation_lines(report.variation)
    if report.verdict == "equal":
        yield from beyond(report)
    for fault in () if report.verdict == "equal" else report.faults[:_MOST_LISTED]:
        yield f"  {_layer_title(fault)}"
        if fault.source is not None and fault.source.code:
            yield f"    code           {fault.source.code}"
        if fault.own is not None:
            yield f"    own error      {difference_text(fault.own)}"
        if fault.carried is not None:
            yield f"    carried error  {difference_text(fault.carried)}"
        if fault.taken_by:
            yield f"    taken by       {list_names(fault.taken_by, _FEW)}"
        if fault.includes:
            yield f"    or upstream    {list_names(fault.includes, _FEW)} (no values in the reference)"
        if fault.note:
            yield f"    note           {fault.note}"
    if report.verdict != "equal":
        yield from format_remainder(len(report.faults), _MOST_LISTED, indent="  ")
    yield from _modules(report)
    for layer in [layer for layer in report.layers if layer.status == "reference"][:_MOST_LISTED]:
        yield f"  the reference differs from itself: {_short_title(layer)}: {layer.note}"
    yield from _quantized_lines(report)
    steps = [layer for layer in report.layers if layer.status == "step"]
    for layer in steps[:_MOST_LISTED]:
        yield f"  no fault: {_short_title(layer)}: {layer.note}"
    failed = [layer for layer in report.layers if layer.status == "failed"]
    for layer in failed[:_MOST_LISTED]:
        yield f"  not judged: {_short_title(layer)}: {layer.note}"
    for pairing in report.pairings:
        yield f"  paired: {pairing.end} {pairing.model} with {pairing.reference}: {_HOW[pairing.how]}"
    # Further layers of an ONNX node are no values of the file.
    inner = {layer.path for layer in report.layers if layer.node not in (None, layer.path)}
    for side, title in (("model", "without a partner"), ("reference", "only in the reference")):
        listed = [pairing for pairing in report.unmatched if pairing.side == side and pairing.path not in inner]
        if listed:
            names = [f"{pairing.path} ({pairing.type})" if pairing.type else pairing.path for pairing in listed]
            yield f"  {title}: {len(listed)}: {list_names(names, _FEW)}"
    for note in report.notes:
        yield f"  note: {note}"


def _quantized_lines(report: ComparisonRecord) -> Iterator[str]:
    """Yield lines for the compressed weights with the largest errors and the ranges that clip most."""
    weights = sorted(report.quantized, key=lambda weight: (not weight.is_fault, _order(weight.error.sqnr_db)))
    for weight in weights[:_MOST_LISTED]:
        yield f"  weight {weight.path}: {weight_line(weight)}"
    ranges = sorted(report.ranges, key=lambda counts: (-counts.unexplained, -counts.outside))
    for range_note in ranges[:_MOST_LISTED]:
        yield f"  range {range_note.path}: {range_line(range_note)}"
    more = len(weights[_MOST_LISTED:]), len(ranges[_MOST_LISTED:])
    if any(more):
        yield f"  ... {more[0]:,} more weights, {more[1]:,} more ranges"


def _order(sqnr_db: float | str | None) -> float:
    return inf if sqnr_db is None else float(sqnr_db)


def _modules(report: ComparisonRecord) -> Iterator[str]:
    """Yield the modules of a recording that are not equal, as a tree, and the module with the first fault."""
    shown = [module for module in report.modules if module.status not in ("equal", "close", "unmatched")]
    if report.modules:
        matched = sum(bool(module.layers) for module in report.modules)
        yield f"  modules: {matched} of {len(report.modules)} found, {len(shown)} not equal"
    if report.first_module is not None and report.first_fault is not None:
        yield f"  first wrong module: {report.first_module}, wrong in {_layer_title(report.first_fault)}"
    paths = {record.path for record in shown}
    for module in sorted(shown, key=lambda record: module_order(record.path)):
        parts = module.path.split(".")
        above = [size for size in range(1, len(parts)) if ".".join(parts[:size]) in paths]
        name = ".".join(parts[above[-1] :] if above else parts)
        own = "-" if module.own is None else format_number(module.own.max_abs)
        carried = "-" if module.carried is None else format_number(module.carried.max_abs)
        yield f"    {'  ' * len(above)}{name}: {module.status}, own {own}, carried {carried}"


def counts(report: ComparisonRecord) -> str:
    """Return the number of layers with each status, and of layers that were not tested, in one line."""
    kinds = ("equal", "close", "step", "carried", "reference", "wrong", "failed", "skipped", "unmatched")
    numbers = {status: sum(layer.status == status for layer in report.layers) for status in kinds}
    parts = join_counts(numbers)
    reasons: Counter[str] = Counter(layer.untested for layer in report.layers if layer.untested is not None)
    if report.not_run:
        reasons["not run"] = report.not_run
    if reasons:
        parts += "; not tested by these inputs: " + join_counts(reasons)
    return f"{len(report.layers)} layers: {parts}{describe_drawn_inputs(report.seed, report.inputs)}"


def describe_drawn_inputs(seed: int | None, shapes: Mapping[str, Sequence[int]]) -> str:
    """Return the end of a line with the seed and the shapes of drawn inputs; empty if no inputs were drawn."""
    if seed is None:
        return ""
    named = [f"{name}[{','.join(map(str, shape))}]" for name, shape in shapes.items()]
    return f"; inputs drawn with seed {seed}: {list_names(named, _FEW)}"


def shown_layers(report: ComparisonRecord, every: bool = False) -> list[ComparedLayer]:
    """Return the layers for the table: all if `every`, else those that are not equal, sorted by status."""
    if every:
        return list(report.layers)
    chosen = [layer for layer in report.layers if layer.status in ("wrong", "reference", "step", "failed", "carried")]
    if not chosen:
        chosen = [layer for layer in report.layers if layer.status == "close"]
    order = {"wrong": 0, "reference": 1, "failed": 2, "step": 3, "carried": 4, "close": 5}
    return sorted(chosen, key=lambda layer: order[layer.status])


def _layer_title(layer: ComparedLayer | LayerFault) -> str:
    source = "" if layer.source is None else layer.source.describe(layer.path)
    title = f'layer {layer.layer_id} "{layer.path}" ({layer.type})'
    if layer.node is not None:
        inner = "" if layer.path == layer.node else f' in its layer "{layer.path}" ({layer.type})'
        title = f'node "{layer.node}" ({layer.operator}){inner}'
    return ", ".join(filter(None, (title, source)))


def _short_title(layer: ComparedLayer) -> str:
    return f"{layer.path} ({layer.operator if layer.path == layer.node else layer.type})"


class Comparison(ComparisonRecord):
    __doc__ = ComparisonRecord.__doc__

    def __str__(self) -> str:
        """Return the report as text, as printed by the command line."""
        return "\n".join(_render(self))

    def __repr__(self) -> str:
        """Return the report as text, which Python shows at its prompt."""
        return printable_lines(str(self))

    def _repr_html_(self) -> str:
        """Return the report for notebooks: the verdict, the outputs, the explanation and the layers that differ."""
        return comparison_html(self, headline(self), details(self), shown_layers(self), counts(self))
