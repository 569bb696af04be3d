"""A Dask cluster as a pool. This module is imported where there is a Dask client, or where one is asked for."""

from __future__ import annotations

from asyncio import run_coroutine_threadsafe
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Future, wait
from contextlib import contextmanager, suppress
from functools import partial
from queue import Empty, SimpleQueue
from threading import Thread
from time import monotonic
from typing import Any, TypeAlias, cast

from distributed import Client, KilledWorker, SpecCluster
from distributed.cfexecutor import ClientExecutor

from ir_exec.batch.pools import Cargo, Pool, WorkerLostError
from ir_exec.errors import EvaluationError, IRError

__all__ = ["Cluster", "connected"]

_Pair: TypeAlias = tuple[Any, Future[Any]]
"""A future of Dask's, and the one that was given for it."""

_COUNTED_EVERY = 5.0
"""Seconds for which a number of workers holds."""

_LOOKED_EVERY = 0.2
"""Seconds after which a wait for results looks whether their worker is gone."""


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
        self._is_closing = False
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
        lost: list[_Pair] = []
        while not self._is_closing:
            pairs = [*lost, *self._finished(_LOOKED_EVERY if lost else None)]
            # What was lost with its worker is computed again, which Dask does not tell as it tells the first time.
            lost = [pair for pair in pairs if pair[0].status in ("lost", "pending")]
            lost += self._gather([pair for pair in pairs if pair[0].status not in ("lost", "pending")])

    def _finished(self, timeout: float | None) -> list[_Pair]:
        """All that is done; waits for it, at most so many seconds."""
        pairs: list[_Pair | None] = []
        with suppress(Empty):
            pairs.append(self._done.get(timeout=timeout))
            while True:
                pairs.append(self._done.get_nowait())
        return [pair for pair in pairs if pair is not None]

    def _gather(self, pairs: list[_Pair]) -> list[_Pair]:
        """Give the results, and those pairs back whose results could not be fetched."""
        try:
            values = self._fetched([theirs for theirs, _ in pairs if theirs.status == "finished"])
        except Exception as error:
            if len(pairs) > 1:  # it may be the fault of one of them
                return [left for pair in pairs for left in self._gather([pair])]
            _settle(pairs[0][1], error if self._is_connected else WorkerLostError(is_suspect=False))
            return []
        left = []
        for theirs, ours in pairs:
            if theirs.key in values:
                _settle(ours, None, values[theirs.key])
            elif theirs.status in ("error", "cancelled"):
                try:
                    theirs.result()
                except BaseException as error:
                    _settle(ours, error)
            else:
                left.append((theirs, ours))
        return left

    def _fetched(self, futures: list[Any]) -> dict[Any, Any]:
        """Values by key; none where a worker died with some of them.

        The scheduler learns at once that a worker is gone, but what it was just asked to fetch from it, it tries to
        fetch for 30 s (`distributed.comm.timeouts.connect`), and `Client.gather` waits for that.
        """
        if not futures:
            return {}
        scheduler, loop = cast(Any, self._client.scheduler), cast(Any, self._client.loop)
        request = scheduler.gather(keys=[future.key for future in futures])
        answer = run_coroutine_threadsafe(request, loop.asyncio_loop)
        while not wait([answer], _LOOKED_EVERY).done:
            if self._is_closing or any(future.status != "finished" for future in futures):
                answer.cancel()
                return {}
        try:
            found = answer.result()
        except OSError:
            return {}
        return dict(found["data"]) if found["status"] == "OK" else {}

    def close(self, *, at_once: bool) -> None:
        if self._gatherer is not None:
            self._is_closing = True
            self._done.put(None)
            self._gatherer.join()
            self._gatherer = None
            self._is_closing = False

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
        cluster = self._client.cluster
        if isinstance(cluster, SpecCluster) and not cluster.workers:
            # It gives up workers that need long to come again (`distributed.deploy.lost-worker-timeout`): all, here.
            cluster.scale(len(cluster.worker_spec))


def _cancel(theirs: Any, ours: Future[Any]) -> None:
    if ours.cancelled():
        theirs.cancel()


def _settle(ours: Future[Any], error: BaseException | None, value: Any = None) -> None:
    if not ours.set_running_or_notify_cancel():
        return
    if error is None:
        ours.set_result(value)
    else:
        ours.set_exception(error)


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
