"""The lowering of ScaledDotProductAttention."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ir_exec.onnx.export.algebra import BOOL, Expr, concat, input_tensors, widen
from ir_exec.onnx.export.registry import export
from ir_exec.ops.sequence.attention import ScaledDotProductAttention

if TYPE_CHECKING:
    from ir_exec.onnx.export.node import ExportNode


@export(ScaledDotProductAttention)
def scaled_dot_product_attention(node: ExportNode) -> str:
    """The products before and after a Softmax, in the form that onnxruntime's optimizer recognizes as attention."""
    query, key, value, *others = input_tensors(node)
    mask = others[0] if node.has(3) else None
    scale = others[1] if node.has(4) else None
    sink = others[2] if node.has(5) else None
    sheet, dtype, rank = query.sheet, widen(query).dtype, node.known_rank(1)
    order = [*range(rank - 2), rank - 1, rank - 2]
    factor: Expr | float
    if scale is not None:
        factor = scale.to(dtype).reshape()
    else:
        dims = node.types[0].shape.dims
        size = None if dims is None or not dims[-1].is_static else max(dims[-1].lo, 1)
        factor = size**-0.5 if size is not None else 1 / query.dim(-1).at_least(1).to(dtype).sqrt()
    scores = (query.to(dtype) * factor) @ key.to(dtype).transpose(*order)
    if node.op.causal:
        rows, columns = sheet.arange(query.dim(-2)).reshape(-1, 1), sheet.arange(key.dim(-2)).reshape(1, -1)
        scores = (columns <= rows).where(scores, -np.inf)
    elif mask is not None and mask.dtype == BOOL:
        scores = mask.where(scores, -np.inf)
    elif mask is not None:
        scores = scores + mask.to(dtype)
    if sink is not None:
        shape = concat([scores.call("Shape", dtype=np.int64, end=-1), sheet.ints(1)], 0)
        scores_with_sink = concat([scores, sink.to(dtype).expand_to(shape)], -1)
        shares = scores_with_sink.call("Softmax", axis=-1).slice(-1, 0, -1)
    else:
        shares = scores.call("Softmax", axis=-1)
    return (shares @ value.to(dtype)).to(query.dtype).name
