"""The records of layers that run by themselves on a device."""

from __future__ import annotations

from typing import Literal

from ir_exec.debug.comparison.metrics import Difference
from ir_exec.debug.values.facts import Record

__all__ = ["Isolation", "IsolationVerdict", "PartStatus", "RunPart"]

PartStatus = Literal["right", "step", "wrong", "refused", "crashed", "left out", "not run"]
"""right: within the tolerance. step: beyond it on steps and in ties alone. wrong: beyond it. refused: the device does
not take the network. crashed: its process ended, or did not answer in time. left out: it cannot run by itself. not run:
no inputs, for its body did not run."""

IsolationVerdict = Literal["right", "layer", "refused", "fusion", "carried", "whole"]
"""right: every part is right, and so is the whole. layer: a part is wrong by itself. refused: a part is refused, or
crashes the device. fusion: every part is right by itself, and layers are wrong together. carried: every part is right
by itself, and small errors come to more than the tolerance in the whole. whole: every part is right by itself, and the
whole does not run."""


class RunPart(Record):
    """Layers that ran by themselves, on the inputs that they have in a run by ir_exec.

    name: the path of a layer, the prefix of a block, or the last layer of those that are wrong together. kind: which
    of these it is. layers, layer_ids, types: of its layers, in the order of computation. error: of its worst output.
    whole: the status of the worst of its layers in the whole run. note: what else is known.
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
    """The parts of a network by themselves, on a device.

    device: engine and device. version: that of the engine. block: the pattern of the blocks. parts: in the order of
    computation, those of bodies last. fusions: layers that are right by themselves and wrong
    together. call: the call whose inputs they had, counted from 1. networks: how many networks the device was given.
    crashes: how often its process ended.
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
        """The parts of these statuses."""
        return [part for part in self.parts if part.status in statuses]
