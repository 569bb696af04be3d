"""Normalization by the root mean square, and by mean and variance with weight and bias.

Exporters write it as three to eleven layers.
"""

from __future__ import annotations

from ir_exec.graph import Value
from ir_exec.kernels.reduce import layer_normalized, rms_normalized
from ir_exec.ops import In, Op
from ir_exec.ops.base.attributes import Float
from ir_exec.ops.base.operator import check_contract
from ir_exec.plan.fusing import FusionRule
from ir_exec.plan.graph import is_vector
from ir_exec.plan.patterns import Match, NodePattern, anything, number, op
from ir_exec.types import Array, TensorType, element_types

__all__ = ["LAYER_NORM", "RMS_NORM", "LayerNorm", "RMSNorm"]

_FLOATS = element_types("f32 f64")


class RMSNorm(Op):
    """output = data / sqrt(mean of data² along the last axis + epsilon) · weight.

    Inputs:
        weight: At most one dim other than 1, the last, equal to the last of data; by default 1.
    """

    inputs = (In("data", types=_FLOATS), In("weight", types=_FLOATS, like="data", optional=True))

    epsilon: Float

    def infer(self, data: TensorType, weight: TensorType | None = None) -> TensorType:
        return data.without_values()

    def evaluate(self, data: Array, weight: Array | None = None) -> Array:
        return rms_normalized(data, weight, self.epsilon)


check_contract(RMSNorm, "RMSNorm")


class LayerNorm(Op):
    """output = (data - mean) / sqrt(variance + epsilon) · weight + bias, with mean and variance along the last axis.

    Inputs:
        weight: At most one dim other than 1, the last, equal to the last of data.
        bias: As `weight`.
    """

    inputs = (
        In("data", types=_FLOATS),
        In("weight", types=_FLOATS, like="data"),
        In("bias", types=_FLOATS, like="data", optional=True),
    )

    epsilon: Float

    def infer(self, data: TensorType, weight: TensorType, bias: TensorType | None = None) -> TensorType:
        return data.without_values()

    def evaluate(self, data: Array, weight: Array, bias: Array | None = None) -> Array:
        return layer_normalized(data, weight, bias, self.epsilon)


check_contract(LayerNorm, "LayerNorm")


def _is_along_last(match: Match, value: Value) -> bool:
    """Return True if the only axis of a node is known to be the last of its data, and is not empty."""
    data, axes = match.node(value).values_in
    axis, dims = match.graph.number(axes), match.graph.type(data).shape.dims or ()
    return axis in (-1, len(dims) - 1) and bool(dims) and dims[-1].is_static and dims[-1].lo > 0


def _keeps_axis(match: Match, value: Value) -> bool:
    return match.graph.type(value).rank == match.graph.type(match.node(value).values_in[0]).rank


def _mean(data: NodePattern) -> NodePattern:
    mean = op("ReduceMean", data, anything()).where("a mean along the last axis", _is_along_last)
    return mean.where("an axis that is kept", _keeps_axis)


def _vector(name: str) -> NodePattern:
    def test(match: Match, value: Value) -> bool:
        return is_vector(match.graph.type(value), match.type("x"))

    return anything(name).where("one element for each place along the last axis", test)


def _divides(match: Match, value: Value) -> bool:
    """Return True if an MVN divides by the root of the variance plus epsilon."""
    mvn = match.operator(value)
    return bool(mvn.normalize_variance and mvn.eps_mode == "inside_sqrt")


_X = anything("x", types=_FLOATS)
_WEIGHT, _BIAS = _vector("weight"), _vector("bias")

_VARIANCE = _mean(_X * _X | _X**2) + number("epsilon")
_ROOT = op("Sqrt", _VARIANCE) | _VARIANCE**0.5
_NORMALIZED = _X * (_VARIANCE**-0.5 | _ROOT**-1 | 1 / _ROOT) | _X / _ROOT

RMS_NORM = FusionRule(
    _NORMALIZED.perhaps(lambda value: value * _WEIGHT).of_rank("x"),
    inputs=("x", "weight"),
    operator=lambda match: RMSNorm(epsilon=match.number("epsilon")),
    anchors=frozenset({"ReduceMean"}),
)
"""x / √(mean of x² + epsilon), optionally times a weight.

The squares are summed in another order, and the quotient is rounded once instead of twice.
"""

_MVN = op("MVN", _X, anything()).where("a normalization along the last axis", _is_along_last)
_FROM_MVN = _MVN.where("a division by √(variance + epsilon)", _divides).named("scaled") * _WEIGHT
_FROM_MEAN = op(RMSNorm, _X - _mean(_X), _WEIGHT).named("scaled")

_MEAN = _mean(_X).named("mean")
_SCALE = ((_mean(op("SquaredDifference", _X, _MEAN)) + number("epsilon")) ** -0.5 * _WEIGHT).named("scale")
_FROM_MOMENTS = _X * _SCALE + (_BIAS - _MEAN * _SCALE | _BIAS + (_MEAN * -1) * _SCALE)

LAYER_NORM = FusionRule(
    (_FROM_MOMENTS | (_FROM_MVN | _FROM_MEAN).perhaps(lambda value: value + _BIAS)).of_rank("x"),
    inputs=("x", "weight", "bias"),
    operator=lambda match: LayerNorm(epsilon=_epsilon(match)),
    anchors=RMS_NORM.anchors | {"MVN"},
)
"""An MVN along the last axis times a weight, optionally plus a bias; or the RMSNorm of x - mean; or in TensorFlow, x ·
scale + (bias - mean · scale) with scale = weight / √(variance + epsilon).

The squares are summed in another order.
"""


def _epsilon(match: Match) -> float:
    """The number that is added to the variance."""
    if "epsilon" in match.values:
        return match.number("epsilon")
    normalization = match.operator(match.values["scaled"])
    return float(normalization.epsilon if isinstance(normalization, RMSNorm) else normalization.eps)
