"""Activation functions against their definitions in Python's floats."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from ir_exec.errors import ShapeError
from ir_exec.ops import Op
from ir_exec.types import ElementType, Shape, TensorType
from tests.helpers.facts import mentions
from tests.helpers.operators import attribute_error, evaluate, make
from tests.helpers.values import array

LARGE = (-3e38, -1e30, -1e4, -800, -100, -50)
DOMAIN = np.concatenate([np.linspace(-30, 30, 601), np.geomspace(1e-12, 1e-2, 50), -np.geomspace(1e-12, 1e-2, 50)])


def softplus(x: float) -> float:
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x > -700 else 0.0


DEFINITIONS: list[tuple[Op, Callable[[float], float]]] = [
    (make("Sigmoid"), sigmoid),
    (make("Tanh"), math.tanh),
    (make("SoftPlus", 4), softplus),
    (make("Mish", 4), lambda x: x * math.tanh(softplus(x))),
    (make("Swish", 4), lambda x: x * sigmoid(x)),
    (make("SoftSign", 9), lambda x: x / (1 + abs(x))),
    (make("HSigmoid", 5), lambda x: min(max(x + 3, 0), 6) / 6),
    (make("HSwish", 4), lambda x: x * min(max(x + 3, 0), 6) / 6),
    (make("Elu", alpha="0.7"), lambda x: x if x > 0 else 0.7 * math.expm1(x)),
    (make("ReLU"), lambda x: max(x, 0)),
]
"""Functions that must be accurate relatively, however small the result is."""

DIFFERENCES: list[tuple[Op, Callable[[float], float]]] = [
    (make("Gelu", 2), lambda x: x * math.erfc(-x / math.sqrt(2)) / 2),
    (make("Gelu", 7), lambda x: x * math.erfc(-x / math.sqrt(2)) / 2),
    (
        make("Gelu", 7, approximation_mode="tanh"),
        lambda x: x / 2 * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    ),
]
"""Functions whose formula subtracts: accurate absolutely."""


def name(value: object) -> str | None:
    return str(type(value).__name__) if isinstance(value, Op) else None


@pytest.mark.parametrize(("operator", "definition"), DEFINITIONS, ids=name)
def test_accurate_for_small_and_large_arguments(operator: Op, definition: Callable[[float], float]) -> None:
    wanted = [definition(x) for x in DOMAIN.tolist()]
    assert_allclose(evaluate(operator, DOMAIN), wanted, rtol=1e-14, atol=1e-300)
    singles = DOMAIN.astype(np.float32)
    wanted = [definition(x) for x in singles.tolist()]
    assert_allclose(evaluate(operator, singles), wanted, rtol=2e-6)


@pytest.mark.parametrize(("operator", "definition"), DIFFERENCES, ids=name)
def test_accurate_to_the_size_of_the_argument(operator: Op, definition: Callable[[float], float]) -> None:
    wanted = [definition(x) for x in DOMAIN.tolist()]
    assert_allclose(evaluate(operator, DOMAIN), wanted, rtol=1e-14, atol=1e-14)
    singles = DOMAIN.astype(np.float32)
    assert_allclose(evaluate(operator, singles), [definition(x) for x in singles.tolist()], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(("operator", "definition"), DEFINITIONS + DIFFERENCES, ids=name)
@pytest.mark.parametrize("kind", ["f32", "f64", "f16", "bf16"])
def test_never_nan_for_a_finite_argument(operator: Op, definition: Callable[[float], float], kind: str) -> None:
    limit = {"f16": 6e4, "bf16": 3e38, "f32": 3e38, "f64": 1e300}[kind]
    data = np.clip(np.array(LARGE + tuple(-x for x in LARGE) + (-limit, limit)), -limit, limit)
    data = data.astype(ElementType[kind].dtype)
    assert not np.isnan(evaluate(operator, data)).any()


def test_clamp() -> None:
    assert evaluate(make("Clamp", min="-1.5", max="2.5"), array("i32", -9, -1, 2, 9)).tolist() == [-1, -1, 2, 2]
    assert evaluate(make("Clamp", min="-9", max="3"), array("u8", 0, 200)).tolist() == [0, 3]
    assert evaluate(make("Clamp", min="300", max="400"), array("u8", 0, 200)).tolist() == [255, 255]
    ends = array("i64", 1, 5)
    assert evaluate(make("Clamp", min="1e30", max="1e30"), ends).tolist() == [2**63 - 1] * 2
    assert evaluate(make("Clamp", min="-1e30", max="-1e30"), ends).tolist() == [-(2**63)] * 2
    wide = make("Clamp", min="-inf", max="1e300")
    assert evaluate(wide, np.array([-(2**63), 2**63 - 1])).tolist() == [-(2**63), 2**63 - 1]
    assert_array_equal(evaluate(wide, array("f32", -np.inf, 3, np.nan)), array("f32", -np.inf, 3, np.nan))
    assert evaluate(make("Clamp", min="-2", max="2"), array("i4", -8, 1, 7)).astype(int).tolist() == [-2, 1, 2]


@pytest.mark.parametrize(("low", "high"), [("2", "1"), ("nan", "1"), ("0", "nan")])
def test_clamp_between_limits_that_are_none(low: str, high: str) -> None:
    fault = attribute_error("Clamp", min=low, max=high)
    assert fault.code == "IR302"
    assert fault.message == mentions("max")


@pytest.mark.parametrize(("type", "given", "missing"), [("Clamp", {"min": "0"}, "max"), ("Elu", {}, "alpha")])
def test_attributes_that_must_be_there(type: str, given: dict[str, str], missing: str) -> None:
    fault = attribute_error(type, **given)
    assert (fault.code, fault.message) == ("IR301", mentions(missing))


def test_a_mode_of_gelu_that_is_none() -> None:
    assert attribute_error("Gelu", 7, approximation_mode="sigmoid").code == "IR302"


def typed(*dims: int | None) -> TensorType:
    return TensorType(ElementType.f32, Shape(dims))


@pytest.mark.parametrize(
    ("data", "slope"), [((2, 3), (4,)), ((2, 3), (2,)), ((3,), (2, 3)), ((1, 3), (2, 3)), ((2, 3, 4), (2, 1))]
)
def test_a_slope_that_does_not_fit(data: tuple[int, ...], slope: tuple[int, ...]) -> None:
    with pytest.raises(ShapeError) as caught:
        make("PReLU").infer(typed(*data), typed(*slope))
    assert (caught.value.code, caught.value.location.port) == ("IR504", "slope")


@pytest.mark.parametrize(
    ("data", "slope"),
    [((2, None), (4,)), ((None, 3), (3,)), ((2, 3), (None,)), ((3,), (None, 3)), ((2, 3), (None, None)), ((), (1,))],
)
def test_a_slope_that_may_fit(data: tuple[int | None, ...], slope: tuple[int | None, ...]) -> None:
    assert make("PReLU").infer(typed(*data), typed(*slope)).shape == Shape(data)


def test_one_slope_per_channel_goes_before_broadcasting() -> None:
    data = -np.ones((2, 3, 3), np.float32)
    result = evaluate(make("PReLU"), data, array("f32", 1, 2, 3))
    assert_array_equal(result[0], [[-1, -1, -1], [-2, -2, -2], [-3, -3, -3]])


@pytest.mark.parametrize("slope", [1e-30, 0.25, 1.0, 0.0, -0.5, 1.5, math.inf, math.nan])
@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_slopes_of_special_numbers(kind: str, slope: float) -> None:
    data = array(kind, -math.inf, -1e30, -1, -1e-30, 0, 1e-30, 1, 1e30, math.inf, math.nan)
    with np.errstate(all="ignore"):
        expected = np.where(data < 0, data * array(kind, slope), data)
    assert_array_equal(evaluate(make("PReLU"), data, array(kind, slope)), expected)


@pytest.mark.parametrize(
    ("type", "opset", "shapes", "code", "port"),
    [
        ("Swish", 4, ((2,), (1,)), "IR501", "beta"),
        ("HardSigmoid", 1, ((2,), (1,), ()), "IR501", "alpha"),
        ("HardSigmoid", 1, ((2,), (), (2, 2)), "IR501", "beta"),
        ("Selu", 1, ((2,), (2,), (1,)), "IR505", "alpha"),
        ("Selu", 1, ((2,), (1,), (0,)), "IR505", "lambda"),
    ],
)
def test_parameters_that_are_no_scalars(
    type: str, opset: int, shapes: tuple[tuple[int, ...], ...], code: str, port: str
) -> None:
    with pytest.raises(ShapeError) as caught:
        make(type, opset).infer(*[typed(*shape) for shape in shapes])
    assert (caught.value.code, caught.value.location.port) == (code, port)


def test_parameters_may_be_unknown() -> None:
    unknown = TensorType.unknown()
    assert make("Swish", 4).infer(typed(2, None), unknown).shape == Shape([2, None])
    assert make("Selu").infer(typed(2), typed(None), unknown).shape == Shape([2])
    assert make("PReLU").infer(unknown, typed(3)).element_type is ElementType.dynamic


@pytest.mark.parametrize("kind", ["f32", "f16", "bf16", "f64"])
def test_parameters_of_the_datas_type(kind: str) -> None:
    data, half, two = array(kind, -1, 0, 1, 4), array(kind, 0.5).reshape(()), array(kind, 2)
    scale = {"atol": 1e-2} if kind in ("f16", "bf16") else {"atol": 1e-6}
    found = evaluate(make("HardSigmoid"), data, half, half)
    assert_allclose(found.astype(np.float64), [0, 0.5, 1, 1], **scale)
    found = evaluate(make("Selu"), data, two, array(kind, 1.5))
    assert_allclose(found.astype(np.float64), [3 * math.expm1(-1), 0, 1.5, 6], **scale)
    found = evaluate(make("Swish", 4), data, two.reshape(()))
    assert_allclose(found.astype(np.float64), [-sigmoid(-2), 0, sigmoid(2), 4 * sigmoid(8)], **scale)
    assert found.dtype == data.dtype
