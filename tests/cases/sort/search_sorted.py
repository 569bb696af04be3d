"""SearchSorted."""

from __future__ import annotations

import numpy as np

from ir_exec.types import Array
from tests.conformance.case import Case
from tests.helpers.values import array_of

F32 = np.float32
SEARCHED = ("f16", "bf16", "f32", "f64", "i8", "u8", "i32", "i64")


def random(*shape: int, seed: int = 0) -> Array:
    # Few values, so that many are equal to a boundary.
    return np.random.default_rng(seed).integers(-6, 6, shape).astype(F32)


def rising(*shape: int, seed: int = 1) -> Array:
    return np.sort(random(*shape, seed=seed), axis=-1)


def search(sequence: Array, values: Array, constants: tuple[int, ...] = (), **attributes: object) -> Case:
    return Case("SearchSorted", 15, (sequence, values), attributes, constants)


CASES: list[Case] = []

for right in (True, False):
    CASES += [
        search(rising(*batch, 6), random(*batch, count), right_mode=right)
        for batch in ((), (3,), (2, 3), (1, 2, 2))
        for count in (1, 4)
    ]
    CASES += [search(rising(9), random(*shape), right_mode=right) for shape in ((), (2, 3), (2, 1, 2), (0,))]
    CASES += [search(rising(2, size), random(2, 5), right_mode=right) for size in (1, 2, 3, 7, 8)]
    CASES += [search(rising(2, 4), random(2, 3), constants, right_mode=right) for constants in ((0,), (1,))]
    CASES += [search(rising(5), random(2, 3), (0,), right_mode=right)]
    CASES += [
        search(array_of([1, 3, 3, 5], element_type), array_of([3, 4, 0], element_type), right_mode=right)
        for element_type in SEARCHED
    ]
    CASES += [search(rising(4), np.array([np.nan, np.inf, -np.inf], F32), right_mode=right)]
    CASES += [search(rising(2, size), random(2, 0), right_mode=right) for size in (0, 3)]
CASES += [search(rising(4), random(3), output_type=element_type) for element_type in ("i32", "i64")]
CASES += [search(rising(4), random(3))]
CASES += [
    Case(
        "SearchSorted",
        15,
        (np.zeros((2, 0), F32), random(2, 3)),
        {"right_mode": right},
        expected=(np.zeros((2, 3), np.int64),),
        oracle="nobody",
        note="OpenVINO's CPU plugin gives what lies in memory",
    )
    for right in (True, False)
]
