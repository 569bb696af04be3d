"""Embeddings in bags, which are sums of selected rows of a table, and sparse matrices.

The rows of a bag are grouped by sorting, and summed by `ufunc.reduceat` over runs, block by block: the selected rows
are never all in memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Annotated, Literal

import numpy as np

from ir_exec.codes import Code
from ir_exec.errors import EvaluationError, InvalidAttributeError, IRError
from ir_exec.kernels.indices import find_indices
from ir_exec.kernels.precision import accumulator, round_to
from ir_exec.ops.base import In, Op, op
from ir_exec.ops.base.attributes import LOWER
from ir_exec.ops.base.dims import merged_dims
from ir_exec.ops.base.inputs import AxisIndices, BagOffsets, SegmentIds, ValueRange
from ir_exec.ops.base.segments import (
    given_count,
    number_of_rows,
    require_rising,
    require_within,
    run_starts,
    segment_faults,
    segments_of,
)
from ir_exec.ops.base.shapes import known_faults, known_ints, largest_dim, require_convertible, require_least_rank
from ir_exec.tuning import thresholds
from ir_exec.types import INDEX, UNBOUNDED, Array, Dim, ElementType, Shape, TensorType, convert, element_types

__all__ = [
    "EmbeddingBagOffsets",
    "EmbeddingBagOffsetsSum",
    "EmbeddingBagPacked",
    "EmbeddingBagPackedSum",
    "EmbeddingSegmentsSum",
    "SparseFillEmptyRows",
]

_NUMBERS = element_types("bf16 f16 f32 f64 i8 i16 i32 i64 u8 u16 u32 u64")

_TABLE = In("emb_table", types=_NUMBERS)

_INDICES = In("indices", types=INDEX, domain=AxisIndices(selects_slices=True))

_DEFAULT = In("default_index", types=INDEX, like="indices", optional=True, domain=AxisIndices(selects_slices=True))

_WEIGHTS = In("per_sample_weights", types=_NUMBERS, like="emb_table", optional=True)

Reduction = Annotated[Literal["sum", "mean"], LOWER]


class _Packed(Op):
    """Bags with equal numbers of elements; `reduction` is a field only if the operator has the attribute."""

    inputs = (_TABLE, _INDICES, _WEIGHTS)
    term_inputs = ("emb_table", "per_sample_weights")

    reduction = "sum"

    def infer(
        self, emb_table: TensorType, indices: TensorType, per_sample_weights: TensorType | None = None
    ) -> TensorType:
        _check_reduction(self.reduction, per_sample_weights)
        layout = ["batch", "indices_per_bag"]
        dims = merged_dims({"indices": (indices, layout), "per_sample_weights": (per_sample_weights, layout)})
        return _bags(emb_table, dims["batch"])

    def evaluate(self, emb_table: Array, indices: Array, per_sample_weights: Array | None = None) -> Array:
        batch, size = indices.shape
        sizes = np.full(batch, size)
        weights = None if per_sample_weights is None else per_sample_weights.reshape(-1)
        reduced = _sum_bags(emb_table, indices.reshape(-1), sizes, weights)
        if self.reduction == "mean":
            reduced = _divide(reduced, sizes)
        return round_to(reduced, emb_table.dtype)

    def count_terms(self, inputs: Sequence[Array]) -> int:
        return int(inputs[1].shape[1])

    def check_values(self, *types: TensorType) -> list[IRError]:
        return _index_faults(types[0], types[1])


@op("EmbeddingBagPackedSum", since=3)
class EmbeddingBagPackedSum(_Packed):
    """output[i] = sum over j of emb_table[indices[i, j]] * per_sample_weights[i, j].

    Sums of integers wrap.

    Specification: sparse/embedding-bag-packed-sum-3.

    Inputs:
        emb_table: [num_emb, ...], any numeric type of 8 bits and more.
        indices: [batch, indices_per_bag].
        per_sample_weights: The shape of indices, the type of emb_table; by default ones.

    Outputs:
        output: [batch, ...], the type of emb_table.

    Raises:
        IRError: IR701 for an index out of range.
    """


@op("EmbeddingBagPacked", since=15)
class EmbeddingBagPacked(_Packed):
    """EmbeddingBagPackedSum-3 with `reduction` mean, for rows without weights; means of integers are truncated.

    Specification: sparse/embedding-bag-packed-15.

    Raises:
        IRError: IR302 for weights with means.
    """

    reduction: Reduction = "sum"


class _Offsets(Op):
    """Bags that are ranges of `indices`; `offsets` is the beginning of each. `reduction` is as in `_Packed`."""

    inputs = (
        _TABLE,
        _INDICES,
        In("offsets", types=INDEX, like="indices", domain=BagOffsets("indices")),
        _DEFAULT,
        _WEIGHTS,
    )
    term_inputs = ("emb_table", "per_sample_weights")

    reduction = "sum"

    def infer(
        self,
        emb_table: TensorType,
        indices: TensorType,
        offsets: TensorType,
        default_index: TensorType | None = None,
        per_sample_weights: TensorType | None = None,
    ) -> TensorType:
        _check_reduction(self.reduction, per_sample_weights)
        dims = merged_dims(
            {
                "indices": (indices, ["num_indices"]),
                "offsets": (offsets, ["batch"]),
                "default_index": (default_index, []),
                "per_sample_weights": (per_sample_weights, ["num_indices"]),
            }
        )
        return _bags(emb_table, dims["batch"])

    def evaluate(
        self,
        emb_table: Array,
        indices: Array,
        offsets: Array,
        default_index: Array | None = None,
        per_sample_weights: Array | None = None,
    ) -> Array:
        sizes = _bag_sizes(offsets, len(indices))
        first = len(indices) - int(sizes.sum())
        weights = None if per_sample_weights is None else per_sample_weights[first:]
        reduced = _sum_bags(emb_table, indices[first:], sizes, weights)
        if self.reduction == "mean":
            reduced = _divide(reduced, sizes)
        return _fill_empty(round_to(reduced, emb_table.dtype), sizes == 0, emb_table, default_index)

    def count_terms(self, inputs: Sequence[Array]) -> int:
        _, indices, offsets = inputs[:3]
        return int(_bag_sizes(offsets, len(indices)).max(initial=1))

    def check_values(self, *types: TensorType) -> list[IRError]:
        emb_table, indices, offsets = types[:3]
        count = largest_dim(indices, 0)
        return _index_faults(emb_table, indices) + known_faults(_require_offsets, offsets, count=count)


@op("EmbeddingBagOffsetsSum", since=3)
class EmbeddingBagOffsetsSum(_Offsets):
    """output[i] = sum of emb_table[indices[j]] * per_sample_weights[j] over offsets[i] <= j < offsets[i + 1].

    Sums of integers wrap.

    Specification: sparse/embedding-bag-offsets-sum-3.

    Inputs:
        emb_table: [num_emb, ...], any numeric type of 8 bits and more.
        indices: [num_indices].
        offsets: [batch], ascending, at most num_indices.
        default_index: A scalar, the row for bags without elements; they are zeros if it is -1 or missing.
        per_sample_weights: The shape of indices, the type of emb_table; by default ones.

    Outputs:
        output: [batch, ...], the type of emb_table.

    Raises:
        IRError: IR701 for an index or an offset out of range.
    """


@op("EmbeddingBagOffsets", since=15)
class EmbeddingBagOffsets(_Offsets):
    """EmbeddingBagOffsetsSum-3 with `reduction` mean, for rows without weights; means of integers are truncated.

    Specification: sparse/embedding-bag-offsets-15.

    Raises:
        IRError: IR302 for weights with means.
    """

    reduction: Reduction = "sum"


@op("EmbeddingSegmentsSum", since=3)
class EmbeddingSegmentsSum(Op):
    """output[i] = sum of emb_table[indices[j]] * per_sample_weights[j] over all j with segment_ids[j] = i.

    Sums of integers wrap.

    Specification: sparse/embedding-segments-sum-3.

    Inputs:
        emb_table: [num_emb, ...], any numeric type of 8 bits and more.
        indices: [num_indices], the segments in any order.
        segment_ids: [num_indices], the segments in any order.
        num_segments: A scalar.
        default_index: A scalar, the row for segments without elements; they are zeros if it is -1 or missing.
        per_sample_weights: The shape of indices, the type of emb_table; by default ones.

    Outputs:
        output: [num_segments, ...], the type of emb_table.

    Raises:
        IRError: IR701 for an index out of range, and for a segment id out of range (OpenVINO ignores such elements);
            IR704 for a negative num_segments.
    """

    inputs = (
        _TABLE,
        _INDICES,
        In("segment_ids", types=INDEX, like="indices", domain=SegmentIds("num_segments")),
        In("num_segments", types=INDEX, like="indices", domain=ValueRange(4, 4, "the number of segments")),
        _DEFAULT,
        _WEIGHTS,
    )
    term_inputs = ("emb_table", "per_sample_weights")
    sized_by = ("num_segments",)

    def infer(
        self,
        emb_table: TensorType,
        indices: TensorType,
        segment_ids: TensorType,
        num_segments: TensorType,
        default_index: TensorType | None = None,
        per_sample_weights: TensorType | None = None,
    ) -> TensorType:
        merged_dims(
            {
                "indices": (indices, ["num_indices"]),
                "segment_ids": (segment_ids, ["num_indices"]),
                "num_segments": (num_segments, []),
                "default_index": (default_index, []),
                "per_sample_weights": (per_sample_weights, ["num_indices"]),
            }
        )
        return _bags(emb_table, number_of_rows(num_segments, "num_segments"))

    def evaluate(
        self,
        emb_table: Array,
        indices: Array,
        segment_ids: Array,
        num_segments: Array,
        default_index: Array | None = None,
        per_sample_weights: Array | None = None,
    ) -> Array:
        count = given_count(num_segments)
        segments = segments_of(segment_ids, count)
        order = np.argsort(segments, kind="stable")
        weights = None if per_sample_weights is None else per_sample_weights[order]
        sizes = np.bincount(segments, minlength=count)
        sums = _sum_bags(emb_table, indices[order], sizes, weights)
        return _fill_empty(round_to(sums, emb_table.dtype), sizes == 0, emb_table, default_index)

    def count_terms(self, inputs: Sequence[Array]) -> int:
        segments = segments_of(inputs[2], given_count(inputs[3]))
        return int(np.bincount(segments).max(initial=1))

    def check_values(self, *types: TensorType) -> list[IRError]:
        emb_table, indices, segment_ids, num_segments = types[:4]
        return _index_faults(emb_table, indices) + segment_faults(segment_ids, num_segments)


def _bags(emb_table: TensorType, count: Dim) -> TensorType:
    """The type of the output: one row for each of `count` bags."""
    require_least_rank(emb_table, 1, "emb_table")
    if emb_table.shape.dims is None:
        return emb_table.without_values()
    return emb_table.with_shape(Shape([count, *emb_table.shape[1:]]))


def _check_reduction(reduction: str, weights: TensorType | None) -> None:
    if reduction == "mean" and weights is not None:
        raise InvalidAttributeError(
            "reduction=mean takes no per_sample_weights", code=Code.invalid_attribute, port="per_sample_weights"
        )


def _index_faults(emb_table: TensorType, indices: TensorType) -> list[IRError]:
    """The faults IR701 of known indices beyond the rows of the table."""
    # The axis and the meaning of a negative index are as in `_sum_bags`.
    return known_faults(find_indices, indices, size=largest_dim(emb_table, 0), axis=0, negative="refused")


def _bag_sizes(offsets: Array, count: int) -> Array:
    """The number of indices of each bag; indices before the first offset belong to no bag."""
    _require_offsets(offsets, count)
    sizes = np.empty(len(offsets), np.int64)
    np.subtract(offsets[1:], offsets[:-1], out=sizes[:-1])
    np.subtract(count, offsets[-1:], out=sizes[-1:])
    return sizes


def _require_offsets(offsets: Array, count: int) -> None:
    """Raise EvaluationError IR701 for an offset beyond `count` indices, and IR704 for offsets that decrease."""
    require_within(offsets, min(count, UNBOUNDED - 1) + 1, "an offset", "offsets")
    require_rising(offsets, "offsets")


def _sum_bags(table: Array, indices: Array, sizes: Array, weights: Array | None) -> Array:
    """The sums of the rows of table at `indices`, one for each bag.

    Args:
        sizes: The number of consecutive indices of each bag. Floats are summed in their accumulator type, integers in
            their own type, where they wrap.
    """
    positions = find_indices(indices, len(table), 0, "refused")
    rows = table.reshape(len(table), prod(table.shape[1:]))
    dtype = accumulator(table.dtype) if ElementType.of(table).is_float else table.dtype
    sums = np.zeros((len(sizes), rows.shape[1]), dtype)
    few = min(thresholds.RUN_ELEMENTS, sums.size // (4 * thresholds.ELEMENTS_A_CALL))
    add = _add_by_place if sizes.max(initial=0) <= few else _add_by_blocks
    add(rows, positions, sizes, weights, sums)
    return sums.reshape(len(sizes), *table.shape[1:])


def _add_by_place(rows: Array, positions: Array, sizes: Array, weights: Array | None, sums: Array) -> None:
    """Add the first row of every bag, then the second of those that have one, and so on: for bags of few rows.

    Args:
        sizes: The number of rows of each bag.
        sums: The sum of each bag, initially 0.
    """
    starts = np.cumsum(sizes) - sizes
    step = max(thresholds.INTERMEDIATE_ELEMENTS // max(rows.shape[1], 1), 1)
    for begin in range(0, len(sums), step):
        some = slice(begin, begin + step)
        first, of_these, total = starts[some], sizes[some], sums[some]
        for offset in range(of_these.max(initial=0)):
            has_one = of_these > offset
            bags = slice(None) if has_one.all() else np.flatnonzero(has_one)
            total[bags] += _take_weighted(rows, positions, weights, first[bags] + offset, sums.dtype)


def _add_by_blocks(rows: Array, positions: Array, sizes: Array, weights: Array | None, sums: Array) -> None:
    """Add the rows of every bag by sums over runs of rows."""
    bags = np.repeat(np.arange(len(sizes)), sizes)
    step = max(thresholds.INTERMEDIATE_ELEMENTS // max(rows.shape[1], 1), 1)
    for begin in range(0, len(positions), step):
        some = slice(begin, begin + step)
        starts = run_starts(bags[some])
        chosen = _take_weighted(rows, positions, weights, some, sums.dtype)
        # Each bag occurs once here, but some of its rows may have been in the preceding block.
        sums[bags[some][starts]] += np.add.reduceat(chosen, starts, axis=0, dtype=sums.dtype)


def _take_weighted(
    rows: Array, positions: Array, weights: Array | None, some: Array | slice, dtype: np.dtype[np.generic]
) -> Array:
    """The rows at some of the positions, times their weights."""
    chosen = rows[positions[some]].astype(dtype, copy=False)
    if weights is not None:
        chosen *= weights[some, np.newaxis].astype(dtype, copy=False)
    return chosen


def _divide(sums: Array, counts: Array) -> Array:
    """Means from sums and counts; integers are truncated towards zero, and means of no elements are 0."""
    divisors = np.maximum(counts, 1).reshape(-1, *(1,) * (sums.ndim - 1)).astype(sums.dtype)
    if np.issubdtype(sums.dtype, np.integer):
        return np.asarray((sums - np.fmod(sums, divisors)) // divisors)
    return np.asarray(sums / divisors)


def _fill_empty(sums: Array, empty: Array, table: Array, default_index: Array | None) -> Array:
    """The sums, with the row `default_index` of table where `empty`; without a default index they remain zeros."""
    default = -1 if default_index is None else int(default_index)
    if default != -1 and empty.any():
        require_within(np.array([default]), len(table), "default_index", "default_index")
        sums[empty] = table[default]
    return sums


@op("SparseFillEmptyRows", since=16)
class SparseFillEmptyRows(Op):
    """A sparse matrix with `default_value` in the first column of every empty row.

    Specification: sparse/fill-empty-rows-16.

    Inputs:
        values: [M], any element type.
        dense_shape: [2], rows and columns.
        indices: [M, 2], row and column of every value.
        default_value: A scalar; as in OpenVINO, any type is converted to that of values.

    Outputs:
        output_indices: [n, 2], the type of indices, sorted by row and column, equal ones in their order.
        output_values: [n], the type of values, in the order of output_indices.
        empty_row_indicator: Boolean, [rows], true for each row that was empty.

    Raises:
        IRError: IR402 for a mix of numbers and strings; IR701 for a row or a column that the matrix does not have,
            which OpenVINO's CPU plugin accepts.
    """

    inputs = (
        In("values"),
        In("dense_shape", types=INDEX),
        In("indices", types=INDEX, like="dense_shape"),
        In("default_value"),
    )
    outputs = ("output_indices", "output_values", "empty_row_indicator")
    sized_by = ("dense_shape",)

    def infer(
        self, values: TensorType, dense_shape: TensorType, indices: TensorType, default_value: TensorType
    ) -> tuple[TensorType, TensorType, TensorType]:
        dims = merged_dims(
            {
                "values": (values, ["M"]),
                "dense_shape": (dense_shape, ["axes"]),
                "indices": (indices, ["M", "axes"]),
                "default_value": (default_value, []),
            },
            declared={"axes": Dim(2)},
        )
        require_convertible(default_value, values, "default_value", "values")
        rows = number_of_rows(dense_shape, "dense_shape")
        coordinates = known_ints(indices)
        added = Dim(0, rows.hi)
        if coordinates is not None and rows.is_static:
            added = Dim(max(rows.lo - len(set(coordinates[::2])), 0))
        count = dims["M"] + added
        typed = indices if indices.element_type.is_known else dense_shape
        return (
            typed.with_shape(Shape([count, Dim(2)])),
            values.with_shape(Shape([count])),
            TensorType(ElementType.boolean, Shape([rows])),
        )

    def evaluate(
        self, values: Array, dense_shape: Array, indices: Array, default_value: Array
    ) -> tuple[Array, Array, Array]:
        sizes = dense_shape.tolist()
        if min(sizes) < 0:
            raise EvaluationError("dense_shape is", actual=sizes, expected="no negative sizes", port="dense_shape")
        for axis, what in enumerate(("row", "column")):
            require_within(indices[:, axis], sizes[axis], f"a {what} of indices", "indices")
        is_empty = np.ones(sizes[0], np.bool_)
        is_empty[indices[:, 0]] = False
        empty = np.flatnonzero(is_empty).astype(indices.dtype)
        added = np.stack([empty, np.zeros_like(empty)], axis=1)
        all_indices = np.concatenate([indices, added])
        fill = convert(default_value, ElementType.of(values))
        all_values = np.concatenate([values, np.full(len(empty), fill, values.dtype)])
        order = np.lexsort((all_indices[:, 1], all_indices[:, 0]))
        return all_indices[order], all_values[order], is_empty
