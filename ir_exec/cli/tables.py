"""Tables that fit the terminal: text is broken where it may be, numbers and dims never are.

A table is as wide as its cells where it has the room. Otherwise the columns with the longest cells become narrower, and
their cells go on in the next line, broken behind `,`, `/`, `:`, `_` and blanks. Where that is not enough, each row is a
block of its own, with the name of the column before each cell.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal
from unicodedata import combining, east_asian_width

__all__ = ["Table", "columns_of", "wrapped"]

_GAP = "   "
_NARROW_GAP = "  "

_LONGEST_PIECE = 16
"""Longer words, of names for the most part, may be broken anywhere."""

_PIECE = re.compile(r"_*[^,/:_ ]*(?:\.\.\.|[,/: ]+|_+)|_*[^,/:_ ]+")


def columns_of(text: str) -> int:
    """The columns of a terminal that a text takes: letters of East Asia take two."""
    if text.isascii():
        return len(text)
    return sum(0 if combining(char) else 2 if east_asian_width(char) in "WF" else 1 for char in text)


def wrapped(text: str, width: int) -> list[str]:
    """The lines of a text, none wider than `width`, broken behind commas and the like as long as that is possible."""
    lines: list[str] = []
    line = ""
    for piece in _PIECE.findall(text):
        if line and columns_of((line + piece).rstrip()) > width:
            lines.append(line.rstrip())
            line = ""
        while columns_of(piece.rstrip()) > width:
            cut = max(1, len(piece) - 1)
            while cut > 1 and columns_of(piece[:cut]) > width:
                cut -= 1
            # Between the words of `ScatterElementsUpdate`, unless that leaves most of the line empty.
            places = range(max(cut // 2, 1), cut + 1)
            words = [one for one in places if piece[one - 1].islower() and piece[one : one + 1].isupper()]
            cut = max(words, default=cut)
            lines.append(piece[:cut])
            piece = piece[cut:]
        line += piece
    return [*lines, line.rstrip()] if line.strip() or not lines else lines


@dataclass
class Table:
    """Rows of cells below headings; `columns` says on which side the cells of each column stand."""

    title: str
    columns: dict[str, Literal["left", "right"]]
    rows: list[tuple[str, ...]] = field(default_factory=list)

    def add_row(self, *cells: str) -> None:
        assert len(cells) == len(self.columns), "a row has a cell for each column"
        self.rows.append(cells)

    def without_empty_columns(self) -> Table:
        """The table without the columns in which every cell is empty."""
        kept = [place for place in range(len(self.columns)) if any(row[place] for row in self.rows)]
        columns = list(self.columns.items())
        rows = [tuple([row[place] for place in kept]) for row in self.rows]
        return Table(self.title, dict([columns[place] for place in kept]), rows)

    def lines(self, width: int | None = None) -> Iterator[tuple[str, str]]:
        """Each line with its role: title, heading, or "" for all others. width: the columns that there are."""
        yield "title", self.title
        columns = [[heading, *cells] for heading, *cells in zip(self.columns, *self.rows, strict=True)]
        widths = [max(map(columns_of, column)) for column in columns]
        gap = _GAP
        if width is not None and _total(widths, gap) > width:
            gap = _NARROW_GAP
            narrowed = self._narrowed(columns, widths, width)
            if narrowed is None:
                yield from self._blocks(width)
                return
            widths = narrowed
        for line in self._laid_out(tuple(self.columns), widths, gap):
            yield "heading", line
        yield "heading", "─" * _total(widths, gap)
        for row in self.rows:
            for line in self._laid_out(row, widths, gap):
                yield "", line

    def _narrowed(self, columns: Sequence[Sequence[str]], widths: list[int], room: int) -> list[int] | None:
        """Widths that fit into the room; None where no cell can become narrower."""
        least = [
            max(_least(cell, side == "left") for cell in column)
            for column, side in zip(columns, self.columns.values(), strict=True)
        ]
        found = widths.copy()
        while _total(found, _NARROW_GAP) > room:
            widest = max(range(len(found)), key=lambda place: (found[place] > least[place], found[place]))
            if found[widest] <= least[widest]:
                return None
            found[widest] -= 1
        return found

    def _laid_out(self, cells: Sequence[str], widths: Sequence[int], gap: str) -> Iterator[str]:
        parts = [
            [cell] if columns_of(cell) <= width else wrapped(cell, width)
            for cell, width in zip(cells, widths, strict=True)
        ]
        for number in range(max(map(len, parts))):
            line = [
                _aligned(part[number] if number < len(part) else "", width, side)
                for part, width, side in zip(parts, widths, self.columns.values(), strict=True)
            ]
            yield gap.join(line).rstrip()

    def _blocks(self, width: int) -> Iterator[tuple[str, str]]:
        """Every row by itself: its first cell, and the others behind and below it with their headings."""
        for first, *others in self.rows:
            line = first or "-"
            for heading, cell in zip(list(self.columns)[1:], others, strict=True):
                entry = f"{heading} {cell}"
                if not cell:
                    continue
                if columns_of(f"{line}{_NARROW_GAP}{entry}") <= width:
                    line += _NARROW_GAP + entry
                    continue
                *above, line = [*_indented(line, width), *_indented(f"  {entry}", width)]
                for one in above:
                    yield "", one
            for one in _indented(line, width):
                yield "", one


def _indented(line: str, width: int) -> list[str]:
    """A line of a block, in several where it is too wide."""
    if columns_of(line) <= width:
        return [line]
    indent = "  " if line.startswith("  ") else ""
    return [indent + part for part in wrapped(line.strip(), width - len(indent))]


def _total(widths: Sequence[int], gap: str) -> int:
    return sum(widths) + len(gap) * (len(widths) - 1)


def _least(cell: str, may_break: bool) -> int:
    if not may_break:
        # Headings of numbers may be broken at blanks; no number has one.
        return max(map(columns_of, cell.split(" ")))
    return max((min(columns_of(piece.rstrip()), _LONGEST_PIECE) for piece in _PIECE.findall(cell)), default=0)


def _aligned(text: str, width: int, side: Literal["left", "right"]) -> str:
    padding = " " * (width - columns_of(text))
    return padding + text if side == "right" else text + padding
