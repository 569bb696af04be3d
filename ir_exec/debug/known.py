"""What is known of layers while a comparison goes on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from ir_exec.debug.metrics import same_bits
from ir_exec.debug.report import ComparedLayer
from ir_exec.types import Array

__all__ = ["BodyPair", "Found"]


@dataclass(slots=True)
class Found:
    """What is known of a layer after some of its runs."""

    layer: ComparedLayer
    runs: int = 1


class BodyPair(NamedTuple):
    """A body beside the reference's.

    scope: that of theirs. numbers: of values, ours and theirs. layers: what is known of ours.
    """

    scope: tuple[str, ...]
    numbers: list[tuple[int, int]]
    layers: list[Found]

    def is_same(self, ours: Mapping[int, Array], theirs: Mapping[int, Array]) -> bool:
        """Whether the values of an iteration are the same."""
        return all(same_bits(ours[number], theirs[other]) for number, other in self.numbers)
