"""Quantization whose limits are known before a run, with the activation before it, as one step in place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ir_exec.graph import Node
from ir_exec.ops import In, Op
from ir_exec.ops.base.operator import check_contract
from ir_exec.plan.graph import Fusion, PlanGraph
from ir_exec.types import Array, ElementType, TensorType, element_types

if TYPE_CHECKING:
    from ir_exec.kernels.quantize import Levels

__all__ = ["Quantized", "as_quantized"]


class Quantized(Op):
    """FakeQuantize with limits that are known, none of them reversed."""

    inputs = (In("data", types=element_types("f32")),)
    inplace_inputs = ("data",)

    _levels: Levels

    def __init__(self, levels: Levels) -> None:
        vars(self).update(_levels=levels)

    def infer(self, data: TensorType) -> TensorType:
        return data.without_values()

    def evaluate(self, data: Array, *, out: Array | None = None) -> Array:
        return self._levels.quantized(data, out)


check_contract(Quantized, "Quantized")


def as_quantized(draft: PlanGraph, node: Node) -> Fusion | None:
    """A FakeQuantize of f32, perhaps behind a ReLU or Clamp that changes nothing that is not clipped to the same level.

    The results are the same.
    """
    before = node if draft.kind(node) in ("ReLU", "Clamp") else None
    quantizing = node if before is None else draft.only_reader(before.outputs[0])
    levels = None if quantizing is None else _levels(draft, quantizing)
    if quantizing is None or levels is None:
        return None
    if before is None:
        return Fusion([node], Quantized(levels), [node.values_in[0]])
    if quantizing.values_in[0] is not before.outputs[0] or not _contains(levels, draft.operator(before)):
        return None
    return Fusion([before, quantizing], Quantized(levels), [before.values_in[0]])


def _levels(draft: PlanGraph, node: Node) -> Levels | None:
    if draft.kind(node) != "FakeQuantize":
        return None
    data = draft.type(node.values_in[0])
    limits = [array for value in node.values_in[1:] if (array := draft.known(value)) is not None]
    if data.element_type is not ElementType.f32 or data.rank is None or len(limits) < 4:
        return None
    from ir_exec.kernels.quantize import level_numbers  # few networks have quantizations

    op: Any = draft.operator(node)
    found = level_numbers([limit.astype(np.float32, copy=False) for limit in limits], op.levels - 1, data.rank)
    return found if found.last is None else None


def _contains(levels: Levels, op: Any) -> bool:
    """Whether the limits of the input lie between those of an activation, which are 0 and infinity for ReLU."""
    lowest, highest = (0.0, np.inf) if op.type_name == "ReLU" else (op.min, op.max)
    return bool(np.all(levels.least >= lowest) and np.all(levels.most <= highest))
