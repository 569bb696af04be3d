"""Depthwise convolutions by rows of windows are the sums written out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.lib.stride_tricks import sliding_window_view

from ir_exec.kernels import convolve as convolving
from ir_exec.kernels import costs
from ir_exec.kernels.convolve import Convolver
from ir_exec.kernels.windows import SlidingAxis
from ir_exec.runtime.threads import RunThreads
from ir_exec.types import Array
from tests.kernels.test_products import whole_numbers


@pytest.fixture(params=[False, True], ids=["vectors", "bands"])
def small_kernels(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """With and without small matrices that BLAS multiplies as they lie; rows of any width are wide."""
    monkeypatch.setattr(convolving, "has_small_kernels", lambda: request.param)
    monkeypatch.setattr(costs, "WIDE_ROW", 1)
    monkeypatch.setattr(costs, "FEW_WINDOWS", 0)
    monkeypatch.setattr(costs, "FEW_MULTIPLICATIONS", 0)
    return bool(request.param)


def sums(data: Array, filters: Array, axes: list[SlidingAxis]) -> Array:
    """Written out, in f64. data: [batch, channels, spatial...]. filters: [channels, outputs, 1, kernel...]."""
    rank = len(axes)
    ends = [(axis.count - 1) * axis.stride + (axis.kernel - 1) * axis.dilation + 1 for axis in axes]
    pads = [(axis.pad, max(end - axis.pad - axis.size, 0)) for axis, end in zip(axes, ends, strict=True)]
    padded = np.pad(data.astype(np.float64), [(0, 0), (0, 0), *pads])
    sizes = [(axis.kernel - 1) * axis.dilation + 1 for axis in axes]
    windows = sliding_window_view(padded, sizes, axis=tuple(range(2, 2 + rank)))
    for number, axis in enumerate(axes):
        windows = windows.swapaxes(2 + number, 0)[: axis.count * axis.stride : axis.stride][: axis.count].swapaxes(
            2 + number, 0
        )
        windows = windows.swapaxes(2 + rank + number, 0)[:: axis.dilation].swapaxes(2 + rank + number, 0)
    letters = "xyz"[:rank]
    found = np.einsum(f"bc{letters}{letters.upper()},co{letters.upper()}->bco{letters}", windows, filters[:, :, 0])
    return found.reshape(len(data), -1, *found.shape[3:])


def axis_of(size: int, kernel: int, stride: int, dilation: int, pads: tuple[int, int]) -> SlidingAxis:
    count = (size + sum(pads) - (kernel - 1) * dilation - 1) // stride + 1
    return SlidingAxis(size, kernel, stride, dilation, pads[0], count)


@pytest.mark.parametrize("elements", [2, 2**19])
@pytest.mark.parametrize(
    ("batch", "channels", "outputs", "axes"),
    [
        (1, 3, 1, [(20, 3, 1, 1, (1, 1)), (21, 3, 1, 1, (1, 1))]),
        (2, 3, 2, [(20, 3, 2, 1, (0, 1)), (21, 3, 2, 1, (1, 0))]),
        (1, 2, 1, [(5, 5, 1, 1, (2, 2)), (30, 1, 1, 1, (0, 0))]),
        (1, 2, 1, [(13, 3, 1, 3, (3, 3)), (17, 2, 3, 2, (0, 4))]),
        (1, 2, 1, [(14, 7, 3, 2, (6, 6)), (3, 3, 1, 1, (7, 9))]),
        (2, 5, 1, [(50, 3, 1, 1, (1, 1))]),
        (1, 5, 3, [(50, 9, 2, 2, (8, 0))]),
        (1, 2, 1, [(7, 3, 1, 1, (1, 1)), (6, 3, 1, 1, (1, 1)), (5, 3, 2, 1, (1, 1))]),
    ],
)
def test_they_are_the_sums_written_out(
    batch: int,
    channels: int,
    outputs: int,
    axes: list[tuple[int, int, int, int, tuple[int, int]]],
    elements: int,
    small_kernels: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(costs, "BAND_ELEMENTS", elements)
    monkeypatch.setattr(costs, "PRODUCTS_WORTH_SHARING_NANOSECONDS", 1)
    spatial = [axis_of(*axis) for axis in axes]
    data = whole_numbers(batch, channels, *[axis.size for axis in spatial])
    filters = whole_numbers(channels, outputs, 1, *[axis.kernel for axis in spatial])
    convolve = Convolver(spatial, data.shape, filters.shape, data.dtype)
    high = 6 if small_kernels else 1
    if len(axes) == 1:
        high = 16 if spatial[0].kernel > 8 else 1
    assert convolve._band == min(convolve._axes[0].count, high)
    for threads in (1, 2):
        with RunThreads(threads):
            assert np.array_equal(convolve(data, filters), sums(data, filters, spatial))


def test_parts_of_any_size_follow_each_other(small_kernels: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(costs, "BAND_ELEMENTS", 5 * 3 * 20 * 21)
    spatial = [axis_of(20, 3, 1, 1, (1, 1)), axis_of(21, 3, 1, 1, (1, 1))]
    data, filters = whole_numbers(2, 7, 20, 21), whole_numbers(7, 1, 1, 3, 3)
    convolve = Convolver(spatial, data.shape, filters.shape, data.dtype)
    sizes = [min(part.images[1].stop, 7) - part.images[1].start for part in convolve._parts]
    assert len(set(sizes)) > 1
    convolve._parts.sort(key=lambda part: min(part.images[1].stop, 7) - part.images[1].start)
    # What was freed has no zeros.
    dirty = [np.full(size, np.nan, np.float32) for size in (1000, 4000, 8000, 16000)]
    del dirty
    assert np.array_equal(convolve(data, filters), sums(data, filters, spatial))


@pytest.mark.parametrize("has_small_kernels", [False, True])
@pytest.mark.parametrize(("elements", "run"), [(2**18, 2**11), (900, 80), (40, 0), (2, 40)])
@pytest.mark.parametrize(
    ("batch", "outputs", "axes"),
    [
        (1, 1, [(10, 3, 1, 1, (1, 1)), (9, 3, 1, 1, (1, 1))]),
        (3, 1, [(12, 3, 2, 1, (0, 1)), (11, 5, 2, 1, (2, 2))]),
        (2, 3, [(7, 2, 1, 2, (1, 0)), (8, 3, 1, 1, (1, 1))]),
        (1, 1, [(30, 4, 1, 1, (3, 0))]),
        (1, 2, [(4, 3, 1, 1, (1, 1)), (3, 1, 1, 1, (0, 0)), (5, 2, 1, 1, (1, 1))]),
    ],
)
def test_along_the_channels_in_parts_of_any_size(
    batch: int,
    outputs: int,
    axes: list[tuple[int, int, int, int, tuple[int, int]]],
    elements: int,
    run: int,
    has_small_kernels: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(convolving, "has_small_kernels", lambda: has_small_kernels)
    monkeypatch.setattr(costs, "SPREAD_ELEMENTS", elements)
    monkeypatch.setattr(costs, "SHORT_RUN", run)
    monkeypatch.setattr(costs, "PRODUCTS_WORTH_SHARING_NANOSECONDS", 1)
    spatial = [axis_of(*axis) for axis in axes]
    data = whole_numbers(batch, 40, *[axis.size for axis in spatial])
    filters = whole_numbers(40, outputs, 1, *[axis.kernel for axis in spatial])
    convolve = Convolver(spatial, data.shape, filters.shape, data.dtype)
    assert convolve._is_by_channels
    by_places = np.moveaxis(np.ascontiguousarray(np.moveaxis(data, 1, -1)), -1, 1)
    for threads in (1, 2):
        for array in (data, by_places):
            with RunThreads(threads):
                found = convolve(array, filters)
            assert np.array_equal(found, sums(data, filters, spatial))
            assert found.flags.c_contiguous


any_axis = st.tuples(
    st.integers(1, 15), st.integers(1, 5), st.integers(1, 3), st.integers(1, 3), st.tuples(*[st.integers(0, 4)] * 2)
).filter(lambda axis: axis_of(*axis).count > 0)


@settings(max_examples=100)
@given(st.integers(1, 2), st.integers(1, 3), st.integers(1, 2), st.lists(any_axis, min_size=1, max_size=3))
def test_any_sizes(
    batch: int, channels: int, outputs: int, axes: list[tuple[int, int, int, int, tuple[int, int]]]
) -> None:
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(convolving, "has_small_kernels", lambda: True)
        monkeypatch.setattr(costs, "FEW_WINDOWS", 0)
        spatial = [axis_of(*axis) for axis in axes]
        data = whole_numbers(batch, channels, *[axis.size for axis in spatial])
        filters = whole_numbers(channels, outputs, 1, *[axis.kernel for axis in spatial])
        convolve = Convolver(spatial, data.shape, filters.shape, data.dtype)
        assert np.array_equal(convolve(data, filters), sums(data, filters, spatial))


@settings(max_examples=200)
@given(
    batch=st.integers(1, 2),
    channels=st.integers(1, 40),
    outputs=st.integers(1, 2),
    axes=st.lists(any_axis, min_size=1, max_size=3),
    run=st.sampled_from([1, 2**11]),
    elements=st.sampled_from([300, 2**18]),
    is_turned=st.booleans(),
)
def test_any_sizes_along_the_channels(
    batch: int,
    channels: int,
    outputs: int,
    axes: list[tuple[int, int, int, int, tuple[int, int]]],
    run: int,
    elements: int,
    is_turned: bool,
) -> None:
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(convolving, "has_small_kernels", lambda: False)
        monkeypatch.setattr(costs, "SHORT_RUN", run)
        monkeypatch.setattr(costs, "SPREAD_ELEMENTS", elements)
        spatial = [axis_of(*axis) for axis in axes]
        data = whole_numbers(batch, channels, *[axis.size for axis in spatial])
        filters = whole_numbers(channels, outputs, 1, *[axis.kernel for axis in spatial])
        monkeypatch.setattr(Convolver, "_has_few_windows", lambda *_: True)
        convolve = Convolver(spatial, data.shape, filters.shape, data.dtype)
        assert convolve._is_by_channels or convolve._is_pointwise
        found = convolve(laid(data, "channels last") if is_turned else data, filters)
        assert np.array_equal(found, sums(data, filters, spatial))


@pytest.mark.parametrize("value", [np.inf, np.nan, 1e30])
def test_what_is_not_finite_stays_in_its_windows(value: float, small_kernels: bool) -> None:
    spatial = [axis_of(20, 3, 1, 1, (1, 1)), axis_of(22, 3, 1, 1, (1, 1))]
    data, filters = whole_numbers(1, 2, 20, 22), np.abs(whole_numbers(2, 1, 1, 3, 3)) + 1
    data[0, 1, 7, 8] = value
    convolve = Convolver(spatial, data.shape, filters.shape, data.dtype)
    with np.errstate(all="ignore"):
        found, wanted = convolve(data, filters), sums(data, filters, spatial).astype(np.float32)
    assert small_kernels == (convolve._band == 6)
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


@pytest.mark.parametrize("has_small_kernels", [False, True])
def test_without_groups_there_is_nothing(has_small_kernels: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(convolving, "has_small_kernels", lambda: has_small_kernels)
    data, filters = np.ones((1, 0, 8, 8), np.float32), np.ones((0, 1, 1, 3, 3), np.float32)
    found = Convolver([axis_of(8, 3, 1, 1, (1, 1))] * 2, data.shape, filters.shape, data.dtype)(data, filters)
    assert found.shape == (1, 0, 8, 8)


def test_kernels_without_elements_give_zeros(small_kernels: bool) -> None:
    spatial = [SlidingAxis(20, 0, 1, 1, 0, 21), axis_of(20, 3, 1, 1, (1, 1))]
    data, filters = whole_numbers(1, 2, 20, 20), np.zeros((2, 1, 1, 0, 3), np.float32)
    found = Convolver(spatial, data.shape, filters.shape, data.dtype)(data, filters)
    assert found.shape == (1, 2, 21, 20)
    assert not found.any()


def test_sums_of_integers_need_no_wide_rows(small_kernels: bool) -> None:
    spatial = [axis_of(20, 3, 1, 1, (1, 1))] * 2
    data, filters = whole_numbers(1, 2, 20, 20).astype(np.int32), whole_numbers(2, 1, 1, 3, 3).astype(np.int32)
    convolve = Convolver(spatial, data.shape, filters.shape, data.dtype)
    assert convolve._band == 0
    assert np.array_equal(convolve(data, filters), sums(data, filters, spatial))


def laid(data: Array, order: str) -> Array:
    """The same data in another order in memory."""
    if order == "channels last":
        return np.moveaxis(np.ascontiguousarray(np.moveaxis(data, 1, -1)), -1, 1)
    if order == "part":
        return np.pad(data, [(0, 0), (0, 3), (1, 2), (0, 5)])[:, : data.shape[1], 1:-2, : data.shape[3]]
    return data


@pytest.mark.parametrize("order", ["by rows", "channels last", "part"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("channels", "outputs", "axes"),
    [
        (3, 4, [(9, 3, 2, 1, (1, 1)), (12, 3, 1, 1, (1, 0))]),
        (5, 12, [(9, 2, 1, 3, (0, 0)), (12, 3, 2, 1, (0, 0))]),
        (40, 70, [(1, 1, 1, 1, (0, 0)), (30, 1, 1, 1, (0, 0))]),
        (1, 3, [(5, 1, 1, 1, (0, 0)), (1, 1, 1, 1, (0, 0))]),
        (2, 3, [(3, 7, 1, 3, (9, 9)), (4, 1, 2, 1, (0, 1))]),
        (30, 20, [(40, 1, 1, 1, (0, 0)), (50, 1, 1, 1, (0, 0))]),
    ],
)
def test_one_product_of_all_windows_is_the_sums_written_out(
    channels: int, outputs: int, axes: list[tuple[int, int, int, int, tuple[int, int]]], dtype: type, order: str
) -> None:
    spatial = [axis_of(*axis) for axis in axes]
    data = whole_numbers(1, channels, *[axis.size for axis in spatial]).astype(dtype)
    filters = whole_numbers(1, outputs, channels, *[axis.kernel for axis in spatial]).astype(dtype)
    convolve = Convolver(spatial, data.shape, filters.shape, data.dtype)
    assert convolve._whole is not None
    # One output of each channel, which are added up.
    apart = sums(data, np.swapaxes(filters, 0, 2).reshape(channels, outputs, 1, *filters.shape[3:]), spatial)
    wanted = apart.reshape(1, channels, outputs, *apart.shape[2:]).sum(1)
    found = convolve(laid(data, order), filters)
    assert found.dtype == dtype
    assert np.array_equal(found, wanted)
