"""The files next to an ONNX file that contain its tensors."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from ir_exec.errors import IRError
from ir_exec.onnx.reading.files import read_proto

__all__ = ["list_external_files"]


def list_external_files(path: str) -> list[str]:
    """Return the paths of the external data of an ONNX file; none for an unreadable file."""
    try:
        proto, folder = read_proto(path)
    except IRError:
        return []
    locations = dict.fromkeys(_locations_in(proto))
    return [os.path.join(folder or "", location) for location in locations if "\0" not in location]


def _locations_in(root: Any) -> Iterator[str]:
    """Yield the locations in all tensors of a message."""
    pending = [root]
    while pending:
        message = pending.pop()
        if message.DESCRIPTOR.name == "TensorProto":
            yield from (entry.value for entry in message.external_data if entry.key == "location")
            continue
        for field, value in message.ListFields():
            if field.message_type is not None:
                pending += value if _is_repeated(value) else [value]


def _is_repeated(value: Any) -> bool:
    return not hasattr(value, "DESCRIPTOR")
