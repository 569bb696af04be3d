"""The collector of cyclic garbage rests while a network is read, and afterwards is as it was."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest

import ir_exec
from ir_exec.lazy import paused_collector, seldom_collected


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


def test_all_objects_are_looked_through_again_afterwards() -> None:
    before = gc.get_threshold()
    first, second = seldom_collected(), seldom_collected()
    first.__enter__()
    second.__enter__()
    assert gc.get_threshold()[:2] == before[:2]
    assert gc.get_threshold()[2] > 10**6
    first.__exit__(None, None, None)
    assert gc.get_threshold()[2] > 10**6
    second.__exit__(None, None, None)
    assert gc.get_threshold() == before


def test_the_collector_is_on_after_errors() -> None:
    gc.enable()
    with pytest.raises(ir_exec.ParseError):
        ir_exec.read_model(b"no network")
    assert gc.isenabled()
    assert not ir_exec.check_model(b"no network").ok
    assert gc.isenabled()


@pytest.mark.broad
def test_a_check_leaves_nothing_to_the_collector() -> None:
    path = Path(__file__).parent / "networks" / "script_loop_seq.xml"
    ir_exec.check_model(path)  # modules that are imported leave garbage
    gc.disable()
    gc.collect()
    ir_exec.check_model(path)
    assert gc.collect() == 0
