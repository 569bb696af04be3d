"""Files without their large tensors: these stay on the disk, and are mapped when they are needed.

A message that is parsed holds a copy of every tensor in it, and arrays made of them are a second one. Here large
`raw_data` is left out of the bytes that are parsed: the tensor becomes one with external data, which lies in the file
of the model itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

__all__ = ["without_large_tensors"]

_LEAST = 2**17
"""Bytes of a tensor that is left on the disk."""

_GRAPH, _INITIALIZER = 7, 5
_DATA_TYPE, _RAW_DATA, _EXTERNAL_DATA, _DATA_LOCATION = 2, 9, 13, 14
_EXTERNAL = 1

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
"""How protobuf stores a field."""

_Field: TypeAlias = "tuple[int, int, int, int]"
"""The number of a field, where it begins, where its content begins, and where both end."""


def without_large_tensors(content: memoryview, name: str, may_leave: Callable[[int], bool]) -> bytes | None:
    """The message of a model of which large initializers refer to the file; None where nothing is to be left out.

    content: the whole file. name: of the file, in its folder. may_leave: whether tensors of this data type may be left.
    """
    try:
        graphs = [field for field in _fields(content, 0, len(content)) if field[0] == _GRAPH]
        if len(graphs) != 1:
            return None
        _, start, inner, end = graphs[0]
        parts: list[bytes] = []
        copied = inner
        for number, begin, first, last in _fields(content, inner, end):
            if number == _INITIALIZER and last - first >= _LEAST:
                tensor = _without_data(content, first, last, name, may_leave)
                if tensor is not None:
                    parts += [bytes(content[copied:begin]), _field(_INITIALIZER, tensor)]
                    copied = last
    except (ValueError, IndexError):
        return None
    if not parts:
        return None
    graph = b"".join([*parts, bytes(content[copied:end])])
    return b"".join([bytes(content[:start]), _field(_GRAPH, graph), bytes(content[end:])])


def _without_data(
    content: memoryview, start: int, end: int, name: str, may_leave: Callable[[int], bool]
) -> bytes | None:
    """A tensor that refers to its bytes in the file; None where they are few, or stored in another way."""
    fields = list(_fields(content, start, end))
    data = [field for field in fields if field[0] == _RAW_DATA]
    kinds = [_varint(content, first)[0] for number, _, first, _ in fields if number == _DATA_TYPE]
    is_external = any(number in (_EXTERNAL_DATA, _DATA_LOCATION) for number, *_ in fields)
    if len(data) != 1 or is_external or not kinds or not may_leave(kinds[-1]):
        return None
    _, begin, first, last = data[0]
    if last - first < _LEAST:
        return None
    entries = {"location": name, "offset": str(first), "length": str(last - first)}
    told = [
        _field(_EXTERNAL_DATA, _field(1, key.encode()) + _field(2, value.encode("utf-8", "surrogateescape")))
        for key, value in entries.items()
    ]
    place = _number(_DATA_LOCATION << 3 | _VARINT) + _number(_EXTERNAL)
    return b"".join([bytes(content[start:begin]), bytes(content[last:end]), *told, place])


def _fields(content: memoryview, start: int, end: int) -> Iterator[_Field]:
    """The fields of a message; ValueError or IndexError where it is damaged."""
    position = start
    while position < end:
        tag, first = _varint(content, position)
        kind = tag & 7
        if kind == _VARINT:
            last = _varint(content, first)[1]
        elif kind == _BYTES:
            size, first = _varint(content, first)
            last = first + size
        elif kind in (_FIXED64, _FIXED32):
            last = first + (8 if kind == _FIXED64 else 4)
        else:
            raise ValueError("no field of a message is stored so")
        if last > end:
            raise ValueError("a field ends behind its message")
        yield tag >> 3, position, first, last
        position = last


def _varint(content: memoryview, position: int) -> tuple[int, int]:
    """A number, and where it ends."""
    value = 0
    for count in range(10):
        byte = content[position + count]
        value |= (byte & 127) << 7 * count
        if byte < 128:
            return value, position + count + 1
    raise ValueError("a number has more than 10 bytes")


def _number(value: int) -> bytes:
    stored = bytearray()
    while value > 127:
        stored.append(value & 127 | 128)
        value >>= 7
    return bytes([*stored, value])


def _field(number: int, content: bytes) -> bytes:
    return _number(number << 3 | _BYTES) + _number(len(content)) + content
