"""SoftMax and LogSoftmax: the elements along one axis as fractions of their sum."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import ClassVar

from ir_exec.kernels.chunks import by_slices
from ir_exec.kernels.precision import CALCULABLE_FLOAT
from ir_exec.kernels.softmax import log_softmax, softmax
from ir_exec.ops.base import In, Op, op
from ir_exec.ops.base.attributes import Int, NonNegative
from ir_exec.ops.base.facts import Accuracy
from ir_exec.ops.base.shapes import normalize_axis
from ir_exec.ops.base.variants import Kernel, KernelRequest, variant
from ir_exec.tuning import thresholds
from ir_exec.types import Array, TensorType

__all__ = ["LogSoftmax", "SoftMax1", "SoftMax8"]


class _AlongAxis(Op):
    """The base of SoftMax and LogSoftmax.

    Inputs:
        data: Rank 1 or more, any float type; as in OpenVINO, a scalar counts as a vector of one element.

    Attributes:
        axis: 1 by default.

    Outputs:
        output: Like data.

    Raises:
        IRError: IR503 for an axis that data does not have.
    """

    inputs = (In("data", types=CALCULABLE_FLOAT),)
    is_distribution = True

    function: ClassVar[Callable[..., Array]]

    axis: Int = 1

    def infer(self, data: TensorType) -> TensorType:
        if data.rank is not None:
            normalize_axis(self.axis, max(data.rank, 1))
        return data.without_values()

    def count_terms(self, inputs: Sequence[Array]) -> int:
        return int(inputs[0].shape[self.axis]) if inputs[0].ndim else 1

    def evaluate(self, data: Array) -> Array:
        return by_slices(type(self).function, data, self.axis, nanoseconds=thresholds.SLOW_ELEMENT_NANOSECONDS)


def _is_one_chunk(op: _AlongAxis, request: KernelRequest) -> bool:
    data = request.types[0]
    return bool(data.rank) and data.shape.size.hi <= thresholds.CHUNK_ELEMENTS


@variant(
    "SoftMax",
    "LogSoftmax",
    name="one_chunk",
    applies=_is_one_chunk,
    cost=0.86,
    why="The elements fit into one chunk.",
)
def _one_chunk(op: _AlongAxis, request: KernelRequest) -> Kernel:
    return partial(type(op).function, axis=op.axis)


@op("SoftMax", since=8)
class SoftMax8(_AlongAxis):
    """output = exp(data) / (sum of exp(data) along the axis).

    A slice of -inf alone becomes NaN, as does one that holds +inf or NaN.
    Specification: activation/softmax-8.
    """

    accuracy = Accuracy(absolute=1, reason="bounded by 1; exponentials below the smallest normal number become 0")
    limits = (0.0, 1.0)

    function = softmax


@op("SoftMax", since=1)
class SoftMax1(SoftMax8):
    """SoftMax-8 with an axis that counts from the front.

    Specification: activation/softmax-1. If a file declares no axis it is 1, as in the specification; OpenVINO uses 0.
    """

    axis: NonNegative = 1


@op("LogSoftmax", since=5)
class LogSoftmax(_AlongAxis):
    """output = data - ln(sum of exp(data) along the axis): the logarithm of SoftMax.

    Specification: activation/log-soft-max-5.
    """

    accuracy = Accuracy(absolute=4, reason="the logarithm of a sum near 1")

    function = log_softmax
