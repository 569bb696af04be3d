"""Checkpoints of PyTorch, without PyTorch and without executing their pickles.

A file is a .zip with `data.pkl`, which refers to entries with the bytes of each tensor. The unpickler accepts only the
functions that rebuild tensors and the containers of a state dict, by name; what it calls are functions of this module
that describe tensors. They are copied for each file, because a pickle may set their attributes.
"""

from __future__ import annotations

import io
import json
import os
import pickle
import pickletools
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from math import prod
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

from ir_exec.debug.weights.readers.tensors import Checkpoint, CheckpointTensor, MappedTensor, MemoryTensor, refuse
from ir_exec.debug.weights.readers.zip_entries import ZipEntries
from ir_exec.errors import IRError
from ir_exec.ir.packing import packed_size
from ir_exec.types import MOST_AXES, Array, ElementType, convert

__all__ = ["read_torch"]

_TYPES = {
    "DoubleStorage": ElementType.f64,
    "FloatStorage": ElementType.f32,
    "HalfStorage": ElementType.f16,
    "BFloat16Storage": ElementType.bf16,
    "LongStorage": ElementType.i64,
    "IntStorage": ElementType.i32,
    "ShortStorage": ElementType.i16,
    "CharStorage": ElementType.i8,
    "ByteStorage": ElementType.u8,
    "BoolStorage": ElementType.boolean,
    "float64": ElementType.f64,
    "float32": ElementType.f32,
    "float16": ElementType.f16,
    "bfloat16": ElementType.bf16,
    "float8_e4m3fn": ElementType.f8e4m3,
    "float8_e5m2": ElementType.f8e5m2,
    "int64": ElementType.i64,
    "int32": ElementType.i32,
    "int16": ElementType.i16,
    "int8": ElementType.i8,
    "uint8": ElementType.u8,
    "bool": ElementType.boolean,
}
"""Element types by the names of storages and dtypes in PyTorch."""

_INSTRUCTIONS = frozenset(
    {
        *("PROTO", "FRAME", "STOP", "MARK", "POP", "POP_MARK", "DUP", "NONE", "NEWTRUE", "NEWFALSE"),
        *("INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT"),
        *("UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8", "STRING", "BINSTRING", "SHORT_BINSTRING"),
        *("EMPTY_TUPLE", "TUPLE", "TUPLE1", "TUPLE2", "TUPLE3", "EMPTY_LIST", "LIST", "APPEND", "APPENDS"),
        *("EMPTY_DICT", "DICT", "SETITEM", "SETITEMS", "PUT", "BINPUT", "LONG_BINPUT", "MEMOIZE"),
        *("GET", "BINGET", "LONG_BINGET", "GLOBAL", "STACK_GLOBAL", "REDUCE", "BUILD", "BINPERSID"),
    }
)
"""The instructions of a pickle that state dicts need."""

_MOST_PICKLE = 2**28
_MOST_TENSORS = 2**20
_DEEPEST = 16


class _Storage(NamedTuple):
    """The bytes of an entry; the name of its type is empty for storages without one."""

    type_name: str
    key: str


class _View(NamedTuple):
    """A tensor: part of a storage."""

    storage: _Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    element_type: ElementType


def _view(storage: Any, offset: Any, shape: Any, strides: Any, *details: Any) -> _View:
    """Describe a tensor: what `torch._utils._rebuild_tensor_v2` and its variants build."""
    if not isinstance(storage, _Storage) or not isinstance(shape, tuple) or not isinstance(strides, tuple):
        raise pickle.UnpicklingError("a tensor has no storage, shape or strides")
    type_names = [detail for detail in (*details, storage.type_name) if isinstance(detail, str) and detail in _TYPES]
    numbers = (offset, *shape, *strides)
    if not type_names or len(shape) != len(strides) or len(shape) > MOST_AXES:
        raise pickle.UnpicklingError("a tensor has no known type, or another number of strides than of axes")
    if not all(type(number) is int and 0 <= number < 2**62 for number in numbers):
        raise pickle.UnpicklingError("a tensor has an invalid offset, shape or stride")
    return _View(storage, offset, shape, strides, _TYPES[type_names[0]])


def _parameter(data: Any, *details: Any) -> Any:
    """The tensor of `torch._utils._rebuild_parameter`."""
    return data


def _size(dims: Any = ()) -> tuple[Any, ...]:
    """The dims of `torch.Size`."""
    return tuple(dims)


def _dictionary(pairs: Any = ()) -> dict[Any, Any]:
    """The entries of `collections.OrderedDict`; a dict without attributes."""
    return OrderedDict(pairs)


_FUNCTIONS: Mapping[tuple[str, str], Any] = {
    ("torch._utils", "_rebuild_tensor_v2"): _view,
    ("torch._utils", "_rebuild_tensor_v3"): _view,
    ("torch._utils", "_rebuild_tensor"): _view,
    ("torch._utils", "_rebuild_parameter"): _parameter,
    ("torch._utils", "_rebuild_parameter_with_state"): _parameter,
    ("torch", "Size"): _size,
    ("collections", "OrderedDict"): _dictionary,
}


class _Unpickler(pickle.Unpickler):
    """An unpickler that accepts the names of state dicts, and imports none of them."""

    def __init__(self, content: bytes) -> None:
        super().__init__(io.BytesIO(content), encoding="utf-8")
        self._functions = {
            name: FunctionType(function.__code__, globals(), function.__name__, function.__defaults__)
            for name, function in _FUNCTIONS.items()
        }

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in self._functions:
            return self._functions[module, name]
        if module in ("torch", "torch.storage") and (name in _TYPES or name == "UntypedStorage"):
            return name
        raise pickle.UnpicklingError(f"it refers to {module}.{name}, expected only tensors")

    def persistent_load(self, pid: Any) -> _Storage:
        if not isinstance(pid, tuple) or len(pid) != 5 or pid[0] != "storage" or not isinstance(pid[1], str):
            raise pickle.UnpicklingError("it refers to an unknown object")
        return _Storage(pid[1], str(pid[2])[:200])


def _unpickle(content: bytes) -> Any:
    for instruction, argument, _ in pickletools.genops(content):
        if instruction.name not in _INSTRUCTIONS:
            raise pickle.UnpicklingError(f"it has the instruction {instruction.name}, expected only tensors")
        # The table of the unpickler grows to the largest index.
        if instruction.name.endswith("PUT") and int(argument or 0) > len(content):
            raise pickle.UnpicklingError("it has an index beyond its size")
    return _Unpickler(content).load()


def read_torch(path: str) -> Checkpoint:
    """Return the tensors of a .pt, .pth or .bin; a `pytorch_model.bin.index.json` names several.

    Raises:
        WeightsError: If the file is damaged, or contains anything but tensors and plain values.
    """
    if path.endswith(".json"):
        return _read_index(path)
    entries = ZipEntries(path)
    pickles = [name for name in entries if name.endswith("/data.pkl") or name == "data.pkl"]
    if len(pickles) != 1:
        refuse(path, "the file has", actual=len(pickles), detail="entries data.pkl", expected="1",
               hint="save the state dict with torch.save of PyTorch 1.6 or later")  # fmt: skip
    prefix = pickles[0].removesuffix("data.pkl")
    if entries.get(f"{prefix}byteorder") is not None and entries.read(f"{prefix}byteorder", 16) != b"little":
        refuse(path, "the bytes are big-endian", expected="little-endian")
    try:
        content = _unpickle(entries.read(pickles[0], _MOST_PICKLE))
    except IRError:
        raise
    except Exception as error:  # a damaged pickle raises what its instructions happen to do
        refuse(path, f"the pickle of the file is not a state dict: {str(error)[:200]}",
               hint="save model.state_dict() as safetensors")  # fmt: skip
    tensors: dict[str, CheckpointTensor] = {}
    for name, view in _walk(path, content, "", 0):
        if len(tensors) >= _MOST_TENSORS:
            refuse(path, "the file has more tensors", expected=f"at most {_MOST_TENSORS}")
        tensors[name] = _tensor(path, entries, f"{prefix}data/{view.storage.key}", name, view)
    if not tensors:
        refuse(path, "the file has no tensors", expected="a state dict")
    return Checkpoint(path, "torch", tensors)


def _read_index(path: str) -> Checkpoint:
    with open(path, encoding="utf-8") as file:
        try:
            names = sorted({*json.load(file)["weight_map"].values()})
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            refuse(path, "the index has no map of tensors to files", expected="an object weight_map of file names")
    tensors: dict[str, CheckpointTensor] = {}
    for name in names:
        if not isinstance(name, str) or name != os.path.basename(name) or name in ("", ".", ".."):
            refuse(path, f"the index names the file {name!r}", expected="a name without folders")
        tensors |= read_torch(os.path.join(os.path.dirname(path), name)).tensors
    return Checkpoint(path, "torch", tensors)


def _walk(path: str, content: Any, prefix: str, depth: int) -> Iterator[tuple[str, _View]]:
    """The tensors of nested dictionaries; `state_dict` and `model` add nothing to the names."""
    if depth > _DEEPEST:
        refuse(path, "the state dict is nested too deeply", expected=f"at most {_DEEPEST} levels")
    if not isinstance(content, dict):
        return
    for key, value in content.items():
        name = str(key)
        is_wrapper = not prefix and name in ("state_dict", "model", "module", "model_state_dict")
        label = prefix if is_wrapper and isinstance(value, dict) else f"{prefix}{name}"
        if isinstance(value, _View):
            yield label, value
        elif isinstance(value, dict):
            yield from _walk(path, value, f"{label}." if label else "", depth + 1)


def _tensor(path: str, entries: ZipEntries, key: str, name: str, view: _View) -> CheckpointTensor:
    entry = entries.get(key)
    element_type = view.element_type
    if entry is None:
        refuse(path, f"the bytes of tensor {name!r} are missing", expected=f"an entry {key}")
    last = view.offset + sum((size - 1) * stride for size, stride in zip(view.shape, view.strides, strict=True))
    count = prod(view.shape)
    if count and packed_size(element_type, last + 1) > entry.size:
        refuse(path, f"tensor {name!r} reads to byte", actual=packed_size(element_type, last + 1),
               expected=f"at most {entry.size}")  # fmt: skip
    if entry.offset is None:
        refuse(path, f"the entry {key} is compressed", expected="a stored one")
    start = entry.offset + view.offset * element_type.bits // 8
    if count == 0 or _is_contiguous(view):
        return MappedTensor(name, element_type, view.shape, entries.weights, start)
    if _is_contiguous(_View(view.storage, view.offset, view.shape[::-1], view.strides[::-1], element_type)):
        return MappedTensor(name, element_type, view.shape, entries.weights, start, is_column_major=True)
    return _read_strided(entries, entry.offset, entry.size, name, view)


def _is_contiguous(view: _View) -> bool:
    expected = 1
    for size, stride in zip(view.shape[::-1], view.strides[::-1], strict=True):
        if size != 1 and stride != expected:
            return False
        expected *= size
    return True


def _read_strided(entries: ZipEntries, offset: int, size: int, name: str, view: _View) -> MemoryTensor:
    """A tensor whose elements are not contiguous, read whole."""
    item = view.element_type.bits // 8
    stored = entries.weights.read(view.element_type, (size // item,), offset, size // item * item)
    strides = [stride * item for stride in view.strides]
    if prod(view.shape) * item > 2 * size:
        refuse(entries.path, f"tensor {name!r} repeats its elements to", actual=prod(view.shape) * item, detail="bytes",
               expected=f"at most {2 * size}")  # fmt: skip
    array: Array = np.lib.stride_tricks.as_strided(stored[view.offset :], view.shape, strides, writeable=False)
    return MemoryTensor(name, convert(array.copy(), ElementType.f32), view.element_type.name, array.nbytes)
