"""Arrays with another order in memory, and views of their bytes as unsigned integers."""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ir_exec.kernels import costs
from ir_exec.types import Array

__all__ = ["as_bits", "as_unsigned", "by_rows", "item_dtype"]

_UNSIGNED = {size: np.dtype(f"u{size}") for size in (1, 2, 4, 8)}


def by_rows(array: Array) -> Array:
    """A copy of a transposed array of long rows with the elements of each side by side; any other array itself.

    Some columns are copied at a time: along whole rows, each element of which is in another line of the cache, NumPy
    takes up to ten times as long, for any function.
    """
    if array.size < costs.LONG_ROW * costs.COLUMNS_OF_A_COPY or array.strides[-1] == array.itemsize:
        return array
    shape, strides = _merged_axes(array)
    columns = shape[-1]
    is_transposed = strides[-1] not in (0, array.itemsize) and array.itemsize in strides
    if not is_transposed or columns < costs.LONG_ROW or array.size < columns * costs.COLUMNS_OF_A_COPY:
        return array
    result = np.empty(array.shape, array.dtype)
    source, target = as_strided(array, shape, strides, writeable=False), result.reshape(shape)
    for start in range(0, columns, costs.COLUMNS_OF_A_COPY):
        some = slice(start, start + costs.COLUMNS_OF_A_COPY)
        target[..., some] = source[..., some]
    return result


def _merged_axes(array: Array) -> tuple[list[int], list[int]]:
    """The shape and the strides with adjacent axes as one where their elements are as far apart."""
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
    """A negative integer, seen as unsigned, is larger than any size."""
    return integers.view(_UNSIGNED[integers.itemsize])


def as_bits(array: Array) -> Array:
    """Elements of any type as the integers that NumPy moves fastest; object arrays stay what they are."""
    return array if array.dtype.hasobject else array.view(_UNSIGNED[array.itemsize])


def item_dtype(nbytes: int) -> np.dtype[np.generic]:
    """A dtype of so many bytes, that of an unsigned integer where there is one."""
    return _UNSIGNED.get(nbytes) or np.dtype(f"V{nbytes}")
