"""Lowerings of the folder movement: broadcasting, padding, rearranging, reordering."""

from __future__ import annotations

from itertools import chain

import numpy as np

from ir_exec.onnx.export.node import ExportNode
from ir_exec.onnx.export.ops.movement_slice import numbers
from ir_exec.onnx.export.registry import Outputs, export
from ir_exec.ops.movement.broadcast import Broadcast, Broadcast1, Tile
from ir_exec.ops.movement.pad import Pad, Pad1
from ir_exec.ops.movement.rearrange import (
    BatchToSpace,
    Col2Im,
    DepthToSpace,
    ExtractImagePatches,
    ShuffleChannels,
    SpaceToBatch,
    SpaceToDepth,
)
from ir_exec.ops.movement.reorder import Reverse, ReverseSequence, Roll
from ir_exec.types import ElementType

_LOWEST, _HIGHEST = -(2**63), 2**63 - 1


@export(Tile)
def tile(node: ExportNode) -> Outputs:
    rank = node.known_rank()
    length = node.dims(1)[0]
    if not length.is_static:
        node.refuse("the number of repeats is known only at run time")
    data = node.inputs[0]
    known_repeats = node.known_ints(1)
    if known_repeats is not None:
        repeats = node.ints([1] * (rank - len(known_repeats)) + [max(count, 0) for count in known_repeats])
    else:
        repeats = node.emit("Max", node.i64(1), node.ints([0]))
        if length.size < rank:
            repeats = node.concat([node.ints([1] * (rank - length.size)), repeats])
    if length.size > rank:
        data = node.unsqueeze(data, range(length.size - rank))
    if not max(rank, length.size):
        return node.emit("Identity", data)
    return node.emit("Tile", data, repeats)


@export(Broadcast1, Broadcast)
def broadcast(node: ExportNode) -> Outputs:
    mode = node.op._mode(node.has(2))
    data, target = node.inputs[0], node.i64(1)
    if mode == "explicit" and node.has(2):
        axes = [int(number) for number in node.required(2)]
        length = node.dims(1)
        if length.dims is None or not length[0].is_static:
            node.refuse("the rank of target_shape is unknown")
        rank = node.known_rank()
        data = node.unsqueeze(data, [axis for axis in range(length[0].size) if axis not in axes[:rank]])
    elif mode == "pdpd":
        length = node.dims(1)
        rank = node.known_rank()
        if length.dims is None or not length[0].is_static:
            node.refuse("the rank of target_shape is unknown")
        start = node.op._first_axis(rank, length[0].size)
        data = node.unsqueeze(data, range(rank, length[0].size - start))
    return node.emit("Expand", data, target)


@export(Pad, Pad1)
def pad(node: ExportNode) -> Outputs:
    mode = node.op.pad_mode
    begins, ends = node.known_ints(1), node.known_ints(2)
    data = node.inputs[0]
    if node.rank() == 0:
        return node.emit("Identity", data)
    is_known = begins is not None and ends is not None
    if mode == "constant" or (mode != "symmetric" and is_known and min([*(begins or []), *(ends or [])]) >= 0):
        pads = node.concat([node.i64(1), node.i64(2)])
        if is_known:
            pads = node.ints([*(begins or []), *(ends or [])])
        fill = [node.inputs[3]] if node.has(3) and mode == "constant" else []
        return node.emit("Pad", data, pads, *fill, mode=mode)
    rank = node.known_rank()
    befores, behinds = numbers(node, 1, rank), numbers(node, 2, rank)
    for axis, (before, behind) in enumerate(zip(befores, behinds, strict=True)):
        if before != 0 or behind != 0:
            data = node.emit("Gather", data, _places(node, axis, before, behind, mode), axis=axis)
    return data if data != node.inputs[0] else node.emit("Identity", data)


def _places(node: ExportNode, axis: int, begin: int | str, end: int | str, mode: str) -> str:
    """The indices of the elements that are copied to a padded axis."""
    size = node.dim(axis)
    if isinstance(size, int) and isinstance(begin, int) and isinstance(end, int):
        return node.ints(
            [int(index) for index in node.op._map_places(np.arange(-begin, max(size + end, -begin)), size)]
        )
    start = node.reshape(node.emit("Neg", node.dim_name(begin)), [])
    stop, unit = node.reshape(node.dim_name(node.plus(size, end)), []), node.constant(1, ElementType.i64)
    places = node.emit("Range", start, stop, unit)
    size_name = node.dim_name(size)
    last = node.emit("Sub", size_name, unit)
    if mode == "edge":
        return node.emit("Min", node.emit("Max", places, node.ints([0])), last)
    mirror = 0 if mode == "reflect" else 1
    turned = node.emit("Sub", node.ints([-mirror]), places)
    places = node.emit("Where", node.emit("Less", places, node.ints([0])), turned, places)
    back = node.emit("Sub", node.emit("Add", node.emit("Add", last, last), node.ints([mirror])), places)
    return node.emit("Where", node.emit("Less", places, size_name), places, back)


@export(ShuffleChannels)
def shuffle_channels(node: ExportNode) -> Outputs:
    rank = node.known_rank()
    axis, group = node.op.axis % rank, node.op.group
    dims = [node.dim(i) for i in range(rank)]
    split = [*dims[:axis], group, node.over(dims[axis], group), *dims[axis + 1 :]]
    order = list(range(rank + 1))
    order[axis : axis + 2] = [axis + 1, axis]
    return node.reshape_to(node.transpose(node.reshape_to(node.inputs[0], split), order), dims)


@export(DepthToSpace)
def depth_to_space(node: ExportNode) -> Outputs:
    rank, block = node.known_rank(), node.op.block_size
    data = node.inputs[0]
    blocks_first = node.op.mode == "blocks_first"
    if rank == 4 and block > 1:
        return node.emit("DepthToSpace", data, blocksize=block, mode="DCR" if blocks_first else "CRD")
    count = rank - 2
    batch, depth, *space = [node.dim(axis) for axis in range(rank)]
    depth = node.over(depth, block**count)
    blocks = [block] * count
    split = [batch, *blocks, depth, *space] if blocks_first else [batch, depth, *blocks, *space]
    cut = node.reshape_to(data, split)
    channel, first = (count + 1, 1) if blocks_first else (1, 2)
    order = [0, channel, *chain.from_iterable((2 + count + i, first + i) for i in range(count))]
    return node.reshape_to(node.transpose(cut, order), [batch, depth, *(node.times(size, block) for size in space)])


@export(SpaceToDepth)
def space_to_depth(node: ExportNode) -> Outputs:
    rank, block = node.known_rank(), node.op.block_size
    data = node.inputs[0]
    if rank == 4 and node.op.mode == "blocks_first":
        return node.emit("SpaceToDepth", data, blocksize=block)
    count = rank - 2
    batch, depth, *space = [node.dim(axis) for axis in range(rank)]
    space = [node.over(size, block) for size in space]
    cut = node.reshape_to(data, [batch, depth, *chain.from_iterable((size, block) for size in space)])
    places, blocks = range(2, 2 + 2 * count, 2), range(3, 3 + 2 * count, 2)
    order = [0, *blocks, 1, *places] if node.op.mode == "blocks_first" else [0, 1, *blocks, *places]
    return node.reshape_to(node.transpose(cut, order), [batch, node.times(depth, block**count), *space])


@export(BatchToSpace)
def batch_to_space(node: ExportNode) -> Outputs:
    rank = node.known_rank()
    count = rank - 1
    blocks, begins, ends = (numbers(node, position, rank) for position in (1, 2, 3))
    dims = [node.dim(axis) for axis in range(rank)]
    batch = node.over(dims[0], node.product(blocks))
    cut = node.reshape_to(node.inputs[0], [*blocks[1:], batch, *dims[1:]])
    order = [count, *chain.from_iterable((count + 1 + i, i) for i in range(count))]
    full_sizes = [node.times(dim, block) for dim, block in zip(dims[1:], blocks[1:], strict=True)]
    merged = node.reshape_to(node.transpose(cut, order), [batch, *full_sizes])
    axes = [axis for axis in range(1, rank) if begins[axis] != 0 or ends[axis] != 0]
    if not axes:
        return merged
    stops = [node.plus(full_sizes[axis - 1], _negative(node, ends[axis])) for axis in axes]
    starts = node.shape_from([begins[axis] for axis in axes])
    return node.emit("Slice", merged, starts, node.shape_from(stops), node.ints(axes))


def _negative(node: ExportNode, number: int | str) -> int | str:
    return -number if isinstance(number, int) else node.emit("Neg", number)


@export(SpaceToBatch)
def space_to_batch(node: ExportNode) -> Outputs:
    rank = node.known_rank()
    count = rank - 1
    blocks, begins, ends = (numbers(node, position, rank) for position in (1, 2, 3))
    dims = [node.dim(axis) for axis in range(rank)]
    data = node.inputs[0]
    if any(padding != 0 for padding in (*begins, *ends)):
        data = node.emit("Pad", data, node.shape_from([*begins, *ends]))
    padded = [node.plus(node.plus(dim, begins[axis]), ends[axis]) for axis, dim in enumerate(dims)]
    space = [node.over(padded[axis], blocks[axis]) for axis in range(1, rank)]
    cut = node.reshape_to(data, [dims[0], *chain.from_iterable(zip(space, blocks[1:], strict=True))])
    order = [*range(2, 2 + 2 * count, 2), 0, *range(1, 1 + 2 * count, 2)]
    return node.reshape_to(node.transpose(cut, order), [node.times(dims[0], node.product(blocks)), *space])


@export(ExtractImagePatches)
def extract_image_patches(node: ExportNode) -> Outputs:
    op = node.op
    batch, depth, *space = [node.dim(axis) for axis in range(4)]
    data = node.inputs[0]
    counts, begins, ends = zip(*[_patches(node, size, axis) for axis, size in enumerate(space)], strict=True)
    if any(padding != 0 for padding in (*begins, *ends)):
        data = node.emit("Pad", data, node.shape_from([0, 0, *begins, 0, 0, *ends]))
    for axis in range(2):
        down = node.ints([i * op.rates[axis] for i in range(op.sizes[axis])])
        across = node.emit("Mul", node.range_of(counts[axis]), node.ints([op.strides[axis]]))
        places = node.emit("Add", node.unsqueeze(down, [1]), across)
        data = node.emit("Gather", data, places, axis=2 + 2 * axis)
    data = node.transpose(data, [0, 2, 4, 1, 3, 5])
    return node.reshape_to(data, [batch, node.times(depth, int(np.prod(op.sizes))), *counts])


def _patches(node: ExportNode, size: int | str, axis: int) -> tuple[int | str, int | str, int | str]:
    """The number of patches along an axis, and the elements added before and after it."""
    op, stride, reach = node.op, node.op.strides[axis], node.op._reach(axis)
    is_valid = op.auto_pad == "valid"
    if isinstance(size, int):
        count = op._patches(size, axis)
        missing = max((count - 1) * stride + reach - size, 0) if count else 0
        begin = 0 if is_valid else (missing + (op.auto_pad == "same_lower")) // 2
        return count, begin, missing - begin
    zero = node.ints([0])
    left = node.emit("Max", node.dim_name(node.plus(size, stride - (reach if is_valid else 1))), zero)
    many = node.emit("Div", left, node.ints([stride]))
    last = node.emit("Mul", node.dim_name(node.plus(many, -1)), node.ints([stride]))
    lacking = node.emit("Max", node.emit("Sub", node.dim_name(node.plus(last, reach)), size), zero)
    if is_valid:
        # A patch that starts within the image is complete, unless there is none.
        return many, 0, 0
    before = node.over(node.plus(lacking, int(op.auto_pad == "same_lower")), 2)
    return many, before, node.emit("Sub", lacking, node.dim_name(before))


@export(Col2Im, opset=18)
def col2im(node: ExportNode) -> Outputs:
    op, element_type = node.op, node.kind()
    data = node.inputs[0]
    value = node.cast(data, ElementType.f32) if element_type is not ElementType.f16 else data
    has_batch = node.known_rank() == 3
    image = node.emit(
        "Col2Im",
        value if has_batch else node.unsqueeze(value, [0]),
        node.i64(1),
        node.i64(2),
        strides=list(op.strides),
        dilations=list(op.dilations),
        pads=[*op.pads_begin, *op.pads_end],
    )
    return node.cast(image if has_batch else node.squeeze(image, [0]), element_type)


@export(Roll)
def roll(node: ExportNode) -> Outputs:
    axes = [node.axis(int(number)) for number in node.required(2).reshape(-1)]
    shifts = node.known_ints(1)
    data = node.inputs[0]
    if shifts is not None:
        shifts = shifts * len(axes) if node.rank(1) == 0 else shifts
    for i, axis in enumerate(axes):
        size = node.dim(axis)
        if shifts is not None and isinstance(size, int):
            shift = shifts[i] % size if size else 0
            if shift:
                parts = [node.slice(data, size - shift, size, axis), node.slice(data, 0, size - shift, axis)]
                data = node.concat(parts, axis)
            continue
        shift_name = node.i64(1) if node.rank(1) == 0 else node.slice(node.i64(1), i, i + 1, 0)
        places = node.emit("Sub", node.range_of(size), shift_name)
        data = node.emit("Gather", data, node.emit("Mod", places, node.dim_name(size)), axis=axis)
    return data if data != node.inputs[0] else node.emit("Identity", data)


@export(Reverse)
def reverse(node: ExportNode) -> Outputs:
    axis = node.known(1)
    if axis is None:
        axes_name = node.i64(1) if node.op.mode == "index" else node.flat(node.emit("NonZero", node.inputs[1]))
        back, last = (node.emit("Expand", node.ints([number]), node.shape_of(axes_name)) for number in (-1, _LOWEST))
        return node.emit("Slice", node.inputs[0], back, last, axes_name, back)
    if node.op.mode == "mask":
        axes = [int(number) for number in np.flatnonzero(axis)]
    else:
        axes = sorted({node.axis(int(number)) for number in axis})
    if not axes:
        return node.emit("Identity", node.inputs[0])
    count = len(axes)
    first, last, step = node.ints([-1] * count), node.ints([_LOWEST] * count), node.ints([-1] * count)
    return node.emit("Slice", node.inputs[0], first, last, node.ints(axes), step)


@export(ReverseSequence)
def reverse_sequence(node: ExportNode) -> Outputs:
    rank = node.known_rank()
    batch, sequence = node.op.batch_axis % rank, node.op.seq_axis % rank
    lengths = node.i64(1)
    data = node.inputs[0]
    if {batch, sequence} == {0, 1}:
        return node.emit("ReverseSequence", data, lengths, batch_axis=batch, time_axis=sequence)
    order = [batch, sequence, *(axis for axis in range(rank) if axis not in (batch, sequence))]
    turned = node.emit("ReverseSequence", node.transpose(data, order), lengths, batch_axis=0, time_axis=1)
    return node.transpose(turned, [order.index(axis) for axis in range(rank)])
