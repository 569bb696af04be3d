"""What an operator may ask for beyond its inputs: weights and state. (`bodies.py` has the third: bodies.)"""

from __future__ import annotations

from typing import Protocol

from ir_exec.types import Array, ElementType

__all__ = ["State", "WeightsReader"]


class WeightsReader(Protocol):
    """Where constants are read from; `ir.Weights` is one."""

    def read(self, element_type: ElementType, shape: tuple[int, ...], offset: int, size: int) -> Array:
        """The constant of this type and shape in `size` bytes from `offset` on; WeightsError if there is none."""


class State(Protocol):
    """The variables of a network by their ids; the next run reads what one run writes."""

    def read(self, variable_id: str) -> Array | None:
        """The value that the last run has written, None before the first run and after a reset."""

    def write(self, variable_id: str, value: Array) -> None:
        """Keep the value for the next run."""

    def draw(self, layer: object, count: int) -> int:
        """The number of random numbers that this layer has drawn before; it now draws `count` more."""
