"""Arrays in .npz files: by which names inputs find them there, and how element types are written that .npy has not."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Mapping, Sequence
from typing import IO

import numpy as np

from ir_exec.model import ModelPort
from ir_exec.types import STRING, Array, ElementType, element_types

__all__ = ["NATIVE", "RECORDS", "as_native", "port_of_key", "write_npz"]

RECORDS = element_types("u1 u3 u6 nf4")
NATIVE = element_types("boolean f16 f32 f64 i8 i16 i32 i64 u8 u16 u32 u64") | RECORDS
"""The element types of .npy files; other types are stored as the nearest of these."""


def as_native(array: Array) -> Array:
    """The array as .npy files can hold it: other element types as f32, i8 or u8."""
    kind = ElementType.of(array)
    if kind in STRING:
        return array.astype(np.str_)
    if kind in NATIVE:
        return array
    return array.astype(np.float32 if kind.is_float else np.int8 if kind.is_signed else np.uint8)


def write_npz(file: IO[bytes], arrays: Mapping[str, Array]) -> None:
    """Write an .npz with these names as keys; what .npy cannot hold is written as f32, i8 or u8."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                np.lib.format.write_array(entry, as_native(array), allow_pickle=False)


def port_of_key(key: str, ports: Sequence[ModelPort]) -> ModelPort | None:
    """The input that an array in a file is for: one of its names, or in0, in1, ..."""
    for port in ports:
        if key == port.name or key in port.names:
            return port
    match = re.fullmatch(r"in(\d{1,6})", key)
    return ports[int(match[1])] if match and int(match[1]) < len(ports) else None
