"""Lowerings of RegionYolo and ReorgYolo."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ir_exec.onnx.export.algebra import Expr, concat, input_tensors
from ir_exec.onnx.export.registry import export
from ir_exec.ops.base.shapes import normalize_axis
from ir_exec.ops.detection.yolo import RegionYolo, ReorgYolo

if TYPE_CHECKING:
    from ir_exec.onnx.export.node import ExportNode


@export(RegionYolo)
def region_yolo(node: ExportNode) -> str:
    """Sigmoid and Softmax of slices of each region."""
    op = node.op
    (data,) = input_tensors(node)
    regions, numbers = op._regions(), op.coords + op.classes + 1
    batch, space = data.dim(0), data.dim(2) * data.dim(3)
    values = data.to(np.float32).reshape(batch, data.dim(1), space)
    region_values = values.slice(1, 0, regions * numbers)
    remaining_values = values.slice(1, regions * numbers, 2**62)
    own = region_values.reshape(batch, regions, numbers, space)
    end = op.coords + 1 if op.do_softmax else numbers
    is_logistic = np.zeros((numbers, 1), np.bool_)
    is_logistic[:2] = is_logistic[op.coords : end] = True
    twice = np.zeros((numbers, 1), np.bool_)
    twice[op.coords : min(2, end)] = True
    activated = data.sheet.constant(is_logistic).where(own.call("Sigmoid"), own)
    if twice.any():
        activated = data.sheet.constant(twice).where(activated.call("Sigmoid"), activated)
    if op.do_softmax and op.classes:
        softmax = own.slice(2, op.coords + 1, numbers).call("Softmax", axis=2)
        activated = concat([activated.slice(2, 0, op.coords + 1), softmax], 2)
    result = activated.reshape(batch, regions * numbers, space)
    if op.do_softmax:
        result = concat([result, remaining_values], 1)
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
    (data,) = input_tensors(node)
    stride, sheet = node.op.stride[0], data.sheet
    batch, channels, rows, columns = (data.dim(axis) for axis in range(4))
    depth = channels // stride**2
    numbers = sheet.arange(channels).reshape(-1, 1, 1)
    offset, channel = numbers // depth, numbers % depth
    row = sheet.arange(rows).reshape(-1, 1) * stride + offset // stride
    column = sheet.arange(columns) * stride + offset % stride
    indices = (channel * rows * stride + row) * columns * stride + column
    starts = sheet.arange(batch).reshape(-1, 1, 1, 1) * (depth * rows * columns * stride**2)
    elements = data.reshape(-1).gather(starts + indices, 0)
    return elements.reshape(batch, channels * stride**2, rows // stride, columns // stride).name
