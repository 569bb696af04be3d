"""Distances of two values."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest

from ir_exec.debug.comparison.metrics import Settings, Tolerance, difference, same_bits, tolerance_of
from ir_exec.debug.values.facts import PIECE
from ir_exec.types import Array, ElementType
from tests.helpers.facts import mentions

ALL = Tolerance(rtol=0.1, atol=0.5)


def floats(*numbers: float) -> Array:
    return np.array(numbers, np.float32)


def test_every_metric() -> None:
    error = difference(floats(1, 2, 3, 10), floats(1, 2, 4, 8), ALL)
    assert error.max_abs == 2
    assert error.mean_abs == 0.75
    assert error.max_rel == 0.25
    assert error.rmse == pytest.approx(math.sqrt(5 / 4))
    assert error.cosine == pytest.approx((1 + 4 + 12 + 80) / math.sqrt(114 * 85))
    assert error.sqnr_db == pytest.approx(10 * math.log10(85 / 5))
    assert error.max_ulp == 2 / (8 * 2.0**-23)
    # The limits are 0.5 + 0.1 * (1, 2, 4, 8): 1 is beyond 0.9, and 2 beyond 1.3.
    assert (error.beyond_count, error.beyond, error.elements) == (2, 0.5, 4)
    assert (error.worst, error.ours, error.reference) == ((3,), 10, 8)
    assert not error.is_within


def test_equal_values_have_no_error() -> None:
    error = difference(floats(1, np.nan, np.inf), floats(1, np.nan, np.inf), Tolerance())
    assert error.is_within
    assert (error.max_abs, error.sqnr_db, error.worst) == (0, None, None)


@pytest.mark.parametrize(
    ("ours", "reference"), [((np.nan, 1.0), (1.0, 1.0)), ((1.0, 1.0), (np.inf, 1.0)), ((np.inf, 1.0), (-np.inf, 1.0))]
)
def test_one_sided_non_finite_is_infinite_error(ours: tuple[float, ...], reference: tuple[float, ...]) -> None:
    error = difference(floats(*ours), floats(*reference), Tolerance(rtol=1e9, atol=1e9))
    assert error.max_abs == math.inf
    assert error.beyond_count == 1
    assert error.rmse == 0
    assert error.worst == (0,)


def test_scales_and_limits() -> None:
    assert difference(floats(1.5, 100), floats(1, 100), Tolerance(scale=0.01)).is_within
    assert not difference(floats(2.5, 100), floats(1, 100), Tolerance(scale=0.01)).is_within
    assert difference(floats(2.5, 100), floats(1, 100), Tolerance(scale=0.01)).atol == 1


def test_worst_value_is_furthest_beyond_its_limit() -> None:
    error = difference(floats(1.5, 1003), floats(1, 1000), Tolerance(rtol=0.01))
    assert error.worst == (0,)
    assert error.max_abs == 3


def test_pieces_make_no_difference() -> None:
    random = np.random.default_rng(0)
    reference = random.standard_normal(2 * PIECE + 7).astype(np.float32)
    ours = reference + random.standard_normal(reference.size).astype(np.float32) * 1e-3
    ours[PIECE + 3] += 5
    error = difference(ours, reference, Tolerance())
    a, b = ours.astype(np.float64), reference.astype(np.float64)
    assert error.max_abs == np.abs(a - b).max()
    assert error.rmse == pytest.approx(float(np.sqrt(np.square(a - b).mean())))
    assert error.sqnr_db == pytest.approx(float(10 * np.log10(np.square(b).sum() / np.square(a - b).sum())))
    far = difference(ours, reference, Tolerance(atol=1))
    assert far.worst == (PIECE + 3,)
    assert far.beyond_count == 1


def test_ulp_is_of_the_coarser_type() -> None:
    ours = floats(1 + 2**-7).astype(ml_dtypes.bfloat16)
    assert difference(ours, floats(1), Tolerance()).max_ulp == 1


def test_integers_booleans_and_strings() -> None:
    assert difference(np.array([1, 2]), np.array([1, 4]), Tolerance()).max_abs == 2
    assert difference(np.array([True]), np.array([False]), Tolerance()).beyond_count == 1
    error = difference(np.array(["a", "b"], object), np.array(["a", "c"], object), Tolerance())
    assert (error.beyond_count, error.ours, error.reference) == (1, "b", "c")
    assert difference(np.array(["a"], object), np.array([1]), Tolerance()).problem
    assert tolerance_of((ElementType.i64, ElementType.i64)) == Tolerance()


def test_different_shapes_are_a_problem() -> None:
    error = difference(np.zeros((2, 3)), np.zeros((3, 2)), Tolerance(atol=1))
    assert error.problem == mentions("[2, 3]", "[3, 2]")
    assert not error.is_within


def test_scalars_and_empty_arrays() -> None:
    assert difference(np.array(1.0), np.array(2.0), Tolerance()).worst == ()
    assert difference(np.zeros((0, 2)), np.zeros((0, 2)), Tolerance()).is_within


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16, np.int8, np.bool_, ml_dtypes.int4])
def test_the_same_bits(dtype: type) -> None:
    array = np.array([0, 1, 1], dtype)
    assert same_bits(array, array.copy())
    assert not same_bits(array, array[::-1].copy())
    assert not same_bits(array, array[:2])
    assert same_bits(floats(np.nan), floats(np.nan))
    assert not same_bits(floats(1), np.ones(1, np.float64))


F32, I64, BF16 = ElementType.parse("f32"), ElementType.parse("i64"), ElementType.parse("bf16")


def test_a_coarser_type_of_the_reference_counts() -> None:
    coarse = Settings(computes_in=BF16)
    assert coarse.carried_tolerance([F32, F32]) == Settings().carried_tolerance([F32, BF16])
    assert coarse.carried_tolerance([F32, F32]).rtol > Settings().carried_tolerance([F32, F32]).rtol


@pytest.mark.parametrize("settings", [Settings(computes_in=BF16), Settings()])
def test_integers_are_to_be_equal(settings: Settings) -> None:
    tolerance = settings.carried_tolerance([I64, I64])
    assert (tolerance.rtol, tolerance.atol, tolerance.scale) == (0, 0, 0)


def test_given_tolerances_stay() -> None:
    tolerance = Settings(rtol=1e-5, computes_in=BF16).carried_tolerance([F32, F32])
    assert (tolerance.rtol, tolerance.atol, tolerance.scale) == (1e-5, 0, 0)
