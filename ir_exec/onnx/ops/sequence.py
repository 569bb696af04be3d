"""Lists of tensors and optionals, which IR does not have: their lengths must be known at conversion."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ir_exec import build
from ir_exec.build import Value
from ir_exec.codes import Code
from ir_exec.errors import EvaluationError, NotKnownError
from ir_exec.onnx.lowering.attributes import Body
from ir_exec.onnx.lowering.demands import is_asking
from ir_exec.onnx.lowering.graphs import Call
from ir_exec.onnx.lowering.registry import onnx_op
from ir_exec.onnx.lowering.values import (
    Appended,
    GraphValue,
    Sequence,
    Stack,
    checked_gather,
    concat,
    ints,
    known_ints,
    known_rank,
    known_scalar,
    known_size,
    normal_axis,
    require_few,
    shape_of,
    size_along,
)
from ir_exec.onnx.reading.tensors import element_type_of
from ir_exec.types import ElementType, Shape

__all__: list[str] = []


@onnx_op("SequenceConstruct", since=11)
def sequence_construct(*inputs: GraphValue) -> Sequence:
    element_type = inputs[0].element_type if inputs and isinstance(inputs[0], Value) else ElementType.dynamic
    return Sequence(inputs, element_type)


@onnx_op("SequenceEmpty", since=11)
def sequence_empty(*, dtype: int = 1) -> Sequence:
    return Sequence((), element_type_of(dtype))


def _as_list(sequence: GraphValue) -> Sequence:
    """The elements as a list.

    Raises:
        NotKnownError: If their number is unknown.
    """
    if isinstance(sequence, Stack):
        return sequence.to_sequence()
    if not isinstance(sequence, Sequence):
        message = "a list that grows in a loop with an unknown number of iterations is read inside it"
        raise NotKnownError(message)
    return sequence


def _move_axis(value: Value, source: int, target: int) -> Value:
    """The tensor with an axis moved to another position."""
    order = list(range(known_rank(value, "the elements of a list")))
    order.insert(target, order.pop(source))
    return value if order == sorted(order) else build.transpose(value, ints(*order))


def _known_index(position: Value, length: int, what: str) -> int:
    index = int(known_scalar(position, what))
    if not -length <= index < length:
        message = f"{what} {index} is out of range for a list of length {length}"
        raise EvaluationError(message, code=Code.index_out_of_range)
    return index % length


def _scalar(position: Value) -> Value:
    return build.reshape(position, build.constant([], "i64"), special_zero=False)


@onnx_op("SequenceAt", since=11)
def sequence_at(sequence: Sequence, position: Value, *, call: Call) -> GraphValue:
    if isinstance(sequence, Stack):
        return checked_gather(sequence.value, _scalar(position), 0)
    sequence = _as_list(sequence)
    if position.constant is None and _are_alike(sequence.tensors, call):
        joined = build.concat([build.unsqueeze(tensor, 0) for tensor in sequence.tensors], 0)
        return checked_gather(joined, _scalar(position), 0)
    return sequence.items[_known_index(position, len(sequence.items), "the position")]


def _may_be_joined(stacked: Value, tensor: Value, call: Call) -> bool:
    """Return True if one more element can be joined to a stack, as far as the shapes are known."""
    dims = stacked.shape.dims
    element = Shape.unknown() if dims is None else Shape(dims[1:])
    if element.is_static and tensor.shape.is_static:
        return element == tensor.shape
    call.assume()
    return not is_asking()


def _are_alike(tensors: list[Value], call: Call) -> bool:
    """Return True if tensors can be joined along a new axis, as far as their shapes are known.

    In a conversion for the inputs of a call the shapes must be known, because alternatives exist there.
    """
    if len({(tensor.element_type, str(tensor.shape)) for tensor in tensors}) != 1:
        return False
    if tensors[0].shape.is_static:
        return True
    call.assume()
    return not is_asking()


@onnx_op("SequenceLength", since=11)
def sequence_length(sequence: Sequence) -> Value:
    if isinstance(sequence, Stack):
        return build.gather(shape_of(sequence.value), 0, 0)
    return build.constant(np.int64(len(_as_list(sequence).items)))


@onnx_op("SequenceErase", since=11)
def sequence_erase(sequence: Sequence, position: Value | None) -> Sequence:
    items = list(_as_list(sequence).items)
    del items[len(items) - 1 if position is None else _known_index(position, len(items), "the position")]
    return Sequence(tuple(items), sequence.element_type)


@onnx_op("SequenceInsert", since=11)
def sequence_insert(sequence: Sequence, tensor: Value, position: Value | None, *, call: Call) -> GraphValue:
    if isinstance(sequence, Appended) and position is None:
        return replace(sequence, items=(*sequence.items, tensor))
    if isinstance(sequence, Stack) and position is None and _may_be_joined(sequence.value, tensor, call):
        return Stack(build.concat([sequence.value, build.unsqueeze(tensor, 0)], 0))
    items = list(_as_list(sequence).items)
    index = len(items) if position is None else int(known_scalar(position, "the position"))
    if not -len(items) <= index <= len(items):
        message = f"the position {index} is out of range for a list of length {len(items)}"
        raise EvaluationError(message, code=Code.index_out_of_range)
    items.insert(index, tensor)
    return Sequence(tuple(items), sequence.element_type)


@onnx_op("SplitToSequence", since=11)
def split_to_sequence(data: Value, split: Value | None, *, axis: int, keepdims: bool) -> GraphValue:
    """Slices of size 1 without `split`, of one size, or of the listed sizes."""
    of_one = split is None or (split.constant is not None and split.rank == 0 and split.constant == 1)
    if of_one and not size_along(data, axis).is_static and data.rank is not None:
        split_axis = normal_axis(axis, data.rank)
        first = _move_axis(data, split_axis, 0)
        return Stack(build.unsqueeze(first, ints(split_axis + 1)) if keepdims or split is not None else first)
    if split is not None and split.rank == 1:
        sizes = known_ints(split, "the split")
    else:
        size = known_size(data, axis, "the size of the axis that is split")
        each = 1 if split is None else int(known_scalar(split, "the split"))
        if each <= 0:
            raise EvaluationError("the split is", actual=each, expected="1 or more")
        require_few(-(-size // each))
        sizes = tuple(min(each, size - start) for start in range(0, size, each))
    parts = (data,) if len(sizes) == 1 else tuple(build.variadic_split(data, axis, ints(*sizes)))
    if split is None and not keepdims:
        parts = tuple(build.squeeze(part, ints(axis)) for part in parts)
    return Sequence(parts, data.element_type)


@onnx_op("ConcatFromSequence", since=11)
def concat_from_sequence(sequence: Sequence, *, axis: int, new_axis: bool) -> Value:
    if isinstance(sequence, Stack):
        return _concat_stack(sequence.value, axis, new_axis)
    sequence = _as_list(sequence)
    if not sequence.items:
        raise EvaluationError("the list is", actual="empty", expected="tensors to join")
    parts = [build.unsqueeze(tensor, ints(axis)) for tensor in sequence.tensors] if new_axis else sequence.tensors
    return build.concat(parts, axis)


def _concat_stack(stacked: Value, axis: int, new_axis: bool) -> Value:
    """The elements of a stack concatenated along an axis."""
    rank = known_rank(stacked, "the elements of a list")
    if new_axis:
        return _move_axis(stacked, 0, normal_axis(axis, rank))
    target_axis = normal_axis(axis, rank - 1)
    moved = _move_axis(stacked, 0, target_axis)
    sizes = shape_of(moved)
    both = build.reduce_prod(build.slice(sizes, ints(target_axis), ints(target_axis + 2), ints(1)), 0, keep_dims=True)
    behind = build.slice(sizes, ints(target_axis + 2), ints(rank), ints(1))
    before = build.slice(sizes, ints(0), ints(target_axis), ints(1))
    return build.reshape(moved, concat([before, both, behind]), special_zero=False)


@onnx_op("SequenceMap", since=17)
def sequence_map(sequence: Sequence, *further: GraphValue, body: Body, call: Call) -> list[Sequence]:
    """The body for each element, with the elements of further lists and whole tensors."""
    columns = []
    lists = [_as_list(value) if isinstance(value, (Stack, Appended)) else value for value in further]
    for position, item in enumerate(_as_list(sequence).items):
        arguments = [value.items[position] if isinstance(value, Sequence) else value for value in lists]
        if position == 0:
            call.compare(body, [item, *arguments], shapes="warning")
        columns.append(call.body(body, [item, *arguments]))
    outputs = []
    for index, declared in enumerate(body.output):
        row, data_type = tuple([row[index] for row in columns]), declared.type.tensor_type.elem_type
        # PyTorch's exporter omits the types.
        first = None if data_type or not row else row[0]
        outputs.append(Sequence(row, first.element_type if isinstance(first, Value) else element_type_of(data_type)))
    return outputs


@onnx_op("Optional", since=15, unused=("type",))
def optional(data: GraphValue) -> GraphValue:
    return data


@onnx_op("OptionalHasElement", since=15)
def optional_has_element(data: GraphValue = None) -> Value:
    return build.constant(data is not None)


@onnx_op("OptionalGetElement", since=15)
def optional_get_element(data: GraphValue) -> GraphValue:
    if data is None:
        raise EvaluationError("the optional has no element")
    return data
