"""Commands that are run on a network: how they end, and that nothing of them stays."""

from __future__ import annotations

import json
import os
import shlex
import sys
from pathlib import Path

import pytest

from ir_exec import EvaluationError, read_model
from ir_exec.debug import Command
from tests.helpers.facts import naming

ROOT = Path(__file__).parents[3]
GNN = ROOT / "samples" / "gnn_step.xml"


def python(program: str) -> str:
    return f"{sys.executable} -c '{program}' {{model}}"


def test_the_first_bad_exit_code_counts() -> None:
    command = Command(python("import sys; sys.exit(3)"))
    assert command(read_model(GNN))
    assert command.bad == {3}


def test_exit_code_zero_is_no_failure() -> None:
    command = Command(python("import sys; sys.exit(0)"))
    assert not command(read_model(GNN))
    assert not command.bad


def test_named_bad_exits() -> None:
    model = read_model(GNN)
    assert not Command(python("import sys; sys.exit(3)"), bad_exit=[1, 2])(model)
    assert Command(python("import sys; sys.exit(3)"), bad_exit=[1, 3])(model)


def test_a_signal() -> None:
    command = Command(python("import os; os.abort()"), bad_exit=[-6])
    assert command(read_model(GNN))


@pytest.mark.skipif(sys.platform == "win32", reason="scripts are started otherwise there")
def test_programs_beside_the_interpreter_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The layout of `ir-exec` in an environment that is not activated."""
    tool = tmp_path / "a-tool-of-the-environment"
    tool.write_text("#!/bin/sh\nexit 4\n")
    tool.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    assert Command(f"{tool.name} {{model}}").run(GNN) == 4


def test_paths_are_one_argument_each(tmp_path: Path) -> None:
    said = tmp_path / "said"
    command = Command(
        f"{sys.executable} -c 'import sys; open(sys.argv[1], \"w\").write(sys.argv[2])' {said} a={{model}}"
    )
    folder = tmp_path / "with space; and more"
    folder.mkdir()
    assert command.run(folder / "net.xml") == 0
    assert said.read_text() == f"a={folder / 'net.xml'}"


def test_hanging_command_is_killed_with_children(tmp_path: Path) -> None:
    """A child of the command holds a pipe, which ends when its last holder closes it."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    os.set_blocking(read, True)
    text = f"sh -c '(echo x; tail -f /dev/null) > {pipe}; : {{model}}'"
    assert Command(text, bad_exit=["timeout"], timeout=3)(read_model(GNN))
    assert os.read(read, 9) == b"x\n"
    assert os.read(read, 9) == b""
    os.close(read)


def test_slow_complete_network_is_reported() -> None:
    command = Command(python("import threading; threading.Event().wait()"), timeout=0.2)
    with pytest.raises(EvaluationError, match=naming("0.2")):
        command(read_model(GNN))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("true", naming("{model}", "'true'")),
        ("'true {model}", naming("'true {model}")),
    ],
)
def test_invalid_command(text: str, words: str) -> None:
    with pytest.raises(EvaluationError, match=words):
        Command(text)


def test_what_cannot_be_started() -> None:
    with pytest.raises(EvaluationError, match=naming("no-such-program")):
        Command("no-such-program {model}")(read_model(GNN))


def test_the_last_line_is_kept() -> None:
    command = Command(python('print("one"); print("two")'.replace("'", '"')))
    command.run(GNN)
    assert command.last_line == "two"


@pytest.mark.parametrize("name", ["a b.xml", "{inputs}.xml", "'; touch done #.xml", "$(touch done).xml", "-c.xml"])
def test_path_is_never_a_command_or_an_option(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    program = "import json, sys; json.dump(sys.argv[1:], open('said', 'w'))"
    command = Command(f"{sys.executable} -W ignore -c {shlex.quote(program)} {{model}} model={{model}} {{inputs}}")
    assert command.run(name) == 0
    model, named, inputs = json.loads((tmp_path / "said").read_text())
    assert not model.startswith("-")
    assert os.path.normpath(model) == name
    assert named == f"model={model}"
    assert os.path.normpath(inputs) == f"{name.removesuffix('.xml')}.inputs.npz"
    assert [path.name for path in tmp_path.iterdir()] == ["said"]
