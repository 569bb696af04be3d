"""Values in an order that NumPy can compare, and places in sorted sequences."""

from __future__ import annotations

import numpy as np

from ir_exec.types import Array, ElementType, element_types
from ir_exec.types.conversion import convert

__all__ = ["comparable", "search_sorted"]


def search_sorted(sequence: Array, values: Array, *, right: bool) -> Array:
    """The places of values in a vector, before or behind (`right`) elements that are equal; 0 for NaN."""
    found = np.searchsorted(sequence, values, side="right" if right else "left")
    return np.where(np.isnan(values), 0, found) if values.dtype.kind == "f" else found


_SORTABLE = element_types("f32 f64 i8 i16 i32 i64 u8 u16 u32 u64 string")


def comparable(array: Array) -> Array:
    """The values in a dtype that NumPy can sort and compare, and sorts fast."""
    kind = ElementType.of(array)
    if kind in _SORTABLE:
        return array
    if kind.is_float:
        return convert(array, ElementType.f32)
    return convert(array, ElementType.i8 if kind.is_signed else ElementType.u8)
