"""Files that are mapped into memory, and copies of their bytes by the system."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator
from contextlib import suppress
from typing import BinaryIO, NamedTuple, Self, TypeAlias

import numpy as np

from ir_exec.errors import Location, WeightsError
from ir_exec.kernels.limits import owner_of
from ir_exec.types import Array

__all__ = ["FileRange", "MappedFile", "Stamp", "file_range", "forget_pages", "write_bytes"]

_CHUNK = 2**22
_COPIED_FROM = 2**20
"""Minimum bytes that the system copies: opening the file again costs as much as writing 64 KiB."""

Stamp: TypeAlias = tuple[int, int, int, int]
"""Device, inode, size and modification time of a file."""


class FileRange(NamedTuple):
    """The path and the first byte of an array in a file."""

    path: str
    offset: int


class MappedFile(mmap.mmap):
    """A file that is mapped read-only, and its state when it was opened."""

    _path: str
    stamp: Stamp

    @classmethod
    def of(cls, path: str, file: BinaryIO) -> Self:
        """Map a file that is open for reading, which can be closed afterwards.

        Raises:
            OSError: If it cannot be mapped.
        """
        status = os.fstat(file.fileno())
        mapped = cls(file.fileno(), status.st_size, access=mmap.ACCESS_READ)
        mapped._path = path
        mapped.stamp = _stamp(status)
        return mapped

    def forget(self, offset: int, size: int) -> None:
        """Release the memory of bytes like `forget_pages`."""
        forget_pages(self, offset, size)

    def require_unchanged(self) -> None:
        """Raise WeightsError (IR200) if the file was changed or truncated since it was opened."""
        try:
            stamp = _stamp(os.stat(self._path))
        except OSError:
            stamp = None
        if stamp is not None and stamp[:2] == self.stamp[:2]:
            is_same = stamp == self.stamp
        else:
            # A replaced or deleted file remains valid for its mappings.
            is_same = self.size() == self.stamp[2]
        if not is_same:
            message = "the weights have changed since they were opened"
            raise WeightsError(message, hint="read the model again", location=Location(path=self._path))

    @property
    def path(self) -> str | None:
        """The path of the file, None if another file is there now."""
        try:
            return self._path if _stamp(os.stat(self._path)) == self.stamp else None
        except OSError:
            return None

    def reopen(self) -> BinaryIO:
        """Open the mapped file.

        Raises:
            OSError: If the path is now another file, or the file has changed.
        """
        file = open(self._path, "rb")  # noqa: SIM115  # returned
        if _stamp(os.fstat(file.fileno())) != self.stamp:
            file.close()
            raise FileNotFoundError(self._path)
        return file


def _stamp(status: os.stat_result) -> Stamp:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def forget_pages(mapping: mmap.mmap, offset: int, size: int) -> None:
    """Release bytes of a file that were copied from the process's memory; they are read again if needed.

    Files rarely align constants, so most of some models are copied: they should not be in memory twice.
    """
    advice = getattr(mmap, "MADV_DONTNEED", None)
    start = -(-offset // mmap.PAGESIZE) * mmap.PAGESIZE
    size = (offset + size - start) // mmap.PAGESIZE * mmap.PAGESIZE
    if advice is not None and size > 0:
        mapping.madvise(advice, start, size)


def file_range(array: Array) -> FileRange | None:
    """Return the position of a contiguous array in the file that it is a view of; None for other memory."""
    mapped = _mapped_file_of(array) if array.flags.c_contiguous else None
    path = None if mapped is None else mapped.path
    if mapped is None or path is None:
        return None
    return FileRange(path, array.ctypes.data - _address(mapped))


def write_bytes(content: memoryview, file: BinaryIO) -> Iterator[int]:
    """Write bytes in chunks, and yield the number of written bytes after each chunk.

    Large ranges of a mapped file are copied by the system. Written from the mapping, they take five times as long,
    because writing stops at each page that is not in memory.
    """
    written = 0
    if len(content) >= _COPIED_FROM:
        for written in _copy_from_file(content, file):
            yield written
    for start in range(written, len(content), _CHUNK):
        file.write(content[start : start + _CHUNK])
        yield min(start + _CHUNK, len(content))


def _copy_from_file(content: memoryview, file: BinaryIO) -> Iterator[int]:
    """Copy bytes by the system like `write_bytes`, up to the first error, for example between file systems."""
    copy = getattr(os, "copy_file_range", None)  # Linux
    mapped = _mapped_file_of(content.obj)
    if copy is None or mapped is None:
        return
    start = _address(content) - _address(mapped)
    file.flush()
    end = position = file.tell()
    with suppress(OSError), mapped.reopen() as source:
        while (remaining := position + len(content) - end) and (
            count := copy(source.fileno(), file.fileno(), min(_CHUNK, remaining), start + end - position, end)
        ):
            end += count
            file.seek(end)
            yield end - position


def _mapped_file_of(content: object) -> MappedFile | None:
    base = owner_of(content).base if isinstance(content, np.ndarray) else content
    if isinstance(base, memoryview):
        base = base.obj
    return base if isinstance(base, MappedFile) else None


def _address(content: memoryview | mmap.mmap) -> int:
    return int(np.frombuffer(content, np.uint8).ctypes.data)
