"""Matrices in panels multiply as the matrices that they are made of."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ir_exec.kernels import costs
from ir_exec.kernels.packed import PackedMatrix
from ir_exec.runtime.threads import RunThreads
from tests.kernels.test_strips import whole_numbers


@pytest.mark.parametrize("is_transposed", [False, True])
@pytest.mark.parametrize(
    ("rows", "inner", "columns"),
    [
        *[(rows, 96, 200) for rows in (0, 1, 2, 8, 48, 49, 197)],
        (30, 1, 64),
        (20, 2500, 130),
        (17, 3906, 64),
        (130, 1953, 65),
    ],
)
def test_a_packed_matrix_makes_the_product(rows: int, inner: int, columns: int, is_transposed: bool) -> None:
    a, matrix = whole_numbers(rows, inner), whole_numbers(inner, columns)
    if is_transposed:
        matrix = np.asfortranarray(matrix)
    packed = PackedMatrix.of(matrix)
    assert packed.shape == matrix.shape
    found = packed.product(a)
    assert found.dtype == np.float32
    assert np.array_equal(found, a.astype(np.float64) @ matrix)


@settings(max_examples=50)
@given(st.integers(0, 60), st.integers(1, 70), st.integers(64, 300), st.integers(1, 4))
def test_any_sizes(rows: int, inner: int, columns: int, step: int) -> None:
    a, matrix = whole_numbers(rows, inner * step)[:, ::step], whole_numbers(inner, columns * step)[:, ::step]
    assert np.array_equal(PackedMatrix.of(matrix).product(a), a.astype(np.float64) @ matrix)


def test_threads_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(costs, "PRODUCTS_WORTH_SHARING_NANOSECONDS", 0)
    random = np.random.default_rng(0)
    a, matrix = random.standard_normal((50, 300), np.float32), random.standard_normal((300, 333), np.float32)
    found = []
    for threads in (1, 2, 3):
        with RunThreads(threads):
            found.append(PackedMatrix.of(matrix).product(a))
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[0], found[2])
