"""Tables for a terminal of any width.

A table has the width of its cells if the terminal is wide enough. Otherwise a common prefix of names is shown once, the
middle of names is omitted, and optional columns are left out. If that does not suffice, the columns with the longest
cells become narrower, and cells are wrapped after `,`, `/`, `:`, `_` and blanks; numbers and dims are never broken. In
the last resort each row is a block, with the heading of the column before each cell. Without a terminal everything is
shown in full.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from ir_exec.printable import printable
from ir_exec.report.shortening import (
    ELLIPSIS,
    find_shared_prefix,
    measure_columns,
    pad_text,
    replace_prefix,
    shorten_names,
)

__all__ = ["Table", "table", "wrap_cell"]

_GAP = "   "
_NARROW_GAP = "  "

_LONGEST_PIECE = 16
"""Maximum length of words that are not broken; longer words are mostly names."""

_PIECE = re.compile(r"_*[^,/:_ ]*(?:\.\.\.|[,/: ]+|_+)|_*[^,/:_ ]+")


def wrap_cell(text: str, width: int) -> list[str]:
    """Wrap a text to lines of at most `width` columns, after separators if possible."""
    lines: list[str] = []
    line = ""
    for piece in _PIECE.findall(text):
        if line and measure_columns((line + piece).rstrip()) > width:
            lines.append(line.rstrip())
            line = ""
        while measure_columns(piece.rstrip()) > width:
            cut = max(1, len(piece) - 1)
            while cut > 1 and measure_columns(piece[:cut]) > width:
                cut -= 1
            # Break between the words of `ScatterElementsUpdate`, unless most of the line would be empty.
            ends = range(max(cut // 2, 1), cut + 1)
            words = [end for end in ends if piece[end - 1].islower() and piece[end : end + 1].isupper()]
            cut = max(words, default=cut)
            lines.append(piece[:cut])
            piece = piece[cut:]
        line += piece
    return [*lines, line.rstrip()] if line.strip() or not lines else lines


_NAMES = frozenset({"layer", "name", "prefix"})
"""Headings of columns with names."""

_LEAST_NAMES = (24, 16)
"""Minimum columns of a name; the second one only to avoid blocks."""


@dataclass
class Table:
    """Rows of cells below headings; `columns` contains the alignment of each column.

    Attributes:
        names: Headings of columns with names that may be shortened.
        spare: Headings of optional columns, left out in this order.
    """

    title: str
    columns: dict[str, Literal["left", "right"]]
    rows: list[tuple[str, ...]] = field(default_factory=list)
    names: frozenset[str] = _NAMES
    spare: tuple[str, ...] = ()

    def add_row(self, *cells: str) -> None:
        """Add a row; control characters in its cells are escaped."""
        assert len(cells) == len(self.columns), "a row has a cell for each column"
        self.rows.append(tuple([printable(cell) for cell in cells]))

    def without_empty_columns(self) -> Table:
        """Return the table without columns of empty cells; a table without rows keeps its columns."""
        positions = [position for position in range(len(self.columns)) if any(row[position] for row in self.rows)]
        return self._with_columns(positions) if positions else self

    def _with_columns(self, positions: Sequence[int]) -> Table:
        columns = list(self.columns.items())
        rows = [tuple([row[position] for position in positions]) for row in self.rows]
        return replace(self, columns=dict([columns[position] for position in positions]), rows=rows)

    def lines(self, width: int | None = None) -> Iterator[tuple[str, str]]:
        """Yield each line with its role: title, heading, or "" for rows.

        Args:
            width: Columns of the terminal.
        """
        yield "title", printable(self.title)
        gap = _GAP
        shown, widths, notes = self, self._widths(), list[str]()
        if width is not None and _total(widths, gap) > width:
            gap = _NARROW_GAP
            for least in _LEAST_NAMES:
                shown, notes = self._shorten(width, least)
                narrowed = shown._narrow_columns(width, least)
                if narrowed is not None:
                    break
            else:
                yield from self._blocks(width)
                return
            widths = narrowed
        for note in notes:
            for line in wrap_cell(note, width or 0):
                yield "heading", line
        for line in shown._lay_out(tuple(shown.columns), widths, gap):
            yield "heading", line
        yield "heading", "─" * _total(widths, gap)
        for row in shown.rows:
            for line in shown._lay_out(row, widths, gap):
                yield "", line

    def _widths(self) -> list[int]:
        return [max(map(measure_columns, column)) for column in self._cells()]

    def _cells(self) -> list[list[str]]:
        """Return the cells of each column after its heading."""
        return [[heading, *cells] for heading, *cells in zip(self.columns, *self.rows, strict=True)]

    def _shorten(self, room: int, least_name: int) -> tuple[Table, list[str]]:
        """Shorten names and leave out columns until the table fits, and return it with notes on both."""
        prefix = find_shared_prefix(cell for row in self.rows for cell in self._names_of(row))
        shown = self._with_names(lambda name: replace_prefix(name, prefix))
        notes = [f"{ELLIPSIS} at the start of a name: {prefix}"] if prefix else []
        left_out: list[str] = []
        for heading in (*self.spare, ""):
            widths = shown._widths()
            least = [
                min(size, least_name) if name in self.names else size
                for name, size in zip(shown.columns, widths, strict=True)
            ]
            if not heading or len(shown.columns) == 1 or _total(least, _NARROW_GAP) <= room:
                break
            shown = shown._with_columns([column for column, name in enumerate(shown.columns) if name != heading])
            left_out.append(heading)
        if left_out:
            notes.append(f"columns left out: {', '.join(reversed(left_out))}")
        if _total(widths, _NARROW_GAP) <= room:
            return shown, notes
        size = least_name + max(0, room - _total(least, _NARROW_GAP)) // max(1, len(self.names & {*shown.columns}))
        cut = shorten_names([cell for row in shown.rows for cell in shown._names_of(row)], size)
        return shown._with_names(cut.__getitem__), notes

    def _names_of(self, row: Sequence[str]) -> list[str]:
        return [cell for heading, cell in zip(self.columns, row, strict=True) if heading in self.names]

    def _with_names(self, changed: Callable[[str], str]) -> Table:
        rows = [
            tuple([changed(cell) if name in self.names else cell for name, cell in zip(self.columns, row, strict=True)])
            for row in self.rows
        ]
        return replace(self, rows=rows)

    def _narrow_columns(self, room: int, least_name: int) -> list[int] | None:
        """Return widths that fit, None if no column can become narrow enough."""
        least = [
            max(
                _least(cell, side, least_name if heading in self.names else 0) for cell in (*heading.split(" "), *cells)
            )
            for (heading, *cells), side in zip(self._cells(), self.columns.values(), strict=True)
        ]
        # Headings are broken at blanks, also above numbers, which are never broken.
        widths = self._widths()
        while _total(widths, _NARROW_GAP) > room:
            widest = max(range(len(widths)), key=lambda column: (widths[column] > least[column], widths[column]))
            if widths[widest] <= least[widest]:
                return None
            widths[widest] -= 1
        return widths

    def _lay_out(self, cells: Sequence[str], widths: Sequence[int], gap: str) -> Iterator[str]:
        parts = [
            [cell] if measure_columns(cell) <= width else wrap_cell(cell, width)
            for cell, width in zip(cells, widths, strict=True)
        ]
        for number in range(max(map(len, parts))):
            line = [
                pad_text(part[number] if number < len(part) else "", width, side)
                for part, width, side in zip(parts, widths, self.columns.values(), strict=True)
            ]
            yield gap.join(line).rstrip()

    def _blocks(self, width: int) -> Iterator[tuple[str, str]]:
        """Yield each row as a block: its first cell, then the others with their headings."""
        for first, *others in self.rows:
            line = first or "-"
            for heading, cell in zip(list(self.columns)[1:], others, strict=True):
                entry = f"{heading} {cell}"
                if not cell:
                    continue
                if measure_columns(f"{line}{_NARROW_GAP}{entry}") <= width:
                    line += _NARROW_GAP + entry
                    continue
                *above, line = [*_wrap_line(line, width), *_wrap_line(f"  {entry}", width)]
                for complete in above:
                    yield "", complete
            for complete in _wrap_line(line, width):
                yield "", complete


def _wrap_line(line: str, width: int) -> list[str]:
    """Wrap a line of a block, keeping its indentation."""
    if measure_columns(line) <= width:
        return [line]
    indent = "  " if line.startswith("  ") else ""
    return [indent + part for part in wrap_cell(line.strip(), width - len(indent))]


def _total(widths: Sequence[int], gap: str) -> int:
    return sum(widths) + len(gap) * (len(widths) - 1)


def _least(cell: str, side: Literal["left", "right"], unbroken: int) -> int:
    """Return the minimum columns of a cell; cells of at most `unbroken` columns are not wrapped."""
    if side == "right" or measure_columns(cell) <= unbroken:
        return measure_columns(cell)
    return max((min(measure_columns(piece.rstrip()), _LONGEST_PIECE) for piece in _PIECE.findall(cell)), default=0)


def table(title: str, **columns: Literal["left", "right"]) -> Table:
    """Return an empty table; `columns` maps headings, with `_` for blanks, to the alignment of their cells."""
    return Table(title, {heading.replace("_", " "): side for heading, side in columns.items()})
