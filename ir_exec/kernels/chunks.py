"""Tensors in another memory order, viewed as bits, and in chunks."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ir_exec.kernels.parallel import even_count, for_each, for_ranges
from ir_exec.tuning import thresholds
from ir_exec.types import Array, ElementType, convert

__all__ = [
    "as_bits",
    "as_unsigned",
    "by_chunks",
    "by_rows",
    "by_slices",
    "convert_by_chunks",
    "empty_in_layout_of",
    "item_dtype",
]

_UNSIGNED = {size: np.dtype(f"u{size}") for size in (1, 2, 4, 8)}


def by_rows(array: Array) -> Array:
    """A copy of a transposed array with contiguous long rows; any other array itself.

    Some columns are copied at a time: along whole rows, where each element is in another cache line, NumPy is up to ten
    times slower for any function.
    """
    if array.size < thresholds.LONG_ROW * thresholds.RUN_ELEMENTS or array.strides[-1] == array.itemsize:
        return array
    shape, strides = _merged_axes(array)
    columns = shape[-1]
    is_transposed = strides[-1] not in (0, array.itemsize) and array.itemsize in strides
    if not is_transposed or columns < thresholds.LONG_ROW or array.size < columns * thresholds.RUN_ELEMENTS:
        return array
    result = np.empty(array.shape, array.dtype)
    source, target = as_strided(array, shape, strides, writeable=False), result.reshape(shape)
    for start in range(0, columns, thresholds.RUN_ELEMENTS):
        some = slice(start, start + thresholds.RUN_ELEMENTS)
        target[..., some] = source[..., some]
    return result


def _merged_axes(array: Array) -> tuple[list[int], list[int]]:
    """The shape and the strides with adjacent axes merged if their elements have a common stride."""
    shape, strides = [1], [0]
    for size, stride in zip(array.shape, array.strides, strict=True):
        if size == 1:
            continue
        if strides[-1] == size * stride or shape[-1] == 1:
            shape[-1], strides[-1] = shape[-1] * size, stride
        else:
            shape.append(size)
            strides.append(stride)
    return shape, strides


def as_unsigned(integers: Array) -> Array:
    """View integers as unsigned: negative ones are then larger than any size."""
    return integers.view(_UNSIGNED[integers.itemsize])


def as_bits(array: Array) -> Array:
    """View elements of any type as the integers that NumPy moves fastest; object arrays are unchanged."""
    return array if array.dtype.hasobject else array.view(_UNSIGNED[array.itemsize])


def item_dtype(nbytes: int) -> np.dtype[np.generic]:
    """A dtype of this many bytes, an unsigned integer if possible."""
    return _UNSIGNED.get(nbytes) or np.dtype(f"V{nbytes}")


def by_chunks(write: Callable[[Array, Array], object], data: Array, output: Array) -> Array:
    """Apply an element-wise function on as many threads as the context allows.

    Args:
        write: Takes some of the elements as a vector, and a vector for their results.
        output: The shape of data, contiguous or `empty_in_layout_of` it.

    Returns:
        output.
    """
    if output.flags.c_contiguous:
        source, target = by_rows(data).reshape(-1), output.reshape(-1)
    else:
        source, target = data.ravel("K"), output.ravel("K")

    def work(start: int, stop: int) -> None:
        write(source[start:stop], target[start:stop])

    size = thresholds.CHUNK_ELEMENTS
    if source.size > size:
        size = -(-source.size // even_count(source.size / size))
    for_ranges(source.size, size, work, nanoseconds=thresholds.SLOW_ELEMENT_NANOSECONDS * source.size)
    return output


def empty_in_layout_of(data: Array) -> Array:
    """An empty array of the shape and the dtype of data, with its memory order if data is a transposed tensor."""
    result = np.empty_like(data)
    lies = [own == other for size, own, other in zip(data.shape, result.strides, data.strides, strict=True) if size > 1]
    return result if all(lies) else np.empty(data.shape, data.dtype)


def convert_by_chunks(data: Array, target: ElementType) -> Array:
    """`convert`, in chunks on several threads for many elements."""
    if data.size < thresholds.SPLIT_ELEMENTS or not data.flags.c_contiguous or data.dtype == target.dtype:
        return convert(data, target)

    def write(part: Array, out: Array) -> None:
        out[...] = convert(part, target)

    return by_chunks(write, data, np.empty(data.shape, target.dtype))


def by_slices(
    function: Callable[[Array], Array], data: Array, axis: int, *, nanoseconds: float, least: int = 1
) -> Array:
    """Apply `function` to every slice of `data` along `axis`, on as many threads as the context allows.

    Args:
        function: From an array (before, size of the axis, after) to one of the same shape and the dtype of data; slices
            along axis 1 are independent.
        nanoseconds: The estimated time per element.
        least: The minimum number of slices in a chunk.
    """
    if data.size <= thresholds.CHUNK_ELEMENTS:
        return function(_along(data, axis)).reshape(data.shape)
    source = _along(by_rows(data), axis)
    output = np.empty(source.shape, data.dtype)
    before, size, after = source.shape
    columns = min(after, max(thresholds.CHUNK_ELEMENTS // size, least))
    parts = -(-after // columns)
    rows = max(thresholds.CHUNK_ELEMENTS // (size * columns), -(-least // columns))

    def work(number: int) -> None:
        row, column = number // parts * rows, number % parts * columns
        chunk = slice(row, row + rows), slice(None), slice(column, column + columns)
        output[chunk] = function(source[chunk])

    for_each(-(-before // rows) * parts, lambda: work, nanoseconds=nanoseconds * data.size)
    return output.reshape(data.shape)


def _along(data: Array, axis: int) -> Array:
    shape = data.shape or (1,)
    axis %= len(shape)
    return data.reshape(prod(shape[:axis]), shape[axis], prod(shape[axis + 1 :]))
