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


@pytest.mark.parametrize("command", SHELL[:1])
def test_the_first_command_runs_a_sample(command):
    arguments = shlex.split(command.split("ir-exec ", 1)[1])
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    assert "output" in result.output


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
