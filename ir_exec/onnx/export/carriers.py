"""Element types of IR in an opset of ONNX.

A type missing in the opset is carried by another: integers of few bits by 8-bit integers of the same value, floats of 4
and 8 bits by their codes in uint8.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from ir_exec.types import Array, ElementType
from ir_exec.types.conversion import convert

__all__ = ["is_carried", "onnx_code", "table_of", "to_carrier"]

_CODES = {
    ElementType.f32: (1, 1),
    ElementType.u8: (2, 1),
    ElementType.i8: (3, 1),
    ElementType.u16: (4, 1),
    ElementType.i16: (5, 1),
    ElementType.i32: (6, 1),
    ElementType.i64: (7, 1),
    ElementType.string: (8, 1),
    ElementType.boolean: (9, 1),
    ElementType.f16: (10, 1),
    ElementType.f64: (11, 1),
    ElementType.u32: (12, 1),
    ElementType.u64: (13, 1),
    ElementType.bf16: (16, 13),
    ElementType.f8e4m3: (17, 19),
    ElementType.f8e5m2: (19, 19),
    ElementType.u4: (21, 21),
    ElementType.i4: (22, 21),
    ElementType.f4e2m1: (23, 23),
    ElementType.f8e8m0: (24, 24),
    ElementType.u2: (25, 25),
}
"""TensorProto.DataType of each element type, and the oldest opset whose Cast supports it."""

_CARRIERS = {ElementType.i4: ElementType.i8}
"""The carriers of types missing in the opset, other than u8."""


def is_carried(element_type: ElementType, opset: int) -> bool:
    """Return True for an element type that tensors of this opset store as another type."""
    return element_type not in _CODES or _CODES[element_type][1] > opset


def onnx_code(element_type: ElementType, opset: int) -> int:
    """The TensorProto.DataType of an element type or of its carrier."""
    if is_carried(element_type, opset):
        element_type = _CARRIERS.get(element_type, ElementType.u8)
    return _CODES[element_type][0]


def to_carrier(array: Array, opset: int) -> Array:
    """The array as stored in tensors of this opset."""
    element_type = ElementType.of(array)
    if not is_carried(element_type, opset):
        return array
    if element_type in (ElementType.i4, ElementType.u4, ElementType.u2):
        return array.astype(np.int8 if element_type is ElementType.i4 else np.uint8)
    return np.ascontiguousarray(array).view(np.uint8)


@cache
def table_of(element_type: ElementType) -> Array:
    """The value of every code of a carried type, in f32."""
    codes = np.arange(2 ** min(element_type.bits, 8), dtype=np.uint8)
    if element_type in (ElementType.u2, ElementType.u4):
        return codes.astype(np.float32)
    return convert(codes.view(element_type.dtype), ElementType.f32)
