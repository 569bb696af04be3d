"""What operators share that select boxes by their scores: the boxes selected, and the sizes of their inputs."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ir_exec.ops.rules import merge_dims, require_rank
from ir_exec.types import Array, Dim, TensorType

__all__ = ["Selected", "at_most", "batches_classes_boxes", "best_first"]


class Selected(NamedTuple):
    """Boxes that are kept, one element of each array for each of them; `box` counts within its batch element."""

    batch: Array
    label: Array
    box: Array
    score: Array

    @staticmethod
    def of(batch: int, label: int, box: Array, score: Array) -> Selected:
        """Boxes of one class of one batch element."""
        return Selected(np.full(len(box), batch), np.full(len(box), label), box, score)

    @staticmethod
    def joined(parts: list[Selected]) -> Selected:
        nothing = np.zeros(0, np.int64)
        empty = Selected(nothing, nothing, nothing, np.zeros(0, np.float32))
        return Selected(*map(np.concatenate, zip(empty, *parts, strict=True)))

    def ordered(self, *keys: Array) -> Selected:
        """Sorted by the first key, among equals by the second, and so on."""
        return self.take(np.lexsort(keys[::-1]))

    def take(self, positions: Any) -> Selected:
        return Selected(*(part[positions] for part in self))


def best_first(scores: Array, candidates: Array) -> Array:
    """The candidates in falling order of their scores; of equal ones the one with the lower index comes first."""
    order: Array = candidates[np.argsort(-scores[candidates], kind="stable")]
    return order


def batches_classes_boxes(boxes: TensorType, scores: TensorType, coordinates: int) -> tuple[Dim, Dim, Dim]:
    """The sizes that boxes [batches, boxes, coordinates] and scores [batches, classes, boxes] have."""
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
    """From nothing up to the greatest size of `dim`, and up to `most` where that is known."""
    return Dim(0, dim.hi if most is None else min(dim.hi, max(most, 0)))
