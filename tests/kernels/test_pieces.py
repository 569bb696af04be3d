"""Functions of slices, a piece of the tensor at a time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ir_exec.kernels import costs
from ir_exec.kernels import pieces as slices
from ir_exec.kernels.parallel import THREADS
from ir_exec.types import Array


def less_the_last(part: Array) -> Array:
    assert part.ndim == 3
    return part - part[:, -1:]


@given(
    shape=st.lists(st.integers(1, 9), min_size=1, max_size=4),
    axis=st.integers(-4, 3),
    piece=st.integers(1, 40),
    threads=st.integers(1, 3),
)
def test_pieces_and_threads_change_nothing(shape: list[int], axis: int, piece: int, threads: int) -> None:
    axis %= len(shape)
    data = np.random.default_rng(0).integers(0, 100, shape)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(costs, "PIECE_ELEMENTS", piece)
        before = THREADS.set(threads)
        found = slices.by_slices(less_the_last, data, axis, nanoseconds=1e6)
        THREADS.reset(before)
    assert np.array_equal(found, data - np.take(data, [-1], axis))


def test_a_scalar_is_a_slice_of_one_element() -> None:
    assert slices.by_slices(less_the_last, np.array(7), -1, nanoseconds=1.0).shape == ()


def test_no_piece_is_larger_than_it_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = []
    monkeypatch.setattr(costs, "PIECE_ELEMENTS", 100)
    slices.by_slices(lambda part: sizes.append(part.size) or part, np.zeros((7, 10, 30)), 1, nanoseconds=1.0)
    assert max(sizes) <= 100
    assert sum(sizes) == 2100


def test_a_layout_other_than_rows_is_read_as_it_is() -> None:
    data = np.arange(24.0).reshape(4, 6).T
    assert np.array_equal(slices.by_slices(less_the_last, data, 0, nanoseconds=1.0), data - data[-1])
