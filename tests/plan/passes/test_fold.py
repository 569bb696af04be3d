"""Pages of a mapped file that folding has read for the last time: which are released, and that nothing else changes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import ir_exec
from ir_exec import build
from ir_exec.build import Value
from ir_exec.types import Array

RANDOM = np.random.default_rng(0)
HALVES = RANDOM.standard_normal((1200, 800)).astype(np.float16)
ROWS = RANDOM.standard_normal((3, 1200), np.float32)


def run(path: Path, monkeypatch: pytest.MonkeyPatch, *results: Value) -> tuple[list[Array], list[int]]:
    """The outputs of two runs, which are the same, and the sizes of the arrays whose pages are released."""
    build.model(list(results)).save(path / "network.xml")
    model = ir_exec.read_model(path / "network.xml")
    forgotten: list[int] = []
    forget = type(model.weights).forget

    def watch_forget(self: object, array: Array) -> None:
        forgotten.append(array.nbytes)
        forget(self, array)

    monkeypatch.setattr(type(model.weights), "forget", watch_forget)
    compiled = ir_exec.compile_model(model, passes="-prepack_weights")
    outputs = [np.array(array) for array in compiled([ROWS]).values()]
    for first, other in zip(outputs, compiled([ROWS]).values(), strict=True):
        assert_array_equal(first, other)
    return outputs, forgotten


def test_weights_of_16_bits_are_released_after_conversion(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    weights = build.convert(build.constant(HALVES), "f32")
    (result,), forgotten = run(tmp_path, monkeypatch, build.matmul(build.parameter([3, 1200]), weights))
    assert forgotten == [HALVES.nbytes]
    assert_allclose(result, ROWS @ HALVES.astype(np.float32), rtol=1e-4, atol=1e-3)


def test_weights_that_a_run_reads_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    weights = build.constant(HALVES.astype(np.float32))
    _, forgotten = run(tmp_path, monkeypatch, build.matmul(build.parameter([3, 1200]), weights))
    assert forgotten == []


def test_weights_that_a_run_reads_too_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    weights = build.constant(HALVES.astype(np.float32))
    product = build.matmul(build.parameter([3, 1200]), weights)
    (_, actual), forgotten = run(tmp_path, monkeypatch, product, build.add(product, build.reduce_sum(weights, [0])))
    assert forgotten == []
    expected = ROWS @ HALVES.astype(np.float32) + HALVES.astype(np.float32).sum(0)
    assert_allclose(actual, expected, rtol=1e-3, atol=1e-2)


def test_small_weights_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    large = build.constant(HALVES.astype(np.float32))
    small = build.convert(build.constant(HALVES[:1]), "f32")
    product = build.add(build.matmul(build.parameter([3, 1200]), large), small)
    _, forgotten = run(tmp_path, monkeypatch, product)
    assert forgotten == []
