"""ROIPooling, PSROIPooling, DeformablePSROIPooling."""

from __future__ import annotations

import numpy as np

from ir_exec.types import Array, ElementType
from tests.conformance.case import Case
from tests.helpers.region_cases import case, numbers

TYPES = ("f32", "f16", "bf16", "f64")


# ROIPooling
REGIONS = np.array([[0, 0, 0, 3, 2], [1, 1, 1, 5, 3], [0, 3, 3, 1, 1], [1, -2, -1, 8, 9], [0, 7, 1, 9, 2]], np.float32)
PARTS = np.array(
    [[0, 0, 0, 1, 1], [1, 0.1, 0.2, 0.7, 0.9], [0, 0.5, 0.5, 0.2, 0.2], [1, -0.2, 0, 1.2, 1.1]], np.float32
)
ENDED = np.array([[0, 0, 0, 3, 2], [-1, 0, 0, 3, 2], [1, 0, 0, 3, 2]], np.float32)
CASES: list[Case] = []

for opset in (1, 2):
    for high, wide in ((2, 2), (1, 1), (3, 5)):
        for scale in (1.0, 0.6, 0.35):
            attributes = {"pooled_h": high, "pooled_w": wide, "spatial_scale": scale, "method": "max"}
            CASES += [case("ROIPooling", opset, (numbers(2, 3, 4, 6, low=-1), REGIONS), attributes)]
        attributes = {"pooled_h": high, "pooled_w": wide, "spatial_scale": 1.0, "method": "bilinear"}
        CASES += [case("ROIPooling", opset, (numbers(2, 3, 4, 6, low=-1), PARTS), attributes)]
for element_type in TYPES[1:3]:
    dtype = ElementType[element_type].dtype
    size = {"pooled_h": 2, "pooled_w": 2, "spatial_scale": 1.0}
    data = numbers(2, 3, 4, 6, element_type=element_type)
    CASES += [
        case("ROIPooling", 2, (data, REGIONS.astype(dtype)), size),
        case("ROIPooling", 2, (data, (PARTS[:1] / 2).astype(dtype)), size | {"method": "bilinear"}),
    ]
CASES += [
    case("ROIPooling", 2, (numbers(2, 3, 4, 6), ENDED), {"pooled_h": 2, "pooled_w": 2, "spatial_scale": 1.0}),
    case("ROIPooling", 2, (numbers(2, 3, 4, 6), ENDED[:0]), {"pooled_h": 2, "pooled_w": 2, "spatial_scale": 1.0},
         oracle="nobody", expected=(np.zeros((0, 3, 2, 2), np.float32),)),
]  # fmt: skip

# So many regions of so many elements that, with other values in `costs`, tables of greatest rectangles are made.
CORNERS = np.random.default_rng(4).integers(0, 9, (40, 4))
MANY = np.concatenate([np.arange(40)[:, np.newaxis] % 2, CORNERS[:, :2] // 3, 5 + CORNERS[:, 2:]], 1).astype(np.float32)
CASES += [
    case("ROIPooling", 2, (numbers(2, channels, 11, 13, low=-1, element_type=element_type),
                           MANY.astype(ElementType[element_type].dtype)),
         {"pooled_h": high, "pooled_w": wide, "spatial_scale": 1.0})
    for element_type in ("f32", "f16")
    for channels, high, wide in ((1, 1, 1), (3, 2, 1), (2, 1, 3), (1, 2, 2), (2, 3, 2))
]  # fmt: skip


# PSROIPooling
def sensitive(
    regions: Array, channels: int, dim: int, group: int, element_type: str = "f32", **attributes: object
) -> Case:
    data = numbers(2, channels, 5, 6, low=-1, element_type=element_type)
    all_attributes = {"output_dim": dim, "group_size": group, "spatial_scale": 1.0, "mode": "average"} | attributes
    if all_attributes["mode"] == "bilinear":
        # OpenVINO does not know the defaults of the specification.
        all_attributes = {"spatial_bins_x": 1, "spatial_bins_y": 1} | all_attributes
    return case("PSROIPooling", 1, (data, regions.astype(data.dtype)), all_attributes)


for scale in (1.0, 0.6):
    CASES += [
        sensitive(REGIONS, 8, 2, 2, spatial_scale=scale, mode="average"),
        sensitive(REGIONS, 27, 3, 3, spatial_scale=scale),
        sensitive(REGIONS, 3, 3, 1, spatial_scale=scale, mode="average"),
        sensitive(PARTS, 8, 2, 3, spatial_scale=scale, mode="bilinear", spatial_bins_x=2, spatial_bins_y=2),
        sensitive(PARTS, 12, 2, 2, spatial_scale=scale, mode="bilinear", spatial_bins_x=3, spatial_bins_y=2),
        sensitive(PARTS, 3, 3, 4, spatial_scale=scale, mode="bilinear"),
        sensitive(PARTS, 6, 2, 1, spatial_scale=scale, mode="bilinear", spatial_bins_x=3, spatial_bins_y=1),
    ]
BEYOND = np.array([[0, -0.1, -0.15, 0.5, 0.5], [1, 0.4, 0.3, 1.1, 1.2]], np.float32)
CASES += [sensitive(BEYOND, 8, 2, group, mode="bilinear", spatial_bins_x=2, spatial_bins_y=2) for group in (2, 3, 5)]
CASES += [sensitive(ENDED, 8, 2, 2, mode="average")]
CASES += [sensitive(REGIONS, 8, 2, 2, element_type, mode="average") for element_type in ("f16", "bf16")]
CASES += [
    sensitive(PARTS[1:2], 8, 2, 3, "f16", mode="bilinear", spatial_bins_x=2, spatial_bins_y=2),
    case("PSROIPooling", 1, (numbers(2, 8, 5, 6), REGIONS.astype(np.float16)),
         {"output_dim": 2, "group_size": 2, "spatial_scale": 1.0, "mode": "average"}),
    sensitive(REGIONS, 8, 2, 2, spatial_bins_x=0, spatial_bins_y=0),
    case("PSROIPooling", 1, (np.ones((1, 2, 3, 3), np.float32), np.array([[0, 0, 0, 2, 2]], np.float32)),
         {"output_dim": 2, "spatial_scale": 1.0}, oracle="nobody", expected=(np.ones((1, 2, 1, 1), np.float32),),
         note="OpenVINO does not know the default of mode"),
]  # fmt: skip


# DeformablePSROIPooling
def deformable(group: int, part: int, classes: int | None, element_type: str = "f32", **attributes: object) -> Case:
    data = numbers(2, 4 * group**2, 5, 6, low=-1, element_type=element_type)
    all_attributes = {"output_dim": 4, "group_size": group, "part_size": part, "spatial_scale": 1.0} | attributes
    inputs = [data, REGIONS.astype(data.dtype)]
    if classes is not None:
        inputs.append(numbers(5, 2 * classes, part, part, low=-0.5, high=0.5, seed=4, element_type=element_type))
    return case("DeformablePSROIPooling", 1, tuple(inputs), all_attributes)


for scale in (1.0, 0.6):
    CASES += [
        deformable(2, 2, None, spatial_scale=scale, spatial_bins_x=2, spatial_bins_y=3, mode="bilinear_deformable"),
        deformable(1, 1, None, spatial_scale=scale),
        deformable(3, 3, 1, spatial_scale=scale, spatial_bins_x=4, spatial_bins_y=4, trans_std=0.1),
        deformable(2, 2, 2, spatial_scale=scale, spatial_bins_x=2, spatial_bins_y=1, trans_std=0.5),
        deformable(3, 2, 4, spatial_scale=scale, spatial_bins_x=1, spatial_bins_y=2),
        deformable(2, 5, 1, spatial_scale=scale, spatial_bins_x=2, spatial_bins_y=2, trans_std=0.7),
    ]
CASES += [
    deformable(2, 2, 1, "f16", spatial_bins_x=2, spatial_bins_y=2, trans_std=0.1),
    case("DeformablePSROIPooling", 1, (numbers(2, 4, 5, 6), ENDED), {"output_dim": 4, "spatial_scale": 1.0}),
]
