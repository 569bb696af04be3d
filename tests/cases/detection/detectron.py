"""The ExperimentalDetectron operators."""

from __future__ import annotations

from typing import Any

import numpy as np

from ir_exec.types import Array
from tests.conformance.case import Case
from tests.helpers.box_cases import boxes, cast, distinct
from tests.helpers.values import uniform


# ExperimentalDetectronPriorGridGenerator.
def grid(priors: int, size: tuple[int, int], image: tuple[int, int], **attributes: Any) -> Case:
    inputs = (
        uniform((priors, 4), -20, 20, 500),
        np.zeros((1, 2, *size), np.float32),
        np.zeros((1, 3, *image), np.float32),
    )
    return Case("ExperimentalDetectronPriorGridGenerator", 6, inputs, attributes, rtol=1e-6, atol=1e-5)


STEPS: list[dict[str, object]] = [{}, {"stride_x": 32.0, "stride_y": 16.0}, {"stride_x": 4.5}, {"h": 3, "w": 4}]
CASES: list[Case] = []

for flatten in (True, False):
    CASES += [grid(3, (3, 4), (33, 50), flatten=flatten, **attributes) for attributes in STEPS]
    CASES += [grid(1, (1, 1), (20, 20), flatten=flatten)]
CASES.append(cast(grid(3, (3, 4), (33, 50)), "f16", 0.02))
part = grid(2, (3, 4), (32, 48), flatten=True, h=2, w=2, stride_x=8.0, stride_y=8.0)
corners = [[4, 4], [12, 4], [4, 12], [12, 12]]
filled = np.zeros((24, 4), np.float32)
for index, corner in enumerate(corners):
    filled[2 * index : 2 * index + 2] = part.inputs[0] + np.tile(np.array(corner, np.float32), 2)
CASES.append(
    Case(
        part.type, 6, part.inputs, part.attributes, (), 1, (filled,), "nobody", 1e-6, 1e-6, note="what is left is open"
    )
)


# ExperimentalDetectronROIFeatureExtractor.
def extract(rois: Array, sizes: list[tuple[int, int]], channels: int = 2, **options: Any) -> Case:
    scales = tuple(4 * 2**i for i in range(len(sizes)))
    attributes = {"output_size": 3, "sampling_ratio": 2, "pyramid_scales": scales, **options}
    levels = tuple(uniform((1, channels, *size), -2, 2, 700 + i) for i, size in enumerate(sizes))
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
def detectron(rois: int, classes: int, seed: int, **options: Any) -> Case:
    attributes = {
        "score_threshold": 0.2,
        "nms_threshold": 0.4,
        "num_classes": classes,
        "post_nms_count": 20,
        "max_detections_per_image": 10,
        "max_delta_log_wh": 4.135,
        "deltas_weights": (10.0, 10.0, 5.0, 5.0),
        **options,
    }
    inputs = (
        boxes((rois,), seed),
        uniform((rois, classes * 4), -2, 2, seed + 2),
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
    CASES.append(detectron(12, 3, 800 + 10 * seed, **attributes))
    CASES.append(detectron(7, 5, 805 + 10 * seed, **attributes))
# Scores next to the threshold, on both sides of it and on it; 2**-14 of it is below the resolution of f16.
for threshold in (0.05, 0.2, 0.7):
    close = detectron(9, 2, 904, score_threshold=threshold, nms_threshold=0.99, max_detections_per_image=9)
    near = np.float32(threshold)
    steps = near * (1 + np.array([-(2.0**-8), -(2.0**-12), -(2.0**-14), 0, 2.0**-14, 2.0**-12, 2.0**-8], np.float32))
    close.inputs[2][:, 1] = [*steps, np.nextafter(near, np.float32(0)), np.nextafter(near, np.float32(1))]
    CASES.append(close)
odd = detectron(8, 3, 900, score_threshold=0.0, max_detections_per_image=30)
odd.inputs[0][2] = [20, 20, 20, 30]
odd.inputs[0][5] = [20, 20, 10, 30]
CASES += [odd, detectron(6, 1, 901), detectron(5, 2, 902), cast(detectron(12, 3, 903, nms_threshold=0.9), "f16", 0.02)]
