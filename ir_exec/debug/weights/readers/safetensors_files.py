"""Files of safetensors: a length, a JSON header with the type, shape and bytes of each tensor, and the bytes.

The format is read here instead of by its library: that one copies tensors, has no types of less than 16 bits in NumPy,
and does not report the place of a fault. Sharded checkpoints have `model.safetensors.index.json` with the file of each
tensor.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from itertools import pairwise
from math import prod
from typing import Any, TypeGuard

import numpy as np

from ir_exec.debug.weights.readers.tensors import Checkpoint, MappedTensor, refuse
from ir_exec.ir import Weights
from ir_exec.ir.packing import packed_size
from ir_exec.ir.regular_files import open_regular
from ir_exec.types import ElementType

__all__ = ["read_index", "read_safetensors"]

_TYPES = {
    "F64": ElementType.f64,
    "F32": ElementType.f32,
    "F16": ElementType.f16,
    "BF16": ElementType.bf16,
    "F8_E4M3": ElementType.f8e4m3,
    "F8_E5M2": ElementType.f8e5m2,
    "F8_E8M0": ElementType.f8e8m0,
    "F4": ElementType.f4e2m1,
    "I64": ElementType.i64,
    "I32": ElementType.i32,
    "I16": ElementType.i16,
    "I8": ElementType.i8,
    "U64": ElementType.u64,
    "U32": ElementType.u32,
    "U16": ElementType.u16,
    "U8": ElementType.u8,
    "BOOL": ElementType.boolean,
}

_MOST_HEADER = 100_000_000
"""Maximum bytes of a header, as in the format's own library."""

_MOST_INDEX = 2**28
_LENGTH = 8


def read_safetensors(path: str) -> Checkpoint:
    """Return the tensors of a file.

    Raises:
        WeightsError: If the file cannot be read or its header is wrong.
    """
    weights = Weights.open(path)
    start, header = _read_header(path, weights)
    settings = header.pop("__metadata__", {})
    tensors: dict[str, MappedTensor] = {}
    not_compared: list[str] = []
    ranges: list[tuple[int, int, str]] = []
    for name, entry in header.items():
        type_name, shape, begin, end = _read_entry(path, name, entry, weights.size - start)
        ranges.append((begin, end, name))
        element_type = _TYPES.get(type_name)
        if element_type is None:
            not_compared.append(name)
            continue
        size = packed_size(element_type, prod(shape))
        if size != end - begin:
            refuse(path, f"tensor {name!r} has", actual=end - begin, detail="bytes", expected=f"{size}",
                   reason=f"the bytes of {element_type}{list(shape)}")  # fmt: skip
        tensors[name] = MappedTensor(name, element_type, shape, weights, start + begin)
    _require_disjoint(path, ranges)
    return Checkpoint(path, "safetensors", tensors, tuple(not_compared), settings if isinstance(settings, dict) else {})


def read_index(path: str) -> Checkpoint:
    """Return the tensors of all files that an index names.

    Raises:
        WeightsError: If the index or one of its files is wrong, or a name is not that of a file in the same folder.
    """
    with open_regular(path) as file:
        index = _parse_object(path, file.read(_MOST_INDEX))
    files = index.get("weight_map")
    if not isinstance(files, dict) or not all(isinstance(name, str) for name in files.values()):
        refuse(path, "the index has no map of tensors to files", expected="an object weight_map of file names")
    folder = os.path.dirname(path)
    for name in files.values():
        if name != os.path.basename(name) or name in ("", ".", "..") or "\\" in name or "\0" in name:
            refuse(path, f"the index names the file {name!r}", expected="a name without folders")
    shards = {name: read_safetensors(os.path.join(folder, name)) for name in sorted({*files.values()})}
    tensors: dict[str, MappedTensor] = {}
    for shard in shards.values():
        for name, tensor in shard.tensors.items():
            if name in tensors:
                refuse(path, f"tensor {name!r} is in two files", expected="one")
            assert isinstance(tensor, MappedTensor), "safetensors files are mapped"
            tensors[name] = tensor
    not_compared = tuple([name for shard in shards.values() for name in shard.not_compared])
    for name, shard_name in files.items():
        if name not in shards[shard_name].tensors and name not in not_compared:
            refuse(path, f"tensor {name!r} is not in {shard_name}", expected="the tensors that the index names")
    return Checkpoint(path, "safetensors", tensors, not_compared)


def _read_header(path: str, weights: Weights) -> tuple[int, dict[str, Any]]:
    """The offset of the data, and the header."""
    if weights.size < _LENGTH:
        refuse(path, "the file has", actual=weights.size, detail="bytes", expected="a header of safetensors")
    length = int(np.frombuffer(weights.slice(0, _LENGTH), "<u8")[0])
    if length > min(weights.size - _LENGTH, _MOST_HEADER):
        limit = min(weights.size - _LENGTH, _MOST_HEADER)
        refuse(path, "the header has", actual=length, detail="bytes", expected=f"at most {limit}")
    return _LENGTH + length, _parse_object(path, bytes(weights.slice(_LENGTH, length)))


def _parse_object(path: str, text: bytes) -> dict[str, Any]:
    def collect(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        entries = dict(pairs)
        if len(entries) != len(pairs):
            names = [name for name, _ in pairs]
            refuse(path, f"the name {next(name for name in names if names.count(name) > 1)!r} is repeated",
                   expected="each name once")  # fmt: skip
        return entries

    try:
        content = json.loads(text.decode("utf-8"), object_pairs_hook=collect)
    except (ValueError, RecursionError) as error:
        refuse(path, f"the header is not JSON: {error or 'nested too deeply'}")
    if not isinstance(content, dict):
        refuse(path, "the header is not an object", expected="names of tensors and their types")
    return content


def _read_entry(path: str, name: str, entry: object, most: int) -> tuple[str, tuple[int, ...], int, int]:
    """The type, the shape and the range of bytes of a tensor."""
    fields = entry if isinstance(entry, Mapping) else {}
    type_name, shape, offsets = fields.get("dtype"), fields.get("shape"), fields.get("data_offsets")
    if not isinstance(type_name, str) or not _are_sizes(shape) or not _are_sizes(offsets) or len(offsets) != 2:
        refuse(path, f"the entry of tensor {name!r} is", actual=repr(entry)[:80], expected="dtype, shape, data_offsets")
    begin, end = offsets
    if not begin <= end <= most:
        refuse(path, f"tensor {name!r} is in bytes", actual=f"{begin} to {end}", expected=f"a range within 0 to {most}")
    if len(shape) > 64 or prod(shape) > 2**62:
        refuse(path, f"tensor {name!r} has the shape", actual=shape, expected="at most 64 axes and 2**62 elements")
    return type_name, tuple(shape), begin, end


def _are_sizes(numbers: Any) -> TypeGuard[list[int]]:
    return isinstance(numbers, list) and all(
        isinstance(number, int) and not isinstance(number, bool) and 0 <= number < 2**63 for number in numbers
    )


def _require_disjoint(path: str, ranges: list[tuple[int, int, str]]) -> None:
    for (_, end, name), (begin, _, other) in pairwise(sorted(entry for entry in ranges if entry[0] < entry[1])):
        if begin < end:
            refuse(path, f"the bytes of tensors {name!r} and {other!r} overlap", expected="separate ones")
