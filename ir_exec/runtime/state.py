"""The variables of a network between runs."""

from __future__ import annotations

from collections.abc import Iterable

from ir_exec.types import Array

__all__ = ["Variables"]


class Variables:
    """What Assign writes is kept aside until the run has ended well, and then becomes what ReadValue reads.

    A body that runs again and again reads in one iteration what it wrote in the one before: `advance` lets it.
    Layers that draw random numbers go on where they stopped, in the next run and in the next iteration.
    """

    def __init__(self) -> None:
        self._values: dict[str, Array] = {}
        self._current: dict[str, Array] = {}
        self._written: dict[str, Array] = {}
        self._drawn: dict[int, int] = {}

    def read(self, variable_id: str) -> Array | None:
        value = self._current.get(variable_id)
        return self._values.get(variable_id) if value is None else value

    def write(self, variable_id: str, value: Array) -> None:
        self._written[variable_id] = value

    def draw(self, layer: object, count: int) -> int:
        # Layers with equal attributes are equal, but not one.
        drawn = self._drawn.get(id(layer), 0)
        self._drawn[id(layer)] = drawn + count
        return drawn

    def advance(self, variable_ids: Iterable[str]) -> None:
        """Let what was written to these variables be read in this run."""
        for variable_id in variable_ids:
            if variable_id in self._written:
                self._current[variable_id] = self._written.pop(variable_id)

    def commit(self) -> None:
        """Keep what this run has written. The arrays are copied, so that no caller holds memory of a variable."""
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

    def fork(self) -> Variables:
        """Variables of the same values that go their own way; arrays are shared, for nobody writes to them."""
        other = Variables()
        other._values, other._current = self._values.copy(), self._current.copy()
        other._written, other._drawn = self._written.copy(), self._drawn.copy()
        return other

    def reset(self) -> None:
        """Forget all values and what was drawn: the next run starts from the initial ones."""
        self.discard()
        self._values.clear()
        self._drawn.clear()
