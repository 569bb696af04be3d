"""Convolution: every window of the data, multiplied with filters and summed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from math import prod
from typing import Any, ClassVar

import numpy as np

from ir_exec.errors import ShapeError
from ir_exec.ops.attributes import Positives
from ir_exec.ops.base import In, op
from ir_exec.ops.precision import CALCULABLE, accumulator, rounded, widened
from ir_exec.ops.rules import merge_dims
from ir_exec.ops.windows import (
    Scratch,
    SlidingAxis,
    Windowed,
    block_sizes,
    blocks,
    covered,
    padded_part,
    require_spatial,
    spatial_dims,
    window_extent,
    window_view,
)
from ir_exec.types import Array, Dim, Shape, TensorType

__all__ = [
    "Convolution",
    "Convolving",
    "GroupConvolution",
    "convolve",
    "grouped_channels",
    "matrix_products",
    "portions",
]

CHUNK = 2**20
"""How many elements of windows are copied side by side at a time, so that they stay in the cache."""

COLUMNS = 512
"""The least number of windows in one matrix product, below which BLAS is slow."""

ROW_SHARE = 8
"""How many elements of scratch memory a window takes, roughly, where rows are laid along rows."""


class Convolving(Windowed):
    """What all convolutions share: windows as large as the filters, whose elements may be apart.

    strides and dilations are 1 and pads 0 where they are not given, as in OpenVINO.
    """

    strides: Positives = ()
    dilations: Positives = ()

    filter_axes: ClassVar[int] = 2
    """How many axes the filters have before their spatial ones."""

    def _spatial_rank(self, data: TensorType, filters: TensorType, told: int | None = None) -> int | None:
        """The number of spatial axes where it is known: from the inputs, as it was told, or from the attributes."""
        require_spatial(data)
        require_spatial(filters, "filters", self.filter_axes)
        ranks = [data.rank and data.rank - 2, filters.rank and filters.rank - self.filter_axes]
        known = [rank for rank in ranks if rank is not None]
        if len(set(known)) > 1:
            raise ShapeError(
                f"filters {filters.shape} have {known[1]} spatial axes, data {data.shape} has {known[0]}",
                code="IR501",
                port="filters",
            )
        attributes = (self.strides, self.dilations, self.pads_begin, self.pads_end)
        return next(iter([*known, *([told] if told else []), *(len(values) for values in attributes if values)]), None)

    def _steps(self, spatial_rank: int) -> tuple[tuple[int, int], ...]:
        """Stride and dilation of each spatial axis."""
        ones = (1,) * spatial_rank
        return tuple(zip(self.strides or ones, self.dilations or ones, strict=True))

    def _counts(self, data: Sequence[Dim], kernel: Sequence[Dim]) -> list[Dim]:
        """How many windows each spatial axis of the data has."""
        self._check_lengths(len(data), strides=self.strides, dilations=self.dilations)
        steps = self._steps(len(data))
        if self._same:
            return [dim.ceil_div(stride) for dim, (stride, _) in zip(data, steps, strict=True)]
        axes = zip(data, kernel, steps, self._explicit_pads(len(data)), strict=True)
        return [
            covered(dim, pads, window_extent(size, dilation), axis) // stride + 1
            for axis, (dim, size, (stride, dilation), pads) in enumerate(axes)
        ]

    def _sliding(self, sizes: Sequence[int], kernel: Sequence[int]) -> list[SlidingAxis]:
        """The windows of all spatial axes of data of these sizes."""
        counts = self._counts([Dim.of(size) for size in sizes], [Dim.of(size) for size in kernel])
        pads = self._explicit_pads(len(sizes))
        axes = []
        for i, (stride, dilation) in enumerate(self._steps(len(sizes))):
            extent = window_extent(Dim.of(kernel[i]), dilation).size
            begin, _ = self._same_pads(sizes[i], extent, stride) if self._same else pads[i]
            axes.append(SlidingAxis(sizes[i], kernel[i], stride, dilation, begin, counts[i].size))
        return axes

    def _output(self, data: TensorType, filters: TensorType, channels: Dim, counts: Sequence[Dim]) -> TensorType:
        batch = Dim.any() if data.shape.dims is None else data.shape[0]
        return self._kind(data, filters).with_shape(Shape([batch, channels, *counts]))

    @staticmethod
    def _kind(data: TensorType, filters: TensorType) -> TensorType:
        return data if data.element_type.is_known else filters


@op("Convolution", since=1)
class Convolution(Convolving):
    """output[b, o, i] = sum over c and k of data[b, c, i * stride + k * dilation - pad] * filters[o, c, k].

    i and k stand for one, two or three spatial axes. Short floats are multiplied in f32; integers are exact: 8 bits
    saturate, longer ones wrap.

    data: [batch, channels, spatial...], any numeric type. filters: [outputs, channels, kernel...], of the same type.
    output: [batch, outputs, windows...].
    Errors: IR501 for ranks other than 3, 4, 5 or that differ, IR502 where the channels differ, IR505 for attributes of
    another length and for windows larger than the padded data.
    Specification: convolution/convolution-1.
    """

    inputs = (In("data", types=CALCULABLE), In("filters", types=CALCULABLE, like="data"))

    def infer(self, data: TensorType, filters: TensorType) -> TensorType:
        spatial_rank = self._spatial_rank(data, filters)
        if spatial_rank is None:
            return self._kind(data, filters).with_shape(Shape.unknown())
        if data.shape.dims is not None and filters.shape.dims is not None:
            merge_dims(data.shape[1], filters.shape[1], "the channels of data and filters", port="filters")
        counts = self._counts(
            spatial_dims(data.shape, spatial_rank), spatial_dims(filters.shape, spatial_rank, self.filter_axes)
        )
        outputs = Dim.any() if filters.shape.dims is None else filters.shape[0]
        return self._output(data, filters, outputs, counts)

    def evaluate(self, data: Array, filters: Array) -> Array:
        return _convolve_one(self._sliding(data.shape[2:], filters.shape[2:]), data, filters)

    def kernel(self, *types: TensorType, unread: frozenset[str] = frozenset()) -> Callable[..., Any]:
        data, filters = types
        return partial(_convolve_one, self._sliding(data.shape.static[2:], filters.shape.static[2:]))


@op("GroupConvolution", since=1)
class GroupConvolution(Convolving):
    """Convolution of groups of channels, each with filters of its own.

    Channels number g * C to g * C + C - 1 of the data are convolved with filters[g] to the outputs g * O to
    g * O + O - 1; with one channel in each group that is a depthwise convolution.

    data: [batch, groups * C, spatial...], any numeric type. filters: [groups, O, C, kernel...], of the same type.
    output: [batch, groups * O, windows...].
    Errors: as Convolution; IR502 where the channels are not groups * C.
    Specification: convolution/group-convolution-1.
    """

    inputs = (In("data", types=CALCULABLE), In("filters", types=CALCULABLE, like="data"))

    filter_axes = 3

    def infer(self, data: TensorType, filters: TensorType) -> TensorType:
        spatial_rank = self._spatial_rank(data, filters)
        if spatial_rank is None:
            return self._kind(data, filters).with_shape(Shape.unknown())
        counts = self._counts(
            spatial_dims(data.shape, spatial_rank), spatial_dims(filters.shape, spatial_rank, self.filter_axes)
        )
        return self._output(data, filters, grouped_channels(data.shape, filters.shape, channels=2, outputs=1), counts)

    def evaluate(self, data: Array, filters: Array) -> Array:
        return convolve(self._sliding(data.shape[2:], filters.shape[3:]), data, filters)

    def kernel(self, *types: TensorType, unread: frozenset[str] = frozenset()) -> Callable[..., Any]:
        data, filters = types
        return partial(convolve, self._sliding(data.shape.static[2:], filters.shape.static[3:]))


def grouped_channels(data: Shape, filters: Shape, *, channels: int, outputs: int) -> Dim:
    """The output channels of all groups. channels, outputs: the axes of filters on which each group has them.

    Raises ShapeError IR502 where the channels of the data are not those of all groups.
    """
    if filters.dims is None:
        return Dim.any()
    groups = filters[0]
    each = filters[channels]
    if data.dims is not None and each.is_static and each.lo:
        least, most = data[1].ceil_div(each.lo).lo, (data[1] // each.lo).hi
        possible = Dim(least, most) & groups if least <= most else None
        if possible is None:
            raise ShapeError(
                f"data {data} has {data[1]} channels, filters {filters} take {each} in each of {groups} groups",
                code="IR502",
                port="filters",
            )
        groups = possible
    return groups * filters[outputs]


def _convolve_one(axes: Sequence[SlidingAxis], data: Array, filters: Array) -> Array:
    return convolve(axes, data, filters[np.newaxis])


def convolve(axes: Sequence[SlidingAxis], data: Array, filters: Array) -> Array:
    """The convolution of groups of channels, in the type of data.

    data: [batch, groups * C, spatial...]. filters: [groups, O, C, kernel...].
    """
    batch, (groups, outputs, channels) = data.shape[0], filters.shape[:3]
    counts = [axis.count for axis in axes]
    grouped = widened(data).reshape(batch, groups, channels, *data.shape[2:])
    weights = widened(filters)
    result = np.empty((batch, groups, outputs, prod(counts)), accumulator(data.dtype))
    if all(axis.kernel == axis.stride == 1 and axis.pad == 0 and axis.count == axis.size for axis in axes):
        rows = weights.reshape(groups, outputs, channels)
        np.matmul(rows, grouped.reshape(batch, groups, channels, prod(counts)), out=result)
    elif result.size and channels == 1:
        _convolve_rows(grouped[:, :, 0], weights[:, :, 0], axes, result)
    elif result.size:
        _convolve_columns(grouped, weights, axes, result)
    return rounded(result.reshape(batch, groups * outputs, *counts), data.dtype)


def _convolve_columns(data: Array, filters: Array, axes: Sequence[SlidingAxis], result: Array) -> None:
    """Fill `result` [batch, groups, O, windows] by matrix products.

    Elements of windows are copied side by side into the columns of a matrix, which BLAS multiplies with the filters:
    never all of them at once, but as many as stay in the cache.
    """
    counts = [axis.count for axis in axes]
    column = prod(filters.shape[2:])
    rows = filters.reshape(*filters.shape[:2], column)
    sizes = block_sizes(counts, max(CHUNK // max(column, 1), COLUMNS))
    each = max(column * prod(sizes), 1)
    scratch = Scratch(rows.dtype)
    for block, chosen, some_groups in portions(result.shape[:2], counts, sizes, CHUNK // each):
        part = [axis.part(windows) for axis, windows in zip(axes, block, strict=True)]
        windows = window_view(padded_part(data[chosen[:2]], part), part)
        columns = scratch.array(windows.shape)
        columns[...] = windows
        target = result[chosen]
        np.matmul(rows[some_groups], columns.reshape(*target.shape[:2], column, target.shape[3]), out=target)


def _convolve_rows(data: Array, filters: Array, axes: Sequence[SlidingAxis], result: Array) -> None:
    """Fill `result` [batch, groups, O, windows] for one channel in each group: data [batch, groups, spatial...].

    Matrices with so few rows are slow. Here each row of the kernel is laid along every row of the data, by a small
    matrix product, and the results are shifted against each other by whole rows and added, which copies less.
    """
    first, *others = axes
    counts = [axis.count for axis in axes]
    along = prod(axis.kernel for axis in others)
    rows = filters.reshape(len(filters), filters.shape[1] * first.kernel, along)
    sizes = block_sizes(counts, CHUNK // ROW_SHARE)
    scratch = Scratch(rows.dtype)
    for block, chosen, some_groups in portions(result.shape[:2], counts, sizes, CHUNK // (ROW_SHARE * prod(sizes))):
        part = [axis.part(windows) for axis, windows in zip(axes, block, strict=True)]
        covering = padded_part(data[chosen[:2]], part)
        height = covering.shape[2]
        windows = window_view(covering, [SlidingAxis(height, 1, 1, 1, 0, height), *part[1:]])
        target = result[chosen]
        width = prod(axis.count for axis in part[1:])
        columns = windows.reshape(*target.shape[:2], along, height * width)
        products = scratch.array((*target.shape[:2], rows.shape[1], height * width))
        matrix_products(rows[some_groups], columns, products)
        products = products.reshape(*target.shape[:3], first.kernel, height, *[axis.count for axis in part[1:]])
        total = target.reshape(*target.shape[:3], *[axis.count for axis in part])
        last = (part[0].count - 1) * first.stride + 1
        for k in range(first.kernel):
            shifted = products[:, :, :, k, k * first.dilation : k * first.dilation + last : first.stride]
            if k:
                total += shifted
            else:
                total[...] = shifted
        if not first.kernel:
            total[...] = 0


def matrix_products(rows: Array, columns: Array, out: Array) -> Array:
    """Products of matrices; NumPy is slow where each is that of a column and a row, so these are not left to it."""
    return np.multiply(rows, columns, out=out) if rows.shape[-1] == 1 else np.matmul(rows, columns, out=out)


def portions(
    batch_and_groups: tuple[int, ...], counts: Sequence[int], sizes: Sequence[int], pairs: int
) -> Iterator[tuple[tuple[slice, ...], tuple[slice, ...], slice]]:
    """Blocks of windows, where they lie in an array [batch, groups, channels, windows], and the groups among that.

    sizes: those of the blocks. pairs: how many pairs of a batch and a group to take at a time, at least one.
    """
    batch, groups = batch_and_groups
    group_step = min(max(pairs, 1), max(groups, 1))
    batch_step = max(pairs // max(groups, 1), 1)
    start = 0
    for block in blocks(counts, sizes):
        stop = start + prod(windows.stop - windows.start for windows in block)
        for b in range(0, batch, batch_step):
            for g in range(0, groups, group_step):
                some_groups = slice(g, g + group_step)
                yield block, (slice(b, b + batch_step), some_groups, slice(None), slice(start, stop)), some_groups
        start = stop
