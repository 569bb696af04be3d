"""Softmax and its logarithm. 16-bit floats are computed in f32 and rounded once."""

from __future__ import annotations

import numpy as np

from ir_exec.kernels.chunks import by_rows
from ir_exec.kernels.elementwise import at_least
from ir_exec.kernels.precision import round_to, widen
from ir_exec.kernels.reduce import reduce_rows
from ir_exec.tuning import thresholds
from ir_exec.types import Array

__all__ = ["GREATEST_SCORE", "added_by_blas", "exponentials", "exponentiate", "log_softmax", "softmax"]

GREATEST_SCORE = 50.0
"""Exponentials up to e^50, 5e21, leave room for their sums and products with values in f32; e^-50 is not denormal."""

_LEAST_SUM = 1e-20
"""Lower limit of the greatest exponential in a slice for which denormal ones are negligible."""

_LEAST_EXPONENTS = {"f": -87.3, "d": -708.3}
"""Logarithms of the least normal numbers, by NumPy's letters."""

_MASKED = -1000.0
"""Masks below this limit result in zeros."""


def softmax(data: Array, axis: int = 1) -> Array:
    """exp(data) / (sum of exp(data) along the axis), of the shape and dtype of data, any float."""
    wide = by_rows(widen(data))
    result = np.empty(wide.shape, wide.dtype)
    result /= exponentiate(wide, axis, out=result)
    return round_to(result, data.dtype)


def log_softmax(data: Array, axis: int = 1) -> Array:
    """data - log(sum of exp(data) along the axis), of the shape and dtype of data, any float."""
    wide = widen(data)
    result = np.asarray(np.subtract(wide, _reduce_scores(np.maximum, wide, axis)))
    result -= np.log(_reduce_scores(np.add, np.exp(result), axis))
    return round_to(result, data.dtype)


def exponentiate(scores: Array, axis: int, *, out: Array, sink: Array | None = None) -> Array:
    """out = exp(scores - greatest of their slice), which never overflows.

    If neither the exponentials of the scores themselves nor their sums overflow, these are written instead.

    Args:
        scores: f32 or f64.
        out: Like scores, or scores itself.
        sink: One more score of each slice, which counts for the greatest and the sum.

    Returns:
        The sums along the axis. The sums and the sink have size 1 on the axis.
    """
    if sink is None and _may_stay(scores, is_kept=out is not scores):
        exponentials(scores, out)
        total = _sums(out, axis)
        if out is scores or total.min() >= _LEAST_SUM:
            return total
    greatest = _reduce_scores(np.maximum, scores, axis)
    if sink is not None:
        greatest = np.maximum(greatest, sink)
    np.subtract(scores, greatest, out=out)
    exponentials(out, out)
    total = _sums(out, axis)
    if sink is not None:
        total += np.exp(sink - greatest)
    return total


def exponentials(scores: Array, out: Array) -> None:
    """out = exp(scores) of f32 or f64; they may be the same array.

    If a mask of about -100 was added to some, denormal results are replaced by zero, as in OpenVINO: processors are up
    to forty times slower for denormal numbers.
    """
    least = _LEAST_EXPONENTS.get(scores.dtype.char)
    if least is None or scores.size < thresholds.CALL_ELEMENTS or not _MASKED < scores.min() < least:
        np.exp(scores, out=out)
        return
    at_least(scores, least, out)
    np.exp(out, out=out)
    # The exponential of the least exponent.
    out -= out.min()


def _may_stay(scores: Array, *, is_kept: bool) -> bool:
    """Return True if many scores need no shift before the exponential; False with a NaN.

    Args:
        is_kept: The scores are available afterwards, if all of a slice prove to be too small.
    """
    if scores.size < thresholds.CALL_ELEMENTS or not scores.max() <= GREATEST_SCORE:
        return False
    return is_kept or bool(scores.min() >= -GREATEST_SCORE)


def _sums(exponentials: Array, axis: int) -> Array:
    """The sums along the axis, which is kept."""
    size = exponentials.shape[axis]
    is_last = axis in (-1, exponentials.ndim - 1)
    if is_last and exponentials.size >= thresholds.CALL_ELEMENTS and size <= thresholds.SCORES_SUMMED_BY_BLAS:
        return added_by_blas(exponentials)
    return _reduce_scores(np.add, exponentials, axis)


def added_by_blas(rows: Array) -> Array:
    """The sums of f32 or f64 along the last axis, which is kept; over 2x faster than a reduction of rows."""
    return np.asarray(np.matmul(rows, np.ones((rows.shape[-1], 1), rows.dtype)))


def _reduce_scores(ufunc: np.ufunc, scores: Array, axis: int) -> Array:
    if axis in (-1, scores.ndim - 1) and scores.size >= thresholds.MANY_ROWS * scores.shape[-1] > 0:
        return reduce_rows(ufunc, scores)
    # Without any score there is no greatest one.
    initial = 0 if ufunc is np.add else -np.inf
    return np.asarray(ufunc.reduce(scores, axis=axis, keepdims=True, initial=initial))
