"""The variables of a network between runs."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeAlias

from ir_exec.kernels.limits import current_limits
from ir_exec.kernels.pieces import converted
from ir_exec.model import Model, ModelPort
from ir_exec.ops.infrastructure.values import ReadValue, ReadValue3
from ir_exec.types import Array, ElementType

__all__ = ["VARIABLES", "CurrentVariables", "Drawers", "Snapshot", "Variables", "variables_of"]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What a session is between two runs. It can be pickled, and restored in another process.

    values: of the variables that are not in their initial state, by id. drawn: how many random numbers the layers that
    draw any have drawn, by the keys of their `Drawers`.
    """

    values: Mapping[str, Array]
    drawn: Mapping[Hashable, int]


Drawers: TypeAlias = Mapping[Hashable, object]
"""The layers that may draw random numbers, by keys that are the same in every process."""


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
        return value if value is None or variable_id not in self._rounded else converted(value, ElementType.f32)

    def kept(self, variable_id: str) -> Array | None:
        """The value between runs, None for the initial one."""
        return self._values.get(variable_id)

    def write(self, variable_id: str, value: Array, *, is_own: bool = False) -> None:
        """is_own: nobody else holds the array or a part of it, so that it is kept as it is."""
        kind = self._rounded.get(variable_id)
        self._written[variable_id] = value if kind is None else converted(value, kind)
        (self._own.add if is_own else self._own.discard)(variable_id)

    def draw(self, layer: object, count: int) -> int:
        # Layers with equal attributes are equal, but not one.
        key = id(layer)
        drawn = self._drawn_now.get(key, self._drawn.get(key, 0))
        self._drawn_now[key] = drawn + count
        return drawn

    def advance(self, variable_ids: Iterable[str]) -> None:
        """Let this run read what it has written to these variables."""
        for variable_id in variable_ids:
            if variable_id in self._written:
                self._current[variable_id] = self._written.pop(variable_id)

    def commit(self) -> None:
        """Keep what this run has written and drawn. Arrays that callers may hold are copied."""
        self.advance(list(self._written))
        current_limits().require(sum([value.nbytes for value in self._current.values()]))
        self._values |= {
            variable_id: _frozen(value) if variable_id in self._own else _copied(value)
            for variable_id, value in self._current.items()
        }
        self._drawn |= self._drawn_now
        self.discard()

    def discard(self) -> None:
        """Forget what this run has written, and which random numbers it has drawn."""
        self._current.clear()
        self._written.clear()
        self._own.clear()
        self._drawn_now.clear()

    def set(self, variable_id: str, value: Array | None) -> None:
        """Give a variable a copy of this value, or its initial value."""
        if value is None:
            self._values.pop(variable_id, None)
        else:
            self._values[variable_id] = _copied(value)

    def fork(self) -> Variables:
        """Variables of the same values that go their own way; arrays are shared, for nobody writes to them."""
        other = Variables(self._rounded)
        other._values, other._current = self._values.copy(), self._current.copy()
        other._written = self._written.copy()
        other._drawn, other._drawn_now = self._drawn.copy(), self._drawn_now.copy()
        other._drawn_later = self._drawn_later.copy()
        return other

    def snapshot(self, drawers: Drawers) -> Snapshot:
        """The values and sequences between runs."""
        self.resume(drawers)
        drawn = {key: self._drawn[id(layer)] for key, layer in drawers.items() if id(layer) in self._drawn}
        return Snapshot(self._values.copy(), {**self._drawn_later, **drawn})

    def restore(self, snapshot: Snapshot, drawers: Drawers) -> None:
        """Go on from a snapshot that was made with the same drawers; arrays are shared, for nobody writes to them."""
        self.reset()
        for variable_id, value in snapshot.values.items():
            value.flags.writeable = False  # which pickles do not keep
            self._values[variable_id] = value
        self._drawn_later.update(snapshot.drawn)
        self.resume(drawers)

    def resume(self, drawers: Drawers) -> None:
        """Go on with the restored sequences of layers that were not made when they were restored."""
        for key in self._drawn_later.keys() & drawers.keys():
            self._drawn[id(drawers[key])] = self._drawn_later.pop(key)

    def reset(self) -> None:
        """Forget all values, and where the sequences of random numbers stand."""
        self.discard()
        self._values.clear()
        self._drawn.clear()
        self._drawn_later.clear()


def variables_of(model: Model) -> list[ModelPort]:
    """Each variable that the network reads, with the type of its values."""
    found: dict[str, ModelPort] = {}
    around = set(model.graph.nodes)
    for node in model.graph.all_nodes():
        if isinstance(node.op, (ReadValue, ReadValue3)):
            value = node.outputs[0]
            type = model.types[value.number] if node in around else value.declared
            name = node.op.variable_id
            found.setdefault(name, ModelPort(name, frozenset([name]), type.element_type, type.shape))
    return list(found.values())


def _copied(value: Array) -> Array:
    return _frozen(value.copy())


def _frozen(value: Array) -> Array:
    value.flags.writeable = False
    return value


VARIABLES: ContextVar[Variables] = ContextVar("VARIABLES")
"""The variables of the session that runs in this context."""


class CurrentVariables:
    """What operators read, write and draw: of the session that runs, as all sessions share the plans."""

    def read(self, variable_id: str) -> Array | None:
        return VARIABLES.get().read(variable_id)

    def write(self, variable_id: str, value: Array) -> None:
        VARIABLES.get().write(variable_id, value)

    def draw(self, layer: object, count: int) -> int:
        return VARIABLES.get().draw(layer, count)

    def advance(self, variable_ids: Iterable[str]) -> None:
        """Let the run read what it has written to these variables."""
        VARIABLES.get().advance(variable_ids)
