"""Parts with caches: an engine reads memory with room, and returns the elements that are appended to it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ir_exec.build.cutting import Cut
from ir_exec.engines.interface import CompiledPart
from ir_exec.engines.parts import EnginePart
from ir_exec.graph import Value
from ir_exec.kernels.limits import Limits
from ir_exec.onnx.export.caches import BEAM_AXIS, GROWING_AXIS, Caches, find_caches
from ir_exec.ops.infrastructure.values import ReadsVariable
from ir_exec.runtime.growing import GrowingArray
from ir_exec.runtime.precision import file_types
from ir_exec.runtime.state import CurrentVariables
from ir_exec.types import Array

__all__ = ["CachedPart", "find_part_caches"]


def find_part_caches(
    part: Cut, assigned: Mapping[Value, str], shown: Collection[Value], *, is_wide: bool
) -> Caches | None:
    """Return the caches of a part; None if it has none.

    Args:
        assigned: The values that variables are set to, with the ids of the variables.
        shown: The values that others than variables read.
        is_wide: 16-bit floats are computed in f32.
    """
    parameters = [node.outputs[0] for node in part.model.graph.parameters]
    pasts = {
        parameter: value.node.op.variable_id
        for parameter, value in zip(parameters, part.inputs, strict=True)
        if isinstance(value.node.op, ReadsVariable)
    }
    results = [node.values_in[0] for node in part.model.graph.results]
    presents = {
        result: assigned[value]
        for result, value in zip(results, part.outputs, strict=True)
        if value in assigned and value not in shown
    }
    if not pasts or not presents:
        return None
    return find_caches(part.model.graph, file_types(part.model), pasts, presents, is_wide=is_wide)


@dataclass(frozen=True, slots=True)
class _CachePositions:
    """A cache by the positions of its values.

    Attributes:
        past: The input with the old elements.
        beams: The input with the indices of beams; None if no layer reorders the cache.
        present: The output with the new elements.
    """

    variable_id: str
    past: int
    beams: int | None
    present: int


@dataclass
class CachedPart(EnginePart):
    """A part of an engine that reads caches in memory with room.

    Attributes:
        caches: The caches of the part.
        state: The variables.
        compile_plain: Makes the part that reads and returns whole caches, for runs whose caches differ in length.
    """

    caches: Caches = None  # type: ignore[assignment]  # always given; fields after one with a default need one
    state: CurrentVariables = field(default_factory=CurrentVariables)
    compile_plain: Callable[[], CompiledPart] | None = None
    _plain: CompiledPart | None = None

    def __post_init__(self) -> None:
        graph = self.cut.model.graph
        inputs = {node.outputs[0]: position for position, node in enumerate(graph.parameters)}
        outputs = {node.values_in[0]: position for position, node in enumerate(graph.results)}
        self._entries = [
            _CachePositions(
                cache.variable_id,
                inputs[cache.past],
                None if cache.beams is None else inputs[cache.beams],
                outputs[cache.present],
            )
            for cache in self.caches.entries
        ]

    def _run_compiled(self, arrays: Sequence[Array], limits: Limits) -> list[Array]:
        memories = self._reserve(arrays)
        if memories is None:
            return self._run_plain(arrays, limits)
        feed = list(arrays)
        for entry, memory in zip(self._entries, memories, strict=True):
            feed[entry.past] = memory.memory
        length, capacity = memories[0].latest.shape[GROWING_AXIS], memories[0].capacity
        feed += [np.array(sizes, np.int64) for sizes in ([length], [capacity], [0, capacity - length])]
        outputs = self.compiled.run(feed, limits)
        count = len(self.cut.outputs)
        added = [outputs[entry.present] for entry in self._entries]
        size = added[0].shape[GROWING_AXIS]
        for memory, elements in zip(memories, added, strict=True):
            if elements.shape != (*memory.latest.shape[:GROWING_AXIS], size, *memory.latest.shape[GROWING_AXIS + 1 :]):
                return self._run_plain(arrays, limits)
        batch, total = added[0].shape[BEAM_AXIS], length + size
        for target in outputs[count:]:
            if target[BEAM_AXIS] not in (1, batch) or target[3] not in (1, total):
                return self._run_plain(arrays, limits)
        del outputs[count:]
        for entry, elements in zip(self._entries, added, strict=True):
            outputs[entry.present] = self.state.extend(entry.variable_id, elements, GROWING_AXIS)
        return outputs

    def _reserve(self, arrays: Sequence[Array]) -> list[GrowingArray] | None:
        """Return memory for the caches of a run, of one length and capacity; None if they cannot share them."""
        lengths = {arrays[entry.past].shape[GROWING_AXIS] for entry in self._entries}
        if len(lengths) > 1:
            return None
        length = lengths.pop()
        orders: dict[int, Array | None] = {}
        # The room of memory that exists is used up before there is more.
        capacity = length
        while True:
            memories = []
            for entry in self._entries:
                value, order = arrays[entry.past], None
                if entry.beams is not None:
                    if entry.beams not in orders:
                        orders[entry.beams] = _order(arrays[entry.beams], value.shape[BEAM_AXIS])
                    order = orders[entry.beams]
                memory = self.state.reserve(
                    entry.variable_id, value, GROWING_AXIS, capacity, order=order, along=BEAM_AXIS
                )
                if memory is None:
                    return None
                memories.append(memory)
            largest = max(memory.capacity for memory in memories)
            if all(memory.capacity == largest for memory in memories):
                return memories
            capacity = largest

    def _run_plain(self, arrays: Sequence[Array], limits: Limits) -> list[Array]:
        if self._plain is None:
            assert self.compile_plain is not None
            self._plain = self.compile_plain()
        return self._plain.run(arrays, limits)

    def close(self) -> None:
        super().close()
        if self._plain is not None:
            self._plain.close()


def _order(indices: Array, size: int) -> Array | None:
    """Return the indices of slices, None for all in their order."""
    return None if indices.tolist() == list(range(size)) else indices
