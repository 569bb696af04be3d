"""The layout of elements in the .bin, written a second time as a check of ir_exec's codec."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from ir_exec.types import Array, ElementType

__all__ = ["pack", "unpack"]

_LOWEST_FIRST = {"u2", "u4", "i4", "nf4", "f4e2m1"}
_HIGHEST_FIRST = {"u1"}
_SPLIT = {"u3": 2, "u6": 4}
"""Low bits that types of three-byte groups keep in the first two bytes; the third byte holds the high bits."""


def pack(array: Array) -> bytes:
    """The bytes of an array, without the one byte that stands for an empty constant."""
    element_type = ElementType.of(array)
    if element_type is ElementType.string:
        return _pack_strings([str(text) for text in array.ravel()])
    if element_type.bits >= 8:
        return np.ascontiguousarray(array).tobytes()
    codes = np.ascontiguousarray(array).view(np.uint8).ravel() & np.uint8((1 << element_type.bits) - 1)
    if element_type.name in _SPLIT:
        return _pack_split(codes, element_type.bits, _SPLIT[element_type.name])
    return _pack_bits(codes, element_type.bits, highest_first=element_type.name in _HIGHEST_FIRST)


def unpack(element_type: ElementType, shape: Sequence[int], data: bytes | list[str]) -> Array:
    """The array that these bytes (or the strings themselves) hold."""
    count = prod(shape)
    if element_type is ElementType.string:
        array = np.empty(count, object)
        array[:] = list(data)
        return array.reshape(shape)
    assert isinstance(data, bytes)
    if element_type.bits >= 8:
        return np.frombuffer(data, element_type.dtype, count).reshape(shape)
    if element_type.name in _SPLIT:
        codes = _unpack_split(data, element_type.bits, _SPLIT[element_type.name])
    else:
        codes = _unpack_bits(
            np.frombuffer(data, np.uint8), element_type.bits, highest_first=element_type.name in _HIGHEST_FIRST
        )
    codes = codes[:count]
    if element_type is ElementType.i4:
        # ml_dtypes keeps a negative int4 with its sign in the high half of the byte.
        codes = np.where(codes > 7, codes | 0xF0, codes).astype(np.uint8)
    return codes.view(element_type.dtype).reshape(shape)


def _pack_bits(codes: Array, bits: int, *, highest_first: bool) -> bytes:
    per_byte = 8 // bits
    codes = np.concatenate([codes, np.zeros(-codes.size % per_byte, np.uint8)]).reshape(-1, per_byte)
    shifts = np.arange(per_byte, dtype=np.uint8) * np.uint8(bits)
    return (codes << (shifts[::-1] if highest_first else shifts)).sum(1, dtype=np.uint8).tobytes()


def _unpack_bits(packed: Array, bits: int, *, highest_first: bool) -> Array:
    shifts = np.arange(8 // bits, dtype=np.uint8) * np.uint8(bits)
    codes = (packed[:, None] >> (shifts[::-1] if highest_first else shifts)) & np.uint8((1 << bits) - 1)
    return codes.astype(np.uint8).ravel()


def _pack_split(codes: Array, bits: int, low_bits: int) -> bytes:
    group = 16 // low_bits
    codes = np.concatenate([codes, np.zeros(-codes.size % group, np.uint8)]).reshape(-1, group)
    packed = b""
    for values in codes:
        packed += _pack_bits(values & np.uint8((1 << low_bits) - 1), low_bits, highest_first=True)
        packed += _pack_bits(values >> np.uint8(low_bits), bits - low_bits, highest_first=True)
    return packed


def _unpack_split(data: bytes, bits: int, low_bits: int) -> Array:
    groups = np.frombuffer(data, np.uint8).reshape(-1, 3)
    low = _unpack_bits(groups[:, :2].ravel(), low_bits, highest_first=True)
    high = _unpack_bits(groups[:, 2], bits - low_bits, highest_first=True)
    return low | (high << np.uint8(low_bits))


def _pack_strings(texts: list[str]) -> bytes:
    encoded = [text.encode() for text in texts]
    ends = np.cumsum([len(text) for text in encoded], dtype=np.int32)
    return np.array([len(encoded), 0], np.int32).tobytes() + ends.tobytes() + b"".join(encoded)
