"""GenerateProposals and the ExperimentalDetectron operators."""

from __future__ import annotations

from typing import Any

import numpy as np

from ir_exec.types import Array, ElementType
from tests.conformance.case import Case

CASES: list[Case] = []


def floats(shape: tuple[int, ...], low: float, high: float, seed: int) -> Array:
    return np.random.default_rng(seed).uniform(low, high, shape).astype(np.float32)


def distinct(shape: tuple[int, ...], seed: int) -> Array:
    """Scores that differ from each other, none of them 0."""
    size = int(np.prod(shape))
    order = np.random.default_rng(seed).permutation(size) + 1
    return (order / (size + 1)).reshape(shape).astype(np.float32)


def boxes(shape: tuple[int, ...], seed: int, reach: float = 40.0, size: float = 30.0) -> Array:
    start = floats((*shape, 2), 0, reach, seed)
    return np.concatenate([start, start + floats((*shape, 2), 5, size, seed + 1)], axis=-1)


def cast(case: Case, kind: str, tolerance: float) -> Case:
    """The same with inputs of another floating type."""
    inputs = tuple(array.astype(ElementType[kind].dtype) for array in case.inputs)
    return Case(case.type, case.opset, inputs, case.attributes, (), case.outputs, rtol=tolerance, atol=tolerance)


# GenerateProposals.
def generate(images: int, anchors: int, height: int, width: int, *scale: float, seed: int = 0, **rest: Any) -> Case:
    attributes = {"min_size": 1.0, "nms_threshold": 0.5, "pre_nms_count": 40, "post_nms_count": 20, **rest}
    inputs = (
        np.tile(np.array([[50.0, 60.0, *scale]], np.float32), (images, 1)),
        boxes((height, width, anchors), seed),
        floats((images, anchors * 4, height, width), -0.6, 0.6, seed + 2),
        distinct((images, anchors, height, width), seed + 3),
    )
    return Case("GenerateProposals", 9, inputs, attributes, (), 3, rtol=1e-5, atol=1e-4)


for seed, attributes in enumerate(
    [
        {},
        {"normalized": False},
        {"nms_threshold": 0.2, "min_size": 12.0},
        {"nms_threshold": 0.2, "min_size": 12.0, "normalized": False},
        {"pre_nms_count": 9, "post_nms_count": 3},
        {"pre_nms_count": 1000, "post_nms_count": 1000, "nms_threshold": 0.8},
        {"roi_num_type": "i32"},
        {"nms_threshold": 0.0},
        {"min_size": 100.0},
    ]
):
    CASES += [
        generate(1, 3, 3, 4, 1.0, seed=10 * seed, **attributes),
        generate(2, 2, 4, 3, 1.5, 2.0, seed=10 * seed + 5, **attributes),
    ]
CASES += [
    generate(3, 1, 3, 3, 1.0, seed=200),
    generate(1, 1, 1, 1, 1.0, seed=201),
    cast(generate(1, 3, 3, 4, 1.0, seed=202, nms_threshold=0.9), "f16", 0.05),
    cast(generate(1, 3, 3, 4, 1.0, seed=203, nms_threshold=0.9), "bf16", 0.5),
]
mixed = generate(1, 3, 3, 4, 1.0, seed=204)
half = (mixed.inputs[0].astype(np.float16), *mixed.inputs[1:])
CASES.append(Case(mixed.type, 9, half, mixed.attributes, (), 3, rtol=1e-3, atol=0.02, note="types that differ"))


# ExperimentalDetectronGenerateProposalsSingleImage.
def single(anchors: int, height: int, width: int, seed: int, **rest: Any) -> Case:
    attributes = {"min_size": 0.0, "nms_threshold": 0.5, "pre_nms_count": 40, "post_nms_count": 12, **rest}
    inputs = (
        np.array([50.0, 60.0, 1.0], np.float32),
        boxes((height * width * anchors,), seed),
        floats((anchors * 4, height, width), -0.6, 0.6, seed + 2),
        distinct((anchors, height, width), seed + 3),
    )
    name = "ExperimentalDetectronGenerateProposalsSingleImage"
    return Case(name, 6, inputs, attributes, (), 2, rtol=1e-5, atol=1e-4)


for seed, attributes in enumerate(
    [
        {},
        {"nms_threshold": 0.2},
        {"nms_threshold": 0.9, "post_nms_count": 30},
        {"pre_nms_count": 10, "post_nms_count": 4},
        {"pre_nms_count": 7, "min_size": 9.0},
        {"post_nms_count": 1},
        {"nms_threshold": 0.0},
    ]
):
    CASES.append(single(3, 3, 4, 300 + 10 * seed, **attributes))
    CASES.append(single(1, 5, 2, 305 + 10 * seed, **attributes))
CASES.append(cast(single(3, 3, 4, 400, nms_threshold=0.9), "f16", 0.05))


# ExperimentalDetectronPriorGridGenerator.
def grid(priors: int, size: tuple[int, int], image: tuple[int, int], **attributes: Any) -> Case:
    inputs = (
        floats((priors, 4), -20, 20, 500),
        np.zeros((1, 2, *size), np.float32),
        np.zeros((1, 3, *image), np.float32),
    )
    return Case("ExperimentalDetectronPriorGridGenerator", 6, inputs, attributes, rtol=1e-6, atol=1e-5)


for flatten in (True, False):
    for attributes in ({}, {"stride_x": 32.0, "stride_y": 16.0}, {"stride_x": 4.5}, {"h": 3, "w": 4}):
        CASES.append(grid(3, (3, 4), (33, 50), flatten=flatten, **attributes))
    CASES.append(grid(1, (1, 1), (20, 20), flatten=flatten))
CASES.append(cast(grid(3, (3, 4), (33, 50)), "f16", 0.02))
part = grid(2, (3, 4), (32, 48), flatten=True, h=2, w=2, stride_x=8.0, stride_y=8.0)
corners = [[4, 4], [12, 4], [4, 12], [12, 12]]
filled = np.zeros((24, 4), np.float32)
for place, corner in enumerate(corners):
    filled[2 * place : 2 * place + 2] = part.inputs[0] + np.tile(np.array(corner, np.float32), 2)
CASES.append(
    Case(
        part.type, 6, part.inputs, part.attributes, (), 1, (filled,), "nobody", 1e-6, 1e-6, note="what is left is open"
    )
)


# ExperimentalDetectronTopKROIs.
def top(count: int, most: int, **rest: Any) -> Case:
    inputs = (boxes((count,), 600), distinct((count,), 601))
    return Case("ExperimentalDetectronTopKROIs", 6, inputs, {"max_rois": most}, **rest)


CASES += [top(9, 4), top(9, 9), top(1, 1), top(9, 0), top(20, 3)]
CASES += [cast(top(9, 4), kind, 0) for kind in ("f16", "bf16")]
few = top(2, 4)
rows = np.concatenate([few.inputs[0][np.argsort(-few.inputs[1])], np.zeros((2, 4), np.float32)])
CASES.append(Case(few.type, 6, few.inputs, few.attributes, (), 1, (rows,), "nobody", note="what is left is open"))


# ExperimentalDetectronROIFeatureExtractor.
def extract(rois: Array, sizes: list[tuple[int, int]], channels: int = 2, **rest: Any) -> Case:
    scales = tuple(4 * 2**i for i in range(len(sizes)))
    attributes = {"output_size": 3, "sampling_ratio": 2, "pyramid_scales": scales, **rest}
    levels = tuple(floats((1, channels, *size), -2, 2, 700 + i) for i, size in enumerate(sizes))
    return Case("ExperimentalDetectronROIFeatureExtractor", 6, (rois, *levels), attributes, (), 2, rtol=1e-4, atol=1e-5)


LEVELS = [(40, 50), (20, 25), (10, 13), (5, 7)]
REGIONS = np.array(
    [
        [0, 0, 100, 90],
        [10, 20, 250, 200],
        [-20, -30, 60, 50],
        [5, 5, 500, 600],
        [50, 40, 52, 41],
        [30, 30, 30, 50],
        [40, 40, 20, 10],
        [150, 100, 220, 190],
        [300, 300, 400, 400],
    ],
    np.float32,
)
for attributes in (
    {},
    {"aligned": True},
    {"sampling_ratio": 0},
    {"sampling_ratio": 0, "aligned": True},
    {"output_size": 1, "sampling_ratio": 1},
    {"output_size": 7},
):
    CASES.append(extract(REGIONS, LEVELS, **attributes))
    CASES.append(extract(REGIONS[:4], LEVELS[:2], channels=1, **attributes))
CASES += [
    extract(REGIONS, LEVELS[:1]),
    extract(boxes((12,), 710, 150, 300), LEVELS, pyramid_scales=(4, 8, 16, 32, 64)),
    cast(extract(REGIONS, LEVELS), "f16", 0.01),
]


# ExperimentalDetectronDetectionOutput.
def detected(rois: int, classes: int, seed: int, **rest: Any) -> Case:
    attributes = {
        "score_threshold": 0.2,
        "nms_threshold": 0.4,
        "num_classes": classes,
        "post_nms_count": 20,
        "max_detections_per_image": 10,
        "max_delta_log_wh": 4.135,
        "deltas_weights": (10.0, 10.0, 5.0, 5.0),
        **rest,
    }
    inputs = (
        boxes((rois,), seed),
        floats((rois, classes * 4), -2, 2, seed + 2),
        distinct((rois, classes), seed + 3),
        np.array([[50, 60, 1]], np.float32),
    )
    name = "ExperimentalDetectronDetectionOutput"
    return Case(name, 6, inputs, attributes, (), 3, rtol=1e-5, atol=1e-4)


for seed, attributes in enumerate(
    [
        {},
        {"max_detections_per_image": 60},
        {"nms_threshold": 0.1, "post_nms_count": 2},
        {"post_nms_count": -1, "nms_threshold": 0.9},
        {"score_threshold": 0.9},
        {"score_threshold": 2.0},
        {"class_agnostic_box_regression": True},
        {"max_delta_log_wh": 0.1},
        {"deltas_weights": (1.0, 2.0, 4.0, 8.0), "max_detections_per_image": 1},
    ]
):
    CASES.append(detected(12, 3, 800 + 10 * seed, **attributes))
    CASES.append(detected(7, 5, 805 + 10 * seed, **attributes))
odd = detected(8, 3, 900, score_threshold=0.0, max_detections_per_image=30)
odd.inputs[0][2] = [20, 20, 20, 30]
odd.inputs[0][5] = [20, 20, 10, 30]
CASES += [odd, detected(6, 1, 901), detected(5, 2, 902), cast(detected(12, 3, 903, nms_threshold=0.9), "f16", 0.02)]
