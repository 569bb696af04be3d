"""The layers of SSD, Faster R-CNN and YOLO detectors: DetectionOutput, Proposal, RegionYolo."""

from __future__ import annotations

from math import prod
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from pydantic import AfterValidator, BeforeValidator

from ir_exec.errors import EvaluationError, GraphError, ShapeError
from ir_exec.ops.attributes import LOWER, Bool, Float, Floats, Int, Ints, NonNegative, Positive
from ir_exec.ops.base import In, Op, op
from ir_exec.ops.boxes import as_rows, corner_overlaps, keep_best
from ir_exec.ops.precision import CALCULABLE_FLOAT
from ir_exec.ops.rules import merge_dims, merge_shapes, normalize_axis, require_rank
from ir_exec.ops.selection import Selected, best_first
from ir_exec.types import Array, Dim, ElementType, Shape, TensorType, convert

__all__ = ["DetectionOutput1", "DetectionOutput8", "Proposal1", "Proposal4", "RegionYolo"]


def _not_empty(values: tuple[int, ...]) -> tuple[int, ...]:
    if not values:
        raise ValueError("expected one value at least")
    return values


def _short_name(text: Any) -> Any:
    """corner of caffe.PriorBoxParameter.CORNER"""
    prefix = "caffe.priorboxparameter."
    return text.lower().removeprefix(prefix) if isinstance(text, str) and text.lower().startswith(prefix) else text


class _Sizes(NamedTuple):
    """What the shapes of all inputs tell together; None where they do not tell it."""

    images: Dim
    priors: int | None
    classes: int | None


class _DetectionOutput(Op):
    """What both versions of DetectionOutput share; see DetectionOutput8."""

    inputs = (
        In("box_logits", types=CALCULABLE_FLOAT),
        In("class_preds", types=CALCULABLE_FLOAT, like="box_logits"),
        In("proposals", types=CALCULABLE_FLOAT),
        In("aux_class_preds", types=CALCULABLE_FLOAT, like="box_logits", optional=True),
        In("aux_box_preds", types=CALCULABLE_FLOAT, like="box_logits", optional=True),
    )

    background_label_id: Int = 0
    top_k: Int = -1
    variance_encoded_in_target: Bool = False
    keep_top_k: Annotated[Ints, AfterValidator(_not_empty)]
    code_type: Annotated[Literal["corner", "center_size"], BeforeValidator(_short_name)] = "corner"
    share_location: Bool = True
    nms_threshold: Float
    confidence_threshold: Float = 0.0
    clip_after_nms: Bool = False
    clip_before_nms: Bool = False
    decrease_label_id: Bool = False
    normalized: Bool = False
    input_height: Positive = 1
    input_width: Positive = 1
    objectness_score: Float = 0.0

    def _known_classes(self) -> int | None:
        return None

    def infer(
        self,
        box_logits: TensorType,
        class_preds: TensorType,
        proposals: TensorType,
        aux_class_preds: TensorType | None = None,
        aux_box_preds: TensorType | None = None,
    ) -> TensorType:
        if aux_class_preds is not None and aux_box_preds is None:
            raise GraphError("expected 3 inputs or 5, found 4", code="IR106")
        sizes = self._sizes(box_logits, class_preds, proposals, aux_class_preds, aux_box_preds)
        keep, classes = self.keep_top_k[0], Dim.of(sizes.classes)
        if keep > 0:
            rows = sizes.images * keep
        elif keep == -1 and self.top_k > 0:
            rows = sizes.images * self.top_k * classes
        else:
            rows = sizes.images * Dim.of(sizes.priors) * classes
        return box_logits.with_shape(Shape([1, 1, rows, 7]))

    def _sizes(
        self,
        box_logits: TensorType,
        class_preds: TensorType,
        proposals: TensorType,
        aux_class_preds: TensorType | None,
        aux_box_preds: TensorType | None,
    ) -> _Sizes:
        logits, scores = _matrix(box_logits, "box_logits"), _matrix(class_preds, "class_preds")
        images = merge_dims(logits[0], scores[0], "axis 0 of box_logits and class_preds", port="class_preds")
        require_rank(proposals, 3, "proposals")
        grid = proposals.shape if proposals.shape.dims is not None else Shape.of_rank(3)
        rows, coordinates = 2 - self.variance_encoded_in_target, 4 if self.normalized else 5
        merge_dims(grid[1], Dim.of(rows), "axis 1 of proposals and its number of rows", port="proposals")
        more = None
        if aux_class_preds is not None and aux_box_preds is not None:
            more = _matrix(aux_class_preds, "aux_class_preds")
            images = merge_dims(images, more[0], "axis 0 of box_logits and aux_class_preds", port="aux_class_preds")
            what = "the shapes of box_logits and aux_box_preds"
            images = _matrix(
                aux_box_preds.with_shape(merge_shapes(Shape(logits), aux_box_preds.shape, what, port="aux_box_preds")),
                "aux_box_preds",
            )[0]
        if 1 not in grid[0]:
            merge_dims(grid[0], images, "axis 0 of proposals, if it is not 1, and of box_logits", port="proposals")
        classes = self._known_classes()
        own = 1 if self.share_location else classes
        priors = _quotient(grid[2], coordinates, "axis 2 of proposals")
        if priors is None and more is not None:
            priors = _quotient(more[1], 2, "axis 1 of aux_class_preds")
        if priors is None and own is not None:
            priors = _quotient(logits[1], 4 * own, "axis 1 of box_logits")
        if priors is None and classes is not None:
            priors = _quotient(scores[1], classes, "axis 1 of class_preds")
        if priors and classes is None:
            classes = _quotient(scores[1], priors, "axis 1 of class_preds")
            if classes is None and not self.share_location:
                classes = _quotient(logits[1], priors * 4, "axis 1 of box_logits")
            own = 1 if self.share_location else classes
        if priors is not None:
            _require(grid[2], priors * coordinates, "axis 2 of proposals", "proposals")
            if own is not None:
                _require(logits[1], priors * own * 4, "axis 1 of box_logits", "box_logits")
            if classes is not None:
                _require(scores[1], priors * classes, "axis 1 of class_preds", "class_preds")
            if more is not None:
                _require(more[1], priors * 2, "axis 1 of aux_class_preds", "aux_class_preds")
        return _Sizes(images, priors, classes)

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
        moves = convert(box_logits, ElementType.f32).reshape(images, priors, own, 4)
        first_moves = None
        if aux_class_preds is not None and aux_box_preds is not None:
            first_moves = convert(aux_box_preds, ElementType.f32).reshape(images, priors, own, 4)
            objects = convert(aux_class_preds, ElementType.f32).reshape(images, priors, 2)[..., 1]
            # Where there is no object, everything is background.
            nothing = (np.arange(classes) == self.background_label_id).astype(np.float32)
            scores = np.where(objects[..., np.newaxis] < np.float32(self.objectness_score), nothing, scores)
        parts, boxes = [], np.empty((images, priors, own, 4), np.float32)
        for image in range(images):
            grid = convert(proposals[image if len(proposals) > 1 else 0], ElementType.f32)
            variance = None if self.variance_encoded_in_target else grid[1, : 4 * priors].reshape(priors, 1, 4)
            rows = grid[0].reshape(priors, coordinates)
            start = rows[:, np.newaxis, -4:]
            if first_moves is not None:
                start = self._decoded(start, first_moves[image], variance)
            boxes[image] = self._decoded(start, moves[image], variance)
            ended = np.flatnonzero(rows[:, 0] == -1)
            count = int(ended[0]) if ended.size and not self.normalized else priors
            parts.append(self._kept(image, boxes[image, :count], scores[image, :count]))
        rows_out = self._rows(Selected.joined(parts), boxes)
        output = np.zeros((1, 1, self._row_count(images, priors, classes), 7), box_logits.dtype)
        output[0, 0, : len(rows_out)] = rows_out[: output.shape[2]]
        if len(rows_out) < output.shape[2]:
            output[0, 0, len(rows_out), 0] = -1
        return output

    def _row_count(self, images: int, priors: int, classes: int) -> int:
        keep = self.keep_top_k[0]
        if keep > 0:
            return images * keep
        return images * classes * (self.top_k if keep == -1 and self.top_k > 0 else priors)

    def _decoded(self, priors: Array, moves: Array, variance: Array | None) -> Array:
        """Boxes [priors, classes or 1, 4], which are the prior boxes moved and scaled as is predicted."""
        if not self.normalized:
            priors = priors / np.array([self.input_width, self.input_height] * 2, np.float32)
        moves = moves if variance is None else variance * moves
        if self.code_type == "corner":
            boxes = priors + moves
        else:
            sizes, centres = priors[..., 2:] - priors[..., :2], (priors[..., :2] + priors[..., 2:]) / 2
            centres, half = moves[..., :2] * sizes + centres, np.exp(moves[..., 2:]) * sizes / 2
            boxes = np.concatenate([centres - half, centres + half], axis=-1)
        return np.clip(boxes, 0, 1, out=boxes) if self.clip_before_nms else boxes

    def _kept(self, image: int, boxes: Array, scores: Array) -> Selected:
        """What is kept of one image, class by class; `box` counts the priors."""
        chosen = self._best_class_of_each(scores) if self.decrease_label_id else self._above_threshold(scores)
        threshold = np.nextafter(np.float32(self.nms_threshold), np.float32(np.inf))
        parts = []
        for label, order in enumerate(chosen):
            if len(order):
                overlaps = corner_overlaps(as_rows(boxes[order, 0 if self.share_location else label]))
                kept = order[keep_best(len(order), overlaps, threshold)]
                parts.append(Selected.of(image, label, kept, scores[kept, label]))
        found, keep = Selected.joined(parts), self.keep_top_k[0]
        if -1 < keep < len(found.box):
            found = found.ordered(-found.score, found.box, found.label).take(slice(keep))
            found = found.ordered(found.label)
        return found

    def _above_threshold(self, scores: Array) -> list[Array]:
        """For each class the priors to look at, the best first."""
        chosen = [np.zeros(0, np.int64)] * scores.shape[1]
        for label in range(len(chosen)):
            if label != self.background_label_id:
                own = np.ascontiguousarray(scores[:, label])
                order = best_first(own, np.flatnonzero(own > np.float32(self.confidence_threshold)))
                chosen[label] = order if self.top_k < 0 else order[: self.top_k]
        return chosen

    def _best_class_of_each(self, scores: Array) -> list[Array]:
        """The same when every prior stands for its best class only, class 0 being none."""
        usable = (scores >= np.float32(self.confidence_threshold)) & (scores > -1)
        usable[:, [label for label in (0, self.background_label_id) if 0 <= label < scores.shape[1]]] = False
        ranked = np.where(usable, scores, -np.inf)
        best = ranked.argmax(axis=1) if scores.shape[1] else np.zeros(len(scores), np.int64)
        priors = np.flatnonzero(usable.any(axis=1))
        order = priors[np.lexsort((priors, best[priors], -ranked[priors, best[priors]]))]
        order = order if self.top_k < 0 else order[: self.top_k]
        return [order[best[order] == label] for label in range(scores.shape[1])]

    def _rows(self, found: Selected, boxes: Array) -> Array:
        rows = np.empty((len(found.box), 7), np.float32)
        rows[:, 0], rows[:, 1], rows[:, 2] = found.batch, found.label - self.decrease_label_id, found.score
        rows[:, 3:] = boxes[found.batch, found.box, 0 if self.share_location else found.label]
        if self.clip_after_nms:
            np.clip(rows[:, 3:], 0, 1, out=rows[:, 3:])
        return rows


def _matrix(tensor: TensorType, name: str) -> tuple[Dim, Dim]:
    require_rank(tensor, 2, name)
    return (Dim.any(), Dim.any()) if tensor.shape.dims is None else (tensor.shape[0], tensor.shape[1])


def _quotient(dim: Dim, divisor: int, what: str) -> int | None:
    """A static dim divided; ShapeError where something is left over."""
    if not dim.is_static or not divisor:
        return None
    if dim.size % divisor:
        raise ShapeError(f"{what} is {dim}, expected a multiple of {divisor}", code="IR502")
    return dim.size // divisor


def _require(dim: Dim, size: int, what: str, port: str) -> None:
    if size not in dim:
        raise ShapeError(f"{what} is {dim}, expected {size}", code="IR502", port=port)


@op("DetectionOutput", since=1)
class DetectionOutput1(_DetectionOutput):
    """DetectionOutput-8 with the number of classes as an attribute. Specification: detection/DetectionOutput-1."""

    num_classes: Positive

    def _known_classes(self) -> int | None:
        return self.num_classes


@op("DetectionOutput", since=8)
class DetectionOutput8(_DetectionOutput):
    """The objects that an SSD detector finds: prior boxes moved as predicted, without those that overlap a better one.

    box_logits: floating, [N, num_priors * num_loc_classes * 4], how the prior boxes move, for each class if not
    `share_location`. class_preds: the same type, [N, num_priors * num_classes]. proposals: floating, [1 or N, 1 or 2,
    num_priors * 4], the prior boxes (x0, y0, x1, y1) and, if not `variance_encoded_in_target`, factors of their moves;
    if not `normalized`, priors have 5 numbers, the first of them -1 at the end, and count pixels of an image of
    input_width and input_height. aux_class_preds, aux_box_preds: as class_preds and box_logits, [N, num_priors * 2] and
    the shape of box_logits; they move the priors a first time, and say where there is no object at all, the second of
    the two numbers being below `objectness_score`.
    output: the type of box_logits, [1, 1, n, 7], rows of image, class, score and box; -1 ends them, zeros fill up. n is
    N * keep_top_k, or N * top_k * num_classes for a keep_top_k of -1, or else N * num_classes * num_priors.

    Candidates have a score above `confidence_threshold`, the best `top_k` of each class; boxes are removed that overlap
    a better one by more than `nms_threshold`, and of what is left the best `keep_top_k` of each image are kept, class
    by class. With `decrease_label_id` each prior stands only for its best class, not counting class 0, and classes
    count from there.

    As in OpenVINO, priors that count pixels are divided by the size of the image a second time when they move twice.
    Specification: detection/DetectionOutput-8.
    """


class _Proposal(Op):
    """What both versions of Proposal share; see Proposal4."""

    inputs = (
        In("class_probs", types=CALCULABLE_FLOAT),
        In("bbox_deltas", types=CALCULABLE_FLOAT),
        In("image_shape", types=CALCULABLE_FLOAT),
    )

    base_size: NonNegative
    pre_nms_topn: NonNegative
    post_nms_topn: Positive
    nms_thresh: Float
    feat_stride: NonNegative
    min_size: NonNegative
    ratio: Floats
    scale: Floats
    clip_before_nms: Bool = True
    clip_after_nms: Bool = False
    normalize: Bool = False
    box_size_scale: Float = 1.0
    box_coordinate_scale: Float = 1.0
    framework: Annotated[Literal["", "tensorflow"], LOWER] = ""

    def _types(self, class_probs: TensorType, bbox_deltas: TensorType, image_shape: TensorType) -> list[TensorType]:
        require_rank(class_probs, 4, "class_probs")
        require_rank(bbox_deltas, 4, "bbox_deltas")
        require_rank(image_shape, 1, "image_shape")
        scores, moves = (
            tensor.shape if tensor.shape.dims is not None else Shape.of_rank(4) for tensor in (class_probs, bbox_deltas)
        )
        anchors = len(self.ratio) * len(self.scale)
        _require(scores[1], 2 * anchors, "axis 1 of class_probs, 2 * ratios * scales,", "class_probs")
        _require(moves[1], 4 * anchors, "axis 1 of bbox_deltas, 4 * ratios * scales,", "bbox_deltas")
        for axis in (0, 2, 3):
            merge_dims(scores[axis], moves[axis], f"axis {axis} of class_probs and bbox_deltas", port="bbox_deltas")
        if image_shape.shape.dims is not None and (image_shape.shape[0] & Dim(3, 4)) is None:
            message = f"image_shape has {image_shape.shape[0]} elements, expected 3 or 4"
            raise ShapeError(message, code="IR502", port="image_shape")
        rows = ((scores[0] & moves[0]) or scores[0]) * self.post_nms_topn
        return [class_probs.with_shape(Shape([rows, 5])), class_probs.with_shape(Shape([rows]))]

    def _evaluate(self, class_probs: Array, bbox_deltas: Array, image_shape: Array) -> tuple[Array, Array]:
        batches, anchors, most = len(class_probs), len(self.ratio) * len(self.scale), self.post_nms_topn
        height, width, least_height, least_width = self._image(convert(image_shape, ElementType.f32))
        rois, scores = np.zeros((batches, most, 5), np.float32), np.zeros((batches, most), np.float32)
        for batch in range(batches):
            # Behind the scores of the background stand those of objects.
            given = np.moveaxis(convert(class_probs[batch, anchors:], ElementType.f32), 0, -1).ravel()
            boxes = self._boxes(convert(bbox_deltas[batch], ElementType.f32), height, width)
            own_width, own_height = (boxes[2 + axis] - boxes[axis] + self._margin() for axis in (0, 1))
            given = np.where((own_width >= least_width) & (own_height >= least_height), given, given * 0)
            order = best_first(given, np.arange(given.size))[: self.pre_nms_topn]
            boxes = boxes[:, order]
            overlaps = corner_overlaps(boxes, self._margin(), touching=False)
            threshold = np.nextafter(np.float32(self.nms_thresh), np.float32(np.inf))
            kept = keep_best(len(order), overlaps, threshold, most=most)
            found, edges = boxes[:, kept].T, np.array([width, height, width, height], np.float32)
            found = np.clip(found, 0, edges) if self.clip_after_nms else found
            rois[batch, : len(kept), 0] = batch
            rois[batch, : len(kept), 1:] = found / edges if self.normalize else found
            scores[batch, : len(kept)] = given[order[kept]]
            if len(kept) < most:
                rois[batch, len(kept), 0] = -1
        kind = ElementType.of(class_probs)
        return convert(rois.reshape(-1, 5), kind), convert(scores.ravel(), kind)

    def _margin(self) -> float:
        return 0.0 if self.framework else 1.0

    def _image(self, values: Array) -> tuple[Any, Any, Any, Any]:
        """Height and width of the image, and the least of both for a box."""
        tiny = np.finfo(np.float32).tiny
        if not all(tiny <= value < np.inf for value in values[:2]):
            message = f"image_shape begins with {values[0]}, {values[1]}, expected a height and a width above 0"
            raise EvaluationError(message, port="image_shape")
        if not all(0 <= value < np.inf for value in values[2:]):
            raise EvaluationError(
                f"image_shape has the scale {values[2:].min()}, expected 0 or more", port="image_shape"
            )
        least = np.float32(self.min_size) * values[[2, -1]]
        height, width = values[1::-1] if self.framework else values[:2]
        return height, width, *least

    def _boxes(self, deltas: Array, height: Any, width: Any) -> Array:
        """All boxes as rows of x0, y0, x1, y1: row by row of the grid, point by point, anchor by anchor."""
        anchors, margin = self._anchors(), np.float32(self._margin())
        rows, columns = deltas.shape[1:]
        x, y = np.meshgrid(np.arange(columns), np.arange(rows))
        x, y = (y, x) if self.framework else (x, y)
        place = np.stack([x, y, x, y]).astype(np.float32) * np.float32(self.feat_stride)
        boxes = place[..., np.newaxis] + anchors[:, np.newaxis, np.newaxis, :]
        edges = np.array([width, height, width, height], np.float32).reshape(4, 1, 1, 1)
        if self.framework:
            boxes = np.clip(boxes, 0, edges)
        moves = np.moveaxis(deltas.reshape(anchors.shape[1], 4, rows, columns), 0, -1)
        size = boxes[2:] - boxes[:2] + margin
        centre = moves[:2] / np.float32(self.box_coordinate_scale) * size + (boxes[:2] + np.float32(0.5) * size)
        half = np.float32(0.5) * (np.exp(moves[2:] / np.float32(self.box_size_scale)) * size)
        boxes = np.concatenate([centre - half, centre + half])
        if self.clip_before_nms:
            boxes = np.clip(boxes, 0, np.maximum(edges - margin, 0))
        return boxes.reshape(4, -1)

    def _anchors(self) -> Array:
        """The boxes at the first point, all scales of a ratio one after the other, as rows of x0, y0, x1, y1."""
        margin, base = np.float32(self._margin()), np.float32(self.base_size)
        ratios, scales = (np.array(values, np.float32) for values in (self.ratio, self.scale))
        widths = np.sqrt(base * base / ratios)
        if not self.framework:
            widths = np.floor(widths.astype(np.float64) + 0.5).astype(np.float32)
        heights = widths * ratios
        if not self.framework:
            heights = np.floor(heights.astype(np.float64) + 0.5).astype(np.float32)
        centre = np.float32(0.5) * (base - margin)
        half_width, half_height = (
            (np.float32(0.5) * (np.multiply.outer(sizes, scales) - margin)).ravel() for sizes in (widths, heights)
        )
        anchors = np.stack([centre - half_width, centre - half_height, centre + half_width, centre + half_height])
        return anchors - np.float32(0.5) * base if self.framework else anchors


@op("Proposal", since=1)
class Proposal1(_Proposal):
    """Proposal-4 without scores. Specification: detection/Proposal-1."""

    def infer(self, class_probs: TensorType, bbox_deltas: TensorType, image_shape: TensorType) -> TensorType:
        return self._types(class_probs, bbox_deltas, image_shape)[0]

    def evaluate(self, class_probs: Array, bbox_deltas: Array, image_shape: Array) -> Array:
        return self._evaluate(class_probs, bbox_deltas, image_shape)[0]


@op("Proposal", since=4)
class Proposal4(_Proposal):
    """The regions where objects may be: anchors moved as predicted, without those that overlap a better one.

    class_probs: floating, [N, 2 * A, H, W], scores of background and then of objects, A being ratios times scales.
    bbox_deltas: floating, [N, 4 * A, H, W], how each anchor moves: its centre by so many widths and heights, and the
    logarithms of its growth. image_shape: floating, height, width and one scale, or one of each.
    rois: the type of class_probs, [N * post_nms_topn, 5], rows of image and box (x0, y0, x1, y1), the best first; -1
    ends the rows of an image, zeros fill up. probs: the scores, [N * post_nms_topn].

    An anchor of width sqrt(base_size**2 / ratio) and ratio times that height, both times a scale, stands every
    feat_stride pixels. Boxes smaller than min_size times the scale of the image get the score 0. Of the best
    pre_nms_topn those are removed that overlap a better one by more than nms_thresh. `clip_before_nms` and
    `clip_after_nms` cut boxes off at the edges of the image, and `normalize` divides them by its size. As in OpenVINO,
    for `framework` tensorflow x and y change their places, height and width too, and boxes end where they end instead
    of a pixel further on.

    Errors: IR704 for a size or a scale of the image that cannot be. Specification: detection/Proposal-4.
    """

    outputs = ("rois", "probs")

    def infer(
        self, class_probs: TensorType, bbox_deltas: TensorType, image_shape: TensorType
    ) -> tuple[TensorType, TensorType]:
        rois, probs = self._types(class_probs, bbox_deltas, image_shape)
        return rois, probs

    def evaluate(self, class_probs: Array, bbox_deltas: Array, image_shape: Array) -> tuple[Array, Array]:
        return self._evaluate(class_probs, bbox_deltas, image_shape)


@op("RegionYolo", since=1)
class RegionYolo(Op):
    """Region by region the logistic function over a YOLO detector's output, and perhaps a softmax over its classes.

    data: floating, [N, regions * (coords + classes + 1), H, W]; channels behind these are left as they are, or left
    out. With `do_softmax` there are `num` regions: the first two numbers of a region and its confidence pass the
    logistic function, its classes a softmax, and the axes from `axis` to `end_axis` become one. Without it there are as
    many regions as `mask` has values, the classes pass the logistic function too, and the shape stays. anchors are not
    used.

    A file that does not say `do_softmax` means false, as OpenVINO reads it; the specification has true.
    Specification: detection/RegionYolo-1.
    """

    inputs = (In("data", types=CALCULABLE_FLOAT),)

    anchors: Floats = ()
    axis: Int
    coords: NonNegative
    classes: NonNegative
    end_axis: Int
    num: NonNegative
    do_softmax: Bool = False
    mask: Ints = ()

    def _regions(self) -> int:
        return self.num if self.do_softmax else len(self.mask)

    def infer(self, data: TensorType) -> TensorType:
        require_rank(data, 4, "data")
        if data.shape.dims is None:
            return data.with_shape(Shape.unknown())
        dims, channels = list(data.shape), self._regions() * (self.coords + self.classes + 1)
        if dims[1].hi < channels:
            message = f"axis 1 of data is {dims[1]}, expected {channels}: regions * (coords + classes + 1)"
            raise ShapeError(message, code="IR502", port="data")
        if not self.do_softmax:
            dims[1] = Dim.of(channels)
            return data.with_shape(Shape(dims))
        first = normalize_axis(self.axis, 4)
        last = max(normalize_axis(self.end_axis, 4, name="end_axis"), first)
        flat = prod(dims[first : last + 1], start=Dim.of(1))
        return data.with_shape(Shape([*dims[:first], flat, *dims[last + 1 :]]))

    def evaluate(self, data: Array) -> Array:
        batch, channels, height, width = data.shape
        regions, numbers = self._regions(), self.coords + self.classes + 1
        values = convert(data, ElementType.f32).reshape(batch, channels, height * width)
        total = values if self.do_softmax else values[:, : regions * numbers]
        given = values[:, : regions * numbers].reshape(batch, regions, numbers, height * width)
        output = total.copy()
        found = output[:, : regions * numbers].reshape(batch, regions, numbers, height * width)
        found[:, :, :2] = _logistic(found[:, :, :2])
        end = self.coords + 1 if self.do_softmax else numbers
        found[:, :, self.coords : end] = _logistic(found[:, :, self.coords : end])
        if self.do_softmax and self.classes:
            scores = given[:, :, self.coords + 1 :]
            powers = np.exp(scores - scores.max(axis=2, keepdims=True))
            found[:, :, self.coords + 1 :] = powers / powers.sum(axis=2, keepdims=True)
        output[:, : regions * numbers] = found.reshape(batch, regions * numbers, height * width)
        shape = self.infer(TensorType.of(data)).shape.static
        return convert(output, ElementType.of(data)).reshape(shape)


def _logistic(values: Array) -> Array:
    logistic: Array = 1 / (1 + np.exp(-values))
    return logistic
