"""Work on its way: again after a loss, alone where it is in doubt, and back once."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ir_exec.batch.flow import Task, TaskFlow, in_order
from ir_exec.batch.pool import Pool, WorkerLostError
from ir_exec.errors import IRError
from tests.helpers.facts import naming


class Suspecting(Pool):
    """Works by instruction; after a deadly item everything in flight is suspect."""

    workers = 3

    def __init__(self, deadly: set[int], losses: int = 0) -> None:
        self.calls: list[int] = []
        self.most = 0
        self._deadly, self._losses = deadly, losses
        self._in_flight: list[tuple[Future[Any], int]] = []

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self._in_flight.append((future, arguments[0]))
        self.most = max(self.most, len(self._in_flight))
        return future

    def work(self) -> None:
        """One round: everybody answers, or dies with who is deadly."""
        round, self._in_flight = self._in_flight, []
        self.calls += [value for _, value in round]
        dies = any(value in self._deadly for _, value in round)
        for future, value in round:
            if dies:
                future.set_exception(WorkerLostError(is_suspect=True, is_sure=False))
            elif self._losses:
                self._losses -= 1
                future.set_exception(WorkerLostError(is_suspect=False))
            else:
                future.set_result(value)


class Working(TaskFlow):
    """Lets the pool work where it would wait."""

    def __init__(self, pool: Suspecting) -> None:
        super().__init__(pool)
        self._worker = pool

    def wait(self) -> Any:
        if self._done.empty():
            self._worker.work()
        return super().wait()


@given(st.sets(st.integers(0, 7)), st.integers(0, 5))
def test_the_deadly_alone_fail(deadly: set[int], losses: int) -> None:
    pool = Suspecting(deadly, losses)
    flow = Working(pool)
    errors: dict[int, Exception | None] = {}
    left = iter(range(8))
    while True:
        while flow.pending < 3 and (value := next(left, None)) is not None:
            flow.submit(Task(int, (value,), value))
        if not flow.pending:
            break
        task, value, error = flow.next()
        assert task.label not in errors, "given back once"
        assert error is not None or value == task.label
        errors[task.label] = error
    assert sorted(errors) == list(range(8))
    assert {value for value, error in errors.items() if error is not None} == deadly
    assert pool.most <= 3


def test_repeatedly_lost_work() -> None:
    flow = Working(Suspecting(set(), losses=10**6))
    flow.submit(Task(int, (1,)))
    _, _, error = flow.next()
    assert error is not None
    assert "died" in str(error)


def test_no_workers_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    class Gone(Suspecting):
        def require_alive(self) -> None:
            raise IRError("nobody is there")

    monkeypatch.setattr("ir_exec.batch.flow.HEARTBEAT", 0.001)
    flow = TaskFlow(Gone(set()))
    flow.submit(Task(int, (1,)))
    with pytest.raises(IRError, match=naming("nobody")):
        flow.next()


def test_values_and_errors_in_order() -> None:
    from ir_exec.batch.pools import Here

    results = list(in_order(int, ["1", "x", "3"], str, Here()))
    assert [(item, value) for item, value, _ in results] == [("1", 1), ("x", None), ("3", 3)]
    assert isinstance(results[1][2], ValueError)
