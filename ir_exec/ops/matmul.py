"""Matrix products."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any

import numpy as np

from ir_exec.errors import ShapeError
from ir_exec.ops.attributes import Bool
from ir_exec.ops.base import In, Op, op
from ir_exec.ops.precision import CALCULABLE, rounded, widened
from ir_exec.ops.rules import broadcast_shapes
from ir_exec.types import BOOLEAN, Array, Dim, Shape, TensorType

__all__ = [
    "LEAST_COLUMNS",
    "LEAST_ROWS",
    "MOST_SUMMED",
    "SINGLE_PRODUCT",
    "MatMul",
    "matrix_product",
    "matrix_products",
    "product_in_pieces",
]

_OWN_TYPES = (np.dtype(np.float32), np.dtype(np.float64))
"""What BLAS multiplies."""

SINGLE_PRODUCT = 10**6
"""Rows times columns times what is summed, up to which OpenBLAS does a product at once: on the thread that asks for it,
and without arranging the matrices anew."""

SHORT_PRODUCT = 4 * SINGLE_PRODUCT
"""The same up to which it does not pay to have threads of BLAS help, which may have to be waited for."""

SMALL = 2**20
"""Bytes of a constant matrix that may be kept in two orders."""

MOST_SUMMED = 2**10
"""Sums of more products lose digits when they are not cut into shorter ones, as OpenBLAS does in large products."""

LEAST_ROWS = 16
LEAST_COLUMNS = 32
"""Products of fewer rows or columns than these are slow."""


@op("MatMul", since=1)
class MatMul(Op):
    """output[..., i, j] = sum over k of a[..., i, k] * b[..., k, j].

    The axes before the last two are batches, broadcast as NumPy does. A vector `a` is one row, a vector `b` one
    column; their axis of size 1 is not in the output, and transposing does nothing to them. Short floats are
    multiplied in f32; integers are exact: 8 bits saturate, longer ones wrap.

    a, b: rank 1 or more, one element type. output: that element type.
    Errors: IR501 for a scalar, IR502 where columns of a and rows of b differ, IR504 where batches do not broadcast.
    Specification: matrix/matmul-1. Booleans are not in it; OpenVINO takes them, and + is "or" then.
    """

    inputs = (In("a", types=CALCULABLE | BOOLEAN), In("b", types=CALCULABLE | BOOLEAN, like="a"))

    transpose_a: Bool = False
    transpose_b: Bool = False

    def infer(self, a: TensorType, b: TensorType) -> TensorType:
        kind = a if a.element_type.is_known else b
        for name, tensor in (("a", a), ("b", b)):
            if tensor.rank == 0:
                raise ShapeError(f"{name} is a scalar, expected rank 1 or more", code="IR501", port=name)
        if a.shape.dims is None or b.shape.dims is None:
            return kind.with_shape(Shape.unknown())
        *batch_a, rows_a, columns_a = _matrix_dims(a.shape, self.transpose_a, (Dim.of(1), *a.shape))
        *batch_b, rows_b, columns_b = _matrix_dims(b.shape, self.transpose_b, (*b.shape, Dim.of(1)))
        if columns_a & rows_b is None:
            raise ShapeError(
                f"a has {_count(columns_a, 'column')} ({_told(a.shape, self.transpose_a)}), "
                f"b has {_count(rows_b, 'row')} ({_told(b.shape, self.transpose_b)}); both must be equal",
                code="IR502",
            )
        batch = broadcast_shapes(Shape(batch_a), Shape(batch_b))
        rows = [rows_a] if len(a.shape) > 1 else []
        columns = [columns_b] if len(b.shape) > 1 else []
        return kind.with_shape(Shape([*batch, *rows, *columns]))

    def evaluate(self, a: Array, b: Array) -> Array:
        left, right = widened(a), widened(b)
        if self.transpose_a and left.ndim > 1:
            left = left.swapaxes(-1, -2)
        if self.transpose_b and right.ndim > 1:
            right = right.swapaxes(-1, -2)
        return rounded(np.asarray(matrix_product(left, right)), a.dtype)

    def with_constants(self, constants: Mapping[int, Array]) -> Callable[..., Any] | None:
        """A small constant matrix is transposed once: BLAS is faster then."""
        matrix = constants.get(1)
        if matrix is None or matrix.ndim != 2 or matrix.nbytes > SMALL or not self.transpose_b or self.transpose_a:
            return None
        return partial(_product_with, matrix.T.copy(order="C")) if matrix.dtype in _OWN_TYPES else None


def _product_with(matrix: Array, a: Array, b: Array) -> Array:
    return matrix_product(a, matrix)


def _matrix_dims(shape: Shape, transpose: bool, vector: tuple[Dim, ...]) -> tuple[Dim, ...]:
    if len(shape) == 1:
        return vector
    return (*shape[:-2], shape[-1], shape[-2]) if transpose else shape[:]


def _count(dim: Dim, noun: str) -> str:
    return f"{dim} {noun}" if dim == 1 else f"{dim} {noun}s"


def _told(shape: Shape, transpose: bool) -> str:
    return f"{shape}, transposed" if transpose and len(shape) > 1 else str(shape)


def matrix_product(a: Array, b: Array) -> Array:
    """`np.matmul`, arranged so that one large product is done instead of many small ones, and BLAS can do it."""
    if a.ndim < 2 or b.ndim < 2:
        return np.asarray(np.matmul(a, b))
    rows, columns = b.shape[-2:]
    if a.ndim > 2 and b.size == rows * columns and a.flags.c_contiguous and a.size:
        batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
        flat = _matrix_product(a.reshape(-1, rows), _for_blas(b.reshape(rows, columns)))
        return flat.reshape(*batch, a.shape[-2], columns)
    return np.asarray(np.matmul(_for_blas(a), _for_blas(b)))


def _matrix_product(a: Array, b: Array) -> Array:
    """The product of two matrices, for which threads are not called if it is over sooner than they come."""
    if SINGLE_PRODUCT < len(a) * b.size <= SHORT_PRODUCT:
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
    """Products of matrices; NumPy is slow where each is that of a column and a row, so these are not left to it."""
    return np.multiply(rows, columns, out=out) if rows.shape[-1] == 1 else np.matmul(rows, columns, out=out)


def product_in_pieces(a: Array, b: Array, out: Array) -> Array:
    """`out` = a @ b by products that BLAS does on the calling thread, so that threads of ours can each do some.

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
    """Into how many equal pieces to cut rows and columns, as few as possible; one of each where nothing helps."""
    whole = rows * column * columns
    if whole <= SINGLE_PRODUCT or column > MOST_SUMMED:
        return 1, 1
    found = [
        (down * along, abs(rows // down - columns // along), down, along)
        for down in _divisors(rows, LEAST_ROWS)
        for along in _divisors(columns, LEAST_COLUMNS)
        if whole <= SINGLE_PRODUCT * down * along
    ]
    return min(found)[2:] if found else (1, 1)


def _divisors(size: int, least: int) -> list[int]:
    """Into how many equal parts of at least so many elements `size` can be cut."""
    return [count for count in range(1, max(size // least, 1) + 1) if size % count == 0]
