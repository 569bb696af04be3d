"""Pooling: the greatest element or the sum of every window, along one axis after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from ir_exec.kernels import costs
from ir_exec.kernels.indices import element_offsets
from ir_exec.kernels.parallel import for_ranges
from ir_exec.kernels.precision import rounded, type_limits
from ir_exec.kernels.sorting import comparable
from ir_exec.kernels.windows import SlidingAxis
from ir_exec.types import Array

__all__ = [
    "by_images",
    "greatest",
    "greatest_and_places",
    "pooled_along",
]


def pooled_along(ufunc: np.ufunc, data: Array, axis: SlidingAxis, position: int, start: object) -> Array:
    """Every window of one axis of the data reduced to one element; `start` counts in windows with padding."""
    if (axis.kernel, axis.stride, axis.pad, axis.count) == (1, 1, 0, axis.size):
        return data
    if _fill_one_run(data, axis, position):
        return _along_run(ufunc, data, axis, start)
    shape = (*data.shape[:position], axis.count, *data.shape[position + 1 :])
    before = (slice(None),) * position
    whole, partial = _elements(axis)
    if len(whole) > 1:
        result = np.empty(shape, data.dtype)
        ufunc(data[(*before, whole[0])], data[(*before, whole[1])], out=result)
        for elements in whole[2:]:
            ufunc(result, data[(*before, elements)], out=result)
    else:
        result = np.full(shape, start, data.dtype)
        partial = (*partial, *[(slice(0, axis.count), elements) for elements in whole])
    for windows, elements in partial:
        target = result[(*before, windows)]
        ufunc(target, data[(*before, elements)], out=target)
    return result


def _fill_one_run(data: Array, axis: SlidingAxis, position: int) -> bool:
    """Whether windows lie along rows, at all elements, and rows are many."""
    after = (axis.kernel - 1) * axis.dilation - axis.pad
    return (
        position == data.ndim - 1
        and axis.stride == 1
        and axis.count == axis.size
        and 1 < axis.kernel <= costs.SHORT_KERNEL
        and min(axis.pad, after) >= 0
        and axis.pad + after < axis.size
        and data.size >= costs.ROWS_OF_A_RUN * axis.size
        and data.flags.c_contiguous
    )


def _along_run(ufunc: np.ufunc, data: Array, axis: SlidingAxis, start: object) -> Array:
    """Windows of all rows at once; those at the ends of a row, which reach into other rows then, once more."""
    result = np.empty(data.shape, data.dtype)
    offsets = [k * axis.dilation - axis.pad for k in range(axis.kernel)]
    flat, pooled = data.reshape(-1), result.reshape(-1)[-offsets[0] : data.size - offsets[-1]]
    first, *others = [flat[axis.pad + offset :][: pooled.size] for offset in offsets]
    for elements in others:
        ufunc(first, elements, out=pooled)
        first = pooled
    for window in (*range(axis.pad), *range(axis.size - offsets[-1], axis.size)):
        column = slice(window, window + 1)
        result[..., column] = pooled_along(ufunc, data, axis.part(column), data.ndim - 1, start)
    return result


@lru_cache(256)
def _elements(axis: SlidingAxis) -> tuple[tuple[slice, ...], tuple[tuple[slice, slice], ...]]:
    """For each place in a window the elements of the data there: of places that all windows have on the data, and of
    others, with the windows that do."""
    reached = [reach for k in axis.positions() if (reach := axis.reach(k)) is not None]
    every = slice(0, axis.count)
    whole = tuple([elements for windows, elements in reached if windows == every])
    return whole, tuple([reach for reach in reached if reach[0] != every])


def by_images(pool: Callable[[Array], Array], data: Array, axes: Sequence[SlidingAxis]) -> Array:
    """Images [images, spatial...] pooled, as many at a time as stay in the cache: [batch, channels, windows...]."""
    batch, channels, *sizes = data.shape
    counts = [axis.count for axis in axes]
    if data.size <= costs.CHUNK_ELEMENTS:
        pooled = pool(data.reshape(batch * channels, *sizes)).reshape(batch, channels, *counts)
        # Windows of one element each are a view of the data.
        return pooled.copy() if np.may_share_memory(pooled, data) else pooled
    result = np.empty((batch * channels, *counts), data.dtype)
    images = data.reshape(batch * channels, *sizes)

    def work(start: int, stop: int) -> None:
        result[start:stop] = pool(images[start:stop])

    for_ranges(len(images), max(costs.CHUNK_ELEMENTS // max(prod(sizes), 1), 1), work, nanoseconds=images.size)
    return result.reshape(batch, channels, *counts)


def _images(data: Array, sizes: Sequence[int]) -> Iterator[tuple[slice, Array]]:
    count = data.shape[0] * data.shape[1]
    flat = data.reshape(count, *sizes)
    step = max(costs.CHUNK_ELEMENTS // max(prod(sizes), 1), 1)
    for first in range(0, count, step):
        some = slice(first, min(first + step, count))
        yield some, flat[some]


def _comparable(data: Array) -> tuple[Array, np.ufunc, Any]:
    """The data as NumPy compares it, the greater of two elements, never NaN, and the lowest finite one of its type."""
    wide = comparable(data)
    return wide, np.fmax if wide.dtype.kind == "f" else np.maximum, wide.dtype.type(type_limits(data.dtype)[0])


def greatest(data: Array, axes: Sequence[SlidingAxis]) -> Array:
    """The greatest element of each window, [batch, channels, windows...], of the type of data; padding never counts."""
    wide, greater, lowest = _comparable(data)

    def pool(images: Array) -> Array:
        for position, axis in enumerate(axes, 1):
            images = pooled_along(greater, images, axis, position, lowest)
        # A window without an element that counts, or none but such as are no numbers.
        if wide.dtype.kind != "f" or images.min(initial=lowest) >= lowest:
            return images
        return np.asarray(greater(images, lowest))

    return rounded(by_images(pool, wide, axes), data.dtype)


def greatest_and_places(data: Array, axes: Sequence[SlidingAxis]) -> tuple[Array, Array]:
    """The greatest element of each window, and where it stands in the flattened data: the first of equal ones."""
    wide, greater, lowest = _comparable(data)
    sizes = data.shape[2:]
    shape = (data.shape[0] * data.shape[1], *[axis.count for axis in axes])
    values, indices = np.empty(shape, wide.dtype), np.empty(shape, np.int64)
    if not data.size:
        return greatest(data, axes), np.zeros((*data.shape[:2], *shape[1:]), np.int64)
    for some, images in _images(wide, sizes):
        places = np.empty(0, np.int64)
        # From the last axis on, so that of equal elements the first of the flattened window stays.
        for position, axis in reversed(list(enumerate(axes, 1))):
            found = greater(pooled_along(greater, images, axis, position, lowest), lowest)
            chosen, missing = _first_equal(images, found, axis, position)
            offsets = element_offsets(chosen, position, images.shape)
            places = np.take(places, offsets, mode="clip") if places.size else offsets
            if missing is not None:
                places[missing] = -1
            images = found
        values[some] = images
        firsts = np.arange(some.stop - some.start).reshape(-1, *[1] * len(axes)) * prod(sizes)
        np.add(np.maximum(places, firsts), some.start * prod(sizes), out=indices[some])
    shape = (*data.shape[:2], *shape[1:])
    return rounded(values.reshape(shape), data.dtype), indices.reshape(shape)


def _first_equal(data: Array, found: Array, axis: SlidingAxis, position: int) -> tuple[Array, Array | None]:
    """Which element of the data along one axis is the first of its window that equals what was found there.

    The second array tells where there is none; None where there always is.
    """
    positions = list(axis.positions())
    # Numbers of few bytes are compared many at a time: 0 stands for no element, 1 for the last of the window.
    numbers = np.zeros(found.shape, np.min_scalar_type(len(positions)))
    before: tuple[Any, ...] = (slice(None),) * position
    for number, k in enumerate(reversed(positions), 1):
        reach = axis.reach(k)
        if reach is not None:
            windows, elements = (*before, reach[0]), (*before, reach[1])
            target = numbers[windows]
            np.maximum(target, (data[elements] == found[windows]) * numbers.dtype.type(number), out=target)
    chosen = np.take(np.array([0, *reversed(positions)], np.int64) * axis.dilation - axis.pad, numbers)
    chosen += (np.arange(axis.count) * axis.stride).reshape(-1, *[1] * (found.ndim - position - 1))
    return chosen, None if numbers.all() else numbers == 0
