"""Winograd's convolutions are the sums written out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.lib.stride_tricks import sliding_window_view

from ir_exec.kernels.conv.winograd import (
    TransformedFilters,
    WinogradConvolver,
    is_worth_transforming,
    transformed_filters,
)
from ir_exec.kernels.windows import SlidingAxis
from ir_exec.runtime.threads import RunThreads
from ir_exec.types import Array
from tests.helpers.chunks import in_chunks
from tests.kernels.gemm.test_product import whole_numbers


def sums(data: Array, filters: Array, pads: list[tuple[int, int]]) -> Array:
    """Written out, in f64. data: [batch, groups * C, spatial...]. filters: [groups, O, C, 3...]."""
    axes = len(pads)
    groups, outputs, channels = filters.shape[:3]
    padded = np.pad(data.astype(np.float64), [(0, 0), (0, 0), *pads])
    windows = sliding_window_view(padded, (3,) * axes, axis=tuple(range(2, 2 + axes)))
    windows = windows.reshape(len(data), groups, channels, *windows.shape[2:])
    letters = "xyz"[:axes]
    products = np.einsum(f"bgc{letters}{letters.upper()},goc{letters.upper()}->bgo{letters}", windows, filters)
    return products.reshape(len(data), groups * outputs, *products.shape[3:])


def convolver(data: Array, filters: Array, pads: list[tuple[int, int]]) -> WinogradConvolver:
    axes = [
        SlidingAxis(size, 3, 1, 1, begin, size + begin + end - 2)
        for size, (begin, end) in zip(data.shape[2:], pads, strict=True)
    ]
    return WinogradConvolver(axes, data.shape, TransformedFilters(filters))


@pytest.mark.parametrize(
    ("data", "filters", "pads"),
    [
        ((1, 2, 3, 3), (1, 4, 2, 3, 3), [(0, 0), (0, 0)]),  # one window
        ((1, 2, 4, 4), (1, 1, 2, 3, 3), [(0, 0), (0, 0)]),  # one tile
        ((2, 5, 8, 9), (1, 3, 5, 3, 3), [(1, 1), (1, 1)]),
        ((1, 1, 1, 1), (1, 1, 1, 3, 3), [(1, 1), (2, 0)]),
        ((1, 3, 2, 7), (1, 2, 3, 3, 3), [(5, 4), (0, 6)]),  # tiles of padding alone
        ((3, 6, 7, 5), (3, 4, 2, 3, 3), [(1, 0), (0, 1)]),
        ((1, 4, 9), (2, 3, 2, 3), [(1, 1)]),
        ((2, 4, 5, 6, 7), (2, 3, 2, 3, 3, 3), [(1, 1), (0, 1), (2, 2)]),
        ((0, 2, 5, 5), (1, 2, 2, 3, 3), [(1, 1), (1, 1)]),
    ],
)
@pytest.mark.parametrize("elements", [1, 2**19])
def test_transform_equals_explicit_sums(
    data: tuple[int, ...],
    filters: tuple[int, ...],
    pads: list[tuple[int, int]],
    elements: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    in_chunks(monkeypatch, "WINDOW_ELEMENTS", elements)
    # Quarters of small whole numbers are exact.
    images, weights = whole_numbers(*data), whole_numbers(*filters)
    actual = convolver(images, weights, pads)(images)
    assert actual.dtype == np.float32
    assert np.array_equal(actual, sums(images, weights, pads))


pairs = st.tuples(st.integers(0, 4), st.integers(0, 4))


@settings(max_examples=60)
@given(
    st.integers(1, 2),
    st.tuples(*[st.integers(1, 4)] * 3),
    st.lists(st.tuples(st.integers(3, 12), pairs), min_size=1, max_size=3),
    st.integers(1, 3),
)
def test_any_sizes(
    batch: int, channels: tuple[int, int, int], axes: list[tuple[int, tuple[int, int]]], step: int
) -> None:
    groups, outputs, inputs = channels
    sizes, pads = [size for size, _ in axes], [pad for _, pad in axes]
    images = whole_numbers(batch, groups * inputs * step, *sizes)[:, ::step]
    weights = whole_numbers(groups, outputs, inputs, *[3] * len(axes))
    assert np.array_equal(convolver(images, weights, pads)(images), sums(images, weights, pads))


def test_rounding_equals_that_of_explicit_sums() -> None:
    random = np.random.default_rng(0)
    images = random.standard_normal((1, 64, 20, 20), np.float32)
    weights = random.standard_normal((1, 64, 64, 3, 3), np.float32)
    expected = sums(images, weights, [(1, 1), (1, 1)])
    actual = convolver(images, weights, [(1, 1), (1, 1)])(images)
    assert abs(actual - expected).max() < 2e-6 * abs(expected).max()


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, 3e38])
def test_non_finite_values_stay_in_their_windows(value: float) -> None:
    random = np.random.default_rng(1)
    images = random.standard_normal((1, 2, 6, 7), np.float32)
    images[0, 1, 2, 3] = value
    weights = np.abs(random.standard_normal((1, 3, 2, 3, 3), np.float32)) / 10
    with np.errstate(all="ignore"):
        actual = convolver(images, weights, [(1, 1), (1, 1)])(images)
        expected = sums(images, weights, [(1, 1), (1, 1)]).astype(np.float32)
    np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-5)


def test_filters_are_stored_if_memory_allows() -> None:
    weights = whole_numbers(2, 3, 4, 3, 3)
    memory = np.zeros(2 * 3 * 4 * 16, np.float32)
    assert np.shares_memory(transformed_filters(weights, memory), memory)
    assert np.array_equal(memory.reshape(16, 2, 3, 4), transformed_filters(weights))


def test_threads_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    in_chunks(monkeypatch, "SHARED_PRODUCT_NANOSECONDS", 1)
    in_chunks(monkeypatch, "WINDOW_ELEMENTS", 2**13)
    random = np.random.default_rng(2)
    images = random.standard_normal((2, 16, 30, 31), np.float32)
    weights = random.standard_normal((1, 8, 16, 3, 3), np.float32)
    convolve = convolver(images, weights, [(1, 1), (1, 1)])
    assert len(convolve.blocks) > 4
    results = []
    for threads in (1, 2, 3):
        with RunThreads(threads):
            results.append(convolve(images))
    assert np.array_equal(results[0], results[1])
    assert np.array_equal(results[0], results[2])


@pytest.mark.parametrize(
    ("filters", "windows", "is_worth"),
    [
        ((1, 64, 64, 3, 3), 28 * 28, True),
        ((8, 64, 64, 3, 3), 28 * 28, True),
        ((1, 64, 64, 3, 3, 3), 8 * 14 * 14, True),
        ((1, 64, 64, 3, 3), 7 * 7, False),
        ((1, 64, 64, 3, 3), 10 * 10, False),
        ((1, 16, 64, 3, 3), 56 * 56, False),
        ((1, 64, 32, 3, 3), 56 * 56, False),
        ((64, 1, 1, 3, 3), 56 * 56, False),
        ((1, 64, 64, 5, 5), 28 * 28, False),
        ((1, 64, 64, 3, 1), 28 * 28, False),
        ((1, 64, 64, 3), 1000, False),
    ],
)
def test_transform_is_chosen_where_faster(filters: tuple[int, ...], windows: int, is_worth: bool) -> None:
    assert is_worth_transforming(filters, windows) == is_worth
