"""Readers of files that are not IR: how such files are told is known here, how they are read far above.

A reader is imported by its name when the first of its files is read, as the modules of operators are: reading IR needs
nothing of what reads other formats.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

__all__ = ["ENDINGS", "OLDER_IR", "ONNX_WRITER", "Reader", "is_readable", "reader_of", "written"]

_PEEKED = 16


class Reader(NamedTuple):
    """A format: its name, how the names of its files end, how their content starts, and where its reader is.

    package: what must be installed beside ir_exec.
    function: `module:name`. It takes the path or the content, and the keyword `report`; it returns a Model, or None
        where faults were reported that leave nothing to read.
    """

    name: str
    ending: str
    starts: Callable[[bytes], bool]
    package: str
    function: str

    def read(self, source: object, **options: Any) -> Any:
        """What the reader makes of a path or of content."""
        module, _, name = self.function.partition(":")
        return getattr(import_module(module), name)(source, **options)


def _is_onnx(start: bytes) -> bool:
    # A protobuf message of which field 1 is the IR version, a small number, before strings or the graph.
    return len(start) > 2 and start[0] == 8 and 0 < start[1] <= 32 and start[2] in b"\x12\x1a\x22\x28\x32\x3a\x42"


_READERS = (Reader("ONNX", ".onnx", _is_onnx, "onnx", "ir_exec.onnx.reading:read_onnx"),)

OLDER_IR = Reader("IR of versions 2 to 7", ".xml", lambda start: False, "lxml", "ir_exec.older.reading:load_older")
"""What lowers files of the older layout. Only the parsed .xml tells which these are, and `ir_exec.model` asks it."""

ONNX_WRITER = "ir_exec.onnx.export.api:to_proto"
"""The function that makes an ONNX model of a Model."""


def written(function: str, model: object, **options: Any) -> Any:
    """What a writer, `module:name`, makes of a model."""
    module, _, name = function.partition(":")
    return getattr(import_module(module), name)(model, **options)


ENDINGS = (".xml", *(reader.ending for reader in _READERS))
"""How the names of files of networks end."""


def is_readable(path: str) -> bool:
    """Whether what reads files of this name is installed."""
    found = next((reader for reader in _READERS if path.lower().endswith(reader.ending)), None)
    return found is None or find_spec(found.package) is not None


def reader_of(source: object) -> Reader | None:
    """The reader for a path or for content in memory; None for IR, and for what cannot be opened."""
    if isinstance(source, (bytes, bytearray, memoryview)):
        start = bytes(source[:_PEEKED])
        return next((reader for reader in _READERS if reader.starts(start)), None)
    try:
        path = os.fsdecode(source)  # type: ignore[arg-type]  # what is no path has no reader
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
