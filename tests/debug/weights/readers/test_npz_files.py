"""Arrays of .npz files, sound and damaged ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ir_exec.debug.weights.checkpoint_files import open_checkpoint
from ir_exec.errors import IRError

VALUES = np.arange(12, dtype=np.float32).reshape(3, 4)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_npz(save: object, tmp_path: Path) -> None:
    assert callable(save)
    path = tmp_path / "model.npz"
    save(path, plain=VALUES, half=VALUES.astype(np.float16), turned=np.asfortranarray(VALUES), words=np.array(["a"]))
    checkpoint = open_checkpoint(path)
    assert checkpoint.not_compared == ("words",)
    for name in ("plain", "half", "turned"):
        assert np.array_equal(checkpoint.tensors[name].read(0, 3), VALUES), name
        assert np.array_equal(checkpoint.tensors[name].gather(np.array([5, 1])), [5, 1]), name


def test_objects_in_an_npz_are_not_read(tmp_path: Path) -> None:
    path = tmp_path / "model.npz"
    np.savez(path, w=np.array([{}], object), v=VALUES)
    checkpoint = open_checkpoint(path)
    assert ([*checkpoint.tensors], checkpoint.not_compared) == (["v"], ("w",))


@pytest.mark.parametrize("cut", [30, 100, 200])
def test_damaged_npz_is_one_error(cut: int, tmp_path: Path) -> None:
    path = tmp_path / "model.npz"
    np.savez(path, v=VALUES)
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(IRError):
        open_checkpoint(path)
