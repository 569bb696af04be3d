"""CumSum: running sums along an axis."""

from __future__ import annotations

import numpy as np

from ir_exec.codes import Code
from ir_exec.errors import ShapeError
from ir_exec.kernels.precision import CALCULABLE
from ir_exec.ops.base import In, Op, op
from ir_exec.ops.base.attributes import Bool
from ir_exec.ops.base.axes import given_axis, known_axis
from ir_exec.types import INDEX, Array, ElementType, TensorType

__all__ = ["CumSum"]


@op("CumSum", since=3)
class CumSum(Op):
    """output[j] = the sum of data[0] to data[j] along the axis.

    exclusive: the sum ends at data[j - 1], and is 0 for the first element. reverse: sums begin at the end of the axis.
    Both are false by default.

    data: rank 1 or more, any numeric type. axis: a scalar of i32 or i64, by default 0; as in OpenVINO it may also be a
    vector of one element. output: as data; integers wrap.
    Errors: IR501 for data that is a scalar, IR501 and IR502 for an axis of another shape, IR503 and IR704 for an axis
    that data does not have.
    Specification: arithmetic/cumsum-3.
    """

    inputs = (In("data", types=CALCULABLE), In("axis", types=INDEX, optional=True))

    exclusive: Bool = False
    reverse: Bool = False

    def infer(self, data: TensorType, axis: TensorType | None = None) -> TensorType:
        if data.rank == 0:
            raise ShapeError("data is a scalar, expected rank 1 or more", code=Code.wrong_rank, port="data")
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
