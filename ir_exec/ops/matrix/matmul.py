"""MatMul: products of matrices, and of batches of matrices."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

from ir_exec.codes import Code
from ir_exec.errors import ShapeError
from ir_exec.kernels.choice import KernelChoice, choosing
from ir_exec.kernels.gemm.product import matrix_product
from ir_exec.kernels.precision import CALCULABLE, round_to, widen
from ir_exec.ops.base import In, Op, op
from ir_exec.ops.base.attributes import Bool
from ir_exec.ops.base.dims import element_type_of
from ir_exec.ops.base.shapes import broadcast_shapes, require_least_rank
from ir_exec.ops.base.variants import Kernel, KernelRequest, variant
from ir_exec.tuning import thresholds
from ir_exec.types import BOOLEAN, Array, Dim, Shape, TensorType

__all__ = ["MatMul"]

_OWN_TYPES = (np.dtype(np.float32), np.dtype(np.float64))
"""The types that BLAS multiplies."""


@op("MatMul", since=1)
class MatMul(Op):
    """output[..., i, j] = sum over k of a[..., i, k] * b[..., k, j].

    The axes before the last two are batches, broadcast as in NumPy. A vector `a` is one row, a vector `b` one column;
    their axis of size 1 is not in the output. Floats shorter than f32 are multiplied in f32. Integers are exact: 8 bits
    saturate, longer ones wrap.

    Specification: matrix/matmul-1. Booleans, for which + is "or", are an extension of OpenVINO to it.

    Inputs:
        a: Rank 1 or more, one numeric type or boolean.
        b: Like `a`.

    Attributes:
        transpose_a: The last two axes of a are exchanged first, unless it is a vector; false by default.
        transpose_b: The last two axes of b are exchanged first, unless it is a vector; false by default.

    Outputs:
        output: The type of a.

    Raises:
        IRError: IR501 for a scalar, IR502 if a does not have as many columns as b has rows, IR504 where batches do not
            broadcast.
    """

    inputs = (In("a", types=CALCULABLE | BOOLEAN), In("b", types=CALCULABLE | BOOLEAN, like="a"))
    term_inputs = ("a", "b")

    transpose_a: Bool = False
    transpose_b: Bool = False

    def infer(self, a: TensorType, b: TensorType) -> TensorType:
        element_type = element_type_of((a, b))
        for name, tensor in (("a", a), ("b", b)):
            require_least_rank(tensor, 1, name)
        if a.shape.dims is None or b.shape.dims is None:
            return TensorType(element_type, Shape.unknown())
        *batch_a, rows_a, columns_a = _matrix_dims(a.shape, self.transpose_a, (Dim.of(1), *a.shape))
        *batch_b, rows_b, columns_b = _matrix_dims(b.shape, self.transpose_b, (*b.shape, Dim.of(1)))
        if columns_a & rows_b is None:
            raise ShapeError(
                f"a {_shape_text(a.shape, self.transpose_a)} and b {_shape_text(b.shape, self.transpose_b)} have",
                actual=f"{_count(columns_a, 'column')} and {_count(rows_b, 'row')}",
                expected="equal sizes",
                code=Code.dims_differ,
            )
        batch = broadcast_shapes(Shape(batch_a), Shape(batch_b))
        rows = [rows_a] if len(a.shape) > 1 else []
        columns = [columns_b] if len(b.shape) > 1 else []
        return TensorType(element_type, Shape([*batch, *rows, *columns]))

    def multiply_adds(self, inputs: Sequence[tuple[int, ...]], outputs: Sequence[tuple[int, ...]]) -> int:
        a = inputs[0]
        return prod(outputs[0]) * a[-2 if self.transpose_a and len(a) > 1 else -1]

    def count_terms(self, inputs: Sequence[Array]) -> int:
        rows_first = self.transpose_a and inputs[0].ndim > 1
        return int(inputs[0].shape[-2 if rows_first else -1])

    def channel_axis(self, position: int, rank: int) -> int | None:
        return self._summed_axis(position, rank) if rank else None

    def weight_axes(self, position: int, rank: int) -> tuple[int, ...] | None:
        return (self._summed_axis(position, rank),) if rank > 1 else None

    def _summed_axis(self, position: int, rank: int) -> int:
        is_last = (not self.transpose_a, self.transpose_b)[position]
        return rank - 1 if is_last or rank == 1 else rank - 2

    def equal_sizes(self, *types: TensorType) -> Iterator[tuple[int, int]]:
        left, right = (list(matrices.shape.static) for matrices in types)
        yield left[self._summed_axis(0, len(left))], right[self._summed_axis(1, len(right))]
        yield from [pair for pair in zip(left[-3::-1], right[-3::-1], strict=False) if 1 not in pair]

    def evaluate(self, a: Array, b: Array) -> Array:
        left, right = widen(a), widen(b)
        if self.transpose_a and left.ndim > 1:
            left = left.swapaxes(-1, -2)
        if self.transpose_b and right.ndim > 1:
            right = right.swapaxes(-1, -2)
        return round_to(np.asarray(matrix_product(left, right)), a.dtype)

    def with_constants(self, constants: Mapping[int, Array]) -> Callable[..., Any] | None:
        """Transpose a small constant matrix once, for faster BLAS products."""
        matrix = constants.get(1)
        is_read_by_columns = self.transpose_b and not self.transpose_a
        if matrix is None or matrix.ndim != 2 or matrix.dtype not in _OWN_TYPES or not is_read_by_columns:
            return None
        if not matrix.T.flags.c_contiguous and matrix.nbytes > thresholds.WORKING_ELEMENTS // 4:
            return None
        return choosing(partial(_product_with, np.ascontiguousarray(matrix.T)), _TRANSPOSED)


def _is_plain(op: MatMul, request: KernelRequest) -> bool:
    return request.types[0].element_type.dtype in _OWN_TYPES and not (op.transpose_a or op.transpose_b)


@variant("MatMul", name="product", applies=_is_plain, cost=0.75, why="Neither conversion nor transposition is needed.")
def _product(op: MatMul, request: KernelRequest) -> Kernel:
    return matrix_product


_TRANSPOSED = KernelChoice(
    "A small constant matrix is transposed once: BLAS reads it by rows.",
    ("evaluate: does so in every run",),
    "transposed",
)


def _product_with(matrix: Array, a: Array, b: Array) -> Array:
    return matrix_product(a, matrix)


def _matrix_dims(shape: Shape, transpose: bool, vector: tuple[Dim, ...]) -> tuple[Dim, ...]:
    if len(shape) == 1:
        return vector
    return (*shape[:-2], shape[-1], shape[-2]) if transpose else shape[:]


def _count(dim: Dim, noun: str) -> str:
    return f"{dim} {noun}" if dim == 1 else f"{dim} {noun}s"


def _shape_text(shape: Shape, transpose: bool) -> str:
    return f"{shape}, transposed" if transpose and len(shape) > 1 else str(shape)
