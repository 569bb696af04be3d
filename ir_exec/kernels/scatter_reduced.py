"""Reductions of the scatter family: sum, difference, product, least, greatest and mean of updates and data.

Updates to one element are applied in their order, so floating point sums are reproducible.
`ufunc.at` does this for single elements about as fast as memory allows. Updates that are whole slices are grouped by
their destination, and applied in waves: one update of each group. A wave touches no element twice and takes a few NumPy
calls on all of its elements.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from ir_exec.kernels.parallel import for_ranges
from ir_exec.kernels.scatter import Pairs, assign_slices
from ir_exec.tuning import thresholds
from ir_exec.types import Array, ElementType

__all__ = ["ReducingUpdate", "Reduction"]

Reduction: TypeAlias = Literal["none", "sum", "sub", "prod", "min", "max", "mean"]


@dataclass(frozen=True, slots=True)
class ReducingUpdate:
    """An Update: the target's elements are reduced with the updates to them, in their order.

    Attributes:
        use_init_val: The target's value is included. A NaN among the updates changes neither least nor greatest.
    """

    reduction: Reduction
    use_init_val: bool = True

    def __call__(self, target: Array, pairs: Pairs, count: int) -> None:
        exact = self._exact_dtype(target.dtype)
        if exact == target.dtype and self.reduction != "mean":
            self._reduce(target, pairs)
        elif count < target.size // 64:
            # Few updates: computing on a copy of the few touched elements saves memory.
            blocks = [(offsets.copy(), values) for offsets, values in pairs()]
            touched, inverse = np.unique(np.concatenate([offsets for offsets, _ in blocks]), return_inverse=True)
            values = np.concatenate([values for _, values in blocks])
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
            function.at(target, offsets, self._prepare_values(values, target.dtype))
            if counts is not None:
                counts += np.bincount(offsets, minlength=counts.size)
        if counts is not None:
            divide = np.divide if target.dtype.kind == "f" else np.floor_divide
            divide(target, np.maximum(counts, 1).astype(target.dtype), out=target)

    def slices(self, target: Array, rows: Array, updates: Array) -> None:
        """target[rows[i]] is reduced with updates[i]; target and updates are (rows, elements)."""
        groups = _Groups.of(rows, len(target))
        length = target.shape[1]
        step = max(1, thresholds.CHUNK_ELEMENTS // length)

        def work(start: int, stop: int) -> None:
            self._reduce_groups(target, groups.part(start, stop), updates)

        cost = 4 * (groups.places.size + rows.size) * length * target.itemsize * thresholds.BYTE_NANOSECONDS
        for_ranges(groups.places.size, step, work, nanoseconds=cost)

    def _reduce_groups(self, target: Array, groups: _Groups, updates: Array) -> None:
        slices = target.take(groups.places, axis=0).astype(self._exact_dtype(target.dtype), copy=False)
        function, results = self._function(slices)
        length = results.shape[1]
        wave, waves = 0, int(groups.sizes[0])
        # The number of groups decreases from wave to wave: the remaining ones are the first.
        while (count := groups.longer_than(wave)) * length >= thresholds.CALL_ELEMENTS or count > waves - wave:
            values = self._prepare_values(updates.take(groups.wave(wave, count), axis=0), results.dtype)
            function(results[:count], values, out=results[:count])
            wave += 1
        for group in range(count):
            self._reduce_rest(function, results[group], groups.remaining_updates(group, wave), updates)
        assign_slices(target[np.newaxis], groups.places, slices.astype(target.dtype, copy=False)[np.newaxis])

    def _reduce_rest(self, function: np.ufunc, result: Array, remaining: Array, updates: Array) -> None:
        """Reduce many updates to one slice. NumPy reduces the first of two axes in order, slice by slice."""
        step = max(1, thresholds.CHUNK_ELEMENTS // result.size)
        for first in range(0, remaining.size, step):
            values = self._prepare_values(updates.take(remaining[first : first + step], axis=0), result.dtype)
            function.reduce(np.concatenate([result[np.newaxis], values]), axis=0, dtype=result.dtype, out=result)

    def _function(self, target: Array) -> tuple[np.ufunc, Array]:
        if target.dtype == np.bool_:
            return _REDUCE_BOOLEANS[self.reduction], target.view(np.uint8)
        return _REDUCE[self.reduction], target

    def _prepare_values(self, values: Array, dtype: np.dtype[Any]) -> Array:
        values = values.view(np.uint8) if values.dtype == np.bool_ else values.astype(dtype, copy=False)
        if self.reduction in ("min", "max") and dtype.kind == "f" and values.size and np.isnan(values.max()):
            return np.where(np.isnan(values), self._neutral(dtype), values)
        return values

    def _exact_dtype(self, dtype: np.dtype[Any]) -> np.dtype[Any]:
        """The dtype of the computation: f32 for smaller floats, and for means of integers one that holds their sums."""
        element_type = ElementType.of_dtype(dtype)
        if element_type.is_float:
            return dtype if element_type.bits >= 32 else np.dtype(np.float32)
        if self.reduction == "mean" or element_type.bits < 8:
            return np.dtype(np.int64 if element_type.is_signed else np.uint64)
        return dtype

    def _neutral(self, dtype: np.dtype[Any]) -> Array:
        """The neutral element of the reduction."""
        if self.reduction in ("min", "max"):
            if dtype.kind == "f":
                return np.array(np.inf if self.reduction == "min" else -np.inf, dtype)
            limits = np.iinfo(dtype)
            return np.array(limits.max if self.reduction == "min" else limits.min, dtype)
        return np.array(1 if self.reduction == "prod" else 0, dtype)


@dataclass(frozen=True, slots=True)
class _Groups:
    """Updates grouped by destination, the largest groups first.

    Attributes:
        places: The place of updates of each group.
        sizes: The number of updates of each group.
        starts: The first of its updates in `order`, the order in which they are applied.
    """

    places: Array
    sizes: Array
    starts: Array
    order: Array

    @classmethod
    def of(cls, rows: Array, size: int) -> _Groups:
        order = _stable_order(rows, size)
        ordered = rows[order]
        starts = np.flatnonzero(np.diff(ordered, prepend=-1))
        sizes = np.diff(starts, append=rows.size)
        return cls(ordered[starts], sizes, starts, order)

    def part(self, start: int, stop: int) -> _Groups:
        """A slice of the groups, sorted by size."""
        largest = start + np.argsort(-self.sizes[start:stop], kind="stable")
        return _Groups(self.places[largest], self.sizes[largest], self.starts[largest], self.order)

    def longer_than(self, wave: int) -> int:
        """The number of groups with more than `wave` updates."""
        return int(np.searchsorted(-self.sizes, -wave))

    def wave(self, wave: int, count: int) -> Array:
        """The update of this number in each of the first groups."""
        updates: Array = self.order[self.starts[:count] + wave]
        return updates

    def remaining_updates(self, group: int, wave: int) -> Array:
        """The updates of a group, starting at this number."""
        start, stop = self.starts[group], self.starts[group] + self.sizes[group]
        return self.order[start + wave : stop]


def _stable_order(rows: Array, size: int) -> Array:
    """np.argsort(rows, kind="stable") of numbers below `size`; NumPy sorts 16 bits much faster than 64."""
    if size > 2**32:
        return np.argsort(rows, kind="stable")
    order = np.argsort((rows & 0xFFFF).astype(np.uint16), kind="stable")
    if size > 2**16:
        order = order[np.argsort((rows >> 16).astype(np.uint16)[order], kind="stable")]
    return order


_REDUCE = {
    "sum": np.add,
    "mean": np.add,
    "sub": np.subtract,
    "prod": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
}

_REDUCE_BOOLEANS = _REDUCE | {"sum": np.maximum, "prod": np.minimum, "sub": np.bitwise_xor}
"""For booleans viewed as the integers 0 and 1."""
