"""Comparisons, and the tests of floats."""

from __future__ import annotations

from itertools import product

import numpy as np

from ir_exec.types import Array, ElementType
from tests.conformance.case import Case
from tests.helpers.values import array

TYPES = ("Equal", "NotEqual", "Greater", "GreaterEqual", "Less", "LessEqual")
NUMBERS = ("f32", "f64", "f16", "bf16", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")
AXIS = "auto_broadcast.auto_broadcast_axis"


def small(element_type: str, shape: tuple[int, ...], seed: int) -> Array:
    """Few different values, so that many pairs are equal."""
    type_ = ElementType[element_type]
    high = 2 if element_type == "boolean" else 4
    low = -2 if type_.is_signed else 0
    return np.random.default_rng(seed).integers(low, high, shape).astype(type_.dtype)


def case(type: str, *inputs: Array, opset: int = 1, **fields: object) -> Case:
    return Case(type, opset, inputs, **fields)  # type: ignore[arg-type]  # as a caller


CASES = [
    case(type, small(element_type, (3, 4), 1), small(element_type, (3, 4), 2))
    for type, element_type in product(TYPES, (*NUMBERS, "boolean"))
]

SHAPES = [((2, 3, 4), (4,)), ((3, 1), (2, 1, 4)), ((), ()), ((), (2, 3)), ((0, 3), (1, 3)), ((1,), (1, 1))]
CASES += [case(type, small("i32", a, 1), small("i32", b, 2)) for type, (a, b) in product(("Less", "Equal"), SHAPES)]
CASES += [case(type, small("f32", (2, 3), 1), small("f32", (3,), 2), constants={1}) for type in TYPES]
CASES += [
    case("NotEqual", small("i32", (2, 3), 1), small("i32", (2, 3), 2), attributes={"auto_broadcast": "none"}),
    case("Equal", small("f32", (2, 3, 4), 1), small("f32", (3, 4), 2), attributes={"auto_broadcast": "pdpd", AXIS: -1}),
]
# The plugin supports no axis but -1, and the reference kernel of Greater broadcasts the wrong side.
CASES += [
    case(
        type,
        small("i32", (2, 3, 4), 1),
        small("i32", shape, 2),
        attributes={"auto_broadcast": "pdpd"} | axis,
        oracle="reference",
    )
    for type, (shape, axis) in product(("Equal", "NotEqual", "Less", "LessEqual"), (((3,), {AXIS: 1}), ((2, 3), {})))
]

CASES.append(
    case(
        "Greater",
        np.arange(4, dtype=np.int32).reshape(2, 2),
        np.array([0, 3], np.int32),
        attributes={"auto_broadcast": "pdpd", AXIS: 0},
        expected=(np.array([[False, True], [False, False]]),),
        oracle="nobody",
        note="by hand",
    )
)

# NaN, infinities and the two zeros. The plugin takes "not less" for "greater or equal".
SPECIAL = (1.0, np.inf, -np.inf, np.nan, 0.0, -0.0, np.nan)
OTHERS = (np.nan, np.inf, np.inf, np.nan, -0.0, 0.0, -np.inf)
CASES += [
    case(type, array(element_type, *SPECIAL), array(element_type, *OTHERS), oracle="reference")
    for type, element_type in product(TYPES, ("f32", "f16", "bf16"))
]

FLOATS = ("f32", "f16", "bf16")
CASES += [
    case("IsInf", array(element_type, *SPECIAL), opset=10, attributes=attributes)
    for element_type, attributes in product(
        FLOATS,
        (
            {},
            {"detect_negative": False},
            {"detect_positive": False},
            {"detect_negative": False, "detect_positive": False},
            {"detect_negative": True, "detect_positive": True},
        ),
    )
]
CASES += [
    case(type, array(element_type, *SPECIAL), opset=10)
    for type, element_type in product(("IsNaN", "IsFinite"), (*FLOATS, "f64"))
    if (type, element_type) != ("IsFinite", "f64")
]
# The plugin makes the largest f32 of an infinite f64.
CASES += [
    case(
        type,
        array("f64", 1.0, np.inf, -np.inf, np.nan, 1e300),
        opset=10,
        expected=(np.array(expected),),
        oracle="nobody",
        note="by the definition of the specification",
    )
    for type, expected in (("IsInf", [0, 1, 1, 0, 0]), ("IsFinite", [1, 0, 0, 0, 1]), ("IsNaN", [0, 0, 0, 1, 0]))
    for expected in (np.array(expected, bool),)
]
CASES += [
    case(type, np.array(values, np.float32), opset=10)
    for type, values in product(("IsNaN", "IsInf", "IsFinite"), (np.nan, [[]], [[[np.inf], [1.0]]]))
]
