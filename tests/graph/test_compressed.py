"""The chains of compressed weights, as NNCF writes them in its modes, against OpenVINO's decompressed weights."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ir_exec import build, read_model
from ir_exec.graph import Value, compressed
from ir_exec.graph.compressed import CompressedWeight, chain_of, compressed_weights
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
    (weight,) = compressed_weights(model.graph).values()
    return weight


@pytest.mark.parametrize("mode", FORMATS)
def test_a_mode_of_nncf(mode: str) -> None:
    model = read_model(FILES / f"{mode}.xml")
    weights = model.weights
    assert weights is not None
    weight = only_weight(model)
    assert [node.name for node in model.graph.nodes if weight.value in node.values_in] == ["proj"]
    found = weight.format(weights), weight.group_size, weight.is_symmetric(weights), weight.stored_bytes
    assert found == FORMATS[mode]
    with np.load(FILES / "expanded.npz") as expanded:
        np.testing.assert_array_equal(weight.expand(weights), expanded[mode])


@pytest.mark.parametrize("mode", FORMATS)
def test_errors_of_rounding_are_within_half_a_step(mode: str) -> None:
    model, plain = read_model(FILES / f"{mode}.xml"), read_model(FILES / "plain.xml")
    assert model.weights is not None
    weight = only_weight(model)
    steps = weight.steps(model.weights)
    assert steps is not None
    error = np.abs(weight.expand(model.weights) - plain.constants["proj/weight"])
    # What is beyond the last level is clipped, and mx scales are powers of two.
    share = np.count_nonzero(error > 0.51 * steps) / error.size
    assert share < 0.05


def test_the_layers_of_a_chain() -> None:
    weight = only_weight(read_model(FILES / "int4_asym.xml"))
    assert [node.type for node in weight.line] == ["Convert", "Reshape", "Multiply", "Subtract", "Convert"]
    assert len(weight.nodes) == 10
    assert weight.codes.name == "proj/weight"


def test_a_fake_quantize_of_a_constant() -> None:
    x = build.parameter([2, 4], "f32", name="x")
    w = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)
    ends = [np.float32(one) for one in (-1, 1, -1, 1)]
    quantized = build.fake_quantize(w, *ends, levels=5)
    model = build.model(build.matmul(x, quantized, transpose_b=True))
    assert model.weights is not None
    weight = only_weight(model)
    assert (weight.format(model.weights), weight.levels, weight.group_size) == ("fake_quantize5", 5, None)
    assert sorted(set(weight.expand(model.weights).reshape(-1).tolist())) == [-1.0, -0.5, 0.0, 0.5, 1.0]


def test_other_values_are_no_chains() -> None:
    x = build.parameter([2, 4], "f32", name="x")
    scaled = build.multiply(x, np.float32(2))
    halved = build.convert(np.ones((4, 4), np.float16), "f32")
    model = build.model(build.matmul(scaled, halved))
    assert not compressed_weights(model.graph)
    product = next(node for node in model.graph.nodes if node.type == "MatMul")
    assert chain_of(product.values_in[0]) is None
    plain = chain_of(product.values_in[1])
    assert plain is not None
    assert not plain.is_compressed


def test_products_of_computed_values_are_not_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    visited: list[str] = []
    elements = compressed._elements

    def count(value: Value, depth: int = 0) -> int:
        visited.append(value.name)
        return elements(value, depth)

    monkeypatch.setattr(compressed, "_elements", count)
    x = build.parameter([2], "f32", name="x")
    value = x
    for number in range(14):
        value = build.multiply(value, build.relu(value), name=f"product_{number}")
    model = build.model([value], [x])
    assert compressed_weights(model.graph) == {}
    assert visited == []
