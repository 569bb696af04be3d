"""`run` in this process, in threads and in processes: each item once, in order, even if workers die."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from itertools import repeat
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ir_exec import batch, build
from ir_exec.batch import running
from ir_exec.batch.models import NotHere, Parcel, compiled_for
from ir_exec.batch.pool import Pool
from ir_exec.batch.pools import Given, Here, Processes
from ir_exec.batch.running import Pace
from ir_exec.batch.worker import evaluate
from ir_exec.codes import Code
from ir_exec.errors import EvaluationError, IRError
from ir_exec.runtime import weight_modes
from ir_exec.runtime.compiled import compiled_with
from ir_exec.runtime.weight_modes import EXPANDED_SHARE
from ir_exec.types import Array
from tests.helpers.deadly import Counted, Deadly, DeadlyOnce, Wrong, end, own_pid
from tests.helpers.facts import mentions, naming
from tests.helpers.items import arrays, counting_network, weighed_network

WEIGHTS = np.arange(12, dtype=np.float32).reshape(4, 3)


@pytest.fixture(scope="module")
def processes() -> Iterator[Processes]:
    """Two processes for all tests: starting them takes longer than anything else here."""
    pool = Processes(2)
    yield pool
    pool.close(at_once=True)


def check(results: list[batch.ItemResult], count: int, failed: set[int] = frozenset()) -> None:  # type: ignore[assignment]  # it stays empty
    assert [result.index for result in results] == list(range(count))
    assert {result.index for result in results if result.error is not None} == failed
    for result in results:
        assert (result.outputs is None) == (result.index in failed)
        if result.outputs is not None:
            assert result.outputs[0].tolist() == (np.full((1, 4), result.index, np.float32) @ WEIGHTS).tolist()


@pytest.mark.parametrize("chunk", [1, 7])
def test_here(chunk: int) -> None:
    check(list(batch.run(weighed_network(), arrays(20), chunk=chunk)), 20)


@pytest.mark.parametrize(("memory", "expands"), [(4 * 2 * WEIGHTS.nbytes, True), (4 * 2 * WEIGHTS.nbytes - 4, False)])
def test_processes_share_large_weights_file(
    memory: int, expands: bool, processes: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    options: dict[str, Any] = {}

    def record_options(*arguments: Any, **keywords: Any) -> Any:
        options.update(keywords)
        return compiled_with(*arguments, **keywords)

    monkeypatch.setattr(running, "compiled_with", record_options)
    monkeypatch.setattr(running, "default_budget", lambda: memory)
    check(list(batch.run(weighed_network(), arrays(4), processes)), 4)
    assert options["expand_weights"] is expands
    check(list(batch.run(weighed_network(), arrays(4), processes, weight_mode="expand")), 4)
    assert options["expand_weights"] is True


@pytest.mark.parametrize(
    ("budgets", "jobs", "expands"),
    [(2.0, 2, True), (1.9, 2, False), (1.0, 1, True), (0.9, 1, False)],
)
def test_processes_expand_built_weights_in_their_memory(
    budgets: float, jobs: int, expands: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = build.parameter([1, 64], "f32", name="x")
    model = build.model(build.matmul(x, build.convert(np.ones((64, 256), np.float16), "f32")))
    options: dict[str, Any] = {}

    def record(*arguments: Any, **keywords: Any) -> Any:
        options.update(keywords)
        return compiled_with(*arguments, **keywords)

    monkeypatch.setattr(running, "compiled_with", record)
    monkeypatch.setattr(weight_modes, "default_budget", lambda: int(budgets * EXPANDED_SHARE * 64 * 256 * 4))
    list(batch.run(model, [], jobs=jobs))
    assert options["expand_weights"] is expands


@pytest.mark.parametrize("chunk", [1, 7])
def test_in_threads(chunk: int) -> None:
    with ThreadPoolExecutor(3) as executor:
        check(list(batch.run(weighed_network(), arrays(40), executor, chunk=chunk)), 40)


@pytest.mark.parametrize("chunk", [1, 7])
def test_in_processes(tmp_path: Path, processes: Processes, chunk: int) -> None:
    check(list(batch.run(weighed_network(tmp_path), arrays(40), processes, chunk=chunk)), 40)


def test_weights_in_memory_are_a_file_for_processes(processes: Processes) -> None:
    check(list(batch.run(weighed_network(), arrays(10), processes)), 10)


def test_as_they_come() -> None:
    pending: Future[Any] = Future()

    class Pausing(ThreadPoolExecutor):
        def submit(self, function: Any, /, *arguments: Any, **options: Any) -> Future[Any]:
            future = super().submit(function, *arguments, **options)
            if pending.done() or future_is_given:
                return future
            future_is_given.append(future)
            return pending

    future_is_given: list[Future[Any]] = []
    with Pausing(2) as executor:
        indices = []
        for result in batch.run(weighed_network(), arrays(6), executor, ordered=False, ahead=6):
            indices.append(result.index)
            if len(indices) == 5:
                pending.set_result(future_is_given[0].result())
    assert sorted(indices[:5]) == [1, 2, 3, 4, 5]
    assert indices[5] == 0


def test_few_items_are_taken_ahead() -> None:
    consumed = 0

    def items() -> Iterator[list[Array]]:
        nonlocal consumed
        for item in arrays(10_000):
            consumed += 1
            yield item

    with ThreadPoolExecutor(2) as executor:
        most = 0
        yielded = 0
        for result in batch.run(weighed_network(), items(), executor, ahead=10):
            assert result.index == yielded
            yielded += 1
            most = max(most, consumed - yielded)
    assert yielded == 10_000
    assert most <= 10


def test_items_are_drawn_lazily_without_workers() -> None:
    items = arrays(3)
    results = batch.run(weighed_network(), items)
    assert next(results).index == 0
    assert next(items)[0][0, 0] == 1


def test_ten_thousand_small_items_in_processes(processes: Processes) -> None:
    total = 0
    for result in batch.run(weighed_network(), arrays(10_000), processes, chunk=50, ahead=400):
        assert result.outputs is not None
        assert result.outputs[0][0, 0] == result.index * 18
        total += 1
    assert total == 10_000


@pytest.mark.parametrize("chunk", [1, 4])
def test_failing_items_are_recorded(chunk: int, tmp_path: Path) -> None:
    items: list[Any] = list(arrays(10))
    items[2] = [np.zeros((1, 5), np.float32)]
    items[5] = Wrong("no such thing")
    items[6] = tmp_path / "nothing.npz"
    items[9] = {"nothing": np.zeros(1)}
    results = list(batch.run(weighed_network(), items, chunk=chunk))
    check(results, 10, {2, 5, 6, 9})
    assert str(results[2].error) == mentions("[1,5]", "[?,4]")
    assert str(results[5].error) == mentions("RuntimeError")
    assert "No such file" in str(results[6].error)
    assert results[9].error is not None
    assert results[9].error.code == Code.unknown_input


def test_failing_item_ends_run_on_request() -> None:
    items: list[Any] = [*arrays(3), Wrong("x"), *arrays(3)]
    results = batch.run(weighed_network(), items, on_error="raise")
    assert [next(results).index for _ in range(3)] == [0, 1, 2]
    with pytest.raises(EvaluationError, match="RuntimeError: x"):
        next(results)
    assert list(results) == []


def test_exception_of_items_follows_earlier_results() -> None:
    def items() -> Iterator[list[Array]]:
        yield from arrays(5)
        raise RuntimeError("the disk is gone")

    with ThreadPoolExecutor(2) as executor:
        results = batch.run(weighed_network(), items(), executor)
        assert [next(results).index for _ in range(5)] == [0, 1, 2, 3, 4]
        with pytest.raises(RuntimeError, match="the disk is gone"):
            next(results)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="processes are killed by a signal")
class TestLostWorkers:
    def test_item_killing_its_workers_fails_alone(self, processes: Processes) -> None:
        items: list[Any] = list(arrays(12))
        items[4] = Deadly()
        results = list(batch.run(weighed_network(), items, processes, tries=2))
        check(results, 12, {4})
        assert str(results[4].error) == mentions(2)

    def test_of_a_chunk_only_the_guilty_item_fails(self, processes: Processes) -> None:
        items: list[Any] = list(arrays(9))
        items[4] = Deadly()
        check(list(batch.run(weighed_network(), items, processes, chunk=3, tries=1)), 9, {4})

    def test_a_chunk_costs_no_more_workers_than_its_item(self, processes: Processes) -> None:
        items: list[Any] = list(arrays(6))
        items[1] = Deadly()
        results = list(batch.run(weighed_network(), items, processes, chunk=3, tries=2))
        check(results, 6, {1})
        assert str(results[1].error) == mentions(2)

    @pytest.mark.broad
    def test_collected_items(self, processes: Processes, tmp_path: Path) -> None:
        items: list[Any] = list(arrays(600))
        items[300] = DeadlyOnce(str(tmp_path / "mark"), 300)
        items[450] = Deadly()
        check(list(batch.run(weighed_network(), items, processes)), 600, {450})

    @pytest.mark.broad
    def test_items_of_a_lost_worker_are_run_again(self, processes: Processes, tmp_path: Path) -> None:
        items: list[Any] = list(arrays(12))
        items[3] = DeadlyOnce(str(tmp_path / "one"), 3)
        items[8] = DeadlyOnce(str(tmp_path / "two"), 8)
        check(list(batch.run(weighed_network(), items, processes)), 12)

    def test_sessions_keep_their_order_and_state(self, processes: Processes, tmp_path: Path) -> None:
        items = [(name, index) for index in range(1, 5) for name in "ab"]

        def make_item(name: str, index: int) -> Any:
            return Counted(name, index, str(tmp_path / "mark") if (name, index) == ("a", 3) else None)

        results = batch.run(
            counting_network(), [make_item(*item) for item in items], processes, session=lambda item: item.name
        )
        totals = [float(result.outputs[0][0]) for result in results if result.outputs is not None]
        assert totals == [1, 1, 3, 3, 6, 6, 10, 10]

    def test_broken_executor_is_one_error(self) -> None:
        items: list[Any] = [*arrays(3), Deadly(), *arrays(50)]
        with (
            ProcessPoolExecutor(1, mp_context=get_context("spawn")) as executor,
            pytest.raises(EvaluationError, match=naming("executor")) as caught,
        ):
            list(batch.run(weighed_network(), items, executor))
        assert "jobs=N" in str(caught.value)

    def test_failed_worker_start_is_one_error(self) -> None:
        with pytest.raises(IRError, match=naming("__main__")):
            list(batch.run(weighed_network(), arrays(5), jobs=2, initializer=end))

    def test_workers_end_with_killed_parent(self) -> None:
        program = (
            "import os, signal\nfrom ir_exec.batch.pools import Processes\n"
            "if __name__ == '__main__':\n    print(Processes(1).submit(os.getpid).result(), flush=True)\n"
            "    os.kill(os.getpid(), signal.SIGKILL)\n"
        )
        with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as parent:
            # The worker has the pipe too: the end of what can be read from it is the end of the worker.
            printed = parent.communicate()[0]
        assert int(printed) > 0
        assert parent.returncode == -signal.SIGKILL

    def test_closing_ends_the_processes(self) -> None:
        results = batch.run(counting_network(), repeat(own_pid), jobs=2, chunk=1)
        first = next(results)
        assert first.outputs is not None
        pid = int(first.outputs[0][0])
        os.kill(pid, 0)
        results.close()  # type: ignore[attr-defined]  # it is a generator
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


@pytest.mark.parametrize("chunk", [1, 3])
def test_each_item_starts_from_the_initial_state(chunk: int) -> None:
    items = [[np.array([value], np.float32)] for value in (1, 2, 3, 4)]
    outputs = [
        result.outputs[0].tolist() for result in batch.run(counting_network(), items, chunk=chunk) if result.outputs
    ]
    assert outputs == [[1], [2], [3], [4]]


@pytest.mark.parametrize("chunk", [1, 3])
def test_a_failing_item_of_a_session_changes_nothing(chunk: int) -> None:
    items: list[Any] = [[np.array([value], np.float32)] for value in (1, 2, 3, 4)]
    items[2] = Wrong("lost")
    results = list(batch.run(counting_network(), items, session=lambda item: "one", chunk=chunk))
    assert [None if result.outputs is None else float(result.outputs[0][0]) for result in results] == [1, 3, None, 7]


class Elsewhere(Pool):
    """Workers on a machine that sees no file of this one, each with what it was sent."""

    def __init__(self, count: int) -> None:
        self._pools = ThreadPoolExecutor(count)
        self._count = count
        self.sent: list[int] = []
        self._has: set[str] = set()

    @property
    def workers(self) -> int:
        return self._count

    def submit(self, function: Any, *arguments: Any) -> Future[Any]:
        reference, cargo, *others = arguments
        content = None if cargo is None else cargo.content
        if content is None and reference.digest not in self._has:
            future: Future[Any] = Future()
            future.set_result(NotHere(has_weights=False))
            return future
        if content is not None:
            self.sent.append(len(content))
            self._has.add(reference.digest)
        return self._pools.submit(function, reference, content, *others)


def test_network_is_sent_to_workers_without_it(tmp_path: Path) -> None:
    pool = Elsewhere(1)
    check(list(batch.run(weighed_network(tmp_path), arrays(30), pool)), 30)
    assert len(pool.sent) <= 4, "what was on its way when the first answer came, at most"


def test_what_a_worker_lacks(tmp_path: Path) -> None:
    folder = tmp_path / "parcel"
    folder.mkdir()
    parcel = Parcel(weighed_network(tmp_path), {"threads": 1}, folder)
    (folder / "network.pickle").unlink()
    assert evaluate(parcel.reference, None, [], None, False) == NotHere(has_weights=True)
    (tmp_path / "net.bin").unlink()
    assert compiled_for(parcel.reference, parcel.cargo(NotHere(has_weights=True)).content) == NotHere(has_weights=False)


def test_sent_weights(tmp_path: Path) -> None:
    folder = tmp_path / "parcel"
    folder.mkdir()
    parcel = Parcel(weighed_network(tmp_path), {"threads": 1}, folder)
    content = parcel.cargo(NotHere(has_weights=False)).content
    (tmp_path / "net.bin").unlink()
    compiled = compiled_for(parcel.reference, content)
    assert not isinstance(compiled, NotHere)
    assert compiled([np.ones((1, 4), np.float32)])[0].tolist() == [WEIGHTS.sum(axis=0).tolist()]
    again = compiled_for(parcel.reference, None)
    assert again is compiled, "it is kept"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"on_error": "ignore"}, naming("on_error", "ignore")),
        ({"jobs": 0}, naming("jobs", 0, 1)),
        ({"chunk": 0}, naming("chunk", 0)),
        ({"executor": 3}, naming("executor")),
        ({"jobs": 2, "executor": ThreadPoolExecutor(1)}, naming("executor", "jobs")),
        ({"outputs": ["nothing"]}, naming("nothing")),
        ({"weights": b""}, naming("weights", "None")),
        ({"weight_mode": "kept"}, naming("weight_mode", "kept", "expand", "keep")),
    ],
)
def test_arguments_that_do_not_fit(options: dict[str, Any], message: str) -> None:
    with pytest.raises(IRError, match=message):
        batch.run(weighed_network(), [], **options)


def test_no_items() -> None:
    assert list(batch.run(weighed_network(), [])) == []


def test_a_given_executor_counts_its_workers() -> None:
    with ThreadPoolExecutor(5) as executor:
        assert Given(executor).workers == 5


class Two(Pool):
    """Two workers whose tasks should take 100 ms."""

    workers = 2
    ahead = 16
    task_seconds = 0.1

    def submit(self, *_: Any) -> Future[Any]:
        raise AssertionError("nothing is submitted here")


def test_tasks_grow_to_minimum_duration() -> None:
    pace = Pace(Two(), None, None)
    assert (pace.chunk, pace.limit) == (1, 8)
    chunks = []
    for _ in range(6):
        pace.record_answer(pace.chunk, pace.chunk * 0.01, 0)
        chunks.append(pace.chunk)
    assert chunks == [2, 4, 8, 10, 10, 10]
    assert pace.limit == 2 * 4 * 10
    pace.record_answer(10, 10 * 0.2, 0)
    assert (pace.chunk, pace.limit) == (1, 32)


def test_task_is_limited_to_100_items_and_1_mib() -> None:
    pace = Pace(Two(), None, None)
    for _ in range(10):
        pace.record_answer(pace.chunk, 0.0, pace.chunk * 2048)
    assert pace.chunk == 100
    pace.record_answer(100, 0.0, 100 * 2**17)
    assert pace.chunk == 8
    pace.record_answer(8, 0.0, 8 * 2**21)
    assert pace.chunk == 1


def test_slow_items_are_not_collected() -> None:
    pace = Pace(Two(), None, None)
    for _ in range(10):
        pace.record_wait(0.05)
        pace.record_answer(pace.chunk, 0.0, 0)
    assert pace.chunk == 2
    pace.record_wait(2.0)
    pace.record_answer(2, 0.0, 0)
    assert pace.chunk == 1


def test_workers_share_the_prefetch_limit() -> None:
    pace = Pace(Two(), None, 12)
    for _ in range(10):
        pace.record_answer(pace.chunk, 0.0, 0)
    assert (pace.chunk, pace.limit) == (3, 12)


@pytest.mark.parametrize(("pool", "chunk", "limit"), [(Two(), 5, 160), (Here(), 5, 5), (Here(), None, 1)])
def test_what_does_not_change(pool: Pool, chunk: int | None, limit: int) -> None:
    pace = Pace(pool, chunk, None)
    for _ in range(3):
        pace.record_answer(pace.chunk, 0.0, 0)
    assert (pace.chunk, pace.limit) == (chunk or 1, limit)


def test_a_task_without_answers_says_nothing() -> None:
    pace = Pace(Two(), None, None)
    pace.record_answer(0, 1.0, 0)
    assert pace.chunk == 1
