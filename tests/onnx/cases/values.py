"""Arrays that the tables share."""

from __future__ import annotations

from typing import Any

import numpy as np

from ir_exec.types import Array

__all__ = ["floats", "i64", "integers", "positive"]


def floats(*shape: int, dtype: Any = np.float32, seed: int = 0) -> Array:
    """Values around zero, none of them close to another's rounding."""
    return np.asarray(np.random.default_rng((seed, *shape)).normal(size=shape) * 2).astype(dtype)


def positive(*shape: int, dtype: Any = np.float32) -> Array:
    return np.asarray(np.abs(floats(*shape)) + 0.25).astype(dtype)


def integers(low: int, high: int, *shape: int, dtype: Any = np.int64, seed: int = 0) -> Array:
    return np.asarray(np.random.default_rng((seed, *shape)).integers(low, high, shape)).astype(dtype)


def i64(*values: int) -> Array:
    return np.array(values, np.int64)
