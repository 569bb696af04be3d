"""The operators of Detectron models other than region proposals: priors, features, detections."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated

import numpy as np

from ir_exec.codes import Code
from ir_exec.errors import ShapeError
from ir_exec.kernels.boxes import (
    CornerOverlaps,
    Selected,
    above,
    best_of_classes,
    keep_best_of_classes,
    moved_boxes,
)
from ir_exec.kernels.precision import CALCULABLE_FLOAT
from ir_exec.ops.base import In, Op, op
from ir_exec.ops.base.attributes import Bool, Float, Floats, Int, Ints, NonNegative, Positive, of_length
from ir_exec.ops.base.dims import FOUR_COORDINATES, element_type_of, merged_dims
from ir_exec.ops.base.inputs import BoxCorners
from ir_exec.ops.detection.roi_align import ROIAlign3
from ir_exec.types import Array, Dim, ElementType, Shape, TensorType, convert

__all__ = [
    "ExperimentalDetectronDetectionOutput",
    "ExperimentalDetectronPriorGridGenerator",
    "ExperimentalDetectronROIFeatureExtractor",
]


@op("ExperimentalDetectronPriorGridGenerator", since=6)
class ExperimentalDetectronPriorGridGenerator(Op):
    """Prior boxes shifted to every point of a grid over an image.

    The points are at (index + 0.5) times `stride_x` and `stride_y`, or if these are 0 times the image's width and
    height over the grid's. `h` and `w` are the height and width of the grid, those of feature_map if they are 0; the
    size of the output is that of feature_map, and the rest is filled with zeros, which the specification leaves open.
    `flatten` is false by default, as in OpenVINO; the specification has true.

    Specification: detection/experimental-detectron-prior-grid-generator-6.

    Inputs:
        priors: Floating, [n, 4], boxes (x0, y0, x1, y1) around 0.
        feature_map: [N, C, height, width]; only its sizes count.
        im_data: [N, C, image height, image width]; only its sizes count.

    Outputs:
        output: The type of priors, [height * width * n, 4], or [height, width, n, 4] without `flatten`.
    """

    inputs = (
        In("priors", types=CALCULABLE_FLOAT),
        In("feature_map", types=CALCULABLE_FLOAT, like="priors", only_shape=True),
        In("im_data", types=CALCULABLE_FLOAT, like="priors", only_shape=True),
    )

    flatten: Bool = False
    h: NonNegative = 0
    w: NonNegative = 0
    stride_x: Float = 0.0
    stride_y: Float = 0.0

    def infer(self, priors: TensorType, feature_map: TensorType, im_data: TensorType) -> TensorType:
        dims = merged_dims(
            {
                "priors": (priors, ("priors", "4 coordinates")),
                "feature_map": (feature_map, ("images", "channels", "height", "width")),
                "im_data": (im_data, ("images", "image channels", "image height", "image width")),
            },
            FOUR_COORDINATES,
        )
        height, width, count = dims["height"], dims["width"], dims["priors"]
        for name, size, dim in (("h", self.h, height), ("w", self.w, width)):
            if size > dim.hi:
                raise ShapeError(
                    f"{name} is {size}, more than {dim}, the size of feature_map", code=Code.impossible_shape
                )
        shape = [height * width * count] if self.flatten else [height, width, count]
        return TensorType(element_type_of((priors, feature_map, im_data)), Shape([*shape, 4]))

    def evaluate(self, priors: Array, feature_map: Array, im_data: Array) -> Array:
        boxes = convert(priors, ElementType.f32)
        height, width = self.h or feature_map.shape[2], self.w or feature_map.shape[3]
        step_y = np.float32(self.stride_y or im_data.shape[2] / max(height, 1))
        step_x = np.float32(self.stride_x or im_data.shape[3] / max(width, 1))
        y = step_y * (np.arange(height, dtype=np.float32) + np.float32(0.5))
        x = step_x * (np.arange(width, dtype=np.float32) + np.float32(0.5))
        placed = np.empty((height, width, len(boxes), 4), np.float32)
        placed[..., 0::2] = boxes[:, 0::2] + x[:, np.newaxis, np.newaxis]
        placed[..., 1::2] = boxes[:, 1::2] + y[:, np.newaxis, np.newaxis, np.newaxis]
        output = np.zeros((*feature_map.shape[2:], len(boxes), 4), priors.dtype)
        output.reshape(-1)[: placed.size] = placed.ravel()
        return output.reshape(-1, 4) if self.flatten else output


class _LevelAlign(ROIAlign3):
    """ROIAlign-3 with boxes that are moved by half an element if `aligned`."""

    aligned: Bool

    def _box(self, box: Array) -> tuple[Array, Array]:
        begin, extent = super()._box(box)
        return begin - begin.dtype.type(0.5 if self.aligned else 0.0), extent


@op("ExperimentalDetectronROIFeatureExtractor", since=6)
class ExperimentalDetectronROIFeatureExtractor(Op):
    """ROIAlign with the mean of each bin, each region in the level of a pyramid that fits its size.

    A region of width w and height h belongs to level floor(2 + log2(sqrt(w * h) / 224 + 1e-6)), clipped to the existing
    levels; a region without area gives zeros. The specification has the rois in the order of their levels in the second
    output, OpenVINO in the order of the input.

    Specification: detection/experimental-detectron-roi-feature-extractor-6.

    Inputs:
        rois: Floating, [n, 4], boxes (x0, y0, x1, y1) in pixels of the image.
        pyramid: The type of rois, one tensor [1, C, height, width] for each level, one pixel of which covers
            `pyramid_scales` pixels of the image.

    Outputs:
        roi_features: [n, C, output_size, output_size].
        roi_boxes: rois as they are.

    Raises:
        IRError: IR704 for a region with more than 2^22 sampling points.
    """

    inputs = (
        In("rois", types=CALCULABLE_FLOAT, domain=BoxCorners()),
        In("pyramid", types=CALCULABLE_FLOAT, like="rois", variadic=True),
    )
    term_inputs = ("pyramid",)
    outputs = ("roi_features", "roi_boxes")
    is_discontinuous = True

    output_size: Positive
    sampling_ratio: NonNegative
    pyramid_scales: Ints
    aligned: Bool = False

    def infer(self, rois: TensorType, *pyramid: TensorType) -> tuple[TensorType, TensorType]:
        if len(pyramid) > len(self.pyramid_scales):
            raise ShapeError(
                "the layer has",
                actual=len(pyramid),
                detail="levels",
                expected=f"at most {len(self.pyramid_scales)}",
                reason="the number of pyramid_scales",
                code=Code.impossible_shape,
            )
        inputs: dict[str, tuple[TensorType, tuple[str, ...]]] = {"rois": (rois, ("rois", "4 coordinates"))}
        for i, level in enumerate(pyramid):
            inputs[f"pyramid[{i}]"] = (level, ("1 image", "channels", f"height {i}", f"width {i}"))
        dims = merged_dims(inputs, {**FOUR_COORDINATES, "1 image": Dim.of(1)})
        element_type, count, channels = element_type_of((rois, *pyramid)), dims["rois"], dims["channels"]
        features = TensorType(element_type, Shape([count, channels, self.output_size, self.output_size]))
        return features, TensorType(element_type, Shape([count, 4]))

    def evaluate(self, rois: Array, *pyramid: Array) -> tuple[Array, Array]:
        output = np.zeros((len(rois), pyramid[0].shape[1], self.output_size, self.output_size), rois.dtype)
        for features, own, align in self._levels(rois, pyramid):
            output[own] = align.evaluate(features, rois[own], np.zeros(len(own), np.int64))
        return output, rois.copy()

    def count_terms(self, inputs: Sequence[Array]) -> int:
        rois, *pyramid = inputs
        levels = self._levels(rois, pyramid)
        return max((align.count_terms((features, rois[own])) for features, own, align in levels), default=1)

    def _levels(self, rois: Array, pyramid: Sequence[Array]) -> Iterator[tuple[Array, Array, _LevelAlign]]:
        """Each level of the pyramid, with the positions of its regions and their operator."""
        boxes = convert(rois, ElementType.f32)
        areas = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
        sizes = np.log2(np.sqrt(np.where(areas > 0, areas, 1)) / np.float32(224) + np.float32(1e-6))
        levels = np.clip(np.floor(sizes + 2), 0, len(pyramid) - 1)
        for i, (features, scale) in enumerate(zip(pyramid, self.pyramid_scales, strict=False)):
            align = _LevelAlign(
                pooled_h=self.output_size,
                pooled_w=self.output_size,
                sampling_ratio=self.sampling_ratio,
                spatial_scale=1 / scale,
                mode="avg",
                aligned=self.aligned,
            )
            yield features, np.flatnonzero((areas > 0) & (levels == i)), align


@op("ExperimentalDetectronDetectionOutput", since=6)
class ExperimentalDetectronDetectionOutput(Op):
    """The objects that a Detectron model finds: regions moved as predicted, after non-maximum suppression.

    Class 0 is the background. Candidates have a score above `score_threshold`. Boxes that overlap a higher-scored
    box of their class by more than `nms_threshold` are removed. The best `post_nms_count` of each class are kept, class
    by class; if these are too many, the best of all classes are kept. As in OpenVINO, boxes are clipped at the first
    row and column of the image only, and class_agnostic_box_regression has no effect.

    Specification: detection/experimental-detectron-detection-output-6.

    Inputs:
        input_rois: Floating, [n, 4], boxes (x0, y0, x1, y1) in pixels.
        input_deltas: The type of input_rois, [n, num_classes * 4], how each moves for each class: its center by so many
            widths and heights, and the logarithms of its growth, at most max_delta_log_wh, all divided by
            `deltas_weights`.
        input_scores: [n, num_classes].
        input_im_info: [1, 3], not used.

    Outputs:
        boxes: [max_detections_per_image, 4], filled up with zeros, which the specification leaves open.
        classes: i32, [max_detections_per_image], of the boxes.
        scores: [max_detections_per_image], of the boxes.
    """

    inputs = (
        In("input_rois", types=CALCULABLE_FLOAT),
        In("input_deltas", types=CALCULABLE_FLOAT, like="input_rois"),
        In("input_scores", types=CALCULABLE_FLOAT, like="input_rois"),
        In("input_im_info", types=CALCULABLE_FLOAT, like="input_rois", only_shape=True),
    )
    outputs = ("boxes", "classes", "scores")
    is_discontinuous = True

    score_threshold: Float
    nms_threshold: Float
    num_classes: NonNegative
    post_nms_count: Int
    max_detections_per_image: NonNegative
    class_agnostic_box_regression: Bool = False
    max_delta_log_wh: Float
    deltas_weights: Annotated[Floats, of_length(4, 4)]

    def infer(
        self, input_rois: TensorType, input_deltas: TensorType, input_scores: TensorType, input_im_info: TensorType
    ) -> tuple[TensorType, ...]:
        merged_dims(
            {
                "input_rois": (input_rois, ("rois", "4 coordinates")),
                "input_deltas": (input_deltas, ("rois", ("classes", 4))),
                "input_scores": (input_scores, ("rois", "classes")),
                "input_im_info": (input_im_info, ("1 image", "3 numbers")),
            },
            {**FOUR_COORDINATES, "classes": Dim.of(self.num_classes), "1 image": Dim.of(1), "3 numbers": Dim.of(3)},
        )
        element_type = element_type_of((input_rois, input_deltas, input_scores, input_im_info))
        most = self.max_detections_per_image
        scores = TensorType(element_type, Shape([most]))
        return TensorType(element_type, Shape([most, 4])), TensorType(ElementType.i32, Shape([most])), scores

    def evaluate(
        self, input_rois: Array, input_deltas: Array, input_scores: Array, input_im_info: Array
    ) -> tuple[Array, ...]:
        regions, deltas, scores = (
            convert(array, ElementType.f32) for array in (input_rois, input_deltas, input_scores)
        )
        boxes = self._boxes(regions, deltas)
        # The boxes of a region without area are 0, and so are its scores.
        empty = ~((regions[:, 2] > regions[:, 0]) & (regions[:, 3] > regions[:, 1]))
        boxes[:, :, empty], scores = 0, np.where(empty[:, np.newaxis], np.float32(0), scores)
        most = self.max_detections_per_image
        labels, best = keep_best_of_classes(
            best_of_classes(np.ascontiguousarray(scores.T[1:]), np.float32(self.score_threshold)),
            CornerOverlaps(boxes[:, 1:].reshape(4, -1), 1.0, touching=False),
            above(self.nms_threshold),
            count=len(scores),
            apart=True,
            most=None if self.post_nms_count < 0 else self.post_nms_count,
        )
        labels += 1
        selected = Selected.of(0, labels, best, scores[best, labels])
        if len(selected.box) > most:
            selected = selected.sort_by(-selected.score, selected.box, selected.label).take(slice(most))
        kept_boxes, labels = np.zeros((most, 4), input_rois.dtype), np.zeros(most, np.int32)
        kept_scores, count = np.zeros(most, input_rois.dtype), len(selected.box)
        kept_boxes[:count] = boxes[:, selected.label, selected.box].T
        labels[:count], kept_scores[:count] = selected.label, selected.score
        return kept_boxes, labels, kept_scores

    def _boxes(self, regions: Array, deltas: Array) -> Array:
        """The regions moved as predicted: [coordinates, classes, regions]."""
        moves = deltas.reshape(len(regions), self.num_classes, 4).T
        moves = moves / np.array(self.deltas_weights, np.float32).reshape(4, 1, 1)
        moves[2:] = np.minimum(moves[2:], np.float32(self.max_delta_log_wh))
        boxes = moved_boxes(regions.T[:, np.newaxis], moves, 1.0)
        boxes[2:] -= 1
        return np.maximum(boxes, 0)
