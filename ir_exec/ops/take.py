"""Elements and slices that indices choose, moved to a new tensor: the kernels of the gather family.

All tensors are seen with three axes: (before, axis, after). Nothing here looks at what the elements are; only their
size counts.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod

import numpy as np

from ir_exec.ops.indexing import Negative, element_offsets, find_indices
from ir_exec.ops.offsets import (
    FAR,
    PER_BYTE,
    PER_ELEMENT,
    AlongAxis,
    AxisOffsets,
    Indices,
    OutOfRangeError,
    TupleOffsets,
    chunk_size,
)
from ir_exec.ops.parallel import Worker, for_each
from ir_exec.types import Array

__all__ = ["as_bits", "few_offsets", "few_tuple_offsets", "take_along_axis", "take_slices", "take_tuples"]

TABLE = 2**13
"""Indices, and sizes of axes, up to which a table that is made once saves the arithmetic."""

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
    if indices.size > TABLE or shape[axis] > TABLE or indices.dtype not in (np.int32, np.int64):
        return None
    places, grid = _few(shape, indices.shape, axis)
    try:
        # The look-up checks every index, counts the negative ones from the end and multiplies, all at once.
        offsets = places.take(indices)
    except IndexError:
        return None
    offsets += grid
    return offsets


@lru_cache(maxsize=64)
def _few(shape: tuple[int, ...], indices_shape: tuple[int, ...], axis: int) -> tuple[Array, Array]:
    places = np.arange(shape[axis], dtype=np.int64) * prod(shape[axis + 1 :])
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
    tiles = _slice_tiles(way, after)
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

    cost = max(target.nbytes * PER_BYTE, target.size // after * PER_ELEMENT)
    for_each(len(groups), lambda: work, nanoseconds=cost)
    return output


def _slice_tiles(way: AlongAxis, after: int) -> tuple[int, int, int]:
    """As many slices as make a chunk, without gaps between them."""
    room = max(1, chunk_size(way.before * way.length * way.after * after) // after)
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
        np.take(source, few, axis=0, out=target[0], mode="clip")
        return
    step = max(1, chunk_size(target.size) // max(after, 1))
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

    cost = max(target.nbytes * PER_BYTE, chosen.size * PER_ELEMENT)
    for_each(-(-batches // some) * parts, make_worker, nanoseconds=cost)


def as_bits(array: Array) -> Array:
    """The same bytes as unsigned integers, which NumPy moves fastest; object arrays stay what they are."""
    if array.dtype.hasobject:
        return array
    return array.view(_UNSIGNED[array.itemsize])


_UNSIGNED = {size: np.dtype(f"u{size}") for size in (1, 2, 4, 8)}
