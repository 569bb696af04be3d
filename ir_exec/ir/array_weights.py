"""Weights in arrays in memory, optionally with those of a file, for models built in Python."""

from __future__ import annotations

import sys
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping
from itertools import accumulate
from math import prod
from mmap import mmap
from threading import Lock
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds

from ir_exec.codes import Code
from ir_exec.errors import WeightsError
from ir_exec.ir.mapped_file import forget_pages
from ir_exec.ir.packing import CURRENT_ORDER, BitOrder, encode, is_packed, packed_size
from ir_exec.ir.weights import Weights
from ir_exec.kernels.limits import owner_of
from ir_exec.types import Array, ElementType

__all__ = ["ArrayWeights", "reserve_offset", "stored_size"]

_FIRST = 2**48
"""The least offset of arrays, beyond the length of any file."""

_STEP = 2**6


class _OffsetRanges:
    """An allocator of unique ranges of offsets in this process."""

    def __init__(self) -> None:
        self._next = _FIRST
        self._lock = Lock()

    def reserve(self, size: int) -> int:
        with self._lock:
            offset = self._next
            self._next += -(-size // _STEP) * _STEP
        return offset

    def skip_to(self, end: int) -> None:
        with self._lock:
            self._next = max(self._next, -(-end // _STEP) * _STEP)


_offsets = _OffsetRanges()


def reserve_offset(size: int) -> int:
    """A unique offset in this process for an array of this many bytes.

    Models can therefore share and exchange constants; writing a file assigns new offsets.
    """
    return _offsets.reserve(size)


def stored_size(array: Array) -> int:
    """The bytes of an array in a .bin: at least one, as OpenVINO writes for a constant without elements."""
    element_type = ElementType.of(array)
    return max(len(encode(array)) if element_type is ElementType.string else packed_size(element_type, array.size), 1)


def _extents_of(arrays: Iterable[Array]) -> tuple[list[int], list[int]]:
    """Return the first addresses of arrays in ascending order, and for each the greatest end up to it."""
    bounds = sorted(byte_bounds(array) for array in arrays)
    return [start for start, _ in bounds], list(accumulate((end for _, end in bounds), max))


class ArrayWeights(Weights):
    """Arrays by their offsets, and optionally the weights of a file below them. Arrays are not copied."""

    __slots__ = ("_arrays", "_base", "_extents", "_offsets")

    def __init__(self, arrays: Mapping[int, Array], base: Weights | None = None) -> None:
        path, order = (None, CURRENT_ORDER) if base is None else (base.path, base.order)
        super().__init__(np.empty(0, np.uint8), path, order)
        if isinstance(base, ArrayWeights):
            arrays, base = {**base._arrays, **arrays}, base._base
        self._arrays: dict[int, Array] = dict(arrays)
        self._base: Weights | None = base
        self._offsets = sorted(self._arrays)
        self._extents: tuple[list[int], list[int]] | None = None

    @property
    def size(self) -> int:
        """The end of the last byte."""
        if not self._offsets:
            return 0 if self._base is None else self._base.size
        return self._offsets[-1] + stored_size(self._arrays[self._offsets[-1]])

    def check(self, element_type: ElementType, shape: tuple[int, ...], offset: int, size: int) -> int:
        """Check that the constant exists, like `Weights.check`."""
        if offset < _FIRST and self._base is not None:
            return self._base.check(element_type, shape, offset, size)
        spare = super().check(element_type, shape, offset, size)
        if prod(shape) and len(self._read_bytes(offset, size)) < size - spare:
            raise WeightsError(f"no constant of {size} bytes at offset {offset}", code=Code.weights_short)
        return spare

    def read(self, element_type: ElementType, shape: tuple[int, ...], offset: int, size: int) -> Array:
        """Read a constant like `Weights.read`; an array in memory is returned as a view of itself."""
        if offset < _FIRST and self._base is not None:
            return self._base.read(element_type, shape, offset, size)
        array = self._arrays.get(offset)
        if array is None or array.shape != shape or ElementType.of(array) is not element_type:
            return super().read(element_type, shape, offset, size)
        view = array.view()
        view.flags.writeable = False
        return view

    def slice(self, offset: int, size: int) -> memoryview:
        """Return bytes like `Weights.slice`, of one array at a time."""
        if offset < _FIRST and self._base is not None:
            return self._base.slice(offset, size)
        index = bisect_right(self._offsets, offset) - 1
        if index < 0:
            return memoryview(b"")
        start = offset - self._offsets[index]
        return _bytes_of(self._arrays[self._offsets[index]], self.order)[start : start + size]

    def _read_bytes(self, offset: int, size: int) -> Array:
        return np.frombuffer(self.slice(offset, size), np.uint8)

    def append(self, extra: bytes) -> Weights:
        """Return the weights with more bytes at offset `size`."""
        return ArrayWeights({self.size: np.frombuffer(extra, np.uint8)}, self) if extra else self

    def require_unchanged(self) -> None:
        """Check the file like `Weights.require_unchanged`."""
        if self._base is not None:
            self._base.require_unchanged()

    def maps(self, array: Array) -> bool:
        """Return True if the memory is a mapped file, like `Weights.maps`, for any file."""
        return _mapping_of(array) is not None or (self._base is not None and self._base.maps(array))

    def holds(self, array: Array) -> bool:
        """Return True if the memory belongs to the weights, like `Weights.holds`."""
        start, end = byte_bounds(array)
        if self._extents is None:
            self._extents = _extents_of(self._arrays.values())
        starts, ends = self._extents
        index = bisect_left(starts, end) - 1
        if index >= 0 and ends[index] > start:
            return True
        return self._base is not None and self._base.holds(array)

    def forget(self, array: Array) -> None:
        """Release pages of a mapped array, like `Weights.forget`."""
        if self._base is not None and self._base.maps(array):
            self._base.forget(array)
        elif (mapping := _mapping_of(array)) is not None:
            forget_pages(mapping, array.ctypes.data - np.frombuffer(mapping, np.uint8).ctypes.data, array.nbytes)

    def close(self) -> None:
        """Close the file, like `Weights.close`, and release the arrays."""
        if self._base is not None:
            self._base.close()
        self._arrays, self._offsets = {}, []

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickle, (self._arrays, self._base)


def _mapping_of(array: Array) -> mmap | None:
    """The file whose memory an array is a view of; None if it may have been written to, which would be lost."""
    base = owner_of(array).base
    return base if isinstance(base, mmap) and memoryview(base).readonly else None


def _bytes_of(array: Array, order: BitOrder) -> memoryview:
    """The bytes of a .bin for an array: the array's own bytes if they are equal."""
    element_type = ElementType.of(array)
    if element_type is ElementType.string or is_packed(element_type) or sys.byteorder == "big":
        return memoryview(encode(array, order))
    return array.reshape(-1).view(np.uint8).data


def _unpickle(arrays: dict[int, Array], base: Weights | None) -> ArrayWeights:
    weights = ArrayWeights(arrays, base)
    # Arrays from another process must not collide with offsets of this one.
    _offsets.skip_to(weights.size)
    return weights
