"""The writer of the bytes of constants to a .bin: contiguous, aligned if they are large, and equal bytes once."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import BinaryIO, Protocol, Self, TypeAlias

import numpy as np

from ir_exec.codes import Code
from ir_exec.errors import WeightsError
from ir_exec.ir.mapped_file import write_bytes
from ir_exec.ir.pairing import DigestBuilder, WeightsDigest

__all__ = ["ByteRanges", "ConstantLayout", "WeightsWriter", "are_in_order"]

_ALIGNMENT = 64
"""Alignment of large constants in bytes, which avoids a copy when the file is mapped."""

_ALIGNED_FROM = 2**12
"""Minimum bytes of a large constant: the gaps are less than 2 % of them."""

_SAMPLE = 2**12
"""Bytes of each of the three blocks that are compared first: smaller constants are hashed completely."""

_COMPARED = 2**18
"""Bytes of constants that are compared at once, in the processor's cache."""


class ByteRanges(Protocol):
    """A source of the bytes of constants: Weights, or any object with ranges of bytes."""

    def slice(self, offset: int, size: int) -> memoryview:
        """The bytes at `offset`; fewer than `size` at the end."""


class ConstantLayout:
    """The offsets of constants in a new .bin that is not written, in the place of a `WeightsWriter`.

    Attributes:
        offsets: The new offsets by the offset and size in the older weights.
        size: The number of bytes of the .bin.
    """

    def __init__(self) -> None:
        self.offsets: dict[_Range, int] = {}
        self.size = 0

    def add(self, offset: int, size: int) -> int:
        """Return the new offset of a range of the weights."""
        if (offset, size) not in self.offsets:
            self.offsets[offset, size] = self.add_blank(size)
        return self.offsets[offset, size]

    def add_blank(self, size: int) -> int:
        """Return the offset of bytes that have no value."""
        begin = _next_offset(self.size, size)
        self.size = begin + size
        return begin

    def finish(self) -> WeightsDigest | None:
        """Return None: there is no file with a digest."""
        return None


class WeightsWriter:
    """A writer of constants, in order, from ranges of older weights to a file that is open for reading, too."""

    def __init__(self, weights: ByteRanges | None, file: BinaryIO) -> None:
        self._weights = weights
        self._file = file
        self._end = 0
        self._digest = DigestBuilder(file)
        self._written: dict[_Range, int] = {}
        self._blanks: dict[int, int] = {}
        self._equal = _EqualRanges(self._read)
        self._copied: WeightsDigest | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, error_class: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        self._digest.__exit__(error_class, error, trace)

    def add(self, offset: int, size: int) -> int:
        """Write the bytes of a range of the weights, unless equal bytes are written; return their new offset.

        Raises:
            WeightsError: IR201 without weights, IR202 the range reaches past their end.
        """
        key = offset, size
        if self._copied is not None:
            return offset
        if key not in self._written:
            content = self._read(key)
            equal = self._equal.find(key, content)
            self._written[key] = self._write(content) if equal is None else self._written[equal]
        return self._written[key]

    def add_blank(self, size: int) -> int:
        """Write zeros for a constant without elements, whose bytes are arbitrary; return their offset."""
        if size not in self._blanks:
            self._blanks[size] = self._write(memoryview(bytes(size)))
        return self._blanks[size]

    def copy(self, size: int, digest: WeightsDigest) -> None:
        """Write all `size` bytes of the weights, whose ranges keep their offsets and whose digest is known."""
        for _ in write_bytes(self._read((0, size)), self._file):
            pass
        self._copied = digest

    def finish(self) -> WeightsDigest | None:
        """Return the digest of the file; None if it is empty."""
        if self._copied is not None:
            return self._copied
        return self._digest.finish(self._end) if self._end else None

    def _read(self, key: _Range) -> memoryview:
        offset, size = key
        if self._weights is None:
            raise WeightsError(
                "the constant has bytes", expected="weights to read them from", code=Code.weights_missing
            )
        content = self._weights.slice(offset, size)
        if len(content) < size:
            raise WeightsError(f"the weights end before byte {offset + size}", code=Code.weights_short)
        return content

    def _write(self, content: memoryview) -> int:
        begin = _next_offset(self._end, len(content))
        self._file.write(bytes(begin - self._end))
        for count in write_bytes(content, self._file):
            self._digest.extend(begin + count)
        self._end = begin + len(content)
        return begin


def are_in_order(ranges: Iterable[tuple[int, int]], size: int) -> bool:
    """Return True if a writer would write these ranges of weights of `size` bytes to their own offsets."""
    end, visited = 0, set()
    for offset, count in ranges:
        if (offset, count) not in visited:
            visited.add((offset, count))
            if offset != _next_offset(end, count):
                return False
            end = offset + count
    return end == size


def _next_offset(end: int, size: int) -> int:
    return -(-end // _ALIGNMENT) * _ALIGNMENT if size >= _ALIGNED_FROM else end


_Range: TypeAlias = tuple[int, int]
"""The offset and the size of bytes."""


class _EqualRanges:
    """An index of ranges by their bytes, which are read only as far as needed: reading may convert them.

    The first range of a size is not read, and of others a sample. Ranges with equal samples are compared, and hashed
    if they differ: the cost is linear in their bytes.
    """

    def __init__(self, read: Callable[[_Range], memoryview]) -> None:
        self._read = read
        self._by_size: dict[int, _Range] = {}
        self._by_sample = _DigestIndex(_hash_sample)
        self._by_content = _DigestIndex(_hash)

    def find(self, key: _Range, content: memoryview) -> _Range | None:
        """Return an earlier range with equal bytes; without one, add the range."""
        first = self._by_size.setdefault(key[1], key)
        if first == key:
            return None
        if first not in self._by_sample:
            self._by_sample.add(first, self._read(first))
        candidate = self._by_sample.add(key, content)
        if candidate == key:
            return None
        if key[1] <= 3 * _SAMPLE:
            return candidate
        candidate_content = self._read(candidate)
        if _are_equal(candidate_content, content):
            return candidate
        if candidate not in self._by_content:
            self._by_content.add(candidate, candidate_content)
        equal = self._by_content.add(key, content)
        return None if equal == key else equal


class _DigestIndex:
    """The first range of each size and digest."""

    def __init__(self, compute_digest: Callable[[memoryview], bytes]) -> None:
        self._compute_digest = compute_digest
        self._first: dict[tuple[int, bytes], _Range] = {}
        self._added: set[_Range] = set()

    def __contains__(self, key: _Range) -> bool:
        return key in self._added

    def add(self, key: _Range, content: memoryview) -> _Range:
        """Add a range, and return the first one with its size and digest."""
        self._added.add(key)
        return self._first.setdefault((key[1], self._compute_digest(content)), key)


def _hash_sample(content: memoryview) -> bytes:
    size = len(content)
    if size <= 3 * _SAMPLE:
        return _hash(content)
    starts = 0, (size - _SAMPLE) // 2, size - _SAMPLE
    return hashlib.sha256(b"".join([content[start : start + _SAMPLE] for start in starts])).digest()


def _hash(content: memoryview) -> bytes:
    return hashlib.sha256(content).digest()


def _are_equal(left: memoryview, right: memoryview) -> bool:
    """Compare bytes of the same size, eight at a time."""
    end = len(left) // 8 * 8
    words = [np.frombuffer(content[:end], np.uint64) for content in (left, right)]
    step = _COMPARED // 8
    is_equal = all(
        np.array_equal(words[0][start : start + step], words[1][start : start + step])
        for start in range(0, end // 8, step)
    )
    return is_equal and left[end:] == right[end:]
