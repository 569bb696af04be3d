"""Lowerings of TopK and of searches in sorted sequences."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ir_exec.onnx.export.algebra import BOOL, I64, Expr, concat, input_tensors, widen
from ir_exec.onnx.export.ops.bucketize import search
from ir_exec.onnx.export.registry import export
from ir_exec.ops.sort.search_sorted import SearchSorted
from ir_exec.ops.sort.top_k import ExperimentalDetectronTopKROIs, TopK, TopK1, TopK3
from ir_exec.types import ElementType

if TYPE_CHECKING:
    from ir_exec.onnx.export.node import ExportNode


def comparable(data: Expr) -> Expr:
    """The elements in a dtype that TopK supports, in the same order."""
    element_type = ElementType.of_dtype(data.dtype)
    if data.dtype == np.uint64:
        # The upper half of the range wraps to the lower one.
        return data.to(I64) + np.iinfo(np.int64).min
    if element_type.is_float:
        return data.to(np.float64 if data.dtype == np.float64 else np.float32)
    return data.to(np.int32 if data.dtype == BOOL or element_type.bits < 32 else I64)


@export(TopK1, TopK3, TopK)
def top_k(node: ExportNode) -> tuple[str, ...]:
    """TopK; of equal elements the first is selected, and NaN is last."""
    op = node.op
    data, k = input_tensors(node)
    axis = op.axis % node.known_rank(0)
    largest = op.mode == "max"
    keys = comparable(data)
    if keys.dtype.kind == "f":
        end = -np.inf if largest else np.inf
        keys = keys.call("IsNaN", dtype=BOOL).where(end, keys)
    values, chosen = keys.topk(k, axis, largest)
    if op.sort == "index":
        chosen = chosen.topk(k, axis, largest=False)[0]
    elif keys.name == data.name:
        return values.name, chosen.to(op.index_element_type.dtype).name
    return data.take_along(chosen, axis).name, chosen.to(op.index_element_type.dtype).name


@export(ExperimentalDetectronTopKROIs)
def detectron_top_k_rois(node: ExportNode) -> str:
    """The boxes of the greatest probabilities, followed by zeros."""
    boxes, scores = input_tensors(node)
    count, sheet = node.op.max_rois, boxes.sheet
    number = scores.dim(0).at_most(count)
    _, order = scores.to(np.float32).topk(number, 0)
    best = boxes.gather(order, 0)
    missing = count - number
    return concat([best, sheet.zeros(sheet.ints(missing, 4), boxes.dtype)], 0).name


@export(SearchSorted)
def search_sorted(node: ExportNode) -> str:
    """A binary search in each row, or comparisons with all elements of short rows."""
    sequence, values = (widen(tensor) for tensor in input_tensors(node))
    dims, rank = node.types[0].shape.dims, node.known_rank(0)
    assert dims is not None
    size = dims[-1].lo if dims[-1].is_static else None
    if rank == 1:
        rows, flat = sequence.unsqueeze(0), values.reshape(1, -1)
    else:
        count = values.call("Shape", dtype=I64, end=-1).call("ReduceProd", keepdims=1)
        rows, flat = sequence.reshape(count, sequence.dim(-1)), values.reshape(count, values.dim(-1))
    positions = search(rows, flat, size, right=node.op.right_mode)
    return positions.call("Reshape", values.shape(), allowzero=1).to(node.op.output_type.dtype).name
