"""DeformableConvolution."""

from __future__ import annotations

import numpy as np

from ir_exec.types import ElementType
from tests.conformance.case import Case
from tests.helpers.window_cases import data_of, windows

TOLERANCE = {"f64": 1e-5, "f32": 1e-5, "f16": 1e-2, "bf16": 6e-2}


def deformable(
    opset: int,
    data: tuple[int, ...],
    filters: tuple[int, ...],
    counts: tuple[int, int],
    *,
    parts: int = 1,
    spread: float = 1.5,
    mask: bool = False,
    element_type: str = "f32",
    constants: tuple[int, ...] = (2,),
    extra: dict[str, object] | None = None,
    **steps: object,
) -> Case:
    generator = np.random.default_rng(5)
    elements = parts * filters[2] * filters[3]
    dtype = ElementType[element_type].dtype
    inputs = [
        data_of(data, element_type),
        generator.uniform(-spread, spread, (data[0], 2 * elements, *counts)).astype(dtype),
        data_of(filters, element_type, 1),
    ]
    if mask:
        inputs.append(generator.uniform(0, 1, (data[0], elements, *counts)).astype(dtype))
    attributes = windows(2, **steps) | {"group": 1, "deformable_group": parts} | (extra or {})  # type: ignore[arg-type]  # as a caller
    tolerance = TOLERANCE[element_type] * 3
    return Case(
        "DeformableConvolution", opset, tuple(inputs), attributes, constants, rtol=tolerance, atol=tolerance * 5
    )


CASES: list[Case] = []

for opset in (1, 8):
    CASES += [
        deformable(opset, (2, 4, 6, 7), (3, 4, 3, 2), (4, 6)),
        deformable(opset, (2, 4, 6, 7), (3, 4, 3, 2), (4, 6), spread=0.0),
        deformable(opset, (2, 4, 6, 7), (3, 4, 3, 2), (6, 8), begin=1),
        deformable(opset, (2, 4, 6, 7), (3, 4, 2, 2), (3, 3), strides=2),
        deformable(opset, (1, 4, 6, 7), (3, 4, 2, 2), (4, 5), dilations=2),
        deformable(opset, (1, 4, 6, 7), (3, 4, 3, 3), (3, 4), strides=2, auto_pad="same_upper"),
        deformable(opset, (1, 4, 6, 7), (3, 4, 2, 2), (6, 7), auto_pad="same_lower"),
        deformable(opset, (1, 4, 6, 7), (3, 4, 2, 2), (5, 6), auto_pad="valid"),
        deformable(opset, (1, 4, 6, 7), (4, 2, 2, 2), (5, 6), extra={"group": 2}),
        deformable(opset, (1, 4, 6, 7), (3, 4, 2, 2), (5, 6), parts=2),
        deformable(opset, (1, 4, 6, 7), (4, 2, 2, 2), (5, 6), parts=4, extra={"group": 2}),
        deformable(opset, (1, 2, 5, 5), (3, 2, 1, 1), (5, 5), spread=9.0),
        deformable(opset, (1, 2, 5, 5), (3, 2, 2, 2), (4, 4), constants=()),
        deformable(opset, (1, 60, 40, 41), (2, 60, 3, 3), (40, 41), begin=1),
    ]
for beyond in (False, True):
    extra = {"bilinear_interpolation_pad": beyond}
    CASES += [
        deformable(8, (2, 4, 6, 7), (3, 4, 3, 2), (6, 8), mask=True, extra=extra, begin=1),
        deformable(8, (1, 4, 6, 7), (4, 2, 2, 2), (5, 6), mask=True, parts=2, extra=extra | {"group": 2}),
        deformable(8, (1, 2, 5, 6), (3, 2, 1, 1), (9, 10), spread=2.0, begin=2, extra=extra),
    ]
CASES += [deformable(8, (1, 2, 5, 6), (3, 2, 2, 2), (4, 5), mask=True, element_type="f16")]
CASES += [
    Case(
        "DeformableConvolution",
        8,
        (
            np.array([[[[1, 2], [3, 4]]]], np.float32),
            np.array(offsets, np.float32).reshape(1, 2, 2, 2),
            np.ones((1, 1, 1, 1), np.float32),
        ),
        windows(2) | {"group": 1, "deformable_group": 1, "bilinear_interpolation_pad": beyond},
        {2},
        expected=(np.array(expected, np.float32).reshape(1, 1, 2, 2),),
        note="by hand",
    )
    for offsets, beyond, expected in [
        ([0.5, 0, 0, 0, 0.5, 0, 0, 0], False, [2.5, 2, 3, 4]),
        ([-0.5, 0, 0.5, 0, 0, 0, 0, 0.5], False, [0, 2, 3, 4]),
        ([-0.5, 0, 0.5, 0, 0, 0, 0, 0.5], True, [0.5, 2, 1.5, 2]),
        ([-1, 5, 1, -2, 0, 0, 0, 0], True, [0, 0, 0, 0]),
    ]
]
CASES += [
    Case(
        "DeformableConvolution",
        opset,
        (np.array([[[[1, 2]]]], np.float32), np.zeros((1, 2, 1, 2), np.float32), np.full((1, 1, 1, 1), 2, np.float32)),
        windows(2),
        expected=(np.array([[[[2, 4]]]], np.float32),),
        oracle="nobody",
        note="group and deformable_group are 1 where they are not given; OpenVINO takes 0",
    )
    for opset in (1, 8)
]
