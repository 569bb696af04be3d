"""Inverse and GroupedMatMul."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from ir_exec.types import Array, ElementType
from tests.conformance.case import Case

TOLERANCE = {"f64": 1e-4, "f32": 1e-4, "f16": 1e-2, "bf16": 5e-2}


def matrices(shape: tuple[int, ...], seed: int, element_type: str = "f32") -> Array:
    """Matrices that are far from having no inverse."""
    random = np.random.default_rng(seed).uniform(-1, 1, shape)
    return (random + 2 * np.eye(shape[-1])[:, ::-1]).astype(ElementType[element_type].dtype)


def inverse(data: Array, adjoint: bool | None = None, **more: object) -> Case:
    element_type = ElementType.of(data).name
    attributes = {} if adjoint is None else {"adjoint": adjoint}
    tolerance = TOLERANCE[element_type]
    return Case("Inverse", 14, (data,), attributes, rtol=tolerance, atol=tolerance, **more)  # type: ignore[arg-type]  # passed on as they are


SHAPES = [(1, 1), (2, 2), (3, 3), (7, 7), (2, 4, 4), (5, 4, 3, 2, 2), (1, 1, 3, 3), (0, 2, 2), (2, 0, 3, 3)]
CASES: list[Case] = []

CASES += [inverse(matrices(shape, 1), adjoint) for shape in SHAPES for adjoint in (None, False, True)]
CASES += [
    inverse(matrices((2, 4, 4), 2, element_type), adjoint)
    for element_type in ("f16", "bf16")
    for adjoint in (False, True)
]
CASES += [
    inverse(
        np.array([[[4, 7], [2, 6]], [[0, -0.25], [1, 3]]], element_type),
        adjoint,
        expected=(np.array(expected, element_type),),
        note="the formula of the specification",
    )
    for element_type in (np.float32, np.float64)
    for adjoint, expected in (
        (False, [[[0.6, -0.7], [-0.2, 0.4]], [[12, 1], [-4, 0]]]),
        (True, [[[0.6, -0.2], [-0.7, 0.4]], [[12, -4], [1, 0]]]),
    )
]
CASES += [inverse(np.array(data, np.float32)) for data in ([[1, 2], [2, 4]], [[0, 0], [0, 0]], [[0]])]
CASES += [inverse(np.array([[1, 2], [2, 4]], np.float32), True)]
CASES += [inverse(np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0]], np.float32), adjoint) for adjoint in (False, True)]


def numbers(shape: tuple[int, ...], seed: int, element_type: str) -> Array:
    low = -3 if ElementType[element_type].is_signed else 0
    return np.random.default_rng(seed).integers(low, 4, shape).astype(ElementType[element_type].dtype)


def product(left: Array, right: Array) -> list[list[int]]:
    """left @ right.T, element by element."""
    pairs = [[zip(row, column, strict=True) for column in right.tolist()] for row in left.tolist()]
    return [[sum(int(a) * int(b) for a, b in pair) for pair in row] for row in pairs]


def grouped_matmul(
    a: tuple[int, ...],
    b: tuple[int, ...],
    offsets: tuple[int, ...] | None,
    element_type: str = "f32",
    index: str = "i32",
) -> Case:
    """OpenVINO infers types, but has no kernel; the specification's formula gives the values."""
    left, right = numbers(a, 1, element_type), numbers(b, 2, element_type)
    inputs: tuple[Array, ...] = (left, right)
    expected = np.zeros((*a[:-1], b[1]), left.dtype)
    if offsets is not None:
        inputs += (np.array(offsets, ElementType[index].dtype),)
    if len(a) == 3:
        for group in range(a[0]):
            expected[group] = product(left[group], right[group])
    else:
        starts = (0, *(offsets or ()))
        for group, (start, end) in enumerate(pairwise(starts[: b[0] + 1])):
            if end > start:
                expected[start:end] = product(left[start:end], right[group])
    return Case("GroupedMatMul", 17, inputs, oracle="nobody", expected=(expected,))


KINDS = ("f16", "bf16", "f64", "i8", "u8", "i16", "i32", "i64", "u64")
CASES += [grouped_matmul((10, 6), (3, 5, 6), (3, 8, 10)), grouped_matmul((10, 6), (3, 5, 6), (3, 8, 10), index="i64")]
CASES += [grouped_matmul((5, 3), (2, 4, 3), offsets) for offsets in ((0, 5), (5, 5), (0, 0), (2, 4), (1, 5, 9))]
CASES += [
    grouped_matmul((0, 3), (2, 4, 3), (0, 0)),
    grouped_matmul((5, 0), (2, 4, 0), (2, 5)),
    grouped_matmul((5, 3), (2, 0, 3), (2, 5)),
]
CASES += [grouped_matmul((5, 3), (0, 4, 3), ()), grouped_matmul((1, 1), (1, 1, 1), (1,))]
CASES += [
    grouped_matmul((3, 4, 6), (3, 5, 6), None),
    grouped_matmul((3, 4, 6), (3, 5, 6), ()),
    grouped_matmul((3, 4, 6), (3, 5, 6), (1, 2, 3)),
]
CASES += [
    grouped_matmul((0, 4, 6), (0, 5, 6), None),
    grouped_matmul((2, 4, 0), (2, 5, 0), None),
    grouped_matmul((1, 1, 1), (1, 1, 1), None),
]
CASES += [grouped_matmul((5, 3), (2, 4, 3), (2, 5), element_type) for element_type in KINDS]
CASES += [grouped_matmul((2, 5, 3), (2, 4, 3), None, element_type) for element_type in KINDS]
