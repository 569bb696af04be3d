"""Lowerings of RegionYolo and ReorgYolo."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ir_exec.onnx.export.algebra import Expr, concat, given
from ir_exec.onnx.export.registry import export
from ir_exec.ops.base.shapes import normalize_axis
from ir_exec.ops.detection.yolo import RegionYolo, ReorgYolo

if TYPE_CHECKING:
    from ir_exec.onnx.export.node import ExportNode


@export(RegionYolo)
def region_yolo(node: ExportNode) -> str:
    """Sigmoid and Softmax of slices of each region."""
    op = node.op
    (data,) = given(node)
    regions, numbers = op._regions(), op.coords + op.classes + 1
    batch, space = data.dim(0), data.dim(2) * data.dim(3)
    values = data.to(np.float32).reshape(batch, data.dim(1), space)
    whole = values.slice(1, 0, regions * numbers)
    rest = values.slice(1, regions * numbers, 2**62)
    own = whole.reshape(batch, regions, numbers, space)
    end = op.coords + 1 if op.do_softmax else numbers
    is_logistic = np.zeros((numbers, 1), np.bool_)
    is_logistic[:2] = is_logistic[op.coords : end] = True
    twice = np.zeros((numbers, 1), np.bool_)
    twice[op.coords : min(2, end)] = True
    found = data.sheet.constant(is_logistic).where(own.call("Sigmoid"), own)
    if twice.any():
        found = data.sheet.constant(twice).where(found.call("Sigmoid"), found)
    if op.do_softmax and op.classes:
        softmax = own.slice(2, op.coords + 1, numbers).call("Softmax", axis=2)
        found = concat([found.slice(2, 0, op.coords + 1), softmax], 2)
    result = found.reshape(batch, regions * numbers, space)
    if op.do_softmax:
        result = concat([result, rest], 1)
    result = result.to(data.dtype)
    if not op.do_softmax:
        return result.reshape(batch, regions * numbers, data.dim(2), data.dim(3)).name
    first = normalize_axis(op.axis, 4)
    last = max(normalize_axis(op.end_axis, 4), first)
    dims: list[Expr | int] = [data.dim(axis) for axis in range(4)]
    flat = dims[first]
    for dim in dims[first + 1 : last + 1]:
        flat = flat * dim
    return result.reshape(*dims[:first], flat, *dims[last + 1 :]).name


@export(ReorgYolo)
def reorg_yolo(node: ExportNode) -> str:
    """A Gather from the flattened data."""
    (data,) = given(node)
    stride, sheet = node.op.stride[0], data.sheet
    batch, channels, rows, columns = (data.dim(axis) for axis in range(4))
    kept = channels // stride**2
    numbers = sheet.arange(channels).reshape(-1, 1, 1)
    place, channel = numbers // kept, numbers % kept
    row = sheet.arange(rows).reshape(-1, 1) * stride + place // stride
    column = sheet.arange(columns) * stride + place % stride
    indices = (channel * rows * stride + row) * columns * stride + column
    starts = sheet.arange(batch).reshape(-1, 1, 1, 1) * (kept * rows * columns * stride**2)
    found = data.reshape(-1).gather(starts + indices, 0)
    return found.reshape(batch, channels * stride**2, rows // stride, columns // stride).name
