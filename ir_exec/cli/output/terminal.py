"""Output of all commands: styles, tables, and errors as messages without a traceback."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, Any, NoReturn, TextIO, TypeAlias

import click

from ir_exec.check import Diagnostic, render_diagnostic, rule_of
from ir_exec.codes import Code
from ir_exec.errors import IRError, ResourceError, internal_error
from ir_exec.hints import path_word
from ir_exec.model import Model
from ir_exec.printable import inert, printable
from ir_exec.report.shortening import measure_columns
from ir_exec.report.tables import Table, table, wrap_cell

__all__ = [
    "UNUSABLE",
    "HintOf",
    "Unusable",
    "check_hint",
    "echo",
    "errors_as_messages",
    "hidden_by_output",
    "hide_progress",
    "is_occupied",
    "occupy_terminal",
    "print_report",
    "release_terminal",
    "show",
    "show_json",
    "show_verdict",
    "show_written",
    "shows_progress",
    "style_text",
    "terminal_width",
    "write",
]


UNUSABLE = 2
"""The exit code for invalid arguments, unreadable paths and failed writes."""

HintOf: TypeAlias = Callable[[IRError], str | None]
"""A function that returns the hint for an error without one; None for errors that the hint does not concern."""

_NOT_PLAIN = re.compile(r"[^\n\t\x20-\x7e]+")

_STYLE = re.compile(r"(\x1b\[[0-9;]*m)")
"""The sequences of `click.style`."""

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


def style_text(role: str, text: str) -> str:
    """Apply the style of a role in reports; `echo` removes colors outside of terminals."""
    style = _STYLES.get(role)
    return click.style(text, **style) if style else text  # type: ignore[arg-type]  # the table mixes str and bool


def echo(text: str, *, to_stderr: bool = False) -> None:
    """Print lines, with colors on a terminal or if FORCE_COLOR is set, never if NO_COLOR is set.

    Control characters other than line ends and styles are escaped.
    """
    color = False if os.environ.get("NO_COLOR") else True if os.environ.get("FORCE_COLOR") else None
    write("\n".join(map(_escaped_line, text.split("\n"))), err=to_stderr, color=color)


def write(text: str, **how: Any) -> None:
    """Print text as it is, in place of a progress display, with the keywords `how` of `click.echo`."""
    hide_progress()
    if how.get("nl", True) or text.endswith("\n"):
        release_terminal(_LINE)
    else:
        occupy_terminal(_LINE)
    click.echo(text, **how)


_hides: list[Callable[[], None]] = []
"""The functions that hide the running spinners."""

_LINE = object()
"""The occupant for an output that ends within a line."""

_occupants: set[object] = set()
"""Displays at the cursor, in place of a spinner."""


def hide_progress() -> None:
    """Hide the running spinners, before an output or another display."""
    for hide in _hides:
        hide()


def occupy_terminal(occupant: object) -> None:
    """Hide spinners until the display that occupies the current line of the terminal releases it."""
    _occupants.add(occupant)
    hide_progress()


def release_terminal(occupant: object) -> None:
    """Allow spinners again."""
    _occupants.discard(occupant)


def is_occupied() -> bool:
    """Return True if another display or an unfinished line is at the cursor."""
    return bool(_occupants)


@contextmanager
def hidden_by_output(hide: Callable[[], None]) -> Iterator[None]:
    """Call `hide` before each output in the block."""
    _hides.append(hide)
    try:
        yield
    finally:
        _hides.remove(hide)
        _occupants.clear()


def _escaped_line(line: str) -> str:
    if not (line.isascii() and line.isprintable()):
        line = "".join(part if _STYLE.fullmatch(part) else printable(part) for part in _STYLE.split(line))
    return inert(line)


def terminal_width() -> int | None:
    """Return the columns of the terminal, None if stdout is not a terminal."""
    return shutil.get_terminal_size().columns if _is_terminal(sys.stdout) else None


def shows_progress() -> bool:
    """Return True if stderr is a terminal."""
    return _is_terminal(sys.stderr)


def _is_terminal(stream: TextIO | None) -> bool:
    # Python sets the stream to None if it is closed at start, as in some services.
    return stream is not None and stream.isatty()


class Unusable(click.ClickException):
    """An error in the arguments: one message on stderr and exit code 2."""

    exit_code = UNUSABLE

    def show(self, file: IO[Any] | None = None) -> None:
        echo(f"{style_text('error', 'error')}{style_text('message', ': ' + printable(self.message))}", to_stderr=True)


_NOT_FOUND_BY_CHECK = frozenset({Code.unreadable_path, Code.limit_exceeded, Code.unwritable, Code.internal_error})


def check_hint(path: str) -> HintOf:
    """Return a function that suggests `check` for faults of the file that it finds."""

    def suggest(error: IRError) -> str | None:
        location = error.location
        is_of_file = location.path is not None or location.layer_id is not None
        if not is_of_file or error.code in _NOT_FOUND_BY_CHECK or not rule_of(error.code).in_files:
            return None
        return f"`ir-exec check {path_word(path)}` shows all faults of the file"

    return suggest


@contextmanager
def errors_as_messages(*, hint: HintOf | None = None, exit_code: int = 1) -> Iterator[None]:
    """Report errors as one message on stderr and exit; `hint` is for errors without one.

    The exit code is `exit_code` for faults of the model, 2 for a path that cannot be read or written.
    """
    try:
        yield
    except IRError as error:
        _fail(error, hint, exit_code)
    except MemoryError as error:
        _fail(ResourceError(f"out of memory: {error}"), hint, exit_code)
    except (OSError, click.ClickException, click.Abort):
        raise  # click handles these, for example a closed pipe
    except Exception as error:
        _fail(internal_error(error), None, exit_code)


def _fail(error: IRError, hint: HintOf | None, exit_code: int) -> NoReturn:
    text = error.hint or (None if hint is None else hint(error))
    diagnostic = Diagnostic.of(error).model_copy(update={"severity": "error", "hint": text})
    for line in render_diagnostic(diagnostic, style=style_text):
        echo(line, to_stderr=True)
    sys.exit(UNUSABLE if error.code in (Code.unreadable_path, Code.unwritable) else exit_code)


def show(*parts: Table | str) -> None:
    """Print tables and texts with empty lines between them, fitted to the terminal if there is one."""
    width = terminal_width()
    for index, part in enumerate(parts):
        if index:
            echo("")
        if isinstance(part, Table):
            for role, line in part.lines(width):
                echo(style_text(role, line))
        else:
            for line in part.split("\n"):
                for shown in [line] if width is None or measure_columns(line) <= width else wrap_cell(line, width):
                    echo(shown)


def show_json(text: str) -> None:
    """Print JSON with escapes for non-ASCII characters and for the commands of CI servers."""
    plain = _NOT_PLAIN.sub(lambda match: json.dumps(match[0])[1:-1].replace("\x7f", "\\u007f"), text)
    write(plain.replace("##[", "#\\u0023["))


def print_report(text: str) -> None:
    """Print a report that a file may contain, too: JSON, markup, or lines in which control characters are escaped."""
    if text.startswith(("{", "[")):
        show_json(text.removesuffix("\n"))
    elif text.startswith("<?xml"):
        write(text.removesuffix("\n").replace("##[", "&#35;#["))
    elif text.startswith("<"):
        write(text.removesuffix("\n"))
    elif text:
        echo(text.removesuffix("\n"))


def show_verdict(line: str, *, is_good: bool) -> None:
    """Print the first line of a report, also if the report itself is written to a file."""
    echo(style_text("message" if is_good else "error", printable(line)))


def show_written(title: str, model: Model, path: str) -> None:
    """Show the inputs and outputs of a written model, the number of its layers and the path."""
    ends = table(title, end="left", name="left", element_type="left", shape="left")
    for end, ports in (("input", model.inputs), ("output", model.outputs)):
        for port in ports:
            ends.add_row(end, port.name, str(port.element_type), str(port.shape))
    count = sum(1 for _ in model.graph.all_nodes())
    show(ends, f"{count:,} layers written to {path}")
