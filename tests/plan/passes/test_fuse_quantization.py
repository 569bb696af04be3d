"""Quantization with known limits, and the activation before it, as one step."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import ir_exec
from ir_exec.kernels.quantize import level_numbers
from ir_exec.types import Array
from tests.helpers.network_text import NetworkText, Output
from tests.plan.passes.helpers import of_text

RANDOM = np.random.default_rng(5)
X = RANDOM.normal(0, 4, (2, 5, 60)).astype(np.float32)
X[0, 0, :9] = [0, -0.0, np.nan, np.inf, -np.inf, 6, -6, 3e38, -3e38]
TIES = (np.arange(600, dtype=np.float32).reshape(2, 5, 60) - 300) / 64


def fake_quantize(net: NetworkText, x: Output, *limits: float | list[float], levels: int = 256) -> Output:
    """limits: of the input, then of the output where they are others; lists have one for each channel."""
    arrays = [np.array(limit, np.float32) for limit in (limits if len(limits) == 4 else limits * 2)]
    constants = [net.const(array.reshape((1, -1, 1)) if array.ndim else array) for array in arrays]
    return net.op("FakeQuantize", x, *constants, levels=levels)


@pytest.mark.parametrize("data", [X, TIES], ids=["random", "ties"])
@pytest.mark.parametrize("low", [0, 0.25, [0, 0.5, 0, 1, 0]])
@pytest.mark.parametrize("high", [6, 127.5 / 32, [1, 2, 3, 4, 5]])
def test_activation_within_limits_is_dropped(data: Array, low: float | list[float], high: float | list[float]) -> None:
    for activation, attributes in ("ReLU", {}), ("Clamp", {"min": 0, "max": 6}):
        net = NetworkText()
        x = net.op(activation, net.parameter("2,5,60"), **attributes)
        net.result(fake_quantize(net, x, low, np.maximum(high, np.array(low) + 1).tolist()))
        both = of_text(net, data)
        assert [(step.op.type_name, len(step.members)) for step in both.fused] == [("Quantized", 2)]
        np.testing.assert_array_equal(both.rewritten[0], both.plain[0])


@pytest.mark.parametrize(
    "limits", [(-1, 2), (-1.28, 1.27, 10, 20), (0, 1, 1, 0), ([-1, -2, 0, -4, 0.5], [1, 2, 3, 4, 5]), (0, 1, 0, 0)]
)
def test_single_quantization_is_unchanged(limits: tuple[float | list[float], ...]) -> None:
    net = NetworkText()
    net.result(fake_quantize(net, net.parameter("2,5,60"), *limits))
    data = X.copy()
    both = of_text(net, data)
    assert both.types == ["Quantized"]
    np.testing.assert_array_equal(both.rewritten[0], both.plain[0])
    np.testing.assert_array_equal(data, X)


def relu_below_the_limits(net: NetworkText, x: Output) -> Output:
    return fake_quantize(net, net.op("ReLU", x), -1, 2)


def clamp_within_the_limits(net: NetworkText, x: Output) -> Output:
    return fake_quantize(net, net.op("Clamp", x, min=0, max=3), 0, [1, 2, 3, 4, 5])


def relu_that_others_read(net: NetworkText, x: Output) -> Output:
    value = net.op("ReLU", x)
    net.result(value)
    return fake_quantize(net, value, 0, 2)


@pytest.mark.parametrize("written", [relu_below_the_limits, clamp_within_the_limits, relu_that_others_read])
def test_other_activations_stay(written: Callable[[NetworkText, Output], Output]) -> None:
    net = NetworkText()
    net.result(written(net, net.parameter("2,5,60")))
    both = of_text(net, X)
    assert [len(step.members) for step in both.fused] == [1]
    for ours, plain in zip(both.rewritten, both.plain, strict=True):
        np.testing.assert_array_equal(ours, plain)


def reversed_limits(net: NetworkText, x: Output) -> Output:
    return fake_quantize(net, net.op("ReLU", x), [0, 0, 1, 1, 3], [1, 2, 3, 0, 4])


def limits_of_the_run(net: NetworkText, x: Output) -> Output:
    low, high = net.parameter("1"), net.const(np.float32([2]))
    return net.op("FakeQuantize", x, low, high, low, high, levels=256)


def integers(net: NetworkText, x: Output) -> Output:
    return fake_quantize(net, net.op("Convert", net.op("Abs", x), destination_type="i32"), 0, 2)


@pytest.mark.parametrize("written", [reversed_limits, limits_of_the_run, integers])
def test_other_quantizations_stay(written: Callable[[NetworkText, Output], Output]) -> None:
    net = NetworkText()
    net.result(written(net, net.parameter("2,5,60")))
    inputs = [TIES, np.zeros(1, np.float32)][: 1 + (written is limits_of_the_run)]
    both = of_text(net, *inputs)
    assert both.fused == []
    np.testing.assert_array_equal(both.rewritten[0], both.plain[0])


@pytest.mark.parametrize("shape", [(3, 7, 40_000), (700, 300, 2), (400_001,)])
@pytest.mark.parametrize("by_channel", [False, True])
def test_large_data_is_quantized_in_parts(shape: tuple[int, ...], *, by_channel: bool) -> None:
    net = NetworkText()
    high = np.float32(3 + np.arange(shape[-2]).reshape(-1, 1) if by_channel and len(shape) > 1 else 3)
    limits = [net.const(np.zeros_like(high)), net.const(high)] * 2
    squared = net.op("Multiply", *[net.parameter(",".join(map(str, shape)))] * 2)
    net.result(net.op("FakeQuantize", squared, *limits, levels=256))
    data = RANDOM.normal(size=shape).astype(np.float32)
    both = of_text(net, data)
    np.testing.assert_array_equal(both.rewritten[0], both.plain[0])
    file = net.file()
    model = ir_exec.read_model(file.xml, weights=file.weights)
    np.testing.assert_array_equal(ir_exec.compile_model(model, threads=3)([data])[0], both.plain[0])
    exact = np.clip(data.astype(np.float64) ** 2, 0, high)
    assert np.abs(both.plain[0] - exact).max() <= np.max(high) / 255 * 0.5001


@pytest.mark.parametrize("sizes", [(2, 40, 6, 5), (1, 40, 90, 80), (1, 40, 1, 1), (2, 40, 9)])
@pytest.mark.parametrize("limits", ["one", "of channels", "reversed"])
def test_channels_last_images(sizes: tuple[int, ...], limits: str) -> None:
    rank = len(sizes)
    low, high = np.full((1,) * rank, -1, np.float32), np.full((1,) * rank, 2, np.float32)
    if limits != "one":
        high = high + np.arange(40, dtype=np.float32).reshape(1, 40, *[1] * (rank - 2))
    if limits == "reversed":
        high[0, 3] = -2
    levels = level_numbers([low, high, low, high], 255, rank)
    image = RANDOM.normal(size=sizes).astype(np.float32)
    expected = levels.quantize(image)
    turned = np.moveaxis(np.ascontiguousarray(np.moveaxis(image, 1, -1)), -1, 1)
    np.testing.assert_array_equal(levels.quantize(turned), expected)
