"""Normalization by the root mean square, and by mean and variance with weight and bias, which exporters write as three
to eleven layers."""

from __future__ import annotations

from typing import Any

from ir_exec.graph import Node, Value
from ir_exec.kernels.reduce import layer_normalized, rms_normalized
from ir_exec.ops import In, Op
from ir_exec.ops.base.attributes import Float
from ir_exec.ops.base.operator import check_contract
from ir_exec.plan.graph import Fusion, PlanGraph, beside, is_vector, vector_beside, with_number
from ir_exec.types import Array, TensorType, element_types

__all__ = ["LayerNorm", "RMSNorm", "as_layer_norm", "as_rms_norm"]

_FLOATS = element_types("f32 f64")


class RMSNorm(Op):
    """output = data / sqrt(mean of data² along the last axis + epsilon) · weight.

    weight: one dim other than 1 at most, the last, which is that of data; 1 without it.
    """

    inputs = (In("data", types=_FLOATS), In("weight", types=_FLOATS, like="data", optional=True))

    epsilon: Float

    def infer(self, data: TensorType, weight: TensorType | None = None) -> TensorType:
        return data.without_values()

    def evaluate(self, data: Array, weight: Array | None = None) -> Array:
        return rms_normalized(data, weight, self.epsilon)


check_contract(RMSNorm, "RMSNorm")


def as_rms_norm(draft: PlanGraph, node: Node) -> Fusion | None:
    """x², its mean along the last axis, + epsilon, the root, and x divided by it, perhaps times a weight.

    The squares are added up in another order, and the quotient is rounded once where the layers round twice.
    """
    data = _squared(draft, node)
    if data is None or draft.type(data).element_type not in _FLOATS:
        return None
    mean = draft.only_reader(node.outputs[0])
    if mean is None or not _is_mean_along_last(draft, mean):
        return None
    shifted = draft.only_reader(mean.outputs[0])
    epsilon = None if shifted is None else _number(draft, shifted, mean.outputs[0], "Add")
    if shifted is None or epsilon is None:
        return None
    divided = _divided(draft, shifted, data)
    if divided is None:
        return None
    nodes = [node, mean, shifted, *divided]
    weighted = draft.only_reader(nodes[-1].outputs[0])
    weight = None if weighted is None else vector_beside(draft, "Multiply", weighted, nodes[-1].outputs[0])
    if weighted is None or weight is None:
        return Fusion(nodes, RMSNorm(epsilon=epsilon), [data])
    return Fusion([*nodes, weighted], RMSNorm(epsilon=epsilon), [data, weight])


def _squared(draft: PlanGraph, node: Node) -> Value | None:
    if draft.kind(node) == "Multiply" and node.values_in[0] is node.values_in[1]:
        return node.values_in[0]
    data, exponent = with_number(draft, node, "Power") or (None, 0)
    is_square = data is not None and exponent == 2 and draft.type(data) == draft.type(node.outputs[0])
    return data if is_square else None


def _is_last(draft: PlanGraph, axes: Value, data: TensorType) -> bool:
    """Whether the one axis is known to be the last of the data, which is known, and has elements."""
    axis = draft.number(axes)
    if axis is None or not data.rank or not data.shape[-1].is_static:
        return False
    return int(axis) in (-1, data.rank - 1) and data.shape[-1].lo > 0


def _is_mean_along_last(draft: PlanGraph, node: Node) -> bool:
    """Whether a node gives the mean along the last axis, which stays, with one element."""
    if draft.kind(node) != "ReduceMean":
        return False
    data = draft.type(node.values_in[0])
    return draft.type(node.outputs[0]).rank == data.rank and _is_last(draft, node.values_in[1], data)


def _number(draft: PlanGraph, node: Node, value: Value, kind: str) -> float | None:
    """The number that a node of this kind adds to the value, or to whose power it raises it, without another shape."""
    found = with_number(draft, node, kind)
    same = draft.type(node.outputs[0]).rank == draft.type(value).rank
    return found[1] if found is not None and found[0] is value and same else None


def _divided(draft: PlanGraph, shifted: Node, data: Value) -> list[Node] | None:
    """The nodes that divide the data by the root of what `shifted` gives."""
    root = draft.only_reader(shifted.outputs[0])
    if root is None:
        return None
    exponent = _exponent(draft, root)
    if exponent == -0.5:
        return _multiplied(draft, [root], data)
    if exponent != 0.5:
        return None
    last = draft.only_reader(root.outputs[0])
    if last is None:
        return None
    if _exponent(draft, last) == -1 or _is_reciprocal(draft, last, root.outputs[0]):
        return _multiplied(draft, [root, last], data)
    is_quotient = draft.kind(last) == "Divide" and last.values_in == [data, root.outputs[0]]
    return [root, last] if is_quotient else None


def _exponent(draft: PlanGraph, node: Node) -> float | None:
    """The power to which the node raises its first input."""
    return 0.5 if draft.kind(node) == "Sqrt" else _number(draft, node, node.values_in[0], "Power")


def _is_reciprocal(draft: PlanGraph, node: Node, value: Value) -> bool:
    one, divisor = node.values_in if draft.kind(node) == "Divide" else (None, None)
    same = draft.type(node.outputs[0]).rank == draft.type(value).rank
    return divisor is value and one is not None and same and draft.number(one) == 1


def _multiplied(draft: PlanGraph, nodes: list[Node], data: Value) -> list[Node] | None:
    """The nodes, and the one that multiplies the data by what the last of them gives."""
    factor = nodes[-1].outputs[0]
    last = draft.only_reader(factor)
    if last is None or draft.kind(last) != "Multiply" or beside(last, factor) is not data:
        return None
    return [*nodes, last]


class LayerNorm(Op):
    """output = (data - mean) / sqrt(variance + epsilon) · weight + bias, mean and variance those along the last axis.

    weight, bias: one dim other than 1 at most, the last, which is that of data.
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


def as_layer_norm(draft: PlanGraph, node: Node) -> Fusion | None:
    """An MVN along the last axis, times a weight, perhaps plus a bias; or a mean that is subtracted, the rest of which
    is an RMSNorm with a weight.

    The squares are added up in another order.
    """
    found = _from_mvn(draft, node) or _from_mean(draft, node)
    if found is None:
        return _from_moments(draft, node)
    shifted = draft.only_reader(found.nodes[-1].outputs[0])
    bias = None if shifted is None else vector_beside(draft, "Add", shifted, found.nodes[-1].outputs[0])
    if shifted is None or bias is None:
        return found
    return Fusion([*found.nodes, shifted], found.op, [*found.inputs, bias])


def _from_mvn(draft: PlanGraph, node: Node) -> Fusion | None:
    if draft.kind(node) != "MVN" or len(node.values_in) != 2:
        return None
    data, axes = node.values_in
    if draft.type(data).element_type not in _FLOATS or not _is_last(draft, axes, draft.type(data)):
        return None
    epsilon = _epsilon(draft.operator(node))
    weighted = draft.only_reader(node.outputs[0])
    weight = None if weighted is None else vector_beside(draft, "Multiply", weighted, node.outputs[0])
    if epsilon is None or weighted is None or weight is None:
        return None
    return Fusion([node, weighted], LayerNorm(epsilon=epsilon), [data, weight])


def _from_mean(draft: PlanGraph, node: Node) -> Fusion | None:
    centred = draft.only_reader(node.outputs[0]) if _is_mean_along_last(draft, node) else None
    if centred is None or draft.kind(centred) != "Subtract" or centred.values_in != [node.values_in[0], *node.outputs]:
        return None
    scaled = draft.only_reader(centred.outputs[0])
    op = None if scaled is None else draft.operator(scaled)
    if scaled is None or not isinstance(op, RMSNorm) or len(scaled.values_in) != 2:
        return None
    return Fusion([node, centred, scaled], LayerNorm(epsilon=op.epsilon), [node.values_in[0], scaled.values_in[1]])


def _from_moments(draft: PlanGraph, node: Node) -> Fusion | None:
    """data · w + (bias - mean · w) with w = weight / sqrt(variance + epsilon), as TensorFlow writes it."""
    if not _is_mean_along_last(draft, node):
        return None
    data, mean = node.values_in[0], node.outputs[0]
    following = draft.readers(mean)
    squared = next((one for one in following if draft.kind(one) == "SquaredDifference"), None)
    variance = None if squared is None or beside(squared, mean) is not data else draft.only_reader(squared.outputs[0])
    if squared is None or len(following) != 2 or variance is None or not _is_mean_along_last(draft, variance):
        return None
    shifted = draft.only_reader(variance.outputs[0])
    epsilon = None if shifted is None else _number(draft, shifted, variance.outputs[0], "Add")
    root = None if shifted is None else draft.only_reader(shifted.outputs[0])
    weighted = None if root is None else draft.only_reader(root.outputs[0])
    if shifted is None or epsilon is None or root is None or weighted is None:
        return None
    weight, scale = beside(weighted, root.outputs[0]), weighted.outputs[0]
    if draft.kind(weighted) != "Multiply" or _number(draft, root, shifted.outputs[0], "Power") != -0.5:
        return None
    negated = [one for one in following if with_number(draft, one, "Multiply") == (mean, -1)]
    centre = negated[0].outputs[0] if negated else mean
    products = {beside(one, scale): one for one in draft.readers(scale) if draft.kind(one) == "Multiply"}
    scaled, moved = products.get(data), products.get(centre)
    biased = None if moved is None else draft.only_reader(moved.outputs[0])
    last = None if biased is None else draft.only_reader(biased.outputs[0])
    if scaled is None or moved is None or biased is None or last is None or len(draft.readers(scale)) != 2:
        return None
    bias, others = beside(biased, moved.outputs[0]), draft.readers(centre)
    if others != [moved] if negated else moved not in others or biased.values_in[0] is not bias:
        return None
    is_sum = draft.kind(last) == "Add" and draft.only_reader(scaled.outputs[0]) is last
    if not is_sum or draft.kind(biased) != ("Add" if negated else "Subtract") or weight is None or bias is None:
        return None
    kind = draft.type(data)
    same = kind.element_type in _FLOATS and kind.rank == draft.type(last.outputs[0]).rank
    if not (same and all(is_vector(draft.type(one), kind) for one in (weight, bias))):
        return None
    nodes = [node, squared, variance, shifted, root, weighted, *negated, moved, biased, scaled, last]
    return Fusion(nodes, LayerNorm(epsilon=epsilon), [data, weight, bias])


def _epsilon(op: Any) -> float | None:
    """What an MVN adds to the variance; None where it adds to the deviation instead, or does not divide by it."""
    is_plain = op.normalize_variance and op.eps_mode == "inside_sqrt"
    return float(op.eps) if is_plain else None
