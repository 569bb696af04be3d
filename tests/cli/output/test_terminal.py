"""Output of commands in terminals of every width, and the progress bar, which counts layers."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from ir_exec import read_model
from ir_exec.cli import main
from ir_exec.cli.output import progress as module
from ir_exec.debug import compare
from ir_exec.debug.traces import walk
from ir_exec.report.shortening import measure_columns
from tests.conformance.networks import COPIES, arrays

ROOT = Path(__file__).parents[3]
SAMPLES = ROOT / "samples"


def terminal(columns: int, *arguments: str) -> list[str]:
    """Return the lines of a command in a terminal of this width, without colors."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "COLUMNS": str(columns), "NO_COLOR": "1"}
    code = "from ir_exec.cli import main; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", code, *arguments], stdout=theirs, stdin=theirs, env=environment, cwd=ROOT
    )
    os.close(theirs)
    shown = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        shown += part
    os.close(ours)
    assert process.wait() == 0
    return shown.decode().replace("\r\n", "\n").splitlines()


@pytest.mark.broad
@pytest.mark.parametrize("columns", [60, pytest.param(80, marks=pytest.mark.rest)])
@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "samples/bert.xml"),
        ("run", "samples/cache_update.xml"),
        ("inspect", "samples/bert.xml", "--layers"),
        ("inspect", "tests/networks/script_if.xml", "--layer", "aten::gt/ConvertPromoteTypes"),
        ("ops",),
    ],
)
def test_commands_fit_the_terminal(columns: int, arguments: tuple[str, ...]) -> None:
    shown = terminal(columns, *arguments)
    assert max(map(measure_columns, shown)) <= columns
    assert len(shown) > 5


def rows_below(heading: str, shown: list[str]) -> list[str]:
    """The rows of the table whose heading starts so, and the line after it."""
    start = next(index for index, line in enumerate(shown) if line.split()[:1] == [heading])
    return shown[start + 2 :]


def test_lists_are_short_in_terminals_alone() -> None:
    shown = rows_below("id", terminal(120, "inspect", "samples/bert.xml", "--layers"))
    assert (shown[99].split()[0], shown[100]) == ("99", "")
    assert shown[101].startswith("... 39 more;")
    everything = rows_below("id", terminal(120, "inspect", "samples/bert.xml", "--layers", "--all"))
    assert len(everything) == 139
    listed = rows_below(
        "id", CliRunner().invoke(main, ["inspect", str(SAMPLES / "bert.xml"), "--layers"]).stdout.splitlines()
    )
    assert len(listed) == 139


def shown_by(*arguments: str) -> str:
    result = CliRunner().invoke(main, list(arguments))
    assert result.exit_code in (0, 1), result.stderr
    return result.stdout


@pytest.mark.broad
@pytest.mark.parametrize(
    ("arguments", "heading"),
    [
        (("inspect", "samples/bert.xml", "--layers"), "id"),
        (("profile", "samples/bert.xml", "--repeat", "1"), "layer"),
        (("profile", "samples/bert.xml", "--repeat", "1"), "type"),
        (("profile", "tests/networks/lstm.xml", "--repeat", "1"), "prefix"),
        (("ops",), "operator"),
        (("ops", "--onnx"), "operator"),
        (("shapes", "samples/bert.xml"), "dim"),
    ],
)
def test_top(arguments: tuple[str, ...], heading: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    few = rows_below(heading, shown_by(*arguments, "--top", "2").splitlines())
    assert few[2] == ""
    assert few[3].startswith("... ")
    every = rows_below(heading, shown_by(*arguments, "--all").splitlines())
    assert len(every) >= 3
    assert "" not in every[:3]


def test_top_of_what_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    shown = shown_by("diff", "samples/bert.xml", "samples/gnn_step.xml", "--top", "3").splitlines()
    assert sum(line[:1] in ("-", "+", "~") for line in shown) == 3
    assert shown[-1].startswith("... ")


def test_top_or_all() -> None:
    result = CliRunner().invoke(main, ["ops", "--top", "3", "--all"])
    assert (result.exit_code, result.stdout) == (2, "")


def test_layers_of_bodies_count_once_for_all_iterations(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE", 0.0)
    # No body is so small that its iterations are looked at as a whole.
    monkeypatch.setattr(walk, "FEW_BYTES", -1)
    path = COPIES / "script_loop_seq.xml"
    model = read_model(path)
    paths: list[str] = []
    with module.LayerBar(model.graph) as bar:

        def advance(layer: str) -> None:
            paths.append(layer)
            bar.advance(layer)

        compare(model, model, arrays(path, "inputs"), progress=advance)
        (task,) = bar.tasks
        assert (task.completed, task.total) == (len(set(paths)), len(set(paths)))
    assert len(paths) > len(set(paths))
    assert any("/" in layer for layer in paths)


def test_steps_of_unknown_number_count_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE", 0.0)
    with module.LayerBar(None) as bar:
        bar.advance("2 layers left")
        bar.advance("2 layers left")
        (task,) = bar.tasks
        assert (task.completed, task.total) == (2, None)
