"""Matrix products in strips that BLAS multiplies as they lie in memory.

Before BLAS multiplies it copies matrices into an order of its own, which takes longer than the product where there are
few rows or few columns. For processors with AVX-512 OpenBLAS has kernels that do without, and takes them for products
of up to a million multiplications. Longer ones are cut into such here, one call for all: the strips follow from the
shapes, and each is one of the products that NumPy gives to BLAS for a batch.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ir_exec.kernels import costs
from ir_exec.kernels.blas import takes_strips
from ir_exec.types import Array

__all__ = ["multiply", "strips_of"]


class _Strips(NamedTuple):
    """Strips of so many rows of the first matrix, or of so many columns of the second one."""

    are_rows: bool
    size: int


def multiply(a: Array, b: Array, out: Array) -> Array:
    """np.matmul(a, b, out) for matrices and batches of them, in strips where these are faster."""
    strips = _chosen(a, b)
    if strips is None:
        return np.matmul(a, b, out=out)
    size = strips.size
    target = out
    if not strips.are_rows:
        # (a * b)^T = b^T * a^T
        a, b, target = b.swapaxes(-1, -2), a.swapaxes(-1, -2), out.swapaxes(-1, -2)
    rows = a.shape[-2]
    whole = rows // size * size
    np.matmul(_cut(a[..., :whole, :], size), b[..., np.newaxis, :, :], out=_cut(target[..., :whole, :], size))
    if whole < rows:
        np.matmul(a[..., whole:, :], b, out=target[..., whole:, :])
    return out


def _cut(matrices: Array, size: int) -> Array:
    """A view of matrices as strips of so many rows, in an axis of their own."""
    return matrices.reshape(*matrices.shape[:-2], -1, size, matrices.shape[-1])


def _chosen(a: Array, b: Array) -> _Strips | None:
    """The strips of a product of matrices or batches of them, None where it is as fast in one piece."""
    if not takes_strips() or a.dtype.char not in "fd":
        return None
    return strips_of(*a.shape[-2:], b.shape[-1], b.strides[-1] != b.itemsize and a.strides[-1] == a.itemsize)


@lru_cache(1024)
def strips_of(rows: int, inner: int, columns: int, is_turned: bool) -> _Strips | None:
    """is_turned: whether the columns of the second matrix, and the rows of the first one, are contiguous."""
    most = costs.STRIP_MULTIPLICATIONS // max(inner, 1)
    least = costs.STRIP_COLUMNS
    if is_turned:
        if rows > columns and inner < costs.LEAST_TURNED_INNER:
            return None
        most, least = min(most, costs.TURNED_STRIP_ELEMENTS), costs.STRIP_ROWS
    is_long = rows * columns > most and rows * inner * columns > costs.UNCUT_MULTIPLICATIONS
    if not is_long or min(rows, columns) < 2:
        return None
    down, along = most // columns, most // rows
    if along >= least and (columns >= rows or down < costs.STRIP_ROWS):
        return _Strips(False, _even(columns, along, least))
    return _Strips(True, _even(rows, down, costs.STRIP_ROWS)) if down >= costs.STRIP_ROWS else None


def _even(length: int, most: int, unit: int) -> int:
    """The size of the fewest strips of about the same size, in so many lines at a time."""
    each = -(-length // -(-length // (most - most % unit)))
    return -(-each // unit) * unit
