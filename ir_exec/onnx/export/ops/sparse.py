"""Lowerings of embedding bags and of SparseFillEmptyRows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ir_exec.kernels.precision import accumulator
from ir_exec.onnx.export.algebra import BOOL, I64, Expr, concat, input_tensors
from ir_exec.onnx.export.registry import export
from ir_exec.ops.sparse import (
    EmbeddingBagOffsets,
    EmbeddingBagOffsetsSum,
    EmbeddingBagPacked,
    EmbeddingBagPackedSum,
    EmbeddingSegmentsSum,
    SparseFillEmptyRows,
)
from ir_exec.types import ElementType

if TYPE_CHECKING:
    from ir_exec.onnx.export.node import ExportNode


def _adding(table: Expr) -> Expr:
    """The table in a dtype for the addition of rows; integers wrap in the conversion back."""
    element_type = ElementType.of_dtype(table.dtype)
    return table.to(accumulator(table.dtype) if element_type.is_float else np.dtype(np.int64))


def _weight_rows(node: ExportNode, table: Expr, indices: Expr, weights: Expr | None) -> Expr:
    """The rows of the table at the indices, times their weights."""
    wide = _adding(table)
    rows = wide.gather(indices.to(I64), 0)
    if weights is None:
        return rows
    behind = [1] * (node.known_rank(0) - 1)
    return rows * weights.to(wide.dtype).reshape(weights.shape(), *behind)


@export(EmbeddingBagPackedSum, EmbeddingBagPacked)
def packed_sum(node: ExportNode) -> str:
    """Sums, or means, of gathered rows."""
    table, indices, *weights = input_tensors(node)
    rows = _weight_rows(node, table, indices, weights[0] if weights else None)
    sums = rows.sum([1], keep=False)
    if node.op.reduction == "mean":
        sums = sums / indices.dim(1).at_least(1).to(sums.dtype)
    return sums.to(table.dtype).name


@export(EmbeddingBagOffsetsSum, EmbeddingBagOffsets)
def offsets_sum(node: ExportNode) -> str:
    """Rows added to their bags; rows before the first offset are added to an extra bag, which is dropped."""
    values = input_tensors(node)
    table, indices, offsets = values[:3]
    default = values[3] if node.has(3) else None
    weights = values[4] if node.has(4) else None
    sheet, count = table.sheet, offsets.dim(0)
    begun = sheet.zeros(indices.dim(0) + 1, I64)
    ones = sheet.zeros(offsets.shape(), I64, 1)
    begun = begun.call("ScatterND", offsets.to(I64).unsqueeze(1), ones, reduction="add")
    bags = begun.cumsum(0).slice(0, 0, -1) - 1
    bags = (bags < 0).where(count, bags)
    return _bags(node, table, indices, bags, count, default, weights, node.op.reduction)


@export(EmbeddingSegmentsSum)
def segments_sum(node: ExportNode) -> str:
    """Rows added to their segments."""
    values = input_tensors(node)
    table, indices, segments, number = values[:4]
    default = values[4] if node.has(4) else None
    weights = values[5] if node.has(5) else None
    return _bags(node, table, indices, segments.to(I64), number.sheet.ints(number), default, weights, "sum")


def _bags(
    node: ExportNode,
    table: Expr,
    indices: Expr,
    bags: Expr,
    count: Expr,
    default: Expr | None,
    weights: Expr | None,
    reduction: str,
) -> str:
    """The sums or means of rows in each bag; empty bags have the row of the default index."""
    sheet, behind = table.sheet, [1] * (node.known_rank(0) - 1)
    rows = _weight_rows(node, table, indices, weights)
    shape = sheet.ints(count + 1, table.call("Shape", dtype=I64, start=1)) if behind else count + 1
    places = bags.unsqueeze(1)
    sums = sheet.zeros(shape, rows.dtype).call("ScatterND", places, rows, reduction="add").slice(0, 0, count)
    ones = sheet.zeros(bags.shape(), I64, 1)
    sizes = sheet.zeros(count + 1, I64).call("ScatterND", places, ones, reduction="add").slice(0, 0, count)
    sizes = sizes.reshape(-1, *behind)
    if reduction == "mean":
        sums = sums / sizes.at_least(1).to(sums.dtype)
    result = sums.to(table.dtype)
    if default is not None:
        index = default.to(I64).reshape()
        # Without rows the table is not read.
        row = table.gather(index.at_least(0), 0)
        result = (sizes.equals(0) & (index >= 0)).where(row, result)
    return result.name


@export(SparseFillEmptyRows)
def sparse_fill_empty_rows(node: ExportNode) -> tuple[str, ...]:
    """The default values appended to the others, all sorted by row and column."""
    values, dense_shape, indices, default = input_tensors(node)
    sheet, shape = values.sheet, dense_shape.to(I64)
    rows, columns = shape.slice(0, 0, 1), shape.slice(0, 1, 2)
    places = indices.to(I64)
    row = places.slice(1, 0, 1)
    ones = sheet.zeros(values.shape(), I64, 1)
    counts = sheet.zeros(rows, I64).call("ScatterND", row, ones, reduction="add")
    is_empty = counts.equals(0)
    empty = is_empty.call("NonZero", dtype=I64).reshape(-1, 1)
    every = concat([places, concat([empty, empty * 0], 1)], 0)
    fill_value: Any = default if default.dtype == values.dtype else default.to(values.dtype)
    fill = fill_value.reshape(1).gather((empty * 0).reshape(-1), 0)
    keys = (every.slice(1, 0, 1) * columns + every.slice(1, 1, 2)).reshape(-1)
    _, order = keys.topk(keys.dim(0), 0, largest=False)
    sorted_values = concat([values, fill], 0).gather(order, 0)
    return every.gather(order, 0).to(indices.dtype).name, sorted_values.name, is_empty.to(BOOL).name
