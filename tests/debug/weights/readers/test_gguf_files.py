"""Tensors of GGUF files, sound and damaged ones."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

from ir_exec.debug.weights.checkpoint_files import open_checkpoint
from ir_exec.errors import WeightsError
from ir_exec.types import Array

VALUES = np.arange(12, dtype=np.float32).reshape(3, 4)


def gguf(tensors: dict[str, tuple[Array, int, list[int], int]], settings: bytes = b"", count: int = 0) -> bytes:
    """A file with tensors: the array, the type, the dims and the offset of each."""
    header = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), count) + settings
    for name, (_, type_id, dims, offset) in tensors.items():
        header += struct.pack("<Q", len(name)) + name.encode() + struct.pack("<I", len(dims))
        header += struct.pack(f"<{len(dims)}Q", *dims) + struct.pack("<IQ", type_id, offset)
    header += bytes(-len(header) % 32)
    for array, *_ in tensors.values():
        header += array.tobytes() + bytes(-array.nbytes % 32)
    return header


def test_gguf(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    settings = struct.pack("<Q", 1) + b"a" + struct.pack("<IIQ", 9, 8, 1) + struct.pack("<Q", 2) + b"xy"
    halves = VALUES.astype(np.float16)
    path.write_bytes(gguf({"w": (VALUES, 0, [4, 3], 0), "h": (halves, 1, [4, 3], 64)}, settings, 1))
    checkpoint = open_checkpoint(path)
    assert checkpoint.settings == {"a": ["xy"]}
    for name in ("w", "h"):
        assert checkpoint.tensors[name].shape == (3, 4)
        assert np.array_equal(checkpoint.tensors[name].read(0, 3), VALUES)
        assert np.array_equal(checkpoint.tensors[name].read(1, 2), VALUES[1:2])


def test_quantized_gguf(tmp_path: Path) -> None:
    pytest.importorskip("gguf")
    path = tmp_path / "model.gguf"
    blocks = struct.pack("<e", 0.5) + np.arange(-16, 16, dtype=np.int8).tobytes()
    path.write_bytes(gguf({"q": (np.frombuffer(blocks, np.uint8), 8, [32, 1], 0)}))
    tensor = open_checkpoint(path).tensors["q"]
    assert tensor.read(0, 1).reshape(-1).tolist() == [number / 2 for number in range(-16, 16)]
    assert tensor.gather(np.array([31])).tolist() == [7.5]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"GGUF",
        b"GGML" + bytes(40),
        b"GGUF" + struct.pack("<IQQ", 1, 0, 0),
        b"GGUF" + struct.pack("<IQQ", 3, 2**60, 0),
        b"GGUF" + struct.pack("<IQQ", 3, 0, 2**60),
        b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", 2**60),
        b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", 1) + b"a" + struct.pack("<IIQ", 9, 4, 2**60),
        b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", 1) + b"a" + struct.pack("<I", 99),
        gguf({"w": (VALUES, 0, [4, 300], 0)}),
        gguf({"w": (VALUES, 0, [4, 3], 2**40)}),
        gguf({"w": (VALUES, 0, [2**40, 2**40], 0)}),
        gguf({"w": (VALUES, 0, [1, 1, 1, 4, 3], 0)}),
        gguf({"w": (VALUES, 0, [4, 3], 0), "v": (VALUES, 0, [4, 3], 32)}),
    ],
)
def test_damaged_gguf_is_one_error(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(content)
    with pytest.raises(WeightsError) as error:
        open_checkpoint(path)
    assert error.value.location.path == str(path)
