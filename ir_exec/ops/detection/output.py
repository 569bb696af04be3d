"""DetectionOutput: the last layer of an SSD detector."""

from __future__ import annotations

from typing import Annotated, Literal, TypeVar

import numpy as np

from ir_exec.codes import Code
from ir_exec.errors import GraphError
from ir_exec.kernels.boxes import (
    Candidates,
    CornerOverlaps,
    Selected,
    above,
    best_of_classes,
    candidates_of,
    keep_best_of_classes,
)
from ir_exec.kernels.precision import CALCULABLE_FLOAT
from ir_exec.ops.base import In, Op, op
from ir_exec.ops.base.attributes import Bool, Float, Int, Ints, Positive, of_length
from ir_exec.ops.base.dims import merged_dims
from ir_exec.ops.base.shapes import divide_dim, merge_dims
from ir_exec.types import Array, Dim, ElementType, Shape, TensorType, convert

__all__ = ["DetectionOutput1", "DetectionOutput8"]

_Count = TypeVar("_Count", int, Dim)

_CORNER: Literal["caffe.PriorBoxParameter.CORNER"] = "caffe.PriorBoxParameter.CORNER"


class _DetectionOutput(Op):
    """The base of both versions of DetectionOutput; see DetectionOutput8."""

    inputs = (
        In("box_logits", types=CALCULABLE_FLOAT),
        In("class_preds", types=CALCULABLE_FLOAT, like="box_logits"),
        In("proposals", types=CALCULABLE_FLOAT),
        In("aux_class_preds", types=CALCULABLE_FLOAT, like="box_logits", optional=True),
        In("aux_box_preds", types=CALCULABLE_FLOAT, like="box_logits", optional=True),
    )
    is_discontinuous = True
    redundant_attributes = (
        "eta height height_scale interp_mode label_map_file name_size_file num_classes num_test_image output_directory "
        "output_format output_name_prefix pad_mode pad_value prob resize_mode save_file visualize visualize_threshold "
        "width width_scale"
    )
    declared_as_f32 = ("output",)

    background_label_id: Int = 0
    top_k: Int = -1
    variance_encoded_in_target: Bool = False
    keep_top_k: Annotated[Ints, of_length(1)]
    code_type: Literal["caffe.PriorBoxParameter.CORNER", "caffe.PriorBoxParameter.CENTER_SIZE"] = _CORNER
    share_location: Bool = True
    nms_threshold: Float
    confidence_threshold: Float = 0.0
    clip_after_nms: Bool = False
    clip_before_nms: Bool = False
    decrease_label_id: Bool = False
    normalized: Bool = False
    input_height: Int = 1
    input_width: Int = 1
    objectness_score: Float = 0.0

    def infer(
        self,
        box_logits: TensorType,
        class_preds: TensorType,
        proposals: TensorType,
        aux_class_preds: TensorType | None = None,
        aux_box_preds: TensorType | None = None,
    ) -> TensorType:
        if aux_class_preds is not None and aux_box_preds is None:
            raise GraphError(
                "the layer has", actual=4, detail="inputs", expected="3 or 5", code=Code.wrong_number_of_inputs
            )
        dims = merged_dims(
            {
                "box_logits": (box_logits, ("images", "moves")),
                "class_preds": (class_preds, ("images", "scores")),
                "aux_class_preds": (aux_class_preds, ("images", ("priors", 2))),
                "aux_box_preds": (aux_box_preds, ("images", "moves")),
                "proposals": (proposals, ("own priors", "rows", ("priors", 4 if self.normalized else 5))),
            },
            {"rows": Dim.of(1 if self.variance_encoded_in_target else 2)},
        )
        images, own = dims["images"], dims["own priors"]
        if 1 not in own:
            merge_dims(own, images, "axis 0 of proposals, if it is not 1, and of box_logits", port="proposals")
        priors, classes = self._priors_and_classes(dims["priors"], dims["moves"], dims["scores"])
        return box_logits.with_shape(Shape([1, 1, self._row_count(images, priors, classes), 7]))

    def _known_classes(self) -> int | None:
        """The number of classes if an attribute declares it."""
        return None

    def _priors_and_classes(self, priors: Dim, moves: Dim, scores: Dim) -> tuple[Dim, Dim]:
        """The numbers of priors and classes from the lengths of box_logits and class_preds."""
        classes_known = self._known_classes()
        classes = Dim.any() if classes_known is None else Dim.of(classes_known)
        if self.share_location or classes_known is not None:
            own = 1 if self.share_location or classes_known is None else classes_known
            priors = _divide_total(priors, moves, 4 * own, "axis 1 of box_logits and of priors", "box_logits")
        if classes_known is not None:
            priors = _divide_total(priors, scores, classes_known, "axis 1 of class_preds and of priors", "class_preds")
        elif priors.is_static and priors.size:
            classes = _divide_total(classes, scores, priors.size, "axis 1 of class_preds", "class_preds")
            if not self.share_location:
                classes = _divide_total(
                    classes, moves, 4 * priors.size, "axis 1 of box_logits and of classes", "box_logits"
                )
        return priors, classes

    def evaluate(
        self,
        box_logits: Array,
        class_preds: Array,
        proposals: Array,
        aux_class_preds: Array | None = None,
        aux_box_preds: Array | None = None,
    ) -> Array:
        images, coordinates = len(box_logits), 4 if self.normalized else 5
        priors = proposals.shape[2] // coordinates
        classes = self._known_classes() or (class_preds.shape[1] // priors if priors else 0)
        own = 1 if self.share_location else classes
        scores = convert(class_preds, ElementType.f32).reshape(images, priors, classes)
        moves = _coordinates_first(box_logits, images, priors, own)
        first_moves = None
        if aux_class_preds is not None and aux_box_preds is not None:
            first_moves = _coordinates_first(aux_box_preds, images, priors, own)
            objects = convert(aux_class_preds, ElementType.f32).reshape(images, priors, 2)[..., 1]
            # Where there is no object, all is background.
            nothing = (np.arange(classes) == self.background_label_id).astype(np.float32)
            scores = np.where(objects[..., np.newaxis] < np.float32(self.objectness_score), nothing, scores)
        parts, boxes = [], np.empty((images, 4, own, priors), np.float32)
        for image in range(images):
            grid = proposals[image if len(proposals) > 1 else 0]
            variance = None
            if not self.variance_encoded_in_target:
                variance = _coordinates_first(grid[1, : 4 * priors], 1, priors, 1)[0]
            rows = grid[0].reshape(priors, coordinates)
            start = _coordinates_first(rows[:, -4:], 1, priors, 1)[0]
            if first_moves is not None:
                start = self._decode_boxes(start, first_moves[image], variance)
            boxes[image] = self._decode_boxes(start, moves[image], variance)
            ended = np.flatnonzero(rows[:, 0] == -1)
            count = int(ended[0]) if ended.size and not self.normalized else priors
            parts.append(self._keep_boxes(image, boxes[image, ..., :count], scores[image, :count]))
        rows_out = self._rows(Selected.concatenate(parts), boxes)
        output = np.zeros((1, 1, self._row_count(images, priors, classes), 7), box_logits.dtype)
        output[0, 0, : len(rows_out)] = rows_out[: output.shape[2]]
        if len(rows_out) < output.shape[2]:
            output[0, 0, len(rows_out), 0] = -1
        return output

    def _row_count(self, images: _Count, priors: _Count, classes: _Count) -> _Count:
        """The number of rows of the output."""
        keep = self.keep_top_k[0]
        if keep > 0:
            return images * keep
        return images * classes * (self.top_k if keep == -1 and self.top_k > 0 else priors)

    def _decode_boxes(self, priors: Array, moves: Array, variance: Array | None) -> Array:
        """Boxes [4, classes or 1, priors]: the prior boxes moved and scaled as predicted."""
        if not self.normalized:
            sizes = np.array([self.input_width, self.input_height] * 2, np.float32)
            priors = priors / sizes.reshape(4, 1, 1)
        moves = moves if variance is None else variance * moves
        if self.code_type == _CORNER:
            boxes = priors + moves
        else:
            sizes, centers = priors[2:] - priors[:2], (priors[:2] + priors[2:]) / 2
            centers, half = moves[:2] * sizes + centers, np.exp(moves[2:]) * sizes / 2
            boxes = np.concatenate([centers - half, centers + half])
        return np.clip(boxes, 0, 1, out=boxes) if self.clip_before_nms else boxes

    def _keep_boxes(self, image: int, boxes: Array, scores: Array) -> Selected:
        """The boxes kept for one image, class by class; `box` is the index of the prior.

        Args:
            boxes: [4, classes or 1, priors].
            scores: [priors, classes].
        """
        chosen = self._best_class_of_each(scores) if self.decrease_label_id else self._above_threshold(scores)
        rows = boxes.reshape(4, boxes.shape[1] * boxes.shape[2])
        labels, best = keep_best_of_classes(
            chosen,
            CornerOverlaps(rows),
            above(self.nms_threshold),
            count=boxes.shape[2],
            apart=not self.share_location,
        )
        selected, keep = Selected.of(image, labels, best, scores[best, labels]), self.keep_top_k[0]
        if -1 < keep < len(selected.box):
            selected = selected.sort_by(-selected.score, selected.box, selected.label).take(slice(keep))
            selected = selected.sort_by(selected.label)
        return selected

    def _above_threshold(self, scores: Array) -> Candidates:
        """The candidates of each class, as indices of priors."""
        most = None if self.top_k < 0 else self.top_k
        least, without = np.float32(self.confidence_threshold), self.background_label_id
        return best_of_classes(np.ascontiguousarray(scores.T), least, most, without=without)

    def _best_class_of_each(self, scores: Array) -> Candidates:
        """The candidates of each class if every prior counts only for its best class, and never for class 0."""
        usable = (scores >= np.float32(self.confidence_threshold)) & (scores > -1)
        usable[:, [label for label in (0, self.background_label_id) if 0 <= label < scores.shape[1]]] = False
        ranked = np.where(usable, scores, -np.inf)
        best = ranked.argmax(axis=1) if scores.shape[1] else np.zeros(len(scores), np.int64)
        priors = np.flatnonzero(usable.any(axis=1))
        order = priors[np.lexsort((priors, best[priors], -ranked[priors, best[priors]]))]
        order = order if self.top_k < 0 else order[: self.top_k]
        return candidates_of([order[best[order] == label] for label in range(scores.shape[1])])

    def _rows(self, selected: Selected, boxes: Array) -> Array:
        """Rows of image, class, score and box."""
        rows = np.empty((len(selected.box), 7), np.float32)
        rows[:, 0], rows[:, 1], rows[:, 2] = selected.batch, selected.label - self.decrease_label_id, selected.score
        rows[:, 3:] = boxes[selected.batch, :, 0 if self.share_location else selected.label, selected.box]
        if self.clip_after_nms:
            np.clip(rows[:, 3:], 0, 1, out=rows[:, 3:])
        return rows


def _coordinates_first(boxes: Array, images: int, priors: int, classes: int) -> Array:
    """Four numbers for each prior and class as f32 [images, 4, classes, priors], since axes of four are slow."""
    rows = convert(boxes, ElementType.f32).reshape(images, priors, classes, 4)
    return np.ascontiguousarray(rows.transpose(0, 3, 2, 1))


def _divide_total(dim: Dim, total: Dim, divisor: int, what: str, port: str) -> Dim:
    """`dim` merged with total / divisor.

    Raises:
        ShapeError: If the two dims contradict each other.
    """
    return merge_dims(dim, divide_dim(total, divisor, f"axis 1 of {port}", port=port), f"those of {what}", port=port)


@op("DetectionOutput", since=1)
class DetectionOutput1(_DetectionOutput):
    """DetectionOutput-8 with the number of classes as an attribute.

    Specification: detection/detectionoutput-1.
    """

    num_classes: Positive

    def _known_classes(self) -> int | None:
        return self.num_classes


@op("DetectionOutput", since=8)
class DetectionOutput8(_DetectionOutput):
    """The objects found by an SSD detector: prior boxes moved as predicted, after non-maximum suppression.

    Candidates are the best `top_k` boxes of each class with a score above `confidence_threshold`. Boxes that overlap a
    higher-scored one by more than `nms_threshold` are removed, and the best `keep_top_k` of the others are kept for
    each image, class by class. With `decrease_label_id` each prior counts only for its best class other than 0, and the
    class ids of the output are decreased by one.

    As in OpenVINO, priors in pixels are divided by the size of the image a second time when they move twice.
    Specification: detection/detectionoutput-8.

    Inputs:
        box_logits: Floating, [N, num_priors * num_loc_classes * 4], the moves of the prior boxes, for each class if not
            `share_location`.
        class_preds: The type of box_logits, [N, num_priors * num_classes].
        proposals: Floating, [1 or N, 1 or 2, num_priors * 4], the prior boxes (x0, y0, x1, y1) and, if not
            `variance_encoded_in_target`, factors of their moves. If not `normalized`, priors have 5 numbers, the first
            of which is -1 after the last prior, and coordinates are pixels of an image of input_width and input_height.
        aux_class_preds: Like class_preds and box_logits, [N, num_priors * 2] and the shape of box_logits; they move the
            priors a first time. A prior contains no object if the second of its two numbers is below
            `objectness_score`.
        aux_box_preds: Like `aux_class_preds`.

    Outputs:
        output: The type of box_logits, [1, 1, n, 7], rows of image, class, score and box; -1 ends them, and the rest is
            zeros. n is N * keep_top_k, or N * top_k * num_classes for a keep_top_k of -1, or else N * num_classes *
            num_priors.
    """
