"""A Dask cluster as a pool. This module is imported only with a Dask client, or for a requested one."""

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

from ir_exec.batch.pool import Cargo, Pool, WorkerLostError
from ir_exec.errors import EvaluationError, IRError

__all__ = ["Cluster", "connect"]

_Pair: TypeAlias = tuple[Any, Future[Any]]
"""A Dask future, and the future that was returned for it."""

_SECONDS_PER_COUNT = 5.0
"""Seconds after which the number of workers is queried again."""

_SECONDS_PER_CHECK = 0.2
"""Seconds between checks for lost workers during a wait for results."""


class Cluster(Pool):
    """The workers of a Dask client, or of its executor. Dask moves Cargo to each worker once.

    Args:
        initializer: A function that a worker calls before any work; it must be picklable, and cheap when called again.
    """

    carriers = 2**31
    ahead = 16  # fetching more results at a time makes each cheaper
    task_seconds = 0.1

    def __init__(self, executor: ClientExecutor | Client, initializer: Callable[[], None] | None = None) -> None:
        if isinstance(executor, Client):
            executor = executor.get_executor()
        if not isinstance(executor, ClientExecutor):
            raise EvaluationError("executor is of type", actual=type(executor).__name__, expected="a Dask client")
        # No public attributes exist for these.
        self._client: Client = executor._client
        self._options = {**executor._kwargs, "pure": False}
        self._done: SimpleQueue[_Pair | None] = SimpleQueue()
        self._gatherer: Thread | None = None
        self._is_closing = False
        self._initializer = initializer
        self._sent: dict[Cargo, Any] = {}
        self._workers = 1
        self._queried_at = -_SECONDS_PER_COUNT

    @property
    def workers(self) -> int:
        # Querying the scheduler costs a message; clusters grow, but not from item to item.
        if self._is_connected and monotonic() - self._queried_at > _SECONDS_PER_COUNT:
            # If the scheduler does not answer, `require_alive` reports it.
            with suppress(OSError):
                self._workers = max(1, sum(self._client.nthreads().values()))
            self._queried_at = monotonic()
        return self._workers

    @property
    def _is_connected(self) -> bool:
        return bool(self._client.status == "running")

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        self.require_alive()
        call = function if self._initializer is None else partial(_call_prepared, self._initializer, function)
        if self._gatherer is None:
            self._gatherer = Thread(target=self._gather_all, name="ir-exec-gather", daemon=True)
            self._gatherer.start()
        ours: Future[Any] = Future()
        try:
            moved = [self._scatter(argument) if isinstance(argument, Cargo) else argument for argument in arguments]
        except OSError:
            # The worker selected for the Cargo is lost, and the scheduler does not try another.
            ours.set_exception(WorkerLostError(is_suspect=False))
            return ours
        theirs = self._client.submit(call, *moved, **self._options)
        ours.add_done_callback(partial(_cancel, theirs))
        theirs.add_done_callback(lambda future: self._done.put((future, ours)))
        return ours

    def _gather_all(self) -> None:
        """Fetch all finished results at once: a request takes a while, independent of the number of results."""
        lost: list[_Pair] = []
        while not self._is_closing:
            pairs = [*lost, *self._wait_finished(_SECONDS_PER_CHECK if lost else None)]
            # Results lost with their worker are computed again; Dask does not report their completion a second time.
            lost = [pair for pair in pairs if pair[0].status in ("lost", "pending")]
            lost += self._gather([pair for pair in pairs if pair[0].status not in ("lost", "pending")])

    def _wait_finished(self, timeout: float | None) -> list[_Pair]:
        """Wait at most `timeout` seconds for a finished task, and return all that are finished."""
        pairs: list[_Pair | None] = []
        with suppress(Empty):
            pairs.append(self._done.get(timeout=timeout))
            while True:
                pairs.append(self._done.get_nowait())
        return [pair for pair in pairs if pair is not None]

    def _gather(self, pairs: list[_Pair]) -> list[_Pair]:
        """Set the results of the futures, and return the pairs whose results could not be fetched."""
        try:
            values = self._fetch_values([theirs for theirs, _ in pairs if theirs.status == "finished"])
        except Exception as error:
            if len(pairs) > 1:  # one of them may be the cause
                return [left for pair in pairs for left in self._gather([pair])]
            _resolve(pairs[0][1], error if self._is_connected else WorkerLostError(is_suspect=False))
            return []
        left = []
        for theirs, ours in pairs:
            if theirs.key in values:
                _resolve(ours, None, values[theirs.key])
            elif theirs.status in ("error", "cancelled"):
                try:
                    theirs.result()
                except BaseException as error:
                    _resolve(ours, error)
            else:
                left.append((theirs, ours))
        return left

    def _fetch_values(self, futures: list[Any]) -> dict[Any, Any]:
        """Return values by key; none if a worker with some of them died.

        The scheduler notices immediately that a worker is lost, but it retries a fetch that is already requested from
        that worker for 30 s (`distributed.comm.timeouts.connect`), and `Client.gather` waits for that.
        """
        if not futures:
            return {}
        scheduler, loop = cast(Any, self._client.scheduler), cast(Any, self._client.loop)
        request = scheduler.gather(keys=[future.key for future in futures])
        answer = run_coroutine_threadsafe(request, loop.asyncio_loop)
        while not wait([answer], _SECONDS_PER_CHECK).done:
            if self._is_closing or any(future.status != "finished" for future in futures):
                answer.cancel()
                return {}
        try:
            answered = answer.result()
        except OSError:
            return {}
        return dict(answered["data"]) if answered["status"] == "OK" else {}

    def close(self, *, at_once: bool) -> None:
        if self._gatherer is not None:
            self._is_closing = True
            self._done.put(None)
            self._gatherer.join()
            self._gatherer = None
            self._is_closing = False

    def _scatter(self, cargo: Cargo) -> Any:
        if cargo not in self._sent:
            self._sent[cargo] = self._client.scatter(cargo.content, hash=False)
        return self._sent[cargo]

    def find_loss(self, error: BaseException) -> WorkerLostError | None:
        if isinstance(error, WorkerLostError):
            return error
        if isinstance(error, KilledWorker):
            # Dask suspects every task that was queued on the workers that died.
            return WorkerLostError(is_suspect=True, is_sure=False)
        if isinstance(error, CancelledError):
            # Either the scheduler is lost, or a worker with the only copy of some Cargo.
            self._sent.clear()
            return WorkerLostError(is_suspect=False)
        return None

    def require_alive(self) -> None:
        if not self._is_connected:
            address = self._client.scheduler.address if self._client.scheduler is not None else "?"
            message = f"the connection to the Dask scheduler {address} is lost"
            raise IRError(message, hint="check that the scheduler is running, and run the unfinished items again")
        cluster = self._client.cluster
        if isinstance(cluster, SpecCluster) and not cluster.workers:
            # After `distributed.deploy.lost-worker-timeout` it drops workers that restart slowly: here all of them.
            cluster.scale(len(cluster.worker_spec))


def _cancel(theirs: Any, ours: Future[Any]) -> None:
    if ours.cancelled():
        theirs.cancel()


def _resolve(ours: Future[Any], error: BaseException | None, value: Any = None) -> None:
    if not ours.set_running_or_notify_cancel():
        return
    if error is None:
        ours.set_result(value)
    else:
        ours.set_exception(error)


def _call_prepared(initializer: Callable[[], None], function: Callable[..., Any], *arguments: Any) -> Any:
    initializer()
    return function(*arguments)


@contextmanager
def connect(address: str, initializer: Callable[[], None] | None = None) -> Iterator[Cluster]:
    """Yield the cluster of a scheduler, `tcp://host:8786`.

    Raises:
        IRError: If the scheduler does not answer.
    """
    try:
        client = Client(address, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise IRError(f"cannot reach the Dask scheduler {address}: {error}") from None
    try:
        with Cluster(client, initializer) as cluster:
            yield cluster
    finally:
        client.close(timeout=2)
