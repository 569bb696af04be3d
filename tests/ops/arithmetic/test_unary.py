"""The accuracy of functions that NumPy does not have, and the ends of their domains."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from ir_exec.types import Array, ElementType
from tests.helpers.operators import attribute_error, evaluate, make
from tests.helpers.values import array


def arguments() -> Array:
    spread = np.random.default_rng(0).uniform(-6.5, 6.5, 20000)
    return np.concatenate([spread, np.geomspace(1e-30, 6, 5000), -np.geomspace(1e-12, 1, 500), [0.0]])


def error_in_ulp(actual: Array, exact: list[float]) -> float:
    expected = np.array(exact)
    spacing = np.spacing(np.abs(expected).astype(actual.dtype)).astype(np.float64)
    return float(np.max(np.abs(actual.astype(np.float64) - expected) / spacing))


@pytest.mark.parametrize(("element_type", "ulp"), [("f64", 4), ("f32", 5), ("f16", 0.51), ("bf16", 0.51)])
def test_erf_is_accurate(element_type: str, ulp: float) -> None:
    x = arguments().astype(ElementType[element_type].dtype)
    if element_type in ("f16", "bf16"):
        # f16 has no such small numbers with full precision, and NumPy no spacing of bf16.
        x = x[np.abs(x.astype(np.float64)) > 1e-3]
        expected = np.array([math.erf(value) for value in x.astype(np.float64).tolist()])
        assert_array_equal(evaluate(make("Erf"), x), expected.astype(np.float32).astype(x.dtype))
        return
    assert error_in_ulp(evaluate(make("Erf"), x), [math.erf(value) for value in x.tolist()]) < ulp


@pytest.mark.parametrize("element_type", ["f32", "f64"])
def test_erf_ends_at_one_and_is_odd(element_type: str) -> None:
    x = array(element_type, 4.2, 6, 30, 1e30, np.inf)
    ends = evaluate(make("Erf"), x)
    assert_allclose(ends, np.ones(5), rtol=1e-7 if element_type == "f32" else 1e-8)
    assert ends.max() <= 1
    assert_array_equal(evaluate(make("Erf"), -x), -ends)
    assert_array_equal(evaluate(make("Erf"), array(element_type, 0, np.nan)), array(element_type, 0, np.nan))


def test_erf_never_falls() -> None:
    x = np.linspace(-7, 7, 100001, dtype=np.float32)
    assert np.diff(evaluate(make("Erf"), x)).min() > -2.5e-7


INVERSES = [
    (0.0, 0.0),
    (1e-300, 8.86226925452758e-301),
    (1e-10, 8.862269254527581e-11),
    (0.001, 0.0008862271574665521),
    (0.1, 0.08885599049425769),
    (0.25, 0.2253120550121781),
    (-0.5, -0.4769362762044699),
    (0.7, 0.7328690779592167),
    (0.9, 1.1630871536766743),
    (-0.95, -1.3859038243496777),
    (0.98, 1.6449763571331868),
    (0.9899, 1.8189521001176947),
    (0.99, 1.8213863677184494),
    (0.9901, 1.8238424144828167),
    (0.995, 1.984872612615532),
    (0.999, 2.3267537655135246),
    (-0.9999, -2.75106390571208),
    (0.99999, 3.123413274341571),
    (0.9999999, 3.7665625816384707),
    (0.9999999403953552, 3.832506856900711),
    (0.9999999999, 4.572824958544925),
    (0.99999999999999, 5.4725525174145355),
    (0.9999999999999999, 5.8635847487551676),
]
"""From mpmath, with 40 digits."""


def test_erfinv_is_accurate() -> None:
    x, y = (np.array(column) for column in zip(*INVERSES, strict=True))
    assert_allclose(evaluate(make("ErfInv", 17), x), y, rtol=2e-15)
    exact_in_f32 = [(np.float32(x), y) for x, y in INVERSES if float(np.float32(x)) == x]
    singles, inverses = (np.array(column) for column in zip(*exact_in_f32, strict=True))
    assert singles.size >= 4
    assert_allclose(evaluate(make("ErfInv", 17), singles.astype(np.float32)), inverses, rtol=5e-7)


def test_erfinv_undoes_erf() -> None:
    y = np.linspace(-2.5, 2.5, 1001)
    x = np.array([math.erf(value) for value in y.tolist()])
    # Near its ends a last digit of x is many of y.
    assert_allclose(evaluate(make("ErfInv", 17), x), y, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("element_type", ["f32", "f64", "f16", "bf16"])
def test_erfinv_beyond_its_domain(element_type: str) -> None:
    result = evaluate(make("ErfInv", 17), array(element_type, 1, -1, 1.5, -2, np.nan, np.inf, 0))
    assert_array_equal(result.astype(np.float64), [np.inf, -np.inf, np.nan, np.nan, np.nan, np.nan, 0])


def test_halves_are_rounded_away_from_zero() -> None:
    operator = make("Round", 5, mode="half_away_from_zero")
    below = np.nextafter(np.float32(0.5), np.float32(0))
    data = np.array([below, -below, 0.5, -0.5, 2**23 + 1, -(2.0**25), np.inf], np.float32)
    expected = np.array([0, 0, 1, -1, 2**23 + 1, -(2.0**25), np.inf], np.float32)
    assert_array_equal(evaluate(operator, data), expected)


def test_invalid_rounding_mode() -> None:
    fault = attribute_error("Round", 5, mode="up")
    assert fault.code == "IR302"
    assert "half_to_even" in fault.message


def test_exact_integers_keep_all_digits() -> None:
    data = array("i64", 0, 1)
    data[:] = 2**63 - 1, -(2**63) + 1
    for type, opset in (("Floor", 1), ("Ceiling", 1), ("Round", 5)):
        result = evaluate(make(type, opset), data)
        assert_array_equal(result, data)
        assert not np.shares_memory(result, data)
    assert evaluate(make("Abs"), data).tolist() == [2**63 - 1, 2**63 - 1]
    assert evaluate(make("Negative"), data).tolist() == [-(2**63) + 1, 2**63 - 1]
    assert evaluate(make("Abs"), array("i8", -128, -127)).tolist() == [-128, 127]
    assert evaluate(make("Negative"), array("u8", 0, 1)).tolist() == [0, 255]
