"""Normalization by mean and variance, with its weight and bias, as one step."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import ir_exec
from ir_exec.types import Array
from tests.helpers.network_text import NetworkText, Output
from tests.plan.passes.helpers import Both, of_network, of_text

RANDOM = np.random.default_rng(3)
X = RANDOM.normal(2, 3, (2, 3, 8)).astype(np.float32)
WEIGHT, BIAS = RANDOM.normal(size=(2, 8)).astype(np.float32)
MVN = {"eps": 1e-3, "normalize_variance": "true", "eps_mode": "inside_sqrt", "opset": 6}


def test_layer_norm_is_matched_in_real_networks() -> None:
    both = of_network("bert_tiny_fp16")
    assert both.types == ["LayerNorm"] * 5
    assert {len(step.members) for step in both.fused} == {3}
    both.assert_close()


def assert_normalized(both: Both, *, has_bias: bool) -> None:
    assert both.types == ["LayerNorm"]
    wide = X.astype(np.float64)
    expected = (wide - wide.mean(-1, keepdims=True)) / np.sqrt(wide.var(-1, keepdims=True) + 1e-3) * WEIGHT
    np.testing.assert_allclose(both.rewritten[0], expected + (BIAS if has_bias else 0), rtol=1e-4, atol=1e-5)
    both.assert_close()


def mvn(net: NetworkText, x: Output, axes: list[int], **attributes: object) -> Output:
    return net.op("MVN", x, net.const(np.array(axes, np.int64)), **{**MVN, **attributes})


@pytest.mark.parametrize("axis", [-1, 2])
@pytest.mark.parametrize("rank", [1, 3])
@pytest.mark.parametrize("has_bias", [False, True])
@pytest.mark.parametrize("shape", ["2,3,8", "?,?,8"])
def test_every_way_to_write_it(axis: int, rank: int, shape: str, *, has_bias: bool) -> None:
    net = NetworkText()
    x = net.parameter(shape)
    dims = (1,) * (rank - 1) + (8,)
    value = net.op("Multiply", net.const(WEIGHT.reshape(dims)), mvn(net, x, [axis]))
    if has_bias:
        value = net.op("Add", value, net.const(BIAS.reshape(dims)))
    net.result(value)
    both = of_text(net, X)
    assert_normalized(both, has_bias=has_bias)


@pytest.mark.parametrize("has_bias", [False, True])
def test_layer_norm_is_matched_in_nine_layers(*, has_bias: bool) -> None:
    net = NetworkText()
    x, axes = net.parameter("2,3,8"), net.const(np.array([-1], np.int64))
    centered = net.op("Subtract", x, net.op("ReduceMean", x, axes, keep_dims="true"))
    squares = net.op("Power", centered, net.const(np.array(2, np.float32)))
    variance = net.op("ReduceMean", squares, axes, keep_dims="true")
    deviation = net.op("Sqrt", net.op("Add", variance, net.const(np.array(1e-3, np.float32))))
    value = net.op("Multiply", net.op("Divide", centered, deviation), net.const(WEIGHT))
    net.result(net.op("Add", value, net.const(BIAS)) if has_bias else value)
    both = of_text(net, X)
    assert_normalized(both, has_bias=has_bias)


def test_tensorflow_network_is_matched() -> None:
    both = of_network("keras")
    # In its loops products and Gather change places.
    assert [name for name in both.types if name not in ("MatMul", "Gather")] == ["LayerNorm", "LayerNorm", "Gelu"]
    both.assert_close()


def number(net: NetworkText, value: float) -> Output:
    return net.const(np.array([[value]], np.float32))


def opposite_added(net: NetworkText, mean: Output, factor: Output, bias: Output) -> Output:
    return net.op("Add", net.op("Multiply", net.op("Multiply", mean, number(net, -1)), factor), bias)


def subtract_product(net: NetworkText, mean: Output, factor: Output, bias: Output) -> Output:
    return net.op("Subtract", bias, net.op("Multiply", mean, factor))


Moved = Callable[[NetworkText, Output, Output, Output], Output]


def of_moments(net: NetworkText, x: Output, moved: Moved, *, power: float = -0.5, axis: int = -1) -> Output:
    axes = net.const(np.array([axis], np.int64))
    mean = net.op("ReduceMean", x, axes, keep_dims="true")
    variance = net.op("ReduceMean", net.op("SquaredDifference", x, mean), axes, keep_dims="true")
    root = net.op("Power", net.op("Add", variance, number(net, 1e-3)), number(net, power))
    factor = net.op("Multiply", root, net.const(WEIGHT))
    return net.op("Add", net.op("Multiply", x, factor), moved(net, mean, factor, net.const(BIAS)))


@pytest.mark.parametrize("moved", [opposite_added, subtract_product])
@pytest.mark.parametrize("shape", ["2,3,8", "?,?,8"])
def test_tensorflow_form_is_matched(moved: Moved, shape: str) -> None:
    net = NetworkText()
    net.result(of_moments(net, net.parameter(shape), moved))
    assert_normalized(of_text(net, X), has_bias=True)


def mean_of_another(net: NetworkText, mean: Output, factor: Output, bias: Output) -> Output:
    return net.op("Subtract", bias, net.op("Multiply", net.op("Multiply", mean, number(net, 2)), factor))


def bias_subtracted(net: NetworkText, mean: Output, factor: Output, bias: Output) -> Output:
    return net.op("Subtract", net.op("Multiply", mean, factor), bias)


def mean_added(net: NetworkText, mean: Output, factor: Output, bias: Output) -> Output:
    return net.op("Add", bias, net.op("Multiply", mean, factor))


def mean_given(net: NetworkText, mean: Output, factor: Output, bias: Output) -> Output:
    net.result(mean)
    return subtract_product(net, mean, factor, bias)


def opposite_given(net: NetworkText, mean: Output, factor: Output, bias: Output) -> Output:
    negated = net.op("Multiply", mean, number(net, -1))
    net.result(negated)
    return net.op("Add", net.op("Multiply", negated, factor), bias)


def opposite_with_more_axes(net: NetworkText, mean: Output, factor: Output, bias: Output) -> Output:
    negated = net.op("Multiply", mean, net.const(np.full((1, 1, 1, 1), -1, np.float32)))
    return net.op("Add", net.op("Multiply", negated, factor), bias)


def factor_given(net: NetworkText, mean: Output, factor: Output, bias: Output) -> Output:
    net.result(factor)
    return subtract_product(net, mean, factor, bias)


def sum_given(net: NetworkText, mean: Output, factor: Output, bias: Output) -> Output:
    output = subtract_product(net, mean, factor, bias)
    net.result(output)
    return output


def bias_of_each_element(net: NetworkText, mean: Output, factor: Output, bias: Output) -> Output:
    return subtract_product(net, mean, factor, net.const(X[:1]))


@pytest.mark.parametrize(
    ("moved", "further"),
    [
        (mean_of_another, {}),
        (bias_subtracted, {}),
        (mean_added, {}),
        (mean_given, {}),
        (opposite_given, {}),
        (opposite_with_more_axes, {}),
        (factor_given, {}),
        (sum_given, {}),
        (bias_of_each_element, {}),
        (subtract_product, {"power": -1}),
        (subtract_product, {"axis": 1}),
    ],
)
def test_moments_with_other_readers_are_unchanged(moved: Moved, further: dict[str, float]) -> None:
    net = NetworkText()
    net.result(of_moments(net, net.parameter("2,3,8"), moved, **further))  # type: ignore[arg-type]  # one is an integer
    both = of_text(net, X)
    assert both.fused == []
    both.assert_close()


def test_moments_of_empty_axes_are_unchanged() -> None:
    net = NetworkText()
    x, axes, nothing = net.parameter("2,0"), net.const(np.array([-1], np.int64)), net.const(np.zeros(0, np.float32))
    mean = net.op("ReduceMean", x, axes, keep_dims="true")
    variance = net.op("ReduceMean", net.op("SquaredDifference", x, mean), axes, keep_dims="true")
    root = net.op("Power", net.op("Add", variance, number(net, 1e-3)), number(net, -0.5))
    factor = net.op("Multiply", root, nothing)
    net.result(net.op("Add", net.op("Multiply", x, factor), subtract_product(net, mean, factor, nothing)))
    both = of_text(net, np.zeros((2, 0), np.float32))
    assert both.fused == []
    both.assert_close()


def test_different_subtracted_mean_is_no_match() -> None:
    net = NetworkText()
    x, other, axes = net.parameter("2,3,8"), net.parameter("2,3,8"), net.const(np.array([-1], np.int64))
    centered = net.op("Subtract", x, net.op("ReduceMean", other, axes, keep_dims="true"))
    mean = net.op("ReduceMean", net.op("Multiply", centered, centered), axes, keep_dims="true")
    deviation = net.op("Sqrt", net.op("Add", mean, net.const(np.array(1e-3, np.float32))))
    net.result(net.op("Multiply", net.op("Divide", centered, deviation), net.const(WEIGHT)))
    both = of_text(net, X, X + 1)
    assert both.types == ["RMSNorm"]
    both.assert_close()


def another_axis(net: NetworkText, x: Output) -> Output:
    return net.op("Multiply", mvn(net, x, [1]), net.const(WEIGHT))


def two_axes(net: NetworkText, x: Output) -> Output:
    return net.op("Multiply", mvn(net, x, [1, 2]), net.const(WEIGHT))


def without_variance(net: NetworkText, x: Output) -> Output:
    return net.op("Multiply", mvn(net, x, [-1], normalize_variance="false"), net.const(WEIGHT))


def beside_the_root(net: NetworkText, x: Output) -> Output:
    return net.op("Multiply", mvn(net, x, [-1], eps_mode="outside_sqrt"), net.const(WEIGHT))


def no_vector(net: NetworkText, x: Output) -> Output:
    return net.op("Multiply", mvn(net, x, [-1]), net.const(np.ones((3, 1), np.float32)))


def read_twice(net: NetworkText, x: Output) -> Output:
    value = mvn(net, x, [-1])
    net.result(value)
    return net.op("Multiply", value, net.const(WEIGHT))


@pytest.mark.parametrize("written", [another_axis, two_axes, without_variance, beside_the_root, no_vector, read_twice])
def test_other_normalizations_are_unchanged(written: Callable[[NetworkText, Output], Output]) -> None:
    net = NetworkText()
    net.result(written(net, net.parameter("2,3,8")))
    both = of_text(net, X)
    assert both.fused == []
    both.assert_close()


@pytest.mark.parametrize("shape", [(700, 501), (2, 90_001)])
def test_results_do_not_depend_on_the_threads(shape: tuple[int, ...]) -> None:
    net = NetworkText()
    x = net.parameter(",".join(map(str, shape)))
    weight = net.const(RANDOM.normal(size=shape[-1]).astype(np.float32))
    net.result(net.op("Multiply", mvn(net, x, [-1]), weight))
    file = net.file()
    model = ir_exec.read_model(file.xml, weights=file.weights)
    data: Array = RANDOM.normal(size=shape).astype(np.float32)
    alone = ir_exec.compile_model(model, threads=1)([data])[0]
    np.testing.assert_array_equal(alone, ir_exec.compile_model(model, threads=3)([data])[0])
    plain = ir_exec.compile_model(model, optimize=False)([data])[0]
    np.testing.assert_allclose(alone, plain, rtol=1e-4, atol=1e-5)
