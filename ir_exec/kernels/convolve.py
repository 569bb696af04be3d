"""Convolution of groups of channels, in the arrangement that is fastest for the shapes.

Every arrangement works in parts that stay in the cache of a core. The parts follow from the shapes alone and each fills
a place of its own in the result, so threads may share them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from math import gcd, prod
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ir_exec.kernels import costs
from ir_exec.kernels.blas import has_small_kernels, works_alone
from ir_exec.kernels.parallel import Worker, even_count
from ir_exec.kernels.pieces import by_rows
from ir_exec.kernels.precision import accumulator, rounded, widened
from ir_exec.kernels.products import matrix_products, product_for, share_products
from ir_exec.kernels.windows import (
    Covered,
    Scratch,
    SlidingAxis,
    block_sizes,
    copy_rows,
    covered_part,
    diagonals,
    is_finite,
    multiply_bands,
    padded_part,
    portions,
    reached_elements,
    strides_of,
    window_layout,
    window_view,
)
from ir_exec.types import Array

__all__ = ["Convolver", "convolve"]

Place: TypeAlias = tuple[slice, ...]
"""A part of a result [batch, groups, outputs, windows]."""


class _Part(NamedTuple):
    """Windows of some images that are convolved at a time.

    place: where they lie in the result. axes: the windows themselves. covered: what they cover, see `covered_part`.
    laid: how that lies in the memory of `_by_bands` and of `_by_channels`.
    """

    place: Place
    axes: tuple[SlidingAxis, ...]
    covered: Covered
    laid: Any = None

    @property
    def images(self) -> Place:
        return self.place[:2]


class _Whole(NamedTuple):
    """All windows of one image as the matrix of one product, with nothing left to be decided in a call.

    covered: what the windows cover, see `covered_part`; None where the data itself is the matrix. windows, strides: of
    the view of all windows in that. product: writes rows @ columns into its third argument.
    """

    covered: Covered | None
    windows: tuple[int, ...]
    strides: tuple[int, ...]
    product: Callable[[Array, Array, Array], Array]


class Convolver:
    """The convolution of groups of channels, for data and filters of these shapes; the result is in the type of data.

    data: [batch, groups * C, spatial...]. filters: [groups, O, C, kernel...].
    """

    def __init__(
        self,
        axes: Sequence[SlidingAxis],
        data: tuple[int, ...],
        filters: tuple[int, ...],
        dtype: np.dtype[Any],
    ) -> None:
        groups, outputs, channels = filters[:3]
        touching = [axis.touching() for axis in axes]
        is_whole = all(touched.kernel == axis.kernel for axis, (_, touched) in zip(axes, touching, strict=True))
        self._kernel: tuple[Any, ...] | None = None if is_whole else (..., *[kept for kept, _ in touching])
        axes = [axis for _, axis in touching]
        filters = (*filters[:3], *[axis.kernel for axis in axes])
        self._shape = (data[0], groups, outputs, prod([axis.count for axis in axes]))
        self._axes = tuple(axes)
        self._dtype = dtype
        self._filters = filters
        self._counts = [axis.count for axis in axes]
        self._column = prod(filters[2:])
        self._is_pointwise = all(axis.is_plain for axis in axes)
        self._grouped = (data[0], groups, channels, *([prod(data[2:])] if self._is_pointwise else data[2:]))
        self._nanoseconds = prod(self._shape) * (self._column / costs.MULTIPLICATIONS_A_NANOSECOND)
        self._parts: list[_Part] = []
        self._arrange(channels)
        self._whole = self._one_product() if self._make_worker == self._by_columns else None

    def _arrange(self, channels: int) -> None:
        """Choose the arrangement and the parts."""
        _, groups, outputs, windows = self._shape
        self._make_worker = self._by_columns
        # Rows of windows in one product of `_by_bands`, where that is the arrangement.
        self._band = 0
        self._is_by_channels = False
        if self._is_pointwise:
            return
        if channels == 1 and outputs < costs.FEW_OUTPUTS:
            if self._has_few_windows(groups, windows):
                self._arrange_channels()
                return
            if self._has_wide_rows():
                self._arrange_bands()
                return
        # The copy of the windows.
        self._nanoseconds += prod(self._shape) // max(outputs, 1) * self._column / 3
        most = _windows_at_once(self._column)
        if windows > most:
            # Threads are seldom an odd number.
            most = -(-windows // (2 * -(-windows // (2 * most))))
        sizes = block_sizes(self._counts, most)
        self._parts = self._portions(sizes, costs.WINDOW_ELEMENTS // max(self._column * prod(sizes), 1))

    def _has_few_windows(self, groups: int, windows: int) -> bool:
        """Whether to run along the channels takes less than along so many windows."""
        if has_small_kernels():
            return groups >= costs.MANY_CHANNELS and max(windows, self._column) <= costs.FEW_WINDOWS
        has_runs = groups >= costs.MANY_CHANNELS or (groups > 0 and self._axes[-1].stride == 1)
        return has_runs and windows * self._column <= costs.FEW_MULTIPLICATIONS

    def _has_wide_rows(self) -> bool:
        """Whether BLAS takes less for rows of windows than for their elements; of integers it computes none."""
        first, *others = self._axes
        width = prod(axis.count for axis in others) if others else first.count
        is_wide = width >= costs.WIDE_ROW or has_small_kernels()
        return is_wide and self._column > 0 and np.dtype(accumulator(self._dtype)).kind == "f"

    def _arrange_bands(self) -> None:
        if len(self._axes) == 1 and self._column < costs.LONG_KERNEL:
            # One row of windows, and one of data.
            self._axes = SlidingAxis(1, 1, 1, 1, 0, 1), *self._axes
            self._grouped = (*self._grouped[:3], 1, *self._grouped[3:])
        first, *others = self._axes
        across = prod(axis.kernel for axis in others)
        wide = costs.BAND_ROWS if has_small_kernels() else 1
        self._band = min(wide if others else costs.BAND_WINDOWS, max(first.count, 1))
        height = first.extent(self._band)
        copied = across * first.stride if others else height / self._band
        each = copied * costs.BESIDE_NANOSECONDS + across * height / costs.MULTIPLICATIONS_A_NANOSECOND
        self._nanoseconds = prod(self._shape) * each
        # Of one image of a channel.
        elements = max(copied * prod([axis.count for axis in self._axes]), 1.0)
        pairs = max(self._shape[0] * self._shape[1], 1)
        pieces = pairs * elements / costs.BAND_ELEMENTS
        if self._nanoseconds >= costs.PRODUCTS_WORTH_SHARING_NANOSECONDS:
            pieces = even_count(pieces)
        pairs = -(-pairs // max(round(pieces), 1))
        rows = max(first.count, 1)
        if pairs == 1:
            most = int(first.count * costs.BAND_ELEMENTS / elements)
            rows = min(max(most // self._band, 1) * self._band, rows)
        self._parts = self._portions((rows, *[axis.count for axis in others]), pairs)
        self._parts = [part._replace(laid=reached_elements(part.axes[1:])) for part in self._parts]

    def _arrange_channels(self) -> None:
        self._make_worker = self._by_channels
        self._is_by_channels = True
        self._nanoseconds = prod(self._shape) * self._column * costs.SHIFTED_MULTIPLICATION_NANOSECONDS
        _, groups, _, windows = self._shape
        # A part of few channels takes nearly as long as one of many, so that each has all of them.
        sizes = block_sizes(self._counts, costs.SPREAD_ELEMENTS // groups)
        self._parts = self._portions(sizes, max(costs.SPREAD_ELEMENTS // max(windows, 1), groups))
        # The channels of windows side by side are one run.
        along = gcd(*[part.axes[-1].count for part in self._parts]) if self._axes[-1].stride == 1 else 0
        self._together = _divisor(along, costs.SHORT_RUN // groups)
        self._parts = [part._replace(laid=self._runs(part)) for part in self._parts]

    def _runs(self, part: _Part) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
        """The shape of the memory for what windows cover, [spatial..., channels], and shape and strides of the view of
        all windows in it, [kernel..., count..., run]."""
        *others, last = part.axes
        shape = (*part.covered[2], self._shape[1])
        *steps, size = strides_of(shape, accumulator(self._dtype).itemsize)
        axis = replace(last, stride=last.stride * self._together, count=last.count // self._together)
        windows, strides = window_layout(shape[:-1], steps, [*others, axis])
        return shape, (*windows, self._together * self._shape[1]), (*strides, size)

    def _portions(self, sizes: Sequence[int], pairs: int) -> list[_Part]:
        parts = []
        counts = [axis.count for axis in self._axes]
        for block, place, _ in portions(self._shape[:2], counts, sizes, pairs):
            axes = tuple([axis.part(windows) for axis, windows in zip(self._axes, block, strict=True)])
            parts.append(_Part(place, axes, covered_part(axes)))
        return parts

    def _one_product(self) -> _Whole | None:
        """How all is one product, which small images notice; None where it is more, or not of BLAS."""
        batch, groups, outputs, count = self._shape
        is_one = batch == groups == 1 and len(self._parts) <= 1 and min(outputs, count, self._column) > 0
        if not is_one or self._dtype.char not in "fd":
            return None
        product = product_for((outputs, self._column), (self._column, count), self._dtype)
        if self._is_pointwise:
            return _Whole(None, (), (), product)
        covered = self._parts[0].covered
        shape = self._filters[2], *covered[2]
        return _Whole(covered, *window_layout(shape, strides_of(shape, self._dtype.itemsize), self._axes), product)

    def _product(self, whole: _Whole, data: Array, filters: Array) -> Array:
        _, _, outputs, count = self._shape
        if whole.covered is None:
            columns = data.reshape(self._column, count)
        else:
            covering = np.ascontiguousarray(padded_part(by_rows(data[0]), self._axes, whole.covered))
            copied = np.empty(whole.windows, self._dtype)
            copy_rows(np.ndarray(whole.windows, self._dtype, covering, 0, whole.strides), copied)
            columns = copied.reshape(self._column, count)
        # Otherwise BLAS would wake threads of its own for the product.
        works_alone()
        result = np.empty((outputs, count), self._dtype)
        whole.product(filters.reshape(outputs, self._column), columns, result)
        return result.reshape(1, outputs, *self._counts)

    def __call__(self, data: Array, filters: Array) -> Array:
        filters = filters if self._kernel is None else filters[self._kernel]
        if self._whole is not None:
            return self._product(self._whole, data, filters)
        # BLAS takes the windows of a pointwise convolution as they lie.
        wide = widened(data) if self._is_pointwise or self._is_by_channels else by_rows(widened(data))
        grouped, weights = wide.reshape(self._grouped), widened(filters).reshape(self._filters)
        result = self._empty_result(accumulator(data.dtype))
        if result.size and self._is_pointwise:
            # The data is the matrix of all windows.
            matrix_products(weights.reshape(*self._filters[:2], self._column), grouped, result)
        elif result.size:
            if not self._band:
                self._compute(partial(self._make_worker, grouped, weights, result))
            else:
                self._compute(partial(self._by_bands, grouped, self._bands(weights, self._band), result))
            # Zeros beside a filter make NaN of infinities outside of its window.
            if self._band > 1 and not is_finite(result):
                self._compute(partial(self._by_bands, grouped, self._bands(weights, 1), result))
        if self._is_by_channels:
            # Also for BLAS, which is slower with matrices whose columns are adjacent.
            result = np.ascontiguousarray(result)
        batch, groups, outputs, _ = self._shape
        return rounded(result.reshape(batch, groups * outputs, *self._counts), self._dtype)

    def _empty_result(self, dtype: np.dtype[Any]) -> Array:
        """[batch, groups, outputs, windows]; the groups side by side in memory where those are what is run along."""
        if not self._is_by_channels:
            return np.empty(self._shape, dtype)
        batch, groups, outputs, windows = self._shape
        return np.empty((batch, outputs, windows, groups), dtype).transpose(0, 3, 1, 2)

    def _compute(self, make: Callable[[], Callable[[_Part], None]]) -> None:
        if len(self._parts) == 1:
            make()(self._parts[0])
            return

        def make_worker() -> Worker:
            compute = make()
            return lambda number: compute(self._parts[number])

        share_products(len(self._parts), make_worker, nanoseconds=self._nanoseconds)

    def _by_columns(self, data: Array, filters: Array, result: Array) -> Callable[[_Part], None]:
        """Matrix products.

        Elements of windows are copied side by side into the columns of a matrix, which BLAS multiplies with the
        filters.
        """
        rows = filters.reshape(*filters.shape[:2], self._column)
        scratch = Scratch(rows.dtype)

        def compute(part: _Part) -> None:
            target = result[part.place]
            windows = window_view(padded_part(data[part.images], part.axes, part.covered), part.axes)
            copied = scratch.array(windows.shape)
            copy_rows(windows, copied)
            columns = copied.reshape(*target.shape[:2], self._column, target.shape[3])
            matrix_products(rows[part.place[1]], columns, target, is_piece=len(self._parts) > 1)

        return compute

    def _bands(self, filters: Array, rows: int) -> Callable[[slice], Array]:
        """The matrices of some groups for so many rows of windows; they are made at once unless they are large."""
        first = self._axes[0]
        split = filters.reshape(*self._filters[:2], first.kernel, -1)
        if rows * filters.size * first.extent(rows) // first.kernel > 2 * costs.BAND_ELEMENTS:
            return lambda some: diagonals(split[some], first, rows)
        found = diagonals(split, first, rows)
        return lambda some: found[some]

    def _by_bands(self, data: Array, bands: Callable[[slice], Array], result: Array) -> Callable[[_Part], None]:
        """For one channel in each group: several rows of windows are one product.

        Its first matrix has the filter in each row, at the elements that the row covers, and the second one the rows of
        the data, each as often side by side as a row of the kernel has elements, and shifted by one of them.
        """
        first, *others = self._axes
        across = prod(axis.kernel for axis in others)
        scratch = Scratch(data.dtype)
        ahead = (slice(None),) * 3
        # For which windows the memory has zeros where these meet padding, and how many elements of it.
        filled: tuple[tuple[SlidingAxis, ...], int] = (), 0

        def compute(part: _Part) -> None:
            nonlocal filled
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
            for place, to, come in part.laid:
                copy_rows(images[ahead + come], inside[ahead + place + to])
            rows = rows.reshape(*images.shape[:2], -1, prod(sizes[1]))
            matrices = bands(part.images[1])
            for output in range(self._filters[1]):
                multiply_bands(matrices[:, output], rows, result[part.place][:, :, output], first.stride * across)

        return compute

    def _by_channels(self, data: Array, filters: Array, result: Array) -> Callable[[_Part], None]:
        """For one channel in each group: with the channels along the last axis.

        NumPy then runs along many channels in each step, instead of along few windows.
        """
        rank = len(self._axes)
        taps = self._repeated(filters[:, :, 0].transpose(*range(1, rank + 2), 0)[..., np.newaxis, :])
        elements, windows, channel = list(range(rank)), list(range(rank, 2 * rank)), 2 * rank
        source = data[:, :, 0]

        def compute(part: _Part) -> None:
            inside, covered, _ = part.covered
            memory, shape, strides = part.laid
            spread = np.zeros(memory, source.dtype)
            view = np.ndarray(shape, spread.dtype, spread, 0, strides)
            for image, filtered in zip(source[(*part.images, *inside)], result[part.place], strict=True):
                spread[covered] = image.transpose(*range(1, rank + 1), 0)
                for output in range(self._filters[1]):
                    # A view, as a part has all channels, and windows that follow each other.
                    total = filtered[:, output].T.reshape(shape[rank:])
                    arguments = view, [*elements, *windows, channel], taps[output], [*elements, channel]
                    np.einsum(*arguments, [*windows, channel], out=total)

        return compute

    def _repeated(self, taps: Array) -> Array:
        """[outputs, kernel..., 1, groups] as often as windows follow each other in a run."""
        laid = np.empty((*taps.shape[:-2], self._together, self._shape[1]), taps.dtype)
        laid[...] = taps
        return laid.reshape(*taps.shape[:-2], self._together * self._shape[1])


def _divisor(number: int, most: int) -> int:
    """The largest divisor of a number that is no larger than `most`; 1 where there is none."""
    return next((one for one in range(min(most, number), 1, -1) if number % one == 0), 1)


def _windows_at_once(elements: int) -> int:
    """How many windows of so many elements each are copied before they are multiplied."""
    return max(costs.WINDOW_ELEMENTS // max(elements, 1), costs.LEAST_WINDOWS)


def convolve(axes: Sequence[SlidingAxis], data: Array, filters: Array) -> Array:
    """The convolution of groups of channels, see `Convolver`."""
    return Convolver(axes, data.shape, filters.shape, data.dtype)(data, filters)
