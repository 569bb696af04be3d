"""Writing of edited ONNX files: atomically, with the bytes of tensors copied by the operating system."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import IO, TYPE_CHECKING, Any, Literal, TypeAlias

from ir_exec.codes import Code
from ir_exec.errors import IRError, Location, ResourceError
from ir_exec.ir.storage import reason_of, replacing_all
from ir_exec.onnx.editing.encoding import Chunk, encode_model, size_of
from ir_exec.onnx.editing.sources import OnnxSource, Span, data_span, refer_to_span
from ir_exec.onnx.reading.files import MOST_BYTES
from ir_exec.onnx.reading.tensors import external_number, external_path

if TYPE_CHECKING:
    from onnx import ModelProto, TensorProto

__all__ = ["ExternalData", "data_files", "tensors_of", "write_edited"]

ExternalData: TypeAlias = Literal["in", "out", "pack"]
"""The place of tensor data: "in" the file, or "out" in a file next to it. "pack" copies the data that are outside to a
new file."""

_LEAST_OUTSIDE = 1024
"""Minimum bytes of a tensor that is moved to a file with external data, as in onnx."""

_ALIGNMENT = 4096

_ALIGNED_FROM = 2**12

_LEAST_COPIED = 2**16
"""Minimum bytes that the operating system copies; fewer bytes are read and written."""

_MOST_COPIED = 2**24
"""Maximum bytes of a copy by reads and writes."""


def write_edited(
    source: OnnxSource,
    proto: ModelProto,
    path: str | os.PathLike[str],
    *,
    external_data: ExternalData | None = None,
) -> list[str]:
    """Write an edited message as an ONNX file; parts that are equal in the source have its bytes.

    Files with external data are copied if the file is written to another folder. All files are complete before they
    replace older ones.

    Returns:
        The paths of the written files.

    Raises:
        IRError: IR009 if they cannot be written; then nothing is written.
        WeightsError: For external data that are missing, or not in the folder of the model.
        ResourceError: For more than 2 GiB.
    """
    target = os.fsdecode(path)
    outside = {} if source.folder is None else _external_spans(source, proto)
    data: list[tuple[TensorProto, Span | bytes]] = []
    copies: dict[str, str] = {}
    if external_data in ("in", "pack"):
        edited = type(proto)()
        edited.CopyFrom(proto)
        proto, outside = edited, {} if source.folder is None else _external_spans(source, edited)
    if external_data == "in":
        for tensor, span in outside.values():
            _move_inside(tensor, span, proto)
    elif external_data == "pack":
        data = [(tensor, span) for tensor, span in outside.values()]
    else:
        if external_data == "out":
            edited = type(proto)()
            edited.CopyFrom(proto)
            proto = edited
            data = list(_movable(source, proto))
        copies = _files_to_copy(source, outside, target)
    location = f"{os.path.basename(target)}.data"
    data_path = f"{target}.data"
    if data and os.path.realpath(data_path) in {os.path.realpath(span.path or "") for _, span in outside.values()}:
        message = f"cannot write {data_path}: the model reads it"
        raise IRError(message, code=Code.unwritable, hint="write to another folder")
    _assign_offsets(data, location)
    chunks = encode_model(source, proto)
    if size_of(chunks) > MOST_BYTES:
        hint = "move the tensors to a file with external data"
        raise ResourceError("the file is larger than 2 GiB, the limit of ONNX files", hint=hint)
    targets = [(target, "ONNX"), *([(data_path, "ONNX data")] if data else [])]
    targets += [(copy, "ONNX data") for copy in copies]
    try:
        for copy in copies:
            os.makedirs(os.path.dirname(copy) or os.curdir, exist_ok=True)
        with replacing_all(targets) as files:
            _write_chunks(files[0], chunks, source)
            if data:
                _write_data(files[1], data, source)
            for file, copied in zip(files[1 + bool(data) :], copies.values(), strict=True):
                _copy_span(file, Span(0, os.path.getsize(copied), copied), source)
    except (OSError, ValueError) as error:
        message = f"cannot write the file: {reason_of(error)}"
        raise IRError(message, code=Code.unwritable, location=Location(path=target)) from None
    return [path for path, _ in targets]


def tensors_of(message: Any) -> Iterator[TensorProto]:
    """Yield all tensors of a message, in attributes and bodies, too."""
    pending = [message]
    while pending:
        part = pending.pop()
        if part.DESCRIPTOR.name == "TensorProto":
            yield part
            continue
        for field, value in part.ListFields():
            if field.message_type is not None:
                pending += reversed(value) if field.is_repeated else [value]


def data_files(source: OnnxSource, proto: ModelProto) -> list[str]:
    """Return the paths of the external data of a model, in the order of the tensors."""
    return list(dict.fromkeys(span.path or "" for _, span in _external_spans(source, proto).values()))


def _external_spans(source: OnnxSource, proto: ModelProto) -> dict[int, tuple[TensorProto, Span]]:
    """Return the tensors with data in other files, and the place of their data.

    Raises:
        WeightsError: For a file that is not in the folder of the model.
    """
    spans: dict[int, tuple[TensorProto, Span]] = {}
    for tensor in tensors_of(proto):
        if tensor.data_location != tensor.EXTERNAL or data_span(tensor) is not None:
            continue
        entries = {entry.key: entry.value for entry in tensor.external_data}
        path = external_path(entries.get("location", ""), source.folder)
        start = external_number(entries, "offset", 0)
        size = os.path.getsize(path) - start if "length" not in entries and os.path.exists(path) else 0
        spans[len(spans)] = tensor, Span(start, start + external_number(entries, "length", max(size, 0)), path)
    return spans


def _files_to_copy(source: OnnxSource, outside: Mapping[int, tuple[TensorProto, Span]], target: str) -> dict[str, str]:
    """Return the paths of files with external data in the folder of the target, and the files themselves.

    Raises:
        IRError: IR009 for an existing file with other content, IR201 for a file that does not exist.
    """
    folder = os.path.dirname(os.path.abspath(target))
    if source.folder is None or os.path.realpath(folder) == os.path.realpath(source.folder):
        return {}
    copies: dict[str, str] = {}
    for tensor, span in outside.values():
        location = next(entry.value for entry in tensor.external_data if entry.key == "location")
        path = os.path.normpath(os.path.join(os.path.dirname(target), location))
        if path in copies or span.path is None:
            continue
        if not os.path.isfile(span.path):
            message = f"the external data {location!r} do not exist"
            raise IRError(message, code=Code.weights_missing, location=Location(path=source.path))
        if os.path.exists(path):
            if _is_equal(path, span.path):
                continue
            hint = "write to another folder, or move the data into the file"
            raise IRError(f"cannot write {path}: it has other content", code=Code.unwritable, hint=hint)
        copies[path] = span.path
    return copies


def _is_equal(left: str, right: str) -> bool:
    if os.path.samefile(left, right):
        return True
    if os.path.getsize(left) != os.path.getsize(right):
        return False
    with open(left, "rb") as first, open(right, "rb") as second:
        while chunk := first.read(_MOST_COPIED):
            if chunk != second.read(_MOST_COPIED):
                return False
    return True


def _move_inside(tensor: TensorProto, span: Span, proto: ModelProto) -> None:
    """Refer to the data in another file as data of the message, or read it for a tensor of an attribute."""
    assert span.path is not None
    if span.end > os.path.getsize(span.path) if os.path.exists(span.path) else True:
        message = f"the external data of {tensor.name!r} are missing or too short"
        raise IRError(message, code=Code.weights_short, location=Location(path=span.path))
    if any(tensor is initializer for initializer in proto.graph.initializer):
        refer_to_span(tensor, span)
        return
    with open(span.path, "rb") as file:
        file.seek(span.start)
        content = file.read(span.size)
    tensor.ClearField("external_data")
    tensor.ClearField("data_location")
    tensor.raw_data = content


def _movable(source: OnnxSource, proto: ModelProto) -> Iterator[tuple[TensorProto, Span | bytes]]:
    """Yield the initializers with data in the file, and these data."""
    from onnx import TensorProto, numpy_helper

    for tensor in proto.graph.initializer:
        span = data_span(tensor)
        if span is not None:
            yield tensor, span
        elif tensor.data_location != tensor.EXTERNAL and tensor.data_type != TensorProto.STRING:
            if tensor.ByteSize() < _LEAST_OUTSIDE:
                continue
            raw = (
                tensor.raw_data
                if tensor.HasField("raw_data")
                else numpy_helper.from_array(numpy_helper.to_array(tensor)).raw_data
            )
            if len(raw) >= _LEAST_OUTSIDE:
                yield tensor, raw


def _assign_offsets(data: list[tuple[TensorProto, Span | bytes]], location: str) -> None:
    position = 0
    for tensor, content in data:
        size = content.size if isinstance(content, Span) else len(content)
        if size >= _ALIGNED_FROM:
            position += -position % _ALIGNMENT
        for field in ("raw_data", "external_data", "float_data", "int32_data", "int64_data", "double_data"):
            tensor.ClearField(field)
        tensor.ClearField("uint64_data")
        tensor.data_location = tensor.EXTERNAL
        for key, value in (("location", location), ("offset", str(position)), ("length", str(size))):
            entry = tensor.external_data.add()
            entry.key, entry.value = key, value
        position += size


def _write_data(file: IO[bytes], data: list[tuple[TensorProto, Span | bytes]], source: OnnxSource) -> None:
    for tensor, content in data:
        offset = next(int(entry.value) for entry in tensor.external_data if entry.key == "offset")
        file.write(bytes(offset - file.tell()))
        _write_chunks(file, [content], source)


def _write_chunks(file: IO[bytes], chunks: list[Chunk], source: OnnxSource) -> None:
    for chunk in chunks:
        if not isinstance(chunk, Span):
            file.write(chunk)
        elif chunk.size < _LEAST_COPIED or (chunk.path is None and source.path is None):
            file.write(source.read(chunk))
        else:
            _copy_span(file, chunk, source)


def _copy_span(file: IO[bytes], span: Span, source: OnnxSource) -> None:
    """Append bytes of a file to a file, without reading them if the operating system can copy them.

    Raises:
        OSError: If the file is shorter.
    """
    path = span.path or source.path
    assert path is not None
    start, end = span.start, span.end
    file.flush()
    with open(path, "rb") as origin:
        if hasattr(os, "copy_file_range"):
            try:
                while start < end:
                    count = os.copy_file_range(origin.fileno(), file.fileno(), end - start, start)
                    if not count:
                        break
                    start += count
            except OSError:
                pass  # another file system, or one without this function
            file.seek(0, os.SEEK_END)
        origin.seek(start)
        while start < end:
            content = origin.read(min(_MOST_COPIED, end - start))
            if not content:
                raise OSError(f"{path} ends at byte {start:,}, expected {end:,}")
            file.write(content)
            start += len(content)
