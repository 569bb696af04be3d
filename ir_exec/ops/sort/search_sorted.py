"""SearchSorted: the places for inserting values into sorted sequences."""

from __future__ import annotations

from math import prod

import numpy as np

from ir_exec.kernels.precision import CALCULABLE, widen
from ir_exec.kernels.sorting import search_sorted
from ir_exec.ops.base import In, Op, op
from ir_exec.ops.base.attributes import Bool, IndexTypeName
from ir_exec.ops.base.inputs import Ascending
from ir_exec.ops.base.shapes import merge_dims, require_least_rank, require_rank
from ir_exec.types import Array, Dim, ElementType, Shape, TensorType

__all__ = ["SearchSorted"]


@op("SearchSorted", since=15)
class SearchSorted(Op):
    """output[p, i]: the index for inserting values[p, i] into sorted_sequence[p, :]; p are all axes except the last.

    The index is before equal elements or, with `right_mode`, after them. NaN is inserted at index 0.

    Specification: sort/search-sorted-15, where `right_mode` is called `right`, and `output_type` is missing.

    Inputs:
        sorted_sequence: Rank 1 or more, ascending along the last axis; a vector is for values of any shape.
        values: The type of sorted_sequence and, except for the last axis, its dims.

    Outputs:
        output: The shape of values, element type `output_type`.

    Raises:
        IRError: IR501 for a scalar and for ranks that differ, IR502 for dims that differ.
    """

    inputs = (
        In("sorted_sequence", types=CALCULABLE, domain=Ascending()),
        In("values", types=CALCULABLE, like="sorted_sequence"),
    )

    right_mode: Bool = False
    output_type: IndexTypeName = ElementType.i64

    def infer(self, sorted_sequence: TensorType, values: TensorType) -> TensorType:
        require_least_rank(sorted_sequence, 1, "sorted_sequence")
        if values.rank == 0:
            require_rank(sorted_sequence, 1, "sorted_sequence", why="for values that are a scalar")
        return TensorType(self.output_type, _shape(sorted_sequence, values))

    def evaluate(self, sorted_sequence: Array, values: Array) -> Array:
        rows = prod(values.shape[:-1])
        if sorted_sequence.ndim > 1 and rows > 1:
            sequences = widen(sorted_sequence).reshape(rows, sorted_sequence.shape[-1])
            positions = _search_sorted_rows(
                sequences, widen(values).reshape(rows, values.shape[-1]), right=self.right_mode
            )
        else:
            positions = search_sorted(
                widen(sorted_sequence).reshape(-1), widen(values).reshape(-1), right=self.right_mode
            )
        return positions.reshape(values.shape).astype(self.output_type.dtype)


def _search_sorted_rows(sequences: Array, values: Array, *, right: bool) -> Array:
    """`search_sorted` of each row of values in its row of sequences: one binary search for all values at once."""
    is_before = np.less_equal if right else np.less
    size = sequences.shape[1]
    low = np.zeros(values.shape, np.int64)
    high = np.full(values.shape, size, np.int64)
    for _ in range(size.bit_length()):
        middle = (low + high) // 2
        # If the search has ended, middle may be the place after the last element.
        pivots = np.take_along_axis(sequences, np.minimum(middle, size - 1), axis=1)
        goes_up = is_before(pivots, values) & (low < high)
        low = np.where(goes_up, middle + 1, low)
        high = np.where(goes_up, high, middle)
    return low


def _shape(sorted_sequence: TensorType, values: TensorType) -> Shape:
    if sorted_sequence.shape.dims is None or len(sorted_sequence.shape) == 1:
        return values.shape
    batch = sorted_sequence.shape[:-1]
    if values.shape.dims is None:
        return Shape([*batch, Dim.any()])
    require_rank(values, len(sorted_sequence.shape), "values", why="the rank of sorted_sequence")
    dims = [
        merge_dims(mine, theirs, f"axis {axis} of sorted_sequence and values", port="values")
        for axis, (mine, theirs) in enumerate(zip(batch, values.shape[:-1], strict=True))
    ]
    return Shape([*dims, values.shape[-1]])
