"""Normalization by mean and variance with its weight and bias, which exporters write as three layers, or as nine."""

from __future__ import annotations

from typing import Any

from ir_exec.graph import Node, Value
from ir_exec.kernels.row_norms import layer_normalized
from ir_exec.ops import In, Op
from ir_exec.ops.base.attributes import Float
from ir_exec.ops.base.operator import check_contract
from ir_exec.runtime.rewrite.draft import Draft, Fusion, beside, is_vector, vector_beside, with_number
from ir_exec.runtime.rewrite.rms_norm import RMSNorm, is_mean_along_last, number_beside
from ir_exec.types import Array, TensorType, element_types

__all__ = ["LayerNorm", "as_layer_norm"]

_FLOATS = element_types("f32 f64")


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


def as_layer_norm(draft: Draft, node: Node) -> Fusion | None:
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


def _from_mvn(draft: Draft, node: Node) -> Fusion | None:
    if draft.kind(node) != "MVN" or len(node.values_in) != 2 or not _is_along_last(draft, *node.values_in):
        return None
    epsilon = _epsilon(draft.operator(node))
    weighted = draft.only_reader(node.outputs[0])
    weight = None if weighted is None else vector_beside(draft, "Multiply", weighted, node.outputs[0])
    if epsilon is None or weighted is None or weight is None:
        return None
    return Fusion([node, weighted], LayerNorm(epsilon=epsilon), [node.values_in[0], weight])


def _from_mean(draft: Draft, node: Node) -> Fusion | None:
    centred = draft.only_reader(node.outputs[0]) if is_mean_along_last(draft, node) else None
    if centred is None or draft.kind(centred) != "Subtract" or centred.values_in != [node.values_in[0], *node.outputs]:
        return None
    scaled = draft.only_reader(centred.outputs[0])
    op = None if scaled is None else draft.operator(scaled)
    if scaled is None or not isinstance(op, RMSNorm) or len(scaled.values_in) != 2:
        return None
    return Fusion([node, centred, scaled], LayerNorm(epsilon=op.epsilon), [node.values_in[0], scaled.values_in[1]])


def _from_moments(draft: Draft, node: Node) -> Fusion | None:
    """data · w + (bias - mean · w) with w = weight / sqrt(variance + epsilon), as TensorFlow writes it."""
    if not is_mean_along_last(draft, node):
        return None
    data, mean = node.values_in[0], node.outputs[0]
    following = draft.readers(mean)
    squared = next((one for one in following if draft.kind(one) == "SquaredDifference"), None)
    variance = None if squared is None or beside(squared, mean) is not data else draft.only_reader(squared.outputs[0])
    if squared is None or len(following) != 2 or variance is None or not is_mean_along_last(draft, variance):
        return None
    shifted = draft.only_reader(variance.outputs[0])
    epsilon = None if shifted is None else number_beside(draft, shifted, variance.outputs[0], "Add")
    root = None if shifted is None else draft.only_reader(shifted.outputs[0])
    weighted = None if root is None else draft.only_reader(root.outputs[0])
    if shifted is None or epsilon is None or root is None or weighted is None:
        return None
    weight, scale = beside(weighted, root.outputs[0]), weighted.outputs[0]
    if draft.kind(weighted) != "Multiply" or number_beside(draft, root, shifted.outputs[0], "Power") != -0.5:
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


def _is_along_last(draft: Draft, data: Value, axes: Value) -> bool:
    kind, axis = draft.type(data), draft.number(axes)
    if kind.element_type not in _FLOATS or not kind.rank or axis is None:
        return False
    last = kind.shape[-1]
    return int(axis) in (-1, kind.rank - 1) and last.is_static and last.lo > 0


def _epsilon(op: Any) -> float | None:
    """What an MVN adds to the variance; None where it adds to the deviation instead, or does not divide by it."""
    is_plain = op.normalize_variance and op.eps_mode == "inside_sqrt"
    return float(op.eps) if is_plain else None
