"""What is done at the moment, on stderr, where somebody looks at it."""

from __future__ import annotations

import sys
from time import perf_counter
from types import TracebackType
from typing import TYPE_CHECKING, Self

from ir_exec.cli.terminal import shows_progress
from ir_exec.printable import printable

if TYPE_CHECKING:
    from rich.progress import Progress, Task, TaskID

    from ir_exec.graph import Graph

__all__ = ["LayerBar", "Steps"]

PATIENCE = 0.5
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
            if perf_counter() - self._start < PATIENCE:
                return
            self._bar = self._open()
        progress, task = self._bar
        progress.update(task, completed=self._done, description=printable(step)[:60])

    @property
    def tasks(self) -> list[Task]:
        """The tasks that the bar shows; none before the bar is open."""
        return [] if self._bar is None else self._bar[0].tasks

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
