"""Files of safetensors, sound and damaged ones."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from ir_exec.debug.weights.checkpoint_files import open_checkpoint
from ir_exec.errors import WeightsError
from tests.debug.weights.networks import save_safetensors

VALUES = np.array([[0.5, -2.0], [1.5, 0.0]])


def write(path: Path, header: object, content: bytes = bytes(16)) -> Path:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + content)
    return path


def entry(**changes: Any) -> dict[str, Any]:
    return {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]} | changes


@pytest.mark.parametrize(
    ("type_name", "dtype"),
    [
        ("F64", np.float64),
        ("F32", np.float32),
        ("F16", np.float16),
        ("BF16", ml_dtypes.bfloat16),
        ("F8_E4M3", ml_dtypes.float8_e4m3fn),
        ("F8_E5M2", ml_dtypes.float8_e5m2),
        ("I64", np.int64),
        ("U8", np.uint8),
    ],
)
def test_types(type_name: str, dtype: Any, tmp_path: Path) -> None:
    stored = np.abs(VALUES).astype(dtype)
    path = save_safetensors(tmp_path / "model.safetensors", {"w": stored}, {"w": type_name})
    tensor = open_checkpoint(path).tensors["w"]
    assert tensor.shape == (2, 2)
    assert np.array_equal(tensor.read(0, 2), stored.astype(np.float32))
    assert np.array_equal(tensor.read(1, 2), stored.astype(np.float32)[1:])
    assert np.array_equal(tensor.gather(np.array([3, 0])), stored.astype(np.float32).reshape(-1)[[3, 0]])


def test_tensor_at_an_odd_offset(tmp_path: Path) -> None:
    path = save_safetensors(tmp_path / "a.safetensors", {"x": np.ones(3, np.uint8), "w": VALUES.astype(np.float32)})
    assert np.array_equal(open_checkpoint(path).tensors["w"].read(0, 2), VALUES)


def test_numbers_beyond_f32_are_infinite(tmp_path: Path) -> None:
    path = save_safetensors(tmp_path / "a.safetensors", {"w": np.array([1e300, 1.0])})
    assert open_checkpoint(path).tensors["w"].read(0, 2).tolist() == [np.inf, 1]


def test_scalar_and_empty_tensor(tmp_path: Path) -> None:
    path = save_safetensors(
        tmp_path / "a.safetensors", {"s": np.float32(2).reshape(()), "e": np.ones((0, 3), np.float32)}
    )
    tensors = open_checkpoint(path).tensors
    assert tensors["s"].read(0, 1).reshape(-1).tolist() == [2]
    assert tensors["e"].read(0, 0).shape == (0, 3)


def test_complex_tensor_is_not_compared(tmp_path: Path) -> None:
    path = write(tmp_path / "a.safetensors", {"c": entry(dtype="C64", shape=[2])})
    checkpoint = open_checkpoint(path)
    assert checkpoint.not_compared == ("c",)
    assert not checkpoint.tensors


@pytest.mark.parametrize(
    "header",
    [
        b"{",
        b"[1]",
        b'{"w": 1}',
        b"\xff\xfe",
        b"[" * 100_000,
        {"w": entry(shape=[3, 2])},
        {"w": entry(shape=[2, -2])},
        {"w": entry(shape=[2, 2.0])},
        {"w": entry(shape=[2**40, 2**40])},
        {"w": entry(shape=[True, 4])},
        {"w": entry(data_offsets=[0, 32])},
        {"w": entry(data_offsets=[16, 0])},
        {"w": entry(data_offsets=[-16, 0])},
        {"w": entry(data_offsets=[0])},
        {"w": entry(dtype=3)},
        {"w": entry(), "v": entry(data_offsets=[8, 24])},
        b'{"w": %s, "w": %s}' % ((b'{"dtype": "U8", "shape": [1], "data_offsets": [0, 1]}',) * 2),
    ],
)
def test_damaged_header_is_one_error(header: object, tmp_path: Path) -> None:
    path = write(tmp_path / "model.safetensors", header)
    with pytest.raises(WeightsError) as error:
        open_checkpoint(path)
    assert error.value.location.path == str(path)


@pytest.mark.parametrize("content", [b"", b"\0" * 7, struct.pack("<Q", 2**63), struct.pack("<Q", 100) + b"{}"])
def test_length_beyond_the_file(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    path.write_bytes(content)
    with pytest.raises(WeightsError):
        open_checkpoint(path)


def test_sharded_folder(tmp_path: Path) -> None:
    save_safetensors(tmp_path / "model-1.safetensors", {"a": VALUES.astype(np.float32)})
    save_safetensors(tmp_path / "model-2.safetensors", {"b": VALUES.astype(np.float16)})
    index = {"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    checkpoint = open_checkpoint(tmp_path)
    assert {name: tensor.format for name, tensor in checkpoint.tensors.items()} == {"a": "f32", "b": "f16"}


@pytest.mark.parametrize("name", ["../model.safetensors", "/etc/passwd", "", "..", "sub/model.safetensors", "a\\b", 3])
def test_index_names_no_file_outside(name: object, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    save_safetensors(tmp_path / "model.safetensors", {"a": VALUES.astype(np.float32)})
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"a": name}}))
    with pytest.raises(WeightsError):
        open_checkpoint(folder)


def test_index_with_a_tensor_that_no_file_has(tmp_path: Path) -> None:
    save_safetensors(tmp_path / "model-1.safetensors", {"a": VALUES.astype(np.float32)})
    index = {"weight_map": {"a": "model-1.safetensors", "b": "model-1.safetensors"}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(WeightsError):
        open_checkpoint(tmp_path)


def test_missing_file_and_other_ending(tmp_path: Path) -> None:
    for path in (tmp_path / "no.safetensors", tmp_path / "weights.txt", tmp_path):
        with pytest.raises(WeightsError) as error:
            open_checkpoint(path)
        assert error.value.code == "IR001"
