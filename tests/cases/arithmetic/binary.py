"""Arithmetic of two tensors."""

from __future__ import annotations

from itertools import product

import numpy as np

from ir_exec.types import Array, ElementType
from tests.conformance.case import Case
from tests.helpers.values import array

AXIS = "auto_broadcast.auto_broadcast_axis"
TYPES = (
    "Add",
    "Subtract",
    "Multiply",
    "Divide",
    "Mod",
    "FloorMod",
    "Power",
    "Maximum",
    "Minimum",
    "SquaredDifference",
)
FLOATS = ("f32", "f64", "f16", "bf16")
INTEGERS = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")
TOLERANCE = {"f64": 1e-5, "f32": 1e-5, "f16": 2e-3, "bf16": 1e-2}


def case(type: str, a: Array, b: Array, **fields: object) -> Case:
    tolerance = TOLERANCE.get(ElementType.of(a).name, 0.0)
    attributes = fields.pop("attributes", {})
    fields = {"rtol": tolerance, "atol": tolerance, **fields}
    return Case(type, 1, (a, b), attributes, **fields)  # type: ignore[arg-type]  # as a caller


def floats(element_type: str, shape: tuple[int, ...], seed: int, low: float = -4, high: float = 4) -> Array:
    return np.random.default_rng(seed).uniform(low, high, shape).astype(ElementType[element_type].dtype)


def integers(element_type: str, shape: tuple[int, ...], seed: int, low: int, high: int) -> Array:
    return np.random.default_rng(seed).integers(low, high, shape).astype(ElementType[element_type].dtype)


def operands(type: str, element_type: str, shape_a: tuple[int, ...], shape_b: tuple[int, ...]) -> tuple[Array, Array]:
    """Operands whose result fits the type, no divisor is zero, and a float has a real power."""
    if ElementType[element_type].is_integer:
        high = {"Power": 5, "Multiply": 12}.get(type, 30)
        low_a, low_b = (8, 1) if type == "Subtract" else (0, 0) if type == "Power" else (0, 1)
        return integers(element_type, shape_a, 1, low_a, high), integers(
            element_type, shape_b, 2, low_b, min(high, 8) // 2
        )
    low = 0.5 if type == "Power" else -4
    b = floats(element_type, shape_b, 2)
    # A remainder jumps where the quotient is whole: 1.5 and 2.5 keep away from that in short floats.
    if type in ("Mod", "FloorMod"):
        b = np.where(b < 0, -2.5, 1.5).astype(b.dtype)
        return (np.round(floats(element_type, shape_a, 1, -20, 20).astype(np.float32)) + 0.25).astype(b.dtype), b
    return floats(element_type, shape_a, 1, low), np.where(abs(b) < 0.1, b + 1, b).astype(b.dtype)


# Every operator with every type.
CASES = [
    case(type, *operands(type, element_type, (2, 3), (2, 3)))
    for type, element_type in product(TYPES, FLOATS + INTEGERS)
    if type != "SquaredDifference" or element_type not in ("i8", "u8")
]
# The plugin makes 0 of every difference of 8 bits.
CASES += [
    case(
        "SquaredDifference",
        array(element_type, 3, 10, 7),
        array(element_type, 1, 1, 7),
        expected=(array(element_type, 4, 81, 0),),
        oracle="nobody",
        note="by hand",
    )
    for element_type in ("i8", "u8")
]

# Broadcasting as NumPy does: one side, both sides, ranks that differ, size 1, empty tensors, scalars.
SHAPES = [
    ((2, 3, 4), (4,)),
    ((4,), (2, 3, 4)),
    ((2, 1, 4), (3, 1)),
    ((8, 1, 6, 1), (7, 1, 5)),
    ((), ()),
    ((), (2, 3)),
    ((2, 3), ()),
    ((1,), (1, 1, 1)),
    ((0, 3), (1, 3)),
    ((2, 1), (0,)),
    ((1,) * 5, (2, 1, 3, 1, 2)),
]
CASES += [case("Add", *operands("Add", "f32", *shapes)) for shapes in SHAPES]
SHORT_ROWS = [((80, 1, 3), (1, 70, 3)), ((4500, 2), (2,)), ((4,), (4100, 4)), ((4000, 2), (4000, 1))]
CASES += [case(type, *operands(type, "f32", *shapes)) for type in ("Subtract", "Divide") for shapes in SHORT_ROWS]
CASES += [case("Power", *operands("Power", "f32", *shapes)) for shapes in SHAPES[:8]]
CASES += [case("Power", floats("f32", (3, 5), 4), array("f32", exponent)) for exponent in (-3, 3, 4, 7)]
CASES += [case("Divide", *operands("Divide", "i32", *shapes)) for shapes in SHAPES[:3]]
CASES += [case("Maximum", *operands("Maximum", "f16", *shapes)) for shapes in SHAPES[:3]]
CASES += [case(type, *operands(type, "f32", (2, 1, 4), (3, 1)), constants={1}) for type in TYPES]
CASES += [
    case(type, *operands(type, "f32", (2, 3), (2, 3)), attributes={"auto_broadcast": word})
    for type, word in product(("Subtract", "FloorMod"), ("none", "explicit", "NUMPY"))
]

# Broadcasting as PaddlePaddle does; an axis that is not given is 0. The plugin supports no axis but -1.
PDPD = [
    ((2, 3, 4, 5), (3, 4), 1),
    ((2, 3, 4, 5), (3, 1), 1),
    ((2, 3, 4, 5), (4, 5), -1),
    ((2, 3, 4, 5), (4, 5), 2),
    ((2, 3, 4, 5), (1, 3), 0),
    ((2, 3, 4, 5), (5,), 3),
    ((2, 3, 4, 5), (5,), -1),
    ((2, 3), (2, 3), 0),
    ((2, 3), (2,), None),
]
CASES += [
    case(
        type,
        *operands(type, "f32", shape_a, shape_b),
        attributes={"auto_broadcast": "pdpd"} | ({} if axis is None else {AXIS: axis}),
        oracle="reference",
    )
    for type, (shape_a, shape_b, axis) in product(("Subtract", "Power"), PDPD)
]

# Signs. The plugin rounds every quotient of integers towards zero.
SIGNS = ((7, -7, 7, -7, 6, -6, 0), (2, 2, -2, -2, 3, 3, -5))
CASES += [
    case("Divide", array(element_type, *SIGNS[0]), array(element_type, *SIGNS[1]), attributes=attributes)
    for element_type, attributes in product(
        ("i8", "i16", "i32", "i64"), ({}, {"m_pythondiv": True}, {"m_pythondiv": False})
    )
]
# But it leaves `pdpd` to its reference kernel, which supports no 8 bits; the plugin divides these if sizes are known.
CASES += [
    case(
        "Divide",
        *(array(element_type, *signs) for signs in SIGNS),
        attributes={"auto_broadcast": "pdpd", "m_pythondiv": python},
        dynamic=element_type != "i8",
    )
    for element_type, python in product(("i8", "i16", "i32", "i64"), (True, False))
]
CASES += [
    case(
        "Divide",
        integers(element_type, (2, 3, 4), 1, -30, 30),
        np.array(divisors, ElementType[element_type].dtype),
        attributes={"auto_broadcast": "pdpd", AXIS: axis},
    )
    for element_type in ("i32", "i64")
    for divisors, axis in (([4, -3], 0), ([[4], [-3], [7]], 1), ([-4], -1), (7, 0))
]
CASES += [
    case(type, array(element_type, *SIGNS[0]), array(element_type, *SIGNS[1]))
    for type, element_type in product(("Mod", "FloorMod"), ("i8", "i32", "i64"))
]
CASES += [
    case(type, array(element_type, 7.5, -7.5, 7.5, -7.5), array(element_type, 2, 2, -2, -2))
    for type, element_type in product(("Mod", "FloorMod"), FLOATS)
]
CASES += [
    case("Divide", array(element_type, 1, -1, 0, 7), array(element_type, 0, 0, 0, 3))
    for element_type in ("f32", "f16", "bf16")
]
CASES += [case("Mod", array("f32", 7, 0), array("f32", 0, 0)), case("FloorMod", array("f32", 7, 0), array("f32", 0, 0))]

# Powers: whole and broken exponents, scalar exponents, negative bases and exponents.
EXPONENTS = (0.0, 0.5, 1.0, 2.0, 3.0, -1.0, -0.5, 2.5)
CASES += [case("Power", floats("f32", (2, 3), 5, 0.5), array("f32", exponent), constants={1}) for exponent in EXPONENTS]
CASES += [case("Power", floats("f16", (2, 3), 5, 0.5), np.array(2, np.float16))]
CASES += [case("Power", array("f32", -8, 0, -2, 0, -2), array("f32", 1 / 3, -1, 3, 0, 0.5))]
CASES += [
    case("Power", array(element_type, 2, -2, -1, 1, 3, -1, 7), array(element_type, -1, 3, -3, -1, -2, -2, 0))
    for element_type in ("i32", "i64")
]

# What is beyond the type wraps. The plugin does so for 16 bits and more; its 8-bit results saturate.
LIMITS = {element_type: np.iinfo(ElementType[element_type].dtype) for element_type in INTEGERS}
CASES += [
    case("Add", array(element_type, LIMITS[element_type].max, 1), array(element_type, 1, 1), oracle="reference")
    for element_type in ("i8", "u8", "i16", "i32", "i64", "u32", "u64")
]
CASES += [
    case("Subtract", array(element_type, LIMITS[element_type].min, 1), array(element_type, 1, 2), oracle="reference")
    for element_type in ("i8", "u8", "i32", "i64", "u32", "u64")
]
CASES += [
    case("Multiply", array(element_type, LIMITS[element_type].max, 100), array(element_type, 2, 3), oracle="reference")
    for element_type in ("i32", "i64", "u32", "u64")
]
