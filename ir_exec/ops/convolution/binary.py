"""BinaryConvolution: a convolution of bits."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np

from ir_exec.kernels.convolve import convolve
from ir_exec.kernels.precision import CALCULABLE, rounded
from ir_exec.kernels.windows import SlidingAxis
from ir_exec.ops.base import In, op
from ir_exec.ops.base.attributes import LOWER, Float
from ir_exec.ops.base.shapes import merge_dims, require_rank
from ir_exec.ops.base.windowed import spatial_dims
from ir_exec.ops.convolution.convolution import Convolving
from ir_exec.types import Array, Dim, ElementType, Shape, TensorType, convert, element_types

__all__ = ["BinaryConvolution"]


@op("BinaryConvolution", since=1)
class BinaryConvolution(Convolving):
    """Convolution of bits, of which 1 counts as 1 and 0 as -1; elements of padding are the bit pad_value.

    data: [batch, channels, height, width] of zeros and ones, any numeric type; whatever is above 0 counts as 1.
    filters: [outputs, channels, kernel height, kernel width], u1 (or numbers, as data). output: [batch, outputs,
    windows...], the type of data.
    Errors: IR501 for ranks other than 4, IR502 where the channels differ, IR505 as Convolution.
    Specification: convolution/binary-convolution-1. OpenVINO's CPU plugin reads the bits of each byte of the filters in
    reverse order, needs a multiple of eight channels, and leaves padding with pad_value 0 out of the sum; we do not.
    """

    inputs = (In("data", types=CALCULABLE), In("filters", types=CALCULABLE | element_types("u1")))

    mode: Annotated[Literal["xnor-popcount"], LOWER]
    pad_value: Float

    def infer(self, data: TensorType, filters: TensorType) -> TensorType:
        require_rank(data, 4, "data")
        require_rank(filters, 4, "filters")
        if data.shape.dims is not None and filters.shape.dims is not None:
            merge_dims(data.shape[1], filters.shape[1], "the channels of data and filters", port="filters")
        outputs = Dim.any() if filters.shape.dims is None else filters.shape[0]
        batch = Dim.any() if data.shape.dims is None else data.shape[0]
        counts = self._counts(spatial_dims(data.shape, 2), spatial_dims(filters.shape, 2))
        return data.with_shape(Shape([batch, outputs, *counts]))

    def evaluate(self, data: Array, filters: Array) -> Array:
        axes = self._sliding(data.shape[2:], filters.shape[2:])
        # Padding counts as 1 or -1, never as 0, so it must become elements of the data.
        widths = [(0, 0), (0, 0), *[_padding(axis) for axis in axes]]
        padded = np.pad(_signs(data), widths, constant_values=1 if self.pad_value > 0 else -1)
        inner = [
            SlidingAxis(axis.size + sum(width), axis.kernel, axis.stride, axis.dilation, 0, axis.count)
            for axis, width in zip(axes, widths[2:], strict=True)
        ]
        return rounded(convolve(inner, padded, _signs(filters)[np.newaxis]), data.dtype)


def _signs(array: Array) -> Array:
    """1 for what is above zero, else -1, as f32."""
    return np.where(convert(array, ElementType.f32) > 0, np.float32(1), np.float32(-1))


def _padding(axis: SlidingAxis) -> tuple[int, int]:
    length = (axis.count - 1) * axis.stride + (axis.kernel - 1) * axis.dilation + 1
    return max(axis.pad, 0), max(length - axis.pad - axis.size, 0)
