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

from ir_exec.kernels.gemm.blas import takes_strips
from ir_exec.kernels.gemm.sharing import OF_BLAS
from ir_exec.tuning import thresholds
from ir_exec.types import Array

__all__ = ["even_size", "multiply_in_strips", "strip_of"]


class Strip(NamedTuple):
    """A tile: numbers of rows and columns of a product that are computed at a time."""

    rows: int
    columns: int


def multiply_in_strips(a: Array, b: Array, out: Array) -> Array:
    """np.matmul(a, b, out) for matrices and batches of them, in tiles if these are faster."""
    strip = _chosen(a, b)
    if strip is None:
        return np.matmul(a, b, out=out)
    (rows, inner), columns = a.shape[-2:], b.shape[-1]
    down, along = rows // strip.rows * strip.rows, columns // strip.columns * strip.columns
    left, right, target = a[..., :down, :], b[..., :along], out[..., :down, :along]
    np.matmul(_cut(left, strip.rows, inner), _cut(right, inner, strip.columns), out=_cut(target, *strip))
    if along < columns:
        multiply_in_strips(left, b[..., along:], out[..., :down, along:])
    if down < rows:
        multiply_in_strips(a[..., down:, :], b, out[..., down:, :])
    return out


def _cut(matrices: Array, rows: int, columns: int) -> Array:
    """A view [..., down, along, rows, columns] of matrices as blocks of these numbers of rows and columns."""
    down, along = matrices.shape[-2] // rows, matrices.shape[-1] // columns
    return matrices.reshape(*matrices.shape[:-2], down, rows, along, columns).swapaxes(-3, -2)


def _chosen(a: Array, b: Array) -> Strip | None:
    """The tiles of a product of matrices or batches of them, None if they are not faster."""
    if a.dtype.char not in OF_BLAS or not takes_strips():
        return None
    is_turned = b.strides[-1] != b.itemsize and a.strides[-1] == a.itemsize
    return strip_of(*a.shape[-2:], b.shape[-1], is_turned=is_turned)


@lru_cache(1024)
def strip_of(rows: int, inner: int, columns: int, *, is_turned: bool) -> Strip | None:
    """The strip for a product of these sizes, None if one product is faster.

    Args:
        is_turned: The columns of the second matrix are contiguous, and the rows of the first one.
    """
    most = thresholds.STRIP_MULTIPLICATIONS // max(inner, 1)
    least = thresholds.STRIP_COLUMNS
    if is_turned:
        if rows > columns and inner < 2 * thresholds.STRIP_COLUMNS:
            return None
        most, least = min(most, thresholds.TURNED_STRIP_ELEMENTS), thresholds.FEW_LINES
    is_long = rows * columns > most and rows * inner * columns > thresholds.STRIP_MULTIPLICATIONS // 8
    if not is_long or min(rows, columns) < 2:
        return None
    down, along = most // columns, most // rows
    if along >= least and (columns >= rows or down < thresholds.FEW_LINES):
        return Strip(rows, min(even_size(columns, along, least), columns))
    if down < thresholds.FEW_LINES:
        return None
    return Strip(min(even_size(rows, down, thresholds.FEW_LINES), rows), columns)


def even_size(length: int, most: int, unit: int) -> int:
    """The size of the fewest tiles of about equal size, as a multiple of the given number of lines."""
    each = -(-length // -(-length // (most - most % unit)))
    return -(-each // unit) * unit
