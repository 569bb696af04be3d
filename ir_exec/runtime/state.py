"""The variables of a model between runs."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeAlias

from ir_exec.kernels.chunks import convert_by_chunks
from ir_exec.kernels.limits import current_limits
from ir_exec.model import Model, ModelPort
from ir_exec.ops.infrastructure.values import ReadValue, ReadValue3
from ir_exec.types import Array, ElementType

__all__ = ["VARIABLES", "CurrentVariables", "Drawers", "Snapshot", "Variables", "variables_of"]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The state of a session between two runs. It can be pickled, and restored in another process.

    Attributes:
        values: The values of variables that are not in their initial state, by id.
        drawn: The count of random numbers drawn by each layer that draws any, by the keys of their `Drawers`.
    """

    values: Mapping[str, Array]
    drawn: Mapping[Hashable, int]


Drawers: TypeAlias = Mapping[Hashable, object]
"""The layers that may draw random numbers, by keys that are the same in every process."""


class Variables:
    """Values written by Assign, which ReadValue reads after the run has succeeded.

    In a body, an iteration reads the values written in the previous iteration, by `advance`. Layers that draw random
    numbers continue their sequences in the next run and in the next iteration.

    Args:
        rounded: Variables that keep their values as f16 or bf16 while the model is computed in f32.
    """

    def __init__(self, rounded: Mapping[str, ElementType] = MappingProxyType({})) -> None:
        self._rounded = rounded
        self._values: dict[str, Array] = {}
        self._current: dict[str, Array] = {}
        self._written: dict[str, Array] = {}
        self._own: set[str] = set()
        self._drawn: dict[int, int] = {}
        self._drawn_now: dict[int, int] = {}
        self._drawn_later: dict[Hashable, int] = {}

    @property
    def nbytes(self) -> int:
        """The bytes of all values between runs."""
        return sum([value.nbytes for value in self._values.values()])

    def read(self, variable_id: str) -> Array | None:
        value = self._current.get(variable_id)
        value = self._values.get(variable_id) if value is None else value
        return value if value is None or variable_id not in self._rounded else convert_by_chunks(value, ElementType.f32)

    def stored_value(self, variable_id: str) -> Array | None:
        """The value between runs, None for the initial one."""
        return self._values.get(variable_id)

    def write(self, variable_id: str, value: Array, *, is_own: bool = False) -> None:
        """Store a value.

        Args:
            is_own: The array and its memory have no other owner, and need no copy.
        """
        element_type = self._rounded.get(variable_id)
        self._written[variable_id] = value if element_type is None else convert_by_chunks(value, element_type)
        (self._own.add if is_own else self._own.discard)(variable_id)

    def draw(self, layer: object, count: int) -> int:
        # Layers with equal attributes compare equal, but are different layers.
        key = id(layer)
        drawn = self._drawn_now.get(key, self._drawn.get(key, 0))
        self._drawn_now[key] = drawn + count
        return drawn

    def advance(self, variable_ids: Iterable[str]) -> None:
        """Make the values written to these variables readable in this run."""
        for variable_id in variable_ids:
            if variable_id in self._written:
                self._current[variable_id] = self._written.pop(variable_id)

    def commit(self) -> None:
        """Keep the written values and counts of drawn numbers of this run. Arrays that callers may own are copied."""
        self.advance(list(self._written))
        current_limits().require(sum([value.nbytes for value in self._current.values()]))
        self._values |= {
            variable_id: _frozen(value) if variable_id in self._own else _copy_frozen(value)
            for variable_id, value in self._current.items()
        }
        self._drawn |= self._drawn_now
        self.discard()

    def discard(self) -> None:
        """Discard the values written and the numbers drawn in this run."""
        self._current.clear()
        self._written.clear()
        self._own.clear()
        self._drawn_now.clear()

    def set(self, variable_id: str, value: Array | None) -> None:
        """Set a variable to a copy of this value, or to its initial value."""
        if value is None:
            self._values.pop(variable_id, None)
        else:
            self._values[variable_id] = _copy_frozen(value)

    def fork(self) -> Variables:
        """Return independent variables with the same values; arrays are shared, because they are read-only."""
        other = Variables(self._rounded)
        other._values, other._current = self._values.copy(), self._current.copy()
        other._written = self._written.copy()
        other._drawn, other._drawn_now = self._drawn.copy(), self._drawn_now.copy()
        other._drawn_later = self._drawn_later.copy()
        return other

    def snapshot(self, drawers: Drawers) -> Snapshot:
        """Return the values and sequences between runs."""
        self.resume(drawers)
        drawn = {key: self._drawn[id(layer)] for key, layer in drawers.items() if id(layer) in self._drawn}
        return Snapshot(self._values.copy(), {**self._drawn_later, **drawn})

    def restore(self, snapshot: Snapshot, drawers: Drawers) -> None:
        """Continue from a snapshot that was made with the same drawers; read-only arrays are shared."""
        self.reset()
        for variable_id, value in snapshot.values.items():
            value.flags.writeable = False  # which pickles do not keep
            self._values[variable_id] = value
        self._drawn_later.update(snapshot.drawn)
        self.resume(drawers)

    def resume(self, drawers: Drawers) -> None:
        """Continue the restored sequences of layers that did not exist when they were restored."""
        for key in self._drawn_later.keys() & drawers.keys():
            self._drawn[id(drawers[key])] = self._drawn_later.pop(key)

    def reset(self) -> None:
        """Discard all values and the positions in the sequences of random numbers."""
        self.discard()
        self._values.clear()
        self._drawn.clear()
        self._drawn_later.clear()


def variables_of(model: Model) -> list[ModelPort]:
    """Return each variable that the model reads, with the type of its values."""
    ports: dict[str, ModelPort] = {}
    outer_nodes = set(model.graph.nodes)
    for node in model.graph.all_nodes():
        if isinstance(node.op, (ReadValue, ReadValue3)):
            value = node.outputs[0]
            type = model.types[value.number] if node in outer_nodes else value.declared
            name = node.op.variable_id
            ports.setdefault(name, ModelPort(name, frozenset([name]), type.element_type, type.shape))
    return list(ports.values())


def _copy_frozen(value: Array) -> Array:
    return _frozen(value.copy())


def _frozen(value: Array) -> Array:
    value.flags.writeable = False
    return value


VARIABLES: ContextVar[Variables] = ContextVar("VARIABLES")
"""The variables of the session that runs in this context.

It is no argument of a run: sessions share plans, whose kernels bind the state of an operator before a run.
"""


class CurrentVariables:
    """The variables that operators read, write and draw from: those of the running session, as sessions share plans."""

    def read(self, variable_id: str) -> Array | None:
        return VARIABLES.get().read(variable_id)

    def write(self, variable_id: str, value: Array, *, is_own: bool = False) -> None:
        VARIABLES.get().write(variable_id, value, is_own=is_own)

    def draw(self, layer: object, count: int) -> int:
        return VARIABLES.get().draw(layer, count)

    def advance(self, variable_ids: Iterable[str]) -> None:
        """Make the values written to these variables readable in this run."""
        VARIABLES.get().advance(variable_ids)
