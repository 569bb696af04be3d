"""The wire format of protobuf: fields of a message by their places, without parsing their contents."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

__all__ = [
    "BYTES",
    "FIXED32",
    "FIXED64",
    "VARINT",
    "Field",
    "encode_field",
    "encode_varint",
    "message_fields",
    "varint",
]

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
"""The wire types."""

Field: TypeAlias = "tuple[int, int, int, int]"
"""The number of a field, its start, the start of its content, and the end of both."""


def message_fields(content: memoryview, start: int, end: int) -> Iterator[Field]:
    """The fields of a message.

    Raises:
        ValueError: If the message is damaged.
        IndexError: If the message is damaged.
    """
    position = start
    while position < end:
        tag, first = varint(content, position)
        wire_type = tag & 7
        if wire_type == VARINT:
            last = varint(content, first)[1]
        elif wire_type == BYTES:
            size, first = varint(content, first)
            last = first + size
        elif wire_type in (FIXED64, FIXED32):
            last = first + (8 if wire_type == FIXED64 else 4)
        else:
            raise ValueError("the wire type of a field is invalid")
        if last > end:
            raise ValueError("a field ends after the end of its message")
        yield tag >> 3, position, first, last
        position = last


def varint(content: memoryview, position: int) -> tuple[int, int]:
    """A number, and its end."""
    value = 0
    for count in range(10):
        byte = content[position + count]
        value |= (byte & 127) << 7 * count
        if byte < 128:
            return value, position + count + 1
    raise ValueError("a number has more than 10 bytes")


def encode_varint(value: int) -> bytes:
    """The bytes of a number."""
    stored = bytearray()
    while value > 127:
        stored.append(value & 127 | 128)
        value >>= 7
    return bytes([*stored, value])


def encode_field(number: int, content: bytes) -> bytes:
    """A field of bytes, a text or a message."""
    return encode_varint(number << 3 | BYTES) + encode_varint(len(content)) + content
