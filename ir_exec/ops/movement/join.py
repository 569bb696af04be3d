"""Tensors joined along an axis, and split along one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import accumulate, pairwise
from math import prod
from typing import Annotated, Any

import numpy as np

from ir_exec.codes import Code
from ir_exec.errors import EvaluationError, ShapeError
from ir_exec.kernels.chunks import by_rows
from ir_exec.kernels.windows import copy_rows
from ir_exec.ops.base import In, Op, op
from ir_exec.ops.base.attributes import Int, within
from ir_exec.ops.base.dims import element_type_of, given_axis
from ir_exec.ops.base.inputs import FIRST_AXIS
from ir_exec.ops.base.shapes import divide_dim, ints, known_int, known_ints, merge_dims, normalize_axis, require_rank
from ir_exec.ops.base.variants import Kernel, KernelRequest, variant
from ir_exec.tuning import thresholds
from ir_exec.types import INTEGER, Array, Dim, Shape, TensorType

__all__ = ["Concat", "Split", "VariadicSplit"]

MOST_OUTPUTS = 2**16
"""Maximum number of outputs, more than any model has: a number in a file cannot claim memory for them."""


@op("Concat", since=1)
class Concat(Op):
    """The inputs concatenated along `axis`, which counts from the end if it is negative.

    Specification: movement/concat-1.

    Inputs:
        inputs: At least one, of rank 1 or more and of one type; only their sizes along the axis may differ.

    Outputs:
        output: Their type.

    Raises:
        IRError: IR501 for ranks that differ, IR502 for other unequal sizes, IR503 for an axis out of range.
    """

    inputs = (In("inputs", variadic=True),)
    increasing_in = ("inputs",)
    is_data_movement = True

    axis: Int

    def infer(self, *inputs: TensorType) -> TensorType:
        element_type = element_type_of(inputs)
        ranked = [position for position, tensor in enumerate(inputs) if tensor.rank is not None]
        if not ranked:
            return TensorType(element_type, Shape.unknown())
        first = inputs[ranked[0]].shape
        axis = normalize_axis(self.axis, len(first))
        dims = list(first)
        for position in ranked[1:]:
            shape, name = inputs[position].shape, self.input_name(position)
            require_rank(inputs[position], len(first), name, why=f"as {self.input_name(ranked[0])} has")
            for i, dim in enumerate(shape):
                if i != axis:
                    dims[i] = merge_dims(dims[i], dim, f"axis {i} of the inputs", port=name)
        dims[axis] = sum((input.shape[axis] if input.rank is not None else Dim.any() for input in inputs), Dim(0))
        return TensorType(element_type, Shape(dims))

    def equal_sizes(self, *types: TensorType) -> Iterator[tuple[int, int]]:
        first, *others = [part.shape.static for part in types]
        joined = self.axis % len(first)
        for sizes in others:
            yield from [pair for axis, pair in enumerate(zip(first, sizes, strict=True)) if axis != joined]

    def evaluate(self, *inputs: Array) -> Array:
        rows = prod(inputs[0].shape[: self.axis]) if inputs[0].size >= 4 * thresholds.MANY_ROWS else 0
        if rows < 4 * thresholds.MANY_ROWS:
            return np.concatenate([by_rows(array) for array in inputs], self.axis)
        return _joined_rows(inputs, rows, self.axis)


def _are_vectors(op: Concat, request: KernelRequest) -> bool:
    return all(type.rank == 1 for type in request.types)


@variant("Concat", name="vectors", applies=_are_vectors, cost=0.5, why="Vectors are joined by one NumPy call.")
def _vectors(op: Concat, request: KernelRequest) -> Kernel:
    def join(*inputs: Array) -> Array:
        return np.concatenate(inputs)

    return join


def _joined_rows(inputs: Sequence[Array], rows: int, axis: int) -> Array:
    """np.concatenate of many rows, which has a cost for every row."""
    widths = [array.size // rows for array in inputs]
    row_bytes = [width * inputs[0].itemsize for width in widths]
    if (
        min(widths) < 2
        or max(row_bytes) > 4 * thresholds.FEW_LINES
        or inputs[0].dtype.hasobject
        or not all(array.flags.c_contiguous for array in inputs)
    ):
        return np.concatenate(inputs, axis)
    first = inputs[0]
    joined = np.empty((rows, sum(widths)), first.dtype)
    for array, (start, stop) in zip(inputs, pairwise(accumulate(widths, initial=0)), strict=True):
        copy_rows(array.reshape(rows, -1), joined[:, start:stop])
    return joined.reshape(*first.shape[:axis], -1, *first.shape[axis:][1:])


@op("Split", since=1)
class Split(Op):
    """`num_splits` equal slices of data along an axis.

    Specification: movement/split-1.

    Inputs:
        data: Any shape, any type.
        axis: An integer, a scalar; counts from the end if it is negative.

    Outputs:
        outputs: The type of data; they may alias it.

    Raises:
        IRError: IR501 for an axis that is not a scalar, IR503 and IR704 for one that data does not have, IR505 and
            IR704 for a size that is not a multiple of num_splits.
    """

    inputs = (In("data"), In("axis", types=INTEGER, domain=FIRST_AXIS))
    arranging_inputs = ("axis",)
    increasing_in = ("data",)
    may_alias = True
    is_data_movement = True
    varies_outputs = True

    num_splits: Annotated[Int, within(1, MOST_OUTPUTS)]

    def infer(self, data: TensorType, axis: TensorType) -> tuple[TensorType, ...]:
        require_rank(axis, 0, "axis")
        shape, along = data.shape, known_int(axis)
        if shape.dims is not None and along is not None:
            dim = shape[normalize_axis(along, len(shape))]
            part = divide_dim(dim, self.num_splits, f"axis {along} of data", port="data")
            shape = _with_dim(shape, along, part)
        elif shape.dims is not None:
            shape = Shape.of_rank(len(shape))
        return (data.with_shape(shape),) * self.num_splits

    def evaluate(self, data: Array, axis: Array) -> tuple[Array, ...]:
        along = given_axis(axis, data.ndim)
        part, remainder = divmod(data.shape[along], self.num_splits)
        if remainder:
            raise EvaluationError(
                f"{data.shape[along]} elements do not make {self.num_splits} equal parts", port="data"
            )
        return _parts(data, along, range(0, data.shape[along] + 1, part) if part else [0] * (self.num_splits + 1))

    def kernel(self, *types: TensorType, unread: frozenset[str] = frozenset()) -> Callable[..., Any]:
        return _split_kernel(types[0], types[1], self.infer(*types)) or self.evaluate


@op("VariadicSplit", since=1)
class VariadicSplit(Op):
    """Slices of data along an axis, with lengths in `split_lengths`; one length may be -1 for the remaining elements.

    Specification: movement/variadic-split-1.

    Inputs:
        data: Any shape, any type.
        axis: An integer, a scalar or a vector of one element; counts from the end if it is negative.
        split_lengths: A vector of integers.

    Outputs:
        outputs: The type of data; they may alias it.

    Raises:
        IRError: IR501 for an axis or split_lengths of another shape, IR503 and IR704 for an axis that data does not
            have, IR505 and IR704 for negative lengths and for a sum other than the size of the axis.
    """

    inputs = (In("data"), In("axis", types=INTEGER, domain=FIRST_AXIS), In("split_lengths", types=INTEGER))
    arranging_inputs = ("axis", "split_lengths")
    increasing_in = ("data",)
    may_alias = True
    is_data_movement = True
    varies_outputs = True
    counts_outputs = "split_lengths"

    def infer(self, data: TensorType, axis: TensorType, split_lengths: TensorType) -> tuple[TensorType, ...]:
        require_rank(axis, (0, 1), "axis")
        if axis.shape.dims is not None and 1 not in axis.shape.size:
            raise ShapeError(
                "axis has shape", actual=axis.shape, expected="a scalar or [1]", code=Code.wrong_rank, port="axis"
            )
        require_rank(split_lengths, 1, "split_lengths")
        along, lengths = known_int(axis), known_ints(split_lengths)
        count = _count(split_lengths)
        if data.shape.dims is None:
            return (data.with_shape(Shape.unknown()),) * count
        if along is None:
            return (data.with_shape(Shape.of_rank(len(data.shape))),) * count
        dim = data.shape[normalize_axis(along, len(data.shape))]
        parts = [Dim(0, dim.hi)] * count if lengths is None else _part_dims(lengths, dim)
        return tuple([data.with_shape(_with_dim(data.shape, along, part)) for part in parts])

    def evaluate(self, data: Array, axis: Array, split_lengths: Array) -> tuple[Array, ...]:
        along = given_axis(axis, data.ndim)
        lengths, size = list(ints(split_lengths)), data.shape[along]
        if lengths.count(-1) == 1:
            lengths[lengths.index(-1)] = size - (sum(lengths) + 1)
        if min(lengths, default=0) < 0 or sum(lengths) != size:
            raise EvaluationError(
                f"{list(ints(split_lengths))} do not make up the {size} elements of axis {along}", port="split_lengths"
            )
        return _parts(data, along, np.cumsum([0, *lengths]).tolist())

    def kernel(self, *types: TensorType, unread: frozenset[str] = frozenset()) -> Callable[..., Any]:
        if known_ints(types[2]) is None:
            return self.evaluate
        return _split_kernel(types[0], types[1], self.infer(*types)) or self.evaluate


def _count(split_lengths: TensorType) -> int:
    """The number of outputs; 1, for any number, if it is not known."""
    if split_lengths.shape.dims is None or not split_lengths.shape[0].is_static:
        return 1
    count = split_lengths.shape[0].lo
    if count > MOST_OUTPUTS:
        raise ShapeError(f"{count} outputs are more than the {MOST_OUTPUTS} allowed", port="split_lengths")
    return count


def _part_dims(lengths: tuple[int, ...], dim: Dim) -> list[Dim]:
    if lengths.count(-1) > 1 or min(lengths, default=0) < -1:
        raise ShapeError(
            "split_lengths is", actual=list(lengths), expected="at most one negative length, -1", port="split_lengths"
        )
    total = sum(length for length in lengths if length >= 0)
    if total > dim.hi or (-1 not in lengths and total < dim.lo):
        raise ShapeError(
            f"the sum of split_lengths {list(lengths)} is",
            actual=total,
            expected=dim,
            reason="the size of the axis",
            port="split_lengths",
        )
    return [dim - total if length == -1 else Dim(length) for length in lengths]


def _with_dim(shape: Shape, axis: int, dim: Dim) -> Shape:
    dims = list(shape)
    dims[axis] = dim
    return Shape(dims)


def _parts(data: Array, axis: int, ends: Iterable[int]) -> tuple[Array, ...]:
    before = (slice(None),) * axis
    return tuple([data[(*before, slice(start, end))] for start, end in pairwise(ends)])


def _split_kernel(data: TensorType, axis: TensorType, parts: Sequence[TensorType]) -> Callable[..., Any] | None:
    """The function that splits data of this static type into outputs of these types; None if it depends on the run."""
    along = known_int(axis)
    if along is None or not all(part.shape.is_static for part in parts):
        return None
    position = normalize_axis(along, len(data.shape))
    ends = accumulate([part.shape[position].size for part in parts], initial=0)
    before = (slice(None),) * position
    return partial(_at, [(*before, slice(start, end)) for start, end in pairwise(ends)])


def _at(places: Sequence[tuple[slice, ...]], data: Array, *_: Array) -> tuple[Array, ...]:
    return tuple([data[index] for index in places])
