"""kernels.sorting: the least elements are those of a stable sort of everything."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ir_exec.kernels.sorting import least_indices
from ir_exec.types import Array

NUMBERS = st.integers(-3, 3).map(float) | st.floats(width=32) | st.just(np.nan)


def first_of_all(keys: Array, count: int, axis: int) -> Array:
    return np.take(np.argsort(keys, axis, kind="stable"), range(count), axis)


@given(keys=arrays(np.float32, (5, 24), elements=NUMBERS), count=st.integers(0, 24))
def test_ties_and_nan_are_in_stable_order(keys: Array, count: int) -> None:
    np.testing.assert_array_equal(least_indices(keys, count, 1), first_of_all(keys, count, 1))


@settings(max_examples=50)
@given(keys=arrays(np.float32, (3, 200), elements=NUMBERS, fill=NUMBERS), axis=st.integers(0, 1))
def test_a_whole_order(keys: Array, axis: int) -> None:
    np.testing.assert_array_equal(least_indices(keys, keys.shape[axis], axis), np.argsort(keys, axis, kind="stable"))


@pytest.mark.parametrize("dtype", [np.int32, np.uint32, np.float32])
def test_greatest_and_least_numbers_have_their_places(dtype: type) -> None:
    limits = np.finfo(dtype) if dtype is np.float32 else np.iinfo(dtype)
    some = [limits.max, 0, -0.0, limits.min, 1, limits.max] + ([np.inf, -np.inf, -1e-45] if dtype is np.float32 else [])
    keys = np.array(some * 100).astype(dtype)[np.newaxis]
    np.testing.assert_array_equal(least_indices(keys, keys.size, 1), np.argsort(keys, 1, kind="stable"))


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.uint8])
def test_every_axis(axis: int, dtype: type) -> None:
    keys = np.random.default_rng(0).integers(0, 90, (40, 48, 56)).astype(dtype)
    np.testing.assert_array_equal(least_indices(keys, 4, axis), first_of_all(keys, 4, axis))


def test_many_rows_are_shared_among_threads() -> None:
    keys = np.random.default_rng(0).standard_normal((2000, 300), np.float32)
    keys[7:1900:3] = 1
    keys[::5, 20:] = np.nan
    np.testing.assert_array_equal(least_indices(keys, 20, 1), first_of_all(keys, 20, 1))


def test_slices_without_elements_beside_the_axis() -> None:
    assert least_indices(np.zeros((0, 80, 3), np.float32), 2, 1).shape == (0, 2, 3)
