"""The lowering of Inverse: elimination with row exchanges, a loop over the columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ir_exec.onnx.export.algebra import Expr, concat, input_tensors, loop
from ir_exec.onnx.export.node import ExportNode
from ir_exec.onnx.export.registry import export
from ir_exec.ops.matrix.linear_algebra import Inverse


@export(Inverse)
def inverse(node: ExportNode) -> str:
    """Gauss-Jordan elimination of [data, 1], in f32; the pivot of a column is its element of the greatest magnitude."""
    data = input_tensors(node)[0]
    rank = node.known_rank()
    sheet = data.sheet
    side = data.dim(-1)
    matrices = data.to(np.float32).reshape(-1, side, side)
    count = matrices.dim(0)
    rows = sheet.arange(side)
    unit = rows.unsqueeze(1).equals(rows.unsqueeze(0)).to(np.float32)
    system = concat([matrices, unit.expand(count, side, side)], 2)

    def eliminate(step: Expr, system: Expr) -> tuple[Sequence[Expr], Sequence[Expr]]:
        column = system.gather(step, 2)
        is_open = rows >= step
        pivots = is_open.where(column.abs(), -1.0).argmax(1)
        # Exchange row `step` with the row of the pivot.
        places = rows.expand(count, side)
        places = places.equals(step).where(pivots, places.equals(pivots).where(step, places))
        system = system.take_along(places.unsqueeze(2).expand(count, side, side * 2), 1)
        first = system.gather(step.reshape(1), 1)
        factors = system.gather(step.reshape(1), 2) / first.gather(step.reshape(1), 2)
        is_pivot = rows.equals(step).unsqueeze(1)
        scaled = first / first.gather(step.reshape(1), 2)
        return [is_pivot.where(scaled, system - factors * first)], []

    (solved,) = loop(side, [system], eliminate)
    result = solved.slice(2, side, side * 2).reshape(*[data.dim(axis) for axis in range(rank)])
    if node.op.adjoint:
        result = result.transpose(*range(rank - 2), rank - 1, rank - 2)
    return result.to(data.dtype).name
