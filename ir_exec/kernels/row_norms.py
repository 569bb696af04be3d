"""Vectors along the last axis, normalized by what they come to: their root mean square, or their mean and deviation."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ir_exec.kernels import costs
from ir_exec.kernels.parallel import for_ranges
from ir_exec.kernels.views import by_rows
from ir_exec.types import Array

__all__ = ["layer_normalized", "rms_normalized"]


def rms_normalized(data: Array, weight: Array | None, epsilon: float) -> Array:
    """data / sqrt(mean of data² + epsilon) · weight, over the last axis, which is not empty.

    data: f32 or f64, rank 1 or more. weight: as many elements as the last axis has, in the dtype of data; without it 1.
    """

    def normalize(rows: Array, out: Array) -> None:
        np.divide(rows, _root_mean_square(rows, epsilon), out=out)

    return _by_rows(normalize, data, weight, None)


def layer_normalized(data: Array, weight: Array | None, bias: Array | None, epsilon: float) -> Array:
    """(data - mean) / sqrt(variance + epsilon) · weight + bias, over the last axis, which is not empty.

    data: f32 or f64, rank 1 or more. weight, bias: as many elements as the last axis has, in the dtype of data.
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
    if data.size <= costs.PIECE_ELEMENTS:
        work(data, result)
        return result
    size = data.shape[-1]
    rows, target = data.reshape(-1, size), result.reshape(-1, size)
    for_ranges(
        len(rows),
        max(costs.PIECE_ELEMENTS // size, 1),
        lambda start, stop: work(rows[start:stop], target[start:stop]),
        nanoseconds=costs.ELEMENT_NANOSECONDS * data.size,
    )
    return result
