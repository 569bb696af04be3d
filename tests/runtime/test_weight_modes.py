"""Another .bin and the mode of weights are two arguments; the former values of `weights` are read as the mode."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ir_exec import Model, batch, build, compile_model, read_model
from ir_exec.build.compress import Compression, compress_weights
from ir_exec.errors import EvaluationError, ResourceError
from ir_exec.runtime import weight_modes
from ir_exec.runtime.weight_modes import (
    BUDGET_SHARE,
    EXPANDED_SHARE,
    choose_weight_mode,
    count_expanded_bytes,
    split_weights,
    weight_mode_of_many_runs,
)
from tests.helpers.facts import coded, mentions

ROWS, COLUMNS = 512, 256
EXPANDED = ROWS * COLUMNS * 4

GNN = Path(__file__).parents[2] / "samples" / "gnn_step.xml"


@pytest.mark.parametrize("mode", ["expand", "keep"])
def test_former_values_of_weights(mode: str) -> None:
    with pytest.warns(DeprecationWarning, match="weight_mode"):
        assert split_weights(mode) == (None, mode)
    with pytest.warns(DeprecationWarning, match="weight_mode"):
        compile_model(GNN, weights=mode)
    with pytest.warns(DeprecationWarning, match="weight_mode"):
        list(batch.run(GNN, [], weights=mode))


def test_file_and_mode_together() -> None:
    path = GNN.with_suffix(".bin")
    assert split_weights(path, "keep") == (path, "keep")
    compact = compile_model(GNN, weights=path, weight_mode="keep")
    inputs = {"features": np.ones((3, 4), np.float32), "edges": np.zeros((2, 5), np.int64)}
    expected = compile_model(GNN)(inputs).to_tuple()
    assert all(map(np.array_equal, compact(inputs).to_tuple(), expected))


def test_other_modes_are_refused() -> None:
    with pytest.raises(EvaluationError, check=coded("IR704")):
        compile_model(read_model(GNN), weight_mode="expanded")  # type: ignore[arg-type]


def compressed_model(stored: str = "int4") -> Model:
    """A product of the input "x" [1, COLUMNS] with compressed weights [COLUMNS, ROWS]."""
    x = build.parameter([1, COLUMNS], "f32", name="x")
    weights = np.random.default_rng(0).standard_normal((ROWS, COLUMNS)).astype(np.float32)
    if stored == "f16":
        return build.model(
            build.matmul(x, build.convert(build.constant(weights.astype(np.float16)), "f32"), transpose_b=True)
        )
    model = build.model(build.matmul(x, weights, transpose_b=True))
    return model if stored == "f32" else compress_weights(model, Compression(stored, all_layers=True))[0]


@pytest.mark.parametrize(("stored", "size"), [("int4", EXPANDED), ("f16", EXPANDED), ("int8", EXPANDED), ("f32", 0)])
def test_bytes_of_expanded_weights(stored: str, size: int) -> None:
    assert count_expanded_bytes(compressed_model(stored)) == size


def test_values_of_16_bits_count_in_run_type() -> None:
    x = build.parameter([1, COLUMNS], "f16", name="x")
    model = build.model(build.matmul(x, np.ones((COLUMNS, ROWS), np.float16)))
    assert count_expanded_bytes(model, "f32") == EXPANDED
    assert count_expanded_bytes(model, "file") == 0


def test_bytes_in_bodies_count() -> None:
    condition = build.parameter([], "boolean", name="condition")
    x = build.parameter([1, COLUMNS], "f32", name="x")
    weights = build.constant(np.ones((COLUMNS, ROWS), np.float16))
    product = build.if_(
        condition, lambda: build.matmul(x, build.convert(weights, "f32")), lambda: np.ones((1, ROWS), np.float32)
    )
    assert count_expanded_bytes(build.model(product)) == EXPANDED


@pytest.mark.parametrize(("most_bytes", "mode"), [(EXPANDED, "expand"), (EXPANDED - 1, "keep")])
def test_auto_decides_by_the_size(most_bytes: int, mode: str) -> None:
    model = compressed_model()
    assert choose_weight_mode(model, "auto", "f32", most_bytes) == mode
    assert choose_weight_mode(model, "expand", "f32", most_bytes) == "expand"
    assert choose_weight_mode(model, "keep", "f32", most_bytes) == "keep"


def test_auto_holds_for_all_calls() -> None:
    model, budget = compressed_model(), EXPANDED * BUDGET_SHARE
    compact, expanded = (compile_model(model, max_memory=memory) for memory in (budget - 1, budget))
    assert compact.memory_plan().constants < EXPANDED / 4
    assert expanded.memory_plan().constants >= EXPANDED
    for x in np.random.default_rng(1).standard_normal((8, 1, COLUMNS), np.float32):
        for compiled, mode in ((compact, "keep"), (expanded, "expand")):
            again = compile_model(model, weight_mode=mode)  # type: ignore[arg-type]  # both are modes
            np.testing.assert_array_equal(compiled([x])[0], again([x])[0])


def test_auto_depends_on_the_memory_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for memory, mode in ((EXPANDED * EXPANDED_SHARE, "expand"), (EXPANDED * EXPANDED_SHARE - 1, "keep")):
        monkeypatch.setattr(weight_modes, "default_budget", lambda memory=memory: memory)
        assert weight_mode_of_many_runs(compressed_model(), "auto", "f32") == mode


def test_engines_expand_by_default() -> None:
    assert weight_mode_of_many_runs(compressed_model(), "auto", "f32", EXPANDED, engine="onnxruntime") == "expand"
    assert weight_mode_of_many_runs(compressed_model(), "keep", "f32", EXPANDED, engine="onnxruntime") == "keep"


def test_an_exceeded_budget_names_the_mode() -> None:
    compiled = compile_model(compressed_model(), max_memory=EXPANDED // 2, weight_mode="expand")
    with pytest.raises(ResourceError, check=coded("IR006")) as caught:
        compiled([np.ones((1, COLUMNS), np.float32)])
    assert caught.value.hint == mentions("weight_mode", "keep")
    compile_model(compressed_model(), max_memory=EXPANDED // 2)([np.ones((1, COLUMNS), np.float32)])
