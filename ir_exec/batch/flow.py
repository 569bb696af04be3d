"""The flow of tasks through a pool: tasks of a lost worker are submitted again, and each is returned once."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from ir_exec.batch.pool import Pool
from ir_exec.codes import Code
from ir_exec.errors import EvaluationError

__all__ = ["Task", "TaskFlow", "in_order"]

HEARTBEAT = 1.0
"""Seconds after which a wait looks whether there are workers at all; also the longest that Ctrl-C waits on Windows."""

_MOST_LOSSES = 100
"""Maximum losses of a task to workers that died of other causes."""


T = TypeVar("T")
V = TypeVar("V")
A = TypeVar("A")


@dataclass(slots=True, eq=False)
class Task:
    """A call of a function in a worker.

    Attributes:
        label: An object of the submitter that identifies it.
        is_divisible: It consists of several items, which the submitter submits one by one after a worker has died of
            it.
        deaths: The known number of workers that died of it.
        losses: The number of its losses.
        is_alone: No other task was in flight when it was submitted.
    """

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    label: Any = None
    is_divisible: bool = False
    deaths: int = 0
    losses: int = 0
    is_alone: bool = False


class TaskFlow:
    """Submits tasks, and returns each of them once, with its value or its error.

    Args:
        tries: The number of workers that a task may cost before it fails. If a pool cannot determine the task that a
            worker died of, the suspects run again one by one.
    """

    def __init__(self, pool: Pool, tries: int = 3) -> None:
        self._pool = pool
        self._tries = tries
        self._done: SimpleQueue[tuple[Task, Future[Any]]] = SimpleQueue()
        self._in_flight: dict[Task, Future[Any]] = {}
        self._runs_alone = False
        self._queued: deque[Task] = deque()
        self._doubtful: deque[Task] = deque()

    @property
    def pending(self) -> int:
        """The number of tasks that are still to be returned."""
        return len(self._in_flight) + len(self._queued) + len(self._doubtful)

    def submit(self, task: Task) -> None:
        self._queued.append(task)
        self._send()

    def next(self) -> tuple[Task, Any, Exception | None]:
        """Wait for a task, and return it with its value or error.

        Raises:
            IRError: If no worker will ever answer.
        """
        while True:
            task, future = self.wait()
            del self._in_flight[task]
            self._runs_alone = False
            try:
                value, error = future.result(), None
            except Exception as failure:
                value, error = None, self._resent(task, failure)
                if error is None:
                    continue
            self._send()
            return task, value, error

    def cancel(self) -> None:
        """Drop all tasks that were not returned; running ones end normally."""
        for future in list(self._in_flight.values()):
            future.cancel()

    def wait(self) -> tuple[Task, Future[Any]]:
        while True:
            try:
                return self._done.get(timeout=HEARTBEAT)
            except Empty:
                self._pool.require_alive()

    def _resent(self, task: Task, error: Exception) -> Exception | None:
        """Submit a task of a lost worker again, or return the error to report for it."""
        lost = self._pool.find_loss(error)
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
            self._queued.appendleft(task)
        self._send()
        return None

    def _send(self) -> None:
        """Submit queued tasks; suspects run alone, after all earlier tasks are done."""
        while self._queued and not self._doubtful and not self._runs_alone:
            self._submit(self._queued.popleft())
        if self._doubtful and not self._in_flight:
            task = self._doubtful.popleft()
            task.is_alone = self._runs_alone = True
            self._submit(task)

    def _submit(self, task: Task) -> None:
        future = self._in_flight[task] = self._pool.submit(task.function, *task.arguments)
        future.add_done_callback(partial(self._record_finished, task))

    def _record_finished(self, task: Task, future: Future[Any]) -> None:
        self._done.put((task, future))


def _death(times: int) -> EvaluationError:
    often = "once" if times == 1 else f"{times} times"
    message = f"the worker process died during the computation, {often}"
    return EvaluationError(message, code=Code.failed, hint="check whether it ran out of memory")


def in_order(
    function: Callable[[A], V], items: Iterable[T], argument: Callable[[T], A], pool: Pool
) -> Iterator[tuple[T, V, None] | tuple[T, None, Exception]]:
    """Yield each item with the function's value for its argument, or with the error, in the order of the items.

    Only a few items are in flight at a time.

    Raises:
        IRError: If no worker answers.
    """
    flow = TaskFlow(pool)
    left = enumerate(items)
    early: dict[int, tuple[T, V, None] | tuple[T, None, Exception]] = {}
    submitted = yielded = 0
    is_over = False
    try:
        while True:
            ahead = 1 if pool.in_process else pool.ahead * pool.workers
            while not is_over and submitted - yielded < ahead:
                following = next(left, None)
                is_over = following is None
                if following is not None:
                    submitted += 1
                    flow.submit(Task(function, (argument(following[1]),), following))
            if not flow.pending:
                return
            task, value, error = flow.next()
            index, item = task.label
            early[index] = (item, None, error) if error is not None else (item, value, None)
            while yielded in early:
                yield early.pop(yielded)
                yielded += 1
    finally:
        flow.cancel()
