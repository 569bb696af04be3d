"""Tensors of ONNX's test data, as its own package writes them."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from ir_exec.errors import EvaluationError
from ir_exec.onnx.reading.tensor_files import data_set_files, read_tensor_file
from ir_exec.types import Array

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

ARRAYS = {
    "f32": np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3),
    "f64": np.array([1e300, -0.0]),
    "f16": np.array([[0.5], [np.inf]], np.float16),
    "bf16": np.array([1.5, -2], ml_dtypes.bfloat16),
    "boolean": np.array([True, False]),
    "i8": np.array([-128, 127], np.int8),
    "u16": np.array([65535], np.uint16),
    "i64": np.array([-(2**63), 2**63 - 1]),
    "u64": np.array([2**64 - 1], np.uint64),
    "i4": np.array([-8, 7, 1], ml_dtypes.int4),
    "f8e4m3": np.array([0.5, 448], ml_dtypes.float8_e4m3fn),
    "a scalar": np.array(3, np.int32),
    "no elements": np.empty((0, 2), np.float32),
    "string": np.array(["a", "ü", ""], object),
}

CODES = {
    "f32": TensorProto.FLOAT,
    "f64": TensorProto.DOUBLE,
    "f16": TensorProto.FLOAT16,
    "bf16": TensorProto.BFLOAT16,
    "boolean": TensorProto.BOOL,
    "i8": TensorProto.INT8,
    "u16": TensorProto.UINT16,
    "i64": TensorProto.INT64,
    "u64": TensorProto.UINT64,
    "i4": TensorProto.INT4,
}


def same(actual: Array, expected: Array) -> None:
    assert (actual.dtype, actual.shape) == (expected.dtype, expected.shape)
    assert actual.tolist() == expected.tolist()


@pytest.mark.parametrize("name", ARRAYS)
def test_raw_data(tmp_path: Path, name: str) -> None:
    (tmp_path / "a.pb").write_bytes(numpy_helper.from_array(ARRAYS[name], "x").SerializeToString())
    tensor_name, array = read_tensor_file(tmp_path / "a.pb")
    assert tensor_name == "x"
    same(array, ARRAYS[name])


@pytest.mark.parametrize("name", CODES)
def test_typed_fields(tmp_path: Path, name: str) -> None:
    array = ARRAYS[name]
    tensor = helper.make_tensor("x", CODES[name], array.shape, array.ravel())
    (tmp_path / "a.pb").write_bytes(tensor.SerializeToString())
    same(read_tensor_file(tmp_path / "a.pb")[1], array)


def test_invalid_tensor(tmp_path: Path) -> None:
    serialized = numpy_helper.from_array(ARRAYS["f32"], "x").SerializeToString()
    sequence = numpy_helper.from_list([ARRAYS["f32"]], "x").SerializeToString()
    for raw in (b"", b"\xff\xff", serialized[:-1], serialized[:10], sequence, b"version https://git-lfs"):
        (tmp_path / "a.pb").write_bytes(raw)
        with pytest.raises(EvaluationError) as caught:
            read_tensor_file(tmp_path / "a.pb")
        assert caught.value.code == "IR705"


def test_the_files_of_a_data_set_by_their_numbers(tmp_path: Path) -> None:
    for name in ("input_10.pb", "input_2.pb", "output_0.pb", "input_0.npy"):
        (tmp_path / name).touch()
    assert [Path(path).name for path in data_set_files(tmp_path, "input")] == ["input_2.pb", "input_10.pb"]
    assert data_set_files(tmp_path / "nowhere", "input") == []
