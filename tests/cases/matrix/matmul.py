"""MatMul."""

from __future__ import annotations

import numpy as np

from ir_exec.types import Array, ElementType
from tests.conformance.case import Case

TOLERANCE = {"f64": 1e-5, "f32": 1e-5, "f16": 4e-3, "bf16": 2e-2}


def data_of(element_type: str, shape: tuple[int, ...], seed: int, low: int = -4, high: int = 5) -> Array:
    generator = np.random.default_rng(seed)
    type_ = ElementType[element_type]
    if type_.is_integer:
        return generator.integers(low if type_.is_signed else 0, high, shape).astype(type_.dtype)
    return generator.uniform(-1, 1, shape).astype(type_.dtype)


def turn_last(array: Array) -> Array:
    return array.swapaxes(-1, -2) if array.ndim > 1 else array


def matmul(
    a: tuple[int, ...], b: tuple[int, ...], turns: tuple[bool, bool] | None = (False, False), element_type: str = "f32"
) -> Case:
    """turns: whether a and b are transposed; None leaves the attributes out."""
    inputs = (data_of(element_type, a, 1), data_of(element_type, b, 2))
    attributes = {} if turns is None else {"transpose_a": turns[0], "transpose_b": turns[1]}
    tolerance = TOLERANCE.get(element_type, 0.0)
    terms = [np.abs(array.astype(np.float64)) for array in inputs]
    terms = [turn_last(array) if turn else array for array, turn in zip(terms, turns or (False, False), strict=True)]
    summed = (np.matmul(*terms),)
    return Case("MatMul", 1, inputs, attributes, rtol=tolerance, atol=tolerance, summed=summed)


def transpose_shape(shape: tuple[int, ...], turn: bool) -> tuple[int, ...]:
    return (*shape[:-2], shape[-1], shape[-2]) if turn and len(shape) > 1 else shape


ALL_TURNS = [(False, False), (True, False), (False, True), (True, True)]

SHAPES = [
    ((2, 3), (3, 4)),
    ((1, 1), (1, 1)),
    ((3,), (3,)),
    ((3,), (3, 4)),
    ((2, 3), (3,)),
    ((3,), (5, 3, 4)),
    ((5, 2, 3), (3,)),
    ((3,), (2, 5, 3, 4)),
    ((2, 5, 2, 3), (3,)),
    ((5, 2, 3), (3, 4)),
    ((2, 3), (5, 3, 4)),
    ((5, 2, 3), (5, 3, 4)),
    ((1, 2, 3), (5, 3, 4)),
    ((5, 2, 3), (1, 3, 4)),
    ((2, 1, 2, 3), (3, 3, 4)),
    ((2, 5, 2, 3), (2, 5, 3, 4)),
    ((2, 1, 2, 3), (1, 5, 3, 4)),
    ((5, 2, 3), (1, 1, 3, 4)),
    ((2, 1, 3, 2, 3), (4, 1, 3, 4)),
]
"""Before the transpositions, which change nothing in vectors."""

EMPTY = [((0, 3), (3, 4)), ((2, 0), (0, 4)), ((0,), (0,)), ((0,), (0, 4)), ((2, 2, 0), (0, 3)), ((0, 2, 3), (3, 4))]

CASES = [
    matmul(transpose_shape(a, turns[0]), transpose_shape(b, turns[1]), turns) for a, b in SHAPES for turns in ALL_TURNS
]
CASES += [matmul((2, 3), (3, 4), None)]
CASES += [matmul(a, b) for a, b in EMPTY]
CASES += [matmul((3, 0, 2), (3, 2, 4))]
CASES += [
    Case(
        "MatMul",
        1,
        (np.zeros((0, 2), np.float32), np.zeros((3, 0), np.float32)),
        {"transpose_a": True, "transpose_b": True},
        oracle="reference",
        note="the plugin does not answer",
    )
]

# Odd numbers of rows and columns, which are many blocks with other values in `costs`.
CASES += [
    matmul(transpose_shape(a, turns[0]), transpose_shape(b, turns[1]), turns)
    for a, b in [((3, 5), (5, 33)), ((33, 5), (5, 3)), ((2, 9, 5), (5, 17)), ((3, 7, 5), (3, 5, 23))]
    for turns in ALL_TURNS
]

# The specification's examples.
CASES += [
    matmul((1024,), (1024, 10)),
    matmul((10, 1024), (1024,)),
    matmul((1, 1024), (1024, 10)),
    matmul((1024,), (10, 1024), (False, True)),
    matmul((10, 1024), (1024, 100)),
    matmul((5, 10, 1024), (1024, 100)),
]

# Every element type: short floats are added in f32, integers exactly.
CASES += [
    matmul(transpose_shape((3, 7), turns[0]), transpose_shape((7, 5), turns[1]), turns, element_type)
    for element_type in ("f64", "f16", "bf16", "i32", "i64", "u32", "u64", "i8", "u8", "i16", "u16")
    for turns in ((False, False), (True, True))
]
CASES += [matmul((2, 3, 4), (4, 5), element_type=element_type) for element_type in ("f16", "bf16", "i32", "u8")]
CASES += [matmul((7,), (7, 2), element_type=element_type) for element_type in ("bf16", "i64")]
CASES += [
    Case("MatMul", 1, (np.ones((1, 4096), dtype), np.ones((4096, 1), dtype)), note="sum beyond the type's precision")
    for dtype in (ElementType.f16.dtype, ElementType.bf16.dtype)
]
CASES += [
    Case("MatMul", 1, (np.array([[100, 2], [-100, 3]], np.int8), np.array([[3, -1], [5, 4]], np.int8))),
    Case("MatMul", 1, (np.array([[200, 2], [1, 3]], np.uint8), np.array([[3, 1], [5, 4]], np.uint8))),
    *[
        Case(
            "MatMul",
            1,
            (np.array([[limit // 3, limit // 7]], dtype), np.array([[5], [11]], dtype)),
            oracle="reference",
            note="integers wrap",
        )
        for dtype in (np.int32, np.uint32, np.int64, np.uint64)
        for limit in [np.iinfo(dtype).max]
    ],
    Case("MatMul", 1, (np.array([[True, False], [False, False]]), np.array([[True, False], [True, True]]))),
]

# A constant weight, as in every real network.
CASES += [
    Case(
        "MatMul",
        1,
        (data_of("f32", (2, 5, 8), 3), data_of("f32", (4, 8), 4)),
        {"transpose_a": False, "transpose_b": True},
        constants={1},
        rtol=1e-5,
        atol=1e-6,
    )
]

# Infinities and NaN go where the products lead them.
CASES += [
    Case(
        "MatMul",
        1,
        (np.array([[np.inf, 1], [np.nan, 1], [2, 1]], np.float32), np.array([[1, -1], [2, 0.5]], np.float32)),
    )
]
