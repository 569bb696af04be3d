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
    "OpenVINOCompiled",
    "Reader",
    "TorchModule",
    "call_writer",
    "class_of_object",
    "hint_for_object",
    "is_compiled_by_openvino",
    "is_exported_program",
    "is_of_optimum",
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


class _HasModules(Protocol):
    def named_modules(self) -> Any: ...

    def register_forward_hook(self, hook: Any) -> Any: ...


class _HasGraphModule(Protocol):
    @property
    def graph_module(self) -> Any: ...


class _HasModels(Protocol):
    @property
    def ov_models(self) -> Any: ...


ModelObject: TypeAlias = _HasGraph | _HasModelProto | _HasOps | _HasModels
"""A model of another package: an `onnx.ModelProto`, `onnx_ir.Model`, `torch.onnx.ONNXProgram`, `openvino.Model`, or an
`OVModel` of optimum-intel with a single `openvino.Model`."""


class OpenVINOCompiled(Protocol):
    """An `openvino.CompiledModel`."""

    def get_runtime_model(self) -> Any: ...


TorchModule: TypeAlias = _HasModules | _HasGraphModule
"""A `torch.nn.Module` or `torch.export.ExportedProgram`."""


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

_OPTIMUM_CLASSES = ("optimum.intel.OVModelHostMixin", "optimum.intel.OVBaseModel")
"""The base classes of optimum-intel's models with `openvino.Model`s in them; early releases have only the second."""

OPENVINO = Reader(
    "OpenVINO",
    "",
    lambda start: False,
    "openvino",
    "ir_exec.openvino:read_openvino",
    ("openvino.Model", *_OPTIMUM_CLASSES),
)
"""The reader of models of OpenVINO in memory. It returns the document and weights of IR."""

SOURCE_TYPES = ", ".join(["a path", "bytes", *_ONNX_CLASSES, "openvino.Model"]) + " or an OVModel of optimum-intel"
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
    return next((name for name in (*_ONNX_CLASSES, *OPENVINO.classes) if _is_of_class(source, name)), None)


def is_compiled_by_openvino(source: object) -> bool:
    """Return True for an `openvino.CompiledModel`, whose execution graph can be shown."""
    return _is_of_class(source, "openvino.CompiledModel")


def is_of_optimum(source: object) -> bool:
    """Return True for a model of optimum-intel, or a part of it, with `openvino.Model`s."""
    return any(_is_of_class(source, name) for name in _OPTIMUM_CLASSES)


def is_exported_program(source: object) -> bool:
    """Return True for a `torch.export.ExportedProgram`, which may be a reference of a comparison."""
    return _is_of_class(source, "torch.export.ExportedProgram")


def hint_for_object(source: object) -> str | None:
    """Return a hint for an object that is not a model, if its model is in another object."""
    if is_exported_program(source) or _is_of_class(source, "torch.nn.Module"):
        return "export it: torch.onnx.export(module, arguments, dynamo=True), or openvino.convert_model(module)"
    if is_compiled_by_openvino(source):
        return "pass the openvino.Model; view and profile accept a compiled model as an additional argument"
    return None


def _is_of_class(source: object, name: str) -> bool:
    package, class_name = name.partition(".")[0], name.rpartition(".")[2]
    return any(
        cls.__name__ == class_name and cls.__module__.partition(".")[0] == package for cls in type(source).__mro__
    )


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
