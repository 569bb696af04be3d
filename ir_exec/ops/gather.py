"""The gather family."""

from __future__ import annotations

import numpy as np

from ir_exec.errors import EvaluationError, ShapeError
from ir_exec.ops.attributes import Int
from ir_exec.ops.base import In, Op, op
from ir_exec.ops.rules import merge_dims, normalize_axis
from ir_exec.types import INDEX, Array, Shape, TensorType


@op("GatherElements", since=6)
class GatherElements(Op):
    """output[i, j, k] = data[i, indices[i, j, k], k], shown for axis 1 of rank 3."""

    inputs = (In("data"), In("indices", types=INDEX))

    axis: Int

    def infer(self, data: TensorType, indices: TensorType) -> TensorType:
        if data.shape.dims is None or indices.shape.dims is None:
            return data.with_shape(indices.shape)
        if data.rank != indices.rank:
            raise ShapeError(
                f"indices has rank {indices.rank}, expected rank(data) = {data.rank}", code="IR501", port="indices"
            )
        axis = normalize_axis(self.axis, len(data.shape))
        dims = [
            theirs if i == axis else merge_dims(mine, theirs, f"axis {i} of data and indices", port="indices")
            for i, (mine, theirs) in enumerate(zip(data.shape, indices.shape, strict=True))
        ]
        return data.with_shape(Shape(dims))

    def evaluate(self, data: Array, indices: Array) -> Array:
        size = data.shape[self.axis]
        if indices.size and (indices.min() < -size or indices.max() >= size):
            raise EvaluationError("an index is out of range", code="IR701", port="indices")
        return np.take_along_axis(data, indices, self.axis)
