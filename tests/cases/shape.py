"""Shapes: read and changed."""

from __future__ import annotations

import numpy as np

from ir_exec.types import Array, ElementType
from tests.conformance.case import Case

KINDS = ["boolean", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f16", "bf16", "f32", "f64"]
INDEX_KINDS = ["i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64"]


def data_of(*shape: int, kind: str = "f32") -> Array:
    return np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(ElementType[kind].dtype)


def vector(*values: int, kind: str = "i64") -> Array:
    return np.array(values, ElementType[kind].dtype)


# ShapeOf.
CASES = [Case("ShapeOf", 1, (data_of(*shape),)) for shape in [(2, 3, 4), (), (1,), (0, 5), (7,)]]
CASES += [
    Case("ShapeOf", 3, (data_of(*shape),), {"output_type": kind})
    for kind in ("i32", "i64")
    for shape in [(2, 3, 224, 2), (), (0, 5)]
]
CASES += [Case("ShapeOf", 1, (data_of(2, 3, kind=kind),)) for kind in KINDS if kind != "f32"]


def unsqueeze(data: Array, axes: Array, **fields: object) -> Case:
    return Case("Unsqueeze", 1, (data, axes), **{"constants": {1}, **fields})  # type: ignore[arg-type]  # as a caller


CASES += [unsqueeze(data_of(2, 3, kind=kind), vector(0, 3)) for kind in KINDS]
CASES += [unsqueeze(data_of(2, 3), vector(1, kind=kind)) for kind in INDEX_KINDS]
CASES += [
    unsqueeze(data_of(2, 3), np.array(1)),
    unsqueeze(data_of(2, 3), vector(-1)),
    unsqueeze(data_of(2, 3), vector(-3)),
    unsqueeze(data_of(2, 3), vector(-1, 0, 2)),
    unsqueeze(data_of(2, 3), vector(0, 0), note="the same axis twice"),
    unsqueeze(data_of(2, 3, 4), vector(4, -1), note="the same axis in two spellings"),
    unsqueeze(data_of(2), vector(1, -1, -2)),
    unsqueeze(data_of(), vector(0)),
    unsqueeze(data_of(), vector(0, 1)),
    unsqueeze(data_of(0, 2), vector(1)),
    unsqueeze(data_of(2, 3), vector(1), constants=(), oracle="reference"),
]


def squeeze(opset: int, data: Array, *axes: Array, **fields: object) -> Case:
    constants = {1} if axes else ()
    return Case("Squeeze", opset, (data, *axes), **{"constants": constants, **fields})  # type: ignore[arg-type]  # as a caller


CASES += [squeeze(1, data_of(1, 3, 1, 2, kind=kind), vector(0, 2)) for kind in KINDS]
CASES += [squeeze(1, data_of(1, 3, 1), vector(2, kind=kind)) for kind in INDEX_KINDS]
for opset in (1, 15):
    CASES += [
        squeeze(opset, data_of(1, 3, 1, 2)),
        squeeze(opset, data_of(2, 3)),
        squeeze(opset, data_of(1, 1)),
        squeeze(opset, data_of()),
        squeeze(opset, data_of(0, 1)),
        squeeze(opset, data_of(1, 3, 1, 2), vector(2, 0)),
        squeeze(opset, data_of(1), vector(0)),
        squeeze(opset, data_of(1, 3, 1), np.array(-1)),
        squeeze(opset, data_of(1, 3, 1), vector(-1, 2), note="one axis in two spellings"),
        squeeze(opset, data_of(1, 3, 1), vector(), note="no axes are all axes"),
        squeeze(opset, data_of(), vector(0), dynamic=False, note="a scalar has an axis"),
        squeeze(opset, data_of(2, 1, 0), vector(1)),
    ]
CASES += [
    squeeze(1, data_of(1, 3, 1), vector(0), constants=(), oracle="reference"),
    squeeze(15, data_of(1, 3, 1), vector(0), constants=(), oracle="reference"),
    squeeze(15, data_of(1, 3, 1), vector(0), attributes={"allow_axis_skip": True}),
    squeeze(15, data_of(1, 3, 1), vector(1), attributes={"allow_axis_skip": True}),
    squeeze(15, data_of(1, 3, 1), attributes={"allow_axis_skip": True}),
    squeeze(15, data_of(1, 3, 1), vector(-1), attributes={"allow_axis_skip": False}),
]


def reshape(data: Array, shape: Array, special_zero: bool = False, **fields: object) -> Case:
    fields = {"constants": {1}, **fields}
    return Case("Reshape", 1, (data, shape), {"special_zero": special_zero}, **fields)  # type: ignore[arg-type]  # as a caller


CASES += [reshape(data_of(2, 3, 4, kind=kind), vector(4, 6)) for kind in KINDS]
CASES += [reshape(data_of(2, 6), vector(3, 4, kind=kind)) for kind in INDEX_KINDS]
CASES += [
    reshape(data_of(2, 5, 5, 0), vector(0, 4)),
    reshape(data_of(2, 5, 5, 24), vector(0, -1, 4), True),
    reshape(data_of(2, 2, 3), vector(0, 0, 1, -1), True),
    reshape(data_of(3, 1, 1), vector(0, -1), True),
    reshape(data_of(2, 3), vector(0, 3), True),
    reshape(data_of(2, 3, 4), vector(0, 0, 0), True),
    reshape(data_of(2, 3, 4), vector(0, 12), True),
    reshape(data_of(0, 5), vector(0, -1), True),
    reshape(
        data_of(
            0,
        ),
        vector(0, -1),
        True,
    ),
    reshape(data_of(2, 0), vector(0, 0), True),
    reshape(data_of(0, 3), vector(5, 0)),
    reshape(data_of(1), vector()),
    reshape(data_of(1, 1), vector()),
    reshape(data_of(), vector(1, 1)),
    reshape(data_of(2, 3), vector(3, 2), constants=()),
    reshape(data_of(2, 3), vector(6), constants=()),
    reshape(data_of(2, 3), vector(0, -1), True, constants=()),
]
OPEN = "OpenVINO infers at least 1 for -1 of an unknown rank, though data may be empty"
CASES += [
    reshape(data_of(2, 3, 4), vector(-1), dynamic=False, note=OPEN),
    reshape(data_of(2, 3, 4), vector(-1, 6), dynamic=False, note=OPEN),
    reshape(data_of(2, 3, 4), vector(2, -1, 3), dynamic=False, note=OPEN),
    reshape(data_of(0, 3), vector(-1, 3), dynamic=False, note=OPEN),
    reshape(data_of(0, 3), vector(3, -1), dynamic=False, note=OPEN),
    reshape(data_of(6), vector(2, 3, -1), dynamic=False, note=OPEN),
    reshape(data_of(3, 1, 1), vector(-1, 0), True),
    reshape(data_of(0, 3), vector(5, 0, -1), True),
    reshape(data_of(), vector(-1), dynamic=False, note=OPEN),
    reshape(data_of(0, 5), vector(0, -1), dynamic=False, note="nothing of nothing is 1"),
    reshape(data_of(0, 3), vector(5, 0, -1), dynamic=False, note="nothing of nothing is 1"),
]
# Types that OpenVINO does not move: the answer is known all the same.
for kind in ("u1", "u2", "u3", "u4", "i4", "u6", "nf4", "f4e2m1", "f8e4m3", "f8e5m2", "f8e8m0", "string"):
    if kind == "string":
        row = np.array(["a", "bc", "", "d"], object)
    else:
        row = np.array([1, 0, 1, 1], np.uint8).view(ElementType[kind].dtype)
    square = row.reshape(2, 2)
    CASES += [
        reshape(row, vector(2, 2), expected=(square,), oracle="nobody"),
        squeeze(1, square.reshape(1, 2, 2), vector(0), expected=(square,), oracle="nobody"),
        unsqueeze(row, vector(0), expected=(row.reshape(1, 4),), oracle="nobody"),
    ]
