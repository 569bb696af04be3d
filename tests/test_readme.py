"""Every example of the README runs and prints what the README shows."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from ir_exec.cli import main
from tests.helpers.examples import blocks_of, check_console, run_example

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()

SHELL = [text.strip() for text in blocks_of(README, "sh")]
CONSOLE = blocks_of(README, "console")
PYTHON = blocks_of(README, "python")


@pytest.fixture(autouse=True)
def _in_a_copy(tmp_path, monkeypatch):
    """Commands write their files to a temporary folder."""
    (tmp_path / "samples").symlink_to(ROOT / "samples")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")


def test_ci_runs_the_documented_test_command():
    assert SHELL[1] in (ROOT / ".ci" / "run").read_text().splitlines()
    assert SHELL[1].endswith("pytest -n 2")


def test_readme_commands_check_broken_and_run_good_file():
    check, run = re.findall(r"\.venv/bin/ir-exec ([^;&]+)", SHELL[0])
    checked = CliRunner().invoke(main, shlex.split(check))
    assert checked.exit_code == 1
    assert "IR601" in checked.output
    # After && the second command would not run, because the check fails.
    assert f"{check}; .venv/bin/ir-exec {run}" in SHELL[0]
    ran = CliRunner().invoke(main, shlex.split(run))
    assert ran.exit_code == 0, ran.output
    assert "output" in ran.output
    assert re.findall(r"^\$ ir-exec (.+)$", CONSOLE[0], re.MULTILINE) == [check, run]


@pytest.mark.parametrize("block", CONSOLE, ids=lambda block: block.splitlines()[0])
def test_commands_print_the_shown_output(block):
    check_console(block)


def test_python_examples_print_their_comments():
    namespace: dict[str, object] = {}
    for block in PYTHON:
        expected, lines = run_example(block, namespace)
        assert lines[: len(expected)] == expected, block


def test_every_sample_is_described() -> None:
    described = set(re.findall(r"`(samples/\w+\.xml)`", (ROOT / "samples" / "README.md").read_text("utf-8")))
    assert described == {f"samples/{path.name}" for path in (ROOT / "samples").glob("*.xml")}
