"""Every algorithm for a convolution gives the sums written out, whichever is chosen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.lib.stride_tricks import sliding_window_view

from ir_exec.kernels.conv.problem import ConvProblem
from ir_exec.kernels.conv.variants import VARIANTS, chosen_variant, convolve, convolver
from ir_exec.kernels.windows import SlidingAxis
from ir_exec.runtime.threads import RunThreads
from ir_exec.tuning.machine import pretend
from ir_exec.types import Array
from tests.helpers.facts import mentions
from tests.kernels.gemm.test_product import whole_numbers

NAMES = [variant.name for variant in VARIANTS]


@pytest.fixture(autouse=True, params=[False, True], ids=["AVX2", "AVX-512"])
def small_kernels(request: pytest.FixtureRequest) -> Iterator[bool]:
    """With and without small matrices that BLAS multiplies in their memory order."""
    with pretend(has_small_kernels=request.param):
        yield request.param


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
    products = np.einsum(f"bc{letters}{letters.upper()},co{letters.upper()}->bco{letters}", windows, filters[:, :, 0])
    return products.reshape(len(data), -1, *products.shape[3:])


def axis_of(size: int, kernel: int, stride: int, dilation: int, pads: tuple[int, int]) -> SlidingAxis:
    count = (size + sum(pads) - (kernel - 1) * dilation - 1) // stride + 1
    return SlidingAxis(size, kernel, stride, dilation, pads[0], count)


def applying(axes: Sequence[SlidingAxis], data: Array, filters: Array) -> list[str]:
    """The names of the variants that compute a convolution."""
    groups, outputs, channels = filters.shape[:3]
    problem = ConvProblem(tuple(axes), len(data), groups, outputs, channels, data.dtype)
    return [variant.name for variant in VARIANTS if variant.applies(problem)]


def laid(data: Array, order: str) -> Array:
    """The data in another order in memory."""
    if order == mentions("channels"):
        return np.moveaxis(np.ascontiguousarray(np.moveaxis(data, 1, -1)), -1, 1)
    if order == "part":
        return np.pad(data, [(0, 0), (0, 3), (1, 2), (0, 5)])[:, : data.shape[1], 1:-2, : data.shape[3]]
    return data


@pytest.mark.parametrize(
    ("batch", "channels", "outputs", "axes"),
    [
        (1, 3, 1, [(20, 3, 1, 1, (1, 1)), (21, 3, 1, 1, (1, 1))]),
        (2, 3, 2, [(20, 3, 2, 1, (0, 1)), (21, 3, 2, 1, (1, 0))]),
        (3, 40, 1, [(12, 3, 2, 1, (0, 1)), (11, 5, 2, 1, (2, 2))]),
        (2, 40, 3, [(7, 2, 1, 2, (1, 0)), (8, 3, 1, 1, (1, 1))]),
        (1, 2, 1, [(5, 5, 1, 1, (2, 2)), (30, 1, 1, 1, (0, 0))]),
        (1, 2, 1, [(13, 3, 1, 3, (3, 3)), (17, 2, 3, 2, (0, 4))]),
        (1, 2, 1, [(14, 7, 3, 2, (6, 6)), (3, 3, 1, 1, (7, 9))]),
        (2, 5, 1, [(50, 3, 1, 1, (1, 1))]),
        (1, 5, 3, [(50, 9, 2, 2, (8, 0))]),
        (1, 40, 1, [(30, 4, 1, 1, (3, 0))]),
        (1, 2, 1, [(7, 3, 1, 1, (1, 1)), (6, 3, 1, 1, (1, 1)), (5, 3, 2, 1, (1, 1))]),
        (1, 40, 2, [(4, 3, 1, 1, (1, 1)), (3, 1, 1, 1, (0, 0)), (5, 2, 1, 1, (1, 1))]),
        # Several parts: of images, of channels, and of the windows of one image.
        (2, 70, 1, [(60, 3, 1, 1, (1, 1)), (61, 3, 1, 1, (1, 1))]),
        (1, 33, 2, [(96, 3, 1, 1, (0, 0)), (95, 2, 1, 1, (0, 1))]),
        (1, 1, 1, [(430, 3, 1, 1, (1, 1)), (421, 3, 1, 1, (1, 1))]),
        (3, 90, 1, [(2100, 11, 1, 1, (5, 5))]),
    ],
)
def test_depthwise_convolutions_are_the_sums_written_out(
    batch: int, channels: int, outputs: int, axes: list[tuple[int, int, int, int, tuple[int, int]]]
) -> None:
    spatial = [axis_of(*axis) for axis in axes]
    data = whole_numbers(batch, channels, *[axis.size for axis in spatial])
    filters = whole_numbers(channels, outputs, 1, *[axis.kernel for axis in spatial])
    expected = sums(data, filters, spatial)
    names = applying(spatial, data, filters)
    assert names == ["channels_last", "toeplitz_gemm", "im2col"]
    for name, threads in product(names, (1, 2)):
        run = convolver(spatial, data.shape, filters.shape, data.dtype, variant=name)
        # What was freed has no zeros.
        dirty = [np.full(size, np.nan, np.float32) for size in (1000, 4000, 8000, 16000, data.size)]
        del dirty
        with RunThreads(threads):
            for array in (data, laid(data, "channels last"), data):
                actual = run(array, filters)
                assert np.array_equal(actual, expected), name
                assert actual.flags.c_contiguous


any_axis = st.tuples(
    st.integers(1, 15), st.integers(1, 5), st.integers(1, 3), st.integers(1, 3), st.tuples(*[st.integers(0, 4)] * 2)
).filter(lambda axis: axis_of(*axis).count > 0)


@settings(max_examples=80)
@given(
    batch=st.integers(1, 2),
    groups=st.integers(1, 40),
    channels=st.sampled_from([1, 1, 3]),
    outputs=st.integers(1, 2),
    axes=st.lists(any_axis, min_size=1, max_size=3),
    order=st.sampled_from(["by rows", "channels last"]),
)
def test_any_sizes(
    batch: int,
    groups: int,
    channels: int,
    outputs: int,
    axes: list[tuple[int, int, int, int, tuple[int, int]]],
    order: str,
) -> None:
    spatial = [axis_of(*axis) for axis in axes]
    data = whole_numbers(batch, groups * channels, *[axis.size for axis in spatial])
    filters = whole_numbers(groups, outputs, channels, *[axis.kernel for axis in spatial])
    expected = grouped_sums(data, filters, spatial)
    for name in applying(spatial, data, filters):
        actual = convolver(spatial, data.shape, filters.shape, data.dtype, variant=name)(laid(data, order), filters)
        assert np.array_equal(actual, expected), name
    assert np.array_equal(convolve(spatial, data, filters), expected)


def grouped_sums(data: Array, filters: Array, axes: list[SlidingAxis]) -> Array:
    """Written out, in f64, for any number of channels in a group."""
    groups, outputs, channels, *kernel = filters.shape
    each = np.swapaxes(filters, 1, 2).reshape(groups * channels, outputs, 1, *kernel)
    grouped = sums(data, each, axes).reshape(len(data), groups, channels, outputs, *[axis.count for axis in axes])
    return grouped.sum(2).reshape(len(data), groups * outputs, *grouped.shape[4:])


@pytest.mark.parametrize("value", [np.inf, np.nan, 1e30])
@pytest.mark.parametrize("name", ["channels_last", "toeplitz_gemm", "im2col"])
def test_non_finite_values_stay_in_their_windows(value: float, name: str) -> None:
    spatial = [axis_of(20, 3, 1, 1, (1, 1)), axis_of(22, 3, 1, 1, (1, 1))]
    data, filters = whole_numbers(1, 2, 20, 22), np.abs(whole_numbers(2, 1, 1, 3, 3)) + 1
    data[0, 1, 7, 8] = value
    run = convolver(spatial, data.shape, filters.shape, data.dtype, variant=name)
    with np.errstate(all="ignore"):
        actual, expected = run(data, filters), sums(data, filters, spatial).astype(np.float32)
    np.testing.assert_allclose(actual, expected, rtol=1e-6)


@pytest.mark.parametrize("name", [*NAMES, None])
def test_no_groups_no_work(name: str | None) -> None:
    data, filters = np.ones((1, 0, 8, 8), np.float32), np.ones((0, 1, 1, 3, 3), np.float32)
    axes = [axis_of(8, 3, 1, 1, (1, 1))] * 2
    actual = convolver(axes, data.shape, filters.shape, data.dtype, variant=name)(data, filters)
    assert actual.shape == (1, 0, 8, 8)


def test_kernels_without_elements_give_zeros() -> None:
    spatial = [SlidingAxis(20, 0, 1, 1, 0, 21), axis_of(20, 3, 1, 1, (1, 1))]
    data, filters = whole_numbers(1, 2, 20, 20), np.zeros((2, 1, 1, 0, 3), np.float32)
    actual = convolve(spatial, data, filters)
    assert actual.shape == (1, 2, 21, 20)
    assert not actual.any()


@pytest.mark.parametrize("dtype", [np.int32, np.uint8, np.float16])
@pytest.mark.parametrize("channels", [1, 2])
def test_sums_of_other_types(dtype: type, channels: int) -> None:
    spatial = [axis_of(20, 3, 1, 1, (1, 1))] * 2
    data, filters = (
        np.abs(whole_numbers(*shape)) % 3 for shape in ((1, 40, 20, 20), (40 // channels, 1, channels, 3, 3))
    )
    data, filters = data.astype(dtype), filters.astype(dtype)
    names = applying(spatial, data, filters)
    assert ("toeplitz_gemm" in names) == (channels == 1 and dtype is not np.int32)
    for name in names:
        actual = convolver(spatial, data.shape, filters.shape, data.dtype, variant=name)(data, filters)
        assert actual.dtype == dtype
        assert np.array_equal(actual, grouped_sums(data, filters, spatial))


@pytest.mark.parametrize(
    ("groups", "channels", "size", "name"),
    [(1, 5, 20, "im2col"), (64, 1, 10, "channels_last"), (64, 1, 60, "toeplitz_gemm"), (8, 1, 10, "im2col")],
)
def test_choice_of_algorithm(groups: int, channels: int, size: int, name: str) -> None:
    axes = (axis_of(size, 3, 1, 1, (1, 1)),) * 2
    assert chosen_variant(ConvProblem(axes, 1, groups, 1, channels, np.dtype(np.float32))).name == name
    plain = (axis_of(size, 1, 1, 1, (0, 0)),) * 2
    assert chosen_variant(ConvProblem(plain, 1, groups, 1, channels, np.dtype(np.float32))).name == "pointwise"


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
def test_product_of_all_windows_equals_explicit_sums(
    channels: int, outputs: int, axes: list[tuple[int, int, int, int, tuple[int, int]]], dtype: type, order: str
) -> None:
    spatial = [axis_of(*axis) for axis in axes]
    data = whole_numbers(1, channels, *[axis.size for axis in spatial]).astype(dtype)
    filters = whole_numbers(1, outputs, channels, *[axis.kernel for axis in spatial]).astype(dtype)
    convolve = convolver(spatial, data.shape, filters.shape, data.dtype)
    # One output of each channel, which are added up.
    apart = sums(data, np.swapaxes(filters, 0, 2).reshape(channels, outputs, 1, *filters.shape[3:]), spatial)
    expected = apart.reshape(1, channels, outputs, *apart.shape[2:]).sum(1)
    actual = convolve(laid(data, order), filters)
    assert actual.dtype == dtype
    assert np.array_equal(actual, expected)
