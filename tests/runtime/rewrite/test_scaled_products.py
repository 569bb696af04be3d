"""Convolutions that take over what quantizations multiply by.

Most limits here are such that all levels are multiples of powers of two: sums and products of few of them are exact in
f32, so that rewritten plans give the same numbers, ties included.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import ir_exec
from ir_exec.debug import profile
from ir_exec.runtime import executor
from ir_exec.runtime.rewrite import Scaled
from ir_exec.types import Array
from tests.helpers.network_text import NetworkText, Output
from tests.runtime.rewrite.helpers import of_text

RANDOM = np.random.default_rng(8)
X = (RANDOM.integers(-200, 200, (2, 4, 9, 8)) / 64).astype(np.float32)
CHANNELS = [2.0**-5, 2.0**-6, 2.0**-4, 2.0**-5]
"""Distances of levels, for each channel."""


def whole(*shape: int) -> Array:
    return RANDOM.integers(-3, 4, shape).astype(np.float32)


def signed(net: NetworkText, x: Output, step: float | list[float], *, zero: float = 128, levels: int = 256) -> Output:
    """Quantized to multiples of the step, from -zero of them on."""
    steps = np.array(step, np.float32)
    steps = steps.reshape(1, -1, 1, 1) if steps.ndim else steps
    low, high = net.const(-zero * steps), net.const((levels - 1 - zero) * steps)
    return net.op("FakeQuantize", x, low, high, low, high, levels=levels)


def unsigned(net: NetworkText, x: Output, step: float | list[float]) -> Output:
    return signed(net, x, step, zero=0)


def convolved(net: NetworkText, x: Output, weights: Array | Output) -> Output:
    pads = {"strides": "1,1", "dilations": "1,1", "pads_begin": "1,1", "pads_end": "1,0"}
    is_grouped = isinstance(weights, np.ndarray) and weights.ndim == 5
    given = net.const(weights) if isinstance(weights, np.ndarray) else weights
    return net.op("GroupConvolution" if is_grouped else "Convolution", x, given, **pads)


def biased(net: NetworkText, x: Output, channels: int) -> Output:
    return net.op("Add", x, net.const(whole(1, channels, 1, 1) / 8))


def a_chain(net: NetworkText, x: Output) -> Output:
    value = convolved(net, signed(net, x, 2.0**-6), whole(4, 4, 3, 3))
    value = unsigned(net, net.op("ReLU", biased(net, value, 4)), CHANNELS)
    value = convolved(net, value, whole(4, 1, 1, 3, 3))
    value = unsigned(net, net.op("Clamp", value, min=0, max=200), 2.0**-2)
    value = convolved(net, value, whole(6, 4, 1, 1))
    value = convolved(net, signed(net, value, 1), whole(2, 3, 3, 2, 2))
    return net.op("Sigmoid", signed(net, biased(net, value, 6), 4))


def test_a_chain_of_convolutions_works_on_levels() -> None:
    net = NetworkText()
    net.result(a_chain(net, net.parameter("2,4,9,8")))
    both = of_text(net, X)
    products = ["Convolution", "GroupConvolution", "Convolution", "GroupConvolution"]
    assert [name for name in both.types if name != "Quantized"] == products
    levels = [step for step in both.fused if step.op.type_name == "Quantized"]
    assert [len(step.members) for step in levels] == [1, 3, 2, 1, 2]
    assert np.unique(both.plain[0]).size > 20
    np.testing.assert_array_equal(both.rewritten[0], both.plain[0])


@pytest.mark.parametrize("zero", [0, 127, 128, 3.25])
@pytest.mark.parametrize("step", [2.0**-5, CHANNELS])
@pytest.mark.parametrize("before", [False, True])
def test_every_place_of_zero(zero: float, step: float | list[float], *, before: bool) -> None:
    net = NetworkText()
    x = net.parameter("2,4,9,8")
    value = convolved(net, x, whole(4, 4, 2, 2)) if before else x
    quantized = signed(net, value, step, zero=zero)
    net.result(quantized if before else convolved(net, quantized, whole(6, 4, 2, 3)))
    both = of_text(net, X)
    assert sorted(both.types) == ["Convolution", "Quantized"]
    np.testing.assert_array_equal(both.rewritten[0], both.plain[0])


def test_other_limits_of_the_output() -> None:
    net = NetworkText()
    x = convolved(net, net.parameter("2,4,9,8"), whole(4, 4, 2, 2))
    limits = [net.const(np.float32(limit)) for limit in (-16, -16 + 255 / 8, 0.5, 0.5 + 255 / 32)]
    net.result(convolved(net, net.op("FakeQuantize", x, *limits, levels=256), whole(6, 4, 2, 3)))
    both = of_text(net, X)
    assert both.types == ["Convolution", "Quantized", "Convolution"]
    np.testing.assert_array_equal(both.rewritten[0], both.plain[0])


def test_limits_that_are_no_powers_of_two() -> None:
    net = NetworkText()
    weights = [RANDOM.normal(size=shape).astype(np.float32) for shape in ((4, 4, 3, 3), (4, 1, 1, 3, 3))]
    value = convolved(net, signed(net, net.parameter("2,4,9,8"), 0.0213), weights[0])
    value = convolved(net, unsigned(net, net.op("ReLU", value), [0.05, 0.07, 0.03, 0.06]), weights[1])
    net.result(value)
    both = of_text(net, X)
    assert both.types == ["Quantized", "Convolution", "Quantized", "GroupConvolution"]
    both.assert_close()


def test_two_convolutions_read_the_same_levels() -> None:
    net = NetworkText()
    levels = signed(net, net.parameter("2,4,9,8"), 2.0**-6)
    weights = net.const(whole(3, 4, 2, 2))
    net.result(convolved(net, levels, weights))
    net.result(convolved(net, levels, weights))
    both = of_text(net, X)
    assert both.types == ["Quantized", "Convolution", "Convolution"]
    for ours, plain in zip(both.rewritten, both.plain, strict=True):
        np.testing.assert_array_equal(ours, plain)


def read_by_another_layer(net: NetworkText, x: Output) -> Output:
    levels = signed(net, x, 2.0**-6)
    net.result(net.op("Sigmoid", levels))
    return convolved(net, levels, whole(3, 4, 2, 2))


def levels_that_are_a_result(net: NetworkText, x: Output) -> Output:
    levels = signed(net, x, 2.0**-6)
    net.result(levels)
    return convolved(net, levels, whole(3, 4, 2, 2))


def weights_of_the_run(net: NetworkText, x: Output) -> Output:
    return convolved(net, signed(net, x, 2.0**-6), net.op("Convert", x, destination_type="f32"))


def weights_from_levels(net: NetworkText, x: Output) -> Output:
    return convolved(net, net.const(whole(1, 4, 9, 8)), signed(net, x, 2.0**-6))


def falling_levels(net: NetworkText, x: Output) -> Output:
    limits = [net.const(np.float32(limit)) for limit in (-1, 1, 1, -1)]
    return convolved(net, net.op("FakeQuantize", x, *limits, levels=256), whole(3, 4, 2, 2))


def steps_along_another_axis(net: NetworkText, x: Output) -> Output:
    steps = 2.0 ** -RANDOM.integers(2, 6, (1, 1, 1, 8)).astype(np.float32)
    limits = [net.const(-128 * steps), net.const(127 * steps)] * 2
    return convolved(net, net.op("FakeQuantize", x, *limits, levels=256), whole(3, 4, 2, 2))


def more_weights_than_data(net: NetworkText, x: Output) -> Output:
    return convolved(net, signed(net, x, 2.0**-6), whole(100, 4, 5, 5))


def a_sum_that_others_read(net: NetworkText, x: Output) -> Output:
    value = convolved(net, x, whole(4, 4, 2, 2))
    net.result(value)
    return signed(net, value, 2.0**-3)


def a_bias_that_is_no_constant(net: NetworkText, x: Output) -> Output:
    value = convolved(net, x, whole(4, 4, 1, 1))
    return signed(net, net.op("Add", value, convolved(net, x, whole(4, 4, 1, 1))), 2.0**-3)


def a_bias_within_channels(net: NetworkText, x: Output) -> Output:
    value = convolved(net, x, whole(4, 4, 1, 1))
    return signed(net, net.op("Add", value, net.const(whole(1, 4, 11, 1))), 2.0**-3)


@pytest.mark.parametrize(
    "written",
    [
        read_by_another_layer,
        levels_that_are_a_result,
        weights_of_the_run,
        weights_from_levels,
        falling_levels,
        steps_along_another_axis,
        more_weights_than_data,
        a_sum_that_others_read,
        a_bias_that_is_no_constant,
        a_bias_within_channels,
    ],
)
def test_what_no_weights_can_take_over(written: Callable[[NetworkText, Output], Output]) -> None:
    net = NetworkText()
    net.result(written(net, net.parameter("2,4,9,8")))
    both = of_text(net, X)
    assert both.types == ["Quantized"]
    for ours, plain in zip(both.rewritten, both.plain, strict=True):
        np.testing.assert_array_equal(ours, plain)


def test_a_profile_shows_layers_that_work_on_levels_as_they_are() -> None:
    net = NetworkText()
    net.result(a_chain(net, net.parameter("2,4,9,8")))
    file = net.file()
    report = profile(ir_exec.read_model(file.xml, weights=file.weights), [X], repeat=1)
    types = [layer.type for layer in report.layers if layer.type not in ("Const", "Parameter", "Result")]
    quantized = ["FakeQuantize", "Convolution", "Quantized", "GroupConvolution", "Quantized", "Convolution"]
    assert types == [*quantized, "FakeQuantize", "GroupConvolution", "Quantized", "Sigmoid"]
    assert "7 layers computed in 3 steps" in report.measured


def test_there_must_be_room_for_the_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executor, "COPIED_ALWAYS", 0)
    monkeypatch.setattr(executor, "COPIED_SHARE", 10**6)
    net = NetworkText()
    net.result(a_chain(net, net.parameter("2,4,9,8")))
    both = of_text(net, X)
    assert set(both.types) == {"Quantized"}
    np.testing.assert_array_equal(both.rewritten[0], both.plain[0])


def test_plans_share_the_weights() -> None:
    scaled = Scaled(100)
    array = np.arange(20, dtype=np.float32)
    assert scaled.reserve(3, array.nbytes)
    assert scaled.reserve(3, array.nbytes)
    assert not scaled.reserve(4, array.nbytes)
    first = scaled.multiple(3, array, np.float64([0.5]))
    np.testing.assert_array_equal(first, array / 2)
    assert scaled.multiple(3, array, np.float64([0.5])) is first
    assert scaled.multiple(3, array, np.float64([2])) is not first


def test_inputs_of_other_sizes() -> None:
    net = NetworkText()
    net.result(a_chain(net, net.parameter("?,4,?,8")))
    file = net.file()
    model = ir_exec.read_model(file.xml, weights=file.weights)
    rewritten, plain = ir_exec.compile_model(model), ir_exec.compile_model(model, optimize=False)
    for data in (X, X[:, :, :5], X[:1], X[:, :, :5], X[:1], X):
        np.testing.assert_array_equal(rewritten([data])[0], plain([data])[0])
