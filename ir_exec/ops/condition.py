"""Operators of a condition on elements (Select, NonZero, Bucketize), and If, which runs one of two graphs."""

from __future__ import annotations

from typing import Annotated, TypeVar

import numpy as np

from ir_exec.codes import Code
from ir_exec.errors import ElementTypeError, IRError
from ir_exec.kernels.elementwise import select
from ir_exec.kernels.limits import current_limits
from ir_exec.kernels.precision import CALCULABLE, widen
from ir_exec.kernels.sorting import comparable, search_sorted
from ir_exec.ops.base import In, Op, op
from ir_exec.ops.base.attributes import LOWER, Bool, IndexTypeName, Int, Named
from ir_exec.ops.base.bodies import AnyValue, RunningBody, Ties, TypedBody, by_position, either, known_truth
from ir_exec.ops.base.inputs import Ascending
from ir_exec.ops.base.shapes import (
    LARGEST_SEARCHED,
    Broadcasting,
    align_pdpd,
    broadcast_shapes,
    require_one_element,
    require_rank,
)
from ir_exec.ops.base.variants import Kernel, KernelRequest, variant
from ir_exec.tuning import thresholds
from ir_exec.types import ALL, BOOLEAN, STRING, Array, Dim, ElementType, Shape, TensorType

__all__ = ["Bucketize", "If", "NonZero", "Select"]


@op("Select", since=1)
class Select(Op):
    """output = then where cond is true, else_ where it is false, all three broadcast together.

    With numpy broadcasting `cond` may also have the largest shape, as in OpenVINO. With pdpd broadcasting the first
    axis of `else_` and of `cond` is axis `axis` of `then`, by default 0.

    Specification: condition/select-1.

    Inputs:
        cond: Boolean.
        then: Any type, the same for both and output.
        else_: Like `then`.

    Raises:
        IRError: IR504 where the shapes do not broadcast; IR501 and IR502 where they differ and `auto_broadcast` is
            none.
    """

    inputs = (In("cond", types=BOOLEAN), In("then"), In("else_", like="then"))
    is_elementwise = True
    increasing_in = ("then", "else_")
    is_data_movement = True

    auto_broadcast: Annotated[Broadcasting, LOWER] = "numpy"
    axis: Annotated[Int, Named("auto_broadcast.auto_broadcast_axis")] = 0

    def infer(self, cond: TensorType, then: TensorType, else_: TensorType) -> TensorType:
        branch = then if then.element_type.is_known else else_
        both = broadcast_shapes(then.shape, else_.shape, self.auto_broadcast, self.axis)
        return branch.with_shape(broadcast_shapes(both, cond.shape, self.auto_broadcast, self.axis))

    def evaluate(self, cond: Array, then: Array, else_: Array) -> Array:
        if self.auto_broadcast == "pdpd":
            cond = align_pdpd(cond, then.ndim, self.axis)
            else_ = align_pdpd(else_, then.ndim, self.axis)
        return select(cond, then, else_)


def _is_aligned(op: Select, request: KernelRequest) -> bool:
    return op.auto_broadcast != "pdpd"


def _is_short(op: Select, request: KernelRequest) -> bool:
    return _is_aligned(op, request) and op.infer(*request.types).shape.size.hi <= thresholds.CALL_ELEMENTS


@variant("Select", name="where", applies=_is_short, cost=0.29, why="Few elements: one call of np.where.")
def _where(op: Select, request: KernelRequest) -> Kernel:
    return np.where


@variant(
    "Select", name="chunks", applies=_is_aligned, cost=0.97, why="The shapes broadcast as in NumPy: none is changed."
)
def _in_chunks(op: Select, request: KernelRequest) -> Kernel:
    return select


@op("NonZero", since=3)
class NonZero(Op):
    """The indices of the elements that are not 0: one column for each, in row-major order; NaN is not 0.

    As in OpenVINO, a scalar that is not 0 gives [[0]], one that is 0 gives an empty output of shape [0, 0] (of shape
    [1, 0] in its CPU plugin).

    Specification: condition/nonzero-3.

    Inputs:
        data: Any shape, no strings.

    Outputs:
        output: `output_type`, shape [rank of data, number of elements that are not 0].
    """

    inputs = (In("data", types=ALL - STRING),)

    output_type: IndexTypeName = ElementType.i64

    def infer(self, data: TensorType) -> TensorType:
        value = data.value if data.shape.size.hi <= LARGEST_SEARCHED else None
        if value is not None:
            count = int(np.count_nonzero(comparable(value)))
            return TensorType(self.output_type, Shape([value.ndim or count, count]))
        if data.shape.dims is None:
            return TensorType(self.output_type, Shape.of_rank(2))
        rank = Dim.of(len(data.shape)) if data.shape.dims else Dim(0, 1)
        return TensorType(self.output_type, Shape([rank, Dim(0, data.shape.size.hi)]))

    def evaluate(self, data: Array) -> Array:
        if data.ndim == 0:
            count = int(np.count_nonzero(comparable(data)))
            return np.zeros((count, count), self.output_type.dtype)
        elements = comparable(data)
        bytes_per_index = np.dtype(np.int64).itemsize + self.output_type.dtype.itemsize
        current_limits().require(int(np.count_nonzero(elements)) * data.ndim * bytes_per_index)
        indices = np.nonzero(elements)
        output = np.empty((data.ndim, len(indices[0])), self.output_type.dtype)
        for row, index in zip(output, indices, strict=True):
            row[...] = index
        return output


@op("Bucketize", since=3)
class Bucketize(Op):
    """The number of the bucket that each element falls into: the number of boundaries below it.

    NaN falls into the first bucket or, without `with_right_bound`, into the last one.

    Specification: condition/bucketize-3.

    Inputs:
        data: Any shape, any numeric type.
        buckets: The boundaries, a sorted vector, any numeric type. A boundary that equals the element belongs to the
            bucket below it (`with_right_bound`) or above it.

    Outputs:
        output: The shape of data, element type `output_type`.
    """

    inputs = (In("data", types=CALCULABLE), In("buckets", types=CALCULABLE, domain=Ascending()))

    output_type: IndexTypeName = ElementType.i64
    with_right_bound: Bool = True

    def infer(self, data: TensorType, buckets: TensorType) -> TensorType:
        require_rank(buckets, 1, "buckets")
        return TensorType(self.output_type, data.shape)

    def evaluate(self, data: Array, buckets: Array) -> Array:
        values = widen(data)
        positions = search_sorted(widen(buckets), values.reshape(-1), right=not self.with_right_bound).reshape(
            data.shape
        )
        if not self.with_right_bound and values.dtype.kind == "f":
            positions = np.where(np.isnan(values), len(buckets), positions)
        return positions.astype(self.output_type.dtype)


@op("If", since=8)
class If(Op):
    """Runs then_body if the condition is true, else_body if it is false.

    Specification: condition/if-8.

    Inputs:
        condition: One boolean.
        values: Any shapes and types, the inputs of the bodies.

    Outputs:
        output: The Results of the body that runs; there may be several. If the condition is not known, inference
            returns a type that includes the outputs of both bodies. If one body returns a scalar and the other a
            vector, the scalar becomes a vector of one element, as in OpenVINO.

    Raises:
        IRError: IR402 if the element type of an output depends on a condition that is not known, IR501 for a condition
            of rank 2 or more, IR502 for a vector that does not have one element.
    """

    inputs = (In("condition", types=BOOLEAN), In("values", variadic=True, optional=True, mixed=True))
    body_names = ("then_body", "else_body")
    own_inputs = 1
    may_alias = True

    def infer(
        self, condition: TensorType, *values: TensorType, bodies: tuple[TypedBody, ...]
    ) -> tuple[TensorType, ...]:
        require_one_element(condition, "condition")
        truth = known_truth(condition)
        types = [condition, *values]
        if truth is not None:
            chosen, other = _branches(bodies, truth)
            outputs = _output_types(chosen, types)
            return by_position({i: _lift_scalar(type, other, i, types) for i, type in outputs.items()})
        then_types, else_types = (_output_types(body, types) for body in bodies)
        return by_position({i: _of_either(type, else_types.get(i, type), i) for i, type in then_types.items()})

    def evaluate(self, condition: Array, *values: Array, bodies: tuple[RunningBody, ...]) -> tuple[Array, ...]:
        body, other = _branches(bodies, bool(condition.ravel()[0]))
        arrays = [condition, *values]
        results = body.run(_arguments(body.ties, arrays))
        by_output = {}
        for tie in body.ties.outputs:
            if tie.position is not None:
                result = results[tie.result]
                if result.ndim == 0:
                    types = [TensorType.of(array) for array in arrays]
                    # Types without values are cached.
                    rank = _rank(other, [type.without_values() for type in types], tie.position)
                    rank = _rank(other, types, tie.position) if rank is None else rank
                    result = result.reshape(1) if rank == 1 else result
                by_output[tie.position] = result
        return tuple(by_output[position] for position in sorted(by_output))


_Body = TypeVar("_Body", TypedBody, RunningBody)


def _branches(bodies: tuple[_Body, ...], condition: bool) -> tuple[_Body, _Body]:
    """The body that runs, and the other one."""
    then_body, else_body = bodies
    return (then_body, else_body) if condition else (else_body, then_body)


def _arguments(ties: Ties, values: list[AnyValue]) -> list[AnyValue]:
    """The values of a body's Parameters, each of which is an input of the layer."""
    arguments = {tie.parameter: values[tie.position] for tie in ties.inputs if tie.position is not None}
    return [arguments[parameter] for parameter in range(ties.parameters)]


def _output_types(body: TypedBody, types: list[TensorType]) -> dict[int, TensorType]:
    """The types of the layer's outputs, by position, returned by one body."""
    results = body.infer(_arguments(body.ties, types))
    return {tie.position: results[tie.result] for tie in body.ties.outputs if tie.position is not None}


def _lift_scalar(type: TensorType, other: TypedBody, position: int, types: list[TensorType]) -> TensorType:
    """The type of an output; a scalar becomes a vector of one element if the other body returns a vector."""
    return type.with_shape(Shape([1])) if type.rank == 0 and _rank(other, types, position) == 1 else type


def _rank(body: TypedBody, types: list[TensorType], position: int) -> int | None:
    """The rank of an output of a body, None if it is not known."""
    try:
        return _output_types(body, types)[position].rank
    except IRError:
        # The body that does not run need not match the inputs.
        return None


def _of_either(then_type: TensorType, else_type: TensorType, position: int) -> TensorType:
    """A type that includes an output of then_body and one of else_body."""
    kinds = {type.element_type for type in (then_type, else_type) if type.element_type.is_known}
    if len(kinds) > 1:
        raise ElementTypeError(
            f"output {position} of then_body and else_body is",
            actual=f"{then_type.element_type} and {else_type.element_type}",
            expected="equal types",
            code=Code.element_types_differ,
        )
    if {then_type.rank, else_type.rank} == {0, 1}:
        then_type, else_type = (
            type.with_shape(Shape([1])) if type.rank == 0 else type for type in (then_type, else_type)
        )
    return either(then_type, else_type)
