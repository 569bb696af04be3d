"""Files of arrays and text: lossless .npy for every element type, and atomic writes."""

from __future__ import annotations

import os
import tempfile
import zipfile
from collections.abc import Hashable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO

import numpy as np

from ir_exec.codes import Code
from ir_exec.debug.values.stored_arrays import damaged_file_error, read_npy
from ir_exec.errors import ResourceError, WeightsError
from ir_exec.ir.packing import decode_strings, encode
from ir_exec.ir.storage import replacing, temporary_folder
from ir_exec.types import STRING, Array, ElementType, element_types

__all__ = [
    "NATIVE",
    "RECORDS",
    "Spill",
    "nearest",
    "read_value",
    "storable",
    "store_npz",
    "unwritable",
    "write_file",
    "write_npz",
    "write_value",
]

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
