"""Select, NonZero, Bucketize."""

from __future__ import annotations

import numpy as np

from ir_exec.types import Array, ElementType
from tests.conformance.case import Case
from tests.helpers.values import array_of, iota

KINDS = ["boolean", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f16", "bf16", "f32", "f64"]


def condition(*shape: int) -> Array:
    return np.random.default_rng(len(shape)).integers(0, 2, shape).astype(bool)


def select(cond: Array, then: Array, else_: Array, **fields: object) -> Case:
    attributes = {"auto_broadcast": fields.pop("mode")} if "mode" in fields else {}
    if "axis" in fields:
        attributes["auto_broadcast.auto_broadcast_axis"] = fields.pop("axis")
    return Case("Select", 1, (cond, then, else_), attributes, **fields)  # type: ignore[arg-type]  # as a caller


CASES = [
    select(
        np.array([[False, False], [True, False], [True, True]]),
        np.array([[-1, 0], [1, 2], [3, 4]], np.int32),
        np.array([[11, 10], [9, 8], [7, 6]], np.int32),
        expected=(np.array([[11, 10], [1, 8], [3, 4]], np.int32),),
        note="the example of the specification",
    )
]
CASES += [
    select(condition(2, 3), iota(2, 3, element_type=element_type), iota(2, 3, element_type=element_type, start=9))
    for element_type in KINDS
]
CASES += [
    select(condition(*cond), iota(*then), iota(*else_, start=50), mode="numpy")
    for cond, then, else_ in [
        ((2, 3), (2, 3), (2, 3)),
        ((2, 3), (3,), (1,)),
        ((3,), (2, 1), (3,)),
        ((4, 2, 3), (2, 3), (1,)),
        ((1,), (2, 3), (2, 3)),
        ((2, 1), (2, 3), (1, 3)),
        ((), (), ()),
        ((), (2,), ()),
        ((2, 3), (), ()),
        ((0, 3), (0, 3), (3,)),
        ((1,), (0,), (1,)),
        ((1, 1, 1), (2, 3, 4), (4,)),
    ]
]
CASES += [
    select(condition(*shape), iota(*shape), iota(*shape, start=50), mode="none")
    for shape in [(2, 3), (), (0,), (1,), (2, 1, 4)]
]
CASES += [
    # The plugin forgets the axis and refuses.
    select(condition(*cond), iota(*then), iota(*else_, start=50), mode="pdpd", oracle="reference", **axis)
    for axis, cond, then, else_ in [
        ({}, (2, 3), (2, 3), (2, 3)),
        ({}, (2,), (2, 3), (2, 1)),
        ({}, (1,), (2, 3), (2, 3)),
        ({}, (2, 1), (2, 3), (1,)),
        ({"axis": 0}, (2,), (2, 3, 4), (2, 3)),
        ({"axis": 1}, (3,), (2, 3, 4), (3,)),
        ({"axis": 1}, (3,), (2, 3, 4), (3, 1)),
        ({"axis": 1}, (3, 4), (2, 3, 4), (3,)),
        ({"axis": -1}, (3, 4), (2, 3, 4), (4,)),
        ({"axis": -1}, (2, 3, 4), (2, 3, 4), (1,)),
    ]
]
CASES += [
    select(condition(2, 3), iota(2, 3), iota(1, start=9), constants={2}),
    select(condition(2, 3), iota(2, 3), iota(1, start=9), constants={0}),
    select(condition(2, 3), iota(2, 3), iota(1, start=9), mode="NUMPY"),
]

# Types that OpenVINO does not choose from: the answer is known all the same.
for element_type in ("u1", "u2", "u3", "u4", "i4", "u6", "nf4", "f4e2m1", "f8e4m3", "f8e5m2", "f8e8m0", "string"):
    if element_type == "string":
        left, right, both = (np.array(texts, object) for texts in (["a", "b"], ["c", "d"], ["a", "d"]))
    else:
        dtype = ElementType[element_type].dtype
        left, right, both = (np.array(bits, np.uint8).view(dtype) for bits in ([0, 0], [1, 1], [0, 1]))
    CASES.append(select(np.array([True, False]), left, right, expected=(both,), oracle="nobody"))


F32 = np.float32
SEARCHED = ("f16", "bf16", "f32", "f64", "i8", "u8", "i32", "i64")


def random(*shape: int, seed: int = 0) -> Array:
    # Few values, so that many are equal to a boundary.
    return np.random.default_rng(seed).integers(-6, 6, shape).astype(F32)


def bucketize(data: Array, buckets: Array, constants: tuple[int, ...] = (), **fields: object) -> Case:
    right = bool(fields.pop("right", True))
    attributes = {"output_type": fields.pop("output_type", "i64"), "with_right_bound": right}
    return Case("Bucketize", 3, (data, buckets), attributes, constants, **fields)  # type: ignore[arg-type]  # as a caller


BOUNDARIES = np.array([-4, -1, 0, 2, 5], F32)
for right in (True, False):
    CASES += [bucketize(random(*shape), BOUNDARIES, right=right) for shape in ((7,), (3, 4), (2, 1, 3, 2), (), (0, 3))]
    CASES += [bucketize(random(3, 4), BOUNDARIES[:count], right=right) for count in (0, 1, 2, 3, 4)]
    CASES += [bucketize(random(3, 4), BOUNDARIES, (1,), right=right, output_type="i32")]
    CASES += [bucketize(np.array([np.inf, -np.inf, np.nan, -0.0], F32), BOUNDARIES, right=right)]
    CASES += [
        bucketize(
            array_of([0, 3, 5, 9, 4], element_type), array_of([0, 4, 5], element_type), right=right, output_type="i32"
        )
        for element_type in SEARCHED
    ]
    CASES += [
        bucketize(array_of([0, 3, 5, 9, 4], data_type), array_of([0, 4, 5], buckets_type), right=right)
        for data_type, buckets_type in (("f32", "i64"), ("i64", "f32"), ("i32", "f32"), ("u8", "i8"), ("f32", "i32"))
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


NAN = float("nan")
NUMBERS = ["bf16", "f16", "f32", "f64", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"]

_random = np.random.default_rng(7)
HOLES = _random.integers(-2, 3, (3, 4, 2)).astype(np.float32)


CASES += [
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
    *(Case("NonZero", 3, (array_of([[0, 1, 2], [3, 0, 0]], element_type),)) for element_type in [*NUMBERS, "boolean"]),
]
