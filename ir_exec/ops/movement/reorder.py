"""Operators that change the order of elements along axes: Roll, Reverse, ReverseSequence."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np

from ir_exec.codes import Code
from ir_exec.errors import ElementTypeError, EvaluationError, IRError, ShapeError
from ir_exec.kernels.indices import as_integers
from ir_exec.ops.base import In, Op, op
from ir_exec.ops.base.attributes import LOWER, Int
from ir_exec.ops.base.dims import given_axes
from ir_exec.ops.base.inputs import Lengths
from ir_exec.ops.base.shapes import (
    known_faults,
    known_ints,
    largest_dim,
    merge_dims,
    merge_shapes,
    normalize_axis,
    require_least_rank,
    require_rank,
)
from ir_exec.types import BOOLEAN, INDEX, INTEGER, NUMERIC, Array, Dim, Shape, TensorType

__all__ = ["Reverse", "ReverseSequence", "Roll"]


@op("Roll", since=7)
class Roll(Op):
    """Elements move by `shift` along each of `axes`; elements that leave at one end return at the other.

    Specification: movement/roll-7.

    Inputs:
        data: Any shape, any type.
        shift: i32 or i64, a scalar for all axes, or a vector as long as axes.
        axes: i32 or i64, a scalar or a vector; negative ones count from the end, and the shifts of an axis that occurs
            several times are summed.

    Outputs:
        output: Like data.

    Raises:
        IRError: IR501 and IR502 for other shapes, IR503 and IR704 for an axis that data does not have.
    """

    inputs = (In("data"), In("shift", types=INDEX), In("axes", types=INDEX))
    changes_order = True
    arranging_inputs = ("axes",)
    increasing_in = ("data",)
    is_data_movement = True

    def infer(self, data: TensorType, shift: TensorType, axes: TensorType) -> TensorType:
        require_rank(shift, (0, 1), "shift")
        require_rank(axes, (0, 1), "axes")
        if shift.rank == 1:
            merge_shapes(shift.shape, axes.shape, "the shapes of shift and axes", port="axes")
        if data.rank is not None:
            for axis in known_ints(axes) or ():
                normalize_axis(axis, data.rank, name="axes")
        return data.without_values()

    def evaluate(self, data: Array, shift: Array, axes: Array) -> Array:
        return _apply_moves(_moves(data.shape, shift, axes), data)

    def kernel(self, *types: TensorType, unread: frozenset[str] = frozenset()) -> Callable[..., Any]:
        data, shift, axes = types
        if shift.value is None or axes.value is None:
            return self.evaluate
        return partial(_apply_moves, _moves(data.shape.static, shift.value, axes.value))


_Move: TypeAlias = tuple[tuple[slice, ...], tuple[slice, ...]]
"""The destination and the source of a block of elements."""


def _moves(shape: tuple[int, ...], shift: Array, axes: Array) -> list[_Move]:
    """The blocks of an array of this shape that move as a whole."""
    rolled = given_axes(axes, len(shape))
    shifts: list[int] = shift.ravel().tolist()
    if shift.ndim == 0:
        shifts *= len(rolled)
    total = dict.fromkeys(rolled, 0)
    for axis, places in zip(rolled, shifts, strict=True):
        total[axis] += places
    along = []
    for axis, size in enumerate(shape):
        places = total.get(axis, 0) % max(size, 1)
        # Elements that stay in order, and elements that return at the other end.
        pairs = [(slice(places, size), slice(0, size - places)), (slice(0, places), slice(size - places, size))]
        along.append(pairs if places else [(slice(None), slice(None))])
    return [tuple(zip(*blocks, strict=True)) or ((), ()) for blocks in product(*along)]


def _apply_moves(moves: list[_Move], data: Array, _shift: Array | None = None, _axes: Array | None = None) -> Array:
    output = np.empty(data.shape, data.dtype)
    for target, source in moves:
        output[target] = data[source]
    return output


@op("Reverse", since=1)
class Reverse(Op):
    """Elements in reverse order along some axes.

    Specification: movement/reverse-1.

    Inputs:
        data: Any shape, any type.
        axis: In the mode `index` a vector of integers, negative ones counted from the end, and a repeated axis reversed
            once; in the mode `mask` a boolean for each axis.

    Outputs:
        output: Like data; it may alias data.

    Raises:
        IRError: IR401 for an axis of the wrong type for the mode, IR501 and IR502 for another shape, IR503 and IR704
            for an axis that data does not have.
    """

    inputs = (In("data"), In("axis", types=INTEGER | BOOLEAN))
    changes_order = True
    arranging_inputs = ("axis",)
    increasing_in = ("data",)
    may_alias = True
    is_data_movement = True

    mode: Annotated[Literal["index", "mask"], LOWER]

    def infer(self, data: TensorType, axis: TensorType) -> TensorType:
        allowed = BOOLEAN if self.mode == "mask" else INTEGER
        if axis.element_type.is_known and axis.element_type not in allowed:
            expected = "boolean" if self.mode == "mask" else "an integer type"
            raise ElementTypeError(
                "axis is",
                actual=axis.element_type,
                expected=f"{expected} in the mode {self.mode}",
                code=Code.element_type_not_taken,
                port="axis",
            )
        require_rank(axis, 1, "axis")
        if data.rank is None:
            return data.without_values()
        if self.mode == "index":
            for number in known_ints(axis) or ():
                normalize_axis(number, data.rank)
        elif axis.shape.dims is not None:
            merge_dims(Dim.of(data.rank), axis.shape[0], "the rank of data and the length of axis", port="axis")
        return data.without_values()

    def evaluate(self, data: Array, axis: Array) -> Array:
        reversed_axes = (
            np.flatnonzero(axis).tolist() if self.mode == "mask" else given_axes(axis, data.ndim, name="axis")
        )
        backward = slice(None, None, -1)
        return data[(*(backward if i in reversed_axes else slice(None) for i in range(data.ndim)), ...)]


@op("ReverseSequence", since=1)
class ReverseSequence(Op):
    """output[b, s] = data[b, seq_lengths[b] - 1 - s] for s < seq_lengths[b], else data[b, s]; shown for axes 0 and 1.

    The specification requires lengths from 1 to the size of seq_axis; 0, which reverses nothing, is an extension of
    OpenVINO.

    Specification: movement/reverse-sequence-1.

    Inputs:
        data: Rank 2 or more, any type. batch_axis (0 by default) and seq_axis (1 by default) must differ.
        seq_lengths: A vector of any numeric type, a number for each element of the batch; fractions are truncated.

    Outputs:
        output: Like data.

    Raises:
        IRError: IR501 and IR502 for other shapes, IR503 for an axis that data does not have or for equal axes, IR704
            for another length.
    """

    inputs = (In("data"), In("seq_lengths", types=NUMERIC, domain=Lengths("data", "seq_axis")))
    changes_order = True
    moved_inputs = ("data",)
    increasing_in = ("data",)
    is_data_movement = True
    is_discontinuous = True

    batch_axis: Int = 0
    seq_axis: Int = 1

    def infer(self, data: TensorType, seq_lengths: TensorType) -> TensorType:
        require_rank(seq_lengths, 1, "seq_lengths")
        if data.shape.dims is None:
            return data.without_values()
        require_least_rank(data, 2, "data")
        batch = normalize_axis(self.batch_axis, len(data.shape), name="batch_axis")
        sequence = normalize_axis(self.seq_axis, len(data.shape), name="seq_axis")
        if batch == sequence:
            raise ShapeError(
                f"batch_axis and seq_axis are both axis {batch}", expected="two axes", code=Code.axis_out_of_range
            )
        if seq_lengths.shape.dims is None:
            return data.without_values()
        what = "batch_axis of data and the length of seq_lengths"
        dims = list(data.shape)
        dims[batch] = merge_dims(dims[batch], seq_lengths.shape[0], what, port="seq_lengths")
        return data.with_shape(Shape(dims))

    def evaluate(self, data: Array, seq_lengths: Array) -> Array:
        batch, sequence = self.batch_axis % data.ndim, self.seq_axis % data.ndim
        lengths = _lengths(seq_lengths, data.shape[sequence])[:, np.newaxis]
        places = np.arange(data.shape[sequence])
        sources = np.where(places < lengths, lengths - 1 - places, places)
        output = np.empty_like(data)
        rows = np.moveaxis(data, (batch, sequence), (0, 1))
        np.moveaxis(output, (batch, sequence), (0, 1))[...] = rows[np.arange(len(lengths))[:, np.newaxis], sources]
        return output

    def check_values(self, *types: TensorType) -> list[IRError]:
        data, seq_lengths = types
        return known_faults(_lengths, seq_lengths, size=largest_dim(data, self.seq_axis))


def _lengths(seq_lengths: Array, size: int) -> Array:
    """The lengths as i64.

    Raises:
        EvaluationError: IR704 for a length outside of 0 to `size`.
    """
    lengths = seq_lengths if seq_lengths.dtype.names is None else as_integers(seq_lengths)
    # NaN fails every comparison, so it is rejected too; -0.5 is truncated to 0.
    wrong = ~((lengths > -1) & (lengths < size + 1))
    if wrong.any():
        first = int(np.argmax(wrong))
        raise EvaluationError(
            f"seq_lengths[{first}] is",
            actual=lengths[first],
            expected=f"0 to {size}",
            reason="the size of seq_axis",
            port="seq_lengths",
        )
    return lengths.astype(np.int64)
