"""Tensors of a checkpoint, and those that are computed from them."""

from __future__ import annotations

from typing import NamedTuple

from ir_exec.debug.weights.readers.tensors import CheckpointTensor

__all__ = ["NORMALIZED", "SourceTensor"]

NORMALIZED = "normalized"
"""The transformation of a direction with a magnitude."""


class SourceTensor(NamedTuple):
    """A tensor of a checkpoint, or one that is computed from several.

    Attributes:
        names: The tensors that it is made of; the first one names it.
        transformation: The change of their numbers; empty for a tensor as it is.
    """

    tensor: CheckpointTensor
    names: tuple[str, ...]
    transformation: str = ""

    @property
    def name(self) -> str:
        """The name of the first tensor."""
        return self.names[0]

    @property
    def rank(self) -> int:
        """A normalized weight comes before its direction, and other computed tensors after plain ones."""
        return 0 if self.transformation == NORMALIZED else 2 if self.transformation else 1

    @property
    def is_computed(self) -> bool:
        """Return True for a tensor that is computed from others."""
        return bool(self.transformation)
