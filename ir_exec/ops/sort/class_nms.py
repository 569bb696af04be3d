"""Non-maximum suppression with thresholds as attributes and the boxes as outputs: MatrixNms and MulticlassNms."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np

from ir_exec.errors import EvaluationError
from ir_exec.kernels.boxes import (
    Candidates,
    CornerOverlaps,
    Selected,
    as_rows,
    best_of_classes,
    box_areas,
    intersections,
    keep_best_of_classes,
    parts_of_classes,
)
from ir_exec.ops.base import In, Op, op
from ir_exec.ops.base.attributes import LOWER, Bool, Float, IndexTypeName, Int, at_least, within
from ir_exec.ops.base.dims import at_most, batches_classes_boxes
from ir_exec.ops.base.graph_facts import OlderVersion
from ir_exec.ops.base.inputs import SCORES, BoxCorners
from ir_exec.ops.base.shapes import merge_dims, require_rank
from ir_exec.tuning import thresholds
from ir_exec.types import INDEX, Array, Dim, ElementType, Shape, TensorType, convert, element_types

__all__ = ["MatrixNms", "MulticlassNms8", "MulticlassNms9"]

_REAL = element_types("bf16 f16 f32 f64")

TopK = Annotated[Int, at_least(-1)]
"""A maximum number; -1 for no limit."""


class _ClassNms(Op):
    """The base of MatrixNms and MulticlassNms.

    Outputs:
        selected_outputs: The element type of boxes, [n, 6], rows of class, score and box.
        selected_indices: `output_type`, [n, 1], the index of each box in the flattened boxes.
        selected_num: `output_type`, [num_batches], the number of rows of each batch element. At most `nms_top_k`
            candidates of each class and `keep_top_k` boxes of each batch element are kept, none of `background_class`.
    """

    outputs = ("selected_outputs", "selected_indices", "selected_num")
    is_discontinuous = True

    sort_result_type: Annotated[Literal["classid", "score", "none"], LOWER] = "none"
    sort_result_across_batch: Bool = False
    output_type: IndexTypeName = ElementType.i64
    score_threshold: Float = 0.0
    nms_top_k: TopK = -1
    keep_top_k: TopK = -1
    background_class: Annotated[Int, at_least(-1)] = -1
    normalized: Bool = True

    def _types(self, boxes: TensorType, batches: Dim, classes: Dim, count: Dim) -> tuple[TensorType, ...]:
        top, keep = (None if limit < 0 else limit for limit in (self.nms_top_k, self.keep_top_k))
        rows = at_most(at_most(count, top) * classes, keep) * batches
        return (
            boxes.with_shape(Shape([rows, 6])),
            TensorType(self.output_type, Shape([rows, 1])),
            TensorType(self.output_type, Shape([batches])),
        )

    def _candidates(self, scores: Array, least: Any) -> Candidates:
        """The boxes whose scores [classes, boxes] are above `least`."""
        most = None if self.nms_top_k < 0 else self.nms_top_k
        return best_of_classes(scores, least, most, without=self.background_class)

    def _keep_boxes(self, selected: Selected, by_class: bool) -> Selected:
        """The boxes kept for one batch element, the best first or class by class."""
        selected = selected.sort_by(-selected.score, selected.label, selected.box)
        selected = selected if self.keep_top_k < 0 else selected.take(slice(self.keep_top_k))
        return selected.sort_by(selected.label, -selected.score, selected.box) if by_class else selected

    def _arrays(self, selected: Selected, batches: int, kept_boxes: Array, positions: Array) -> tuple[Array, ...]:
        """The outputs; kept_boxes [n, 4] and positions [n] belong to the boxes found."""
        order = np.arange(len(selected.box))
        if self.sort_result_across_batch and self.sort_result_type == "score":
            order = np.lexsort((selected.box, selected.label, selected.batch, -selected.score))
        elif self.sort_result_across_batch and self.sort_result_type == "classid":
            order = np.lexsort((selected.box, -selected.score, selected.batch, selected.label))
        rows = np.empty((len(order), 6), kept_boxes.dtype)
        rows[:, 0], rows[:, 1], rows[:, 2:] = selected.label[order], selected.score[order], kept_boxes[order]
        counts = np.bincount(selected.batch, minlength=batches)
        dtype = self.output_type.dtype
        return rows, positions[order].astype(dtype).reshape(-1, 1), counts.astype(dtype)


@op("MatrixNms", since=8)
class MatrixNms(_ClassNms):
    """Boxes whose scores decay with the overlap with higher-scored boxes of their class.

    Boxes with scores above `post_threshold` are kept. If not `normalized`, coordinates are in pixels, and a box from
    2 to 4 is 3 wide.

    Within a batch element rows are in descending order of their scores; as in OpenVINO, `sort_result_type` classid has
    an effect only together with `sort_result_across_batch`.

    Specification: sort/matrix-non-max-suppression-8, where the attribute sort_result_type is called sort_result.

    Inputs:
        boxes: bf16, f16, f32 or f64, [num_batches, num_boxes, 4], rows of two corners (x, y, x, y), the lesser first.
        scores: The type of boxes, [num_batches, num_classes, num_boxes]; candidates are those above `score_threshold`.
            A score is multiplied by the minimum of the decays caused by boxes j with higher scores: (1 - iou) /
            (1 - worst[j]) for `decay_function` linear, exp((worst[j]**2 - iou**2) * gaussian_sigma) for gaussian.
            worst[j] is the maximum overlap of j with a box of a higher score.
    """

    inputs = (
        In("boxes", types=_REAL, domain=BoxCorners()),
        In("scores", types=_REAL, like="boxes", domain=SCORES),
    )

    decay_function: Annotated[Literal["gaussian", "linear"], LOWER] = "linear"
    gaussian_sigma: Float = 2.0
    post_threshold: Float = 0.0

    def infer(self, boxes: TensorType, scores: TensorType) -> tuple[TensorType, ...]:
        return self._types(boxes, *batches_classes_boxes(boxes, scores, 4))

    def evaluate(self, boxes: Array, scores: Array) -> tuple[Array, ...]:
        batches, count, _ = boxes.shape
        values = convert(scores, ElementType.f32)
        parts = []
        for batch in range(batches):
            rows = as_rows(boxes[batch])
            orders, counts = self._candidates(values[batch], np.float32(self.score_threshold))
            classes, longest = orders.shape
            final = np.take_along_axis(values[batch], orders, 1)
            for some in parts_of_classes(classes, longest):
                final[some] *= self._decays(rows.take(orders[some], axis=1))
            stays = final > np.float32(self.post_threshold)
            stays &= np.arange(longest) < np.array(counts, np.int64)[:, np.newaxis]
            labels, _ = np.nonzero(stays)
            parts.append(self._keep_boxes(Selected.of(batch, labels, orders[stays], final[stays]), by_class=False))
        selected = Selected.concatenate(parts)
        return self._arrays(
            selected, batches, boxes[selected.batch, selected.box], selected.batch * count + selected.box
        )

    def _decays(self, boxes: Array) -> Array:
        """The factor of the score of each box [classes, boxes], the best first, some rows of overlaps at a time.

        Args:
            boxes: [coordinates, classes, boxes].
        """
        (_, classes, count), margin = boxes.shape, 0.0 if self.normalized else 1.0
        areas = np.where((boxes[2] < boxes[0]) | (boxes[3] < boxes[1]), np.float32(0), box_areas(boxes, margin))
        worst, decays = np.zeros((classes, count, 1), np.float32), np.empty((classes, count), np.float32)
        step = max(thresholds.CHUNK_ELEMENTS // max(classes * count, 1), 1)
        for start in range(0, count, step):
            block = slice(start, min(start + step, count))
            better, own = boxes[:, :, : block.stop, np.newaxis], boxes[:, :, np.newaxis, block]
            overlaps = intersections(better, own, margin, touching=False)
            unions = areas[:, : block.stop, np.newaxis] + areas[:, np.newaxis, block]
            unions -= overlaps
            overlaps /= unions
            is_better = (np.arange(block.stop)[:, np.newaxis] < np.arange(start, block.stop)).astype(np.float32)
            overlaps *= is_better
            worst[:, block, 0] = np.fmax.reduce(overlaps, axis=1, initial=0)
            decays[:, block] = self._least_decays(overlaps, worst[:, : block.stop], is_better)
        return decays

    def _least_decays(self, overlaps: Array, worst: Array, is_better: Array) -> Array:
        """The least decay of each box [classes, n], at most 1.

        Args:
            overlaps: [classes, others, n], 0 where the other is not better.
            is_better: [others, n], 1 where it is.
        """
        if self.decay_function == "gaussian":
            scale = np.float32(self.gaussian_sigma) * is_better
            gaussian: Array = np.exp((worst * worst - overlaps * overlaps) * scale)
            return np.asarray(np.fmin.reduce(gaussian, axis=1, initial=1))
        # In f64, as in OpenVINO. Without an overlap it is rounded to 1.
        linear = np.subtract(1, overlaps, dtype=np.float64)
        linear /= 1 - worst.astype(np.float64) + np.float32(1e-10)
        return np.asarray(np.fmin.reduce(linear, axis=1, initial=1))


class _MulticlassNms(_ClassNms):
    """The base of both versions of MulticlassNms; see MulticlassNms9."""

    iou_threshold: Float = 0.0
    nms_eta: Annotated[Float, within(0, 1)] = 1.0

    def _class_by_class(self, batch: int, boxes: Array, scores: Array, *, apart: bool) -> Selected:
        """The boxes kept for one batch element.

        Args:
            boxes: [coordinates, n], or if the classes have boxes `apart`, [coordinates, classes * n].
            scores: [classes, n].
        """
        labels, best = keep_best_of_classes(
            self._candidates(scores, np.nextafter(np.float32(self.score_threshold), np.float32(-np.inf))),
            CornerOverlaps(boxes, 0.0 if self.normalized else 1.0),
            self.iou_threshold,
            count=scores.shape[1],
            apart=apart,
            shrink=self.nms_eta,
        )
        by_class = self.sort_result_type == "classid" and not self.sort_result_across_batch
        return self._keep_boxes(Selected.of(batch, labels, best, scores[labels, best]), by_class)

    def _select_shared(self, boxes: Array, scores: Array) -> tuple[Array, ...]:
        """The outputs where all classes share the boxes of their batch element."""
        batches, _, count = scores.shape
        values = convert(scores, ElementType.f32)
        parts = [
            self._class_by_class(batch, as_rows(boxes[batch]), values[batch], apart=False) for batch in range(batches)
        ]
        selected = Selected.concatenate(parts)
        return self._arrays(
            selected, batches, boxes[selected.batch, selected.box], selected.batch * count + selected.box
        )


@op("MulticlassNms", since=8)
class MulticlassNms8(_MulticlassNms):
    """MulticlassNms-9 without `roisnum`.

    Specification: sort/multiclass-non-max-suppression-8.
    """

    inputs = (
        In("boxes", types=_REAL, domain=BoxCorners()),
        In("scores", types=_REAL, like="boxes", domain=SCORES),
    )

    def infer(self, boxes: TensorType, scores: TensorType) -> tuple[TensorType, ...]:
        return self._types(boxes, *batches_classes_boxes(boxes, scores, 4))

    def evaluate(self, boxes: Array, scores: Array) -> tuple[Array, ...]:
        return self._select_shared(boxes, scores)


@op("MulticlassNms", since=9)
class MulticlassNms9(_MulticlassNms):
    """The best of overlapping boxes of each class.

    Either all classes share their boxes, [num_batches, num_boxes, 4] and [num_batches, num_classes, num_boxes]; or, if
    roisnum is given, each class has its own boxes, [num_classes, num_boxes, 4] and [num_classes, num_boxes], and the
    boxes of all batch elements are concatenated; roisnum (i32 or i64, [num_batches]) is the number of each. Indices in
    selected_indices then count box by box and within a box class by class.

    Candidates have a score not below `score_threshold`. An overlap not below `iou_threshold` removes a box, as in
    OpenVINO (the specification has "above"); a threshold above one half is multiplied by `nms_eta` at each kept box. If
    not `normalized`, coordinates are in pixels, and a box from 2 to 4 is 3 wide. Rows are batch by batch in descending
    order of their scores, or class by class for `sort_result_type` classid; with `sort_result_across_batch` all rows
    are sorted together.

    Specification: sort/multiclass-non-max-suppression-9, where the attribute sort_result_type is called sort_result.

    Inputs:
        boxes: bf16, f16, f32 or f64, rows of two corners (x, y, x, y), the lesser first.
        scores: The type of boxes.

    Raises:
        IRError: IR704 if the sum of roisnum is greater than the number of boxes. A negative number counts as 0.
    """

    inputs = (
        In("boxes", types=_REAL, domain=BoxCorners()),
        In("scores", types=_REAL, like="boxes", domain=SCORES),
        In("roisnum", types=INDEX, optional=True),
    )
    older = OlderVersion(8, inputs=2)

    def infer(self, boxes: TensorType, scores: TensorType, roisnum: TensorType | None = None) -> tuple[TensorType, ...]:
        if roisnum is None:
            return self._types(boxes, *batches_classes_boxes(boxes, scores, 4))
        require_rank(boxes, 3, "boxes")
        require_rank(scores, 2, "scores", why="as boxes are counted by roisnum")
        require_rank(roisnum, 1, "roisnum")
        batches = Dim.any() if roisnum.shape.dims is None else roisnum.shape[0]
        own, scored = boxes.shape, scores.shape
        if own.dims is not None:
            merge_dims(own[2], Dim.of(4), "the last axis of boxes and its 4 coordinates", port="boxes")
        sizes = [Dim.any(), Dim.any()]
        for axis in (0, 1):
            dim = Dim.any() if own.dims is None else own[axis]
            other = Dim.any() if scored.dims is None else scored[axis]
            sizes[axis] = merge_dims(dim, other, f"axis {axis} of boxes and scores", port="scores")
        return self._types(boxes, batches, *sizes)

    def evaluate(self, boxes: Array, scores: Array, roisnum: Array | None = None) -> tuple[Array, ...]:
        if roisnum is None:
            return self._select_shared(boxes, scores)
        classes, count, _ = boxes.shape
        numbers = np.maximum(roisnum, 0).astype(np.int64)
        if numbers.size and (int(numbers.max()) > count or int(numbers.sum()) > count):
            raise EvaluationError(f"the sum of roisnum is greater than {count}, the number of boxes", port="roisnum")
        starts = np.cumsum(numbers) - numbers
        values = convert(scores, ElementType.f32)
        parts = []
        for batch, (start, number) in enumerate(zip(starts.tolist(), numbers.tolist(), strict=True)):
            part = slice(start, start + number)
            rows = as_rows(boxes[:, part].reshape(-1, 4))
            parts.append(self._class_by_class(batch, rows, values[:, part], apart=True))
        selected = Selected.concatenate(parts)
        places = starts[selected.batch] + selected.box
        return self._arrays(selected, len(numbers), boxes[selected.label, places], places * classes + selected.label)
