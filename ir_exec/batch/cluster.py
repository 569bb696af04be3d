"""A Dask cluster as a pool. This module is imported where there is a Dask client, or where one is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Future
from contextlib import contextmanager, suppress
from functools import partial
from queue import Empty, SimpleQueue
from threading import Thread
from time import monotonic
from typing import Any, TypeAlias

from distributed import Client, KilledWorker
from distributed.cfexecutor import ClientExecutor

from ir_exec.batch.pools import Cargo, Pool, WorkerLostError
from ir_exec.errors import EvaluationError, IRError

__all__ = ["Cluster", "connected"]

_Pair: TypeAlias = tuple[Any, Future[Any]]
"""A future of Dask's, and the one that was given for it."""

_COUNTED_EVERY = 5.0
"""Seconds for which a number of workers holds."""


class Cluster(Pool):
    """The workers of a Dask client, or of an executor of one. Dask moves Cargo to each worker once.

    initializer: what a worker calls before any work; it must be picklable, and cheap the second time.
    """

    carriers = 2**31
    ahead = 16  # the more results are fetched at a time, the less each costs
    task_seconds = 0.1

    def __init__(self, executor: ClientExecutor | Client, initializer: Callable[[], None] | None = None) -> None:
        if isinstance(executor, Client):
            executor = executor.get_executor()
        if not isinstance(executor, ClientExecutor):
            raise EvaluationError(f"executor is a {type(executor).__name__}, expected a Dask client")
        # These have no other names.
        self._client: Client = executor._client
        self._options = {**executor._kwargs, "pure": False}
        self._done: SimpleQueue[_Pair | None] = SimpleQueue()
        self._gatherer: Thread | None = None
        self._initializer = initializer
        self._sent: dict[Cargo, Any] = {}
        self._workers = 1
        self._asked = -_COUNTED_EVERY

    @property
    def workers(self) -> int:
        # The scheduler is asked, which takes a message; clusters grow, but not from item to item.
        if self._is_connected and monotonic() - self._asked > _COUNTED_EVERY:
            # Where the scheduler does not answer, `require_alive` says so.
            with suppress(OSError):
                self._workers = max(1, sum(self._client.nthreads().values()))
            self._asked = monotonic()
        return self._workers

    @property
    def _is_connected(self) -> bool:
        return bool(self._client.status == "running")

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        self.require_alive()
        call = function if self._initializer is None else partial(_prepared, self._initializer, function)
        if self._gatherer is None:
            self._gatherer = Thread(target=self._gather_all, name="ir-exec-gather", daemon=True)
            self._gatherer.start()
        ours: Future[Any] = Future()
        try:
            moved = [self._moved(argument) if isinstance(argument, Cargo) else argument for argument in arguments]
        except OSError:
            # The worker that was to have the Cargo is gone, and the scheduler does not try another.
            ours.set_exception(WorkerLostError(is_suspect=False))
            return ours
        theirs = self._client.submit(call, *moved, **self._options)
        ours.add_done_callback(partial(_cancel, theirs))
        theirs.add_done_callback(lambda found: self._done.put((found, ours)))
        return ours

    def _gather_all(self) -> None:
        """Fetch the results of all that is done at a time: a request takes a while, whatever it fetches."""
        is_open = True
        while is_open:
            pairs = [self._done.get()]
            with suppress(Empty):
                while True:
                    pairs.append(self._done.get_nowait())
            is_open = None not in pairs
            self._gather([pair for pair in pairs if pair is not None])

    def _gather(self, pairs: list[_Pair]) -> None:
        finished = [pair for pair in pairs if pair[0].status == "finished"]
        values: list[Any] = []
        # Where a worker has died with its results, each future says what becomes of it.
        with suppress(Exception):
            values = self._client.gather([theirs for theirs, _ in finished])
        done = dict(zip([ours for _, ours in finished], values, strict=False))
        for theirs, ours in pairs:
            if not ours.set_running_or_notify_cancel():
                continue
            try:
                ours.set_result(done[ours] if ours in done else theirs.result())
            except BaseException as error:
                ours.set_exception(error)

    def close(self, *, at_once: bool) -> None:
        if self._gatherer is not None:
            self._done.put(None)
            self._gatherer.join()
            self._gatherer = None

    def _moved(self, cargo: Cargo) -> Any:
        if cargo not in self._sent:
            self._sent[cargo] = self._client.scatter(cargo.content, hash=False)
        return self._sent[cargo]

    def lost(self, error: BaseException) -> WorkerLostError | None:
        if isinstance(error, WorkerLostError):
            return error
        if isinstance(error, KilledWorker):
            # Dask suspects everything that was queued at the workers that died.
            return WorkerLostError(is_suspect=True, is_sure=False)
        if isinstance(error, CancelledError):
            # Either the scheduler is gone, or with a worker the only copy of some Cargo.
            self._sent.clear()
            return WorkerLostError(is_suspect=False)
        return None

    def require_alive(self) -> None:
        if not self._is_connected:
            place = self._client.scheduler.address if self._client.scheduler is not None else "?"
            message = f"the connection to the Dask scheduler {place} is lost"
            raise IRError(message, hint="is the scheduler still there? What was not answered yet is to be done again")


def _cancel(theirs: Any, ours: Future[Any]) -> None:
    if ours.cancelled():
        theirs.cancel()


def _prepared(initializer: Callable[[], None], function: Callable[..., Any], *arguments: Any) -> Any:
    initializer()
    return function(*arguments)


@contextmanager
def connected(address: str, initializer: Callable[[], None] | None = None) -> Iterator[Cluster]:
    """The cluster of a scheduler, `tcp://host:8786`; raises IRError where it does not answer."""
    try:
        client = Client(address, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise IRError(f"cannot reach the Dask scheduler {address}: {error}") from None
    try:
        with Cluster(client, initializer) as cluster:
            yield cluster
    finally:
        client.close(timeout=2)
