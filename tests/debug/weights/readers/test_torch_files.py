"""Checkpoints of PyTorch without PyTorch: what is read, and pickles that are refused before anything is called."""

from __future__ import annotations

import pickle
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest

from ir_exec.debug.weights.checkpoint_files import is_checkpoint, open_checkpoint
from ir_exec.errors import WeightsError
from ir_exec.types import Array, ElementType

VALUES = np.arange(6, dtype=np.float32).reshape(2, 3)


def text(value: str) -> bytes:
    return b"X" + struct.pack("<I", len(value)) + value.encode()


def number(value: int) -> bytes:
    return b"J" + struct.pack("<i", value)


def numbers(*values: int) -> bytes:
    return b"(" + b"".join(map(number, values)) + b"t"


def tensor(
    key: str, shape: tuple[int, ...], strides: tuple[int, ...], offset: int = 0, storage: str = "FloatStorage"
) -> bytes:
    """The instructions for a tensor, as torch.save writes them."""
    storage_id = b"(" + text("storage") + f"ctorch\n{storage}\n".encode() + text(key) + text("cpu") + number(6) + b"tQ"
    arguments = (
        b"(" + storage_id + number(offset) + numbers(*shape) + numbers(*strides) + b"\x89ccollections\nOrderedDict\n)Rt"
    )
    return b"ctorch._utils\n_rebuild_tensor_v2\n" + arguments + b"R"


def state(**entries: bytes) -> bytes:
    members = b"".join(text(name) + value for name, value in entries.items())
    return b"\x80\x02ccollections\nOrderedDict\n)R(" + members + b"u."


def write(path: Path, content: bytes, storages: dict[str, Array]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data.pkl", content)
        for key, array in storages.items():
            archive.writestr(f"archive/data/{key}", array.tobytes())
    return path


def test_tensors(tmp_path: Path) -> None:
    halves = VALUES.astype(np.float16)
    content = state(
        plain=tensor("0", (2, 3), (3, 1)),
        turned=tensor("0", (3, 2), (1, 3)),
        part=tensor("0", (2,), (1,), offset=4),
        strided=tensor("0", (2, 2), (3, 2)),
        half=tensor("1", (6,), (1,), storage="HalfStorage"),
    )
    path = write(tmp_path / "model.pt", content, {"0": VALUES, "1": halves})
    tensors = open_checkpoint(path).tensors
    assert is_checkpoint(str(path))
    expected = {
        "plain": VALUES,
        "turned": VALUES.T,
        "part": VALUES.reshape(-1)[4:],
        "strided": VALUES[:, ::2],
        "half": VALUES.reshape(-1),
    }
    for name, array in expected.items():
        assert np.array_equal(tensors[name].read(0, array.shape[0]), array), name
        assert np.array_equal(tensors[name].gather(np.arange(array.size)), array.reshape(-1)), name


def test_nested_state(tmp_path: Path) -> None:
    inner = b"}(" + text("w") + tensor("0", (2, 3), (3, 1)) + b"u"
    content = b"\x80\x02}(" + text("state_dict") + inner + text("epoch") + number(3) + b"u."
    assert [*open_checkpoint(write(tmp_path / "a.pt", content, {"0": VALUES})).tensors] == ["w"]


class Hostile:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return (print, ("called",))


@pytest.mark.parametrize(
    "content",
    [
        pickle.dumps({"w": Hostile()}),
        pickle.dumps({"w": Hostile()}, protocol=4),
        b"\x80\x02cos\nsystem\n(" + text("true") + b"tR.",
        b"\x80\x02cbuiltins\neval\n(" + text("1") + b"tR.",
        b"\x80\x02(i__main__\nHostile\n.",
        b"\x80\x02}r\xff\xff\xff\x7f.",
        b"\x80\x02ctorch\nnn.Module\n.",
        b"",
        b"\x80\x02.",
        b"\x80\x02" + b"(" * 100_000 + b".",
        state(w=number(3)),
        state(w=tensor("0", (2, 4), (4, 1))),
        state(w=tensor("9", (2, 3), (3, 1))),
        state(w=tensor("0", (-2, 3), (3, 1))),
        state(w=tensor("0", (2, 3), (3,))),
        state(w=tensor("0", (2**30, 2**30), (0, 0))),
        state(w=tensor("0", (2, 3), (3, 1), storage="ComplexFloatStorage")),
    ],
)
def test_other_pickles_are_one_error(content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path / "model.pt", content, {"0": VALUES})
    with pytest.raises(WeightsError) as error:
        open_checkpoint(path)
    assert error.value.location.path == str(path)
    assert capsys.readouterr().out == ""


def test_a_pickle_changes_no_object_of_the_program(tmp_path: Path) -> None:
    # BUILD sets the attributes of what a pickle refers to.
    storage = b"\x80\x02ctorch\nFloatStorage\n}" + text("bits") + number(64) + b"sb."
    function = b"\x80\x02ccollections\nOrderedDict\n}" + text("__defaults__") + b")sb."
    for content in (storage, function):
        with pytest.raises(WeightsError):
            open_checkpoint(write(tmp_path / "model.pt", content, {"0": VALUES}))
    assert ElementType.f32.bits == 32
    assert [
        *open_checkpoint(write(tmp_path / "a.pt", state(w=tensor("0", (2, 3), (3, 1))), {"0": VALUES})).tensors
    ] == ["w"]


def test_damaged_archive(tmp_path: Path) -> None:
    path = write(tmp_path / "model.pt", state(w=tensor("0", (2, 3), (3, 1))), {"0": VALUES})
    content = path.read_bytes()
    for damaged in (content[:40], content[:-30], b"PK\x03\x04" + bytes(100)):
        path.write_bytes(damaged)
        with pytest.raises(WeightsError):
            open_checkpoint(path)


def test_a_bin_of_ir_is_no_checkpoint(tmp_path: Path) -> None:
    path = tmp_path / "model.bin"
    path.write_bytes(VALUES.tobytes())
    assert not is_checkpoint(str(path))
