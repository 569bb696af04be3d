"""Elements and slices that take the place of others where indices say so: the kernels of the scatter family.

All tensors are seen with three axes: (before, axis, after). `output` is where the result goes; `data`, what it holds
elsewhere, is copied there on the way, while it is in the cache. Where the two are the same array nothing is copied.
Work is only split into parts that touch different elements, so that where indices meet the last one wins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import prod
from typing import TypeAlias

import numpy as np

from ir_exec.kernels.gather import few_offsets, few_tuple_offsets
from ir_exec.kernels.indices import lie_within
from ir_exec.kernels.offsets import (
    FEW,
    PER_BYTE,
    PER_ELEMENT,
    AlongAxis,
    AxisOffsets,
    Indices,
    TupleOffsets,
    chunk_size,
)
from ir_exec.kernels.parallel import Worker, for_each, for_ranges
from ir_exec.types import Array

__all__ = [
    "Pairs",
    "Update",
    "assign",
    "assign_slices",
    "copy_into",
    "put_along_axis",
    "put_slices",
    "put_tuples",
    "slice_offsets",
]

LONG = 512
"""Bytes from which on it pays to know where a slice comes from before any is written; short ones go one by one."""

TUPLES = 2**20
"""Tuples whose offsets are in memory at the same time, if they choose single elements."""

Pairs: TypeAlias = Callable[[], Iterator[tuple[Array, Array]]]
"""Chunks of offsets and of updates that go there, all flat, as often as they are asked for. A chunk's offsets hold
until the next chunk."""

Update: TypeAlias = Callable[[Array, Pairs, int], None]
"""What updates do to a flat array: the array, the chunks, how many updates there are."""


def assign(target: Array, pairs: Pairs, count: int) -> None:
    """The Update that overwrites."""
    for offsets, values in pairs():
        target[offsets] = values


def put_along_axis(
    data: Array, indices: Array, updates: Array, axis: int, output: Array, *, negative: bool, update: Update = assign
) -> None:
    """output[i, indices[i, j, k], k] becomes updates[i, j, k], shown for axis 1 of rank 3; elsewhere output is data.

    indices, updates: one shape; except on `axis` its sizes are at most those of data and output. output: contiguous;
    data itself or no memory of it. negative: whether indices below zero count from the end. Raises OutOfRangeError.
    """
    size = data.shape[axis]
    if data.size <= FEW and (negative or lie_within(indices, size)):
        offsets = few_offsets(data.shape, indices, axis)
        if offsets is not None:
            copy_into(output, data)
            pair = offsets.reshape(-1), updates.reshape(-1)
            update(output.reshape(-1), lambda: iter([pair]), offsets.size)
            return
    window = tuple([slice(None) if i == axis else slice(most) for i, most in enumerate(indices.shape)])
    if data[window].shape != data.shape:
        copy_into(output, data)
        part = np.ascontiguousarray(output[window])
        put_along_axis(part, indices, updates, axis, part, negative=negative, update=update)
        output[window] = part
        return
    way = AlongAxis(prod(data.shape[:axis]), indices.shape[axis], prod(data.shape[axis + 1 :]), size)
    _put_elements(data, Indices.of(indices, "counted" if negative else "refused", size), updates, way, output, update)


def _put_elements(data: Array, indices: Indices, updates: Array, way: AlongAxis, output: Array, update: Update) -> None:
    source, target = (array.reshape(way.before, way.size, way.after) for array in (data, output))
    chosen, values = (array.reshape(way.before, way.length, way.after) for array in (indices.array, updates))
    tiles = way.tiles(target.itemsize, copied=True)
    groups = way.groups(tiles, apart=0)
    # Too few groups to share the copying: then it is shared beforehand.
    copied = data is output or len(groups) < _FEW_GROUPS
    if copied:
        copy_into(output, data)

    def make_worker() -> Worker:
        offsets = AxisOffsets(prod(tiles), way.size, indices.negative)

        def work(number: int) -> None:
            group = groups[number]
            before, _, afters = group[0]
            into = target[before, :, afters]
            part = into if into.flags.c_contiguous else np.empty(into.shape, into.dtype)
            if part is not into or not copied:
                part[...] = (target if copied else source)[before, :, afters]

            def pairs() -> Iterator[tuple[Array, Array]]:
                for tile in group:
                    found = offsets(chosen[tile], part.shape[2]).reshape(-1)
                    yield found.astype(np.int64, copy=False), values[tile].reshape(-1)

            update(part.reshape(-1), pairs, part.shape[0] * way.length * part.shape[2])
            if part is not into:
                into[...] = part

        return work

    cost = chosen.size * PER_ELEMENT + output.nbytes * PER_BYTE
    for_each(len(groups), make_worker, nanoseconds=cost)


_FEW_GROUPS = 4


def slice_offsets(indices: Indices, sizes: tuple[int, ...]) -> Array:
    """Offsets of the slices that tuples of shape (..., len(sizes)) choose, counted in slices; flat.

    Raises OutOfRangeError.
    """
    tuples = indices.array.reshape(prod(indices.array.shape[:-1]), len(sizes))
    if (few := few_tuple_offsets(tuples, sizes)) is not None:
        return few
    found = np.empty(len(tuples), np.int64)
    step = chunk_size(len(tuples))

    def make_worker() -> Worker:
        offsets = TupleOffsets(step, sizes, indices.negative)

        def work(number: int) -> None:
            part = slice(number * step, (number + 1) * step)
            found[part] = offsets(tuples[part])

        return work

    for_each(-(-len(tuples) // step), make_worker, nanoseconds=tuples.size * PER_ELEMENT)
    return found


def put_tuples(
    data: Array, indices: Indices, updates: Array, sizes: tuple[int, ...], output: Array, update: Update = assign
) -> None:
    """output[*indices[i]] becomes updates[i], where that is one element; elsewhere output is data.

    indices: tuples along the last axis, which count on axes of these sizes. output: contiguous; data itself or no
    memory of it. Raises OutOfRangeError, perhaps when some updates have been applied.
    """
    tuples = indices.array.reshape(prod(indices.array.shape[:-1]), len(sizes))
    values = updates.reshape(len(tuples))
    copy_into(output, data)

    def pairs() -> Iterator[tuple[Array, Array]]:
        for first in range(0, len(tuples), TUPLES):
            part = slice(first, first + TUPLES)
            yield slice_offsets(Indices(tuples[part], indices.negative), sizes), values[part]

    update(output.reshape(-1), pairs, len(tuples))


def put_slices(data: Array, positions: Array, updates: Array, output: Array) -> None:
    """output[i, positions[j], k] = updates[i, j, k]; elsewhere output is data.

    data, output: (before, axis, after), output contiguous; data itself or no memory of it. positions: (length,), all on
    the axis and none negative. updates: (before, length, after).
    """
    _, size, after = output.shape
    if output.size <= FEW:
        copy_into(output, data)
        # NumPy assigns in the order of a contiguous list of indices, so that the last of equal ones wins.
        output[:, np.ascontiguousarray(positions)] = updates
    elif len(positions) > size or after * output.itemsize >= LONG:
        _put_long_slices(data, *_last_of_each(positions, size), updates, output)
    else:
        _put_short_slices(data, np.ascontiguousarray(positions), updates, output)


def _last_of_each(positions: Array, size: int) -> tuple[Array, Array]:
    """Every position that occurs, in rising order, and where it occurs last."""
    if len(positions) < size // 16:
        places, first = np.unique(positions[::-1], return_index=True)
        return places, len(positions) - 1 - first
    last = np.full(size, -1, np.int64)
    last[np.ascontiguousarray(positions)] = np.arange(len(positions))
    places = np.flatnonzero(last >= 0)
    return places, last[places]


def _put_long_slices(data: Array, places: Array, sources: Array, updates: Array, output: Array) -> None:
    """As put_slices with slice sources[j] of updates going to places[j], which rise: every slice is written once."""
    before, size, after = output.shape
    most = chunk_size(output.size)
    rows = min(size, max(1, most // after))
    some = min(before, max(1, most // (rows * after))) if rows == size else 1
    parts = -(-size // rows)
    bounds = np.searchsorted(places, np.arange(parts + 1) * rows).tolist()

    def work(number: int) -> None:
        b, part = (number // parts) * some, number % parts
        into = output[b : b + some, part * rows : (part + 1) * rows]
        first, last = bounds[part], bounds[part + 1]
        if last - first == into.shape[1]:
            np.take(updates[b : b + some], sources[first:last], axis=1, out=into, mode="clip")
            return
        if output is not data:
            into[...] = data[b : b + some, part * rows : (part + 1) * rows]
        if last > first:
            values = updates[b : b + some].take(sources[first:last], axis=1)
            assign_slices(into, places[first:last] - part * rows, values)

    for_each(-(-before // some) * parts, lambda: work, nanoseconds=output.nbytes * PER_BYTE)


def _put_short_slices(data: Array, positions: Array, updates: Array, output: Array) -> None:
    before, size, after = output.shape
    some = min(before, max(1, chunk_size(output.size) // (size * after)))
    copied = output is data or before < _FEW_GROUPS
    if copied:
        copy_into(output, data)

    def work(number: int) -> None:
        part = slice(number * some, (number + 1) * some)
        if not copied:
            output[part] = data[part]
        assign_slices(output[part], positions, updates[part])

    for_each(-(-before // some), lambda: work, nanoseconds=output.nbytes * PER_BYTE)


def assign_slices(output: Array, positions: Array, updates: Array) -> None:
    """output[:, positions] = updates, the later ones over the earlier; output is contiguous."""
    before, size, _ = output.shape
    if output.dtype.hasobject or not len(positions):
        output[:, positions] = updates
        return
    if before > 1:
        positions = (np.arange(before, dtype=np.int64)[:, np.newaxis] * size + positions).reshape(-1)
    items, values = _as_items(output), _as_items(np.ascontiguousarray(updates))
    if items.dtype.kind == "u":
        items[positions] = values
    else:
        # Positions are in range; "clip" only spares the copy that "raise" makes.
        np.put(items, positions, values, mode="clip")


def _as_items(array: Array) -> Array:
    """Every slice along the last axis as one item, an unsigned integer where one is as long."""
    bytes_of_slice = array.shape[-1] * array.itemsize
    dtype = np.dtype(f"u{bytes_of_slice}" if bytes_of_slice in (1, 2, 4, 8) else f"V{bytes_of_slice}")
    return array.reshape(-1).view(dtype)


def copy_into(output: Array, data: Array) -> None:
    """output[...] = data, on several threads where that pays; nothing where they are the same array."""
    if output is data:
        return
    if output.size <= FEW or not data.flags.c_contiguous:
        output[...] = data
        return
    target, source = output.reshape(-1), data.reshape(-1)

    def copy(start: int, stop: int) -> None:
        target[start:stop] = source[start:stop]

    for_ranges(output.size, chunk_size(output.size), copy, nanoseconds=output.nbytes * PER_BYTE)
