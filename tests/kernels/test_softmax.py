"""Softmax with a sink, in place, and of short floats; the sigmoid."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from ir_exec.kernels.elementwise import sigmoid
from ir_exec.kernels.softmax import exponentiate, log_softmax, softmax
from ir_exec.tuning import thresholds

SCORES = np.random.default_rng(0).normal(0, 30, (3, 5, 4))


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_the_logarithm_of_softmax(axis: int) -> None:
    assert np.allclose(np.exp(log_softmax(SCORES, axis)), softmax(SCORES, axis), rtol=1e-12, atol=0)
    assert np.allclose(softmax(SCORES, axis).sum(axis), 1)


def test_a_sink_is_one_more_score() -> None:
    sink = np.full((3, 5, 1), 7.0)
    expected = softmax(np.concatenate([SCORES, sink], axis=-1), axis=-1)[..., :-1]
    own = SCORES.copy()
    total = exponentiate(own, -1, out=own, sink=sink)
    assert np.allclose(own / total, expected, rtol=1e-12, atol=0)


def test_short_floats_are_rounded_once() -> None:
    data = SCORES.astype(ml_dtypes.bfloat16)
    assert np.array_equal(softmax(data), softmax(data.astype(np.float32)).astype(ml_dtypes.bfloat16))


def test_the_sigmoid_writes_over_its_argument() -> None:
    data = np.array([-1e4, -2.0, 0.0, 3.0, 1e4], np.float32)
    own = data.copy()
    with np.errstate(over="ignore"):
        assert sigmoid(own[1:]) is not None
        assert own[0] == data[0]
        assert sigmoid(own) is own
        expected = 1 / (1 + np.exp(-np.concatenate([data[:1], 1 / (1 + np.exp(-data[1:]))])))
    assert np.array_equal(own, expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("masked", [-100.0, -720.0, -1e4, -np.inf])
def test_masked_scores_leave_no_denormal_numbers(dtype: type, masked: float) -> None:
    scores = np.linspace(-5, 5, 2 * thresholds.CALL_ELEMENTS, dtype=dtype).reshape(-1, 64)
    plain = softmax(scores[:, ::2], -1)
    scores[:, 1::2] += masked
    actual = softmax(scores, -1)
    np.testing.assert_allclose(actual[:, ::2], plain, rtol=1e-6)
    beside = actual[:, 1::2]
    assert not ((beside > 0) & (beside < np.finfo(dtype).tiny)).any()
    assert beside.max() < 1e-40


def test_no_number_stays_none_beside_masked_scores() -> None:
    scores = np.zeros((2 * thresholds.CALL_ELEMENTS // 64, 64), np.float32)
    scores[:, 1] = -100
    scores[0, 0] = np.nan
    actual = softmax(scores, -1)
    assert np.isnan(actual[0]).all()
    assert not np.isnan(actual[1:]).any()


@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize("least", [-60.0, -1000.0, -np.inf])
@pytest.mark.parametrize("axis", [0, 1])
def test_slices_of_small_scores_beside_others(in_place: bool, least: float, axis: int) -> None:
    scores = np.random.default_rng(1).normal(0, 5, (96, 96))
    scores[5] = scores[:, 7] = least
    scores[5, 3] = scores[2, 7] = least / 2 if np.isfinite(least) else -900
    wide = scores.astype(np.longdouble)
    wide = np.exp(wide - wide.max(axis, keepdims=True))
    expected = (wide / wide.sum(axis, keepdims=True)).astype(np.float32)
    own = scores.astype(np.float32)
    out = own if in_place else np.empty_like(own)
    total = exponentiate(own, axis, out=out)
    np.testing.assert_allclose(out / total, expected, rtol=2e-5, atol=1e-30)
