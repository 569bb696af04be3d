"""ONNX files: protobuf messages, with tensors inside or in files next to them.

A parsed message has a copy of every tensor, and arrays made from it are a second copy. Therefore large `raw_data` is
removed from the bytes before parsing: the tensor becomes external data in the file of the model itself, and is mapped
when needed.
"""

from __future__ import annotations

import mmap
import os
import stat
from importlib.util import find_spec
from typing import TYPE_CHECKING, TypeAlias

from ir_exec.codes import Code
from ir_exec.errors import (
    IRError,
    Location,
    ParseError,
    ReportFault,
    ResourceError,
    UnsupportedError,
    raise_error,
)
from ir_exec.hints import install_hint, path_hint
from ir_exec.ir.markup import LFS_HINT, LFS_POINTER
from ir_exec.model import Model
from ir_exec.onnx.reading.objects import message_of
from ir_exec.onnx.reading.tensors import is_narrow
from ir_exec.onnx.reading.wire import VARINT, encode_field, encode_varint, message_fields, varint
from ir_exec.readers import ModelObject
from ir_exec.types import Shape, TensorType

if TYPE_CHECKING:
    from onnx import ModelProto

from collections.abc import Callable, Mapping

__all__ = [
    "OnnxSourceLike",
    "parse_onnx",
    "path_of",
    "read_message",
    "read_onnx",
    "read_proto",
    "without_data",
    "without_large_tensors",
]

OnnxSourceLike: TypeAlias = str | os.PathLike[str] | bytes | ModelObject

MOST_BYTES = 2**31 - 1
"""The maximum size of a protobuf message."""

_LEAST_MAPPED = 2**22
"""Minimum bytes of a file whose large tensors remain on disk."""


def read_onnx(
    source: OnnxSourceLike,
    *,
    report: ReportFault = raise_error,
    shapes: Mapping[str, Shape] | None = None,
) -> Model | None:
    """The model of an ONNX file, a path or bytes, or of a model in memory, lowered to operators of IR.

    A model whose nodes depend on further facts of the inputs is an `OnnxModel`, which the inputs of a call complete.

    Args:
        report: Called with every fault; if it returns, reading continues after the fault with the types that the file
            declares.
        shapes: The shapes of inputs by name, used with such a report.

    Returns:
        The result is None if nothing can be read.

    Raises:
        UnsupportedError: If the package onnx is not installed, and for operators that cannot be lowered to IR.
    """
    try:
        proto, folder = read_proto(source)
    except IRError as error:
        report(error)
        return None
    return read_message(proto, folder, path_of(source), report=report, shapes=shapes)


def read_message(
    proto: ModelProto,
    folder: str | None,
    path: str | None,
    *,
    report: ReportFault = raise_error,
    shapes: Mapping[str, Shape] | None = None,
) -> Model | None:
    """The model of a message, as `read_onnx` reads that of a file.

    Args:
        folder: The folder of external data, if there is one.
        path: The path in the locations of faults.
    """
    from ir_exec.onnx.lowering.models import convert_model, inputs_of
    from ir_exec.onnx.lowering.partial_model import OnnxFile, model_of
    from ir_exec.onnx.lowering.states import make_states, noted_pairs

    def report_in_file(error: IRError) -> None:
        report(error.located(Location(path=path)))

    try:
        make_states(proto, noted_pairs(proto))
    except IRError as error:
        report_in_file(error)
    types = {port.name: port.element_type for port in inputs_of(proto)} if shapes else {}
    input_types = {name: TensorType(types[name], shape) for name, shape in (shapes or {}).items() if name in types}
    try:
        if report is raise_error:
            return model_of(OnnxFile(proto, folder, path))
        return convert_model(proto, folder=folder, given=input_types, report=report_in_file, is_lenient=True).model
    except IRError as error:
        report(error.located(Location(path=path)))
        return None


def path_of(source: OnnxSourceLike) -> str | None:
    """Return the path of a source; None for bytes and for models in memory."""
    return os.fsdecode(source) if isinstance(source, (str, os.PathLike)) else None


def read_proto(source: OnnxSourceLike) -> tuple[ModelProto, str | None]:
    """The message in a file, in bytes or of a model in memory, and the folder of its external data.

    Raises:
        ParseError: For content other than an ONNX model.
        ResourceError: For a message over 2 GiB.
        UnsupportedError: If the package onnx is not installed.
    """
    if find_spec("onnx") is None:
        hint = install_hint("onnx")
        message = "the package onnx is required for reading ONNX files, but is not installed"
        raise UnsupportedError(message, code=Code.unreadable_path, hint=hint)
    if isinstance(source, (bytes, bytearray, memoryview)):
        return parse_onnx(bytes(source)), None
    if not isinstance(source, (str, os.PathLike)):
        model, folder = message_of(source)
        _require_graph(model)
        return model, folder
    path = os.fsdecode(source)
    location = Location(path=path)
    try:
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode):
            message = "the path is not a regular file"
            raise ParseError(message, code=Code.unreadable_path, hint=path_hint(path), location=location)
        if status.st_size > MOST_BYTES:
            hint = "save the tensors as external data"
            raise ResourceError("the file is larger than 2 GiB, the limit of ONNX files", hint=hint, location=location)
        raw = _content(path, status.st_size)
    except OSError as error:
        message = f"cannot read the file: {error.strerror or error}"
        near = path_hint(path) if isinstance(error, FileNotFoundError) else None
        raise ParseError(message, code=Code.unreadable_path, hint=near, location=location) from None
    try:
        return parse_onnx(raw), os.path.dirname(os.path.abspath(path))
    except IRError as error:
        raise error.located(location) from None


def _content(path: str, size: int) -> bytes:
    """The message in a file, with large tensors replaced by external data in the file itself."""
    with open(path, "rb") as file:
        # External data is next to the target of a link, which may have another name.
        if size >= _LEAST_MAPPED and not os.path.islink(path):
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped, memoryview(mapped) as content:
                short = without_large_tensors(
                    content, os.path.basename(path), lambda data_type: not is_narrow(data_type)
                )
            if short is not None:
                return short
        return file.read(size)


def parse_onnx(raw: bytes) -> ModelProto:
    """The model in these bytes.

    Raises:
        ParseError: IR004 for anything else.
    """
    import onnx
    from google.protobuf.message import DecodeError  # type: ignore[import-untyped]  # it has no types

    if not raw:
        raise _no_model("the file is empty")
    if raw.startswith(LFS_POINTER):
        raise _no_model("the file is a Git LFS pointer", hint=LFS_HINT)
    model = onnx.ModelProto()
    try:
        model.ParseFromString(raw)
    except (DecodeError, ValueError, RecursionError) as error:
        if raw[0] == 8:
            raise _no_model(f"its protobuf message is truncated or damaged ({error})") from None
        raise _no_model("the file is not a protobuf message") from None
    _require_graph(model)
    return model


def _require_graph(model: ModelProto) -> None:
    """Raise ParseError for a message without a graph or outputs, and for damaged names."""
    if not model.HasField("graph"):
        raise _no_model("the file has no graph")
    _check_names(model)
    if not model.graph.output:
        raise ParseError("the graph has no outputs", code=Code.no_result)


def _check_names(model: ModelProto) -> None:
    """Raise ParseError for a name that is not valid UTF-8, which protobuf returns as bytes."""
    names: list[object] = [entry.domain for entry in model.opset_import]
    graphs = [model.graph]
    nodes = [node for function in model.functions for node in function.node]
    for function in model.functions:
        names += [function.name, function.domain, function.overload, *function.input, *function.output]
        names += function.attribute
    while graphs or nodes:
        if graphs:
            graph = graphs.pop()
            names += [
                declared.name for declared in (*graph.input, *graph.output, *graph.value_info, *graph.initializer)
            ]
            names += [sparse.values.name for sparse in graph.sparse_initializer]
            nodes += graph.node
        while nodes:
            node = nodes.pop()
            names += [node.name, node.op_type, node.domain, node.overload, *node.input, *node.output]
            for attribute in node.attribute:
                names += [attribute.name, attribute.ref_attr_name]
                graphs += [attribute.g] if attribute.HasField("g") else []
                graphs += attribute.graphs
    damaged = next((name for name in names if not isinstance(name, str)), None)
    if damaged is not None:
        raise _no_model(f"the name {damaged!r} is not valid UTF-8")


def _no_model(why: str, hint: str | None = None) -> ParseError:
    return ParseError(f"not an ONNX model: {why}", code=Code.not_ir, hint=hint)


LEAST_LEFT_OUT = 2**17
"""Minimum bytes of a tensor that remains on disk."""

_GRAPH, _INITIALIZER = 7, 5
_DATA_TYPE, _RAW_DATA, _EXTERNAL_DATA, _DATA_LOCATION = 2, 9, 13, 14
_EXTERNAL = 1


def without_large_tensors(content: memoryview, name: str, may_leave: Callable[[int], bool]) -> bytes | None:
    """The message of a model with large initializers that refer to the file; None if no tensor is removed.

    Args:
        content: The whole file.
        name: The name of the file, in its folder.
        may_leave: Returns True if tensors of this data type may remain in the file.
    """
    try:
        graphs = [field for field in message_fields(content, 0, len(content)) if field[0] == _GRAPH]
        if len(graphs) != 1:
            return None
        _, start, inner, end = graphs[0]
        parts: list[bytes] = []
        copied = inner
        for number, begin, first, last in message_fields(content, inner, end):
            if number == _INITIALIZER and last - first >= LEAST_LEFT_OUT:
                tensor = without_data(content, first, last, name, may_leave)
                if tensor is not None:
                    parts += [bytes(content[copied:begin]), encode_field(_INITIALIZER, tensor)]
                    copied = last
    except (ValueError, IndexError):
        return None
    if not parts:
        return None
    graph = b"".join([*parts, bytes(content[copied:end])])
    return b"".join([bytes(content[:start]), encode_field(_GRAPH, graph), bytes(content[end:])])


def without_data(
    content: memoryview, start: int, end: int, name: str, may_leave: Callable[[int], bool]
) -> bytes | None:
    """A tensor that refers to its bytes in the file; None if they are few, or stored differently."""
    fields = list(message_fields(content, start, end))
    data = [field for field in fields if field[0] == _RAW_DATA]
    data_types = [varint(content, first)[0] for number, _, first, _ in fields if number == _DATA_TYPE]
    is_external = any(number in (_EXTERNAL_DATA, _DATA_LOCATION) for number, *_ in fields)
    if len(data) != 1 or is_external or not data_types or not may_leave(data_types[-1]):
        return None
    _, begin, first, last = data[0]
    if last - first < LEAST_LEFT_OUT:
        return None
    entries = {"location": name, "offset": str(first), "length": str(last - first)}
    external_data = [
        encode_field(
            _EXTERNAL_DATA, encode_field(1, key.encode()) + encode_field(2, value.encode("utf-8", "surrogateescape"))
        )
        for key, value in entries.items()
    ]
    location = encode_varint(_DATA_LOCATION << 3 | VARINT) + encode_varint(_EXTERNAL)
    return b"".join([bytes(content[start:begin]), bytes(content[last:end]), *external_data, location])
