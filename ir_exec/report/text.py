"""Lists, wrapped and truncated text, and aligned columns."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import TypeVar

from ir_exec.printable import printable
from ir_exec.report.shortening import measure_columns, pad_text

__all__ = [
    "align_cells",
    "align_entries",
    "format_remainder",
    "join_counts",
    "list_names",
    "shorten",
    "truncate",
    "wrap_words",
]

_Name = TypeVar("_Name", bound=str)

_NARROWEST = 50
"""Minimum characters of a line, for narrow terminals."""


def list_names(names: Sequence[str], limit: int, *, is_counted: bool = True) -> str:
    """Return the first names and the number of the others: `a, b, ... 3 more`, or `a, b, ...` if not counted."""
    number = f" {len(names) - limit:,} more" if is_counted else ""
    return ", ".join([*names[:limit], *([f"...{number}"] if len(names) > limit else [])])


def join_counts(counts: Mapping[_Name, int], spec: str = "") -> str:
    """Return the counts above 0 with their names: `3 equal, 1 wrong`.

    Args:
        spec: The format of a count.
    """
    return ", ".join(f"{count:{spec}} {name}" for name, count in counts.items() if count)


def format_remainder(count: int, limit: int, *, indent: str = "", noun: str = "") -> list[str]:
    """Return the line `... 3 more` for a list of `count` entries that was cut to `limit`, nothing if it is complete."""
    return [f"{indent}... {count - limit:,} more{noun and f' {noun}'}"] if count > limit else []


def shorten(text: str, limit: int) -> str:
    """Return a text cut to a number of characters, with `...` in place of the others."""
    return text if len(text) <= limit else f"{text[:limit]}..."


def truncate(text: str, limit: int) -> str:
    """Return printable text, cut to a number of characters if it is longer: `aaa... (1,048,576 characters)`."""
    if len(text) <= limit:
        return printable(text)
    return f"{printable(text[:limit])}... ({len(text):,} characters)"


def align_cells(rows: Sequence[Sequence[str]], *, gap: str = "  ") -> list[str]:
    """Return a line for each row, with left-aligned columns and without blanks at the end."""
    widths = [max(map(measure_columns, column)) for column in zip(*rows, strict=True)]
    return [gap.join([pad_text(cell, width) for cell, width in zip(row, widths, strict=True)]).rstrip() for row in rows]


def align_entries(entries: Mapping[str, str]) -> str:
    """Return names and values in two columns, with one line for each."""
    return "\n".join(align_cells([*entries.items()], gap="   "))


def wrap_words(text: str, width: int | None, *, used: int, indent: int) -> list[str]:
    """Wrap a text at words; the first line starts at column `used`, the others have an indent.

    Words longer than a line, such as names of layers, are not split.

    Returns:
        One line if the width is None.
    """
    width = None if width is None else max(width, _NARROWEST)
    if width is None or used + len(text) <= width:
        return [text]
    first, *further = textwrap.wrap(
        text,
        width,
        initial_indent=" " * used,
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [first[used:], *further]
