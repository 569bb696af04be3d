"""The chains of compressed weights, as NNCF writes them in its modes, against OpenVINO's decompressed weights."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ir_exec import build, read_model
from ir_exec.graph.compressed import (
    CompressedWeight,
    WeightMismatch,
    describe_weight,
    find_compressed_weights,
    find_weight,
)
from ir_exec.graph.decoding import decode_weight
from ir_exec.model import Model

FILES = Path(__file__).parents[1] / "quantization" / "nncf"
"""Written by NNCF 3.4.0; `expanded.npz` has the weights that OpenVINO 2026.4 makes of them."""

FORMATS = {
    "int8_sym": ("int8_sym", None, True, 8 * 64 + 8 * 2),
    "int8_asym": ("int8_asym", None, False, 8 * 64 + 8 * 3),
    "int4_sym": ("int4_sym", 32, True, 8 * 32 + 16 * 2),
    "int4_asym": ("int4_asym", 32, False, 8 * 32 + 16 * 2 + 8),
    "int3_sym": ("int3_sym", 32, True, 8 * 24 + 16 * 2 + 1),
    "int2_sym": ("int2_sym", 32, True, 8 * 16 + 16 * 2 + 1),
    "nf4": ("nf4", 32, True, 8 * 32 + 16 * 2),
    "cb4": ("codebook", 32, True, 8 * 32 + 16 * 2 + 16),
    "mxfp4": ("mxfp4", 32, True, 8 * 32 + 16),
    "mxfp8_e4m3": ("mxfp8_e4m3", 32, True, 8 * 64 + 16),
    "fp8_e4m3": ("fp8_e4m3", 32, True, 8 * 64 + 16 * 2),
    "fp4": ("fp4", 32, True, 8 * 32 + 16 * 2),
    "nvfp4": ("nvfp4", 16, True, 8 * 32 + 32 + 4),
    "codebook": ("codebook", 32, True, 8 * 32 + 16 * 2 + 10),
}


def only_weight(model: Model) -> CompressedWeight:
    (weight,) = find_compressed_weights(model.graph).values()
    return weight


@pytest.mark.parametrize("mode", FORMATS)
def test_a_mode_of_nncf(mode: str) -> None:
    model = read_model(FILES / f"{mode}.xml")
    weights = model.weights
    assert weights is not None
    weight = only_weight(model)
    assert [node.name for node in model.graph.nodes if weight.value in node.values_in] == ["proj"]
    properties = weight.format(weights), weight.group_size, weight.is_symmetric(weights), weight.stored_bytes
    assert properties == FORMATS[mode]
    with np.load(FILES / "expanded.npz") as expanded:
        np.testing.assert_array_equal(decode_weight(weight, weights), expanded[mode])


def test_the_layers_of_a_chain() -> None:
    weight = only_weight(read_model(FILES / "int4_asym.xml"))
    assert [node.type for node in weight.line] == ["Convert", "Reshape", "Multiply", "Subtract", "Convert"]
    assert len(weight.nodes) == 10
    assert weight.codes.name == "proj/weight"


def test_a_fake_quantize_of_a_constant() -> None:
    x = build.parameter([2, 4], "f32", name="x")
    w = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)
    ends = [np.float32(limit) for limit in (-1, 1, -1, 1)]
    quantized = build.fake_quantize(w, *ends, levels=5)
    model = build.model(build.matmul(x, quantized, transpose_b=True))
    assert model.weights is not None
    weight = only_weight(model)
    assert (weight.format(model.weights), weight.levels, weight.group_size) == ("fake_quantize5", 5, None)
    assert sorted(set(decode_weight(weight, model.weights).reshape(-1).tolist())) == [-1.0, -0.5, 0.0, 0.5, 1.0]


def test_other_values_are_no_chains() -> None:
    x = build.parameter([2, 4], "f32", name="x")
    scaled = build.multiply(x, np.float32(2))
    halved = build.convert(np.ones((4, 4), np.float16), "f32")
    model = build.model(build.matmul(scaled, halved))
    assert not find_compressed_weights(model.graph)
    product = next(node for node in model.graph.nodes if node.type == "MatMul")
    assert find_weight(product.values_in[0]) is None
    plain = find_weight(product.values_in[1])
    assert plain is not None
    assert not plain.is_compressed


CODES = np.random.default_rng(0).integers(0, 16, (16, 32)).astype(np.uint8)
SCALES = np.random.default_rng(1).uniform(0.01, 0.1, (16, 1)).astype(np.float32)
ZEROS = np.full((16, 1), 7, np.uint8)


def weight_of(value: build.Value) -> CompressedWeight | WeightMismatch:
    """The description of a value that a MatMul reads."""
    x = build.parameter([2, None], "f32", name="x")
    model = build.model(build.result(build.matmul(x, value, transpose_b=True), name="y"))
    product = next(node for node in model.graph.nodes if node.type == "MatMul")
    return describe_weight(product.values_in[1])


def floats(array: np.ndarray, name: str = "codes") -> build.Value:
    return build.convert(build.constant(array, name=name), "f32")


def test_groups_that_a_reshape_of_codes_makes() -> None:
    scales = np.ones((16, 4, 1), np.float32)
    split = build.reshape(floats(CODES), [16, 4, 8], special_zero=False)
    weight = weight_of(build.reshape(build.multiply(split, scales), [16, 32], special_zero=False))
    assert isinstance(weight, CompressedWeight)
    assert (weight.group_axis, weight.group_size, weight.scaled_value.node.type) == (2, 8, "Reshape")
    assert (weight.stored_shape, weight.output.shape.static) == ((16, 32), (16, 32))


@pytest.mark.parametrize("swapped", [False, True])
def test_scale_as_large_as_codes_is_not_compressed(swapped: bool) -> None:
    scales = build.constant(np.full((16, 32), 0.5, np.float32))
    inputs = (scales, floats(CODES)) if swapped else (floats(CODES), scales)
    weight = weight_of(build.multiply(*inputs))
    assert isinstance(weight, CompressedWeight)
    assert (weight.codes.name, weight.is_compressed, weight.group_size) == ("codes", True, 1)


def test_a_constant_is_a_weight_without_layers() -> None:
    weight = weight_of(build.constant(CODES.astype(np.float32), name="plain"))
    assert isinstance(weight, CompressedWeight)
    assert (weight.codes.name, weight.line, weight.is_compressed, weight.size) == ("plain", (), False, 512)
    assert find_weight(weight.value) is None


def activation() -> build.Value:
    return build.parameter([16, 1], "f32", name="scale")


MISMATCHES = {
    "activation": lambda: activation(),
    "scale of an input": lambda: build.multiply(floats(CODES), activation(), name="wrong"),
    "two scales": lambda: build.multiply(build.multiply(floats(CODES), SCALES, name="wrong"), np.float32(2)),
    "zero after scale": lambda: build.subtract(build.multiply(floats(CODES), SCALES, name="wrong"), np.float32(2)),
    "codes subtracted": lambda: build.subtract(floats(ZEROS), floats(CODES), name="wrong"),
    "rows of a table": lambda: build.reshape(
        build.gather(np.ones((16, 2), np.float32), build.constant(CODES), 0, name="wrong"),
        [16, 64],
        special_zero=False,
    ),
    "another layer": lambda: build.multiply(build.add(floats(CODES), floats(ZEROS), name="wrong"), SCALES),
}


@pytest.mark.parametrize("name", MISMATCHES)
def test_first_unfitting_layer(name: str) -> None:
    mismatch = weight_of(MISMATCHES[name]())
    assert isinstance(mismatch, WeightMismatch)
    assert mismatch.node.name == ("scale" if name == "activation" else "wrong")


def test_a_chain_of_too_many_layers() -> None:
    value = floats(CODES)
    for _ in range(12):
        value = build.reshape(value, [16, 32], special_zero=False)
    assert isinstance(weight_of(value), WeightMismatch)


def test_the_same_layers() -> None:
    first, second, other = (
        only_weight(read_model(FILES / f"{mode}.xml")) for mode in ("int4_sym", "int4_sym", "int4_asym")
    )
    assert first.has_same_layers(second)
    assert not first.has_same_layers(other)


def test_zero_points_that_cannot_be_read() -> None:
    weight = weight_of(build.multiply(build.subtract(floats(CODES), floats(ZEROS)), SCALES))
    assert isinstance(weight, CompressedWeight)
    assert weight.zero_point(None) == "other"


def test_scales_and_zero_points_that_get_an_axis() -> None:
    """The layers of a DequantizeLinear along the first axis, which adds an axis to the scales."""
    random = np.random.default_rng(0)
    codes, zero = random.integers(0, 255, (6, 8), np.uint8), random.integers(0, 255, 6, np.uint8)
    scale = random.random(6, np.float32)
    shifted = build.subtract(
        build.convert(build.constant(codes), "f32"),
        build.unsqueeze(build.convert(build.constant(zero), "f32"), build.constant(np.array([1]))),
    )
    table = build.multiply(shifted, build.unsqueeze(build.constant(scale), build.constant(np.array([1]))))
    model = build.model(build.gather(table, build.parameter([2], "i64", name="ids"), 0))
    weights = model.weights
    assert weights is not None
    weight = only_weight(model)
    assert (weight.format(weights), weight.stored_shape) == ("int8_asym", (6, 8))
    expected = [[(float(codes[i, j]) - float(zero[i])) * float(scale[i]) for j in range(8)] for i in range(6)]
    np.testing.assert_allclose(decode_weight(weight, weights), expected, rtol=1e-6)
