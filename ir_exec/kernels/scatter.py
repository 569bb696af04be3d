"""The kernels of the scatter family: elements and slices that replace others at indices.

All tensors are viewed with three axes: (before, axis, after). `output` receives the result; its other elements are
copied from `data` in the same pass, while they are in the cache. If both are the same array, nothing is copied. Work is
split only into chunks that touch different elements:

the last of equal indices wins. `put_along_axis` and `put_slices` run the first applicable strategy of their lists at
the end of the file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import prod
from typing import TypeAlias

import numpy as np

from ir_exec.kernels.chunks import item_dtype
from ir_exec.kernels.indices import lie_within
from ir_exec.kernels.offsets import (
    AlongAxis,
    AxisOffsets,
    Indices,
    Strategy,
    TupleOffsets,
    always,
    choose,
    chunk_size,
    fits_table,
    fits_tuple_table,
    table_offsets,
    table_tuple_offsets,
)
from ir_exec.kernels.parallel import Worker, for_each, for_ranges
from ir_exec.tuning import thresholds
from ir_exec.types import Array

__all__ = [
    "ALONG_AXIS",
    "SLICES",
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

Pairs: TypeAlias = Callable[[], Iterator[tuple[Array, Array]]]
"""Chunks of flat offsets and updates, in any number of iterations. A chunk's offsets are valid until the next chunk."""

Update: TypeAlias = Callable[[Array, Pairs, int], None]
"""A function that applies updates to a flat array: the array, the chunks, the number of updates."""


def assign(target: Array, pairs: Pairs, count: int) -> None:
    """The Update that overwrites."""
    for offsets, values in pairs():
        target[offsets] = values


def put_along_axis(
    data: Array, indices: Array, updates: Array, axis: int, output: Array, *, negative: bool, update: Update = assign
) -> None:
    """output[i, indices[i, j, k], k] becomes updates[i, j, k], shown for axis 1 of rank 3; elsewhere output is data.

    Args:
        indices: Indices on the axis; except on `axis` its sizes are at most the sizes of data and output.
        updates: An array of the shape of `indices`.
        output: Contiguous; data itself or not an alias of it.
        negative: negative indices count from the end.

    Raises:
        OutOfRangeError: If an index is out of range.
    """
    arguments = (data, indices, updates, axis, output, negative, update)
    choose(ALONG_AXIS, *arguments).run(*arguments)


def _fits_table(
    data: Array, indices: Array, updates: Array, axis: int, output: Array, negative: bool, update: Update
) -> bool:
    # The table counts negative indices from the end.
    return (
        data.size <= thresholds.FEW_ELEMENTS
        and fits_table(indices)
        and (negative or lie_within(indices, data.shape[axis]))
    )


def _put_by_table(
    data: Array, indices: Array, updates: Array, axis: int, output: Array, negative: bool, update: Update
) -> None:
    offsets = table_offsets(data.shape, indices, axis)
    copy_into(output, data)
    pair = offsets.reshape(-1), updates.reshape(-1)
    update(output.reshape(-1), lambda: iter([pair]), offsets.size)


def _reaches_a_part(
    data: Array, indices: Array, updates: Array, axis: int, output: Array, negative: bool, update: Update
) -> bool:
    reached, shape = indices.shape, data.shape
    return bool(reached[:axis] != shape[:axis] or reached[axis + 1 :] != shape[axis + 1 :])


def _put_into_part(
    data: Array, indices: Array, updates: Array, axis: int, output: Array, negative: bool, update: Update
) -> None:
    copy_into(output, data)
    window = tuple([slice(None) if i == axis else slice(size) for i, size in enumerate(indices.shape)])
    part = np.ascontiguousarray(output[window])
    put_along_axis(part, indices, updates, axis, part, negative=negative, update=update)
    output[window] = part


def _put_by_tiles(
    data: Array, indices: Array, updates: Array, axis: int, output: Array, negative: bool, update: Update
) -> None:
    before, size, after = prod(data.shape[:axis]), data.shape[axis], prod(data.shape[axis + 1 :])
    way = AlongAxis(before, indices.shape[axis], after, size)
    integers = Indices.of(indices, size, negative=negative)
    source, target = (array.reshape(before, size, after) for array in (data, output))
    chosen, values = (array.reshape(before, way.length, after) for array in (integers.array, updates))
    tiles = way.tiles(target.itemsize, copied=True)
    groups = way.groups(tiles, apart=0)
    # With too few groups to share the copy, it is shared beforehand.
    copied = data is output or len(groups) < thresholds.MOST_CHUNKS // 4
    if copied:
        copy_into(output, data)

    def make_worker() -> Worker:
        offsets = AxisOffsets(prod(tiles), way.size, integers.negative)

        def work(number: int) -> None:
            group = groups[number]
            before, _, afters = group[0]
            into = target[before, :, afters]
            part = into if into.flags.c_contiguous else np.empty(into.shape, into.dtype)
            if part is not into or not copied:
                part[...] = (target if copied else source)[before, :, afters]

            def pairs() -> Iterator[tuple[Array, Array]]:
                for tile in group:
                    positions = offsets(chosen[tile], part.shape[2]).reshape(-1)
                    yield positions.astype(np.int64, copy=False), values[tile].reshape(-1)

            update(part.reshape(-1), pairs, part.shape[0] * way.length * part.shape[2])
            if part is not into:
                into[...] = part

        return work

    cost = chosen.size * thresholds.ELEMENT_NANOSECONDS + output.nbytes * thresholds.BYTE_NANOSECONDS
    for_each(len(groups), make_worker, nanoseconds=cost)


def slice_offsets(indices: Indices, sizes: tuple[int, ...]) -> Array:
    """Offsets of the slices selected by tuples of shape (..., len(sizes)), counted in slices; flat.

    Raises:
        OutOfRangeError: If an index is out of range.
    """
    tuples = indices.array.reshape(prod(indices.array.shape[:-1]), len(sizes))
    if fits_tuple_table(tuples, sizes):
        return table_tuple_offsets(tuples, sizes)
    flat_offsets = np.empty(len(tuples), np.int64)
    step = chunk_size(len(tuples))

    def make_worker() -> Worker:
        offsets = TupleOffsets(min(step, len(tuples)), sizes, indices.negative)

        def work(number: int) -> None:
            part = slice(number * step, (number + 1) * step)
            flat_offsets[part] = offsets(tuples[part])

        return work

    for_each(-(-len(tuples) // step), make_worker, nanoseconds=tuples.size * thresholds.ELEMENT_NANOSECONDS)
    return flat_offsets


def put_tuples(
    data: Array, indices: Indices, updates: Array, sizes: tuple[int, ...], output: Array, update: Update = assign
) -> None:
    """output[*indices[i]] becomes updates[i], if that is one element; elsewhere output is data.

    Args:
        indices: Tuples along the last axis, which refer to axes of these sizes.
        output: Contiguous; data itself or not an alias of it.

    Raises:
        OutOfRangeError: If an index is out of range, possibly after some updates.
    """
    tuples = indices.array.reshape(prod(indices.array.shape[:-1]), len(sizes))
    values = updates.reshape(len(tuples))
    copy_into(output, data)

    def pairs() -> Iterator[tuple[Array, Array]]:
        size = max(thresholds.WORKING_ELEMENTS // 4, 1)
        for first in range(0, len(tuples), size):
            part = slice(first, first + size)
            yield slice_offsets(Indices(tuples[part], indices.negative), sizes), values[part]

    update(output.reshape(-1), pairs, len(tuples))


def put_slices(data: Array, positions: Array, updates: Array, output: Array) -> None:
    """output[i, positions[j], k] = updates[i, j, k]; elsewhere output is data.

    Args:
        data: The array to copy, (before, axis, after).
        positions: (length,), all on the axis and none negative.
        updates: (before, length, after).
        output: Contiguous, with the shape of data; data itself or not an alias of it.
    """
    choose(SLICES, data, positions, updates, output).run(data, positions, updates, output)


def _has_few_elements(data: Array, positions: Array, updates: Array, output: Array) -> bool:
    return output.size <= thresholds.FEW_ELEMENTS


def _put_by_numpy(data: Array, positions: Array, updates: Array, output: Array) -> None:
    copy_into(output, data)
    # NumPy assigns in the order of a contiguous list of indices: the last of equal ones wins.
    output[:, np.ascontiguousarray(positions)] = updates


def _are_long_or_many(data: Array, positions: Array, updates: Array, output: Array) -> bool:
    _, size, after = output.shape
    return len(positions) > int(size) or int(after) * output.itemsize >= thresholds.LONG_ROW


def _last_of_each(positions: Array, size: int) -> tuple[Array, Array]:
    """Every position that occurs, in ascending order, and its last occurrence."""
    if len(positions) < size // 16:
        places, first = np.unique(positions[::-1], return_index=True)
        return places, len(positions) - 1 - first
    last = np.full(size, -1, np.int64)
    last[np.ascontiguousarray(positions)] = np.arange(len(positions))
    places = np.flatnonzero(last >= 0)
    return places, last[places]


def _put_last_of_each(data: Array, positions: Array, updates: Array, output: Array) -> None:
    before, size, after = output.shape
    places, sources = _last_of_each(positions, size)
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

    for_each(-(-before // some) * parts, lambda: work, nanoseconds=output.nbytes * thresholds.BYTE_NANOSECONDS)


def _put_one_by_one(data: Array, positions: Array, updates: Array, output: Array) -> None:
    before, size, after = output.shape
    positions = np.ascontiguousarray(positions)
    some = min(before, max(1, chunk_size(output.size) // (size * after)))
    copied = output is data or before < thresholds.MOST_CHUNKS // 4
    if copied:
        copy_into(output, data)

    def work(number: int) -> None:
        part = slice(number * some, (number + 1) * some)
        if not copied:
            output[part] = data[part]
        assign_slices(output[part], positions, updates[part])

    for_each(-(-before // some), lambda: work, nanoseconds=output.nbytes * thresholds.BYTE_NANOSECONDS)


def assign_slices(output: Array, positions: Array, updates: Array) -> None:
    """output[:, positions] = updates; later ones overwrite earlier ones. output is contiguous."""
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
        # Positions are in range; "clip" only avoids the copy that "raise" makes.
        np.put(items, positions, values, mode="clip")


def _as_items(array: Array) -> Array:
    """Every slice along the last axis as one item."""
    return array.reshape(-1).view(item_dtype(array.shape[-1] * array.itemsize))


def copy_into(output: Array, data: Array) -> None:
    """output[...] = data, on several threads if worthwhile; nothing if they are the same array."""
    if output is data:
        return
    if output.size <= thresholds.FEW_ELEMENTS or not data.flags.c_contiguous:
        output[...] = data
        return
    target, source = output.reshape(-1), data.reshape(-1)

    def copy(start: int, stop: int) -> None:
        target[start:stop] = source[start:stop]

    for_ranges(output.size, chunk_size(output.size), copy, nanoseconds=output.nbytes * thresholds.BYTE_NANOSECONDS)


ALONG_AXIS = (
    Strategy(
        "table",
        _fits_table,
        _put_by_table,
        "Few indices into a small tensor: cached tables convert them to offsets and check them by three NumPy calls.",
    ),
    Strategy(
        "part",
        _reaches_a_part,
        _put_into_part,
        "Indices smaller than data on other axes: the reached block is copied, and updated like a whole tensor.",
    ),
    Strategy(
        "tiles",
        always,
        _put_by_tiles,
        "Threads share groups of tiles that touch different elements; data is copied while it is in the cache.",
    ),
)
"""The strategies for writing elements along an axis."""

SLICES = (
    Strategy(
        "numpy",
        _has_few_elements,
        _put_by_numpy,
        "A small output: NumPy's indexing is faster than waking a thread.",
    ),
    Strategy(
        "last of each",
        _are_long_or_many,
        _put_last_of_each,
        "Long slices, or more than there are places: the last update of each place is found first, then threads write "
        "contiguous chunks of the output, each slice once.",
    ),
    Strategy(
        "one by one",
        always,
        _put_one_by_one,
        "Short slices are written in their order, each as one item; later ones overwrite earlier ones.",
    ),
)
"""The strategies for writing slices along an axis."""
