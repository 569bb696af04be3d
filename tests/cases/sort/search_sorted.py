"""Bucketize and SearchSorted."""

from __future__ import annotations

import numpy as np

from ir_exec.types import Array, ElementType
from tests.conformance.case import Case

F32 = np.float32
KINDS = ("f16", "bf16", "f32", "f64", "i8", "u8", "i32", "i64")


def of_kind(values: object, kind: str) -> Array:
    return np.asarray(values).astype(ElementType[kind].dtype)


def random(*shape: int, seed: int = 0) -> Array:
    # Few values, so that many are equal to a boundary.
    return np.random.default_rng(seed).integers(-6, 6, shape).astype(F32)


def rising(*shape: int, seed: int = 1) -> Array:
    return np.sort(random(*shape, seed=seed), axis=-1)


def bucketize(data: Array, buckets: Array, constants: tuple[int, ...] = (), **fields: object) -> Case:
    right = bool(fields.pop("right", True))
    attributes = {"output_type": fields.pop("output_type", "i64"), "with_right_bound": right}
    return Case("Bucketize", 3, (data, buckets), attributes, constants, **fields)  # type: ignore[arg-type]  # as a caller


BOUNDARIES = np.array([-4, -1, 0, 2, 5], F32)

CASES: list[Case] = []
for right in (True, False):
    CASES += [bucketize(random(*shape), BOUNDARIES, right=right) for shape in ((7,), (3, 4), (2, 1, 3, 2), (), (0, 3))]
    CASES += [bucketize(random(3, 4), BOUNDARIES[:count], right=right) for count in (0, 1, 2, 3, 4)]
    CASES += [bucketize(random(3, 4), BOUNDARIES, (1,), right=right, output_type="i32")]
    CASES += [bucketize(np.array([np.inf, -np.inf, np.nan, -0.0], F32), BOUNDARIES, right=right)]
    CASES += [
        bucketize(of_kind([0, 3, 5, 9, 4], kind), of_kind([0, 4, 5], kind), right=right, output_type="i32")
        for kind in KINDS
    ]
    CASES += [
        bucketize(of_kind([0, 3, 5, 9, 4], one), of_kind([0, 4, 5], other), right=right)
        for one, other in (("f32", "i64"), ("i64", "f32"), ("i32", "f32"), ("u8", "i8"), ("f32", "i32"))
    ]
CASES += [
    Case(
        "Bucketize",
        3,
        (np.array([[3, 50], [10, -1]], F32), np.array([0, 5, 10], F32)),
        {"output_type": "i64"},
        expected=(np.array([[1, 3], [2, 0]]),),
        note="the example of the specification",
    ),
    Case(
        "Bucketize",
        3,
        (np.array([1.0], F32), np.array([0.0], F32)),
        expected=(np.array([1]),),
        oracle="nobody",
        note="output_type is i64 where it is not given, which OpenVINO refuses",
    ),
]


def search(sequence: Array, values: Array, constants: tuple[int, ...] = (), **attributes: object) -> Case:
    return Case("SearchSorted", 15, (sequence, values), attributes, constants)


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
    CASES += [search(of_kind([1, 3, 3, 5], kind), of_kind([3, 4, 0], kind), right_mode=right) for kind in KINDS]
    CASES += [search(rising(4), np.array([np.nan, np.inf, -np.inf], F32), right_mode=right)]
    CASES += [search(rising(2, size), random(2, 0), right_mode=right) for size in (0, 3)]
CASES += [search(rising(4), random(3), output_type=kind) for kind in ("i32", "i64")]
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
