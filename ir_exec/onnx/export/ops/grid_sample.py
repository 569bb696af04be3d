"""The lowering of GridSample."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ir_exec.onnx.export.algebra import BOOL, I64, Expr, input_tensors
from ir_exec.onnx.export.registry import export
from ir_exec.ops.image.grid_sample import GridSample
from ir_exec.types import ElementType

if TYPE_CHECKING:
    from ir_exec.onnx.export.node import ExportNode


@export(GridSample)
def grid_sample(node: ExportNode) -> str:
    """ONNX's GridSample for f32; gathered elements for other types, and for reflections between elements."""
    op = node.op
    data, grid = input_tensors(node)
    if data.dtype == np.float32 and (op.padding_mode == "zeros" or op.mode == "nearest") and op.mode != "bicubic":
        modes = {"bilinear": "linear", "bicubic": "cubic", "nearest": "nearest"}
        mode = modes[op.mode] if node.opset >= 20 else op.mode
        options = {"mode": mode, "padding_mode": op.padding_mode, "align_corners": int(op.align_corners)}
        return data.call("GridSample", grid.to(np.float32), **options).name
    element_type = ElementType.of_dtype(data.dtype)
    working = np.float64 if element_type.bits >= 32 and element_type is not ElementType.f32 else np.float32
    places = grid.to(np.float64 if grid.dtype == np.float64 else np.float32)
    exact = op.mode == "nearest"
    images = data if exact else data.to(working)
    batch, channels = data.dim(0), data.dim(1)
    flat = images.reshape(batch, channels, data.dim(2) * data.dim(3))
    axes = []
    for number, axis in ((1, 2), (0, 3)):
        size = data.dim(axis)
        position = places.gather(number, 3) + 1
        position = position * (size - 1 if op.align_corners else size).to(places.dtype)
        if not op.align_corners:
            position = position - 1
        axes.append([_clip_index(node, *tap, size) for tap in _taps(op.mode, position * 0.5)])
    total: Expr | None = None
    for row, row_share, row_out in axes[0]:
        for column, column_share, column_out in axes[1]:
            points = (row * data.dim(3) + column).reshape(batch, 1, -1)
            read = flat.take_along(points.expand(batch, channels, points.dim(2)), 2)
            if row_out is not None and column_out is not None:
                read = (row_out | column_out).reshape(batch, 1, -1).where(0, read)
            if row_share is not None and column_share is not None:
                read = read * (row_share * column_share).to(read.dtype).reshape(batch, 1, -1)
            total = read if total is None else total + read
    assert total is not None
    result = total.reshape(batch, channels, grid.dim(1), grid.dim(2))
    if element_type.is_integer and not exact:
        values = result.rint() if element_type.bits <= 8 else result.trunc()
        limits = np.iinfo(data.dtype)
        result = values.clip(float(limits.min), float(limits.max))
    return result.to(data.dtype).name


def _taps(mode: str, position: Expr) -> list[tuple[Expr, Expr | None]]:
    """The elements along an axis that contribute to a position, with their weights."""
    if mode == "nearest":
        return [(position.rint(), None)]
    low = position.floor()
    near = position - low
    far = 1 - near
    if mode == "bilinear":
        return [(low, far), (low + 1, near)]
    a = -0.75
    return [
        (low - 1, near * far * far * a),
        (low, (near * (a + 2) - (a + 3)) * near * near + 1),
        (low + 1, (far * (a + 2) - (a + 3)) * far * far + 1),
        (low + 2, near * near * far * a),
    ]


def _clip_index(node: ExportNode, index: Expr, share: Expr | None, size: Expr) -> tuple[Expr, Expr | None, Expr | None]:
    """The index clipped to the axis, its weight, and a mask of indices out of range for zero padding."""
    op = node.op
    if op.padding_mode == "reflection":
        is_none = index.call("IsNaN", dtype=BOOL)
        numbers = is_none.where(0, index).clip(-(2.0**53), 2.0**53).to(I64)
        if op.align_corners:
            period = ((size - 1) * 2).at_least(1)
            numbers = numbers.abs() % period
            return (numbers < size).where(numbers, period - numbers), share, None
        numbers = numbers % (size * 2)
        return (numbers < size).where(numbers, size * 2 - 1 - numbers), share, None
    end = (size - 1).to(index.dtype)
    is_none = index.call("IsNaN", dtype=BOOL)
    clipped = is_none.where(0, index).at_least(0).at_most(end)
    outside = ~clipped.equals(index) if op.padding_mode == "zeros" else None
    return clipped.to(I64), share, outside
