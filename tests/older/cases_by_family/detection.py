"""Normalization, detection, and what belongs to the network as a whole."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from tests.older.cases_by_family.single import Case, X, case, image, sigmoid, single_layer
from tests.older.files import OlderFile


@case
def batch_normalization() -> Case:
    variance, mean = np.abs(image(4, seed=1)) + 0.5, image(4, seed=2)
    expected = (X - mean[:, None, None]) / np.sqrt(variance + 0.01)[:, None, None]
    return single_layer("BatchNormalization", [X], expected, {"epsilon": 0.01}, {"weights": variance, "biases": mean})


@case
def norm_across_channels() -> Case:
    x = image(1, 6, 3, 3)
    squares = np.stack([(x[:, max(c - 1, 0) : c + 2] ** 2).sum(1) for c in range(6)], 1)
    told = {"local-size": 3, "alpha": 0.5, "beta": 0.75, "k": 1, "region": "across"}
    return single_layer("Norm", [x], x / (1 + 0.5 / 3 * squares) ** 0.75, told, version=2, element="norm_data")


@case
def normalize_of_places() -> Case:
    w = image(4, seed=1)
    expected = X / np.sqrt((X**2).sum(1, keepdims=True) + 0.1) * w[:, None, None]
    return single_layer(
        "Normalize", [X], expected, {"across_spatial": 0, "channel_shared": 0, "eps": 0.1}, {"weights": w}
    )


@case
def normalize_of_everything() -> Case:
    w = image(1, seed=1)
    expected = X / np.sqrt((X**2).sum() + 0.1) * w
    return single_layer(
        "Normalize", [X], expected, {"across_spatial": 1, "channel_shared": 1, "eps": 0.1}, {"weights": w}
    )


@case
def mvn_of_channels() -> Case:
    mean, variance = X.mean((2, 3), keepdims=True), X.var((2, 3), keepdims=True)
    told = {"across_channels": 0, "normalize_variance": 1, "eps": 0.01}
    return single_layer("MVN", [X], (X - mean) / np.sqrt(variance + 0.01), told)


@case
def mvn_that_subtracts_alone() -> Case:
    told = {"across_channels": 1, "normalize_variance": 0, "eps": 0.01}
    return single_layer("MVN", [X], X - X.mean((1, 2, 3), keepdims=True), told)


@case
def grn() -> Case:
    return single_layer("GRN", [X], X / np.sqrt((X**2).sum(1, keepdims=True) + 0.5), {"bias": 0.5})


@case
def softmax() -> Case:
    x = image(2, 5)
    return single_layer("SoftMax", [x], np.exp(x) / np.exp(x).sum(1, keepdims=True), {"axis": 1})


@case
def log_softmax() -> Case:
    x = image(2, 5)
    return single_layer("LogSoftmax", [x], x - np.log(np.exp(x).sum(1, keepdims=True)), {"axis": 1})


@case
def prior_box() -> Case:
    told = {"min_size": 2.0, "max_size": 8.0, "aspect_ratio": 4.0, "flip": 1, "clip": 0, "step": 4.0, "offset": 0.5}
    told |= {"variance": (0.1, 0.1, 0.2, 0.2)}
    feature, picture = image(1, 1, 2, 3), image(1, 3, 8, 12)
    boxes = []
    for row, column in product(range(2), range(3)):
        x, y = (column + 0.5) * 4, (row + 0.5) * 4
        for width, height in ((2, 2), (4, 4), (4, 1), (1, 4)):
            boxes += [(x - width / 2) / 12, (y - height / 2) / 8, (x + width / 2) / 12, (y + height / 2) / 8]
    expected = np.float32([[boxes, np.tile([0.1, 0.1, 0.2, 0.2], 24)]])
    return single_layer("PriorBox", [feature, picture], expected, told)


@case
def prior_box_clustered() -> Case:
    told = {"width": (2.0, 6.0), "height": (4.0, 1.0), "clip": 1, "step": 4.0, "offset": 0.5, "variance": 0.1}
    told |= {"img_h": 0, "img_w": 0, "step_h": 0.0, "step_w": 0.0}
    told["variance"] = (0.1, 0.1, 0.2, 0.2)
    feature, picture = image(1, 1, 2, 3), image(1, 3, 8, 12)
    boxes = []
    for row, column in product(range(2), range(3)):
        x, y = (column + 0.5) * 4, (row + 0.5) * 4
        for width, height in ((2, 4), (6, 1)):
            boxes += [(x - width / 2) / 12, (y - height / 2) / 8, (x + width / 2) / 12, (y + height / 2) / 8]
    expected = np.float32([[np.clip(boxes, 0, 1), np.tile([0.1, 0.1, 0.2, 0.2], 12)]])
    return single_layer("PriorBoxClustered", [feature, picture], expected, told)


@case
def detection_output() -> Case:
    # Two priors far from each other, whose boxes are the priors themselves.
    priors = np.float32([[[0.1, 0.1, 0.3, 0.3, 0.6, 0.6, 0.9, 0.9], [0.1, 0.1, 0.2, 0.2] * 2]])
    scores = np.float32([[0.1, 0.9, 0.4, 0.6]])
    told = {"num_classes": 2, "share_location": 1, "background_label_id": 0, "nms_threshold": 0.45, "keep_top_k": 3}
    told |= {"code_type": "caffe.PriorBoxParameter.CENTER_SIZE", "confidence_threshold": 0.2, "top_k": 10}
    told |= {"variance_encoded_in_target": 0, "input_height": 1, "input_width": 1, "normalized": 1, "eta": 1.0}
    expected = np.zeros((1, 1, 3, 7), np.float32)
    expected[0, 0, :2] = [[0, 1, 0.9, 0.1, 0.1, 0.3, 0.3], [0, 1, 0.6, 0.6, 0.6, 0.9, 0.9]]
    expected[0, 0, 2, 0] = -1
    return single_layer("DetectionOutput", [np.zeros((1, 8), np.float32), scores, priors], expected, told)


@case
def region_yolo() -> Case:
    x = image(1, 14, 2, 2)
    told = {
        "axis": 1,
        "end_axis": 3,
        "coords": 4,
        "classes": 2,
        "num": 2,
        "do_softmax": 0,
        "mask": (0, 1),
        "anchors": 1.0,
    }
    grid = x.reshape(1, 2, 7, 2, 2)
    expected = np.concatenate([sigmoid(grid[:, :, :2]), grid[:, :, 2:4], sigmoid(grid[:, :, 4:])], 2)
    return single_layer("RegionYolo", [x], expected.reshape(x.shape), told)


@case
def reorg_yolo() -> Case:
    x = image(1, 8, 4, 6)
    flat, expected = x.reshape(-1), np.zeros(x.size, np.float32)
    for c, y, z in product(range(8), range(4), range(6)):
        channel, block = c % 2, c // 2
        source = (channel * 8 + 2 * y + block // 2) * 12 + 2 * z + block % 2
        expected[(c * 4 + y) * 6 + z] = flat[source]
    return single_layer("ReorgYolo", [x], expected.reshape(1, 32, 2, 3), {"stride": 2})


@case
def ctc_greedy_decoder() -> Case:
    x = np.zeros((5, 1, 3), np.float32)
    x[np.arange(5), 0, [0, 0, 2, 1, 1]] = 1
    expected = np.float32([0, 1, -1, -1, -1]).reshape(1, 5, 1, 1)
    return single_layer("CTCGreedyDecoder", [x, np.ones((5, 1), np.float32)], expected, {"ctc_merge_repeated": 1})


@case
def roi_pooling() -> Case:
    x = np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)
    rois = np.float32([[0, 0, 0, 3, 3]])
    told = {"pooled_h": 2, "pooled_w": 2, "spatial_scale": 1.0, "method": "max"}
    return single_layer("ROIPooling", [x, rois], np.float32([5, 7, 13, 15]).reshape(1, 1, 2, 2), told)


@case
def psroi_pooling() -> Case:
    x = np.repeat(np.arange(4, dtype=np.float32), 16).reshape(1, 4, 4, 4)
    told = {"output_dim": 1, "group_size": 2, "spatial_scale": 1.0, "mode": "average"}
    rois = np.float32([[0, 0, 0, 3, 3]])
    return single_layer("PSROIPooling", [x, rois], np.float32([0, 1, 2, 3]).reshape(1, 1, 2, 2), told)


@case
def non_max_suppression() -> Case:
    boxes = np.float32([[[0, 0, 1, 1], [0, 0, 1, 0.9], [0, 2, 1, 3]]])
    scores = np.float32([[[0.9, 0.8, 0.7]]])
    limits = [(np.int32([3]), "I32"), (np.float32([0.5]), "FP32"), (np.float32([0.0]), "FP32")]
    expected = np.int32([[0, 0, 0], [0, 0, 2], [-1, -1, -1]])
    told = {"center_point_box": 0, "sort_result_descending": 1}
    return single_layer(
        "NonMaxSuppression", [boxes, scores], expected, told, consts=limits, precisions=["I32"], version=7
    )


@case
def a_network_of_fp16() -> Case:
    w = image(3, 4, 1, 1).astype(np.float16).astype(np.float32)
    expected = np.einsum("nchw,oc->nohw", X, w[..., 0, 0])
    file = OlderFile(version=4, precision="FP16")
    x = file.input("in0", *X.shape)
    told = {"kernel": (1, 1), "output": 3, "group": 1}
    file.layer("Convolution", [x], expected.shape, data=told, blobs={"weights": w})
    return file, [X], [expected]


@case
def ports_without_ids() -> Case:
    return single_layer("Tile", [X], np.tile(X, (1, 2, 1, 1)), {"axis": 1, "tiles": 2}, version=2, has_port_ids=False)


@case
def mean_values() -> Case:
    file, inputs, (expected,) = single_layer(
        "ReLU", [image(1, 3, 2, 2) * 100], np.zeros((1, 3, 2, 2), np.float32), None
    )
    channels = "".join(f'<channel id="{c}"><mean value="{10 * c}"/></channel>' for c in (0, 2, 1))
    file.extra = f'<pre-process reference-layer-name="in0" mean-precision="FP32">{channels}</pre-process>'
    expected = np.maximum(inputs[0] - np.float32([0, 10, 20])[:, None, None], 0)
    return file, inputs, [expected]


@case
def mean_values_and_scales() -> Case:
    file, inputs, (expected,) = single_layer(
        "ReLU", [image(1, 3, 2, 2) * 100], np.zeros((1, 3, 2, 2), np.float32), None
    )
    channels = "".join(f'<channel id="{c}"><mean value="5"/><scale value="{c + 1}"/></channel>' for c in range(3))
    file.extra = f"<pre-process>{channels}</pre-process>"
    expected = np.maximum((inputs[0] - 5) / np.float32([1, 2, 3])[:, None, None], 0)
    return file, inputs, [expected]


@case
def mean_images() -> Case:
    file, inputs, _ = single_layer("ReLU", [image(1, 3, 2, 2)], np.zeros((1, 3, 2, 2), np.float32), None)
    means = image(3, 2, 2, seed=1)
    file.stored = means.tobytes()
    channels = "".join(f'<channel id="{c}"><mean offset="{16 * c}" size="16"/></channel>' for c in range(3))
    file.extra = f'<pre-process mean-precision="FP32">{channels}</pre-process>'
    return file, inputs, [np.maximum(inputs[0] - means, 0)]


@case
def lrn_within_a_channel() -> Case:
    padded = np.pad(X**2, [(0, 0), (0, 0), (1, 1), (1, 1)])
    squares = sum(padded[:, :, i : i + 5, j : j + 6] for i in range(3) for j in range(3))
    told = {"local-size": 3, "alpha": 0.5, "beta": 0.75, "k": 1, "region": "same"}
    return single_layer("LRN", [X], (X / (1 + 0.5 / 9 * squares) ** 0.75).astype(np.float32), told)


def _one_anchor(type: str, data: dict[str, Any]) -> Case:
    """A single place of nine anchors; only the middle one, of 16 x 16 and ratio 1, is probable."""
    scores, deltas = np.zeros((1, 18, 1, 1), np.float32), np.zeros((1, 36, 1, 1), np.float32)
    scores[0, 9:, 0, 0] = 0.01
    scores[0, 12, 0, 0] = 0.9
    picture = np.float32([[64, 64, 1]])
    expected = np.float32([[0, 0, 0, 16, 16]])  # the corner is not moved back by one
    return single_layer(type, [scores, deltas, picture], expected, data)


@case
def proposal() -> Case:
    told = {"base_size": 16, "feat_stride": 16, "min_size": 1, "pre_nms_topn": 1, "post_nms_topn": 1}
    return _one_anchor("Proposal", told | {"nms_thresh": 0.7, "ratio": (0.5, 1, 2), "scale": (1, 2, 4)})


@case
def simpler_nms() -> Case:
    told = {"feat_stride": 16, "min_bbox_size": 1, "pre_nms_topn": 1, "post_nms_topn": 1, "iou_threshold": 0.7}
    return _one_anchor("SimplerNMS", told | {"scale": (1, 2, 4), "cls_threshold": 0.5})
