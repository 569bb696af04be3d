"""Sums and means along axes in the accumulator type, and normalizations along the last axis."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import prod
from typing import Any

import numpy as np

from ir_exec.kernels.chunks import by_rows
from ir_exec.kernels.parallel import for_ranges
from ir_exec.kernels.precision import accumulator
from ir_exec.tuning import thresholds
from ir_exec.types import Array, ElementType

__all__ = [
    "layer_normalized",
    "mean",
    "reduce_along",
    "reduce_rows",
    "reducing",
    "rms_normalized",
    "sum_along",
    "summing",
]


def mean(data: Array, axes: tuple[int, ...], keep_dims: bool = True) -> Array:
    """The mean along axes in the accumulator of data, truncated towards zero for integers; 0 for no elements."""
    count = max(prod([data.shape[axis] for axis in axes]), 1)
    if accumulator(data.dtype).kind not in "iu":
        total = sum_along(data, axes, keep_dims)
        return np.asarray(np.divide(total, total.dtype.type(count), out=total))
    # With sums of 64 bits, no mean of shorter integers overflows.
    dtype = np.dtype(np.int64 if ElementType.of(data).is_signed else np.uint64)
    total = reduce_along(np.add, data, axes, keep_dims, dtype)
    divisor = dtype.type(count)
    return np.asarray((total - np.fmod(total, divisor)) // divisor)


def sum_along(data: Array, axes: tuple[int, ...], keep_dims: bool) -> Array:
    """The sum along axes in the accumulator of data."""
    return reduce_along(np.add, data, axes, keep_dims, accumulator(data.dtype))


def summing(sizes: tuple[int, ...], axes: tuple[int, ...], keep_dims: bool) -> Callable[[Array], Any]:
    """The function for sums of f32 or f64 of these sizes along axes.

    np.add.reduce has a cost for every row after the axes, np.einsum does not; both add in the same order.
    """
    behind = prod(sizes[max(axes, default=0) + 1 :])
    if not axes or not 1 < behind <= thresholds.RUN_ELEMENTS or prod(sizes) < thresholds.CALL_ELEMENTS:
        return reducing(np.add, sizes, axes, keep_dims)
    letters = list(range(len(sizes)))
    remaining = [axis for axis in letters if axis not in axes]
    shape = [1 if axis in axes else size for axis, size in enumerate(sizes) if keep_dims or axis not in axes]
    return lambda data: np.einsum(data, letters, remaining).reshape(shape)


def reducing(ufunc: np.ufunc, sizes: tuple[int, ...], axes: tuple[int, ...], keep_dims: bool) -> Callable[[Array], Any]:
    """The function for ufunc.reduce of f32 or f64 of these sizes along axes."""
    if axes == (len(sizes) - 1,) and _are_short(sizes[-1], prod(sizes[:-1])):
        return partial(reduce_rows, ufunc, keep_dims=keep_dims)
    # NumPy's annotations of `reduce` do not accept `keepdims` as a variable.
    reduce: Any = ufunc.reduce
    return partial(reduce, axis=axes, keepdims=keep_dims)


def _are_short(size: int, count: int) -> bool:
    """Return True if this many rows of this size are reduced together."""
    return count >= thresholds.MANY_ROWS and 1 < size <= thresholds.RUN_ELEMENTS


def reduce_along(
    ufunc: np.ufunc, data: Array, axes: tuple[int, ...], keep_dims: bool, dtype: np.dtype[Any] | None = None
) -> Array:
    """ufunc.reduce along axes, as an array.

    Args:
        dtype: The type of the computation.
    """
    if axes == (data.ndim - 1,) and dtype in (None, data.dtype) and data.dtype.kind == "f":
        return reduce_rows(ufunc, data, keep_dims)
    # NumPy's annotations of `reduce` do not accept `keepdims` as a variable.
    reduce: Any = ufunc.reduce
    return np.asarray(reduce(data, axis=axes, keepdims=keep_dims, dtype=dtype))


def reduce_rows(ufunc: np.ufunc, data: Array, keep_dims: bool = True) -> Array:
    """ufunc.reduce of floats along the last axis; short rows are reduced together, since each has an overhead.

    If rows are not contiguous, NumPy does so itself.
    """
    size = data.shape[-1] if data.ndim else 0
    count = data.size // max(size, 1)
    if data.flags.c_contiguous and _are_short(size, count):
        shape = (*data.shape[:-1], *[1] * keep_dims)
        rows = data.reshape(count, size)
        columns = thresholds.SHORT_ROW if ufunc is np.add else 0
        if ufunc in (np.maximum, np.minimum):
            columns = thresholds.FEW_LINES
        if size <= min(columns, count // thresholds.ELEMENTS_A_CALL):
            return _reduced_columns(ufunc, rows).reshape(shape)
        if ufunc is np.add:
            return np.asarray(np.einsum(rows, [0, 1], [0])).reshape(shape)
    return reduce_along(ufunc, data, (-1,), keep_dims)


def _reduced_columns(ufunc: np.ufunc, rows: Array) -> Array:
    total = np.empty(len(rows), rows.dtype)
    step = max(thresholds.CHUNK_ELEMENTS // rows.shape[1], 1)
    for start in range(0, len(rows), step):
        columns, some = rows[start : start + step].T, total[start : start + step]
        ufunc(columns[0], columns[1], out=some)
        for column in columns[2:]:
            ufunc(some, column, out=some)
    return total


def rms_normalized(data: Array, weight: Array | None, epsilon: float) -> Array:
    """data / sqrt(mean of data² + epsilon) · weight, over the last axis, which is not empty.

    Args:
        data: f32 or f64, rank 1 or more.
        weight: As many elements as the last axis has, in the dtype of data; by default 1.
    """

    def normalize(rows: Array, out: Array) -> None:
        np.divide(rows, _root_mean_square(rows, epsilon), out=out)

    return _by_rows(normalize, data, weight, None)


def layer_normalized(data: Array, weight: Array | None, bias: Array | None, epsilon: float) -> Array:
    """(data - mean) / sqrt(variance + epsilon) · weight + bias, over the last axis, which is not empty.

    Args:
        data: f32 or f64, rank 1 or more.
        weight: As many elements as the last axis has, in the dtype of data.
        bias: As many elements as the last axis has, in the dtype of data.
    """

    def normalize(rows: Array, out: Array) -> None:
        mean = np.add.reduce(rows, axis=-1, keepdims=True)
        mean /= rows.shape[-1]
        np.subtract(rows, mean, out=out)
        out /= _root_mean_square(out, epsilon)

    return _by_rows(normalize, data, weight, bias)


def _root_mean_square(rows: Array, epsilon: float) -> Array:
    # BLAS sums the squares without an array of them.
    scale = np.vecdot(rows, rows)[..., np.newaxis]
    scale /= rows.shape[-1]
    scale += epsilon
    return np.asarray(np.sqrt(scale, out=scale))


def _by_rows(normalize: Callable[[Array, Array], None], data: Array, weight: Array | None, bias: Array | None) -> Array:
    factors, shifts = (None if vector is None else vector.reshape(-1) for vector in (weight, bias))
    result = np.empty(data.shape, data.dtype)

    def work(rows: Array, out: Array) -> None:
        normalize(rows, out)
        if factors is not None:
            out *= factors
        if shifts is not None:
            out += shifts

    data = by_rows(data)
    if data.size <= thresholds.CHUNK_ELEMENTS:
        work(data, result)
        return result
    size = data.shape[-1]
    rows, target = data.reshape(-1, size), result.reshape(-1, size)
    for_ranges(
        len(rows),
        max(thresholds.CHUNK_ELEMENTS // size, 1),
        lambda start, stop: work(rows[start:stop], target[start:stop]),
        nanoseconds=thresholds.ELEMENT_NANOSECONDS * data.size,
    )
    return result
