"""Scaled dot-product attention, in parts of the scores that a cache holds."""

from __future__ import annotations

from math import inf, isnan, prod
from typing import Any

import numpy as np

from ir_exec.kernels.precision import rounded, widened
from ir_exec.kernels.products import batches_at, for_blas, matrix_product, product_nanoseconds, share_products
from ir_exec.kernels.softmax import GREATEST_SCORE, added_by_blas, exponentials, exponentiate
from ir_exec.tuning import thresholds
from ir_exec.types import Array

__all__ = ["Attention"]

_Batches = tuple[int, slice]
"""Some places of a batch axis, which is counted from the last axis."""


_UNSEEN = 1000.0
"""A score that is so much below another one of its row is nothing beside it, in f64 too."""


class Attention:
    """softmax(query @ transposed key * scale + mask) @ value for arrays of these shapes and one float type.

    query: [..., L, E]. key: [..., S, E]. value: [..., S, Ev]. mask: [..., L, S] and sink: [..., L, 1], or None. Batches
    broadcast. is_causal: whether, whatever the mask is, all keys behind the query's position are masked. dtype: in
    which it is calculated.
    """

    def __init__(
        self,
        query: tuple[int, ...],
        key: tuple[int, ...],
        value: tuple[int, ...],
        mask: tuple[int, ...] | None,
        sink: tuple[int, ...] | None,
        *,
        is_causal: bool,
        dtype: np.dtype[Any],
    ) -> None:
        self._is_causal = is_causal
        rows = np.broadcast_shapes(query[:-1], *[other[:-1] for other in (None if is_causal else mask, sink) if other])
        self._queries = (*rows, query[-1])
        self._repeats = self._queries != query
        batch = np.broadcast_shapes(rows[:-1], key[:-2], value[:-2])
        self._result = (*batch, rows[-1], value[-1])
        self._is_nothing = not prod(self._result) or not key[-2]
        if not self._is_nothing:
            self._cut(batch, key, value, dtype)

    def _cut(self, batch: tuple[int, ...], key: tuple[int, ...], value: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        """Choose parts that threads share: some batches, of one axis, and some of their rows."""
        rows, keys = self._queries[-2], key[-2]
        scores = prod(batch) * rows * keys
        vectors = prod(self._queries) + prod(key)
        self._may_be_bounded = scores >= max(thresholds.SCORES_WORTH_A_BOUND, vectors) and dtype.char in "fd"
        self._nanoseconds = (
            product_nanoseconds(self._queries, (*key[:-2], key[-1], keys), scores, dtype)
            + product_nanoseconds((*batch, rows, keys), value, prod(self._result), dtype)
            + thresholds.SLOW_ELEMENT_NANOSECONDS * scores
        )
        shared = min(int(self._nanoseconds / thresholds.SHARED_NANOSECONDS), thresholds.MOST_PIECES)
        wanted = max(-(-scores // thresholds.CHUNK_ELEMENTS), shared, 1)
        # Counted from the last axis: other arrays may have fewer batch axes.
        self._axis = max(range(-len(batch) - 2, -2), key=lambda axis: batch[axis + 2], default=-3)
        size = batch[self._axis + 2] if batch else 1
        self._batches = -(-size // min(wanted, size))
        groups = -(-size // self._batches)
        a_row = max(scores // (rows * size) * self._batches, 1)
        least = min(thresholds.FEW_LINES, rows)
        fitting = max(thresholds.HELD_ELEMENTS // a_row, 1)
        self._rows = min(max(-(-rows // -(-wanted // groups)), least), fitting)
        self._blocks = -(-rows // self._rows)
        self._keys, self._scores = keys, scores
        self._count = groups * self._blocks

    def __call__(
        self,
        query: Array,
        key: Array,
        value: Array,
        mask: Array | None = None,
        scale: Array | None = None,
        sink: Array | None = None,
    ) -> Array:
        """The result in the type of query. scale: one element; 1 / sqrt(E) without it."""
        queries, keys, values = widened(query), widened(key).swapaxes(-1, -2), widened(value)
        if self._is_nothing:
            return np.zeros(self._result, query.dtype)
        # Fewer multiplications than those of the scores.
        factor = max(self._queries[-1], 1) ** -0.5 if scale is None else float(scale.reshape(()))
        if factor != 1:
            queries = np.multiply(queries, factor, dtype=queries.dtype)
        if self._repeats:
            queries = np.broadcast_to(queries, self._queries)
        sinks = None if sink is None else widened(sink)
        if mask is not None:
            # A scalar has no keys of which the first ones could be taken.
            mask = np.atleast_1d(mask)
        greatest = _greatest_score(queries, keys.swapaxes(-1, -2)) if self._may_be_bounded else inf
        is_bounded = greatest <= GREATEST_SCORE and sinks is None
        if mask is not None and mask.dtype != np.bool_ and not self._is_causal:
            # No score grows, and one of each query stays as it is.
            is_bounded = is_bounded and not mask.max(-1).any()
        if self._count == 1:
            scores = matrix_product(queries, keys)
            total = self._exponentiate(scores, mask, sinks, 0, is_bounded)
            attended = matrix_product(scores, values)
            attended /= total
            return rounded(attended, query.dtype)
        queries, keys, values = for_blas(queries), for_blas(keys), for_blas(values)
        output = np.empty(self._result, values.dtype)
        seen = self._seen(mask, greatest)

        def work(number: int) -> None:
            some, rows = self._part(number)
            first = slice(seen[number % self._blocks])
            scores = np.matmul(_part(queries, some, rows), _part(keys, some)[..., first])
            masks = None if mask is None else _part(mask, some, rows)[..., first]
            some_sinks = None if sinks is None else _part(sinks, some, rows)
            total = self._exponentiate(scores, masks, some_sinks, rows.start, is_bounded)
            # A part that is not alone is for one thread.
            attended = np.matmul(scores, _part(values, some)[..., first, :])
            np.divide(attended, total, out=_part(output, some, rows))

        share_products(self._count, lambda: work, nanoseconds=self._nanoseconds)
        return rounded(output, query.dtype)

    def _part(self, number: int) -> tuple[_Batches, slice]:
        """The batches and the rows of a part."""
        group, block = divmod(number, self._blocks)
        some = slice(group * self._batches, (group + 1) * self._batches)
        return (self._axis, some), slice(block * self._rows, (block + 1) * self._rows)

    def _seen(self, mask: Array | None, greatest: float) -> list[int]:
        """How many keys each block of rows begins with: those behind them are masked for all of its queries.

        greatest: no score is larger, or less than its opposite, before the mask.
        """
        ends = range(self._rows, self._rows * self._blocks + 1, self._rows)
        if self._is_causal:
            return [min(end, self._keys) for end in ends]
        if (
            mask is None
            or (mask.dtype != np.bool_ and greatest == inf)
            or mask.ndim < 2
            or mask.shape[-1] != self._keys
            or mask.size * 4 > self._scores
        ):
            return [self._keys] * self._blocks
        visible = mask
        if mask.dtype != np.bool_:
            visible = np.greater(mask, mask.max(-1, keepdims=True) - (2 * greatest + _UNSEEN))
        visible = np.logical_or.reduce(visible.reshape(-1, *mask.shape[-2:]))
        blocks = [visible[end - self._rows : end] if len(visible) > 1 else visible for end in ends]
        return [int(np.flatnonzero(block.any(0)).max(initial=0)) + 1 for block in blocks]

    def _exponentiate(
        self, scores: Array, mask: Array | None, sink: Array | None, first: int, is_bounded: bool
    ) -> Array:
        """Mask the scores of queries from `first` on, and make exponentials of them in place; returns their sums.

        is_bounded: whether no exponential overflows, so that the greatest score need not be subtracted.
        """
        if self._is_causal:
            places = np.arange(first, first + scores.shape[-2])[:, np.newaxis]
            np.copyto(scores, -np.inf, where=np.arange(scores.shape[-1]) > places)
        elif mask is not None and mask.dtype == np.bool_:
            np.copyto(scores, -np.inf, where=~mask)
        elif mask is not None:
            scores += widened(mask)
        if is_bounded:
            exponentials(scores, scores)
            return added_by_blas(scores)
        return exponentiate(scores, -1, out=scores, sink=sink)


def _greatest_score(queries: Array, keys: Array) -> float:
    """What no product of queries and keys is larger than: |q . k| is at most |q| · |k|.

    Infinity where an element is no number.
    """
    longest = [np.einsum("...i,...i->...", vectors, vectors).max(initial=0) for vectors in (queries, keys)]
    found = float(np.sqrt(longest[0]) * np.sqrt(longest[1]))
    return inf if isnan(found) else found


def _part(array: Array, some: _Batches, rows: slice | None = None) -> Array:
    """The array at some places of a batch axis, and at some rows; all where it broadcasts along them."""
    if rows is not None and array.ndim > 1 and array.shape[-2] != 1:
        array = array[..., rows, :]
    return batches_at(array, *some)
