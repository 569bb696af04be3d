"""Transposed convolution, the gradient of convolution with respect to its data.

Every element of the data is multiplied with a filter, and the products are summed where a window would read them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import Any

import numpy as np

from ir_exec.codes import Code
from ir_exec.errors import EvaluationError, ShapeError
from ir_exec.kernels.conv.transposed import Deconvolver, deconvolve
from ir_exec.kernels.precision import CALCULABLE
from ir_exec.kernels.windows import SlidingAxis
from ir_exec.ops.base import In, op
from ir_exec.ops.base.attributes import NonNegatives
from ir_exec.ops.base.dims import element_type_of
from ir_exec.ops.base.shapes import dims_within, ints, known_bounds, merge_dims, require_rank
from ir_exec.ops.base.windowed import add_to_dim, count_overlaps, spatial_dims, window_extent
from ir_exec.ops.convolution.convolution import Convolving, grouped_channels
from ir_exec.types import INTEGER, Array, Dim, Shape, TensorType

__all__ = ["ConvolutionBackpropData", "GroupConvolutionBackpropData"]


class _Transposed(Convolving):
    """The base of transposed convolutions.

    A spatial axis of the output has `(size - 1) * stride + extent - pads_begin - pads_end + output_padding` elements
    (extent: of the dilated kernel), or the size in output_shape.

    Pads are 0 unless auto_pad is `explicit`. With output_shape and `same_upper` or `same_lower` they are the
    difference, with an odd element at the beginning or at the end. output_padding is 0 by default. Elements that no
    filter reaches are 0.

    In the specification, pads of `explicit` are ignored if output_shape is given, and `valid` shifts the output as
    `same_lower` does. As in OpenVINO, these pads are applied and the output is not shifted.
    """

    inputs = (
        In("data", types=CALCULABLE),
        In("filters", types=CALCULABLE, like="data"),
        In("output_shape", types=INTEGER, optional=True),
    )
    term_inputs = ("data", "filters")
    sized_by = ("output_shape",)

    def weight_axes(self, position: int, rank: int) -> tuple[int, ...] | None:
        """The input channels, which precede the output channels, and the windows."""
        is_filters = self.input_name(position) == "filters"
        return (self.filter_axes - 2, *range(self.filter_axes, rank)) if is_filters else None

    output_padding: NonNegatives = ()

    def multiply_adds(self, inputs: Sequence[tuple[int, ...]], outputs: Sequence[tuple[int, ...]]) -> int:
        """Each element of the data is multiplied by all filters of its channel."""
        data, filters = inputs[:2]
        return prod(data) * prod(filters[self.filter_axes - 1 :])

    def count_terms(self, inputs: Sequence[Array]) -> int:
        """The elements of the filters, in all channels of data, that overlap at an element of the output."""
        data, filters = inputs[:2]
        sizes, kernel = data.shape[2:], filters.shape[self.filter_axes :]
        axes = zip(sizes, kernel, self._steps(len(sizes)), strict=True)
        overlaps = [min(size, count_overlaps(length, *steps)) for size, length, steps in axes]
        return int(filters.shape[self.filter_axes - 2] * prod(overlaps))

    def infer(self, data: TensorType, filters: TensorType, output_shape: TensorType | None = None) -> TensorType:
        named = None if output_shape is None else _named_dims(output_shape)
        spatial_rank = self._spatial_rank(data, filters, None if named is None else len(named))
        if spatial_rank is None:
            return TensorType(element_type_of((data, filters)), Shape.unknown())
        steps = {"strides": self.strides, "dilations": self.dilations, "output_padding": self.output_padding}
        self._check_lengths(spatial_rank, **steps)
        if named is not None and len(named) != spatial_rank:
            raise ShapeError(
                "output_shape has",
                actual=len(named),
                detail="elements",
                expected=spatial_rank,
                reason="one for each spatial axis",
                code=Code.dims_differ,
                port="output_shape",
            )
        if output_shape is None:
            kernel = spatial_dims(filters.shape, spatial_rank, self.filter_axes)
            named = self._natural_dims(spatial_dims(data.shape, spatial_rank), kernel)
        channels = self._channels(data.shape, filters.shape)
        return self._output(data, filters, channels, named or [Dim.any()] * spatial_rank)

    def evaluate(self, data: Array, filters: Array, output_shape: Array | None = None) -> Array:
        sizes, kernel = data.shape[2:], filters.shape[self.filter_axes :]
        named = None if output_shape is None else _named_sizes(output_shape, len(sizes))
        grouped = filters if self.filter_axes == 3 else filters[np.newaxis]
        return deconvolve(data, grouped, self._transposed_axes(sizes, kernel, named))

    def kernel(self, *types: TensorType, unread: frozenset[str] = frozenset()) -> Callable[..., Any]:
        data, filters = types[0].shape.static, types[1].shape.static
        output = self.infer(*types).shape
        if not output.is_static:
            return self.evaluate
        named = None if len(types) == 2 else output.static[2:]
        grouped = filters if self.filter_axes == 3 else (1, *filters)
        axes = self._transposed_axes(data[2:], filters[self.filter_axes :], named)
        deconvolver = Deconvolver(axes, data, grouped, types[0].element_type.dtype)
        return lambda data, filters, output_shape=None: deconvolver(data, filters)

    def _channels(self, data: Shape, filters: Shape) -> Dim:
        raise NotImplementedError

    def _natural_dims(self, data: Sequence[Dim], kernel: Sequence[Dim]) -> list[Dim]:
        """The dims of the output without output_shape."""
        more = self.output_padding or (0,) * len(data)
        dims = []
        for i, (stride, dilation) in enumerate(self._steps(len(data))):
            dim = (data[i] - 1) * stride + window_extent(kernel[i], dilation)
            amount = more[i] - sum(self._explicit_pads(len(data))[i])
            if dim.is_static and dim.lo + amount < 0:
                raise ShapeError(f"pads of spatial axis {i} take {-amount} of {dim} elements away")
            dims.append(add_to_dim(dim, amount))
        return dims

    def _transposed_axes(
        self, sizes: Sequence[int], kernel: Sequence[int], named: Sequence[int] | None
    ) -> list[SlidingAxis]:
        """The windows that a convolution of the output would have: as many as the data has elements."""
        statics = [Dim.of(size) for size in sizes], [Dim.of(size) for size in kernel]
        outputs = [dim.size for dim in self._natural_dims(*statics)] if named is None else named
        more = self.output_padding or (0,) * len(sizes)
        axes = []
        for i, (stride, dilation) in enumerate(self._steps(len(sizes))):
            begin, _ = self._explicit_pads(len(sizes))[i]
            if self._same and named is not None:
                extent = window_extent(Dim.of(kernel[i]), dilation).size
                surplus = max((sizes[i] - 1) * stride + extent - named[i] + more[i], 0)
                begin = surplus - surplus // 2 if self.auto_pad == "same_upper" else surplus // 2
            axes.append(SlidingAxis(outputs[i], kernel[i], stride, dilation, begin, sizes[i]))
        return axes


@op("ConvolutionBackpropData", since=1)
class ConvolutionBackpropData(_Transposed):
    """output[b, o, i * stride + k * dilation - pad] += data[b, c, i] * filters[c, o, k], starting at 0.

    i and k are indices of one, two or three spatial axes. Floats shorter than f32 are multiplied in f32. Integers are
    exact: 8 bits saturate, longer ones wrap.

    Specification: convolution/convolution-backprop-data-1.

    Inputs:
        data: [batch, channels, spatial...], any numeric type.
        filters: [channels, outputs, kernel...], the type of data.
        output_shape: Optional, an integer for each spatial axis.

    Outputs:
        output: [batch, outputs, spatial...], the type of data.

    Raises:
        IRError: IR501 for ranks that differ or are not 3, 4 or 5, IR502 where the channels differ or output_shape has
            another length, IR505 for attributes of another length and for negative sizes, IR704 for a wrong
            output_shape.
    """

    def channel_axis(self, position: int, rank: int) -> int | None:
        return 1 - position

    def equal_sizes(self, *types: TensorType) -> Iterator[tuple[int, int]]:
        data, filters = (input_type.shape.static for input_type in types[:2])
        yield data[1], filters[0]

    def _channels(self, data: Shape, filters: Shape) -> Dim:
        if data.dims is not None and filters.dims is not None:
            merge_dims(data[1], filters[0], "the channels of data and filters", port="filters")
        return Dim.any() if filters.dims is None else filters[1]


@op("GroupConvolutionBackpropData", since=1)
class GroupConvolutionBackpropData(_Transposed):
    """The transposed convolution of groups of channels, each with separate filters.

    Specification: convolution/group-convolution-backprop-data-1.

    Inputs:
        data: [batch, groups * C, spatial...], any numeric type.
        filters: [groups, C, O, kernel...], the type of data.
        output_shape: Optional, an integer for each spatial axis.

    Outputs:
        output: [batch, groups * O, spatial...], the type of data.

    Raises:
        IRError: As ConvolutionBackpropData; IR502 if data does not have groups * C channels.
    """

    filter_axes = 3

    def equal_sizes(self, *types: TensorType) -> Iterator[tuple[int, int]]:
        data, filters = (input_type.shape.static for input_type in types[:2])
        yield data[1], filters[0] * filters[1]

    def _channels(self, data: Shape, filters: Shape) -> Dim:
        return grouped_channels(data, filters, channels=1, outputs=2)


def _named_dims(output_shape: TensorType) -> list[Dim] | None:
    """The dims in output_shape, dynamic if not known; None if their number is unknown."""
    require_rank(output_shape, 1, "output_shape")
    bounds = known_bounds(output_shape)
    if bounds is None:
        length = Dim.any() if output_shape.shape.dims is None else output_shape.shape[0]
        # The caller rejects more than three: four represent any greater number.
        return [Dim.any()] * min(length.lo, 4) if length.is_static else None
    return dims_within(bounds, "output_shape")


def _named_sizes(output_shape: Array, spatial_rank: int) -> tuple[int, ...]:
    sizes = ints(output_shape)
    if len(sizes) != spatial_rank or any(size < 0 for size in sizes):
        raise EvaluationError(
            "output_shape is", actual=list(sizes), expected=f"{spatial_rank} sizes of 0 or more", port="output_shape"
        )
    return sizes
