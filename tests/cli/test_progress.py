"""The progress bar counts layers."""

from __future__ import annotations

from pathlib import Path

import pytest

from ir_exec import read_model
from ir_exec.cli import progress
from ir_exec.debug import compare, walk
from tests.conformance.networks import arrays

NETWORKS = Path(__file__).parents[1] / "networks"


def test_layers_of_bodies_count_once_for_all_iterations(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_PATIENCE", 0.0)
    # No body is so small that its iterations are looked at as a whole.
    monkeypatch.setattr(walk, "_FEW_BYTES", -1)
    path = NETWORKS / "script_loop_seq.xml"
    model = read_model(path)
    paths: list[str] = []
    with progress.LayerBar(model.graph) as bar:

        def advance(layer: str) -> None:
            paths.append(layer)
            bar.advance(layer)

        compare(model, model, arrays(path, "inputs"), progress=advance)
        assert bar._bar is not None
        (task,) = bar._bar[0].tasks
        assert (task.completed, task.total) == (len(set(paths)), len(set(paths)))
    assert len(paths) > len(set(paths))
    assert any("/" in layer for layer in paths)


def test_steps_of_unknown_number_count_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_PATIENCE", 0.0)
    with progress.LayerBar(None) as bar:
        bar.advance("2 layers left")
        bar.advance("2 layers left")
        assert bar._bar is not None
        (task,) = bar._bar[0].tasks
        assert (task.completed, task.total) == (2, None)
