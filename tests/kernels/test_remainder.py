"""kernels.remainder: NumPy's own functions are the expected values, which take every pair of elements by itself."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ir_exec.kernels.remainder import floor_remainder, truncated_remainder
from ir_exec.types import Array

FUNCTIONS = (floor_remainder, np.remainder), (truncated_remainder, np.fmod)

NUMBERS = st.floats(width=32) | st.integers(-30, 30).map(float) | st.sampled_from([2.0**23, 2.0**-149, -(2.0**-126)])


def assert_same_bits(found: Array, expected: Array) -> None:
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
    known = ~np.isnan(expected)
    np.testing.assert_array_equal(found[known].view(np.uint32), expected[known].view(np.uint32))


@pytest.mark.parametrize(("function", "expected"), FUNCTIONS)
@given(a=arrays(np.float32, 3, elements=NUMBERS), b=arrays(np.float32, 3, elements=NUMBERS))
def test_remainders_are_those_of_numpy(function, expected, a: Array, b: Array) -> None:
    # Few elements are left to NumPy.
    a, b = np.tile(a, 1000), np.repeat(b, 1000)
    with np.errstate(all="ignore"):
        assert_same_bits(function(a, b), expected(a, b))


@pytest.mark.parametrize(("function", "expected"), FUNCTIONS)
@pytest.mark.parametrize("scale", [1.0, 1e-3, 1e4, 1e8])
def test_remainders_of_many_elements(function, expected, scale: float) -> None:
    generator = np.random.default_rng(0)
    a = (generator.standard_normal((7, 400_000)) * scale).astype(np.float32)
    a[0, :1000] = generator.integers(-40, 40, 1000)
    b = generator.standard_normal((7, 1)).astype(np.float32)
    b[0] = 3
    # Just below multiples of the divisor.
    a[1:, :200] = np.nextafter(b[1:] * np.arange(200, dtype=np.float32), np.float32(0))
    out = np.empty_like(a)
    assert function(a, b, out) is out
    assert_same_bits(out, expected(a, b))


@pytest.mark.parametrize(("function", "expected"), FUNCTIONS)
def test_remainders_are_written_over_an_argument(function, expected) -> None:
    a, b = np.float32([7.5, -7.5, -0.0, 6]), np.float32([2, 2, -3, -3])
    result = expected(a, b)
    assert_same_bits(function(a, b, b), result)


@pytest.mark.parametrize(("function", "expected"), FUNCTIONS)
@pytest.mark.parametrize("shape", [(), (1, 1), (0, 3)])
def test_remainders_of_few_elements(function, expected, shape: tuple[int, ...]) -> None:
    a, b = np.full(shape, -7.5, np.float32), np.full(shape, 2, np.float32)
    found = function(a, b)
    assert found.shape == shape
    assert_same_bits(np.atleast_1d(found), np.atleast_1d(expected(a, b)))
