"""The bytes of an ONNX file, its message without large tensors, and the bytes that protobuf would write differently."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from ir_exec.errors import IRError, Location
from ir_exec.ir.regular_files import open_regular
from ir_exec.onnx.reading.files import (
    LEAST_LEFT_OUT,
    MOST_BYTES,
    OnnxSourceLike,
    parse_onnx,
    path_of,
    read_proto,
    without_data,
    without_large_tensors,
)
from ir_exec.onnx.reading.objects import serialize_model
from ir_exec.onnx.reading.tensors import is_narrow
from ir_exec.onnx.reading.wire import BYTES, encode_field, message_fields

if TYPE_CHECKING:
    from onnx import ModelProto, TensorProto

__all__ = ["GRAPH", "OnnxSource", "Span", "data_span", "refer_to_span"]

GRAPH = 7
"""The number of the field of a model with its graph."""

_IN_FILE = "\0"
"""The location of data at a place of a file, followed by the path of the file, if it is not the model itself. No path
contains a null character, so files have no such location."""


class Span(NamedTuple):
    """Bytes of a file.

    Attributes:
        path: The file; None for the source itself.
    """

    start: int
    end: int
    path: str | None = None

    @property
    def size(self) -> int:
        return self.end - self.start


_Index: TypeAlias = "dict[tuple[str, bytes], Span]"


class OnnxSource:
    """An ONNX file for edits.

    Attributes:
        path: None for bytes and for models in memory.
        folder: The folder of its external data; None for bytes.
        proto: The model. The data of large initializers are references to spans (`data_span`).
        damage: The error of a damaged file, of which the message contains only the readable parts.
    """

    def __init__(self, source: OnnxSourceLike, *, is_lenient: bool = False) -> None:
        self.path = path_of(source)
        self.folder = None if self.path is None else os.path.dirname(os.path.abspath(self.path))
        if self.path is None and not isinstance(source, (bytes, bytearray, memoryview)):
            source, self.folder = serialize_model(source)
        self.damage: IRError | None = None
        self.proto, self.content = self._read(source, is_lenient=is_lenient)

    def _read(self, source: OnnxSourceLike, *, is_lenient: bool) -> tuple[ModelProto, memoryview]:
        content = memoryview(bytes(source)) if self.path is None else _map_file(self.path)  # type: ignore[arg-type]
        try:
            if not content or len(content) > MOST_BYTES:
                return read_proto(source)[0], content
            small = without_large_tensors(content, _IN_FILE, lambda data_type: True)
            return parse_onnx(bytes(content) if small is None else small), content
        except IRError as error:
            located = error if self.path is None else error.located(Location(path=self.path))
            if not is_lenient or not content:
                raise located from None
            self.damage = located
            return _readable_parts(content, located), content

    @cached_property
    def index(self) -> _Index:
        """The spans of messages that protobuf would write with other bytes, by class and by these bytes."""
        from onnx import ModelProto

        index: _Index = {}
        _add_to_index(self.content, ModelProto, 0, len(self.content), index)
        return index

    def read(self, span: Span) -> bytes:
        """Return bytes of the file, or of a file with external data."""
        if span.path is None:
            return bytes(self.content[span.start : span.end])
        with open(span.path, "rb") as file:
            file.seek(span.start)
            return file.read(span.size)

    def tensor_with_data(self, tensor: TensorProto) -> TensorProto:
        """Return the tensor itself, or a copy with the data that the message refers to."""
        span = data_span(tensor)
        if span is None:
            return tensor
        copy = type(tensor)()
        copy.CopyFrom(tensor)
        copy.ClearField("external_data")
        copy.ClearField("data_location")
        copy.raw_data = self.read(span)
        return copy

    def readable_proto(self, proto: ModelProto) -> ModelProto:
        """Return a copy of an edited message whose large tensors other readers find, in the file or inside."""
        copy = type(proto)()
        copy.CopyFrom(proto)
        name = None if self.path is None or os.path.islink(self.path) else os.path.basename(self.path)
        for tensor in copy.graph.initializer:
            span = data_span(tensor)
            if span is None:
                continue
            if name is None or span.path is not None or is_narrow(tensor.data_type):
                tensor.CopyFrom(self.tensor_with_data(tensor))
            else:
                next(entry for entry in tensor.external_data if entry.key == "location").value = name
        return copy


def data_span(tensor: TensorProto) -> Span | None:
    """Return the span that a tensor refers to; None for data inside the message or in external files."""
    if not tensor.external_data:
        return None
    entries = {entry.key: entry.value for entry in tensor.external_data}
    location = entries.get("location", "")
    if not location.startswith(_IN_FILE):
        return None
    start = int(entries["offset"])
    return Span(start, start + int(entries["length"]), location[1:] or None)


def refer_to_span(tensor: TensorProto, span: Span) -> None:
    """Replace the data of a tensor by a reference to bytes of a file."""
    for field in ("raw_data", "external_data"):
        tensor.ClearField(field)
    tensor.data_location = tensor.EXTERNAL
    entries = {"location": _IN_FILE + (span.path or ""), "offset": str(span.start), "length": str(span.size)}
    for key, value in entries.items():
        entry = tensor.external_data.add()
        entry.key, entry.value = key, value


def _map_file(path: str) -> memoryview:
    """The content of a file, without reading it; empty for an empty file and for a path that cannot be mapped."""
    try:
        with open_regular(path) as file:
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except (OSError, ValueError):
        return memoryview(b"")


def _add_to_index(content: memoryview, cls: Any, start: int, end: int, index: _Index) -> None:
    for number, begin, first, last in message_fields(content, start, end):
        field = cls.DESCRIPTOR.fields_by_number.get(number)
        if field is None or field.message_type is None or content[begin] & 7 != BYTES:
            continue
        inner = field.message_type._concrete_class
        name = field.message_type.name
        if name == "GraphProto" and cls.DESCRIPTOR.name == "ModelProto":
            _add_to_index(content, inner, first, last, index)
            continue
        raw = None
        if name == "TensorProto" and last - first >= LEAST_LEFT_OUT and cls.DESCRIPTOR.name == "GraphProto":
            raw = without_data(content, first, last, _IN_FILE, lambda data_type: True)
        is_reference = raw is not None
        if raw is None:
            raw = bytes(content[first:last])
        canonical = inner.FromString(raw).SerializeToString()
        if is_reference or canonical != raw:
            index[name, canonical] = Span(first, last)
        if not is_reference and canonical != raw:
            _add_to_index(content, inner, first, last, index)


def _readable_parts(content: memoryview, error: IRError) -> ModelProto:
    """The message of the fields before the damage, without fields whose content is damaged.

    Raises:
        IRError: The given error, if no node is readable.
    """
    from onnx import GraphProto, ModelProto

    parts = []
    for number, first, last in _leading_fields(content, 0, len(content)):
        if number == GRAPH:
            inner = next(_contents(content, first, last), (last, last))
            fields = [bytes(content[a:b]) for _, a, b in _leading_fields(content, *inner)]
            graph = b"".join(field for field in fields if _is_readable(GraphProto, field))
            parts.append(encode_field(GRAPH, graph))
        elif _is_readable(ModelProto, bytes(content[first:last])):
            parts.append(bytes(content[first:last]))
    proto = ModelProto()
    proto.ParseFromString(b"".join(parts))
    if not proto.graph.node:
        raise error
    return proto


def _is_readable(cls: Any, content: bytes) -> bool:
    """Return True if a message of this class can be read."""
    try:
        cls.FromString(content)
    except Exception:
        # The exceptions of protobuf have no common class in all its implementations.
        return False
    return True


def _leading_fields(content: memoryview, start: int, end: int) -> Iterator[tuple[int, int, int]]:
    """Yield number, start and end of the complete fields before the damage; a truncated graph is yielded, too."""
    position = start
    try:
        for number, begin, _, last in message_fields(content, start, end):
            yield number, begin, last
            position = last
    except (ValueError, IndexError):
        if start == 0 and position < end and content[position] == GRAPH << 3 | BYTES:
            yield GRAPH, position, end


def _contents(content: memoryview, begin: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the start and the end of the content of a field of bytes, if its length is readable."""
    from ir_exec.onnx.reading.wire import varint

    try:
        yield varint(content, varint(content, begin)[1])[1], end
    except (ValueError, IndexError):
        return
