"""Tables in terminals of every width, and the progress bar, which counts layers."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from ir_exec import read_model
from ir_exec.cli import main
from ir_exec.cli.output import progress as module
from ir_exec.cli.output.names import columns_of
from ir_exec.cli.output.tables import Table, wrapped
from ir_exec.debug import compare
from ir_exec.debug.traces import walk
from tests.conformance.networks import COPIES, arrays
from tests.helpers.facts import mentions

ROOT = Path(__file__).parents[3]
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


def deep() -> Table:
    table = Table("Layers", {"layer": "left", "type": "left", "time": "right", "memory": "right"}, spare=("memory",))
    for number in range(3):
        table.add_row(f"net.layers.{number}.attention.dense/MatMul", "MatMul", "1.5 µs", "12 kB")
    table.add_row("image", "Parameter", "0", "0")
    return table


@pytest.mark.parametrize("width", range(20, 90, 3))
def test_names_stay_distinct_in_every_width(width: int) -> None:
    table = deep()
    shown = lines(table, width)
    assert max(map(columns_of, shown)) <= width
    if not any(line.startswith("─") for line in shown):
        return  # blocks, with whole names in several lines
    rows = shown[1 + next(place for place, line in enumerate(shown) if line.startswith("─")) :]
    assert len(rows) == len(table.rows)
    assert len({row.split()[0] for row in rows}) == len(table.rows)


def test_what_names_start_with_is_shown_once_and_columns_are_spared() -> None:
    assert lines(deep(), 50) == [
        "Layers",
        mentions("net.layers"),
        mentions("memory"),
        "layer                      type         time",
        "────────────────────────────────────────────",
        "…0.attention.dense/MatMul  MatMul     1.5 µs",
        "…1.attention.dense/MatMul  MatMul     1.5 µs",
        "…2.attention.dense/MatMul  MatMul     1.5 µs",
        "image                      Parameter       0",
    ]
    assert "net.layers.2.attention.dense/MatMul" in "\n".join(lines(deep(), None))
    assert lines(deep(), None) == lines(deep(), 90)


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


def rows_below(heading: str, shown: list[str]) -> list[str]:
    """The rows of the table whose heading starts so, and the line after it."""
    start = next(place for place, line in enumerate(shown) if line.split()[:1] == [heading])
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


@pytest.mark.parametrize("width", [None, 5, 200])
def test_tables_without_rows_and_without_cells(width: int | None) -> None:
    table = Table("Layers", {"layer": "left", "time": "right"})
    assert lines(table.without_empty_columns(), width)[0] == "Layers"
    table.add_row("", "")
    assert lines(table.without_empty_columns(), width)[0] == "Layers"
