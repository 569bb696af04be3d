"""Outputs of many items that workers write to files."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from ir_exec import batch
from ir_exec.batch.items import StoredFile, StoredItem
from ir_exec.batch.pool import WorkerLostError
from ir_exec.batch.pools import Processes
from ir_exec.batch.worker import StoringItem, ended_after_cleanup
from ir_exec.cli import main
from ir_exec.ir.storage import replacing
from tests.helpers.items import weighed_network

WEIGHTS = np.arange(12, dtype=np.float32).reshape(4, 3)


@pytest.fixture
def items_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with net.xml, and data/0.npz to data/4.npz with the input `in0`."""
    weighed_network(tmp_path)
    (tmp_path / "data").mkdir()
    for index in range(5):
        np.savez(tmp_path / "data" / f"{index}.npz", in0=np.full((2, 4), index, np.float32))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run_items(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["run", "net.xml", "--inputs", "data/*.npz", "--output", "out", *arguments])


def test_workers_write_the_outputs(items_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[object] = []
    monkeypatch.setattr("ir_exec.batch.folder.write_npz", lambda *arguments: written.append(arguments))
    assert run_items("--jobs", "2").exit_code == 0
    assert written == []
    for index in range(5):
        (array,) = np.load(f"out/{index}.npz").values()
        np.testing.assert_array_equal(array, np.full((2, 4), index, np.float32) @ WEIGHTS)


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_unwritable_output_ends_the_run(items_folder: Path, jobs: str) -> None:
    run_items()
    Path("out/2.npz").unlink()
    Path("out/2.npz").mkdir()
    result = run_items("--jobs", jobs)
    assert result.exit_code == 2
    assert result.output.startswith("error[IR009 ")


def test_results_name_the_files(items_folder: Path) -> None:
    stored = StoringItem(StoredItem((StoredFile("data/1.npz"),)), "one.npz")
    missing = StoringItem(StoredItem((StoredFile("data/9.npz"),)), "nine.npz")
    results = list(batch.run("net.xml", [stored, missing, ["data/3.npz"]]))
    assert [result.path for result in results] == ["one.npz", None, None]
    assert results[0].outputs is None
    assert results[0].error is None
    assert results[0].digest
    assert results[1].error is not None
    assert results[1].error.code == "IR705"
    assert sorted(os.listdir()) == ["data", "net.bin", "net.xml", "one.npz"]


def test_stored_files_are_looked_up_once(items_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for index in range(5, 20):
        np.savez(f"data/{index}.npz", in0=np.full((2, 4), index, np.float32))
    assert run_items().exit_code == 0
    for index in range(20):
        np.savez(f"data/{index}.npz", in0=np.full((2, 4), index + 1, np.float32))
    paths: list[str] = []
    from ir_exec.cli.output import writing

    read_key = writing.file_key
    monkeypatch.setattr(writing, "file_key", lambda path: paths.append(path) or read_key(path))
    assert "ran 20 items" in run_items().output
    assert len(paths) == len(set(paths))


def end_while_writing(path: str) -> None:
    with ended_after_cleanup(), replacing(path) as file:
        file.write(b"half")
        os.kill(os.getpid(), signal.SIGTERM)


def test_terminated_worker_leaves_no_temporary_file(tmp_path: Path) -> None:
    with Processes(1) as pool, pytest.raises(WorkerLostError):
        pool.submit(end_while_writing, str(tmp_path / "out.npz")).result()
    assert os.listdir(tmp_path) == []
