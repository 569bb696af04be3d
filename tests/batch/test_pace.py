"""How many items make a task."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

import pytest

from ir_exec.batch.pace import Pace
from ir_exec.batch.pools import Here, Pool


class Two(Pool):
    """Two workers whose tasks should take 100 ms."""

    workers = 2
    ahead = 16
    task_seconds = 0.1

    def submit(self, *_: Any) -> Future[Any]:
        raise AssertionError("nothing is submitted here")


def test_tasks_grow_until_they_are_long_enough() -> None:
    pace = Pace(Two(), None, None)
    assert (pace.chunk, pace.limit) == (1, 8)
    chunks = []
    for _ in range(6):
        pace.answered(pace.chunk, pace.chunk * 0.01, 0)
        chunks.append(pace.chunk)
    assert chunks == [2, 4, 8, 10, 10, 10]
    assert pace.limit == 2 * 4 * 10
    pace.answered(10, 10 * 0.2, 0)
    assert (pace.chunk, pace.limit) == (1, 32)


def test_a_task_has_a_hundred_items_and_a_mib_at_most() -> None:
    pace = Pace(Two(), None, None)
    for _ in range(10):
        pace.answered(pace.chunk, 0.0, pace.chunk * 2048)
    assert pace.chunk == 100
    pace.answered(100, 0.0, 100 * 2**17)
    assert pace.chunk == 8
    pace.answered(8, 0.0, 8 * 2**21)
    assert pace.chunk == 1


def test_items_that_are_slow_to_come_are_not_collected() -> None:
    pace = Pace(Two(), None, None)
    for _ in range(10):
        pace.waited(0.05)
        pace.answered(pace.chunk, 0.0, 0)
    assert pace.chunk == 2
    pace.waited(2.0)
    pace.answered(2, 0.0, 0)
    assert pace.chunk == 1


def test_each_worker_has_a_part_of_what_may_be_taken_ahead() -> None:
    pace = Pace(Two(), None, 12)
    for _ in range(10):
        pace.answered(pace.chunk, 0.0, 0)
    assert (pace.chunk, pace.limit) == (3, 12)


@pytest.mark.parametrize(("pool", "chunk", "limit"), [(Two(), 5, 160), (Here(), 5, 5), (Here(), None, 1)])
def test_what_does_not_change(pool: Pool, chunk: int | None, limit: int) -> None:
    pace = Pace(pool, chunk, None)
    for _ in range(3):
        pace.answered(pace.chunk, 0.0, 0)
    assert (pace.chunk, pace.limit) == (chunk or 1, limit)


def test_a_task_without_answers_says_nothing() -> None:
    pace = Pace(Two(), None, None)
    pace.answered(0, 1.0, 0)
    assert pace.chunk == 1
