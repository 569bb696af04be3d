"""Facts about a model and its layers from reports of other commands and from a run."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import numpy as np
from pydantic import BaseModel, ValidationError

from ir_exec.codes import Code
from ir_exec.debug import ComparedLayer, Comparison, Comparisons
from ir_exec.debug.comparison.metrics import Difference
from ir_exec.debug.comparison.report_text import counts, details, headline
from ir_exec.debug.precision.effects import QuantizationReport, loss_text
from ir_exec.debug.profiles.profile_report import Profile, slowest, summary
from ir_exec.debug.traces.walk import Visit, Walker
from ir_exec.debug.values.facts import as_numbers, facts_of, pieces
from ir_exec.errors import ParseError
from ir_exec.graph import Node, Value
from ir_exec.model import Model
from ir_exec.ops.activation.functions import Clamp
from ir_exec.ops.infrastructure.values import Const
from ir_exec.report.text import format_remainder
from ir_exec.runtime.arguments import Inputs
from ir_exec.types import STRING, Array, ElementType
from ir_exec.view.data import ErrorView, Section, TimeView, ValuesView, VerdictView
from ir_exec.view.text import LayerPlaces, printable

__all__ = [
    "AnyComparison",
    "comparison_of",
    "errors_of",
    "layers_in",
    "profile_of",
    "section_of_comparison",
    "section_of_profile",
    "times_of",
    "values_of",
    "values_of_run",
    "verdict_of",
]

_MOST_LINES = 60
_LONGEST = 8

AnyReport = TypeVar("AnyReport", bound=BaseModel)


AnyComparison: TypeAlias = Comparison | Comparisons | QuantizationReport


def comparison_of(report: AnyComparison | str | os.PathLike[str]) -> AnyComparison:
    """Return a report of `compare` or `quantize-report`, or read it from a JSON file.

    Raises:
        ParseError: If the file is not such a report.
    """
    if isinstance(report, (Comparison, Comparisons, QuantizationReport)):
        return report
    content = _content(report)
    for form in (Comparisons, QuantizationReport):
        try:
            return form.model_validate_json(content)
        except ValidationError:
            continue
    return _parse_report(report, content, Comparison, "compare")


def profile_of(report: Profile | str | os.PathLike[str]) -> Profile:
    """Return a report of `profile`, or read it from a JSON file.

    Raises:
        ParseError: If the file is not such a report.
    """
    return report if isinstance(report, Profile) else _parse_report(report, _content(report), Profile, "profile")


def _content(path: str | os.PathLike[str]) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        message = f"{os.fspath(path)} cannot be read: {error.strerror or error}"
        raise ParseError(message, code=Code.unreadable_path) from None


def _parse_report(path: str | os.PathLike[str], content: bytes, form: type[AnyReport], command: str) -> AnyReport:
    try:
        return form.model_validate_json(content)
    except ValidationError as error:
        where = ".".join(str(part) for part in error.errors()[0]["loc"])
        problem = f"field {where!r} is missing or not valid" if where else "the file is not valid JSON"
        message = f"{os.fspath(path)} is not a report of `ir-exec {command} --format json`: {problem}"
        raise ParseError(message, code=Code.unknown_input) from None


def errors_of(report: AnyComparison, places: LayerPlaces) -> dict[Node, ErrorView]:
    """The errors of each layer in a comparison; for a comparison of many inputs, those of its worst item."""
    if isinstance(report, QuantizationReport):
        return _effects_of(report, places)
    errors: dict[Node, ErrorView] = {}
    for layer, note in _layers_with_text(report):
        node = places.of_path(layer.path, layer.layer_id)
        if node is not None:
            errors[node] = ErrorView(
                status=layer.status,
                own=_without_texts(layer.own),
                carried=_without_texts(layer.carried),
                partner=None if layer.partner is None else printable(layer.partner),
                note=None if note is None else printable(note, 1000),
            )
    return errors


_NOTABLE = 0.1
"""Minimum share of the greatest effect for the colour of a carried error."""


def _effects_of(report: QuantizationReport, places: LayerPlaces) -> dict[Node, ErrorView]:
    """The loss of the outputs for the layers of each weight and for each FakeQuantize; layers to keep are wrong."""
    greatest = max((float(layer.effect.loss) for layer in report.layers if layer.effect is not None), default=0.0)
    errors: dict[Node, ErrorView] = {}
    for effect in report.layers:
        loss = 0.0 if effect.effect is None else float(effect.effect.loss)
        status = "carried" if loss > _NOTABLE * greatest else "close" if loss else "equal"
        effect_text = "not run by itself" if effect.effect is None else loss_text(effect.effect)
        note = f"{effect.format}, alone: {effect_text}; {effect.plain_bytes:,} -> {effect.bytes:,} bytes"
        if effect.kept:
            status, note = "wrong", f"{note}; keep in {effect.keep_as}"
        error = ErrorView(
            status=status if effect.effect is not None or effect.kept else "skipped", note=printable(note, 1000)
        )
        first = places.of_path(effect.path, effect.layer_ids[0]) if effect.layer_ids else None
        scope = None if first is None else places.scopes[first]
        ids = {*effect.layer_ids}
        errors |= {
            node: error for node, layer_scope in places.scopes.items() if layer_scope == scope and node.id in ids
        }
    return errors


def layers_in(report: AnyComparison) -> int:
    """The number of layers in a report."""
    if isinstance(report, QuantizationReport):
        return sum(len(layer.layer_ids) for layer in report.layers)
    return len(_layers_with_text(report))


def _layers_with_text(report: Comparison | Comparisons) -> list[tuple[ComparedLayer, str | None]]:
    """The layers, each with a note."""
    if isinstance(report, Comparison):
        return [(layer, layer.note) for layer in report.layers]
    layers = []
    for layer, item, wrong in report.worst_layers():
        note = f"worst in {item}" if layer.carried is not None and layer.status != "equal" else None
        if wrong:
            note = f"wrong by itself in {wrong:,} of {len(report.items):,} items, {note}"
        layers.append((layer, "; ".join(filter(None, (note, layer.note))) or None))
    return layers


def _without_texts(difference: Difference | None) -> Difference | None:
    """The difference, with printable and truncated texts."""
    if difference is None:
        return None
    changes: dict[str, Any] = {
        name: printable(text)
        for name in ("ours", "reference", "problem")
        if isinstance(text := getattr(difference, name), str)
    }
    return difference.model_copy(update=changes) if changes else difference


def times_of(report: Profile, places: LayerPlaces) -> dict[Node, TimeView]:
    """The time of each layer in a profile."""
    times: dict[Node, TimeView] = {}
    for layer in report.layers:
        node = places.of_path(layer.path, layer.layer_id)
        if node is None:
            continue
        notes = []
        if layer.gflops:
            notes.append(f"{layer.gflops:.3g} GFLOP/s")
        if layer.of_peak:
            notes.append(f"{layer.of_peak:.0%} of the machine's peak")
        if layer.openvino:
            notes.append(f"in OpenVINO {printable(layer.openvino)}")
        times[node] = TimeView(
            seconds=layer.seconds, calls=layer.calls, bytes=layer.memory, note=", ".join(notes) or None
        )
    return times


def section_of_comparison(report: AnyComparison) -> Section:
    """The verdict, its explanation and the counts; for many inputs, a verdict for each, different ones first."""
    if isinstance(report, QuantizationReport):
        lines = list(report.lines())
    elif isinstance(report, Comparison):
        lines = [headline(report), *details(report), counts(report)]
    else:
        items = sorted(report.items, key=lambda item: item.equal)
        lines = [str(report).split("\n", 1)[0], *(f"{item.item}: {item.verdict}" for item in items)]
        if len(lines) > _MOST_LINES:
            lines[_MOST_LINES - 1 :] = format_remainder(len(lines), _MOST_LINES - 1)
    reference = report.reference_title if isinstance(report, Comparison) else report.reference
    heading = f"{printable(report.model)} against {printable(reference)}"
    return Section(heading=heading, lines=tuple([printable(line, 1000) for line in lines[:_MOST_LINES]]))


def verdict_of(report: AnyComparison, places: LayerPlaces) -> VerdictView:
    """The first line of a report, and the layer that it is about."""
    if isinstance(report, QuantizationReport):
        return VerdictView(text=printable(report.headline, 1000), good=report.is_within)
    if isinstance(report, Comparisons):
        text = str(report).split("\n", 1)[0]
        wrong = next((layer.layer for layer in report.worst_layers() if layer.layer.status == "wrong"), None)
        layer_key = None if wrong is None else (wrong.path, wrong.layer_id)
    else:
        text, layer_key = headline(report), _faulty_layer(report)
    node = None if layer_key is None else places.of_path(*layer_key)
    return VerdictView(text=printable(text, 1000), layer=None if node is None else places.keys[node], good=report.equal)


def _faulty_layer(report: Comparison) -> tuple[str, str] | None:
    """The path and id of the layer that the verdict names, else of the first one that explains a different output."""
    if report.named_fault is not None:
        return report.named_fault.path, report.named_fault.layer_id
    if report.equal:
        return None
    differing = {result.path for result in report.output_results if result.status == "different"}
    candidates = [
        *(layer for layer in report.layers if layer.status == "reference"),
        *(layer for layer in report.layers if layer.path == report.first_carried),
        *(layer for layer in report.layers if layer.path in differing),
    ]
    return (candidates[0].path, candidates[0].layer_id) if candidates else None


def section_of_profile(report: Profile) -> Section:
    """The time of a run, and the slowest layers."""
    lines = [*summary(report), ""]
    lines += [
        f"{layer.share:6.1%}  {layer.seconds * 1e3:9.4f} ms  {layer.path}" for layer in slowest(report)[:_LONGEST]
    ]
    return Section(heading="Time", lines=tuple([printable(line) for line in lines]))


_BINS = 32
_FIRST = 8


def values_of_run(
    model: Model, inputs: Inputs, statistics: dict[Value, ValuesView], progress: Callable[[str], None] | None = None
) -> None:
    """Record the statistics of every value of a run in `statistics`.

    Raises:
        IRError: The errors of a run, after recording the values computed before the error.
    """

    def visit(visit: Visit) -> None:
        if progress is not None:
            progress(visit.path)
        for value, array in zip(visit.node.outputs, visit.outputs, strict=False):
            before = statistics.get(value)
            if before is not None and isinstance(visit.node.op, Const):
                continue  # the constants of a body are equal in all iterations
            statistics[value] = values_of(array, visit, runs=1 if before is None else before.runs + 1)

    Walker(model).run(inputs, visit)


def values_of(array: Array, visit: Visit, runs: int = 1) -> ValuesView:
    """The statistics of an array that a layer has computed."""
    if ElementType.of(array) in STRING:
        texts = tuple([printable(str(text), 60) for text in array.reshape(-1)[:_FIRST]])
        return ValuesView(shape=array.shape, elements=array.size, first=texts, runs=runs)
    facts = facts_of(array)
    limits = _limits(array, visit.node)
    zeros = saturated = 0
    counts = np.zeros(_BINS, np.int64)
    low, high = facts.min or 0.0, facts.max or 0.0
    with np.errstate(all="ignore"):
        for _, (part,) in pieces(array):
            numbers = as_numbers(part)
            zeros += int(np.count_nonzero(numbers == 0))
            saturated += sum(int(np.count_nonzero(numbers == limit)) for limit in limits)
            if high > low:
                finite = numbers[np.isfinite(numbers)]
                counts += np.histogram(finite, _BINS, (low, high))[0]
    first = as_numbers(array.reshape(-1)[:_FIRST])
    return ValuesView(
        shape=array.shape,
        elements=array.size,
        min=facts.min,
        max=facts.max,
        mean=facts.mean,
        std=facts.std,
        zeros=zeros,
        nans=facts.nans,
        infinities=facts.infinities,
        saturated=saturated,
        histogram=tuple(counts.tolist()) if high > low else (),
        first=tuple(first.tolist()),
        runs=runs,
    )


def _limits(array: Array, node: Node) -> set[float]:
    """The values of saturated elements: the limits of short element types, and those of Clamp."""
    element_type = ElementType.of(array)
    limits: set[float] = set()
    if isinstance(node.op, Clamp):
        limits |= {node.op.min, node.op.max}
    if element_type.name in ("f16", "bf16") or element_type.name.startswith("f8"):
        most = float(as_numbers(_greatest(array)))
        limits |= {most, -most}
    elif element_type.name in ("i8", "i4"):
        bits = int(element_type.name[1:])
        limits |= {float(2 ** (bits - 1) - 1), float(-(2 ** (bits - 1)))}
    elif element_type.name in ("u8", "u4"):
        limits |= {float(2 ** int(element_type.name[1:]) - 1)}
    return limits


def _greatest(array: Array) -> Array:
    import ml_dtypes

    finite = np.finfo if array.dtype == np.float16 else ml_dtypes.finfo
    return np.asarray(finite(array.dtype).max, array.dtype)
