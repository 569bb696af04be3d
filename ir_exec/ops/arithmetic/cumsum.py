"""CumSum: the sum of all elements up to each."""

from __future__ import annotations

import numpy as np

from ir_exec.errors import ShapeError
from ir_exec.kernels.precision import CALCULABLE
from ir_exec.ops.base import In, Op, op
from ir_exec.ops.base.attributes import Bool
from ir_exec.ops.base.axes import given_axis, known_axis
from ir_exec.types import INDEX, Array, ElementType, TensorType

__all__ = ["CumSum"]


@op("CumSum", since=3)
class CumSum(Op):
    """Along one axis, every element plus all before it.

    data: rank 1 or more. axis: a scalar, 0 without it. output: the type of data; integers wrap. With `exclusive` an
    element does not count for its own sum; with `reverse` sums begin at the end of the axis.

    Specification: arithmetic/cumsum-3.
    """

    inputs = (In("data", types=CALCULABLE), In("axis", types=INDEX, optional=True))

    exclusive: Bool = False
    reverse: Bool = False

    def infer(self, data: TensorType, axis: TensorType | None = None) -> TensorType:
        if data.rank == 0:
            raise ShapeError("data is a scalar, expected rank 1 or more", code="IR501", port="data")
        if axis is not None:
            known_axis(axis, data.rank)
        return data.without_values()

    def evaluate(self, data: Array, axis: Array | None = None) -> Array:
        along = 0 if axis is None else given_axis(axis, data.ndim)
        output = np.zeros(data.shape, self._sum_type(data))
        elements, sums = np.moveaxis(data, along, 0), np.moveaxis(output, along, 0)
        if self.reverse:
            elements, sums = elements[::-1], sums[::-1]
        if self.exclusive:
            elements, sums = elements[:-1], sums[1:]
        np.cumsum(elements, 0, output.dtype, out=sums)
        return output.astype(data.dtype, copy=False)

    def _sum_type(self, data: Array) -> np.dtype[np.generic]:
        kind = ElementType.of(data)
        if kind.is_float:
            return np.dtype(np.float32) if kind.bits < 32 else data.dtype
        return np.dtype(np.int8) if kind.bits < 8 else data.dtype
