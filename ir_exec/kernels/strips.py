"""Matrix products in tiles that BLAS multiplies as they lie in memory.

Before BLAS multiplies it copies matrices into an order of its own, which takes a tenth of the time of a large product
and more than the product where there are few rows or few columns. For processors with AVX-512 OpenBLAS has kernels that
do without, and takes them for products of up to a million multiplications. Longer ones are cut into such here, one call
for all: the tiles follow from the shapes, and each is one of the products that NumPy gives to BLAS for a batch.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ir_exec.kernels import costs
from ir_exec.kernels.blas import takes_strips
from ir_exec.types import Array

__all__ = ["Tile", "even_size", "multiply", "tile_of"]


class Tile(NamedTuple):
    """So many rows and columns of a product that are computed at a time."""

    rows: int
    columns: int


def multiply(a: Array, b: Array, out: Array) -> Array:
    """np.matmul(a, b, out) for matrices and batches of them, in tiles where these are faster."""
    tile = _chosen(a, b)
    if tile is None:
        return np.matmul(a, b, out=out)
    (rows, inner), columns = a.shape[-2:], b.shape[-1]
    down, along = rows // tile.rows * tile.rows, columns // tile.columns * tile.columns
    left, right = a[..., :down, :], b[..., :along]
    np.matmul(_cut(left, tile.rows, inner), _cut(right, inner, tile.columns), out=_cut(out[..., :down, :along], *tile))
    if along < columns:
        multiply(left, b[..., along:], out[..., :down, along:])
    if down < rows:
        multiply(a[..., down:, :], b, out[..., down:, :])
    return out


def _cut(matrices: Array, rows: int, columns: int) -> Array:
    """A view [..., down, along, rows, columns] of matrices as such of so many rows and columns."""
    down, along = matrices.shape[-2] // rows, matrices.shape[-1] // columns
    return matrices.reshape(*matrices.shape[:-2], down, rows, along, columns).swapaxes(-3, -2)


def _chosen(a: Array, b: Array) -> Tile | None:
    """The tiles of a product of matrices or batches of them, None where it is as fast in one piece."""
    if not takes_strips() or a.dtype.char not in "fd":
        return None
    is_turned = b.strides[-1] != b.itemsize and a.strides[-1] == a.itemsize
    return tile_of(*a.shape[-2:], b.shape[-1], 0 if is_turned else b.strides[-2])


@lru_cache(1024)
def tile_of(rows: int, inner: int, columns: int, step: int) -> Tile | None:
    """step: bytes from one row of the second matrix to the next, 0 where its columns are contiguous, and the rows of
    the first one."""
    most = costs.STRIP_MULTIPLICATIONS // max(inner, 1)
    least = costs.STRIP_COLUMNS
    if not step:
        if rows > columns and inner < costs.LEAST_TURNED_INNER:
            return None
        most, least = min(most, costs.TURNED_STRIP_ELEMENTS), costs.STRIP_ROWS
    is_long = rows * columns > most and rows * inner * columns > costs.UNCUT_MULTIPLICATIONS
    if not is_long or min(rows, columns) < 2:
        return None
    down, along = most // columns, most // rows
    if along >= least and (columns >= rows or down < costs.STRIP_ROWS):
        return Tile(rows, min(even_size(columns, along, least), columns))
    if down >= costs.STRIP_ROWS:
        return Tile(min(even_size(rows, down, costs.STRIP_ROWS), rows), columns)
    if not step or columns < least or inner < costs.LEAST_TILE_INNER or inner * step > costs.TILED_BYTES:
        return None
    high = min(most // least, costs.TILE_ROWS)
    return Tile(even_size(rows, high, costs.LEAST_TILE_ROWS), least) if high >= costs.LEAST_TILE_ROWS else None


def even_size(length: int, most: int, unit: int) -> int:
    """The size of the fewest strips of about the same size, in so many lines at a time."""
    each = -(-length // -(-length // (most - most % unit)))
    return -(-each // unit) * unit
