"""The variables of a network between runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from ir_exec.kernels.pieces import converted
from ir_exec.types import Array, ElementType

__all__ = ["Variables"]


class Variables:
    """Values that Assign writes are read by ReadValue after the run has succeeded.

    A body reads in an iteration what it wrote in the one before, by `advance`. Layers that draw random numbers continue
    their sequences in the next run and in the next iteration.

    rounded: variables that keep their values as f16 or bf16 while the network is computed in f32.
    """

    def __init__(self, rounded: Mapping[str, ElementType] = MappingProxyType({})) -> None:
        self._rounded = rounded
        self._values: dict[str, Array] = {}
        self._current: dict[str, Array] = {}
        self._written: dict[str, Array] = {}
        self._drawn: dict[int, int] = {}

    def read(self, variable_id: str) -> Array | None:
        value = self._current.get(variable_id)
        value = self._values.get(variable_id) if value is None else value
        return value if value is None or variable_id not in self._rounded else converted(value, ElementType.f32)

    def write(self, variable_id: str, value: Array) -> None:
        kind = self._rounded.get(variable_id)
        self._written[variable_id] = value if kind is None else converted(value, kind)

    def draw(self, layer: object, count: int) -> int:
        # Layers with equal attributes are equal, but not one.
        drawn = self._drawn.get(id(layer), 0)
        self._drawn[id(layer)] = drawn + count
        return drawn

    def advance(self, variable_ids: Iterable[str]) -> None:
        """Let this run read what it has written to these variables."""
        for variable_id in variable_ids:
            if variable_id in self._written:
                self._current[variable_id] = self._written.pop(variable_id)

    def commit(self) -> None:
        """Keep what this run has written. The arrays are copied, as callers may hold them."""
        self.advance(list(self._written))
        for variable_id, value in self._current.items():
            kept = value.copy()
            kept.flags.writeable = False
            self._values[variable_id] = kept
        self._current.clear()

    def discard(self) -> None:
        """Forget what this run has written."""
        self._current.clear()
        self._written.clear()

    def reset(self) -> None:
        """Forget all values, and where the sequences of random numbers stand."""
        self.discard()
        self._values.clear()
        self._drawn.clear()
