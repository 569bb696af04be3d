"""Unique: the distinct elements of a tensor, or its distinct slices along an axis."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ir_exec.kernels.limits import current_limits
from ir_exec.kernels.sorting import comparable
from ir_exec.ops.base import In, Op, op
from ir_exec.ops.base.attributes import Bool, IndexTypeName
from ir_exec.ops.base.dims import given_axis, known_axis
from ir_exec.ops.base.shapes import LARGEST_SEARCHED
from ir_exec.types import INDEX, Array, Dim, ElementType, Shape, TensorType

__all__ = ["Unique"]


class _EqualRows(NamedTuple):
    """Groups of equal rows.

    Attributes:
        first: The first row of each group.
        inverse: The group of each row.
        counts: The number of rows of each group.
    """

    first: Array
    inverse: Array
    counts: Array


@op("Unique", since=10)
class Unique(Op):
    """The distinct elements of data, or its distinct slices along an axis.

    NaN differs from every value, including NaN.

    If an axis may be empty, so may the output; OpenVINO's intervals omit this case. OpenVINO's CPU plugin does not
    merge some equal slices, and loses first occurrences and counts of 8-bit elements.

    Specification: movement/unique-10.

    Inputs:
        data: Any shape, any type.
        axis: Optional; i32 or i64, a scalar or a vector of one element.

    Attributes:
        index_element_type: The type of first and inverse, i64 (the default) or i32.
        count_element_type: The type of counts, i64 (the default) or i32.

    Outputs:
        unique: The type of data; a vector, or data with only the distinct slices; in ascending order if `sorted`, the
            default, else in the order of first occurrence.
        first: The index of the first occurrence of each, in flattened data or on the axis.
        inverse: For each element or slice of data, its index in unique.
        counts: The occurrences of each.

    Raises:
        IRError: IR501 and IR502 for an axis of another shape, IR503 and IR704 for one that data does not have.
    """

    inputs = (In("data"), In("axis", types=INDEX, optional=True))
    moved_inputs = ("data",)
    arranging_inputs = ("axis",)
    outputs = ("unique", "first", "inverse", "counts")
    is_discontinuous = True

    sorted: Bool = True
    index_element_type: IndexTypeName = ElementType.i64
    count_element_type: IndexTypeName = ElementType.i64

    def infer(self, data: TensorType, axis: TensorType | None = None) -> tuple[TensorType, ...]:
        along = None if axis is None else known_axis(axis, data.rank)
        value = data.value if data.shape.size.hi <= LARGEST_SEARCHED else None
        if value is not None and (axis is None or along is not None):
            sizes = [array.shape for array in self._evaluate(value, along)]
            return self._types(data, *(Shape(size) for size in sizes[:3]))
        if axis is None:
            count = _unique_count(data.shape.size)
            return self._types(data, Shape([count]), Shape([count]), Shape([data.shape.size]))
        if data.shape.dims is None:
            return self._types(data, Shape.unknown(), Shape.of_rank(1), Shape.of_rank(1))
        if along is None:
            dims = [dim | _unique_count(dim) for dim in data.shape]
            return self._types(data, Shape(dims), Shape.of_rank(1), Shape.of_rank(1))
        count = _unique_count(data.shape[along])
        dims = [count if i == along else dim for i, dim in enumerate(data.shape)]
        return self._types(data, Shape(dims), Shape([count]), Shape([data.shape[along]]))

    def evaluate(self, data: Array, axis: Array | None = None) -> tuple[Array, Array, Array, Array]:
        return self._evaluate(data, None if axis is None else given_axis(axis, data.ndim))

    def _evaluate(self, data: Array, axis: int | None) -> tuple[Array, Array, Array, Array]:
        rows = data.reshape(-1, 1) if axis is None else _lines(data, axis)
        groups = _group_rows(comparable(rows))
        if not self.sorted:
            groups = _by_first(groups)
        index, count = self.index_element_type.dtype, self.count_element_type.dtype
        row = rows.shape[1] * data.itemsize + index.itemsize + count.itemsize
        current_limits().require(len(groups.first) * row + len(rows) * index.itemsize)
        unique = data.reshape(-1)[groups.first] if axis is None else np.take(data, groups.first, axis)
        return unique, groups.first.astype(index), groups.inverse.astype(index), groups.counts.astype(count)

    def _types(self, data: TensorType, unique: Shape, first: Shape, inverse: Shape) -> tuple[TensorType, ...]:
        return (
            data.with_shape(unique),
            TensorType(self.index_element_type, first),
            TensorType(self.index_element_type, inverse),
            TensorType(self.count_element_type, first),
        )


def _unique_count(size: Dim) -> Dim:
    return Dim(min(size.lo, 1), size.hi)


def _lines(data: Array, axis: int) -> Array:
    """Every slice along the axis as a row."""
    slices = np.moveaxis(data, axis, 0)
    return slices.reshape(len(slices), -1 if data.size else 0)


def _group_rows(rows: Array) -> _EqualRows:
    """The groups of equal rows in lexicographic order."""
    if rows.shape[1] == 1:
        order = np.argsort(rows[:, 0], kind="stable")
        ordered = rows[order]
    else:
        # NumPy sorts by several keys only if they are numbers: elements are first replaced by numbers.
        numbers = _group_rows(rows.reshape(-1, 1)).inverse.reshape(rows.shape)
        order = np.lexsort(numbers.T[::-1]) if rows.shape[1] else np.arange(len(rows))
        ordered = numbers[order]
    begins = np.ones(len(rows), np.bool_)
    begins[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    starts = np.flatnonzero(begins)
    inverse = np.empty(len(rows), np.int64)
    inverse[order] = np.cumsum(begins) - 1
    return _EqualRows(order[starts], inverse, np.diff(starts, append=len(rows)))


def _by_first(groups: _EqualRows) -> _EqualRows:
    """The groups in the order of their first rows."""
    order = np.argsort(groups.first)
    rank_of = np.empty_like(order)
    rank_of[order] = np.arange(len(order))
    return _EqualRows(groups.first[order], rank_of[groups.inverse], groups.counts[order])
