"""The product of matrices, and of batches of them: `matrix_product`."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from math import prod
from typing import Any, NamedTuple

import numpy as np

from ir_exec.kernels.gemm.blas import blas_is_single_threaded, prefers_tiles
from ir_exec.kernels.gemm.sharing import OF_BLAS, batches_at, chunk_count, product_nanoseconds, share_products
from ir_exec.kernels.gemm.tiles import multiply_in_tiles, tile_size
from ir_exec.kernels.parallel import for_each
from ir_exec.tuning import thresholds
from ir_exec.tuning.machine import machine
from ir_exec.types import Array

__all__ = ["for_blas", "matrix_product", "product_for"]


def matrix_product(a: Array, b: Array, out: Array | None = None, *, is_chunk: bool = False) -> Array:
    """`np.matmul`, as one large product instead of many small ones if possible, always by BLAS.

    Args:
        out: Receives the product, with at least two axes, like `a` and `b`, which BLAS reads in their memory layout.
        is_chunk: The product is a chunk of shared work and must not be split again.
    """
    if a.ndim < 2 or b.ndim < 2:
        return _with_vectors(a, b)
    way = way_of(a.shape, b.shape, a.dtype)
    if out is not None:
        return _write(a, b, out, way, is_chunk)
    if way.folded is not None:
        a, b = a.reshape(way.folded), b if b.ndim == 2 else b.reshape(b.shape[-2:])
    result = _short_product(a, b, way) if way.is_small else _new(a, b, way, is_chunk)
    return result if way.folded is None else result.reshape(way.result)


def product_for(a: tuple[int, ...], b: tuple[int, ...], dtype: np.dtype[Any]) -> Callable[[Array, Array, Array], Array]:
    """The function that `matrix_product` applies with `out` for two shapes, decided once for many short products."""
    nanoseconds = product_nanoseconds(a, b, a[-2] * b[-1], dtype)
    if a[-1] == 1 or nanoseconds >= thresholds.SHARED_PRODUCT_NANOSECONDS:
        return matrix_product
    if tile_size(*a[-2:], b[-1], is_transposed=False):
        return partial(matrix_product, is_chunk=True)
    return np.dot if a[-2] * b[-1] < thresholds.FILLED_ELEMENTS else np.matmul


class _Way(NamedTuple):
    """The method of multiplying matrices of two shapes.

    Attributes:
        folded: The shape of `a` as one matrix if `b` is one; None if both remain batches.
        product: The shape of the product computed then.
        result: The shape of the result.
        is_small: BLAS wakes no threads for it.
        is_outer: Columns are multiplied by rows.
        has_vectors: `a` has few rows, which are multiplied separately.
        are_short: Neither tiles nor threads are worthwhile, for b stored by rows and by columns.
        are_matrices: Both are matrices for BLAS, neither of one element, since np.dot then makes 0 of 0 times infinity,
            and the product is small: np.dot fills it with zeros first.
    """

    folded: tuple[int, int] | None
    product: tuple[int, ...]
    result: tuple[int, ...]
    is_small: bool
    is_outer: bool
    has_vectors: bool
    are_short: tuple[bool, bool]
    are_matrices: bool


@lru_cache(1024)
def way_of(a: tuple[int, ...], b: tuple[int, ...], dtype: np.dtype[Any]) -> _Way:
    rows, columns = b[-2:]
    result = (*np.broadcast_shapes(a[:-2], b[:-2]), a[-2], columns)
    is_one = len(a) > 2 and prod(b) == rows * columns and bool(prod(a))
    folded = (prod(a[:-1]), rows) if is_one else None
    size = prod(result)
    product = (folded[0], columns) if folded else result
    is_matrix = len(product) == 2 and dtype.char in OF_BLAS
    is_large = rows * columns >= 4 * thresholds.PANELLED_ELEMENTS
    has_vectors = is_matrix and is_large and 1 < product[0] <= thresholds.ROWS_AS_VECTORS
    is_long = product_nanoseconds(a, b, size, dtype) >= thresholds.SHARED_PRODUCT_NANOSECONDS
    tiles = [tile_size(product[-2], rows, columns, is_transposed=is_transposed) for is_transposed in (False, True)]
    are_matrices = is_matrix and prod(a) > 1 and prod(b) > 1 and size < thresholds.FILLED_ELEMENTS
    return _Way(
        folded,
        product,
        result,
        is_small=size * a[-1] <= thresholds.UNSHARED_MULTIPLICATIONS,
        is_outer=rows == 1,
        has_vectors=has_vectors,
        are_short=(not (is_long or tiles[0]), not (is_long or tiles[1])),
        are_matrices=are_matrices,
    )


def _new(a: Array, b: Array, way: _Way, is_chunk: bool) -> Array:
    a, b = for_blas(a), for_blas(b)
    if way.has_vectors and not (b.T.flags.c_contiguous and prefers_tiles()):
        return _row_by_row(a, b)
    if way.are_short[not b.flags.c_contiguous] and blas_is_single_threaded():
        return _short_product(a, b, way)
    return _write(a, b, np.empty(way.product, a.dtype), way, is_chunk)


def _short_product(a: Array, b: Array, way: _Way) -> Array:
    # np.dot is 0.4 to 1.3 us faster for two matrices.
    result: Array = np.dot(a, b) if way.are_matrices else np.matmul(a, b)
    return result


def _write(a: Array, b: Array, out: Array, way: _Way, is_chunk: bool) -> Array:
    if way.is_outer:
        # np.matmul is slow for products of a column and a row.
        return np.multiply(a, b, out=out)
    if way.is_small:
        return np.matmul(a, b, out=out)
    return multiply_in_tiles(a, b, out) if is_chunk else _in_chunks(a, b, out)


def for_blas(matrices: Array) -> Array:
    """The matrices, copied if NumPy would not pass them to BLAS in place.

    BLAS requires rows, or columns, of adjacent elements that do not overlap.
    """
    if matrices.flags.c_contiguous:
        return matrices
    rows, columns = matrices.shape[-2:]
    down, along = matrices.strides[-2:]
    size = matrices.itemsize
    if (along == size and down >= columns * size) or (down == size and along >= rows * size):
        return matrices
    return np.ascontiguousarray(matrices)


def _with_vectors(a: Array, b: Array) -> Array:
    """The product if one or both operands have one axis: a row or a column that the result does not have."""
    left = a[np.newaxis] if a.ndim < 2 else a
    right = b[:, np.newaxis] if b.ndim < 2 else b
    result = matrix_product(left, right)
    result = result[..., 0] if b.ndim < 2 else result
    if a.ndim < 2:
        result = result[..., 0] if b.ndim < 2 else result[..., 0, :]
    return np.asarray(result)


def _in_chunks(a: Array, b: Array, out: Array) -> Array:
    """out = a @ b, in chunks if BLAS is single-threaded and the product is long enough."""
    if a.dtype.char in OF_BLAS and not blas_is_single_threaded():
        return np.matmul(a, b, out=out)
    chunks = chunk_count(product_nanoseconds(a.shape, b.shape, out.size, a.dtype))
    cut = cut_into_chunks(out.shape, chunks) if chunks > 1 else None
    if cut is None or cut.chunks == 1:
        return multiply_in_tiles(a, b, out)

    def chunk(number: int) -> None:
        batches, matrix = divmod(number, cut.down * cut.along)
        down, along = divmod(matrix, cut.along)
        some = slice(batches * cut.batches, (batches + 1) * cut.batches)
        rows = slice(down * cut.rows, (down + 1) * cut.rows)
        columns = slice(along * cut.columns, (along + 1) * cut.columns)
        multiply_in_tiles(
            batches_at(a, cut.axis, some)[..., rows, :],
            batches_at(b, cut.axis, some)[..., columns],
            batches_at(out, cut.axis, some)[..., rows, columns],
        )

    for_each(cut.chunks, lambda: chunk)
    return out


def _row_by_row(a: Array, b: Array) -> Array:
    """a @ b for few rows: BLAS multiplies a vector and a matrix several times faster than a matrix of few rows.

    Columns are in chunks that remain in the cache for the second row.
    """
    out = np.empty((len(a), b.shape[1]), a.dtype)
    size = max(machine().core_cache_bytes // 2 // (len(b) * b.itemsize), thresholds.LONG_ROW)

    def chunk(number: int) -> None:
        columns = slice(number * size, number * size + size)
        for row, target in zip(a, out, strict=True):
            np.matmul(row, b[:, columns], out=target[columns])

    nanoseconds = b.nbytes * thresholds.BYTE_NANOSECONDS * len(a)
    share_products(-(-b.shape[1] // size), lambda: chunk, nanoseconds=nanoseconds)
    return out


class _Cut(NamedTuple):
    """The division of a product into chunks.

    Attributes:
        axis: The batch axis, counted from the last one, of which a chunk has `batches`.
        rows: The number of rows of the matrices in a chunk.
        columns: The number of columns of the matrices in a chunk.
        down: The number of chunks of a matrix.
        along: The number of chunks of a matrix.
    """

    chunks: int
    axis: int
    batches: int
    rows: int
    columns: int
    down: int
    along: int


@lru_cache(1024)
def cut_into_chunks(shape: tuple[int, ...], chunks: int) -> _Cut:
    """A division of a product of this shape [..., rows, columns] into about the requested number of chunks.

    Batches are split first, then the longer side of the matrices, or the other one if it allows more chunks. BLAS
    rearranges the matrix of the shorter side for every chunk.
    """
    rows, columns = shape[-2:]
    axis = max(range(-len(shape), -2), key=lambda axis: shape[axis], default=-3)
    batches, groups = _parts(shape[axis] if len(shape) > 2 else 1, chunks, 1)
    chunks = -(-chunks // groups)
    down = along = 1
    least = thresholds.CHUNK_LINES if rows >= thresholds.FEW_LINES else thresholds.LONG_ROW
    # 197 rows of 192 columns are too few for two chunks, the columns are not.
    if rows > columns and rows // thresholds.CHUNK_LINES >= min(chunks, columns // least):
        rows, down = _parts(rows, chunks, thresholds.CHUNK_LINES)
    else:
        columns, along = _parts(columns, chunks, least)
    return _Cut(groups * down * along, axis, batches, rows, columns, down, along)


def _parts(size: int, most: int, least: int) -> tuple[int, int]:
    """The size and the number of nearly equal chunks: at most the requested number, with at least `least` elements."""
    count = max(min(most, size // least), 1)
    each = -(-size // count)
    if least > 1:
        # Multiples of the vectors and blocks of BLAS.
        each = min(-(-each // thresholds.FEW_LINES) * thresholds.FEW_LINES, size)
    return each, -(-size // each)
