"""Non-maximum suppression: of the boxes that overlap, the best is kept.

Scores are given per batch element, class and box, and suppression runs by itself within each class of each batch
element. All arithmetic is in f32. How many boxes are left only a run can tell, so that inference gives intervals.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from ir_exec.kernels import costs
from ir_exec.kernels.boxes import (
    Overlaps,
    Selected,
    above,
    as_rows,
    best_first,
    corner_overlaps,
    keep_best,
    keep_decaying,
    keep_in_order,
    removals,
    rotated_overlaps,
)
from ir_exec.kernels.precision import CALCULABLE, CALCULABLE_FLOAT
from ir_exec.ops.base import In, Op, op
from ir_exec.ops.base.attributes import LOWER, Bool, IndexTypeName
from ir_exec.ops.base.box_dims import at_most, batches_classes_boxes
from ir_exec.ops.base.shapes import known_int, merge_dims, require_rank
from ir_exec.types import Array, Dim, ElementType, Shape, TensorType, convert

__all__ = [
    "NMSRotated",
    "NonMaxSuppression1",
    "NonMaxSuppression3",
    "NonMaxSuppression4",
    "NonMaxSuppression5",
    "NonMaxSuppression9",
]


class _ThresholdedNms(Op):
    """What all versions of NonMaxSuppression and NMSRotated share; see NonMaxSuppression9."""

    one_element: ClassVar[tuple[int, ...]] = (0, 1)
    coordinates: ClassVar[int] = 4

    sort_result_descending: Bool = True

    def _check(self, boxes: TensorType, scores: TensorType, **numbers: TensorType | None) -> tuple[Dim, Dim, Dim]:
        """The numbers of batch elements, classes and boxes."""
        for name, number in numbers.items():
            if number is not None:
                require_rank(number, self.one_element, name)
                if number.rank == 1:
                    merge_dims(number.shape[0], Dim.of(1), f"axis 0 of {name} and one element", port=name)
        return batches_classes_boxes(boxes, scores, self.coordinates)

    def _overlaps(self, boxes: Array) -> Overlaps:
        """The overlaps of boxes [coordinates, n]."""
        raise NotImplementedError

    def _select(
        self,
        boxes: Array,
        scores: Array,
        max_output_boxes_per_class: Array | None,
        iou_threshold: Array | None,
        score_threshold: Array | None,
        soft_nms_sigma: Array | None = None,
    ) -> Selected:
        most = _number(max_output_boxes_per_class, ElementType.i64)
        threshold = _number(iou_threshold, ElementType.f32)
        least = _number(score_threshold, ElementType.f32)
        sigma = _number(soft_nms_sigma, ElementType.f32)
        scores = convert(scores, ElementType.f32)
        parts = []
        for batch in range(len(boxes) if most > 0 else 0):
            rows = as_rows(boxes[batch])
            orders = [best_first(given, np.flatnonzero(given > least)) for given in scores[batch]]
            together = None if sigma > 0 else self._removals_of_all(rows, orders, threshold)
            for label, (given, order) in enumerate(zip(scores[batch], orders, strict=True)):
                if together is not None:
                    chosen = np.array(keep_in_order(order.tolist(), together, most), np.int64)
                    ranked = given[chosen]
                elif sigma > 0:
                    kept, ranked = keep_decaying(given[order], self._overlaps(rows[:, order]), sigma, least, most)
                    chosen = order[kept]
                else:
                    chosen = order[keep_best(len(order), self._overlaps(rows[:, order]), threshold, most=most)]
                    ranked = given[chosen]
                parts.append(Selected.of(batch, label, chosen, ranked))
        found = Selected.joined(parts)
        if self.sort_result_descending:
            found = found.ordered(-found.score, found.batch, found.label, found.box)
        return found

    def _removals_of_all(self, rows: Array, orders: list[Array], threshold: np.float32) -> list[int] | None:
        """The removals among all boxes where that is less work than among the candidates of each class, else None."""
        count = rows.shape[1]
        if count > costs.BOXES_TOGETHER or count**2 >= sum(len(order) ** 2 for order in orders):
            return None
        every = np.arange(count)
        return removals(self._overlaps(rows)(every[:, np.newaxis], every), threshold)


def _number(scalar: Array | None, kind: ElementType) -> Any:
    """The one element of an input that may be left out, which then counts as 0."""
    return kind.dtype.type(0) if scalar is None else convert(scalar, kind).reshape(-1)[0]


def _indices(found: Selected, kind: ElementType) -> Array:
    return np.stack([found.batch, found.label, found.box], axis=1).astype(kind.dtype)


class _BoxNms(_ThresholdedNms):
    """NonMaxSuppression of any version."""

    box_encoding: Annotated[Literal["corner", "center"], LOWER] = "corner"

    def _overlaps(self, boxes: Array) -> Overlaps:
        if self.box_encoding == "center":
            half = boxes[2:] * np.float32(0.5)
            return corner_overlaps(np.concatenate([boxes[:2] - half, boxes[:2] + half]))
        return corner_overlaps(np.concatenate([np.minimum(boxes[:2], boxes[2:]), np.maximum(boxes[:2], boxes[2:])]))


class _IndicesOnlyNms(_BoxNms):
    """NonMaxSuppression up to version 4: one output, no soft suppression, thresholds that are scalars.

    Inference follows OpenVINO, whose shape holds as many rows as there can be at most where all is known of the inputs;
    a run gives only the rows of boxes that are kept, as OpenVINO's CPU plugin does too. The specification fills up with
    rows of -1.
    """

    inputs = (
        In("boxes", types=CALCULABLE_FLOAT),
        In("scores", types=CALCULABLE_FLOAT),
        In("max_output_boxes_per_class", types=CALCULABLE, optional=True),
        In("iou_threshold", types=CALCULABLE_FLOAT, optional=True),
        In("score_threshold", types=CALCULABLE_FLOAT, optional=True),
    )
    outputs = ("selected_indices",)
    one_element: ClassVar[tuple[int, ...]] = (0,)

    def infer(
        self,
        boxes: TensorType,
        scores: TensorType,
        max_output_boxes_per_class: TensorType | None = None,
        iou_threshold: TensorType | None = None,
        score_threshold: TensorType | None = None,
    ) -> TensorType:
        batches, classes, count = self._check(
            boxes,
            scores,
            max_output_boxes_per_class=max_output_boxes_per_class,
            iou_threshold=iou_threshold,
            score_threshold=score_threshold,
        )
        most = 0 if max_output_boxes_per_class is None else known_int(max_output_boxes_per_class)
        rows = self._rows(batches, classes, count, most)
        if rows is None:
            rows = at_most(count, most) * classes * batches
        return TensorType(self._index_type(), Shape([rows, 3]))

    def evaluate(
        self,
        boxes: Array,
        scores: Array,
        max_output_boxes_per_class: Array | None = None,
        iou_threshold: Array | None = None,
        score_threshold: Array | None = None,
    ) -> Array:
        found = self._select(boxes, scores, max_output_boxes_per_class, iou_threshold, score_threshold)
        return _indices(found, self._index_type())

    def _rows(self, batches: Dim, classes: Dim, count: Dim, most: int | None) -> Dim | None:
        """What OpenVINO holds for the number of rows, where it takes it for known."""
        if most is None or most < 0 or not (count.is_static and classes.is_static):
            return None
        return Dim(min(count.size, most * classes.size))

    def _index_type(self) -> ElementType:
        return ElementType.i64


@op("NonMaxSuppression", since=1)
class NonMaxSuppression1(_IndicesOnlyNms):
    """NonMaxSuppression-9 with one output and without soft suppression; selected_indices are i64.

    See `_IndicesOnlyNms` for the number of rows. Specification: sort/non-max-suppression-1.
    """


@op("NonMaxSuppression", since=3)
class NonMaxSuppression3(_IndicesOnlyNms):
    """NonMaxSuppression-1 with selected_indices of `output_type`. Specification: sort/non-max-suppression-3."""

    output_type: IndexTypeName = ElementType.i64

    def _index_type(self) -> ElementType:
        return self.output_type


@op("NonMaxSuppression", since=4)
class NonMaxSuppression4(NonMaxSuppression3):
    """NonMaxSuppression-3 with another size: min(num_boxes, max_output_boxes_per_class) * num_batches * num_classes.

    Specification: sort/non-max-suppression-4.
    """

    def _rows(self, batches: Dim, classes: Dim, count: Dim, most: int | None) -> Dim | None:
        if most is None or most < 0 or not (count.is_static and batches.is_bounded and classes.is_bounded):
            return None
        return Dim(min(count.size, most)) * batches.hi * classes.hi


class _ScoredNms(_ThresholdedNms):
    """Suppression with three outputs; see NonMaxSuppression9."""

    outputs = ("selected_indices", "selected_scores", "valid_outputs")

    output_type: IndexTypeName = ElementType.i64

    def _types(self, batches: Dim, classes: Dim, count: Dim, limit: TensorType | None) -> tuple[TensorType, ...]:
        most = 0 if limit is None else known_int(limit)
        shape = Shape([at_most(count, most) * classes * batches, 3])
        indices, scores = TensorType(self.output_type, shape), TensorType(ElementType.f32, shape)
        return indices, scores, TensorType(self.output_type, Shape([1]))

    def _arrays(self, found: Selected) -> tuple[Array, ...]:
        scores = np.stack([found.batch, found.label, found.score], axis=1).astype(np.float32)
        return _indices(found, self.output_type), scores, np.array([len(found.box)], self.output_type.dtype)


class _SoftNms(_ScoredNms, _BoxNms):
    """NonMaxSuppression from version 5 on."""

    inputs = (
        In("boxes", types=CALCULABLE_FLOAT),
        In("scores", types=CALCULABLE_FLOAT),
        In("max_output_boxes_per_class", types=CALCULABLE, optional=True),
        In("iou_threshold", types=CALCULABLE_FLOAT, optional=True),
        In("score_threshold", types=CALCULABLE_FLOAT, optional=True),
        In("soft_nms_sigma", types=CALCULABLE_FLOAT, optional=True),
    )

    def infer(
        self,
        boxes: TensorType,
        scores: TensorType,
        max_output_boxes_per_class: TensorType | None = None,
        iou_threshold: TensorType | None = None,
        score_threshold: TensorType | None = None,
        soft_nms_sigma: TensorType | None = None,
    ) -> tuple[TensorType, ...]:
        sizes = self._check(
            boxes,
            scores,
            max_output_boxes_per_class=max_output_boxes_per_class,
            iou_threshold=iou_threshold,
            score_threshold=score_threshold,
            soft_nms_sigma=soft_nms_sigma,
        )
        return self._types(*sizes, max_output_boxes_per_class)

    def evaluate(
        self,
        boxes: Array,
        scores: Array,
        max_output_boxes_per_class: Array | None = None,
        iou_threshold: Array | None = None,
        score_threshold: Array | None = None,
        soft_nms_sigma: Array | None = None,
    ) -> tuple[Array, ...]:
        thresholds = (iou_threshold, score_threshold, soft_nms_sigma)
        return self._arrays(self._select(boxes, scores, max_output_boxes_per_class, *thresholds))


@op("NonMaxSuppression", since=5)
class NonMaxSuppression5(_SoftNms):
    """As NonMaxSuppression-9, of which it differs only in how OpenVINO used to infer shapes.

    Specification: sort/no-max-suppression-5.
    """


@op("NonMaxSuppression", since=9)
class NonMaxSuppression9(_SoftNms):
    """The best boxes of each class, without those that overlap a better one.

    boxes: floating, [num_batches, num_boxes, 4], as two opposite corners (y, x, y, x), or with `box_encoding` center as
    (centre x, centre y, width, height). scores: floating, [num_batches, num_classes, num_boxes].
    max_output_boxes_per_class, iou_threshold, score_threshold, soft_nms_sigma: scalars or one element, 0 if left out.
    selected_indices: `output_type`, [n, 3], rows of batch, class and box. selected_scores: f32, [n, 3], rows of batch,
    class and score. valid_outputs: `output_type`, [1], n. Rows come in falling order of their scores, equal ones by
    their indices; with `sort_result_descending` false class by class.

    With a soft_nms_sigma above 0 overlaps do not remove boxes but lower their scores by exp(-iou**2 / (2 * sigma)).
    As OpenVINO does, a box is a candidate if its score is above score_threshold, and is removed by an overlap not below
    iou_threshold; the specification has "not below" for the one and "above" for the other.

    Specification: sort/non-max-suppression-9.
    """


@op("NMSRotated", since=13)
class NMSRotated(_ScoredNms):
    """NonMaxSuppression-9 of rotated boxes, without soft suppression.

    boxes: floating, [num_batches, num_boxes, 5], rows of (centre x, centre y, width, height, angle in radians); the
    angle turns with the hands of the clock, or against them if not `clockwise`, where y points down. All other inputs
    and the outputs are as for NonMaxSuppression-9, all inputs being required.
    A box is removed by an overlap above iou_threshold. Overlaps are exact to the last digits of f32, where OpenVINO
    finds corners of the common polygon in f32 and may lose one.

    Specification: sort/nms-rotated-13.
    """

    inputs = (
        In("boxes", types=CALCULABLE_FLOAT),
        In("scores", types=CALCULABLE_FLOAT),
        In("max_output_boxes_per_class", types=CALCULABLE - CALCULABLE_FLOAT),
        In("iou_threshold", types=CALCULABLE_FLOAT),
        In("score_threshold", types=CALCULABLE_FLOAT),
    )
    coordinates: ClassVar[int] = 5

    clockwise: Bool = True

    def infer(
        self,
        boxes: TensorType,
        scores: TensorType,
        max_output_boxes_per_class: TensorType,
        iou_threshold: TensorType,
        score_threshold: TensorType,
    ) -> tuple[TensorType, ...]:
        sizes = self._check(
            boxes,
            scores,
            max_output_boxes_per_class=max_output_boxes_per_class,
            iou_threshold=iou_threshold,
            score_threshold=score_threshold,
        )
        return self._types(*sizes, max_output_boxes_per_class)

    def evaluate(
        self,
        boxes: Array,
        scores: Array,
        max_output_boxes_per_class: Array,
        iou_threshold: Array,
        score_threshold: Array,
    ) -> tuple[Array, ...]:
        threshold = np.asarray(above(_number(iou_threshold, ElementType.f32)))
        return self._arrays(self._select(boxes, scores, max_output_boxes_per_class, threshold, score_threshold))

    def _overlaps(self, boxes: Array) -> Overlaps:
        return rotated_overlaps(boxes, self.clockwise)
