"""GridSample."""

from __future__ import annotations

import numpy as np

from ir_exec.types import ElementType
from tests.conformance.case import Case
from tests.helpers.region_cases import case, numbers

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
    for element_type in ("f16", "bf16", "f64"):
        inputs = (
            numbers(1, 2, 4, 6, element_type=element_type),
            numbers(1, 2, 3, 2, low=-1, seed=2, element_type="f32"),
        )
        CASES += [case("GridSample", 9, inputs, {"mode": mode})]
for element_type in ("f16", "f64"):
    inputs = (
        numbers(1, 2, 4, 6),
        (numbers(1, 2, 3, 2, low=-8, high=8, seed=2).round() / 8).astype(ElementType[element_type].dtype),
    )
    CASES += [case("GridSample", 9, inputs, {"mode": "bilinear"})]
for element_type in ("i32", "u8", "i8"):
    data = numbers(1, 2, 4, 6, high=120, element_type=element_type) - ElementType[element_type].dtype.type(
        0 if element_type == "u8" else 60
    )
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
