"""Regions of interest: Proposal, SimplerNMS, ROIPooling, PSROIPooling, and the layers of Detectron."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ir_exec import build
from ir_exec.build import Value
from ir_exec.older.call import LayerCall
from ir_exec.older.registry import older_layer
from ir_exec.older.values import as_floats, dims_of, reshape_to

__all__: list[str] = []


@older_layer("Proposal")
def proposal(layer: LayerCall, scores: Value, deltas: Value, image: Value) -> Value | Sequence[Value]:
    """Boxes from scores and deltas of anchors, [n, 5]; an optional output has the scores.

    Source: proposal.cpp.
    """
    attributes: dict[str, Any] = {
        "base_size": layer.integer("base_size", 16),
        "pre_nms_topn": layer.integer("pre_nms_topn", 6000),
        "post_nms_topn": layer.integer("post_nms_topn"),
        "nms_thresh": layer.number("nms_thresh"),
        "feat_stride": layer.integer("feat_stride", 16),
        "min_size": layer.integer("min_size", 16),
        "ratio": layer.numbers("ratio", ()),
        "scale": layer.numbers("scale", ()),
        "clip_before_nms": layer.flag("clip_before_nms", True),
        "clip_after_nms": layer.flag("clip_after_nms", False),
        "normalize": layer.flag("normalize", False),
        "box_size_scale": layer.number("box_size_scale", 1.0),
        "box_coordinate_scale": layer.number("box_coordinate_scale", 1.0),
        "framework": layer.text("framework", "").lower() if layer.has("framework") else "",
    }
    return _propose(layer, scores, deltas, image, attributes)


@older_layer("SimplerNMS")
def simpler_nms(layer: LayerCall, scores: Value, deltas: Value, image: Value) -> Value | Sequence[Value]:
    """Proposals of anchors with a stride of 16, with ratios 0.5, 1 and 2; the input with more channels is the deltas.

    Source: simplernms.cpp.
    """
    if dims_of(scores)[1] > dims_of(deltas)[1]:
        scores, deltas = deltas, scores
    attributes: dict[str, Any] = {
        "base_size": 16,
        "pre_nms_topn": layer.integer("pre_nms_topn"),
        "post_nms_topn": layer.integer("post_nms_topn"),
        "nms_thresh": layer.number("iou_threshold"),
        "feat_stride": layer.integer("feat_stride"),
        "min_size": layer.integer("min_bbox_size"),
        "ratio": (0.5, 1.0, 2.0),
        "scale": layer.numbers("scale"),
    }
    return _propose(layer, scores, deltas, image, attributes)


def _propose(
    layer: LayerCall, scores: Value, deltas: Value, image: Value, attributes: dict[str, Any]
) -> Value | Sequence[Value]:
    inputs = (as_floats(scores), as_floats(deltas), reshape_to(as_floats(image), -1))
    proposed: Any = build.proposal
    outputs: Value | Sequence[Value] = proposed(
        *inputs, **attributes, opset=1 if len(layer.layer.outputs) < 2 else None
    )
    return outputs


@older_layer("ROIPooling")
def roi_pooling(layer: LayerCall, data: Value, rois: Value) -> Value:
    """The maximum, or an interpolated element, of each bin of the regions."""
    attributes: dict[str, Any] = {
        "pooled_h": layer.integer("pooled_h"),
        "pooled_w": layer.integer("pooled_w"),
        "spatial_scale": layer.number("spatial_scale"),
        "method": layer.text("method", "max").lower(),
    }
    return build.roi_pooling(as_floats(data), reshape_to(as_floats(rois), -1, 5), **attributes)


@older_layer("PSROIPooling")
def psroi_pooling(layer: LayerCall, data: Value, rois: Value, offsets: Value | None = None) -> Value:
    """Position-sensitive pooling of regions.

    Source: psroi.cpp.
    """
    mode = layer.text("mode", "average").lower()
    attributes: dict[str, Any] = {
        "output_dim": layer.integer("output_dim"),
        "group_size": layer.integer("group_size", 1),
        "spatial_scale": layer.number("spatial_scale"),
        "spatial_bins_x": layer.integer("spatial_bins_x", 1),
        "spatial_bins_y": layer.integer("spatial_bins_y", 1),
        "mode": mode,
    }
    data, rois = as_floats(data), reshape_to(as_floats(rois), -1, 5)
    if mode != "bilinear_deformable":
        return build.psroi_pooling(data, rois, **attributes)
    attributes |= {"part_size": layer.integer("part_size", 1), "trans_std": layer.number("trans_std", 1.0)}
    moves = offsets is not None and not layer.flag("no_trans", True)
    return build.deformable_psroi_pooling(data, rois, offsets if moves else None, **attributes)


@older_layer("ExperimentalDetectronDetectionOutput")
def detectron_detection_output(
    layer: LayerCall, rois: Value, deltas: Value, scores: Value, image: Value
) -> Sequence[Value]:
    """The detections of Detectron."""
    outputs: Sequence[Value] = build.experimental_detectron_detection_output(
        rois,
        deltas,
        scores,
        image,
        score_threshold=layer.number("score_threshold"),
        nms_threshold=layer.number("nms_threshold"),
        num_classes=layer.integer("num_classes"),
        post_nms_count=layer.integer("post_nms_count"),
        max_detections_per_image=layer.integer("max_detections_per_image"),
        max_delta_log_wh=layer.number("max_delta_log_wh"),
        deltas_weights=layer.numbers("deltas_weights", (10.0, 10.0, 5.0, 5.0)),
        class_agnostic_box_regression=layer.flag("class_agnostic_box_regression", False),
    )
    return outputs[: max(len(layer.layer.outputs), 1)]


@older_layer("ExperimentalDetectronGenerateProposalsSingleImage")
def detectron_proposals(
    layer: LayerCall, image: Value, anchors: Value, deltas: Value, scores: Value
) -> Sequence[Value]:
    """The proposals of Detectron."""
    outputs: Sequence[Value] = build.experimental_detectron_generate_proposals_single_image(
        image,
        anchors,
        deltas,
        scores,
        min_size=layer.number("min_size"),
        nms_threshold=layer.number("nms_threshold"),
        pre_nms_count=layer.integer("pre_nms_count"),
        post_nms_count=layer.integer("post_nms_count"),
    )
    return outputs


@older_layer("ExperimentalDetectronPriorGridGenerator")
def detectron_priors(layer: LayerCall, priors: Value, features: Value, image: Value) -> Value:
    """A grid of the priors."""
    attributes: dict[str, Any] = {
        "flatten": layer.flag("flatten", True),
        "h": layer.integer("h", 0),
        "w": layer.integer("w", 0),
    }
    steps: dict[str, Any] = {"stride_x": layer.number("stride_x", 0.0), "stride_y": layer.number("stride_y", 0.0)}
    return build.experimental_detectron_prior_grid_generator(priors, features, image, **attributes, **steps)


@older_layer("ExperimentalDetectronTopKROIs")
def detectron_top_rois(layer: LayerCall, rois: Value, scores: Value) -> Value:
    """The rois with the best scores."""
    return build.experimental_detectron_topk_rois(rois, scores, max_rois=layer.integer("max_rois"))


@older_layer("ExperimentalDetectronROIFeatureExtractor")
def detectron_features(layer: LayerCall, rois: Value, *levels: Value) -> Sequence[Value]:
    """Features of rois from the levels of a pyramid."""
    outputs: Sequence[Value] = build.experimental_detectron_roi_feature_extractor(
        rois,
        list(levels),
        output_size=layer.integer("output_size"),
        sampling_ratio=layer.integer("sampling_ratio"),
        pyramid_scales=layer.integers("pyramid_scales"),
        aligned=layer.flag("aligned", False),
    )
    return outputs[: max(len(layer.layer.outputs), 1)]
