"""Lists, wrapped and truncated text, and aligned columns."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ir_exec.report.shortening import measure_columns
from ir_exec.report.text import (
    align_cells,
    align_entries,
    format_remainder,
    join_counts,
    list_names,
    shorten,
    truncate,
    wrap_words,
)


@pytest.mark.parametrize(
    ("limit", "shown"),
    [(0, "... 3 more"), (2, "a, b, ... 1 more"), (3, "a, b, c"), (9, "a, b, c")],
)
def test_names_up_to_a_limit(limit: int, shown: str) -> None:
    assert list_names(["a", "b", "c"], limit) == shown
    assert list_names(["a", "b", "c"], limit, is_counted=False) == re.sub(" [0-9].*", "", shown)


def test_lists_end_with_the_number_of_other_entries() -> None:
    assert format_remainder(10, 10) == []
    assert format_remainder(2011, 10, indent="  ") == ["  ... 2,001 more"]
    assert format_remainder(11, 10, noun="rows") == ["... 1 more rows"]


def test_counts_of_0_are_left_out() -> None:
    assert join_counts({"equal": 3, "close": 0, "wrong": 2048}) == "3 equal, 2048 wrong"
    assert join_counts({"equal": 2048}, ",") == "2,048 equal"
    assert join_counts({}) == ""


def test_long_text_is_truncated_and_printable() -> None:
    assert truncate("a\nb", 3) == "a\\nb"
    assert [shorten("abcd", 4), shorten("abcde", 4)] == ["abcd", "abcd..."]
    assert truncate("x" * 2000, 3) == "xxx... (2,000 characters)"


CELLS = st.text(st.sampled_from("ab データe\u0301-"), max_size=12)


@given(st.integers(1, 4).flatmap(lambda size: st.lists(st.lists(CELLS, min_size=size, max_size=size), min_size=1)))
def test_columns_start_at_the_same_place(rows: list[list[str]]) -> None:
    lines = align_cells(rows, gap="  ")
    starts = [2 * column for column in range(len(rows[0]))]
    for column in range(1, len(rows[0])):
        starts[column] = starts[column - 1] + 2 + max(measure_columns(row[column - 1]) for row in rows)
    for line, row in zip(lines, rows, strict=True):
        assert line == line.rstrip()
        for start, cell in zip(starts, row, strict=True):
            if cell.strip():
                before = next(end for end in range(len(line) + 1) if measure_columns(line[:end]) >= start)
                assert line[before:].lstrip("\u0301").startswith(cell.rstrip().lstrip("\u0301"))


def test_entries_in_two_columns() -> None:
    assert align_entries({"a": "1", "name": "2", "データ": ""}) == "a        1\nname     2\nデータ"
    assert align_entries({}) == ""


@given(st.text(st.sampled_from("ab cd "), max_size=200), st.integers(50, 90), st.integers(0, 20))
def test_wrapped_words_fit(text: str, width: int, indent: int) -> None:
    words = text.split()
    if not words or max(map(len, words)) + max(indent, 7) > width:
        return
    first, *further = wrap_words(" ".join(words), width, used=7, indent=indent)
    assert 7 + len(first) <= width
    assert all(len(line) <= width and line.startswith(" " * indent) for line in further)
    assert " ".join([first, *further]).split() == words
    assert wrap_words(text, None, used=7, indent=indent) == [text]
