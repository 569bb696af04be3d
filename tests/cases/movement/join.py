"""Tensors joined and taken apart."""

from __future__ import annotations

import numpy as np

from ir_exec.types import Array, ElementType
from tests.conformance.case import Case
from tests.helpers.values import ints, iota

KINDS = ["boolean", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f16", "bf16", "f32", "f64"]


def concat(axis: int, *data: Array, **fields: object) -> Case:
    return Case("Concat", 1, data, {"axis": axis}, **fields)  # type: ignore[arg-type]  # as a caller


CASES = [
    concat(1, iota(2, 3, element_type=element_type), iota(2, 2, element_type=element_type, start=7))
    for element_type in KINDS
]
CASES += [
    concat(-1, iota(1200, 2, element_type=element_type), iota(1200, 3, element_type=element_type, start=7))
    for element_type in KINDS
]
CASES += [concat(axis, iota(30, 50, 2, 2), iota(30, 50, 2, 2, start=50)) for axis in (2, 3, -2, -1)]
CASES += [concat(2, iota(30, 50, 2, 2), iota(30, 50, 1, 2, start=50), iota(30, 50, 0, 2))]
CASES += [concat(axis, iota(2, 3, 4), iota(2, 3, 4, start=50)) for axis in (0, 1, 2, -1, -2, -3)]
CASES += [
    concat(1, iota(1, 8, 5, 5), iota(1, 16, 5, 5), iota(1, 32, 5, 5)),
    concat(-3, iota(1, 8, 5, 5), iota(1, 16, 5, 5), iota(1, 32, 5, 5)),
    concat(0, iota(3)),
    concat(0, iota(1), iota(1, start=4), iota(1, start=9)),
    concat(0, iota(0), iota(3)),
    concat(0, iota(0, 2), iota(0, 2)),
    concat(1, iota(2, 0), iota(2, 3), iota(2, 0)),
    concat(0, iota(2, 3), iota(1, 3, start=9), constants={1}),
    concat(0, iota(2, 3), iota(1, 3, start=9), constants={0}),
    concat(0, *[iota(1, 2, start=i) for i in range(9)]),
]


def split(data: Array, axis: Array, count: int, **fields: object) -> Case:
    fields = {"constants": {1}, "outputs": count, **fields}
    return Case("Split", 1, (data, axis), {"num_splits": count}, **fields)  # type: ignore[arg-type]  # as a caller


CASES += [split(iota(2, 6, element_type=element_type), np.array(1), 3) for element_type in KINDS]
CASES += [
    split(iota(2, 6), np.array(-1).astype(element_type), 2) for element_type in ("int8", "int16", "int32", "int64")
]
CASES += [
    split(iota(6, 2), np.array(0).astype(element_type), 2) for element_type in ("uint8", "uint16", "uint32", "uint64")
]
CASES += [
    split(iota(6, 12, 10, 2), np.array(1), 3),
    split(iota(4, 3), np.array(0), 4),
    split(iota(4, 3), np.array(-2), 1),
    split(iota(2, 3, 4), np.array(2), 2),
    split(iota(2, 3, 4), np.array(-3), 2),
    split(iota(0, 4), np.array(1), 2),
    split(iota(0, 4), np.array(0), 3, dynamic=False),
    split(iota(2, 6), np.array(1), 3, constants=(), oracle="reference"),
]


def variadic_split(data: Array, axis: Array, lengths: Array, **fields: object) -> Case:
    fields = {"constants": {1, 2}, "outputs": lengths.size, **fields}
    return Case("VariadicSplit", 1, (data, axis, lengths), **fields)  # type: ignore[arg-type]  # as a caller


CASES += [variadic_split(iota(6, 2, element_type=element_type), np.array(0), ints(1, 2, 3)) for element_type in KINDS]
CASES += [
    variadic_split(iota(6, 2), ints(0, element_type=element_type), ints(4, 2, element_type=element_type))
    for element_type in KINDS[1:9]
]
CASES += [
    variadic_split(iota(6, 12, 2), np.array(0), ints(1, 2, 3)),
    variadic_split(iota(6, 12, 2), np.array(0), ints(-1, 2)),
    variadic_split(iota(2, 7), np.array(-1), ints(3, -1, 1)),
    variadic_split(iota(2, 7), ints(1), ints(7)),
    variadic_split(iota(2, 7), ints(1), ints(-1)),
    variadic_split(iota(2, 7), np.array(1), ints(3, 4, -1)),
    variadic_split(iota(2, 7), np.array(1), ints(0, 7, 0)),
    variadic_split(iota(0, 3), np.array(1), ints(2, 1)),
    variadic_split(iota(2, 3, 5), np.array(-2), ints(2, 1)),
    variadic_split(iota(2, 7), np.array(1), ints(3, 4), constants={1}, oracle="reference"),
    variadic_split(iota(2, 7), np.array(1), ints(3, -1), constants={1}, oracle="reference"),
    variadic_split(iota(2, 7), np.array(1), ints(3, 4), constants={2}, oracle="reference"),
]

# Types that OpenVINO does not join: the answer is known all the same.
for element_type in ("u1", "u2", "u3", "u4", "i4", "u6", "nf4", "f4e2m1", "f8e4m3", "f8e5m2", "f8e8m0", "string"):
    if element_type == "string":
        row = np.array(["a", "bc", "", "d"], object)
    else:
        row = np.array([1, 0, 1, 1], np.uint8).view(ElementType[element_type].dtype)
    halves = (row[:2], row[2:])
    CASES += [
        concat(0, *halves, expected=(row,), oracle="nobody"),
        split(row, np.array(0), 2, expected=halves, oracle="nobody"),
        variadic_split(row, np.array(0), ints(2, -1), expected=halves, oracle="nobody"),
    ]
