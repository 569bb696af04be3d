"""OneHot."""

from __future__ import annotations

from typing import Literal

import numpy as np

from ir_exec.types import Array, ElementType
from tests.conformance.case import Case
from tests.helpers.values import scalar

RANGE_TYPES = ["bf16", "f16", "f32", "f64", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"]


def _one_hot(
    indices: object,
    depth: int,
    axis: int,
    on: float = 1,
    off: float = 0,
    *,
    opset: int = 1,
    element_type: str = "f32",
    index: str = "i64",
    mode: str | None = None,
    is_constant: bool = True,
    expected: object = None,
    oracle: Literal["plugin", "reference"] = "plugin",
    note: str = "",
) -> Case:
    value = ElementType[element_type]
    return Case(
        "OneHot",
        opset,
        (
            np.array(indices, ElementType[index].dtype),
            scalar(depth, "i64"),
            _value(on, element_type),
            _value(off, element_type),
        ),
        {"axis": axis} | ({} if mode is None else {"negative_indices_mode": mode}),
        constants=(1, 2, 3) if is_constant else (),
        expected=None if expected is None else (np.array(expected).astype(value.dtype),),
        oracle=oracle,
        note=note,
    )


def _value(value: float, element_type: str) -> Array:
    dtype = ElementType[element_type].dtype
    if element_type == "string":
        return np.array(f"text {value}", object)
    return np.array(value, np.uint8).view(dtype) if dtype.names is not None else np.array(value).astype(dtype)


PLANE = [[0, 3, 1], [1, 2, 4]]

CASES: list[Case] = []

CASES += [
    *(
        _one_hot(
            [0, 3, 1, 2],
            3,
            -1,
            1,
            2,
            opset=opset,
            expected=[[1, 2, 2], [2, 2, 2], [2, 1, 2], [2, 2, 1]],
            note="specification, example 1",
        )
        for opset in (1, 16)
    ),
    *(
        _one_hot(
            PLANE,
            3,
            1,
            opset=opset,
            expected=[[[1, 0, 0], [0, 0, 1], [0, 0, 0]], [[0, 0, 0], [1, 0, 0], [0, 1, 0]]],
            note="specification, example 2",
        )
        for opset in (1, 16)
    ),
    _one_hot(
        [0, -5, -2, 2],
        3,
        -1,
        1,
        2,
        opset=16,
        mode="normalize",
        expected=[[1, 2, 2], [2, 2, 2], [2, 1, 2], [2, 2, 1]],
        note="specification, example 1 of version 16",
    ),
    *(_one_hot(PLANE, 4, axis, 5, -1, index=index) for axis in (-3, -2, -1, 0, 1, 2) for index in ("i32", "i64")),
    *(_one_hot(PLANE, 4, axis, 5, -1, is_constant=False) for axis in (-1, 0, 1)),
    *(_one_hot(3, depth, axis) for depth in (2, 4) for axis in (0, -1)),
    *(_one_hot([-1, -3, -4, 3, 0], 3, 0, opset=opset, note="negative") for opset in (1, 16)),
    *(_one_hot([-1, -3, -4, 3, 0], 3, 0, opset=16, mode=mode) for mode in ("normalize", "ignore_negative")),
    _one_hot([-1, -3, -4, 3, 0], 3, 0, opset=16, mode="normalize", is_constant=False),
    _one_hot([0, 1], 0, 0),
    _one_hot([0, 1], 1, 1),
    _one_hot(np.zeros((2, 0)), 3, 1),
    _one_hot(np.zeros((0,)), 3, -1),
    _one_hot([0, 1], 3, -1, index="u32"),
    Case(
        "OneHot",
        1,
        (np.array([0, 2]), np.array(3, np.int32), np.array(1.5, np.float32), np.array(0.5, np.float32)),
        {"axis": 0},
        constants=(2, 3),
        note="depth unknown",
    ),
    *(
        _one_hot([[0, 2]], 3, 1, element_type=element_type)
        for element_type in ["boolean", *RANGE_TYPES, "f8e4m3", "f8e5m2"]
    ),
]
