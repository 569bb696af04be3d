"""Views of an array's bytes as unsigned integers."""

from __future__ import annotations

import numpy as np

from ir_exec.types import Array

__all__ = ["as_bits", "as_unsigned", "item_dtype"]

_UNSIGNED = {size: np.dtype(f"u{size}") for size in (1, 2, 4, 8)}


def as_unsigned(integers: Array) -> Array:
    """A negative integer, seen as unsigned, is larger than any size."""
    return integers.view(_UNSIGNED[integers.itemsize])


def as_bits(array: Array) -> Array:
    """Elements of any type as the integers that NumPy moves fastest; object arrays stay what they are."""
    return array if array.dtype.hasobject else array.view(_UNSIGNED[array.itemsize])


def item_dtype(nbytes: int) -> np.dtype[np.generic]:
    """A dtype of so many bytes, that of an unsigned integer where there is one."""
    return _UNSIGNED.get(nbytes) or np.dtype(f"V{nbytes}")
