"""NonZero, CumSum, TopK, Unique."""

from __future__ import annotations

from itertools import product

import numpy as np

from ir_exec.types import Array, ElementType
from tests.conformance.case import Case

NAN = float("nan")
NUMBERS = ["bf16", "f16", "f32", "f64", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"]

_random = np.random.default_rng(7)
HOLES = _random.integers(-2, 3, (3, 4, 2)).astype(np.float32)
CUBE = _random.permutation(60).astype(np.float32).reshape(3, 4, 5) - 30
TIES = np.array([[1, 3, 2, 3, 1, 3, 0], [5, 5, 5, 5, 5, 5, 5]], np.float32)


def _typed(values: object, kind: str) -> Array:
    return np.array(values).astype(ElementType[kind].dtype)


NON_ZEROS = [
    Case(
        "NonZero", 3, (np.array([[1, 0], [1, 1]]),), expected=(np.array([[0, 1, 1], [0, 0, 1]]),), note="specification"
    ),
    *(
        Case("NonZero", 3, (data,), attributes, constants)
        for attributes in ({}, {"output_type": "i32"}, {"output_type": "i64"})
        for constants in ((), (0,))
        for data in (HOLES, HOLES[0, :, 0], HOLES[:, :0], np.zeros((2, 3), np.float32), np.ones((1,), np.int32))
    ),
    Case("NonZero", 3, (np.array([0.0, -0.0, NAN, 1e-45, -1], np.float32),)),
    *(Case("NonZero", 3, (np.array(value, np.float32),), oracle="reference", note=f"{value}") for value in (0, 5)),
    *(Case("NonZero", 3, (np.array(value, np.float32),), constants=(0,), note=f"{value}") for value in (0, 5)),
    *(Case("NonZero", 3, (_typed([[0, 1, 2], [3, 0, 0]], kind),)) for kind in [*NUMBERS, "boolean"]),
]

FIVE = np.array([1, 2, 3, 4, 5], np.float32)
SUMS = {
    (False, False): [1, 3, 6, 10, 15],
    (True, False): [0, 1, 3, 6, 10],
    (False, True): [15, 14, 12, 9, 5],
    (True, True): [14, 12, 9, 5, 0],
}


def _cumsum(data: Array, axis: int, exclusive: bool = False, reverse: bool = False, *, known: bool = True) -> Case:
    attributes = {"exclusive": exclusive, "reverse": reverse}
    return Case("CumSum", 3, (data, np.array(axis)), attributes, constants=(1,) if known else ())


CUM_SUMS = [
    *(
        Case(
            "CumSum",
            3,
            (FIVE, np.array(0)),
            {"exclusive": int(exclusive), "reverse": int(reverse)},
            constants=(1,),
            expected=(np.array(sums, np.float32),),
            note="specification",
        )
        for (exclusive, reverse), sums in SUMS.items()
    ),
    *(
        _cumsum(HOLES, axis, exclusive, reverse)
        for axis in (0, 1, 2, -1, -3)
        for exclusive, reverse in product((False, True), repeat=2)
    ),
    _cumsum(HOLES, 1, known=False),
    _cumsum(HOLES[:, :0], 1, True, True),
    _cumsum(HOLES[:0], 1, True),
    _cumsum(FIVE[:1], 0, True),
    Case("CumSum", 3, (HOLES, np.array(-2, np.int32)), constants=(1,)),
    Case("CumSum", 3, (FIVE, np.array([0])), constants=(1,), oracle="reference", note="an axis of one element"),
    Case("CumSum", 3, (HOLES,), expected=(np.cumsum(HOLES, 0),), oracle="nobody", note="without axis OpenVINO throws"),
    *(Case("CumSum", 3, (_typed([[1, 2, 3], [4, 5, 6]], kind), np.array(1)), {}, (1,)) for kind in NUMBERS),
    # Adding in the short type itself would stay at 2048.
    Case("CumSum", 3, (np.ones(3000, np.float16), np.array(0)), constants=(1,)),
    Case(
        "CumSum",
        3,
        (_typed(np.ones(600), "bf16"), np.array(0)),
        constants=(1,),
        expected=(_typed(range(1, 601), "bf16"),),
        oracle="nobody",
        note="the plugin stays at 256",
    ),
    Case("CumSum", 3, (np.array([100, 100, 100, -1], np.int8), np.array(0)), constants=(1,), note="wraps"),
    Case("CumSum", 3, (np.array([200, 100, 1], np.uint8), np.array(0)), {"reverse": True}, (1,), note="wraps"),
    Case("CumSum", 3, (np.array([2**31 - 1, 1, 5], np.int32), np.array(0)), constants=(1,), note="wraps"),
]


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
    known: bool = True,
    kind: str = "i64",
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
        (data, _typed(k, kind)),
        attributes,
        constants=(1,) if known else (),
        outputs=2,
        expected=expected,
        note=note,
    )


MIXED = np.array([5, 3, 1, 2, 5, 5], np.float32)

TOP_KS = [
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
    *(_topk(opset, CUBE, 3, known=False) for opset in (1, 3, 11)),
    *(_topk(1, CUBE, 3, kind=kind) for kind in ("i8", "i32")),
    *(_topk(3, CUBE, 3, kind=kind) for kind in ("i8", "i16", "u8", "u16", "u32", "u64")),
    _topk(3, np.array([0.0, -0.0, 0.0, -0.0], np.float32), 4),
    _topk(3, np.array([np.inf, -np.inf, 1, 0], np.float32), 3, mode="min"),
    _topk(3, np.zeros((0, 3), np.float32), 2),
    _topk(3, np.ones((1,), np.float32), 1),
    *(
        _topk(3, _typed([[1, 5, 3, 0], [2, 9, 2, 9]], kind), 3, mode=mode)
        for kind in NUMBERS
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

REPEATED = np.array([3, 1, 3, 2, 1, 0], np.float32)
ROWS = np.array([[1, 2], [1, 2], [3, 4], [1, 2], [0, 9], [1, 0]], np.float32)


def _unique(
    data: Array, axis: int | None = None, *, known: bool = False, axis_shape: tuple[int, ...] = (), **attributes: object
) -> Case:
    inputs = (data,) if axis is None else (data, np.full(axis_shape, axis, np.int64))
    constants = ((0,) if known else ()) + ((1,) if axis is not None else ())
    return Case("Unique", 10, inputs, attributes, constants=constants, outputs=4)


UNIQUES = [
    *(
        _unique(data, axis, sorted=ordered)
        for ordered in (True, False)
        for data, axis in [
            (REPEATED, None),
            (REPEATED.reshape(2, 3), None),
            (REPEATED, 0),
            (ROWS, 0),
            (ROWS, 1),
            (ROWS.T.copy(), -1),
            (np.stack([ROWS, ROWS[::-1]], 1), 0),
            (np.stack([ROWS, ROWS], 1), -2),
            (HOLES, None),
            (HOLES, 2),
        ]
    ),
    *(_unique(data, axis, known=True) for data, axis in [(REPEATED, None), (ROWS, 0), (ROWS, 1)]),
    _unique(ROWS, 0, axis_shape=(1,)),
    Case("Unique", 10, (ROWS, np.array(0, np.int32)), constants=(1,), outputs=4),
    *(
        _unique(REPEATED, None, index_element_type=index, count_element_type=count)
        for index, count in product(("i32", "i64"), repeat=2)
    ),
    _unique(np.array(3, np.float32)),
    _unique(np.array([3], np.float32), 0),
    _unique(np.array([0.0, -0.0, 0.0], np.float32)),
    _unique(ROWS[:0], 0),
    *(_unique(_typed([[3, 1], [3, 2], [1, 1]], kind)) for kind in [*NUMBERS, "boolean"]),
    *(_unique(_typed([[3, 1], [3, 2], [3, 1]], kind), 0) for kind in NUMBERS),
    Case(
        "Unique",
        10,
        (np.array([NAN, 1, NAN, 2, 1], np.float32),),
        {"sorted": False},
        outputs=4,
        expected=(
            np.array([NAN, 1, NAN, 2], np.float32),
            np.array([0, 1, 2, 3]),
            np.array([0, 1, 2, 3, 1]),
            np.array([1, 2, 1, 1]),
        ),
        note="NaN",
    ),
]

CASES: list[Case] = [*NON_ZEROS, *CUM_SUMS, *TOP_KS, *UNIQUES]
