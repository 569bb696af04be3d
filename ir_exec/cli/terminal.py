"""Output of all commands: styles, tables, and errors as one message without a traceback.

A table is as wide as its cells where it has the room. Otherwise what most names start with is shown once, names lose
their middle, and columns that can be spared are left out. Where that is not enough, the columns with the longest cells
become narrower, and their cells go on in the next line, broken behind `,`, `/`, `:`, `_` and blanks; numbers and dims
never are. At last each row is a block of its own, with the name of the column before each cell. Without a terminal
everything is shown in full.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from time import perf_counter
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, Literal, NoReturn, Self, TextIO

import click

from ir_exec.check import Diagnostic, render_diagnostic
from ir_exec.cli.names import ELLIPSIS, columns_of, middles_cut, shared_prefix, without_prefix
from ir_exec.codes import Code
from ir_exec.errors import IRError, ResourceError, internal_error
from ir_exec.model import Model
from ir_exec.printable import inert, printable

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from ir_exec.graph import Graph

__all__ = [
    "UNUSABLE",
    "LayerBar",
    "Steps",
    "Table",
    "Unusable",
    "check_hint",
    "columns_of",
    "echo",
    "errors_as_messages",
    "show",
    "show_json",
    "show_written",
    "shows_progress",
    "styled",
    "table",
    "terminal_width",
    "wrapped",
]


_GAP = "   "
_NARROW_GAP = "  "

_LONGEST_PIECE = 16
"""Longer words, of names for the most part, may be broken anywhere."""

_PIECE = re.compile(r"_*[^,/:_ ]*(?:\.\.\.|[,/: ]+|_+)|_*[^,/:_ ]+")


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


_NAMES = frozenset({"layer", "name", "prefix"})
"""Headings of columns that hold names."""

_LEAST_NAMES = (24, 16)
"""Columns that a name keeps; fewer only where each row would be a block otherwise."""


@dataclass
class Table:
    """Rows of cells below headings; `columns` says on which side the cells of each column stand.

    names: headings of columns whose cells may lose their middle. spare: headings of columns that may be left out, the
    first one first.
    """

    title: str
    columns: dict[str, Literal["left", "right"]]
    rows: list[tuple[str, ...]] = field(default_factory=list)
    names: frozenset[str] = _NAMES
    spare: tuple[str, ...] = ()

    def add_row(self, *cells: str) -> None:
        assert len(cells) == len(self.columns), "a row has a cell for each column"
        self.rows.append(cells)

    def without_empty_columns(self) -> Table:
        """The table without the columns in which every cell is empty."""
        return self._with_columns([place for place in range(len(self.columns)) if any(row[place] for row in self.rows)])

    def _with_columns(self, places: Sequence[int]) -> Table:
        columns = list(self.columns.items())
        rows = [tuple([row[place] for place in places]) for row in self.rows]
        return replace(self, columns=dict([columns[place] for place in places]), rows=rows)

    def lines(self, width: int | None = None) -> Iterator[tuple[str, str]]:
        """Each line with its role: title, heading, or "" for all others. width: the columns that there are."""
        yield "title", self.title
        gap = _GAP
        shown, widths, notes = self, self._widths(), list[str]()
        if width is not None and _total(widths, gap) > width:
            gap = _NARROW_GAP
            for least in _LEAST_NAMES:
                shown, notes = self._shortened(width, least)
                narrowed = shown._narrowed(width, least)
                if narrowed is not None:
                    break
            else:
                yield from self._blocks(width)
                return
            widths = narrowed
        for note in notes:
            for line in wrapped(note, width or 0):
                yield "heading", line
        for line in shown._laid_out(tuple(shown.columns), widths, gap):
            yield "heading", line
        yield "heading", "─" * _total(widths, gap)
        for row in shown.rows:
            for line in shown._laid_out(row, widths, gap):
                yield "", line

    def _widths(self) -> list[int]:
        return [max(map(columns_of, column)) for column in self._cells()]

    def _cells(self) -> list[list[str]]:
        """The cells of each column, with its heading."""
        return [[heading, *cells] for heading, *cells in zip(self.columns, *self.rows, strict=True)]

    def _shortened(self, room: int, least_name: int) -> tuple[Table, list[str]]:
        """The table with shorter names and fewer columns, as far as it does not fit, and lines that say so."""
        prefix = shared_prefix(cell for row in self.rows for cell in self._names_of(row))
        shown = self._with_names(lambda name: without_prefix(name, prefix))
        notes = [f"{ELLIPSIS} at the start of a name: {prefix}"] if prefix else []
        left_out: list[str] = []
        for heading in (*self.spare, ""):
            widths = shown._widths()
            least = [
                min(size, least_name) if name in self.names else size
                for name, size in zip(shown.columns, widths, strict=True)
            ]
            if not heading or _total(least, _NARROW_GAP) <= room:
                break
            shown = shown._with_columns([place for place, name in enumerate(shown.columns) if name != heading])
            left_out.append(heading)
        if left_out:
            notes.append(f"no room for: {', '.join(reversed(left_out))}")
        if _total(widths, _NARROW_GAP) <= room:
            return shown, notes
        size = least_name + max(0, room - _total(least, _NARROW_GAP)) // max(1, len(self.names & {*shown.columns}))
        cut = middles_cut([cell for row in shown.rows for cell in shown._names_of(row)], size)
        return shown._with_names(cut.__getitem__), notes

    def _names_of(self, row: Sequence[str]) -> list[str]:
        return [cell for heading, cell in zip(self.columns, row, strict=True) if heading in self.names]

    def _with_names(self, changed: Callable[[str], str]) -> Table:
        rows = [
            tuple([changed(cell) if name in self.names else cell for name, cell in zip(self.columns, row, strict=True)])
            for row in self.rows
        ]
        return replace(self, rows=rows)

    def _narrowed(self, room: int, least_name: int) -> list[int] | None:
        """Widths that fit into the room; None where no cell can become narrower."""
        least = [
            max(
                _least(cell, side, least_name if heading in self.names else 0) for cell in (*heading.split(" "), *cells)
            )
            for (heading, *cells), side in zip(self._cells(), self.columns.values(), strict=True)
        ]
        # Headings may be broken at blanks, above numbers too, which never are.
        found = self._widths()
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


def _least(cell: str, side: Literal["left", "right"], kept: int) -> int:
    """The columns that a cell needs; up to `kept` it stays in one line."""
    if side == "right" or columns_of(cell) <= kept:
        return columns_of(cell)
    return max((min(columns_of(piece.rstrip()), _LONGEST_PIECE) for piece in _PIECE.findall(cell)), default=0)


def _aligned(text: str, width: int, side: Literal["left", "right"]) -> str:
    padding = " " * (width - columns_of(text))
    return padding + text if side == "right" else text + padding


UNUSABLE = 2
"""The exit code for arguments that cannot be used, paths that cannot be read, and output that cannot be written."""

_NOT_PLAIN = re.compile(r"[^\x00-\x7e]+")

_STYLES = {
    "error": {"fg": "red", "bold": True},
    "warning": {"fg": "yellow", "bold": True},
    "info": {"fg": "cyan", "bold": True},
    "message": {"bold": True},
    "frame": {"fg": "blue", "bold": True},
    "hint": {"bold": True},
    "added": {"fg": "green"},
    "removed": {"fg": "red"},
    "title": {"bold": True},
    "heading": {"dim": True},
}


def styled(role: str, text: str) -> str:
    """The style of reports; `echo` removes the colours outside terminals."""
    style = _STYLES.get(role)
    return click.style(text, **style) if style else text  # type: ignore[arg-type]  # the table mixes str and bool


def echo(text: str, *, to_stderr: bool = False) -> None:
    """Print lines, coloured on a terminal or with FORCE_COLOR set, never with NO_COLOR set."""
    color = False if os.environ.get("NO_COLOR") else True if os.environ.get("FORCE_COLOR") else None
    click.echo("\n".join(map(inert, text.split("\n"))), err=to_stderr, color=color)


def terminal_width() -> int | None:
    """The columns of the terminal, None where stdout is no terminal."""
    return shutil.get_terminal_size().columns if _is_terminal(sys.stdout) else None


def shows_progress() -> bool:
    """Whether somebody looks at stderr: whether it is a terminal."""
    return _is_terminal(sys.stderr)


def _is_terminal(stream: TextIO | None) -> bool:
    # None: a program that is started with the stream closed, as some services start theirs, has none.
    return stream is not None and stream.isatty()


class Unusable(click.ClickException):
    """Arguments that cannot be used: ends the program with exit code 2 and one message on stderr."""

    exit_code = UNUSABLE

    def show(self, file: IO[Any] | None = None) -> None:
        echo(f"{styled('error', 'error')}{styled('message', ': ' + printable(self.message))}", to_stderr=True)


def check_hint(path: str) -> str:
    """The hint for a network that cannot be read: `check` tells all of it."""
    return f"`ir-exec check {path}` shows everything that is wrong with the file"


@contextmanager
def errors_as_messages(*, hint: str | None = None, exit_code: int = 1) -> Iterator[None]:
    """Errors end the program with one message on stderr; `hint` is for those that have none.

    Exit code: `exit_code` for what is wrong with the network, 2 where a path cannot be read or written.
    """
    try:
        yield
    except IRError as error:
        _fail(error, hint, exit_code)
    except MemoryError as error:
        _fail(ResourceError(f"out of memory: {error}"), hint, exit_code)
    except (OSError, click.ClickException, click.Abort):
        raise  # a closed pipe and the like, which click ends the program for
    except Exception as error:
        _fail(internal_error(error), None, exit_code)


def _fail(error: IRError, hint: str | None, exit_code: int) -> NoReturn:
    if error.code == Code.unreadable_path:
        hint = None  # There is no file to which a hint could apply.
    diagnostic = Diagnostic.of(error).model_copy(update={"severity": "error", "hint": error.hint or hint})
    for line in render_diagnostic(diagnostic, style=styled):
        echo(line, to_stderr=True)
    sys.exit(UNUSABLE if error.code in (Code.unreadable_path, Code.unwritable) else exit_code)


def show(*parts: Table | str) -> None:
    """Print tables and lines with empty lines between them, as wide as the terminal; uncut elsewhere."""
    width = terminal_width()
    for index, part in enumerate(parts):
        if index:
            echo("")
        if isinstance(part, Table):
            for role, line in part.lines(width):
                echo(styled(role, line))
        else:
            for line in part.split("\n"):
                for shown in [line] if width is None or columns_of(line) <= width else wrapped(line, width):
                    echo(shown)


def show_json(text: str) -> None:
    """Print JSON with escapes, which say the same, for what is not ASCII and for what CI servers obey."""
    plain = _NOT_PLAIN.sub(lambda found: json.dumps(found[0])[1:-1].replace("\x7f", "\\u007f"), text)
    click.echo(plain.replace("##[", "#\\u0023["))


def table(title: str, **columns: Literal["left", "right"]) -> Table:
    """An empty table; `columns` maps headings, with `_` for blanks, to the alignment of their cells."""
    return Table(title, {heading.replace("_", " "): side for heading, side in columns.items()})


def show_written(title: str, model: Model, path: str) -> None:
    """The inputs and outputs of the network, and how many layers went where."""
    ends = table(title, end="left", name="left", element_type="left", shape="left")
    for end, ports in (("input", model.inputs), ("output", model.outputs)):
        for port in ports:
            ends.add_row(end, printable(port.name), str(port.element_type), str(port.shape))
    count = sum(1 for _ in model.graph.all_nodes())
    show(ends, f"{count:,} layers written to {path}")


_PATIENCE = 0.5
"""Seconds after which a run gets a progress bar."""


class LayerBar:
    """A progress bar on stderr for runs that last; nothing where stderr is no terminal.

    graph: whose layers are the steps, those of bodies too, each of them once however often its body runs; None where
    nobody knows how many steps there are.
    """

    def __init__(self, graph: Graph | None) -> None:
        self.is_wanted = shows_progress()
        self._total = None if graph is None else sum(node.type != "Result" for node in graph.all_nodes())
        self._done = 0
        self._seen: set[str] = set()
        self._start = perf_counter()
        self._bar: tuple[Progress, TaskID] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar[0].stop()

    def advance(self, step: str) -> None:
        """One more step is done: a layer, by its path."""
        if self._total is None or step not in self._seen:
            self._seen.add(step)
            self._done += 1
        if self._bar is None:
            if perf_counter() - self._start < _PATIENCE:
                return
            self._bar = self._open()
        progress, task = self._bar
        progress.update(task, completed=self._done, description=printable(step)[:60])

    def _open(self) -> tuple[Progress, TaskID]:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.description}", markup=False),
        )
        progress = Progress(*columns, console=Console(stderr=True), transient=True)
        progress.start()
        return progress, progress.add_task("", total=self._total)


class Steps:
    """What is done at the moment, in one line on stderr; nothing where stderr is no terminal."""

    def __init__(self) -> None:
        self._is_wanted = shows_progress()
        self._shown = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.tell("")

    def tell(self, step: str) -> None:
        """Show what is done now in place of what was shown before."""
        if self._is_wanted:
            text = printable(step)[:70]
            print(f"\r{text:{self._shown}}\r{text}" if text else f"\r{'':{self._shown}}\r", end="", file=sys.stderr)
            sys.stderr.flush()
            self._shown = len(text)
