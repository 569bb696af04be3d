"""The selection of a convolution algorithm: the first one of a table that applies and is worthwhile.

Winograd's algorithm is not in the table: it needs transformed filters, see `winograd`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, NamedTuple, Protocol

import numpy as np

from ir_exec.kernels.choice import KernelChoice, choosing
from ir_exec.kernels.chunks import by_rows
from ir_exec.kernels.conv.channels_last import channels_last
from ir_exec.kernels.conv.im2col import im2col, one_product, pointwise
from ir_exec.kernels.conv.problem import ConvProblem, ConvRun
from ir_exec.kernels.conv.toeplitz import toeplitz_gemm
from ir_exec.kernels.precision import round_to, widen
from ir_exec.kernels.windows import SlidingAxis
from ir_exec.tuning import thresholds
from ir_exec.tuning.machine import machine
from ir_exec.types import Array

__all__ = ["VARIANTS", "ConvVariant", "Convolver", "chosen_variant", "convolve", "convolver"]


class Convolver(Protocol):
    """The result of a convolution, in the type and shape of the output."""

    def __call__(self, data: Array, filters: Array) -> Array: ...


class ConvVariant(NamedTuple):
    """A method of computing convolutions.

    Attributes:
        applies: Returns True if it computes the convolution.
        pays: Returns True if it is faster than the following ones.
        why: The reason in words.
    """

    name: str
    applies: Callable[[ConvProblem], bool]
    pays: Callable[[ConvProblem], bool]
    make: Callable[[ConvProblem], ConvRun]
    why: str


def _any(problem: ConvProblem) -> bool:
    return True


def _has_few_windows(problem: ConvProblem) -> bool:
    most = thresholds.FEW_MULTIPLICATIONS
    if machine().has_small_kernels:
        # Bands are then faster.
        most = most * 3 // 4
    is_of_channels = problem.outputs < thresholds.FEW_CHANNELS and problem.groups >= thresholds.MANY_CHANNELS
    return is_of_channels and problem.windows * problem.column <= most


def _has_bands(problem: ConvProblem) -> bool:
    return problem.is_depthwise and problem.column > 0 and problem.accumulator.kind == "f"


def _has_wide_rows(problem: ConvProblem) -> bool:
    if problem.outputs >= thresholds.FEW_CHANNELS or prod(problem.shape) < thresholds.FILLED_ELEMENTS:
        return False
    first, *others = problem.axes
    width = prod([axis.count for axis in others]) if others else first.count
    return machine().has_small_kernels or width * problem.column >= thresholds.MANY_ROWS


VARIANTS = (
    ConvVariant(
        "pointwise",
        lambda problem: problem.is_pointwise,
        _any,
        pointwise,
        "The windows are the elements: the data is the matrix.",
    ),
    ConvVariant(
        "channels_last",
        lambda problem: problem.is_depthwise,
        _has_few_windows,
        channels_last,
        "Many separate channels of few windows: NumPy iterates along the channels.",
    ),
    ConvVariant(
        "toeplitz_gemm",
        _has_bands,
        _has_wide_rows,
        toeplitz_gemm,
        "Separate channels with long rows of windows: BLAS multiplies the rows by the filter in a band matrix.",
    ),
    ConvVariant(
        "im2col",
        _any,
        _any,
        im2col,
        "im2col: windows are copied to a matrix that BLAS multiplies by the filters.",
    ),
)
"""The last entry computes every convolution."""


def chosen_variant(problem: ConvProblem) -> ConvVariant:
    """The first variant that applies to the convolution and is worthwhile."""
    return next(variant for variant in VARIANTS if variant.applies(problem) and variant.pays(problem))


def convolver(
    axes: Sequence[SlidingAxis],
    data: tuple[int, ...],
    filters: tuple[int, ...],
    dtype: np.dtype[Any],
    *,
    variant: str | None = None,
) -> Convolver:
    """The convolution of groups of channels, for data and filters of these shapes; the result is in the type of data.

    Args:
        data: [batch, groups * C, spatial...].
        filters: [groups, O, C, kernel...].
        variant: The name of an applicable variant, instead of the selected one.
    """
    groups, outputs, channels = filters[:3]
    touching = [axis.touching() for axis in axes]
    is_whole = all(touched.kernel == axis.kernel for axis, (_, touched) in zip(axes, touching, strict=True))
    kernel: tuple[Any, ...] = (...,) if is_whole else (..., *[elements for elements, _ in touching])
    problem = ConvProblem(tuple([axis for _, axis in touching]), data[0], groups, outputs, channels, dtype)
    chosen = chosen_variant(problem)
    if variant is not None:
        chosen = next(candidate for candidate in VARIANTS if candidate.name == variant)
    multiply = one_product(problem) if chosen.name in ("pointwise", "im2col") else None
    run = chosen.make(problem) if multiply is None else None
    shape = data[0], groups * outputs, *problem.counts
    # Data that is copied anyway may have any memory order; BLAS reads the windows of a pointwise convolution in place.
    is_copied = chosen.name in ("pointwise", "channels_last")
    grouped, parts = (data[0], groups, channels, *data[2:]), (*filters[:3], *[axis.kernel for axis in problem.axes])

    def convolve(data: Array, filters: Array) -> Array:
        if multiply is not None:
            return multiply(data, filters if is_whole else filters[kernel])
        if run is None or not prod(shape):
            return np.empty(shape, dtype)
        wide = widen(data) if is_copied else by_rows(widen(data))
        sums = run(wide.reshape(grouped), widen(filters)[kernel].reshape(parts))
        return round_to(sums.reshape(shape), dtype)

    # The kernel name shown for a plan.
    convolve.__qualname__ = f"convolve.{chosen.name}"
    return choosing(convolve, _choice(chosen, problem))


def _choice(chosen: ConvVariant, problem: ConvProblem) -> KernelChoice:
    """The reason for the algorithm, and the status of the others; the next best comes first."""
    index = VARIANTS.index(chosen)
    others = []
    for variant in (*VARIANTS[index + 1 :], *VARIANTS[:index]):
        is_after = VARIANTS.index(variant) > index
        can = "cannot compute it" if not variant.applies(problem) else "pays less" if is_after else "is not worthwhile"
        others.append(f"{variant.name}: {can}")
    others.sort(key=lambda text: not text.endswith("pays less"))
    return KernelChoice(chosen.why, tuple(others))


def convolve(axes: Sequence[SlidingAxis], data: Array, filters: Array) -> Array:
    """The convolution of groups of channels, see `convolver`."""
    return convolver(axes, data.shape, filters.shape, data.dtype)(data, filters)
