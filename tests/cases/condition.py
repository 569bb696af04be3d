"""Elements chosen from two tensors by a third."""

from __future__ import annotations

import numpy as np

from ir_exec.types import Array, ElementType
from tests.conformance.case import Case

KINDS = ["boolean", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f16", "bf16", "f32", "f64"]


def condition(*shape: int) -> Array:
    return np.random.default_rng(len(shape)).integers(0, 2, shape).astype(bool)


def data_of(*shape: int, kind: str = "f32", start: int = 0) -> Array:
    values = np.arange(start, start + np.prod(shape, dtype=int))
    return values.reshape(shape).astype(ElementType[kind].dtype)


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
CASES += [select(condition(2, 3), data_of(2, 3, kind=kind), data_of(2, 3, kind=kind, start=9)) for kind in KINDS]
CASES += [
    select(condition(*cond), data_of(*then), data_of(*else_, start=50), mode="numpy")
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
    select(condition(*shape), data_of(*shape), data_of(*shape, start=50), mode="none")
    for shape in [(2, 3), (), (0,), (1,), (2, 1, 4)]
]
CASES += [
    # The plugin forgets the axis and refuses.
    select(condition(*cond), data_of(*then), data_of(*else_, start=50), mode="pdpd", oracle="reference", **axis)
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
    select(condition(2, 3), data_of(2, 3), data_of(1, start=9), constants={2}),
    select(condition(2, 3), data_of(2, 3), data_of(1, start=9), constants={0}),
    select(condition(2, 3), data_of(2, 3), data_of(1, start=9), mode="NUMPY"),
]

# Types that OpenVINO does not choose from: the answer is known all the same.
for kind in ("u1", "u2", "u3", "u4", "i4", "u6", "nf4", "f4e2m1", "f8e4m3", "f8e5m2", "f8e8m0", "string"):
    if kind == "string":
        one, other, both = (np.array(texts, object) for texts in (["a", "b"], ["c", "d"], ["a", "d"]))
    else:
        dtype = ElementType[kind].dtype
        one, other, both = (np.array(bits, np.uint8).view(dtype) for bits in ([0, 0], [1, 1], [0, 1]))
    CASES.append(select(np.array([True, False]), one, other, expected=(both,), oracle="nobody"))
