"""Weights that are a tensor times another one along some of the axes: normalizations of transposed convolutions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from math import prod

import numpy as np

from ir_exec.debug.weights.comparing_values import Relation, compare_values
from ir_exec.debug.weights.matching import WeightMatch
from ir_exec.debug.weights.readers.tensors import count_rows
from ir_exec.debug.weights.source_tensors import SourceTensor
from ir_exec.types import Array

__all__ = ["explain_axis_factors"]

_MOST_ELEMENTS = 2**24
_LEAST_CORRELATION = 0.5
_MOST_GROUPS = 64
_LEAST_PER_FACTOR = 4
"""Minimum number of elements with one factor."""

_ERROR = 1e-3
_ERROR_QUANTIZED = 0.05
"""Maximum relative error of half of the factors."""


def explain_axis_factors(match: WeightMatch, sources: Sequence[SourceTensor]) -> WeightMatch | None:
    """Find the tensor whose elements multiply the weight along one or two axes; None if no tensor explains all of it.

    Args:
        match: A match with one tensor that does not explain the weight.
        sources: All tensors.
    """
    weight = match.weight
    is_related = match.comparison.correlation > _LEAST_CORRELATION and len(match.sources) == 1
    if not is_related or not len(weight.shape) > 1 or weight.elements > _MOST_ELEMENTS or match.read is None:
        return None
    rows = count_rows(weight.shape)
    x, y = (read(0, rows).reshape(weight.shape) for read in (weight.read, match.read))
    tolerance = _ERROR if weight.rows is None else _ERROR_QUANTIZED
    for shape, factors in _fit_factors(x, y):
        for source in sources:
            if prod(source.tensor.shape) != factors.size:
                continue
            numbers = source.tensor.gather(np.arange(factors.size)).reshape(factors.shape)
            with np.errstate(all="ignore"):
                if weight.is_unscaled:
                    numbers = numbers * np.nanmedian(factors / numbers)
                error = float(np.median(np.abs(factors - numbers) / np.abs(numbers)))
            if error < tolerance:
                explained = _compare(match, y.reshape(shape) * numbers, source, numbers)
                if explained.is_explained:
                    return explained
    return None


def _fit_factors(x: Array, y: Array) -> Iterator[tuple[tuple[int, ...], Array]]:
    """Yield the factors along each axis and each pair of axes, with the other axes of size 1, and the shape of both."""
    for shape in (x.shape, *_split_groups(x.shape)):
        a, b = x.reshape(shape), y.reshape(shape)
        axes = [axis for axis, size in enumerate(shape) if size > 1]
        for own in (*combinations(axes, 1), *combinations(axes, 2)) if shape == x.shape else [(0, 2)]:
            if prod(shape[axis] for axis in own) * _LEAST_PER_FACTOR > x.size:
                continue
            others = tuple([axis for axis in range(len(shape)) if axis not in own])
            with np.errstate(all="ignore"):
                factors = (a * b).sum(axis=others, keepdims=True) / np.square(b).sum(axis=others, keepdims=True)
            yield shape, factors


def _split_groups(shape: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """The shapes of filters [inputs, outputs of a group, ...] with an axis of groups before them."""
    if len(shape) > 2:
        for groups in range(2, min(shape[0], _MOST_GROUPS) + 1):
            if shape[0] % groups == 0:
                yield (groups, shape[0] // groups, *shape[1:])


def _compare(match: WeightMatch, expected: Array, source: SourceTensor, numbers: Array) -> WeightMatch:
    def read(start: int, stop: int) -> Array:
        return expected.reshape(count_rows(expected.shape), -1)[start:stop]

    words = tuple([word for word in match.transformations if not word.startswith(("scaled", "times"))])
    return replace(
        match,
        sources=(*match.sources, source),
        transformations=(source.transformation or f"scaled by {source.name}", *words),
        comparison=compare_values(match.weight, read, match.sources[0].tensor.format, is_computed=True),
        layout=None,
        relation=Relation("scaled rows", factors=numbers.reshape(-1)),
        read=read,
    )
