"""The lowering of GatherTree: a loop from the last step of a beam search to the first."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ir_exec.onnx.export.algebra import I64, Expr, input_tensors, loop
from ir_exec.onnx.export.node import ExportNode
from ir_exec.onnx.export.registry import export
from ir_exec.ops.movement.gather_tree import GatherTree

_LOOP_TYPES = (np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.int32), I64)


@export(GatherTree)
def gather_tree(node: ExportNode) -> str:
    """Follow every beam back to its first step; after its end, and after its end token, all tokens are end_token."""
    own = input_tensors(node)[0].dtype
    wide = own if own in _LOOP_TYPES else np.dtype(np.float32 if own.kind != "i" and own.kind != "u" else np.int64)
    tokens, parents, lengths, end = (tensor.to(wide) for tensor in input_tensors(node))
    sheet = tokens.sheet
    steps, batch, beams = (tokens.dim(axis) for axis in range(3))
    numbers = sheet.arange(steps)
    inside = (numbers.unsqueeze(1) < lengths.to(I64).unsqueeze(0)).unsqueeze(2)
    own_lanes = sheet.arange(beams).expand(batch, beams)
    followed = inside.where(parents.to(I64), own_lanes.unsqueeze(0))
    last = steps - 1

    def step_back(number: Expr, lanes: Expr) -> tuple[Sequence[Expr], Sequence[Expr]]:
        step = last.reshape() - number
        step_tokens = tokens.gather(step).take_along(lanes, 1)
        return [followed.gather(step).take_along(lanes, 1)], [step_tokens]

    _, stacked = loop(steps, [own_lanes], step_back, [2])
    sequences = inside.where(stacked.flip(0), end)
    ended = sequences.equals(end).to(np.int32).cumsum(0) > 0
    return ended.where(end, sequences).to(own).name
