"""Writing of ONNX files tensor by tensor; no file remains incomplete."""

from __future__ import annotations

import os
from typing import IO, TYPE_CHECKING

from ir_exec.codes import Code
from ir_exec.errors import IRError, Location
from ir_exec.ir.storage import reason_of, replacing_all
from ir_exec.onnx.export.lower import Exported
from ir_exec.onnx.export.writer import StoredTensor, raw_bytes

if TYPE_CHECKING:
    from onnx import TensorProto

__all__ = ["EXTERNAL_FROM", "to_bytes", "write_exported"]

EXTERNAL_FROM = 2**30
"""Minimum bytes of constants written to a separate file; a message cannot be larger than 2 GiB."""

_ALIGNMENT = 4096
"""External tensors start at multiples of this number of bytes, to let runtimes map them."""

_ALIGNED_FROM = 2**12


def write_exported(exported: Exported, path: str | os.PathLike[str], *, external_data: bool | None = None) -> None:
    """Write an ONNX file, and `NAME.onnx.data` next to it if the constants are external.

    Both files are complete before either replaces an older one.

    Args:
        external_data: By default True for 1 GiB of constants or more.

    Raises:
        IRError: IR009 if they cannot be written.
    """
    target = os.fsdecode(path)
    sizes = sum(stored_size(tensor) for tensor in exported.tensors.values())
    is_external = sizes >= EXTERNAL_FROM if external_data is None else external_data
    data = f"{target}.data"
    targets = [(target, "ONNX"), (data, "ONNX data")] if is_external else [(target, "ONNX")]
    try:
        with replacing_all(targets) as files:
            _write(exported, files[0], files[1] if is_external else None, os.path.basename(data))
    except (OSError, ValueError) as error:
        message = f"cannot write the file: {reason_of(error)}"
        raise IRError(message, code=Code.unwritable, location=Location(path=target)) from None


def to_bytes(exported: Exported) -> bytes:
    """The content of an ONNX file, with all constants inside."""
    import io

    file = io.BytesIO()
    _write(exported, file, None, "")
    return file.getvalue()


def stored_size(tensor: StoredTensor) -> int:
    """The bytes of a constant in a file."""
    from onnx import TensorProto, helper

    count = 1
    for dim in tensor.shape:
        count *= dim
    if tensor.code in (TensorProto.UINT4, TensorProto.INT4, 23):
        return (count + 1) // 2
    if tensor.code in (25, 26):
        return (count + 3) // 4
    return count * int(helper.tensor_dtype_to_np_dtype(tensor.code).itemsize)


def _write(exported: Exported, file: IO[bytes], data: IO[bytes] | None, location: str) -> None:
    """Write the message; its large tensors follow the rest of the graph one by one, or are written to `data`."""
    proto = exported.proto
    envelope = type(proto)()
    envelope.CopyFrom(proto)
    envelope.ClearField("graph")
    file.write(envelope.SerializeToString())
    graph = proto.graph.SerializeToString()
    if data is not None:
        from onnx import TensorProto

        entries = b""
        for tensor in exported.tensors.values():
            tensor_proto = _header(tensor)
            offset = _append(data, tensor)
            tensor_proto.data_location = TensorProto.EXTERNAL
            for key, value in (("location", location), ("offset", offset), ("length", stored_size(tensor))):
                entry = tensor_proto.external_data.add()
                entry.key, entry.value = key, str(value)
            content = tensor_proto.SerializeToString()
            entries += _field(5, len(content)) + content
        file.write(_field(7, len(graph) + len(entries)) + graph + entries)
        return
    headers = {name: _header(tensor).SerializeToString() for name, tensor in exported.tensors.items()}
    total = len(graph)
    for name, tensor in exported.tensors.items():
        length = len(headers[name]) + len(_field(9, stored_size(tensor))) + stored_size(tensor)
        total += len(_field(5, length)) + length
    if total >= 2**31:
        raise ValueError("an ONNX file is larger than 2 GiB, expected external data for its constants")
    file.write(_field(7, total) + graph)
    for name, tensor in exported.tensors.items():
        size = stored_size(tensor)
        length = len(headers[name]) + len(_field(9, size)) + size
        file.write(_field(5, length) + headers[name] + _field(9, size))
        write_content(file, tensor)


def _append(data: IO[bytes], tensor: StoredTensor) -> int:
    if stored_size(tensor) >= _ALIGNED_FROM:
        data.write(bytes(-data.tell() % _ALIGNMENT))
    offset = data.tell()
    write_content(data, tensor)
    return offset


def write_content(file: IO[bytes], tensor: StoredTensor) -> None:
    """Write the elements of a constant, and release its memory."""
    array = tensor.read() if tensor.read_packed is None else tensor.read_packed()
    content = raw_bytes(array)
    if len(content) != stored_size(tensor):
        raise ValueError(f"the constant {tensor.name!r} has {len(content)} bytes, expected {stored_size(tensor)}")
    file.write(content)
    if tensor.release is not None:
        tensor.release(array)


def _header(tensor: StoredTensor) -> TensorProto:
    from onnx import TensorProto

    return TensorProto(name=tensor.name, data_type=tensor.code, dims=tensor.shape)


def _field(number: int, length: int) -> bytes:
    """The start of a field of bytes."""
    encoded = bytearray()
    for value in (number << 3 | 2, length):
        while value >= 128:
            encoded.append(value & 127 | 128)
            value >>= 7
        encoded.append(value)
    return bytes(encoded)
