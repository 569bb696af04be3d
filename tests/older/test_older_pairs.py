"""One network in both layouts: the older file as ir_exec runs it, its twin in operators of today as OpenVINO does.

The pairs are those of OpenVINO's own reader tests of 2020 (`ngraph_reader/*_tests.cpp`): types, attributes and dims of
both halves; here both have the same inputs and weights.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ir_exec import build
from ir_exec.types import Array
from tests.conformance.build import IRFile
from tests.conformance.oracle import Oracle, Refused
from tests.older.cases import image
from tests.older.files import OlderFile

Pair = tuple[OlderFile, Any, list[Array]]


def positive(*dims: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).random(dims).astype(np.float32)


def old(type: str, inputs: list[Array], dims: tuple[int, ...], data: dict[str, Any], version: int = 6) -> OlderFile:
    file = OlderFile(version=version)
    file.layer(type, [file.input(f"in{index}", *array.shape) for index, array in enumerate(inputs)], dims, data=data)
    return file


def parameters(inputs: list[Array]) -> list[build.Value]:
    return [build.parameter(array.shape, "f32", name=f"in{index}") for index, array in enumerate(inputs)]


def interpolate() -> Pair:
    inputs = [image(1, 2, 48, 80)]
    told = {"align_corners": 0, "pad_beg": 0, "pad_end": 0, "mode": "linear", "width": 60, "height": 50}
    (x,) = parameters(inputs)
    sizes, axes = np.array([50, 60]), np.array([2, 3])
    way = "asymmetric"
    twin = build.interpolate(
        x, sizes, axes, mode="linear_onnx", shape_calculation_mode="sizes", coordinate_transformation_mode=way
    )
    return old("Interp", inputs, (1, 2, 50, 60), told, 5), twin, inputs


def resample() -> Pair:
    inputs = [image(1, 2, 6, 8)]
    told = {"type": "caffe.ResampleParameter.LINEAR", "factor": 1.5, "antialias": 0}
    (x,) = parameters(inputs)
    twin = build.interpolate(x, np.array([9, 12]), np.array([2, 3]), mode="linear", shape_calculation_mode="sizes")
    return old("Resample", inputs, (1, 2, 9, 12), told, 5), twin, inputs


def proposal() -> Pair:
    inputs = [positive(1, 12, 34, 62), image(1, 24, 34, 62, seed=1) / 10, np.float32([[300, 500, 1]])]
    told = {"base_size": 16, "box_coordinate_scale": 1, "box_size_scale": 1, "clip_after_nms": 0, "clip_before_nms": 1}
    told |= {"feat_stride": 16, "framework": "", "min_size": 16, "nms_thresh": 0.6, "normalize": 0}
    scales = (4.0, 6.0, 9.0, 16.0, 24.0, 32.0)
    told |= {"post_nms_topn": 200, "pre_nms_topn": 6000, "ratio": 2.669, "scale": scales}
    scores, deltas, size = parameters(inputs)
    twin = build.proposal(
        scores,
        deltas,
        build.reshape(size, np.array([3]), special_zero=False),
        base_size=16,
        pre_nms_topn=6000,
        post_nms_topn=200,
        nms_thresh=0.6,
        feat_stride=16,
        min_size=16,
        ratio=(2.669,),
        scale=scales,
        opset=1,
    )
    return old("Proposal", inputs, (200, 5), told), twin, inputs


def detection_output() -> Pair:
    boxes = positive(1, 10, 2, 2, seed=2) / 2
    corners = np.concatenate([boxes[:, :, 0], boxes[:, :, 0] + boxes[:, :, 1]], 2).reshape(1, 1, 40)
    variances = np.tile(np.float32([0.1, 0.1, 0.2, 0.2]), 10).reshape(1, 1, 40)
    inputs = [image(1, 40, seed=1), positive(1, 30), np.concatenate([corners, variances], 1)]
    told = {"num_classes": 3, "background_label_id": 0, "top_k": 20, "variance_encoded_in_target": 0, "keep_top_k": 10}
    told |= {"code_type": "caffe.PriorBoxParameter.CENTER_SIZE", "share_location": 1, "nms_threshold": 0.45}
    told |= {"confidence_threshold": 0.2, "clip_before_nms": 0, "clip_after_nms": 1, "normalized": 1}
    x, y, z = parameters(inputs)
    twin = build.detection_output(
        x,
        y,
        z,
        keep_top_k=(10,),
        nms_threshold=0.45,
        top_k=20,
        code_type="caffe.PriorBoxParameter.CENTER_SIZE",
        confidence_threshold=0.2,
        clip_after_nms=True,
        normalized=True,
    )
    return old("DetectionOutput", inputs, (1, 1, 10, 7), told), twin, inputs


def region_of_yolo_v2() -> Pair:
    inputs = [image(1, 125, 13, 13)]
    told = {"axis": 1, "end_axis": 3, "classes": 20, "coords": 4, "num": 5, "do_softmax": 1, "mask": ""}
    (x,) = parameters(inputs)
    twin = build.region_yolo(x, axis=1, coords=4, classes=20, end_axis=3, num=5, do_softmax=True)
    return old("RegionYolo", inputs, (1, 21125), told, 5), twin, inputs


def psroi_pooling() -> Pair:
    rois = np.float32([[0, 10, 20, 200, 100], [0, 0, 0, 50, 90]])
    inputs = [image(1, 392, 20, 30), rois]
    told = {"group_size": 7, "output_dim": 8, "spatial_scale": 0.0625, "mode": "average"}
    x, y = parameters(inputs)
    twin = build.psroi_pooling(x, y, spatial_scale=0.0625, output_dim=8, group_size=7)
    return old("PSROIPooling", inputs, (2, 8, 7, 7), told), twin, inputs


def roi_pooling() -> Pair:
    rois = np.float32([[0, 10, 20, 200, 100], [0, 0, 0, 50, 90]])
    inputs = [image(1, 4, 14, 14), rois]
    told = {"method": "max", "pooled_h": 6, "pooled_w": 6, "spatial_scale": 0.0625}
    x, y = parameters(inputs)
    twin = build.roi_pooling(x, y, spatial_scale=0.0625, pooled_h=6, pooled_w=6, method="max")
    return old("ROIPooling", inputs, (2, 4, 6, 6), told), twin, inputs


def norm_of_two_axes() -> Pair:
    inputs = [image(1, 4, 6, 8)]
    told = {"alpha": 0.5, "beta": 0.75, "k": 1, "local-size": 5, "region": "same"}
    (x,) = parameters(inputs)
    twin = build.lrn(x, np.array([2, 3]), alpha=0.5, beta=0.75, bias=1.0, size=5)
    return old("Norm", inputs, (1, 4, 6, 8), told), twin, inputs


def top_k() -> Pair:
    inputs = [image(2, 6)]
    file = OlderFile(version=7)
    x = file.input("in0", 2, 6)
    k = file.const(np.int32([3]), "I32")
    file.layer(
        "TopK", [x, k], (2, 3), (2, 3), data={"axis": 1, "mode": "min", "sort": "index"}, precisions=["FP32", "I32"]
    )
    (y,) = parameters(inputs)
    twin = build.topk(y, np.array(3), axis=1, mode="min", sort="index")
    return file, list(twin), inputs


def deconvolution_with_auto_pad() -> Pair:
    inputs, w = [image(1, 4, 5, 6)], image(4, 3, 3, 3, seed=1)
    file = OlderFile()
    x = file.input("in0", 1, 4, 5, 6)
    told = {"auto_pad": "same_upper", "kernel": (3, 3), "strides": (2, 2), "output": 3, "group": 1}
    told |= {"pads_begin": (0, 0), "pads_end": (1, 1)}
    file.layer("Deconvolution", [x], (1, 3, 10, 12), data=told, blobs={"weights": w})
    (y,) = parameters(inputs)
    twin = build.convolution_backprop_data(y, w, np.array([10, 12]), strides=(2, 2), auto_pad="same_upper")
    return file, twin, inputs


def grid_of_priors() -> Pair:
    inputs = [image(3, 4), image(1, 16, 5, 4), image(1, 3, 50, 40)]
    told = {"flatten": 1, "h": 0, "w": 0, "stride_x": 0, "stride_y": 0}
    priors, features, picture = parameters(inputs)
    twin = build.experimental_detectron_prior_grid_generator(priors, features, picture, flatten=True)
    return old("ExperimentalDetectronPriorGridGenerator", inputs, (60, 4), told), twin, inputs


def best_rois() -> Pair:
    inputs = [image(10, 4), positive(10)]
    rois, scores = parameters(inputs)
    twin = build.experimental_detectron_topk_rois(rois, scores, max_rois=4)
    return old("ExperimentalDetectronTopKROIs", inputs, (4, 4), {"max_rois": 4}), twin, inputs


def features_of_rois() -> Pair:
    corners = positive(6, 2) * 100
    inputs = [np.concatenate([corners, corners + 60], 1), image(1, 3, 40, 40), image(1, 3, 20, 20, seed=1)]
    told = {"output_size": 3, "sampling_ratio": 2, "pyramid_scales": (4, 8), "aligned": 0}
    rois, *levels = parameters(inputs)
    twin = build.experimental_detectron_roi_feature_extractor(
        rois, levels, output_size=3, sampling_ratio=2, pyramid_scales=(4, 8)
    )
    return old("ExperimentalDetectronROIFeatureExtractor", inputs, (6, 3, 3, 3), told), twin[0], inputs


def detections() -> Pair:
    corners = positive(8, 2) * 100
    rois = np.concatenate([corners, corners + 60], 1)
    inputs = [rois, image(8, 12, seed=1) / 10, positive(8, 3, seed=2), np.float32([[200, 200, 1]])]
    told = {"score_threshold": 0.1, "nms_threshold": 0.5, "num_classes": 3, "post_nms_count": 20}
    told |= {"max_detections_per_image": 5, "max_delta_log_wh": 4.135, "class_agnostic_box_regression": 0}
    told |= {"deltas_weights": (10.0, 10.0, 5.0, 5.0)}
    twin = build.experimental_detectron_detection_output(
        *parameters(inputs),
        score_threshold=0.1,
        nms_threshold=0.5,
        num_classes=3,
        post_nms_count=20,
        max_detections_per_image=5,
        max_delta_log_wh=4.135,
        deltas_weights=(10.0, 10.0, 5.0, 5.0),
    )
    return old("ExperimentalDetectronDetectionOutput", inputs, (5, 4), told), twin[0], inputs


def proposals() -> Pair:
    corners = positive(36, 2) * 50
    anchors = np.concatenate([corners, corners + 40], 1)
    inputs = [np.float32([100, 100, 1]), anchors, image(12, 3, 4, seed=1) / 10, positive(3, 3, 4, seed=2)]
    file = OlderFile()
    ports = [file.input(f"in{index}", *array.shape) for index, array in enumerate(inputs)]
    told = {"min_size": 0, "nms_threshold": 0.7, "pre_nms_count": 36, "post_nms_count": 10}
    file.layer("ExperimentalDetectronGenerateProposalsSingleImage", ports, (10, 4), (10,), data=told)
    twin = build.experimental_detectron_generate_proposals_single_image(
        *parameters(inputs), min_size=0.0, nms_threshold=0.7, pre_nms_count=36, post_nms_count=10
    )
    return file, list(twin), inputs


PAIRS: list[Callable[[], Pair]] = [
    *(interpolate, resample, proposal, detection_output, region_of_yolo_v2, psroi_pooling, roi_pooling),
    *(norm_of_two_axes, top_k, deconvolution_with_auto_pad, grid_of_priors, best_rois, features_of_rois),
    *(detections, proposals),
]


@pytest.mark.conformance
@pytest.mark.parametrize("pair", PAIRS, ids=lambda function: function.__name__)
def test_both_layouts_compute_the_same(pair: Callable[[], Pair], oracle: Oracle, tmp_path: Path) -> None:
    file, twin, inputs = pair()
    report = file.report()
    assert [diagnostic.code for diagnostic in report.diagnostics] == ["IR005"], str(report)
    build.model(twin).save(tmp_path / "twin.xml")
    answer = oracle.values(
        IRFile((tmp_path / "twin.xml").read_bytes(), (tmp_path / "twin.bin").read_bytes(), tuple(inputs))
    )
    assert not isinstance(answer, Refused), answer.reason
    for ours, theirs in zip(file.run(*inputs), answer, strict=True):
        assert ours.shape == theirs.shape or ours.size == theirs.size
        np.testing.assert_allclose(ours.reshape(theirs.shape), theirs, rtol=1e-4, atol=1e-4)
