"""GGUF files: a header with settings and tensors, and the bytes of each tensor.

The header is read and checked here; the numbers of quantized types are computed by the package gguf.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np

from ir_exec.debug.weights.readers.tensors import Checkpoint, CheckpointTensor, MappedTensor, refuse
from ir_exec.errors import Location, UnsupportedError
from ir_exec.hints import install_hint
from ir_exec.ir import Weights
from ir_exec.types import Array, ElementType

__all__ = ["QuantizedTensor", "read_gguf"]

_PLAIN = {
    0: ElementType.f32,
    1: ElementType.f16,
    24: ElementType.i8,
    25: ElementType.i16,
    26: ElementType.i32,
    27: ElementType.i64,
    28: ElementType.f64,
    30: ElementType.bf16,
}
"""Types of GGML without blocks."""

_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9
_VERSIONS = (2, 3)
_MOST_AXES = 4
_MOST_NAME = 2**16
_DEEPEST_ARRAY = 4
_DEFAULT_ALIGNMENT = 32
_MOST_KEPT = 64
"""Maximum elements of an array of settings that is kept; vocabularies are skipped."""


@dataclass(frozen=True, eq=False)
class QuantizedTensor:
    """A tensor of blocks, each with a scale.

    Attributes:
        block: Elements and bytes of a block.
        dequantize: Returns the f32 elements of rows of bytes.
    """

    name: str
    shape: tuple[int, ...]
    format: str
    weights: Weights
    offset: int
    block: tuple[int, int]
    dequantize: Callable[[Array], Array]

    @property
    def size(self) -> int:
        """The bytes in the file."""
        return int(prod(self.shape) // self.block[0] * self.block[1])

    def read(self, start: int, stop: int) -> Array:
        """Return rows along the first axis as f32."""
        inner = prod(self.shape[1:-1]) if len(self.shape) > 1 else 1
        if len(self.shape) == 1:
            return self._read_rows(0, 1).reshape(self.shape)[start:stop]
        return self._read_rows(start * inner, stop * inner).reshape(stop - start, *self.shape[1:])

    def gather(self, positions: Array) -> Array:
        """Return the elements at flat positions as f32, row by row."""
        rows, columns = np.divmod(positions, self.shape[-1])
        numbers = np.empty(positions.shape, np.float32)
        for row in np.unique(rows):
            mask = rows == row
            numbers[mask] = self._read_rows(int(row), int(row) + 1)[0][columns[mask]]
        return numbers

    def _read_rows(self, start: int, stop: int) -> Array:
        """Rows along the last axis."""
        row_bytes = self.shape[-1] // self.block[0] * self.block[1]
        stored = self.weights.read(
            ElementType.u8, (stop - start, row_bytes), self.offset + start * row_bytes, (stop - start) * row_bytes
        )
        return np.asarray(self.dequantize(stored), np.float32).reshape(stop - start, self.shape[-1])


def read_gguf(path: str) -> Checkpoint:
    """Return the tensors of a file, with their dims in the order of the other formats.

    Raises:
        WeightsError: If the file cannot be read or its header is wrong.
        UnsupportedError: If a tensor needs the package gguf, which is not installed.
    """
    return _GgufHeader(path, Weights.open(path)).read()


class _GgufHeader:
    def __init__(self, path: str, weights: Weights) -> None:
        self.path = path
        self.weights = weights
        self.position = 0

    def read(self) -> Checkpoint:
        if self._take(4) != b"GGUF":
            refuse(self.path, "the file does not begin with GGUF", expected="a .gguf file")
        version = self._number("I")
        if version not in _VERSIONS:
            refuse(self.path, "the version of the file is", actual=version, expected="2 or 3")
        tensor_count, setting_count = self._count("tensors"), self._count("settings")
        settings: dict[str, Any] = {}
        for _ in range(setting_count):
            name = self._text()
            settings[name] = self._value(self._number("I"))
        alignment = settings.get("general.alignment", _DEFAULT_ALIGNMENT)
        if not isinstance(alignment, int) or alignment <= 0 or alignment & (alignment - 1):
            refuse(self.path, "the alignment is", actual=repr(alignment), expected="a power of two")
        entries: dict[str, tuple[tuple[int, ...], int, int]] = {}
        for _ in range(tensor_count):
            name, entry = self._text(), self._entry()
            if name in entries:
                refuse(self.path, f"the tensor {name!r} is repeated", expected="each name once")
            entries[name] = entry
        start = -(-self.position // alignment) * alignment
        tensors = {name: self._tensor(name, start, *entry) for name, entry in entries.items()}
        self._require_disjoint(tensors)
        return Checkpoint(self.path, "gguf", tensors, settings=settings)

    def _tensor(self, name: str, start: int, shape: tuple[int, ...], type_id: int, offset: int) -> CheckpointTensor:
        element_type = _PLAIN.get(type_id)
        tensor: MappedTensor | QuantizedTensor
        if element_type is not None:
            tensor = MappedTensor(name, element_type, shape, self.weights, start + offset)
        else:
            label, block, dequantize = self._quantization(type_id)
            if not shape or shape[-1] % block[0]:
                refuse(
                    self.path, f"tensor {name!r} has rows of", actual=shape[-1:], expected=f"a multiple of {block[0]}"
                )
            tensor = QuantizedTensor(name, shape, label, self.weights, start + offset, block, dequantize)
        if start + offset + tensor.size > self.weights.size:
            refuse(
                self.path,
                f"tensor {name!r} is in bytes",
                actual=f"{start + offset} to {start + offset + tensor.size}",
                expected=f"bytes before the end of the file at {self.weights.size}",
            )
        return tensor

    def _quantization(self, type_id: int) -> tuple[str, tuple[int, int], Callable[[Array], Array]]:
        if find_spec("gguf") is None:
            raise UnsupportedError(
                "tensors of quantized types need the package gguf",
                hint=install_hint("weights"),
                location=Location(path=self.path),
            )
        import gguf  # type: ignore[import-untyped, import-not-found, unused-ignore]  # an extra without types
        from gguf import quants

        try:
            quantization = gguf.GGMLQuantizationType(type_id)
            block = gguf.GGML_QUANT_SIZES[quantization]
        except (ValueError, KeyError):
            refuse(self.path, "the type of a tensor is", actual=type_id, expected="a type of GGML")

        def dequantize(rows: Array) -> Array:
            with np.errstate(all="ignore"):
                return np.asarray(quants.dequantize(rows, quantization))

        return quantization.name.lower(), block, dequantize

    def _require_disjoint(self, tensors: dict[str, Any]) -> None:
        ranges = sorted((tensor.offset, tensor.offset + tensor.size, name) for name, tensor in tensors.items())
        ranges = [entry for entry in ranges if entry[0] < entry[1]]
        for (_, end, name), (begin, _, other) in pairwise(ranges):
            if begin < end:
                refuse(self.path, f"the bytes of tensors {name!r} and {other!r} overlap", expected="separate ones")

    def _entry(self) -> tuple[tuple[int, ...], int, int]:
        """The shape, the type and the offset of a tensor."""
        axes = self._number("I")
        if axes > _MOST_AXES:
            refuse(self.path, "a tensor has", actual=axes, detail="axes", expected=f"at most {_MOST_AXES}")
        dims = [self._number("Q") for _ in range(axes)]
        if prod(dims) > 2**48:
            refuse(self.path, "a tensor has the dims", actual=dims, expected="at most 2**48 elements")
        return tuple(dims[::-1]), self._number("I"), self._number("Q")

    def _value(self, type_id: int, depth: int = 0) -> Any:
        if type_id in _SCALARS:
            return self._number(_SCALARS[type_id])
        if type_id == _STRING:
            return self._text()
        if type_id != _ARRAY or depth >= _DEEPEST_ARRAY:
            refuse(self.path, "the type of a setting is", actual=type_id, expected="a type of GGUF")
        element, count = self._number("I"), self._count("elements")
        if element in _SCALARS:
            size = struct.calcsize(f"<{_SCALARS[element]}")
            content = self._take(size * count)
            return struct.unpack(f"<{count}{_SCALARS[element]}", content) if count <= _MOST_KEPT else None
        values = [self._value(element, depth + 1) for _ in range(count)]
        return values if count <= _MOST_KEPT else None

    def _count(self, noun: str) -> int:
        count = int(self._number("Q"))
        # Each tensor, setting and element of an array takes a byte or more.
        if count > self.weights.size - self.position:
            refuse(self.path, "the file declares", actual=count, detail=noun, expected="at most the bytes of the file")
        return count

    def _text(self) -> str:
        size = self._number("Q")
        content = self._take(size)
        return content[:_MOST_NAME].decode("utf-8", "replace") if size <= _MOST_NAME else ""

    def _number(self, code: str) -> Any:
        return struct.unpack(f"<{code}", self._take(struct.calcsize(f"<{code}")))[0]

    def _take(self, size: int) -> bytes:
        if size > self.weights.size - self.position:
            refuse(self.path, "the header ends at", actual=self.weights.size,
                   expected=f"{size} more bytes at {self.position}")  # fmt: skip
        content = self.weights.slice(self.position, size)
        self.position += size
        return bytes(content)
