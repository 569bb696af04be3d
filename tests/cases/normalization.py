"""BatchNormInference, GroupNormalization, LRN, NormalizeL2, GRN and MVN."""

from __future__ import annotations

import numpy as np

from ir_exec.types import Array, ElementType
from tests.conformance.case import Case
from tests.helpers.window_cases import data_of

TOLERANCE = {"f64": 1e-5, "f32": 1e-5, "f16": 5e-3, "bf16": 4e-2}


def normalization(
    type: str, opset: int, inputs: tuple[Array, ...], attributes: dict[str, object], **fields: object
) -> Case:
    tolerance = TOLERANCE[ElementType.of(inputs[0]).name]
    defaults: dict[str, object] = {"rtol": tolerance, "atol": tolerance}
    return Case(type, opset, inputs, attributes, **defaults | fields)  # type: ignore[arg-type]  # as a caller


CASES: list[Case] = []


def batch_norm(
    opset: int,
    shape: tuple[int, ...],
    epsilon: float = 1e-5,
    element_type: str = "f32",
    constants: tuple[int, ...] = (),
    **fields: object,
) -> Case:
    dtype = ElementType[element_type].dtype
    generator = np.random.default_rng(0)
    gamma, beta, mean = [generator.uniform(-2, 2, shape[1]).astype(dtype) for _ in range(3)]
    variance = generator.uniform(0.25, 4, shape[1]).astype(dtype)
    data = data_of(shape, element_type)
    order = (gamma, beta, data, mean, variance) if opset == 1 else (data, gamma, beta, mean, variance)
    return normalization("BatchNormInference", opset, order, {"epsilon": epsilon}, constants=constants, **fields)


for opset in (1, 5):
    constant_positions = (0, 1, 3, 4) if opset == 1 else (1, 2, 3, 4)
    CASES += [
        batch_norm(opset, shape, constants=constant_positions)
        for shape in [(2, 3), (2, 3, 4), (2, 3, 4, 5), (1, 2, 3, 2, 2), (1, 1), (0, 3, 2)]
    ]
    CASES += [batch_norm(opset, (2, 3, 4, 5), epsilon) for epsilon in (0.0, 0.5)]
    CASES += [
        batch_norm(opset, (2, 3, 4, 5), element_type=element_type, constants=constant_positions)
        for element_type in ("f64", "f16", "bf16")
    ]
CASES += [
    normalization(
        "BatchNormInference",
        5,
        tuple(np.array(values, np.float32) for values in ([[1, 2], [3, 4]], [1, 2], [0, 10], [1, 3], [3, 0])),
        {"epsilon": 1.0},
        expected=(np.array([[0, 8], [1, 12]], np.float32),),
        note="by hand",
    )
]


def group_norm(
    shape: tuple[int, ...], groups: int, epsilon: float = 1e-5, element_type: str = "f32", **fields: object
) -> Case:
    scale, bias = data_of(shape[1:2], element_type, 1), data_of(shape[1:2], element_type, 2)
    attributes = {"num_groups": groups, "epsilon": epsilon}
    return normalization("GroupNormalization", 12, (data_of(shape, element_type), scale, bias), attributes, **fields)


CASES += [
    group_norm(shape, groups)
    for shape, groups in [
        ((2, 4, 3), 2),
        ((2, 4, 3, 5), 4),
        ((2, 4, 3, 5), 1),
        ((2, 6, 3, 5), 3),
        ((1, 4, 2, 3, 2), 2),
        ((2, 4), 2),
        ((2, 4, 0), 2),
    ]
]
CASES += [group_norm((2, 4, 3, 5), 2, epsilon, constants=(1, 2)) for epsilon in (0.5, 1e-3)]
CASES += [group_norm((2, 4, 3, 5), 2, element_type=element_type) for element_type in ("f64", "f16")]
CASES += [
    normalization(
        "GroupNormalization",
        12,
        (data_of((2, 4, 3), element_type), data_of((4,), scale, 1), data_of((4,), bias, 2)),
        {"num_groups": 2, "epsilon": 1e-5},
    )
    for element_type, scale, bias in (("f32", "f16", "f32"), ("f16", "f32", "f32"), ("f32", "f64", "f16"))
]
CASES += [
    normalization(
        "GroupNormalization",
        12,
        tuple(np.array(values, ElementType.bf16.dtype) for values in ([[1, 3]], [1, 2], [0, 0.5])),
        {"num_groups": 1, "epsilon": 3.0},
        expected=(np.array([[-0.5, 1.5]], ElementType.bf16.dtype),),
        oracle="nobody",
        note="by hand; OpenVINO's plugin has no bf16",
    )
]
CASES += [
    normalization(
        "GroupNormalization",
        12,
        (np.array([[[1], [3], [10], [10]]], np.float32), np.array([1, 2, 3, 4], np.float32), np.arange(4, dtype="f4")),
        {"num_groups": 2, "epsilon": 0.0625},
        expected=(np.array([[[-1 / 1.0625**0.5], [1 + 2 / 1.0625**0.5], [2], [3]]], np.float32),),
        note="by hand",
    )
]


def lrn(
    shape: tuple[int, ...],
    axes: tuple[int, ...],
    size: int,
    element_type: str = "f32",
    values: tuple[float, float, float] = (0.5, 0.75, 1.0),
    constants: tuple[int, ...] = (1,),
    axes_kind: str = "int64",
    **fields: object,
) -> Case:
    attributes = {"alpha": values[0], "beta": values[1], "bias": values[2], "size": size}
    inputs = (data_of(shape, element_type), np.array(axes, axes_kind))
    return normalization("LRN", 1, inputs, attributes, constants=constants, **fields)


CASES += [lrn((2, 7, 3, 4), (1,), size) for size in (1, 2, 3, 4, 5, 20)]
CASES += [lrn((2, 3, 5, 6), (2, 3), size) for size in (1, 3, 5)]
CASES += [lrn((2, 5), (1,), 3), lrn((2, 5, 4), (1,), 3), lrn((1, 5, 2, 3, 2), (1,), 3)]
CASES += [lrn((2, 7, 3, 4), (1,), 5, values=values) for values in [(1e-4, 0.75, 1.0), (2.0, 1.0, 3.0), (1.0, 0.5, 2.0)]]
CASES += [
    normalization(
        "LRN",
        1,
        (np.array([[1, 2]], np.float32), np.array([1], np.int64)),
        {"alpha": 2.0, "beta": 1.0, "bias": 0.5, "size": 1},
        constants={1},
        expected=(np.array([[1 / 2.5, 2 / 8.5]], np.float32),),
        oracle="nobody",
        note="by hand; OpenVINO's plugin takes bias for an integer",
    )
]
CASES += [lrn((2, 7, 3), (1,), 3, element_type) for element_type in ("f64", "f16", "bf16")]
CASES += [lrn((2, 7, 3), (1,), 3, axes_kind=element_type) for element_type in ("int32", "uint8")]
CASES += [
    normalization(
        "LRN",
        1,
        (np.array(data, np.float32), np.array(axes, np.int64)),
        {"alpha": 1.0, "beta": 1.0, "bias": 1.0, "size": size},
        constants={1},
        expected=(np.array(expected, np.float32),),
        oracle="nobody",
        note="by hand; OpenVINO's plugin knows axis 1 and all axes behind it",
    )
    for data, axes, size, expected in [
        ([[1], [2]], [0], 1, [[1 / 2], [2 / 5]]),
        ([[1], [2]], [-2], 3, [[1 / (1 + 5 / 3)], [2 / (1 + 5 / 3)]]),
        ([[1, 2], [3, 4]], [0, 1], 3, [[1 / (1 + 30 / 9), 2 / (1 + 30 / 9)], [3 / (1 + 30 / 9), 4 / (1 + 30 / 9)]]),
        ([1, 2], [], 3, [1 / 2, 2 / 5]),
        ([1, 2, 3], [0], 2, [1 / 1.5, 2 / 3, 3 / 5.5]),
    ]
]


def normalize(
    shape: tuple[int, ...],
    axes: tuple[int, ...] | int,
    eps: float = 0.5,
    mode: str = "add",
    element_type: str = "f32",
    constants: tuple[int, ...] = (1,),
    axes_kind: str = "int64",
) -> Case:
    inputs = (data_of(shape, element_type), np.array(axes, axes_kind))
    return normalization("NormalizeL2", 1, inputs, {"eps": eps, "eps_mode": mode}, constants=constants)


CASES += [
    normalize((2, 3, 4, 5), axes, eps, mode)
    for axes in ((1,), (1, 2, 3), (2, 3), (-1,), 1, (0, 1, 2, 3), (-3, 2), (), (1, 1))
    for mode, eps in (("add", 0.5), ("max", 6.0))
]
CASES += [
    normalize((3,), (0,)),
    normalize((2, 3), (1,), 1e-9),
    normalize((1, 1), (1,)),
    normalize((2, 3, 2, 2, 3), (1,)),
    normalize((2, 3), (1,), mode="MAX"),
    normalize((2, 3), (1,), constants=()),
    normalize((2, 3), (1,), axes_kind="int32"),
]
CASES += [normalize((2, 5), (1,), element_type=element_type) for element_type in ("f64", "f16", "bf16")]
CASES += [
    normalization(
        "NormalizeL2",
        1,
        (np.array([[3, 4], [0, 0]], np.float32), np.array(axes, np.int64)),
        {"eps": eps, "eps_mode": mode},
        constants={1},
        expected=(np.array(expected, np.float32),),
        note="by hand",
    )
    for axes, eps, mode, expected in [
        ([1], 100.0, "max", [[0.3, 0.4], [0, 0]]),
        ([1], 144.0, "add", [[3 / 13, 4 / 13], [0, 0]]),
        ([], 9.0, "add", [[1, 1], [0, 0]]),
    ]
]

CASES += [
    normalization("GRN", 1, (data_of(shape, element_type),), {"bias": bias})
    for shape, element_type, bias in [
        ((2, 3), "f32", 0.5),
        ((2, 3, 4), "f32", 1e-4),
        ((2, 3, 4, 5), "f32", 2.0),
        ((1, 1, 2, 2), "f32", 1.0),
        ((0, 3, 2), "f32", 1.0),
        ((2, 3, 4), "f64", 1.0),
        ((2, 3, 4), "f16", 1.0),
        ((2, 3, 4), "bf16", 1.0),
    ]
]
CASES += [
    normalization(
        "GRN",
        1,
        (np.array([[2, 4]], np.float32),),
        {"bias": 5.0},
        expected=(np.array([[0.4, 0.8]], np.float32),),
        note="by hand",
    )
]


MVN_TOLERANCE = {"f64": 1e-6, "f32": 1e-5, "f16": 4e-3, "bf16": 2e-2}


def data_of(element_type: str, shape: tuple[int, ...], seed: int = 0, spread: float = 3) -> Array:
    return np.random.default_rng(seed).uniform(-spread, spread, shape).astype(ElementType[element_type].dtype)


def mvn1(shape: tuple[int, ...], element_type: str = "f32", **attributes: object) -> Case:
    attributes = {"eps": 1e-9, "normalize_variance": True} | attributes
    tolerance = MVN_TOLERANCE[element_type] * 2
    return Case("MVN", 2, (data_of(element_type, shape),), attributes, rtol=tolerance, atol=tolerance)


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
CASES += [mvn1((2, 3, 4, 5), element_type, across_channels=False) for element_type in ("f64", "f16", "bf16")]
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
    element_type: str = "f32",
    constants: tuple[int, ...] = (1,),
    **attributes: object,
) -> Case:
    attributes = {"eps": 1e-9, "normalize_variance": True, "eps_mode": "inside_sqrt"} | attributes
    tolerance = MVN_TOLERANCE[element_type] * 2
    inputs = (data_of(element_type, shape), np.asarray(axes, None if isinstance(axes, np.ndarray) else np.int64))
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
    mvn6((2, 7), (1,), element_type, eps_mode=mode)
    for element_type in ("f64", "f16", "bf16")
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
