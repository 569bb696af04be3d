"""Arrays in .npy and .npz files, as NumPy writes them and damaged in every way."""

from __future__ import annotations

import io
import os
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ir_exec import EvaluationError, IRError, ResourceError
from ir_exec.codes import Code
from ir_exec.debug.values import files
from ir_exec.debug.values.files import read_npy, read_npz, read_stored
from ir_exec.types import Array
from tests.helpers.facts import coded, fault_with

ARRAYS: dict[str, Array] = {
    "f32": np.arange(12, dtype=np.float32).reshape(3, 4),
    "fortran": np.asfortranarray(np.arange(12).reshape(3, 4)),
    "scalar": np.array(3.5),
    "empty": np.zeros((0, 3), np.int8),
    "text": np.array(["a", "bcd"]),
    "bytes": np.array([b"ab", b"c"]),
    "boolean": np.array([True, False]),
    "big endian": np.arange(3, dtype=">i4"),
    "record": np.array([(1, 2.5)], [("a", "i1"), ("\u00e4", "f4")]),
    "complex": np.array([1 + 2j]),
}


@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.parametrize("mapped", [True, False])
def test_arrays_that_numpy_wrote(name: str, mapped: bool, tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", ARRAYS[name])
    array = read_npy(tmp_path / "a.npy", mapped=mapped)
    assert (array.dtype, array.shape, array.tolist()) == (ARRAYS[name].dtype, ARRAYS[name].shape, ARRAYS[name].tolist())
    assert array.flags.f_contiguous == ARRAYS[name].flags.f_contiguous
    assert np.array_equal(read_stored(tmp_path / "a.npy"), ARRAYS[name])


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_archives_that_numpy_wrote(save: Callable[..., None], tmp_path: Path) -> None:
    save(tmp_path / "a.npz", **ARRAYS)
    for arrays in (read_npz(tmp_path / "a.npz"), read_stored(tmp_path / "a.npz")):
        assert isinstance(arrays, dict)
        assert list(arrays) == list(ARRAYS)
        assert all(arrays[name].tolist() == array.tolist() for name, array in ARRAYS.items())


def test_a_header_of_python_2(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    path.write_bytes(npy("{'descr': '<i4', 'fortran_order': False, 'shape': (2L, 1L), }", bytes(8)))
    assert read_npy(path).tolist() == [[0], [0]]


def npy(header: str, content: bytes = bytes(64), version: bytes = b"\x01\x00") -> bytes:
    text = header.encode() + b"\n"
    return b"\x93NUMPY" + version + struct.pack("<H", len(text)) + text + content


def make_header(descr: object = "<f4", order: object = False, shape: object = (2,), **others: object) -> str:
    return repr({"descr": descr, "fortran_order": order, "shape": shape, **others})


HEADERS = {
    "dims beyond the file": make_header(shape=(10**6,)),
    "dims beyond i64": make_header(shape=(2**70,)),
    "a product beyond i64": make_header(shape=(2**40, 2**40)),
    "a dim of 5,000 digits": make_header(shape=()).replace("()", f"({'9' * 4000},)"),
    "a negative dim": make_header(shape=(-1,)),
    "a dim that is a boolean": make_header(shape=(True,)),
    "a dim that is a float": make_header(shape=(2.0,)),
    "a dim that is a text": make_header(shape=("2",)),
    "a shape that is a list": make_header(shape=[2]),
    "a shape that is a number": make_header(shape=2),
    "65 dims": make_header(shape=(1,) * 65),
    "an unknown type": make_header(descr="<q9"),
    "a type that is a number": make_header(descr=4),
    "a type that is None": make_header(descr=None),
    "a type that is a dictionary": make_header(descr={}),
    "a nested type": make_header(descr=[("a", [("b", [("c", "|O")])])]),
    "objects": make_header(descr="|O"),
    "objects in records": make_header(descr=[("a", "<f4"), ("b", "|O")]),
    "elements without bytes": make_header(descr="|V0", shape=(10**12,)),
    "texts of 4 GB": make_header(descr="<U1000000000"),
    "arrays as elements": make_header(descr="(100,100)f4"),
    "an order that is a number": make_header(order=3),
    "a key too many": make_header(other=1),
    "no keys": "{}",
    "a list": "[1, 2]",
    "a call": "{'descr': exit(), 'fortran_order': False, 'shape': ()}",
    "no Python": "{'descr': ",
    "deep brackets": "(" * 3000 + ")" * 3000,
    "deep signs": "-" * 5000 + "1",
    "an unhashable key": "{[]: 1}",
    "a long header": make_header() + " " * 20_000,
}


@pytest.mark.parametrize("name", HEADERS)
def test_damaged_headers(name: str, tmp_path: Path) -> None:
    content = npy(HEADERS[name])
    (tmp_path / "a.npy").write_bytes(content)
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("x.npy", content)
    for read, path in ((read_npy, "a.npy"), (read_stored, "a.npy"), (read_stored, "a.npz"), (read_npz, "a.npz")):
        with pytest.raises(EvaluationError, check=coded(Code.unknown_input)) as caught:
            read(tmp_path / path)
        assert caught.value == fault_with(path)
    with pytest.raises(EvaluationError, check=coded(Code.unknown_input)):
        read_npy(tmp_path / "a.npy", mapped=True)


def archive_of(array: Array, method: int = zipfile.ZIP_DEFLATED) -> bytearray:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", method) as archive:
        member = io.BytesIO()
        np.save(member, array)
        archive.writestr("x.npy", member.getvalue())
    return bytearray(content.getvalue())


def mark_encrypted(content: bytearray) -> bytearray:
    for start, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(start) + flags] |= 1
    return content


def unknown_method(content: bytearray) -> bytearray:
    for start, method in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
        at = content.index(start) + method
        content[at : at + 2] = b"\x63\x00"
    return content


def lying_size(content: bytearray) -> bytearray:
    at = content.index(b"PK\x01\x02") + 24
    content[at : at + 4] = struct.pack("<I", 2**31)
    return content


def flip_bit(content: bytearray) -> bytearray:
    content[60] ^= 0xFF
    return content


ARCHIVES: dict[str, Callable[[bytearray], bytearray]] = {
    "an encrypted member": mark_encrypted,
    "an unknown compression": unknown_method,
    "a damaged member": flip_bit,
    "an end that is missing": lambda content: content[:-30],
    "half of it": lambda content: content[: len(content) // 2],
    "text": lambda _: bytearray(b"PK is not enough"),
    "nothing": lambda _: bytearray(),
}


@pytest.mark.parametrize("name", ARCHIVES)
def test_damaged_archives(name: str, tmp_path: Path) -> None:
    content = archive_of(np.random.default_rng(0).normal(size=100))
    (tmp_path / "a.npz").write_bytes(ARCHIVES[name](content))
    for read in (read_npz, read_stored):
        with pytest.raises(EvaluationError, check=coded(Code.unknown_input)):
            read(tmp_path / "a.npz")


def test_false_size(tmp_path: Path) -> None:
    header = make_header(descr="|u1", shape=(2**30,))
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.npy", npy(header))
    (tmp_path / "a.npz").write_bytes(lying_size(bytearray(content.getvalue())))
    with pytest.raises(EvaluationError, check=coded(Code.unknown_input)):
        read_npz(tmp_path / "a.npz")


def test_packed_arrays_beyond_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.savez_compressed(tmp_path / "a.npz", a=np.zeros(10_000, np.int8), b=np.zeros(10_000, np.int8))
    assert read_npz(tmp_path / "a.npz", most_bytes=20_000).keys() == {"a", "b"}
    with pytest.raises(ResourceError, check=coded(Code.limit_exceeded)):
        read_npz(tmp_path / "a.npz", most_bytes=19_999)
    monkeypatch.setattr(files, "default_budget", lambda: 19_999)
    with pytest.raises(ResourceError, check=coded(Code.limit_exceeded)):
        read_stored(tmp_path / "a.npz")


def test_members_without_arrays(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("notes.txt", b"text")
    with pytest.raises(EvaluationError, check=coded(Code.unknown_input)) as caught:
        read_npz(tmp_path / "a.npz")
    assert caught.value == fault_with("notes.txt")


def test_objects_are_not_read(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.array([{}], object), allow_pickle=True)
    with pytest.raises(EvaluationError, check=coded(Code.unknown_input)) as caught:
        read_npy(tmp_path / "a.npy")
    assert caught.value.hint is not None


def test_paths_without_files(tmp_path: Path) -> None:
    paths = [tmp_path]
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe.npz")
        paths.append(tmp_path / "pipe.npz")
    readers: list[Callable[[Any], Any]] = [read_npy, read_npz, read_stored]
    for path in paths:
        for read in readers:
            with pytest.raises(EvaluationError, check=coded(Code.unknown_input)):
                read(path)
    for read in readers:
        with pytest.raises(EvaluationError, check=coded(Code.unreadable_path)):
            read(tmp_path / "missing.npz")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data())
def test_any_damage_is_an_error_or_an_array(data: st.DataObject, tmp_path: Path) -> None:
    method = data.draw(st.sampled_from([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]))
    content = archive_of(np.arange(20, dtype=np.float32).reshape(4, 5), method)
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    content = content[: data.draw(st.integers(0, len(content)))] if data.draw(st.booleans()) else content
    (tmp_path / "a.npz").write_bytes(content)
    try:
        arrays = read_npz(tmp_path / "a.npz")
    except IRError:
        return
    assert all(isinstance(array, np.ndarray) for array in arrays.values())
