"""Convolution: every window of the data, multiplied by filters and summed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import Any, ClassVar

import numpy as np

from ir_exec.codes import Code
from ir_exec.errors import ShapeError
from ir_exec.kernels.conv.variants import convolve, convolver
from ir_exec.kernels.precision import CALCULABLE
from ir_exec.kernels.windows import SlidingAxis
from ir_exec.ops.base import In, op
from ir_exec.ops.base.attributes import Positives
from ir_exec.ops.base.dims import element_type_of
from ir_exec.ops.base.inputs import ImagePixels
from ir_exec.ops.base.shapes import merge_dims
from ir_exec.ops.base.windowed import Windowed, count_covered, require_spatial, spatial_dims, window_extent
from ir_exec.types import Array, Dim, Shape, TensorType

__all__ = ["Convolution", "Convolving", "GroupConvolution", "grouped_channels"]


class Convolving(Windowed):
    """The base of convolutions: windows are as large as the filters.

    The specification requires strides, dilations and pads; as in OpenVINO they are 1, 1 and 0 in a file without them.

    Attributes:
        dilations: The distance between neighboring elements of a window.
    """

    redundant_attributes = "output_padding output group kernel pad_value mode"

    filter_axes: ClassVar[int] = 2
    """The number of filter axes before the spatial ones."""

    strides: Positives = ()
    dilations: Positives = ()

    def multiply_adds(self, inputs: Sequence[tuple[int, ...]], outputs: Sequence[tuple[int, ...]]) -> int:
        """Each element of the output is a sum over one filter."""
        filters = inputs[[declared.name for declared in self.inputs].index("filters")]
        return prod(outputs[0]) * prod(filters[self.filter_axes - 1 :])

    def count_terms(self, inputs: Sequence[Array]) -> int:
        """The elements of one filter."""
        filters = inputs[[declared.name for declared in self.inputs].index("filters")]
        return int(prod(filters.shape[self.filter_axes - 1 :]))

    def weight_axes(self, position: int, rank: int) -> tuple[int, ...] | None:
        return tuple(range(self.filter_axes - 1, rank)) if self.input_name(position) == "filters" else None

    def _spatial_rank(self, data: TensorType, filters: TensorType, declared: int | None = None) -> int | None:
        """The number of spatial axes, from the inputs, else `declared`, else from the attributes; None if unknown."""
        require_spatial(data)
        require_spatial(filters, "filters", self.filter_axes)
        ranks = [data.rank and data.rank - 2, filters.rank and filters.rank - self.filter_axes]
        counts = [rank for rank in ranks if rank is not None]
        if len(set(counts)) > 1:
            raise ShapeError(
                f"filters {filters.shape} have {counts[1]} spatial axes, data {data.shape} has {counts[0]}",
                code=Code.wrong_rank,
                port="filters",
            )
        attributes = (self.strides, self.dilations, self.pads_begin, self.pads_end)
        return next(
            iter([*counts, *([declared] if declared else []), *(len(values) for values in attributes if values)]),
            None,
        )

    def _steps(self, spatial_rank: int) -> tuple[tuple[int, int], ...]:
        """Stride and dilation of each spatial axis."""
        ones = (1,) * spatial_rank
        return tuple(zip(self.strides or ones, self.dilations or ones, strict=True))

    def _counts(self, data: Sequence[Dim], kernel: Sequence[Dim]) -> list[Dim]:
        """The number of windows on each spatial axis of the data."""
        self._check_lengths(len(data), strides=self.strides, dilations=self.dilations)
        steps = self._steps(len(data))
        if self._same:
            return [dim.ceil_div(stride) for dim, (stride, _) in zip(data, steps, strict=True)]
        axes = zip(data, kernel, steps, self._explicit_pads(len(data)), strict=True)
        return [
            count_covered(dim, pads, window_extent(size, dilation), axis) // stride + 1
            for axis, (dim, size, (stride, dilation), pads) in enumerate(axes)
        ]

    def sliding(self, sizes: Sequence[int], kernel: Sequence[int]) -> list[SlidingAxis]:
        """The windows on each spatial axis, for data and filters of these sizes."""
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
        return TensorType(element_type_of((data, filters)), Shape([batch, channels, *counts]))


@op("Convolution", since=1)
class Convolution(Convolving):
    """output[b, o, i] = sum over c and k of data[b, c, i * stride + k * dilation - pad] * filters[o, c, k].

    i and k are indices of one, two or three spatial axes. Floats shorter than f32 are multiplied in f32. Integers are
    exact: 8 bits saturate, longer ones wrap.

    Specification: convolution/convolution-1.

    Inputs:
        data: [batch, channels, spatial...], any numeric type.
        filters: [outputs, channels, kernel...], the type of data.

    Outputs:
        output: [batch, outputs, windows...], the type of data.

    Raises:
        IRError: IR501 for ranks that differ or are not 3, 4 or 5, IR502 where the channels differ, IR505 for attributes
            of another length and for windows larger than the padded data.
    """

    inputs = (In("data", types=CALCULABLE, domain=ImagePixels()), In("filters", types=CALCULABLE, like="data"))
    term_inputs = ("data", "filters")

    def channel_axis(self, position: int, rank: int) -> int | None:
        return 1

    def equal_sizes(self, *types: TensorType) -> Iterator[tuple[int, int]]:
        data, filters = (input_type.shape.static for input_type in types)
        yield data[1], filters[1]

    def infer(self, data: TensorType, filters: TensorType) -> TensorType:
        spatial_rank = self._spatial_rank(data, filters)
        if spatial_rank is None:
            return TensorType(element_type_of((data, filters)), Shape.unknown())
        if data.shape.dims is not None and filters.shape.dims is not None:
            merge_dims(data.shape[1], filters.shape[1], "the channels of data and filters", port="filters")
        counts = self._counts(
            spatial_dims(data.shape, spatial_rank), spatial_dims(filters.shape, spatial_rank, self.filter_axes)
        )
        outputs = Dim.any() if filters.shape.dims is None else filters.shape[0]
        return self._output(data, filters, outputs, counts)

    def evaluate(self, data: Array, filters: Array) -> Array:
        return convolve(self.sliding(data.shape[2:], filters.shape[2:]), data, filters[np.newaxis])

    def kernel(self, *types: TensorType, unread: frozenset[str] = frozenset()) -> Callable[..., Any]:
        data, filters = (type.shape.static for type in types)
        return convolver(self.sliding(data[2:], filters[2:]), data, (1, *filters), types[0].element_type.dtype)


@op("GroupConvolution", since=1)
class GroupConvolution(Convolving):
    """Convolution of groups of channels, each with separate filters.

    Group g convolves channels g * C to g * C + C - 1 of the data with filters[g] to the outputs g * O to
    g * O + O - 1. With one channel in each group that is a depthwise convolution.

    Specification: convolution/group-convolution-1.

    Inputs:
        data: [batch, groups * C, spatial...], any numeric type.
        filters: [groups, O, C, kernel...], the type of data.

    Outputs:
        output: [batch, groups * O, windows...], the type of data.

    Raises:
        IRError: As Convolution; IR502 if data does not have groups * C channels.
    """

    inputs = (In("data", types=CALCULABLE), In("filters", types=CALCULABLE, like="data"))
    term_inputs = ("data", "filters")

    filter_axes = 3

    def equal_sizes(self, *types: TensorType) -> Iterator[tuple[int, int]]:
        data, filters = (input_type.shape.static for input_type in types)
        yield data[1], filters[0] * filters[2]

    def infer(self, data: TensorType, filters: TensorType) -> TensorType:
        spatial_rank = self._spatial_rank(data, filters)
        if spatial_rank is None:
            return TensorType(element_type_of((data, filters)), Shape.unknown())
        counts = self._counts(
            spatial_dims(data.shape, spatial_rank), spatial_dims(filters.shape, spatial_rank, self.filter_axes)
        )
        return self._output(data, filters, grouped_channels(data.shape, filters.shape, channels=2, outputs=1), counts)

    def evaluate(self, data: Array, filters: Array) -> Array:
        return convolve(self.sliding(data.shape[2:], filters.shape[3:]), data, filters)

    def kernel(self, *types: TensorType, unread: frozenset[str] = frozenset()) -> Callable[..., Any]:
        data, filters = (type.shape.static for type in types)
        return convolver(self.sliding(data[2:], filters[3:]), data, filters, types[0].element_type.dtype)


def grouped_channels(data: Shape, filters: Shape, *, channels: int, outputs: int) -> Dim:
    """The number of output channels of all groups.

    Args:
        channels: The axis of filters with the channels of each group.
        outputs: The axis of filters with the outputs of each group.

    Raises:
        ShapeError: IR502 for channels that do not match.
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
                code=Code.dims_differ,
                port="filters",
            )
        groups = possible
    return groups * filters[outputs]
