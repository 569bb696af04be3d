"""Lowerings of the folder movement: gathering, joining, transposing."""

from __future__ import annotations

import numpy as np

from ir_exec.onnx.export.node import ExportNode
from ir_exec.onnx.export.registry import Outputs, export
from ir_exec.ops.movement.gather import (
    Gather1,
    Gather7,
    Gather8,
    GatherElements,
    GatherND5,
    GatherND8,
)
from ir_exec.ops.movement.join import Concat, Split, VariadicSplit
from ir_exec.ops.movement.transpose import Transpose
from ir_exec.types import Array, ElementType


def index(node: ExportNode, position: int) -> str:
    """An input of indices, as i32 or i64."""
    if node.kind(position) in (ElementType.i32, ElementType.i64):
        return node.inputs[position]
    return node.i64(position)


def required_axis(node: ExportNode, position: int, of: int = 0) -> int:
    """An axis from an input; refuses the layer if it is unknown."""
    return node.axis(int(node.required(position).reshape(-1)[0]), of)


@export(Gather1, Gather7, Gather8)
def gather(node: ExportNode) -> Outputs:
    axis = required_axis(node, 2)
    batch = getattr(node.op, "batch_dims", 0)
    if batch < 0:
        batch += node.known_rank(1)
    constant_indices = node.known(1)
    data, indices = node.inputs[0], index(node, 1)
    if isinstance(node.op, Gather8) and constant_indices is not None and node.rank() is not None:
        size = node.dims()[axis]
        if size.is_static and ((constant_indices < -size.size) | (constant_indices >= size.size)).any():
            return _with_zeros(node, data, constant_indices, axis, batch, size.size)
    return _emit_gather(node, data, indices, axis, batch)


def _emit_gather(node: ExportNode, data: str, indices: str, axis: int, batch: int) -> str:
    if not batch:
        return node.emit("Gather", data, indices, axis=axis)
    rank, indices_rank = node.known_rank(), node.known_rank(1)
    axis = axis + rank if axis < 0 else axis
    order = [*range(batch), axis, *(i for i in range(batch, rank) if i != axis)]
    tuples = node.unsqueeze(node.cast(indices, ElementType.i64), [indices_rank])
    gathered = node.emit("GatherND", node.transpose(data, order), tuples, batch_dims=batch)
    between, inner = axis - batch, indices_rank - batch
    back = [
        *range(batch),
        *(batch + inner + i for i in range(between)),
        *range(batch, batch + inner),
        *range(batch + inner + between, indices_rank + rank - 1 - batch),
    ]
    return node.transpose(gathered, back)


def _with_zeros(node: ExportNode, data: str, indices: Array, axis: int, batch: int, size: int) -> str:
    """The output with zeros for known indices out of range."""
    rank = node.known_rank()
    if not size:
        node.refuse("it gathers from an axis of size 0")
    wide = indices.astype(np.int64)
    outside = (wide < -size) | (wide >= size)
    gathered = _emit_gather(node, data, node.constant(np.where(outside, 0, wide)), axis, batch)
    mask = outside.reshape(
        indices.shape[:batch] + (1,) * (axis - batch) + indices.shape[batch:] + (1,) * (rank - axis - 1)
    )
    zero = "" if node.kind() is ElementType.string else 0
    fill = node.constant(np.array(zero, object)) if zero == "" else node.scalar_like(0, gathered)
    return node.emit("Where", node.constant(mask), fill, gathered)


@export(GatherElements)
def gather_elements(node: ExportNode) -> Outputs:
    return node.emit("GatherElements", node.inputs[0], index(node, 1), axis=node.op.axis)


@export(GatherND5, GatherND8)
def gather_nd(node: ExportNode) -> Outputs:
    batch = node.op.batch_dims
    gathered = node.emit("GatherND", node.inputs[0], node.i64(1), batch_dims=batch)
    if isinstance(node.op, GatherND8) or batch < 2:
        return gathered
    remaining_dims = node.emit("Shape", gathered, start=batch)
    return node.reshape(gathered, node.concat([node.ints([-1]), remaining_dims]), allow_zero=False)


@export(Concat)
def concat(node: ExportNode) -> Outputs:
    return node.emit("Concat", *node.inputs, axis=node.op.axis)


@export(Split)
def split(node: ExportNode) -> Outputs:
    axis = required_axis(node, 1)
    count = node.op.num_splits
    if count == 1:
        return node.emit("Identity", node.inputs[0])
    return _split(node, axis, count, None)


@export(VariadicSplit)
def variadic_split(node: ExportNode) -> Outputs:
    axis = required_axis(node, 1)
    count = len(node.out_types)
    lengths = node.known_ints(2)
    data = node.inputs[0]
    if lengths is None:
        sizes = node.i64(2)
        is_fixed = node.emit("Greater", sizes, node.ints([-1]))
        total = node.emit("ReduceSum", node.emit("Where", is_fixed, sizes, node.ints([0])), keepdims=1)
        remainder = node.emit("Sub", node.dim_of(data, axis), total)
        return _split(node, axis, count, node.emit("Where", is_fixed, sizes, remainder))
    if -1 in lengths:
        size = node.dims()[axis] if node.rank() is not None else None
        if size is None or not size.is_static:
            known_size = sum(length for length in lengths if length >= 0)
            remainder = node.emit("Sub", node.dim_of(data, axis), node.ints([known_size]))
            parts = [remainder if length < 0 else node.ints([length]) for length in lengths]
            return _split(node, axis, count, node.concat(parts))
        lengths = [size.size - sum(lengths) - 1 if length < 0 else length for length in lengths]
    return _split(node, axis, count, node.ints(lengths))


def _split(node: ExportNode, axis: int, count: int, sizes: str | None) -> Outputs:
    data = node.inputs[0]
    if sizes is not None:
        parts = node.emit("Split", data, sizes, outputs=count, axis=axis)
    elif node.opset >= 18:
        parts = node.emit("Split", data, outputs=count, axis=axis, num_outputs=count)
    else:
        parts = node.emit("Split", data, outputs=count, axis=axis)
    return (parts,) if isinstance(parts, str) else parts


@export(Transpose)
def transpose(node: ExportNode) -> Outputs:
    order = node.known_ints(1)
    if order is None:
        node.refuse("the order of the axes is known only at run time")
    if not order:
        return node.emit("Transpose", node.inputs[0])
    return node.emit("Transpose", node.inputs[0], perm=order)
