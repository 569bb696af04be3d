"""ONNX files that are written: constants inside of or next to them, element types, full disks."""

from __future__ import annotations

from pathlib import Path
from typing import IO

import numpy as np
import onnx
import onnxruntime
import pytest

import ir_exec
from ir_exec import build
from ir_exec.errors import IRError
from ir_exec.onnx import write_model
from ir_exec.onnx.export import files
from ir_exec.onnx.export.lower import lower_model
from ir_exec.onnx.export.writer import StoredTensor
from ir_exec.types import Array, ElementType

WEIGHTS = np.random.default_rng(0).standard_normal((64, 64)).astype(np.float32)


def product() -> ir_exec.Model:
    x = build.parameter([None, 64], "f32", name="x")
    return build.model([build.matmul(x, build.constant(WEIGHTS, name="w"), name="y")], [x])


def outputs(path: Path) -> Array:
    results = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"]).run(
        None, {"x": np.eye(64, dtype=np.float32)}
    )
    return np.asarray(results[0])


@pytest.mark.parametrize("external", [None, False, True])
def test_constants_inside_and_beside(tmp_path: Path, external: bool | None) -> None:
    path = tmp_path / "m.onnx"
    write_model(product(), path, external_data=external)
    names = ["m.onnx", "m.onnx.data"] if external else ["m.onnx"]
    assert sorted(entry.name for entry in tmp_path.iterdir()) == names
    onnx.checker.check_model(str(path), full_check=True)
    np.testing.assert_allclose(outputs(path), WEIGHTS, rtol=1e-6)
    (tensor,) = onnx.load(str(path)).graph.initializer
    assert tensor.name == "w"


def test_constants_are_read_one_by_one() -> None:
    exported = lower_model(product())
    assert list(exported.tensors) == ["w"]
    assert not exported.proto.graph.initializer


def test_large_constants_are_external_by_themselves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "EXTERNAL_FROM", 2**10)
    write_model(product(), tmp_path / "m.onnx")
    assert (tmp_path / "m.onnx.data").stat().st_size == WEIGHTS.nbytes


@pytest.mark.parametrize("external", [False, True])
def test_failed_write_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, external: bool) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(b"before")

    def full(file: IO[bytes], tensor: StoredTensor) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files, "write_content", full)
    with pytest.raises(IRError) as caught:
        write_model(product(), path, external_data=external)
    assert caught.value.code == "IR009"
    assert [entry.name for entry in tmp_path.iterdir()] == ["m.onnx"]
    assert path.read_bytes() == b"before"


def test_paths_that_cannot_be_used(tmp_path: Path) -> None:
    for path in (tmp_path / "none" / "m.onnx", 3):
        with pytest.raises(IRError) as caught:
            write_model(product(), path)  # type: ignore[arg-type]  # that is the fault
        assert caught.value.code == "IR009"


@pytest.mark.parametrize(
    "element_type", ["f16", "bf16", "f64", "i8", "u16", "i64", "boolean", "u4", "i4", "f8e4m3", "f8e5m2"]
)
def test_element_types_of_constants(element_type: str) -> None:
    array = np.arange(4096).reshape(64, 64).astype(np.int64) % 2
    constant = array.astype(np.float32).astype(ElementType[element_type].dtype)
    x = build.parameter([64, 64], "f32", name="x")
    model = build.model([build.add(x, build.convert(build.constant(constant), "f32"))], [x])
    exported = lower_model(model)
    (stored,) = exported.tensors.values()
    assert onnx.TensorProto.DataType.Name(stored.code) == NAMES[element_type]
    content = files.to_bytes(exported)
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    np.testing.assert_array_equal(session.run(None, {"x": np.zeros((64, 64), np.float32)})[0], array)


NAMES = {
    "f16": "FLOAT16",
    "bf16": "BFLOAT16",
    "f64": "DOUBLE",
    "i8": "INT8",
    "u16": "UINT16",
    "i64": "INT64",
    "boolean": "BOOL",
    "u4": "UINT4",
    "i4": "INT4",
    "f8e4m3": "FLOAT8E4M3FN",
    "f8e5m2": "FLOAT8E5M2",
}
