"""Gated activation functions against their definitions in Python's floats."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from numpy.testing import assert_allclose

from ir_exec.errors import ShapeError
from ir_exec.ops import Op
from ir_exec.types import ElementType, Shape, TensorType
from tests.helpers.activations import (
    Definition,
    check_absolute,
    check_finite,
    check_relative,
    operator_name,
    sigmoid,
    softplus,
)
from tests.helpers.operators import attribute_error, evaluate, make
from tests.helpers.values import array, make_type

DEFINITIONS: list[Definition] = [
    (make("Mish", 4), lambda x: x * math.tanh(softplus(x))),
    (make("Swish", 4), lambda x: x * sigmoid(x)),
    (make("HSigmoid", 5), lambda x: min(max(x + 3, 0), 6) / 6),
    (make("HSwish", 4), lambda x: x * min(max(x + 3, 0), 6) / 6),
]

DIFFERENCES: list[Definition] = [
    (make("Gelu", 2), lambda x: x * math.erfc(-x / math.sqrt(2)) / 2),
    (make("Gelu", 7), lambda x: x * math.erfc(-x / math.sqrt(2)) / 2),
    (
        make("Gelu", 7, approximation_mode="tanh"),
        lambda x: x / 2 * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    ),
]


@pytest.mark.parametrize(("operator", "definition"), DEFINITIONS, ids=operator_name)
def test_accurate_for_small_and_large_arguments(operator: Op, definition: Callable[[float], float]) -> None:
    check_relative(operator, definition)


@pytest.mark.parametrize(("operator", "definition"), DIFFERENCES, ids=operator_name)
def test_accurate_to_the_size_of_the_argument(operator: Op, definition: Callable[[float], float]) -> None:
    check_absolute(operator, definition)


@pytest.mark.parametrize(("operator", "_"), DEFINITIONS + DIFFERENCES, ids=operator_name)
@pytest.mark.parametrize("element_type", ["f32", "f64", "f16", "bf16"])
def test_never_nan_for_a_finite_argument(operator: Op, _: object, element_type: str) -> None:
    check_finite(operator, element_type)


def test_invalid_mode_of_gelu() -> None:
    assert attribute_error("Gelu", 7, approximation_mode="sigmoid").code == "IR302"


def test_non_scalar_beta() -> None:
    with pytest.raises(ShapeError) as caught:
        make("Swish", 4).infer(make_type("[2]"), make_type("[1]"))
    assert (caught.value.code, caught.value.location.port) == ("IR501", "beta")


def test_a_beta_may_be_unknown() -> None:
    data = TensorType(ElementType.f32, Shape([2, None]))
    assert make("Swish", 4).infer(data, TensorType.unknown()).shape == Shape([2, None])


@pytest.mark.parametrize("element_type", ["f32", "f16", "bf16", "f64"])
def test_a_beta_of_the_datas_type(element_type: str) -> None:
    data, two = array(element_type, -1, 0, 1, 4), array(element_type, 2).reshape(())
    result = evaluate(make("Swish", 4), data, two)
    tolerance = 1e-2 if element_type in ("f16", "bf16") else 1e-6
    assert_allclose(result.astype(np.float64), [-sigmoid(-2), 0, sigmoid(2), 4 * sigmoid(8)], atol=tolerance)
    assert result.dtype == data.dtype
