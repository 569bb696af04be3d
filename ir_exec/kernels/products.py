"""Matrix products, arranged as BLAS is fast at them."""

from __future__ import annotations

from functools import cache

import numpy as np

from ir_exec.kernels import costs
from ir_exec.types import Array

__all__ = [
    "MOST_SUMMED",
    "matrix_product",
    "matrix_products",
    "product_in_pieces",
]

MOST_SUMMED = 2**10
"""Longer sums are not computed by small products: OpenBLAS cuts them into shorter ones in large products, which loses
fewer digits."""


def matrix_product(a: Array, b: Array) -> Array:
    """`np.matmul`, as one large product instead of many small ones where that is possible, always by BLAS."""
    if a.ndim < 2 or b.ndim < 2:
        return np.asarray(np.matmul(a, b))
    rows, columns = b.shape[-2:]
    if a.ndim > 2 and b.size == rows * columns and a.flags.c_contiguous and a.size:
        batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
        flat = _matrix_product(a.reshape(-1, rows), _for_blas(b.reshape(rows, columns)))
        return flat.reshape(*batch, a.shape[-2], columns)
    return np.asarray(np.matmul(_for_blas(a), _for_blas(b)))


def _matrix_product(a: Array, b: Array) -> Array:
    """The product of two matrices. Small ones run on the calling thread: waking BLAS threads costs more."""
    if costs.SINGLE_PRODUCT_MULTIPLICATIONS < len(a) * b.size <= costs.SHORT_PRODUCT_MULTIPLICATIONS:
        return product_in_pieces(a, b, np.empty((len(a), b.shape[1]), a.dtype))
    return np.asarray(a @ b)


def _for_blas(matrices: Array) -> Array:
    """The same matrices, copied if NumPy would not give them to BLAS as they lie in memory.

    BLAS wants rows, or columns, whose elements are adjacent and which do not overlap.
    """
    rows, columns = matrices.shape[-2:]
    down, along = matrices.strides[-2:]
    size = matrices.itemsize
    if (along == size and down >= columns * size) or (down == size and along >= rows * size):
        return matrices
    return np.ascontiguousarray(matrices)


def matrix_products(rows: Array, columns: Array, out: Array) -> Array:
    """out = rows @ columns; products of a column and a row are multiplications, at which np.matmul is slow."""
    return np.multiply(rows, columns, out=out) if rows.shape[-1] == 1 else np.matmul(rows, columns, out=out)


def product_in_pieces(a: Array, b: Array, out: Array) -> Array:
    """out = a @ b by small products, which BLAS does on the calling thread: so each thread of ours can do some.

    a: [..., M, K], b: [..., K, N], out: [..., M, N], of which the batches are broadcast together.
    """
    (rows, column), columns = a.shape[-2:], b.shape[-1]
    down, along = _pieces(rows, column, columns)
    if down == along == 1:
        return matrix_products(a, b, out)
    left = a.reshape(*a.shape[:-2], down, 1, rows // down, column)
    right = b.reshape(*b.shape[:-1], along, columns // along).swapaxes(-3, -2)[..., np.newaxis, :, :, :]
    target = out.reshape(*out.shape[:-2], down, rows // down, along, columns // along).swapaxes(-3, -2)
    np.matmul(left, right, out=target)
    return out


@cache
def _pieces(rows: int, column: int, columns: int) -> tuple[int, int]:
    """Into how many equal pieces to cut rows and columns, as few as possible; (1, 1) where no cut makes them small."""
    whole = rows * column * columns
    if whole <= costs.SINGLE_PRODUCT_MULTIPLICATIONS or column > MOST_SUMMED:
        return 1, 1
    found = [
        (down * along, abs(rows // down - columns // along), down, along)
        for down in _divisors(rows, costs.LEAST_ROWS)
        for along in _divisors(columns, costs.LEAST_COLUMNS)
        if whole <= costs.SINGLE_PRODUCT_MULTIPLICATIONS * down * along
    ]
    return min(found)[2:] if found else (1, 1)


def _divisors(size: int, least: int) -> list[int]:
    """The numbers of equal parts, of at least `least` elements each, into which `size` can be cut."""
    return [count for count in range(1, max(size // least, 1) + 1) if size % count == 0]
