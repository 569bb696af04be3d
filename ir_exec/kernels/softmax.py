"""Softmax and its logarithm along the last axis."""

from __future__ import annotations

import numpy as np

from ir_exec.kernels.precision import rounded, widened
from ir_exec.types import Array

__all__ = ["log_softmax", "softmax"]


def _shifted(data: Array) -> Array:
    """The elements less the greatest of their slice along axis 1, so that no exponential overflows; a new array."""
    wide = widened(data)
    return np.asarray(np.subtract(wide, np.maximum.reduce(wide, axis=1, keepdims=True, initial=-np.inf)))


def softmax(data: Array) -> Array:
    result = _shifted(data)
    np.exp(result, out=result)
    result /= np.add.reduce(result, axis=1, keepdims=True)
    return rounded(result, data.dtype)


def log_softmax(data: Array) -> Array:
    result = _shifted(data)
    result -= np.log(np.add.reduce(np.exp(result), axis=1, keepdims=True))
    return rounded(result, data.dtype)
