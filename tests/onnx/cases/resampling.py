"""Resizing, sampling, quantization, types and recurrent networks."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.onnx.cases.values import floats, integers, positive
from tests.onnx.runtime import LEFT_OUT, Node, rows

__all__ = ["CASES"]

IMAGE = floats(1, 2, 4, 5)
NONE = np.zeros(0, np.float32)


def _resizes() -> list[Node]:
    nodes: list[Node] = []
    scales = np.array([1, 1, 2, 1.6], np.float32)
    smaller = np.array([1, 1, 0.5, 0.4], np.float32)
    sizes = np.array([1, 2, 7, 3])
    nodes += rows("Upsample", (7,), (IMAGE,), scales=[[1.0, 1.0, 2.0, 3.0]], mode=["nearest", "linear"])
    nodes += rows(
        "Upsample", (9,), (IMAGE, np.array([1, 1, 2, 3], np.float32)), constants=(1,), mode=["nearest", "linear"]
    )
    nodes += rows("Resize", (10,), (IMAGE, scales), (IMAGE, smaller), constants=(1,), mode=["nearest", "linear"])
    ways = ["half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel"]
    for version in (11, 13, 18, 19):
        inputs = [(IMAGE, NONE if version == 11 else None, values) for values in (scales, smaller)]
        inputs += [(IMAGE, NONE if version == 11 else None, NONE if version == 11 else None, sizes)]
        nodes += rows(
            "Resize",
            (version,),
            *inputs,
            constants=(1, 2, 3),
            mode=["linear", "cubic"],
            coordinate_transformation_mode=ways,
        )
        nodes += rows(
            "Resize",
            (version,),
            *inputs,
            constants=(1, 2, 3),
            mode=["nearest"],
            coordinate_transformation_mode=ways[:3],
            nearest_mode=["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"],
        )
    inputs = [(IMAGE, None, scales), (IMAGE, None, smaller)]
    nodes += rows(
        "Resize", (13,), *inputs, constants=(2,), mode=["cubic"], cubic_coeff_a=[-0.5], exclude_outside=[0, 1]
    )
    nodes += rows("Resize", (18,), *inputs, constants=(2,), mode=["linear", "cubic"], antialias=[1])
    nodes += rows(
        "Resize",
        (18,),
        (IMAGE, None, None, np.array([7, 9])),
        constants=(3,),
        axes=[[2, 3]],
        keep_aspect_ratio_policy=[LEFT_OUT, "not_larger", "not_smaller"],
        mode=["linear"],
    )
    nodes += rows(
        "Resize", (18,), (IMAGE, None, None, np.array([7, 9])), constants=(3,), axes=[[-2, -1]], mode=["linear"]
    )
    return nodes


def _samples() -> list[Node]:
    grid = np.clip(floats(2, 3, 4, 2) / 2, -1.5, 1.5)
    image = floats(2, 3, 5, 6)
    nodes: list[Node] = []
    padding = ["zeros", "border", "reflection"]
    nodes += rows(
        "GridSample", (16,), (image, grid), mode=["bilinear", "nearest"], padding_mode=padding, align_corners=[0, 1]
    )
    nodes += rows(
        "GridSample", (20,), (image, grid), mode=["linear", "nearest"], padding_mode=padding, align_corners=[0, 1]
    )
    nodes += rows("AffineGrid", (20,), (floats(2, 2, 3), np.array([2, 3, 4, 5])), align_corners=[0, 1])
    boxes = np.array([[0, 0, 3, 3], [1, 0.5, 4, 2]], np.float32)
    nodes += rows(
        "RoiAlign",
        (10, 16),
        (image, boxes, np.array([0, 1])),
        output_height=[2],
        output_width=[3],
        sampling_ratio=[0, 2],
        mode=["avg"],
        spatial_scale=[LEFT_OUT, 0.5],
    )
    nodes += rows(
        "RoiAlign",
        (16, 22),
        (image, boxes, np.array([0, 1])),
        output_height=[2],
        output_width=[2],
        sampling_ratio=[2],
        coordinate_transformation_mode=["half_pixel", "output_half_pixel"],
    )
    corners = np.sort(positive(1, 6, 2, 2), 2).reshape(1, 6, 4)
    limits = [np.array([2]), np.array([0.4], np.float32), np.array([0.3], np.float32)]
    nodes += rows(
        "NonMaxSuppression",
        (10, 11),
        (corners, positive(1, 2, 6), *limits),
        (corners, positive(1, 2, 6)),
        (corners, positive(1, 2, 6), *limits[:2]),
        center_point_box=[0, 1],
    )
    return nodes


def _types() -> list[Node]:
    nodes: list[Node] = []
    values = np.array([-2.6, -0.5, 0, 0.5, 1.5, 100.4], np.float32)
    for data_type in (1, 6, 7, 9, 10, 11):
        nodes += rows("Cast", (6, 9, 13, 19, 21), (values,), (values.astype(np.int32),), (values > 0,), to=[data_type])
    nodes += rows("Cast", (13,), (np.abs(values),), to=[2, 12, 13])
    nodes += rows("CastLike", (15,), (values, np.array(3)), (values, np.array(True)))
    scale, zero = np.array(0.1, np.float32), np.array(7, np.uint8)
    one_each = positive(3)
    nodes += rows("QuantizeLinear", (10, 13, 19), (values, scale, zero), (values, scale))
    nodes += rows(
        "QuantizeLinear", (13, 19, 21), (floats(2, 3, 4), one_each, integers(-9, 9, 3, dtype=np.int8)), axis=[1, -2]
    )
    nodes += rows(
        "DequantizeLinear",
        (10, 13, 19),
        (integers(0, 255, 5, dtype=np.uint8), scale, zero),
        (integers(-99, 99, 5, dtype=np.int32), scale),
    )
    nodes += rows(
        "DequantizeLinear",
        (13, 19, 21),
        (integers(-99, 99, 2, 3, 4, dtype=np.int8), one_each, integers(-9, 9, 3, dtype=np.int8)),
        axis=[1, -2],
    )
    nodes += rows("DynamicQuantizeLinear", (11,), (values,), (floats(3, 4),), (np.zeros(3, np.float32),), outputs=3)
    return nodes


def _recurrent() -> list[Node]:
    nodes: list[Node] = []
    steps, batch, size, hidden = 4, 2, 3, 5
    data, lengths = floats(steps, batch, size), np.array([4, 2], np.int32)
    for name, gates in (("RNN", 1), ("GRU", 3), ("LSTM", 4)):
        for direction, ways in (("forward", 1), ("reverse", 1), ("bidirectional", 2)):
            w, r = floats(ways, gates * hidden, size) / 4, floats(ways, gates * hidden, hidden) / 4
            b, first = floats(ways, 2 * gates * hidden) / 4, floats(ways, batch, hidden)
            inputs = [(data, w, r), (data, w, r, b, lengths), (data, w, r, b, None, first)]
            if name == "LSTM":
                inputs += [(data, w, r, b, None, first, first, floats(ways, 3 * hidden))]
            more: dict[str, Any] = {"linear_before_reset": [0, 1]} if name == "GRU" else {}
            count = 3 if name == "LSTM" else 2
            nodes += rows(
                name,
                (7, 14, 22),
                *inputs,
                constants=(1, 2, 3, 7),
                hidden_size=[hidden],
                direction=[direction],
                outputs=count,
                **more,
            )
    return nodes


CASES = [*_resizes(), *_samples(), *_types(), *_recurrent()]
