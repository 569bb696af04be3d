"""Operators that look through the values of a tensor: NonZero, CumSum, TopK, Unique."""

from __future__ import annotations

from typing import Annotated, Literal, NamedTuple

import numpy as np

from ir_exec.errors import EvaluationError, ShapeError
from ir_exec.ops.attributes import LOWER, Bool, IndexTypeName, Int
from ir_exec.ops.base import In, Op, op
from ir_exec.ops.indexing import as_integers, given_axis, known_axis
from ir_exec.ops.precision import CALCULABLE
from ir_exec.ops.rules import normalize_axis, require_rank
from ir_exec.ops.slice import index_bounds
from ir_exec.types import (
    ALL,
    BOOLEAN,
    INDEX,
    INTEGER,
    NUMERIC,
    STRING,
    Array,
    Dim,
    ElementType,
    Shape,
    TensorType,
    element_types,
)
from ir_exec.types.conversion import convert

__all__ = ["CumSum", "NonZero", "TopK", "TopK1", "TopK3", "Unique"]

LARGEST = 2**16
"""Known data of more elements than this is not searched to tell the size of an output."""

_SORTABLE = element_types("f32 f64 i8 i16 i32 i64 u8 u16 u32 u64 string")


def _comparable(array: Array) -> Array:
    """The values in a dtype that NumPy can sort and compare, and sorts fast."""
    kind = ElementType.of(array)
    if kind in _SORTABLE:
        return array
    if kind.is_float:
        return convert(array, ElementType.f32)
    return convert(array, ElementType.i8 if kind.is_signed else ElementType.u8)


@op("NonZero", since=3)
class NonZero(Op):
    """Where the elements are that are not 0: one column of indices for each, in row-major order; NaN is not 0.

    data: any shape, no strings. output: `output_type`, shape [rank of data, number of elements that are not 0].

    As OpenVINO does, a scalar that is not 0 gives [[0]], one that is 0 gives an empty output of shape [0, 0] (of shape
    [1, 0] in its CPU plugin).

    Specification: condition/nonzero-3.
    """

    inputs = (In("data", types=ALL - STRING),)

    output_type: IndexTypeName = ElementType.i64

    def infer(self, data: TensorType) -> TensorType:
        value = data.value if data.shape.size.hi <= LARGEST else None
        if value is not None:
            count = int(np.count_nonzero(_comparable(value)))
            return TensorType(self.output_type, Shape([value.ndim or count, count]))
        if data.shape.dims is None:
            return TensorType(self.output_type, Shape.of_rank(2))
        rank = Dim.of(len(data.shape)) if data.shape.dims else Dim(0, 1)
        return TensorType(self.output_type, Shape([rank, Dim(0, data.shape.size.hi)]))

    def evaluate(self, data: Array) -> Array:
        if data.ndim == 0:
            count = int(np.count_nonzero(_comparable(data)))
            return np.zeros((count, count), self.output_type.dtype)
        indices = np.nonzero(_comparable(data))
        output = np.empty((data.ndim, len(indices[0])), self.output_type.dtype)
        for row, index in zip(output, indices, strict=True):
            row[...] = index
        return output


@op("CumSum", since=3)
class CumSum(Op):
    """Along one axis, every element plus all before it.

    data: rank 1 or more. axis: a scalar, 0 without it. output: the type of data; integers wrap. With `exclusive` an
    element does not count for its own sum; with `reverse` sums begin at the end of the axis.

    Specification: arithmetic/cumsum-3.
    """

    inputs = (In("data", types=CALCULABLE), In("axis", types=INDEX, optional=True))

    exclusive: Bool = False
    reverse: Bool = False

    def infer(self, data: TensorType, axis: TensorType | None = None) -> TensorType:
        if data.rank == 0:
            raise ShapeError("data is a scalar, expected rank 1 or more", code="IR501", port="data")
        if axis is not None:
            known_axis(axis, data.rank)
        return data.without_values()

    def evaluate(self, data: Array, axis: Array | None = None) -> Array:
        along = 0 if axis is None else given_axis(axis, data.ndim)
        output = np.zeros(data.shape, self._sum_type(data))
        elements, sums = np.moveaxis(data, along, 0), np.moveaxis(output, along, 0)
        if self.reverse:
            elements, sums = elements[::-1], sums[::-1]
        if self.exclusive:
            elements, sums = elements[:-1], sums[1:]
        np.cumsum(elements, 0, output.dtype, out=sums)
        return output.astype(data.dtype, copy=False)

    def _sum_type(self, data: Array) -> np.dtype[np.generic]:
        kind = ElementType.of(data)
        if kind.is_float:
            return np.dtype(np.float32) if kind.bits < 32 else data.dtype
        return np.dtype(np.int8) if kind.bits < 8 else data.dtype


class _TopK(Op):
    """What all versions share.

    data: rank 1 or more. k: a scalar, from 0 to the size of `axis`. values: the element type of data, size k on `axis`.
    indices: `index_element_type`, where the values stand on that axis of data; the same shape.

    The k greatest (`mode` max) or least (min) elements of every line along `axis`, sorted by `value`, or by `index` as
    they stand in data. Of equal elements the one with the lower index comes first. The specification leaves open what
    `none` does, which we sort by value, and where NaN belongs, which comes after all numbers in both modes.
    """

    inputs = (In("data", types=NUMERIC | BOOLEAN), In("k", types=INTEGER))
    outputs = ("values", "indices")

    axis: Int
    mode: Annotated[Literal["max", "min"], LOWER]
    sort: Annotated[Literal["value", "index", "none"], LOWER]
    index_element_type: IndexTypeName = ElementType.i32

    def infer(self, data: TensorType, k: TensorType) -> tuple[TensorType, TensorType]:
        require_rank(k, 0, "k")
        if data.rank == 0:
            raise ShapeError("data is a scalar, expected rank 1 or more", code="IR501", port="data")
        shape = data.shape
        if shape.dims is not None:
            dims = list(shape.dims)
            axis = normalize_axis(self.axis, len(dims))
            dims[axis] = self._kept(dims[axis], k)
            shape = Shape(dims)
        return data.with_shape(shape), TensorType(self.index_element_type, shape)

    def evaluate(self, data: Array, k: Array) -> tuple[Array, Array]:
        count, size = int(as_integers(k).reshape(-1)[0]), data.shape[self.axis]
        if not 0 <= count <= size:
            raise EvaluationError(_k_fault(count, size), port="k")
        keys = _comparable(data)
        if self.mode == "max":
            keys = -keys if keys.dtype.kind == "f" else ~keys
        order = np.argsort(keys, self.axis, kind="stable")
        kept = [slice(None)] * data.ndim
        kept[self.axis] = slice(count)
        chosen = order[tuple(kept)]
        if self.sort == "index":
            chosen = np.sort(chosen, self.axis)
        return np.take_along_axis(data, chosen, self.axis), chosen.astype(self.index_element_type.dtype)

    def _kept(self, size: Dim, k: TensorType) -> Dim:
        bounds = index_bounds(k)
        if not bounds:
            return Dim(0, size.hi)
        low, high = bounds[0]
        if high < 0 or low > size.hi:
            raise ShapeError(_k_fault(high if high < 0 else low, size.hi), code="IR505", port="k")
        return Dim(max(low, 0), min(high, size.hi))


def _k_fault(k: int, size: int) -> str:
    return f"k is {k}, allowed are 0 to {size}, the size of the axis"


@op("TopK", since=1)
class TopK1(_TopK):
    """The k greatest or least elements along an axis; see `_TopK`. OpenVINO takes k as i8, i32 or i64 only.

    Specification: sort/top-k-1.
    """

    inputs = (In("data", types=NUMERIC | BOOLEAN), In("k", types=element_types("i8 i32 i64")))


@op("TopK", since=3)
class TopK3(_TopK):
    """The k greatest or least elements along an axis; see `_TopK`.

    Specification: sort/top-k-3.
    """


@op("TopK", since=11)
class TopK(_TopK):
    """The k greatest or least elements along an axis; see `_TopK`.

    `stable` asks for the order of equal elements that we keep anyway; it cannot be asked of `sort` none.

    Specification: sort/top-k-11.
    """

    stable: Bool = False

    def check_attributes(self) -> None:
        if self.stable and self.sort == "none":
            raise ValueError("stable=true needs sort=value or sort=index, found sort=none")


class _Groups(NamedTuple):
    """Rows sorted into groups of equal ones.

    first: the first row of each group. inverse: the group of each row. counts: how many rows each group has.
    """

    first: Array
    inverse: Array
    counts: Array


@op("Unique", since=10)
class Unique(Op):
    """The different elements of data, or with `axis` its different slices along this axis.

    data: any shape. axis: a scalar or one element. unique: the element type of data; a vector, or data with as many
    slices on the axis as are different, in rising order if `sorted`, else in the order of their first places.
    first: where each of them stands first in data (flattened, or on the axis). inverse: for each element or slice of
    data, which of `unique` it is. counts: how often each stands in data. NaN differs from everything, also from NaN.

    Where an axis may be empty the output may be too; OpenVINO's intervals leave that out, ours do not. OpenVINO's CPU
    plugin leaves some equal slices along an axis apart, and of 8-bit elements loses first places and counts.

    Specification: movement/unique-10.
    """

    inputs = (In("data"), In("axis", types=INDEX, optional=True))
    outputs = ("unique", "first", "inverse", "counts")

    sorted: Bool = True
    index_element_type: IndexTypeName = ElementType.i64
    count_element_type: IndexTypeName = ElementType.i64

    def infer(self, data: TensorType, axis: TensorType | None = None) -> tuple[TensorType, ...]:
        along = None if axis is None else known_axis(axis, data.rank)
        value = data.value if data.shape.size.hi <= LARGEST else None
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
        groups = _grouped(_comparable(rows))
        if not self.sorted:
            groups = _by_first(groups)
        index, count = self.index_element_type.dtype, self.count_element_type.dtype
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


def _grouped(rows: Array) -> _Groups:
    """Groups in rising order, the first elements of the rows counting most."""
    if rows.shape[1] == 1:
        order = np.argsort(rows[:, 0], kind="stable")
        ordered = rows[order]
    else:
        # Numbers in place of the elements, because NumPy sorts by several keys only where they are numbers.
        numbers = _grouped(rows.reshape(-1, 1)).inverse.reshape(rows.shape)
        order = np.lexsort(numbers.T[::-1]) if rows.shape[1] else np.arange(len(rows))
        ordered = numbers[order]
    begins = np.ones(len(rows), np.bool_)
    begins[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    starts = np.flatnonzero(begins)
    inverse = np.empty(len(rows), np.int64)
    inverse[order] = np.cumsum(begins) - 1
    return _Groups(order[starts], inverse, np.diff(starts, append=len(rows)))


def _by_first(groups: _Groups) -> _Groups:
    """The same groups in the order of their first rows."""
    order = np.argsort(groups.first)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return _Groups(groups.first[order], place[groups.inverse], groups.counts[order])
