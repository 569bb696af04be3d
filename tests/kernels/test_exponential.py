"""Exponentials are right in either base; which one is taken depends on the machine."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.lib import introspect

from ir_exec.kernels import exponential


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float32, 1e-5), (np.float64, 1e-13)])
def test_powers_are_exponentials(dtype, tolerance):
    x = np.linspace(-80, 80, 1001).astype(dtype)
    found = exponential.power(x * dtype(exponential.EXPONENT))
    assert found.dtype == dtype
    np.testing.assert_allclose(found, [math.exp(number) for number in x.tolist()], rtol=tolerance)
    assert exponential.power(dtype(-math.inf)) == 0


@pytest.mark.parametrize(
    ("loops", "expected"),
    [
        ({"exp2": {"ff": {"current": "AVX512_SKX", "available": "AVX512_SKX baseline(SSE)"}}}, True),
        ({"exp2": {"ff": {"current": "baseline(SSE SSE2)", "available": "AVX512_SKX baseline(SSE)"}}}, False),
        ({"exp2": {"dd": {"current": "AVX512_SKX", "available": "AVX512_SKX"}}}, False),
        ({}, False),
    ],
    ids=["avx512", "avx2", "no loop of f32", "not told"],
)
def test_base_2_where_it_has_vectors(monkeypatch, loops, expected):
    monkeypatch.setattr(introspect, "opt_func_info", lambda func_name: loops)
    assert exponential._has_vectors_of_base_2() == expected
