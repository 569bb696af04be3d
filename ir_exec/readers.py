"""Readers of files that are not IR: what can be read is known here, how it is read above.

`ir_exec/__init__.py` adds them, so that reading a model needs nothing of what reads other formats.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, NamedTuple

__all__ = ["Reader", "add_reader", "reader_of"]


class Reader(NamedTuple):
    """A format: its name, how the names of its files end, how their content starts, and the function that reads one.

    read: takes the path or the content, and the keyword `report`; returns a Model, or None where faults were reported
        that leave nothing to read.
    """

    name: str
    endings: tuple[str, ...]
    starts: Callable[[bytes], bool]
    read: Callable[..., Any]


_readers: list[Reader] = []

_PEEKED = 16


def add_reader(reader: Reader) -> None:
    """From now on files of this format are read by it."""
    _readers.append(reader)


def reader_of(source: object) -> Reader | None:
    """The reader for a path or for content in memory; None for IR, and for what cannot be opened."""
    if isinstance(source, (bytes, bytearray, memoryview)):
        start = bytes(source[:_PEEKED])
        return next((reader for reader in _readers if reader.starts(start)), None)
    try:
        path = os.fsdecode(source)  # type: ignore[call-overload]  # what is no path has no reader
    except Exception:
        return None
    if path.lower().endswith(".xml"):
        return None
    try:
        # A pipe or a device may block when it is opened.
        if not os.path.isfile(path):
            return None
        ending = next((reader for reader in _readers if path.lower().endswith(reader.endings)), None)
        if ending is not None:
            return ending
        with open(path, "rb") as file:
            start = file.read(_PEEKED)
    except (OSError, ValueError):
        return None
    return next((reader for reader in _readers if reader.starts(start)), None)
