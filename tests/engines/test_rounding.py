"""Products with compressed weights that round activations to 8 bits: chosen by the errors of the first run."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

import ir_exec
from ir_exec import build
from ir_exec.build import Value
from ir_exec.engines.compiled import EngineModel
from ir_exec.engines.rounding import LARGEST_ERROR
from ir_exec.types import Array, ElementType

WIDTH = 512
RANDOM = np.random.default_rng(7)
RELEASE = tuple(int(part) for part in onnxruntime.__version__.split(".")[:2])


def weight(element_type: str, rows: int, step: int | None = None) -> Value:
    """A weight of which each column of this step is 0."""
    dtype = ElementType[element_type].dtype
    codes = RANDOM.integers(0, 2 ** ElementType[element_type].bits, (rows, WIDTH)).astype(np.int16)
    points = RANDOM.integers(0, 2 ** ElementType[element_type].bits, (rows, 1)).astype(np.int16)
    if step is not None:
        codes[:, ::step] = points
    value = build.convert(build.constant(codes.astype(dtype)), "f32")
    value = build.subtract(value, build.convert(build.constant(points.astype(dtype)), "f32"))
    return build.multiply(value, RANDOM.uniform(0.01, 0.02, (rows, 1)).astype(np.float32))


def make_products(element_type: str, rows: int | None = None) -> ir_exec.Model:
    """Two products; the second ignores elements that are 100,000 times as large as others of their blocks."""
    x = build.parameter([rows, WIDTH], "f32", name="x")
    scale = np.ones((1, WIDTH), np.float32)
    scale[0, ::16] = 1e5
    first = build.matmul(x, weight(element_type, 64), transpose_b=True)
    second = build.matmul(build.multiply(x, scale), weight(element_type, 64, 16), transpose_b=True)
    return build.model([build.result(first, name="first"), build.result(second, name="second")], [x])


def run(model: ir_exec.Model, inputs: Array, **options: Any) -> tuple[EngineModel, list[dict[str, Array]]]:
    compiled = ir_exec.compile_model(model, engine="onnxruntime", options=options)
    assert isinstance(compiled, EngineModel)
    return compiled, [{name: np.array(array) for name, array in compiled([inputs]).items()} for _ in range(2)]


def relative(difference: Array, array: Array) -> float:
    return float(np.linalg.norm(difference) / np.linalg.norm(array))


@pytest.mark.parametrize("element_type", ["u4", "u8"])
@pytest.mark.skipif(RELEASE < (1, 22), reason="no kernel multiplies by weights of 8 bits")
def test_rounded_products_have_small_errors(element_type: str) -> None:
    model = make_products(element_type)
    inputs = RANDOM.standard_normal((3, WIDTH)).astype(np.float32)
    expected = ir_exec.compile_model(model)([inputs])
    compiled, (first, second) = run(model, inputs, accuracy_level=4)
    for name, array in expected.items():
        assert relative(first[name] - array, array) < 1e-5
        assert relative(second[name] - array, array) <= LARGEST_ERROR
    products = compiled.partition.products
    assert len(products) == 2
    for product, name in zip(products, ("first", "second"), strict=True):
        error = relative(second[name] - expected[name], expected[name])
        if product.is_rounded:
            assert error == pytest.approx(product.error, rel=0.01)
        else:
            assert error < 1e-5
    assert products[0].is_rounded
    assert not products[1].is_rounded
    assert products[1].error > LARGEST_ERROR


@pytest.mark.parametrize("element_type", ["u4", "u8"])
def test_products_with_large_errors_are_not_rounded(element_type: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ir_exec.engines.rounding.LARGEST_ERROR", 1e-4)
    model = make_products(element_type)
    inputs = RANDOM.standard_normal((3, WIDTH)).astype(np.float32)
    compiled, (first, second) = run(model, inputs, accuracy_level=4)
    assert [product.is_rounded for product in compiled.partition.products] == [False] * len(compiled.partition.products)
    for name, array in first.items():
        np.testing.assert_allclose(second[name], array, rtol=1e-5, atol=1e-5 * np.abs(array).max())


@pytest.mark.parametrize("element_type", ["u4", "u8"])
def test_no_product_is_rounded_by_default(element_type: str, tmp_path: Path) -> None:
    path = tmp_path / "optimized.onnx"
    model = make_products(element_type, 1)
    compiled, _ = run(model, np.ones((1, WIDTH), np.float32), optimized_model_filepath=str(path))
    products = [node for node in onnx.load(str(path)).graph.node if node.op_type == "MatMulNBits"]
    assert len(products) == 2
    for node in products:
        attributes = {attribute.name: attribute.i for attribute in node.attribute}
        assert (attributes["accuracy_level"], attributes["bits"]) == (1, 4)
    assert compiled.partition.products == ()


@pytest.mark.skipif(RELEASE < (1, 22), reason="no kernel multiplies by weights of 8 bits")
def test_rounded_products_of_weights_of_8_bits_read_bytes(tmp_path: Path) -> None:
    path = tmp_path / "optimized.onnx"
    inputs = RANDOM.standard_normal((9, WIDTH)).astype(np.float32)
    run(make_products("u8", 9), inputs, accuracy_level=4, optimized_model_filepath=str(path))
    products = [node for node in onnx.load(str(path)).graph.node if node.op_type == "MatMulNBits"]
    bits = Counter(attribute.i for node in products for attribute in node.attribute if attribute.name == "bits")
    assert bits[8] >= 1


@pytest.mark.parametrize("level", [0, 2, "4", None])
def test_other_levels_are_refused(level: Any) -> None:
    with pytest.raises(ir_exec.EvaluationError):
        ir_exec.compile_model(make_products("u4"), engine="onnxruntime", options={"accuracy_level": level})


@pytest.mark.parametrize(("element_type", "is_disabled"), [("u4", False), ("f32", True)])
def test_kept_weights_of_few_bits_are_packed(
    element_type: str, is_disabled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without packing, a kernel of compressed weights decodes all of them in every run."""
    x = build.parameter([None, WIDTH], "f32", name="x")
    real = RANDOM.standard_normal((64, WIDTH)).astype(np.float32)
    factor = weight("u4", 64) if element_type == "u4" else build.constant(real)
    model = build.model([build.relu(build.matmul(x, factor, transpose_b=True))], [x])
    disabled: list[bool] = []
    make_session = onnxruntime.InferenceSession

    def record(content: bytes, options: Any, **arguments: Any) -> Any:
        try:
            disabled.append(options.get_session_config_entry("session.disable_prepacking") == "1")
        except RuntimeError:
            disabled.append(False)
        return make_session(content, options, **arguments)

    monkeypatch.setattr("onnxruntime.InferenceSession", record)
    ir_exec.compile_model(model, engine="onnxruntime", weight_mode="keep")
    assert disabled == [is_disabled]


@pytest.mark.parametrize("element_type", ["u8", "i8", "u4"])
@pytest.mark.parametrize("mode", ["expand", "keep"])
def test_weights_that_no_kernel_reads_are_decoded_once(element_type: str, mode: Any, tmp_path: Path) -> None:
    """A convolution with a scale for each filter, and a product of many rows with a zero point for each block."""
    path = tmp_path / "optimized.onnx"
    dtype = ElementType[element_type].dtype
    low, high = (-128, 127) if element_type == "i8" else (0, 2 ** ElementType[element_type].bits - 1)
    filters = RANDOM.integers(low, high, (6, 3, 3, 3), endpoint=True).astype(np.int16)
    scales = RANDOM.uniform(0.01, 0.02, (6, 1, 1, 1)).astype(np.float32)
    codes = RANDOM.integers(low, high, (5, 3, 8), endpoint=True).astype(np.int16)
    points = RANDOM.integers(low, high, (5, 3, 1), endpoint=True).astype(np.int16)
    sizes = RANDOM.uniform(0.01, 0.02, (5, 3, 1)).astype(np.float32)
    image = build.parameter([1, 3, 9, 9], "f32", name="image")
    x = build.parameter([7, 24], "f32", name="x")
    kernel = build.multiply(build.convert(build.constant(filters.astype(dtype)), "f32"), scales)
    convolved = build.convolution(image, kernel, strides=[1, 1], pads_begin=[0, 0], pads_end=[0, 0], dilations=[1, 1])
    shifted = build.subtract(
        build.convert(build.constant(codes.astype(dtype)), "f32"),
        build.convert(build.constant(points.astype(dtype)), "f32"),
    )
    matrix = build.reshape(build.multiply(shifted, sizes), [5, 24], special_zero=False)
    product = build.matmul(x, matrix, transpose_b=True)
    model = build.model([build.result(convolved, name="convolved"), build.result(product, name="product")])
    options = {"optimized_model_filepath": str(path)}
    inputs = {
        "image": RANDOM.standard_normal((1, 3, 9, 9)).astype(np.float32),
        "x": RANDOM.standard_normal((7, 24)).astype(np.float32),
    }
    outputs = ir_exec.compile_model(model, engine="onnxruntime", options=options, weight_mode=mode)(inputs)
    operators = Counter(node.op_type for node in onnx.load(str(path)).graph.node)
    assert bool(operators["DequantizeLinear"]) == (mode == "keep")
    weights = ((codes - points) * sizes.astype(np.float64)).reshape(5, 24)
    np.testing.assert_allclose(outputs["product"], inputs["x"] @ weights.T, rtol=1e-4, atol=1e-4)
    expected = np.empty((1, 6, 7, 7))
    for row, column in np.ndindex(7, 7):
        window = inputs["image"][0, :, row : row + 3, column : column + 3]
        expected[0, :, row, column] = [float((window * f).sum()) for f in filters * scales.astype(np.float64)]
    np.testing.assert_allclose(outputs["convolved"], expected, rtol=1e-3, atol=1e-3)
