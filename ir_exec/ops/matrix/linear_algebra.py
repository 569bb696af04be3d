"""Inverse: inverse matrices. GroupedMatMul: products of groups of matrices."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import prod

import numpy as np

from ir_exec.codes import Code
from ir_exec.errors import EvaluationError, IRError, ShapeError
from ir_exec.kernels.gemm.product import matrix_product
from ir_exec.kernels.indices import as_integers
from ir_exec.kernels.precision import CALCULABLE, CALCULABLE_FLOAT, round_to, widen
from ir_exec.ops.base import In, Op, op
from ir_exec.ops.base.attributes import Bool
from ir_exec.ops.base.dims import element_type_of
from ir_exec.ops.base.shapes import merge_dims, require_least_rank, require_rank
from ir_exec.types import INDEX, UNBOUNDED, Array, Dim, Shape, TensorType

__all__ = ["GroupedMatMul", "Inverse"]


@op("Inverse", since=14)
class Inverse(Op):
    """The inverse of every matrix: output @ data = 1; with `adjoint` (false by default) its transpose.

    As specified, everything is computed in f32.

    The specification does not define the result for a singular matrix. As in OpenVINO, elimination continues with the
    pivot 0, and the output holds infinities and NaN.

    Specification: matrix/inverse-14.

    Inputs:
        data: Any float type, shape [..., N, N].

    Outputs:
        output: Like data.

    Raises:
        IRError: IR501 for a rank below 2, IR502 for matrices that are not square.
    """

    inputs = (In("data", types=CALCULABLE_FLOAT),)

    adjoint: Bool = False

    def infer(self, data: TensorType) -> TensorType:
        if data.shape.dims is None:
            return data.without_values()
        require_least_rank(data, 2, "data")
        side = merge_dims(data.shape[-2], data.shape[-1], "the last two axes of data", port="data")
        return data.with_shape(Shape([*data.shape[:-2], side, side]))

    def count_terms(self, inputs: Sequence[Array]) -> int:
        """Elimination updates every row with each of the others, element by element."""
        return int(inputs[0].shape[-1] ** 2)

    def evaluate(self, data: Array) -> Array:
        matrices = data.astype(np.float32).reshape(prod(data.shape[:-2]), *data.shape[-2:])
        inverse = _solve(*_eliminate(matrices)).reshape(data.shape)
        output = np.empty(data.shape, data.dtype)
        output[...] = inverse.swapaxes(-1, -2) if self.adjoint else inverse
        return output


def _eliminate(matrices: Array) -> tuple[Array, Array]:
    """The sides of the systems matrices @ x = 1 after Gaussian elimination: the left one is zero below its diagonals.

    Rows are exchanged: the pivot of a column is the number of the greatest magnitude.
    """
    count, side, _ = matrices.shape
    system = np.empty((count, side, 2 * side), matrices.dtype)
    system[..., :side] = matrices
    system[..., side:] = np.eye(side, dtype=matrices.dtype)
    every = np.arange(count)
    for step in range(side):
        pivots = step + np.argmax(np.abs(system[:, step:, step]), axis=1)
        first = system[:, step].copy()
        system[:, step] = system[every, pivots]
        system[every, pivots] = first
        factors = system[:, step + 1 :, step] / system[:, step, step, None]
        system[:, step + 1 :, step:] -= factors[..., None] * system[:, step, None, step:]
    return system[..., :side], system[..., side:]


def _solve(upper: Array, right: Array) -> Array:
    """The x of upper @ x = right, by substitution from the last row to the first."""
    solution = np.empty(right.shape, right.dtype)
    for row in reversed(range(right.shape[-2])):
        products = matrix_product(upper[:, row, None, row + 1 :], solution[:, row + 1 :])[:, 0]
        solution[:, row] = (right[:, row] - products) / upper[:, row, row, None]
    return solution


@op("GroupedMatMul", since=17)
class GroupedMatMul(Op):
    """A product of matrices for each of G groups, with transposed right sides.

    mat_a of shape [G, M, K]: output[g] = mat_a[g] @ mat_b[g].T, of shape [G, M, N].
    mat_a of shape [rows, K], the concatenated rows of all groups: output[start:end] = mat_a[start:end] @ mat_b[g].T
    with start = offsets[g - 1] (0 for the first group) and end = offsets[g]; of shape [rows, N]. Rows after the last
    group are 0.

    Sums are as in MatMul.

    The specification of some releases also has a product of two matrices of rank 2, and a fourth input with a bias;
    OpenVINO 2026.4 rejects both, and so does this class.

    Specification: matrix/grouped-matmul-17.

    Inputs:
        mat_a: [G, M, K] or [rows, K], any numeric type.
        mat_b: [G, N, K], the type of mat_a.
        offsets: i32 or i64, [G], the ends of the groups, non-decreasing; required if mat_a has rank 2, ignored
            elsewhere.

    Outputs:
        output: The type of mat_a.

    Raises:
        IRError: IR501 for other ranks, IR502 for sizes that differ, IR505 for missing offsets, IR701 for offsets that
            decrease or exceed the rows.
    """

    inputs = (
        In("mat_a", types=CALCULABLE),
        In("mat_b", types=CALCULABLE, like="mat_a"),
        In("offsets", types=INDEX, optional=True),
    )
    term_inputs = ("mat_a", "mat_b")

    def infer(self, mat_a: TensorType, mat_b: TensorType, offsets: TensorType | None = None) -> TensorType:
        element_type = element_type_of((mat_a, mat_b))
        require_rank(mat_a, (2, 3), "mat_a")
        require_rank(mat_b, 3, "mat_b")
        if mat_a.shape.dims is None or mat_b.shape.dims is None:
            return TensorType(element_type, Shape.unknown())
        merge_dims(mat_a.shape[-1], mat_b.shape[-1], "the last axes of mat_a and mat_b", port="mat_b")
        if len(mat_a.shape) == 3:
            groups = merge_dims(mat_a.shape[0], mat_b.shape[0], "axis 0 of mat_a and mat_b", port="mat_b")
            return TensorType(element_type, Shape([groups, mat_a.shape[1], mat_b.shape[1]]))
        if offsets is None:
            raise ShapeError(
                "offsets is missing", expected="the ends of the groups for mat_a of rank 2", port="offsets"
            )
        require_rank(offsets, 1, "offsets")
        if offsets.shape.dims is not None:
            # As in OpenVINO, offsets beyond the number of groups are ignored.
            enough = Dim(mat_b.shape[0].lo, UNBOUNDED)
            merge_dims(offsets.shape[0], enough, "the length of offsets and axis 0 of mat_b", port="offsets")
        return TensorType(element_type, Shape([mat_a.shape[0], mat_b.shape[1]]))

    def count_terms(self, inputs: Sequence[Array]) -> int:
        return int(inputs[0].shape[-1])

    def evaluate(self, mat_a: Array, mat_b: Array, offsets: Array | None = None) -> Array:
        left, right = widen(mat_a), widen(mat_b).swapaxes(-1, -2)
        if mat_a.ndim == 3:
            return round_to(np.asarray(matrix_product(left, right)), mat_a.dtype)
        assert offsets is not None, "infer requires them"
        output = np.zeros((len(left), right.shape[-1]), left.dtype)
        for group, (start, end) in enumerate(_row_ranges(offsets, len(right), len(left))):
            output[start:end] = matrix_product(left[start:end], right[group])
        return round_to(output, mat_a.dtype)

    def check_values(self, *types: TensorType) -> list[IRError]:
        a, b = (tensor.shape for tensor in types[:2])
        offsets = types[2].value if len(types) > 2 and len(a.dims or ()) == 2 else None
        if offsets is None or b.dims is None or not (a[0].is_static and b[0].is_static):
            return []
        try:
            _row_ranges(offsets, b[0].size, a[0].size)
        except EvaluationError as error:
            return [error]
        return []


def _row_ranges(offsets: Array, groups: int, rows: int) -> list[tuple[int, int]]:
    """The first and last row of each group."""
    places = [0, *as_integers(offsets)[:groups].tolist()]
    for group, (start, end) in enumerate(pairwise(places)):
        if not start <= end <= rows:
            raise EvaluationError(
                f"offsets[{group}] is",
                actual=end,
                expected=f"{start} to {rows}",
                reason="where the rows of mat_a end",
                code=Code.index_out_of_range,
                port="offsets",
            )
    return list(pairwise(places))
