"""Constants that a program computes, in place of training: sines of positions, masks, filters that blur."""

from __future__ import annotations

import numpy as np

from ir_exec.debug.weights.model_weights import ModelWeight
from ir_exec.debug.weights.readers.tensors import count_rows
from ir_exec.types import Array

__all__ = ["is_computed_table"]

_MOST_ELEMENTS = 2**20
"""Maximum elements that are read."""

_SPARSE = 0.8
"""Minimum share of zeros in banks of filters, masks and selections."""

_FEW_NUMBERS = 16
_LEAST_LENGTH = 4
_CLOSE = 0.05
"""Maximum error of an element that follows from its neighbors, in standard deviations."""

_MOSTLY = 0.8


def is_computed_table(weight: ModelWeight) -> bool:
    """Return True if the numbers follow a rule that trained ones do not.

    They are mostly zeros, a few numbers, equal rows, or continue each other: sines, lines and exponentials, of which a
    number is the same multiple of the sum of its neighbors everywhere.
    """
    rows = count_rows(weight.shape)
    width = max(weight.elements // max(rows, 1), 1)
    numbers = weight.read(0, min(rows, max(_MOST_ELEMENTS // width, 1))).reshape(-1, width)
    if not np.isfinite(numbers).all():
        return False
    if np.count_nonzero(numbers == 0) >= _SPARSE * numbers.size:
        return True
    if weight.plain is not None and len(np.unique(numbers)) <= _FEW_NUMBERS:
        return True
    if len(numbers) > 1 and np.ptp(numbers, axis=0).max() == 0:
        return True
    matrices = [numbers, numbers.T]
    if len(weight.shape) > 1 and weight.shape[-1] != width:
        last = numbers.reshape(-1, weight.shape[-1])
        matrices += [last, last.T]
    return any(_continues(matrix) for matrix in matrices)


def _continues(matrix: Array) -> bool:
    """Return True if the numbers of most columns follow from those before and after them."""
    if len(matrix) < _LEAST_LENGTH:
        return False
    middle, sums = matrix[1:-1].astype(np.float64), matrix[2:].astype(np.float64) + matrix[:-2]
    power = np.square(middle).sum(axis=0)
    factors = np.divide((sums * middle).sum(axis=0), power, out=np.zeros_like(power), where=power > 0)
    close = np.abs(sums - factors * middle) <= _CLOSE * matrix.std(axis=0)
    return bool(np.count_nonzero(close) >= _MOSTLY * close.size)
