"""`ir-exec convert`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from click.testing import CliRunner
from onnx import numpy_helper

import ir_exec
from ir_exec.cli import main
from tests.helpers.facts import mentions
from tests.onnx.files import model, write_model

WEIGHTS = np.linspace(-1, 1, 64, dtype=np.float32).reshape(8, 8)


def network(folder: Path, shape: str = "N,8") -> Path:
    proto = model(f"g (float[{shape}] x) => (float[{shape}] y) {{ h = MatMul(x, w) y = Relu(h) }}")
    proto.graph.initializer.append(numpy_helper.from_array(WEIGHTS, "w"))
    return write_model(folder, proto)


def convert(path: Path, *options: str) -> ir_exec.Model:
    out = path.with_name("out.xml")
    result = CliRunner().invoke(main, ["convert", str(path), "-o", str(out), *options])
    assert result.exit_code == 0, result.output
    assert "Converted" in result.output
    assert ir_exec.check_model(out).ok
    return ir_exec.read_model(out)


def test_the_file_computes_the_same_and_keeps_the_names(tmp_path: Path) -> None:
    model = convert(network(tmp_path))
    assert [str(port) for port in (*model.inputs, *model.outputs)] == ["x f32[?,8]", "y f32[?,8]"]
    x = np.random.default_rng(0).standard_normal((3, 8)).astype(np.float32)
    result = ir_exec.compile_model(model)({"x": x})["y"]
    np.testing.assert_allclose(result, np.maximum(x @ WEIGHTS, 0), rtol=1e-5, atol=1e-6)
    assert {name for node in model.graph.nodes for value in node.outputs for name in value.names} >= {"x", "h", "y"}


def test_shapes_of_inputs(tmp_path: Path) -> None:
    assert str(convert(network(tmp_path), "--shape", "x[4,8]").outputs[0].shape) == "[4,8]"
    assert str(convert(network(tmp_path), "--static").outputs[0].shape) == "[1,8]"


def test_weights_as_f16(tmp_path: Path) -> None:
    full = convert(network(tmp_path))
    short = convert(network(tmp_path), "--compress-to-fp16")
    assert len(short.document.layers) == len(full.document.layers) + 1
    assert (tmp_path / "out.bin").stat().st_size == WEIGHTS.size * 2
    x = np.ones((1, 8), np.float32)
    np.testing.assert_allclose(
        ir_exec.compile_model(short)({"x": x})["y"], ir_exec.compile_model(full)({"x": x})["y"], atol=1e-2
    )


def test_inconvertible_parts_are_reported(tmp_path: Path) -> None:
    proto = model("g (uint8[2] x) => (uint8[H,W,3] y) { y = ImageDecoder(x) }", opset=20)
    out = tmp_path / "out.xml"
    result = CliRunner().invoke(main, ["convert", str(write_model(tmp_path, proto)), "-o", str(out)])
    assert result.exit_code == 1
    assert "ImageDecoder (1 node)" in result.output
    assert f"--> {tmp_path / 'model.onnx'}" in result.output
    assert not out.exists()


def test_paths_that_cannot_be_used(tmp_path: Path) -> None:
    for arguments in (["none.onnx", "-o", "out.xml"], [str(network(tmp_path)), "-o", str(tmp_path / "out.bin")]):
        assert CliRunner().invoke(main, ["convert", *arguments]).exit_code == 2


def test_constants_are_folded(tmp_path: Path) -> None:
    proto = model("g (float[2,8] x) => (float[2,8] y) { v = Mul(w, w) y = MatMul(x, v) }")
    proto.graph.initializer.append(numpy_helper.from_array(WEIGHTS, "w"))
    path = write_model(tmp_path, proto)
    x = np.ones((2, 8), np.float32)
    plain, folded = convert(path, "--no-fold"), convert(path)
    assert sorted(layer.type for layer in plain.document.layers).count("Multiply") == 1
    assert sorted(layer.type for layer in folded.document.layers) == ["Const", "MatMul", "Parameter", "Result"]
    assert {name for node in folded.graph.nodes for value in node.outputs for name in value.names} >= {"x", "v", "y"}
    np.testing.assert_array_equal(
        ir_exec.compile_model(folded)({"x": x})["y"], ir_exec.compile_model(plain)({"x": x})["y"]
    )


def padded_network(folder: Path) -> Path:
    """A network whose version 2023.0 layers the newest OpenVINO reports as two newer layers."""
    proto = model("g (float[2,1,8] x) => (float[2,10] y) { p = Pad(x, pads) y = Squeeze(p, axes) }", opset=18)
    proto.graph.initializer.append(numpy_helper.from_array(np.array([0, 0, 1, 0, 0, 1]), "pads"))
    proto.graph.initializer.append(numpy_helper.from_array(np.array([1]), "axes"))
    return write_model(folder, proto)


def test_an_older_release(tmp_path: Path) -> None:
    path = padded_network(tmp_path)
    newest = convert(path)
    assert ir_exec.check_model(tmp_path / "out.xml", target="2023.0").errors
    for options in (("--target", "2023.0"), ("--to-opset", "11"), ("--target", "2022.1", "--to-opset", "9")):
        older = convert(path, *options)
        assert not ir_exec.check_model(tmp_path / "out.xml", target="2023.0").errors
        x = np.arange(16, dtype=np.float32).reshape(2, 1, 8)
        np.testing.assert_array_equal(
            ir_exec.compile_model(older)({"x": x})["y"], ir_exec.compile_model(newest)({"x": x})["y"]
        )


def test_layers_newer_than_the_release_are_named(tmp_path: Path) -> None:
    proto = model("g (int32[2] x) => (int32[2] y) { y = BitwiseNot(x) }", opset=18)
    proto.graph.node[0].name = "invert"
    path, out = write_model(tmp_path, proto), tmp_path / "out.xml"
    for option, value, reader in (("--target", "2023.0", "OpenVINO 2023.0"), ("--to-opset", "12", "opset12")):
        result = CliRunner().invoke(main, ["convert", str(path), "-o", str(out), option, value])
        assert result.exit_code == 1
        assert mentions(1, reader, "BitwiseNot", "invert", 13) in result.stderr.splitlines()
        assert not out.exists()


def test_release_not_reading_the_ir_version(tmp_path: Path) -> None:
    path = network(tmp_path)
    result = CliRunner().invoke(main, ["convert", str(path), "-o", str(tmp_path / "out.xml"), "--target", "2021.4"])
    assert result.exit_code == 1
    assert "IR version 11 needs OpenVINO 2022.1" in result.stderr
    result = CliRunner().invoke(main, ["convert", str(path), "-o", str(tmp_path / "out.xml"), "--target", "new"])
    assert result.exit_code == 2


def test_file_records_its_producer(tmp_path: Path) -> None:
    model = convert(network(tmp_path), "--shape", "x[4,8]", "--fold", "--to-opset", "13")
    children = {child.name: child for child in model.document.rt_info.children}
    assert children["ir_exec_version"].attributes == {"value": ir_exec.__version__}
    told = {child.name: child.attributes["value"] for child in children["conversion_parameters"].children}
    assert told == {"input_model": "model.onnx", "shape": "x[4,8]", "fold": "true", "to_opset": "13"}
