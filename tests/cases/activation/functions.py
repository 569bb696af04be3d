"""Activation functions."""

from __future__ import annotations

from itertools import product

import numpy as np

from ir_exec.types import ElementType
from tests.conformance.case import Case
from tests.helpers.activation_cases import EXTREMES, FLOATS, SHAPES, case, data_of, scalar
from tests.helpers.values import array

ONE_INPUT = ("Sigmoid", "ReLU", "SoftPlus", "SoftSign", "Elu", "Clamp")
OF_INTEGERS = ("Sigmoid", "ReLU", "Elu", "Clamp")
INTEGERS = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")

CASES = [case(type, data_of(element_type, (3, 7))) for type, element_type in product(ONE_INPUT, FLOATS)]
CASES += [case(type, data_of("f32", shape)) for type, shape in product(("ReLU", "Clamp"), SHAPES)]
CASES += [case(type, array("f32", *EXTREMES)) for type in ONE_INPUT]
CASES += [case(type, array("f32", -np.inf, np.inf, np.nan)) for type in ("Sigmoid", "SoftPlus")]
CASES += [
    case(
        type,
        array(
            element_type, *((-9, -3, -2, -1, 0, 1, 2, 6) if ElementType[element_type].is_signed else (0, 1, 2, 3, 6))
        ),
    )
    for type, element_type in product(OF_INTEGERS, ("i32", "u8", "i64", "i8"))
]

CASES += [case("Elu", data_of("f32", (3, 7)), attributes={"alpha": alpha}) for alpha in (0.0, 0.1, 1.0, -2.0)]

CASES += [
    case("Clamp", data_of("f32", (3, 7)), attributes={"min": low, "max": high})
    for low, high in ((0.0, 0.0), (-1.0, 1e30), ("-inf", 2.0), (-3, 3), ("-1e300", "1e300"), ("-3.4028235e+38", 6.0))
]
# Limits are whole for integers: from 0.2 to 1.8 there is only 1. The plugin forgets that for 8 bits.
CASES += [
    case(
        "Clamp",
        array(
            element_type, *((-9, -2, -1, 0, 1, 2, 3, 100) if ElementType[element_type].is_signed else (0, 1, 2, 3, 100))
        ),
        attributes={"min": low, "max": high},
        oracle="reference",
    )
    for element_type, (low, high) in product(INTEGERS, ((-1.5, 2.5), (0.2, 1.8), (-1e9, 1e9)))
]

PRELU = [
    ((2, 3), (3,)),
    ((3, 3), (3,)),
    ((2, 3, 4), (3,)),
    ((2, 3, 4), (4,)),
    ((2, 4, 4), (4,)),
    ((2, 3, 4), (1,)),
    ((2, 3, 4), ()),
    ((1, 3, 2), (3, 1)),
    ((2, 3, 4), (2, 3, 4)),
    ((3,), (3,)),
    ((3,), (1,)),
    ((3,), (1, 3)),
    ((0, 3), (3,)),
    ((2, 3, 2, 2, 2), (3,)),
]
CASES += [case("PReLU", data_of("f32", a), data_of("f32", b, -1, 2, 1), constants={1}) for a, b in PRELU]
CASES += [case("PReLU", data_of("f32", a), data_of("f32", b, -1, 2, 1)) for a, b in PRELU[:4]]
CASES += [
    case("PReLU", data_of(element_type, a), data_of(element_type, b, 0.01, 1))
    for a, b in PRELU[::2]
    for element_type in ("f32", "f16")
]
CASES += [
    case("PReLU", data_of(element_type, (2, 3, 4)), data_of(element_type, (3,), -1, 2, 1))
    for element_type in ("f16", "bf16", "f64")
]
CASES += [
    case("PReLU", array(element_type, -3, -1, 0, 5), array(element_type, 2)) for element_type in ("i32", "i8", "i64")
]
CASES += [
    case("PReLU", data_of(element_type, (2, 3, 4)), data_of(slope, (3,), -1, 2, 1), constants=constants)
    for element_type, slope in (
        ("f16", "f32"),
        ("bf16", "f32"),
        ("f32", "f16"),
        ("f32", "f64"),
        ("f64", "f32"),
        ("f16", "i32"),
    )
    for constants in ((), {1})
]
CASES += [
    case("PReLU", array(element_type, -8, -3, -1, 0, 5), array("f32", 0.3)) for element_type in ("i32", "i8", "i64")
]

CASES += [
    case(
        "HardSigmoid",
        data_of(element_type, (3, 4)),
        scalar(element_type, alpha),
        scalar(element_type, beta),
        constants={1, 2},
    )
    for element_type, (alpha, beta) in product(FLOATS, ((0.25, 0.5), (-0.5, 0.25)))
]
CASES += [
    case("HardSigmoid", data_of("f32", shape), scalar("f32", 0.2), scalar("f32", 0.5), constants={1, 2})
    for shape in SHAPES
]

CASES += [
    case(
        "Selu",
        data_of(element_type, (3, 4)),
        array(element_type, 1.6732),
        array(element_type, 1.0507),
        constants={1, 2},
    )
    for element_type in FLOATS
]
CASES += [
    case("Selu", data_of("f32", shape), array("f32", 1.5), array("f32", 2.0), constants={1, 2}) for shape in SHAPES
]
CASES += [case("Selu", data_of("f32", (2, 3)), scalar("f32", 1.5), np.full((1, 1), 2, np.float32), constants={1, 2})]

CASES += [case("Exp", data_of(element_type, (3, 5), -10, 10, seed=3)) for element_type in FLOATS]
CASES += [case("Exp", data_of("f32", (), -10, 10, seed=3))]
CASES += [case("Exp", array("i32", -3, -1, 0, 1, 2, 3, 4)), case("Exp", array("f32", -np.inf, -200, 200, np.inf))]


CASES += [
    Case("Identity", 16, (np.arange(6, dtype=np.float32).reshape(2, 3),)),
    Case("Identity", 16, (np.array(3, np.int32),)),
    Case("Identity", 16, (np.zeros((0, 2), np.float16),)),
]
