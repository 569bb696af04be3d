"""Arrays of .npz files, mapped if they are not compressed."""

from __future__ import annotations

import io
from math import prod

import numpy as np

from ir_exec.debug.values.files import read_npz
from ir_exec.debug.weights.readers.tensors import Checkpoint, CheckpointTensor, MappedTensor, MemoryTensor, refuse
from ir_exec.debug.weights.readers.zip_entries import ZipEntries, ZipEntry
from ir_exec.types import ElementType, convert

__all__ = ["read_npz_checkpoint"]

_MOST_HEADER = 2**16


def read_npz_checkpoint(path: str) -> Checkpoint:
    """Return the arrays of an .npz.

    Raises:
        IRError: If the file is damaged or too large for the memory.
    """
    entries = ZipEntries(path)
    tensors: dict[str, CheckpointTensor] = {}
    not_compared: list[str] = []
    if any(entry.offset is None for entry in entries.values()):
        for name, array in read_npz(path).items():
            try:
                numbers = convert(array, ElementType.f32)
                tensors[name] = MemoryTensor(name, numbers, ElementType.of(array).name, array.nbytes)
            except (ValueError, TypeError, KeyError):
                not_compared.append(name)
        return Checkpoint(path, "npz", tensors, tuple(not_compared))
    for entry in entries.values():
        name = entry.name.removesuffix(".npy")
        tensor = _read_entry(path, entries, entry, name)
        if tensor is None:
            not_compared.append(name)
        else:
            tensors[name] = tensor
    return Checkpoint(path, "npz", tensors, tuple(not_compared))


def _read_entry(path: str, entries: ZipEntries, entry: ZipEntry, name: str) -> MappedTensor | None:
    """The tensor of a stored entry; None if its elements are not numbers."""
    assert entry.offset is not None, "compressed files are read as a whole"
    start = io.BytesIO(bytes(entries.weights.slice(entry.offset, min(entry.size, _MOST_HEADER))))
    try:
        version = np.lib.format.read_magic(start)
        read_header = np.lib.format.read_array_header_1_0 if version[0] == 1 else np.lib.format.read_array_header_2_0
        shape, is_fortran, dtype = read_header(start)
    except Exception as error:  # the header is Python code, and its parser raises errors of the tokenizer
        refuse(path, f"the header of array {name!r} is damaged: {str(error)[:200]}")
    try:
        element_type = ElementType.of_dtype(dtype)
    except ValueError:
        return None
    if element_type.bits == 0:
        return None
    size = prod(shape) * dtype.itemsize
    if min(shape, default=0) < 0 or size != entry.size - start.tell():
        refuse(path, f"array {name!r} has", actual=entry.size - start.tell(), detail="bytes", expected=str(size),
               reason=f"the bytes of {element_type}{list(shape)}")  # fmt: skip
    return MappedTensor(name, element_type, shape, entries.weights, entry.offset + start.tell(), is_fortran)
