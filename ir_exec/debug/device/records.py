"""Records of layers that run by themselves on a device."""

from __future__ import annotations

from typing import Literal

from ir_exec.debug.comparison.metrics import Difference
from ir_exec.report.records import Record

__all__ = ["Isolation", "IsolationVerdict", "PartStatus", "RunPart"]

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
