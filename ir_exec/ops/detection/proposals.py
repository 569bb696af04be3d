"""Region proposals: the output of the first stage of a Faster R-CNN detector."""

from __future__ import annotations

from functools import lru_cache
from math import log
from typing import Annotated, Any, Literal

import numpy as np

from ir_exec.errors import EvaluationError
from ir_exec.kernels.boxes import CornerOverlaps, above, best_first, keep_best, moved_boxes
from ir_exec.kernels.precision import CALCULABLE_FLOAT
from ir_exec.ops.base import In, Op, op
from ir_exec.ops.base.attributes import Bool, Float, Floats, IndexTypeName, NonNegative, Positive, within
from ir_exec.ops.base.dims import FOUR_COORDINATES, element_type_of, merged_dims
from ir_exec.ops.base.inputs import SCORES
from ir_exec.ops.base.shapes import merge_dims
from ir_exec.types import Array, Dim, ElementType, Shape, TensorType, convert

__all__ = ["ExperimentalDetectronGenerateProposalsSingleImage", "GenerateProposals", "Proposal1", "Proposal4"]

_LARGEST_GROWTH = np.float32(log(1000.0 / 16.0))
"""The greatest logarithm of the growth of a box, as in Detectron."""


class _Proposal(Op):
    """The base of both versions of Proposal; see Proposal4."""

    inputs = (
        In("class_probs", types=CALCULABLE_FLOAT, domain=SCORES),
        In("bbox_deltas", types=CALCULABLE_FLOAT),
        In("image_shape", types=CALCULABLE_FLOAT),
    )
    is_discontinuous = True
    redundant_attributes = "for_deformable version"

    base_size: NonNegative
    pre_nms_topn: NonNegative
    post_nms_topn: NonNegative
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
    framework: Literal["", "tensorflow"] = ""

    def _types(self, class_probs: TensorType, bbox_deltas: TensorType, image_shape: TensorType) -> list[TensorType]:
        anchors = len(self.ratio) * len(self.scale)
        dims = merged_dims(
            {
                "class_probs": (class_probs, ("images", ("anchors", 2), "height", "width")),
                "bbox_deltas": (bbox_deltas, ("images", ("anchors", 4), "height", "width")),
                "image_shape": (image_shape, ("3 or 4 numbers",)),
            },
            {"anchors": Dim.of(anchors), "3 or 4 numbers": Dim(3, 4)},
        )
        rows = dims["images"] * self.post_nms_topn
        return [class_probs.with_shape(Shape([rows, 5])), class_probs.with_shape(Shape([rows]))]

    def _evaluate(self, class_probs: Array, bbox_deltas: Array, image_shape: Array) -> tuple[Array, Array]:
        batches, anchors, most = len(class_probs), len(self.ratio) * len(self.scale), self.post_nms_topn
        height, width, least_height, least_width = self._image(convert(image_shape, ElementType.f32))
        rois, scores = np.zeros((batches, most, 5), np.float32), np.zeros((batches, most), np.float32)
        for batch in range(batches):
            # The scores of objects come after those of the background.
            probabilities = np.moveaxis(convert(class_probs[batch, anchors:], ElementType.f32), 0, -1).ravel()
            boxes = self._boxes(convert(bbox_deltas[batch], ElementType.f32), height, width)
            own_width, own_height = (boxes[2 + axis] - boxes[axis] + self._margin() for axis in (0, 1))
            probabilities = np.where(
                (own_width >= least_width) & (own_height >= least_height), probabilities, probabilities * 0
            )
            order = best_first(probabilities, self.pre_nms_topn)
            boxes = boxes[:, order]
            overlaps = CornerOverlaps(boxes, self._margin(), touching=False)
            retained = keep_best(len(order), overlaps, above(self.nms_thresh), most=most)
            proposals, edges = boxes[:, retained].T, np.array([width, height, width, height], np.float32)
            proposals = np.clip(proposals, 0, edges) if self.clip_after_nms else proposals
            rois[batch, : len(retained), 0] = batch
            rois[batch, : len(retained), 1:] = proposals / edges if self.normalize else proposals
            scores[batch, : len(retained)] = probabilities[order[retained]]
            if len(retained) < most:
                rois[batch, len(retained), 0] = -1
        element_type = ElementType.of(class_probs)
        return convert(rois.reshape(-1, 5), element_type), convert(scores.ravel(), element_type)

    def _margin(self) -> float:
        return 0.0 if self.framework else 1.0

    def _image(self, values: Array) -> tuple[Any, Any, Any, Any]:
        """Height and width of the image, and the least height and width of a box."""
        tiny = np.finfo(np.float32).tiny
        if not all(tiny <= value < np.inf for value in values[:2]):
            raise EvaluationError(
                "image_shape begins with",
                actual=f"{values[0]}, {values[1]}",
                expected="a height and a width above 0",
                port="image_shape",
            )
        if not all(0 <= value < np.inf for value in values[2:]):
            raise EvaluationError(
                "image_shape has the scale", actual=values[2:].min(), expected="0 or more", port="image_shape"
            )
        least = np.float32(self.min_size) * values[[2, -1]]
        height, width = values[1::-1] if self.framework else values[:2]
        return height, width, *least

    def _boxes(self, deltas: Array, height: Any, width: Any) -> Array:
        """All boxes [4, n]: row by row of the grid, point by point, anchor by anchor."""
        margin = np.float32(self._margin())
        anchors = _anchors(self.base_size, self.ratio, self.scale, bool(self.framework))
        rows, columns = deltas.shape[1:]
        centers = np.empty((4, rows, columns), np.float32)
        first = 1 if self.framework else 0
        centers[first::2], centers[1 - first :: 2] = np.arange(columns), np.arange(rows)[:, np.newaxis]
        centers *= np.float32(self.feat_stride)
        boxes = centers[..., np.newaxis] + anchors[:, np.newaxis, np.newaxis, :]
        edges = np.array([width, height, width, height], np.float32).reshape(4, 1, 1, 1)
        if self.framework:
            boxes = np.clip(boxes, 0, edges)
        moves = np.moveaxis(deltas.reshape(anchors.shape[1], 4, rows, columns), 0, -1)
        scales = [self.box_coordinate_scale] * 2 + [self.box_size_scale] * 2
        boxes = moved_boxes(boxes, moves / np.array(scales, np.float32).reshape(4, 1, 1, 1), self._margin())
        if self.clip_before_nms:
            boxes = np.clip(boxes, 0, np.maximum(edges - margin, 0))
        return boxes.reshape(4, -1)


@op("Proposal", since=1)
class Proposal1(_Proposal):
    """Proposal-4 without scores: output is its rois, of the same type.

    Specification: detection/proposal-1.
    """

    def infer(self, class_probs: TensorType, bbox_deltas: TensorType, image_shape: TensorType) -> TensorType:
        return self._types(class_probs, bbox_deltas, image_shape)[0]

    def evaluate(self, class_probs: Array, bbox_deltas: Array, image_shape: Array) -> Array:
        return self._evaluate(class_probs, bbox_deltas, image_shape)[0]


@op("Proposal", since=4)
class Proposal4(_Proposal):
    """The regions of possible objects: anchors moved as predicted, after non-maximum suppression.

    An anchor of width sqrt(base_size**2 / ratio) and ratio times that height, both times a scale, is placed every
    feat_stride pixels. Boxes smaller than min_size times the scale of the image get the score 0. Of the best
    pre_nms_topn boxes, those that overlap a higher-scored one by more than nms_thresh are removed. `clip_before_nms`
    and `clip_after_nms` clip boxes to the image, and `normalize` divides them by its size. As in OpenVINO, the
    `framework` tensorflow exchanges x and y, and height and width, and a box from 2 to 4 is 2 wide instead of 3.

    Specification: detection/proposal-4.

    Inputs:
        class_probs: Floating, [N, 2 * A, H, W], scores of background and then of objects, A being ratios times scales.
        bbox_deltas: Floating, [N, 4 * A, H, W], how each anchor moves: its center by so many widths and heights, and
            the logarithms of its growth.
        image_shape: Floating, height, width and one scale, or one of each.

    Outputs:
        rois: The type of class_probs, [N * post_nms_topn, 5], rows of image and box (x0, y0, x1, y1), the best first;
            -1 ends the rows of an image, and the rest is zeros.
        probs: The scores, [N * post_nms_topn].

    Raises:
        IRError: IR704 for a size or a scale of the image out of range.
    """

    outputs = ("rois", "probs")

    def infer(
        self, class_probs: TensorType, bbox_deltas: TensorType, image_shape: TensorType
    ) -> tuple[TensorType, TensorType]:
        rois, probs = self._types(class_probs, bbox_deltas, image_shape)
        return rois, probs

    def evaluate(self, class_probs: Array, bbox_deltas: Array, image_shape: Array) -> tuple[Array, Array]:
        return self._evaluate(class_probs, bbox_deltas, image_shape)


@lru_cache(16)
def _anchors(base_size: int, ratio: tuple[float, ...], scale: tuple[float, ...], framework: bool) -> Array:
    """The anchors of Proposal at the first point, ratio by ratio, as rows of x0, y0, x1, y1."""
    margin, base = np.float32(not framework), np.float32(base_size)
    ratios, scales = (np.array(values, np.float32) for values in (ratio, scale))
    widths = np.sqrt(base * base / ratios)
    if not framework:
        widths = np.floor(widths.astype(np.float64) + 0.5).astype(np.float32)
    heights = widths * ratios
    if not framework:
        heights = np.floor(heights.astype(np.float64) + 0.5).astype(np.float32)
    center = np.float32(0.5) * (base - margin)
    half_width, half_height = (
        (np.float32(0.5) * (np.multiply.outer(sizes, scales) - margin)).ravel() for sizes in (widths, heights)
    )
    anchors = np.stack([center - half_width, center - half_height, center + half_width, center + half_height])
    return anchors - np.float32(0.5) * base if framework else anchors


def _propose(
    anchors: Array, deltas: Array, edges: tuple[Any, Any], least: tuple[Any, Any], pixels: bool
) -> tuple[Array, Array]:
    """Anchors moved as predicted and clipped to the image, as [4, n], and a mask of those that are large enough.

    Args:
        anchors: [n, 4], point by point.
        deltas: [anchors at a point * 4, height, width].
        edges: The height and width of the image.
        least: The minimum height and width of a box.
        pixels: True if coordinates are in pixels, and a box from 2 to 4 is 3 wide.
    """
    margin = np.float32(pixels)
    moves = deltas.reshape(-1, 4, *deltas.shape[1:]).transpose(1, 2, 3, 0).reshape(4, -1).copy()
    np.minimum(moves[2:], _LARGEST_GROWTH, out=moves[2:])
    boxes = moved_boxes(anchors.T, moves, float(margin))
    boxes[2:] -= margin
    height, width = edges
    ends = np.array([width, height, width, height], np.float32)[:, np.newaxis] - margin
    boxes = np.maximum(np.minimum(boxes, ends), 0)
    large = (boxes[3] - boxes[1] + margin >= least[0]) & (boxes[2] - boxes[0] + margin >= least[1])
    return boxes, large


def _point_by_point(scores: Array) -> Array:
    """Scores [anchors, height, width] flattened in the order of the anchors: point by point."""
    ordered: Array = np.moveaxis(scores, 0, -1).ravel()
    return ordered


@op("ExperimentalDetectronGenerateProposalsSingleImage", since=6)
class ExperimentalDetectronGenerateProposalsSingleImage(Op):
    """Anchors moved as predicted, after non-maximum suppression, for one image.

    Boxes are clipped to the image; those smaller than `min_size` get the score 0. Of the best
    `pre_nms_count` boxes, those that overlap a higher-scored one by more than `nms_threshold` are removed. As in
    OpenVINO, a box from 2 to 4 is 3 wide when it moves and when its size is compared, and 2 wide in overlaps.

    Specification: detection/experimental-detectron-generate-proposals-single-image-6.

    Inputs:
        im_info: Floating, [3], height and width of the image and a scale that is not used.
        anchors: The type of im_info, [height * width * A, 4], boxes (x0, y0, x1, y1).
        deltas: [A * 4, height, width], how each anchor moves: its center by so many widths and heights, and the
            logarithms of its growth, at most log(1000 / 16).
        scores: [A, height, width].

    Outputs:
        rois: [post_nms_count, 4], the best first, filled up with zeros.
        roi_scores: Their scores, [post_nms_count], filled up with zeros.
    """

    inputs = (
        In("im_info", types=CALCULABLE_FLOAT),
        In("anchors", types=CALCULABLE_FLOAT, like="im_info"),
        In("deltas", types=CALCULABLE_FLOAT, like="im_info"),
        In("scores", types=CALCULABLE_FLOAT, like="im_info"),
    )
    outputs = ("rois", "roi_scores")
    is_discontinuous = True

    min_size: Float
    nms_threshold: Float
    pre_nms_count: NonNegative
    post_nms_count: NonNegative

    def infer(
        self, im_info: TensorType, anchors: TensorType, deltas: TensorType, scores: TensorType
    ) -> tuple[TensorType, TensorType]:
        dims = merged_dims(
            {
                "im_info": (im_info, ("3 numbers",)),
                "deltas": (deltas, (("anchors", 4), "height", "width")),
                "scores": (scores, ("anchors", "height", "width")),
                "anchors": (anchors, ("boxes", "4 coordinates")),
            },
            {**FOUR_COORDINATES, "3 numbers": Dim.of(3)},
        )
        boxes = dims["anchors"] * dims["height"] * dims["width"]
        merge_dims(dims["boxes"], boxes, "the length of anchors and the size of scores", port="anchors")
        element_type = element_type_of((im_info, anchors, deltas, scores))
        count = self.post_nms_count
        return TensorType(element_type, Shape([count, 4])), TensorType(element_type, Shape([count]))

    def evaluate(self, im_info: Array, anchors: Array, deltas: Array, scores: Array) -> tuple[Array, Array]:
        info, boxes, moves, objectness = (
            convert(array, ElementType.f32) for array in (im_info, anchors, deltas, scores)
        )
        least = np.float32(self.min_size)
        boxes, large = _propose(boxes, moves, (info[0], info[1]), (least, least), pixels=True)
        ranked = _point_by_point(objectness)
        ranked = np.where(large, ranked, ranked * 0)
        order = best_first(ranked, self.pre_nms_count)
        overlaps = CornerOverlaps(boxes[:, order])
        retained = order[keep_best(len(order), overlaps, above(self.nms_threshold), most=self.post_nms_count)]
        rois = np.zeros((self.post_nms_count, 4), scores.dtype)
        probs = np.zeros(self.post_nms_count, scores.dtype)
        rois[: len(retained)], probs[: len(retained)] = boxes[:, retained].T, ranked[retained]
        return rois, probs


@op("GenerateProposals", since=9)
class GenerateProposals(Op):
    """Anchors moved as predicted, after non-maximum suppression, for each image.

    Boxes are clipped to the image. Of the best `pre_nms_count`, boxes smaller than `min_size` times the scale are
    removed, then boxes that overlap a higher-scored one by more than `nms_threshold`. The best `post_nms_count` are
    kept. A threshold above one half is multiplied by `nms_eta` for each box that is kept; OpenVINO supports only 1 for
    nms_eta. If not `normalized`, coordinates are in pixels, and a box from 2 to 4 is 3 wide.

    Specification: detection/generate-proposals-9.

    Inputs:
        im_info: Floating, [N, 3] or [N, 4], height and width of the image and one scale, or one of each.
        anchors: Floating, [height, width, A, 4], boxes (x0, y0, x1, y1).
        boxesdeltas: Floating, [N, A * 4, height, width], how each anchor moves: its center by so many widths and
            heights, and the logarithms of its growth, at most log(1000 / 16).
        scores: Floating, [N, A, height, width].

    Outputs:
        rpnrois: The type of im_info, [n, 4], image by image, the best first.
        rpnscores: The type of im_info, [n].
        rpnroisnum: `roi_num_type`, [N], the number of boxes of each image.
    """

    inputs = (
        In("im_info", types=CALCULABLE_FLOAT),
        In("anchors", types=CALCULABLE_FLOAT),
        In("boxesdeltas", types=CALCULABLE_FLOAT),
        In("scores", types=CALCULABLE_FLOAT),
    )
    outputs = ("rpnrois", "rpnscores", "rpnroisnum")
    is_discontinuous = True

    min_size: Float
    nms_threshold: Float
    pre_nms_count: Positive
    post_nms_count: Positive
    normalized: Bool = True
    nms_eta: Annotated[Float, within(0, 1)] = 1.0
    roi_num_type: IndexTypeName = ElementType.i64

    def infer(
        self, im_info: TensorType, anchors: TensorType, boxesdeltas: TensorType, scores: TensorType
    ) -> tuple[TensorType, ...]:
        dims = merged_dims(
            {
                "im_info": (im_info, ("images", "3 or 4 numbers")),
                "anchors": (anchors, ("height", "width", "anchors", "4 coordinates")),
                "boxesdeltas": (boxesdeltas, ("images", ("anchors", 4), "height", "width")),
                "scores": (scores, ("images", "anchors", "height", "width")),
            },
            {**FOUR_COORDINATES, "3 or 4 numbers": Dim(3, 4)},
        )
        element_type, images = im_info.element_type, dims["images"]
        rows = Dim(0, (images * self.post_nms_count).hi)
        numbers = TensorType(self.roi_num_type, Shape([images]))
        return TensorType(element_type, Shape([rows, 4])), TensorType(element_type, Shape([rows])), numbers

    def evaluate(self, im_info: Array, anchors: Array, boxesdeltas: Array, scores: Array) -> tuple[Array, ...]:
        info, deltas, values, boxes = (
            convert(array, ElementType.f32) for array in (im_info, boxesdeltas, scores, anchors.reshape(-1, 4))
        )
        rois, probs = [np.zeros((0, 4), np.float32)], [np.zeros(0, np.float32)]
        for own, moves, objectness in zip(info, deltas, values, strict=True):
            proposals, best = self._image(own, moves, objectness, boxes)
            rois.append(proposals)
            probs.append(best)
        numbers = np.array([len(proposals) for proposals in probs[1:]], self.roi_num_type.dtype)
        element_type = ElementType.of(im_info)
        return convert(np.concatenate(rois), element_type), convert(np.concatenate(probs), element_type), numbers

    def _image(self, info: Array, deltas: Array, scores: Array, anchors: Array) -> tuple[Array, Array]:
        """The boxes [n, 4] kept for one image, and their scores."""
        least = np.float32(self.min_size) * info[[2, -1]]
        boxes, large = _propose(anchors, deltas, (info[0], info[1]), (least[0], least[1]), pixels=not self.normalized)
        ranked = _point_by_point(scores)
        order = best_first(ranked, self.pre_nms_count)
        order = order[large[order]]
        overlaps = CornerOverlaps(boxes[:, order], 0.0 if self.normalized else 1.0, touching=False)
        threshold = above(self.nms_threshold)
        retained = order[keep_best(len(order), overlaps, threshold, most=self.post_nms_count, shrink=self.nms_eta)]
        return boxes[:, retained].T, ranked[retained]
