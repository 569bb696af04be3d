"""The variables of a model between runs."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np

from ir_exec.kernels.chunks import convert_by_chunks
from ir_exec.kernels.limits import current_limits
from ir_exec.model import Model, ModelPort
from ir_exec.ops.infrastructure.values import ReadValue, ReadValue3
from ir_exec.runtime.growing import GrowingArray, capacity_for, copy_elements
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
        self._growing: dict[str, GrowingArray] = {}
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
        if value is None or variable_id not in self._rounded or value.dtype == np.float32:
            return value
        return convert_by_chunks(value, ElementType.f32)

    def shapes(self, variable_ids: Iterable[str]) -> tuple[tuple[str, tuple[int, ...]], ...]:
        """The shapes of the values that a run reads, without variables that have their initial values."""
        values = [(name, self._current.get(name, self._values.get(name))) for name in variable_ids]
        return tuple([(name, value.shape) for name, value in values if value is not None])

    def stored_value(self, variable_id: str) -> Array | None:
        """The value between runs in the type of the variable, None for the initial one."""
        value = self._values.get(variable_id)
        return None if value is None else self._narrow(variable_id, value)

    def _narrow(self, variable_id: str, value: Array) -> Array:
        """Return a value of a variable in the variable's type: caches in memory with room are f32."""
        element_type = self._rounded.get(variable_id)
        if element_type is None or value.dtype != np.float32:
            return value
        return _frozen(convert_by_chunks(value, element_type))

    def _round(self, variable_id: str, elements: Array) -> Array:
        """Return elements with the values that a variable keeps."""
        element_type = self._rounded.get(variable_id)
        if element_type is None:
            return elements
        return convert_by_chunks(convert_by_chunks(elements, element_type), ElementType.f32)

    def write(self, variable_id: str, value: Array, *, is_own: bool = False) -> None:
        """Store a value.

        Args:
            is_own: The array and its memory have no other owner, and need no copy.
        """
        element_type, growing = self._rounded.get(variable_id), self._growing.get(variable_id)
        if element_type is not None and (growing is None or value is not growing.latest):
            value = convert_by_chunks(value, element_type)
        self._written[variable_id] = value
        (self._own.add if is_own else self._own.discard)(variable_id)

    def append(self, variable_id: str, value: Array, elements: Array, axis: int) -> Array | None:
        """Return a value followed by elements along an axis, in place if nothing was appended to the value yet.

        Arrays that were returned before never change. This excludes variables of f16 and bf16: their values are rounded
        after the run that appends to them.
        """
        shape, dtype, others = value.shape, value.dtype, (*value.shape[:axis], *value.shape[axis + 1 :])
        if elements.dtype != dtype or others != (*elements.shape[:axis], *elements.shape[axis + 1 :]):
            return None
        growing = None if variable_id in self._rounded else self._growing.get(variable_id)
        if growing is not None and growing.fits(value, axis):
            appended = growing.append(elements)
            if appended is not None:
                return appended
        if variable_id in self._rounded or not GrowingArray.can_hold(shape, axis, dtype):
            return None
        growing = GrowingArray(shape, axis, dtype, shape[axis] + elements.shape[axis])
        growing.append(value)
        self._growing[variable_id] = growing
        return growing.append(elements)

    def reserve(
        self, variable_id: str, value: Array, axis: int, capacity: int, *, order: Array | None = None, along: int = 0
    ) -> GrowingArray | None:
        """Return memory with a value and room for more elements along an axis, all of which may be read.

        Args:
            capacity: Minimum elements along the axis. New memory has room.
            order: The slices of the value along another axis, None for all in their order.
            along: This axis.

        Returns:
            None if memory cannot hold the value, or for an index out of range.
        """
        growing = self._growing.get(variable_id)
        is_same = growing is not None and growing.is_cleared and growing.fits(value, axis)
        if growing is not None and is_same and order is None and growing.capacity >= capacity:
            return growing
        shape = value.shape
        if order is not None:
            if not all(0 <= index < shape[along] for index in order.tolist()):
                return None
            shape = (*shape[:along], len(order), *shape[along + 1 :])
        if not GrowingArray.can_hold(shape, axis, value.dtype):
            return None
        growing = GrowingArray(shape, axis, value.dtype, shape[axis], max(capacity, capacity_for(shape[axis])))
        growing.append(value if order is None else value.take(order, along))
        self._growing[variable_id] = growing
        return growing

    def extend(self, variable_id: str, elements: Array, axis: int) -> Array:
        """Return the reserved value of a variable followed by elements along the axis, rounded to its type."""
        elements, growing = self._round(variable_id, elements), self._growing[variable_id]
        appended = growing.append(elements)
        if appended is not None:
            return appended
        shape = growing.latest.shape
        size = shape[axis] + elements.shape[axis]
        larger = GrowingArray(shape, axis, elements.dtype, size, capacity_for(size))
        larger.append(growing.latest)
        self._growing[variable_id] = larger
        appended = larger.append(elements)
        assert appended is not None, "there is room for all elements"
        return appended

    def reorder(self, variable_id: str, value: Array, indices: Array, axis: int, growing_axis: int) -> Array | None:
        """Return slices of a value along an axis, in memory with room to append along another one.

        Returns:
            The value itself if the slices are all slices in their order, None if an index is out of range.
        """
        slices, size = indices.tolist(), value.shape[axis]
        if slices == list(range(size)):
            return value
        if variable_id in self._rounded or not all(0 <= index < size for index in slices):
            return None
        shape = (*value.shape[:axis], len(slices), *value.shape[axis + 1 :])
        if not GrowingArray.can_hold(shape, growing_axis, value.dtype):
            return None
        growing = GrowingArray(shape, growing_axis, value.dtype, shape[growing_axis])
        target = growing.allocate(shape[growing_axis])
        assert target is not None, "there is room for all slices"
        before: tuple[Any, ...] = (slice(None),) * axis
        for position, index in enumerate(slices):
            copy_elements(target[(*before, position)], value[(*before, index)])
        self._growing[variable_id] = growing
        return growing.extend(shape[growing_axis])

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
        retained = {name: value for name, value in self._current.items() if self._may_keep(name, value)}
        copied = {name: value for name, value in self._current.items() if name not in retained}
        current_limits().require(sum([value.nbytes for value in copied.values()]))
        self._values |= {name: _frozen(value) for name, value in retained.items()}
        self._values |= {name: _copy_frozen(value) for name, value in copied.items()}
        self._drawn |= self._drawn_now
        self.discard()

    def _may_keep(self, variable_id: str, value: Array) -> bool:
        """Return True for an array that never changes and has no other owner."""
        if variable_id in self._own or value is self._values.get(variable_id):
            return True
        growing = self._growing.get(variable_id)
        return growing is not None and value is growing.latest

    def discard(self) -> None:
        """Discard the values written and the numbers drawn in this run."""
        self._current.clear()
        self._written.clear()
        self._own.clear()
        self._drawn_now.clear()

    def set(self, variable_id: str, value: Array | None) -> None:
        """Set a variable to a copy of this value, or to its initial value."""
        self._growing.pop(variable_id, None)
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
        values = {name: self._narrow(name, value) for name, value in self._values.items()}
        return Snapshot(values, {**self._drawn_later, **drawn})

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
        self._growing.clear()
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

    def shapes(self, variable_ids: Iterable[str]) -> tuple[tuple[str, tuple[int, ...]], ...]:
        """The shapes of the values that a run reads, without variables that have their initial values."""
        return VARIABLES.get().shapes(variable_ids)

    def append(self, variable_id: str, value: Array, elements: Array, axis: int) -> Array | None:
        return VARIABLES.get().append(variable_id, value, elements, axis)

    def reorder(self, variable_id: str, value: Array, indices: Array, axis: int, growing_axis: int) -> Array | None:
        return VARIABLES.get().reorder(variable_id, value, indices, axis, growing_axis)

    def reserve(
        self, variable_id: str, value: Array, axis: int, capacity: int, *, order: Array | None = None, along: int = 0
    ) -> GrowingArray | None:
        return VARIABLES.get().reserve(variable_id, value, axis, capacity, order=order, along=along)

    def extend(self, variable_id: str, elements: Array, axis: int) -> Array:
        return VARIABLES.get().extend(variable_id, elements, axis)

    def draw(self, layer: object, count: int) -> int:
        return VARIABLES.get().draw(layer, count)

    def advance(self, variable_ids: Iterable[str]) -> None:
        """Make the values written to these variables readable in this run."""
        VARIABLES.get().advance(variable_ids)
