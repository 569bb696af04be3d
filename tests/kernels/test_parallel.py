"""Work that threads share: every chunk once, errors and context as on one thread."""

from __future__ import annotations

import multiprocessing
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from ir_exec.kernels import parallel
from ir_exec.kernels.parallel import THREADS, even_count, for_each, for_ranges
from ir_exec.types import Array


@pytest.fixture(params=[1, 2, 5])
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    token = THREADS.set(request.param)
    yield request.param
    THREADS.reset(token)


def counting(done: list[int]) -> Callable[[], Callable[[int], None]]:
    return lambda: done.append


@pytest.mark.parametrize("count", [0, 1, 2, 3, 100])
def test_every_chunk_is_done_once(threads: int, count: int) -> None:
    done: list[int] = []
    for_each(count, counting(done))
    assert sorted(done) == list(range(count))


@pytest.mark.parametrize(("total", "size"), [(0, 3), (1, 3), (3, 3), (10, 3)])
def test_ranges_make_up_the_whole(threads: int, total: int, size: int) -> None:
    ranges: list[tuple[int, int]] = []
    for_ranges(total, size, lambda start, stop: ranges.append((start, stop)))
    assert [number for start, stop in sorted(ranges) for number in range(start, stop)] == list(range(total))
    assert all(0 < stop - start <= size for start, stop in ranges)


def test_threads_work_side_by_side() -> None:
    token = THREADS.set(3)
    try:
        # No thread passes the barrier alone.
        barrier = threading.Barrier(3)
        for_each(3, lambda: lambda number: void(barrier.wait(timeout=30)))
    finally:
        THREADS.reset(token)


def void(_: object) -> None: ...


def test_every_thread_has_its_own_worker() -> None:
    token = THREADS.set(2)
    try:
        barrier = threading.Barrier(2)
        owners: list[tuple[int, int]] = []

        def make_worker() -> Callable[[int], None]:
            owner = threading.get_ident()

            def work(number: int) -> None:
                barrier.wait(timeout=30)
                owners.append((owner, threading.get_ident()))

            return work

        for_each(2, make_worker)
    finally:
        THREADS.reset(token)
    assert all(owner == thread for owner, thread in owners)
    assert len(set(owners)) == 2


def test_the_error_of_the_first_chunk_is_raised(threads: int) -> None:
    def work(number: int) -> None:
        if number >= 7:
            raise ValueError(number)

    with pytest.raises(ValueError, match="7") as caught:
        for_each(50, lambda: work)
    assert caught.value.args == (7,)
    # And the threads continue to serve.
    test_every_chunk_is_done_once(threads, 10)


def test_workers_see_the_context_of_the_caller(threads: int) -> None:
    def work(number: int) -> None:
        with pytest.raises(FloatingPointError):
            np.divide(np.ones(3), np.zeros(3))

    with np.errstate(divide="raise"):
        for_each(20, lambda: work)
    with np.errstate(divide="ignore"):
        for_each(20, lambda: lambda number: void(np.divide(np.ones(3), np.zeros(3))))


def test_work_in_work_stays_on_its_thread(threads: int) -> None:
    strangers: list[int] = []

    def work(number: int) -> None:
        mine = threading.get_ident()
        for_each(5, lambda: lambda _: strangers.append(threading.get_ident() - mine))

    for_each(8, lambda: work)
    assert strangers == [0] * 40
    assert THREADS.get() == threads


def test_without_a_word_there_is_one_thread() -> None:
    threads: set[int] = set()
    for_each(20, lambda: lambda number: threads.add(threading.get_ident()))
    assert threads == {threading.get_ident()}


def shared_sum() -> None:
    THREADS.set(2)
    parts = np.zeros(64)

    def work(number: int) -> None:
        parts[number] = number

    for_each(64, lambda: work)
    assert parts.sum() == 64 * 63 / 2


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="there is no fork here")
@pytest.mark.skipif(sys.version_info >= (3, 12), reason="Python warns of a fork beside threads")
def test_a_forked_process_has_threads_of_its_own() -> None:
    token = THREADS.set(2)
    for_each(4, lambda: lambda number: None)
    THREADS.reset(token)
    child = multiprocessing.get_context("fork").Process(target=shared_sum)
    child.start()
    child.join(timeout=60)
    assert child.exitcode == 0


def test_sleeping_helper_keeps_no_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    asleep: list[object] = []
    monkeypatch.setattr(parallel.POOL, "submit", lambda job, context, size: asleep.append(job))
    array = np.zeros(4)
    alive = weakref.ref(array)

    def make_worker(array: Array = array) -> Callable[[int], None]:
        return lambda number: array.put(number, 1)

    token = THREADS.set(2)
    for_each(4, make_worker)
    THREADS.reset(token)
    assert asleep
    assert array.tolist() == [1, 1, 1, 1]
    del array, make_worker
    assert alive() is None


def test_idle_threads_do_not_keep_the_interpreter() -> None:
    code = """
from ir_exec.kernels.parallel import THREADS, for_each
THREADS.set(4)
for_each(100, lambda: lambda number: None)
"""
    assert subprocess.run([sys.executable, "-c", code], timeout=60, check=False).returncode == 0


def test_nested_work_runs_once_on_one_thread(threads: int) -> None:
    workers: dict[int, set[int]] = {}
    allowed: set[int] = set()
    done: list[tuple[int, int]] = []

    def outer(i: int) -> None:
        inside = workers.setdefault(i, set())

        def inner(j: int) -> None:
            inside.add(threading.get_ident())
            allowed.add(THREADS.get())
            done.append((i, j))

        for_each(5, lambda: inner)

    for_each(6, lambda: outer)
    assert sorted(done) == [(i, j) for i in range(6) for j in range(5)]
    assert all(len(inside) == 1 for inside in workers.values())
    assert allowed == {1}


@pytest.mark.parametrize(
    ("chunks", "count"), [(0, 2), (0.4, 2), (1, 2), (2, 2), (2.9, 2), (3.1, 4), (4.9, 4), (5.1, 6), (8, 8)]
)
def test_chunks_are_an_even_number(chunks: float, count: int) -> None:
    assert even_count(chunks) == count
