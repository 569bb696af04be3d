"""Pools of workers: this thread, processes that are replaced when they die, or an executor of the caller.

A future of a pool ends with WorkerLostError if the worker died before it answered; the submitter may submit the work
again.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from threading import Lock
from typing import Any

from ir_exec.batch.limits import MOST_JOBS
from ir_exec.batch.pool import Pool, WorkerLostError, plain
from ir_exec.batch.start import prepare
from ir_exec.codes import Code
from ir_exec.errors import EvaluationError, IRError

__all__ = ["Given", "Here", "Processes", "pool_of"]

_MOST_FAILED_STARTS = 3
"""Maximum workers in a row that die before they answer; no more are started then."""


class Here(Pool):
    """Runs work immediately in the submitting thread."""

    in_process = shares_files = True
    workers = 1
    task_seconds = 0.0
    threads = None

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(function(*plain(arguments)))
        except Exception as error:
            future.set_exception(error)
        return future


class Processes(Pool):
    """A fixed number of worker processes, each with a separate queue: a worker dies of the work that it had started.

    A process is started with its first work.

    Args:
        threads: The number of threads of BLAS and of each run; by default the cores are divided among the processes.
        initializer: A function that each process calls first.
    """

    shares_files = True
    threads = None

    def __init__(self, jobs: int, *, threads: int | None = None, initializer: Callable[[], None] | None = None) -> None:
        from ir_exec.tuning.machine import available_cores  # not needed by other pools

        threads = max(1, available_cores() // jobs) if threads is None else threads
        self._lanes = [_Lane(partial(_new_executor, threads, initializer)) for _ in range(jobs)]

    @property
    def workers(self) -> int:
        return len(self._lanes)

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        return min(self._lanes, key=lambda lane: lane.load).submit(function, plain(arguments))

    def require_alive(self) -> None:
        failed = sum(lane.failed_starts for lane in self._lanes)
        if failed >= _MOST_FAILED_STARTS and not any(lane.is_working for lane in self._lanes):
            message = f"worker processes ended {failed} times in a row before their first task"
            hint = 'start processes in a script below `if __name__ == "__main__":`'
            raise IRError(message, hint=hint)

    def close(self, *, at_once: bool) -> None:
        for lane in self._lanes:
            lane.stop(at_once=at_once)
        for lane in self._lanes:
            lane.join()


def _new_executor(threads: int, initializer: Callable[[], None] | None) -> ProcessPoolExecutor:
    # A process forked from one with threads may hang, and BLAS has threads: each process is spawned.
    return ProcessPoolExecutor(1, mp_context=get_context("spawn"), initializer=prepare, initargs=(threads, initializer))


@dataclass(eq=False)
class _Life:
    """A worker process from its start to its end.

    Attributes:
        greeting: Its first answer, before any work.
    """

    executor: ProcessPoolExecutor
    greeting: Future[int]
    is_over: bool = False

    @property
    def has_begun(self) -> bool:
        return self.greeting.done() and self.greeting.exception() is None

    def end(self) -> None:
        # Python 3.14 has a method for this.
        for process in list((getattr(self.executor, "_processes", None) or {}).values()):
            process.terminate()


class _Lane:
    """One worker process at a time, and the number of its tasks."""

    def __init__(self, start: Callable[[], ProcessPoolExecutor]) -> None:
        self.failed_starts = 0
        self._start = start
        self._life: _Life | None = None
        self._given = 0
        self._lock = Lock()

    @property
    def load(self) -> tuple[int, int]:
        """The load for comparisons: a worker that fails to start gets no tasks as long as others work."""
        return self.failed_starts, self._given

    @property
    def is_working(self) -> bool:
        return self._life is not None and self._life.has_begun

    def submit(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Future[Any]:
        outer: Future[Any] = Future()
        outer.set_running_or_notify_cancel()  # a task in a process cannot be cancelled
        while True:
            life = self._living()
            try:
                inner = life.executor.submit(function, *arguments)
            except BrokenExecutor:
                self._bury(life)
                continue
            with self._lock:
                self._given += 1
            inner.add_done_callback(partial(self._answer, life, outer))
            return outer

    def _living(self) -> _Life:
        with self._lock:
            if self._life is None:
                executor = self._start()
                with _without_interrupts():
                    self._life = _Life(executor, executor.submit(os.getpid))
                self._life.greeting.add_done_callback(self._count_failed_start)
            return self._life

    def _count_failed_start(self, greeting: Future[int]) -> None:
        is_failed = greeting.cancelled() or greeting.exception() is not None
        self.failed_starts = self.failed_starts + 1 if is_failed else 0

    def _answer(self, life: _Life, outer: Future[Any], inner: Future[Any]) -> None:
        """Pass on the result of one task; the first failed one of a dead process is the one that it had started."""
        with self._lock:
            self._given -= 1
        error = CancelledError() if inner.cancelled() else inner.exception()
        if isinstance(error, BrokenExecutor):
            is_suspect, life.is_over = life.has_begun and not life.is_over, True
            self._bury(life)
            outer.set_exception(WorkerLostError(is_suspect=is_suspect))
        elif error is not None:
            outer.set_exception(error)
        else:
            outer.set_result(inner.result())

    def _bury(self, life: _Life) -> None:
        with self._lock:
            if self._life is life:
                self._life = None

    def stop(self, *, at_once: bool) -> None:
        """Start to end the process; `join` waits for its end."""
        life = self._life
        if life is not None and at_once:
            life.end()

    def join(self) -> None:
        life = self._life
        if life is not None:
            life.executor.shutdown(wait=True, cancel_futures=True)


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """Block Ctrl-C in processes that are started here, even before they ignore it themselves."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class Given(Pool):
    """An executor of the caller, who also closes it.

    If the workers of an executor are not restarted, its futures end with BrokenExecutor, and no worker is left.
    """

    def __init__(self, executor: Executor) -> None:
        from ir_exec.tuning.machine import available_cores

        self._executor = executor
        self._is_broken = False
        self.in_process = isinstance(executor, ThreadPoolExecutor)
        worker_count = getattr(executor, "_max_workers", None)
        self._workers = worker_count if isinstance(worker_count, int) and worker_count > 0 else available_cores()
        if self.in_process:
            self.task_seconds = 0.0
            self.threads = max(1, available_cores() // self._workers)

    @property
    def workers(self) -> int:
        return self._workers

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        try:
            return self._executor.submit(function, *plain(arguments))
        except BrokenExecutor as error:
            future: Future[Any] = Future()
            future.set_exception(error)
            return future

    def find_loss(self, error: BaseException) -> WorkerLostError | None:
        if not isinstance(error, BrokenExecutor):
            return None
        self._is_broken = True
        return WorkerLostError(is_suspect=False)

    def require_alive(self) -> None:
        if self._is_broken:
            message = "the executor has lost a worker process, and accepts no more work"
            hint = "use jobs=N, which replaces processes that die"
            raise EvaluationError(message, code=Code.failed, hint=hint)


def pool_of(
    executor: Any, jobs: int | None, *, threads: int | None = None, initializer: Callable[[], None] | None = None
) -> Pool:
    """Return the pool of an executor, of a Dask client, or of `jobs` processes; a single job runs in this thread.

    Args:
        threads: As for `Processes`.
        initializer: As for `Processes`.

    Raises:
        EvaluationError: IR704 for anything else, and for `jobs` out of range.
    """
    if jobs is not None and not 1 <= jobs <= MOST_JOBS:
        raise EvaluationError("jobs is", actual=jobs, expected=f"1 to {MOST_JOBS}", code=Code.bad_value)
    if executor is None:
        return Here() if jobs in (None, 1) else Processes(jobs or 1, threads=threads, initializer=initializer)
    if jobs is not None:
        raise EvaluationError("executor and jobs are both given", expected="one of them")
    if isinstance(executor, Pool):
        return executor
    if type(executor).__module__.startswith("distributed."):
        from ir_exec.batch.cluster import Cluster

        return Cluster(executor)
    if not isinstance(executor, Executor):
        raise EvaluationError(
            "executor is of type", actual=type(executor).__name__, expected="an executor of concurrent.futures"
        )
    return Given(executor)
