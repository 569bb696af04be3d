"""Blocks of calls: their order, and the calls that do not count."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ir_exec.debug.profiles import engine_profile
from ir_exec.debug.profiles.engine_profile import CALLS, PAUSE, measure_in_blocks


class Recorded:
    """Contestants and pauses, in order."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.events: list[str | float] = []
        monkeypatch.setattr(engine_profile, "sleep", self.events.append)

    def contestant(self, name: str) -> Callable[[], str]:
        calls = iter(range(1000))

        def call() -> str:
            self.events.append(name)
            return f"{name}{next(calls)}"

        return call


def test_block_starts_with_pause_and_dropped_call(monkeypatch: pytest.MonkeyPatch) -> None:
    recorded = Recorded(monkeypatch)
    measured = measure_in_blocks([recorded.contestant("a"), recorded.contestant("b")], 2)
    assert measured == [["a1", "a2"], ["b1", "b2"]]
    assert recorded.events == [PAUSE, "a", "a", "a", PAUSE, "b", "b", "b"]


def test_blocks_alternate(monkeypatch: pytest.MonkeyPatch) -> None:
    recorded = Recorded(monkeypatch)
    a, b = measure_in_blocks([recorded.contestant("a"), recorded.contestant("b")], CALLS + 1)
    assert len(a) == len(b) == CALLS + 1
    assert a == [f"a{number}" for number in range(1, CALLS + 1)] + [f"a{CALLS + 2}"]
    assert recorded.events.count(PAUSE) == 4
    order = [event for event, before in zip(recorded.events[1:], recorded.events, strict=False) if before == PAUSE]
    assert order == ["a", "b", "a", "b"]


def test_no_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    recorded = Recorded(monkeypatch)
    assert measure_in_blocks([recorded.contestant("a")], 0) == [[]]
    assert recorded.events == []
