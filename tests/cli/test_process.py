"""Settings of the process in commands, and signals that end it."""

from __future__ import annotations

import gc
import os
import signal
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
import pytest
from click.testing import CliRunner

from ir_exec import build
from ir_exec.cli import main
from ir_exec.cli.process import endings, seldom_collected


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


def test_the_collector_seldom_runs_in_a_command() -> None:
    before = gc.get_threshold()
    with seldom_collected():
        assert gc.get_threshold()[0] > before[0]
    assert gc.get_threshold() == before


def test_disabled_collector_stays_disabled() -> None:
    gc.set_threshold(0)
    with seldom_collected():
        assert gc.get_threshold()[0] == 0


@pytest.mark.parametrize("arguments", [["ops", "Relu"], ["ops", "none-such"], ["check", "/no/such.xml"]])
def test_command_restores_the_collector(arguments: list[str]) -> None:
    before = gc.get_threshold()
    CliRunner().invoke(main, arguments)
    assert gc.get_threshold() == before


def _save_model(path: Path) -> Path:
    x = build.parameter([4], "f32", name="x")
    build.model([build.add(x, build.constant(np.ones(4, np.float32)), name="y")], [x]).save(path)
    return path


def _terminate(*arguments: Any, **options: Any) -> Any:
    os.kill(os.getpid(), signal.SIGTERM)
    raise AssertionError("the signal was ignored")


@pytest.mark.skipif(os.name != "posix", reason="of signals as POSIX has them")
@pytest.mark.parametrize("number", [signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)])
def test_a_signal_deletes_the_new_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    path = _save_model(tmp_path / "m.xml")
    (tmp_path / "out.npz").touch()

    def terminate(file: IO[bytes], arrays: Mapping[str, Any]) -> None:
        file.write(b"half")
        os.kill(os.getpid(), number)

    monkeypatch.setattr("ir_exec.cli.arrays.store_npz", terminate)
    result = CliRunner().invoke(main, ["run", str(path), "-o", str(tmp_path / "out.npz")])
    assert result.exit_code == 128 + number
    assert (tmp_path / "out.npz").stat().st_size == 0
    assert sorted(written_file.name for written_file in tmp_path.iterdir()) == ["m.bin", "m.xml", "out.npz"]
    assert signal.getsignal(number) == signal.SIG_DFL


@pytest.mark.skipif(os.name != "posix", reason="of signals as POSIX has them")
@pytest.mark.parametrize(
    ("arguments", "function"),
    [
        (["bundle", "M", "-o", "b.zip"], "ir_exec.debug.reduction.bundling.current_versions"),
        (["run", "M", "--inputs", "*.npz", "-o", "out", "--jobs", "1"], "ir_exec.batch.worker.write_npz"),
    ],
)
def test_a_signal_deletes_temporary_folders(
    arguments: list[str], function: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    monkeypatch.chdir(tmp_path)
    path = _save_model(tmp_path / "m.xml")
    np.savez("x.npz", x=np.ones(4, np.float32))
    monkeypatch.setattr(function, _terminate)
    result = CliRunner().invoke(main, [str(path) if text == "M" else text for text in arguments])
    assert result.exit_code == 128 + signal.SIGTERM
    assert not list((tmp_path / "tmp").iterdir())


@pytest.mark.skipif(os.name != "posix", reason="of signals as POSIX has them")
@pytest.mark.parametrize("handler", [signal.SIG_IGN, lambda number, frame: None])
def test_handlers_of_others_are_kept(handler: Callable[[int, Any], None] | signal.Handlers) -> None:
    before = signal.signal(signal.SIGTERM, handler)
    try:
        with endings():
            os.kill(os.getpid(), signal.SIGTERM)
            assert signal.getsignal(signal.SIGTERM) == handler
    finally:
        signal.signal(signal.SIGTERM, before)
