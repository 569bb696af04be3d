"""Patterns of slices and splits along one axis, whose bounds are constants."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ir_exec.graph import Value
from ir_exec.plan.patterns import Match, NodePattern, op

__all__ = ["AxisRange", "axis_range", "part_of"]

_END = 2**31 - 1
"""The least stop that exporters write for the end of an axis."""


class AxisRange(NamedTuple):
    """The elements of one axis that a slice or an output of a split takes.

    Attributes:
        axis: As the file writes it.
        stop: None for the end of the axis.
    """

    axis: int
    start: int
    stop: int | None
    step: int


def axis_range(match: Match, value: Value) -> AxisRange | None:
    """The range of a slice or a split with constant bounds along one axis; None for others."""
    node = match.node(value)
    graph = match.graph
    operator_type = graph.kind(node)
    numbers = [graph.known(source) for source in node.values_in[1:]]
    if any(array is None for array in numbers):
        return None
    lists = [[int(number) for number in np.ravel(array)] for array in numbers if array is not None]
    if operator_type == "Slice":
        return _of_slice(lists)
    size = _size(match, node.values_in[0], lists)
    if operator_type == "Split":
        count = match.operator(value).num_splits
        return None if size is None else _split_range(lists[0][0], [size // count] * count, value.position)
    if operator_type == "VariadicSplit":
        lengths = lists[1]
        if -1 in lengths and size is not None:
            lengths = [size - sum(lengths) - 1 if length == -1 else length for length in lengths]
        return _split_range(lists[0][0], lengths, value.position)
    return _of_strided_slice(match, value, lists) if operator_type == "StridedSlice" else None


def part_of(data: NodePattern, kinds: str = "Slice|StridedSlice|VariadicSplit") -> NodePattern:
    """A slice or an output of a split of a value."""
    return op(kinds, data, more_inputs=True)


def _of_slice(lists: list[list[int]]) -> AxisRange | None:
    if any(len(numbers) != 1 for numbers in lists) or len(lists) < 3:
        return None
    (start,), (stop,), (step,) = lists[:3]
    axis = lists[3][0] if len(lists) > 3 else 0
    return AxisRange(axis, start, None if stop >= _END else stop, step)


def _size(match: Match, source: Value, lists: list[list[int]]) -> int | None:
    shape = match.graph.type(source).shape
    if shape.dims is None or not lists or not lists[0] or not -len(shape.dims) <= lists[0][0] < len(shape.dims):
        return None
    dim = shape.dims[lists[0][0]]
    return dim.size if dim.is_static else None


def _split_range(axis: int, lengths: list[int], position: int) -> AxisRange | None:
    before = lengths[:position]
    if -1 in before:
        return None
    start = sum(before)
    is_last = position == len(lengths) - 1
    return AxisRange(axis, start, None if is_last or lengths[position] == -1 else start + lengths[position], 1)


def _of_strided_slice(match: Match, value: Value, lists: list[list[int]]) -> AxisRange | None:
    """The range of a slice with masks for all axes but the last one that it lists."""
    operator = match.operator(value)
    if len(lists) < 2 or any(any(mask or ()) for mask in _other_masks(operator)):
        return None
    axis = len(lists[0]) - 1
    strides = lists[2] if len(lists) > 2 else [1] * (axis + 1)
    begin_mask, end_mask = (list(mask)[: axis + 1] for mask in (operator.begin_mask, operator.end_mask))
    is_whole = all(begin_mask[:axis]) and all(end_mask[:axis]) and all(stride == 1 for stride in strides[:axis])
    if axis < 0 or not is_whole or len(begin_mask) <= axis or len(end_mask) <= axis:
        return None
    start = 0 if begin_mask[axis] else lists[0][axis]
    stop = None if end_mask[axis] or lists[1][axis] >= _END else lists[1][axis]
    return AxisRange(axis, start, stop, strides[axis])


def _other_masks(operator: object) -> list[list[int] | None]:
    return [getattr(operator, f"{name}_mask", None) for name in ("new_axis", "shrink_axis", "ellipsis")]
