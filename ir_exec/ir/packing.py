"""The packing of a constant's elements in the .bin, and its decoding to an array.

Types of whole bytes are contiguous and little endian. Smaller ones are packed:

- u1: eight to a byte, the first in the highest bit.
- u2: four to a byte, the first in the lowest bits.
- u4, i4, nf4, f4e2m1: two to a byte, the first in the low half.
- u3: eight in three bytes; two bytes have the lower two bits of each, the first value highest, and the third byte the
  top bits, the first value highest.
- u6: four in three bytes; two bytes hold the lower four bits of each and the third byte the upper two, the first value
  highest throughout.
- string: int32 count, int32 zero, then the int32 end of every string, then all strings' UTF-8 bytes.

Older files differ: `BitOrder.of` depends on the version that wrote a file.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ir_exec.codes import Code
from ir_exec.errors import WeightsError
from ir_exec.ir.document import Document
from ir_exec.types import Array, ElementType

__all__ = ["CURRENT_ORDER", "BitOrder", "decode", "decode_strings", "encode", "is_packed", "packed_size"]

_GROUPS_OF_THREE_BYTES = {ElementType.u3: 8, ElementType.u6: 4}
_CHUNK = 2**16
"""Bytes, or groups of three, unpacked at a time: intermediate arrays are small compared with the result."""


class BitOrder(NamedTuple):
    """The end of a byte with the first value; False is the order in current OpenVINO."""

    high_nibble_first: bool = False
    high_pair_first: bool = False

    @staticmethod
    def of(document: Document) -> BitOrder:
        """The order in the .bin of this document, from the runtime version in its rt_info.

        OpenVINO wrote 4-bit values high half first before 2024.0, and 2-bit values highest bits first before 2025.3.
        A document without this version is treated as current.
        """
        version = document.runtime_version
        if version is None:
            return CURRENT_ORDER
        return BitOrder(high_nibble_first=version < (2024, 0), high_pair_first=version < (2025, 3))


CURRENT_ORDER = BitOrder()


def is_packed(element_type: ElementType) -> bool:
    """Return True if elements are smaller than a byte."""
    return 0 < element_type.bits < 8


def packed_size(element_type: ElementType, count: int) -> int:
    """The number of bytes of `count` elements.

    Raises:
        ValueError: For strings, whose size depends on the values.
    """
    if element_type.bits == 0:
        raise ValueError(f"elements of type {element_type} have no fixed size")
    if element_type in _GROUPS_OF_THREE_BYTES:
        return -(-count // _GROUPS_OF_THREE_BYTES[element_type]) * 3
    return -(-count * element_type.bits // 8)


def decode(
    element_type: ElementType,
    shape: tuple[int, ...],
    data: bytes | memoryview | Array,
    order: BitOrder = CURRENT_ORDER,
) -> Array:
    """Decode an array of this shape from `data`, which has `packed_size` bytes (or a string constant).

    The result is a view of `data` if its type, alignment and byte order allow, else a copy.

    Raises:
        WeightsError: For damaged strings; other arguments are not checked.
    """
    stored = np.frombuffer(data, np.uint8)
    if element_type is ElementType.string:
        return decode_strings(stored, shape)
    if is_packed(element_type):
        return _unpack(element_type, stored, math.prod(shape), order).reshape(shape)
    if element_type is ElementType.boolean:
        # NumPy interprets a bool with a byte other than 0 and 1 inconsistently, as true or as its byte.
        return (stored.view(np.bool_) if stored.size == 0 or stored.max() <= 1 else stored != 0).reshape(shape)
    dtype = element_type.dtype
    if sys.byteorder == "big" and dtype.itemsize > 1:
        return stored.reshape(-1, dtype.itemsize)[:, ::-1].copy().view(dtype).reshape(shape)
    return _view_as(stored, dtype).reshape(shape)


def encode(array: Array, order: BitOrder = CURRENT_ORDER) -> bytes:
    """The bytes of the .bin for an array, whose dtype determines the element type. Unused bits are zero."""
    element_type = ElementType.of(array)
    flat = np.ascontiguousarray(array).reshape(-1)
    if element_type is ElementType.string:
        return _encode_strings(flat)
    if is_packed(element_type):
        return _pack(element_type, flat.view(np.uint8), order).tobytes()
    if sys.byteorder == "big" and flat.dtype.itemsize > 1:
        return flat.view(np.uint8).reshape(-1, flat.dtype.itemsize)[:, ::-1].tobytes()
    return flat.tobytes()


def _view_as(stored: Array, dtype: np.dtype[Any] | str) -> Array:
    """The bytes as elements of this dtype, copied only for another alignment or byte order."""
    elements = stored.view(dtype)
    return elements if elements.flags.aligned else elements.copy()


def _unpack(element_type: ElementType, stored: Array, count: int, order: BitOrder) -> Array:
    if element_type in _GROUPS_OF_THREE_BYTES:
        values = _unpack_groups(element_type, stored)
    else:
        table = _values_of_every_byte(element_type, order)
        wide = np.empty(len(stored), table.dtype)
        for start in range(0, len(stored), _CHUNK):
            chunk = slice(start, start + _CHUNK)
            # Every byte is in the table; the other modes would buffer.
            np.take(table, stored[chunk], out=wide[chunk], mode="clip")
        values = wide.view(np.uint8)
    return values[:count].view(element_type.dtype)


@cache
def _values_of_every_byte(element_type: ElementType, order: BitOrder) -> Array:
    """The two, four or eight values of each of the 256 bytes, as one wider number: a look-up is faster than shifts."""
    every_byte = np.arange(256, dtype=np.uint8)
    values = _fields(every_byte, element_type.bits, high_first=_high_first(element_type, order))
    if element_type is ElementType.i4:
        # ml_dtypes keeps an int4 as a sign-extended byte.
        values = (values ^ 8) - 8
    wider = np.dtype(f"u{8 // element_type.bits}")
    return np.ascontiguousarray(values).view(wider).reshape(256)


def _unpack_groups(element_type: ElementType, stored: Array) -> Array:
    """The values of u3 or u6, from two bytes of lower bits and one of upper bits in each group."""
    group = _GROUPS_OF_THREE_BYTES[element_type]
    low_bits, high_bits = 16 // group, 8 // group
    triples = stored.reshape(-1, 3)
    values = np.empty((len(triples), group), np.uint8)
    for start in range(0, len(triples), _CHUNK):
        chunk = triples[start : start + _CHUNK]
        low = _fields(chunk[:, :2], low_bits, high_first=True).reshape(len(chunk), group)
        high = _fields(chunk[:, 2], high_bits, high_first=True)
        values[start : start + _CHUNK] = low | high << np.uint8(low_bits)
    return values.reshape(-1)


def _high_first(element_type: ElementType, order: BitOrder) -> bool:
    if element_type is ElementType.u1:
        return True
    return order.high_pair_first if element_type is ElementType.u2 else order.high_nibble_first


def _shifts(bits: int, *, high_first: bool) -> Array:
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    return shifts[::-1] if high_first else shifts


def _fields(stored: Array, bits: int, *, high_first: bool) -> Array:
    """The fields of `bits` bits in every byte, along a new last axis."""
    result: Array = stored[..., None] >> _shifts(bits, high_first=high_first) & np.uint8(2**bits - 1)
    return result


def _join_fields(fields: Array, bits: int, *, high_first: bool) -> Array:
    """Bytes from fields along the last axis, the reverse of `_fields`."""
    result: Array = np.bitwise_or.reduce(fields << _shifts(bits, high_first=high_first), axis=-1)
    return result


def _pack(element_type: ElementType, values: Array, order: BitOrder) -> Array:
    group = _GROUPS_OF_THREE_BYTES.get(element_type, 8 // element_type.bits)
    rows = np.zeros((-(-len(values) // group), group), np.uint8)
    rows.reshape(-1)[: len(values)] = values & np.uint8(2**element_type.bits - 1)
    if element_type in _GROUPS_OF_THREE_BYTES:
        low_bits, high_bits = 16 // group, 8 // group
        low = (rows & np.uint8(2**low_bits - 1)).reshape(len(rows), 2, group // 2)
        low_bytes = _join_fields(low, low_bits, high_first=True)
        high_bytes = _join_fields(rows >> np.uint8(low_bits), high_bits, high_first=True)
        return np.concatenate([low_bytes, high_bytes[:, None]], axis=1)
    return _join_fields(rows, element_type.bits, high_first=_high_first(element_type, order))


def decode_strings(stored: Array, shape: tuple[int, ...]) -> Array:
    """Decode strings.

    Raises:
        WeightsError: IR206 for damaged data, before allocating memory for it.
    """
    count = math.prod(shape)
    words = _view_as(stored[: len(stored) // 4 * 4], "<i4")
    if len(words) < 2 + count or int(words[0]) != count:
        actual = f"it says {int(words[0])}" if len(words) else "it is too short for a count"
        raise _damaged_strings(f"the shape needs {count} strings, {actual}, in {len(stored)} bytes")
    ends = words[1 : 2 + count].astype(np.int64)
    text = stored[4 * (2 + count) :]
    if ends[0] != 0 or np.any(ends[1:] < ends[:-1]) or ends[-1] > len(text):
        raise _damaged_strings(f"the ends of the strings are not ascending from 0 to at most {len(text)}")
    raw = text.tobytes()
    result = np.empty(count, object)
    for index in range(count):
        try:
            result[index] = raw[ends[index] : ends[index + 1]].decode("utf-8")
        except UnicodeDecodeError:
            raise _damaged_strings(f"string {index} is not UTF-8") from None
    return result.reshape(shape)


def _damaged_strings(what: str) -> WeightsError:
    return WeightsError(f"the string constant is damaged: {what}", code=Code.damaged_strings)


def _encode_strings(strings: Sequence[str] | Array) -> bytes:
    encoded = [str(string).encode("utf-8") for string in strings]
    ends = np.cumsum([0, *map(len, encoded)])
    return np.array([len(encoded), *ends], "<i4").tobytes() + b"".join(encoded)
