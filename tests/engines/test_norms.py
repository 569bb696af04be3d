"""Root mean square normalization: one node of onnxruntime, with the values of plain loops."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import ir_exec
from ir_exec import build
from ir_exec.types import Array

SIZE = 24
RANDOM = np.random.default_rng(11)


def make_norm(
    *, form: str = "reciprocal", scaled: bool = True, real: str = "f32", rank: int = 3, shown: bool = False
) -> ir_exec.Model:
    x = build.parameter([None] * (rank - 1) + [SIZE], "f32", name="x")

    def number(value: float) -> build.Value:
        constant = build.constant(np.full([1] * rank, value, np.float32), real)
        return constant if real == "f32" else build.convert(constant, "f32")

    square = build.multiply(x, x) if form == "product" else build.power(x, number(2))
    mean = build.reduce_mean(square, np.array([-1]), keep_dims=True)
    root = build.sqrt(build.add(mean, number(1e-5)))
    y = build.divide(x, root) if form == "quotient" else build.multiply(x, build.divide(number(1), root))
    if scaled:
        weights = build.constant(SCALE.reshape([1] * (rank - 1) + [SIZE]), real)
        y = build.multiply(weights if real == "f32" else build.convert(weights, "f32"), y)
    results = [build.result(build.relu(y), name="y")]
    if shown:
        results.append(build.result(root, name="root"))
    return build.model(results, [x])


SCALE = RANDOM.uniform(0.5, 2, SIZE).astype(np.float16).astype(np.float32)


def run(model: ir_exec.Model, inputs: Array, path: Path, **options: Any) -> tuple[Counter[str], Array]:
    options |= {"engine": "onnxruntime", "options": {"optimized_model_filepath": str(path)}}
    output = ir_exec.compile_model(model, **options)([inputs])["y"]
    return Counter(node.op_type for node in onnx.load(str(path)).graph.node), output


def normalize(inputs: Array, scale: Array) -> Array:
    output = np.empty(inputs.shape)
    for position in np.ndindex(*inputs.shape[:-1]):
        row = [float(element) for element in inputs[position]]
        root = (sum(element * element for element in row) / len(row) + 1e-5) ** 0.5
        output[position] = [max(element / root * float(s), 0) for element, s in zip(row, scale, strict=True)]
    return output


@pytest.mark.parametrize("form", ["reciprocal", "quotient", "product"])
@pytest.mark.parametrize("scaled", [True, False])
@pytest.mark.parametrize("real", ["f32", "f16"])
def test_norms_are_one_node(form: str, real: str, tmp_path: Path, *, scaled: bool) -> None:
    inputs = RANDOM.standard_normal((2, 3, SIZE)).astype(np.float32)
    model = make_norm(form=form, scaled=scaled, real=real)
    operators, output = run(model, inputs, tmp_path / "optimized.onnx")
    assert operators["SimplifiedLayerNormalization"] == 1
    assert not operators.keys() & {"Sqrt", "Pow", "Div", "Mul", "GlobalAveragePool", "ReduceMean"}
    expected = normalize(inputs, SCALE if scaled else np.ones(SIZE))
    # 1e-5 of f16 is 1.0014e-5.
    np.testing.assert_allclose(output, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("options", [{"rank": 4}, {"rank": 2}, {"shown": True}])
def test_other_norms_have_the_same_values(options: dict[str, Any], tmp_path: Path) -> None:
    """onnxruntime itself fuses those of other ranks."""
    inputs = RANDOM.standard_normal((2, 3, 2, SIZE)[4 - options.get("rank", 3) :]).astype(np.float32)
    operators, output = run(make_norm(**options), inputs, tmp_path / "optimized.onnx")
    assert operators["SimplifiedLayerNormalization"] == (0 if "shown" in options else 1)
    np.testing.assert_allclose(output, normalize(inputs, SCALE), rtol=1e-5, atol=1e-6)


def test_no_norm_is_fused_without_optimization(tmp_path: Path) -> None:
    inputs = RANDOM.standard_normal((2, 3, SIZE)).astype(np.float32)
    operators, output = run(make_norm(), inputs, tmp_path / "optimized.onnx", optimize=False)
    assert operators["SimplifiedLayerNormalization"] == 0
    np.testing.assert_allclose(output, normalize(inputs, SCALE), rtol=1e-5, atol=1e-6)
