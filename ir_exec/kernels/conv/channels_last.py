"""Depthwise convolutions, channels-last: NumPy iterates along many channels in each step instead of few windows."""

from __future__ import annotations

import numpy as np

from ir_exec.kernels.conv.problem import ConvPart, ConvProblem, ConvRun, share_parts
from ir_exec.kernels.windows import block_sizes, strides_of, window_layout
from ir_exec.tuning import thresholds
from ir_exec.types import Array

__all__ = ["channels_last"]


def channels_last(problem: ConvProblem) -> ConvRun:
    """The algorithm for one channel in each group."""
    groups, rank = problem.groups, len(problem.axes)
    # A chunk of few channels takes nearly as long as one of many, so each has all channels.
    sizes = block_sizes(problem.counts, thresholds.INTERMEDIATE_ELEMENTS // max(groups, 1))
    images = max(thresholds.INTERMEDIATE_ELEMENTS // max(problem.windows, 1), groups)
    parts = [(part, _layout(problem, part)) for part in problem.parts(sizes, images)]
    elements, windows, channel = list(range(rank)), list(range(rank, 2 * rank)), 2 * rank
    nanoseconds = problem.multiplications * thresholds.NEAR_ELEMENT_NANOSECONDS

    def run(data: Array, filters: Array) -> Array:
        result = np.empty((problem.batch, problem.outputs, problem.windows, groups), data.dtype).transpose(0, 3, 1, 2)
        taps = np.ascontiguousarray(filters[:, :, 0].transpose(*range(1, rank + 2), 0))

        def compute(number: int) -> None:
            part, (shape, strides) = parts[number]
            inside, target, covered = part.covered
            spread = np.zeros((*covered, groups), data.dtype)
            view = np.ndarray(shape, data.dtype, spread, 0, strides)
            for image, filtered in zip(data[:, :, 0][(*part.images, *inside)], result[part.slices], strict=True):
                spread[target] = image.transpose(*range(1, rank + 1), 0)
                for output in range(problem.outputs):
                    # A view, since a chunk has all channels and consecutive windows.
                    total = filtered[:, output].T.reshape(shape[rank:])
                    operands = view, [*elements, *windows, channel], taps[output], [*elements, channel]
                    np.einsum(*operands, [*windows, channel], out=total)

        share_parts(len(parts), lambda: compute, nanoseconds)
        return np.ascontiguousarray(result)

    return run


def _layout(problem: ConvProblem, part: ConvPart) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Shape and strides of all windows of a chunk, [kernel..., windows..., channels], in the covered elements."""
    covered = part.covered[2]
    *steps, size = strides_of((*covered, problem.groups), problem.accumulator.itemsize)
    shape, strides = window_layout(covered, steps, part.axes)
    return (*shape, problem.groups), (*strides, size)
