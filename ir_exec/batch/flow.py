"""Work on its way through a pool: what a lost worker has not answered is done again, and all of it once."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from ir_exec.batch.pools import Pool
from ir_exec.codes import Code
from ir_exec.errors import EvaluationError

__all__ = ["Task", "TaskFlow", "in_order"]

HEARTBEAT = 1.0
"""Seconds after which a wait looks whether there are workers at all; also the longest that Ctrl-C waits on Windows."""

_MOST_LOSSES = 100
"""How often work may be lost by workers that did not die of it."""


T = TypeVar("T")
V = TypeVar("V")
A = TypeVar("A")


@dataclass(slots=True, eq=False)
class Task:
    """A call of a function in a worker. label: what the submitter knows it by.

    is_divisible: it is several pieces of work, which the submitter submits one by one when a worker has died of it.
    deaths: how many workers died of it, as far as is known. losses: how often it was lost otherwise. is_alone: whether
    nothing else was in flight when it was submitted.
    """

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    label: Any = None
    is_divisible: bool = False
    deaths: int = 0
    losses: int = 0
    is_alone: bool = False


class TaskFlow:
    """Submits tasks, and gives each of them back once, with its value or its error.

    tries: how many workers a task may cost before it is given up. Where a pool cannot tell of which task a worker died,
    those in doubt run again one by one.
    """

    def __init__(self, pool: Pool, tries: int = 3) -> None:
        self._pool = pool
        self._tries = tries
        self._done: SimpleQueue[tuple[Task, Future[Any]]] = SimpleQueue()
        self._in_flight: dict[Task, Future[Any]] = {}
        self._is_lonely = False
        self._held: deque[Task] = deque()
        self._doubtful: deque[Task] = deque()

    @property
    def pending(self) -> int:
        """How many tasks are still to be given back."""
        return len(self._in_flight) + len(self._held) + len(self._doubtful)

    def submit(self, task: Task) -> None:
        self._held.append(task)
        self._send()

    def next(self) -> tuple[Task, Any, Exception | None]:
        """Wait for any task; its value, or its error. Raises IRError where no worker will ever answer."""
        while True:
            task, future = self.wait()
            del self._in_flight[task]
            self._is_lonely = False
            try:
                value, error = future.result(), None
            except Exception as found:
                value, error = None, self._resent(task, found)
                if error is None:
                    continue
            self._send()
            return task, value, error

    def cancel(self) -> None:
        """Let go of everything that was not given back; what is being worked on ends by itself."""
        for future in list(self._in_flight.values()):
            future.cancel()

    def wait(self) -> tuple[Task, Future[Any]]:
        while True:
            try:
                return self._done.get(timeout=HEARTBEAT)
            except Empty:
                self._pool.require_alive()

    def _resent(self, task: Task, error: Exception) -> Exception | None:
        """Submit a task again whose worker was lost; else the error to give it back with."""
        lost = self._pool.lost(error)
        if lost is None:
            return error
        self._pool.require_alive()
        task.deaths += lost.is_suspect and lost.is_sure
        task.losses += 1
        is_guilty = lost.is_suspect and not lost.is_sure and task.is_alone
        tries = 1 if task.is_divisible else self._tries
        if is_guilty or task.deaths >= tries or task.losses >= _MOST_LOSSES:
            return _death(max(task.deaths, 1))
        if task.is_alone or (lost.is_suspect and not lost.is_sure):
            self._doubtful.append(task)
        else:
            self._held.appendleft(task)
        self._send()
        return None

    def _send(self) -> None:
        """Submit what is held; doubtful tasks run by themselves, when everything before them is done."""
        while self._held and not self._doubtful and not self._is_lonely:
            self._submit(self._held.popleft())
        if self._doubtful and not self._in_flight:
            task = self._doubtful.popleft()
            task.is_alone = self._is_lonely = True
            self._submit(task)

    def _submit(self, task: Task) -> None:
        future = self._in_flight[task] = self._pool.submit(task.function, *task.arguments)
        future.add_done_callback(partial(self._finished, task))

    def _finished(self, task: Task, future: Future[Any]) -> None:
        self._done.put((task, future))


def _death(times: int) -> EvaluationError:
    often = "once" if times == 1 else f"{times} times"
    message = f"the worker process died while it computed this, {often}"
    return EvaluationError(message, code=Code.failed, hint="did it run out of memory?")


def in_order(
    function: Callable[[A], V], items: Iterable[T], argument: Callable[[T], A], pool: Pool
) -> Iterator[tuple[T, V, None] | tuple[T, None, Exception]]:
    """Each item with the function's value of its argument, or with the error, in the order of the items.

    A few items are taken at a time, however many there are. Raises IRError where no worker answers any more.
    """
    flow = TaskFlow(pool)
    left = enumerate(items)
    early: dict[int, tuple[T, V, None] | tuple[T, None, Exception]] = {}
    taken = given = 0
    is_over = False
    try:
        while True:
            ahead = 1 if pool.in_process else pool.ahead * pool.workers
            while not is_over and taken - given < ahead:
                following = next(left, None)
                is_over = following is None
                if following is not None:
                    taken += 1
                    flow.submit(Task(function, (argument(following[1]),), following))
            if not flow.pending:
                return
            task, value, error = flow.next()
            index, item = task.label
            early[index] = (item, None, error) if error is not None else (item, value, None)
            while given in early:
                yield early.pop(given)
                given += 1
    finally:
        flow.cancel()
