"""Reductions."""

from __future__ import annotations

from itertools import product

import numpy as np

from ir_exec.types import Array, ElementType
from tests.conformance.case import Case

SINCE = {
    "ReduceSum": 1,
    "ReduceProd": 1,
    "ReduceMean": 1,
    "ReduceMax": 1,
    "ReduceMin": 1,
    "ReduceL1": 4,
    "ReduceL2": 4,
}
LOGICAL = ("ReduceLogicalAnd", "ReduceLogicalOr")
IN_REFERENCE = {
    "ReduceSum": "i32 i64 u32 u64",
    "ReduceProd": "i32 i64 u32 u64",
    "ReduceMean": "i32 i64 u32 u64",
    "ReduceMax": "i8 u8 i32 i64 u32 u64",
    "ReduceMin": "i8 u8 i32 i64 u32 u64",
    "ReduceL1": "i32 i64",
    "ReduceL2": "",
}
"""The integer types of which OpenVINO's reference kernels have an exact answer."""
TOLERANCE = {"f64": 1e-6, "f32": 1e-5, "f16": 2e-3, "bf16": 1e-2}


def axes_of(*axes: int, dtype: str = "i64") -> Array:
    return np.array(axes, ElementType[dtype].dtype)


def data_of(element_type: str, shape: tuple[int, ...], seed: int = 0, low: int = -4, high: int = 5) -> Array:
    generator = np.random.default_rng(seed)
    type_ = ElementType[element_type]
    if element_type == "boolean":
        return generator.integers(0, 2, shape).astype(type_.dtype)
    if type_.is_integer:
        return generator.integers(low if type_.is_signed else 0, high, shape).astype(type_.dtype)
    return generator.uniform(low, high, shape).astype(type_.dtype)


def reduce(type: str, data: Array, axes: Array, keep_dims: bool | None = None, **fields: object) -> Case:
    element_type = ElementType.of(data).name
    attributes = {} if keep_dims is None else {"keep_dims": keep_dims}
    tolerance = {"rtol": TOLERANCE.get(element_type, 0.0), "atol": TOLERANCE.get(element_type, 0.0)}
    fields = {"constants": {1}, **tolerance, **fields}
    return Case(type, SINCE.get(type, 1), (data, axes), attributes, **fields)  # type: ignore[arg-type]  # as a caller


# Every way to name axes, with and without keep_dims.
AXES = [(0,), (1,), (-1,), (-3,), (0, 2), (2, 0), (1, -1), (0, 1, 2), (-1, -2, -3)]

CASES = [
    reduce(type, data_of("f32", (2, 3, 4), seed), axes_of(*axes), keep_dims)
    for seed, (type, axes, keep_dims) in enumerate(product(("ReduceSum", "ReduceMin"), AXES, (False, True)))
]
CASES += [
    reduce(type, data_of("f32", (2, 3, 4)), axes_of(*axes), keep_dims)
    for type, axes, keep_dims in product(
        sorted(set(SINCE) - {"ReduceSum", "ReduceMax"}), [(1,), (-1, 0)], (False, True)
    )
    for type in sorted({type})
]
CASES += [
    reduce(type, data_of("boolean", (2, 3, 4)), axes_of(*axes), keep_dims)
    for type, axes, keep_dims in product(LOGICAL, [(0,), (-1,), (1, 2), (0, 1, 2)], (False, True))
]

# keep_dims is false unless it is given; an axis may be a scalar, of any integer type, repeated, or a Parameter.
CASES += [reduce(type, data_of("f32", (2, 3)), axes_of(1)) for type in ("ReduceProd", "ReduceL2")]
CASES += [reduce("ReduceMin", data_of("f32", (2, 3)), np.array(-1, np.int64), keep) for keep in (False, True)]
CASES += [
    reduce("ReduceSum", data_of("f32", (2, 3)), axes_of(1, dtype=dtype), True)
    for dtype in ("i8", "i16", "i32", "u8", "u16", "u32", "u64")
]
CASES += [reduce("ReduceSum", data_of("f32", (2, 3, 4)), axes_of(1, -2), keep) for keep in (False, True)]
CASES += [
    reduce("ReduceMax", data_of("f32", (2, 3, 4)), axes, True, constants=())
    for axes in (axes_of(1), axes_of(0, -1), np.array(2, np.int32))
]
CASES += [
    reduce("ReduceMax", data_of("f32", (2, 3, 4)), axes, False, constants=(), oracle="reference")
    for axes in (axes_of(1), axes_of(0, -1), np.array(2, np.int32))
]

# No axes: nothing is reduced, which is not the identity for norms.
CASES += [reduce(type, data_of("f32", (2, 3)), axes_of(), True) for type in SINCE]
CASES += [reduce(type, data_of("f32", (2, 3)), axes_of(), False, oracle="reference") for type in SINCE]
CASES += [reduce(type, data_of("boolean", (2, 3)), axes_of(), False, oracle="reference") for type in LOGICAL]
CASES += [
    reduce("ReduceL1", np.array([[-1, 2]], np.float32), axes_of(), True, expected=(np.array([[1, 2]], np.float32),))
]

# Rank 0, and axes of size 1.
CASES += [reduce(type, data_of("f32", ()), axes_of(), True) for type in SINCE]
CASES += [reduce("ReduceSum", data_of("f32", ()), axes_of(axis), False) for axis in (0, -1)]
CASES += [reduce(type, data_of("f32", (1, 1)), axes_of(0), False) for type in ("ReduceMean", "ReduceL1")]

# Nothing along the reduced axes, and nothing at all. The plugin has the ends of the finite range instead of infinity,
# and so has the reference kernel of ReduceMax for f32.
CASES += [
    reduce(type, np.zeros((2, 0, 1), ElementType[element_type].dtype), axes_of(1), keep, oracle="nobody", note="ONNX",
           expected=(np.full((2, 1, 1) if keep else (2, 1), end).astype(ElementType[element_type].dtype),))
    for type, end in (("ReduceMin", np.inf), ("ReduceMax", -np.inf))
    for element_type in ("f32", "f64", "f16", "bf16", "f8e5m2")
    for keep in (False, True)
]  # fmt: skip
CASES += [
    reduce("ReduceMin", np.zeros((2, 0), ElementType[element_type].dtype), axes_of(1), True, oracle="reference")
    for element_type in ("f32", "f16", "bf16")
]
CASES += [
    reduce(type, np.zeros((2, 0), ElementType[element_type].dtype), axes_of(1), True)
    for type in ("ReduceMin", "ReduceMax")
    for element_type in ("i32", "i8", "u8")
]
CASES += [
    reduce(type, np.zeros((0, 3), np.float32), axes_of(1), keep)
    for type in ("ReduceSum", "ReduceMax")
    for keep in (False, True)
]
CASES += [
    reduce(type, np.zeros((0, 3), np.float32), axes_of(0), True)
    for type in SINCE
    if type not in ("ReduceMin", "ReduceMax")
]
CASES += [
    reduce(type, np.zeros((2, 0), ElementType[element_type].dtype), axes_of(-1), False, oracle="reference")
    for type in SINCE
    for element_type in IN_REFERENCE[type].split()
    if element_type in ("i32", "i64", "u32")
]
CASES += [reduce(type, np.zeros((2, 0), np.bool_), axes_of(1), False) for type in LOGICAL]

# Every element type; exact for integers.
CASES += [
    reduce(type, data_of(element_type, (3, 5)), axes_of(1), True)
    for type in SINCE
    for element_type in ("f64", "f16", "bf16")
]
CASES += [
    reduce(type, data_of(element_type, (3, 4)), axes_of(0), False)
    for type in SINCE
    for element_type in ("i8", "u8", "i16", "u16", "i32", "i64")
]

# 8 bits saturate, longer integers wrap.
CASES += [
    reduce(type, np.array([[100, 27, 1], [-100, -28, -1], [100, 100, -100]], np.int8), axes_of(1), False)
    for type in ("ReduceSum", "ReduceProd", "ReduceL1")
]
CASES += [
    reduce(type, np.array([[200, 200, 1], [15, 17, 2]], np.uint8), axes_of(1), False)
    for type in ("ReduceSum", "ReduceL1")
]
CASES += [
    reduce(type, np.array([[32767, 32767, 1], [-32768, 2, -7]], np.int16), axes_of(1), False)
    for type in ("ReduceSum", "ReduceMean", "ReduceMax")
]
CASES += [
    reduce(
        type, np.array([[limit, limit, 3], [limit // 2, limit // 3, 1]], dtype), axes_of(1), False, oracle="reference"
    )
    for dtype in (np.int32, np.uint32, np.int64, np.uint64)
    for limit in [np.iinfo(dtype).max]
    for type in ("ReduceSum", "ReduceProd", "ReduceMax", "ReduceMin")
]

# Means of integers are cut towards zero.
CASES += [
    reduce(
        "ReduceMean",
        np.array([[-7, 2], [-1, 0], [7, -2], [1, 0]], dtype),
        axes_of(1),
        False,
        expected=(np.array([-2, 0, 2, 0], dtype),),
    )
    for dtype in (np.int8, np.int16, np.int32, np.int64)
]
CASES += [
    reduce(
        type,
        np.array([[value] * count], dtype),
        axes_of(1),
        False,
        oracle="nobody",
        expected=(np.array([result], dtype),),
        note="OpenVINO's sum overflows on the way",
    )
    for type, dtype, value, count, result in [
        ("ReduceMean", np.int32, 2**31 - 1, 3, 2**31 - 1),
        ("ReduceMean", np.int8, -128, 5, -128),
        ("ReduceMean", np.uint8, 200, 2, 200),
        ("ReduceL2", np.int8, -30, 16, 120),
    ]
]

# Infinities; and sums that would be wrong in the type itself.
CASES += [
    reduce(type, np.array([[1, np.inf, 2], [-np.inf, 0, 1], [-np.inf] * 3], np.float32), axes_of(1), False)
    for type in ("ReduceSum", "ReduceMean", "ReduceL1", "ReduceL2")
]
CASES += [
    reduce(type, np.ones((2, 4096), ElementType[element_type].dtype), axes_of(1), False)
    for type in ("ReduceSum", "ReduceMean", "ReduceL1", "ReduceL2")
    for element_type in ("f16", "bf16")
]
CASES += [
    reduce(
        type,
        np.array([[1, np.nan, 2], [-np.inf] * 3], np.float32),
        axes_of(1),
        False,
        oracle="nobody",
        expected=(np.array([np.nan, -np.inf], np.float32),),
        note="OpenVINO's answer depends on where the NaN stands, and -inf becomes the lowest finite value",
    )
    for type in ("ReduceMax", "ReduceMin")
]

# The shapes of the specification's examples.
CASES += [
    reduce("ReduceMean", data_of("f32", (6, 12, 10, 24)), axes_of(*axes), keep_dims)
    for axes, keep_dims in [((2, 3), True), ((2, 3), False), ((1,), False), ((-2,), False)]
]
