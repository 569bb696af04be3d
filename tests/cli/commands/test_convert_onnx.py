"""`ir-exec convert` to ONNX: options, what is shown, files, exit codes."""

from __future__ import annotations

from pathlib import Path
from typing import IO

import numpy as np
import onnx
import pytest
from click.testing import CliRunner

import ir_exec
from ir_exec import build
from ir_exec.cli import main
from ir_exec.onnx.export import files
from ir_exec.onnx.export.lower import DEFAULT_OPSET
from ir_exec.onnx.export.writer import StoredTensor
from tests.onnx.files import model as onnx_model
from tests.onnx.files import write_model


def network(folder: Path) -> Path:
    x = build.parameter([None, 8], "f32", name="x")
    weights = build.constant(np.eye(8, dtype=np.float32), name="w")
    model = build.model([build.relu(build.matmul(x, weights, name="h"), name="y")], [x])
    model.save(folder / "m.xml")
    return folder / "m.xml"


def convert(path: Path, *options: str, name: str = "out.onnx") -> onnx.ModelProto:
    out = path.with_name(name)
    result = CliRunner().invoke(main, ["convert", str(path), "-o", str(out), *options])
    assert result.exit_code == 0, result.output
    onnx.checker.check_model(str(out), full_check=True)
    return onnx.load(str(out))


def opset(proto: onnx.ModelProto) -> int:
    return next(imported.version for imported in proto.opset_import if not imported.domain)


def test_an_ir_file_becomes_onnx(tmp_path: Path) -> None:
    proto = convert(network(tmp_path))
    assert [node.name for node in proto.graph.node] == ["h", "y"]
    assert opset(proto) == DEFAULT_OPSET
    assert {prop.key: prop.value for prop in proto.metadata_props}["ir_exec.source"] == "m.xml"


def test_opset_and_external_data(tmp_path: Path) -> None:
    assert opset(convert(network(tmp_path), "--opset", "17", "--external-data")) == 17
    assert not (tmp_path / "out.onnx.data").exists() or (tmp_path / "out.onnx.data").stat().st_size >= 0


def test_shapes_of_inputs(tmp_path: Path) -> None:
    for options, size in ((["--shape", "x[4,8]"], 4), (["--static"], 1)):
        (declared,) = convert(network(tmp_path), *options).graph.input
        assert [dim.dim_value for dim in declared.type.tensor_type.shape.dim] == [size, 8]


def test_an_onnx_file_in_another_opset(tmp_path: Path) -> None:
    path = write_model(tmp_path, onnx_model("g (float[N,8] x) => (float[N,8] y) { y = Relu(x) }", opset=17))
    proto = convert(path, "--opset", "20")
    assert opset(proto) == 20
    again = ir_exec.read_model(tmp_path / "out.onnx")
    assert [str(port) for port in (*again.inputs, *again.outputs)] == ["x f32[?,8]", "y f32[?,8]"]


def test_layers_that_cannot_be_expressed(tmp_path: Path) -> None:
    begins, ends = (build.parameter([2], "i32", name=name) for name in ("begins", "ends"))
    symbols = build.parameter([None], "u8", name="symbols")
    packed = build.string_tensor_pack(begins, ends, symbols, name="packed")
    build.model([packed], [begins, ends, symbols]).save(tmp_path / "m.xml")
    arguments = ["convert", str(tmp_path / "m.xml"), "-o", str(tmp_path / "out.onnx")]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 1
    assert "packed" in result.output
    assert not (tmp_path / "out.onnx").exists()
    result = CliRunner().invoke(main, [*arguments, "--partial"])
    assert result.exit_code == 0
    assert "packed" in result.output
    assert (tmp_path / "out.onnx").exists()


@pytest.mark.parametrize(
    "options",
    [
        ["-o", "out.xml", "--stateful"],
        ["-o", "out.onnx", "--compress-to-fp16"],
        ["-o", "out.onnx", "--to-opset", "13"],
        ["-o", "out.onnx", "--target", "2023.0"],
        ["-o", "out.onnx", "--opset", "16"],
        ["-o", "none/out.onnx"],
        ["-o", "out.bin"],
    ],
)
def test_arguments_that_cannot_be_used(tmp_path: Path, options: list[str]) -> None:
    path = network(tmp_path)
    arguments = [str(tmp_path / option) if option.startswith(("out", "none")) else option for option in options]
    assert CliRunner().invoke(main, ["convert", str(path), *arguments]).exit_code == 2
    assert sorted(file.name for file in tmp_path.iterdir()) == ["m.bin", "m.xml"]


@pytest.mark.parametrize("options", [[], ["--external-data"]])
def test_full_disk_is_one_message_and_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str]
) -> None:
    x = build.parameter([64], "f32", name="x")
    weights = build.constant(np.ones((64, 64), np.float32))
    build.model([build.matmul(x, weights, name="y")], [x]).save(tmp_path / "m.xml")

    def full(file: IO[bytes], tensor: StoredTensor) -> None:
        file.write(b"begun")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files, "write_content", full)
    arguments = ["convert", str(tmp_path / "m.xml"), "-o", str(tmp_path / "out.onnx"), *options]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 2
    assert result.stderr.count("IR009") == 1
    assert sorted(written_file.name for written_file in tmp_path.iterdir()) == ["m.bin", "m.xml"]
