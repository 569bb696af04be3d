"""The nodes that onnxruntime's optimizer makes of models of IR: each is counted, because a release may fuse less."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from ir_exec import Model, build, compile_model
from ir_exec.build import Value

RANDOM = np.random.default_rng(0)
B, S, H, N = 2, 16, 64, 4


def constant(*shape: int) -> Value:
    return build.constant((RANDOM.normal(size=shape) / 8).astype(np.float32))


def tokens() -> Value:
    return build.parameter([B, S, H], name="x")


def image() -> Value:
    return build.parameter([1, 16, 16, 16], name="x")


def linear(data: Value, outputs: int = H) -> Value:
    return build.add(build.matmul(data, constant(outputs, H), transpose_b=True), constant(1, 1, outputs))


def layer_norm(data: Value) -> Value:
    centered = build.subtract(data, build.reduce_mean(data, [-1], keep_dims=True))
    variance = build.reduce_mean(build.power(centered, np.float32(2)), [-1], keep_dims=True)
    scaled = build.divide(centered, build.sqrt(build.add(variance, np.float32(1e-5))))
    return build.add(build.multiply(scaled, constant(H)), constant(H))


def layer_norm_of_mvn(data: Value) -> Value:
    normalized = build.mvn(data, [-1], normalize_variance=True, eps=1e-5, eps_mode="inside_sqrt")
    return build.add(build.multiply(normalized, constant(1, 1, H)), constant(1, 1, H))


def mean_of_squares(data: Value) -> Value:
    return build.add(build.reduce_mean(build.power(data, np.float32(2)), [-1], keep_dims=True), np.float32(1e-5))


def rms_by_quotient(data: Value) -> Value:
    root = build.sqrt(mean_of_squares(data))
    return build.multiply(build.multiply(data, build.divide(np.float32(1), root)), constant(H))


def rms_by_power(data: Value) -> Value:
    factor = build.power(mean_of_squares(data), np.float32(-0.5))
    return build.multiply(constant(1, 1, H), build.multiply(data, factor))


def gelu_of_erf(data: Value) -> Value:
    error = build.erf(build.divide(data, np.float32(2**0.5)))
    return build.multiply(build.multiply(data, np.float32(0.5)), build.add(error, np.float32(1)))


def gelu_of_tanh(data: Value) -> Value:
    cubes = build.multiply(build.power(data, np.float32(3)), np.float32(0.044715))
    bent = build.tanh(build.multiply(build.add(data, cubes), np.float32((2 / np.pi) ** 0.5)))
    return build.multiply(build.multiply(data, np.float32(0.5)), build.add(bent, np.float32(1)))


def heads(data: Value) -> Value:
    split = build.reshape(linear(data), np.array([B, S, N, H // N]), special_zero=False)
    return build.transpose(split, [0, 2, 1, 3])


def attention(data: Value) -> Value:
    attended = build.scaled_dot_product_attention(heads(data), heads(data), heads(data), causal=False)
    merged = build.reshape(build.transpose(attended, [0, 2, 1, 3]), np.array([B, S, H]), special_zero=False)
    return linear(merged)


def large_attention() -> Value:
    """In layers; the scores take more than the cache of a core."""
    query, key, value = (build.parameter([1, 8, 512, 32], name=name) for name in ("q", "k", "v"))
    scores = build.multiply(build.matmul(query, key, transpose_b=True), np.float32(32**-0.5))
    return build.matmul(build.softmax(scores, axis=-1), value)


def convolution(data: Value) -> Value:
    same: Any = {"strides": [1, 1], "dilations": [1, 1], "pads_begin": [1, 1], "pads_end": [1, 1]}
    return build.add(build.convolution(data, constant(16, 16, 3, 3), **same), constant(1, 16, 1, 1))


def residual(data: Value) -> Value:
    first = build.relu(convolution(data))
    return build.relu(build.add(convolution(build.relu(convolution(first))), first))


def batch_norm(data: Value) -> Value:
    variance = build.constant(np.linspace(0.5, 2, 16, dtype=np.float32))
    vectors = [constant(16), constant(16), constant(16), variance]
    return build.relu(build.batch_norm_inference(convolution(data), *vectors, epsilon=1e-5))


def leaky_relu(data: Value) -> Value:
    return build.prelu(build.add(data, constant(H)), build.constant(np.float32([0.1])))


def einsum(equation: str, *shapes: list[int]) -> Value:
    operands = [build.parameter(shape, name=f"x{position}") for position, shape in enumerate(shapes)]
    return build.einsum(operands, equation)


FUSIONS: dict[str, tuple[Callable[[], Value], dict[str, int]]] = {
    "LayerNormalization": (lambda: layer_norm(tokens()), {"LayerNormalization": 1}),
    "LayerNormalization of MVN": (lambda: layer_norm_of_mvn(tokens()), {"LayerNormalization": 1}),
    "LayerNormalization of a residual": (
        lambda: layer_norm(build.add(linear(x := tokens()), x)),
        {"Gemm": 1, "Reshape": 2, "Add": 1, "LayerNormalization": 1},
    ),
    "RMS by quotient": (lambda: rms_by_quotient(tokens()), {"SimplifiedLayerNormalization": 1}),
    "RMS by power": (lambda: rms_by_power(tokens()), {"SimplifiedLayerNormalization": 1}),
    "Gelu": (lambda: build.gelu(tokens(), approximation_mode="erf"), {"Gelu": 1}),
    "Gelu by erf": (lambda: gelu_of_erf(tokens()), {"Gelu": 1}),
    "Gelu by tanh": (lambda: gelu_of_tanh(tokens()), {"Gelu": 1}),
    "QuickGelu": (lambda: build.swish(tokens()), {"QuickGelu": 1}),
    "LeakyRelu": (lambda: leaky_relu(tokens()), {"Add": 1, "LeakyRelu": 1}),
    "attention": (
        lambda: attention(tokens()),
        {"MultiHeadAttention": 1, "Gemm": 4, "Reshape": 6, "Transpose": 2},
    ),
    "attention in layers": (large_attention, {"MultiHeadAttention": 1, "Reshape": 2, "Transpose": 2}),
    "Conv with bias and activation": (lambda: build.relu(convolution(image())), {"Conv": 1}),
    "Conv with bias, Add and activation": (lambda: residual(image()), {"Conv": 3}),
    "BatchNorm": (lambda: batch_norm(image()), {"Conv": 1}),
    "transposed factor": (
        lambda: build.matmul(tokens(), constant(4 * H, H), transpose_b=True),
        {"FusedMatMul": 1},
    ),
    "Einsum of rows": (lambda: einsum("bsh,hk->bsk", [B, S, H], [H, 8]), {"MatMul": 1}),
    "Einsum of a transposed factor": (lambda: einsum("bsh,kh->bsk", [B, S, H], [8, H]), {"FusedMatMul": 1}),
    "Einsum of batches": (lambda: einsum("bhid,bhjd->bhij", [B, N, S, 8], [B, N, 6, 8]), {"FusedMatMul": 1}),
    "Einsum of swapped terms": (lambda: einsum("hk,bsh->bsk", [H, 8], [B, S, H]), {"MatMul": 1}),
    "Einsum with permuted axes": (
        lambda: einsum("bqhd,bkhd->bhqk", [B, S, N, 8], [B, 6, N, 8]),
        {"MatMul": 1, "Transpose": 2},
    ),
    "Einsum of two sums": (lambda: einsum("bij,bij->b", [B, S, H], [B, S, H]), {"Einsum": 1}),
}
"""The output of a small model, and the nodes of its optimized graph."""


def count_nodes(path: Path) -> dict[str, int]:
    """Nodes by operator, without the layouts of convolutions, which depend on the CPU."""
    nodes = onnx.load(path, load_external_data=False).graph.node
    operators = [node.op_type for node in nodes if not node.op_type.startswith("Reorder")]
    return dict(Counter("Conv" if operator == "FusedConv" else operator for operator in operators))


@pytest.mark.parametrize("name", FUSIONS)
def test_nodes_of_optimized_graph(name: str, tmp_path: Path) -> None:
    make, expected = FUSIONS[name]
    model: Model = build.model(build.result(make(), name="y"))
    optimized = tmp_path / "optimized.onnx"
    compiled = compile_model(model, engine="onnxruntime", options={"optimized_model_filepath": str(optimized)})
    inputs = [RANDOM.normal(size=port.shape.static).astype(np.float32) for port in model.inputs]
    actual, reference = compiled(inputs)["y"], compile_model(model)(inputs)["y"]
    np.testing.assert_allclose(actual, reference, rtol=1e-4, atol=1e-4)
    assert count_nodes(optimized) == expected


@pytest.mark.parametrize("shapes", [([B, N, S, 8], [B, 1, 6, 8]), ([None, N, S, 8], [None, 1, 6, 8])])
def test_attention_with_broadcast_heads_is_not_fused(shapes: tuple[list[int | None], list[int | None]]) -> None:
    query, key = build.parameter(shapes[0], name="q"), build.parameter(shapes[1], name="k")
    attended = build.scaled_dot_product_attention(query, key, key, causal=False)
    model = build.model(build.result(attended, name="y"))
    compiled = compile_model(model, engine="onnxruntime")
    inputs = [RANDOM.normal(size=shape).astype(np.float32) for shape in ((B, N, S, 8), (B, 1, 6, 8))]
    np.testing.assert_allclose(compiled(inputs)["y"], compile_model(model)(inputs)["y"], rtol=1e-5, atol=1e-5)
    assert compiled.partition.failures == ()  # type: ignore[attr-defined]  # it is compiled for an engine
