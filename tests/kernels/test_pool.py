"""Windows of many rows, pooled in one run, and bins of images against a loop over each of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ir_exec.kernels import pool
from ir_exec.kernels.pool import greatest, pooled_along, reduce_bins
from ir_exec.kernels.windows import SlidingAxis
from ir_exec.tuning import thresholds
from ir_exec.types import Array


def both(ufunc: np.ufunc, data: Array, axis: SlidingAxis, start: float) -> tuple[Array, Array]:
    """In one run where that is possible, and one row after the other."""
    found = []
    for rows in (1, 2**40):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(thresholds, "MANY_ROWS", rows)
            found.append(pooled_along(ufunc, data, axis, data.ndim - 1, data.dtype.type(start)))
    return found[0], found[1]


@given(
    shape=st.tuples(st.integers(1, 3), st.integers(1, 4), st.integers(1, 12)),
    kernel=st.integers(1, 6),
    dilation=st.integers(1, 3),
    pad=st.integers(-1, 12),
    dtype=st.sampled_from([np.float32, np.float64, np.int32, np.int8]),
    seed=st.integers(0, 99),
)
def test_rows_know_nothing_of_each_other(
    shape: tuple[int, ...], kernel: int, dilation: int, pad: int, dtype: type, seed: int
) -> None:
    data = np.random.default_rng(seed).integers(-9, 9, shape).astype(dtype)
    axis = SlidingAxis(shape[-1], kernel, 1, dilation, pad, shape[-1])
    for ufunc, start in ((np.maximum, -100), (np.add, 0)):
        assert np.array_equal(*both(ufunc, data, axis, start))


def test_many_short_rows_are_pooled_in_one_run(monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[int] = []
    monkeypatch.setattr(pool, "_along_run", lambda ufunc, data, axis, start: runs.append(data.size) or data)
    axis = SlidingAxis(7, 3, 1, 1, 1, 7)
    for images in (np.zeros((50, 7, 7)), np.zeros((3, 7, 7)), np.zeros((50, 7, 7))[:, ::-1]):
        pooled_along(np.maximum, images, axis, 2, 0.0)
    assert runs == [50 * 7 * 7]


def test_sums_differ_by_rounding_alone() -> None:
    data = np.random.default_rng(0).standard_normal((40, 9, 14), np.float32)
    assert np.allclose(*both(np.add, data, SlidingAxis(14, 5, 1, 1, 2, 14), 0), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("special", [np.nan, -np.inf, np.inf])
def test_special_numbers_stay_in_their_windows(special: float) -> None:
    data = np.zeros((1, 300, 1, 4), np.float32)
    data[0, 7, 0, 3] = special
    axes = [SlidingAxis(1, 1, 1, 1, 0, 1), SlidingAxis(4, 3, 1, 1, 1, 4)]
    expected = np.zeros(data.shape, np.float32)
    if special == np.inf:
        expected[0, 7, 0, 2:] = np.inf
    assert np.array_equal(greatest(data, axes), expected)


def test_windows_of_nothing_but_what_is_no_number_have_the_lowest_one() -> None:
    data = np.full((1, 300, 1, 4), np.nan, np.float32)
    data[0, 0, 0, 0] = -np.inf
    axes = [SlidingAxis(1, 1, 1, 1, 0, 1), SlidingAxis(4, 3, 1, 1, 1, 4)]
    assert np.array_equal(greatest(data, axes), np.full(data.shape, np.finfo(np.float32).min))


HEIGHT, WIDTH, CHANNELS = 5, 7, 3


@st.composite
def ends(draw: st.DrawFn, size: int, regions: int, bins: int) -> np.ndarray:
    """Begins and ends, of empty and of negative bins too."""
    places = st.integers(0, size)
    pairs = st.lists(st.tuples(places, places), min_size=regions * bins, max_size=regions * bins)
    return np.array(draw(pairs), np.int64).reshape(regions, bins, 2)


@settings(max_examples=30)
@given(data=st.data(), regions=st.integers(0, 9), down=st.integers(1, 3), across=st.integers(1, 3))
@pytest.mark.parametrize(("ufunc", "neutral"), [(np.maximum, -np.inf), (np.add, 0)])
@pytest.mark.parametrize(("chunk", "worth"), [(1, 0), (200, 0), (10**6, 0), (10**6, 10**6)])
def test_bins_are_reduced_one_by_one(
    ufunc: np.ufunc, neutral: float, chunk: int, worth: int, data: st.DataObject, regions: int, down: int, across: int
) -> None:
    images = np.random.default_rng(0).integers(-9, 9, (2, HEIGHT, WIDTH, CHANNELS)).astype(np.float32)
    rows, columns = data.draw(ends(HEIGHT, regions, down)), data.draw(ends(WIDTH, regions, across))
    numbers = np.array(data.draw(st.lists(st.integers(0, 1), min_size=regions, max_size=regions)), np.int64)
    starts = numbers[:, np.newaxis] * (HEIGHT * WIDTH), np.array(0)
    wanted = np.full((regions, down, across, CHANNELS), neutral, np.float32)
    for region, h, w in np.ndindex(regions, down, across):
        (top, bottom), (left, right) = rows[region, h], columns[region, w]
        part = images[numbers[region], top:bottom, left:right].reshape(-1, CHANNELS)
        wanted[region, h, w] = ufunc.reduce(part, axis=0, initial=neutral)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(thresholds, "INTERMEDIATE_ELEMENTS", chunk)
        patch.setattr(thresholds, "CHUNK_ELEMENTS", worth)
        found = reduce_bins(ufunc, images.reshape(-1, CHANNELS), WIDTH, starts, rows, columns, neutral)
    assert np.array_equal(found, wanted)
