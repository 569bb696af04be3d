"""Constant matrices prepacked in panels, which BLAS multiplies without a copy."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np

from ir_exec.kernels.gemm.sharing import chunk_count, product_nanoseconds, share_products
from ir_exec.kernels.gemm.tiles import even_size, multiply_in_tiles
from ir_exec.kernels.parallel import for_ranges
from ir_exec.tuning import thresholds
from ir_exec.types import Array

__all__ = ["PackedMatrix"]


class _Panels(NamedTuple):
    """A matrix in panels.

    Attributes:
        parts: [panels, inner, columns of a panel] for each chunk of the inner axis.
        remainder: [inner, columns] that do not fill a panel.
    """

    parts: list[Array]
    remainder: Array


class PackedMatrix:
    """A constant matrix [inner, columns] of f32 in panels of columns, which BLAS multiplies without a copy.

    Tiles of matrices in memory cost more than they save: each row is in another page. In a panel the rows are
    contiguous. All columns except the last ones, which do not fill a panel, are in panels [panels, inner, columns of a
    panel]; a long inner axis is split into chunks with separate panels.

    Until `pack` stores the panels, every product copies them, a few at a time: BLAS gets the same numbers in the same
    order, so the results are bit-identical.

    Attributes:
        matrix: A matrix of at least one panel, in any order in memory.
    """

    __slots__ = ("_matrix", "_panels", "_part", "_width", "shape")

    shape: tuple[int, int]

    def __init__(self, matrix: Array) -> None:
        inner, columns = matrix.shape
        self.shape = (inner, columns)
        self._matrix: Array | None = matrix
        self._panels: _Panels | None = None
        self._width: int = min(thresholds.TILE_COLUMNS, columns)
        longest = max(thresholds.TILE_MULTIPLICATIONS // (self._width * thresholds.FEW_LINES // 2), 1)
        self._part = -(-inner // -(-inner // longest))

    @classmethod
    def of(cls, matrix: Array, memory: Array | None = None) -> Self:
        """A matrix that is packed immediately; see `pack`."""
        packed = cls(matrix)
        packed.pack(np.empty(matrix.size, np.float32) if memory is None else memory)
        return packed

    @property
    def is_packed(self) -> bool:
        """Return True if the panels are stored."""
        return self._panels is not None

    @property
    def matrix(self) -> Array | None:
        """The original matrix; None once it is packed."""
        return self._matrix

    def pack(self, memory: Array) -> None:
        """Store the panels and release the matrix.

        Other threads may multiply meanwhile.

        Args:
            memory: Memory for the panels, as many elements of f32 as the matrix has.
        """
        matrix = self._matrix
        if matrix is None:
            return
        inner, full = len(matrix), self._full_columns
        parts = []
        for start in range(0, inner, self._part):
            rows = matrix[start : start + self._part, :full]
            part = memory[start * full : start * full + rows.size].reshape(-1, len(rows), self._width)
            _fill(part, rows)
            parts.append(part)
        remainder = memory[inner * full :].reshape(inner, -1)
        remainder[...] = matrix[:, full:]
        # A thread that finds no panels finds the matrix.
        self._panels = _Panels(parts, remainder)
        self._matrix = None

    @property
    def _full_columns(self) -> int:
        """The number of columns that fill panels."""
        return self.shape[1] // self._width * self._width

    def product(self, a: Array) -> Array:
        """The product of a [rows, inner] and the matrix."""
        rows, width, full = len(a), self._width, self._full_columns
        out = np.empty((rows, self.shape[1]), np.float32)
        if not rows:
            return out
        matrix, panels = self._matrix, self._panels
        nanoseconds = product_nanoseconds(a.shape, self.shape, out.size, a.dtype)
        count = min(chunk_count(nanoseconds), full // width)
        size = -(-(full // width) // count) * width

        def chunk(number: int) -> None:
            some = slice(number * size, min(number * size + size, full))
            if panels is not None:
                chosen = slice(some.start // width, some.stop // width)
                _multiply(a, [part[chosen] for part in panels.parts], out[:, some])
            elif matrix is not None:
                self._multiply_copied(a, matrix[:, some], out[:, some])

        if count == 1:
            chunk(0)
        else:
            share_products(-(-full // size), lambda: chunk, nanoseconds=nanoseconds)
        if full < self.shape[1]:
            remainder = panels.remainder if panels is not None else np.ascontiguousarray(matrix[:, full:])  # type: ignore[index]  # one of both exists
            multiply_in_tiles(a, remainder, out[:, full:])
        return out

    def _multiply_copied(self, a: Array, matrix: Array, out: Array) -> None:
        """out = a times columns of the matrix, copied a few panels at a time."""
        width, columns = self._width, matrix.shape[1]
        step = max(thresholds.CHUNK_ELEMENTS // (min(self._part, len(matrix)) * width), 1) * width
        parts = range(0, len(matrix), self._part)
        memory = np.empty(min(step, columns) * len(matrix), np.float32)
        for first in range(0, columns, step):
            some = matrix[:, first : first + step]
            copied = []
            for start in parts:
                rows = some[start : start + self._part]
                offset = start * some.shape[1]
                copied.append(memory[offset : offset + rows.size].reshape(-1, len(rows), width))
                _fill(copied[-1], rows, is_shared=False)
            _multiply(a, copied, out[:, first : first + step])


def _multiply(a: Array, parts: list[Array], out: Array) -> None:
    """out = a times panels, given for each chunk of the inner axis."""
    inner = parts[0].shape[1]
    _by_tiles(a[:, :inner], parts[0], out)
    for number, part in enumerate(parts[1:], 1):
        further = np.empty(out.shape, np.float32)
        _by_tiles(a[:, number * inner : (number + 1) * inner], part, further)
        out += further


def _fill(panels: Array, matrix: Array, *, is_shared: bool = True) -> None:
    """Fill the panels with the elements of a matrix.

    Args:
        is_shared: Threads may share the work.
    """
    _, inner, width = panels.shape

    def copy(start: int, stop: int) -> None:
        # If the distance between columns is a power of 2, all of them map to a few sets of the cache.
        spread = np.empty((width, inner + thresholds.FEW_LINES), np.float32)[:, :inner]
        for number in range(start, stop):
            spread[...] = matrix[:, number * width : (number + 1) * width].T
            panels[number] = spread.T

    if matrix.strides[1] == matrix.itemsize:
        panels[...] = matrix.reshape(inner, -1, width).swapaxes(0, 1)
    elif is_shared:
        for_ranges(len(panels), 4, copy, nanoseconds=matrix.size)
    else:
        copy(0, len(panels))


def _by_tiles(a: Array, panels: Array, out: Array) -> None:
    """The adjacent products of a and panels, with chunks of rows for which BLAS copies nothing."""
    rows, (_, inner, width) = len(a), panels.shape
    most = max(
        min(thresholds.TILE_MULTIPLICATIONS // (width * inner), 3 * thresholds.FEW_LINES), thresholds.FEW_LINES // 2
    )
    size = rows if rows <= most else even_size(rows, most, thresholds.FEW_LINES // 2)
    full = rows // size * size
    target = out.reshape(rows, -1, width).swapaxes(0, 1)
    if size == rows:
        np.matmul(a, panels, out=target)
        return
    tiles = target[:, :full].reshape(len(panels), -1, size, width)
    np.matmul(a[:full].reshape(-1, size, inner), panels[:, np.newaxis], out=tiles)
    if full < rows:
        np.matmul(a[full:], panels, out=target[:, full:])
