"""Unique."""

from __future__ import annotations

from itertools import product

import numpy as np

from ir_exec.types import Array
from tests.conformance.case import Case
from tests.helpers.values import array_of

NAN = float("nan")
NUMBERS = ["bf16", "f16", "f32", "f64", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"]

_random = np.random.default_rng(7)
HOLES = _random.integers(-2, 3, (3, 4, 2)).astype(np.float32)


REPEATED = np.array([3, 1, 3, 2, 1, 0], np.float32)
ROWS = np.array([[1, 2], [1, 2], [3, 4], [1, 2], [0, 9], [1, 0]], np.float32)


def _unique(
    data: Array,
    axis: int | None = None,
    *,
    is_constant: bool = False,
    axis_shape: tuple[int, ...] = (),
    **attributes: object,
) -> Case:
    inputs = (data,) if axis is None else (data, np.full(axis_shape, axis, np.int64))
    constants = ((0,) if is_constant else ()) + ((1,) if axis is not None else ())
    return Case("Unique", 10, inputs, attributes, constants=constants, outputs=4)


CASES: list[Case] = []

CASES += [
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
    *(_unique(data, axis, is_constant=True) for data, axis in [(REPEATED, None), (ROWS, 0), (ROWS, 1)]),
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
    *(_unique(array_of([[3, 1], [3, 2], [1, 1]], element_type)) for element_type in [*NUMBERS, "boolean"]),
    *(_unique(array_of([[3, 1], [3, 2], [3, 1]], element_type), 0) for element_type in NUMBERS),
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
