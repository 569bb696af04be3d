"""A Dask cluster of processes: the same results as here, also when workers die, and one error without a scheduler."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ir_exec import batch
from ir_exec.batch import models
from ir_exec.codes import Code
from ir_exec.errors import IRError
from tests.helpers.deadly import Deadly, DeadlyOnce, Wrong
from tests.helpers.facts import naming
from tests.helpers.items import arrays, counting_network, weighed_network

dask = pytest.importorskip("dask", reason="Dask is not installed")
distributed = pytest.importorskip("distributed", reason="Dask's scheduler is not installed")

WEIGHTS = np.arange(12, dtype=np.float32).reshape(4, 3)


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """Two worker processes for all tests; Dask does not retry a task that kills a worker."""
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0, "distributed.worker.daemon": True}),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0", silence_logs=60
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def values(results: list[batch.ItemResult]) -> list[Any]:
    return [None if result.outputs is None else result.outputs[0].tolist() for result in results]


def expected(count: int) -> list[Any]:
    return [(np.full((1, 4), index, np.float32) @ WEIGHTS).tolist() for index in range(count)]


@pytest.mark.broad
@pytest.mark.parametrize("as_executor", [False, True])
def test_the_same_as_here(client: Any, as_executor: bool, tmp_path: Path) -> None:
    executor = client.get_executor() if as_executor else client
    results = list(batch.run(weighed_network(tmp_path), arrays(20), executor))
    assert values(results) == expected(20)


@pytest.mark.broad
def test_ten_thousand_small_items(client: Any) -> None:
    consumed = most = 0

    def items() -> Iterator[Any]:
        nonlocal consumed
        for item in arrays(10_000):
            consumed += 1
            yield item

    for result in batch.run(weighed_network(), items(), client, chunk=100, ahead=1000):
        assert result.outputs is not None
        assert result.outputs[0][0, 0] == result.index * 18
        most = max(most, consumed - result.index)
    assert consumed == 10_000
    assert most <= 1000


def test_small_items_share_tasks(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = 0
    submit = distributed.Client.submit

    def count_submits(self: Any, *arguments: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        return submit(self, *arguments, **options)

    monkeypatch.setattr(distributed.Client, "submit", count_submits)
    assert values(list(batch.run(weighed_network(), arrays(1000), client))) == expected(1000)
    assert calls < 500


def test_sessions(client: Any) -> None:
    items = [[np.array([value], np.float32)] for value in (1, 2, 3, 4)]
    results = batch.run(counting_network(), items, client, session=lambda item: float(item[0][0]) % 2)
    assert values(list(results)) == [[1], [2], [4], [6]]


def test_failing_items(client: Any) -> None:
    items: list[Any] = [*arrays(2), Wrong("no such thing")]
    results = list(batch.run(weighed_network(), items, client))
    assert values(results) == [*expected(2), None]
    assert "no such thing" in str(results[2].error)


def test_unopenable_models_are_sent_to_workers(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    initialize = models.Parcel.__init__

    def delete_files(self: models.Parcel, model: Any, options: Any, folder: Path, initializer: Any = None) -> None:
        initialize(self, model, options, folder, initializer)
        (folder / "network.pickle").unlink()
        (folder / "weights.bin").unlink()

    monkeypatch.setattr(models.Parcel, "__init__", delete_files)
    results = list(batch.run(weighed_network(), arrays(10), client, max_seconds=1000))
    assert values(results) == expected(10)

    scatter, failures = distributed.Client.scatter, [OSError("Stream is closed"), TimeoutError("no workers")]

    def failing(self: Any, *arguments: Any, **options: Any) -> Any:
        if failures:
            raise failures.pop()
        return scatter(self, *arguments, **options)

    monkeypatch.setattr(distributed.Client, "scatter", failing)
    assert values(list(batch.run(weighed_network(), arrays(10), client, max_seconds=999))) == expected(10)


def test_items_whose_files_workers_do_not_see(client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.savez(tmp_path / "one.npz", in0=np.full((1, 4), 0, np.float32))
    monkeypatch.chdir(tmp_path)  # the workers have a working directory of the test
    results = list(batch.run(weighed_network(), ["one.npz"], client))
    assert values(results) == expected(1)
    assert results[0].digest is not None


@pytest.mark.broad
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="processes are killed by a signal")
def test_workers_that_die(client: Any, tmp_path: Path) -> None:
    items: list[Any] = list(arrays(20))
    items[3] = DeadlyOnce(str(tmp_path / "mark"), 3)
    items[12] = Deadly()
    results = list(batch.run(weighed_network(), items, client))
    assert values(results) == [*expected(20)[:12], None, *expected(20)[13:]]
    assert results[12].error is not None
    assert results[12].error.code == Code.failed


@pytest.mark.broad
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="processes are killed by a signal")
def test_worker_dying_during_fetch_of_results(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A scheduler tries for long to reach a worker that is gone.

    It gives up in the end, as this one does: results computed by another worker in time hide the loss.
    """
    asked: list[Any] = []

    class Slow:
        """The scheduler's calls; the first of `gather` finds its worker dead."""

        def __init__(self, calls: Any) -> None:
            self._calls = calls

        def __getattr__(self, name: str) -> Any:
            return getattr(self._calls, name)

        async def gather(self, *, keys: list[Any]) -> Any:
            asked.append(keys)
            if len(asked) > 1:
                return await self._calls.gather(keys=keys)
            (worker,) = (await self._calls.who_has(keys=keys[:1]))[keys[0]]
            os.kill(pids[worker], signal.SIGKILL)
            return await asyncio.wait_for(asyncio.Event().wait(), 5)

    pids = client.run(os.getpid)
    monkeypatch.setattr(client, "scheduler", Slow(client.scheduler))
    assert values(list(batch.run(weighed_network(), arrays(50), client))) == expected(50)
    assert len(asked) > 1


@pytest.mark.broad
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="processes are killed by a signal")
def test_cluster_losing_its_workers(tmp_path: Path) -> None:
    """Lost results before they are computed again: the cluster requests them anew and has none left."""
    items: list[Any] = list(arrays(3))
    items[1] = DeadlyOnce(str(tmp_path / "mark"), 1)
    with (
        dask.config.set({"distributed.deploy.lost-worker-timeout": 0, "distributed.worker.daemon": True}),
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0", silence_logs=60
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        assert values(list(batch.run(weighed_network(), items, client))) == expected(3)


def test_lost_scheduler() -> None:
    cluster = distributed.LocalCluster(n_workers=0, dashboard_address="127.0.0.1:0", silence_logs=60)
    client = distributed.Client(cluster, set_as_default=False)

    def items() -> Iterator[Any]:
        yield from arrays(3)
        cluster.close()

    try:
        with pytest.raises(IRError, match=naming("Dask")):
            list(batch.run(weighed_network(), items(), client))
    finally:
        client.close()


def test_missing_scheduler() -> None:
    from ir_exec.batch.cluster import connect

    with (
        dask.config.set({"distributed.comm.timeouts.connect": "100ms"}),
        pytest.raises(IRError, match=naming("0.1", "1", "127.0")),
        connect("tcp://127.0.0.1:1"),
    ):
        pass
