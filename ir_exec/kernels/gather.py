"""The kernels of the gather family: elements and slices selected by indices, moved to a new tensor.

There are three: `take_along_axis` (an index for each element of the output), `take_slices` (an index for each slice
along an axis) and `take_tuples` (a tuple of indices for each slice). Each runs the first applicable strategy of its
list at the end of the file. Negative indices count from the end; an index out of range raises OutOfRangeError.

All tensors are viewed with three axes: (before, axis, after). The values of elements are not used; only their size
matters.
"""

from __future__ import annotations

from math import prod

import numpy as np

from ir_exec.kernels.chunks import as_bits
from ir_exec.kernels.indices import OutOfRangeError, positions_within
from ir_exec.kernels.offsets import (
    AlongAxis,
    AxisOffsets,
    Indices,
    Strategy,
    TupleOffsets,
    always,
    choose,
    fits_table,
    fits_tuple_table,
    is_native,
    slices_cost,
    slices_per_chunk,
    table_offsets,
    table_tuple_offsets,
)
from ir_exec.kernels.parallel import Worker, for_each, for_ranges
from ir_exec.tuning import thresholds
from ir_exec.tuning.machine import machine
from ir_exec.types import Array

__all__ = ["ALONG_AXIS", "SLICES", "TUPLES", "take_along_axis", "take_slices", "take_tuples"]


def take_along_axis(data: Array, indices: Array, axis: int) -> Array:
    """output[i, j, k] = data[i, indices[i, j, k], k], shown for axis 1 of rank 3.

    data and indices have the same sizes except on `axis`.

    Raises:
        OutOfRangeError: If an index is out of range.
    """
    return choose(ALONG_AXIS, data, indices, axis).run(data, indices, axis)


def take_slices(data: Array, indices: Array, axis: int, batch: int) -> Array:
    """output[p, q, i, r] = data[p, q, indices[p, i], r]: p are the `batch` first axes, q the axes before `axis`.

    Raises:
        OutOfRangeError: If an index is out of range.
    """
    return choose(SLICES, data, indices, axis, batch).run(data, indices, axis, batch)


def take_tuples(data: Array, indices: Array, batch: int) -> Array:
    """output[p, i] = data[p, *indices[p, i]]; p are the `batch` first axes, i the others of indices except the last.

    Raises:
        OutOfRangeError: If an index is out of range.
    """
    return choose(TUPLES, data, indices, batch).run(data, indices, batch)


def _chooses_little(data: Array, indices: Array, axis: int) -> bool:
    return not data.flags.c_contiguous and 8 * indices.size < data.size


def _take_strided(data: Array, indices: Array, axis: int) -> Array:
    return np.take_along_axis(data, positions_within(indices, data.shape[axis]), axis)


def _has_few_indices(data: Array, indices: Array, axis: int) -> bool:
    return fits_table(indices)


def _take_by_table(data: Array, indices: Array, axis: int) -> Array:
    return data.reshape(-1).take(table_offsets(data.shape, indices, axis))


def _take_by_tiles(data: Array, indices: Array, axis: int) -> Array:
    output = np.empty(indices.shape, data.dtype)
    _move_by_tiles(data, indices, _along(data, indices, axis), output)
    return output


def _along(data: Array, indices: Array, axis: int) -> AlongAxis:
    return AlongAxis(prod(data.shape[:axis]), indices.shape[axis], prod(data.shape[axis + 1 :]), data.shape[axis])


def _move_by_tiles(data: Array, indices: Array, way: AlongAxis, output: Array) -> None:
    """output[b, j, k] = data[b, indices[b, j, k], k], a chunk of indices at a time.

    The arrays may have any shape with these numbers of elements.
    """
    integers = Indices.of(indices, way.size)
    source = as_bits(data).reshape(way.before, way.size, way.after)
    flat = source.reshape(-1)
    chosen = integers.array.reshape(way.before, way.length, way.after)
    target = as_bits(output).reshape(chosen.shape)
    tiles = way.tiles(source.itemsize)
    groups = way.groups(tiles, apart=4 * thresholds.MOST_CHUNKS)
    columns = tiles[2]
    # If random elements are most of a region, the region is first copied in its order, into the L1 or L2 cache.
    region = tiles[0] * way.size * columns
    near = region * source.itemsize <= machine().shared_cache_bytes // 8 < source.nbytes

    def make_worker() -> Worker:
        offsets = AxisOffsets(prod(tiles), way.size, integers.negative)
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
                positions = offsets(chosen[tile], width)
                into = target[tile]
                if into.flags.c_contiguous:
                    np.take(elements, positions, out=into, mode="clip")
                else:
                    into[...] = np.take(
                        elements, positions, out=spare[: positions.size].reshape(positions.shape), mode="clip"
                    )

        return work

    for_each(len(groups), make_worker, nanoseconds=target.size * thresholds.ELEMENT_NANOSECONDS)


def _move_rows(source: Array, rows: Array, target: Array) -> None:
    """target[i] = source[rows[i]], elements or slices."""

    def work(start: int, stop: int) -> None:
        np.take(source, rows[start:stop], axis=0, out=target[start:stop], mode="clip")

    nbytes = prod(source.shape[1:]) * source.itemsize
    for_ranges(len(rows), slices_per_chunk(len(rows), nbytes), work, nanoseconds=slices_cost(len(rows), nbytes))


def _is_short(data: Array, indices: Array, axis: int, batch: int) -> bool:
    """Return True if NumPy moves the slices faster on one thread than several threads."""
    if not (is_native(indices) and data.flags.c_contiguous):
        return False
    slices = prod(data.shape[:axis]) * prod(indices.shape[batch:])
    return slices_cost(slices, prod(data.shape[axis + 1 :]) * data.itemsize) < thresholds.SHARED_NANOSECONDS


def _is_short_without_batch(data: Array, indices: Array, axis: int, batch: int) -> bool:
    return not batch and _is_short(data, indices, axis, batch)


def _take_by_numpy(data: Array, indices: Array, axis: int, batch: int) -> Array:
    try:
        # NumPy returns a number in place of an array without axes.
        return np.asarray(data.take(indices, axis), data.dtype)
    except IndexError:
        raise OutOfRangeError from None


def _is_short_with_batch(data: Array, indices: Array, axis: int, batch: int) -> bool:
    is_next_to_batch = prod(data.shape[batch:axis]) == 1
    return is_next_to_batch and data.size > 0 and fits_table(indices) and _is_short(data, indices, axis, batch)


def _take_batches_by_table(data: Array, indices: Array, axis: int, batch: int) -> Array:
    batches, size, behind = prod(indices.shape[:batch]), data.shape[axis], data.shape[axis + 1 :]
    offsets = table_offsets((batches, size), indices.reshape(batches, prod(indices.shape[batch:])), 1)
    slices = data.reshape(batches * size, *behind).take(offsets.reshape(-1), 0)
    return slices.reshape(_output_shape(data, indices, axis, batch))


def _are_elements(data: Array, indices: Array, axis: int, batch: int) -> bool:
    """Return True if slices are single elements and each index selects one of them."""
    return bool(prod(data.shape[batch:axis]) == 1 and prod(data.shape[axis + 1 :]) == 1)


def _take_elements_by_tiles(data: Array, indices: Array, axis: int, batch: int) -> Array:
    output = np.empty(_output_shape(data, indices, axis, batch), data.dtype)
    _move_by_tiles(data, indices, _elements(data, indices, axis, batch), output)
    return output


def _elements(data: Array, indices: Array, axis: int, batch: int) -> AlongAxis:
    return AlongAxis(prod(data.shape[:axis]), prod(indices.shape[batch:]), 1, data.shape[axis])


def _is_strided(data: Array, indices: Array, axis: int, batch: int) -> bool:
    return not batch and not data.flags.c_contiguous


def _take_strided_slices(data: Array, indices: Array, axis: int, batch: int) -> Array:
    output = np.empty(_output_shape(data, indices, axis, batch), data.dtype)
    output[...] = data[(slice(None),) * axis + (positions_within(indices, data.shape[axis]),)]
    return output


def _take_slices_by_tiles(data: Array, indices: Array, axis: int, batch: int) -> Array:
    size = data.shape[axis]
    positions = positions_within(indices, size)
    output = np.empty(_output_shape(data, indices, axis, batch), data.dtype)
    if not output.size:
        return output
    batches, across, after = prod(data.shape[:batch]), prod(data.shape[batch:axis]), prod(data.shape[axis + 1 :])
    length = prod(indices.shape[batch:])
    chosen = positions.reshape(batches, length)
    if across > 1:
        chosen = chosen.astype(np.int64, copy=False)
    target = as_bits(output).reshape(batches, across, length, after)
    source = as_bits(data).reshape(batches, across, size, after)
    # Here the elements are whole slices, and the columns are the slices of a batch.
    way = AlongAxis(batches, across, length, 1)
    tiles = _slice_tiles(way, after * source.itemsize)
    groups = way.groups(tiles, apart=4 * thresholds.MOST_CHUNKS)

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
    """Slices of this many bytes in contiguous groups, each the size of a chunk."""
    elements = slices_per_chunk(way.before * way.length * way.after, nbytes)
    columns = min(way.after, elements)
    lanes = min(way.length, max(1, elements // columns)) if columns == way.after else 1
    return (min(way.before, max(1, elements // (columns * lanes))) if lanes == way.length else 1), lanes, columns


def _output_shape(data: Array, indices: Array, axis: int, batch: int) -> tuple[int, ...]:
    return (*data.shape[:axis], *indices.shape[batch:], *data.shape[axis + 1 :])


def _are_few_tuples(data: Array, indices: Array, batch: int) -> bool:
    few = thresholds.FEW_ELEMENTS
    if batch or indices.ndim == 1 or not 0 < indices.size <= few // 16 or not is_native(indices):
        return False
    return bool(prod(indices.shape[:-1]) * prod(data.shape[indices.shape[-1] :]) <= few)


def _take_tuples_by_numpy(data: Array, indices: Array, batch: int) -> Array:
    try:
        return np.asarray(data[tuple([indices[..., component] for component in range(indices.shape[-1])])])
    except IndexError:
        raise OutOfRangeError from None


def _fit_tuple_table(data: Array, indices: Array, batch: int) -> bool:
    return prod(data.shape[:batch]) == 1 and fits_tuple_table(indices, _tuple_sizes(data, indices, batch))


def _take_tuples_by_table(data: Array, indices: Array, batch: int) -> Array:
    source, chosen, output, target = _as_tuples(data, indices, batch)
    _move_rows(source, table_tuple_offsets(chosen[0], _tuple_sizes(data, indices, batch)), target[0])
    return output


def _take_tuples_by_chunks(data: Array, indices: Array, batch: int) -> Array:
    sizes = _tuple_sizes(data, indices, batch)
    integers = Indices.of(indices, max(data.shape))
    source, chosen, output, target = _as_tuples(data, integers.array, batch)
    batches, count, length = chosen.shape
    nbytes = target.shape[2] * source.itemsize
    step = slices_per_chunk(batches * count, nbytes)
    places = max(1, min(count, step))
    some = 1 if places < count else max(1, min(batches, step // places))
    parts = -(-count // places)

    def make_worker() -> Worker:
        offsets = TupleOffsets(some * places, sizes, integers.negative)

        def work(number: int) -> None:
            b, i = (number // parts) * some, (number % parts) * places
            part = chosen[b : b + some, i : i + places]
            into = target[b : b + some, i : i + places]
            slices = offsets(part.reshape(part.shape[0] * part.shape[1], length)).reshape(part.shape[:2])
            if part.shape[0] > 1:
                slices = slices + _first_rows(part.shape[0], sizes)
            np.take(source[b * prod(sizes) :], slices, axis=0, out=into, mode="clip")

        return work

    cost = slices_cost(batches * count, nbytes) + chosen.size * thresholds.ELEMENT_NANOSECONDS
    for_each(-(-batches // some) * parts, make_worker, nanoseconds=cost)
    return output


def _tuple_sizes(data: Array, indices: Array, batch: int) -> tuple[int, ...]:
    """The sizes of the axes that tuples refer to."""
    return tuple(data.shape[batch : batch + indices.shape[-1]])


def _as_tuples(data: Array, indices: Array, batch: int) -> tuple[Array, Array, Array, Array]:
    """data as [slices, after], indices as [batches, count, length], the output, and that as [batches, count, after]."""
    length = indices.shape[-1]
    batches, after = prod(data.shape[:batch]), prod(data.shape[batch + length :])
    count = prod(indices.shape[batch:-1])
    output = np.empty(indices.shape[:-1] + data.shape[batch + length :], data.dtype)
    source = as_bits(data).reshape(batches * prod(data.shape[batch : batch + length]), after)
    return source, indices.reshape(batches, count, length), output, as_bits(output).reshape(batches, count, after)


def _first_rows(batches: int, sizes: tuple[int, ...]) -> Array:
    """The first slice of each batch, counted in slices: [batches, 1]."""
    return np.arange(batches, dtype=np.int64)[:, np.newaxis] * prod(sizes)


ALONG_AXIS = (
    Strategy(
        "strided",
        _chooses_little,
        _take_strided,
        "Few elements of data in another order than rows: a contiguous copy of data would cost more than it saves.",
    ),
    Strategy(
        "table",
        _has_few_indices,
        _take_by_table,
        "Cached tables convert few indices to offsets and check them by three NumPy calls: about 3 us in total.",
    ),
    Strategy(
        "tiles",
        always,
        _take_by_tiles,
        "Threads share chunks of indices, whose offsets and elements fit a core's cache.",
    ),
)
"""The strategies for elements along an axis."""

SLICES = (
    Strategy(
        "numpy",
        _is_short_without_batch,
        _take_by_numpy,
        "Faster than waking a thread: one call of NumPy, which checks the indices itself.",
    ),
    Strategy(
        "table",
        _is_short_with_batch,
        _take_batches_by_table,
        "For batch axes: a cached table makes one list of slices of all batches.",
    ),
    Strategy(
        "elements in tiles",
        _are_elements,
        _take_elements_by_tiles,
        "Slices of one element: threads share chunks of indices, each checked while it is in the cache.",
    ),
    Strategy(
        "strided",
        _is_strided,
        _take_strided_slices,
        "data in another order than rows: NumPy's indexing reads the selected slices; np.take copies all of data.",
    ),
    Strategy(
        "tiles",
        always,
        _take_slices_by_tiles,
        "All indices are checked, then threads share contiguous chunks of the output.",
    ),
)
"""The strategies for slices along an axis."""

TUPLES = (
    Strategy(
        "numpy",
        _are_few_tuples,
        _take_tuples_by_numpy,
        "NumPy's indexing takes about 3 us for few tuples, including checks, but several nanoseconds per element.",
    ),
    Strategy(
        "table",
        _fit_tuple_table,
        _take_tuples_by_table,
        "Cached tables, one for each axis, convert indices to offsets and check them by one call per axis.",
    ),
    Strategy(
        "chunks",
        always,
        _take_tuples_by_chunks,
        "Threads share chunks of tuples, whose offsets fit a core's cache.",
    ),
)
"""The strategies for elements and slices selected by tuples."""
