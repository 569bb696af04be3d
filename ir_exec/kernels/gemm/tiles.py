"""Products in tiles of few rows or columns.

Before a product, BLAS copies the matrices to its internal order. This takes a tenth of the time of a large product, and
more than the product itself for few rows or columns. For processors with AVX-512, OpenBLAS has kernels without this
copy, used for products of up to a million multiplications. Longer products with few rows, few columns or a short sum
are split into tiles of that size in one call: each is one of the products that NumPy passes to BLAS for a batch.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ir_exec.kernels.gemm.blas import prefers_tiles
from ir_exec.kernels.gemm.sharing import OF_BLAS
from ir_exec.tuning import thresholds
from ir_exec.types import Array

__all__ = ["even_size", "multiply_in_tiles", "tile_size"]


class TileSize(NamedTuple):
    """A tile: numbers of rows and columns of a product that are computed at a time."""

    rows: int
    columns: int


def multiply_in_tiles(a: Array, b: Array, out: Array) -> Array:
    """np.matmul(a, b, out) for matrices and batches of them, in tiles if these are faster."""
    tile = _chosen(a, b)
    if tile is None:
        return np.matmul(a, b, out=out)
    (rows, inner), columns = a.shape[-2:], b.shape[-1]
    down, along = rows // tile.rows * tile.rows, columns // tile.columns * tile.columns
    left, right, target = a[..., :down, :], b[..., :along], out[..., :down, :along]
    np.matmul(_cut(left, tile.rows, inner), _cut(right, inner, tile.columns), out=_cut(target, *tile))
    if along < columns:
        multiply_in_tiles(left, b[..., along:], out[..., :down, along:])
    if down < rows:
        multiply_in_tiles(a[..., down:, :], b, out[..., down:, :])
    return out


def _cut(matrices: Array, rows: int, columns: int) -> Array:
    """A view [..., down, along, rows, columns] of matrices as blocks of these numbers of rows and columns."""
    down, along = matrices.shape[-2] // rows, matrices.shape[-1] // columns
    return matrices.reshape(*matrices.shape[:-2], down, rows, along, columns).swapaxes(-3, -2)


def _chosen(a: Array, b: Array) -> TileSize | None:
    """The tiles of a product of matrices or batches of them, None if they are not faster."""
    if a.dtype.char not in OF_BLAS or not prefers_tiles():
        return None
    is_transposed = b.strides[-1] != b.itemsize and a.strides[-1] == a.itemsize
    return tile_size(*a.shape[-2:], b.shape[-1], is_transposed=is_transposed)


@lru_cache(1024)
def tile_size(rows: int, inner: int, columns: int, *, is_transposed: bool) -> TileSize | None:
    """The size of a tile for a product of these sizes, None if one product is faster.

    Args:
        is_transposed: The columns of the second matrix are contiguous, and the rows of the first one.
    """
    most = thresholds.TILE_MULTIPLICATIONS // max(inner, 1)
    least = thresholds.TILE_COLUMNS
    if is_transposed:
        if rows > columns and inner < 2 * thresholds.TILE_COLUMNS:
            return None
        most, least = min(most, thresholds.TRANSPOSED_TILE_ELEMENTS), thresholds.FEW_LINES
    is_long = rows * columns > most and rows * inner * columns > thresholds.TILE_MULTIPLICATIONS // 8
    if not is_long or min(rows, columns) < 2:
        return None
    down, along = most // columns, most // rows
    if along >= least and (columns >= rows or down < thresholds.FEW_LINES):
        return TileSize(rows, min(even_size(columns, along, least), columns))
    if down < thresholds.FEW_LINES:
        return None
    return TileSize(min(even_size(rows, down, thresholds.FEW_LINES), rows), columns)


def even_size(length: int, most: int, unit: int) -> int:
    """The size of the fewest tiles of about equal size, as a multiple of the given number of lines."""
    each = -(-length // -(-length // (most - most % unit)))
    return -(-each // unit) * unit
