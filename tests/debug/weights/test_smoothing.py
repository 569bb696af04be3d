"""Accounts of models that quantize data, biases and products, as quantization of training data and of ONNX do."""

from __future__ import annotations

import numpy as np
import pytest

from ir_exec import build
from ir_exec.debug import diff_weights
from ir_exec.debug.weights.records import WeightsDiff
from ir_exec.types import Array
from tests.debug.weights.networks import memory_checkpoint

RANDOM = np.random.default_rng(9)
OUTPUTS, INPUTS = 24, 32


def draw(*shape: int) -> Array:
    return RANDOM.standard_normal(shape).astype(np.float32)


WEIGHT, BIAS = draw(OUTPUTS, INPUTS), draw(OUTPUTS)
NAMES = {"layer.weight": WEIGHT, "layer.bias": BIAS}


def data(size: int = INPUTS) -> build.Value:
    return build.parameter([1, size], name="data")


def account(output: build.Value, tensors: dict[str, Array]) -> WeightsDiff:
    return diff_weights(build.model(build.result(output, name="output")), memory_checkpoint(tensors))


def quantize_bias(bias: Array, scale: Array) -> build.Value:
    """A bias in 32 bits with the scale of the products."""
    codes = np.rint(bias / scale).astype(np.int32)
    return build.multiply(
        build.convert(build.constant(codes, name="bias"), "f32"), build.constant(scale, name="bias_scale")
    )


@pytest.mark.parametrize("is_zero", [False, True])
@pytest.mark.parametrize("scales", [1, OUTPUTS])
def test_a_bias_of_32_bits(scales: int, is_zero: bool) -> None:
    scale = np.full(scales, 1e-4, np.float32)
    product = build.matmul(data(), build.constant(WEIGHT, name="w"), transpose_b=True)
    report = account(build.add(product, quantize_bias(BIAS * (not is_zero), scale)), NAMES)
    assert [fault.category for fault in report.faults] == ["missing"] * is_zero
    assert len(report.weights) == 2 - is_zero
    assert all(tensor.status == "used" for tensor in report.tensors) != is_zero


def multiply_integers(weight: Array, *, by_rows: bool) -> build.Value:
    """A product with codes, whose outputs are multiplied by the scales afterwards."""
    scale = np.abs(weight).max(axis=1 if by_rows else None) / 127
    codes = np.rint(weight / (scale[:, None] if by_rows else scale)) + 128
    shifted = build.subtract(
        build.convert(build.constant(codes.astype(np.uint8), name="layer.weight_quantized"), "f32"), np.float32(128)
    )
    product = build.matmul(data(), shifted, transpose_b=True, name="layer/MatMul")
    return build.multiply(product, build.constant(np.asarray(scale, np.float32), name="scales"))


@pytest.mark.parametrize("by_rows", [False, True])
@pytest.mark.parametrize(
    ("sign", "tensors", "category"),
    [
        (1, {"layer.weight": WEIGHT}, None),
        (-1, {"layer.weight": WEIGHT}, "sign"),
        (1, {"layer.weight": draw(OUTPUTS, INPUTS)}, "other values"),
        (1, {"other.weight": draw(OUTPUTS, INPUTS)}, "other checkpoint"),
    ],
)
def test_integers_whose_scales_multiply_the_outputs(
    sign: int, tensors: dict[str, Array], category: str | None, by_rows: bool
) -> None:
    report = account(multiply_integers(sign * WEIGHT, by_rows=by_rows), tensors)
    categories = [fault.category for fault in report.faults]
    assert categories[:1] == ([] if category is None else [category])
    if category is None:
        (weight,) = [weight for weight in report.weights if weight.tensors]
        assert weight.is_explained
        assert 30 < float(weight.sqnr_db or 0) < 60


def quantize_data(value: build.Value) -> build.Value:
    limits = [build.constant(np.float32(limit)) for limit in (-4, 4, -4, 4)]
    return build.fake_quantize(value, *limits, levels=256)


def quantize_weight(weight: Array) -> build.Value:
    scale = (np.abs(weight).max(axis=1, keepdims=True) / 127).astype(np.float32)
    codes = build.constant(np.rint(weight / scale).astype(np.int8), name="w")
    return build.multiply(build.convert(codes, "f32"), build.constant(scale, name="w_scale"))


@pytest.mark.parametrize("is_wrong", [False, True])
def test_scales_that_smoothing_moves_into_weights(is_wrong: bool) -> None:
    factors = (RANDOM.random(INPUTS) * 3 + 0.3).astype(np.float32)
    weight = WEIGHT * factors
    if is_wrong:
        weight[:, 3] *= -1
    smoothed = build.multiply(data(), build.constant(1 / factors, name="smooth_scale"))
    product = build.matmul(quantize_data(smoothed), quantize_weight(weight), transpose_b=True)
    report = account(product, {"layer.weight": WEIGHT})
    assert report.agrees != is_wrong
    if not is_wrong:
        assert report.explained_bytes == report.bytes
        assert {weight.path for weight in report.weights if weight.is_computed} == {"smooth_scale"}


@pytest.mark.parametrize("is_quantized", [False, True])
def test_biases_that_quantization_corrects(is_quantized: bool) -> None:
    values = quantize_data(data()) if is_quantized else data()
    product = build.matmul(values, build.constant(WEIGHT, name="layer.weight"), transpose_b=True)
    corrected = build.constant(BIAS + draw(OUTPUTS) * np.float32(0.02), name="layer.bias")
    report = account(build.add(product, corrected), NAMES)
    assert [fault.category for fault in report.faults] == ([] if is_quantized else ["stale"])


def test_new_batch_normalization() -> None:
    """All its factors are the inverse root of 1 plus epsilon."""
    ones, zeros = np.ones(8, np.float32), np.zeros(8, np.float32)
    tensors = {"conv.weight": draw(8, 4, 3, 3), "bn.weight": ones, "bn.bias": zeros, "bn.running_mean": zeros}
    tensors["bn.running_var"] = ones
    kernel = build.constant(tensors["conv.weight"] / np.sqrt(np.float32(1 + 1e-5)), name="Multiply_1")
    output = build.convolution(
        build.parameter([1, 4, 8, 8], name="data"), kernel, strides=[1, 1], pads_begin=[0, 0], pads_end=[0, 0],
        dilations=[1, 1],
    )  # fmt: skip
    report = account(output, tensors)
    assert not report.faults
    assert report.explained_bytes == report.bytes


def test_parameters_of_other_names_have_their_own_orientation() -> None:
    """A square parameter that a module multiplies by itself, among linear layers."""
    linear = {f"layers.{index}.weight": draw(INPUTS, INPUTS) for index in range(3)}
    hidden = data()
    for name, array in linear.items():
        hidden = build.matmul(hidden, build.constant(array, name=name), transpose_b=True)
    projection = draw(INPUTS, INPUTS)
    hidden = build.matmul(hidden, build.constant(projection.T.copy(), name="Transpose_3"), transpose_b=True)
    report = account(hidden, {**linear, "projector.input_projection": projection})
    assert not report.faults


def test_limits_of_data_are_no_weights() -> None:
    """The limits of channels are like a tensor of the same size."""
    limits = [build.constant(limit * np.abs(BIAS), name=f"limit_{index}") for index, limit in enumerate((-1, 1, -1, 1))]
    product = build.matmul(data(), build.constant(WEIGHT, name="layer.weight"), transpose_b=True, name="layer/MatMul")
    report = account(build.fake_quantize(product, *limits, levels=256), {"layer.weight": WEIGHT})
    assert [weight.path for weight in report.weights] == ["layer.weight"]
    assert not report.faults
