"""Compresses a wheel anew, in the same format: 3% smaller than what Python's zlib makes, which is 25 kB here."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import deflate
from hatchling.builders.hooks.plugin.interface import BuildHookInterface

STRENGTH = 12
"""The most that libdeflate has."""


class Packing(BuildHookInterface[Any]):
    """What `[tool.hatch.build.targets.wheel.hooks.custom]` names."""

    PLUGIN_NAME = "custom"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        path = Path(artifact_path)
        packed = path.with_suffix(".packed")
        with zipfile.ZipFile(path) as wheel, zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as smaller:
            for info in wheel.infolist():
                again = zipfile.ZipInfo(info.filename, info.date_time)
                again.compress_type, again.external_attr = info.compress_type, info.external_attr
                with smaller.open(again, "w") as file:
                    # Where a Python has no such attribute, its own compressor does it.
                    file._compressor = Whole()  # type: ignore[attr-defined]
                    file.write(wheel.read(info))
        packed.replace(path)


class Whole:
    """What zipfile asks of a compressor; all of a file is compressed at once."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def compress(self, part: bytes) -> bytes:
        self._parts.append(part)
        return b""

    def flush(self) -> bytes:
        return bytes(deflate.deflate_compress(b"".join(self._parts), STRENGTH))
