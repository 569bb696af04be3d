"""Lists of tensors and optionals, which IR does not have: their lengths are known when converting, or it fails."""

from __future__ import annotations

import numpy as np

from ir_exec import build
from ir_exec.build import Value
from ir_exec.codes import Code
from ir_exec.errors import EvaluationError, UnsupportedError
from ir_exec.onnx.attributes import Body, Type
from ir_exec.onnx.convert import Call
from ir_exec.onnx.registry import onnx_op
from ir_exec.onnx.tensors import element_type_of
from ir_exec.onnx.values import Held, Sequence, ints, known_ints, known_scalar, size_along
from ir_exec.types import ElementType

__all__: list[str] = []

_MOST_PARTS = 2**12
"""Tensors in a list that is made of one tensor."""


@onnx_op("SequenceConstruct", since=11)
def sequence_construct(*inputs: Held) -> Sequence:
    kind = inputs[0].element_type if inputs and isinstance(inputs[0], Value) else ElementType.dynamic
    return Sequence(inputs, kind)


@onnx_op("SequenceEmpty", since=11)
def sequence_empty(*, dtype: int = 1) -> Sequence:
    return Sequence((), element_type_of(dtype))


def _place(position: Value, length: int, what: str) -> int:
    place = int(known_scalar(position, what))
    if not -length <= place < length:
        message = f"{what} {place} is out of range for a list of {length}"
        raise EvaluationError(message, code=Code.index_out_of_range)
    return place % length


@onnx_op("SequenceAt", since=11)
def sequence_at(sequence: Sequence, position: Value) -> Held:
    known = position.constant
    if known is None and len({(one.element_type, str(one.shape)) for one in sequence.tensors}) == 1:
        joined = build.concat([build.unsqueeze(one, 0) for one in sequence.tensors], 0)
        return build.gather(joined, build.reshape(position, build.constant([], "i64"), special_zero=False), 0)
    return sequence.items[_place(position, len(sequence.items), "the position")]


@onnx_op("SequenceLength", since=11)
def sequence_length(sequence: Sequence) -> Value:
    return build.constant(np.int64(len(sequence.items)))


@onnx_op("SequenceErase", since=11)
def sequence_erase(sequence: Sequence, position: Value | None = None) -> Sequence:
    items = list(sequence.items)
    del items[len(items) - 1 if position is None else _place(position, len(items), "the position")]
    return Sequence(tuple(items), sequence.element_type)


@onnx_op("SequenceInsert", since=11)
def sequence_insert(sequence: Sequence, tensor: Value, position: Value | None = None) -> Sequence:
    items = list(sequence.items)
    place = len(items) if position is None else int(known_scalar(position, "the position"))
    if not -len(items) <= place <= len(items):
        message = f"the position {place} is out of range for a list of {len(items)}"
        raise EvaluationError(message, code=Code.index_out_of_range)
    items.insert(place, tensor)
    return Sequence(tuple(items), sequence.element_type)


@onnx_op("SplitToSequence", since=11)
def split_to_sequence(data: Value, split: Value | None = None, *, axis: int = 0, keepdims: bool = True) -> Sequence:
    """Parts of size 1 without `split`, of one size, or of the sizes that are listed."""
    size = size_along(data, axis)
    if split is not None and split.rank == 1:
        sizes = known_ints(split, "the split")
    else:
        if not size.is_static:
            raise UnsupportedError("the size of the axis that is split must be known when the file is converted")
        each = 1 if split is None else int(known_scalar(split, "the split"))
        if each <= 0:
            raise EvaluationError(f"the split is {each}")
        if size.size > each * _MOST_PARTS:
            raise UnsupportedError(f"a list of more than {_MOST_PARTS} parts")
        sizes = tuple(min(each, size.size - start) for start in range(0, size.size, each))
    parts = (data,) if len(sizes) == 1 else tuple(build.variadic_split(data, axis, ints(*sizes)))
    if split is None and not keepdims:
        parts = tuple(build.squeeze(part, ints(axis)) for part in parts)
    return Sequence(parts, data.element_type)


@onnx_op("ConcatFromSequence", since=11)
def concat_from_sequence(sequence: Sequence, *, axis: int, new_axis: bool = False) -> Value:
    if not sequence.items:
        raise EvaluationError("an empty list cannot be joined")
    parts = [build.unsqueeze(one, ints(axis)) for one in sequence.tensors] if new_axis else sequence.tensors
    return build.concat(parts, axis)


@onnx_op("SequenceMap", since=17)
def sequence_map(sequence: Sequence, *further: Held, body: Body, call: Call) -> list[Sequence]:
    """The body for each element, with the elements of further lists and whole tensors."""
    columns = []
    for position, item in enumerate(sequence.items):
        rest = [one.items[position] if isinstance(one, Sequence) else one for one in further]
        columns.append(call.body(body, [item, *rest]))
    kinds = [element_type_of(one.type.tensor_type.elem_type) for one in body.output]
    return [Sequence(tuple(row[index] for row in columns), kind) for index, kind in enumerate(kinds)]


@onnx_op("Optional", since=15)
def optional(data: Held = None, *, type_: Type | None = None) -> Held:
    return data


@onnx_op("OptionalHasElement", since=15)
def optional_has_element(data: Held = None) -> Value:
    return build.constant(data is not None)


@onnx_op("OptionalGetElement", since=15)
def optional_get_element(data: Held) -> Held:
    if data is None:
        raise EvaluationError("the optional has no element")
    return data
