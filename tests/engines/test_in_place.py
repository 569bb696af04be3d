"""Constants of sessions: read in the .bin, without copies in the message or by the optimizer."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnxruntime import InferenceSession

from ir_exec import IRError, Model, ResourceError, build, compile_model, read_model
from ir_exec.engines import in_place
from ir_exec.engines import onnxruntime as module
from ir_exec.engines.compiled import EngineModel
from ir_exec.ir import BitOrder, Weights
from ir_exec.types import Array, ElementType

WIDTH = 768
"""The width of matrices of more than a megabyte, which sessions map."""

RELEASE = tuple(int(part) for part in onnxruntime.__version__.split(".")[:2])
RANDOM = np.random.default_rng(0)
ROWS = RANDOM.normal(size=(3, WIDTH)).astype(np.float32)


def save_and_read(tmp_path: Path, model: Model) -> Model:
    path = tmp_path / "model.xml"
    model.save(path)
    return read_model(path)


def run_optimized(model: Model, inputs: list[Array], path: Path) -> tuple[onnx.ModelProto, Array]:
    """Return the graph that onnxruntime runs, and an output."""
    output = compile_model(model, engine="onnxruntime", options={"optimized_model_filepath": str(path)})(inputs)["y"]
    return onnx.load(str(path), load_external_data=False), output


def stored_bytes(proto: onnx.ModelProto) -> int:
    return sum(len(tensor.raw_data) for tensor in proto.graph.initializer)


def operators(proto: onnx.ModelProto) -> Counter[str]:
    return Counter(node.op_type for node in proto.graph.node)


def product(shape: list[int | None], element_type: str = "f32", *, bias: bool = False) -> Model:
    x = build.parameter(shape, name="x")
    weights = build.constant(RANDOM.normal(size=(WIDTH, WIDTH)).astype(np.float32), element_type)
    if element_type != "f32":
        weights = build.convert(weights, "f32")
    y = build.matmul(x, weights, transpose_b=True)
    if bias:
        y = build.add(y, build.constant(ROWS[0].reshape([1] * (len(shape) - 1) + [WIDTH])))
    return build.model(build.result(y, name="y"))


SHAPES: list[tuple[list[int | None], bool, str]] = [
    ([None, WIDTH], False, "FusedMatMul"),
    ([None, WIDTH], True, "Gemm"),
    ([1, None, WIDTH], True, "FusedMatMul"),
    ([1, 3, WIDTH], True, "Gemm"),
    ([1, 3, WIDTH], False, "FusedMatMul"),
]


@pytest.mark.parametrize(("shape", "bias", "operator"), SHAPES)
@pytest.mark.parametrize("element_type", ["f32", "f16"])
def test_transposed_factors_are_not_copied(
    shape: list[int | None],
    bias: bool,
    operator: str,
    element_type: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = save_and_read(tmp_path, product(shape, element_type, bias=bias))
    x = [ROWS.reshape([1] * (len(shape) - 2) + [3, WIDTH])]
    proto, output = run_optimized(model, x, tmp_path / "optimized.onnx")
    assert operators(proto)[operator] == 1
    assert "Transpose" not in operators(proto)
    if element_type == "f32":
        assert stored_bytes(proto) < WIDTH * WIDTH
    monkeypatch.setattr(in_place, "read_in_place", lambda exported, version: exported)
    transposed, expected = run_optimized(model, x, tmp_path / "transposed.onnx")
    assert operators(transposed)[operator] == (1 if operator == "Gemm" else 0)
    np.testing.assert_array_equal(output, expected)


def test_a_batch_without_rows() -> None:
    compiled = compile_model(product([2, 0, WIDTH], bias=True), engine="onnxruntime")
    assert compiled([np.zeros((2, 0, WIDTH), np.float32)])["y"].shape == (2, 0, WIDTH)
    assert compiled.partition.failures == ()  # type: ignore[attr-defined]  # of the engine


def test_a_matrix_with_several_readers(tmp_path: Path) -> None:
    x = build.parameter([None, WIDTH], name="x")
    weights = build.constant(RANDOM.normal(size=(WIDTH, WIDTH)).astype(np.float32), name="w")
    products = build.add(build.matmul(x, weights, transpose_b=True), build.matmul(build.relu(x), weights))
    turned = build.transpose(weights, [1, 0])
    model = save_and_read(tmp_path, build.model(build.result(build.add(products, build.matmul(x, turned)), name="y")))
    output = compile_model(model, engine="onnxruntime")([ROWS])["y"]
    np.testing.assert_allclose(output, compile_model(model)([ROWS])["y"], rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("element_type", ["f16", "bf16"])
def test_tables_of_16_bits_are_not_cast(element_type: str, tmp_path: Path) -> None:
    table = RANDOM.normal(size=(1000, WIDTH)).astype(np.float32)
    indices = build.parameter([None], "i64", name="indices")
    rows = build.gather(build.convert(build.constant(table, element_type), "f32"), indices, 0)
    model = save_and_read(tmp_path, build.model(build.result(build.relu(rows), name="y")))
    proto, output = run_optimized(model, [np.array([0, 999, -1])], tmp_path / "optimized.onnx")
    assert operators(proto)["Gather"] == operators(proto)["Cast"] == 1
    assert stored_bytes(proto) < 1000
    np.testing.assert_array_equal(output, compile_model(model)([np.array([0, 999, -1])])["y"])


def message_size(model: Model, monkeypatch: pytest.MonkeyPatch) -> int:
    """Return the bytes of the message of a session, after the first call."""
    sizes: list[int] = []

    def make_session(message: bytes, *arguments: Any, **options: Any) -> Any:
        sizes.append(len(message))
        return InferenceSession(message, *arguments, **options)

    monkeypatch.setattr("onnxruntime.InferenceSession", make_session)
    compiled = compile_model(model, engine="onnxruntime")
    x = {"x": ROWS} if model.inputs[0].name == "x" else {"indices": np.arange(3)}
    np.testing.assert_allclose(compiled(x)["y"], compile_model(model)(x)["y"], rtol=1e-3, atol=2e-3)
    return sum(sizes)


@pytest.mark.parametrize("element_type", ["u4", "i4", "u8", "i8", "bf16", "f16", "f32"])
@pytest.mark.parametrize("is_table", [False, True])
def test_no_constant_is_in_the_message(
    element_type: str, is_table: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = 4096
    if element_type[0] in "ui":
        codes = build.constant(RANDOM.integers(0, 8, size=(rows, WIDTH)), element_type)
        scale = RANDOM.uniform(0.5, 1, size=(rows, 1)).astype(np.float32)
        weights = build.multiply(build.convert(codes, "f32"), build.constant(scale))
    else:
        weights = build.convert(
            build.constant(RANDOM.normal(size=(rows, WIDTH)).astype(np.float32), element_type), "f32"
        )
    if is_table:
        y = build.gather(weights, build.parameter([None], "i64", name="indices"), 0)
    else:
        y = build.matmul(build.parameter([None, WIDTH], name="x"), weights, transpose_b=True)
    model = save_and_read(tmp_path, build.model(build.result(y, name="y")))
    assert message_size(model, monkeypatch) < 2**13


def test_constants_of_edited_models_come_from_the_file(tmp_path: Path) -> None:
    model = save_and_read(tmp_path, product([None, WIDTH], bias=True))
    editor = build.Editor(model)
    editor.insert("y", lambda y: build.multiply(y, build.constant(ROWS[1:2])))
    edited = editor.model()
    output = compile_model(edited, engine="onnxruntime")([ROWS]).to_tuple()[0]
    np.testing.assert_allclose(output, compile_model(edited)([ROWS]).to_tuple()[0], rtol=1e-3, atol=1e-3)


def test_replaced_file_is_not_reread(tmp_path: Path) -> None:
    model = save_and_read(tmp_path, product([None, WIDTH]))
    expected = compile_model(model)([ROWS])["y"]
    weights = tmp_path / "model.bin"
    other = tmp_path / "other.bin"
    other.write_bytes(bytes(weights.stat().st_size))
    other.replace(weights)
    np.testing.assert_allclose(compile_model(model, engine="onnxruntime")([ROWS])["y"], expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("high_first", [False, True])
def test_packed_bytes_have_first_element_in_low_half(high_first: bool) -> None:
    elements = np.array([[1, 2, 3], [4, 5, 6]])
    stored = bytes([0x12, 0x34, 0x56]) if high_first else bytes([0x21, 0x43, 0x65])
    weights = Weights.of_bytes(stored, order=BitOrder(high_nibble_first=high_first))
    assert weights.read(ElementType.u4, (2, 3), 0, 3).astype(int).tolist() == elements.tolist()
    assert weights.read_packed(ElementType.u4, (2, 3), 0, 3).tolist() == [0x21, 0x43, 0x65]


@pytest.mark.parametrize(("element_type", "mode", "factor"), [("f32", "expand", 1), ("f16", "expand", 2)])
def test_constants_beyond_the_memory_of_the_machine(
    element_type: str, mode: Any, factor: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = save_and_read(tmp_path, product([None, WIDTH], element_type))
    size = factor * (tmp_path / "model.bin").stat().st_size
    monkeypatch.setattr("onnxruntime.InferenceSession", lambda *_, **__: pytest.fail("a session is made"))
    monkeypatch.setattr(module, "default_budget", lambda: size - 1)
    with pytest.raises(ResourceError) as caught:
        compile_model(model, engine="onnxruntime", weight_mode=mode)
    assert caught.value.hint is not None
    assert "--weight-mode keep" in caught.value.hint


def test_constants_that_stay_in_the_file_need_no_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = save_and_read(tmp_path, product([None, WIDTH]))
    monkeypatch.setattr(module, "default_budget", lambda: WIDTH * WIDTH)
    compiled = compile_model(model, engine="onnxruntime", weight_mode="keep")
    np.testing.assert_allclose(compiled([ROWS])["y"], compile_model(model)([ROWS])["y"], rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("element_type", ["u8", "i8"])
@pytest.mark.parametrize("has_zero_points", [False, True])
def test_rows_of_quantized_tables_are_dequantized(
    element_type: str, has_zero_points: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    codes = build.convert(build.constant(RANDOM.integers(0, 127, size=(2000, WIDTH)), element_type), "f32")
    if has_zero_points:
        zeros = build.constant(RANDOM.integers(0, 127, size=(2000, 1)), element_type)
        codes = build.subtract(codes, build.convert(zeros, "f32"))
    scale = build.constant(RANDOM.uniform(0.5, 1, size=(2000, 1)).astype(np.float32))
    rows = build.gather(build.multiply(codes, scale), build.parameter([None, None], "i64", name="indices"), 0)
    model = save_and_read(tmp_path, build.model(build.result(rows, name="y")))
    indices = [np.array([[0, 1999], [-1, 5]])]
    proto, output = run_optimized(model, indices, tmp_path / "optimized.onnx")
    assert "DequantizeLinear" not in operators(proto)
    if element_type == "u8" and RELEASE >= (1, 23):
        assert operators(proto)["GatherBlockQuantized"] == 1
    else:
        assert operators(proto)["Gather"] == (3 if has_zero_points else 2)
    monkeypatch.setattr(in_place, "read_in_place", lambda exported, version: exported)
    dequantized, expected = run_optimized(model, indices, tmp_path / "dequantized.onnx")
    assert "DequantizeLinear" in operators(dequantized)
    np.testing.assert_array_equal(output, expected)


@pytest.mark.parametrize("release", [(1, 22), RELEASE])
def test_rows_outside_a_quantized_table(
    release: tuple[int, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    codes = build.convert(build.constant(RANDOM.integers(0, 127, size=(2000, WIDTH)), "u8"), "f32")
    scale = build.constant(RANDOM.uniform(0.5, 1, size=(2000, 1)).astype(np.float32))
    rows = build.gather(build.multiply(codes, scale), build.parameter([None], "i64", name="indices"), 0)
    model = save_and_read(tmp_path, build.model(build.result(rows, name="y")))
    rewrite = in_place.read_in_place
    monkeypatch.setattr(in_place, "read_in_place", lambda exported, version: rewrite(exported, release))
    compiled, interpreted = compile_model(model, engine="onnxruntime"), compile_model(model)
    for indices in (np.array([1, 2000]), np.array([-2001, 3])):
        assert outcome(compiled, indices) == outcome(interpreted, indices)


def outcome(compiled: Any, indices: Array) -> object:
    """The output as nested lists, or the code of the error."""
    try:
        return compiled([indices])["y"].tolist()
    except IRError as error:
        return error.code


@pytest.mark.parametrize("shape", [(1, 6, 5, 64), (6, 5, 64), (1, 6, 1, 64)])
def test_constants_that_the_optimizer_transposes_are_read_in_the_new_order(
    shape: tuple[int, ...], tmp_path: Path
) -> None:
    """It gives them the names that they had; arrays of these names would replace them."""
    x = build.parameter([1, 64, 6, 5], name="x")
    factor, shift = (RANDOM.normal(size=shape).astype(np.float32) for _ in range(2))
    last = build.transpose(x, build.constant(np.array([0, 2, 3, 1])))
    y = build.add(build.multiply(last, build.constant(factor)), build.constant(shift))
    first = build.transpose(build.relu(y), build.constant(np.array([0, 3, 1, 2])))
    model = save_and_read(tmp_path, build.model(build.result(first, name="y")))
    data = RANDOM.normal(size=(1, 64, 6, 5)).astype(np.float32)
    compiled = compile_model(model, engine="onnxruntime")
    assert isinstance(compiled, EngineModel)
    output = compiled([data])["y"]
    assert compiled.partition.failures == ()
    expected = np.maximum(data.transpose(0, 2, 3, 1) * factor + shift, 0).transpose(0, 3, 1, 2)
    np.testing.assert_allclose(output, expected, atol=1e-5)


def test_sum_and_norm_stay_separate_nodes(tmp_path: Path) -> None:
    """Their common kernel is slower."""
    x, skip = (build.parameter([1, 6, 64], name=name) for name in ("x", "skip"))
    norm = build.mvn(
        build.add(x, skip), build.constant(np.array([-1])), normalize_variance=True, eps=1e-5, eps_mode="inside_sqrt"
    )
    scaled = build.add(build.multiply(norm, build.constant(ROWS[0, :64])), build.constant(ROWS[1, :64]))
    rows = [RANDOM.normal(size=(1, 6, 64)).astype(np.float32) for _ in range(2)]
    proto, _ = run_optimized(build.model(build.result(scaled, name="y")), rows, tmp_path / "y.onnx")
    assert operators(proto) == {"Add": 1, "LayerNormalization": 1}
