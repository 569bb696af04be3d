"""Runs layer by layer that exceed the memory of the machine: reported before they start, or before the layer."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ir_exec import EvaluationError, Model, ResourceError, build
from ir_exec.debug import compare, trace
from ir_exec.debug.comparison.references.reference import IRReference
from ir_exec.debug.traces import walk
from ir_exec.debug.traces.walk import Walker
from ir_exec.types import Array
from tests.helpers.facts import naming

X = np.ones((1, 100), np.float32)
NEEDED = 100 * 100 * 4


def growing() -> Model:
    x = build.parameter([1, 100], name="x")
    small = build.relu(x, name="small")
    large = build.broadcast(small, [100, 100], name="large")
    return build.model(build.result(build.reduce_sum(large, [0]), name="y"))


def growing_by_values() -> Model:
    x = build.parameter([1, 100], name="x")
    shape = build.parameter([2], "i64", name="shape")
    large = build.broadcast(build.relu(x), shape, name="large")
    return build.model(build.result(build.reduce_sum(large, [0]), name="y"))


@pytest.fixture
def small_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walk, "default_budget", lambda: NEEDED)


@pytest.mark.usefixtures("small_machine")
def test_no_layer_runs() -> None:
    visited: list[str] = []
    with pytest.raises(ResourceError, match=naming("large")) as caught:
        Walker(growing()).run([X], lambda visit: visited.append(visit.node.name))
    assert visited == []
    assert caught.value.hint is not None
    assert "--shape" in caught.value.hint


@pytest.mark.usefixtures("small_machine")
def test_a_trace_writes_no_value(tmp_path: Path) -> None:
    with pytest.raises(ResourceError, match=naming("large")):
        trace(growing(), [X], output=tmp_path / "trace")
    assert not list((tmp_path / "trace").glob("*.npy"))


@pytest.mark.usefixtures("small_machine")
def test_a_comparison_does_not_run_the_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(IRReference, "run", lambda *_, **__: pytest.fail("the reference runs"))
    with pytest.raises(ResourceError, match=naming("large")):
        compare(growing(), growing(), [X])


@pytest.mark.usefixtures("small_machine")
def test_a_layer_of_unknown_size_is_not_allocated() -> None:
    inputs: list[Array] = [X, np.array([1000, 100])]
    visited: list[str] = []
    with pytest.raises(ResourceError, match=naming("large")):
        Walker(growing_by_values()).run(inputs, lambda visit: visited.append(visit.node.name))
    assert visited
    assert "large" not in visited


def test_enough_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walk, "default_budget", lambda: 2 * NEEDED)
    assert Walker(growing()).run([X])[0].tolist() == [100.0] * 100
    with pytest.raises(EvaluationError):
        trace(growing(), [X], layers=["missing"])
