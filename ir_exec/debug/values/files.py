"""Files of arrays and text: lossless .npy for every element type, and atomic writes.

Headers, sizes and compression of a .npy or .npz file may be wrong. Nothing is allocated before the declared size was
compared with the bytes of the file and with the memory of the machine, and nothing in a file is executed. Every reader
of these files uses this module.
"""

from __future__ import annotations

import ast
import os
import re
import tempfile
import zipfile
from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import lru_cache
from io import BytesIO
from math import prod
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from ir_exec.codes import Code
from ir_exec.errors import EvaluationError, IRError, ResourceError, WeightsError
from ir_exec.hints import path_hint
from ir_exec.ir.packing import decode_strings, encode
from ir_exec.ir.regular_files import open_regular
from ir_exec.ir.storage import replacing, temporary_folder
from ir_exec.plan.memory import default_budget
from ir_exec.types import STRING, Array, ElementType, element_types

__all__ = [
    "NATIVE",
    "RECORDS",
    "Spill",
    "as_damaged_file",
    "damaged_file_error",
    "decode_npy",
    "nearest",
    "read_npy",
    "read_npz",
    "read_stored",
    "read_value",
    "storable",
    "store_npz",
    "unwritable",
    "write_file",
    "write_npz",
    "write_value",
]

_MAGIC = b"\x93NUMPY"
_VERSIONS = {(1, 0): (2, "latin-1"), (2, 0): (4, "latin-1"), (3, 0): (4, "utf-8")}
"""The bytes of the length and the encoding of a header, by version."""

_MOST_HEADER = 10_000
"""Maximum bytes of a header, as in NumPy: Python's parser may fail on longer ones."""

_KEYS = {"descr", "fortran_order", "shape"}
_LONG = re.compile(r"(?<=\d)L\b")
"""The suffix of integers in headers that Python 2 wrote."""

_CHUNK = 2**20


class _Header(NamedTuple):
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    is_fortran: bool

    @property
    def size(self) -> int:
        """The bytes of the elements."""
        return prod(self.shape) * self.dtype.itemsize


def read_npy(path: str | os.PathLike[str], *, mapped: bool = False) -> Array:
    """Return the array of an .npy.

    Args:
        mapped: Map the file instead of reading it; arrays without elements are not mapped.

    Raises:
        EvaluationError: IR001 if there is no such file, IR705 if it cannot be read.
        ResourceError: If the array exceeds the memory of the machine.
    """
    with as_damaged_file(path), open_regular(path) as file:
        return _read_file(file, mapped=mapped)


def read_npz(
    path: str | os.PathLike[str], *, most_bytes: int | None = None, name: str | None = None
) -> dict[str, Array]:
    """Return all arrays of an .npz by name.

    Args:
        most_bytes: Maximum bytes of all arrays; by default the memory of the machine.
        name: The name of the file in messages; its path by default.

    Raises:
        EvaluationError: IR001 if there is no such file, IR705 if it cannot be read.
        ResourceError: If the arrays exceed `most_bytes`.
    """
    with as_damaged_file(name or path), open_regular(path) as file:
        if not zipfile.is_zipfile(file):
            raise ValueError("the content is not .npz")
        return _read_archive(file, most_bytes)


def read_stored(path: str | os.PathLike[str], *, name: str | None = None) -> Array | dict[str, Array]:
    """Return the array of an .npy, or the arrays of an .npz by name, as the content of the file requires.

    Args:
        name: The name of the file in messages; its path by default.

    Raises:
        IRError: The errors of `read_npy` and `read_npz`.
    """
    with as_damaged_file(name or path), open_regular(path) as file:
        start = file.read(len(_MAGIC))
        file.seek(0)
        if start == _MAGIC:
            return _read_file(file, mapped=False)
        if start.startswith(b"PK") and zipfile.is_zipfile(file):
            return _read_archive(file, None)
        raise ValueError("the content is neither .npy nor .npz")


def decode_npy(content: bytes) -> Array:
    """Return the array of the bytes of an .npy, or of an .npz with one array.

    Raises:
        ValueError: If the content cannot be read; also the exceptions of zipfile and of the decompressors.
        ResourceError: If the array exceeds the memory of the machine.
    """
    file = BytesIO(content)
    if content.startswith(_MAGIC):
        header = _read_header(file)
        available = len(content) - file.tell()
        if header.size > available:
            raise ValueError(f"the header declares {header.size:,} bytes of elements, but {available:,} follow")
        _require_memory(header.size)
        return _read_elements(file, header)
    arrays = _read_archive(file, None)
    if len(arrays) != 1:
        raise ValueError(f"the .npz has {len(arrays)} arrays, expected one")
    return next(iter(arrays.values()))


@contextmanager
def as_damaged_file(path: str | os.PathLike[str]) -> Iterator[None]:
    """Convert the exceptions of a damaged file, which NumPy, zipfile and the decompressors do not list, to IRError."""
    try:
        yield
    except IRError:
        raise
    except MemoryError:
        raise ResourceError(f"{os.fspath(path)} cannot be read: its arrays do not fit into memory") from None
    except Exception as error:
        raise damaged_file_error(path, error) from None


def damaged_file_error(path: str | os.PathLike[str], error: Exception) -> EvaluationError:
    """Return the error for a file that cannot be read or has unexpected contents."""
    reason = error.strerror if isinstance(error, OSError) and error.strerror else getattr(error, "message", str(error))
    reason = reason.strip("'\"") if isinstance(error, KeyError) else reason or type(error).__name__
    code = Code.unreadable_path if isinstance(error, FileNotFoundError) else Code.unknown_input
    hint = _objects_hint(error)
    reason = "the file contains an array of Python objects" if hint else reason
    if code == Code.unreadable_path:
        hint = path_hint(os.fspath(path))
    return EvaluationError(f"{os.fspath(path)} cannot be read: {reason}", code=code, hint=hint)


def _objects_hint(error: Exception) -> str | None:
    """Return the hint for arrays of Python objects, which NumPy stores as pickles; None for other errors."""
    # NumPy reports "pickled data" for any unknown contents.
    if not str(error).startswith("Object arrays"):
        return None
    return "save numbers or text, array.astype('float32') or 'str': reading objects would run code from the file"


def _read_file(file: IO[bytes], *, mapped: bool) -> Array:
    header = _read_header(file)
    offset = file.tell()
    available = os.fstat(file.fileno()).st_size - offset
    if header.size > available:
        raise ValueError(f"the header declares {header.size:,} bytes of elements, but the file has {available:,}")
    if mapped and header.size:
        order = "F" if header.is_fortran else "C"
        # An open file keeps its identity, and its name is not looked up again.
        mapped_array: Any = np.memmap(file, header.dtype, "r", offset, header.shape, order)  # type: ignore[call-overload]
        return np.asarray(mapped_array)
    _require_memory(header.size)
    return _read_elements(file, header)


def _read_archive(file: IO[bytes], most_bytes: int | None) -> dict[str, Array]:
    arrays: dict[str, Array] = {}
    total = 0
    with zipfile.ZipFile(file) as archive:
        for info in archive.infolist():
            if not info.filename.endswith(".npy"):
                raise ValueError(f"the member {info.filename!r} is not an array")
            with archive.open(info) as member:
                header = _read_header(member)
                available = info.file_size - member.tell()
                if header.size > available:
                    declared = f"{header.size:,} bytes of elements"
                    message = f"the header of {info.filename!r} declares {declared}, but the member has {available:,}"
                    raise ValueError(message)
                total += header.size
                _require_memory(total, most_bytes)
                arrays[info.filename.removesuffix(".npy")] = _read_elements(member, header)
    return arrays


def _require_memory(size: int, most_bytes: int | None = None) -> None:
    budget = default_budget() if most_bytes is None else min(most_bytes, default_budget())
    if size > budget:
        raise ResourceError("the arrays take", actual=f"{size:,}", detail="bytes", expected=f"at most {budget:,}")


def _read_header(file: IO[bytes]) -> _Header:
    start = _read_exactly(file, len(_MAGIC) + 2)
    version = start[-2], start[-1]
    if not start.startswith(_MAGIC):
        raise ValueError("the content is not .npy")
    if version not in _VERSIONS:
        raise ValueError(f"the format has version {version[0]}.{version[1]}, expected 1.0, 2.0 or 3.0")
    width, encoding = _VERSIONS[version]
    length = int.from_bytes(_read_exactly(file, width), "little")
    if length > _MOST_HEADER:
        raise ValueError(f"the header has {length:,} bytes, expected at most {_MOST_HEADER:,}")
    return _parse_header(_LONG.sub("", _read_exactly(file, length).decode(encoding)))


@lru_cache(maxsize=64)
def _parse_header(text: str) -> _Header:
    """Parse a header; files of one model repeat a few of them."""
    try:
        header = ast.literal_eval(text.strip())
        if not isinstance(header, dict) or header.keys() != _KEYS:
            raise ValueError
        shape, is_fortran = header["shape"], header["fortran_order"]
        dtype = np.lib.format.descr_to_dtype(header["descr"])
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError, KeyError, IndexError, OverflowError):
        raise ValueError("the header does not describe an array") from None
    if not isinstance(shape, tuple) or not isinstance(is_fortran, bool) or not all(map(_is_dim, shape)):
        raise ValueError(f"the shape is {repr(shape)[:100]}, expected a tuple of sizes")
    if dtype.hasobject:
        raise ValueError("Object arrays are pickles")
    if dtype.subdtype is not None or (not dtype.itemsize and prod(shape)):
        raise ValueError(f"the element type is {dtype}, expected numbers or text")
    return _Header(shape, dtype, is_fortran)


def _is_dim(dim: object) -> bool:
    return isinstance(dim, int) and not isinstance(dim, bool) and 0 <= dim < 2**63


def _read_exactly(file: IO[bytes], size: int) -> bytes:
    content = file.read(size)
    if len(content) < size:
        raise EOFError("the file ends within its header")
    return content


def _read_elements(file: IO[bytes], header: _Header) -> Array:
    shape = header.shape[::-1] if header.is_fortran else header.shape
    array: Array = np.empty(shape, header.dtype)
    if array.size:
        content = array.reshape(-1).view(np.uint8).data
        at = 0
        while at < len(content):
            chunk = file.read(min(_CHUNK, len(content) - at))
            if not chunk:
                raise EOFError(f"the elements end after {at:,} of {len(content):,} bytes")
            content[at : at + len(chunk)] = chunk
            at += len(chunk)
    # At the end of a member, zipfile compares its checksum.
    file.read(1)
    return array.T if header.is_fortran else array


NATIVE = element_types("boolean f16 f32 f64 i8 i16 i32 i64 u8 u16 u32 u64")
"""Types that .npy supports directly. Others are stored as the bits of their elements, strings packed as in a .bin."""

RECORDS = element_types("u1 u3 u6 nf4")
"""Types whose dtype is a record of one byte."""


def write_value(path: str | os.PathLike[str], array: Array) -> None:
    """Write an array to a new .npy.

    Raises:
        OSError: If writing fails; no file is left.
    """
    element_type = ElementType.of(array)
    stored = array
    if element_type in STRING:
        stored = np.frombuffer(encode(array), np.uint8)
    elif element_type not in NATIVE:
        stored = np.ascontiguousarray(array).reshape(array.shape).view(f"u{array.dtype.itemsize}")
    try:
        with open(path, "xb") as file:
            np.lib.format.write_array(file, np.asanyarray(stored), allow_pickle=False)
    except FileExistsError:
        raise
    except BaseException:
        with suppress(OSError):
            os.remove(path)
        raise


def read_value(path: str | os.PathLike[str], element_type: ElementType, shape: tuple[int, ...]) -> Array:
    """Return the array of this type and shape that `write_value` wrote, memory-mapped if possible.

    Raises:
        EvaluationError: For a file that is damaged or contains a different array.
    """
    try:
        stored = read_npy(path, mapped=True)
        if element_type in STRING:
            return decode_strings(stored, shape)
        expected = element_type.dtype if element_type in NATIVE else np.dtype(f"u{element_type.dtype.itemsize}")
        if stored.dtype != expected or stored.shape != shape:
            raise ValueError(f"the array is {stored.dtype}{list(stored.shape)}, expected {element_type}{list(shape)}")
        return stored.view(element_type.dtype)
    except (ValueError, WeightsError) as error:
        raise damaged_file_error(path, error) from None


def unwritable(path: str | os.PathLike[str], error: OSError) -> ResourceError:
    """Return the error IR009 for a file that cannot be written, also on a full disk."""
    return ResourceError(f"cannot write {os.fspath(path)}: {error.strerror or error}", code=Code.unwritable)


def write_file(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a text file that is complete before it replaces an older one.

    Raises:
        OSError: If that fails.
    """
    with replacing(path) as file:
        file.write(content)


def storable(array: Array) -> Array:
    """Return an array for readable .npz files: types that .npy lacks are converted to f32, i8 or u8 without loss."""
    element_type = ElementType.of(array)
    if element_type in STRING:
        return array.astype(np.str_)
    if element_type in NATIVE | RECORDS:
        return array
    return array.astype(np.float32 if element_type.is_float else np.int8 if element_type.is_signed else np.uint8)


def store_npz(file: IO[bytes], arrays: Mapping[str, Array]) -> None:
    """Write an .npz with these names as keys; `nearest` converts its arrays back to their types."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        for name, array in arrays.items():
            # ZipInfo has a fixed time stamp: equal arrays give equal files.
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as member:
                np.lib.format.write_array(member, storable(array), allow_pickle=False)


def write_npz(path: str | os.PathLike[str], arrays: Mapping[str, Array]) -> None:
    """Write an .npz that is complete before it replaces an older one.

    Raises:
        ResourceError: IR009 if that fails.
    """
    try:
        with replacing(path, "npz") as file:
            store_npz(file, arrays)
    except OSError as error:
        raise unwritable(path, error) from None


def nearest(array: Array, element_type: ElementType) -> Array:
    """Return an array of a file in the element type that it represents, for types that .npy lacks.

    Arrays of ml_dtypes, which NumPy writes as untyped bytes, are reinterpreted; numbers are cast.
    """
    if not element_type.is_known or array.dtype == element_type.dtype or element_type in NATIVE:
        return array
    if element_type in STRING:
        return array.astype(object)
    if array.dtype.kind in "Vu" and array.dtype.itemsize == element_type.dtype.itemsize and array.dtype.kind == "V":
        return array.view(element_type.dtype)
    return (
        array.astype(element_type.dtype) if array.dtype.kind in "biuf" and element_type.dtype.names is None else array
    )


class Spill:
    """Arrays by key: up to `budget` bytes in memory, further ones in a temporary folder until `close`.

    Raises:
        ResourceError: If the disk is full.
    """

    def __init__(self, budget: int = 2**26) -> None:
        self._free = budget
        self._kept: dict[Hashable, Array] = {}
        self._stored: dict[Hashable, tuple[Path, ElementType, tuple[int, ...]]] = {}
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def put(self, key: Hashable, array: Array) -> None:
        if self.reserve(array.nbytes) or array.dtype == object:
            self._kept[key] = array
            return
        if self._folder is None:
            self._folder = temporary_folder()
        path = Path(self._folder.name, f"{len(self._stored)}.npy")
        try:
            write_value(path, array)
        except OSError as error:
            raise unwritable(path, error) from None
        self._stored[key] = (path, ElementType.of(array), array.shape)

    def reserve(self, size: int) -> bool:
        """Reserve bytes in memory and return True if the budget allows them."""
        if size > self._free:
            return False
        self._free -= size
        return True

    def get(self, key: Hashable) -> Array | None:
        array = self._kept.get(key)
        if array is None and key in self._stored:
            return read_value(*self._stored[key])
        return array

    def __contains__(self, key: Hashable) -> bool:
        return key in self._kept or key in self._stored

    def close(self) -> None:
        self._kept.clear()
        self._stored.clear()
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None
