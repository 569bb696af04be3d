"""Scaled dot-product attention, in chunks of the scores that fit a cache."""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from ir_exec.kernels.gemm.product import for_blas, matrix_product
from ir_exec.kernels.gemm.sharing import batches_at, product_nanoseconds, share_products
from ir_exec.kernels.precision import round_to, widen
from ir_exec.kernels.softmax import exponentiate
from ir_exec.tuning import thresholds
from ir_exec.types import Array

__all__ = ["Attention", "attention_for"]

_Batches = tuple[int, slice]
"""Places along a batch axis, which is counted from the last axis."""


class Attention:
    """softmax(query @ transposed key * scale + mask) @ value for arrays of these shapes and one float type.

    Args:
        query: [..., L, E].
        key: [..., S, E].
        value: [..., S, Ev].
        mask: [..., L, S] and sink: [..., L, 1], or None. Batches broadcast.
        is_causal: For any mask, all keys after the query's position are masked.
        dtype: The element type of the computation.
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
        """Choose chunks for threads: some batches, of one axis, and some of their rows."""
        rows, keys = self._queries[-2], key[-2]
        scores = prod(batch) * rows * keys
        self._nanoseconds = (
            product_nanoseconds(self._queries, (*key[:-2], key[-1], keys), scores, dtype)
            + product_nanoseconds((*batch, rows, keys), value, prod(self._result), dtype)
            + thresholds.SLOW_ELEMENT_NANOSECONDS * scores
        )
        shared = min(int(self._nanoseconds / thresholds.SHARED_NANOSECONDS), thresholds.MOST_CHUNKS)
        chunks = max(-(-scores // thresholds.CHUNK_ELEMENTS), shared, 1)
        # Counted from the last axis: other arrays may have fewer batch axes.
        self._axis = max(range(-len(batch) - 2, -2), key=lambda axis: batch[axis + 2], default=-3)
        size = batch[self._axis + 2] if batch else 1
        self._batches = -(-size // min(chunks, size))
        groups = -(-size // self._batches)
        a_row = max(scores // (rows * size) * self._batches, 1)
        least = min(thresholds.FEW_LINES, rows)
        fitting = max(thresholds.WORKING_ELEMENTS // a_row, 1)
        self._rows = min(max(-(-rows // -(-chunks // groups)), least), fitting)
        self._blocks = -(-rows // self._rows)
        self._keys = keys
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
        """The result in the type of query.

        Args:
            scale: One element; 1 / sqrt(E) without it.
        """
        queries, keys, values = widen(query), widen(key).swapaxes(-1, -2), widen(value)
        if self._is_nothing:
            return np.zeros(self._result, query.dtype)
        # Fewer multiplications than for the scores.
        factor = max(self._queries[-1], 1) ** -0.5 if scale is None else float(scale.reshape(()))
        if factor != 1:
            queries = np.multiply(queries, factor, dtype=queries.dtype)
        if self._repeats:
            queries = np.broadcast_to(queries, self._queries)
        sinks = None if sink is None else widen(sink)
        if mask is not None:
            # A scalar has no axis of keys to slice.
            mask = np.atleast_1d(mask)
        if self._count == 1:
            scores = matrix_product(queries, keys)
            total = self._exponentiate(scores, mask, sinks, 0)
            attended = matrix_product(scores, values)
            attended /= total
            return round_to(attended, query.dtype)
        queries, keys, values = for_blas(queries), for_blas(keys), for_blas(values)
        output = np.empty(self._result, values.dtype)
        # No query of a causal chunk depends on keys after its last one.
        ends = range(self._rows, self._rows * self._blocks + 1, self._rows)
        seen = [min(end, self._keys) if self._is_causal else self._keys for end in ends]

        def work(number: int) -> None:
            some, rows = self._part(number)
            first = slice(seen[number % self._blocks])
            scores = np.matmul(_part(queries, some, rows), _part(keys, some)[..., first])
            masks = None if mask is None else _part(mask, some, rows)[..., first]
            some_sinks = None if sinks is None else _part(sinks, some, rows)
            total = self._exponentiate(scores, masks, some_sinks, rows.start)
            # One of several chunks runs on one thread.
            attended = np.matmul(scores, _part(values, some)[..., first, :])
            np.divide(attended, total, out=_part(output, some, rows))

        share_products(self._count, lambda: work, nanoseconds=self._nanoseconds)
        return round_to(output, query.dtype)

    def _part(self, number: int) -> tuple[_Batches, slice]:
        """The batches and the rows of a chunk."""
        group, block = divmod(number, self._blocks)
        some = slice(group * self._batches, (group + 1) * self._batches)
        return (self._axis, some), slice(block * self._rows, (block + 1) * self._rows)

    def _exponentiate(self, scores: Array, mask: Array | None, sink: Array | None, first: int) -> Array:
        """Mask the scores of queries, starting at `first`, and exponentiate them in place.

        Returns:
            The sums.
        """
        if self._is_causal:
            places = np.arange(first, first + scores.shape[-2])[:, np.newaxis]
            np.copyto(scores, -np.inf, where=np.arange(scores.shape[-1]) > places)
        elif mask is not None and mask.dtype == np.bool_:
            np.copyto(scores, -np.inf, where=~mask)
        elif mask is not None:
            scores += widen(mask)
        return exponentiate(scores, -1, out=scores, sink=sink)


@lru_cache(256)
def attention_for(
    query: tuple[int, ...],
    key: tuple[int, ...],
    value: tuple[int, ...],
    mask: tuple[int, ...] | None,
    sink: tuple[int, ...] | None,
    is_causal: bool,
    dtype: np.dtype[Any],
) -> Attention:
    """The attention for these shapes, which are equal in all layers of a decoder."""
    return Attention(query, key, value, mask, sink, is_causal=is_causal, dtype=dtype)


def _part(array: Array, some: _Batches, rows: slice | None = None) -> Array:
    """The array at some places of a batch axis and at some rows; all of it where it broadcasts."""
    if rows is not None and array.ndim > 1 and array.shape[-2] != 1:
        array = array[..., rows, :]
    return batches_at(array, *some)
