"""In which order constant matrices lie in memory, and that it changes no result."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import ir_exec
from ir_exec import build
from ir_exec.kernels import costs
from ir_exec.ops.matrix.matmul import MatMul
from ir_exec.types import Array

MATRIX = np.arange(12, dtype=np.float32).reshape(4, 3) / 8
ROWS = np.array([[1, 2, 3], [-1, 0, 2]], np.float32)


def seen(monkeypatch: pytest.MonkeyPatch, model: ir_exec.Model) -> tuple[list[bool], ir_exec.CompiledModel]:
    """For each product whether its matrix has contiguous columns, filled by runs of the network that is returned."""
    found: list[bool] = []
    evaluate = MatMul.evaluate

    def watched(self: MatMul, a: Array, b: Array) -> Array:
        found.append(bool(b.flags.f_contiguous))
        return evaluate(self, a, b)

    monkeypatch.setattr(MatMul, "evaluate", watched)
    monkeypatch.setattr(MatMul, "with_constants", lambda self, constants: None)
    return found, ir_exec.compile_model(model)


def computed_matrix() -> build.Value:
    """A matrix that is computed from weights, so that its memory is the process's own."""
    return build.multiply(build.constant(MATRIX), build.constant(np.float32(2)))


def test_a_matrix_of_its_own_memory_lies_as_products_read_it(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = build.parameter([2, 3], "f32", name="rows")
    found, compiled = seen(monkeypatch, build.model(build.matmul(rows, computed_matrix(), transpose_b=True)))
    assert_allclose(compiled([ROWS])[0], ROWS @ (2 * MATRIX).T)
    assert found == [True]


def test_a_matrix_that_others_read_by_rows_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, places = build.parameter([2, 3], "f32", name="rows"), build.parameter([2], "i64", name="places")
    matrix = computed_matrix()
    gathered = build.gather(matrix, places, 0)
    found, compiled = seen(monkeypatch, build.model([build.matmul(rows, matrix, transpose_b=True), gathered]))
    outputs = compiled([ROWS, np.array([3, 1])])
    assert_allclose(outputs[0], ROWS @ (2 * MATRIX).T)
    assert_array_equal(outputs[1], 2 * MATRIX[[3, 1]])
    assert found == [False]


def test_a_large_matrix_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(costs, "TURNED_BYTES", MATRIX.nbytes - 1)
    rows = build.parameter([2, 3], "f32", name="rows")
    found, compiled = seen(monkeypatch, build.model(build.matmul(rows, computed_matrix(), transpose_b=True)))
    assert_allclose(compiled([ROWS])[0], ROWS @ (2 * MATRIX).T)
    assert found == [False]


def test_a_view_of_the_file_stays(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    rows = build.parameter([2, 3], "f32", name="rows")
    model = build.model(build.matmul(rows, build.constant(MATRIX), transpose_b=True))
    model.save(tmp_path / "product.xml")
    found, compiled = seen(monkeypatch, ir_exec.read_model(tmp_path / "product.xml"))
    assert_allclose(compiled([ROWS])[0], ROWS @ MATRIX.T)
    assert found == [False]
