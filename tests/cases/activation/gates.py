"""Gated activation functions."""

from __future__ import annotations

from itertools import product

from ir_exec.types import ElementType
from tests.helpers.activation_cases import EXTREMES, FLOATS, SHAPES, case, data_of, scalar
from tests.helpers.values import array

ONE_INPUT = ("Mish", "HSigmoid", "HSwish", "Swish")

CASES = [case(type, data_of(element_type, (3, 7))) for type, element_type in product(ONE_INPUT, FLOATS)]
CASES += [case(type, data_of("f32", shape)) for type, shape in product(("Mish", "Swish"), SHAPES)]
CASES += [case(type, array("f32", *EXTREMES)) for type in ONE_INPUT]
CASES += [
    case(
        type,
        array(
            element_type, *((-9, -3, -2, -1, 0, 1, 2, 6) if ElementType[element_type].is_signed else (0, 1, 2, 3, 6))
        ),
    )
    for type, element_type in product(("HSigmoid", "HSwish"), ("i32", "u8", "i64", "i8"))
]

CASES += [case("Gelu", data_of(element_type, (3, 7))) for element_type in FLOATS]
CASES += [
    case("Gelu", data_of(element_type, (3, 7)), opset=7, attributes=attributes)
    for element_type, attributes in product(
        FLOATS, ({}, {"approximation_mode": "erf"}, {"approximation_mode": "tanh"}, {"approximation_mode": "TANH"})
    )
]
CASES += [
    case("Gelu", array("f32", *EXTREMES), opset=7, attributes={"approximation_mode": mode}) for mode in ("erf", "tanh")
]
CASES += [case("Gelu", data_of("f32", shape), opset=7) for shape in SHAPES]

CASES += [
    case("Swish", data_of(element_type, (3, 4)), scalar(element_type, 0.5)) for element_type in ("f32", "f64", "f16")
]
CASES += [case("Swish", data_of("bf16", (3, 4)), scalar("bf16", 0.5), constants={1})]
CASES += [
    case("Swish", data_of("f32", shape), scalar("f32", beta), constants={1})
    for shape, beta in product(((3, 4), ()), (0.0, 1.0, 2.5))
]
