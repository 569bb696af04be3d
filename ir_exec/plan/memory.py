"""The memory budget, the memory of a run, and the buffers of values."""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache

import numpy as np

from ir_exec.graph import Node
from ir_exec.infer import Types
from ir_exec.kernels.limits import current_limits, owner_of
from ir_exec.types import Array, TensorType

__all__ = [
    "Buffers",
    "MemoryPlan",
    "byte_size",
    "default_budget",
    "freeze",
    "keep_some_freed_memory",
    "read_only",
    "store",
]

FALLBACK = 64 * 2**30
"""Bytes, for systems that do not report their memory."""


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """The memory of a run in bytes, as far as sizes are known before it.

    Attributes:
        constants: Decoded and folded weights, which remain in memory after the first run, without views of the mapped
            file and matrices of it that are replaced by packed ones.
        peak: The maximum of all other tensors at one time, without the inputs.
        layer: The name of the layer at the peak.
    """

    constants: int
    peak: int
    layer: str | None


def default_budget() -> int:
    """The memory of the machine in bytes."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return FALLBACK


@cache
def keep_some_freed_memory() -> None:
    """Make glibc keep up to 64 MiB of freed tensors for later ones; elsewhere do nothing.

    By default glibc allocates tensors of more than 128 KiB from the system and returns them when they are freed, and
    the system fills each new one with zeros, page by page. Its threshold adapts to freed blocks: later tensors of up to
    that size are allocated from its heap, of which it keeps twice that size. The maximum is 32 MiB; no page of them is
    touched here. The threshold is fixed if the user has set it.
    """
    # Other systems have no such name; without enough memory for it, there is none to keep either.
    with suppress(AttributeError, ValueError, OSError, MemoryError):
        if os.confstr("CS_GNU_LIBC_VERSION"):
            np.empty(2**25 - 2**16, np.uint8)


def byte_size(type: TensorType) -> int:
    """The least size in bytes of a tensor of this type; sub-byte elements take a byte each."""
    return type.shape.size.lo * (max(type.element_type.bits, 8) // 8)


class Buffers:
    """The buffers of all values, for a walk over the nodes in their order; a buffer is named by its first value.

    The outputs of an operator with `may_alias` may share the buffers of any inputs, unless an output is larger than
    every input; the outputs of all other operators have separate buffers. Weights, variables and values from bodies are
    in foreign buffers. A buffer is free after the last use of the last value in it, unless it is foreign.

    Args:
        moved: Parameters whose buffers belong to the run.
    """

    def __init__(
        self,
        nodes: list[Node],
        types: Types,
        keep: Collection[int],
        dying: list[list[int]],
        moved: Collection[int] = (),
    ) -> None:
        self._nodes = nodes
        self._owners: dict[int, frozenset[int]] = {number: frozenset([number]) for number in moved}
        self._sizes: dict[int, int] = {}
        self._lent = {_OTHERS}
        self._last: dict[int, int] = {}
        self._live = 0
        last_use = {number: index for index, numbers in enumerate(dying) for number in numbers}
        for node in nodes:
            self._enter_owners(node, types)
        for number, owners in self._owners.items():
            for owner in owners:
                last = len(nodes) if number in keep else last_use.get(number, len(nodes))
                self._last[owner] = max(self._last.get(owner, 0), last)
        self._freed: dict[int, list[int]] = {}
        for owner, last in self._last.items():
            self._freed.setdefault(last, []).append(owner)

    @classmethod
    def of_iterations(
        cls,
        nodes: list[Node],
        types: Types,
        results: Sequence[int],
        dying: list[list[int]],
        back_edges: Sequence[tuple[int, int]],
    ) -> Buffers:
        """The buffers of the body of a loop, which hands results on to its next iteration.

        The buffer of a Parameter belongs to the run if that of its result does and has no other result in it.

        Args:
            results: The numbers of all results.
            back_edges: The position of the result and the number of the Parameter, for each result that only the next
                iteration reads.
        """
        while True:
            buffers = cls(nodes, types, frozenset(results), dying, [parameter for _, parameter in back_edges])
            own = [edge for edge in back_edges if buffers._has_own_buffer(edge[0], results)]
            if len(own) == len(back_edges):
                return buffers
            back_edges = own

    def _has_own_buffer(self, position: int, results: Sequence[int]) -> bool:
        owners = self._of(results[position])
        others = [self._of(number) for index, number in enumerate(results) if index != position]
        return owners.isdisjoint(self._lent.union(*others))

    def _enter_owners(self, node: Node, types: Types) -> None:
        assert node.op is not None, "the compiler rejects models with unsupported operators"
        inputs = [self._of(value.number) for value in node.values_in]
        handed_on = frozenset[int]().union(*inputs) if node.op.may_alias else frozenset[int]()
        if node.op.evaluate_context:
            handed_on |= {_OTHERS}
            # A variable or a body may keep its inputs.
            for owner in frozenset[int]().union(*inputs):
                self._last[owner] = len(self._nodes)
                self._lent.add(owner)
        if node.op.evaluate_context == {"weights"}:
            # Constants decoded from the file are free after their last use.
            handed_on |= {node.outputs[0].number}
        input_types = [types[value.number] for value in node.values_in]
        largest = (
            max(map(byte_size, input_types), default=0)
            if all(type.shape.is_static for type in input_types)
            else math.inf
        )
        for value in node.outputs:
            size = byte_size(types[value.number])
            is_new = not handed_on or (size > largest and not node.op.evaluate_context)
            self._owners[value.number] = frozenset([value.number]) if is_new else handed_on
            if is_new or node.op.evaluate_context:
                self._sizes[value.number] = size

    def _of(self, number: int) -> frozenset[int]:
        return self._owners.get(number, frozenset([_OTHERS]))

    def size(self, number: int) -> int:
        """The known bytes of a value's own buffer, 0 in foreign buffers."""
        return self._sizes.get(number, 0)

    def enter(self, index: int) -> int:
        """The bytes in use after node `index` has computed its outputs."""
        self._live += sum(self._sizes.get(value.number, 0) for value in self._nodes[index].outputs)
        return self._live

    def leave(self, index: int) -> None:
        """Free the buffers that no node after `index` reads."""
        self._live -= sum(self._sizes.get(owner, 0) for owner in self._freed.get(index, ()))

    def may_overwrite(self, index: int, position: int) -> bool:
        """Return True if an input's buffer belongs to the run and is not read by another input or later node."""
        values = self._nodes[index].values_in
        owners = self._of(values[position].number)
        others = (self._of(value.number) for at, value in enumerate(values) if at != position)
        return (
            _OTHERS not in owners
            and all(self._last[owner] == index for owner in owners)
            and not any(owners & other for other in others)
        )


_OTHERS = -1
"""The foreign buffers: of the caller, the weights, variables and bodies."""


def read_only(array: Array) -> Array:
    """A read-only view, or the array itself if it is read-only."""
    if array.flags.writeable:
        array = array.view()
        array.flags.writeable = False
    return array


def freeze(array: Array) -> Array:
    """Protect the memory of an array from writes, and return a read-only view."""
    owner_of(array).flags.writeable = False
    return read_only(array)


def store(array: Array) -> Array:
    """Protect a constant from writes by layers and callers; the run no longer counts its memory."""
    owner = owner_of(array)
    if owner.flags.writeable:
        current_limits().keep(owner, planned=owner.nbytes)
    return freeze(array)
