"""The collector of cyclic garbage rests while a network is read, and afterwards is as it was."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from pathlib import Path

import pytest

import ir_exec
from ir_exec import collector
from ir_exec.collector import MANY, paused_collector


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    was_on = gc.isenabled()
    yield
    (gc.enable if was_on else gc.disable)()


@pytest.mark.parametrize("is_on", [True, False])
def test_the_collector_is_as_before(is_on: bool) -> None:
    (gc.enable if is_on else gc.disable)()
    with paused_collector():
        assert not gc.isenabled()
        with paused_collector():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled() is is_on


def test_the_collector_is_on_after_errors() -> None:
    gc.enable()
    with pytest.raises(ir_exec.ParseError):
        ir_exec.read_model(b"no network")
    assert gc.isenabled()
    assert not ir_exec.check_model(b"no network").ok
    assert gc.isenabled()


class _Cycle:
    """An object that refers to itself, so that only the collector frees it."""

    def __init__(self) -> None:
        self.itself = self


def test_a_check_leaves_nothing_to_the_collector() -> None:
    path = Path(__file__).parent / "networks" / "script_loop_seq.xml"
    ir_exec.check_model(path)  # modules that are imported leave garbage
    gc.disable()
    gc.collect()
    ir_exec.check_model(path)
    assert gc.collect() == 0


def test_many_new_objects_count_as_old_and_are_found_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collector, "MOST_ASIDE", 5 * MANY)
    monkeypatch.setattr(collector, "_aside", collector._Aside())
    gc.enable()
    with paused_collector():
        lost = weakref.ref(_Cycle())
        kept: list[list[int]] = [[] for _ in range(2 * MANY)]
    gc.collect(1)
    assert lost() is not None
    for _ in range(2):
        with paused_collector():
            kept += [[] for _ in range(2 * MANY)]
    assert lost() is None


def test_what_the_program_froze_stays_frozen() -> None:
    gc.enable()
    gc.freeze()
    try:
        frozen = gc.get_freeze_count()
        with paused_collector():
            kept: list[list[int]] = [[] for _ in range(2 * MANY)]
        assert gc.get_freeze_count() >= frozen > 0
        assert kept
    finally:
        gc.unfreeze()
