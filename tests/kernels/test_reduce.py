"""Sums along axes against NumPy's own."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from ir_exec.kernels.reduce import reduce_rows, summing
from ir_exec.tuning import thresholds
from tests.helpers.chunks import in_chunks


@pytest.mark.parametrize("keep_dims", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("sizes", "axes"),
    [
        ((784, 3, 2), (1,)),
        ((3000, 2), (0,)),
        ((40, 5, 6, 4), (0, 2)),
        ((40, 5, 6, 4), (1, 2)),
        ((40, 5, 6, 4), (0, 1, 2, 3)),
        ((40, 50, 2), (2,)),
        ((30, thresholds.RUN_ELEMENTS + 3), (0,)),
        ((4, 3, 2), (1,)),
        ((40, 50, 2), ()),
    ],
)
def test_sums_along_axes(sizes: tuple[int, ...], axes: tuple[int, ...], keep_dims: bool, dtype: type) -> None:
    data = np.random.default_rng(0).standard_normal(sizes).astype(dtype)
    data.reshape(-1)[::700] = np.inf
    actual = summing(sizes, axes, keep_dims)(data)
    expected = np.sum(data.astype(np.longdouble), axis=axes, keepdims=keep_dims)
    assert actual.shape == expected.shape
    assert actual.dtype == dtype
    np.testing.assert_allclose(actual, expected.astype(dtype), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("ufunc", [np.add, np.maximum, np.minimum, np.multiply])
@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 16, 17, thresholds.RUN_ELEMENTS, thresholds.RUN_ELEMENTS + 1])
def test_rows_of_any_length(ufunc: np.ufunc, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    in_chunks(monkeypatch, "CHUNK_ELEMENTS", 1000)
    data = np.random.default_rng(0).standard_normal((40, 90, size)).astype(np.float32)
    data[3, 4, 0], data[3, 5, -1] = np.nan, -np.inf
    for keep_dims, array in product((False, True), (data, np.asfortranarray(data))):
        actual = reduce_rows(ufunc, array, keep_dims)
        expected = ufunc.reduce(data.astype(np.float64), axis=-1, keepdims=keep_dims)
        assert actual.dtype == np.float32
        np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-5)
