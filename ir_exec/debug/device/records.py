"""Records of layers that run by themselves on a device, and their text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from ir_exec.debug.comparison.metrics import Difference, difference_text
from ir_exec.report.numbers import format_count
from ir_exec.report.records import Record
from ir_exec.report.text import format_remainder, join_counts, list_names

__all__ = [
    "Isolation",
    "IsolationVerdict",
    "PartStatus",
    "RunPart",
    "device_difference_text",
    "isolation_lines",
    "part_note",
]

PartStatus = Literal["right", "step", "wrong", "refused", "crashed", "left out", "not run"]
"""right: within the tolerance. step: beyond the tolerance only at discontinuities and ties. wrong: beyond the
tolerance. refused: the device rejects the model. crashed: its process ended, or did not answer in time. left out: the
layer cannot run by itself. not run: the layer has no inputs because its body did not run."""

IsolationVerdict = Literal["right", "layer", "refused", "fusion", "carried", "whole"]
"""right: every part is right, and so is the whole model. layer: a part is wrong by itself. refused: a part is refused,
or crashes the device. fusion: every part is right by itself, but some layers are wrong together. carried: every part is
right by itself, but small errors add up to more than the tolerance in the whole model. whole: every part is right by
itself, but the whole model does not run."""


class RunPart(Record):
    """Layers that ran by themselves, with their inputs from a run by ir_exec.

    Attributes:
        name: The path of a layer, the prefix of a block, or the last of the layers that are wrong together.
        kind: The kind of `name`.
        layers: The paths of its layers, in topological order.
        layer_ids: The ids of its layers, in topological order.
        types: The types of its layers, in topological order.
        error: The error of its worst output.
        whole: The worst status of its layers in the whole run.
        note: Further facts.
    """

    name: str
    kind: Literal["layer", "block", "fusion"] = "layer"
    layers: tuple[str, ...] = ()
    layer_ids: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    status: PartStatus
    error: Difference | None = None
    whole: str | None = None
    note: str | None = None


class Isolation(Record):
    """The parts of a model, run by themselves on a device.

    Attributes:
        device: Engine and device.
        version: The version of the engine.
        block: The pattern of blocks.
        parts: The parts in topological order, those of bodies last.
        fusions: Groups of layers that are right by themselves and wrong together.
        call: The call that the inputs are from, counted from 1.
        whole: The error of the whole model with the optimizations of the engine.
        networks: The number of models that the device ran.
        crashes: The number of crashes of its process.
    """

    device: str
    version: str
    block: str | None = None
    verdict: IsolationVerdict
    parts: tuple[RunPart, ...] = ()
    fusions: tuple[RunPart, ...] = ()
    call: int = 1
    whole: Difference | None = None
    networks: int = 0
    crashes: int = 0

    def of_status(self, *statuses: PartStatus) -> list[RunPart]:
        """The parts with one of these statuses."""
        return [part for part in self.parts if part.status in statuses]


_MOST_LISTED = 10
_MOST_NAMES = 8

_VERDICTS: dict[IsolationVerdict, str] = {
    "right": "every layer is right by itself, and so is the whole model",
    "layer": "a layer is wrong by itself, without any fusion",
    "refused": "the device rejects a layer by itself, or crashes",
    "fusion": "every layer is right by itself: a fusion is wrong",
    "carried": "every layer is right by itself: small errors add up in the whole model",
    "whole": "every layer is right by itself: the whole model does not run",
}

_SHOWN: Sequence[PartStatus] = ("wrong", "crashed", "refused", "not run", "left out")


def isolation_lines(isolation: Isolation) -> Iterator[str]:
    """Yield the verdict, the counts, and the parts that are not right."""
    noun = "blocks and layers" if any(part.kind == "block" for part in isolation.parts) else "layers"
    yield f"  by itself on {isolation.device}: {_VERDICTS[isolation.verdict]}"
    counts = {status: len(isolation.of_status(status)) for status in ("right", "step", *_SHOWN)}
    crashes = f", {isolation.crashes} crashes" if isolation.crashes else ""
    runs = f"in {format_count(isolation.networks, 'run')}"
    yield f"    {len(isolation.parts)} {noun}: {join_counts(counts)}; {runs}{crashes}"
    for part in isolation.fusions[:_MOST_LISTED]:
        layers = [f"{path} ({type})" for path, type in zip(part.layers, part.types, strict=True)]
        yield f"    wrong together: {list_names(layers, _MOST_NAMES)}"
        yield f"      error        {'' if part.error is None else device_difference_text(part.error)}"
    for status in _SHOWN:
        parts = isolation.of_status(status)
        if status == "left out":
            yield from _left_out(parts)
            continue
        for part in parts[:_MOST_LISTED]:
            yield f"    {status}: {_heading(part)}: {_detail(part)}"
        yield from format_remainder(len(parts), _MOST_LISTED, indent="    ")


def device_difference_text(error: Difference) -> str:
    """One line about the error of a device: its value and the expected value."""
    return difference_text(error.model_copy(update={"ours": error.reference, "reference": error.ours}))


def part_note(part: RunPart, device: str) -> str:
    """The status of a part as a note for its layer."""
    return f"by itself on {device}: {part.status}" + (f", {part.note}" if part.note else "")


def _left_out(parts: Sequence[RunPart]) -> Iterator[str]:
    by_reason: dict[str, list[str]] = {}
    for part in parts:
        by_reason.setdefault(part.note or "", []).append(part.name)
    for reason, names in by_reason.items():
        yield f"    left out: {len(names)}: {reason}: {list_names(names, 3)}"


def _heading(part: RunPart) -> str:
    if part.kind == "layer":
        return f'layer {part.layer_ids[0]} "{part.name}" ({part.types[0]})'
    return f'block "{part.name}" of {len(part.layers)} layers'


def _detail(part: RunPart) -> str:
    error = None if part.error is None or part.status in ("right", "left out") else device_difference_text(part.error)
    in_complete_run = None if part.whole is None or part.status != "wrong" else f"in the whole run {part.whole}"
    return "; ".join(filter(None, (error, part.note, in_complete_run)))
