"""The error function and its inverse, which NumPy does not have.

Both are rational functions P/Q of a variable that makes the function smooth. The coefficients were fitted for this
file, with 60 decimal digits, to the least maximum of the relative error; they are written as the nearest f64.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import NamedTuple

import numpy as np

from ir_exec.kernels.elementwise import EXPONENT, numbers
from ir_exec.types import Array

__all__ = ["erf", "erfinv", "normal_odds_exponent"]


class _Rational(NamedTuple):
    """P(x) / Q(x), the coefficient of the lowest power first."""

    numerator: Sequence[float]
    denominator: Sequence[float]

    def __call__(self, x: Array) -> Array:
        result = _polynomial(self.numerator, x)
        result /= _polynomial(self.denominator, x)
        return result


def _polynomial(coefficients: Sequence[float], x: Array) -> Array:
    """Horner's scheme, in place."""
    result = x * coefficients[-1]
    for coefficient in coefficients[-2:0:-1]:
        result += coefficient
        result *= x
    result += coefficients[0]
    return result


_ERF_F32 = _Rational(
    (1.1283791708233126, 0.2798056254243853, 0.04264540394606546, 0.002178155772113723),
    (1.0, 0.15689151139484414, 0.023689000744329468, 0.00032489904438368766),
)
"""atanh(erf(x)) / x for |x| up to 4, in x²; the relative error of erf is at most 4e-9."""

_ERF_F64 = _Rational(
    (
        1.1283791670955126,
        0.6368745837796183,
        0.20198526568568645,
        0.04175387000773406,
        0.006056208459651142,
        0.0006301355726881212,
        4.619076660748337e-05,
        2.3066261716132174e-06,
        6.507360101479233e-08,
        4.716329857770999e-10,
    ),
    (
        1.0,
        0.47333555603696326,
        0.13607884430542141,
        0.02522009983156363,
        0.0032857288565553543,
        0.0003048658437895322,
        1.920947502093518e-05,
        8.117966533738286e-07,
        1.3936371138255312e-08,
        2.8918123511638313e-11,
    ),
)
"""atanh(erf(x)) / x for |x| up to 6, in x²; the relative error is at most 2e-17."""


def _log_odds(rational: _Rational) -> _Rational:
    """-2 · R(x² / 2) / √2 · EXPONENT, in x²."""
    numerator, denominator = (
        [coefficient / 2**power for power, coefficient in enumerate(coefficients)] for coefficients in rational
    )
    return _Rational([-sqrt(2) * EXPONENT * coefficient for coefficient in numerator], denominator)


_LOG_ODDS_F64 = _log_odds(_ERF_F64)

_EXPONENT_F32 = numbers(
    -2.4589914115748575 * EXPONENT,
    -0.034913502449795755 * EXPONENT,
    8.175968764062738 * EXPONENT,
    -10.129011365381794,
    655.7336558258335,
    33.45495157909644,
)
"""a to f in a + b·s + c / (s + d + e / (s + f)), which is EXPONENT · ln((1 - Φ(x)) / Φ(x)) / x in s = x²: eight
passes, where the quotient of polynomials takes thirteen. The error of Φ is at most 1.3e-7, and 1.3e-7 / |x| for |x| >
1; beyond 6.5 the form decreases further, and Φ is 0 or 1."""

_SATURATED = 6.0
"""The least x at which erf is 1 in f64; in f32 it is 1 much earlier."""

_ERFINV_CENTER = _Rational(
    (
        0.8862269254527579,
        0.33906802666326136,
        0.08738751919656479,
        0.015549977319496065,
        0.001991081534942282,
        0.00018406655635983587,
        1.1369138174468216e-05,
        3.644350195734004e-07,
    ),
    (
        1.0,
        0.12079790971584754,
        0.05394940036516905,
        0.004482987688640952,
        0.0008327503104990488,
        3.826872744802549e-05,
        2.931676271732346e-06,
        1.6562363407622664e-08,
    ),
)
"""erfinv(x) / x for |x| up to 0.99, in -log(1 - x²); the relative error is at most 1e-16."""

_ERFINV_TAIL = _Rational(
    (
        1.7993836197317574,
        4.299115128762991,
        4.333655086785784,
        2.379945403750121,
        0.7655885575156821,
        0.1439444868495881,
        0.014852215013314804,
        0.0007255008777179641,
        1.1793857729648417e-05,
    ),
    (
        1.0,
        1.805972235031193,
        1.355843318719935,
        0.535979424900392,
        0.1168235801994093,
        0.013395881673396013,
        0.0007004968885696835,
        1.179362040108534e-05,
    ),
)
"""erfinv(|x|) for |x| from 0.99 to 1 - 2**-53, in sqrt(-log(1 - |x|)) - 2.125; the relative error is at most 3e-20."""

_ERFINV_F32 = _Rational(
    (
        0.8862269447798119,
        0.3082481783654271,
        0.060045046273873796,
        0.007829877506701994,
        0.0006486659132598057,
        2.355966918825694e-05,
    ),
    (
        1.0,
        0.08602202894792006,
        0.03219848121984189,
        0.0019234281632884073,
        0.00017676302844563178,
        1.233913442594249e-06,
    ),
)
"""erfinv(x) / x for all |x| below 1 in f32, in -log(1 - x²); the relative error is at most 3e-8."""

_TAIL_ORIGIN = 2.125

_TAIL_BEGIN = 0.99


def erf(x: Array) -> Array:
    """2/√π · ∫ exp(-t²) dt from 0 to x.

    The error is at most a few ULP.

    It is computed as tanh(x · R(x²)): tanh converges to 1, and close to 1 an error of R matters less.

    Args:
        x: f32 or f64 of any shape except a scalar's.
    """
    bounded = np.clip(x, -_SATURATED, _SATURATED)
    rational = _ERF_F32 if x.dtype == np.float32 else _ERF_F64
    result = rational(bounded * bounded)
    result *= bounded
    return np.tanh(result, out=result)


def normal_odds_exponent(x: Array) -> Array:
    """The exponent with power(exponent) = (1 - Φ(x)) / Φ(x); see `kernels.exponential`.

    Φ is the distribution function of the standard normal distribution: Φ(x) = 1 / (1 + power(exponent)).

    In f64 as in `erf`: Φ(x) = (1 + tanh(y)) / 2 with y = u · R(u²), u = x / √2, which is 1 / (1 + exp(-2y)).

    Args:
        x: f32 or f64 of any shape except a scalar's. Relative to 1, the error of Φ is one or two ULP.
    """
    squares = x * x
    if x.dtype == np.float32:
        result = _log_odds_single(squares)
    else:
        # Beyond this limit the result is extrapolated linearly, and Φ is 0 or 1.
        result = _LOG_ODDS_F64(np.minimum(squares, 2 * _SATURATED**2, out=squares))
    result *= x
    return result


def _log_odds_single(squares: Array) -> Array:
    constant, slope, outer, shift, inner, origin = _EXPONENT_F32["f"]
    result = squares + origin
    np.divide(inner, result, out=result)
    result += squares
    result += shift
    np.divide(outer, result, out=result)
    squares *= slope
    result += squares
    result += constant
    return result


def erfinv(x: Array) -> Array:
    """The y with erf(y) = x; ±inf at ±1 and NaN beyond.

    For f32 the relative error is at most 5e-7.

    Args:
        x: f32 or f64 of any shape except a scalar's.
    """
    if x.dtype == np.float32:
        return _erfinv_single(x)
    result = _ERFINV_CENTER(-np.log((1 - x) * (1 + x)))
    result *= x
    tail = np.abs(x) > _TAIL_BEGIN
    if tail.any():
        result[tail] = _erfinv_tail(x[tail])
    return result


def _erfinv_single(x: Array) -> Array:
    variable = 1 - x
    # Exact where it matters: near ±1.
    variable *= 1 + x
    np.log(variable, out=variable)
    np.negative(variable, out=variable)
    is_end = np.isinf(variable)
    result = _ERFINV_F32(variable)
    result *= x
    if is_end.any():
        np.copysign(np.float32(np.inf), x, out=result, where=is_end & (np.abs(x) == 1))
    return result


def _erfinv_tail(x: Array) -> Array:
    magnitude = np.abs(x)
    result = _ERFINV_TAIL(np.sqrt(-np.log(1 - magnitude)) - _TAIL_ORIGIN)
    result[magnitude == 1] = np.inf
    return np.copysign(result, x)
