"""Items in files: rows of stacks, whole archives, and whose input an array is."""

from __future__ import annotations

import json
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ir_exec import build
from ir_exec.batch.items import StoredFile, StoredItem, digest_of, items_in
from ir_exec.batch.names import port_of_key
from ir_exec.errors import EvaluationError
from ir_exec.model import ModelPort
from ir_exec.types import Array, ElementType, Shape
from tests.helpers.facts import naming


def port(name: str, shape: str = "?,4", element_type: ElementType = ElementType.f32) -> ModelPort:
    return ModelPort(name, frozenset([name, f"{name}:0"]), element_type, Shape.parse(shape))


X = [port("x")]
DATA = np.arange(28, dtype=np.float32).reshape(7, 4)


def store(folder: Path, suffix: str, data: Array = DATA) -> StoredFile:
    path = folder / f"stack{suffix}"
    if suffix == ".npy":
        np.save(path, data)
    elif suffix == ".npz":
        np.savez(path, x=data)
    elif suffix == ".zarr":
        zarr = pytest.importorskip("zarr", reason="Zarr is not installed")
        zarr.save_array(str(path), data)
    else:
        pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
        parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
        rows = pyarrow.array(data.reshape(len(data), -1).tolist(), pyarrow.list_(pyarrow.float32()))
        table = pyarrow.table({"id": list(range(len(data))), "x": rows})
        parquet.write_table(table, path, row_group_size=3)
    return StoredFile(str(path))


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".zarr", ".parquet"])
@pytest.mark.parametrize("batch", [1, 2, 3, 7, 9])
def test_rows_of_a_stack(tmp_path: Path, suffix: str, batch: int) -> None:
    items = list(items_in([store(tmp_path, suffix)], X, batch))
    assert len(items) == -(-7 // batch)
    assert len({name for name, _ in items}) == len(items)
    parts = [item.load(X)[0]["x"] for _, item in items]
    assert all(len(part) == batch for part in parts[:-1])
    assert np.array_equal(np.concatenate(parts), DATA)
    assert {part.dtype for part in parts} == {np.dtype(np.float32)}


def test_names_are_in_the_order_of_the_rows(tmp_path: Path) -> None:
    names = [name for name, _ in items_in([store(tmp_path, ".npy", np.zeros((12, 4), np.float32))], X, 1)]
    assert names == sorted(names)
    assert names[0] == "stack-00"


def test_without_a_batch_the_network_says_how_many_rows(tmp_path: Path) -> None:
    items = list(items_in([store(tmp_path, ".npy")], [port("x", "3,4")]))
    assert [item.rows for _, item in items] == [(0, 3), (3, 6), (6, 7)]


def test_a_stack_of_whole_inputs(tmp_path: Path) -> None:
    data = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    items = list(items_in([store(tmp_path, ".npy", data)], X))
    assert [item.load(X)[0]["x"].tolist() for _, item in items] == data.tolist()


def test_flat_columns_get_the_shape_of_their_input(tmp_path: Path) -> None:
    data = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    ports = [port("x", "?,3,4")]
    (_, item), *_ = items_in([store(tmp_path, ".parquet", data)], ports, 2)
    assert np.array_equal(item.load(ports)[0]["x"], data)


def test_an_archive_is_one_item(tmp_path: Path) -> None:
    ((name, item),) = items_in([store(tmp_path, ".npz")], X)
    assert (name, item.rows) == ("stack", None)
    assert np.array_equal(item.load(X)[0]["x"], DATA)


def test_a_file_for_each_input(tmp_path: Path) -> None:
    ports = [port("x"), port("y", "?")]
    np.save(tmp_path / "a.npy", DATA)
    np.save(tmp_path / "b.npy", np.arange(7, dtype=np.float64))
    files = [StoredFile(str(tmp_path / "a.npy"), "x"), StoredFile(str(tmp_path / "b.npy"), "in1")]
    items = [item for _, item in items_in(files, ports, 4)]
    assert [item.load(ports)[0]["y"].tolist() for item in items] == [[0, 1, 2, 3], [4, 5, 6]]
    np.save(tmp_path / "b.npy", np.zeros(6))
    with pytest.raises(EvaluationError, match=naming("[7, 4]")):
        list(items_in(files, ports, 4))


@pytest.mark.parametrize(
    ("key", "message"),
    [("", naming("x", "y")), ("z", naming("z", "x", "y")), ("in2", naming("in2", "x", "y"))],
)
def test_arrays_for_no_input(tmp_path: Path, key: str, message: str) -> None:
    np.save(tmp_path / "a.npy", DATA)
    item = StoredItem((StoredFile(str(tmp_path / "a.npy"), key),))
    with pytest.raises(EvaluationError, match=message):
        item.load([port("x"), port("y")])


def test_files_without_arrays(tmp_path: Path) -> None:
    for name in ("a.npy", "a.npz", "a.parquet"):
        (tmp_path / name).write_bytes(b"not an array")
        with pytest.raises(EvaluationError, match=name):
            StoredItem((StoredFile(str(tmp_path / name)),)).load(X)
    with pytest.raises(EvaluationError, match=naming("a.txt", ".npz", ".npy", ".zarr", ".parquet")):
        StoredItem((StoredFile(str(tmp_path / "a.txt")),)).load(X)
    with pytest.raises(FileNotFoundError):
        StoredItem((StoredFile(str(tmp_path / "b.npy")),)).load(X)


def test_columns_without_a_value_or_of_several_lengths(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    for rows, message in [([[1.0], None], "without a value"), ([[1.0], [1.0, 2.0]], "'x'")]:
        parquet.write_table(pyarrow.table({"x": rows}), tmp_path / "a.parquet")
        with pytest.raises(EvaluationError, match=message):
            StoredItem((StoredFile(str(tmp_path / "a.parquet")),)).load(X)


@given(st.lists(st.integers(0, 3), max_size=3), st.sampled_from(["f4", "i8", "O"]))
def test_digests_differ_where_arrays_do(shape: list[int], dtype: str) -> None:
    array: Any = np.zeros(shape, dtype)
    assert digest_of({"x": array}) == digest_of({"x": array.copy()})
    assert digest_of({"x": array}) != digest_of({"y": array})
    assert digest_of({"x": array}) != digest_of({"x": array[None]})
    if array.size:
        other = array.copy()
        other[(-1,) * array.ndim] = 1
        assert digest_of({"x": array}) != digest_of({"x": other})


@pytest.mark.parametrize(
    ("key", "expected"),
    [("a", "a"), ("in0", "a"), ("in1", "arr_0"), ("arr_1", "arr_0"), ("arr_0", "arr_0"), ("in2", None), ("b", None)],
)
def test_names_come_before_positions(key: str, expected: str | None) -> None:
    inputs = [build.parameter([2], name=name) for name in ("a", "arr_0")]
    ports = build.model([build.result(build.add(*inputs))], inputs).inputs
    port = port_of_key(key, ports)
    assert (port and port.name) == expected


def test_zarr_with_pickles_runs_no_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("zarr", reason="Zarr is not installed")
    pickles = pytest.importorskip("numcodecs.pickles", reason="Zarr is not installed")
    # As in versions that decode pickles by default.
    monkeypatch.setattr(pickles, "ALLOW_UNSAFE_PICKLE_DECODE", True, raising=False)
    path = tmp_path / "stack.zarr"
    path.mkdir()
    metadata = {
        "zarr_format": 2,
        "shape": [1],
        "chunks": [1],
        "dtype": "|O",
        "order": "C",
        "fill_value": None,
        "compressor": None,
        "filters": [{"id": "pickle", "protocol": 4}],
    }
    (path / ".zarray").write_text(json.dumps(metadata))
    (path / "0").write_bytes(pickle.dumps(Touch(str(tmp_path / "ran"))))
    with pytest.raises(EvaluationError):
        [item.load(X) for _, item in items_in([StoredFile(str(path))], X, 1)]
    assert not (tmp_path / "ran").exists()


class Touch:
    """An object whose pickle makes a file when it is loaded."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return open, (self.path, "w")


def test_rows_of_a_replaced_file_are_read_again(tmp_path: Path) -> None:
    """The file is mapped once for the rows of several items."""
    path = tmp_path / "x.npy"
    port = build.model(build.relu(build.parameter([2], "f32", name="x"))).inputs[0]
    for first in (0, 10):
        np.save(tmp_path / "new.npy", np.arange(first, first + 6, dtype=np.float32).reshape(3, 2))
        os.replace(tmp_path / "new.npy", path)
        os.utime(path, ns=(first, first))
        for row in range(3):
            arrays, _ = StoredItem((StoredFile(str(path)),), (row, row + 1), is_single=True).load([port])
            assert arrays["x"].tolist() == [first + 2 * row, first + 2 * row + 1]
