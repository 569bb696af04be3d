"""Constant matrices in panels of columns, in which BLAS multiplies them without an order of its own.

What `kernels.strips` does for matrices that lie in the cache costs more than it saves for those that are read from
memory: the rows of a tile are in as many pages. In a panel they lie one behind the other.
"""

from __future__ import annotations

from typing import Self

import numpy as np

from ir_exec.kernels import costs
from ir_exec.kernels.parallel import even_count, for_ranges
from ir_exec.kernels.products import product_nanoseconds, share_products
from ir_exec.kernels.strips import even_size, multiply
from ir_exec.types import Array

__all__ = ["PackedMatrix"]


class PackedMatrix:
    """A matrix [inner, columns] of f32.

    Its columns but the last ones, which fill no panel, lie in panels [panels, inner, columns of a panel]; of a long
    inner axis each part has panels of its own.
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
        width = min(costs.STRIP_COLUMNS, columns)
        whole = columns // width * width
        longest = max(costs.STRIP_MULTIPLICATIONS // (width * costs.LEAST_TILE_ROWS), 1)
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
        count = 1
        if nanoseconds >= costs.PRODUCTS_WORTH_SHARING_NANOSECONDS:
            wanted = even_count(nanoseconds / costs.PRODUCT_PIECE_NANOSECONDS)
            count = min(wanted, costs.MOST_PRODUCT_PIECES, panels)
        size = -(-panels // count)

        def piece(number: int) -> None:
            some = slice(number * size, min(number * size + size, panels))
            self._multiply(a, some, out[:, some.start * width : some.stop * width])

        if count == 1:
            piece(0)
        else:
            share_products(-(-panels // size), lambda: piece, nanoseconds=nanoseconds)
        if self._rest.size:
            multiply(a, self._rest, out[:, panels * width :])
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
        spread = np.empty((width, inner + costs.CACHE_LINE_ELEMENTS), np.float32)[:, :inner]
        for number in range(start, stop):
            spread[...] = matrix[:, number * width : (number + 1) * width].T
            panels[number] = spread.T

    if matrix.strides[1] == matrix.itemsize:
        panels[...] = matrix.reshape(inner, -1, width).swapaxes(0, 1)
    else:
        for_ranges(len(panels), costs.PANELS_AT_ONCE, copy, nanoseconds=matrix.size)


def _by_tiles(a: Array, panels: Array, out: Array) -> None:
    """The products of a and panels, side by side, so many rows at a time that BLAS copies nothing."""
    rows, (_, inner, width) = len(a), panels.shape
    most = max(min(costs.STRIP_MULTIPLICATIONS // (width * inner), costs.TILE_ROWS), costs.LEAST_TILE_ROWS)
    size = rows if rows <= most else even_size(rows, most, costs.LEAST_TILE_ROWS)
    whole = rows // size * size
    target = out.reshape(rows, -1, width).swapaxes(0, 1)
    if size == rows:
        np.matmul(a, panels, out=target)
        return
    tiles = target[:, :whole].reshape(len(panels), -1, size, width)
    np.matmul(a[:whole].reshape(-1, size, inner), panels[:, np.newaxis], out=tiles)
    if whole < rows:
        np.matmul(a[whole:], panels, out=target[:, whole:])
