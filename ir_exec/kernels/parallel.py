"""Work on several threads, split into pieces in a way that does not depend on the number of threads.

NumPy releases the interpreter's lock while it moves and computes elements, so threads that each work on a part of the
output run side by side. A kernel splits its work by the size of its tensors alone and each piece writes to a place of
its own; which thread takes a piece, and when, changes no result.

The caller says by `THREADS` how many threads may be used; the default is one.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextvars import Context, ContextVar, copy_context
from functools import partial
from math import inf
from queue import SimpleQueue
from time import perf_counter, sleep
from typing import TypeAlias

from ir_exec.kernels.limits import check_time
from ir_exec.tuning import thresholds

__all__ = ["THREADS", "Worker", "even_count", "for_each", "for_ranges"]

THREADS: ContextVar[int] = ContextVar("THREADS", default=1)
"""How many threads the operators that run in this context may use, the calling one included."""

Worker: TypeAlias = Callable[[int], None]
"""Does the piece of work of this number. Every thread has its own worker, and so its own buffers."""


def for_each(count: int, make_worker: Callable[[], Worker], *, nanoseconds: float = inf) -> None:
    """Do the pieces 0 to count - 1, each once, on as many threads as the context allows.

    nanoseconds: about how long one thread would take for all; short work is not shared.

    What workers raise is raised here; where several do, the exception of the piece with the lowest number. Where the
    run takes longer than it may, no further piece is begun, and ResourceError is raised. Context
    variables, and with them np.errstate, are those of the caller. Pieces that call this themselves do so on one thread.
    """
    helpers = min(THREADS.get(), count) - 1
    if helpers > 0 and nanoseconds >= thresholds.SHARED_NANOSECONDS:
        _Job(count, make_worker).run(helpers)
    elif count:
        work = make_worker()
        work(0)
        for number in range(1, count):
            check_time()
            work(number)


def for_ranges(total: int, size: int, work: Callable[[int, int], None], *, nanoseconds: float = inf) -> None:
    """Call `work(start, stop)` for ranges of `size` that make up range(total), as `for_each` does."""

    def piece(number: int) -> None:
        work(number * size, min(number * size + size, total))

    for_each(-(-total // size), lambda: piece, nanoseconds=nanoseconds)


def even_count(wanted: float) -> int:
    """About so many pieces, but an even number of them: threads are seldom an odd number, and of three equal pieces two
    threads do one after the other two have ended."""
    return 2 * max(round(wanted / 2), 1)


class _Job:
    """Pieces of work that the calling thread and its helpers take one after the other until none is left."""

    def __init__(self, count: int, make_worker: Callable[[], Worker]) -> None:
        self._count = count
        self._make_worker = make_worker
        self._lock = threading.Lock()
        self._next = 0
        self._failure: tuple[int, BaseException] | None = None
        self._helping = 0
        self._all_done = threading.Event()

    def run(self, helpers: int) -> None:
        for _ in range(helpers):
            # A context cannot be entered by two threads at a time.
            POOL.submit(self, copy_context(), helpers)
        copy_context().run(self._take_pieces)
        # Helpers that wake up now find nothing to do. Only those at work are waited for; their number only falls.
        end = perf_counter() + 1e-3
        while self._helping:
            if perf_counter() > end:
                self._all_done.wait()
            # Gives the interpreter's lock to the helpers.
            _yield()
        # A helper that has not woken up yet holds this job, which must not keep the arrays alive until then.
        del self._make_worker
        if self._failure is not None:
            raise self._failure[1]

    def help(self) -> None:
        with self._lock:
            if self._next >= self._count:
                return
            self._helping += 1
        try:
            self._take_pieces()
        finally:
            with self._lock:
                self._helping -= 1
                if not self._helping and self._next >= self._count:
                    self._all_done.set()

    def _take_pieces(self) -> None:
        THREADS.set(1)
        number = self._take()
        if number is None:
            return
        try:
            work = self._make_worker()
            while number is not None:
                check_time()
                work(number)
                number = self._take()
        except BaseException as failure:
            self._fail(number or 0, failure)

    def _take(self) -> int | None:
        with self._lock:
            if self._next >= self._count:
                return None
            self._next += 1
            return self._next - 1

    def _fail(self, number: int, failure: BaseException) -> None:
        with self._lock:
            # Pieces are handed out in order, so those with lower numbers are done or will be.
            self._next = self._count
            if self._failure is None or number < self._failure[0]:
                self._failure = number, failure


class _Pool:
    """Threads that wait for jobs: as many as a job has ever asked for; they end with the process."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Start anew: a forked process has none of its parent's threads."""
        self._lock = threading.Lock()
        self._jobs: SimpleQueue[tuple[_Job, Context]] = SimpleQueue()
        self._size = 0

    def submit(self, job: _Job, context: Context, size: int) -> None:
        """Let a thread help with the job, and start threads until there are `size`."""
        if self._size < size:
            with self._lock:
                while self._size < size:
                    name = f"ir_exec-{self._size + 1}"
                    # A daemon does not keep the process alive; whoever submits a job waits for its end.
                    threading.Thread(target=self._serve, args=(self._jobs,), name=name, daemon=True).start()
                    self._size += 1
        self._jobs.put((job, context))

    @staticmethod
    def _serve(jobs: SimpleQueue[tuple[_Job, Context]]) -> None:
        while True:
            job, context = jobs.get()
            context.run(job.help)
            # A waiting thread must not keep the arrays of its last job alive.
            del job, context


POOL = _Pool()

# A sleep of 0 s takes 50 to 110 us on Linux, as long as a timer may be late; sched_yield takes 1, where there is one.
_yield: Callable[[], object] = getattr(os, "sched_yield", partial(sleep, 0))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=POOL.forget)
