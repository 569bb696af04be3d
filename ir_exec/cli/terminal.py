"""What every command needs to speak: styles, tables, and errors as one message without a traceback."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any, Literal, NoReturn

import click

from ir_exec.check import Diagnostic, render_diagnostic
from ir_exec.errors import IRError, ResourceError, internal_error

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["UNUSABLE", "Unusable", "echo", "errors_as_messages", "show", "styled", "table", "terminal_width"]

UNUSABLE = 2
"""The exit code for arguments that cannot be used and paths that cannot be read."""

_STYLES = {
    "error": {"fg": "red", "bold": True},
    "warning": {"fg": "yellow", "bold": True},
    "info": {"fg": "cyan", "bold": True},
    "message": {"bold": True},
    "frame": {"fg": "blue", "bold": True},
    "hint": {"bold": True},
    "added": {"fg": "green"},
    "removed": {"fg": "red"},
}

_WIDE = 100_000
"""Columns of a pipe or a file: nothing is cut there."""


def styled(role: str, text: str) -> str:
    """The style of reports on a terminal; `echo` takes the colours out elsewhere."""
    style = _STYLES.get(role)
    return click.style(text, **style) if style else text  # type: ignore[arg-type]  # the table mixes str and bool


def echo(text: str, *, to_stderr: bool = False) -> None:
    """Print a line: with colours on a terminal or where FORCE_COLOR is set, and never where NO_COLOR is."""
    color = False if os.environ.get("NO_COLOR") else True if os.environ.get("FORCE_COLOR") else None
    click.echo(text, err=to_stderr, color=color)


def terminal_width() -> int | None:
    """The columns of the terminal that stdout is, None where it is none."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


class Unusable(click.ClickException):
    """Arguments that cannot be used: ends the program with exit code 2 and one message on stderr."""

    exit_code = UNUSABLE

    def show(self, file: IO[Any] | None = None) -> None:
        echo(f"{styled('error', 'error')}{styled('message', ': ' + self.message)}", to_stderr=True)


@contextmanager
def errors_as_messages(*, hint: str | None = None, exit_code: int = 1) -> Iterator[None]:
    """Errors end the program with this exit code and one message on stderr; `hint` is for those that have none."""
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
    if error.code == "IR001":
        hint = None  # There is no file to which a hint could apply.
    diagnostic = Diagnostic.of(error).model_copy(update={"severity": "error", "hint": error.hint or hint})
    for line in render_diagnostic(diagnostic, style=styled):
        echo(line, to_stderr=True)
    sys.exit(exit_code)


def show(*parts: Table | str) -> None:
    """Print tables and lines, an empty line between them: as wide as the terminal, and elsewhere as they need to be."""
    from rich.console import Console

    console = Console(highlight=False, markup=False, emoji=False)
    if console.is_terminal:
        console.print(*_spaced(parts), sep="\n")
        return
    console.width = _WIDE
    with console.capture() as captured:
        console.print(*_spaced(parts), sep="\n")
    click.echo("\n".join(line.rstrip() for line in captured.get().rstrip().split("\n")))


def _spaced(parts: Iterable[Table | str]) -> Iterator[Table | str]:
    for index, part in enumerate(parts):
        if index:
            yield ""
        yield part


def table(title: str, **columns: Literal["left", "right"]) -> Table:
    """An empty table; `columns` goes from headings, with `_` for blanks, to the side on which their cells begin."""
    from rich import box
    from rich.table import Table

    made = Table(
        title=title,
        title_justify="left",
        title_style="bold",
        header_style="dim",
        box=box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
    )
    for heading, justify in columns.items():
        made.add_column(heading.replace("_", " "), justify=justify, overflow="fold")
    return made
