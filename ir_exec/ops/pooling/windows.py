"""Pooling: every window becomes its greatest element or its mean.

A window is a box, so it can be pooled one axis at a time: this reads a + b elements instead of a * b.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import prod
from typing import Annotated, Any, Literal

import numpy as np

from ir_exec.errors import ShapeError
from ir_exec.kernels.pool import by_images, greatest, greatest_and_places, pooled_along
from ir_exec.kernels.precision import CALCULABLE, round_to, widen
from ir_exec.kernels.windows import SlidingAxis
from ir_exec.ops.base import In, op
from ir_exec.ops.base.attributes import LOWER, Bool, IndexTypeName, Int, Named, NonNegatives, Positives
from ir_exec.ops.base.graph_facts import OlderVersion
from ir_exec.ops.base.shapes import normalize_axis
from ir_exec.ops.base.variants import Kernel, KernelRequest, variant
from ir_exec.ops.base.windowed import Windowed, count_covered, require_spatial, window_extent
from ir_exec.types import UNBOUNDED, Array, Dim, ElementType, Shape, TensorType

__all__ = ["AvgPool1", "AvgPool14", "AvgPool16", "MaxPool1", "MaxPool8", "MaxPool14"]


class _Pooling(Windowed):
    """The base of operators that pool windows.

    Inputs:
        data: [batch, channels, spatial...], any numeric type.

    Attributes:
        rounding_type: A last window that extends beyond the padded data is omitted (`floor`, the default) or included
            (`ceil`); `ceil_torch` includes it unless it begins in the padding at the end.
        kernel: The size of a window on each spatial axis.

    Outputs:
        output: [batch, channels, windows...], the type of data.

    Raises:
        IRError: IR501 for ranks other than 3, 4, 5, IR505 for attributes whose length is not the number of spatial axes
            and for windows larger than the padded data.
    """

    inputs = (In("data", types=CALCULABLE),)
    redundant_attributes = "exclude-pad pool-method"

    kernel_sizes: Annotated[Positives, Named("kernel")]
    pads_begin: NonNegatives = ()
    pads_end: NonNegatives = ()
    rounding_type: Annotated[Literal["floor", "ceil"], LOWER] = "floor"

    @property
    def _spacing(self) -> tuple[int, ...]:
        """The dilations of all spatial axes."""
        return (1,) * len(self.kernel_sizes)

    def _output_shape(self, data: Shape) -> Shape:
        """The shape of the output."""
        require_spatial(TensorType(ElementType.dynamic, data))
        spatial_rank = len(self.kernel_sizes) if data.dims is None else len(data) - 2
        attributes = {"kernel": self.kernel_sizes, "strides": self.strides, "dilations": self._spacing}
        self._check_lengths(spatial_rank, "kernel", "strides", **attributes)
        if data.dims is None:
            return Shape.of_rank(2 + spatial_rank)
        return Shape([*data[:2], *[self._count(dim, axis) for axis, dim in enumerate(data[2:])]])

    def _count(self, dim: Dim, axis: int) -> Dim:
        """The number of windows on one spatial axis."""
        if self._same and not dim.is_static:
            return Dim.any()
        stride = self.strides[axis]
        pads = self._pads(dim.lo, axis)
        room = count_covered(dim, pads, self._extent(axis), axis)
        if self.rounding_type == "floor":
            return room // stride + 1
        count = room.ceil_div(stride)
        if self.rounding_type == "ceil":
            return count + 1
        # The last window counts if it begins before the end of the data.
        ends = (count.lo, dim.lo), (count.hi, dim.hi)
        least, most = [number + (number * stride < size + pads[0]) for number, size in ends]
        return Dim(max(least, 1), max(most, 1) if dim.is_bounded else UNBOUNDED)

    def _extent(self, axis: int) -> Dim:
        return window_extent(Dim.of(self.kernel_sizes[axis]), self._spacing[axis])

    def _pads(self, size: int, axis: int) -> tuple[int, int]:
        """The padding of one spatial axis; for `same_upper` and `same_lower` it depends on the size of the axis."""
        if self._same:
            return self._same_pads(size, self._extent(axis).size, self.strides[axis])
        return self._explicit_pads(len(self.kernel_sizes))[axis]

    def _sliding(self, shape: tuple[int, ...]) -> list[SlidingAxis]:
        counts = self._output_shape(Shape(shape)).dims
        assert counts is not None, "the rank of an array is known"
        windows = zip(shape[2:], self.kernel_sizes, self.strides, self._spacing, counts[2:], strict=True)
        return [
            SlidingAxis(size, kernel, stride, dilation, self._pads(size, axis)[0], count.size)
            for axis, (size, kernel, stride, dilation, count) in enumerate(windows)
        ]


@op("MaxPool", since=1)
class MaxPool1(_Pooling):
    """The greatest element of each window without padding.

    NaN is never the greatest. A window of padding, NaN and -inf only becomes the lowest finite value of the type, as in
    OpenVINO; in the specification, padding is -inf.

    Specification: pooling/max-pool-1.
    """

    moved_inputs = ("data",)
    fills_with_lowest = True

    def infer(self, data: TensorType) -> TensorType:
        return data.with_shape(self._output_shape(data.shape))

    def evaluate(self, data: Array) -> Array:
        return greatest(data, self._sliding(data.shape))

    def kernel(self, *types: TensorType, unread: frozenset[str] = frozenset()) -> Callable[..., Any]:
        return partial(greatest, axes=self._sliding(types[0].shape.static))


class _IndexedMaxPool(_Pooling):
    """The greatest element of each window, as in MaxPool-1, and its index.

    Attributes:
        dilations: The distance between neighboring elements of a window, by default 1.

    Outputs:
        indices: The shape of output, the type `index_element_type`, i64 (the default) or i32: the index of the element,
            the first of equal ones, in data flattened starting at axis `axis` (by default 0). For a window without
            elements it is the first of its channel.

    Raises:
        IRError: Also IR503 for an axis that data does not have.
    """

    outputs = ("output", "indices")
    moved_inputs = ("data",)
    fills_with_lowest = True
    declared_as_f32 = ("indices",)

    dilations: Positives = ()
    index_element_type: IndexTypeName = ElementType.i64
    axis: Int = 0

    @property
    def _spacing(self) -> tuple[int, ...]:
        return self.dilations or super()._spacing

    def infer(self, data: TensorType) -> tuple[TensorType, TensorType]:
        if data.rank is not None:
            normalize_axis(self.axis, data.rank)
        shape = self._output_shape(data.shape)
        return data.with_shape(shape), TensorType(self.index_element_type, shape)

    def evaluate(self, data: Array) -> tuple[Array, Array]:
        axes = self._sliding(data.shape)
        output, indices = greatest_and_places(data, axes)
        indices %= max(prod(data.shape[normalize_axis(self.axis, data.ndim) :]), 1)
        return output, indices.astype(self.index_element_type.dtype, copy=False)


def _has_unread_indices(op: _Pooling, request: KernelRequest) -> bool:
    return isinstance(op, _IndexedMaxPool) and "indices" in request.unread


@variant(
    "MaxPool",
    name="without_indices",
    applies=_has_unread_indices,
    cost=0.12,
    why="No later layer reads the indices: only the greatest elements are computed.",
)
def _without_indices(op: _Pooling, request: KernelRequest) -> Kernel:
    return partial(greatest, axes=op._sliding(request.types[0].shape.static))


@op("MaxPool", since=8)
class MaxPool8(_IndexedMaxPool):
    """MaxPool-1 with dilated windows, and the index of each greatest element.

    Specification: pooling/max-pool-8.
    """


@op("MaxPool", since=14)
class MaxPool14(_IndexedMaxPool):
    """MaxPool-8 with the further rounding_type `ceil_torch`.

    Specification: pooling/max-pool-14.
    """

    older = OlderVersion(8, refused=(("rounding_type", "ceil_torch"),))

    rounding_type: Annotated[Literal["floor", "ceil", "ceil_torch"], LOWER] = "floor"  # type: ignore[assignment]  # more values


class _AvgPool(_Pooling):
    """The base of all versions of AvgPool.

    Means of integers are rounded to the nearest, ties to even.

    Attributes:
        exclude_pad: Padding is excluded from the mean, and a window that covers only padding gives 0; if false, padding
            counts as zeros. Without any pads, elements of the last window beyond the data are excluded, as in OpenVINO.

    Raises:
        IRError: Also IR505 for `exclude-pad` with windows of padding only.
    """

    term_inputs = ("data",)

    exclude_pad: Annotated[Bool, Named("exclude-pad")]

    def infer(self, data: TensorType) -> TensorType:
        shape = self._output_shape(data.shape)
        if self.exclude_pad and data.shape.dims is not None:
            for axis, dim in enumerate(data.shape[2:]):
                pads = self._pads(dim.lo, axis)
                if dim.is_static and self._extent(axis).size <= max(pads):
                    raise ShapeError(
                        f"with exclude-pad a window of {self._extent(axis)} elements must not be within the "
                        f"pads {pads[0]} and {pads[1]} of spatial axis {axis}"
                    )
        return data.with_shape(shape)

    def count_terms(self, inputs: Sequence[Array]) -> int:
        sizes = zip(inputs[0].shape[2:], self.kernel_sizes, strict=True)
        return int(prod([min(size, kernel) for size, kernel in sizes]))

    def evaluate(self, data: Array) -> Array:
        return self._means(*self._windows(data.shape), data)

    def kernel(self, *types: TensorType, unread: frozenset[str] = frozenset()) -> Callable[..., Any]:
        return partial(self._means, *self._windows(types[0].shape.static))

    def _windows(self, shape: tuple[int, ...]) -> tuple[list[SlidingAxis], Array]:
        """The windows of data of this shape, and the number of elements in their means: [windows...], or a scalar."""
        axes = self._sliding(shape)
        padded = any(any(self._pads(axis.size, i)) for i, axis in enumerate(axes))
        sizes = np.asarray(prod(self.kernel_sizes)) if padded and not self.exclude_pad else _element_counts(axes)
        return axes, sizes.reshape(-1)[0] if sizes.size and sizes.min() == sizes.max() else sizes

    @staticmethod
    def _means(axes: Sequence[SlidingAxis], sizes: Array, data: Array) -> Array:
        is_integer = ElementType.of(data).is_integer

        def mean(images: Array) -> Array:
            for position, axis in enumerate(axes, 1):
                images = pooled_along(np.add, images, axis, position, images.dtype.type(0))
            images = images / sizes.astype(images.dtype)
            return np.rint(images) if is_integer else images

        wide = data.astype(np.float64) if is_integer else widen(data)
        return round_to(by_images(mean, wide, axes), data.dtype)


@op("AvgPool", since=1)
class AvgPool1(_AvgPool):
    """The mean of each window.

    Specification: pooling/avg-pool-1.
    """


@op("AvgPool", since=14)
class AvgPool14(_AvgPool):
    """AvgPool-1 with the further rounding_type `ceil_torch`.

    Specification: pooling/avg-pool-14.
    """

    older = OlderVersion(1, refused=(("rounding_type", "ceil_torch"),))

    rounding_type: Annotated[Literal["floor", "ceil", "ceil_torch"], LOWER] = "floor"  # type: ignore[assignment]  # more values


@op("AvgPool", since=16)
class AvgPool16(AvgPool14):
    """AvgPool-14 with dilated windows.

    Specification: pooling/avg-pool-16.

    Attributes:
        dilations: The distance between neighboring elements, by default 1.
    """

    older = OlderVersion(14, without=(("dilations", ((), (1,), (1, 1), (1, 1, 1))),))

    dilations: Positives = ()

    def spelled_out(self) -> Mapping[str, Any]:
        """The attributes to write: OpenVINO crashes on a file without dilations."""
        return {"dilations": self._spacing}

    @property
    def _spacing(self) -> tuple[int, ...]:
        return self.dilations or super()._spacing


def _element_counts(axes: Sequence[SlidingAxis]) -> Array:
    """The number of elements of each window without padding, at least 1: [windows...]."""
    counts = np.ones((), np.int64)
    for axis in axes:
        along = np.zeros(axis.count, np.int64)
        for k in axis.positions():
            reach = axis.reach(k)
            if reach is not None:
                along[reach[0]] += 1
        counts = counts[..., np.newaxis] * along
    return np.maximum(counts, 1)
