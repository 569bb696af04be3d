"""The lowering of Bucketize, and the search shared with SearchSorted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ir_exec.onnx.export.algebra import I64, Expr, input_tensors, loop, widen
from ir_exec.onnx.export.registry import export
from ir_exec.ops.condition import Bucketize

if TYPE_CHECKING:
    from ir_exec.onnx.export.node import ExportNode

_FEW = 64
"""Maximum elements of a sequence that are all compared with every value."""


def search(rows: Expr, values: Expr, size: int | None, *, right: bool) -> Expr:
    """The positions of values [r, m] in sorted rows [r, n], i64: before equal elements, or after them if `right`.

    NaN gets position 0.

    Args:
        size: n if known.
    """
    if size == 0:
        return values.sheet.zeros(values.shape(), I64)
    if size is not None and size <= _FEW:
        wide, each = values.unsqueeze(2), rows.unsqueeze(1)
        return (each <= wide if right else each < wide).to(I64).sum([2], keep=False)
    last = rows.dim(1).squeeze(0)
    # One more element, which is never reached, makes the position after the last one a valid index.
    looked = rows.pad([0, 0], [0, 1])
    steps = ((last + 1).to(np.float64).log() / np.log(2)).ceil().to(I64) + 1
    none = values.sheet.zeros(values.shape(), I64)

    def body(_: Expr, low: Expr, high: Expr) -> tuple[list[Expr], list[Expr]]:
        middle = (low + high) // 2
        elements = looked.take_along(middle, 1)
        goes_up = (elements <= values if right else elements < values) & (low < high)
        return [goes_up.where(middle + 1, low), goes_up.where(high, middle)], []

    return loop(steps, [none, none + last], body)[0]


def common(*values: Expr) -> list[Expr]:
    """Tensors in one dtype, in which NumPy compares them."""
    dtype = np.result_type(*[widen(value).dtype for value in values])
    return [value.to(dtype) for value in values]


@export(Bucketize)
def bucketize(node: ExportNode) -> str:
    """The number of boundaries below each element."""
    data, buckets = common(*input_tensors(node))
    dims = node.types[1].shape.dims
    size = dims[0].lo if dims is not None and dims[0].is_static else None
    right = not node.op.with_right_bound
    flat = data.reshape(1, -1)
    positions = search(buckets.unsqueeze(0), flat, size, right=right)
    if right and data.dtype.kind == "f":
        positions = flat.call("IsNaN", dtype=np.bool_).where(buckets.dim(0), positions)
    return positions.call("Reshape", data.shape(), allowzero=1).to(node.op.output_type.dtype).name
