"""ROIAlign and ROIAlignRotated."""

from __future__ import annotations

import numpy as np

from ir_exec.types import Array, ElementType
from tests.conformance.case import Case
from tests.helpers.region_cases import case, numbers

TYPES = ("f32", "f16", "bf16", "f64")


# ROIAlign: boxes within, across and beyond the image, and one that ends before it begins.
BOXES = np.array(
    [[0, 0, 3, 2], [1, 1, 1.5, 1.2], [-3, -3, 9, 9], [2.5, 0.5, 5.5, 3], [7, 1, 12, 3], [3, 2, 1, 0.5]], np.float32
)
IMAGES = np.array([0, 1, 1, 0, 0, 1])


def align(
    opset: int, element_type: str = "f32", index: str = "i64", boxes: Array = BOXES, **attributes: object
) -> Case:
    all_attributes = {
        "pooled_h": 2,
        "pooled_w": 3,
        "sampling_ratio": 2,
        "spatial_scale": 1.0,
        "mode": "avg",
    } | attributes
    data = numbers(2, 3, 4, 6, low=-1, element_type=element_type)
    inputs = (data, boxes.astype(data.dtype), IMAGES[: len(boxes)].astype(ElementType[index].dtype))
    return case("ROIAlign", opset, inputs, all_attributes)


CASES: list[Case] = []

for mode in ("avg", "max"):
    for scale in (1.0, 0.6, 1.7):
        CASES += [
            align(3, mode=mode, spatial_scale=scale),
            align(3, mode=mode, spatial_scale=scale, sampling_ratio=0, pooled_h=1, pooled_w=1),
            align(3, mode=mode, spatial_scale=scale, sampling_ratio=3, pooled_h=5, pooled_w=4),
        ]
        for aligned in ("asymmetric", "half_pixel", "half_pixel_for_nn"):
            CASES += [
                align(9, mode=mode, spatial_scale=scale, aligned_mode=aligned),
                align(9, mode=mode, spatial_scale=scale, aligned_mode=aligned, sampling_ratio=0, boxes=BOXES[:5]),
            ]
    for element_type in TYPES[1:]:
        CASES += [align(opset, element_type, mode=mode, boxes=BOXES[:4]) for opset in (3, 9)]
CASES += [align(9, index=index) for index in ("i32", "u8", "i16")]
CASES += [
    case("ROIAlign", 9, (numbers(1, 2, 3, 3), np.full((2, 4), 1, np.float32), np.array([0, 0])),
         {"pooled_h": 1, "pooled_w": 1, "sampling_ratio": 0, "spatial_scale": 1.0, "mode": "avg",
          "aligned_mode": "half_pixel"},
         oracle="nobody", expected=(np.zeros((2, 2, 1, 1), np.float32),), note="no places; the plugin divides by 0"),
    case("ROIAlign", 3, (numbers(1, 2, 3, 3), np.zeros((0, 4), np.float32), np.zeros(0, np.int64)),
         {"pooled_h": 1, "pooled_w": 2, "sampling_ratio": 0, "spatial_scale": 1.0, "mode": "avg"},
         oracle="nobody", expected=(np.zeros((0, 2, 1, 2), np.float32),)),
]  # fmt: skip

# ROIAlignRotated
TURNED = np.array(
    [[2, 2, 3, 2, 0.5], [1, 1, 1.5, 1.2, 0], [3, 3, 12, 9, -1], [4, 1, 2, 5, 3], [0, 0, 1, 1, 0.8]], np.float32
)
for clockwise in (True, False):
    for scale in (1.0, 0.6):
        for ratio in (0, 1, 2):
            attributes = {"pooled_h": 3, "pooled_w": 2, "sampling_ratio": ratio, "spatial_scale": scale}
            inputs = (numbers(2, 3, 4, 6, low=-1), TURNED, IMAGES[:5])
            CASES += [case("ROIAlignRotated", 15, inputs, attributes | {"clockwise_mode": clockwise})]
CASES += [
    case("ROIAlignRotated", 15, (numbers(1, 2, 4, 6, element_type=element_type), TURNED[:1].astype(dtype), IMAGES[:1]),
         {"pooled_h": 2, "pooled_w": 2, "sampling_ratio": 2, "spatial_scale": 1.0})
    for element_type, dtype in (("f16", np.float16), ("f64", np.float64))
]  # fmt: skip
