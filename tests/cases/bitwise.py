"""Bitwise operators and shifts."""

from __future__ import annotations

from itertools import product

import numpy as np

from ir_exec.types import Array, ElementType
from tests.conformance.case import Case
from tests.helpers.logic_cases import case, truth

BITWISE = ("BitwiseAnd", "BitwiseOr", "BitwiseXor")
SHIFTS = ("BitwiseLeftShift", "BitwiseRightShift")
INTEGERS = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")
AXIS = "auto_broadcast.auto_broadcast_axis"
SHAPES = [((2, 3, 4), (4,)), ((3, 1), (2, 1, 4)), ((), ()), ((), (2, 3)), ((0, 3), (1, 3)), ((1,), (1, 1))]


def bits(element_type: str, shape: tuple[int, ...], seed: int) -> Array:
    type_ = ElementType[element_type]
    # The plugin holds 64 bits as 32.
    limits = np.iinfo(np.int32 if type_.bits == 64 else type_.dtype)
    low = limits.min if type_.is_signed else 0
    return np.random.default_rng(seed).integers(low, limits.max, shape, np.int64, True).astype(type_.dtype)


def counts(element_type: str, shape: tuple[int, ...]) -> Array:
    return np.random.default_rng(3).integers(0, 4, shape).astype(ElementType[element_type].dtype)


MODES = (
    ({"auto_broadcast": "none"}, (2, 3), (2, 3)),
    ({"auto_broadcast": "numpy"}, (2, 1), (3,)),
    ({"auto_broadcast": "pdpd", AXIS: -1}, (2, 3, 4), (3, 4)),
)
PDPD = (
    ({"auto_broadcast": "pdpd", AXIS: 1}, (2, 3, 4), (3,)),
    ({"auto_broadcast": "pdpd"}, (2, 3, 4), (2, 3)),
    ({"auto_broadcast": "pdpd", AXIS: 0}, (2, 3, 4), (2, 1)),
)
"""Unsupported by the plugin, or computed with broadcasting of NumPy."""

CASES: list[Case] = []

CASES += [
    case(type, 13, bits(element_type, (3, 4), 1), bits(element_type, (3, 4), 2))
    for type, element_type in product(BITWISE, INTEGERS)
]
CASES += [case(type, 13, truth((3, 4), 1), truth((3, 4), 2)) for type in BITWISE]
CASES += [case("BitwiseXor", 13, bits("i32", a, 1), bits("i32", b, 2)) for a, b in SHAPES]
CASES += [
    case(type, 13, bits("u8", a, 1), bits("u8", b, 2), attributes=attributes)
    for type, (attributes, a, b) in product(BITWISE, MODES)
]
CASES.append(
    case(
        "BitwiseAnd",
        13,
        np.arange(12, dtype=np.uint8).reshape(2, 3, 2),
        np.array([1, 2, 4], np.uint8),
        attributes=PDPD[0][0],
        expected=(np.array([[[0, 1], [2, 2], [4, 4]], [[0, 1], [0, 0], [0, 0]]], np.uint8),),
        oracle="nobody",
        note="by hand",
    )
)

CASES += [case("BitwiseNot", 13, bits(element_type, (3, 4), 1)) for element_type in INTEGERS]
CASES += [case("BitwiseNot", 13, truth(shape, 1)) for shape in ((3, 4), ())]
CASES += [case("BitwiseNot", 13, bits("i32", shape, 1)) for shape in ((), (1,), (0, 2))]

# The plugin computes 8-bit results in 32 bits and cuts them: bits that leave the type are lost there too.
CASES += [
    case(type, 15, np.array([1, 3, 100, 0, 7, 64], ElementType[element_type].dtype), counts(element_type, (6,)))
    for type, element_type in product(SHIFTS, INTEGERS)
]
CASES += [
    case("BitwiseRightShift", 15, np.array([-1, -5, -100], ElementType[element_type].dtype), counts(element_type, (3,)))
    for element_type in ("i8", "i16", "i32", "i64")
]
CASES += [
    case("BitwiseLeftShift", 15, np.array([1 << 30, -5, 2**31 - 1], np.int32), np.array([1, 2, 4], np.int32)),
    case("BitwiseRightShift", 15, np.array([-(2**31), 2**31 - 1], np.int32), np.array([31, 30], np.int32)),
]
CASES += [case("BitwiseLeftShift", 15, bits("u8", a, 1), counts("u8", b)) for a, b in SHAPES]
CASES += [
    case(type, 15, bits("i32", a, 1), counts("i32", b), attributes=attributes)
    for type, (attributes, a, b) in product(SHIFTS, MODES)
]
CASES += [
    case(type, 15, bits("i32", a, 1), counts("i32", b), attributes=attributes, oracle="reference")
    for type, (attributes, a, b) in product(SHIFTS, PDPD)
]
