"""Convolutions with kernels of three elements, with fewer multiplications: Winograd's F(2, 3).

Two adjacent windows have four elements d. Computed directly, their sums with a filter g take six multiplications; these
are four,

    m0 = (d0 - d2) g0,  m1 = (d1 + d2) (g0 + g1 + g2) / 2,  m2 = (d2 - d1) (g0 - g1 + g2) / 2,  m3 = (d1 - d3) g2,

and the sums m0 + m1 + m2 and m1 - m2 - m3. Along two axes that is 16 multiplications for four windows instead of 36.
The terms in parentheses are computed once for the filters, and once for the data with all filters. What remains are
products of matrices of channels, one for each of the four places along every axis.

Each sum has only elements of its window. Rounding errors are as large as in direct sums, but infinities in a result may
become NaN, and large numbers overflow sooner.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from itertools import product
from math import prod
from typing import Any, NamedTuple

import numpy as np

from ir_exec.kernels.choice import KernelChoice
from ir_exec.kernels.conv.variants import convolve
from ir_exec.kernels.gemm.product import matrix_product
from ir_exec.kernels.gemm.sharing import share_products
from ir_exec.kernels.parallel import Worker, even_count
from ir_exec.kernels.windows import Reached, Scratch, SlidingAxis, copy_rows, is_finite, reached_elements
from ir_exec.tuning import thresholds
from ir_exec.tuning.machine import machine
from ir_exec.types import Array

__all__ = ["TransformedFilters", "WinogradConvolver", "is_worth_transforming", "transformed_filters"]

_OF_FILTERS = np.array([[1, 0, 0], [0.5, 0.5, 0.5], [0.5, -0.5, 0.5], [0, 0, 1]], np.float32)
_BACK = np.array([[1, 0, 0, 0], [0, 1, -1, 0], [0, 0, 0, 1]], np.float32)


def is_worth_transforming(filters: tuple[int, ...], windows: float) -> bool:
    """Return True if convolutions of this many windows with filters [groups, O, C, kernel...] are faster this way."""
    outputs, channels, *kernel = filters[1:]
    if len(kernel) < 2 or set(kernel) != {3}:
        return False
    if channels < thresholds.WINOGRAD_CHANNELS or outputs < thresholds.MANY_CHANNELS:
        return False
    return windows >= thresholds.LEAST_WINDOWS and windows * outputs * channels >= thresholds.WINOGRAD_PRODUCTS


def transformed_filters(filters: Array, memory: Array | None = None) -> Array:
    """Transform filters [groups, outputs, channels, 3...] to [4 ** axes, groups, outputs, channels].

    Args:
        memory: Memory for the result.
    """
    matrix = _along_all(_OF_FILTERS, filters.ndim - 3)
    out = np.empty((len(matrix), *filters.shape[:3]), np.float32) if memory is None else memory
    out = out.reshape(len(matrix), *filters.shape[:3])
    np.matmul(matrix, filters.reshape(-1, matrix.shape[1]).T, out=out.reshape(len(matrix), -1))
    return out


class TransformedFilters:
    """Filters [groups, outputs, channels, 3...] of f32, transformed in every convolution until `pack`.

    Attributes:
        shape: The shape of the transformed filters.
    """

    __slots__ = ("_filters", "_kept", "shape")

    def __init__(self, filters: Array) -> None:
        self._filters: Array | None = filters
        self._kept: Array | None = None
        self.shape = (4 ** (filters.ndim - 3), *filters.shape[:3])

    @property
    def is_packed(self) -> bool:
        """Return True if the transformed filters are stored."""
        return self._kept is not None

    @property
    def filters(self) -> Array | None:
        """The original filters; None once the transformed ones are stored."""
        return self._filters

    def pack(self, memory: Array) -> None:
        """Store the transformed filters and release the original ones.

        Other threads may convolve meanwhile.

        Args:
            memory: Memory for as many elements of f32 as `shape` has.
        """
        filters = self._filters
        if filters is not None:
            # A thread that finds no original filters finds the transformed ones.
            self._kept = transformed_filters(filters, memory)
            self._filters = None

    def array(self) -> Array:
        """The transformed filters, the same bits before and after `pack`."""
        filters = self._filters
        if filters is not None:
            return transformed_filters(filters)
        assert self._kept is not None, "transformed filters are stored before the original ones are released"
        return self._kept


def _filters(transformed: Array, axes: int) -> Array:
    """The filters [groups, outputs, channels, 3...] recovered, except for rounding."""
    matrix = _along_all(_BACK, axes)
    products: Array = np.matmul(matrix, transformed.reshape(len(transformed), -1))
    return np.ascontiguousarray(products.T).reshape(*transformed.shape[1:], *[3] * axes)


def _along_all(matrix: Array, axes: int) -> Array:
    return np.asarray(reduce(np.kron, [matrix] * axes))


class _Block(NamedTuple):
    """Some windows of an image that are convolved at a time.

    Attributes:
        image: The place of their sums in the result, the latter along its first spatial axis.
        windows: The place of their sums in the result, the latter along its first spatial axis.
        sizes: The sizes of the covered even or odd positions along every axis.
        copies: For evens and odds along every axis, the target in the covered elements and the source in the data; see
            `reached_elements`.
    """

    image: int
    windows: slice
    sizes: tuple[int, ...]
    copies: list[Reached]


class WinogradConvolver:
    """The convolution of groups of channels by filters [groups, O, C, 3...] of f32, with a stride and a dilation of 1.

    Args:
        axes: The windows.
        data: The shape [batch, groups * C, spatial...].
    """

    def __init__(self, axes: Sequence[SlidingAxis], data: tuple[int, ...], filters: TransformedFilters) -> None:
        self._axes = tuple(axes)
        self._filters = filters
        positions, groups, outputs, channels = filters.shape
        counts = [axis.count for axis in axes]
        tiles, *across = [-(-count // 2) for count in counts]
        self._shape = (data[0], groups * outputs, *counts)
        # For each tile along the first axis.
        places = positions * groups * prod(count + 1 for count in across)
        multiplications = places * outputs * channels / machine().multiplications_a_nanosecond
        each = multiplications + places * (outputs + channels) * thresholds.NEAR_ELEMENT_NANOSECONDS
        chunks = places * (outputs + channels) * tiles / (2 * thresholds.WINDOW_ELEMENTS)
        # A few extra elements cost less than reading all filters once more.
        size = max(-(-tiles // (even_count(chunks) if chunks > 1.2 else 1)), 1)
        self._nanoseconds = each * tiles * data[0]
        self.blocks = [
            self._block(image, start, min(start + size, tiles))
            for image in range(data[0])
            for start in range(0, tiles, size)
        ]

    def _block(self, image: int, start: int, stop: int) -> _Block:
        first, *others = self._axes
        axes = [
            SlidingAxis(axis.size, 2, 2, 1, axis.pad - 2 * begin, tiles + 1)
            for axis, begin, tiles in [
                (first, start, stop - start),
                *[(axis, 0, -(-axis.count // 2)) for axis in others],
            ]
        ]
        windows = slice(2 * start, min(2 * stop, first.count))
        return _Block(image, windows, tuple([axis.count for axis in axes]), reached_elements(axes))

    def __call__(self, data: Array) -> Array:
        result = np.empty(self._shape, np.float32)
        if result.size:
            filters = self._filters.array()

            def make_worker() -> Worker:
                compute = self._worker(data, filters, result)
                return lambda number: compute(self.blocks[number])

            share_products(len(self.blocks), make_worker, nanoseconds=self._nanoseconds)
            if not is_finite(result):
                return convolve(self._axes, data, _filters(filters, len(self._axes)))
        return result

    @property
    def choice(self) -> KernelChoice:
        """The reason for transforming the filters, and the filters that are read."""
        state = "kept" if self._filters.is_packed else "computed in every run until enough runs are counted"
        return KernelChoice(
            f"Fewer multiplications, with transformed filters, which are {state}.",
            ("im2col: more multiplications",),
            "winograd",
        )

    def _worker(self, data: Array, filters: Array, result: Array) -> Callable[[_Block], None]:
        scratch = [Scratch(data.dtype) for _ in range(2)]
        axes = len(self._axes)
        _, groups, _, channels = filters.shape

        def compute(block: _Block) -> None:
            values = scratch[0].array((*[2] * axes, groups * channels, *block.sizes))
            values.fill(0)
            for places, target, source in block.copies:
                values[places][(..., *target)] = data[block.image][(..., *source)]
            end = groups * channels * prod(block.sizes)
            for axis in range(axes):
                shift = prod(block.sizes[axis + 1 :])
                end -= shift
                values = _of_data(values.reshape(4**axis, 2, 2 ** (axes - 1 - axis), -1), shift, end, scratch[1])
                scratch.reverse()
            values[..., end:] = 0
            count = prod(block.sizes) // block.sizes[0] * (block.sizes[0] - 1)
            padded = min(-(-count // thresholds.FEW_LINES) * thresholds.FEW_LINES, prod(block.sizes))
            columns = values.reshape(*filters.shape[:2], channels, -1)[..., :padded]
            products = scratch[1].array((*filters.shape[:3], padded))
            matrix_product(filters, columns, products, is_chunk=len(self.blocks) > 1)
            sums = _sums(products.reshape(*[4] * axes, -1), scratch[0]).reshape(*[2] * (axes - 1), -1, 2 * padded)
            sizes = [block.sizes[0] - 1, *block.sizes[1:]]
            sizes[-1] *= 2
            target = result[block.image][:, block.windows]
            for places in product((0, 1), repeat=axes - 1):
                some = target[(slice(None), *[slice(start, None, 2) for start in places])]
                rows = sums[places][:, : 2 * count].reshape(-1, *sizes)
                copy_rows(rows[tuple([slice(size) for size in some.shape])], some)

        return compute


def _of_data(values: Array, shift: int, end: int, scratch: Scratch) -> Array:
    """The transformed data along one axis: 4 terms from 2 neighbors along axis 1 of four.

    Args:
        values: The elements at even and at odd positions.
        shift: The distance from an even position to the next one.
        end: The number of valid positions.
    """
    before, _, behind, places = values.shape
    here, following = values[..., :end], values[..., shift : end + shift]
    result = scratch.array((before, 4, behind, places))
    np.subtract(here, following, out=result[:, ::3, :, :end])
    np.add(here[:, 1], following[:, 0], out=result[:, 1, :, :end])
    np.subtract(following[:, 0], here[:, 1], out=result[:, 2, :, :end])
    return result


def _sums(products: Array, scratch: Scratch) -> Array:
    """The sums of windows [2..., places, 2] from products [4..., places], which are overwritten."""
    axes = products.ndim - 1
    for axis in range(axes):
        some: tuple[Any, ...] = (slice(2),) * axis
        first, second, third, fourth = [products[(*some, index)] for index in range(4)]
        first += second
        second -= third
        if axis < axes - 1:
            first += third
            second -= fourth
    result = scratch.array((*first.shape, 2))
    np.add(first, third, out=result[..., 0])
    np.subtract(second, fourth, out=result[..., 1])
    return result
