"""BinaryConvolution: a convolution of bits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Annotated, Any, Literal

from ir_exec.kernels.binary import convolve_bits, packed_filters
from ir_exec.kernels.choice import KernelChoice, choosing
from ir_exec.kernels.precision import CALCULABLE, round_to
from ir_exec.ops.base import In, op
from ir_exec.ops.base.attributes import LOWER, Float
from ir_exec.ops.base.shapes import merge_dims, require_rank
from ir_exec.ops.base.windowed import spatial_dims
from ir_exec.ops.convolution.convolution import Convolving
from ir_exec.types import Array, Dim, ElementType, Shape, TensorType, convert, element_types

__all__ = ["BinaryConvolution"]


@op("BinaryConvolution", since=1)
class BinaryConvolution(Convolving):
    """Convolution of bits: 1 counts as 1, 0 as -1, padding as the bit pad_value.

    Specification: convolution/binary-convolution-1. OpenVINO's CPU plugin reads the bits of each byte of the filters in
    reverse order, needs a multiple of eight channels, and omits padding with pad_value 0 from the sum; this class does
    not.

    Inputs:
        data: [batch, channels, height, width] of zeros and ones, any numeric type; values above 0 count as 1.
        filters: [outputs, channels, kernel height, kernel width], u1 (or numbers, as data).

    Outputs:
        output: [batch, outputs, windows...], the type of data.

    Raises:
        IRError: IR501 for ranks other than 4, IR502 where the channels differ, IR505 as Convolution.
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
        return self._convolve(data, filters.shape, packed_filters(_bits(filters)))

    def with_constants(self, constants: Mapping[int, Array]) -> Callable[..., Any] | None:
        """The bits of filters are packed once."""
        filters = constants.get(1)
        if filters is None:
            return None
        packed = cache(lambda: packed_filters(_bits(filters)))
        return choosing(lambda data, _: self._convolve(data, filters.shape, packed()), _PACKED_BITS)

    def _convolve(self, data: Array, filters: tuple[int, ...], words: Array) -> Array:
        """The convolution with packed filters.

        Args:
            filters: Their shape.
            words: The result of `packed_filters`.
        """
        axes = self.sliding(data.shape[2:], filters[2:])
        return round_to(convolve_bits(axes, _bits(data), words, padding=self.pad_value > 0), data.dtype)


_PACKED_BITS = KernelChoice(
    "The filters are constants: their bits are packed once.", ("evaluate: does so in every run",), "packed_bits"
)


def _bits(array: Array) -> Array:
    return convert(array, ElementType.f32) > 0
