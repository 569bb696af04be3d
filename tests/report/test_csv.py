"""Rows as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from ir_exec.report.csv import csv_text


def read(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline="")))


TEXT = st.text(st.characters(exclude_characters="\0"))


@given(st.lists(st.dictionaries(TEXT, TEXT, min_size=2), min_size=1))
def test_readers_find_every_cell(rows: list[Mapping[str, str]]) -> None:
    header, *cells = read(csv_text(rows))
    assert sorted(header) == sorted({name for row in rows for name in row})
    assert [dict(zip(header, line, strict=True)) for line in cells] == [
        {name: row.get(name, "") for name in header} for row in rows
    ]


def test_cells_have_unix_line_ends() -> None:
    text = csv_text([{"a": "x\ry", "b": "x\ny"}, {"a": None, "b": 1.5}])
    assert text.split("\n") == ["a,b", '"x\ry","x', 'y"', ",1.5", ""]
    assert read(text)[1] == ["x\ry", "x\ny"]


def test_first_columns_are_fixed() -> None:
    assert read(csv_text([{"b": 1, "a": 2}, {"c": 3}], ["a", "z"])) == [
        ["a", "z", "b", "c"],
        ["2", "", "1", ""],
        ["", "", "", "3"],
    ]


def test_a_report_without_rows_has_a_header() -> None:
    assert csv_text([], ["a", "b"]) == "a,b\n"
    assert csv_text([]) == "layer_id\n"
