"""The lowering of OneHot."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ir_exec.onnx.export.algebra import I64, concat, input_tensors
from ir_exec.onnx.export.registry import export
from ir_exec.ops.sequence.one_hot import OneHot, OneHot1

if TYPE_CHECKING:
    from ir_exec.onnx.export.node import ExportNode


@export(OneHot1, OneHot)
def one_hot(node: ExportNode) -> str:
    """Equality with the indices of the new axis; ONNX's OneHot counts negative indices from the end."""
    op = node.op
    indices, depth, on, off = input_tensors(node)
    rank = node.known_rank(0)
    axis = op.axis % (rank + 1)
    if indices.dtype == np.uint64:
        # No index above the greatest i64 is in range, and neither is the greatest i64.
        indices = indices.call("Min", indices.sheet.constant(2**63 - 1, np.uint64))
    hot, size = indices.to(I64), depth.to(I64)
    if op.negative_indices_mode == "normalize":
        hot = (hot < 0).where(hot + size, hot)
    classes = hot.sheet.arange(size).reshape(-1, *[1] * (rank - axis))
    is_hot = hot.unsqueeze(axis).equals(classes)
    # Gather supports every element type.
    return concat([off.reshape(1), on.reshape(1)], 0).gather(is_hot.to(I64), 0).name
