"""Every example of the README is run, and what it shows is what comes out."""

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
def _in_the_clone(monkeypatch):
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "120")


def test_there_are_examples_of_every_kind():
    assert len(SHELL) >= 2
    assert len(CONSOLE) >= 2
    assert PYTHON


def test_ci_runs_the_test_command_as_it_is_given():
    assert SHELL[1] in (ROOT / ".ci" / "run").read_text().splitlines()
    assert SHELL[1].endswith("pytest -n 2")


def test_the_first_command_checks_a_broken_file_and_runs_a_good_one():
    """What it prints is shown below it: `test_commands_print_what_is_shown`."""
    check, run = re.findall(r"\.venv/bin/ir-exec ([^;&]+)", SHELL[0])
    checked = CliRunner().invoke(main, shlex.split(check))
    assert checked.exit_code == 1
    assert "IR601" in checked.output
    # A command behind && would not be run, and the whole would fail.
    assert f"{check}; .venv/bin/ir-exec {run}" in SHELL[0]
    ran = CliRunner().invoke(main, shlex.split(run))
    assert ran.exit_code == 0, ran.output
    assert "output" in ran.output
    assert re.findall(r"^\$ ir-exec (.+)$", CONSOLE[0], re.MULTILINE) == [check, run]


@pytest.mark.parametrize("block", CONSOLE, ids=lambda block: block.splitlines()[0])
def test_commands_print_what_is_shown(block):
    check_console(block)


def test_python_examples_run_in_their_order_and_print_what_their_comments_say():
    namespace: dict[str, object] = {}
    for block in PYTHON:
        expected, lines = run_example(block, namespace)
        assert lines[: len(expected)] == expected, block


def test_every_sample_is_described_and_every_file_named_exists():
    described = set(re.findall(r"`(samples/\w+\.xml)`", README))
    assert described == {f"samples/{path.name}" for path in (ROOT / "samples").glob("*.xml")}
    named = re.findall(r"`((?:samples|schemas|docs|benchmarks)/[\w./]+)`", README)
    linked = re.findall(r"\]\((?!https?:)([^)#]+)", README)
    assert len(linked) > 10
    assert [name for name in [*named, *linked] if not (ROOT / name).exists()] == []


def test_two_screens():
    assert len(README.splitlines()) <= 120
