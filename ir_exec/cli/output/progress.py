"""Progress on stderr, if it is a terminal."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from threading import Lock, Timer
from time import perf_counter
from types import TracebackType
from typing import TYPE_CHECKING, Self

from ir_exec.cli.output.terminal import (
    hidden_by_output,
    is_occupied,
    occupy_terminal,
    release_terminal,
    shows_progress,
)
from ir_exec.printable import printable

if TYPE_CHECKING:
    from rich.progress import Progress, Task, TaskID

    from ir_exec.graph import Graph

__all__ = ["LayerBar", "Spinner", "Steps"]

PATIENCE = 0.5
"""Seconds before a progress bar is shown."""

SPINNER_PATIENCE = 1.0
"""Seconds before a spinner is shown."""


class Spinner:
    """The name of a command and its time on stderr, after a second without output and without a bar.

    Outputs and bars hide it, until the next second without them. It is not shown if stderr is not a terminal.
    """

    def __init__(self, title: str, patience: float = SPINNER_PATIENCE) -> None:
        self._title = title
        self._patience = patience
        self._lock = Lock()
        self._is_ended = False
        self._has_output = False
        self._start = perf_counter()
        self._timer: Timer | None = None
        self._progress: Progress | None = None

    def __enter__(self) -> Self:
        self._stack = ExitStack()
        if shows_progress():
            self._stack.callback(self.end)
            self._stack.enter_context(hidden_by_output(self.hide))
            self._wait()
        return self

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    @property
    def is_shown(self) -> bool:
        """True while the spinner is on the terminal."""
        return self._progress is not None

    def _wait(self) -> None:
        """Call `show` after a while."""
        self._has_output = False
        self._timer = Timer(self._patience, self.show)
        self._timer.daemon = True
        self._timer.start()

    def show(self) -> None:
        """Show the spinner, or wait again after an output and during another display; called from another thread."""
        if not self._is_ended and (self._has_output or is_occupied()):
            self._wait()
            return
        from rich.console import Console
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        with self._lock:
            if self._is_ended or self._has_output or self._progress is not None:
                return
            columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
            console = Console(stderr=True)
            self._progress = Progress(
                *columns, console=console, transient=True, redirect_stdout=False, redirect_stderr=False
            )
            task = self._progress.add_task(printable(self._title), total=None)
            self._progress.tasks[task].start_time = self._progress.get_time() - (perf_counter() - self._start)
            self._progress.start()

    def hide(self) -> None:
        """Hide the spinner, and show it again after a while without output."""
        with self._lock:
            self._has_output = True
            progress, self._progress = self._progress, None
        if progress is not None:
            progress.stop()
            self._wait()

    def end(self) -> None:
        """Remove the spinner for good."""
        self._is_ended = True
        if self._timer is not None:
            self._timer.cancel()
        with self._lock:
            progress, self._progress = self._progress, None
        if progress is not None:
            progress.stop()


class LayerBar:
    """A progress bar on stderr for long runs; not shown if stderr is not a terminal.

    Args:
        graph: Its layers are the steps, with those of bodies, each counted once for all iterations. None for an unknown
            number of steps.
    """

    def __init__(self, graph: Graph | None) -> None:
        self.is_wanted = shows_progress()
        self._total = None if graph is None else sum(not node.op_class.is_result for node in graph.all_nodes())
        self._done = 0
        self._seen: set[str] = set()
        self._start = perf_counter()
        self._bar: tuple[Progress, TaskID] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar[0].stop()
            release_terminal(self)

    def advance(self, step: str) -> None:
        """Count one more step, a layer given by its path."""
        if self._total is None or step not in self._seen:
            self._seen.add(step)
            self._done += 1
        if self._bar is None:
            if perf_counter() - self._start < PATIENCE:
                return
            self._bar = self._open()
        progress, task = self._bar
        progress.update(task, completed=self._done, description=printable(step)[:60])

    @property
    def tasks(self) -> list[Task]:
        """The tasks of the bar; none before it is shown."""
        return [] if self._bar is None else self._bar[0].tasks

    def _open(self) -> tuple[Progress, TaskID]:
        occupy_terminal(self)
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
    """A line on stderr with the current step; not shown if stderr is not a terminal."""

    def __init__(self) -> None:
        self._is_wanted = shows_progress()
        self._shown = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.tell("")

    def tell(self, step: str) -> None:
        """Replace the line by the current step."""
        if self._is_wanted:
            occupy_terminal(self)
            text = printable(step)[:70]
            print(f"\r{text:{self._shown}}\r{text}" if text else f"\r{'':{self._shown}}\r", end="", file=sys.stderr)
            sys.stderr.flush()
            self._shown = len(text)
            if not text:
                release_terminal(self)
