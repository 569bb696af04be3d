"""Pipes and devices in place of files: a command ends, and nothing of unknown size is read completely."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from ir_exec.cli import files, main
from tests.helpers.facts import mentions

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes in the file system")

SAMPLES = Path(__file__).parents[2] / "samples"
MODEL = SAMPLES / "gnn_step.xml"

COMMANDS = [
    ["compare", MODEL, "--with", "index.json"],
    ["diff", MODEL, "index.json"],
    ["trace", MODEL, "-o", "index.json"],
    ["bundle", MODEL, "--report", "pipe.json", "-o", "out.zip"],
    ["bundle", "--run", "pipe.zip"],
    ["run", MODEL, "--input", "features=pipe.txt"],
    ["run", MODEL, "--input", "features=pipe.csv"],
    ["run", MODEL, "--input", "features=pipe.png"],
]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: " ".join(Path(part).name for part in command))
def test_a_pipe_without_a_writer_ends_the_command(command: list[str | Path], tmp_path: Path) -> None:
    name = next(
        str(part).split("=")[-1] for part in command if str(part).endswith(("json", "zip", "txt", "csv", "png"))
    )
    if name == "index.json":
        # The index of a trace.
        (tmp_path / "trace").mkdir()
        os.mkfifo(tmp_path / "trace" / name)
        command = ["trace" if part == name else part for part in command]
    else:
        os.mkfifo(tmp_path / name)
    arguments = [str(part) for part in command]
    # A child: a blocked open cannot be interrupted in this process.
    code = "import sys; from ir_exec.cli import main; main(sys.argv[1:])"
    child = subprocess.run(
        [sys.executable, "-c", code, *arguments], cwd=tmp_path, capture_output=True, timeout=60, check=False
    )
    assert child.returncode in (1, 2)
    assert b"Traceback" not in child.stderr


@pytest.mark.parametrize("option", ["--config", "--baseline"])
def test_a_text_without_an_end_is_refused(option: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # without settings
    monkeypatch.setattr(files, "_MOST_CHARACTERS", 1000)
    result = CliRunner().invoke(main, ["check", str(MODEL), option, "/dev/zero"])
    assert result.exit_code == 2
    assert result.stderr == mentions("/dev/zero", "1,000")


@pytest.mark.parametrize(
    "text", ["a" + ".a" * 50_000 + " = 1", "[a" + ".a" * 50_000 + "]", "x = { a" + ".a" * 5000 + " = 1 }"]
)
def test_keys_of_many_parts_in_settings_are_refused(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ir-exec.toml").write_text(text)
    result = CliRunner().invoke(main, ["check", str(MODEL)])
    assert result.exit_code == 2
    assert result.stderr == mentions("ir-exec.toml", 1)
