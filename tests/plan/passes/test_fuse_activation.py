"""Gelu, Swish, HSwish and Clamp that are written as several layers, as one step."""

from __future__ import annotations

from collections.abc import Callable
from math import erf, exp, pi, sqrt, tanh

import numpy as np
import pytest

from tests.helpers.network_text import NetworkText, Output
from tests.plan.passes.helpers import of_network, of_text

X = np.linspace(-6, 6, 48, dtype=np.float32).reshape(2, 3, 8)


def test_activations_are_matched_in_a_real_network() -> None:
    both = of_network("onnx/activations")
    assert sorted(both.types) == ["Gelu", "Gelu", "HSwish", "LayerNorm", "Swish", "Swish"]
    both.assert_close()


def scalar(net: NetworkText, value: float, *dims: int) -> Output:
    return net.const(np.full(dims, value, np.float32))


def times(net: NetworkText, x: Output, value: float) -> Output:
    return net.op("Multiply", x, scalar(net, value))


def divide(net: NetworkText, x: Output, value: float) -> Output:
    return net.op("Divide", x, scalar(net, value, 1))


def one_more(net: NetworkText, x: Output) -> Output:
    return net.op("Add", scalar(net, 1, 1), x)


def shifted_erf(net: NetworkText, x: Output) -> Output:
    return one_more(net, net.op("Erf", divide(net, x, sqrt(2))))


def half_at_the_end(net: NetworkText, x: Output, factor: Output) -> Output:
    return times(net, net.op("Multiply", x, factor), 0.5)


def half_before_the_data(net: NetworkText, x: Output, factor: Output) -> Output:
    return net.op("Multiply", times(net, factor, 0.5), x)


def half_of_the_data(net: NetworkText, x: Output, factor: Output) -> Output:
    return net.op("Multiply", factor, divide(net, x, 2))


HALVED = [half_at_the_end, half_before_the_data, half_of_the_data]


def expected_gelu(x: float) -> float:
    return x * (1 + erf(x / sqrt(2))) / 2


def expected_gelu_tanh(x: float) -> float:
    return x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x**3))) / 2


def assert_found(net: NetworkText, name: str, expected: Callable[[float], float]) -> None:
    both = of_text(net, X)
    assert both.types == [name]
    np.testing.assert_allclose(both.rewritten[0], np.vectorize(expected)(X.astype(np.float64)), rtol=1e-5, atol=1e-6)
    both.assert_close()


@pytest.mark.parametrize("halved", HALVED)
@pytest.mark.parametrize("shape", ["2,3,8", "?,?,8"])
def test_gelu(halved: Callable[..., Output], shape: str) -> None:
    net = NetworkText()
    x = net.parameter(shape)
    net.result(halved(net, x, shifted_erf(net, x)))
    assert_found(net, "Gelu", expected_gelu)


def test_gelu_by_a_reciprocal() -> None:
    net = NetworkText()
    x = net.parameter("2,3,8")
    net.result(half_of_the_data(net, x, one_more(net, net.op("Erf", times(net, x, sqrt(0.5))))))
    assert_found(net, "Gelu", expected_gelu)


@pytest.mark.parametrize("halved", HALVED)
def test_gelu_by_the_complement(halved: Callable[..., Output]) -> None:
    net = NetworkText()
    x = net.parameter("2,3,8")
    erf = net.op("Erf", times(net, x, -sqrt(0.5)))
    net.result(halved(net, x, net.op("Subtract", scalar(net, 1, 1), erf)))
    assert_found(net, "Gelu", expected_gelu)


def by_power(net: NetworkText, x: Output) -> Output:
    return net.op("Power", x, scalar(net, 3))


def by_products(net: NetworkText, x: Output) -> Output:
    return net.op("Multiply", x, net.op("Multiply", x, x))


@pytest.mark.parametrize("halved", HALVED)
@pytest.mark.parametrize("cubed", [by_power, by_products])
def test_gelu_by_tanh(halved: Callable[..., Output], cubed: Callable[..., Output]) -> None:
    net = NetworkText()
    x = net.parameter("2,3,8")
    inner = times(net, net.op("Add", x, times(net, cubed(net, x), 0.044715)), sqrt(2 / pi))
    net.result(halved(net, x, one_more(net, net.op("Tanh", inner))))
    assert_found(net, "Gelu", expected_gelu_tanh)


def test_swish() -> None:
    net = NetworkText()
    x = net.parameter("2,3,8")
    net.result(net.op("Multiply", net.op("Sigmoid", x), x))
    assert_found(net, "Swish", lambda x: x / (1 + exp(-x)))


def test_swish_with_a_factor() -> None:
    net = NetworkText()
    x = net.parameter("2,3,8")
    net.result(net.op("Multiply", x, net.op("Sigmoid", times(net, x, 1.702))))
    assert_found(net, "Swish", lambda x: x / (1 + exp(-1.702 * x)))


def test_hswish() -> None:
    net = NetworkText()
    x = net.parameter("2,3,8")
    net.result(net.op("Multiply", x, net.op("HardSigmoid", x, scalar(net, 1 / 6), scalar(net, 0.5))))
    assert_found(net, "HSwish", lambda x: x * min(max(x / 6 + 0.5, 0), 1))


@pytest.mark.parametrize("types", [["Maximum"], ["Minimum"], ["Maximum", "Minimum"], ["Minimum", "Maximum"]])
def test_numeric_limits(types: list[str]) -> None:
    net = NetworkText()
    value = net.parameter("2,3,8")
    for type in types:
        value = net.op(type, scalar(net, {"Maximum": -1.5, "Minimum": 2.5}[type], 1), value)
    net.result(value)
    both = of_text(net, X)
    assert both.types == ["Clamp"]
    assert len(both.fused[0].members) == len(types)
    lowest, highest = -1.5 if "Maximum" in types else None, 2.5 if "Minimum" in types else None
    np.testing.assert_array_equal(both.rewritten[0], X.clip(lowest, highest))


def test_limits_that_cross_stay_two_layers() -> None:
    net = NetworkText()
    net.result(net.op("Minimum", net.op("Maximum", net.parameter("2,3,8"), scalar(net, 2)), scalar(net, -1)))
    both = of_text(net, X)
    assert both.types == ["Clamp", "Clamp"]
    assert (both.rewritten[0] == -1).all()


def of_something_else(net: NetworkText, x: Output) -> Output:
    return net.op("Multiply", net.op("ReLU", x), net.op("Sigmoid", x))


def with_a_vector(net: NetworkText, x: Output) -> Output:
    return net.op("Multiply", x, net.op("Sigmoid", net.op("Multiply", x, net.const(X[0, 0]))))


def with_more_axes(net: NetworkText, x: Output) -> Output:
    product = net.op("Multiply", x, shifted_erf(net, x))
    return net.op("Multiply", product, scalar(net, 0.5, 1, 1, 1, 1))


def of_another_slope(net: NetworkText, x: Output) -> Output:
    return net.op("Multiply", x, net.op("HardSigmoid", x, scalar(net, 0.2), scalar(net, 0.5)))


def by_another_root(net: NetworkText, x: Output) -> Output:
    return half_at_the_end(net, x, one_more(net, net.op("Erf", divide(net, x, 1.4))))


def without_a_half(net: NetworkText, x: Output) -> Output:
    return times(net, net.op("Multiply", x, shifted_erf(net, x)), 0.25)


def two_more(net: NetworkText, x: Output) -> Output:
    return half_at_the_end(net, x, net.op("Add", net.op("Erf", divide(net, x, sqrt(2))), scalar(net, 2)))


def of_another_cube(net: NetworkText, x: Output) -> Output:
    cubed = net.op("Power", x, scalar(net, 4))
    inner = times(net, net.op("Add", x, times(net, cubed, 0.044715)), sqrt(2 / pi))
    return half_at_the_end(net, x, one_more(net, net.op("Tanh", inner)))


def with_limits_of_elements(net: NetworkText, x: Output) -> Output:
    return net.op("Maximum", x, net.const(X[0, 0]))


def with_no_number(net: NetworkText, x: Output) -> Output:
    return net.op("Maximum", x, scalar(net, float("nan")))


def less_one(net: NetworkText, x: Output) -> Output:
    return half_at_the_end(net, x, net.op("Subtract", net.op("Erf", times(net, x, -sqrt(0.5))), scalar(net, 1, 1)))


def of_the_opposite(net: NetworkText, x: Output) -> Output:
    return half_at_the_end(net, x, net.op("Subtract", scalar(net, 1, 1), net.op("Erf", times(net, x, sqrt(0.5)))))


def read_twice(net: NetworkText, x: Output) -> Output:
    factor = shifted_erf(net, x)
    net.result(factor)
    return half_at_the_end(net, x, factor)


@pytest.mark.parametrize(
    "written",
    [
        of_something_else,
        with_a_vector,
        with_more_axes,
        of_another_slope,
        by_another_root,
        without_a_half,
        two_more,
        of_another_cube,
        with_limits_of_elements,
        with_no_number,
        less_one,
        of_the_opposite,
        read_twice,
    ],
)
def test_other_activations_are_unchanged(written: Callable[[NetworkText, Output], Output]) -> None:
    net = NetworkText()
    net.result(written(net, net.parameter("2,3,8")))
    both = of_text(net, X)
    assert both.fused == []
    both.assert_close()
