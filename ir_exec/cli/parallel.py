"""Many files, checked by several processes and reported in their order."""

from __future__ import annotations

import signal
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from types import TracebackType
from typing import TYPE_CHECKING, Self

from ir_exec.check import Report, check_model
from ir_exec.cli.extensions import import_extensions
from ir_exec.types import Shape

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

__all__ = ["Bar", "Question", "check_all"]

_AHEAD = 4
"""Files per process that are started ahead of the first report: enough to keep every process busy."""


@dataclass(frozen=True, slots=True)
class Question:
    """The options of `check_model` for every file; extensions: what each process imports first."""

    shapes: Mapping[str, Shape] | None = None
    batch: int | None = None
    target: str | None = None
    weights_values: bool = False
    extensions: tuple[str, ...] = ()

    def answer(self, path: str) -> Report:
        return check_model(
            path, shapes=self.shapes, batch=self.batch, target=self.target, weights_values=self.weights_values
        )


def check_all(files: Iterable[tuple[str, bool]], question: Question, jobs: int) -> Iterator[tuple[str, bool, Report]]:
    """The report on each file, in the order of the files, with the path and whether it was found in a folder.

    Only a few reports are held at any time, however many files there are.
    """
    if jobs == 1:
        for path, was_found in files:
            yield path, was_found, question.answer(path)
        return
    # A process that is copied from one with threads may hang, so each begins anew.
    with ProcessPoolExecutor(
        jobs, mp_context=get_context("spawn"), initializer=_prepared, initargs=(question.extensions,)
    ) as pool:
        waiting: deque[tuple[str, bool, Future[Report]]] = deque()
        for path, was_found in files:
            waiting.append((path, was_found, pool.submit(question.answer, path)))
            if len(waiting) >= jobs * _AHEAD:
                yield _first(waiting)
        while waiting:
            yield _first(waiting)


def _first(waiting: deque[tuple[str, bool, Future[Report]]]) -> tuple[str, bool, Report]:
    path, was_found, future = waiting.popleft()
    return path, was_found, future.result()


class Bar:
    """A progress bar of files on stderr, where that is a terminal.

    total: counts the files, and is called only where the bar is shown.
    """

    def __init__(self, total: Callable[[], int], *, is_wanted: bool) -> None:
        self._progress: Progress | None = None
        self._task: TaskID | None = None
        if is_wanted and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

            columns = (TextColumn("checking"), BarColumn(), MofNCompleteColumn(), TextColumn("files"))
            self._progress = Progress(*columns, console=Console(stderr=True), transient=True)
            self._task = self._progress.add_task("files", total=total())

    def __enter__(self) -> Self:
        if self._progress is not None:
            self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._progress is not None:
            self._progress.stop()

    def advance(self) -> None:
        """Count one more file."""
        if self._progress is not None and self._task is not None:
            self._progress.advance(self._task)

    @contextmanager
    def hidden(self) -> Iterator[None]:
        """Hide the bar while a report is printed."""
        if self._progress is not None:
            self._progress.stop()
        yield
        if self._progress is not None:
            self._progress.start()


def _prepared(extensions: tuple[str, ...]) -> None:
    """What each process does first. Ctrl-C goes to all of them; the one that started them alone answers."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    import_extensions(extensions)
