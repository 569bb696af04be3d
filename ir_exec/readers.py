"""Readers of files that are not IR and of models in memory: detection of the format; other packages read them.

A reader is imported by name when its first file is read, like the modules of operators: reading IR does not import the
readers of other formats.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple, Protocol, TypeAlias

__all__ = [
    "ENDINGS",
    "OLDER_IR",
    "ONNX_WRITER",
    "OPENVINO",
    "OPENVINO_WRITER",
    "SOURCE_TYPES",
    "ModelObject",
    "Reader",
    "call_writer",
    "class_of_object",
    "is_readable",
    "reader_of",
]

_PEEKED = 16


class _HasGraph(Protocol):
    @property
    def graph(self) -> Any: ...


class _HasModelProto(Protocol):
    @property
    def model_proto(self) -> Any: ...


class _HasOps(Protocol):
    def get_ordered_ops(self) -> Any: ...


ModelObject: TypeAlias = _HasGraph | _HasModelProto | _HasOps
"""A model of another package: an `onnx.ModelProto`, `onnx_ir.Model`, `torch.onnx.ONNXProgram` or `openvino.Model`."""


class Reader(NamedTuple):
    """A file format: its name, file name extension, start of the content, and reader.

    Attributes:
        package: The package that must be installed in addition to ir_exec.
        function: The reader, as `module:name`. Its arguments are the path or the content, and the keyword `report`; it
            returns a Model, or None if the reported faults leave nothing to read.
        classes: The public names of the classes of objects that it reads as well.
    """

    name: str
    ending: str
    starts: Callable[[bytes], bool]
    package: str
    function: str
    classes: tuple[str, ...] = ()

    def read(self, source: object, **options: Any) -> Any:
        """Return the model that the reader reads from a path or from content."""
        module, _, name = self.function.partition(":")
        return getattr(import_module(module), name)(source, **options)


def _is_onnx(start: bytes) -> bool:
    # A protobuf message whose field 1 is the IR version, a small number, before strings or the graph.
    return len(start) > 2 and start[0] == 8 and 0 < start[1] <= 32 and start[2] in b"\x12\x1a\x22\x28\x32\x3a\x42"


_ONNX_CLASSES = ("onnx.ModelProto", "onnx_ir.Model", "torch.onnx.ONNXProgram")

_READERS = (Reader("ONNX", ".onnx", _is_onnx, "onnx", "ir_exec.onnx.reading.files:read_onnx", _ONNX_CLASSES),)

OLDER_IR = Reader("IR of versions 2 to 7", ".xml", lambda start: False, "lxml", "ir_exec.older.reading:load_older")
"""The reader of the older layout. `ir_exec.model` selects it by the version in the parsed .xml."""

OPENVINO = Reader(
    "OpenVINO", "", lambda start: False, "openvino", "ir_exec.openvino:read_openvino", ("openvino.Model",)
)
"""The reader of models of OpenVINO in memory. It returns the document and weights of IR."""

SOURCE_TYPES = ", ".join(["a path", "bytes", *_ONNX_CLASSES]) + f" or {OPENVINO.classes[0]}"
"""The accepted sources of models, for messages."""

ONNX_WRITER = "ir_exec.onnx.export.api:to_proto"
"""The function that converts a Model to an ONNX model."""

OPENVINO_WRITER = "ir_exec.openvino:to_openvino"
"""The function that converts a Model to a model of OpenVINO."""


def call_writer(function: str, model: object, **options: Any) -> Any:
    """Return the result of a writer, `module:name`, for a model."""
    module, _, name = function.partition(":")
    return getattr(import_module(module), name)(model, **options)


ENDINGS = (".xml", *(reader.ending for reader in _READERS))
"""File name extensions of models."""


def is_readable(path: str) -> bool:
    """Return True if the package that reads files of this name is installed."""
    match = next((reader for reader in _READERS if path.lower().endswith(reader.ending)), None)
    return match is None or find_spec(match.package) is not None


def class_of_object(source: object) -> str | None:
    """Return the public name of the class of a model of another package; None for anything else.

    The names of the classes and of their packages are compared, because the packages may not be installed.
    """
    classes = (*_ONNX_CLASSES, *OPENVINO.classes)
    names = {(cls.__module__.partition(".")[0], cls.__name__) for cls in type(source).__mro__}
    return next((name for name in classes if (name.partition(".")[0], name.rpartition(".")[2]) in names), None)


def reader_of(source: object) -> Reader | None:
    """Return the reader for a path, for content in memory, or for an object of another package.

    Returns:
        The result is None for IR, for files that cannot be opened, and for models of OpenVINO.
    """
    if (name := class_of_object(source)) is not None:
        return next((reader for reader in _READERS if name in reader.classes), None)
    if isinstance(source, (bytes, bytearray, memoryview)):
        start = bytes(source[:_PEEKED])
        return next((reader for reader in _READERS if reader.starts(start)), None)
    try:
        path = os.fsdecode(source)  # type: ignore[arg-type]  # an object that is not a path has no reader
        if path.lower().endswith(".xml"):
            return None
        named = next((reader for reader in _READERS if path.lower().endswith(reader.ending)), None)
        # A pipe or a device may block when it is opened.
        if named is not None or not os.path.isfile(path):
            return named
        with open(path, "rb") as file:
            start = file.read(_PEEKED)
    except Exception:
        # A path may be an object of any class, and its `__fspath__` may raise anything.
        return None
    return next((reader for reader in _READERS if reader.starts(start)), None)
