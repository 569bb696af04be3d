"""Files of one tensor, `input_0.pb`, as in ONNX's test data; read without the package onnx."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Sequence

import numpy as np

from ir_exec.codes import Code
from ir_exec.errors import EvaluationError
from ir_exec.ir.packing import decode, packed_size
from ir_exec.ir.regular_files import open_regular
from ir_exec.onnx.reading.wire import message_fields, varint
from ir_exec.types import Array, ElementType

__all__ = ["data_set_files", "read_tensor_file"]

_DIMS, _DATA_TYPE, _FLOATS, _INT32, _STRINGS, _INT64, _NAME, _RAW, _DOUBLES, _UINT64 = 1, 2, 4, 5, 6, 7, 8, 9, 10, 11

_LISTS = {_FLOATS: "<f4", _DOUBLES: "<f8"}

_TYPES = dict(enumerate(("f32", "u8", "i8", "u16", "i16", "i32", "i64", "string", "boolean", "f16", "f64"), 1))
_TYPES |= {12: "u32", 13: "u64", 16: "bf16", 17: "f8e4m3", 19: "f8e5m2"}
_TYPES |= {21: "u4", 22: "i4", 23: "f4e2m1", 24: "f8e8m0", 25: "u2"}
"""Element types by the numbers of TensorProto.DataType, if IR has them."""

_MOST_ELEMENTS = 2**40


def data_set_files(folder: str | os.PathLike[str], prefix: str) -> list[str]:
    """The files `input_0.pb`, `input_1.pb`, ... of a folder, in order.

    Args:
        prefix: "input", or "output" for `output_0.pb`, ...
    """
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    numbered = [(int(match[1]), name) for name in names if (match := re.fullmatch(rf"{prefix}_(\d{{1,6}})\.pb", name))]
    return [os.path.join(os.fspath(folder), name) for _, name in sorted(numbered)]


def read_tensor_file(path: str | os.PathLike[str]) -> tuple[str, Array]:
    """The name and the elements of the TensorProto in a file.

    Raises:
        OSError: If the file cannot be read.
        EvaluationError: IR705 for another message, an unknown element type, or a tensor whose data is damaged or in
            another file.
    """
    with open_regular(path) as file:
        raw = file.read()
    try:
        return _tensor(raw)
    except (ValueError, IndexError, OverflowError, UnicodeDecodeError) as error:
        message = f"{os.fspath(path)} is not an ONNX tensor: {error}"
        raise EvaluationError(message, code=Code.unknown_input) from None


def _tensor(raw: bytes) -> tuple[str, Array]:
    content = memoryview(raw)
    dims: list[int] = []
    numbers: list[int] = []
    texts: list[str] = []
    floats: list[Array] = []
    stored: memoryview | None = None
    name, code = "", 0
    for field, begin, first, last in message_fields(content, 0, len(raw)):
        is_packed = content[begin] & 7 == 2
        if field == _DATA_TYPE:
            code = varint(content, first)[0]
        elif field == _DIMS:
            dims += _varints(content, first, last)
        elif field in (_INT32, _INT64, _UINT64):
            numbers += _varints(content, first, last)
        elif field in _LISTS:
            floats.append(np.frombuffer(content[first:last], _LISTS[field]))
        elif field == _STRINGS and is_packed:
            texts.append(bytes(content[first:last]).decode())
        elif field == _NAME and is_packed:
            name = bytes(content[first:last]).decode()
        elif field == _RAW and is_packed:
            stored = content[first:last]
    if code not in _TYPES:
        raise ValueError(f"the element type {code} does not exist in IR")
    if min(dims, default=0) < 0 or math.prod(dims) > _MOST_ELEMENTS:
        raise ValueError(f"the dims are {dims}, expected valid sizes")
    element_type = ElementType[_TYPES[code]]
    if element_type is ElementType.string:
        elements: Array = np.empty(len(texts), object)
        elements[:] = texts
        return name, _reshape(elements, dims)
    if stored is None:
        return name, _reshape(_of_lists(element_type, numbers, floats, math.prod(dims)), dims)
    needed = packed_size(element_type, math.prod(dims))
    if len(stored) != needed:
        raise ValueError(f"{element_type}{dims} takes {needed} bytes, but the data has {len(stored)}")
    return name, decode(element_type, tuple(dims), stored)


def _varints(content: memoryview, first: int, last: int) -> list[int]:
    """The integers of a field, packed or single; the upper half of 64 bits is negative."""
    integers: list[int] = []
    while first < last:
        value, first = varint(content, first)
        integers.append(value - 2**64 if value >= 2**63 else value)
    return integers


def _of_lists(element_type: ElementType, numbers: Sequence[int], floats: Sequence[Array], count: int) -> Array:
    """Elements from the typed fields; f16 and narrower types are stored as the bits of their elements."""
    if element_type in (ElementType.f32, ElementType.f64):
        return np.concatenate([*floats, np.empty(0, element_type.dtype)]).astype(element_type.dtype)
    if element_type.bits < 8:
        stored = np.array([number & 255 for number in numbers], np.uint8)
        if len(stored) != packed_size(element_type, count):
            raise ValueError(f"{count} elements of {element_type} take {packed_size(element_type, count)} bytes")
        return decode(element_type, (count,), stored)
    if element_type is ElementType.boolean:
        return np.array([number != 0 for number in numbers], np.bool_)
    mask = 2**element_type.bits - 1
    bits = np.array([number & mask for number in numbers], f"u{element_type.bits // 8}")
    return bits.view(element_type.dtype)


def _reshape(elements: Array, dims: Sequence[int]) -> Array:
    if elements.size != math.prod(dims):
        raise ValueError(f"the tensor declares {math.prod(dims)} elements, but has {elements.size}")
    return elements.reshape(dims)
