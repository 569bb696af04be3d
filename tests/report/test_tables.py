"""Tables of every width."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ir_exec.report.shortening import measure_columns
from ir_exec.report.tables import Table, wrap_cell
from tests.helpers.facts import mentions

NUMBER = re.compile(r"-?\d[\d.,e+-]*\d|\d")


def make_table() -> Table:
    table = Table("Outputs", {"name": "left", "element type": "left", "shape": "left", "min": "right", "mean": "right"})
    table.add_row("model/decoder/layers.0/attention", "f32", "[1,32,2048,2048]", "-9223372036854775808", "-0.560464")
    table.add_row("b", "boolean", "[]", "false", "1.97054e-05")
    return table


def lines(table: Table, width: int | None) -> list[str]:
    return [line for _, line in table.lines(width)]


def test_wide_limit_equals_no_limit() -> None:
    assert lines(make_table(), None) == lines(make_table(), 200)
    table = Table("Inputs", {"name": "left", "n": "right"})
    table.add_row("data", "1")
    table.add_row("", "1,234")
    assert lines(table, 80) == ["Inputs", "name       n", "────────────", "data       1", "       1,234"]


@pytest.mark.parametrize("width", range(20, 130, 3))
def test_lines_fit_and_numbers_are_not_broken(width: int) -> None:
    shown = lines(make_table(), width)
    least = len("-9223372036854775808") + 2
    assert max(map(measure_columns, shown)) <= max(width, least)
    text = "\n".join(shown)
    if width >= 30:
        assert {"-9223372036854775808", "-0.560464", "1.97054e-05", "2048", "32"} <= set(NUMBER.findall(text)) | {
            number for numbers in NUMBER.findall(text) for number in numbers.split(",")
        }


def test_narrow_table_shows_rows_as_blocks() -> None:
    assert lines(make_table(), 40)[1:] == [
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
    assert max(map(measure_columns, shown)) <= width
    if not any(line.startswith("─") for line in shown):
        return  # blocks, with whole names in several lines
    rows = shown[1 + next(position for position, line in enumerate(shown) if line.startswith("─")) :]
    assert len(rows) == len(table.rows)
    assert len({row.split()[0] for row in rows}) == len(table.rows)


def test_narrow_tables_show_a_prefix_once_and_omit_spare_columns() -> None:
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
def test_line_breaks_of_text(text: str, width: int, expected: list[str]) -> None:
    assert wrap_cell(text, width) == expected


def test_letters_that_take_two_columns() -> None:
    assert measure_columns("データ") == 6
    table = Table("t", {"name": "left", "n": "right"})
    table.add_row("データ", "1")
    assert lines(table, None)[3] == "データ   1"
    assert wrap_cell("データ", 4) == ["デー", "タ"]


@pytest.mark.parametrize("width", [None, 5, 200])
def test_tables_without_rows_and_without_cells(width: int | None) -> None:
    table = Table("Layers", {"layer": "left", "time": "right"})
    assert lines(table.without_empty_columns(), width)[0] == "Layers"
    table.add_row("", "")
    assert lines(table.without_empty_columns(), width)[0] == "Layers"


CELLS = st.text(st.sampled_from("abcXYZ019/_:, .-データe\u0301\x1b\u202e"), max_size=30)


def draw_table(draw: st.DrawFn) -> Table:
    columns = draw(st.lists(st.sampled_from(["layer", "name", "type", "max abs", "n"]), min_size=1, unique=True))
    sides = {heading: draw(st.sampled_from(["left", "right"])) for heading in columns}
    spare = tuple(draw(st.lists(st.sampled_from(columns), max_size=1)))
    table = Table("t", sides, spare=spare)
    for _ in range(draw(st.integers(0, 4))):
        table.add_row(*(draw(CELLS) for _ in columns))
    return table


@given(st.composite(draw_table)(), st.integers(12, 120))
def test_no_line_of_any_table_is_too_wide(table: Table, width: int) -> None:
    assert max(map(measure_columns, lines(table, width))) <= width


@given(st.composite(draw_table)())
def test_cells_are_complete_without_a_width(table: Table) -> None:
    _, heading, rule, *rows = lines(table, None)
    assert set(rule) == {"─"}
    starts = [measure_columns(line) for line in (heading, *rows)]
    assert max(starts) <= len(rule)
    for row, cells in zip(rows, table.rows, strict=True):
        position = 0
        for cell in cells:
            position = row.index(cell.rstrip(), position) + len(cell.rstrip())
        assert row.isprintable()


@given(CELLS, st.integers(2, 30))
def test_wrapped_cells_lose_blanks_only(text: str, width: int) -> None:
    wrapped = wrap_cell(text, width)
    assert "".join(wrapped).replace(" ", "") == text.replace(" ", "")
    assert all(measure_columns(line) <= width for line in wrapped)
