"""Products with compressed matrices: 4 and 8 bits with scales and zero points, and 16-bit floats.

One chunk of the matrix at a time is decoded to f32 in the cache, multiplied and discarded, so the whole matrix is never
expanded. Chunks depend on the shapes only, and threads share them.

Decoding writes planes: the first elements of all bytes, or 32-bit words, of a chunk or a row precede the second
elements. No element moves, and NumPy iterates over long rows or none. The other factor is reordered once for the whole
product.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ir_exec.kernels.gemm.product import matrix_product
from ir_exec.kernels.gemm.sharing import share_products
from ir_exec.kernels.parallel import Worker
from ir_exec.tuning import thresholds
from ir_exec.tuning.machine import machine
from ir_exec.types import Array, ElementType

__all__ = ["CompressedMatrix", "multiply_columns", "multiply_rows", "take_rows"]

_Decoder: TypeAlias = Callable[[Array, Array], None]
"""Write the codes in bytes [rows, bytes of a row] as f32 [planes, rows, columns of a plane]."""

_WIDE_EXPONENT = np.float32(2.0**112)
"""Factor by which the bits of an f16 in the place of f32 bits are too small."""

_HALF_OF_IT = np.float32(2.0**56)

_MODERATE = np.float32(2.0**-40), np.float32(2.0**60)
"""Range of each token's largest magnitude for scaling by `_HALF_OF_IT` before and after the product.

Products with any f16 then neither overflow nor lose digits.
"""


class _Codec(NamedTuple):
    """The decoder of an element type.

    Attributes:
        planes: The number of planes of a decoded chunk.
        decode: Writes them.
        is_small: They must be multiplied by `_WIDE_EXPONENT`, wherever it costs least.
    """

    planes: int
    decode: _Decoder
    is_small: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class CompressedMatrix:
    """A matrix of f32 with the elements [i, j] = (code - zero) * scale.

    Attributes:
        stored: u8 [rows, bytes of a row], little endian.
        columns: Elements of a row.
        scale: One number for each group of adjacent elements, [rows, groups of a row] for groups along rows, [groups of
            a column, columns] for groups along columns; any dtype convertible to f32; None for 1.
        zero: The zero points in the same form; None for 0.
    """

    stored: Array
    columns: int
    codec: _Codec
    scale: Array | None = None
    zero: Array | None = None

    @staticmethod
    def of(
        stored: Array,
        element_type: ElementType,
        columns: int,
        *,
        scale: Array | None = None,
        zero: Array | None = None,
        high_first: bool = False,
        table: Array | None = None,
    ) -> CompressedMatrix | None:
        """The matrix, or None if products with it are not supported.

        Args:
            element_type: The element type of the codes.
            high_first: The first of two elements in a byte is in the high half.
            table: For non-integer types shorter than 16 bits, the f32 values of all 256 bytes, [256, elements].
        """
        codec = _codec(stored, element_type, columns, high_first, table)
        return None if codec is None else CompressedMatrix(stored, columns, codec, scale, zero)

    @property
    def rows(self) -> int:
        return len(self.stored)

    def part(self, start: int, stop: int) -> CompressedMatrix:
        """The rows from start to stop - 1 of a matrix with groups along rows."""
        scale, zero = (None if numbers is None else numbers[start:stop] for numbers in (self.scale, self.zero))
        return replace(self, stored=self.stored[start:stop], scale=scale, zero=zero)


def multiply_rows(a: Array, matrix: CompressedMatrix, out: Array) -> Array:
    """out = a @ matrix.T for a [tokens, columns] and out [tokens, rows], both f32; groups are along rows."""
    scale, zero, codec = matrix.scale, matrix.zero, matrix.codec
    tokens, columns = a.shape
    groups = max([1] + [numbers.shape[1] for numbers in (scale, zero) if numbers is not None])
    are_many = groups > 1 and tokens > thresholds.FEW_LINES
    with_scales = _with_scaled_weights if are_many else _with_scaled_sums
    make = with_scales(_spread(a, codec.planes), matrix, groups, out)
    size = _at_once(matrix.rows, columns, tokens)

    def make_worker() -> Worker:
        space = np.empty(size * columns, np.float32)
        multiply = make()

        def work(number: int) -> None:
            rows = slice(number * size, min((number + 1) * size, matrix.rows))
            count = rows.stop - rows.start
            width = columns // codec.planes
            # For one product with all planes of a row, which are then contiguous.
            lying = (count, codec.planes, width) if are_many else (codec.planes, count, width)
            codes = space[: count * columns].reshape(lying)
            codec.decode(matrix.stored[rows], codes.swapaxes(0, 1) if are_many else codes)
            multiply(codes, rows)

        return work

    share_products(-(-matrix.rows // size), make_worker, nanoseconds=_nanoseconds(matrix, tokens))
    return out


_Multiply: TypeAlias = Callable[[Array, slice], None]
"""Multiply the decoded codes of these rows, which may be overwritten."""


def _with_scaled_sums(spread: Array, matrix: CompressedMatrix, groups: int, out: Array) -> Callable[[], _Multiply]:
    """Apply scales and zero points to the sums over each group: there are fewer sums than weights."""
    tokens, planes, width = spread.shape
    scale, zero = matrix.scale, matrix.zero
    sums = spread.reshape(tokens, planes, groups, -1).sum((1, 3)).T[:, np.newaxis] if zero is not None else None
    factor = np.float32(1)
    if matrix.codec.is_small and _is_moderate(np.abs(spread).max((1, 2))):
        factor = _HALF_OF_IT
        spread = spread * factor
    right = spread.reshape(tokens, planes, groups, width // groups).transpose(1, 2, 3, 0)

    def multiply(codes: Array, rows: slice) -> None:
        if matrix.codec.is_small and factor == 1:
            codes *= _WIDE_EXPONENT
        grouped = codes.reshape(planes, -1, groups, width // groups).swapaxes(1, 2)
        products = matrix_product(grouped, right, np.empty((*grouped.shape[:-1], tokens), np.float32), is_chunk=True)
        products = products[0] if planes == 1 else products.sum(0)
        if factor != 1:
            products *= factor
        if zero is not None and sums is not None:
            products -= zero[rows].T[..., np.newaxis].astype(np.float32) * sums
        if scale is not None:
            products *= scale[rows].T[..., np.newaxis].astype(np.float32)
        out[:, rows] = (products[0] if groups == 1 else products.sum(0)).T

    return lambda: multiply


def _is_moderate(largest: Array) -> bool:
    least, most = _MODERATE
    return bool(np.all((largest < most) & ((largest > least) | (largest == 0))))


def _with_scaled_weights(spread: Array, matrix: CompressedMatrix, groups: int, out: Array) -> Callable[[], _Multiply]:
    """Apply scales and zero points to the weights, which many tokens share."""
    tokens, planes, width = spread.shape
    flat = spread.reshape(tokens, -1)

    def multiply(codes: Array, rows: slice) -> None:
        if matrix.codec.is_small:
            codes *= _WIDE_EXPONENT
        grouped = codes.reshape(-1, planes, groups, width // groups)
        for numbers, apply in ((matrix.zero, np.subtract), (matrix.scale, np.multiply)):
            if numbers is not None:
                apply(grouped, numbers[rows].astype(np.float32)[:, np.newaxis, :, np.newaxis], out=grouped)
        weights = codes.reshape(-1, planes * width)
        if tokens < thresholds.MANY_ROWS:
            out[:, rows] = np.matmul(weights, flat.T).T
        else:
            np.matmul(flat, weights.T, out=out[:, rows])

    return lambda: multiply


def multiply_columns(a: Array, matrix: CompressedMatrix, out: Array) -> Array:
    """out = a @ matrix for a [tokens, rows] and out [tokens, columns], both f32; groups are along columns."""
    codec, planes = matrix.codec, matrix.codec.planes
    size = max(_at_once(matrix.columns, matrix.rows, len(a)), thresholds.LEAST_WINDOWS)
    # Chunks consist of whole cache lines, and of whole bytes for types with two elements in a byte.
    line = 2 * thresholds.FEW_LINES
    size = -(-size // line) * line
    width = size * matrix.stored.shape[1] // matrix.columns

    def make_worker() -> Worker:
        space = np.empty(matrix.rows * min(size, matrix.columns), np.float32)

        def work(number: int) -> None:
            columns = slice(number * size, min((number + 1) * size, matrix.columns))
            count = columns.stop - columns.start
            codes = space[: matrix.rows * count].reshape(planes, matrix.rows, count // planes)
            codec.decode(matrix.stored[:, number * width : (number + 1) * width], codes)
            if codec.is_small:
                codes *= _WIDE_EXPONENT
            for numbers, apply in ((matrix.zero, np.subtract), (matrix.scale, np.multiply)):
                if numbers is not None:
                    grouped = codes.reshape(planes, len(numbers), -1, count // planes)
                    own = _spread(numbers[:, columns].astype(np.float32), planes).swapaxes(0, 1)
                    apply(grouped, own[:, :, np.newaxis], out=grouped)
            products = matrix_product(a, codes, np.empty((planes, len(a), count // planes), np.float32), is_chunk=True)
            out[:, columns] = products.transpose(1, 2, 0).reshape(len(a), count)

        return work

    share_products(-(-matrix.columns // size), make_worker, nanoseconds=_nanoseconds(matrix, len(a)))
    return out


def take_rows(matrix: CompressedMatrix, places: Array) -> Array:
    """The rows at these places [n], as f32 [n, columns]; groups are along rows."""
    codec = matrix.codec
    out = np.empty((len(places), matrix.columns), np.float32)
    size = _at_once(len(places), matrix.columns)
    for start in range(0, len(places), size):
        chosen = places[start : start + size]
        codes = np.empty((codec.planes, len(chosen), matrix.columns // codec.planes), np.float32)
        codec.decode(matrix.stored[chosen], codes)
        if codec.is_small:
            codes *= _WIDE_EXPONENT
        rows = out[start : start + size]
        rows[:] = codes.transpose(1, 2, 0).reshape(rows.shape)
        for numbers, apply in ((matrix.zero, np.subtract), (matrix.scale, np.multiply)):
            if numbers is not None:
                grouped = rows.reshape(len(rows), numbers.shape[1], -1)
                apply(grouped, numbers[chosen].astype(np.float32)[..., np.newaxis], out=grouped)
    return out


def _at_once(count: int, elements: int, tokens: int = 1) -> int:
    """The number of rows, out of `count` with this many elements, to decode before multiplying."""
    blocks = min(max(tokens // thresholds.LEAST_WINDOWS, 1), 4)
    size = max(min(blocks * thresholds.WINDOW_ELEMENTS // max(elements, 1), count), 1)
    if blocks > 1:
        # Equal chunks, enough of them for the threads.
        size = min(size, max(2 * count // thresholds.MOST_CHUNKS, thresholds.LEAST_WINDOWS))
        size = max(-(-count // -(-count // size)), 1)
    return size


def _nanoseconds(matrix: CompressedMatrix, tokens: int) -> float:
    elements = matrix.rows * matrix.columns
    return elements * (thresholds.NEAR_ELEMENT_NANOSECONDS + tokens / machine().multiplications_a_nanosecond)


def _spread(a: Array, planes: int) -> Array:
    """Rows [n, columns] in the order of planes: [n, planes, columns of a plane]."""
    return np.ascontiguousarray(a.reshape(len(a), -1, planes).swapaxes(1, 2))


def _codec(
    stored: Array, element_type: ElementType, columns: int, high_first: bool, table: Array | None
) -> _Codec | None:
    """The codec for the codes of a row; None for unsupported types and sizes."""
    if element_type.bits == 4 and columns % 2:
        return None
    if table is not None:
        return _Codec(1, _by_table(table))
    if element_type.name in ("u4", "i4"):
        return _Codec(2, _nibbles(is_signed=element_type.is_signed, first=int(high_first)))
    if element_type.name in ("u8", "i8"):
        return _Codec(1, _as_they_are(element_type.dtype))
    if element_type.bits != 16 or not element_type.is_float:
        return None
    if columns % 2:
        return _Codec(1, _as_they_are(element_type.dtype))
    if element_type is ElementType.bf16:
        return _Codec(2, _decode_bf16)
    return (
        _Codec(2, _decode_f16, is_small=True) if _is_finite_f16(stored) else _Codec(1, _as_they_are(element_type.dtype))
    )


def _nibbles(*, is_signed: bool, first: int) -> _Decoder:
    """The decoder of elements of 4 bits.

    Args:
        first: The plane of the low halves.
    """

    def decode_unsigned(stored: Array, out: Array) -> None:
        halves = np.bitwise_and(stored, 15)
        np.copyto(out[first], halves)
        np.copyto(out[1 - first], np.right_shift(stored, 4, out=halves))

    def decode_signed(stored: Array, out: Array) -> None:
        halves = np.left_shift(stored, 4).view(np.int8)
        np.copyto(out[first], np.right_shift(halves, 4, out=halves))
        np.copyto(out[1 - first], np.right_shift(stored.view(np.int8), 4, out=halves))

    return decode_signed if is_signed else decode_unsigned


def _as_they_are(dtype: np.dtype[Any]) -> _Decoder:
    def decode(stored: Array, out: Array) -> None:
        np.copyto(out[0], stored.view(dtype), casting="unsafe")

    return decode


def _by_table(table: Array) -> _Decoder:
    # Both elements of a byte are looked up at once.
    numbers = np.ascontiguousarray(table, np.float32).view(np.float32 if table.shape[1] == 1 else np.float64)[:, 0]

    def decode(stored: Array, out: Array) -> None:
        # Every byte is in the table; the other modes make NumPy buffer.
        np.take(numbers, stored, out=out[0].view(numbers.dtype), mode="clip")

    return decode


def _decode_bf16(stored: Array, out: Array) -> None:
    """A bf16 is the upper half of an f32."""
    words, bits = stored.view(np.uint32), out.view(np.uint32)
    np.left_shift(words, 16, out=bits[0])
    np.bitwise_and(words, 0xFFFF0000, out=bits[1])


def _decode_f16(stored: Array, out: Array) -> None:
    """An f16 with its exponent shifted to that of an f32; the sign bits filling the gap are masked."""
    words, bits = stored.view(np.int32), out.view(np.int32)
    np.left_shift(words, 16, out=bits[0])
    np.right_shift(bits[0], 3, out=bits[0])
    np.right_shift(words, 3, out=bits[1])
    np.bitwise_and(bits, -0x70002000, out=bits)


def _is_finite_f16(stored: Array) -> bool:
    """Return True if no f16 is infinite or NaN: these have no corresponding exponent in f32."""
    size = _at_once(len(stored), stored.shape[1])
    for start in range(0, len(stored), size):
        if np.bitwise_and(stored[start : start + size].view(np.uint16), 0x7FFF).max(initial=0) >= 0x7C00:
            return False
    return True
