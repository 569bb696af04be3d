"""Detection: priors, DetectionOutput, non-maximum suppression, YOLO regions, CTC."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from ir_exec import build
from ir_exec.build import Value
from ir_exec.older.call import LayerCall
from ir_exec.older.registry import older_layer
from ir_exec.older.values import as_floats, as_integers, dims_of, rank_of, reshape_to, vector
from ir_exec.types import ElementType

__all__: list[str] = []


def _image_size(value: Value) -> Value:
    """The height and width of an image."""
    shape = build.shape_of(value)
    return build.slice(shape, vector(2), vector(4), vector(1))


def _as_priors(priors: Value) -> Value:
    """Priors as [1, 2, n]; current operators omit the first axis."""
    return build.unsqueeze(priors, vector(0))


@older_layer("PriorBox")
def prior_box(layer: LayerCall, data: Value, image: Value) -> Value:
    """Boxes of several sizes and aspect ratios around the center of each position.

    Source: priorbox.cpp.
    """
    attributes: dict[str, Any] = {
        "min_size": layer.numbers("min_size", ()),
        "max_size": layer.numbers("max_size", ()),
        "aspect_ratio": layer.numbers("aspect_ratio", ()),
        "flip": layer.flag("flip", False),
        "clip": layer.flag("clip", False),
        "step": layer.number("step", 0.0),
        "offset": layer.number("offset", 0.5),
        "variance": layer.numbers("variance", ()),
        "scale_all_sizes": layer.flag("scale_all_sizes", True),
        "fixed_ratio": layer.numbers("fixed_ratio", ()),
        "fixed_size": layer.numbers("fixed_size", ()),
        "density": layer.numbers("density", ()),
    }
    return _as_priors(build.prior_box(_image_size(data), _image_size(image), opset=1, **attributes))


@older_layer("PriorBoxClustered")
def prior_box_clustered(layer: LayerCall, data: Value, image: Value) -> Value:
    """Boxes of given widths and heights around each position. `img_h` and `img_w` replace the size of the image.

    Source: priorbox_clustered.cpp.
    """
    height, width = layer.integer("img_h", 0), layer.integer("img_w", 0)
    attributes: dict[str, Any] = {
        "width": layer.numbers("width", ()),
        "height": layer.numbers("height", ()),
        "clip": layer.flag("clip", False),
        "variance": layer.numbers("variance", ()),
        "offset": layer.number("offset", 0.5),
    }
    step = layer.number("step", 0.0)
    attributes["step_w"] = layer.number("step_w", 0.0) or step
    attributes["step_h"] = layer.number("step_h", 0.0) or step
    size = vector(height, width) if height and width else _image_size(image)
    return _as_priors(build.prior_box_clustered(_image_size(data), size, opset=1, **attributes))


_CODE_TYPES = {
    prefix + name.lower(): f"caffe.PriorBoxParameter.{name}"
    for name in ("CORNER", "CENTER_SIZE")
    for prefix in ("caffe.priorboxparameter.", "")
}


@older_layer("DetectionOutput")
def detection_output(
    layer: LayerCall,
    boxes: Value,
    scores: Value,
    priors: Value,
    extra_scores: Value | None = None,
    extra_boxes: Value | None = None,
) -> Value:
    """The best boxes of all classes, [1, 1, n, 7]. Boxes are normalized unless the file declares the opposite.

    Source: DetectionOutputValidator, detectionoutput.cpp.
    """
    boxes, scores = (_flat(as_floats(tensor)) for tensor in (boxes, scores))
    extra = [_flat(as_floats(tensor)) for tensor in (extra_scores, extra_boxes) if tensor is not None]
    attributes: dict[str, Any] = {
        "background_label_id": layer.integer("background_label_id", 0),
        "top_k": layer.integer("top_k", -1),
        "variance_encoded_in_target": layer.flag("variance_encoded_in_target", False),
        "keep_top_k": (layer.integer("keep_top_k", -1),),
        "code_type": layer.choice("code_type", _CODE_TYPES, "CORNER"),
        "share_location": layer.flag("share_location", True),
        "nms_threshold": layer.number("nms_threshold"),
        "confidence_threshold": layer.number("confidence_threshold", -sys.float_info.max),
        "clip_before_nms": layer.flag("clip_before_nms", False) or layer.flag("clip", False),
        "clip_after_nms": layer.flag("clip_after_nms", False),
        "decrease_label_id": layer.flag("decrease_label_id", False),
        "normalized": layer.flag("normalized", True),
        "input_height": layer.integer("input_height", 1),
        "input_width": layer.integer("input_width", 1),
        "objectness_score": layer.number("objectness_score", 0.0),
    }
    attributes["confidence_threshold"] = max(attributes["confidence_threshold"], float(np.finfo(np.float32).min))
    if layer.has("num_classes"):
        attributes["num_classes"] = layer.integer("num_classes")
        return build.detection_output(boxes, scores, priors, *extra, opset=1, **attributes)
    return build.detection_output(boxes, scores, priors, *extra, **attributes)


def _flat(value: Value) -> Value:
    return value if rank_of(value) == 2 else reshape_to(value, dims_of(value)[0], -1)


@older_layer("NonMaxSuppression")
def non_max_suppression(
    layer: LayerCall,
    boxes: Value,
    scores: Value,
    count: Value | None = None,
    iou: Value | None = None,
    threshold: Value | None = None,
) -> Value:
    """Indices of batch, class and box of the kept boxes, followed by rows of -1.

    Source: NMSValidator.
    """
    scalar = build.constant(np.empty(0, np.int64))
    limits = [] if count is None else [build.reshape(as_integers(count), scalar, special_zero=False)]
    limits += [
        build.reshape(as_floats(limit), scalar, special_zero=False) for limit in (iou, threshold) if limit is not None
    ]
    attributes: dict[str, Any] = {
        "box_encoding": "center" if layer.flag("center_point_box", False) else "corner",
        "sort_result_descending": layer.flag("sort_result_descending", True),
    }
    suppressed: Any = build.non_max_suppression
    selected = build.convert(suppressed(as_floats(boxes), as_floats(scores), *limits, **attributes)[0], ElementType.i32)
    declared = layer.declared_dims()
    if declared is None or len(declared) != 2 or declared[1] != 3:
        return selected
    # As many rows as the file declares: the current operator returns only rows of kept boxes.
    padding = build.broadcast(build.constant(np.int32(-1)), vector(*declared))
    return build.slice(build.concat([selected, padding], 0), vector(0), vector(declared[0]), vector(1), vector(0))


@older_layer("RegionYolo")
def region_yolo(layer: LayerCall, data: Value) -> Value:
    """The activations of the last layer of YOLO.

    Source: region_yolo.cpp.
    """
    do_softmax = layer.flag("do_softmax", True)
    mask = layer.integers("mask", ())
    attributes: dict[str, Any] = {
        "coords": layer.integer("coords"),
        "classes": layer.integer("classes"),
        "num": layer.integer("num"),
        "anchors": layer.numbers("anchors", ()),
    }
    ends: dict[str, Any] = {"axis": layer.integer("axis", 1), "end_axis": layer.integer("end_axis", 3)}
    return build.region_yolo(as_floats(data), do_softmax=do_softmax, mask=mask, **attributes, **ends)


@older_layer("ReorgYolo")
def reorg_yolo(layer: LayerCall, data: Value) -> Value:
    """Space to depth, in the order of YOLO."""
    return build.reorg_yolo(as_floats(data), stride=(layer.integer("stride"),))


@older_layer("CTCGreedyDecoder")
def ctc_greedy_decoder(layer: LayerCall, data: Value, mask: Value | None = None) -> Value:
    """The most probable class of each step without repetitions and blanks, followed by -1.

    Source: ctc_greedy.cpp.
    """
    dims = dims_of(data)
    data = as_floats(data) if len(dims) == 3 else reshape_to(as_floats(data), *dims[:2], -1)
    if mask is None:
        sequence_mask = build.broadcast(build.constant(np.float32(1)), vector(*dims[:2]))
    else:
        sequence_mask = as_floats(mask) if rank_of(mask) == 2 else reshape_to(as_floats(mask), *dims[:2])
    return build.ctc_greedy_decoder(data, sequence_mask, ctc_merge_repeated=layer.flag("ctc_merge_repeated", True))
