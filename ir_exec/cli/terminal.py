"""Output of all commands: styles, what is shown, and errors as one message without a traceback."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any, NoReturn, TextIO

import click

from ir_exec.check import Diagnostic, render_diagnostic
from ir_exec.cli.names import columns_of
from ir_exec.cli.tables import Table, table, wrapped
from ir_exec.codes import Code
from ir_exec.errors import IRError, ResourceError, internal_error
from ir_exec.model import Model
from ir_exec.printable import inert, printable

if TYPE_CHECKING:
    pass

__all__ = [
    "UNUSABLE",
    "Unusable",
    "check_hint",
    "echo",
    "errors_as_messages",
    "show",
    "show_json",
    "show_written",
    "shows_progress",
    "styled",
    "terminal_width",
]


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


def show_written(title: str, model: Model, path: str) -> None:
    """The inputs and outputs of the network, and how many layers went where."""
    ends = table(title, end="left", name="left", element_type="left", shape="left")
    for end, ports in (("input", model.inputs), ("output", model.outputs)):
        for port in ports:
            ends.add_row(end, printable(port.name), str(port.element_type), str(port.shape))
    count = sum(1 for _ in model.graph.all_nodes())
    show(ends, f"{count:,} layers written to {path}")
