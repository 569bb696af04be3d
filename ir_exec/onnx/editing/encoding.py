"""The bytes of an edited ONNX model, as bytes and as spans of files: parts without an edit are spans of the source."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TypeAlias

from ir_exec.onnx.editing.sources import GRAPH, OnnxSource, Span, data_span
from ir_exec.onnx.reading.wire import BYTES, encode_varint, message_fields

if TYPE_CHECKING:
    from onnx import ModelProto, TensorProto

__all__ = ["Chunk", "encode_model", "read_chunks", "size_of"]

Chunk: TypeAlias = "bytes | Span"

_RAW_DATA = 9

_LARGE = ("ModelProto", "GraphProto")


def encode_model(source: OnnxSource, proto: ModelProto) -> list[Chunk]:
    """Return the content of a file of the edited message: parts that are equal in the source have its bytes.

    Args:
        proto: The message of the source, or an edited copy.
    """
    return _Encoder(source).message(proto)


def size_of(chunks: list[Chunk]) -> int:
    """Return the number of bytes."""
    return sum(chunk.size if isinstance(chunk, Span) else len(chunk) for chunk in chunks)


class _Encoder:
    def __init__(self, source: OnnxSource) -> None:
        self._source = source
        self._index = source.index
        self._is_canonical = all(name == "TensorProto" for name, _ in self._index)

    def message(self, message: Any, owner: str = "") -> list[Chunk]:
        name = message.DESCRIPTOR.name
        is_large = name == "ModelProto" or (name == "GraphProto" and owner == "ModelProto")
        if not is_large:
            canonical = message.SerializeToString()
            span = self._index.get((name, canonical))
            if span is not None:
                return [span]
            reference = data_span(message) if name == "TensorProto" else None
            if reference is not None:
                return self._tensor(message, reference)
            # References to spans are in initializers of the graph only.
            if self._is_canonical:
                return [canonical]
        chunks: list[Chunk] = []
        for field, value in self._fields(message, name, owner):
            if field.message_type is None:
                part = type(message)()
                _copy_field(part, message, field)
                chunks.append(part.SerializeToString())
                continue
            for element in value if field.is_repeated else (value,):
                content = self.message(element, name)
                chunks += [encode_varint(field.number << 3 | BYTES) + encode_varint(size_of(content)), *content]
        chunks.append(_unknown_fields(message))
        return chunks

    def _fields(self, message: Any, name: str, owner: str) -> list[tuple[Any, Any]]:
        """Return the fields with their values, those of the model and of its graph in the order of the file."""
        fields = message.ListFields()
        content = self._source.content
        span = (0, len(content)) if name == "ModelProto" else self._graph_span() if owner == "ModelProto" else None
        if span is None or name not in _LARGE:
            return list(fields)
        order: dict[int, int] = {}
        for number, *_ in message_fields(content, *span):
            order.setdefault(number, len(order))
        return sorted(fields, key=lambda item: order.get(item[0].number, len(order) + item[0].number))

    def _graph_span(self) -> tuple[int, int] | None:
        content = self._source.content
        spans = [
            (first, last) for number, _, first, last in message_fields(content, 0, len(content)) if number == GRAPH
        ]
        return spans[0] if len(spans) == 1 else None

    def _tensor(self, tensor: TensorProto, reference: Span) -> list[Chunk]:
        """Return an edited tensor with the bytes that it refers to."""
        header = type(tensor)()
        header.CopyFrom(tensor)
        header.ClearField("external_data")
        header.ClearField("data_location")
        start = encode_varint(_RAW_DATA << 3 | BYTES) + encode_varint(reference.size)
        return [header.SerializeToString() + start, reference]


def _copy_field(target: Any, message: Any, field: Any) -> None:
    value = getattr(message, field.name)
    if field.is_repeated:
        getattr(target, field.name).extend(value)
    else:
        setattr(target, field.name, value)


def _unknown_fields(message: Any) -> bytes:
    """Return the fields that the class does not declare."""
    from google.protobuf.unknown_fields import UnknownFieldSet  # type: ignore[import-untyped]  # it has no types

    if not len(UnknownFieldSet(message)):
        return b""
    remainder = type(message)()
    remainder.CopyFrom(message)
    for field, _ in remainder.ListFields():
        remainder.ClearField(field.name)
    return bytes(remainder.SerializeToString())


def read_chunks(chunks: list[Chunk], source: OnnxSource) -> Iterator[bytes]:
    """Yield the bytes of all chunks."""
    for chunk in chunks:
        yield source.read(chunk) if isinstance(chunk, Span) else chunk
