"""Weights that consist of rows of several tensors, of some rows of one, or of its rows in another order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import NamedTuple

import numpy as np

from ir_exec.debug.weights.comparing_values import compare_values
from ir_exec.debug.weights.derived import TYPED_POSITIONS
from ir_exec.debug.weights.layouts import TransposedTensor, read_flat, squeeze_shape
from ir_exec.debug.weights.matching import WeightMatch, describe_format
from ir_exec.debug.weights.model_weights import ModelWeight
from ir_exec.debug.weights.readers.tensors import count_rows
from ir_exec.debug.weights.sampling import least_similarity
from ir_exec.debug.weights.source_tensors import SourceTensor
from ir_exec.types import Array

__all__ = ["align_rows", "find_rotary_heads", "match_rows"]

_MOST_COLUMNS = 64
_LEAST_COLUMNS = 8
_SAMPLED_ROWS = 512
_MOST_ROWS = 2**20
_MOST_PAIRS = 2**31
_MOST_ELEMENTS = 2**27
"""Maximum elements of a weight whose rows are aligned, which is read whole."""

_HITS = 0.9
"""Share of rows that are rows of tensors."""

_PREFERRED = 0.02
"""The next row of a tensor is preferred to one that is more similar by less than this."""


class _RowPool(NamedTuple):
    """The rows of tensors of one width.

    Attributes:
        signatures: Samples of each row, normalized.
        owner: The position of the tensor of each row.
        row: The row of the tensor.
    """

    sources: tuple[SourceTensor, ...]
    signatures: Array
    owner: Array
    row: Array


@dataclass(frozen=True)
class _RowMap:
    """The tensor and its row for each row of a weight."""

    sources: tuple[SourceTensor, ...]
    owner: Array
    row: Array

    def runs(self) -> Iterator[tuple[int, int, int, int]]:
        """Yield the first row, the end, the tensor and its first row of each run of consecutive rows."""
        breaks = np.flatnonzero((np.diff(self.owner) != 0) | (np.diff(self.row) != 1)) + 1
        edges = [0, *breaks.tolist(), len(self.row)]
        for start, stop in pairwise(edges):
            yield start, stop, int(self.owner[start]), int(self.row[start])

    def read(self, width: int, start: int, stop: int) -> Array:
        """Return rows of the weight."""
        parts: list[Array] = []
        for first, end, owner, row in self.runs():
            low, high = max(first, start), min(end, stop)
            if low < high:
                row += low - first
                parts.append(read_flat(self.sources[owner].tensor, row * width, (row + high - low) * width))
        return np.concatenate(parts).reshape(stop - start, width)


def align_rows(weight: ModelWeight, sources: Sequence[SourceTensor]) -> WeightMatch | None:
    """Find the rows of tensors that a weight consists of, or its columns if the weight is transposed.

    Args:
        sources: The tensors, the most likely ones first.
    """
    if weight.elements > _MOST_ELEMENTS:
        return None
    array = weight.read(0, count_rows(weight.shape)).reshape(weight.shape)
    broadcast = _align_broadcast(weight, array, sources)
    if broadcast is not None:
        return broadcast
    # Positions in a sequence have an axis of size 1 before them.
    shape = squeeze_shape(weight.shape) or (1,)
    matrix = array.reshape(shape[0], -1)
    if matrix.shape[0] == 1 or matrix.shape[1] == 1:
        return _align_vector(weight, matrix.reshape(-1), sources)
    for is_transposed in (False, True):
        match = _align(weight, matrix.T if is_transposed else matrix, sources, is_transposed=is_transposed)
        if match is not None:
            return match
    if len(shape) < 3 or shape[-1] < _LEAST_COLUMNS:
        return None
    match = _align(weight, matrix.reshape(-1, shape[-1]), sources, is_transposed=False)
    if match is not None or len(shape) > 3:
        return match
    # Several matrices, each transposed.
    turned = array.reshape(shape).transpose(0, 2, 1)
    return _align(weight, turned.reshape(-1, shape[1]), sources, is_transposed=True, turned_shape=turned.shape)


def _align(
    weight: ModelWeight,
    matrix: Array,
    sources: Sequence[SourceTensor],
    *,
    is_transposed: bool,
    turned_shape: tuple[int, ...] = (),
) -> WeightMatch | None:
    """Find the rows of a matrix.

    Args:
        matrix: The weight, or its transpose.
        turned_shape: The shape of several transposed matrices whose rows are the matrix.
    """
    rows, width = matrix.shape
    if width < _LEAST_COLUMNS:
        return None
    columns = np.unique(np.linspace(0, width - 1, min(width, _MOST_COLUMNS)).astype(np.int64))
    sampled = np.unique(np.linspace(0, rows - 1, min(rows, _SAMPLED_ROWS)).astype(np.int64))
    pool = _collect(sources, width, columns)
    if pool is None:
        return None
    signatures = _normalize(matrix[:, columns])
    owner, row, is_hit = _nearest(signatures[sampled], pool)
    if is_hit.mean() < _HITS:
        return None
    involved = np.unique(owner[is_hit])
    parts = np.isin(pool.owner, involved)
    near = _RowPool(pool.sources, pool.signatures[parts], pool.owner[parts], pool.row[parts])
    if rows * len(near.row) > _MOST_PAIRS:
        return None
    owner, row, is_hit = _nearest(signatures, near, prefers_next=True)
    if is_hit.mean() < _HITS:
        return None
    mapping = _RowMap(pool.sources, owner, row)
    used = tuple([pool.sources[position] for position in dict.fromkeys(owner.tolist())])

    def read(start: int, stop: int) -> Array:
        if not is_transposed and rows == count_rows(weight.shape) and matrix.shape[0] == rows:
            return mapping.read(width, start, stop)
        everything = mapping.read(width, 0, rows)
        if turned_shape:
            everything = everything.reshape(turned_shape).transpose(0, 2, 1)
        elif is_transposed:
            everything = everything.T
        return everything.reshape(count_rows(weight.shape), -1)[start:stop]

    formats = {source.tensor.format for source in used}
    turned = is_transposed != any(isinstance(source.tensor, TransposedTensor) for source in used)
    computed = dict.fromkeys(source.transformation for source in used if source.is_computed)
    words = (*_describe(mapping, used, width), *computed, *(["transposed"] if turned else []))
    words = (*words, *describe_format(weight, used[0].tensor.format))
    comparison = compare_values(weight, read, formats.pop() if len(formats) == 1 else "f32")
    return WeightMatch(weight, used, words, comparison, read=read)


def _collect(sources: Sequence[SourceTensor], width: int, columns: Array) -> _RowPool | None:
    members: list[SourceTensor] = []
    signatures: list[Array] = []
    total = 0
    for source in (*sources, *_transpose(sources)):
        shape = source.tensor.shape
        if (
            source.transformation not in ("", TYPED_POSITIONS)
            or width not in (prod(shape[1:]), shape[-1] if shape else 0)
            or len(shape) < 2
        ):
            continue
        rows = prod(shape) // width
        total += rows
        if total > _MOST_ROWS:
            break
        positions = np.arange(rows)[:, None] * width + columns
        signatures.append(_normalize(source.tensor.gather(positions.reshape(-1)).reshape(positions.shape)))
        members.append(source)
    if not members:
        return None
    owner = np.repeat(np.arange(len(members)), [len(part) for part in signatures])
    row = np.concatenate([np.arange(len(part)) for part in signatures])
    return _RowPool(tuple(members), np.concatenate(signatures), owner, row)


def _transpose(sources: Sequence[SourceTensor]) -> Iterator[SourceTensor]:
    for source in sources:
        if len(source.tensor.shape) in (2, 3) and min(source.tensor.shape[-2:]) > 1:
            yield source._replace(tensor=TransposedTensor(source.tensor))


def _normalize(rows: Array) -> Array:
    with np.errstate(all="ignore"):
        centered = np.nan_to_num(rows - rows.mean(axis=1, keepdims=True))
        norms = np.sqrt(np.square(centered).sum(axis=1, keepdims=True))
    return np.asarray(np.where(norms > 0, centered / np.where(norms > 0, norms, 1), 0), np.float32)


def _nearest(signatures: Array, pool: _RowPool, *, prefers_next: bool = False) -> tuple[Array, Array, Array]:
    """The tensor and row of the most similar row for each signature, and True where it is similar enough."""
    threshold = least_similarity(signatures.shape[1])
    best = np.zeros(len(signatures), np.int64)
    score = np.zeros(len(signatures), np.float32)
    step = max(2**24 // max(len(pool.row), 1), 1)
    position = -1
    for start in range(0, len(signatures), step):
        similarity = signatures[start : start + step] @ pool.signatures.T
        best[start : start + step] = similarity.argmax(axis=1)
        score[start : start + step] = similarity.max(axis=1)
        if not prefers_next:
            continue
        for index in range(len(similarity)):
            # Rows of zeros, and rows that occur twice, belong to their neighbors.
            following = position + 1
            is_next = 0 < following < len(pool.row) and pool.owner[following] == pool.owner[position]
            if is_next and similarity[index, following] >= score[start + index] - _PREFERRED:
                best[start + index] = following
            position = int(best[start + index])
    return pool.owner[best], pool.row[best], score >= threshold


def match_rows(rows: Array, others: Array) -> Array:
    """The position of the most similar one of the other rows for each row, -1 without a similar one."""
    if rows.shape[1] < _LEAST_COLUMNS:
        return np.full(len(rows), -1)
    columns = np.unique(np.linspace(0, rows.shape[1] - 1, min(rows.shape[1], _MOST_COLUMNS)).astype(np.int64))
    similarity = _normalize(rows[:, columns]) @ _normalize(others[:, columns]).T
    best = similarity.argmax(axis=1)
    return np.where(similarity.max(axis=1) >= least_similarity(len(columns)), best, -1)


def _describe(mapping: _RowMap, used: Sequence[SourceTensor], width: int) -> tuple[str, ...]:
    runs = list(mapping.runs())
    sizes = {position: prod(source.tensor.shape) // width for position, source in enumerate(mapping.sources)}
    if len(runs) == len(used):
        if all(first == 0 and stop - start == sizes[owner] for start, stop, owner, first in runs):
            return ("concatenated",) if len(runs) > 1 else ("reshaped",)
        if len(runs) == 1:
            start, stop, _, first = runs[0]
            return (f"rows {first} to {first + stop - start - 1}",)
        return ("rows concatenated",)
    if len(used) == 1 and len(mapping.row) == sizes[int(mapping.owner[0])]:
        heads = find_rotary_heads(mapping.row)
        if len(np.unique(mapping.row)) < len(mapping.row):
            return ("rows gathered",)
        return ("rows permuted",) if heads is None else (f"rows permuted for rotary embeddings of {heads} heads",)
    return ("rows gathered",) if len(used) == 1 else ("rows interleaved",)


def find_rotary_heads(order: Array) -> int | None:
    """The number of heads if an order of rows exchanges the two layouts of rotary embeddings; None for others."""
    size = len(order)
    for heads in range(1, size // 4 + 1):
        if size % (2 * heads):
            continue
        plain = np.arange(size)
        halves = plain.reshape(heads, 2, size // heads // 2).swapaxes(1, 2).reshape(-1)
        pairs = plain.reshape(heads, size // heads // 2, 2).swapaxes(1, 2).reshape(-1)
        if np.array_equal(order, halves) or np.array_equal(order, pairs):
            return heads
    return None


def _align_broadcast(weight: ModelWeight, array: Array, sources: Sequence[SourceTensor]) -> WeightMatch | None:
    """Find a tensor that is repeated along axes of a weight."""
    reduced = array
    for axis in range(array.ndim):
        if reduced.shape[axis] > 1 and (reduced == np.take(reduced, [0], axis)).all():
            reduced = np.take(reduced, [0], axis)
    if reduced.size == array.size or reduced.size < 2:
        return None
    for source in sources:
        if squeeze_shape(source.tensor.shape) != squeeze_shape(reduced.shape):
            continue
        numbers = read_flat(source.tensor, 0, reduced.size).reshape(reduced.shape)
        if np.allclose(reduced, numbers, 2.0**-8, 0):

            def read(start: int, stop: int, numbers: Array = numbers) -> Array:
                rows = np.broadcast_to(numbers, array.shape).reshape(count_rows(array.shape), -1)
                return np.asarray(rows[start:stop])

            words = ("broadcast", *describe_format(weight, source.tensor.format))
            return WeightMatch(weight, (source,), words, compare_values(weight, read, source.tensor.format), read=read)
    return None


def _align_vector(weight: ModelWeight, numbers: Array, sources: Sequence[SourceTensor]) -> WeightMatch | None:
    """Find the vectors that a vector is a concatenation of, or the one that contains it."""
    vectors = [source for source in sources if prod(source.tensor.shape) == max(source.tensor.shape, default=0)]
    size = len(numbers)
    tolerance = 2.0**-8 * float(np.sqrt(np.square(numbers).mean()) or 1.0)
    if size < _LEAST_COLUMNS or not np.isfinite(tolerance) or np.ptp(numbers) == 0:
        return None
    values: Mapping[int, Array] = {
        position: read_flat(source.tensor, 0, prod(source.tensor.shape)) for position, source in enumerate(vectors)
    }
    parts: list[SourceTensor] = []
    offset = 0
    while offset < size:
        following = next(
            (
                source
                for position, source in enumerate(vectors)
                if _LEAST_COLUMNS <= len(values[position]) < size
                and offset + len(values[position]) <= size
                and np.allclose(numbers[offset : offset + len(values[position])], values[position], 0, tolerance)
            ),
            None,
        )
        if following is None:
            break
        parts.append(following)
        offset += prod(following.tensor.shape)
    if offset == size:
        array = np.concatenate([read_flat(part.tensor, 0, prod(part.tensor.shape)) for part in parts])
        return _vector_match(weight, tuple(parts), ("concatenated",), array)
    row = _find_row(numbers, sources, tolerance)
    if row is not None:
        source, first, part = row
        return _vector_match(weight, (source,), (f"rows {first} to {first}",), part)
    for position, source in enumerate(vectors):
        for start in np.flatnonzero(np.abs(values[position] - numbers[0]) <= tolerance)[:64]:
            part = values[position][start : start + size]
            if len(values[position]) > size == len(part) and np.allclose(numbers, part, 0, tolerance):
                return _vector_match(weight, (source,), (f"rows {start} to {start + size - 1}",), part)
    return None


def _find_row(
    numbers: Array, sources: Sequence[SourceTensor], tolerance: float
) -> tuple[SourceTensor, int, Array] | None:
    """The row of a tensor with these numbers, its position and its numbers."""
    size = len(numbers)
    for source in sources:
        shape = source.tensor.shape
        rows = prod(shape) // size if shape and shape[-1] == size else 0
        if rows < 2:
            continue
        first = source.tensor.gather(np.arange(rows) * size)
        for row in np.flatnonzero(np.abs(first - numbers[0]) <= tolerance)[:64]:
            part = read_flat(source.tensor, int(row) * size, (int(row) + 1) * size)
            if np.allclose(numbers, part, 0, tolerance):
                return source, int(row), part
    return None


def _vector_match(
    weight: ModelWeight, parts: tuple[SourceTensor, ...], words: tuple[str, ...], array: Array
) -> WeightMatch:
    def read(start: int, stop: int) -> Array:
        return array.reshape(count_rows(weight.shape), -1)[start:stop]

    return WeightMatch(weight, parts, words, compare_values(weight, read, parts[0].tensor.format), read=read)
