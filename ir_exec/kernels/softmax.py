"""Softmax and its logarithm. Short floats are calculated in f32 and rounded once."""

from __future__ import annotations

import numpy as np

from ir_exec.kernels.precision import rounded, widened
from ir_exec.types import Array

__all__ = ["exponentiate", "log_softmax", "softmax"]


def softmax(data: Array, axis: int = 1) -> Array:
    """exp(data) / (sum of exp(data) along the axis), of the shape and dtype of data, any float."""
    wide = widened(data)
    result = np.empty(wide.shape, wide.dtype)
    result /= exponentiate(wide, axis, out=result)
    return rounded(result, data.dtype)


def log_softmax(data: Array, axis: int = 1) -> Array:
    """data - log(sum of exp(data) along the axis), of the shape and dtype of data, any float."""
    wide = widened(data)
    result = np.asarray(np.subtract(wide, _greatest(wide, axis)))
    result -= np.log(np.add.reduce(np.exp(result), axis=axis, keepdims=True))
    return rounded(result, data.dtype)


def exponentiate(scores: Array, axis: int, *, out: Array, sink: Array | None = None) -> Array:
    """out = exp(scores - greatest of their slice), which never overflows; returns the sums along the axis.

    scores: f32 or f64. out: like scores, or scores itself. sink: one more score of each slice, which counts for the
    greatest and the sum. The sums and the sink have size 1 on the axis.
    """
    greatest = _greatest(scores, axis)
    if sink is not None:
        greatest = np.maximum(greatest, sink)
    np.subtract(scores, greatest, out=out)
    np.exp(out, out=out)
    total = np.asarray(np.add.reduce(out, axis=axis, keepdims=True))
    if sink is not None:
        total += np.exp(sink - greatest)
    return total


def _greatest(scores: Array, axis: int) -> Array:
    return np.asarray(np.maximum.reduce(scores, axis=axis, keepdims=True, initial=-np.inf))
