"""Activation functions."""

from __future__ import annotations

from itertools import product

import numpy as np

from ir_exec.types import Array, ElementType
from tests.conformance.case import Case
from tests.helpers.values import array

SINCE = {"Gelu": 2, "Swish": 4, "HSwish": 4, "HSigmoid": 5, "SoftPlus": 4, "SoftSign": 9, "Mish": 4}
REQUIRED: dict[str, dict[str, object]] = {"Elu": {"alpha": 1.5}, "Clamp": {"min": -1.25, "max": 2.5}}
ONE_INPUT = ("Sigmoid", "ReLU", "SoftPlus", "SoftSign", "Mish", "HSigmoid", "HSwish", "Elu", "Clamp", "Swish")
OF_INTEGERS = ("Sigmoid", "ReLU", "HSigmoid", "HSwish", "Elu", "Clamp")
FLOATS = ("f32", "f64", "f16", "bf16")
INTEGERS = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")
TOLERANCE = {"f64": 2e-5, "f32": 2e-5, "f16": 3e-3, "bf16": 1.5e-2}
SHAPES = ((), (1,), (0, 3), (1, 1, 1), (7, 3), (2, 3, 1, 2, 2))
EXTREMES = (-1e30, -1000, -100, -20, -1e-6, 0, 1e-6, 20, 100, 1000, 1e30)


def scalar(element_type: str, value: float) -> Array:
    return np.array(value, ElementType[element_type].dtype)


def data_of(element_type: str, shape: tuple[int, ...], low: float = -8, high: float = 8, seed: int = 0) -> Array:
    return np.random.default_rng(seed).uniform(low, high, shape).astype(ElementType[element_type].dtype)


def case(type: str, *inputs: Array, opset: int | None = None, **fields: object) -> Case:
    tolerance = TOLERANCE.get(ElementType.of(inputs[0]).name, 0.0)
    attributes = fields.pop("attributes", REQUIRED.get(type, {}))
    fields = {"rtol": tolerance, "atol": tolerance, **fields}
    return Case(type, opset or SINCE.get(type, 1), inputs, attributes, **fields)  # type: ignore[arg-type]  # as a caller


CASES = [case(type, data_of(element_type, (3, 7))) for type, element_type in product(ONE_INPUT, FLOATS)]
CASES += [case(type, data_of("f32", shape)) for type, shape in product(("Mish", "ReLU", "Clamp", "Swish"), SHAPES)]
CASES += [case(type, array("f32", *EXTREMES)) for type in ONE_INPUT]
CASES += [case(type, array("f32", -np.inf, np.inf, np.nan)) for type in ("Sigmoid", "SoftPlus")]
CASES += [
    case(type, array(kind, *((-9, -3, -2, -1, 0, 1, 2, 6) if ElementType[kind].is_signed else (0, 1, 2, 3, 6))))
    for type, kind in product(OF_INTEGERS, ("i32", "u8", "i64", "i8"))
]

CASES += [case("Gelu", data_of(kind, (3, 7))) for kind in FLOATS]
CASES += [
    case("Gelu", data_of(kind, (3, 7)), opset=7, attributes=attributes)
    for kind, attributes in product(
        FLOATS, ({}, {"approximation_mode": "erf"}, {"approximation_mode": "tanh"}, {"approximation_mode": "TANH"})
    )
]
CASES += [
    case("Gelu", array("f32", *EXTREMES), opset=7, attributes={"approximation_mode": mode}) for mode in ("erf", "tanh")
]
CASES += [case("Gelu", data_of("f32", shape), opset=7) for shape in SHAPES]

CASES += [case("Elu", data_of("f32", (3, 7)), attributes={"alpha": alpha}) for alpha in (0.0, 0.1, 1.0, -2.0)]

CASES += [
    case("Clamp", data_of("f32", (3, 7)), attributes={"min": low, "max": high})
    for low, high in ((0.0, 0.0), (-1.0, 1e30), ("-inf", 2.0), (-3, 3), ("-1e300", "1e300"), ("-3.4028235e+38", 6.0))
]
# Limits are whole for integers: from 0.2 to 1.8 there is only 1. The plugin forgets that for 8 bits.
CASES += [
    case(
        "Clamp",
        array(kind, *((-9, -2, -1, 0, 1, 2, 3, 100) if ElementType[kind].is_signed else (0, 1, 2, 3, 100))),
        attributes={"min": low, "max": high},
        oracle="reference",
    )
    for kind, (low, high) in product(INTEGERS, ((-1.5, 2.5), (0.2, 1.8), (-1e9, 1e9)))
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
CASES += [case("PReLU", data_of(kind, a), data_of(kind, b, 0.01, 1)) for a, b in PRELU[::2] for kind in ("f32", "f16")]
CASES += [case("PReLU", data_of(kind, (2, 3, 4)), data_of(kind, (3,), -1, 2, 1)) for kind in ("f16", "bf16", "f64")]
CASES += [case("PReLU", array(kind, -3, -1, 0, 5), array(kind, 2)) for kind in ("i32", "i8", "i64")]
CASES += [
    case("PReLU", data_of(kind, (2, 3, 4)), data_of(slope, (3,), -1, 2, 1), constants=constants)
    for kind, slope in (("f16", "f32"), ("bf16", "f32"), ("f32", "f16"), ("f32", "f64"), ("f64", "f32"), ("f16", "i32"))
    for constants in ((), {1})
]
CASES += [case("PReLU", array(kind, -8, -3, -1, 0, 5), array("f32", 0.3)) for kind in ("i32", "i8", "i64")]

CASES += [case("Swish", data_of(kind, (3, 4)), scalar(kind, 0.5)) for kind in ("f32", "f64", "f16")]
CASES += [case("Swish", data_of("bf16", (3, 4)), scalar("bf16", 0.5), constants={1})]
CASES += [
    case("Swish", data_of("f32", shape), scalar("f32", beta), constants={1})
    for shape, beta in product(((3, 4), ()), (0.0, 1.0, 2.5))
]

CASES += [
    case("HardSigmoid", data_of(kind, (3, 4)), scalar(kind, alpha), scalar(kind, beta), constants={1, 2})
    for kind, (alpha, beta) in product(FLOATS, ((0.25, 0.5), (-0.5, 0.25)))
]
CASES += [
    case("HardSigmoid", data_of("f32", shape), scalar("f32", 0.2), scalar("f32", 0.5), constants={1, 2})
    for shape in SHAPES
]

CASES += [
    case("Selu", data_of(kind, (3, 4)), array(kind, 1.6732), array(kind, 1.0507), constants={1, 2}) for kind in FLOATS
]
CASES += [
    case("Selu", data_of("f32", shape), array("f32", 1.5), array("f32", 2.0), constants={1, 2}) for shape in SHAPES
]
CASES += [case("Selu", data_of("f32", (2, 3)), scalar("f32", 1.5), np.full((1, 1), 2, np.float32), constants={1, 2})]

CASES += [case("Exp", data_of(kind, (3, 5), -10, 10, seed=3)) for kind in FLOATS]
CASES += [case("Exp", data_of("f32", (), -10, 10, seed=3))]
CASES += [case("Exp", array("i32", -3, -1, 0, 1, 2, 3, 4)), case("Exp", array("f32", -np.inf, -200, 200, np.inf))]


CASES += [
    Case("Identity", 16, (np.arange(6, dtype=np.float32).reshape(2, 3),)),
    Case("Identity", 16, (np.array(3, np.int32),)),
    Case("Identity", 16, (np.zeros((0, 2), np.float16),)),
]
