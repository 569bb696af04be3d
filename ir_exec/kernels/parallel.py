"""Work on several threads, in chunks that do not depend on the number of threads.

NumPy releases the interpreter's lock while it moves and computes elements, so threads that each compute a chunk of the
output run concurrently. A kernel splits its work by the size of its tensors only, and each chunk writes to a separate
place: results do not depend on the thread or the order of a chunk.

The caller sets the number of threads in `THREADS`; the default is one.
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
"""Maximum number of threads for operators that run in this context, including the calling one.

It is no argument of a kernel: operators call kernels with arrays and attributes only. In helpers it is one.
"""

Worker: TypeAlias = Callable[[int], None]
"""A function that does the chunk of work of this number. Every thread has its own worker and buffers."""


def for_each(count: int, make_worker: Callable[[], Worker], *, nanoseconds: float = inf) -> None:
    """Do the chunks 0 to count - 1, each once, on as many threads as the context allows.

    Exceptions of workers are raised here; of several, the exception of the chunk with the lowest number. If the run
    exceeds its time limit, no further chunk is started, and ResourceError is raised. Context variables, and with them
    np.errstate, are those of the caller. Nested calls use one thread.

    Args:
        nanoseconds: The estimated time of one thread for all; short work is not shared.
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
    """Call `work(start, stop)` for ranges of `size` that cover range(total), as `for_each` does."""

    def chunk(number: int) -> None:
        work(number * size, min(number * size + size, total))

    for_each(-(-total // size), lambda: chunk, nanoseconds=nanoseconds)


def even_count(count: float) -> int:
    """An even number of chunks near `count`.

    The number of threads is rarely odd: with three equal chunks, one of two threads would idle during the third.
    """
    return 2 * max(round(count / 2), 1)


class _Job:
    """Chunks of work that the calling thread and its helpers take one by one until none is left."""

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
        copy_context().run(self._take_chunks)
        # Helpers that wake up now find no work. Only working ones are waited for; their number only decreases.
        end = perf_counter() + 1e-3
        while self._helping:
            if perf_counter() > end:
                self._all_done.wait()
            # Release the interpreter's lock to the helpers.
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
            self._take_chunks()
        finally:
            with self._lock:
                self._helping -= 1
                if not self._helping and self._next >= self._count:
                    self._all_done.set()

    def _take_chunks(self) -> None:
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
            # Chunks are handed out in order, so chunks with lower numbers are done or will be.
            self._next = self._count
            if self._failure is None or number < self._failure[0]:
                self._failure = number, failure


class _Pool:
    """Threads that wait for jobs: the maximum number requested so far; they end with the process."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Reset the pool: a forked process has none of its parent's threads."""
        self._lock = threading.Lock()
        self._jobs: SimpleQueue[tuple[_Job, Context]] = SimpleQueue()
        self._size = 0

    def submit(self, job: _Job, context: Context, size: int) -> None:
        """Let a thread help with the job, and start threads until there are `size`."""
        if self._size < size:
            with self._lock:
                while self._size < size:
                    name = f"ir_exec-{self._size + 1}"
                    # A daemon does not keep the process alive; the submitter of a job waits for its end.
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

# A sleep of 0 s takes 50 to 110 us on Linux, the timer slack; sched_yield takes 1 us, if available.
_yield: Callable[[], object] = getattr(os, "sched_yield", partial(sleep, 0))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=POOL.forget)
