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
from tests.helpers.activations import Definition, check_finite, check_relative, operator_name, sigmoid, softplus
from tests.helpers.facts import fault_with
from tests.helpers.operators import attribute_error, evaluate, make
from tests.helpers.values import array

DEFINITIONS: list[Definition] = [
    (make("Sigmoid"), sigmoid),
    (make("Tanh"), math.tanh),
    (make("SoftPlus", 4), softplus),
    (make("SoftSign", 9), lambda x: x / (1 + abs(x))),
    (make("Elu", alpha="0.7"), lambda x: x if x > 0 else 0.7 * math.expm1(x)),
    (make("ReLU"), lambda x: max(x, 0)),
]


@pytest.mark.parametrize(("operator", "definition"), DEFINITIONS, ids=operator_name)
def test_accurate_for_small_and_large_arguments(operator: Op, definition: Callable[[float], float]) -> None:
    check_relative(operator, definition)


@pytest.mark.parametrize(
    "operator",
    [*[operator for operator, _ in DEFINITIONS], make("Clamp", min="-0.5", max="2"), make("Sqrt"), make("Exp")],
)
@pytest.mark.parametrize("element_type", ["f32", "f64", "f16", "bf16"])
def test_scalar_result_is_an_array_equal_to_vector_element(operator: Op, element_type: str) -> None:
    for number in (-0.0, 0.0, 1.5, -3.0, 70.0, math.inf, -math.inf, math.nan):
        vector = array(element_type, number)
        scalar = vector.reshape(())
        kernel = operator.kernel(TensorType.of(scalar).without_values())
        with np.errstate(all="ignore"):
            actual, expected = kernel(scalar), evaluate(operator, vector)
            assert isinstance(actual, np.ndarray)
            assert (actual.shape, actual.dtype, actual.tobytes()) == ((), vector.dtype, expected.tobytes())
            out = scalar.copy()
            assert kernel(out, out=out) is out
        assert out.tobytes() == actual.tobytes()


@pytest.mark.parametrize(("operator", "_"), DEFINITIONS, ids=operator_name)
@pytest.mark.parametrize("element_type", ["f32", "f64", "f16", "bf16"])
def test_never_nan_for_a_finite_argument(operator: Op, _: object, element_type: str) -> None:
    check_finite(operator, element_type)


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
def test_clamp_with_invalid_limits(low: str, high: str) -> None:
    fault = attribute_error("Clamp", min=low, max=high)
    assert fault == fault_with("min", "max", code="IR302", actual=float(low), expected=f"at most {float(high)}")


@pytest.mark.parametrize(("type", "attributes", "missing"), [("Clamp", {"min": "0"}, "max"), ("Elu", {}, "alpha")])
def test_required_attributes(type: str, attributes: dict[str, str], missing: str) -> None:
    fault = attribute_error(type, **attributes)
    assert (fault.code, fault) == ("IR301", fault_with(missing))


def make_type(*dims: int | None) -> TensorType:
    return TensorType(ElementType.f32, Shape(dims))


@pytest.mark.parametrize(
    ("data", "slope"), [((2, 3), (4,)), ((2, 3), (2,)), ((3,), (2, 3)), ((1, 3), (2, 3)), ((2, 3, 4), (2, 1))]
)
def test_a_slope_that_does_not_fit(data: tuple[int, ...], slope: tuple[int, ...]) -> None:
    with pytest.raises(ShapeError) as caught:
        make("PReLU").infer(make_type(*data), make_type(*slope))
    assert (caught.value.code, caught.value.location.port) == ("IR504", "slope")


@pytest.mark.parametrize(
    ("data", "slope"),
    [((2, None), (4,)), ((None, 3), (3,)), ((2, 3), (None,)), ((3,), (None, 3)), ((2, 3), (None, None)), ((), (1,))],
)
def test_a_slope_that_may_fit(data: tuple[int | None, ...], slope: tuple[int | None, ...]) -> None:
    assert make("PReLU").infer(make_type(*data), make_type(*slope)).shape == Shape(data)


def test_one_slope_per_channel_goes_before_broadcasting() -> None:
    data = -np.ones((2, 3, 3), np.float32)
    result = evaluate(make("PReLU"), data, array("f32", 1, 2, 3))
    assert_array_equal(result[0], [[-1, -1, -1], [-2, -2, -2], [-3, -3, -3]])


@pytest.mark.parametrize("slope", [1e-30, 0.25, 1.0, 0.0, -0.5, 1.5, math.inf, math.nan])
@pytest.mark.parametrize("element_type", ["f32", "f64"])
def test_slopes_of_special_numbers(element_type: str, slope: float) -> None:
    data = array(element_type, -math.inf, -1e30, -1, -1e-30, 0, 1e-30, 1, 1e30, math.inf, math.nan)
    with np.errstate(all="ignore"):
        expected = np.where(data < 0, data * array(element_type, slope), data)
    assert_array_equal(evaluate(make("PReLU"), data, array(element_type, slope)), expected)


@pytest.mark.parametrize(
    ("type", "opset", "shapes", "code", "port"),
    [
        ("HardSigmoid", 1, ((2,), (1,), ()), "IR501", "alpha"),
        ("HardSigmoid", 1, ((2,), (), (2, 2)), "IR501", "beta"),
        ("Selu", 1, ((2,), (2,), (1,)), "IR505", "alpha"),
        ("Selu", 1, ((2,), (1,), (0,)), "IR505", "lambda"),
    ],
)
def test_non_scalar_parameters(
    type: str, opset: int, shapes: tuple[tuple[int, ...], ...], code: str, port: str
) -> None:
    with pytest.raises(ShapeError) as caught:
        make(type, opset).infer(*[make_type(*shape) for shape in shapes])
    assert (caught.value.code, caught.value.location.port) == (code, port)


def test_parameters_may_be_unknown() -> None:
    unknown = TensorType.unknown()
    assert make("Selu").infer(make_type(2), make_type(None), unknown).shape == Shape([2])
    assert make("PReLU").infer(unknown, make_type(3)).element_type is ElementType.dynamic


@pytest.mark.parametrize("element_type", ["f32", "f16", "bf16", "f64"])
def test_parameters_of_the_datas_type(element_type: str) -> None:
    data, half, two = array(element_type, -1, 0, 1, 4), array(element_type, 0.5).reshape(()), array(element_type, 2)
    scale = {"atol": 1e-2} if element_type in ("f16", "bf16") else {"atol": 1e-6}
    result = evaluate(make("HardSigmoid"), data, half, half)
    assert_allclose(result.astype(np.float64), [0, 0.5, 1, 1], **scale)
    result = evaluate(make("Selu"), data, two, array(element_type, 1.5))
    assert_allclose(result.astype(np.float64), [3 * math.expm1(-1), 0, 1.5, 6], **scale)
    assert result.dtype == data.dtype
