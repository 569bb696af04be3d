"""Entries of .zip files: mapped if they are stored as they are, else decompressed up to a limit."""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise

from ir_exec.debug.weights.readers.tensors import refuse
from ir_exec.ir import Weights
from ir_exec.plan.memory import default_budget

__all__ = ["ZipEntries", "ZipEntry"]

_LOCAL_HEADER = struct.Struct("<4s5H3I2H")


@dataclass(frozen=True)
class ZipEntry:
    """An entry: where its bytes are, if it is stored without compression.

    Attributes:
        offset: The position in the file; None for a compressed entry.
        size: The bytes without compression.
    """

    name: str
    offset: int | None
    size: int


class ZipEntries(Mapping[str, ZipEntry]):
    """The entries of a .zip by name; they do not overlap.

    Raises:
        WeightsError: If the file is not a valid .zip.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.weights = Weights.open(path)
        self._entries: dict[str, ZipEntry] = {}
        with self._errors(), zipfile.ZipFile(path) as archive:
            for entry in archive.infolist():
                if entry.filename in self._entries:
                    refuse(path, f"the entry {entry.filename!r} is repeated", expected="each name once")
                offset = self._find_data(entry) if entry.compress_type == zipfile.ZIP_STORED else None
                self._entries[entry.filename] = ZipEntry(entry.filename, offset, entry.file_size)
        self._require_disjoint()

    def read(self, name: str, most: int) -> bytes:
        """Return the bytes of an entry.

        Raises:
            WeightsError: If it has more than `most` bytes, or is damaged.
        """
        entry = self[name]
        most = min(most, default_budget())
        if entry.size > most:
            refuse(self.path, f"the entry {name!r} has", actual=entry.size, detail="bytes", expected=f"at most {most}")
        with self._errors(), zipfile.ZipFile(self.path) as archive:
            return archive.read(name)

    def __getitem__(self, name: str) -> ZipEntry:
        return self._entries[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def _find_data(self, entry: zipfile.ZipInfo) -> int:
        """The position of the bytes after the local header of an entry."""
        start = entry.header_offset
        if not 0 <= start <= self.weights.size - _LOCAL_HEADER.size:
            refuse(self.path, f"the entry {entry.filename!r} is outside the file")
        magic, *_, name_size, extra_size = _LOCAL_HEADER.unpack(self.weights.slice(start, _LOCAL_HEADER.size))
        offset = start + _LOCAL_HEADER.size + name_size + extra_size
        if magic != b"PK\x03\x04" or entry.file_size < 0 or offset + entry.file_size > self.weights.size:
            refuse(self.path, f"the entry {entry.filename!r} is outside the file")
        return int(offset)

    def _require_disjoint(self) -> None:
        ranges = sorted(
            (entry.offset, entry.offset + entry.size, entry.name)
            for entry in self._entries.values()
            if entry.offset is not None and entry.size
        )
        for (_, end, name), (begin, _, other) in pairwise(ranges):
            if begin < end:
                refuse(self.path, f"the entries {name!r} and {other!r} overlap", expected="separate ones")

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except (zipfile.BadZipFile, zlib.error, OSError, EOFError, ValueError, NotImplementedError, RuntimeError) as e:
            refuse(self.path, f"the .zip is damaged: {e}")
