"""SoftMax, LogSoftmax and MVN: every element measured against the others of its slice."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, Literal

import numpy as np

from ir_exec.errors import ShapeError
from ir_exec.ops.attributes import LOWER, Bool, Float, Int, Ints, NonNegative
from ir_exec.ops.base import In, Op, op
from ir_exec.ops.precision import CALCULABLE_FLOAT, rounded, widened
from ir_exec.ops.reduction import AXES, axes_of, distinct_axes, mean
from ir_exec.ops.rules import known_ints, normalize_axis, require_rank
from ir_exec.ops.slices import EXPONENTIAL, by_slices
from ir_exec.types import Array, TensorType

__all__ = ["MVN1", "MVN6", "LogSoftmax", "SoftMax1", "SoftMax8"]


class _AlongAxis(Op):
    """data: rank 1 or more, any float type; a scalar counts as a vector of one element, as in OpenVINO.

    output: the shape and the type of data.
    Errors: IR503 for an axis that data does not have.
    """

    inputs = (In("data", types=CALCULABLE_FLOAT),)

    axis: Int = 1

    def infer(self, data: TensorType) -> TensorType:
        if data.rank is not None:
            normalize_axis(self.axis, max(data.rank, 1))
        return data.without_values()


def _shifted(data: Array) -> Array:
    """The elements less the greatest of their slice along axis 1, so that no exponential overflows; a new array."""
    wide = widened(data)
    return np.asarray(np.subtract(wide, np.maximum.reduce(wide, axis=1, keepdims=True, initial=-np.inf)))


def _softmax(data: Array) -> Array:
    result = _shifted(data)
    np.exp(result, out=result)
    result /= np.add.reduce(result, axis=1, keepdims=True)
    return rounded(result, data.dtype)


def _log_softmax(data: Array) -> Array:
    result = _shifted(data)
    result -= np.log(np.add.reduce(np.exp(result), axis=1, keepdims=True))
    return rounded(result, data.dtype)


@op("SoftMax", since=8)
class SoftMax8(_AlongAxis):
    """output = exp(data) / (sum of exp(data) along the axis).

    A slice of nothing but -inf is NaN, as is one that holds +inf or NaN.
    Specification: activation/softmax-8.
    """

    def evaluate(self, data: Array) -> Array:
        return by_slices(_softmax, data, self.axis, nanoseconds=EXPONENTIAL)


@op("SoftMax", since=1)
class SoftMax1(SoftMax8):
    """SoftMax-8 with an axis that is never negative.

    Specification: activation/softmax-1, by which the axis is 1 where none is given; OpenVINO takes 0 there.
    """

    axis: NonNegative = 1


@op("LogSoftmax", since=5)
class LogSoftmax(_AlongAxis):
    """output = data - log(sum of exp(data) along the axis), the logarithm of SoftMax.

    Specification: activation/log-soft-max-5.
    """

    def evaluate(self, data: Array) -> Array:
        return by_slices(_log_softmax, data, self.axis, nanoseconds=EXPONENTIAL)


@op("MVN", since=2)
class MVN1(Op):
    """output = data - mean, divided by sqrt(variance + eps) if `normalize_variance`.

    Mean and variance are those of the slice along `reduction_axes`; without them, of all axes but the first
    (`across_channels`) or but the first two.

    data: any shape, any float type. output: the same.
    Errors: IR503 for reduction axes that data does not have.
    Specification: normalization/mvn-1. OpenVINO's CPU plugin looks at `reduction_axes` only for axis 1; we reduce the
    axes that are named.
    """

    inputs = (In("data", types=CALCULABLE_FLOAT),)

    eps: Float
    normalize_variance: Bool
    across_channels: Bool = False
    reduction_axes: Ints = ()

    def infer(self, data: TensorType) -> TensorType:
        if data.rank is not None:
            self._axes(data.rank)
        return data.without_values()

    def evaluate(self, data: Array) -> Array:
        result, variance = _centred(data, self._axes(data.ndim), self.normalize_variance)
        if variance is not None:
            result /= np.sqrt(variance + variance.dtype.type(self.eps))
        return rounded(result, data.dtype)

    def _axes(self, rank: int) -> tuple[int, ...]:
        if self.reduction_axes:
            return distinct_axes(self.reduction_axes, rank)
        return tuple(range(1 if self.across_channels else 2, rank))


@op("MVN", since=6)
class MVN6(Op):
    """output = data - mean, divided by the deviation if `normalize_variance`.

    Mean and variance are those of the slice along `axes`. The deviation is sqrt(variance + eps) or
    sqrt(variance) + eps, as `eps_mode` says.

    data: any shape, any float type. axes: a vector of integers. output: the shape and the type of data.
    Errors: IR501 where axes is no vector, IR503 for axes that data does not have, IR505 for more axes than data has.
    Specification: normalization/mvn-6.
    """

    inputs = (In("data", types=CALCULABLE_FLOAT), In("axes", types=AXES))

    eps: Float
    normalize_variance: Bool
    eps_mode: Annotated[Literal["inside_sqrt", "outside_sqrt"], LOWER]

    def infer(self, data: TensorType, axes: TensorType) -> TensorType:
        require_rank(axes, 1, "axes")
        if data.rank is not None and axes.shape.size.lo > data.rank:
            raise ShapeError(
                f"axes has {axes.shape.size} elements, data {data.shape} has {data.rank} axes", port="axes"
            )
        values = known_ints(axes)
        if data.rank is not None and values is not None:
            distinct_axes(values, data.rank)
        return data.without_values()

    def evaluate(self, data: Array, axes: Array) -> Array:
        return self._normalized(axes_of(axes, data.ndim), data)

    def kernel(self, *types: TensorType, unread: frozenset[str] = frozenset()) -> Callable[..., Any]:
        axes = known_ints(types[1])
        if axes is None or types[0].rank is None:
            return self.evaluate
        return partial(self._normalized, distinct_axes(axes, types[0].rank))

    def _normalized(self, reduced: tuple[int, ...], data: Array, axes: Array | None = None) -> Array:
        result, variance = _centred(data, reduced, self.normalize_variance)
        if variance is None:
            return rounded(result, data.dtype)
        eps = variance.dtype.type(self.eps)
        result /= np.sqrt(variance + eps) if self.eps_mode == "inside_sqrt" else np.sqrt(variance) + eps
        return rounded(result, data.dtype)


def _centred(data: Array, axes: tuple[int, ...], normalize_variance: bool) -> tuple[Array, Array | None]:
    """The elements less the mean of their slice, a new array; and the variance of each slice if it is wanted."""
    wide = widened(data)
    centred = np.asarray(wide - mean(wide, axes))
    return centred, mean(np.square(centred), axes) if normalize_variance else None
