"""Constant parts that are computed before a network is written."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import ir_exec
from ir_exec import build
from ir_exec.rewrite.folding import fold_constants
from tests.onnx.files import model as onnx_model

W = np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3)


def types_of(model: ir_exec.Model) -> list[str]:
    return [layer.type for layer in model.document.layers]


def same(model: ir_exec.Model, tmp_path: Path) -> ir_exec.Model:
    """The folded network as it is read again, which gives the same as the one before."""
    folded = fold_constants(model)
    folded.save(tmp_path / "folded.xml")
    assert ir_exec.check_model(tmp_path / "folded.xml").ok
    again = ir_exec.read_model(tmp_path / "folded.xml")
    assert [str(port) for port in again.outputs] == [str(port) for port in model.outputs]
    assert [port.names for port in again.inputs] == [port.names for port in model.inputs]
    arrays = {}
    for number, port in enumerate(model.inputs):
        shape = [dim.size if dim.is_static else 4 for dim in port.shape]
        arrays[port.name] = np.random.default_rng(number).standard_normal(shape).astype(port.element_type.dtype)
    expected, got = ir_exec.compile_model(model)(arrays), ir_exec.compile_model(again)(arrays)
    for port in model.outputs:
        np.testing.assert_array_equal(got[port.name], expected[port.name])
    return again


def test_input_independent_values_become_named_constants(tmp_path: Path) -> None:
    turned = build.transpose(build.multiply(W, 2.0), [1, 0])
    turned.tensor_names = ("turned",)
    turned.layer.name = "turn"
    x = build.parameter([None, 3], name="x")
    folded = same(build.model(build.result(build.matmul(x, turned), name="y")), tmp_path)
    assert sorted(types_of(folded)) == ["Const", "MatMul", "Parameter", "Result"]
    (constant,) = [layer for layer in folded.document.layers if layer.type == "Const"]
    assert (constant.name, constant.outputs[0].names) == ("turn", ("turned",))
    assert (tmp_path / "folded.bin").stat().st_size == W.nbytes


def test_values_of_shapes(tmp_path: Path) -> None:
    x = build.parameter([2, 3], name="x")
    sizes = build.concat([build.gather(build.shape_of(x), [1], 0), [2]], axis=0)
    folded = same(build.model(build.result(build.reshape(x, sizes, special_zero=False), name="y")), tmp_path)
    assert "ShapeOf" not in types_of(folded)
    open_shape = build.parameter([None, 3], name="x")
    sizes = build.concat([build.gather(build.shape_of(open_shape), [1], 0), [-1]], axis=0)
    unfolded = same(build.model(build.result(build.reshape(open_shape, sizes, special_zero=False), name="y")), tmp_path)
    assert "Reshape" in types_of(unfolded)


def test_compressed_weights_stay_compressed(tmp_path: Path) -> None:
    large = np.ones((64, 64), np.float16)
    x = build.parameter([1, 64], name="x")
    folded = same(build.model(build.result(build.matmul(x, build.convert(large, "f32")), name="y")), tmp_path)
    assert "Convert" in types_of(folded)
    assert (tmp_path / "folded.bin").stat().st_size == large.nbytes


def test_several_outputs(tmp_path: Path) -> None:
    first, second = build.split(build.add(W, 1.0), 0, num_splits=2)
    x = build.parameter([1, 3], name="x")
    folded = same(build.model(build.result(build.add(build.multiply(x, second), first), name="y")), tmp_path)
    assert "Split" not in types_of(folded)


def test_a_result_of_a_constant_and_random_numbers(tmp_path: Path) -> None:
    x = build.parameter([2, 3], name="x")
    ends = [build.result(build.add(W, 1.0), name="constant"), build.result(build.relu(x), name="y")]
    assert "Add" not in types_of(same(build.model(ends), tmp_path))
    drawn = build.random_uniform([2, 3], 0.0, 1.0, output_type="f32", global_seed=1, op_seed=2)
    model = build.model([build.result(build.add(drawn, x), name="y")])
    assert "RandomUniform" in types_of(fold_constants(model))


def test_from_onnx(tmp_path: Path) -> None:
    text = """g (float[2,3] x) => (float[3,2] y) {
        two = Constant<value = float {2.0}>() four = Mul(two, two) h = Mul(x, four) y = Transpose<perm = [1, 0]>(h)
    }"""
    folded = same(ir_exec.read_model(onnx_model(text).SerializeToString()), tmp_path)
    assert types_of(folded).count("Multiply") == 1
