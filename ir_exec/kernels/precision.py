"""The accumulator type of an operator, and the rounding of its result to the element type of the output.

Sums in a short type lose digits or overflow: f16 and bf16 are summed in f32, short integers in a type without overflow.
The result is converted as in OpenVINO: 8 bits and fewer saturate, longer ones wrap.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ir_exec.types import FLOAT, NUMERIC, Array, ElementType, element_types

__all__ = ["CALCULABLE", "CALCULABLE_FLOAT", "accumulator", "round_to", "type_limits", "widen"]

CALCULABLE = NUMERIC - element_types("u1 u3 u6 nf4")
"""The numeric types whose dtypes have NumPy arithmetic; the others only store values."""

CALCULABLE_FLOAT = CALCULABLE & FLOAT


@cache
def accumulator(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype in which elements of this dtype are multiplied and added.

    Integers of 8 bits and fewer are converted to f64, where sums of their products are exact and matrix products are
    fast.
    """
    element_type = ElementType.of_dtype(dtype)
    if element_type.is_float:
        return dtype if element_type.bits >= 32 else np.dtype(np.float32)
    if element_type.is_integer and element_type.bits <= 8:
        return np.dtype(np.float64)
    return np.dtype(np.int64) if element_type.bits == 16 else dtype


def widen(array: Array) -> Array:
    """The array in the dtype in which its elements are added; the array itself if this is its dtype."""
    return array.astype(accumulator(array.dtype), copy=False)


def round_to(array: Array, dtype: np.dtype[Any]) -> Array:
    """The array in the dtype of an output; for integers, fractions are truncated."""
    if array.dtype == dtype:
        return array
    element_type = ElementType.of_dtype(dtype)
    if not element_type.is_integer:
        return array.astype(dtype)
    if element_type.bits <= 8:
        lowest, highest = type_limits(dtype)
        return np.asarray(np.clip(np.trunc(array), lowest, highest).astype(dtype))
    # A float beyond the range of its integer type has no defined value; via 64 bits it wraps.
    return np.asarray(array.astype(np.int64 if element_type.is_signed else np.uint64).astype(dtype))


@cache
def type_limits(dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """The lowest and the highest finite value of a numeric dtype."""
    is_float = ElementType.of_dtype(dtype).is_float
    if dtype.isbuiltin == 1:
        info: Any = np.finfo(dtype) if is_float else np.iinfo(dtype)
    else:
        import ml_dtypes  # few models have its types

        describe: Any = ml_dtypes.finfo if is_float else ml_dtypes.iinfo  # which are not annotated
        info = describe(dtype)
    return info.min, info.max
