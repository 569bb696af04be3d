"""Formats of compressed weights: ranges, scales, groups, and scales that follow the importance of channels."""

from __future__ import annotations

import numpy as np
import pytest

from ir_exec.build.weight_formats import FORMATS, encode

WEIGHT = np.random.default_rng(0).standard_normal((6, 64)).astype(np.float32)

SQNR = {
    "int8_asym": 40,
    "int8_sym": 40,
    "int4_asym": 18,
    "int4_sym": 17,
    "nf4": 18,
    "fp4": 16,
    "mxfp4": 15,
    "fp8_e4m3": 28,
    "mxfp8_e4m3": 27,
}
"""Decibels that a format reaches at least on normal numbers in groups of 32."""


def sqnr(actual: np.ndarray, expected: np.ndarray = WEIGHT) -> float:
    return float(10 * np.log10((expected**2).sum() / ((actual - expected) ** 2).sum()))


@pytest.mark.parametrize("name", FORMATS)
def test_format_error_follows_its_bits(name: str) -> None:
    encoded = encode(WEIGHT, (1,), FORMATS[name], 32)
    assert encoded.codes.shape == (6, 2, 32)
    assert encoded.scale.shape == (6, 2, 1)
    assert (encoded.zero is not None) == FORMATS[name].has_zero
    assert SQNR[name] < sqnr(encoded.expand()) < SQNR[name] + 12


@pytest.mark.parametrize("name", FORMATS)
def test_rows_without_groups_and_rows_of_zeros(name: str) -> None:
    weight = WEIGHT.copy()
    weight[2] = 0
    encoded = encode(weight, (1,), FORMATS[name])
    assert encoded.codes.shape == weight.shape
    assert (encoded.expand()[2] == 0).all()
    assert np.isfinite(encoded.expand()).all()


def test_the_axis_of_groups() -> None:
    encoded = encode(WEIGHT.T.copy(), (0,), FORMATS["int4_sym"], 16)
    assert encoded.codes.shape == (4, 16, 6)
    np.testing.assert_array_equal(encoded.expand().T, encode(WEIGHT, (1,), FORMATS["int4_sym"], 16).expand())


def test_the_greatest_magnitude_is_the_first_code() -> None:
    weight = np.array([[0.5, -1.0, 0.25, 0.0], [1.0, 0.5, -0.5, 0.0]], np.float32)
    encoded = encode(weight, (1,), FORMATS["int4_sym"])
    assert encoded.codes.tolist() == [[4, -8, 2, 0], [-8, -4, 4, 0]]
    assert encoded.scale.reshape(-1).tolist() == [0.125, -0.125]


def test_zero_is_exact_with_zero_points() -> None:
    encoded = encode(WEIGHT + 10, (1,), FORMATS["int4_asym"], 32)
    assert encoded.zero is not None
    assert set(encoded.zero.reshape(-1).tolist()) == {0.0}


@pytest.mark.parametrize("size", [1e-9, 1e9])
def test_scales_beyond_f16_are_f32(size: float) -> None:
    encoded = encode(WEIGHT * np.float32(size), (1,), FORMATS["int8_sym"])
    assert encoded.scale_type.name == "f32"
    assert sqnr(encoded.expand(), WEIGHT * np.float32(size)) > 40


@pytest.mark.parametrize("name", ["int4_sym", "int4_asym", "nf4", "int8_asym"])
def test_importance_lowers_the_weighted_error(name: str) -> None:
    importance = np.random.default_rng(1).uniform(0, 1, 64).astype(np.float32) ** 8
    plain = encode(WEIGHT, (1,), FORMATS[name], 32).expand()
    better = encode(WEIGHT, (1,), FORMATS[name], 32, importance).expand()

    def error(actual: np.ndarray) -> float:
        return float((importance * (actual - WEIGHT) ** 2).sum())

    assert error(better) < error(plain)
