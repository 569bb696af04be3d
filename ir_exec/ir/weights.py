"""The .bin: a file of bytes without a header, mapped into memory and decoded constant by constant.

Callers pass the element type, shape, offset and size from the .xml; these are checked against each other and the file
before anything is read.
"""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ir_exec.codes import Code
from ir_exec.errors import Location, WeightsError
from ir_exec.ir.mapped_file import MappedFile, Stamp
from ir_exec.ir.markup import LFS_HINT, LFS_POINTER
from ir_exec.ir.packing import CURRENT_ORDER, BitOrder, decode, packed_size
from ir_exec.ir.urls import is_url, replaced_suffix
from ir_exec.types import Array, ElementType, require_array_size

if TYPE_CHECKING:
    from ir_exec.ir.pairing import WeightsDigest
    from ir_exec.ir.remote import RemoteFile

__all__ = ["Weights", "default_weights_path", "spare_bytes"]

_MAX_OFFSET = 2**63 - 1

_XML = b"\xef\xbb\xbf<?xml"
"""The beginning of an .xml, with an optional byte order mark."""

_COPIED = 2**20
"""Maximum bytes of files that are read instead of mapped: later changes of such a file have no effect."""

_SMALL = 2**10
"""Maximum bytes of constants that are cached once decoded: every rule for axes and shapes reads them."""


def default_weights_path(path: str | os.PathLike[str]) -> str:
    """The path, or URL, of the weights of an .xml: its path with the extension .bin."""
    return replaced_suffix(os.fspath(path), ".bin")


def spare_bytes(element_type: ElementType, shape: tuple[int, ...], offset: int, size: int) -> int:
    """The number of unused bytes of a constant; OpenVINO reads the first ones.

    0 for strings, and for the one byte that OpenVINO writes for a constant without elements.

    Raises:
        WeightsError: IR205 offset, size or shape is negative or beyond 64 bits; IR204 the size is less than the
            elements need.
    """
    if not (0 <= offset <= _MAX_OFFSET and 0 <= size <= _MAX_OFFSET):
        raise WeightsError(f"invalid offset {offset} or size {size}", code=Code.constant_offset)
    if shape and min(shape) < 0:
        raise WeightsError(f"the shape {list(shape)} is invalid for a constant", code=Code.constant_offset)
    count = math.prod(shape)
    is_text = element_type is ElementType.string
    needed = 4 * (2 + count) if is_text else packed_size(element_type, count)
    if size < needed:
        raise WeightsError(
            "the size of the constant is",
            actual=size,
            expected=f"at least {needed}" if is_text else needed,
            reason=f"the bytes of {element_type}{list(shape)}",
            code=Code.constant_size,
        )
    return 0 if is_text or size <= max(needed, 1) else size - needed


class Weights:
    """The bytes of constants; `path` is None if they are not from a file.

    Arrays that were read keep the mapping alive, so the object may be deleted at any time. Files of up to 1 MiB are
    read whole. Larger ones must not change while they are mapped: reads of constants, and the start of a run, raise a
    WeightsError if size or time stamp have changed. Truncating a file while a run reads the removed bytes still ends
    the process; the operating system provides no alternative. Bytes in memory (`of_bytes`) are safe.

    `written` is the digest that ir_exec stored when it wrote the file, None for other files and for appended bytes.

    A pickle contains the path and a digest of the file, or the bytes themselves without a file. Unpickling maps the
    file again, and raises WeightsError if it has changed. A file with equal inode, size and time stamp is considered
    unchanged, without reading it for its digest.
    """

    __slots__ = ("_appended", "_bytes", "_decoded", "_digest", "_mapped", "_remote", "order", "path", "written")

    def __init__(self, stored: Array, path: str | None, order: BitOrder) -> None:
        self._bytes = stored
        self._appended: Array = np.empty(0, np.uint8)
        self._decoded: dict[tuple[ElementType, tuple[int, ...], int, int], Array] = {}
        self._digest: str | None = None
        self._mapped: MappedFile | None = None
        self._remote: RemoteFile | None = None
        self.path = path
        self.order = order
        self.written: WeightsDigest | None = None

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, order: BitOrder = CURRENT_ORDER) -> Self:
        """Map a file read-only, without reading it. URLs are fetched in blocks on demand.

        Raises:
            WeightsError: IR201 the file does not exist, cannot be read, or is an .xml; IR203 it is a Git LFS pointer.
        """
        name = os.fsdecode(path)
        if is_url(name):
            return cls._of_url(name, order)
        try:
            if os.path.exists(name) and not os.path.isfile(name):
                raise WeightsError(
                    "the weights are not a regular file", code=Code.weights_missing, location=Location(path=name)
                )
            with open(name, "rb") as file:
                status = os.fstat(file.fileno())
                mapped = MappedFile.of(name, file) if status.st_size > _COPIED else None
                stored = file.read(status.st_size) if mapped is None else mapped
        except (OSError, ValueError) as error:
            raise _unreadable(name, error) from None
        weights = cls(_not_a_pointer(np.frombuffer(stored, np.uint8), name), name, order)
        if mapped is not None:
            weights._mapped = mapped
        return weights

    @classmethod
    def _of_url(cls, url: str, order: BitOrder) -> Self:
        from ir_exec.ir.remote import RemoteFile  # few networks are elsewhere

        try:
            remote = RemoteFile.open(url)
            remote.require(0, len(LFS_POINTER))
        except OSError as error:
            raise _unreadable(url, error) from None
        weights = cls(_not_a_pointer(remote.stored, url), url, order)
        weights._remote = remote
        return weights

    def fetch(self) -> None:
        """Fetch the missing bytes of weights from a URL: all at once is faster than constant by constant."""
        self._require_here(0, len(self._bytes))

    def _require_here(self, offset: int, size: int) -> None:
        if self._remote is not None:
            try:
                self._remote.require(offset, size)
            except OSError as error:
                raise _unreadable(self._remote.url, error) from None

    @classmethod
    def of_bytes(cls, stored: bytes | bytearray | memoryview, *, order: BitOrder = CURRENT_ORDER) -> Self:
        """Weights in memory, without a copy.

        Raises:
            WeightsError: IR203 as `open` does.
        """
        view = np.frombuffer(stored, np.uint8)
        view.flags.writeable = False
        return cls(_not_a_pointer(view, None), None, order)

    def __reduce__(self) -> tuple[Any, ...]:
        if self.path is None:
            return _unpickle, (self._bytes.tobytes(), None, None, self._appended.tobytes(), self.order)
        if self._remote is not None and self._remote.version is not None:
            return _fetched_again, (self.path, self._remote.version, self._appended.tobytes(), self.order)
        path = self.path if self._remote is not None else os.path.abspath(self.path)
        stamp = None if self._mapped is None else self._mapped.stamp
        return _unpickle, (b"", path, self._sha256(), self._appended.tobytes(), self.order, stamp)

    def _sha256(self) -> str:
        from hashlib import sha256  # not needed for reading a model

        self.require_unchanged()
        self.fetch()
        if self._digest is None:
            self._digest = sha256(self._bytes.data).hexdigest()
        return self._digest

    @property
    def size(self) -> int:
        """The number of bytes."""
        return len(self._bytes) + len(self._appended)

    @property
    def file_size(self) -> int:
        """The number of bytes without the appended ones."""
        return len(self._bytes)

    def is_appended(self, offset: int) -> bool:
        """Return True if the bytes at an offset are appended ones."""
        return len(self._bytes) <= offset < self.size

    def append(self, extra: bytes) -> Weights:
        """Return the weights with more bytes appended; neither is copied."""
        longer = Weights(self._bytes, self.path, self.order)
        longer._mapped = self._mapped
        longer._remote = self._remote
        longer._appended = np.frombuffer(self._appended.tobytes() + extra, np.uint8)
        return longer

    def require_unchanged(self) -> None:
        """Raise WeightsError (IR200) if the mapped file was changed or truncated since it was opened."""
        if self._mapped is not None:
            self._mapped.require_unchanged()

    def check(self, element_type: ElementType, shape: tuple[int, ...], offset: int, size: int) -> int:
        """Check that a constant can be read, without reading it.

        Returns:
            The number of its unused bytes.

        Raises:
            WeightsError: As `spare_bytes` does; IR202 if the constant extends past the end of the weights, and IR204 if
                only its unused bytes do.
        """
        spare = spare_bytes(element_type, shape, offset, size)
        if offset + size <= self.size or math.prod(shape) == 0:
            return spare
        if spare and offset + size - spare <= self.size:
            raise WeightsError(
                "the size of the constant is",
                actual=size,
                detail="and past the end of the weights",
                expected=size - spare,
                reason=f"the bytes of {element_type}{list(shape)}",
                code=Code.constant_size,
            )
        raise WeightsError(
            f"the constant is in bytes {offset} to {offset + size} of the weights, which end at {self.size}",
            code=Code.weights_short,
            hint="check that this .bin belongs to this .xml and was copied completely",
        )

    def read(self, element_type: ElementType, shape: tuple[int, ...], offset: int, size: int) -> Array:
        """The constant as a read-only array of this shape: a view of the mapping if alignment allows, else a copy.

        Raises:
            WeightsError: As `check` does, and IR206 for damaged strings.
            ResourceError: For a shape that no array can have.
        """
        key = (element_type, shape, offset, size)
        array = self._decoded.get(key)
        if array is not None:
            return array
        self.check(element_type, shape, offset, size)
        require_array_size(shape, element_type.dtype.itemsize)
        if math.prod(shape) == 0:
            array = np.empty(shape, element_type.dtype)
        else:
            needed = size - spare_bytes(element_type, shape, offset, size)
            stored = self._read_bytes(offset, needed)
            array = decode(element_type, shape, stored, self.order)
            if self._mapped is not None and not np.may_share_memory(array, stored):
                self._mapped.forget(offset, needed)
        array.flags.writeable = False
        if size <= _SMALL:
            self._decoded[key] = array
        return array

    def read_packed(self, element_type: ElementType, shape: tuple[int, ...], offset: int, size: int) -> Array:
        """The bytes of a constant of 4-bit elements, the first in the low half: a view of the mapping or a copy.

        Raises:
            WeightsError: As `check` does.
        """
        self.check(element_type, shape, offset, size)
        stored = self._read_bytes(offset, packed_size(element_type, math.prod(shape)))
        return stored >> 4 | stored << 4 if self.order.high_nibble_first else stored

    def slice(self, offset: int, size: int) -> memoryview:
        """The bytes themselves, up to the end of the weights."""
        return self._read_bytes(offset, size).data

    def _read_bytes(self, offset: int, size: int) -> Array:
        end = len(self._bytes)
        self.require_unchanged()
        self._require_here(offset, size)
        return self._appended[offset - end :][:size] if offset >= end else self._bytes[offset : offset + size]

    def maps(self, array: Array) -> bool:
        """Return True if the memory of an array is the mapped file."""
        return self._mapped is not None and np.may_share_memory(array, self._bytes)

    def holds(self, array: Array) -> bool:
        """Return True if the memory of an array belongs to the weights."""
        return np.may_share_memory(array, self._bytes) or np.may_share_memory(array, self._appended)

    def forget(self, array: Array) -> None:
        """Release the memory of a contiguous array for which `maps` is True; its pages are read again if needed."""
        if self._mapped is not None:
            self._mapped.forget(array.ctypes.data - self._bytes.ctypes.data, array.nbytes)

    def close(self) -> None:
        """Close the file as soon as no array read from it is left; nothing can be read afterwards."""
        self._bytes = np.empty(0, np.uint8)
        self._mapped = self._remote = None
        self._decoded.clear()


def _unpickle(
    stored: bytes, path: str | None, digest: str | None, appended: bytes, order: BitOrder, stamp: Stamp | None = None
) -> Weights:
    weights = Weights.of_bytes(stored, order=order) if path is None else Weights.open(path, order=order)
    if stamp is not None and weights._mapped is not None and weights._mapped.stamp == stamp:
        weights._digest = digest
    if digest is not None and weights._sha256() != digest:
        message = "the weights have changed since the model was pickled"
        raise WeightsError(message, hint="read the model again", location=Location(path=path))
    return weights.append(appended) if appended else weights


def _fetched_again(url: str, version: str, appended: bytes, order: BitOrder) -> Weights:
    weights = Weights.open(url, order=order)
    if weights._remote is None or weights._remote.version != version:
        message = "the weights have changed since the model was pickled"
        raise WeightsError(message, hint="read the model again", location=Location(path=url))
    return weights.append(appended) if appended else weights


def _unreadable(path: str, error: OSError | ValueError) -> WeightsError:
    if isinstance(error, FileNotFoundError):
        message = "the weights file does not exist"
    else:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        message = f"cannot read the weights: {reason}"
    return WeightsError(message, code=Code.weights_missing, location=Location(path=path))


def _not_a_pointer(stored: Array, path: str | None) -> Array:
    if stored[: len(LFS_POINTER)].tobytes() == LFS_POINTER:
        raise WeightsError(
            "the weights are a Git LFS pointer instead of the file",
            code=Code.weights_lfs_pointer,
            hint=LFS_HINT,
            location=Location(path=path),
        )
    if stored[: len(_XML)].tobytes().removeprefix(b"\xef\xbb\xbf").startswith((b"<?xml", b"<net ")):
        raise WeightsError(
            "the weights are",
            actual="an .xml",
            expected="the .bin that belongs to it",
            code=Code.weights_missing,
            hint="pass the .bin as the weights, or none if it has the name of the .xml",
            location=Location(path=path),
        )
    return stored
