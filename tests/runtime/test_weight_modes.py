"""Another .bin and the mode of weights are two arguments; the former values of `weights` are read as the mode."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ir_exec import batch, compile_model, read_model
from ir_exec.errors import EvaluationError
from ir_exec.runtime.weight_modes import split_weights
from tests.helpers.facts import coded

GNN = Path(__file__).parents[2] / "samples" / "gnn_step.xml"


@pytest.mark.parametrize("mode", ["expand", "keep"])
def test_former_values_of_weights(mode: str) -> None:
    with pytest.warns(DeprecationWarning, match="weight_mode"):
        assert split_weights(mode, None) == (None, mode)
    with pytest.warns(DeprecationWarning, match="weight_mode"):
        compile_model(GNN, weights=mode)
    with pytest.warns(DeprecationWarning, match="weight_mode"):
        list(batch.run(GNN, [], weights=mode))


def test_file_and_mode_together() -> None:
    path = GNN.with_suffix(".bin")
    assert split_weights(path, "keep") == (path, "keep")
    kept = compile_model(GNN, weights=path, weight_mode="keep")
    inputs = {"features": np.ones((3, 4), np.float32), "edges": np.zeros((2, 5), np.int64)}
    expected = compile_model(GNN)(inputs).to_tuple()
    assert all(map(np.array_equal, kept(inputs).to_tuple(), expected))


def test_other_modes_are_refused() -> None:
    with pytest.raises(EvaluationError, check=coded("IR704")):
        compile_model(read_model(GNN), weight_mode="expanded")  # type: ignore[arg-type]
