"""Lowerings of the folder movement: the scatter family."""

from __future__ import annotations

from typing import Any

import numpy as np

from ir_exec.onnx.export.node import ExportNode
from ir_exec.onnx.export.ops.common import narrow, working
from ir_exec.onnx.export.ops.movement import required_axis
from ir_exec.onnx.export.registry import Outputs, export
from ir_exec.ops.movement.scatter import (
    ScatterElementsUpdate3,
    ScatterElementsUpdate12,
    ScatterUpdate,
)
from ir_exec.ops.movement.scatter_nd import ScatterNDUpdate4, ScatterNDUpdate15
from ir_exec.types import ElementType

_REDUCTIONS = {"sum": "add", "sub": "add", "mean": "add", "prod": "mul", "min": "min", "max": "max"}


@export(ScatterUpdate)
def scatter_update(node: ExportNode) -> Outputs:
    axis = required_axis(node, 3)
    data, updates = node.inputs[0], node.inputs[2]
    rank, count = node.known_rank(), node.known_rank(1)
    axis = axis + rank if axis < 0 else axis
    order = [axis, *(i for i in range(rank) if i != axis)]
    inner = [*range(axis, axis + count), *range(axis), *range(axis + count, rank - 1 + count)]
    tuples = node.unsqueeze(node.i64(1), [count])
    result = node.emit("ScatterND", node.transpose(data, order), tuples, node.transpose(updates, inner))
    return node.transpose(result, [order.index(i) for i in range(rank)])


@export(ScatterElementsUpdate3)
def scatter_elements_update(node: ExportNode) -> Outputs:
    return node.emit("ScatterElements", node.inputs[0], node.i64(1), node.inputs[2], axis=required_axis(node, 3))


@export(ScatterElementsUpdate12)
def scatter_elements_update_12(node: ExportNode) -> Outputs:
    op = node.op
    axis = required_axis(node, 3)
    if op.reduction == "none":
        return node.emit("ScatterElements", node.inputs[0], node.i64(1), node.inputs[2], axis=axis)
    return _emit_scatter(node, "ScatterElements", op.reduction, node.i64(1), 2, op.use_init_val, axis=axis)


@export(ScatterNDUpdate4, ScatterNDUpdate15)
def scatter_nd_update(node: ExportNode) -> Outputs:
    reduction = getattr(node.op, "reduction", "none")
    indices = node.i64(1)
    if node.rank(2) is not None and node.rank(1) == 1 and node.rank(2) != _update_rank(node):
        node.inputs[2] = node.reshape(node.inputs[2], [])
    if reduction == "none":
        return node.emit("ScatterND", node.inputs[0], indices, node.inputs[2])
    return _emit_scatter(node, "ScatterND", reduction, indices, 2, True)


def _update_rank(node: ExportNode) -> int:
    """The rank of the updates of a single tuple."""
    length = node.dims(1)[0]
    return node.known_rank() - length.size if length.is_static else node.known_rank(2)


def _emit_scatter(
    node: ExportNode, operator: str, reduction: str, indices: str, position: int, use_init: bool, **attributes: Any
) -> str:
    """Updates that are reduced with each other and, with `use_init`, with the data."""
    element_type = node.kind()
    if node.opset < 18 and reduction in ("min", "max"):
        node.refuse("it requires opset 18 of ONNX")
    if element_type is ElementType.boolean:
        return _of_booleans(node, operator, reduction, indices, position, use_init, **attributes)
    data, updates = working(node, 0), working(node, position)
    if (element_type.is_integer and element_type.bits < 32) or (element_type.is_integer and reduction == "mean"):
        data, updates = node.cast(data, ElementType.i64), node.cast(updates, ElementType.i64)
    if element_type.is_float and element_type.bits < 32:
        data, updates = node.cast(data, ElementType.f32), node.cast(updates, ElementType.f32)
    if not use_init:
        neutral = node.scalar_like(_neutral(reduction, node, data), data)
        data = node.emit(operator, data, indices, node.emit("Expand", neutral, node.shape_of(updates)), **attributes)
    if reduction == "sub":
        updates = node.emit("Neg", updates)
    result = node.emit(operator, data, indices, updates, **attributes, reduction=_REDUCTIONS[reduction])
    if reduction == "mean":
        result = _mean(node, operator, indices, result, updates, use_init, **attributes)
    return narrow(node, result, element_type)


def _neutral(reduction: str, node: ExportNode, data: str) -> float:
    if reduction in ("sum", "sub", "mean", "prod"):
        return float(reduction == "prod")
    if node.kind().is_float:
        return np.inf if reduction == "min" else -np.inf
    low, high = (-(2**62), 2**62) if node.code_of(data) == 7 else (-(2**31), 2**31 - 1)
    return high if reduction == "min" else low


def _mean(
    node: ExportNode, operator: str, indices: str, sums: str, updates: str, use_init: bool, **attributes: Any
) -> str:
    unit = node.scalar_like(1, sums)
    ones = node.emit("Expand", unit, node.shape_of(updates))
    start = node.emit("Expand", node.scalar_like(int(use_init), sums), node.shape_of(sums))
    counts = node.emit("Max", node.emit(operator, start, indices, ones, **attributes, reduction="add"), unit)
    if node.kind().is_float:
        return node.emit("Div", sums, counts)
    remainder = node.emit("Mod", sums, counts)
    return node.emit("Div", node.emit("Sub", sums, remainder), counts)


def _of_booleans(
    node: ExportNode, operator: str, reduction: str, indices: str, position: int, use_init: bool, **attributes: Any
) -> str:
    element_type = ElementType.i32
    data, updates = node.cast(node.inputs[0], element_type), node.cast(node.inputs[position], element_type)
    rule = {"sum": "max", "max": "max", "prod": "min", "min": "min", "sub": "add"}[reduction]
    if not use_init:
        neutral = node.constant(int(rule == "min"), element_type)
        data = node.emit(operator, data, indices, node.emit("Expand", neutral, node.shape_of(updates)), **attributes)
    result = node.emit(operator, data, indices, updates, **attributes, reduction=rule)
    if reduction == "sub":
        result = node.emit("Mod", result, node.constant(2, element_type))
    return node.cast(result, ElementType.boolean)
