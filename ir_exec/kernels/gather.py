"""Elements and slices that indices choose, moved to a new tensor: the kernels of the gather family.

All tensors are seen with three axes: (before, axis, after). Nothing here looks at what the elements are; only their
size counts.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod

import numpy as np

from ir_exec.kernels.indices import Negative, element_offsets, find_indices, lie_within
from ir_exec.kernels.offsets import (
    FAR,
    PER_ELEMENT,
    AlongAxis,
    AxisOffsets,
    Indices,
    OutOfRangeError,
    TupleOffsets,
    slices_cost,
    slices_of_piece,
)
from ir_exec.kernels.parallel import WORTH_SHARING, Worker, for_each, for_ranges
from ir_exec.types import Array

__all__ = [
    "as_bits",
    "few_offsets",
    "few_tuple_offsets",
    "take_along_axis",
    "take_elements",
    "take_few_slices",
    "take_slices",
    "take_tuples",
]

TABLE = 2**13
"""Indices, and sizes of axes, up to which a table that is made once saves the arithmetic."""

AT_ONCE = 2**18
"""Indices up to which all offsets are found before threads share the moving: many short calls of NumPy's on several
threads take longer than on one, for each waits for the interpreter's lock."""

GROUPS = 64
"""Into how many pieces work is split at least, if there is more than one chunk of it."""


def take_along_axis(data: Array, indices: Array, axis: int, negative: Negative) -> Array:
    """output[i, j, k] = data[i, indices[i, j, k], k], shown for axis 1 of rank 3.

    data and indices have the same sizes except on `axis`. Raises EvaluationError IR701 for an index out of range.
    """
    size = data.shape[axis]
    if not data.flags.c_contiguous and 8 * indices.size < data.size:
        # A copy of data in order would take more than it saves.
        return np.take_along_axis(data, find_indices(indices, size, axis, negative), axis)
    if (offsets := few_offsets(data.shape, indices, axis)) is not None:
        return data.reshape(-1).take(offsets)
    before, after = prod(data.shape[:axis]), prod(data.shape[axis + 1 :])
    output = np.empty(indices.shape, data.dtype)
    if not output.size:
        return output
    way = AlongAxis(before, indices.shape[axis], after, size)
    try:
        take_elements(data, Indices.of(indices, negative, size), way, output)
    except OutOfRangeError:
        find_indices(indices, size, axis, negative)
        raise
    return output


def few_offsets(shape: tuple[int, ...], indices: Array, axis: int) -> Array | None:
    """Offsets into the flattened tensor of this shape, each on its axis, negative indices counted from the end.

    None where there are too many indices, or others than i32 and i64, or any out of range.
    """
    if indices.size > TABLE or indices.dtype not in (np.int32, np.int64):
        return None
    places, grid = _few(shape, indices.shape, axis)
    if places is None:
        if not lie_within(indices, shape[axis]):
            return None
        offsets = np.multiply(indices, prod(shape[axis + 1 :]), dtype=np.int64)
        offsets += grid
        return offsets
    try:
        # The look-up checks every index, counts the negative ones from the end and multiplies, all at once.
        offsets = places.take(indices)
    except IndexError:
        return None
    offsets += grid
    return offsets


@lru_cache(maxsize=64)
def _few(shape: tuple[int, ...], indices_shape: tuple[int, ...], axis: int) -> tuple[Array | None, Array]:
    places = np.arange(shape[axis], dtype=np.int64) * prod(shape[axis + 1 :]) if shape[axis] <= TABLE else None
    grid = element_offsets(np.zeros(indices_shape, np.int64), axis, shape)
    return places, grid


def few_tuple_offsets(tuples: Array, sizes: tuple[int, ...]) -> Array | None:
    """Offsets of the slices that tuples along the last of two axes choose, counted in slices; else as few_offsets."""
    if not 0 < tuples.size <= TABLE or max(sizes) > TABLE or tuples.dtype not in (np.int32, np.int64):
        return None
    tables = _few_places(sizes)
    try:
        offsets = tables[0].take(tuples[:, 0])
        for component in range(1, len(sizes)):
            offsets += tables[component].take(tuples[:, component])
    except IndexError:
        return None
    return offsets


@lru_cache(maxsize=64)
def _few_places(sizes: tuple[int, ...]) -> list[Array]:
    return [np.arange(size, dtype=np.int64) * prod(sizes[axis + 1 :]) for axis, size in enumerate(sizes)]


def take_elements(data: Array, indices: Indices, way: AlongAxis, output: Array) -> None:
    """output[b, j, k] = data[b, indices[b, j, k], k]; all are of any shape with these numbers of elements."""
    source = as_bits(data).reshape(way.before, way.size, way.after)
    flat = source.reshape(-1)
    chosen = indices.array.reshape(way.before, way.length, way.after)
    target = as_bits(output).reshape(chosen.shape)
    if chosen.size <= AT_ONCE:
        found = AxisOffsets(chosen.size, way.size, indices.negative)(chosen, way.after)
        _take_rows(flat, found.reshape(-1), target.reshape(-1))
        return
    tiles = way.tiles(source.itemsize)
    groups = way.groups(tiles, apart=GROUPS)
    columns = tiles[2]
    # Where most of a region is read, at random, it is first copied in its order: memory is quick at that only.
    region = tiles[0] * way.size * columns
    near = region * source.itemsize <= FAR < source.nbytes

    def make_worker() -> Worker:
        offsets = AxisOffsets(prod(tiles), way.size, indices.negative)
        copy = np.empty(region, source.dtype) if near else source
        spare = np.empty(prod(tiles), source.dtype)

        def work(number: int) -> None:
            group = groups[number]
            before, _, afters = group[0]
            if near and 2 * len(group) * tiles[1] >= way.size:
                part = source[before, :, afters]
                width, elements = part.shape[2], copy[: part.size]
                elements.reshape(part.shape)[...] = part
            else:
                width, elements = way.after, flat[before.start * way.size * way.after + afters.start :]
            for tile in group:
                found = offsets(chosen[tile], width)
                into = target[tile]
                if into.flags.c_contiguous:
                    np.take(elements, found, out=into, mode="clip")
                else:
                    into[...] = np.take(elements, found, out=spare[: found.size].reshape(found.shape), mode="clip")

        return work

    for_each(len(groups), make_worker, nanoseconds=target.size * PER_ELEMENT)


def take_few_slices(data: Array, indices: Array, axis: int, batch: int) -> Array | None:
    """output[p, q, i, r] = data[p, q, indices[p, i], r]: p the `batch` first axes, q those up to `axis`.

    Negative indices count from the end. None where this way does not pay, and where an index is out of range.
    """
    if indices.dtype not in (np.int32, np.int64) or data.ndim + indices.ndim == 1 or not data.flags.c_contiguous:
        return None
    after = prod(data.shape[axis + 1 :])
    length = prod(indices.shape[batch:])
    if slices_cost(prod(data.shape[:axis]) * length, after * data.itemsize) >= WORTH_SHARING:
        return None
    if batch:
        each = indices.reshape(prod(indices.shape[:batch]), length)
        return _take_few_of_each(data, each, axis, batch, indices.shape[batch:])
    try:
        # NumPy's own check of the indices is quicker than one more call.
        return data.take(indices, axis)
    except IndexError:
        return None


def _take_few_of_each(
    data: Array, indices: Array, axis: int, batch: int, indices_shape: tuple[int, ...]
) -> Array | None:
    """take_few_slices with indices of shape (batches, length), where all axes between are of size 1."""
    size, behind = data.shape[axis], data.shape[axis + 1 :]
    offsets = None if prod(data.shape[batch:axis]) > 1 else few_offsets((len(indices), size), indices, 1)
    if offsets is None or not data.size:
        return None
    slices = data.reshape(len(indices) * size, *behind).take(offsets.reshape(-1), 0)
    return slices.reshape(data.shape[:axis] + indices_shape + behind)


def take_slices(data: Array, positions: Array, axis: int, batch: int) -> Array:
    """output[p, q, i, r] = data[p, q, positions[p, i], r]: p the `batch` first axes, q those up to `axis`.

    All positions lie on their axis.
    """
    size = data.shape[axis]
    batches, across, after = prod(data.shape[:batch]), prod(data.shape[batch:axis]), prod(data.shape[axis + 1 :])
    output = np.empty(data.shape[:axis] + positions.shape[batch:] + data.shape[axis + 1 :], data.dtype)
    if not output.size:
        return output
    if not batch and not data.flags.c_contiguous:
        # np.take would copy all of data first.
        output[...] = data[(slice(None),) * axis + (positions,)]
        return output
    length = prod(positions.shape[batch:])
    chosen = positions.reshape(batches, length)
    if across > 1:
        chosen = chosen.astype(np.int64, copy=False)
    target = as_bits(output).reshape(batches, across, length, after)
    source = as_bits(data).reshape(batches, across, size, after)
    # Here the elements that belong together are whole slices, those of a batch are the columns.
    way = AlongAxis(batches, across, length, 1)
    tiles = _slice_tiles(way, after * source.itemsize)
    groups = way.groups(tiles, apart=GROUPS)

    def work(number: int) -> None:
        for some, lanes, places in groups[number]:
            into = target[some, lanes, places]
            if into.shape[0] == 1:
                np.take(source[some.start, lanes], chosen[some.start, places], axis=1, out=into[0], mode="clip")
            else:
                first = np.arange(into.shape[0] * across, dtype=np.int64).reshape(-1, across, 1) * size
                slices = first + chosen[some, np.newaxis]
                np.take(source[some].reshape(-1, after), slices, axis=0, out=into, mode="clip")

    for_each(len(groups), lambda: work, nanoseconds=slices_cost(target.size // after, after * target.itemsize))
    return output


def _slice_tiles(way: AlongAxis, nbytes: int) -> tuple[int, int, int]:
    """As many slices of so many bytes as make a piece, without gaps between them."""
    room = slices_of_piece(way.before * way.length * way.after, nbytes)
    columns = min(way.after, room)
    lanes = min(way.length, max(1, room // columns)) if columns == way.after else 1
    return (min(way.before, max(1, room // (columns * lanes))) if lanes == way.length else 1), lanes, columns


def take_tuples(data: Array, indices: Indices, batch: int, output: Array) -> None:
    """output[p, i] = data[p, *indices[p, i]]; p the `batch` first axes, i all further ones of indices but the last.

    output is of any shape with that many elements. Raises OutOfRangeError.
    """
    length = indices.array.shape[-1]
    sizes = data.shape[batch : batch + length]
    batches, after = prod(data.shape[:batch]), prod(data.shape[batch + length :])
    count = prod(indices.array.shape[batch:-1])
    source = as_bits(data).reshape(batches * prod(sizes), after)
    chosen = indices.array.reshape(batches, count, length)
    target = as_bits(output).reshape(batches, count, after)
    if batches == 1 and (few := few_tuple_offsets(chosen[0], sizes)) is not None:
        _take_rows(source, few, target[0])
        return
    if chosen.size <= AT_ONCE:
        rows = TupleOffsets(batches * count, sizes, indices.negative)(chosen.reshape(batches * count, length))
        if batches > 1:
            first = np.arange(batches, dtype=np.int64)[:, np.newaxis] * prod(sizes)
            rows = (rows.reshape(batches, count) + first).reshape(-1)
        _take_rows(source, rows, target.reshape(batches * count, after))
        return
    step = slices_of_piece(batches * count, after * source.itemsize)
    places = max(1, min(count, step))
    some = 1 if places < count else max(1, min(batches, step // places))
    parts = -(-count // places)

    def make_worker() -> Worker:
        offsets = TupleOffsets(some * places, sizes, indices.negative)

        def work(number: int) -> None:
            b, i = (number // parts) * some, (number % parts) * places
            part = chosen[b : b + some, i : i + places]
            into = target[b : b + some, i : i + places]
            slices = offsets(part.reshape(part.shape[0] * part.shape[1], length)).reshape(part.shape[:2])
            if part.shape[0] > 1:
                slices = slices + np.arange(part.shape[0], dtype=np.int64)[:, np.newaxis] * prod(sizes)
            np.take(source[b * prod(sizes) :], slices, axis=0, out=into, mode="clip")

        return work

    cost = slices_cost(batches * count, after * source.itemsize) + chosen.size * PER_ELEMENT
    for_each(-(-batches // some) * parts, make_worker, nanoseconds=cost)


def _take_rows(source: Array, rows: Array, target: Array) -> None:
    """target[i] = source[rows[i]], elements or slices."""

    def work(start: int, stop: int) -> None:
        np.take(source, rows[start:stop], axis=0, out=target[start:stop], mode="clip")

    nbytes = prod(source.shape[1:]) * source.itemsize
    for_ranges(len(rows), slices_of_piece(len(rows), nbytes), work, nanoseconds=slices_cost(len(rows), nbytes))


def as_bits(array: Array) -> Array:
    """The same bytes as unsigned integers, which NumPy moves fastest; object arrays stay what they are."""
    if array.dtype.hasobject:
        return array
    return array.view(_UNSIGNED[array.itemsize])


_UNSIGNED = {size: np.dtype(f"u{size}") for size in (1, 2, 4, 8)}
