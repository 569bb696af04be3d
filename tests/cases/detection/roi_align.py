"""GridSample, ROIAlign, ROIAlignRotated, ROIPooling, PSROIPooling, DeformablePSROIPooling."""

from __future__ import annotations

import numpy as np

from ir_exec.types import Array, ElementType
from tests.conformance.case import Case

TOLERANCE = {"f64": 1e-4, "f32": 1e-4, "f16": 1e-2, "bf16": 5e-2}
TYPES = ("f32", "f16", "bf16", "f64")


def numbers(*shape: int, low: float = 0, high: float = 1, kind: str = "f32", seed: int = 0) -> Array:
    return np.random.default_rng(seed).uniform(low, high, shape).astype(ElementType[kind].dtype)


def case(type: str, opset: int, inputs: tuple[Array, ...], attributes: dict[str, object], **fields: object) -> Case:
    tolerance = TOLERANCE.get(ElementType.of(inputs[0]).name, 0)
    given = {"rtol": tolerance, "atol": tolerance} | fields
    return Case(type, opset, inputs, attributes, **given)  # type: ignore[arg-type]  # as a caller


CASES: list[Case] = []

# GridSample: every mode, places inside and far outside.
for mode in ("bilinear", "nearest", "bicubic"):
    for padding in ("zeros", "border", "reflection"):
        for align in (True, False):
            attributes = {"mode": mode, "padding_mode": padding, "align_corners": align}
            data, grid = numbers(2, 3, 4, 6), numbers(2, 3, 5, 2, low=-3, high=3, seed=1)
            CASES += [
                case("GridSample", 9, (data, grid), attributes),
                case("GridSample", 9, (data[:, :1, :1, :1], grid), attributes),
                case("GridSample", 9, (data[:1, :2, :, :1], grid[:1] / 3), attributes),
            ]
    for kind in ("f16", "bf16", "f64"):
        inputs = (numbers(1, 2, 4, 6, kind=kind), numbers(1, 2, 3, 2, low=-1, seed=2, kind="f32"))
        CASES += [case("GridSample", 9, inputs, {"mode": mode})]
for kind in ("f16", "f64"):
    inputs = (
        numbers(1, 2, 4, 6),
        (numbers(1, 2, 3, 2, low=-8, high=8, seed=2).round() / 8).astype(ElementType[kind].dtype),
    )
    CASES += [case("GridSample", 9, inputs, {"mode": "bilinear"})]
for kind in ("i32", "u8", "i8"):
    data = numbers(1, 2, 4, 6, high=120, kind=kind) - ElementType[kind].dtype.type(0 if kind == "u8" else 60)
    for mode in ("bilinear", "nearest"):
        CASES += [case("GridSample", 9, (data, numbers(1, 3, 5, 2, low=-1.2, high=1.2, seed=3)), {"mode": mode})]
corners = np.array([[[[-1, -1], [1, 1]], [[0, 0], [1, -1]]]], np.float32)
square = np.arange(9, dtype=np.float32).reshape(1, 1, 3, 3)
CASES += [
    case("GridSample", 9, (square, corners), {}),
    case("GridSample", 9, (square, corners), {"align_corners": True, "mode": "nearest"},
         expected=(np.array([[[[0, 8], [4, 2]]]], np.float32),)),
    case("GridSample", 9, (square, corners * np.float32(np.nan)), {}),
    case("GridSample", 9, (square, corners * np.float32(np.nan)), {"mode": "nearest"}),
    case("GridSample", 9, (square[:0], corners[:0]), {}, oracle="nobody",
         expected=(np.zeros((0, 1, 2, 2), np.float32),)),
]  # fmt: skip

# ROIAlign: boxes within, across and beyond the image, and one that ends before it begins.
BOXES = np.array(
    [[0, 0, 3, 2], [1, 1, 1.5, 1.2], [-3, -3, 9, 9], [2.5, 0.5, 5.5, 3], [7, 1, 12, 3], [3, 2, 1, 0.5]], np.float32
)
IMAGES = np.array([0, 1, 1, 0, 0, 1])


def align(opset: int, kind: str = "f32", index: str = "i64", boxes: Array = BOXES, **attributes: object) -> Case:
    given = {"pooled_h": 2, "pooled_w": 3, "sampling_ratio": 2, "spatial_scale": 1.0, "mode": "avg"} | attributes
    data = numbers(2, 3, 4, 6, low=-1, kind=kind)
    inputs = (data, boxes.astype(data.dtype), IMAGES[: len(boxes)].astype(ElementType[index].dtype))
    return case("ROIAlign", opset, inputs, given)


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
    for kind in TYPES[1:]:
        CASES += [align(opset, kind, mode=mode, boxes=BOXES[:4]) for opset in (3, 9)]
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
    case("ROIAlignRotated", 15, (numbers(1, 2, 4, 6, kind=kind), TURNED[:1].astype(dtype), IMAGES[:1]),
         {"pooled_h": 2, "pooled_w": 2, "sampling_ratio": 2, "spatial_scale": 1.0})
    for kind, dtype in (("f16", np.float16), ("f64", np.float64))
]  # fmt: skip

# ROIPooling
REGIONS = np.array([[0, 0, 0, 3, 2], [1, 1, 1, 5, 3], [0, 3, 3, 1, 1], [1, -2, -1, 8, 9], [0, 7, 1, 9, 2]], np.float32)
PARTS = np.array(
    [[0, 0, 0, 1, 1], [1, 0.1, 0.2, 0.7, 0.9], [0, 0.5, 0.5, 0.2, 0.2], [1, -0.2, 0, 1.2, 1.1]], np.float32
)
ENDED = np.array([[0, 0, 0, 3, 2], [-1, 0, 0, 3, 2], [1, 0, 0, 3, 2]], np.float32)
for opset in (1, 2):
    for high, wide in ((2, 2), (1, 1), (3, 5)):
        for scale in (1.0, 0.6, 0.35):
            attributes = {"pooled_h": high, "pooled_w": wide, "spatial_scale": scale, "method": "max"}
            CASES += [case("ROIPooling", opset, (numbers(2, 3, 4, 6, low=-1), REGIONS), attributes)]
        attributes = {"pooled_h": high, "pooled_w": wide, "spatial_scale": 1.0, "method": "bilinear"}
        CASES += [case("ROIPooling", opset, (numbers(2, 3, 4, 6, low=-1), PARTS), attributes)]
for kind in TYPES[1:3]:
    dtype = ElementType[kind].dtype
    size = {"pooled_h": 2, "pooled_w": 2, "spatial_scale": 1.0}
    data = numbers(2, 3, 4, 6, kind=kind)
    CASES += [
        case("ROIPooling", 2, (data, REGIONS.astype(dtype)), size),
        case("ROIPooling", 2, (data, (PARTS[:1] / 2).astype(dtype)), size | {"method": "bilinear"}),
    ]
CASES += [
    case("ROIPooling", 2, (numbers(2, 3, 4, 6), ENDED), {"pooled_h": 2, "pooled_w": 2, "spatial_scale": 1.0}),
    case("ROIPooling", 2, (numbers(2, 3, 4, 6), ENDED[:0]), {"pooled_h": 2, "pooled_w": 2, "spatial_scale": 1.0},
         oracle="nobody", expected=(np.zeros((0, 3, 2, 2), np.float32),)),
]  # fmt: skip


# PSROIPooling
def sensitive(regions: Array, channels: int, dim: int, group: int, kind: str = "f32", **attributes: object) -> Case:
    data = numbers(2, channels, 5, 6, low=-1, kind=kind)
    given = {"output_dim": dim, "group_size": group, "spatial_scale": 1.0, "mode": "average"} | attributes
    if given["mode"] == "bilinear":
        # OpenVINO does not know the defaults of the specification.
        given = {"spatial_bins_x": 1, "spatial_bins_y": 1} | given
    return case("PSROIPooling", 1, (data, regions.astype(data.dtype)), given)


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
CASES += [sensitive(ENDED, 8, 2, 2, mode="average")]
CASES += [sensitive(REGIONS, 8, 2, 2, kind, mode="average") for kind in ("f16", "bf16")]
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
def deformable(group: int, part: int, classes: int | None, kind: str = "f32", **attributes: object) -> Case:
    data = numbers(2, 4 * group**2, 5, 6, low=-1, kind=kind)
    given = {"output_dim": 4, "group_size": group, "part_size": part, "spatial_scale": 1.0} | attributes
    inputs = [data, REGIONS.astype(data.dtype)]
    if classes is not None:
        inputs.append(numbers(5, 2 * classes, part, part, low=-0.5, high=0.5, seed=4, kind=kind))
    return case("DeformablePSROIPooling", 1, tuple(inputs), given)


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
