"""MaxPool and AvgPool."""

from __future__ import annotations

from itertools import product

import numpy as np

from ir_exec.types import Array, ElementType
from tests.conformance.case import Case
from tests.helpers.window_cases import data_of, windows

TOLERANCE = {"f64": 1e-6, "f32": 1e-6, "f16": 2e-3, "bf16": 2e-2}


def pool(
    type: str,
    opset: int,
    data: Array | tuple[int, ...],
    kernel: int | tuple[int, ...],
    element_type: str = "f32",
    fields: dict[str, object] | None = None,
    extra: dict[str, object] | None = None,
    **steps: object,
) -> Case:
    array = data_of(data, element_type) if isinstance(data, tuple) else data
    rank = array.ndim - 2
    attributes = windows(rank, **steps) | {"kernel": kernel if isinstance(kernel, tuple) else (kernel,) * rank}  # type: ignore[arg-type]  # as a caller
    attributes |= {"rounding_type": "floor"} | (extra or {})
    # Where they are not given, OpenVINO's plugin works with random dilations.
    if (type, opset) in (("MaxPool", 1), ("AvgPool", 1), ("AvgPool", 14)):
        attributes.pop("dilations")
    tolerance = TOLERANCE.get(ElementType.of(array).name, 0.0) if type == "AvgPool" else 0.0
    outputs = 2 if type == "MaxPool" and opset > 1 else 1
    fields = {"rtol": tolerance, "atol": tolerance, "outputs": outputs} | (fields or {})
    return Case(type, opset, (array,), attributes, **fields)  # type: ignore[arg-type]  # as a caller


VERSIONS = [("MaxPool", 1), ("MaxPool", 8), ("MaxPool", 14), ("AvgPool", 1), ("AvgPool", 14), ("AvgPool", 16)]


def extras(type: str, opset: int) -> list[dict[str, object]]:
    """The ways to round, and for means what to do with padding."""
    rounding = ["floor", "ceil"] + (["ceil_torch"] if opset >= 14 else [])
    excluded: list[dict[str, object]] = [{"exclude-pad": value} for value in (True, False)]
    return [{"rounding_type": mode} | pads for mode, pads in product(rounding, excluded if type == "AvgPool" else [{}])]


STEPS: list[dict[str, object]] = [
    {},
    {"strides": 2},
    {"strides": 2, "begin": 1},
    {"strides": 2, "begin": 0, "end": 1},
    {"strides": 3, "begin": 1, "end": 0},
    *[{"strides": 2, "auto_pad": mode} for mode in ("same_upper", "same_lower", "valid")],
]

CASES: list[Case] = []

# Every version, every way to round and to pad.
for type, opset in VERSIONS:
    for steps, extra in product(STEPS if opset < 14 else STEPS[1::2], extras(type, opset)):
        kernel = (3, 3) if type == "AvgPool" else (3, 2)
        CASES.append(pool(type, opset, (1, 2, 6, 7), kernel, extra=extra, **steps))
CASES += [
    pool(
        "AvgPool",
        1,
        np.array([[[1, 2, 4]]], np.float32),
        2,
        strides=2,
        begin=1,
        extra={"exclude-pad": True, "rounding_type": "ceil"},
        fields={"expected": (np.array([[[1, 3, 0]]], np.float32),), "oracle": "nobody"}
        | {"note": "OpenVINO's reference kernel gives 0 where there are no elements, its plugin NaN"},
    )
]

# One and three spatial axes, and elements that are apart.
for type, opset in VERSIONS:
    shown = extras(type, opset)[-1]
    CASES += [pool(type, opset, (2, 3, 9), 3, extra=shown, **steps) for steps in (STEPS[0], STEPS[2], STEPS[5])]
    CASES += [pool(type, opset, (1, 2, 4, 5, 6), (2, 3, 2), extra=shown, **steps) for steps in (STEPS[0], STEPS[2])]
    CASES += [pool(type, opset, (1, 2, 4, 5), 1, extra=shown), pool(type, opset, (1, 2, 4, 5), (4, 5), extra=shown)]
    CASES += [pool(type, opset, (2, 3, 300, 301), 3, extra=shown, strides=2)]
for type, opset in (("MaxPool", 8), ("MaxPool", 14), ("AvgPool", 16)):
    for extra in extras(type, opset):
        CASES += [
            pool(type, opset, (1, 2, 8, 9), (3, 2), extra=extra, dilations=2, begin=1),
            pool(type, opset, (1, 2, 8, 9), (2, 3), extra=extra, dilations=(3, 1), strides=2),
        ]
    CASES += [pool(type, opset, (1, 2, 8, 9), 2, extra=extras(type, opset)[0], dilations=2, auto_pad="same_upper")]

# Padding beyond the kernel: windows of nothing but padding.
CASES += [
    pool("MaxPool", opset, (1, 1, 3, 3), 2, strides=2, begin=2, fields={"outputs": 1} if opset == 1 else None)
    for opset in (1, 8)
]
CASES += [pool("AvgPool", 1, (1, 1, 3, 3), 2, strides=2, begin=2, extra={"exclude-pad": False})]
CASES += [
    pool("MaxPool", 1, (1, 1, 3), 9, begin=6),
    pool("MaxPool", 8, (1, 1, 3), 6, dilations=3, begin=9, strides=2),
    pool("AvgPool", 1, (1, 1, 3), 9, begin=6, extra={"exclude-pad": False}),
]

# Indices: their type, the axis they begin with, the first of equal elements.
CASES += [
    pool("MaxPool", opset, (2, 3, 4, 5), 2, extra={"axis": axis, "index_element_type": element_type}, begin=1)
    for opset in (8, 14)
    for axis, element_type in [(0, "i64"), (1, "i32"), (2, "i64"), (3, "i32"), (-1, "i64"), (-4, "i32")]
]
CASES += [
    pool("MaxPool", 8, np.random.default_rng(seed).integers(0, 3, (1, 2, 7, 8)).astype(np.float32), 3, strides=seed)
    for seed in (1, 2)
]

# Element types. Means of integers are rounded to even.
CASES += [
    pool("MaxPool", opset, data_of((1, 2, 5, 6), element_type).astype("f4").astype(ElementType[element_type].dtype), 2)
    for opset in (1, 8)
    for element_type in ("f64", "f16", "bf16", "i8", "u8", "i32", "i64")
    if (opset, element_type) != (8, "bf16")
]
CASES += [
    pool("AvgPool", 1, (1, 2, 5, 6), 2, element_type, extra={"exclude-pad": True})
    for element_type in ("f64", "f16", "bf16", "i8", "u8", "i32", "i64")
]
CASES += [
    pool(
        "AvgPool",
        1,
        np.array([[[1, 2, 3, 4]]], dtype),
        2,
        fields={"wide_vectors": dtype == np.int32},
        extra={"exclude-pad": True},
    )
    for dtype in (np.int8, np.int32)
]

# NaN and infinities.
ODD = np.array([[[np.nan, 1, 2, np.nan, np.inf, 3, -np.inf, -np.inf, np.nan, np.nan]]], np.float32)
LOWEST = np.finfo(np.float32).min
CASES += [
    pool(
        "MaxPool",
        1,
        ODD,
        2,
        fields={"expected": (np.array([[[1, 2, 2, np.inf, np.inf, 3, LOWEST, LOWEST, LOWEST]]], np.float32),)},
    )
]

# The examples of the specification.
THREE = np.array([[[[-1, 2, 3], [4, 5, -6], [-7, 8, 9]]]], np.float32)
COUNTED = np.arange(1, 10, dtype=np.float32).reshape(1, 1, 3, 3)


def example(data: Array, kernel: int, output: object, indices: object, **steps: object) -> list[Case]:
    """An example for every version that has these attributes."""
    extra = steps.pop("extra", {})
    expected = (np.array(output, np.float32), np.array(indices, np.int64))
    torch = isinstance(extra, dict) and extra.get("rounding_type") == "ceil_torch"
    plain = "dilations" not in steps and not torch and "axis" not in extra  # type: ignore[operator]  # a dict
    opsets = ([1] if plain else []) + ([] if torch else [8]) + [14]
    return [
        pool(
            "MaxPool",
            opset,
            data,
            kernel,
            extra=extra,
            fields={"expected": expected[: 1 if opset == 1 else 2]},
            **steps,
        )  # type: ignore[arg-type]  # as a caller
        for opset in opsets
    ]


# At [0, 0, 1, 3], the window of 3 and -6, the specification writes -6 and its place.
CASES += example(
    THREE,
    2,
    [[[[-1, 2, 3, 3], [4, 5, 5, 3], [4, 8, 9, 9], [-7, 8, 9, 9]]]],
    [[[[0, 1, 2, 2], [3, 4, 4, 2], [3, 7, 8, 8], [6, 7, 8, 8]]]],
    begin=1,
)
CASES += example(
    np.array([[[-1, 2, 3, 5, -7, 9, 1]]], np.float32), 3, [[[3, 5, 5, 9, 9]]], [[[2, 3, 3, 5, 5]]], auto_pad="valid"
)
CASES += example(
    THREE,
    2,
    [[[[-1, 2, 3], [4, 5, 5], [4, 8, 9]]]],
    [[[[0, 1, 2], [3, 4, 4], [3, 7, 8]]]],
    auto_pad="same_lower",
)
CASES += example(
    np.concatenate([THREE, np.array([[[[2, -1, 5], [6, -7, 1], [8, 2, -3]]]], np.float32)], axis=1),
    2,
    [[[[5, 5, 3], [8, 9, 9], [8, 9, 9]], [[6, 5, 5], [8, 2, 1], [8, 2, -3]]]],
    [[[[4, 4, 2], [7, 8, 8], [7, 8, 8]], [[12, 11, 11], [15, 16, 14], [15, 16, 17]]]],
    auto_pad="same_upper",
)
CASES += example(
    COUNTED,
    2,
    [[[[1, 3], [7, 9]]]],
    [[[[0, 2], [6, 8]]]],
    strides=2,
    begin=1,
    extra={"rounding_type": "ceil_torch"},
)
CASES += example(
    THREE,
    2,
    [[[[5, 3], [8, 9]]]],
    [[[[4, 2], [7, 8]]]],
    strides=2,
    auto_pad="valid",
    extra={"rounding_type": "ceil"},
)
CASES += example(
    COUNTED,
    2,
    [[[[5, 6, 5], [8, 9, 8], [5, 6, 5]]]],
    [[[[4, 5, 4], [7, 8, 7], [4, 5, 4]]]],
    dilations=2,
    begin=1,
)
CASES += example(
    np.arange(1, 19, dtype=np.float32).reshape(1, 2, 3, 3),
    2,
    [[[[5, 6], [8, 9]], [[14, 15], [17, 18]]]],
    [[[[4, 5], [7, 8]], [[4, 5], [7, 8]]]],
    extra={"axis": 2},
)
CASES += [
    Case(
        type,
        opset,
        (COUNTED,),
        {"kernel": (2, 2), "strides": (1, 1), "exclude-pad": True},
        outputs=len(expected),
        expected=tuple(np.array(value, element_type).reshape(1, 1, 2, 2) for value, element_type in expected),
        oracle="nobody",
        note="OpenVINO's plugin works with random dilations where none are given",
    )
    for type, opset, expected in [
        ("MaxPool", 8, [([5, 6, 8, 9], np.float32), ([4, 5, 7, 8], np.int64)]),
        ("MaxPool", 14, [([5, 6, 8, 9], np.float32), ([4, 5, 7, 8], np.int64)]),
        ("AvgPool", 16, [([3, 4, 6, 7], np.float32)]),
    ]
]
