"""The variables of a network between runs."""

from __future__ import annotations

from ir_exec.types import Array

__all__ = ["Variables"]


class Variables:
    """What Assign writes is kept aside until the run has ended well, and then becomes what ReadValue reads."""

    def __init__(self) -> None:
        self._values: dict[str, Array] = {}
        self._written: dict[str, Array] = {}

    def read(self, variable_id: str) -> Array | None:
        return self._values.get(variable_id)

    def write(self, variable_id: str, value: Array) -> None:
        self._written[variable_id] = value

    def commit(self) -> None:
        """Keep what this run has written. The arrays are copied, so that no caller holds memory of a variable."""
        for variable_id, value in self._written.items():
            self._values[variable_id] = value.copy()
        self._written.clear()

    def discard(self) -> None:
        """Forget what this run has written."""
        self._written.clear()

    def reset(self) -> None:
        """Forget all values: the next run starts from the initial ones."""
        self._values.clear()
        self._written.clear()
