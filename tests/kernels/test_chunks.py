"""Arrays in another memory order, and functions of slices, in chunks of the tensor."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ir_exec.kernels import chunks as slices
from ir_exec.kernels.chunks import by_rows
from ir_exec.kernels.parallel import THREADS
from ir_exec.tuning import thresholds
from ir_exec.types import Array
from tests.helpers.chunks import in_chunks

ROWS, COLUMNS = thresholds.RUN_ELEMENTS, thresholds.LONG_ROW + 3


def less_the_last(part: Array) -> Array:
    assert part.ndim == 3
    return part - part[:, -1:]


@given(
    shape=st.lists(st.integers(1, 9), min_size=1, max_size=4),
    axis=st.integers(-4, 3),
    piece=st.integers(1, 40),
    threads=st.integers(1, 3),
)
def test_chunks_and_threads_change_nothing(shape: list[int], axis: int, piece: int, threads: int) -> None:
    axis %= len(shape)
    data = np.random.default_rng(0).integers(0, 100, shape)
    with pytest.MonkeyPatch.context() as patch:
        in_chunks(patch, "CHUNK_ELEMENTS", piece)
        before = THREADS.set(threads)
        actual = slices.by_slices(less_the_last, data, axis, nanoseconds=1e6)
        THREADS.reset(before)
    assert np.array_equal(actual, data - np.take(data, [-1], axis))


def test_a_scalar_is_a_slice_of_one_element() -> None:
    assert slices.by_slices(less_the_last, np.array(7), -1, nanoseconds=1.0).shape == ()


def test_chunks_respect_their_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = []
    in_chunks(monkeypatch, "CHUNK_ELEMENTS", 100)
    slices.by_slices(lambda part: sizes.append(part.size) or part, np.zeros((7, 10, 30)), 1, nanoseconds=1.0)
    assert max(sizes) <= 100
    assert sum(sizes) == 2100


def test_layout_other_than_rows_is_read_directly() -> None:
    data = np.arange(24.0).reshape(4, 6).T
    assert np.array_equal(slices.by_slices(less_the_last, data, 0, nanoseconds=1.0), data - data[-1])


@pytest.mark.parametrize("order", list(permutations(range(4))))
@pytest.mark.parametrize("sizes", [(2, 9, ROWS, COLUMNS), (1, ROWS + 1, 3, COLUMNS), (COLUMNS, 1, 2, ROWS)])
def test_arrays_with_axes_in_any_order(sizes: tuple[int, ...], order: tuple[int, ...]) -> None:
    array = np.arange(np.prod(sizes), dtype=np.float32).reshape(sizes).transpose(order)
    actual = by_rows(array)
    assert np.array_equal(actual, array)
    assert actual is array or actual.flags.c_contiguous


def test_long_rows_of_a_transposed_array_are_copied() -> None:
    array = np.zeros((COLUMNS, ROWS), np.float32).T
    assert by_rows(array) is not array
    image = np.zeros((1, 32, 32, ROWS), np.float32).transpose(0, 3, 1, 2)
    assert by_rows(image).flags.c_contiguous


@pytest.mark.parametrize(
    "array",
    [
        np.zeros((ROWS, COLUMNS)),
        np.zeros((ROWS, 2 * COLUMNS))[:, :COLUMNS],
        np.zeros((thresholds.LONG_ROW - 1, 4 * ROWS)).T,
        np.zeros((COLUMNS, ROWS - 1)).T,
        np.broadcast_to(np.zeros((ROWS, 1)), (ROWS, COLUMNS)),
        np.zeros((2 * COLUMNS, 2 * ROWS))[::2, ::2].T,
    ],
)
def test_other_arrays_are_unchanged(array: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> None:
    assert by_rows(array) is array
