"""Windows of many rows, pooled in one run, and bins of images against a loop over each of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ir_exec.kernels.pool import greatest, reduce_bins
from ir_exec.kernels.windows import SlidingAxis
from tests.helpers.chunks import in_chunks


@pytest.mark.parametrize("special", [np.nan, -np.inf, np.inf])
def test_special_numbers_stay_in_their_windows(special: float) -> None:
    data = np.zeros((1, 300, 1, 4), np.float32)
    data[0, 7, 0, 3] = special
    axes = [SlidingAxis(1, 1, 1, 1, 0, 1), SlidingAxis(4, 3, 1, 1, 1, 4)]
    expected = np.zeros(data.shape, np.float32)
    if special == np.inf:
        expected[0, 7, 0, 2:] = np.inf
    assert np.array_equal(greatest(data, axes), expected)


def test_windows_of_nan_have_lowest_finite_value() -> None:
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
    expected = np.full((regions, down, across, CHANNELS), neutral, np.float32)
    for region, h, w in np.ndindex(regions, down, across):
        (top, bottom), (left, right) = rows[region, h], columns[region, w]
        part = images[numbers[region], top:bottom, left:right].reshape(-1, CHANNELS)
        expected[region, h, w] = ufunc.reduce(part, axis=0, initial=neutral)
    with pytest.MonkeyPatch.context() as patch:
        in_chunks(patch, "INTERMEDIATE_ELEMENTS", chunk)
        in_chunks(patch, "CHUNK_ELEMENTS", worth)
        actual = reduce_bins(ufunc, images.reshape(-1, CHANNELS), WIDTH, starts, rows, columns, neutral)
    assert np.array_equal(actual, expected)
