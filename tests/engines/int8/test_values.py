"""Quantization before and after layers that only clip or copy values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ir_exec import Model, build, compile_model
from ir_exec.build import Value
from ir_exec.engines.compiled import EngineModel
from tests.engines.int8.networks import (
    PADDED,
    assert_same_levels,
    convolve,
    draw,
    interpret,
    model_of,
    operators,
    quantize,
    quantize_signed,
    reshape,
    run_optimized,
)

IMAGE = draw(1, 8, 12, 12)
POOL: dict[str, Any] = {"strides": [2, 2], "kernel_sizes": [3, 3], "pads_begin": [1, 1], "pads_end": [1, 1]}


def image() -> Value:
    return quantize_signed(build.parameter([1, 8, 12, 12], name="x"), 3)


@pytest.mark.parametrize("levels", [256, 255, 16, 2])
def test_few_levels_are_clipped_integers(levels: int, tmp_path: Path) -> None:
    most = 2.0
    model = model_of(quantize(convolve(image(), 8, 8), 0, most, levels))
    proto, output = run_optimized(model, [IMAGE], tmp_path / "y.onnx")
    assert operators(proto)["QLinearConv"] == 1
    assert operators(proto)["Clip"] == (levels < 256)
    assert_same_levels(output, interpret(model, [IMAGE]), most / (levels - 1))
    assert output.min() == 0
    assert output.max() == np.float32(most)


@pytest.mark.parametrize(("low", "high", "clips"), [(0, 6, 1), (-1, 1, 1), (-9, 9, 0)])
def test_clamp_before_signed_levels(low: float, high: float, clips: int, tmp_path: Path) -> None:
    model = model_of(quantize_signed(build.clamp(convolve(image(), 8, 8), min=low, max=high), 4))
    proto, output = run_optimized(model, [IMAGE], tmp_path / "y.onnx")
    assert (operators(proto)["QLinearConv"], operators(proto)["Clip"]) == (1, clips)
    assert_same_levels(output, interpret(model, [IMAGE]), 4 / 127)


def test_relu_that_other_layers_read_stays(tmp_path: Path) -> None:
    positive = build.relu(convolve(image(), 8, 8))
    model = model_of(build.add(quantize_signed(positive, 4), build.tanh(positive)))
    proto, _ = run_optimized(model, [IMAGE], tmp_path / "y.onnx")
    assert operators(proto)["QLinearConv"] == 0


def test_outputs_of_other_limits_than_inputs(tmp_path: Path) -> None:
    limits = [build.constant(np.float32(limit)) for limit in (-2.56, 2.54, -5.12, 5.08)]
    scaled = build.fake_quantize(convolve(image(), 8, 8), *limits, levels=256)
    model = model_of(quantize_signed(convolve(scaled, 4, 8), 6))
    proto, output = run_optimized(model, [IMAGE], tmp_path / "y.onnx")
    assert operators(proto)["QLinearConv"] == 2
    assert_same_levels(output, interpret(model, [IMAGE]), 6 / 127)


def test_levels_without_zero_are_computed_in_floats(tmp_path: Path) -> None:
    limits = [build.constant(np.float32(limit)) for limit in (-2.7, 3.1, -2.7, 3.1)]
    model = model_of(build.fake_quantize(convolve(image(), 8, 8), *limits, levels=256))
    proto, output = run_optimized(model, [IMAGE], tmp_path / "y.onnx")
    assert operators(proto)["QLinearConv"] == 0
    assert_same_levels(output, interpret(model, [IMAGE]), 5.8 / 255)


def test_pooling_and_concatenation_are_between_integers(tmp_path: Path) -> None:
    data = image()
    left = quantize(build.relu(convolve(data, 8, 8)), 0, 4)
    right = quantize(build.relu(convolve(data, 8, 8, size=1)), 0, 4)
    pooled = build.max_pool(build.concat([left, right], axis=1), **POOL)[0]
    model = model_of(quantize_signed(convolve(pooled, 4, 16), 6))
    proto, output = run_optimized(model, [IMAGE], tmp_path / "y.onnx")
    counts = operators(proto)
    assert (counts["QLinearConv"], counts["NhwcMaxPool"]) == (3, 1)
    assert (counts["QuantizeLinear"], counts["DequantizeLinear"]) == (1, 1)
    assert_same_levels(output, interpret(model, [IMAGE]), 6 / 127)


def test_concatenation_before_quantization(tmp_path: Path) -> None:
    data = image()
    parts = [build.relu(convolve(data, 8, 8)), build.relu(convolve(data, 8, 8, size=1))]
    joined = quantize(build.concat(parts, axis=1), 0, 4)
    model = model_of(quantize_signed(convolve(joined, 4, 16), 6))
    proto, output = run_optimized(model, [IMAGE], tmp_path / "y.onnx")
    assert operators(proto)["QLinearConv"] == 3
    assert_same_levels(output, interpret(model, [IMAGE]), 6 / 127)


def test_shuffled_channels_stay_integers(tmp_path: Path) -> None:
    data = reshape(quantize(build.relu(convolve(image(), 8, 8)), 0, 4), 1, 2, 4, 12, 12)
    shuffled = reshape(build.transpose(data, build.constant(np.array([0, 2, 1, 3, 4]))), 1, 8, 12, 12)
    model = model_of(quantize_signed(convolve(shuffled, 4, 8), 6))
    proto, output = run_optimized(model, [IMAGE], tmp_path / "y.onnx")
    counts = operators(proto)
    assert (counts["QLinearConv"], counts["DequantizeLinear"]) == (2, 1)
    assert_same_levels(output, interpret(model, [IMAGE]), 6 / 127)


def test_average_of_images(tmp_path: Path) -> None:
    data = quantize(build.relu(convolve(image(), 8, 8)), 0, 4)
    mean = build.reduce_mean(data, build.constant(np.array([2, 3])), keep_dims=True)
    model = model_of(quantize(mean, 0, 2))
    proto, output = run_optimized(model, [IMAGE], tmp_path / "y.onnx")
    assert operators(proto)["QLinearGlobalAveragePool"] == 1
    assert_same_levels(output, interpret(model, [IMAGE]), 2 / 255)


def half(array: Any) -> Value:
    return build.constant(np.asarray(array, np.float16))


def half_network() -> Model:
    """A convolution of f16 with weights whose zero points are nearly 0."""
    x = build.parameter([1, 8, 12, 12], "f16", name="x")

    def grid(data: Value, low: float, high: float) -> Value:
        return build.fake_quantize(data, *(half(limit) for limit in (low, high, low, high)), levels=256)

    integers = np.random.default_rng(3).integers(-127, 128, (4, 8, 3, 3)).astype(np.int8)
    numbers = build.subtract(build.convert(build.constant(integers), "f16"), half(np.full((4, 1, 1, 1), 7.6e-6)))
    filters = build.multiply(numbers, half(np.full((4, 1, 1, 1), 0.001)))
    sums = build.add(build.convolution(grid(x, -3.0, 2.976), filters, **PADDED), half(draw(1, 4, 1, 1)))
    return model_of(grid(build.relu(sums), 0, 4))


def test_16_bit_floats_are_not_rounded_between_integers(tmp_path: Path) -> None:
    model, data = half_network(), IMAGE.astype(np.float16)
    proto, output = run_optimized(model, [data], tmp_path / "y.onnx")
    assert operators(proto)["QLinearConv"] == 1
    assert_same_levels(output.astype(np.float32), interpret(model, [data]).astype(np.float32), 4 / 255)


def test_16_bit_floats_in_the_precision_of_the_file() -> None:
    model, data = half_network(), IMAGE.astype(np.float16)
    compiled = compile_model(model, engine="onnxruntime", precision="file")
    assert isinstance(compiled, EngineModel)
    output = compiled([data])["y"]
    assert (compiled.partition.on_engine, compiled.partition.failures) == (compiled.partition.layers, ())
    np.testing.assert_allclose(output.astype(np.float32), interpret(model, [data]).astype(np.float32), atol=0.02)
