"""Shapes: read and changed."""

from __future__ import annotations

import numpy as np

from ir_exec.types import Array, ElementType
from tests.conformance.case import Case
from tests.helpers.values import ints, iota

KINDS = ["boolean", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f16", "bf16", "f32", "f64"]
INDEX_KINDS = ["i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64"]


# ShapeOf.
CASES = [Case("ShapeOf", 1, (iota(*shape),)) for shape in [(2, 3, 4), (), (1,), (0, 5), (7,)]]
CASES += [
    Case("ShapeOf", 3, (iota(*shape),), {"output_type": element_type})
    for element_type in ("i32", "i64")
    for shape in [(2, 3, 224, 2), (), (0, 5)]
]
CASES += [
    Case("ShapeOf", 1, (iota(2, 3, element_type=element_type),)) for element_type in KINDS if element_type != "f32"
]


def unsqueeze(data: Array, axes: Array, **fields: object) -> Case:
    return Case("Unsqueeze", 1, (data, axes), **{"constants": {1}, **fields})  # type: ignore[arg-type]  # as a caller


CASES += [unsqueeze(iota(2, 3, element_type=element_type), ints(0, 3)) for element_type in KINDS]
CASES += [unsqueeze(iota(2, 3), ints(1, element_type=element_type)) for element_type in INDEX_KINDS]
CASES += [
    unsqueeze(iota(2, 3), np.array(1)),
    unsqueeze(iota(2, 3), ints(-1)),
    unsqueeze(iota(2, 3), ints(-3)),
    unsqueeze(iota(2, 3), ints(-1, 0, 2)),
    unsqueeze(iota(2, 3), ints(0, 0), note="the same axis twice"),
    unsqueeze(iota(2, 3, 4), ints(4, -1), note="the same axis in two spellings"),
    unsqueeze(iota(2), ints(1, -1, -2)),
    unsqueeze(iota(), ints(0)),
    unsqueeze(iota(), ints(0, 1)),
    unsqueeze(iota(0, 2), ints(1)),
    unsqueeze(iota(2, 3), ints(1), constants=(), oracle="reference"),
]


def squeeze(opset: int, data: Array, *axes: Array, **fields: object) -> Case:
    constants = {1} if axes else ()
    return Case("Squeeze", opset, (data, *axes), **{"constants": constants, **fields})  # type: ignore[arg-type]  # as a caller


CASES += [squeeze(1, iota(1, 3, 1, 2, element_type=element_type), ints(0, 2)) for element_type in KINDS]
CASES += [squeeze(1, iota(1, 3, 1), ints(2, element_type=element_type)) for element_type in INDEX_KINDS]
for opset in (1, 15):
    CASES += [
        squeeze(opset, iota(1, 3, 1, 2)),
        squeeze(opset, iota(2, 3)),
        squeeze(opset, iota(1, 1)),
        squeeze(opset, iota()),
        squeeze(opset, iota(0, 1)),
        squeeze(opset, iota(1, 3, 1, 2), ints(2, 0)),
        squeeze(opset, iota(1), ints(0)),
        squeeze(opset, iota(1, 3, 1), np.array(-1)),
        squeeze(opset, iota(1, 3, 1), ints(-1, 2), note="one axis in two spellings"),
        squeeze(opset, iota(1, 3, 1), ints(), note="no axes are all axes"),
        squeeze(opset, iota(), ints(0), dynamic=False, note="a scalar has an axis"),
        squeeze(opset, iota(2, 1, 0), ints(1)),
    ]
CASES += [
    squeeze(1, iota(1, 3, 1), ints(0), constants=(), oracle="reference"),
    squeeze(15, iota(1, 3, 1), ints(0), constants=(), oracle="reference"),
    squeeze(15, iota(1, 3, 1), ints(0), attributes={"allow_axis_skip": True}),
    squeeze(15, iota(1, 3, 1), ints(1), attributes={"allow_axis_skip": True}),
    squeeze(15, iota(1, 3, 1), attributes={"allow_axis_skip": True}),
    squeeze(15, iota(1, 3, 1), ints(-1), attributes={"allow_axis_skip": False}),
]


def reshape(data: Array, shape: Array, special_zero: bool = False, **fields: object) -> Case:
    fields = {"constants": {1}, **fields}
    return Case("Reshape", 1, (data, shape), {"special_zero": special_zero}, **fields)  # type: ignore[arg-type]  # as a caller


CASES += [reshape(iota(2, 3, 4, element_type=element_type), ints(4, 6)) for element_type in KINDS]
CASES += [reshape(iota(2, 6), ints(3, 4, element_type=element_type)) for element_type in INDEX_KINDS]
CASES += [
    reshape(iota(2, 5, 5, 0), ints(0, 4)),
    reshape(iota(2, 5, 5, 24), ints(0, -1, 4), True),
    reshape(iota(2, 2, 3), ints(0, 0, 1, -1), True),
    reshape(iota(3, 1, 1), ints(0, -1), True),
    reshape(iota(2, 3), ints(0, 3), True),
    reshape(iota(2, 3, 4), ints(0, 0, 0), True),
    reshape(iota(2, 3, 4), ints(0, 12), True),
    reshape(iota(0, 5), ints(0, -1), True),
    reshape(
        iota(0),
        ints(0, -1),
        True,
    ),
    reshape(iota(2, 0), ints(0, 0), True),
    reshape(iota(0, 3), ints(5, 0)),
    reshape(iota(1), ints()),
    reshape(iota(1, 1), ints()),
    reshape(iota(), ints(1, 1)),
    reshape(iota(2, 3), ints(3, 2), constants=()),
    reshape(iota(2, 3), ints(6), constants=()),
    reshape(iota(2, 3), ints(0, -1), True, constants=()),
]
OPEN = "OpenVINO infers at least 1 for -1 of an unknown rank, though data may be empty"
CASES += [
    reshape(iota(2, 3, 4), ints(-1), dynamic=False, note=OPEN),
    reshape(iota(2, 3, 4), ints(-1, 6), dynamic=False, note=OPEN),
    reshape(iota(2, 3, 4), ints(2, -1, 3), dynamic=False, note=OPEN),
    reshape(iota(0, 3), ints(-1, 3), dynamic=False, note=OPEN),
    reshape(iota(0, 3), ints(3, -1), dynamic=False, note=OPEN),
    reshape(iota(6), ints(2, 3, -1), dynamic=False, note=OPEN),
    reshape(iota(3, 1, 1), ints(-1, 0), True),
    reshape(iota(0, 3), ints(5, 0, -1), True),
    reshape(iota(), ints(-1), dynamic=False, note=OPEN),
    reshape(iota(0, 5), ints(0, -1), dynamic=False, note="nothing of nothing is 1"),
    reshape(iota(0, 3), ints(5, 0, -1), dynamic=False, note="nothing of nothing is 1"),
]
# Types that OpenVINO does not move: the answer is known all the same.
for element_type in ("u1", "u2", "u3", "u4", "i4", "u6", "nf4", "f4e2m1", "f8e4m3", "f8e5m2", "f8e8m0", "string"):
    if element_type == "string":
        row = np.array(["a", "bc", "", "d"], object)
    else:
        row = np.array([1, 0, 1, 1], np.uint8).view(ElementType[element_type].dtype)
    square = row.reshape(2, 2)
    CASES += [
        reshape(row, ints(2, 2), expected=(square,), oracle="nobody"),
        squeeze(1, square.reshape(1, 2, 2), ints(0), expected=(square,), oracle="nobody"),
        unsqueeze(row, ints(0), expected=(row.reshape(1, 4),), oracle="nobody"),
    ]
