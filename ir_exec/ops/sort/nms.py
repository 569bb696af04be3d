"""Non-maximum suppression: the best of overlapping boxes is kept.

There is a score for each batch element, class and box; each class of each batch element is suppressed separately. All
arithmetic is in f32. The number of boxes is known only in a run: inference returns intervals.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from ir_exec.kernels.boxes import (
    CornerOverlaps,
    Overlaps,
    Selected,
    above,
    as_rows,
    best_of_classes,
    keep_decaying,
    keep_few_of_classes,
)
from ir_exec.kernels.precision import CALCULABLE, CALCULABLE_FLOAT
from ir_exec.kernels.rotated_boxes import RotatedOverlaps
from ir_exec.ops.base import Family, In, op
from ir_exec.ops.base.attributes import LOWER, Bool, IndexTypeName
from ir_exec.ops.base.dims import at_most, batches_classes_boxes
from ir_exec.ops.base.graph_facts import OlderVersion
from ir_exec.ops.base.inputs import SCORES, BoxCorners, Usual
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


class _Nms(Family):
    """The base of NonMaxSuppression and NMSRotated; see NonMaxSuppression9 for the inputs.

    numbers: the inputs max_output_boxes_per_class, iou_threshold, score_threshold and soft_nms_sigma, if the operator
    has them and they are present in the layer.
    """

    is_discontinuous = True

    number_ranks: ClassVar[tuple[int, ...]] = (0, 1)
    coordinates: ClassVar[int] = 4

    sort_result_descending: Bool = True

    def infer_inputs(self, *, boxes: TensorType, scores: TensorType, **numbers: TensorType) -> Any:
        for name, number in numbers.items():
            require_rank(number, self.number_ranks, name)
            if number.rank == 1:
                merge_dims(number.shape[0], Dim.of(1), f"axis 0 of {name} and one element", port=name)
        limit = numbers.get("max_output_boxes_per_class")
        most = 0 if limit is None else known_int(limit)
        return self._types(*batches_classes_boxes(boxes, scores, self.coordinates), most)

    def evaluate_inputs(self, *, boxes: Array, scores: Array, **numbers: Array) -> Any:
        most = _number(numbers.get("max_output_boxes_per_class"), ElementType.i64)
        threshold = self._least_removing(_number(numbers.get("iou_threshold"), ElementType.f32))
        least = _number(numbers.get("score_threshold"), ElementType.f32)
        sigma = _number(numbers.get("soft_nms_sigma"), ElementType.f32)
        all_scores = convert(scores, ElementType.f32)
        parts = []
        for batch in range(len(boxes) if most > 0 else 0):
            own, rows = all_scores[batch], as_rows(boxes[batch])
            if sigma > 0:
                for label, (some, count) in enumerate(zip(*best_of_classes(own, least), strict=True)):
                    order = some[:count]
                    overlaps = self._overlaps(rows[:, order])
                    places, kept_scores = keep_decaying(own[label, order], overlaps, sigma, least, most)
                    parts.append(Selected.of(batch, np.full(len(places), label), order[places], kept_scores))
            else:
                labels, best = keep_few_of_classes(own, least, self._overlaps(rows), threshold, most)
                parts.append(Selected.of(batch, labels, best, own[labels, best]))
        selected = Selected.concatenate(parts)
        if self.sort_result_descending:
            selected = selected.sort_by(-selected.score, selected.batch, selected.label, selected.box)
        return self._arrays(selected)

    def _types(self, batches: Dim, classes: Dim, count: Dim, most: int | None) -> Any:
        """The types of the outputs; `most` is max_output_boxes_per_class, None if it is not known."""
        raise NotImplementedError

    def _arrays(self, selected: Selected) -> Any:
        """The outputs."""
        raise NotImplementedError

    def _overlaps(self, boxes: Array) -> Overlaps:
        """The overlaps of boxes [coordinates, n]."""
        raise NotImplementedError

    def _least_removing(self, iou_threshold: Any) -> Any:
        """The least overlap that removes a box."""
        return iou_threshold


def _number(scalar: Array | None, element_type: ElementType) -> Any:
    """The only element of an input, 0 if the input is missing."""
    return element_type.dtype.type(0) if scalar is None else convert(scalar, element_type).reshape(-1)[0]


def _indices(selected: Selected, element_type: ElementType) -> Array:
    return _columns(selected.batch, selected.label, selected.box, dtype=element_type.dtype)


def _columns(*columns: Array, dtype: np.dtype[Any]) -> Array:
    """Vectors as the columns of a matrix of this dtype."""
    rows = np.empty((len(columns[0]), len(columns)), dtype)
    for position, column in enumerate(columns):
        rows[:, position] = column
    return rows


class _BoxNms(_Nms):
    """NonMaxSuppression of any version: boxes with sides parallel to the axes."""

    box_encoding: Annotated[Literal["corner", "center"], LOWER] = "corner"

    def _overlaps(self, boxes: Array) -> Overlaps:
        if self.box_encoding == "center":
            half = boxes[2:] * np.float32(0.5)
            return CornerOverlaps(np.concatenate([boxes[:2] - half, boxes[:2] + half]))
        return CornerOverlaps(np.concatenate([np.minimum(boxes[:2], boxes[2:]), np.maximum(boxes[:2], boxes[2:])]))


class _IndicesOnlyNms(_BoxNms):
    """NonMaxSuppression up to version 4: one output, no soft suppression, thresholds that are scalars.

    The number of rows: as in OpenVINO, inference returns the maximum number of rows if the inputs are known. A run pads
    the output to that number with rows of -1, as specified. If max_output_boxes_per_class is known only in the run,
    there is a row for each box that is kept, as always in OpenVINO's CPU plugin.
    """

    inputs = (
        In("boxes", types=CALCULABLE_FLOAT, domain=BoxCorners()),
        In("scores", types=CALCULABLE_FLOAT, domain=SCORES),
        In("max_output_boxes_per_class", types=CALCULABLE, optional=True, domain=Usual(5, "the number of boxes")),
        In("iou_threshold", types=CALCULABLE_FLOAT, optional=True, domain=Usual(0.5, "a threshold")),
        In("score_threshold", types=CALCULABLE_FLOAT, optional=True, domain=Usual(0.1, "a threshold")),
    )
    arranging_inputs = ("max_output_boxes_per_class",)
    outputs = ("selected_indices",)
    number_ranks: ClassVar[tuple[int, ...]] = (0,)
    pads_to_static = True

    output_type = ElementType.i64

    def _types(self, batches: Dim, classes: Dim, count: Dim, most: int | None) -> TensorType:
        rows = self._declared_rows(batches, classes, count, most)
        if rows is None:
            rows = at_most(count, most) * classes * batches
        return TensorType(self.output_type, Shape([rows, 3]))

    def _arrays(self, selected: Selected) -> Array:
        return _indices(selected, self.output_type)

    def kernel(self, *types: TensorType, unread: frozenset[str] = frozenset()) -> Callable[..., Any]:
        rows = self.infer(*types).shape[0]
        return partial(self._fill_rows, rows.size) if rows.is_static else self.evaluate

    def _fill_rows(self, rows: int, *arrays: Array) -> Array:
        # In versions 1 and 3 several batches may keep more boxes than the shape has rows; none is dropped.
        retained: Array = self.evaluate(*arrays)
        missing = np.full((max(rows - len(retained), 0), 3), -1, retained.dtype)
        return np.concatenate([retained, missing])

    def _declared_rows(self, batches: Dim, classes: Dim, count: Dim, most: int | None) -> Dim | None:
        """The number of rows in OpenVINO's shape, None if it is an interval."""
        if most is None or most < 0 or not (count.is_static and classes.is_static):
            return None
        return Dim(min(count.size, most * classes.size))


@op("NonMaxSuppression", since=1)
class NonMaxSuppression1(_IndicesOnlyNms):
    """NonMaxSuppression-9 with one output and without soft suppression; selected_indices are i64.

    See `_IndicesOnlyNms` for the number of rows. Specification: sort/non-max-suppression-1.
    """


@op("NonMaxSuppression", since=3)
class NonMaxSuppression3(_IndicesOnlyNms):
    """NonMaxSuppression-1 with selected_indices of `output_type`.

    Specification: sort/non-max-suppression-3.
    """

    output_type: IndexTypeName = ElementType.i64


@op("NonMaxSuppression", since=4)
class NonMaxSuppression4(NonMaxSuppression3):
    """NonMaxSuppression-3 with another size.

    The number of rows is min(num_boxes, max_output_boxes_per_class) * num_batches * num_classes.

    Specification: sort/non-max-suppression-4.
    """

    def _declared_rows(self, batches: Dim, classes: Dim, count: Dim, most: int | None) -> Dim | None:
        if most is None or most < 0 or not (count.is_static and batches.is_bounded and classes.is_bounded):
            return None
        return Dim(min(count.size, most)) * batches.hi * classes.hi


class _ScoredNms(_Nms):
    """Suppression with three outputs; see NonMaxSuppression9."""

    outputs = ("selected_indices", "selected_scores", "valid_outputs")

    output_type: IndexTypeName = ElementType.i64

    def _types(self, batches: Dim, classes: Dim, count: Dim, most: int | None) -> tuple[TensorType, ...]:
        shape = Shape([at_most(count, most) * classes * batches, 3])
        indices, scores = TensorType(self.output_type, shape), TensorType(ElementType.f32, shape)
        return indices, scores, TensorType(self.output_type, Shape([1]))

    def _arrays(self, selected: Selected) -> tuple[Array, ...]:
        scores = _columns(selected.batch, selected.label, selected.score, dtype=np.dtype(np.float32))
        return _indices(selected, self.output_type), scores, np.array([len(selected.box)], self.output_type.dtype)


class _SoftNms(_ScoredNms, _BoxNms):
    """NonMaxSuppression of version 5 or later."""

    inputs = (
        *_IndicesOnlyNms.inputs,
        In("soft_nms_sigma", types=CALCULABLE_FLOAT, optional=True, domain=Usual(0, "the width of soft suppression")),
    )


@op("NonMaxSuppression", since=5)
class NonMaxSuppression5(_SoftNms):
    """NonMaxSuppression-9 as it was before a change of OpenVINO's shape inference.

    Specification: sort/no-max-suppression-5.
    """


@op("NonMaxSuppression", since=9)
class NonMaxSuppression9(_SoftNms):
    """The best boxes of each class, after non-maximum suppression.

    Rows are in descending order of their scores, equal ones by their indices; with `sort_result_descending` false class
    by class.

    With a soft_nms_sigma above 0 overlaps do not remove boxes but lower their scores by exp(-iou**2 / (2 * sigma)).
    As in OpenVINO, a box is a candidate if its score is above score_threshold, and an overlap not below iou_threshold
    removes it; the specification has "not below" for the scores and "above" for the overlaps.

    Specification: sort/non-max-suppression-9.

    Inputs:
        boxes: Floating, [num_batches, num_boxes, 4], as two opposite corners (y, x, y, x), or with `box_encoding`
            center as (center x, center y, width, height).
        scores: Floating, [num_batches, num_classes, num_boxes].
        max_output_boxes_per_class: A scalar or one element, by default 0.
        iou_threshold: Like `max_output_boxes_per_class`.
        score_threshold: Like `max_output_boxes_per_class`.
        soft_nms_sigma: Like `max_output_boxes_per_class`.

    Outputs:
        selected_indices: `output_type`, [n, 3], rows of batch, class and box.
        selected_scores: f32, [n, 3], rows of batch, class and score.
        valid_outputs: `output_type`, [1], n.
    """

    older = OlderVersion(5)


@op("NMSRotated", since=13)
class NMSRotated(_ScoredNms):
    """NonMaxSuppression-9 of rotated boxes, without soft suppression.

    The other inputs and the outputs are as for NonMaxSuppression-9, but no input is optional. An overlap above
    iou_threshold removes a box. Overlaps are exact to the last digits of f32; OpenVINO finds the corners of the common
    polygon in f32 and may lose one.

    Specification: sort/nms-rotated-13.

    Inputs:
        boxes: Floating, [num_batches, num_boxes, 5], rows of (center x, center y, width, height, angle in radians); the
            angle is clockwise, or counterclockwise if not `clockwise`, with y pointing down.
    """

    inputs = (
        In("boxes", types=CALCULABLE_FLOAT),
        In("scores", types=CALCULABLE_FLOAT, domain=SCORES),
        In("max_output_boxes_per_class", types=CALCULABLE - CALCULABLE_FLOAT, domain=Usual(5, "the number of boxes")),
        In("iou_threshold", types=CALCULABLE_FLOAT, domain=Usual(0.5, "a threshold")),
        In("score_threshold", types=CALCULABLE_FLOAT, domain=Usual(0.1, "a threshold")),
    )
    coordinates: ClassVar[int] = 5

    clockwise: Bool = True

    def _least_removing(self, iou_threshold: Any) -> Any:
        return above(iou_threshold)

    def _overlaps(self, boxes: Array) -> Overlaps:
        return RotatedOverlaps(boxes, self.clockwise)
