"""ExperimentalDetectronTopKROIs: the boxes of the highest probability."""

from __future__ import annotations

import numpy as np

from ir_exec.kernels.boxes import best_first
from ir_exec.kernels.precision import CALCULABLE_FLOAT
from ir_exec.ops.base import In, Op, op
from ir_exec.ops.base.attributes import NonNegative
from ir_exec.ops.base.dims import FOUR_COORDINATES, element_type_of, merged_dims
from ir_exec.types import Array, ElementType, Shape, TensorType, convert

__all__ = ["ExperimentalDetectronTopKROIs"]


@op("ExperimentalDetectronTopKROIs", since=6)
class ExperimentalDetectronTopKROIs(Op):
    """The boxes of the highest probabilities, the highest first.

    input_rois: floating, [n, 4]. rois_probs: the same type, [n]. output: the same type, [max_rois, 4]; of equal
    probabilities the one with the lower index comes first, and zeros follow where there are fewer boxes; the
    specification leaves both open.

    Specification: sort/experimental-detectron-top-krois-6.
    """

    inputs = (In("input_rois", types=CALCULABLE_FLOAT), In("rois_probs", types=CALCULABLE_FLOAT, like="input_rois"))
    jumps = True

    max_rois: NonNegative = 0

    def infer(self, input_rois: TensorType, rois_probs: TensorType) -> TensorType:
        merged_dims(
            {"input_rois": (input_rois, ("rois", "4 coordinates")), "rois_probs": (rois_probs, ("rois",))},
            FOUR_COORDINATES,
        )
        kind = element_type_of((input_rois, rois_probs))
        return TensorType(kind, Shape([self.max_rois, 4]))

    def evaluate(self, input_rois: Array, rois_probs: Array) -> Array:
        scores = convert(rois_probs, ElementType.f32)
        order = best_first(scores, self.max_rois)
        output = np.zeros((self.max_rois, 4), input_rois.dtype)
        output[: len(order)] = input_rois[order]
        return output
