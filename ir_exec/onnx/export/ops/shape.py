"""Lowerings of the folder shape."""

from __future__ import annotations

from ir_exec.onnx.export.node import ExportNode
from ir_exec.onnx.export.registry import Outputs, export
from ir_exec.ops.shape import Reshape, ShapeOf, ShapeOf1, Squeeze, Squeeze1, Unsqueeze
from ir_exec.types import ElementType


@export(ShapeOf, ShapeOf1)
def shape_of(node: ExportNode) -> Outputs:
    return node.cast(node.emit("Shape", node.inputs[0]), getattr(node.op, "output_type", ElementType.i64))


@export(Squeeze, Squeeze1)
def squeeze(node: ExportNode) -> Outputs:
    data, shape = node.inputs[0], node.dims()
    axes = node.known_ints(1) if node.has(1) else []
    if axes is None:
        return node.emit("Squeeze", data, node.flat(node.i64(1)))
    if shape.dims is None:
        return node.emit("Squeeze", data, node.ints(axes)) if axes else node.emit("Squeeze", data)
    rank = len(shape.dims)
    chosen = sorted({axis % rank for axis in axes}) if axes and rank else list(range(rank))
    if not axes and any(not dim.is_static and 1 in dim for dim in shape.dims):
        return node.emit("Squeeze", data)
    removed = [axis for axis in chosen if 1 in shape.dims[axis]]
    return node.squeeze(data, removed) if removed else node.emit("Identity", data)


@export(Unsqueeze)
def unsqueeze(node: ExportNode) -> Outputs:
    axes, rank = node.known_ints(1), node.rank()
    if axes is None:
        return node.emit("Unsqueeze", node.inputs[0], node.flat(node.i64(1)))
    count = len(set(axes))
    if rank is not None:
        axes = sorted({axis + rank + count if axis < 0 else axis for axis in axes})
        axes = [min(axis, rank + i) for i, axis in enumerate(axes)]
    return node.unsqueeze(node.inputs[0], axes)


@export(Reshape)
def reshape(node: ExportNode) -> Outputs:
    data = node.inputs[0]
    sizes = node.known_ints(1)
    out = node.out_types[0].shape
    if sizes is None:
        return node.emit("Reshape", data, node.i64(1), allowzero=None if node.op.special_zero else 1)
    if out.is_static:
        return node.emit("Reshape", data, node.ints(out.static), allowzero=1 if 0 in out.static else None)
    has_zero = 0 in sizes and not node.op.special_zero
    return node.emit("Reshape", data, node.ints(sizes), allowzero=1 if has_zero else None)
