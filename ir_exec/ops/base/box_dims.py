"""The dims of operators that select boxes: the numbers of batches, classes and boxes."""

from __future__ import annotations

from ir_exec.ops.base.shapes import merge_dims, require_rank
from ir_exec.types import Dim, TensorType

__all__ = ["FOUR_COORDINATES", "at_most", "batches_classes_boxes"]

FOUR_COORDINATES = {"4 coordinates": Dim.of(4)}
"""A known dim for `named_dims.merged_dims`."""


def batches_classes_boxes(boxes: TensorType, scores: TensorType, coordinates: int) -> tuple[Dim, Dim, Dim]:
    """The numbers of batches, classes and boxes from boxes [batches, boxes, coordinates] and scores [batches, classes,
    boxes]; raises ShapeError where these contradict each other."""
    require_rank(boxes, 3, "boxes")
    require_rank(scores, 3, "scores")
    batches, count = Dim.any(), Dim.any()
    if boxes.shape.dims is not None:
        what = f"the last axis of boxes and its {coordinates} coordinates"
        merge_dims(boxes.shape[2], Dim.of(coordinates), what, port="boxes")
        batches, count = boxes.shape[0], boxes.shape[1]
    if scores.shape.dims is None:
        return batches, Dim.any(), count
    batches = merge_dims(batches, scores.shape[0], "axis 0 of boxes and scores", port="scores")
    count = merge_dims(count, scores.shape[2], "axis 1 of boxes and axis 2 of scores", port="scores")
    return batches, scores.shape[1], count


def at_most(dim: Dim, most: int | None) -> Dim:
    """From 0 to the greatest size of `dim`, and to `most` at most where that is known."""
    return Dim(0, dim.hi if most is None else min(dim.hi, max(most, 0)))
