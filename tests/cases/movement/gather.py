"""Gather, GatherElements, GatherND."""

from __future__ import annotations

import numpy as np

from ir_exec.types import Array
from tests.conformance.case import Case
from tests.helpers.index_cases import indices_of, values_of
from tests.helpers.values import floats, ints, iota, scalar

NUMBERS = (
    "boolean",
    "bf16",
    "f16",
    "f32",
    "f64",
    "i4",
    "i8",
    "i16",
    "i32",
    "i64",
    "u4",
    "u8",
    "u16",
    "u32",
    "u64",
    "f8e4m3",
    "f8e5m2",
    "f8e8m0",
)
"""Element types that the CPU plugin moves about without a fault."""

OTHERS = (
    "u1",
    "u2",
    "u3",
    "u6",
    "nf4",
    "f4e2m1",
    "string",
)
"""Element types that it refuses or of which it gives wrong elements; `expected` names the elements by hand."""

INDEX_TYPES = (
    "i4",
    "i8",
    "i16",
    "i32",
    "i64",
    "u4",
    "u8",
    "u16",
    "u32",
    "u64",
)

DATA = np.array([[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]], np.float32)


def gather(
    since: int, data: Array, indices: Array, axis: Array, batch_dims: int | None = None, **fields: object
) -> Case:
    attributes = {} if batch_dims is None else {"batch_dims": batch_dims}
    fields = {"constants": {2}, **fields}
    return Case("Gather", since, (data, indices, axis), attributes, **fields)  # type: ignore[arg-type]  # as a caller


def elements(data: Array, indices: Array, axis: int, **fields: object) -> Case:
    return Case("GatherElements", 6, (data, indices), {"axis": axis}, **fields)  # type: ignore[arg-type]  # as a caller


def nd(since: int, data: Array, indices: Array, batch_dims: int | None = None, **fields: object) -> Case:
    attributes = {} if batch_dims is None else {"batch_dims": batch_dims}
    return Case("GatherND", since, (data, indices), attributes, **fields)  # type: ignore[arg-type]  # as a caller


CASES: list[Case] = []

# Gather: shapes of data and indices, axis. The plugin divides by zero on empty data, the reference kernel does not.
GATHERED: list[tuple[tuple[int, ...], tuple[int, ...], int]] = [
    ((5,), (3,), 0),
    ((5,), (), -1),
    ((1,), (1,), 0),
    ((2, 3, 4), (2,), 1),
    ((2, 3, 4), (2, 3), -1),
    ((2, 3, 4), (), 0),
    ((4, 1, 3), (2, 1, 2), -3),
    ((3, 7, 1), (11,), 1),
    ((2, 3, 2, 3), (2, 2), 2),
    ((3, 4), (0,), 1),
    ((3, 4), (2, 0), 0),
]
for since in (1, 7, 8):
    for seed, (shape, indices_shape, axis) in enumerate(GATHERED):
        indices = indices_of(indices_shape, 0, shape[axis], seed, "i32" if seed % 2 else "i64")
        oracle = "plugin" if indices.size else "reference"
        row = gather(since, iota(*shape), indices, scalar(axis) if seed % 3 else ints(axis), oracle=oracle)
        CASES.append(row)
    CASES += [
        gather(since, iota(0, 3), ints(0, 2), scalar(1), oracle="reference"),
        gather(since, iota(2, 0), ints(1, 1, 0), scalar(0), oracle="reference"),
        gather(since, iota(0, 3), ints(), scalar(0), oracle="reference"),
        gather(since, DATA, ints(1, 0), scalar(1), constants=(), oracle="reference", note="the axis is an input"),
        gather(since, DATA, ints(1, 0), ints(-1, element_type="i8"), constants={1, 2}),
        gather(since, DATA, ints(2, 0), scalar(-2, "i16"), constants={0, 1, 2}),
        gather(since, DATA, ints(-1, 0, -3), scalar(0), oracle="reference", note="negative"),
        gather(since, DATA, ints(2, -1), scalar(0), constants={0, 1, 2}, note="negative and folded"),
        gather(since, DATA, scalar(-4), scalar(1), oracle="reference", note="negative"),
    ]

# Gather-8: out of range gives zeros. The plugin cuts i64 indices to 32 bits, the reference kernel does not.
FAR = ints(2**63 - 1, -(2**63), 2**32, -(2**32), 2**31, 1)
CASES += [
    gather(8, floats(1, 2, 3, 4, 5), ints(3, 10, -20), scalar(0), expected=(floats(4, 0, 0),), note="Gather_8, 7"),
    gather(8, floats(1, 2, 3, 4, 5), ints(0, -2, -1), scalar(0), expected=(floats(1, 4, 5),), note="Gather_8, 6"),
    gather(8, DATA + 1, FAR, scalar(0), oracle="reference"),
    gather(8, DATA + 1, FAR.reshape(2, 3), scalar(-1), oracle="reference"),
    gather(8, DATA + 1, ints(2**31 - 1, -(2**31), 3, -4, 0, element_type="i32"), scalar(0)),
    gather(8, DATA + 1, scalar(4), scalar(1)),
    gather(8, DATA.astype(np.int8) + np.int8(1), ints([3, -5], [-4, 4], element_type="i32"), scalar(1)),
    gather(8, iota(0, 3), ints(0, -1), scalar(0), oracle="reference"),
    gather(8, iota(2, 0), scalar(0), scalar(1), oracle="reference"),
    gather(8, iota(2, 3, 2) + 1, ints([0, 3], [-4, 2]), scalar(1), 1),
    gather(8, iota(2, 2, 3, 2) + 1, ints([0, 3], [-4, 2]), scalar(2), 1),
    gather(8, values_of("string", [0, 2, 3]), ints(3, -1, -4), scalar(0), oracle="nobody",
           expected=(np.array(["", "three words here", ""], object),), note="the plugin gives no string"),
    gather(8, values_of("boolean", [1, 1]), ints(0, 2), scalar(0)),
    gather(8, values_of("bf16", [1, 2]), ints(0, 2), scalar(0)),
]  # fmt: skip

# Gather: batch_dims.
BATCHED: list[tuple[tuple[int, ...], tuple[int, ...], int, int]] = [
    ((2, 5), (2, 3), 1, 1),
    ((2, 5), (2,), 1, 1),
    ((2, 2, 5), (2, 2, 3), 2, 2),
    ((2, 1, 5, 4), (2, 3), 2, 1),
    ((2, 3, 4), (2, 3), 1, -1),
    ((2, 3, 4, 2), (2, 3, 2, 1), 3, 2),
    ((2, 3, 4, 2), (2, 3, 2, 1), 2, -2),
    ((3, 4), (3, 2), 1, -1),
    ((3, 4), (2, 2), 0, -2),
    ((1, 4, 3), (1, 2, 2), -1, 1),
]
for since in (7, 8):
    for seed, (shape, indices_shape, axis, batch) in enumerate(BATCHED):
        indices = indices_of(indices_shape, 0, shape[axis], seed)
        CASES.append(gather(since, iota(*shape), indices, scalar(axis), batch))
CASES += [
    gather(8, iota(2, 3, 4), ints([0, -1], [-3, 2]), scalar(1), 1, oracle="reference"),
    gather(7, iota(2, 0, 4), np.zeros((2, 0), np.int64), scalar(1), 1, oracle="reference"),
    gather(8, iota(0, 3), np.zeros((0, 2), np.int64), scalar(1), 1, oracle="reference"),
    gather(7, floats([1, 2, 3, 4, 5], [6, 7, 8, 9, 10]), ints([0, 0, 4], [4, 0, 0]), scalar(1), -1,
           expected=(floats([1, 1, 5], [10, 6, 6]),), note="Gather_7, 5"),
]  # fmt: skip

# Element types of data, and of indices.
for name in NUMBERS:
    CASES.append(gather(8, values_of(name, [3, 1, 2, 0]), ints(1, 0, 3), scalar(0)))
    CASES.append(elements(values_of(name, [3, 1, 2, 0]), ints(1, 0, 3), 0))
    CASES.append(nd(8, values_of(name, [3, 1, 2, 0]), ints([1], [0], [3])))
for name in OTHERS:
    data, moved = values_of(name, [1, 0] if name == "u1" else [3, 1, 2]), values_of(name, [0] if name == "u1" else [1])
    wrong = {"oracle": "nobody", "expected": (moved,), "note": "the plugin cannot"}
    CASES.append(gather(8, data, ints(1), scalar(0), **wrong))
    CASES.append(elements(data, ints(1), 0, **wrong))
    CASES.append(nd(8, data, ints([1]), **wrong))
CASES.append(gather(1, values_of("string", [0, 2, 3]), ints(2, 0), scalar(0)))
CASES.append(gather(7, values_of("string", [0, 2, 3]), scalar(1), scalar(0), oracle="reference"))
for name in INDEX_TYPES:
    CASES.append(gather(8, DATA, ints(1, 0, element_type=name), scalar(1)))
    CASES.append(nd(8, DATA, ints([1, 0], [2, 3], element_type=name)))
for name in ("i4", "i8", "u4", "u16", "u64"):
    CASES.append(gather(7, DATA, ints(1, 0), ints(1, element_type=name)))
CASES += [
    gather(8, iota(300), ints(127, -128, -1, element_type="i8"), scalar(0)),
    gather(8, iota(300), ints(255, 0, element_type="u8"), scalar(0)),
    gather(8, iota(300), ints(-8, 7, element_type="i4"), scalar(0)),
]

# GatherElements
ELEMENTS: list[tuple[tuple[int, ...], int, int]] = [
    ((5,), 0, 3),
    ((5,), -1, 8),
    ((1,), 0, 1),
    ((2, 3), 0, 5),
    ((2, 3), 1, 2),
    ((3, 2, 4), 1, 7),
    ((3, 2, 4), -1, 1),
    ((3, 2, 4), -3, 4),
    ((2, 1, 3, 2), 2, 3),
    ((2, 2, 1, 2, 3), -4, 2),
    ((2, 3), 1, 0),
    ((0, 3), 1, 2),
    ((2, 0, 3), 0, 2),
]
for seed, (shape, axis, size) in enumerate(ELEMENTS):
    indices_shape = list(shape)
    indices_shape[axis] = size
    for dtype in ("i32", "i64"):
        low = -shape[axis] if dtype == "i64" else 0
        indices = indices_of(tuple(indices_shape), low, max(shape[axis], 1), seed, dtype)
        CASES.append(elements(iota(*shape), indices, axis, constants={1} if seed % 4 == 1 else ()))
CASES += [
    elements(floats([1, 2], [3, 4]), ints([0, 1], [0, 0]), 0, expected=(floats([1, 4], [1, 2]),), note="example 1"),
    elements(floats([1, 7], [4, 3]), ints([1, 1, 0], [1, 0, 1]), 1, expected=(floats([7, 7, 1], [3, 4, 3]),)),
    elements(floats([1, 2, 3], [4, 5, 6], [7, 8, 9]), ints([1, 0, 1], [1, 2, 0]), 0,
             expected=(floats([4, 2, 6], [4, 8, 3]),), note="example 3"),
    elements(floats(1, 2, 3), ints(-1, -3, 2), 0, expected=(floats(3, 1, 3),), note="negative"),
]  # fmt: skip

# GatherND: shape of data, of indices without the tuple, batch_dims, length of the tuple.
NDS: list[tuple[tuple[int, ...], tuple[int, ...], int, int]] = [
    ((4,), (3,), 0, 1),
    ((4,), (), 0, 1),
    ((2, 3), (), 0, 2),
    ((2, 3), (2, 2), 0, 1),
    ((2, 3, 4), (5,), 0, 3),
    ((2, 3, 4), (2, 1), 0, 2),
    ((2, 3, 4), (2,), 1, 1),
    ((2, 3, 4), (2, 3), 2, 1),
    ((2, 3, 4), (2, 4), 1, 2),
    ((2, 1, 3, 2), (2, 1, 2), 2, 1),
    ((2, 1, 3, 2), (2, 1), 2, 2),
    ((1, 2, 2, 4), (1, 2, 2), 3, 1),
    ((2, 3), (0,), 0, 2),
    ((2, 3), (2, 0), 1, 1),
]
for since in (5, 8):
    for seed, (shape, leading, batch, length) in enumerate(NDS):
        columns = [
            indices_of(leading, -size, size, seed * 5 + i) for i, size in enumerate(shape[batch : batch + length])
        ]
        indices = np.stack(columns, -1).astype(np.int32 if seed % 2 else np.int64)
        CASES.append(nd(since, iota(*shape), indices, batch or None, constants={1} if seed % 3 == 1 else ()))
    pairs = floats([0, 1], [2, 3])
    cube = floats([[0, 1], [2, 3]], [[4, 5], [6, 7]])
    CASES += [
        nd(since, pairs, ints([0, 0], [1, 1]), 0, expected=(floats(0, 3),)),
        nd(since, pairs, ints([1], [0]), 0, expected=(floats([2, 3], [0, 1]),)),
        nd(since, cube, ints([0, 1], [1, 0]), 0, expected=(floats([2, 3], [4, 5]),)),
        nd(since, cube, ints([[0, 1]], [[1, 0]]), 0, expected=(floats([[2, 3]], [[4, 5]]),)),
        nd(since, cube, ints([1], [0]), 1, expected=(floats([2, 3], [4, 5]),)),
        nd(since, pairs, np.zeros((2, 0), np.int64), 0, oracle="nobody", expected=(np.stack([pairs, pairs]),),
           note="tuples of no elements; the plugin gives what lies in memory"),
        nd(since, iota(0, 3), np.zeros((2, 0), np.int64), oracle="nobody", expected=(iota(2, 0, 3),),
           note="tuples of no elements"),
        nd(since, iota(2, 0), ints([1], [0]), oracle="nobody", expected=(iota(2, 0),), note="empty slices"),
    ]  # fmt: skip
SIXTH = floats([[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]], [[13, 14, 15, 16], [17, 18, 19, 20], [21, 22, 23, 24]])
SIXTH_INDICES = ints([[[1]], [[0]], [[2]]], [[[0]], [[2]], [[2]]])
CASES += [
    nd(5, SIXTH, SIXTH_INDICES, 2, expected=(floats([2], [5], [11], [13], [19], [23]),), note="GatherND_5, 6"),
    nd(8, SIXTH, SIXTH_INDICES, 2, expected=(floats([[2], [5], [11]], [[13], [19], [23]]),), note="GatherND_8, 6"),
]
