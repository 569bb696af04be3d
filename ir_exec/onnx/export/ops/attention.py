"""The lowering of ScaledDotProductAttention."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ir_exec.onnx.export.algebra import BOOL, Expr, concat, input_tensors, widen
from ir_exec.onnx.export.registry import export
from ir_exec.ops.sequence.attention import ScaledDotProductAttention
from ir_exec.types import ElementType

if TYPE_CHECKING:
    from ir_exec.onnx.export.node import ExportNode


def fits_multi_head(node: ExportNode) -> bool:
    """Return True if onnxruntime's operator for unmasked attention accepts query, key and value, the first inputs.

    They are f32 of [batch, heads, length, size], with known heads and sizes and equal batches.
    """
    types = node.types[:3]
    if node.target != "onnxruntime" or any(type.element_type is not ElementType.f32 for type in types):
        return False
    shapes = [type.shape.dims for type in types]
    if any(shape is None or len(shape) != 4 for shape in shapes):
        return False
    query, key, value = (shape or () for shape in shapes)
    batches, heads, sizes = zip(*((shape[0], shape[1], shape[3]) for shape in (query, key, value)), strict=True)
    is_known = all(dim.is_static and dim == dims[0] and dim.lo > 0 for dims in (heads, sizes) for dim in dims)
    return is_known and len(set(batches)) == 1


def emit_multi_head(node: ExportNode, scale: float, *, key: str | None = None, value: str | None = None) -> str:
    """Attention without a mask, in blocks that fit a cache: onnxruntime never stores all scores.

    The Transposes of query and output cancel out with those of a model.

    Args:
        key: The key, by default the second input.
        value: The value, by default the third input.
    """
    heads, size = (node.dims()[axis].lo for axis in (1, 3))
    query = node.emit("Transpose", node.inputs[0], perm=[0, 2, 1, 3])
    rows = node.reshape(query, [0, 0, heads * size])
    attended = node.emit(
        "MultiHeadAttention",
        rows,
        key or node.inputs[1],
        value or node.inputs[2],
        domain="com.microsoft",
        num_heads=heads,
        scale=scale,
    )
    return node.emit("Transpose", node.reshape(attended, [0, 0, heads, size]), perm=[0, 2, 1, 3])


@export(ScaledDotProductAttention)
def scaled_dot_product_attention(node: ExportNode) -> str:
    """The products before and after a Softmax, in the form that onnxruntime's optimizer recognizes as attention."""
    if not node.op.causal and not any(map(node.has, (3, 5))):
        factors = node.known(4)
        if fits_multi_head(node) and (factors is not None or not node.has(4)):
            return emit_multi_head(node, node.dims()[-1].lo ** -0.5 if factors is None else float(factors.reshape(())))
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
