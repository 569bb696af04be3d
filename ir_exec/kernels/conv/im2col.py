"""im2col: windows copied to the columns of a matrix, which BLAS multiplies by the filters."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ir_exec.kernels.chunks import by_rows
from ir_exec.kernels.conv.problem import ConvProblem, ConvRun, share_parts
from ir_exec.kernels.gemm.blas import blas_is_single_threaded
from ir_exec.kernels.gemm.product import matrix_product, product_for
from ir_exec.kernels.parallel import Worker
from ir_exec.kernels.windows import (
    Covered,
    Scratch,
    block_sizes,
    copy_rows,
    covered_part,
    padded_part,
    strides_of,
    window_layout,
    window_view,
)
from ir_exec.tuning import thresholds
from ir_exec.tuning.machine import machine
from ir_exec.types import Array

__all__ = ["im2col", "one_product", "pointwise"]


def im2col(problem: ConvProblem) -> ConvRun:
    """The algorithm for any convolution."""
    most = max(thresholds.WINDOW_ELEMENTS // max(problem.column, 1), thresholds.LEAST_WINDOWS)
    if problem.windows > most:
        # The number of threads is rarely odd.
        most = -(-problem.windows // (2 * -(-problem.windows // (2 * most))))
    sizes = block_sizes(problem.counts, most)
    parts = list(problem.parts(sizes, thresholds.WINDOW_ELEMENTS // max(problem.column * int(np.prod(sizes)), 1)))
    copied = problem.batch * problem.groups * problem.windows * problem.column
    nanoseconds = problem.multiplications / machine().multiplications_a_nanosecond
    nanoseconds += copied * thresholds.NEAR_ELEMENT_NANOSECONDS

    def run(data: Array, filters: Array) -> Array:
        result = np.empty(problem.shape, problem.accumulator)
        rows = filters.reshape(*filters.shape[:2], problem.column)

        def make_worker() -> Worker:
            scratch = Scratch(rows.dtype)

            def compute(number: int) -> None:
                part = parts[number]
                target = result[part.slices]
                windows = window_view(padded_part(data[part.images], part.axes, part.covered), part.axes)
                copied = scratch.array(windows.shape)
                copy_rows(windows, copied)
                columns = copied.reshape(*target.shape[:2], problem.column, target.shape[3])
                matrix_product(rows[part.slices[1]], columns, target, is_chunk=len(parts) > 1)

            return compute

        share_parts(len(parts), make_worker, nanoseconds)
        return result

    return run


def pointwise(problem: ConvProblem) -> ConvRun:
    """The algorithm for pointwise convolutions: the data is the matrix."""

    def run(data: Array, filters: Array) -> Array:
        result = np.empty(problem.shape, problem.accumulator)
        columns = data.reshape(*data.shape[:3], problem.windows)
        return matrix_product(filters.reshape(*filters.shape[:2], problem.column), columns, result)

    return run


class _Windows(NamedTuple):
    """All windows of one image as one matrix.

    Attributes:
        covered: The covered elements, see `covered_part`.
        shape: The shape of the view of all windows in `covered`.
        strides: The strides of this view.
    """

    covered: Covered
    shape: tuple[int, ...]
    strides: tuple[int, ...]


def one_product(problem: ConvProblem) -> Callable[[Array, Array], Array] | None:
    """im2col for one image of f32 or f64 with one group, as one product; None for others.

    Everything is precomputed, since the overhead of a call matters for small images.

    data: [1, channels, spatial...]. filters: [1, outputs, channels, kernel...]. The result has the shape of the output.
    """
    outputs, column, count = problem.outputs, problem.column, problem.windows
    is_one = problem.batch == problem.groups == 1 and min(outputs, column, count) > 0 and problem.dtype.char in "fd"
    most = max(thresholds.WINDOW_ELEMENTS // max(column, 1), thresholds.LEAST_WINDOWS)
    if not is_one or not (count <= most or problem.is_pointwise):
        return None
    dtype, shape = problem.dtype, (1, outputs, *problem.counts)
    product = product_for((outputs, column), (column, count), dtype)
    windows: _Windows | None = None
    if not problem.is_pointwise:
        covered = covered_part(problem.axes)
        sizes = problem.channels, *covered[2]
        windows = _Windows(covered, *window_layout(sizes, strides_of(sizes, dtype.itemsize), problem.axes))

    def convolve(data: Array, filters: Array) -> Array:
        if windows is None:
            columns = data.reshape(column, count)
        else:
            covering = np.ascontiguousarray(padded_part(by_rows(data[0]), problem.axes, windows.covered))
            copied = np.empty(windows.shape, dtype)
            copy_rows(np.ndarray(windows.shape, dtype, covering, 0, windows.strides), copied)
            columns = copied.reshape(column, count)
        # Otherwise BLAS would wake its own threads for the product.
        blas_is_single_threaded()
        result = np.empty((outputs, count), dtype)
        product(filters.reshape(outputs, column), columns, result)
        return result.reshape(shape)

    return convolve
