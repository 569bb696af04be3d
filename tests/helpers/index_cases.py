"""Indices, and values of every element type, for tables of gathers and scatters."""

from __future__ import annotations

import numpy as np

from ir_exec.types import Array, ElementType


def indices_of(shape: tuple[int, ...], low: int, high: int, seed: int = 0, dtype: str = "i64") -> Array:
    return np.asarray(np.random.default_rng(seed).integers(low, high, shape)).astype(ElementType[dtype].dtype)


def values_of(element_type: str, codes: list[int]) -> Array:
    """Values that differ where codes from 0 to 3 do."""
    dtype = ElementType[element_type].dtype
    if element_type == "string":
        return np.array(["zero", "", "täglich", "three words here"], dtype)[codes]
    if dtype.names:
        return np.array(codes, np.uint8).view(dtype)
    if element_type == "boolean":
        return np.array(codes, np.uint8) % 2 == 1
    return np.array([1.0, 0.5, 2.0, 4.0] if element_type in ("f8e8m0", "f4e2m1") else [0, 1, 2, 3]).astype(dtype)[codes]
