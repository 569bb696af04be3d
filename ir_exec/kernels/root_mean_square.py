"""Vectors divided by their root mean square."""

from __future__ import annotations

import numpy as np

from ir_exec.kernels import costs
from ir_exec.kernels.parallel import for_ranges
from ir_exec.types import Array

__all__ = ["rms_normalized"]


def rms_normalized(data: Array, weight: Array | None, epsilon: float) -> Array:
    """data / sqrt(mean of data² + epsilon) · weight, over the last axis, which is not empty.

    data: f32 or f64, rank 1 or more. weight: as many elements as the last axis has, in the dtype of data; without it 1.
    """
    factors = None if weight is None else weight.reshape(-1)
    if data.size <= costs.PIECE_ELEMENTS:
        return _normalized(data, factors, epsilon, np.empty(data.shape, data.dtype))
    size = data.shape[-1]
    rows, result = data.reshape(-1, size), np.empty(data.shape, data.dtype)
    target = result.reshape(-1, size)

    def work(start: int, stop: int) -> None:
        _normalized(rows[start:stop], factors, epsilon, target[start:stop])

    for_ranges(len(rows), max(costs.PIECE_ELEMENTS // size, 1), work)
    return result


def _normalized(data: Array, factors: Array | None, epsilon: float, out: Array) -> Array:
    # BLAS sums the squares without an array of them.
    scale = np.vecdot(data, data)[..., np.newaxis]
    scale /= data.shape[-1]
    scale += epsilon
    np.sqrt(scale, out=scale)
    np.divide(data, scale, out=out)
    if factors is not None:
        out *= factors
    return out
