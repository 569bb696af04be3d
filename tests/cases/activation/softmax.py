"""SoftMax and LogSoftmax."""

from __future__ import annotations

import numpy as np

from ir_exec.types import Array, ElementType
from tests.conformance.case import Case

TOLERANCE = {"f64": 1e-6, "f32": 1e-5, "f16": 4e-3, "bf16": 2e-2}
SHAPES = [(3,), (1,), (2, 3), (1, 5), (2, 3, 4), (2, 1, 3, 2), (1, 2, 2, 3, 2)]
EMPTY = [((0, 3), 1), ((2, 0), 1), ((2, 0), 0), ((0,), 0)]


def data_of(element_type: str, shape: tuple[int, ...], seed: int = 0, spread: float = 3) -> Array:
    return np.random.default_rng(seed).uniform(-spread, spread, shape).astype(ElementType[element_type].dtype)


def along(type: str, opset: int, data: Array, axis: int | None, **fields: object) -> Case:
    tolerance = TOLERANCE[ElementType.of(data).name]
    attributes = {} if axis is None else {"axis": axis}
    return Case(type, opset, (data,), attributes, **{"rtol": tolerance, "atol": tolerance} | fields)  # type: ignore[arg-type]  # as a caller


CASES: list[Case] = []

for type, opset in (("SoftMax", 1), ("SoftMax", 8), ("LogSoftmax", 5)):
    first = 0 if opset == 1 else -1
    CASES += [
        along(type, opset, data_of("f32", shape, seed), axis)
        for seed, shape in enumerate(SHAPES)
        for axis in range(first * len(shape), len(shape))
        if len(shape) < 4 or axis in (-1, 1, -3)
    ]
    CASES += [along(type, opset, data_of("f32", ()), 0)]
    CASES += [along(type, opset, np.zeros(shape, np.float32), axis) for shape, axis in EMPTY]
    CASES += [along(type, opset, data_of(element_type, (2, 5)), 1) for element_type in ("f64", "f16", "bf16")]
    CASES += [along(type, opset, data_of("f32", (2, 300), spread=80), 1)]
    CASES += [along(type, opset, np.array([[1e30, 1e30, -1e30], [-1e5, 0, 88.8]], np.float32), 1)]
    CASES += [along(type, opset, np.array([[-np.inf, 0, 1], [-np.inf] * 3], np.float32), 1)]
CASES += [along("SoftMax", 8, data_of("f32", ()), -1)]
CASES += [along(type, opset, data_of("f32", (2, 3)), None) for type, opset in (("SoftMax", 8), ("LogSoftmax", 5))]
CASES += [
    along(
        "SoftMax",
        1,
        np.zeros((1, 2), np.float32),
        None,
        oracle="nobody",
        expected=(np.full((1, 2), 0.5, np.float32),),
        note="axis is 1 where it is not given; OpenVINO takes 0",
    )
]
CASES += [
    along(
        "SoftMax",
        8,
        np.array([[1, np.nan], [np.inf, 0]], np.float32),
        1,
        oracle="nobody",
        expected=(np.full((2, 2), np.nan, np.float32),),
        note="OpenVINO's plugin gives zeros beside a NaN, its reference kernel gives NaN",
    )
]
