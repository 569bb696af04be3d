"""Commands with several workers: local processes, or those of a Dask cluster."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

import click

from ir_exec.batch.flow import in_order
from ir_exec.batch.limits import MOST_JOBS
from ir_exec.batch.pool import Pool
from ir_exec.batch.pools import pool_of
from ir_exec.check import Diagnostic, Report, check_model
from ir_exec.cli.extensions import import_extensions
from ir_exec.cli.output.terminal import (
    UNUSABLE,
    Unusable,
    errors_as_messages,
    occupy_terminal,
    release_terminal,
    shows_progress,
)
from ir_exec.codes import Code
from ir_exec.errors import IRError, Location, internal_error
from ir_exec.hints import install_hint
from ir_exec.types import Shape

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

__all__ = ["Bar", "Question", "check_all", "pool_for", "worker_options"]

Command = TypeVar("Command", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Question:
    """The options of `check_model` for all files."""

    shapes: Mapping[str, Shape] | None = None
    batch: int | None = None
    target: str | None = None
    weights_values: bool = False

    def answer(self, path: str) -> Report:
        return check_model(
            path, shapes=self.shapes, batch=self.batch, target=self.target, weights_values=self.weights_values
        )


def check_all(files: Iterable[tuple[str, bool]], question: Question, pool: Pool) -> Iterator[tuple[str, bool, Report]]:
    """Yield for each file, in order, its path, True if it was found in a folder, and its report.

    Only a few reports are in memory at any time.
    """
    for (path, was_found), report, error in in_order(question.answer, files, lambda file: file[0], pool):
        if report is None:
            assert error is not None, "there is either a report or an error"
            fault = error if isinstance(error, IRError) else internal_error(error)
            diagnostic = Diagnostic.of(fault.located(Location(path=path)))
            report = Report(path=path, diagnostics=(diagnostic,), layers_checked=0, layers_not_checked=0)
        elif any(diagnostic.code == Code.unreadable_path for diagnostic in report.diagnostics) and os.path.isfile(path):
            report = question.answer(path)  # workers on other machines may not have the file
        yield path, was_found, report


@contextmanager
def pool_for(jobs: int | None, scheduler: str | None, extensions: tuple[str, ...]) -> Iterator[Pool]:
    """Provide the workers of a command: local processes, those of a Dask scheduler, or only this process."""
    initializer = partial(import_extensions, extensions) if extensions else None
    if scheduler is not None:
        if jobs is not None:
            raise Unusable("--jobs and --scheduler are both given, expected one of them")
        try:
            from ir_exec.batch.cluster import connect
        except ImportError:
            raise Unusable(f"--scheduler requires Dask, which is not installed: {install_hint('dask')}") from None
        with errors_as_messages(exit_code=UNUSABLE), connect(scheduler, initializer) as cluster:
            yield cluster
        return
    with pool_of(None, jobs, initializer=initializer) as pool:
        yield pool


def worker_options(command: Command) -> Command:
    """Add --jobs and --scheduler."""
    command = click.option(
        "--scheduler", metavar="URL", help="Use the workers of a Dask scheduler, tcp://host:8786 (extra dask)."
    )(command)
    return click.option("--jobs", type=click.IntRange(1, MOST_JOBS), help="Number of worker processes.  [default: 1]")(
        command
    )


class Bar:
    """A progress bar on stderr, if it is a terminal.

    Args:
        total: Returns the number of items; called only if the bar is shown.
        verb: The text before the bar.
        noun: The text after the bar.
    """

    def __init__(
        self, total: Callable[[], int], *, is_wanted: bool, verb: str = "checking", noun: str = "files"
    ) -> None:
        self._progress: Progress | None = None
        self._task: TaskID | None = None
        if is_wanted and shows_progress():
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

            columns = (TextColumn(verb), BarColumn(), MofNCompleteColumn(), TextColumn(noun))
            self._progress = Progress(*columns, console=Console(stderr=True), transient=True)
            self._task = self._progress.add_task(noun, total=total())

    def __enter__(self) -> Self:
        if self._progress is not None:
            occupy_terminal(self)
            self._progress.start()
        return self

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._progress is not None:
            self._progress.stop()
            release_terminal(self)

    def advance(self) -> None:
        """Count one more item."""
        if self._progress is not None and self._task is not None:
            self._progress.advance(self._task)

    @contextmanager
    def hide(self) -> Iterator[None]:
        """Hide the bar while a report is printed."""
        if self._progress is not None:
            self._progress.stop()
        yield
        if self._progress is not None:
            self._progress.start()
