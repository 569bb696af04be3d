"""Lowerings of the folder movement: slices, and the distinct elements."""

from __future__ import annotations

from collections.abc import Sequence

from ir_exec.onnx.export.node import ExportNode
from ir_exec.onnx.export.ops.movement import required_axis
from ir_exec.onnx.export.registry import Outputs, export
from ir_exec.ops.movement.slice import Slice, SliceScatter, StridedSlice
from ir_exec.ops.movement.unique import Unique
from ir_exec.types import ElementType

_LOWEST, _HIGHEST = -(2**63), 2**63 - 1


@export(Slice)
def slice_(node: ExportNode) -> Outputs:
    return node.emit("Slice", node.inputs[0], *_bounds(node, 1))


def _bounds(node: ExportNode, first: int) -> list[str]:
    """start, stop, axes and step, from inputs start, stop, step and optionally axes."""
    start, stop, step = (node.i64(position) for position in range(first, first + 3))
    axes = node.i64(first + 3) if node.has(first + 3) else node.range_of(node.dim(0, first))
    return [start, stop, axes, step]


@export(SliceScatter)
def slice_scatter(node: ExportNode) -> Outputs:
    data = node.inputs[0]
    shape = node.shape_input(0)
    places = node.emit("Slice", _places(node, shape), *_bounds(node, 2))
    updates = node.inputs[1]
    if node.kind(1) is not node.kind(0):
        updates = node.cast(updates, node.kind(0))
    flat_result = node.emit("ScatterElements", node.flat(data), node.flat(places), node.flat(updates), axis=0)
    return node.emit("Reshape", flat_result, shape, allowzero=1)


def _places(node: ExportNode, shape: str) -> str:
    """The index of every element in the flattened data, in the shape of data."""
    count = node.emit("ReduceProd", shape, keepdims=1)
    return node.emit("Reshape", node.range_of(count), shape, allowzero=1)


@export(StridedSlice)
def strided_slice(node: ExportNode) -> Outputs:
    op = node.op
    lengths = [node.dims(position) for position in range(1, len(node.inputs)) if node.has(position)]
    length = next((length[0] for length in lengths if length.dims is not None and length[0].is_static), None)
    if length is None:
        node.refuse("the number of positions is known only at run time")
    count = length.size
    rank = node.rank()
    if rank is None and any(op.ellipsis_mask):
        node.refuse("the rank of data is unknown")
    named = count - sum(_bit(op.new_axis_mask, position) for position in range(count))
    parts = op._parts(count, named if rank is None else rank)
    begins, ends, steps = (numbers(node, position, count) for position in (1, 2, 3))
    sliced = [part for part in parts if part.kind == "slice"]
    starts: list[int | str] = []
    stops: list[int | str] = []
    for part in sliced:
        step = steps[part.position]
        is_masked = _bit(op.begin_mask, part.position), _bit(op.end_mask, part.position)
        if not isinstance(step, int) and any(is_masked):
            node.refuse("the stride is known only at run time")
        backward = isinstance(step, int) and step < 0
        starts.append((_HIGHEST if backward else 0) if is_masked[0] else begins[part.position])
        stops.append((_LOWEST if backward else _HIGHEST) if is_masked[1] else ends[part.position])
    data = node.inputs[0]
    strides = [steps[part.position] for part in sliced]
    if sliced and not _is_whole(starts, stops, strides):
        bounds = [node.shape_from(starts), node.shape_from(stops)]
        data = node.emit("Slice", data, *bounds, node.ints([part.axis for part in sliced]), node.shape_from(strides))
    for part in reversed([part for part in parts if part.kind == "shrink"]):
        begin = 0 if _bit(op.begin_mask, part.position) else begins[part.position]
        index = node.constant(begin, ElementType.i64) if isinstance(begin, int) else node.reshape(begin, [])
        data = node.emit("Gather", data, index, axis=part.axis)
    retained = [part for part in parts if part.kind != "shrink"]
    data = node.unsqueeze(data, [position for position, part in enumerate(retained) if part.kind == "new"])
    return data if data != node.inputs[0] else node.emit("Identity", data)


def _is_whole(starts: Sequence[int | str], stops: Sequence[int | str], strides: Sequence[int | str]) -> bool:
    return (
        all(start == 0 for start in starts)
        and all(stop == _HIGHEST for stop in stops)
        and all(stride == 1 for stride in strides)
    )


def numbers(node: ExportNode, position: int, count: int) -> list[int | str]:
    """The elements of an input: numbers if known, else tensors of one element."""
    if not node.has(position):
        return [1] * count
    constants = node.known_ints(position)
    if constants is not None:
        return list(constants)
    return [node.slice(node.i64(position), i, i + 1, 0) for i in range(count)]


def _bit(mask: Sequence[int], position: int) -> bool:
    return position < len(mask) and mask[position] == 1


@export(Unique)
def unique(node: ExportNode) -> Outputs:
    op = node.op
    axis = required_axis(node, 1) if node.has(1) else None
    values, first, inverse, counts = node.emit("Unique", node.inputs[0], outputs=4, axis=axis, sorted=int(op.sorted))
    return (
        values,
        node.cast(first, op.index_element_type),
        node.cast(inverse, op.index_element_type),
        node.cast(counts, op.count_element_type),
    )
