"""SoftMax and LogSoftmax: every element measured against the others along one axis."""

from __future__ import annotations

from ir_exec.kernels import costs
from ir_exec.kernels.pieces import by_slices
from ir_exec.kernels.precision import CALCULABLE_FLOAT
from ir_exec.kernels.softmax import log_softmax, softmax
from ir_exec.ops.base import In, Op, op
from ir_exec.ops.base.attributes import Int, NonNegative
from ir_exec.ops.base.shapes import normalize_axis
from ir_exec.types import Array, TensorType

__all__ = ["LogSoftmax", "SoftMax1", "SoftMax8"]


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


@op("SoftMax", since=8)
class SoftMax8(_AlongAxis):
    """output = exp(data) / (sum of exp(data) along the axis).

    A slice of nothing but -inf is NaN, as is one that holds +inf or NaN.
    Specification: activation/softmax-8.
    """

    def evaluate(self, data: Array) -> Array:
        return by_slices(softmax, data, self.axis, nanoseconds=costs.EXPONENTIAL_NANOSECONDS)


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
        return by_slices(log_softmax, data, self.axis, nanoseconds=costs.EXPONENTIAL_NANOSECONDS)
