"""Gelu, Swish, HSwish and Clamp, which ONNX exporters write as two to nine layers.

The results are rounded fewer times.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf, isnan, pi, sqrt

from ir_exec.ops import Op, resolve
from ir_exec.plan.fusing import FusionRule
from ir_exec.plan.patterns import Match, NodePattern, anything, constant, near, number, one_of, op
from ir_exec.types import element_types

__all__ = ["ACTIVATIONS", "TANH_GELU"]


def _scale(value: NodePattern, factor: float) -> NodePattern:
    return value * near(factor) | value / near(1 / factor)


def _halve(factor: NodePattern) -> NodePattern:
    """x / 2 times a factor, multiplied in any order."""
    return _scale(_X, 0.5) * factor | (_X * factor) * 0.5 | _X * (factor * 0.5)


_X = anything("x", types=element_types("f32 f64"))

_GELU = _halve(1 + op("Erf", _scale(_X, sqrt(0.5))) | 1 - op("Erf", _scale(_X, -sqrt(0.5))))
"""x / 2 · (1 + erf(x / √2)), or x / 2 · (1 - erf(-x / √2))."""

_CUBIC = _X + _scale(_X**3 | (_X * _X) * _X, 0.044715)
_TANH_GELU = _halve(1 + op("Tanh", _scale(_CUBIC, sqrt(2 / pi))))
"""x / 2 · (1 + tanh(√(2/π) · (x + 0.044715 · x³)))."""

_BETA = constant("beta").where("a scalar", lambda match, value: match.graph.type(value).rank == 0)
_SWISH = _X * op("Sigmoid", _X | _X * _BETA)
"""x · sigmoid(x), or x · sigmoid(beta · x)."""

_HSWISH = _X * op("HardSigmoid", _X, near(1 / 6), 0.5)
"""x · max(0, min(1, x / 6 + 1 / 2))."""

_MOST, _LEAST = number("most"), number("least")
_BETWEEN = op("Minimum", op("Maximum", _X, _LEAST), _MOST) | op("Maximum", op("Minimum", _X, _MOST), _LEAST)
_CLAMP = one_of(
    _BETWEEN.where("limits in order", lambda match, _: match.number("least") <= match.number("most")),
    op("Maximum", _X, _LEAST).where("a limit other than NaN", lambda match, _: not isnan(match.number("least"))),
    op("Minimum", _X, _MOST).where("a limit other than NaN", lambda match, _: not isnan(match.number("most"))),
)
"""max(x, least), min(x, most), or both in any order."""


def _rule(
    pattern: NodePattern, anchors: str, operator: Callable[[Match], Op], inputs: tuple[str, ...] = ("x",)
) -> FusionRule:
    return FusionRule(pattern.of_rank("x"), inputs, operator, frozenset(anchors.split()))


def _activation(type_name: str, opset: int, **attributes: str | float) -> Op:
    activation: Op = resolve(type_name, f"opset{opset}")(**attributes)
    return activation


def _clamp(match: Match) -> Op:
    limits = {name: match.number(name) for name in ("least", "most") if name in match.values}
    return _activation("Clamp", 1, min=limits.get("least", -inf), max=limits.get("most", inf))


TANH_GELU = _rule(_TANH_GELU, "Tanh", lambda match: _activation("Gelu", 7, approximation_mode="tanh"))

ACTIVATIONS = (
    _rule(_GELU, "Erf", lambda match: _activation("Gelu", 7, approximation_mode="erf")),
    TANH_GELU,
    _rule(_SWISH, "Sigmoid", lambda match: _activation("Swish", 4), ("x", "beta")),
    _rule(_HSWISH, "HardSigmoid", lambda match: _activation("HSwish", 4)),
    _rule(_CLAMP, "", _clamp),
)
