"""Readers of files that are not IR: detection of the format; the reading itself is in other packages.

A reader is imported by name when its first file is read, like the modules of operators: reading IR does not import the
readers of other formats.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

__all__ = ["ENDINGS", "OLDER_IR", "ONNX_WRITER", "Reader", "call_writer", "is_readable", "reader_of"]

_PEEKED = 16


class Reader(NamedTuple):
    """A file format: its name, file name extension, start of the content, and reader.

    Attributes:
        package: The package that must be installed in addition to ir_exec.
        function: The reader, as `module:name`. Its arguments are the path or the content, and the keyword `report`; it
            returns a Model, or None if the reported faults leave nothing to read.
    """

    name: str
    ending: str
    starts: Callable[[bytes], bool]
    package: str
    function: str

    def read(self, source: object, **options: Any) -> Any:
        """Return the model that the reader reads from a path or from content."""
        module, _, name = self.function.partition(":")
        return getattr(import_module(module), name)(source, **options)


def _is_onnx(start: bytes) -> bool:
    # A protobuf message whose field 1 is the IR version, a small number, before strings or the graph.
    return len(start) > 2 and start[0] == 8 and 0 < start[1] <= 32 and start[2] in b"\x12\x1a\x22\x28\x32\x3a\x42"


_READERS = (Reader("ONNX", ".onnx", _is_onnx, "onnx", "ir_exec.onnx.reading.files:read_onnx"),)

OLDER_IR = Reader("IR of versions 2 to 7", ".xml", lambda start: False, "lxml", "ir_exec.older.reading:load_older")
"""The reader of the older layout. `ir_exec.model` selects it by the version in the parsed .xml."""

ONNX_WRITER = "ir_exec.onnx.export.api:to_proto"
"""The function that converts a Model to an ONNX model."""


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


def reader_of(source: object) -> Reader | None:
    """Return the reader for a path or for content in memory; None for IR, and for files that cannot be opened."""
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
