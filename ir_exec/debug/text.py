"""A comparison in words: the verdict first, then the layers that matter."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ir_exec.debug.metrics import Difference
from ir_exec.debug.report import ComparedLayer, Comparison, LayerFault

__all__ = ["counts", "details", "drawn", "number", "render", "shown_layers", "verdict"]

_MOST_LISTED = 10


def render(report: Comparison) -> Iterator[str]:
    """The report in lines, without the table of all layers."""
    yield verdict(report)
    yield from details(report)
    yield ""
    yield counts(report)


def verdict(report: Comparison) -> str:
    """The answer in one line."""
    if report.failure is not None:
        return f"could not compare all: {report.failure}"
    if report.first_fault is not None:
        fault = report.first_fault
        more = f", and {len(report.faults) - 1} more by themselves" if len(report.faults) > 1 else ""
        if fault.taken_by:
            return f"different: {_layer(fault)} holds other values{more}"
        call = f" in call {fault.call} of {report.calls}" if report.calls > 1 else ""
        return f"different: {_layer(fault)} is the first that is wrong by itself{call}{more}"
    outputs = [one for one in report.layers if is_output(one, report)]
    if report.equal:
        calls = f" in {report.calls} calls" if report.calls > 1 else ""
        steps = (
            "" if all(one.carried is None or one.carried.is_within for one in outputs) else ", but for steps and ties"
        )
        return f"equal: no layer is wrong by itself, and every output is within the tolerance{steps}{calls}"
    worst = [one for one in outputs if one.carried and not one.carried.is_within]
    if worst:
        names = ", ".join(one.path for one in worst[:3])
        return f"different: outputs differ ({names}), but no layer is wrong by itself{_first_beyond(report)}"
    if all(one.partner is not None for one in outputs):
        return "different: the reference's outputs are others where nothing is looked at on the way to them"
    return "different: an output has no partner in the reference"


def _first_beyond(report: Comparison) -> str:
    """From where on errors are beyond the tolerance, as the end of a sentence."""
    first = next((one for one in report.layers if one.path == report.first_carried), None)
    if first is None:
        return ""
    if first.status == "step":
        return f'; layer {first.layer_id} "{first.path}" ({first.type}) is a step that makes small errors large'
    return f"; errors pass the tolerance from {first.path} on"


def is_output(layer: ComparedLayer, report: Comparison) -> bool:
    """Whether an output of the network is one of the layer's: `split:1` is one of `split`."""
    names = {layer.path, *(f"{layer.path}:{name.rpartition(':')[2]}" for name in report.outputs)}
    return not names.isdisjoint(report.outputs)


def details(report: Comparison) -> Iterator[str]:
    """What explains the verdict: the faults, steps and ties, layers without partner, notes."""
    for fault in report.faults[:_MOST_LISTED]:
        yield f"  {_layer(fault)}"
        if fault.own is not None:
            yield f"    own error      {told(fault.own)}"
        if fault.carried is not None:
            yield f"    carried error  {told(fault.carried)}"
        if fault.taken_by:
            yield f"    taken by       {_some(fault.taken_by)}"
        if fault.includes:
            yield f"    or above it    {_some(fault.includes)} (the reference has no values there)"
        if fault.note:
            yield f"    note           {fault.note}"
    if len(report.faults) > _MOST_LISTED:
        yield f"  ... {len(report.faults) - _MOST_LISTED} more"
    steps = [layer for layer in report.layers if layer.status == "step"]
    for layer in steps[:_MOST_LISTED]:
        yield f"  no fault: {layer.path} ({layer.type}): {layer.note}"
    failed = [layer for layer in report.layers if layer.status == "failed"]
    for layer in failed[:_MOST_LISTED]:
        yield f"  not judged: {layer.path} ({layer.type}): {layer.note}"
    for side, title in (("model", "without partner"), ("reference", "in the reference alone")):
        listed = [one for one in report.unmatched if one.side == side]
        if listed:
            names = [f"{one.path} ({one.type})" if one.type else one.path for one in listed]
            yield f"  {title}: {len(listed)}: {_some(names)}"
    for note in report.notes:
        yield f"  note: {note}"


def counts(report: Comparison) -> str:
    """How many layers are in which state."""
    kinds = ("equal", "close", "step", "carried", "wrong", "failed", "unmatched")
    found = {kind: sum(layer.status == kind for layer in report.layers) for kind in kinds}
    parts = ", ".join(f"{count} {kind}" for kind, count in found.items() if count)
    return f"{len(report.layers)} layers: {parts}{drawn(report.seed, report.inputs)}"


def drawn(seed: int | None, shapes: Mapping[str, Sequence[int]]) -> str:
    """The end of a line: with which seed inputs of these shapes were drawn, where they were."""
    if seed is None:
        return ""
    named = [f"{name}[{','.join(map(str, shape))}]" for name, shape in shapes.items()]
    return f"; inputs drawn with seed {seed}: {_some(named)}"


def shown_layers(report: Comparison, every: bool = False) -> list[ComparedLayer]:
    """The layers of the table: all, or those that are not equal, the worst by themselves first."""
    if every:
        return list(report.layers)
    chosen = [layer for layer in report.layers if layer.status in ("wrong", "step", "failed", "carried")]
    if not chosen:
        chosen = [layer for layer in report.layers if layer.status == "close"]
    order = {"wrong": 0, "failed": 1, "step": 2, "carried": 3, "close": 4}
    return sorted(chosen, key=lambda layer: order[layer.status])


def told(found: Difference) -> str:
    """A difference in a line."""
    if found.problem is not None:
        return found.problem
    text = f"max abs {number(found.max_abs)}, rel {number(found.max_rel)}"
    if found.sqnr_db is not None:
        text += f", SQNR {found.sqnr_db:.1f} dB"
    text += f"; {found.beyond_count:,} of {found.elements:,} beyond the tolerance"
    if found.worst is not None:
        place = list(found.worst)
        text += f"; at {place} {number(found.ours)} instead of {number(found.reference)}"
    return text


def number(value: float | str | None) -> str:
    """A number as tables show it; a dash for none."""
    if value is None:
        return "-"
    return value if isinstance(value, str) else f"{value:.4g}"


def _layer(fault: LayerFault) -> str:
    return f'layer {fault.layer_id} "{fault.path}" ({fault.type})'


def _some(names: Sequence[str]) -> str:
    more = f", ... {len(names) - 5} more" if len(names) > 5 else ""
    return ", ".join(names[:5]) + more
