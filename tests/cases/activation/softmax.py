"""SoftMax, LogSoftmax and MVN."""

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
    CASES += [along(type, opset, data_of(kind, (2, 5)), 1) for kind in ("f64", "f16", "bf16")]
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


def mvn1(shape: tuple[int, ...], kind: str = "f32", **attributes: object) -> Case:
    attributes = {"eps": 1e-9, "normalize_variance": True} | attributes
    tolerance = TOLERANCE[kind] * 2
    return Case("MVN", 2, (data_of(kind, shape),), attributes, rtol=tolerance, atol=tolerance)


CASES += [
    mvn1(shape, across_channels=across, normalize_variance=normalize, eps=eps)
    for shape in ((2, 3, 4, 5), (2, 3, 4), (1, 2, 3, 2, 2))
    for across in (False, True)
    for normalize, eps in ((True, 1e-9), (True, 0.5), (False, 1e-9))
]
CASES += [mvn1(shape, across_channels=across) for shape in ((2, 3), (3,)) for across in (False, True)]
CASES += [mvn1(shape, across_channels=True) for shape in ((0, 3, 2, 2), (2, 0, 3))]
CASES += [mvn1((2, 3, 4, 5), reduction_axes=axes) for axes in ((2, 3), (1, 2, 3))]
CASES += [mvn1((2, 3, 4, 5), reduction_axes=(2, 3), across_channels=True)]
CASES += [mvn1((2, 3, 4, 5), kind, across_channels=False) for kind in ("f64", "f16", "bf16")]
CASES += [
    Case(
        "MVN",
        2,
        (np.array([[[1, 3], [5, 9]]], np.float32),),
        {"eps": 0.0, "normalize_variance": False, "reduction_axes": axes},
        oracle="nobody",
        expected=(np.array(result, np.float32),),
        note="the plugin reduces other axes than reduction_axes",
    )
    for axes, result in [((-1,), [[[-1, 1], [-2, 2]]]), ((1,), [[[-2, -3], [2, 3]]])]
]


def mvn6(
    shape: tuple[int, ...],
    axes: Array | tuple[int, ...],
    kind: str = "f32",
    constants: tuple[int, ...] = (1,),
    **attributes: object,
) -> Case:
    attributes = {"eps": 1e-9, "normalize_variance": True, "eps_mode": "inside_sqrt"} | attributes
    tolerance = TOLERANCE[kind] * 2
    inputs = (data_of(kind, shape), np.asarray(axes, None if isinstance(axes, np.ndarray) else np.int64))
    return Case("MVN", 6, inputs, attributes, constants, rtol=tolerance, atol=tolerance)


CASES += [
    mvn6((2, 3, 4, 5), axes, eps_mode=mode, normalize_variance=normalize, eps=0.25)
    for axes in ((2, 3), (-1,), (1, 2, 3), (0, 2, 3), (0,), (-1, -3), (3, 1), (0, 1, 2, 3))
    for mode, normalize in (("inside_sqrt", True), ("outside_sqrt", True), ("inside_sqrt", False))
]
CASES += [mvn6((2, 3, 4), (2,), eps_mode=mode) for mode in ("INSIDE_SQRT", "Outside_Sqrt")]
CASES += [
    mvn6((5,), (0,)),
    mvn6((2, 5), (1,)),
    mvn6((2, 5), (0, 1)),
    mvn6((1, 1), (1,), eps=0.5),
    mvn6((2, 2, 2, 3, 2), (2, 3, 4)),
]
CASES += [mvn6((2, 3, 4, 5), (), eps=0.5), mvn6((2, 3), (1, 1), eps=0.5), mvn6((2, 3), (1, -1), eps=0.5)]
CASES += [mvn6((2, 3), np.array([1], dtype)) for dtype in (np.int32, np.int8, np.uint64)]
CASES += [mvn6((2, 3, 4), (1, 2), constants=()), mvn6((2, 3, 4), np.array([-1], np.int32), constants=())]
CASES += [
    mvn6((2, 7), (1,), kind, eps_mode=mode)
    for kind in ("f64", "f16", "bf16")
    for mode in ("inside_sqrt", "outside_sqrt")
]
CASES += [
    Case(
        "MVN",
        6,
        (np.zeros((2, 0), np.float32), np.array([1], np.int64)),
        {"eps": 0.5, "normalize_variance": True, "eps_mode": "inside_sqrt"},
        {1},
        expected=(np.zeros((2, 0), np.float32),),
        oracle="nobody",
        note="OpenVINO crashes",
    )
]
