"""Operators that OpenVINO's runtime makes when it compiles a network, and that files saved from it hold."""

from __future__ import annotations

import numpy as np

from ir_exec.ops.base import In, Op
from ir_exec.ops.base.attributes import ElementTypeName
from ir_exec.ops.base.shapes import broadcast_shapes
from ir_exec.text.ops.base import text_op
from ir_exec.types import FLOAT, Array, ElementType, TensorType

__all__ = ["RMS"]


@text_op("RMS", version="ie_internal_opset")
class RMS(Op):
    """data / sqrt(mean(data^2 along the last axis) + epsilon), times gamma.

    data: floats. gamma: floats that broadcast to data; without it there is no scale. output: the shape of data, in
    `output_type`, or the type of data where that is dynamic. Computed in f32.
    Source: OpenVINO, ov_ops/rms.hpp.
    """

    inputs = (In("data", types=FLOAT), In("gamma", types=FLOAT, optional=True))

    epsilon: float = 1e-5
    output_type: ElementTypeName = ElementType.dynamic
    elementwise_affine: bool = True

    def infer(self, data: TensorType, gamma: TensorType | None = None) -> TensorType:
        kind = self.output_type if self.output_type.is_known else data.element_type
        shape = data.shape if gamma is None else broadcast_shapes(data.shape, gamma.shape)
        return TensorType(kind, shape)

    def evaluate(self, data: Array, gamma: Array | None = None) -> Array:
        wide = data.astype(np.float32)
        scale = np.sqrt(np.mean(np.square(wide), axis=-1, keepdims=True) + np.float32(self.epsilon))
        found = wide / scale
        if gamma is not None:
            found = found * gamma.astype(np.float32)
        kind = self.output_type if self.output_type.is_known else ElementType.of(data)
        stored: Array = found.astype(kind.dtype)
        return stored
