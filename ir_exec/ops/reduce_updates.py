"""Updates that are reduced with what they meet: sums, products, least, greatest and mean of the scatter family.

Updates to one element are applied one after the other in their order, so that floating point sums always come out the
same. `ufunc.at` does this for single elements about as fast as memory allows. Updates that are whole slices are
sorted into waves, none of which meets an element twice: a wave is a few NumPy calls on all of its elements.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from ir_exec.ops.offsets import PER_BYTE, chunk_size
from ir_exec.ops.parallel import for_ranges
from ir_exec.ops.put import Pairs, assign_slices
from ir_exec.types import Array, ElementType

__all__ = ["Reduced", "Reduction"]

Reduction: TypeAlias = Literal["none", "sum", "sub", "prod", "min", "max", "mean"]

WAVE = 2**12
"""Elements that a wave must have to be worth its calls."""


@dataclass(frozen=True, slots=True)
class Reduced:
    """An Update: what target holds is reduced with the updates that come there, in their order.

    Without `use_init_val` what target holds there counts as if it were not there. A NaN among the updates leaves least
    and greatest as they are.
    """

    reduction: Reduction
    use_init_val: bool = True

    def __call__(self, target: Array, pairs: Pairs, count: int) -> None:
        exact = self._exact_dtype(target.dtype)
        if exact == target.dtype and self.reduction != "mean":
            self._reduce(target, pairs)
        elif count < target.size // 64:
            # Few updates: calculating with a copy of the few elements that they touch saves memory.
            found = [(offsets.copy(), values) for offsets, values in pairs()]
            touched, inverse = np.unique(np.concatenate([offsets for offsets, _ in found]), return_inverse=True)
            values = np.concatenate([values for _, values in found])
            part = target[touched].astype(exact)
            self._reduce(part, lambda: iter([(inverse, values)]))
            target[touched] = part.astype(target.dtype)
        else:
            part = target.astype(exact)
            self._reduce(part, pairs)
            target[...] = part.astype(target.dtype)

    def _reduce(self, target: Array, pairs: Pairs) -> None:
        function, target = self._function(target)
        if not self.use_init_val:
            for offsets, _ in pairs():
                target[offsets] = self._neutral(target.dtype)
        counts = np.full(target.size, int(self.use_init_val)) if self.reduction == "mean" else None
        for offsets, values in pairs():
            function.at(target, offsets, self._prepared(values, target.dtype))
            if counts is not None:
                counts += np.bincount(offsets, minlength=counts.size)
        if counts is not None:
            divide = np.divide if target.dtype.kind == "f" else np.floor_divide
            divide(target, np.maximum(counts, 1).astype(target.dtype), out=target)

    def slices(self, target: Array, rows: Array, updates: Array) -> None:
        """target[rows[i]] is reduced with updates[i]; target and updates are (rows, elements)."""
        exact = self._exact_dtype(target.dtype)
        if exact == target.dtype:
            self._reduce_slices(target, rows, updates)
            return
        touched, inverse = np.unique(rows, return_inverse=True)
        part = target[touched].astype(exact)
        self._reduce_slices(part, inverse, updates)
        target[touched] = part.astype(target.dtype)

    def _reduce_slices(self, target: Array, rows: Array, updates: Array) -> None:
        function, target = self._function(target)
        length = target.shape[1]
        rest = np.arange(len(rows))
        while rest.size * length >= WAVE:
            wave, later = _first_of_each(rows[rest], len(target))
            # Looking for a wave goes over all that is left: what it brings must be worth that too.
            if wave.size * length < max(WAVE, 8 * rest.size):
                break
            self._reduce_wave(function, target, rows, updates, rest[wave])
            rest = rest[later]
        flat = target.reshape(-1)
        step = max(1, chunk_size(0) // length)
        for first in range(0, rest.size, step):
            some = rest[first : first + step]
            offsets = (rows[some] * length)[:, np.newaxis] + np.arange(length)
            function.at(flat, offsets.reshape(-1), self._prepared(updates[some], target.dtype).reshape(-1))

    def _reduce_wave(self, function: np.ufunc, target: Array, rows: Array, updates: Array, wave: Array) -> None:
        """All rows of a wave differ: they can be changed at once."""

        def work(start: int, stop: int) -> None:
            some = wave[start:stop]
            places = rows[some]
            values = self._prepared(updates.take(some, axis=0), target.dtype)
            found = target.take(places, axis=0)
            assign_slices(target[np.newaxis], places, function(found, values, out=found)[np.newaxis])

        elements = wave.size * target.shape[1]
        rows_at_once = max(1, chunk_size(elements) // target.shape[1])
        for_ranges(wave.size, rows_at_once, work, nanoseconds=4 * elements * target.itemsize * PER_BYTE)

    def _function(self, target: Array) -> tuple[np.ufunc, Array]:
        if target.dtype == np.bool_:
            return _REDUCE_BOOLEANS[self.reduction], target.view(np.uint8)
        return _REDUCE[self.reduction], target

    def _prepared(self, values: Array, dtype: np.dtype[Any]) -> Array:
        values = values.view(np.uint8) if values.dtype == np.bool_ else values.astype(dtype, copy=False)
        if self.reduction in ("min", "max") and dtype.kind == "f" and values.size and np.isnan(values.max()):
            return np.where(np.isnan(values), self._neutral(dtype), values)
        return values

    def _exact_dtype(self, dtype: np.dtype[Any]) -> np.dtype[Any]:
        """What to calculate in: f32 for smaller floats, and for means of integers what holds their sums."""
        kind = ElementType.of_dtype(dtype)
        if kind.is_float:
            return dtype if kind.bits >= 32 else np.dtype(np.float32)
        if self.reduction == "mean" or kind.bits < 8:
            return np.dtype(np.int64 if kind.is_signed else np.uint64)
        return dtype

    def _neutral(self, dtype: np.dtype[Any]) -> Array:
        """What changes no other value when it is reduced with it."""
        if self.reduction in ("min", "max"):
            if dtype.kind == "f":
                return np.array(np.inf if self.reduction == "min" else -np.inf, dtype)
            limits = np.iinfo(dtype)
            return np.array(limits.max if self.reduction == "min" else limits.min, dtype)
        return np.array(1 if self.reduction == "prod" else 0, dtype)


def _first_of_each(rows: Array, size: int) -> tuple[Array, Array]:
    """Where each row occurs first, and all other places, both in rising order."""
    first = np.empty(size, np.int64)
    # The last assignment wins: backwards, that is the first occurrence.
    order = np.arange(len(rows) - 1, -1, -1)
    first[rows[::-1].copy()] = order
    is_first = first[rows] == order[::-1]
    return np.flatnonzero(is_first), np.flatnonzero(~is_first)


_REDUCE = {
    "sum": np.add,
    "mean": np.add,
    "sub": np.subtract,
    "prod": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
}

_REDUCE_BOOLEANS = _REDUCE | {"sum": np.maximum, "prod": np.minimum, "sub": np.bitwise_xor}
"""For booleans seen as the integers 0 and 1."""
