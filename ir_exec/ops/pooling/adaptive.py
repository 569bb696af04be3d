"""Adaptive pooling: a given number of windows, whose sizes follow from it."""

from __future__ import annotations

from math import prod

import numpy as np

from ir_exec.errors import EvaluationError
from ir_exec.kernels.pool import AdaptiveWindows, adaptive_windows, first_greatest, reduced_windows, spread
from ir_exec.kernels.precision import CALCULABLE, rounded, widened
from ir_exec.ops.base import In, Op, op
from ir_exec.ops.base.attributes import IndexTypeName
from ir_exec.ops.base.shapes import dims_within, ints, known_bounds, merge_dims, require_rank
from ir_exec.ops.base.windowed import require_spatial
from ir_exec.types import INTEGER, Array, Dim, ElementType, Shape, TensorType

__all__ = ["AdaptiveAvgPool", "AdaptiveMaxPool"]


class _AdaptivePool(Op):
    """Window i of n along an axis covers elements floor(i * size / n) to ceil((i + 1) * size / n) - 1.

    data: [batch, channels, spatial...], any numeric type. output_shape: a vector of integers, the number of windows on
    each spatial axis. output: [batch, channels, windows...], the type of data.
    Errors: IR501 for a rank of data other than 3, 4, 5 and of output_shape other than 1, IR502 for another length of
    output_shape, IR505 and IR704 for a negative number of windows, IR704 for windows without elements.
    """

    inputs = (In("data", types=CALCULABLE), In("output_shape", types=INTEGER))

    def _pooled(self, data: Shape, output_shape: TensorType) -> Shape:
        require_spatial(TensorType(ElementType.dynamic, data))
        require_rank(output_shape, 1, "output_shape")
        if data.dims is None:
            return Shape.unknown()
        spatial_rank = len(data) - 2
        if output_shape.shape.dims is not None:
            what = "the length of output_shape and the number of spatial axes"
            merge_dims(output_shape.shape[0], Dim.of(spatial_rank), what, port="output_shape")
        bounds = known_bounds(output_shape)
        if bounds is None:
            return Shape([*data[:2], *[Dim.any()] * spatial_rank])
        return Shape([*data[:2], *dims_within(bounds, "output_shape")])

    def _windows(self, data: Array, output_shape: Array) -> list[AdaptiveWindows]:
        """The windows on each spatial axis."""
        counts = ints(output_shape)
        if len(counts) != data.ndim - 2 or any(count < 0 for count in counts):
            message = f"output_shape is {list(counts)}, expected {data.ndim - 2} numbers of windows from 0 on"
            raise EvaluationError(message, port="output_shape")
        if data.shape[0] * data.shape[1] * prod(counts) and not data.size:
            raise EvaluationError(f"data {list(data.shape)} has no elements to pool", port="data")
        return [adaptive_windows(size, count) for size, count in zip(data.shape[2:], counts, strict=True)]


@op("AdaptiveAvgPool", since=8)
class AdaptiveAvgPool(_AdaptivePool):
    """The mean of each window; that of integers is rounded to the nearest, ties to even.

    Specification: pooling/adaptive-avg-pool-8, which names float types alone; OpenVINO takes integers too.
    """

    def infer(self, data: TensorType, output_shape: TensorType) -> TensorType:
        return data.with_shape(self._pooled(data.shape, output_shape))

    def evaluate(self, data: Array, output_shape: Array) -> Array:
        windows = self._windows(data, output_shape)
        is_integer = ElementType.of(data).is_integer
        result = data.astype(np.float64) if is_integer else widened(data)
        for axis, along in enumerate(windows, 2):
            result = reduced_windows(result, along.distinct, axis)
            lengths = np.array([window.stop - window.start for window in along.distinct], result.dtype)
            result /= lengths.reshape(-1, *[1] * (data.ndim - axis - 1))
        return spread(rounded(np.rint(result) if is_integer else result, data.dtype), windows)


@op("AdaptiveMaxPool", since=8)
class AdaptiveMaxPool(_AdaptivePool):
    """The greatest element of each window, and its index in the flattened spatial axes: the first of equal ones.

    indices: the shape of output, the type `index_element_type`: i64 (the default) or i32.
    Specification: pooling/adaptive-max-pool-8.
    """

    outputs = ("output", "indices")

    index_element_type: IndexTypeName = ElementType.i64

    def infer(self, data: TensorType, output_shape: TensorType) -> tuple[TensorType, TensorType]:
        shape = self._pooled(data.shape, output_shape)
        return data.with_shape(shape), TensorType(self.index_element_type, shape)

    def evaluate(self, data: Array, output_shape: Array) -> tuple[Array, Array]:
        windows = self._windows(data, output_shape)
        sizes = data.shape[2:]
        values = widened(data)
        indices = np.broadcast_to(np.arange(prod(sizes), dtype=np.int64).reshape(sizes), data.shape)
        # The last axis first: so the first of equal elements of the flattened window stays.
        for axis in reversed(range(2, data.ndim)):
            values, indices = first_greatest(values, indices, windows[axis - 2].distinct, axis)
        places = indices.astype(self.index_element_type.dtype)
        return spread(rounded(values, data.dtype), windows), spread(places, windows)
