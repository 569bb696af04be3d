"""TopK and ExperimentalDetectronTopKROIs."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from ir_exec.types import Array
from tests.conformance.case import Case
from tests.helpers.box_cases import boxes, cast, distinct
from tests.helpers.values import array_of

NAN = float("nan")
NUMBERS = ["bf16", "f16", "f32", "f64", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"]

_random = np.random.default_rng(7)
CUBE = _random.permutation(60).astype(np.float32).reshape(3, 4, 5) - 30
TIES = np.array([[1, 3, 2, 3, 1, 3, 0], [5, 5, 5, 5, 5, 5, 5]], np.float32)


def _topk(
    opset: int,
    data: Array,
    k: int,
    axis: int = -1,
    mode: str = "max",
    sort: str = "value",
    *,
    index: str | None = None,
    stable: bool | None = None,
    is_constant: bool = True,
    element_type: str = "i64",
    expected: tuple[Array, ...] | None = None,
    note: str = "",
) -> Case:
    attributes: dict[str, object] = {"axis": axis, "mode": mode, "sort": sort}
    if index is not None:
        attributes["index_element_type"] = index
    if stable is not None:
        attributes["stable"] = stable
    return Case(
        "TopK",
        opset,
        (data, array_of(k, element_type)),
        attributes,
        constants=(1,) if is_constant else (),
        outputs=2,
        expected=expected,
        note=note,
    )


MIXED = np.array([5, 3, 1, 2, 5, 5], np.float32)


def top(count: int, most: int, **fields: Any) -> Case:
    inputs = (boxes((count,), 600), distinct((count,), 601))
    return Case("ExperimentalDetectronTopKROIs", 6, inputs, {"max_rois": most}, **fields)


CASES: list[Case] = []

CASES += [
    _topk(
        11,
        MIXED,
        4,
        mode="min",
        sort="index",
        stable=True,
        expected=(np.array([5, 3, 1, 2], np.float32), np.array([0, 1, 2, 3], np.int32)),
        note="specification",
    ),
    *(
        _topk(opset, CUBE, k, axis, mode, sort)
        for opset in (1, 3, 11)
        for mode, sort in product(("max", "min"), ("value", "index"))
        for k, axis in ((1, 0), (2, -2), (5, 2))
    ),
    *(
        _topk(opset, TIES, 4, 1, mode, sort, stable=stable)
        for opset, stable in ((1, None), (3, None), (11, None), (11, True), (11, False))
        for mode, sort in product(("max", "min"), ("value", "index"))
    ),
    *(_topk(opset, CUBE, 1, 1, mode, "none") for opset in (1, 3, 11) for mode in ("max", "min")),
    *(_topk(opset, CUBE, 3, index=index) for opset in (1, 3, 11) for index in ("i32", "i64")),
    *(_topk(opset, CUBE, 3, is_constant=False) for opset in (1, 3, 11)),
    *(_topk(1, CUBE, 3, element_type=element_type) for element_type in ("i8", "i32")),
    *(_topk(3, CUBE, 3, element_type=element_type) for element_type in ("i8", "i16", "u8", "u16", "u32", "u64")),
    _topk(3, np.array([0.0, -0.0, 0.0, -0.0], np.float32), 4),
    _topk(3, np.array([np.inf, -np.inf, 1, 0], np.float32), 3, mode="min"),
    _topk(3, np.zeros((0, 3), np.float32), 2),
    _topk(3, np.ones((1,), np.float32), 1),
    *(
        _topk(3, array_of([[1, 5, 3, 0], [2, 9, 2, 9]], element_type), 3, mode=mode)
        for element_type in NUMBERS
        for mode in ("max", "min")
    ),
    _topk(3, np.array([-128, 127, 0, -1], np.int8), 3),
    _topk(3, np.array([0, 255, 128, 3], np.uint8), 3, mode="min"),
    # NaN is where the specification leaves it open; the plugin is of no use as an oracle.
    *(
        Case(
            "TopK",
            11,
            (np.array([1, NAN, 3, NAN, 2], np.float32), np.array(4)),
            {"axis": 0, "mode": mode, "sort": "value"},
            constants=(1,),
            outputs=2,
            expected=(np.array(values, np.float32), np.array(places, np.int32)),
            oracle="nobody",
            note="NaN after all numbers",
        )
        for mode, values, places in (("max", [3, 2, 1, NAN], [2, 4, 0, 1]), ("min", [1, 2, 3, NAN], [0, 4, 2, 1]))
    ),
    # The plugin refuses k = 0, which shape inference accepts.
    Case(
        "TopK",
        3,
        (CUBE, np.array(0)),
        {"axis": 1, "mode": "max", "sort": "value"},
        constants=(1,),
        outputs=2,
        expected=(np.zeros((3, 0, 5), np.float32), np.zeros((3, 0, 5), np.int32)),
        oracle="nobody",
        note="k is 0",
    ),
]

# ExperimentalDetectronTopKROIs.
CASES += [top(9, 4), top(9, 9), top(1, 1), top(9, 0), top(20, 3)]
CASES += [cast(top(9, 4), element_type, 0) for element_type in ("f16", "bf16")]
few = top(2, 4)
rows = np.concatenate([few.inputs[0][np.argsort(-few.inputs[1])], np.zeros((2, 4), np.float32)])
CASES.append(Case(few.type, 6, few.inputs, few.attributes, (), 1, (rows,), "nobody", note="what is left is open"))
