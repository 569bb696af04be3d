"""Adaptive pooling: a given number of windows of derived sizes."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from ir_exec.errors import EvaluationError
from ir_exec.kernels.gather import take_along_axis
from ir_exec.kernels.limits import check_time
from ir_exec.kernels.precision import CALCULABLE, round_to, widen
from ir_exec.kernels.reduce import reduce_along
from ir_exec.ops.base import In, Op, op
from ir_exec.ops.base.attributes import IndexTypeName
from ir_exec.ops.base.inputs import ValueRange
from ir_exec.ops.base.shapes import dims_within, ints, known_bounds, merge_dims, require_rank
from ir_exec.ops.base.windowed import require_spatial
from ir_exec.tuning import thresholds
from ir_exec.types import INTEGER, Array, Dim, ElementType, Shape, TensorType

__all__ = ["AdaptiveAvgPool", "AdaptiveMaxPool"]


class _AdaptivePool(Op):
    """Window i of n along an axis covers elements floor(i * size / n) to ceil((i + 1) * size / n) - 1.

    Inputs:
        data: [batch, channels, spatial...], any numeric type.
        output_shape: A vector of integers, the number of windows on each spatial axis.

    Outputs:
        output: [batch, channels, windows...], the type of data.

    Raises:
        IRError: IR501 for a rank of data other than 3, 4, 5 and of output_shape other than 1, IR502 for another length
            of output_shape, IR505 and IR704 for a negative number of windows, IR704 for windows without elements.
    """

    inputs = (In("data", types=CALCULABLE), In("output_shape", types=INTEGER, domain=ValueRange(2, 3, "sizes")))
    sized_by = ("output_shape",)

    def _output_shape(self, data: Shape, output_shape: TensorType) -> Shape:
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

    def _windows(self, data: Array, output_shape: Array) -> list[_AdaptiveWindows]:
        """The windows of each spatial axis."""
        counts = ints(output_shape)
        if len(counts) != data.ndim - 2 or any(count < 0 for count in counts):
            raise EvaluationError(
                "output_shape is",
                actual=list(counts),
                expected=f"{data.ndim - 2} sizes of 0 or more",
                port="output_shape",
            )
        if data.shape[0] * data.shape[1] * prod(counts) and not data.size:
            raise EvaluationError(
                f"data {list(data.shape)} is", actual="empty", expected="elements to pool", port="data"
            )
        return [_adaptive_windows(size, count) for size, count in zip(data.shape[2:], counts, strict=True)]


@op("AdaptiveAvgPool", since=8)
class AdaptiveAvgPool(_AdaptivePool):
    """The mean of each window; means of integers are rounded to the nearest, ties to even.

    Specification: pooling/adaptive-avg-pool-8, which has float types only; integers are an extension of OpenVINO.
    """

    term_inputs = ("data",)

    def infer(self, data: TensorType, output_shape: TensorType) -> TensorType:
        return data.with_shape(self._output_shape(data.shape, output_shape))

    def count_terms(self, inputs: Sequence[Array]) -> int:
        windows = self._windows(*inputs)
        return prod([max((each.stop - each.start for each in along.distinct), default=1) for along in windows])

    def evaluate(self, data: Array, output_shape: Array) -> Array:
        windows = self._windows(data, output_shape)
        is_integer = ElementType.of(data).is_integer
        result = data.astype(np.float64) if is_integer else widen(data)
        for axis, along in enumerate(windows, 2):
            if len(along.distinct) == data.shape[axis]:
                continue  # Each has one element.
            result = _reduced_windows(result, along.distinct, axis)
            lengths = np.array([window.stop - window.start for window in along.distinct], result.dtype)
            result /= lengths.reshape(-1, *[1] * (data.ndim - axis - 1))
        result = result.copy() if result is data else result
        return _spread(round_to(np.rint(result) if is_integer else result, data.dtype), windows)


@op("AdaptiveMaxPool", since=8)
class AdaptiveMaxPool(_AdaptivePool):
    """The greatest element of each window, and its index in the flattened spatial axes: the first of equal ones.

    Specification: pooling/adaptive-max-pool-8.

    Outputs:
        indices: The shape of output, the type `index_element_type`: i64 (the default) or i32.
    """

    moved_inputs = ("data",)

    outputs = ("output", "indices")

    index_element_type: IndexTypeName = ElementType.i64

    def infer(self, data: TensorType, output_shape: TensorType) -> tuple[TensorType, TensorType]:
        shape = self._output_shape(data.shape, output_shape)
        return data.with_shape(shape), TensorType(self.index_element_type, shape)

    def evaluate(self, data: Array, output_shape: Array) -> tuple[Array, Array]:
        windows = self._windows(data, output_shape)
        sizes = data.shape[2:]
        values = widen(data)
        distinct = [along.distinct for along in windows]
        if prod(len(slices) for slices in distinct) * thresholds.ELEMENTS_A_CALL <= prod(sizes):
            values, indices = _first_of_copies(values, distinct)
        else:
            indices = np.broadcast_to(np.arange(prod(sizes), dtype=np.int64).reshape(sizes), data.shape)
            # The last axis first: this keeps the first of equal elements of the flattened window.
            for axis in reversed(range(2, data.ndim)):
                values, indices = _first_greatest(values, indices, distinct[axis - 2], axis)
        places = indices.astype(self.index_element_type.dtype)
        return _spread(round_to(values, data.dtype), windows), _spread(places, windows)


class _AdaptiveWindows(NamedTuple):
    """The windows of one axis.

    Attributes:
        distinct: The elements of each distinct window, since there may be many more windows than elements.
        which: The place in `distinct` of each window; None if all windows are distinct.
    """

    distinct: list[slice]
    which: Array | None


def _adaptive_windows(size: int, count: int) -> _AdaptiveWindows:
    """The windows of an axis of `size` elements."""
    numbers = np.arange(count, dtype=np.int64)
    starts, stops = numbers * size // count, -(-(numbers + 1) * size // count)
    which = None
    if count > size:
        is_new = np.ones(count, np.bool_)
        is_new[1:] = (np.diff(starts) != 0) | (np.diff(stops) != 0)
        which = np.cumsum(is_new) - 1
        starts, stops = starts[is_new], stops[is_new]
    return _AdaptiveWindows([slice(*ends) for ends in zip(starts.tolist(), stops.tolist(), strict=True)], which)


def _spread(result: Array, windows: Sequence[_AdaptiveWindows]) -> Array:
    """The result for all windows, expanded from the distinct ones."""
    for axis, along in enumerate(windows, 2):
        if along.which is not None:
            result = np.take(result, along.which, axis)
    return result


def _reduced_windows(data: Array, windows: Sequence[slice], axis: int) -> Array:
    """The sums of all windows of one axis."""
    before, size, behind = data.shape[:axis], data.shape[axis], data.shape[axis + 1 :]
    if windows and size % len(windows) == 0:
        apart = data.reshape(*before, len(windows), size // len(windows), *behind)
        return reduce_along(np.add, apart, (axis + 1,), keep_dims=False)
    result = np.empty((*before, len(windows), *behind), data.dtype)
    every: tuple[Any, ...] = (slice(None),) * axis
    for i, window in enumerate(windows):
        np.sum(data[(*every, window)], axis=axis, out=result[(*every, i)])
    return result


def _first_of_copies(data: Array, windows: Sequence[Sequence[slice]]) -> tuple[Array, Array]:
    """The greatest elements of windows along all spatial axes, which are copied, and their indices."""
    sizes, counts = data.shape[2:], [len(slices) for slices in windows]
    shape = *data.shape[:2], *counts
    values, places = np.empty(shape, data.dtype), np.empty(shape, np.int64)
    numbers = np.arange(prod(sizes), dtype=np.int64).reshape(sizes)
    rows = np.arange(prod(data.shape[:2]))
    for which in np.ndindex(*counts):
        check_time()
        window = tuple([slices[i] for slices, i in zip(windows, which, strict=True)])
        some = data[(..., *window)].reshape(len(rows), prod(part.stop - part.start for part in window))
        first = some.argmax(axis=1)
        values[(..., *which)] = some[rows, first].reshape(shape[:2])
        places[(..., *which)] = numbers[window].ravel()[first].reshape(shape[:2])
    return values, places


def _first_greatest(data: Array, indices: Array, windows: Sequence[slice], axis: int) -> tuple[Array, Array]:
    """The greatest elements of all windows of one axis, and their indices."""
    starts, stops = (np.array([getattr(window, end) for window in windows], np.int64) for end in ("start", "stop"))
    longest = int((stops - starts).max(initial=1))
    # Short windows repeat their last element, which is never the first of equal ones.
    elements = np.minimum(starts[:, np.newaxis] + np.arange(longest), stops[:, np.newaxis] - 1)
    first = np.take(data, elements, axis).argmax(axis + 1)
    rows = np.arange(len(windows)).reshape(-1, *(1,) * (data.ndim - 1 - axis)) * longest
    chosen = elements.ravel().take(first + rows)
    return take_along_axis(data, chosen, axis), take_along_axis(indices, chosen, axis)
