"""Convolution of bits, against sums of products of 1 and -1."""

from __future__ import annotations

import numpy as np
import pytest

from ir_exec.kernels.binary import convolve_bits, packed_filters
from ir_exec.kernels.conv.variants import convolve
from ir_exec.kernels.windows import SlidingAxis


@pytest.mark.parametrize("channels", [1, 7, 8, 19, 64, 70])
@pytest.mark.parametrize("padding", [True, False])
def test_equal_bits_less_unequal_ones(channels: int, padding: bool) -> None:
    generator = np.random.default_rng(channels)
    data = generator.random((2, channels, 7, 9)) > 0.5
    filters = generator.random((5, channels, 3, 2)) > 0.5
    # With one element of padding before and after; a stride of 2 down, a dilation of 2 across.
    axes = [SlidingAxis(7, 3, 2, 1, 1, 4), SlidingAxis(9, 2, 1, 2, 1, 9)]
    padded = np.pad(data, [(0, 0), (0, 0), (1, 1), (1, 1)], constant_values=padding)
    wide = [SlidingAxis(9, 3, 2, 1, 0, 4), SlidingAxis(11, 2, 1, 2, 0, 9)]
    signs, weights = np.where(padded, 1.0, -1.0), np.where(filters, 1.0, -1.0)
    actual = convolve_bits(axes, data, packed_filters(filters), padding)
    assert np.array_equal(actual, convolve(wide, signs, weights[np.newaxis]))


def test_nothing_in_common() -> None:
    axes = [SlidingAxis(4, 1, 1, 1, 0, 4)] * 2
    actual = convolve_bits(
        axes, np.zeros((1, 0, 4, 4), np.bool_), packed_filters(np.zeros((3, 0, 1, 1), np.bool_)), True
    )
    assert actual.shape == (1, 3, 4, 4)
    assert not actual.any()
