"""Constant matrices in panels: which are, and that nothing else about a network changes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import ir_exec
from ir_exec import build
from ir_exec.plan.passes import prepack as packing_of_weights
from ir_exec.tuning.machine import pretend
from ir_exec.types import Array

RANDOM = np.random.default_rng(0)
MATRIX = RANDOM.standard_normal((320, 400), np.float32)
ROWS = RANDOM.standard_normal((2, 30, 320), np.float32)
LARGE = np.random.default_rng(1).standard_normal((720, 740), np.float32)
"""It is worth panels for few rows too."""


@pytest.fixture(autouse=True)
def packing() -> Iterator[None]:
    """Pack as on a processor with AVX-512."""
    with pretend(has_small_kernels=True):
        yield


def run_packed(compiled: ir_exec.CompiledModel, *inputs: Array) -> tuple[list[Array], int]:
    """The outputs, and how many steps have their matrix in panels."""
    outputs = [np.array(array) for array in compiled(list(inputs)).values()]
    plan = compiled.executor.plan([(array.dtype, array.shape) for array in inputs])
    return outputs, sum(type(step.op).__name__ == "PackedMatMul" for step in plan.steps)


def product(a: Array = ROWS, b: Array = MATRIX, **attributes: bool) -> ir_exec.Model:
    return build.model(build.matmul(build.parameter(list(a.shape), "f32"), build.constant(b), **attributes))


@pytest.mark.parametrize(
    ("a", "b", "attributes"),
    [
        (ROWS, MATRIX, {}),
        (ROWS, MATRIX.T.copy(), {"transpose_b": True}),
        (ROWS[0].T.copy(), MATRIX, {"transpose_a": True}),
        (ROWS.swapaxes(1, 2).copy(), MATRIX.T.copy(), {"transpose_a": True, "transpose_b": True}),
        (ROWS[np.newaxis], MATRIX, {}),
    ],
)
def test_every_way_to_multiply(a: Array, b: Array, attributes: dict[str, bool]) -> None:
    outputs, count = run_packed(ir_exec.compile_model(product(a, b, **attributes)), a)
    assert count == 1
    left = a.swapaxes(-1, -2) if "transpose_a" in attributes else a
    right = b.T if "transpose_b" in attributes else b
    assert_allclose(outputs[0], np.matmul(left, right, dtype=np.float64), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (ROWS[0, 0], MATRIX),  # a vector
        (ROWS[:1, :1], MATRIX),  # one row
        (ROWS[:1, :2], MATRIX),  # BLAS copies nothing of a short product
        (ROWS, MATRIX[:, :60]),  # no panel is full
        (ROWS, np.stack([MATRIX, MATRIX])),
    ],
)
def test_unpacked_matrices(a: Array, b: Array) -> None:
    outputs, count = run_packed(ir_exec.compile_model(product(a, b)), a)
    assert count == 0
    assert_allclose(outputs[0], np.matmul(a, b, dtype=np.float64), rtol=1e-4, atol=1e-4)


def test_matrix_with_another_reader_is_not_packed() -> None:
    rows, constant = build.parameter([2, 30, 320], "f32"), build.constant(MATRIX)
    model = build.model([build.matmul(rows, constant), build.abs(constant)])
    assert run_packed(ir_exec.compile_model(model), ROWS)[1] == 0


def test_output_matrix_is_not_packed() -> None:
    rows, constant = build.parameter([2, 30, 320], "f32"), build.constant(MATRIX)
    outputs, count = run_packed(ir_exec.compile_model(build.model([build.matmul(rows, constant), constant])), ROWS)
    assert count == 0
    assert_array_equal(outputs[1], MATRIX)


def test_two_products_with_one_matrix_share_its_panels() -> None:
    rows, constant = build.parameter([2, 30, 320], "f32"), build.constant(MATRIX)
    both = build.add(build.matmul(rows, constant), build.matmul(build.relu(rows), constant))
    compiled = ir_exec.compile_model(build.model(both))
    outputs, count = run_packed(compiled, ROWS)
    assert count == 2
    (matrices,) = compiled.executor.compiler.constants.packed
    assert len(matrices.values) == 1
    assert_allclose(outputs[0], (ROWS + np.maximum(ROWS, 0)) @ MATRIX, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("element_type", ["f16", "computed"])
def test_matrices_computed_from_weights(element_type: str) -> None:
    if element_type == "f16":
        half = MATRIX.astype(np.float16)
        matrix, expected = build.convert(build.constant(half), "f32"), half.astype(np.float32)
    else:
        matrix, expected = build.multiply(build.constant(MATRIX), build.constant(np.float32(2))), 2 * MATRIX
    compiled = ir_exec.compile_model(build.model(build.matmul(build.parameter([2, 30, 320], "f32"), matrix)))
    outputs, count = run_packed(compiled, ROWS)
    assert count == 1
    assert_allclose(outputs[0], ROWS @ expected, rtol=1e-4, atol=1e-4)
    assert compiled.memory_plan().constants == MATRIX.nbytes
    seen = []
    again = compiled([ROWS], observe=lambda node, inputs, _: seen.append((node.type, [x.shape for x in inputs])))
    assert seen[-1] == ("MatMul", [(2, 30, 320), (320, 400)])
    assert_allclose(again[0], outputs[0], rtol=1e-4, atol=1e-4)


def test_plain_plans_pack_nothing() -> None:
    assert run_packed(ir_exec.compile_model(product(), optimize=False), ROWS)[1] == 0


def test_run_after_observed_one_is_packed() -> None:
    compiled = ir_exec.compile_model(product())
    observed = compiled([ROWS], observe=lambda *_: None)
    plain = ir_exec.compile_model(product(), optimize=False)([ROWS])
    assert_array_equal(observed[0], plain[0])
    assert run_packed(compiled, ROWS)[1] == 1


def test_of_unknown_rows_small_matrices_stay() -> None:
    rows = build.parameter([-1, 320], "f32")
    compiled = ir_exec.compile_model(build.model(build.matmul(rows, build.constant(MATRIX))))
    assert run_packed(compiled, ROWS[0])[1] == 0


def test_declared_rows_decide_over_first_run() -> None:
    rows = build.parameter([-1, 720], "f32")
    compiled = ir_exec.compile_model(build.model(build.matmul(rows, build.constant(LARGE))))
    assert run_packed(compiled, np.ones((1, 720), np.float32))[1] == 1
    data = build.parameter([1, 720], "f32")
    assert (
        run_packed(
            ir_exec.compile_model(build.model(build.matmul(data, build.constant(LARGE)))), np.ones((1, 720), np.float32)
        )[1]
        == 0
    )


def test_other_shapes_read_the_same_panels() -> None:
    rows = build.parameter([-1, 720], "f32")
    compiled = ir_exec.compile_model(build.model(build.matmul(rows, build.constant(LARGE))))
    for count in (100, 1, 0, 3, 17):
        data = RANDOM.standard_normal((count, 720), np.float32)
        outputs, steps = run_packed(compiled, data)
        assert steps == 1
        assert_allclose(outputs[0], data @ LARGE, rtol=1e-4, atol=1e-4)


@pytest.fixture
def on_disk(tmp_path: Path) -> Path:
    """A network whose weights are mapped: the file is larger than what is read whole."""
    rows = build.parameter([60, 800], "f32")
    large = RANDOM.standard_normal((800, 800), np.float32)
    build.model(build.matmul(rows, build.constant(large))).save(tmp_path / "product.xml")
    return tmp_path / "product.xml"


def test_file_pages_of_packed_matrices_are_released(on_disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = ir_exec.read_model(on_disk)
    forgotten = []
    monkeypatch.setattr(type(model.weights), "forget", lambda self, array: forgotten.append(array.nbytes))
    data = RANDOM.standard_normal((60, 800), np.float32)
    compiled = ir_exec.compile_model(model, optimize="full")
    assert run_packed(compiled, data)[1] == 1
    assert forgotten == [4 * 800 * 800]
    assert compiled.memory_plan().constants == 4 * 800 * 800


@pytest.mark.parametrize("options", [{"weight_mode": "keep"}, {"max_memory": 4_000_000}])
def test_matrices_of_a_file_stay_there(
    on_disk: Path, options: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packing_of_weights, "COPIED_ALWAYS", 0)
    assert run_packed(ir_exec.compile_model(on_disk, **options), RANDOM.standard_normal((60, 800), np.float32))[1] == 0


def test_arrays_held_by_model_are_not_duplicated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing_of_weights, "COPIED_ALWAYS", 0)
    assert run_packed(ir_exec.compile_model(product()), ROWS)[1] == 0


def test_other_processors_get_no_panels() -> None:
    with pretend(has_small_kernels=False):
        assert run_packed(ir_exec.compile_model(product()), ROWS)[1] == 0


@pytest.mark.parametrize("mode", ["r", "c", "r+"])
def test_mapped_arrays_keep_their_writes(tmp_path: Path, mode: Any) -> None:
    MATRIX.tofile(tmp_path / "matrix")
    constant = np.memmap(tmp_path / "matrix", np.float32, mode, shape=MATRIX.shape)
    if mode != "r":
        constant *= 2
    expected = np.array(constant)
    for _ in range(2):
        outputs, _ = run_packed(ir_exec.compile_model(product(b=constant)), ROWS)
        assert_allclose(outputs[0], ROWS @ expected, rtol=1e-4, atol=1e-3)
    assert_array_equal(constant, expected)
