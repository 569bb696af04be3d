"""Samples of weights and tensors at the same elements, and the similarity of all pairs of them."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from ir_exec.debug.weights.comparing_values import PLAIN, Relation, expected_values
from ir_exec.types import Array

__all__ = ["Samples", "fit_relation", "least_similarity", "sample_grid"]

_MOST_SAMPLES = 512
_MOST_ROWS = 16
_GAIN = 0.1
"""Share of the error of plain numbers that a relation must leave at most to be preferred."""

_NO_SCALE = 1e-3
_TOO_SMALL = 1e-12
_EQUAL = 1e-11
"""Maximum squared error of numbers that are computed in another way."""


def sample_grid(matrix_shape: tuple[int, int]) -> Array:
    """Flat positions of sampled elements as an array [rows, columns], the same for every weight of a shape.

    All elements of small weights are sampled.
    """
    size = prod(matrix_shape)
    rows, width = matrix_shape
    if rows == 1 or width == 1:
        return _spread(size, _MOST_SAMPLES)[None]
    sampled_rows = _spread(rows, max(_MOST_ROWS, _MOST_SAMPLES // width))
    sampled_columns = _spread(width, max(_MOST_SAMPLES // len(sampled_rows), _MOST_SAMPLES // _MOST_ROWS))
    return np.asarray(sampled_rows[:, None] * width + sampled_columns)


def _spread(size: int, most: int) -> Array:
    """Ascending positions without a common period."""
    if size <= most:
        return np.arange(size)
    edges = np.linspace(0, size, most + 1).astype(np.int64)
    shifts = np.random.default_rng(size).random(most)
    return np.asarray(edges[:-1] + (shifts * (edges[1:] - edges[:-1])).astype(np.int64))


class Samples:
    """Samples of tensors with the same grid: one row of numbers for each.

    Attributes:
        numbers: [tensors, samples].
        is_constant: True for tensors whose samples are all equal.
    """

    def __init__(self, numbers: Sequence[Array], grid: Array) -> None:
        self.grid_shape = grid.shape
        with np.errstate(all="ignore"):
            self.numbers = np.stack([sample.reshape(-1) for sample in numbers]).astype(np.float32)
            finite = np.nan_to_num(self.numbers, nan=0.0, posinf=0.0, neginf=0.0)
            largest = np.abs(finite).max(axis=1, keepdims=True)
            scaled = finite / np.where(largest > 0, largest, np.float32(1))
            centered = scaled - scaled.mean(axis=1, keepdims=True)
        self.is_constant = np.asarray(np.ptp(self.numbers, axis=1) == 0)
        self._centered = _normalize(centered)
        by_row = scaled.reshape(len(scaled), *grid.shape)
        self._by_row = _normalize(by_row).reshape(len(scaled), -1) / np.sqrt(grid.shape[0])

    def similarity(self, other: Samples) -> Array:
        """The correlation of each pair, also if rows are scaled: [tensors, tensors of the other]."""
        similarity = np.abs(self._centered @ other._centered.T)
        if self.grid_shape[0] > 1 and self.grid_shape[1] > 1:
            similarity = np.maximum(similarity, np.abs(self._by_row @ other._by_row.T))
        equal = self.is_constant[:, None] & other.is_constant[None] & (self.numbers[:, :1] == other.numbers[:, 0][None])
        return np.where(equal, np.float32(1), similarity)


def _normalize(vectors: Array) -> Array:
    norms = np.sqrt(np.square(vectors).sum(axis=-1, keepdims=True))
    return np.asarray(np.where(norms > _TOO_SMALL, vectors / np.where(norms > _TOO_SMALL, norms, 1), 0))


def least_similarity(samples: int) -> float:
    """The similarity of samples that unrelated weights do not reach by chance."""
    return float(min(max(0.5, 6 / np.sqrt(max(samples, 1))), 0.98))


def fit_relation(weight: Array, tensor: Array) -> tuple[Relation, float]:
    """The relation of samples [rows, columns], and the squared error relative to the squares of the weight."""
    with np.errstate(all="ignore"):
        x, y = np.nan_to_num(weight.astype(np.float64)), np.nan_to_num(tensor.astype(np.float64))
        power = float(np.square(x).sum()) or 1.0
        best, least = PLAIN, float(np.square(x - y).sum()) / power
        if least < _EQUAL:
            return best, least
        slope = float((x * y).sum() / (np.square(y).sum() or 1.0))
        for relation in (Relation("plus one"), Relation("scaled", slope)):
            error = float(np.square(x - expected_values(relation, y)).sum()) / power
            if relation.form == "scaled" and abs(slope - 1) < _NO_SCALE:
                continue
            if error < _GAIN * least:
                best, least = relation, error
        if x.shape[0] > 1 and x.shape[1] > 1:
            for form, axis in (("scaled rows", 1), ("scaled columns", 0)):
                squares = np.square(y).sum(axis=axis, keepdims=True)
                factors = (x * y).sum(axis=axis, keepdims=True) / np.where(squares > 0, squares, 1)
                error = float(np.square(x - factors * y).sum()) / power
                # Each factor is fitted to its row or column.
                if error * 2 < _GAIN * least:
                    best, least = Relation(form), error  # type: ignore[arg-type]  # one of its names
    return best, least
