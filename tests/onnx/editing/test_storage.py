"""Writing of edited files with their external data."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from ir_exec.codes import Code
from ir_exec.errors import IRError
from ir_exec.onnx.editing.editor import OnnxEditor
from ir_exec.onnx.editing.sources import OnnxSource
from ir_exec.onnx.editing.storage import write_edited
from tests.onnx.files import external, model, write_model

WEIGHTS = np.arange(60_000, dtype=np.float32).reshape(200, 300)

TEXT = "g (float[200] x) => (float[300] y) { a = MatMul(x, w) y = Add(a, b) }"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A model with one tensor in a second file, after 64 bytes, and one in the file."""
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "model.bin").write_bytes(bytes(64) + WEIGHTS.tobytes())
    proto = model(TEXT)
    proto.graph.initializer.append(external(WEIGHTS, "w", location="model.bin", offset="64", length="240000"))
    proto.graph.initializer.append(numpy_helper.from_array(np.ones(300, np.float32), "b"))
    return write_model(folder, proto)


def tensors(path: Path) -> dict[str, Any]:
    return {tensor.name: numpy_helper.to_array(tensor) for tensor in onnx.load(path).graph.initializer}


def write(path: Path, target: Path, **options: Any) -> list[str]:
    source = OnnxSource(path)
    return write_edited(source, OnnxEditor(source).rename("x", "image").proto(), target, **options)


def require_tensors(path: Path) -> None:
    assert {name: array.tobytes() for name, array in tensors(path).items()} == {
        "w": WEIGHTS.tobytes(),
        "b": np.ones(300, np.float32).tobytes(),
    }


def test_same_folder_keeps_the_file_with_data(path: Path) -> None:
    before = os.stat(path.with_name("model.bin"))
    target = path.with_name("out.onnx")
    assert write(path, target) == [str(target)]
    after = os.stat(path.with_name("model.bin"))
    assert (before.st_mtime_ns, before.st_ino) == (after.st_mtime_ns, after.st_ino)
    require_tensors(target)


def test_other_folder_gets_a_copy(path: Path, tmp_path: Path) -> None:
    target = tmp_path / "out.onnx"
    assert write(path, target) == [str(target), str(tmp_path / "model.bin")]
    assert (tmp_path / "model.bin").read_bytes() == path.with_name("model.bin").read_bytes()
    require_tensors(target)
    # An equal file is not a conflict.
    assert write(path, target) == [str(target)]


def test_other_file_in_the_other_folder_is_not_replaced(path: Path, tmp_path: Path) -> None:
    (tmp_path / "model.bin").write_bytes(b"other")
    with pytest.raises(IRError) as error:
        write(path, tmp_path / "out.onnx")
    assert error.value.code == Code.unwritable
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["model", "model.bin"]


@pytest.mark.parametrize("moved", [True, False])
def test_in_out_and_in_again(moved: bool, path: Path, tmp_path: Path) -> None:
    folder = tmp_path if moved else path.parent
    inside, outside = folder / "inside.onnx", folder / "outside.onnx"
    assert write(path, inside, external_data="in") == [str(inside)]
    require_tensors(inside)
    assert all(tensor.data_location == 0 for tensor in onnx.load(inside, load_external_data=False).graph.initializer)
    source = OnnxSource(inside)
    assert write_edited(source, source.proto, outside, external_data="out") == [str(outside), f"{outside}.data"]
    require_tensors(outside)
    assert outside.stat().st_size < 2000
    source = OnnxSource(outside)
    write_edited(source, source.proto, folder / "again.onnx", external_data="in")
    assert (folder / "again.onnx").read_bytes() == inside.read_bytes()


def test_pack_copies_only_the_data_that_are_read(path: Path, tmp_path: Path) -> None:
    target = tmp_path / "out.onnx"
    assert write(path, target, external_data="pack") == [str(target), f"{target}.data"]
    assert os.path.getsize(f"{target}.data") == WEIGHTS.nbytes
    require_tensors(target)


def test_typed_data_are_moved_out(tmp_path: Path) -> None:
    proto = model("g (float[300] x) => (float[300] y) { y = Add(x, b) }")
    tensor = onnx.helper.make_tensor("b", 1, [300], [0.5] * 300)
    assert len(tensor.float_data) == 300
    proto.graph.initializer.append(tensor)
    source = OnnxSource(proto.SerializeToString())
    write_edited(source, source.proto, tmp_path / "out.onnx", external_data="out")
    np.testing.assert_array_equal(tensors(tmp_path / "out.onnx")["b"], np.full(300, 0.5, np.float32))


@pytest.mark.parametrize("location", ["../secret.bin", "/etc/hostname", ""])
def test_data_outside_the_folder_are_refused(location: str, tmp_path: Path) -> None:
    (tmp_path / "secret.bin").write_bytes(bytes(8))
    (tmp_path / "model").mkdir()
    proto = model("g (float[2] x) => (float[2] y) { y = Add(x, w) }")
    proto.graph.initializer.append(external(np.zeros(2, np.float32), "w", location=location, length="8"))
    path = write_model(tmp_path / "model", proto)
    with pytest.raises(IRError) as error:
        write(path, path.with_name("out.onnx"))
    assert error.value.code == Code.weights_missing
    assert not path.with_name("out.onnx").exists()


@pytest.mark.parametrize("option", ["in", "pack"])
def test_missing_and_short_data(option: Any, path: Path, tmp_path: Path) -> None:
    path.with_name("model.bin").write_bytes(bytes(100))
    with pytest.raises(IRError) as error:
        write(path, tmp_path / "out.onnx", external_data=option)
    assert error.value.code in (Code.weights_short, Code.unwritable)
    path.with_name("model.bin").unlink()
    with pytest.raises(IRError):
        write(path, tmp_path / "out.onnx", external_data=option)
    assert [entry.name for entry in tmp_path.iterdir()] == ["model"]
    # Edits in the folder do not need the data.
    assert write(path, path.with_name("out.onnx"))
