"""Matrix products, arranged as BLAS is fast at them.

A long product is cut into pieces, each of which BLAS computes on one thread, and which threads of ours share. The
pieces follow from the shapes alone, and so do tiles:

Before BLAS multiplies it copies matrices into an order of its own, which takes a tenth of the time of a large product
and more than the product where there are few rows or few columns. For processors with AVX-512 OpenBLAS has kernels that
do without, and takes them for products of up to a million multiplications. Longer ones are cut into such tiles, one
call for all: each is one of the products that NumPy gives to BLAS for a batch.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import inf, prod
from typing import Any, NamedTuple, Self

import numpy as np

from ir_exec.kernels.blas import blas_is_single_threaded, takes_strips
from ir_exec.kernels.parallel import Worker, even_count, for_each, for_ranges
from ir_exec.tuning import thresholds
from ir_exec.tuning.machine import machine
from ir_exec.types import Array

__all__ = [
    "PackedMatrix",
    "batches_at",
    "for_blas",
    "matrix_product",
    "matrix_products",
    "multiply",
    "product_for",
    "product_nanoseconds",
    "share_products",
    "tile_of",
]

_OF_BLAS = "fd"
"""The kinds of elements, by NumPy's letters, whose products BLAS computes."""


def matrix_product(a: Array, b: Array) -> Array:
    """`np.matmul`, as one large product instead of many small ones where that is possible, always by BLAS."""
    if a.ndim < 2 or b.ndim < 2:
        return _with_vectors(a, b)
    way = _way(a.shape, b.shape, a.dtype)
    if way.folded is not None:
        a, b = a.reshape(way.folded), b if b.ndim == 2 else b.reshape(b.shape[-2:])
    found = _short_product(a, b, way) if way.is_small else _larger_product(a, b, way)
    return found if way.folded is None else found.reshape(way.result)


def _short_product(a: Array, b: Array, way: _Way) -> Array:
    # np.dot takes 0.4 to 1.3 us less for two matrices.
    found: Array = np.dot(a, b) if way.are_matrices else np.matmul(a, b)
    return found


def _larger_product(a: Array, b: Array, way: _Way) -> Array:
    a, b = for_blas(a), for_blas(b)
    if way.has_vectors and not (b.T.flags.c_contiguous and takes_strips()):
        return _row_by_row(a, b)
    if way.are_short[not b.flags.c_contiguous] and blas_is_single_threaded():
        return _short_product(a, b, way)
    return _long_product(a, b, np.empty(way.product, a.dtype))


class _Way(NamedTuple):
    """How matrices of two shapes are multiplied.

    folded: the shape of `a` as one matrix, where `b` is one; None where both stay batches. product: the shape of what
    is computed. result: that of the result. is_small: whether BLAS wakes no threads for it.
    has_vectors: whether `a` has so few rows that each is multiplied by itself.
    are_short: whether it is worth neither strips nor threads, where b lies by rows, and where it lies by columns.
    are_matrices: whether both are matrices that BLAS multiplies, neither of one element, as np.dot makes 0 of 0 times
    infinity there, and the product is small: np.dot fills it with zeros first.
    """

    folded: tuple[int, int] | None
    product: tuple[int, ...]
    result: tuple[int, ...]
    is_small: bool
    has_vectors: bool
    are_short: tuple[bool, bool]
    are_matrices: bool


@lru_cache(1024)
def _way(a: tuple[int, ...], b: tuple[int, ...], dtype: np.dtype[Any]) -> _Way:
    rows, columns = b[-2:]
    result = (*np.broadcast_shapes(a[:-2], b[:-2]), a[-2], columns)
    is_one = len(a) > 2 and prod(b) == rows * columns and bool(prod(a))
    folded = (prod(a[:-1]), rows) if is_one else None
    size = prod(result)
    product = (folded[0], columns) if folded else result
    is_matrix = len(product) == 2 and dtype.char in _OF_BLAS
    is_large = rows * columns >= 4 * thresholds.PANELLED_ELEMENTS
    has_vectors = is_matrix and is_large and 1 < product[0] <= thresholds.ROWS_AS_VECTORS
    is_long = product_nanoseconds(a, b, size, dtype) >= thresholds.SHARED_PRODUCT_NANOSECONDS
    by_rows, by_columns = [tile_of(product[-2], rows, columns, step) for step in (columns * dtype.itemsize, 0)]
    are_short = not (is_long or by_rows), not (is_long or by_columns)
    are_matrices = is_matrix and prod(a) > 1 and prod(b) > 1 and size < thresholds.FILLED_ELEMENTS
    is_small = size * a[-1] <= thresholds.UNSHARED_MULTIPLICATIONS
    return _Way(folded, product, result, is_small, has_vectors, are_short, are_matrices)


def matrix_products(rows: Array, columns: Array, out: Array, *, is_piece: bool = False) -> Array:
    """out = rows @ columns; products of a column and a row are multiplications, at which np.matmul is slow.

    is_piece: whether this is a piece of work that threads share, which is not to be cut again.
    """
    if rows.shape[-1] == 1:
        return np.multiply(rows, columns, out=out)
    if out.size * rows.shape[-1] <= thresholds.UNSHARED_MULTIPLICATIONS:
        return np.matmul(rows, columns, out=out)
    return (multiply if is_piece else _long_product)(rows, columns, out)


def product_for(
    rows: tuple[int, ...], columns: tuple[int, ...], dtype: np.dtype[Any]
) -> Callable[[Array, Array, Array], Array]:
    """What `matrix_products` does for two matrices of these shapes, decided once for many short products."""
    nanoseconds = product_nanoseconds(rows, columns, rows[-2] * columns[-1], dtype)
    if rows[-1] == 1 or nanoseconds >= thresholds.SHARED_PRODUCT_NANOSECONDS:
        return matrix_products
    if tile_of(*rows[-2:], columns[-1], columns[-1] * dtype.itemsize):
        return multiply
    return np.dot if rows[-2] * columns[-1] < thresholds.FILLED_ELEMENTS else np.matmul


def for_blas(matrices: Array) -> Array:
    """The same matrices, copied if NumPy would not give them to BLAS as they lie in memory.

    BLAS wants rows, or columns, whose elements are adjacent and which do not overlap.
    """
    if matrices.flags.c_contiguous:
        return matrices
    rows, columns = matrices.shape[-2:]
    down, along = matrices.strides[-2:]
    size = matrices.itemsize
    if (along == size and down >= columns * size) or (down == size and along >= rows * size):
        return matrices
    return np.ascontiguousarray(matrices)


def share_products(count: int, make_worker: Callable[[], Worker], *, nanoseconds: float) -> None:
    """`for_each` for pieces of work with products in them, on one thread where BLAS shares these as it likes."""
    is_worth = nanoseconds >= thresholds.SHARED_PRODUCT_NANOSECONDS and blas_is_single_threaded()
    for_each(count, make_worker, nanoseconds=inf if is_worth else 0)


def product_nanoseconds(a: tuple[int, ...], b: tuple[int, ...], elements: int, dtype: np.dtype[Any]) -> float:
    """About how long one core takes for so many elements of the product of matrices of these shapes."""
    multiplications: int = elements * a[-1]
    if dtype.char not in _OF_BLAS:
        return multiplications * thresholds.ELEMENT_NANOSECONDS
    speed = machine().multiplications_a_nanosecond * 4 / dtype.itemsize
    # Rows that are few do not pay for reading the columns.
    moved = (prod(a) + prod(b) + elements) * dtype.itemsize
    return multiplications / speed + moved * thresholds.BYTE_NANOSECONDS


def _with_vectors(a: Array, b: Array) -> Array:
    """The product where one of both, or each, has one axis: a row, or a column, that the result does not have."""
    left = a[np.newaxis] if a.ndim < 2 else a
    right = b[:, np.newaxis] if b.ndim < 2 else b
    found = matrix_product(left, right)
    found = found[..., 0] if b.ndim < 2 else found
    if a.ndim < 2:
        found = found[..., 0] if b.ndim < 2 else found[..., 0, :]
    return np.asarray(found)


def _long_product(a: Array, b: Array, out: Array) -> Array:
    """out = a @ b, in pieces where BLAS leaves the threads to us and the product is long enough."""
    if a.dtype.char in _OF_BLAS and not blas_is_single_threaded():
        return np.matmul(a, b, out=out)
    nanoseconds = product_nanoseconds(a.shape, b.shape, out.size, a.dtype)
    is_worth = nanoseconds >= thresholds.SHARED_PRODUCT_NANOSECONDS
    cut = _cut(out.shape, nanoseconds) if is_worth else None
    if cut is None or cut.pieces == 1:
        return multiply(a, b, out)

    def piece(number: int) -> None:
        batches, matrix = divmod(number, cut.down * cut.along)
        down, along = divmod(matrix, cut.along)
        some = slice(batches * cut.batches, (batches + 1) * cut.batches)
        rows = slice(down * cut.rows, (down + 1) * cut.rows)
        columns = slice(along * cut.columns, (along + 1) * cut.columns)
        multiply(
            batches_at(a, cut.axis, some)[..., rows, :],
            batches_at(b, cut.axis, some)[..., columns],
            batches_at(out, cut.axis, some)[..., rows, columns],
        )

    for_each(cut.pieces, lambda: piece)
    return out


def _row_by_row(a: Array, b: Array) -> Array:
    """a @ b for few rows: BLAS is several times as fast at a vector and a matrix as at a matrix of few rows.

    So many columns at a time that they are in the cache for the second row.
    """
    out = np.empty((len(a), b.shape[1]), a.dtype)
    size = max(machine().core_cache_bytes // 2 // (len(b) * b.itemsize), thresholds.LONG_ROW)

    def piece(number: int) -> None:
        columns = slice(number * size, number * size + size)
        for row, target in zip(a, out, strict=True):
            np.matmul(row, b[:, columns], out=target[columns])

    nanoseconds = b.nbytes * thresholds.BYTE_NANOSECONDS * len(a)
    share_products(-(-b.shape[1] // size), lambda: piece, nanoseconds=nanoseconds)
    return out


def batches_at(matrices: Array, axis: int, some: slice) -> Array:
    """The matrices at these places of a batch axis, which counts from the last axis; all where it broadcasts."""
    if -axis > matrices.ndim or matrices.shape[axis] == 1:
        return matrices
    place: tuple[Any, ...] = (..., some, *[slice(None)] * (-axis - 1))
    return np.asarray(matrices[place])


class _Cut(NamedTuple):
    """Into which pieces a product is cut.

    axis: the batch axis, counted from the last one, of which a piece has so many `batches`. rows, columns: of the
    matrices in a piece. down, along: how many pieces a matrix has.
    """

    pieces: int
    axis: int
    batches: int
    rows: int
    columns: int
    down: int
    along: int


@lru_cache(1024)
def _cut(shape: tuple[int, ...], nanoseconds: float) -> _Cut:
    """Pieces of a product of this shape [..., rows, columns]: batches first, then the longer side of the matrices, or
    the other one where that can be cut into more of those wanted.

    What is on the shorter side is arranged anew by BLAS for every piece.
    """
    rows, columns = shape[-2:]
    wanted = min(even_count(nanoseconds / (4 / 3 * thresholds.SHARED_PRODUCT_NANOSECONDS)), thresholds.MOST_PIECES // 2)
    axis = max(range(-len(shape), -2), key=lambda axis: shape[axis], default=-3)
    batches, groups = _parts(shape[axis] if len(shape) > 2 else 1, wanted, 1)
    wanted = -(-wanted // groups)
    down = along = 1
    least = thresholds.PIECE_LINES if rows >= thresholds.FEW_LINES else thresholds.LONG_ROW
    # 197 rows of 192 columns are too few for two pieces, the columns are not.
    if rows > columns and rows // thresholds.PIECE_LINES >= min(wanted, columns // least):
        rows, down = _parts(rows, wanted, thresholds.PIECE_LINES)
    else:
        columns, along = _parts(columns, wanted, least)
    return _Cut(groups * down * along, axis, batches, rows, columns, down, along)


def _parts(size: int, wanted: int, least: int) -> tuple[int, int]:
    """The size and the number of about equal parts, at most as many as wanted, of at least `least` elements."""
    count = max(min(wanted, size // least), 1)
    each = -(-size // count)
    if least > 1:
        # Vectors and blocks of BLAS.
        each = min(-(-each // thresholds.FEW_LINES) * thresholds.FEW_LINES, size)
    return each, -(-size // each)


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
    np.matmul(
        _tiled(left, tile.rows, inner), _tiled(right, inner, tile.columns), out=_tiled(out[..., :down, :along], *tile)
    )
    if along < columns:
        multiply(left, b[..., along:], out[..., :down, along:])
    if down < rows:
        multiply(a[..., down:, :], b, out[..., down:, :])
    return out


def _tiled(matrices: Array, rows: int, columns: int) -> Array:
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
    most = thresholds.STRIP_MULTIPLICATIONS // max(inner, 1)
    least = thresholds.STRIP_COLUMNS
    if not step:
        if rows > columns and inner < 2 * thresholds.STRIP_COLUMNS:
            return None
        most, least = min(most, thresholds.TURNED_STRIP_ELEMENTS), thresholds.FEW_LINES
    is_long = rows * columns > most and rows * inner * columns > thresholds.STRIP_MULTIPLICATIONS // 8
    if not is_long or min(rows, columns) < 2:
        return None
    down, along = most // columns, most // rows
    if along >= least and (columns >= rows or down < thresholds.FEW_LINES):
        return Tile(rows, min(even_size(columns, along, least), columns))
    return (
        Tile(min(even_size(rows, down, thresholds.FEW_LINES), rows), columns) if down >= thresholds.FEW_LINES else None
    )


def even_size(length: int, most: int, unit: int) -> int:
    """The size of the fewest strips of about the same size, in so many lines at a time."""
    each = -(-length // -(-length // (most - most % unit)))
    return -(-each // unit) * unit


class PackedMatrix:
    """A constant matrix [inner, columns] of f32 in panels of columns, which BLAS multiplies as they lie.

    What `multiply` does for matrices that lie in the cache costs more than it saves for those that are read from
    memory: the rows of a tile are in as many pages. In a panel they lie one behind the other. All columns but the last
    ones, which fill no panel, are in panels [panels, inner, columns of a panel]; of a long inner axis each part has
    panels of its own.
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
        count = 1
        if nanoseconds >= thresholds.SHARED_PRODUCT_NANOSECONDS:
            wanted = even_count(nanoseconds / (4 / 3 * thresholds.SHARED_PRODUCT_NANOSECONDS))
            count = min(wanted, thresholds.MOST_PIECES // 2, panels)
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
