"""Tensors of a checkpoint, read in rows from mapped files."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any, NoReturn, Protocol

import numpy as np

from ir_exec.errors import IRError, Location, WeightsError
from ir_exec.ir import Weights
from ir_exec.ir.packing import packed_size
from ir_exec.types import Array, ElementType, convert

__all__ = ["Checkpoint", "CheckpointTensor", "MappedTensor", "MemoryTensor", "count_rows", "refuse", "release_memory"]


class CheckpointTensor(Protocol):
    """A tensor that is read in parts.

    Attributes:
        name: The name in the checkpoint.
        format: The element type, or the name of a compressed format.
        size: The bytes in the file.
    """

    @property
    def name(self) -> str: ...

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def format(self) -> str: ...

    @property
    def size(self) -> int: ...

    def read(self, start: int, stop: int) -> Array:
        """Return rows along the first axis as f32; a scalar has one row."""

    def gather(self, positions: Array) -> Array:
        """Return the elements at flat positions as f32."""


def count_rows(shape: tuple[int, ...]) -> int:
    """The number of rows of a tensor; a scalar has one."""
    return shape[0] if shape else 1


@dataclass(frozen=True, eq=False)
class MappedTensor:
    """A tensor of plain elements at an offset of a file.

    Attributes:
        is_column_major: True if the first axis is the fastest one in the file.
    """

    name: str
    element_type: ElementType
    shape: tuple[int, ...]
    weights: Weights
    offset: int
    is_column_major: bool = False

    @property
    def format(self) -> str:
        """The name of the element type."""
        return self.element_type.name

    @property
    def size(self) -> int:
        """The bytes in the file."""
        return packed_size(self.element_type, prod(self.shape))

    def read(self, start: int, stop: int) -> Array:
        """Return rows along the first axis as f32; a scalar has one row."""
        row_shape = self.shape[1:]
        row_bits = self.element_type.bits * prod(row_shape)
        if self.is_column_major or row_bits % 8:
            return np.asarray(self._read_all().reshape(-1, *row_shape)[start:stop])
        size = row_bits // 8
        rows = self.weights.read(
            self.element_type, (stop - start, *row_shape), self.offset + start * size, (stop - start) * size
        )
        return _to_f32(rows)

    def gather(self, positions: Array) -> Array:
        """Return the elements at flat positions as f32."""
        if self.is_column_major:
            return np.asarray(self._read_all().reshape(-1)[positions])
        stored = self.weights.read(self.element_type, (prod(self.shape),), self.offset, self.size)
        return _to_f32(stored[positions])

    def release(self) -> None:
        """Release the pages of the file."""
        view = self.weights.read(ElementType.u8, (self.size,), self.offset, self.size)
        if self.weights.maps(view):
            self.weights.forget(view)

    def _read_all(self) -> Array:
        shape = self.shape[::-1] if self.is_column_major else self.shape
        stored = self.weights.read(self.element_type, shape, self.offset, self.size)
        return _to_f32(stored.T if self.is_column_major else stored)


@dataclass(frozen=True, eq=False)
class MemoryTensor:
    """A tensor in memory, such as one that follows from others.

    Attributes:
        array: Its elements as f32.
        format: A description of the elements in the file.
        size: The bytes in the file.
    """

    name: str
    array: Array
    format: str = "f32"
    size: int = 0

    @property
    def shape(self) -> tuple[int, ...]:
        """The dims."""
        return tuple(self.array.shape)

    def read(self, start: int, stop: int) -> Array:
        """Return rows along the first axis as f32; a scalar has one row."""
        return np.asarray(self.array.reshape(count_rows(self.shape), *self.shape[1:])[start:stop], np.float32)

    def gather(self, positions: Array) -> Array:
        """Return the elements at flat positions as f32."""
        return np.asarray(self.array.reshape(-1)[positions], np.float32)


@dataclass(frozen=True)
class Checkpoint:
    """The tensors of a checkpoint.

    Attributes:
        format: The name of the file format.
        tensors: All tensors with numbers, by name.
        not_compared: The names of tensors whose elements have no numbers to compare: complex numbers, strings.
        settings: The settings next to the tensors: those of an adapter, or the metadata of a .gguf.
    """

    path: str
    format: str
    tensors: Mapping[str, CheckpointTensor]
    not_compared: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)


def _to_f32(array: Array) -> Array:
    """Convert elements; those of f64 that are too large become infinite."""
    with np.errstate(all="ignore"):
        return convert(array, ElementType.f32)


def release_memory(tensor: object) -> None:
    """Release the pages of mapped files that a tensor has read; they are read again if needed."""
    release = getattr(tensor, "release", None)
    if release is not None:
        release()


def refuse(path: str | os.PathLike[str], message: str, *, hint: str | None = None, **details: Any) -> NoReturn:
    """Raise the error for a malformed checkpoint.

    Raises:
        WeightsError: Always.
    """
    raise WeightsError(message, hint=hint, location=Location(path=os.fspath(path)), **details)


def locate_error(error: IRError, path: str) -> IRError:
    """Return an error with the path of the file."""
    return error.located(Location(path=path))
