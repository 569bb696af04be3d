"""Convolutions and products between FakeQuantize: the nodes that onnxruntime runs, and their values."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, numpy_helper

from ir_exec import Model, build
from ir_exec.build import Value
from ir_exec.engines import int8 as package
from ir_exec.types import Array
from tests.engines.int8.networks import (
    PADDED,
    PLAIN,
    RANDOM,
    assert_same_levels,
    channels,
    compile_for_engine,
    convolve,
    draw,
    integer_weights,
    interpret,
    model_of,
    operators,
    quantize,
    quantize_signed,
    reshape,
    run_optimized,
)

IMAGE = draw(1, 8, 12, 12)
ROWS = draw(1, 6, 32)


def image() -> Value:
    return quantize_signed(build.parameter([1, 8, 12, 12], name="x"), 3)


def test_bias_and_relu_become_part_of_a_convolution(tmp_path: Path) -> None:
    model = model_of(quantize(build.relu(convolve(image(), 16, 8)), 0, 4))
    proto, output = run_optimized(model, [IMAGE], tmp_path / "y.onnx")
    assert operators(proto)["QLinearConv"] == 1
    assert not {"Conv", "Add", "Relu"} & set(operators(proto))
    assert_same_levels(output, interpret(model, [IMAGE]), 4 / 255)


def test_residual_network_is_computed_with_integers(tmp_path: Path) -> None:
    first = quantize(build.relu(convolve(image(), 8, 8)), 0, 4)
    second = quantize_signed(convolve(first, 8, 8), 4)
    total = quantize(build.relu(build.add(second, first)), 0, 6)
    model = model_of(quantize_signed(convolve(total, 4, 8, size=1), 5))
    proto, output = run_optimized(model, [IMAGE], tmp_path / "y.onnx")
    counts = operators(proto)
    assert (counts["QLinearConv"], counts["QLinearAdd"], counts["QuantizeLinear"]) == (3, 1, 1)
    assert not {"Conv", "Add", "Relu", "Clip"} & set(counts)
    assert_same_levels(output, interpret(model, [IMAGE]), 5 / 127)


@pytest.mark.parametrize("multiplier", [1, 2])
def test_depthwise_convolution(multiplier: int, tmp_path: Path) -> None:
    weights = reshape(integer_weights((8 * multiplier, 1, 3, 3)), 8, multiplier, 1, 3, 3)
    model = model_of(quantize_signed(build.group_convolution(image(), weights, **PADDED), 4))
    proto, output = run_optimized(model, [IMAGE], tmp_path / "y.onnx")
    assert operators(proto)["QLinearConv"] == 1
    assert_same_levels(output, interpret(model, [IMAGE]), 4 / 127)


def test_groups_with_scales_of_five_axes(tmp_path: Path) -> None:
    integers = build.convert(build.constant(RANDOM.integers(-127, 128, (2, 3, 4, 3, 3)).astype(np.int8)), "f32")
    weights = build.multiply(integers, build.constant(RANDOM.uniform(0.001, 0.003, (2, 3, 1, 1, 1)).astype(np.float32)))
    model = model_of(quantize_signed(build.group_convolution(image(), weights, **PADDED), 4))
    proto, output = run_optimized(model, [IMAGE], tmp_path / "y.onnx")
    assert operators(proto)["QLinearConv"] == 1
    assert_same_levels(output, interpret(model, [IMAGE]), 4 / 127)


def test_scales_of_channels_before_a_depthwise_convolution_become_part_of_weights(tmp_path: Path) -> None:
    highs = np.linspace(1, 5.9, 16)
    limits = [channels(*numbers) for numbers in (0 * highs, highs, 0 * highs, highs)]
    wide = build.fake_quantize(build.clamp(convolve(image(), 16, 8, size=1), min=0, max=6), *limits, levels=256)
    weights = reshape(integer_weights((16, 1, 3, 3)), 16, 1, 1, 3, 3)
    model = model_of(quantize_signed(build.group_convolution(wide, weights, **PADDED), 4))
    proto, output = run_optimized(model, [IMAGE], tmp_path / "y.onnx")
    counts = operators(proto)
    assert (counts["QLinearConv"], counts["QuantizeLinear"], counts["DequantizeLinear"]) == (2, 1, 1)
    assert_same_levels(output, interpret(model, [IMAGE]), 4 / 127)


def test_scales_of_channels_before_other_layers_stay(tmp_path: Path) -> None:
    highs = np.linspace(1, 5.9, 8)
    limits = [channels(*numbers) for numbers in (0 * highs, highs, 0 * highs, highs)]
    data = build.fake_quantize(build.parameter([1, 8, 12, 12], name="x"), *limits, levels=256)
    model = model_of(build.tanh(convolve(data, 4, 8)))
    proto, output = run_optimized(model, [IMAGE], tmp_path / "y.onnx")
    assert operators(proto)["QLinearConv"] == 0
    np.testing.assert_allclose(output, interpret(model, [IMAGE]), atol=1e-5)


def test_quantized_f32_weights_become_integers(tmp_path: Path) -> None:
    weights = draw(4, 8, 3, 3) / 8
    most = np.abs(weights).max((1, 2, 3), keepdims=True)
    limits = [build.constant(limit.astype(np.float32)) for limit in (-most, most, -most, most)]
    filters = build.fake_quantize(build.constant(weights), *limits, levels=255)
    model = model_of(quantize_signed(build.convolution(image(), filters, **PADDED), 4))
    proto, output = run_optimized(model, [IMAGE], tmp_path / "y.onnx")
    assert operators(proto)["QLinearConv"] == 1
    assert_same_levels(output, interpret(model, [IMAGE]), 4 / 127)


def test_quantized_f32_weights_of_other_zero_points_are_computed_in_floats(tmp_path: Path) -> None:
    weights = draw(4, 8, 3, 3) / 8
    steps = np.array([2.0**-9, 2.0**-8, 2.0**-8, 2.0**-7]).reshape(4, 1, 1, 1)
    zeros = np.array([0, 100, 128, 200]).reshape(4, 1, 1, 1)
    ends = [build.constant((steps * end).astype(np.float32)) for end in (-zeros, 255 - zeros)]
    filters = build.fake_quantize(build.constant(weights), *ends, *ends, levels=256)
    model = model_of(quantize_signed(build.convolution(image(), filters, **PADDED), 4))
    proto, output = run_optimized(model, [IMAGE], tmp_path / "y.onnx")
    assert (operators(proto)["QLinearConv"], operators(proto)["Conv"]) == (0, 1)
    assert_same_levels(output, interpret(model, [IMAGE]), 4 / 127)


def test_unsigned_weights_of_zero_point_128_become_signed(tmp_path: Path) -> None:
    weights = integer_weights((4, 8, 3, 3), zero=np.full((4, 1, 1, 1), 128))
    model = model_of(quantize_signed(build.convolution(image(), weights, **PADDED), 4))
    proto, output = run_optimized(model, [IMAGE], tmp_path / "y.onnx")
    assert operators(proto)["QLinearConv"] == 1
    assert_same_levels(output, interpret(model, [IMAGE]), 4 / 127)


def test_weights_of_other_zero_points_are_computed_in_floats(tmp_path: Path) -> None:
    weights = integer_weights((4, 8, 3, 3), zero=np.array([3, 128, 90, 250]).reshape(4, 1, 1, 1))
    model = model_of(quantize_signed(build.convolution(image(), weights, **PADDED), 4))
    proto, output = run_optimized(model, [IMAGE], tmp_path / "y.onnx")
    assert (operators(proto)["QLinearConv"], operators(proto)["Conv"]) == (0, 1)
    assert_same_levels(output, interpret(model, [IMAGE]), 4 / 127)


def test_transposed_convolution_is_computed_in_floats(tmp_path: Path) -> None:
    deconvolved = build.convolution_backprop_data(image(), integer_weights((8, 4, 3, 3)), **PADDED)
    model = model_of(quantize_signed(deconvolved, 4))
    proto, output = run_optimized(model, [IMAGE], tmp_path / "y.onnx")
    assert operators(proto)["ConvTranspose"] == 1
    assert_same_levels(output, interpret(model, [IMAGE]), 4 / 127)


def test_convolution_before_floats_reads_f32_weights(tmp_path: Path) -> None:
    """They would be dequantized in each run."""
    model = model_of(build.swish(convolve(image(), 16, 8)))
    proto, output = run_optimized(model, [IMAGE], tmp_path / "y.onnx")
    stored = {tensor.name for tensor in proto.graph.initializer}
    dequantized = [node for node in proto.graph.node if node.op_type == "DequantizeLinear" and node.input[0] in stored]
    assert operators(proto)["Conv"] == 1
    assert dequantized == []
    np.testing.assert_allclose(output, interpret(model, [IMAGE]), atol=1e-5)


def test_bias_too_large_for_its_scale_does_not_overflow(tmp_path: Path) -> None:
    integers = RANDOM.integers(-127, 128, (4, 8, 3, 3)).astype(np.int8)
    scale = np.array([1e-12, 0.001, 1e-9, 0.002], np.float32).reshape(4, 1, 1, 1)
    weights = build.multiply(build.convert(build.constant(integers), "f32"), build.constant(scale))
    biased = build.add(build.convolution(image(), weights, **PADDED), channels(2.5, 0.5, -3, 0))
    model = model_of(quantize_signed(biased, 4))
    proto, output = run_optimized(model, [IMAGE], tmp_path / "y.onnx")
    assert operators(proto)["QLinearConv"] == 1
    assert_same_levels(output, interpret(model, [IMAGE]), 4 / 127)


def test_output_of_a_quantized_layer_that_floats_read_too(tmp_path: Path) -> None:
    sums = quantize_signed(convolve(image(), 8, 8), 4)
    both = build.add(build.tanh(sums), quantize_signed(convolve(sums, 8, 8), 4))
    model = model_of(both)
    proto, output = run_optimized(model, [IMAGE], tmp_path / "y.onnx")
    assert operators(proto)["QLinearConv"] == 2
    assert_same_levels(output, interpret(model, [IMAGE]), 4 / 127)


def test_output_of_a_convolution_that_floats_read_too_is_exact(tmp_path: Path) -> None:
    sums = convolve(image(), 8, 8)
    model = model_of(build.add(sums, quantize_signed(sums, 4)))
    proto, _ = run_optimized(model, [IMAGE], tmp_path / "y.onnx")
    assert (operators(proto)["QLinearConv"], operators(proto)["Conv"]) == (0, 1)


@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("dims", [[1, 6, 32], [None, None, 32], [6, 32]])
def test_product_with_integers(dims: list[int | None], transpose: bool, tmp_path: Path) -> None:
    data = quantize_signed(build.parameter(dims, name="x"), 3)
    shape = (24, 32) if transpose else (32, 24)
    integers = build.convert(build.constant(RANDOM.integers(-127, 128, shape).astype(np.int8)), "f32")
    scale = RANDOM.uniform(0.001, 0.002, (24, 1) if transpose else (1, 24)).astype(np.float32)
    product = build.matmul(data, build.multiply(integers, build.constant(scale)), transpose_b=transpose)
    model = model_of(build.gelu(build.add(product, build.constant(draw(*[1] * (len(dims) - 1), 24)))))
    rows = ROWS.reshape(6, 32) if len(dims) == 2 else ROWS
    proto, output = run_optimized(model, [rows], tmp_path / "y.onnx")
    assert operators(proto)["MatMulIntegerToFloat"] == 1
    assert not {"MatMul", "Gemm", "Add"} & set(operators(proto))
    np.testing.assert_allclose(output, interpret(model, [rows]), atol=2e-5)


def test_product_with_zero_points_of_columns(tmp_path: Path) -> None:
    data = quantize(build.parameter([1, 6, 32], name="x"), 0, 2.55)
    weights = integer_weights((24, 32), zero=RANDOM.integers(0, 256, (24, 1)))
    model = model_of(build.matmul(data, weights, transpose_b=True))
    proto, output = run_optimized(model, [ROWS], tmp_path / "y.onnx")
    assert operators(proto)["MatMulIntegerToFloat"] == 1
    np.testing.assert_allclose(output, interpret(model, [ROWS]), atol=1e-5)


def largest_product() -> Model:
    """Sums of the largest integers, which exceed 16 bits after two products."""
    data = quantize(build.parameter([64, 96], name="x"), 0, 255)
    weights = build.convert(build.constant(np.full((96, 64), 127, np.int8)), "f32")
    return model_of(build.matmul(data, build.multiply(weights, build.constant(np.ones((1, 64), np.float32)))))


def largest_convolution() -> Model:
    data = quantize(build.parameter([1, 96, 8, 8], name="x"), 0, 255)
    weights = build.convert(build.constant(np.full((64, 96, 1, 1), 127, np.int8)), "f32")
    weights = build.multiply(weights, build.constant(np.ones((64, 1, 1, 1), np.float32)))
    return model_of(quantize(build.convolution(data, weights, **PLAIN), 0, 255 * 127 * 96))


@pytest.mark.parametrize("saturates", [False, True, None])
def test_sums_of_the_largest_integers_do_not_saturate(
    saturates: bool | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Weights are unsigned where products of u8 and i8 are added in 16 bits."""
    if saturates is not None:
        monkeypatch.setattr(package, "saturates", lambda module: saturates)
    data = np.full((64, 96), 255, np.float32)
    proto, output = run_optimized(largest_product(), [data], tmp_path / "product.onnx")
    weights = next(array for array in map(numpy_helper.to_array, proto.graph.initializer) if array.shape == (96, 64))
    if saturates is not None:
        assert weights.dtype == (np.uint8 if saturates else np.int8)
    if saturates is not False:
        np.testing.assert_array_equal(output, np.full((64, 64), 255.0 * 127 * 96))
    image_data = np.full((1, 96, 8, 8), 255, np.float32)
    proto, output = run_optimized(largest_convolution(), [image_data], tmp_path / "convolution.onnx")
    filters = next(tensor for tensor in proto.graph.initializer if list(tensor.dims) == [64, 96, 1, 1])
    if saturates is not None:
        assert filters.data_type == (TensorProto.UINT8 if saturates else TensorProto.INT8)
    if saturates is not False:
        np.testing.assert_allclose(output, np.full((1, 64, 8, 8), 255.0 * 127 * 96), rtol=1e-6)


def test_unsigned_weights_have_the_same_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = model_of(quantize_signed(convolve(quantize(build.relu(convolve(image(), 8, 8)), 0, 4), 8, 8), 4))
    signed = run_optimized(model, [IMAGE], tmp_path / "signed.onnx")[1]
    monkeypatch.setattr(package, "saturates", lambda module: True)
    unsigned = run_optimized(model, [IMAGE], tmp_path / "unsigned.onnx")[1]
    np.testing.assert_array_equal(signed, unsigned)


@pytest.mark.parametrize("bias", [False, True])
def test_option_keeps_floats(bias: bool, tmp_path: Path) -> None:
    """The optimizer itself would compute layers without a bias with integers."""
    data = image()
    sums = quantize_signed(convolve(data, 8, 8, bias=bias), 4)
    model = model_of(quantize_signed(build.add(sums, data), 5))
    proto, output = run_optimized(model, [IMAGE], tmp_path / "y.onnx", int8=False)
    counts = operators(proto)
    assert (counts["Conv"], counts["QLinearConv"], counts["QLinearAdd"]) == (1, 0, 0)
    assert_same_levels(output, interpret(model, [IMAGE]), 5 / 127)


@pytest.mark.parametrize("saturates", [False, True])
def test_products_of_matrices_are_computed_in_floats(
    saturates: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(package, "saturates", lambda module: saturates)
    data = quantize(build.parameter([2, 6, 32], name="x"), 0, 255)
    numbers = build.convert(build.constant(np.full((2, 32, 24), 127, np.int8)), "f32")
    model = model_of(build.matmul(data, build.multiply(numbers, build.constant(np.float32(1)))))
    rows = np.full((2, 6, 32), 255, np.float32)
    proto, output = run_optimized(model, [rows], tmp_path / "y.onnx")
    assert operators(proto)["MatMul"] == 1
    np.testing.assert_array_equal(output, np.full((2, 6, 24), 255.0 * 127 * 32))


def test_report_counts_layers_with_integers() -> None:
    first = quantize(build.relu(convolve(image(), 8, 8)), 0, 4)
    model = model_of(build.tanh(convolve(quantize_signed(convolve(first, 8, 8), 4), 8, 8)))
    assert [part.int8_layers for part in compile_for_engine(model).partition.parts] == [2]
    assert [part.int8_layers for part in compile_for_engine(model, int8=False).partition.parts] == [0]


def test_float_weights_are_not_rounded_by_the_optimizer(tmp_path: Path) -> None:
    sums = build.convolution(image(), build.constant(draw(4, 8, 3, 3) / 8), **PADDED)
    model = model_of(quantize_signed(build.add(sums, build.constant(draw(1, 4, 1, 1))), 4))
    proto, _ = run_optimized(model, [IMAGE], tmp_path / "y.onnx")
    assert operators(proto)["QLinearConv"] == 0


def test_networks_without_quantized_layers_are_unchanged() -> None:
    x = build.parameter([1, 8, 12, 12], name="x")
    model = model_of(build.relu(build.convolution(x, build.constant(draw(4, 8, 3, 3)), **PADDED)))
    actual: Array = compile_for_engine(model)([IMAGE])["y"]
    expected: Array = compile_for_engine(model, int8=False)([IMAGE])["y"]
    np.testing.assert_array_equal(actual, expected)
