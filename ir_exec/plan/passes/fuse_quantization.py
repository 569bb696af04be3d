"""Quantization with limits known before a run, and the activation before it, as one step in place."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ir_exec.graph import Value
from ir_exec.ops import In, Op
from ir_exec.ops.base.operator import check_contract
from ir_exec.plan.fusing import FusionRule
from ir_exec.plan.patterns import Match, anything, constant, op
from ir_exec.types import Array, TensorType, element_types

if TYPE_CHECKING:
    from ir_exec.kernels.quantize import Levels

__all__ = ["QUANTIZATION", "Quantized"]


class Quantized(Op):
    """FakeQuantize with known limits, none of them reversed."""

    inputs = (In("data", types=element_types("f32")),)
    inplace_inputs = ("data",)

    _levels: Levels

    def __init__(self, levels: Levels) -> None:
        vars(self).update(_levels=levels)

    def infer(self, data: TensorType) -> TensorType:
        return data.without_values()

    def evaluate(self, data: Array, *, out: Array | None = None) -> Array:
        return self._levels.quantize(data, out)


check_contract(Quantized, "Quantized")


def _limit(match: Match, name: str) -> Array:
    return match.known(name).astype(np.float32, copy=False)


def _is_in_order(match: Match, value: Value) -> bool:
    low, high = _limit(match, "input_low"), _limit(match, "input_high")
    with np.errstate(all="ignore"):
        return bool(np.all((low < high) & np.isfinite(high - low)))


def _contains(match: Match, value: Value) -> bool:
    """Return True if the limits of the input are within those of the activation, which are 0 and infinity for ReLU."""
    if "activated" not in match.values:
        return True
    activation = match.operator(match.values["activated"])
    lowest, highest = getattr(activation, "min", 0.0), getattr(activation, "max", np.inf)
    return bool(np.all(_limit(match, "input_low") >= lowest) and np.all(_limit(match, "input_high") <= highest))


def _make_quantized(match: Match) -> Quantized:
    from ir_exec.kernels.quantize import level_numbers  # few models have quantizations

    limits = [_limit(match, name) for name in _LIMITS]
    levels = level_numbers(limits, match.operator(match.values["quantized"]).levels - 1, match.type("x").rank or 0)
    assert levels.last is None, "the limits are in order"
    return Quantized(levels)


_LIMITS = ("input_low", "input_high", "output_low", "output_high")
_X = anything("x", types=element_types("f32")).where(
    "a known rank", lambda match, value: match.graph.type(value).rank is not None
)

QUANTIZATION = FusionRule(
    op("FakeQuantize", op("ReLU|Clamp", _X).named("activated") | _X, *map(constant, _LIMITS))
    .where("finite input limits in order", _is_in_order)
    .where("an activation that clips nothing within the limits", _contains)
    .named("quantized"),
    inputs=("x",),
    operator=_make_quantized,
    anchors=frozenset({"FakeQuantize"}),
)
"""A FakeQuantize of f32 with known limits, optionally after a ReLU or Clamp. The results are equal.

The activation may only change values that are clipped to the same level.
"""
