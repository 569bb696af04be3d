"""Tables in terminals of every width, and the progress bar, which counts layers."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ir_exec import read_model
from ir_exec.cli import terminal as module
from ir_exec.cli.terminal import Table, columns_of, wrapped
from ir_exec.debug import compare, walk
from tests.conformance.networks import COPIES, arrays

ROOT = Path(__file__).parents[2]
SAMPLES = ROOT / "samples"

NUMBER = re.compile(r"-?\d[\d.,e+-]*\d|\d")


def made() -> Table:
    table = Table("Outputs", {"name": "left", "element type": "left", "shape": "left", "min": "right", "mean": "right"})
    table.add_row("model/decoder/layers.0/attention", "f32", "[1,32,2048,2048]", "-9223372036854775808", "-0.560464")
    table.add_row("b", "boolean", "[]", "false", "1.97054e-05")
    return table


def lines(table: Table, width: int | None) -> list[str]:
    return [line for _, line in table.lines(width)]


def test_where_there_is_room() -> None:
    assert lines(made(), None) == lines(made(), 200)
    table = Table("Inputs", {"name": "left", "n": "right"})
    table.add_row("data", "1")
    table.add_row("", "1,234")
    assert lines(table, 80) == ["Inputs", "name       n", "────────────", "data       1", "       1,234"]


@pytest.mark.parametrize("width", range(20, 130, 3))
def test_no_line_is_too_wide_and_no_number_is_broken(width: int) -> None:
    shown = lines(made(), width)
    least = len("-9223372036854775808") + 2
    assert max(map(columns_of, shown)) <= max(width, least)
    text = "\n".join(shown)
    if width >= 30:
        assert {"-9223372036854775808", "-0.560464", "1.97054e-05", "2048", "32"} <= set(NUMBER.findall(text)) | {
            number for found in NUMBER.findall(text) for number in found.split(",")
        }


def test_too_narrow_for_columns_each_row_is_a_block() -> None:
    assert lines(made(), 40)[1:] == [
        "model/decoder/layers.0/attention",
        "  element type f32",
        "  shape [1,32,2048,2048]",
        "  min -9223372036854775808",
        "  mean -0.560464",
        "b  element type boolean  shape []",
        "  min false  mean 1.97054e-05",
    ]


@pytest.mark.parametrize(
    ("text", "width", "expected"),
    [
        ("[1,32,2048,2048]", 8, ["[1,32,", "2048,", "2048]"]),
        ("a/b_c:d e", 4, ["a/b_", "c:d", "e"]),
        ("1 __module.m/x", 10, ["1", "__module.m", "/x"]),
        ("abcdefgh", 3, ["abc", "def", "gh"]),
        ("ScatterElementsUpdate", 16, ["ScatterElements", "Update"]),
        ("aBcdefghij", 8, ["aBcdefgh", "ij"]),
        ("2..8,3", 5, ["2..8,", "3"]),
        ("", 5, [""]),
    ],
)
def test_where_text_is_broken(text: str, width: int, expected: list[str]) -> None:
    assert wrapped(text, width) == expected


def test_letters_that_take_two_columns() -> None:
    assert columns_of("データ") == 6
    table = Table("t", {"name": "left", "n": "right"})
    table.add_row("データ", "1")
    assert lines(table, None)[3] == "データ   1"
    assert wrapped("データ", 4) == ["デー", "タ"]


def terminal(columns: int, *arguments: str) -> list[str]:
    """What a command shows in a terminal of so many columns, without colours."""
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
    assert max(map(columns_of, shown)) <= columns
    assert len(shown) > 5


def test_layers_of_bodies_count_once_for_all_iterations(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PATIENCE", 0.0)
    # No body is so small that its iterations are looked at as a whole.
    monkeypatch.setattr(walk, "_FEW_BYTES", -1)
    path = COPIES / "script_loop_seq.xml"
    model = read_model(path)
    paths: list[str] = []
    with module.LayerBar(model.graph) as bar:

        def advance(layer: str) -> None:
            paths.append(layer)
            bar.advance(layer)

        compare(model, model, arrays(path, "inputs"), progress=advance)
        assert bar._bar is not None
        (task,) = bar._bar[0].tasks
        assert (task.completed, task.total) == (len(set(paths)), len(set(paths)))
    assert len(paths) > len(set(paths))
    assert any("/" in layer for layer in paths)


def test_steps_of_unknown_number_count_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PATIENCE", 0.0)
    with module.LayerBar(None) as bar:
        bar.advance("2 layers left")
        bar.advance("2 layers left")
        assert bar._bar is not None
        (task,) = bar._bar[0].tasks
        assert (task.completed, task.total) == (2, None)
