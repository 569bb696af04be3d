"""Transpose: the axes of a tensor in another order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ir_exec.codes import Code
from ir_exec.errors import EvaluationError, ShapeError
from ir_exec.ops.base import In, Op, op
from ir_exec.ops.base.inputs import AxisOrder
from ir_exec.ops.base.shapes import ints, known_ints, require_rank, shape_of_length
from ir_exec.types import INTEGER, Array, Dim, Shape, TensorType

__all__ = ["Transpose"]


@op("Transpose", since=1)
class Transpose(Op):
    """arg with its axes in another order: output.shape[i] = arg.shape[input_order[i]].

    Specification: movement/transpose-1.

    Inputs:
        arg: Any shape, any type.
        input_order: A vector of integers, a permutation of the axes, counted from 0; an empty one reverses the axes.

    Outputs:
        output: The type of arg; it may alias arg.

    Raises:
        IRError: IR501 for an order that is not a vector, IR503 and IR704 for one that is not a permutation of the axes.
    """

    inputs = (In("arg"), In("input_order", types=INTEGER, domain=AxisOrder()))
    changes_order = True
    arranging_inputs = ("input_order",)
    increasing_in = ("arg",)
    may_alias = True
    is_data_movement = True

    def infer(self, arg: TensorType, input_order: TensorType) -> TensorType:
        require_rank(input_order, 1, "input_order")
        order = known_ints(input_order)
        dims = arg.shape.dims
        if dims is None:
            shape = shape_of_length(input_order)
            # OpenVINO infers a scalar from an empty order here, but that order is valid for any tensor.
            return arg.with_shape(Shape.unknown() if shape.rank == 0 else shape)
        length = input_order.shape[0] if input_order.rank == 1 else Dim.any()
        if 0 not in length and len(dims) not in length:
            raise ShapeError(
                "input_order has",
                actual=length,
                detail="elements",
                expected=f"one for each of the {len(dims)} axes, or none",
                code=Code.axis_out_of_range,
                port="input_order",
            )
        if order is None:
            return arg.with_shape(Shape.of_rank(len(dims)))
        _require_permutation(order, len(dims), ShapeError, Code.axis_out_of_range)
        return arg.with_shape(Shape([dims[axis] for axis in order] if order else dims[::-1]))

    def evaluate(self, arg: Array, input_order: Array) -> Array:
        order = ints(input_order)
        _require_permutation(order, arg.ndim, EvaluationError, Code.bad_value)
        return arg.transpose(order or None)

    def kernel(self, *types: TensorType, unread: frozenset[str] = frozenset()) -> Callable[..., Any]:
        order = known_ints(types[1])
        return self.evaluate if order is None else lambda arg, input_order: arg.transpose(order or None)


def _require_permutation(
    order: tuple[int, ...], rank: int, error: type[ShapeError] | type[EvaluationError], code: str
) -> None:
    if order and sorted(order) != list(range(rank)):
        raise error(
            "input_order is",
            actual=list(order),
            expected=f"a permutation of the axes 0 to {rank - 1}",
            code=code,
            port="input_order",
        )
