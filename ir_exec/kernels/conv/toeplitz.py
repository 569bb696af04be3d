"""Depthwise convolutions as products with Toeplitz matrices, which have a filter along their diagonals.

Several rows of windows are one product. Its first matrix has the filter in each row, at the elements that the row
covers. The second has the rows of the data, repeated for each element of a kernel row and shifted by one element each.
BLAS's kernels for small matrices process six rows of windows at a time (0.38 ns per window of 3 x 3, 0.48 with four
rows, 0.51 with eight); others copy matrices first, and process one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import prod

import numpy as np

from ir_exec.kernels.conv.problem import ConvPart, ConvProblem, ConvRun, share_parts
from ir_exec.kernels.parallel import Worker, even_count
from ir_exec.kernels.windows import Reached, Scratch, SlidingAxis, copy_rows, is_finite, reached_elements
from ir_exec.tuning import thresholds
from ir_exec.tuning.machine import machine
from ir_exec.types import Array

__all__ = ["toeplitz_gemm"]


def toeplitz_gemm(problem: ConvProblem) -> ConvRun:
    """The algorithm for one channel of floats in each group, and kernels that are not empty."""
    is_flat = len(problem.axes) == 1 and problem.column < 8
    if is_flat:
        # One row of windows and one of data. For longer kernels, several windows of one axis in a product are faster.
        problem = replace(problem, axes=(SlidingAxis(1, 1, 1, 1, 0, 1), *problem.axes))
    first, *others = problem.axes
    across = prod([axis.kernel for axis in others])
    wide = 6 if machine().has_small_kernels else 1
    high = min(wide if others else thresholds.FEW_LINES, max(first.count, 1))
    covered = first.extent(high)
    copied = across * first.stride if others else covered / high
    each = copied * thresholds.NEAR_ELEMENT_NANOSECONDS + across * covered / machine().multiplications_a_nanosecond
    nanoseconds = prod(problem.shape) * each
    parts = [(part, reached_elements(part.axes[1:])) for part in _parts(problem, high, copied, nanoseconds)]

    def run(data: Array, filters: Array) -> Array:
        result = np.empty(problem.shape, data.dtype)
        images = data[:, :, :, np.newaxis] if is_flat else data

        def multiply(rows: int) -> None:
            bands = _bands(filters.reshape(*filters.shape[:2], first.kernel, -1), first, rows)
            share_parts(len(parts), lambda: _worker(problem, parts, images, bands, result), nanoseconds)

        multiply(high)
        # Zeros next to a filter turn infinities outside of its window into NaN.
        if high > 1 and not is_finite(result):
            multiply(1)
        return result

    return run


def _parts(problem: ConvProblem, high: int, copied: float, nanoseconds: float) -> list[ConvPart]:
    """The chunks of a convolution.

    Args:
        high: Rows of windows in a product.
        copied: Number of elements copied for a window.
    """
    first, *others = problem.axes
    # For one image of a channel.
    elements = max(copied * problem.windows, 1.0)
    pairs = max(problem.batch * problem.groups, 1)
    chunks = pairs * elements / thresholds.WINDOW_ELEMENTS
    if nanoseconds >= thresholds.SHARED_PRODUCT_NANOSECONDS:
        chunks = even_count(chunks)
    pairs = -(-pairs // max(round(chunks), 1))
    rows = max(first.count, 1)
    if pairs == 1:
        most = int(first.count * thresholds.WINDOW_ELEMENTS / elements)
        rows = min(max(most // high, 1) * high, rows)
    return list(problem.parts((rows, *[axis.count for axis in others]), pairs))


def _bands(filters: Array, axis: SlidingAxis, rows: int) -> Callable[[slice], Array]:
    """The matrices of some groups for a number of window rows, computed at once unless they are large.

    Args:
        filters: [groups, outputs, kernel, across].
    """
    if rows * filters.size * axis.extent(rows) // axis.kernel > 2 * thresholds.WINDOW_ELEMENTS:
        return lambda some: _diagonals(filters[some], axis, rows)
    diagonals = _diagonals(filters, axis, rows)
    return lambda some: diagonals[some]


def _worker(
    problem: ConvProblem,
    parts: list[tuple[ConvPart, list[Reached]]],
    data: Array,
    bands: Callable[[slice], Array],
    result: Array,
) -> Worker:
    """The function that computes some of the chunks.

    Args:
        parts: Chunks, each with the places of a kernel row's elements in the data.
    """
    first, *others = problem.axes
    across = prod([axis.kernel for axis in others])
    scratch = Scratch(data.dtype)
    ahead = (slice(None),) * 3
    # The windows that have zeros in the memory for their padding, and the number of its elements.
    filled: tuple[tuple[SlidingAxis, ...], int] = (), 0

    def compute(number: int) -> None:
        nonlocal filled
        part, laid = parts[number]
        axes = part.axes[1:]
        images = data[part.images][:, :, 0, part.covered[0][0]]
        if across > 1 and images.strides[-1] != images.itemsize:
            # It is read once for each element of a row of the kernel.
            images = images.copy()
        sizes = [axis.kernel for axis in axes], [axis.count for axis in axes]
        rows = scratch.array((*images.shape[:2], part.covered[2][0], *sizes[0], *sizes[1]))
        if part.axes != filled[0] or rows.size > filled[1]:
            rows.fill(0)
            filled = part.axes, rows.size
        inside = rows[:, :, part.covered[1][0]]
        for offset, to, come in laid:
            copy_rows(images[ahead + come], inside[ahead + offset + to])
        rows = rows.reshape(*images.shape[:2], -1, prod(sizes[1]))
        matrices = bands(part.images[1])
        for output in range(problem.outputs):
            _multiply(matrices[:, output], rows, result[part.slices][:, :, output], first.stride * across)

    return compute


def _diagonals(filters: Array, axis: SlidingAxis, rows: int) -> Array:
    """Filters [..., kernel, across] along the diagonals of matrices [..., rows, elements covered by these rows].

    Args:
        axis: The windows, with consecutive rows.
    """
    kernel, across = filters.shape[-2:]
    bands = np.zeros((*filters.shape[:-2], rows, axis.extent(rows) * across), filters.dtype)
    *others, row, step = bands.strides
    strides = (*others, row + axis.stride * across * step, axis.dilation * across * step, step)
    diagonals = np.ndarray((*filters.shape[:-2], rows, kernel, across), filters.dtype, bands, 0, strides)
    diagonals[...] = filters[..., np.newaxis, :, :]
    return bands


def _multiply(bands: Array, rows: Array, out: Array, step: int) -> None:
    """out = the products of bands and the rows covered by them.

    Args:
        bands: [groups, rows of windows, rows of data].
        rows: [batch, groups, rows of data, windows of a row].
        out: [batch, groups, windows].
        step: The distance in rows of data between rows of windows.
    """
    high, height = bands.shape[1:]
    pairs, width = rows.shape[:2], rows.shape[3]
    blocks = out.shape[2] // (width * high)
    strides = (*rows.strides[:2], high * step * rows.strides[2], *rows.strides[2:])
    covered = np.ndarray((*pairs, blocks, height, width), rows.dtype, rows, 0, strides)
    end = blocks * high * width
    if width == 1:
        # One axis: BLAS does not accept overlapping rows, and is slow for vectors.
        target = out[..., :end].reshape(*pairs, blocks, high)
        np.matmul(np.ascontiguousarray(covered[..., 0]), bands.swapaxes(1, 2), out=target)
    else:
        np.matmul(bands[:, np.newaxis], covered, out=out[..., :end].reshape(*pairs, blocks, high, width))
    if end < out.shape[2]:
        behind = rows[:, :, blocks * high * step :]
        target = out[..., end:].reshape(*pairs, -1, width)
        np.matmul(bands[:, : target.shape[2], : behind.shape[2]], behind, out=target)
