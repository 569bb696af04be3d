"""Compressed weights: one DequantizeLinear, or an operator of onnxruntime, with the values of the layers."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import ir_exec
from ir_exec import build
from ir_exec.build import Value
from ir_exec.onnx.export.lower import lower_model
from ir_exec.types import Array, ElementType
from tests.onnx.export.sessions import node_types, run

RANDOM = np.random.default_rng(3)


def weight(
    element_type: str, shape: tuple[int, ...], scale: tuple[int, ...], *, zero: bool, real: str = "f32"
) -> Value:
    """A constant and the layers that decompress it."""
    low, high = {"u4": (0, 15), "i4": (-8, 7), "u8": (0, 255), "i8": (-128, 127)}[element_type]
    dtype = ElementType[element_type].dtype
    stored = RANDOM.integers(low, high, shape, endpoint=True).astype(np.int16).astype(dtype)
    scales = RANDOM.uniform(0.01, 0.1, scale).astype(np.float32).astype(ElementType[real].dtype)
    value = build.convert(build.constant(stored), real)
    if zero:
        points = RANDOM.integers(low, high, scale, endpoint=True).astype(np.int16).astype(dtype)
        value = build.subtract(value, build.convert(build.constant(points), real))
    return build.multiply(value, build.constant(scales))


def product(weights: Value, columns: int) -> tuple[ir_exec.Model, Array]:
    x = build.parameter([None, columns], "f32", name="x")
    model = build.model([build.matmul(x, weights, transpose_a=False, transpose_b=True)], [x])
    return model, RANDOM.standard_normal((3, columns)).astype(np.float32)


def expected(model: ir_exec.Model, x: Array) -> Array:
    return np.asarray(ir_exec.compile_model(model)([x])[0])


@pytest.mark.parametrize("element_type", ["u8", "i8", "u4", "i4"])
@pytest.mark.parametrize("zero", [False, True])
@pytest.mark.parametrize("scale", [(8, 1), (1, 64), ()])
def test_one_scale_for_an_axis(element_type: str, zero: bool, scale: tuple[int, ...]) -> None:
    model, x = product(weight(element_type, (8, 64), scale, zero=zero), 64)
    exported = lower_model(model)
    assert node_types(exported) == ["DequantizeLinear", "Transpose", "MatMul"]
    np.testing.assert_allclose(run(exported, [x])[0], expected(model, x), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("element_type", ["u4", "i4", "u8"])
@pytest.mark.parametrize("real", ["f16", "f32"])
def test_blocks(element_type: str, real: str) -> None:
    blocks = build.reshape(
        weight(element_type, (8, 4, 16), (8, 4, 1), zero=True, real=real), [8, 64], special_zero=False
    )
    model, x = product(build.convert(blocks, "f32") if real == "f16" else blocks, 64)
    exported = lower_model(model)
    assert node_types(exported) == ["DequantizeLinear", "Transpose", "MatMul"]
    block = next(attribute.i for attribute in exported.proto.graph.node[0].attribute if attribute.name == "block_size")
    assert block == 16
    np.testing.assert_allclose(run(exported, [x])[0], expected(model, x), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("element_type", ["u4", "i4"])
@pytest.mark.parametrize("zero", [False, True])
def test_products_of_onnxruntime(element_type: str, zero: bool) -> None:
    weights = build.reshape(weight(element_type, (8, 3, 32), (8, 3, 1), zero=zero), [8, 96], special_zero=False)
    model, x = product(weights, 96)
    exported = lower_model(model, target="onnxruntime")
    assert node_types(exported) == ["MatMulNBits"]
    np.testing.assert_allclose(run_unchecked(exported, x), expected(model, x), rtol=1e-4, atol=1e-4)


def decode_elements(codes: Array, zero: Array | None, scale: Array, block: int) -> Array:
    """The weight, element by element."""
    rows, columns = codes.shape
    weights = np.empty((rows, columns), np.float64)
    for row in range(rows):
        for column in range(columns):
            group = column // block
            point = 0 if zero is None else int(zero[row, group])
            weights[row, column] = (int(codes[row, column]) - point) * float(scale[row, group])
    return weights


@pytest.mark.parametrize(
    ("element_type", "columns", "block", "products"),
    [
        ("u8", 96, 32, 1),
        ("i8", 96, 96, 1),
        ("u8", 1024, 1024, 1),
        ("i4", 1024, 1024, 1),
        ("u4", 512, 512, 1),
        ("u8", 48, 24, 0),
        ("i4", 40, 8, 0),
        ("u8", 75, 75, 2),
        ("i8", 7, 7, 2),
        ("u4", 75, 75, 1),
        ("i4", 88, 88, 1),
    ],
)
@pytest.mark.parametrize("zero", [False, True])
def test_products_of_blocks_of_any_size(
    element_type: str, columns: int, block: int, products: int, *, zero: bool
) -> None:
    low, high = {"u4": (0, 15), "i4": (-8, 7), "u8": (0, 255), "i8": (-128, 127)}[element_type]
    dtype, groups = ElementType[element_type].dtype, columns // block
    codes = RANDOM.integers(low, high, (6, columns), endpoint=True).astype(np.int16)
    points = RANDOM.integers(low, high, (6, groups), endpoint=True).astype(np.int16) if zero else None
    scale = RANDOM.uniform(0.01, 0.1, (6, groups)).astype(np.float32)
    value = build.convert(build.constant(codes.reshape(6, groups, block).astype(dtype)), "f32")
    if points is not None:
        value = build.subtract(value, build.convert(build.constant(points[..., None].astype(dtype)), "f32"))
    value = build.multiply(value, scale[..., None])
    model, x = product(build.reshape(value, [6, columns], special_zero=False), columns)
    exported = lower_model(model, target="onnxruntime")
    assert node_types(exported).count("MatMulNBits") == products
    expected = x.astype(np.float64) @ decode_elements(codes, points, scale, block).T
    np.testing.assert_allclose(run_unchecked(exported, x), expected, rtol=1e-4, atol=1e-4 * np.abs(expected).max())


@pytest.mark.parametrize("element_type", ["u4", "i4", "u8", "i8"])
def test_product_with_columns_of_a_weight(element_type: str) -> None:
    """A weight [K, N] with a scale for each column is stored in rows of columns."""
    low, high = {"u4": (0, 15), "i4": (-8, 7), "u8": (0, 255), "i8": (-128, 127)}[element_type]
    codes = RANDOM.integers(low, high, (64, 6), endpoint=True).astype(np.int16)
    scale = RANDOM.uniform(0.01, 0.1, (1, 6)).astype(np.float32)
    weights = build.multiply(build.convert(build.constant(codes.astype(ElementType[element_type].dtype)), "f32"), scale)
    x = build.parameter([None, None, 64], "f32", name="x")
    model = build.model([build.matmul(x, weights)], [x])
    exported = lower_model(model, target="onnxruntime")
    assert node_types(exported).count("MatMulNBits") == 1
    data = RANDOM.standard_normal((2, 3, 64)).astype(np.float32)
    expected = np.empty((2, 3, 6))
    for row in np.ndindex(2, 3):
        for column in range(6):
            expected[(*row, column)] = sum(
                float(data[(*row, k)]) * int(codes[k, column]) * float(scale[0, column]) for k in range(64)
            )
    np.testing.assert_allclose(run_unchecked(exported, data), expected, rtol=1e-4, atol=1e-4)


def test_vectors_are_no_rows() -> None:
    """MatMulNBits has no rule for a factor of rank 1."""
    x = build.parameter([64], "f32", name="x")
    model = build.model([build.matmul(x, weight("u8", (8, 64), (8, 1), zero=True), transpose_b=True)], [x])
    exported = lower_model(model, target="onnxruntime")
    assert "MatMulNBits" not in node_types(exported)
    data = RANDOM.standard_normal(64).astype(np.float32)
    np.testing.assert_allclose(run_unchecked(exported, data), expected(model, data), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("rows", "operators"),
    [(1, {"Concat": 1, "MatMulNBits": 1}), (9, {"DequantizeLinear": 1, "Transpose": 1, "MatMul": 1})],
)
def test_weights_of_8_bits_are_dequantized_for_many_rows(rows: int, operators: dict[str, int]) -> None:
    x = build.parameter([rows, 64], "f32", name="x")
    model = build.model([build.matmul(x, weight("u8", (8, 64), (8, 1), zero=True), transpose_b=True)], [x])
    exported = lower_model(model, target="onnxruntime", expand=True)
    assert Counter(node_types(exported)) == operators
    data = RANDOM.standard_normal((rows, 64)).astype(np.float32)
    np.testing.assert_allclose(run_unchecked(exported, data), expected(model, data), rtol=1e-4, atol=1e-4)


def run_unchecked(exported: object, x: Array) -> Array:
    """onnx's checker does not know com.microsoft."""
    import onnxruntime

    from ir_exec.onnx.export.files import to_bytes

    content = to_bytes(exported)  # type: ignore[arg-type]  # an Exported
    outputs = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"]).run(None, {"x": x})
    return np.asarray(outputs[0])


def test_rows_of_onnxruntime() -> None:
    weights = build.reshape(weight("u4", (8, 3, 32), (8, 3, 1), zero=True), [8, 96], special_zero=False)
    x = build.parameter([None], "i64", name="x")
    model = build.model([build.gather(weights, x, 0)], [x])
    exported = lower_model(model, target="onnxruntime")
    assert node_types(exported) == ["GatherBlockQuantized"]
    rows = np.array([7, 0, 3])
    np.testing.assert_allclose(run_unchecked(exported, rows), expected(model, rows), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("element_type", ["nf4", "u2", "u3", "u6"])
def test_codebooks_are_exact(element_type: str) -> None:
    codes = RANDOM.integers(0, 2 ** ElementType[element_type].bits, (4, 16)).astype(np.uint8)
    stored = build.constant(
        codes.astype(np.int16).astype(ElementType.u2.dtype)
        if element_type == "u2"
        else codes.view(ElementType[element_type].dtype)
    )
    x = build.parameter([4, 16], "f32", name="x")
    model = build.model([build.add(x, build.convert(stored, "f32"))], [x])
    zeros = np.zeros((4, 16), np.float32)
    np.testing.assert_array_equal(run(lower_model(model), [zeros])[0], expected(model, zeros))


@pytest.mark.parametrize("real", ["f16", "f32"])
def test_scales_and_zero_points_that_layers_compute(real: str) -> None:
    codes = build.convert(build.constant(RANDOM.integers(0, 256, (8, 64)).astype(np.uint8)), real)
    zero = build.reshape(
        build.convert(build.constant(RANDOM.integers(0, 256, 8).astype(np.uint8)), real), [8, 1], special_zero=False
    )
    wide = build.convert(build.constant(RANDOM.uniform(0.01, 0.1, (8, 1)).astype(np.float16)), "f32")
    weights = build.multiply(build.subtract(codes, zero), build.convert(wide, real))
    model, x = product(build.convert(weights, "f32") if real == "f16" else weights, 64)
    exported = lower_model(model)
    assert node_types(exported) == ["DequantizeLinear", "Transpose", "MatMul"]
    np.testing.assert_allclose(run(exported, [x])[0], expected(model, x), rtol=1e-5, atol=1e-4)


def test_scale_rounded_by_f16_stays_a_product() -> None:
    """A product of f16 is computed in f32: no scale of f16 is equal."""
    codes = build.convert(build.constant(RANDOM.integers(0, 256, (8, 64)).astype(np.uint8)), "f16")
    scale = build.multiply(build.constant([[0.1]], "f16"), build.constant(RANDOM.uniform(0.5, 1, (8, 1)), "f16"))
    model, _ = product(build.convert(build.multiply(codes, scale), "f32"), 64)
    exported = lower_model(model)
    assert "DequantizeLinear" not in node_types(exported)
