"""Constant matrices in panels, which BLAS multiplies as they lie."""

from __future__ import annotations

from typing import Self

import numpy as np

from ir_exec.kernels.gemm.sharing import piece_count, product_nanoseconds, share_products
from ir_exec.kernels.gemm.strips import even_size, multiply_in_strips
from ir_exec.kernels.parallel import for_ranges
from ir_exec.tuning import thresholds
from ir_exec.types import Array

__all__ = ["PackedMatrix"]


class PackedMatrix:
    """A constant matrix [inner, columns] of f32 in panels of columns, which BLAS multiplies as they lie.

    Strips of matrices that are read from memory cost more than they save: their rows are in as many pages. In a panel
    they lie one behind the other. All columns but the last ones, which fill no panel, are in panels [panels, inner,
    columns of a panel]; of a long inner axis each part has panels of its own.
    """

    __slots__ = ("_parts", "_rest", "shape")

    def __init__(self, parts: list[Array], rest: Array) -> None:
        self._parts = parts
        self._rest = rest
        panels, _, width = parts[0].shape
        self.shape = (len(rest), panels * width + rest.shape[1])

    @classmethod
    def of(cls, matrix: Array, memory: Array | None = None) -> Self:
        """A copy of a matrix of at least one panel, in any order in memory.

        memory: where the copy is to lie, as many elements of f32 as the matrix has.
        """
        inner, columns = matrix.shape
        memory = np.empty(matrix.size, np.float32) if memory is None else memory
        width = min(thresholds.STRIP_COLUMNS, columns)
        whole = columns // width * width
        longest = max(thresholds.STRIP_MULTIPLICATIONS // (width * thresholds.FEW_LINES // 2), 1)
        size = -(-inner // -(-inner // longest))
        parts = []
        for start in range(0, inner, size):
            rows = matrix[start : start + size, :whole]
            part = memory[start * whole : start * whole + rows.size].reshape(-1, len(rows), width)
            _fill(part, rows)
            parts.append(part)
        rest = memory[inner * whole :].reshape(inner, -1)
        rest[...] = matrix[:, whole:]
        return cls(parts, rest)

    def product(self, a: Array) -> Array:
        """a [rows, inner] times the matrix."""
        rows = len(a)
        panels, _, width = self._parts[0].shape
        out = np.empty((rows, self.shape[1]), np.float32)
        if not rows:
            return out
        nanoseconds = product_nanoseconds(a.shape, self.shape, out.size, a.dtype)
        count = min(piece_count(nanoseconds), panels)
        size = -(-panels // count)

        def piece(number: int) -> None:
            some = slice(number * size, min(number * size + size, panels))
            self._multiply(a, some, out[:, some.start * width : some.stop * width])

        if count == 1:
            piece(0)
        else:
            share_products(-(-panels // size), lambda: piece, nanoseconds=nanoseconds)
        if self._rest.size:
            multiply_in_strips(a, self._rest, out[:, panels * width :])
        return out

    def _multiply(self, a: Array, some: slice, out: Array) -> None:
        """out = a times some of the panels."""
        inner = len(self._parts[0][0])
        _by_tiles(a[:, :inner], self._parts[0][some], out)
        for number, part in enumerate(self._parts[1:], 1):
            further = np.empty(out.shape, np.float32)
            _by_tiles(a[:, number * inner : (number + 1) * inner], part[some], further)
            out += further


def _fill(panels: Array, matrix: Array) -> None:
    _, inner, width = panels.shape

    def copy(start: int, stop: int) -> None:
        # Where steps of a power of 2 lead from column to column, the lines of few places in the cache hold all of them.
        spread = np.empty((width, inner + thresholds.FEW_LINES), np.float32)[:, :inner]
        for number in range(start, stop):
            spread[...] = matrix[:, number * width : (number + 1) * width].T
            panels[number] = spread.T

    if matrix.strides[1] == matrix.itemsize:
        panels[...] = matrix.reshape(inner, -1, width).swapaxes(0, 1)
    else:
        for_ranges(len(panels), 4, copy, nanoseconds=matrix.size)


def _by_tiles(a: Array, panels: Array, out: Array) -> None:
    """The products of a and panels, side by side, so many rows at a time that BLAS copies nothing."""
    rows, (_, inner, width) = len(a), panels.shape
    most = max(
        min(thresholds.STRIP_MULTIPLICATIONS // (width * inner), 3 * thresholds.FEW_LINES), thresholds.FEW_LINES // 2
    )
    size = rows if rows <= most else even_size(rows, most, thresholds.FEW_LINES // 2)
    whole = rows // size * size
    target = out.reshape(rows, -1, width).swapaxes(0, 1)
    if size == rows:
        np.matmul(a, panels, out=target)
        return
    tiles = target[:, :whole].reshape(len(panels), -1, size, width)
    np.matmul(a[:whole].reshape(-1, size, inner), panels[:, np.newaxis], out=tiles)
    if whole < rows:
        np.matmul(a[whole:], panels, out=target[:, whole:])
