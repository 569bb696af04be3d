"""`ir-exec convert`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from click.testing import CliRunner
from onnx import numpy_helper

import ir_exec
from ir_exec.cli import main
from tests.onnx.files import model, stored

WEIGHTS = np.linspace(-1, 1, 64, dtype=np.float32).reshape(8, 8)


def network(folder: Path, shape: str = "N,8") -> Path:
    proto = model(f"g (float[{shape}] x) => (float[{shape}] y) {{ h = MatMul(x, w) y = Relu(h) }}")
    proto.graph.initializer.append(numpy_helper.from_array(WEIGHTS, "w"))
    return stored(folder, proto)


def converted(path: Path, *options: str) -> ir_exec.Model:
    out = path.with_name("out.xml")
    result = CliRunner().invoke(main, ["convert", str(path), "-o", str(out), *options])
    assert result.exit_code == 0, result.output
    assert "Converted" in result.output
    assert ir_exec.check_model(out).ok
    return ir_exec.read_model(out)


def test_the_file_computes_the_same_and_keeps_the_names(tmp_path: Path) -> None:
    found = converted(network(tmp_path))
    assert [str(port) for port in (*found.inputs, *found.outputs)] == ["x f32[?,8]", "y f32[?,8]"]
    x = np.random.default_rng(0).standard_normal((3, 8)).astype(np.float32)
    result = ir_exec.compile_model(found)({"x": x})["y"]
    np.testing.assert_allclose(result, np.maximum(x @ WEIGHTS, 0), rtol=1e-5, atol=1e-6)
    assert {name for node in found.graph.nodes for value in node.outputs for name in value.names} >= {"x", "h", "y"}


def test_shapes_of_inputs(tmp_path: Path) -> None:
    assert str(converted(network(tmp_path), "--shape", "x[4,8]").outputs[0].shape) == "[4,8]"
    assert str(converted(network(tmp_path), "--static").outputs[0].shape) == "[1,8]"


def test_weights_as_f16(tmp_path: Path) -> None:
    full = converted(network(tmp_path))
    short = converted(network(tmp_path), "--compress-to-fp16")
    assert (tmp_path / "out.bin").stat().st_size == WEIGHTS.size * 2
    x = np.ones((1, 8), np.float32)
    np.testing.assert_allclose(
        ir_exec.compile_model(short)({"x": x})["y"], ir_exec.compile_model(full)({"x": x})["y"], atol=1e-2
    )


def test_what_cannot_be_converted_is_told(tmp_path: Path) -> None:
    proto = model("g (string[2] x) => (string[2] y) { y = StringConcat(x, x) }", opset=20)
    out = tmp_path / "out.xml"
    result = CliRunner().invoke(main, ["convert", str(stored(tmp_path, proto)), "-o", str(out)])
    assert result.exit_code == 1
    assert "StringConcat (1 node)" in result.output
    assert not out.exists()


def test_paths_that_cannot_be_used(tmp_path: Path) -> None:
    for arguments in (["none.onnx", "-o", "out.xml"], [str(network(tmp_path)), "-o", str(tmp_path / "out.bin")]):
        assert CliRunner().invoke(main, ["convert", *arguments]).exit_code == 2
