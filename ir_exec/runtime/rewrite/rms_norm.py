"""Normalization by the root mean square, which exporters write as six or seven layers."""

from __future__ import annotations

from ir_exec.graph import Node, Value
from ir_exec.kernels.row_norms import rms_normalized
from ir_exec.ops import In, Op
from ir_exec.ops.base.attributes import Float
from ir_exec.ops.base.operator import check_contract
from ir_exec.runtime.rewrite.draft import Draft, Fusion, beside, vector_beside, with_number
from ir_exec.types import Array, TensorType, element_types

__all__ = ["RMSNorm", "as_rms_norm", "is_mean_along_last", "number_beside"]

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


def as_rms_norm(draft: Draft, node: Node) -> Fusion | None:
    """x², its mean along the last axis, + epsilon, the root, and x divided by it, perhaps times a weight.

    The squares are added up in another order, and the quotient is rounded once where the layers round twice.
    """
    data = _squared(draft, node)
    if data is None or draft.type(data).element_type not in _FLOATS or not _has_last_axis(draft.type(data)):
        return None
    mean = draft.only_reader(node.outputs[0])
    if mean is None or not is_mean_along_last(draft, mean):
        return None
    shifted = draft.only_reader(mean.outputs[0])
    epsilon = None if shifted is None else number_beside(draft, shifted, mean.outputs[0], "Add")
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


def _squared(draft: Draft, node: Node) -> Value | None:
    if draft.kind(node) == "Multiply" and node.values_in[0] is node.values_in[1]:
        return node.values_in[0]
    data, exponent = with_number(draft, node, "Power") or (None, 0)
    is_square = data is not None and exponent == 2 and draft.type(data) == draft.type(node.outputs[0])
    return data if is_square else None


def _has_last_axis(data: TensorType) -> bool:
    """Whether the last axis is known, and has elements."""
    return bool(data.rank) and data.shape[-1].is_static and data.shape[-1].lo > 0


def is_mean_along_last(draft: Draft, node: Node) -> bool:
    """Whether a node gives the mean along the last axis, which stays, with one element."""
    if draft.kind(node) != "ReduceMean" or draft.type(node.outputs[0]).rank != (
        rank := draft.type(node.values_in[0]).rank
    ):
        return False
    axis = draft.number(node.values_in[1])
    return axis is not None and rank is not None and int(axis) in (-1, rank - 1)


def number_beside(draft: Draft, node: Node, value: Value, kind: str) -> float | None:
    """The number that a node of this kind adds to the value, or to whose power it raises it, without another shape."""
    found = with_number(draft, node, kind)
    same = draft.type(node.outputs[0]).rank == draft.type(value).rank
    return found[1] if found is not None and found[0] is value and same else None


def _divided(draft: Draft, shifted: Node, data: Value) -> list[Node] | None:
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


def _exponent(draft: Draft, node: Node) -> float | None:
    """The power to which the node raises its first input."""
    return 0.5 if draft.kind(node) == "Sqrt" else number_beside(draft, node, node.values_in[0], "Power")


def _is_reciprocal(draft: Draft, node: Node, value: Value) -> bool:
    one, divisor = node.values_in if draft.kind(node) == "Divide" else (None, None)
    same = draft.type(node.outputs[0]).rank == draft.type(value).rank
    return divisor is value and one is not None and same and draft.number(one) == 1


def _multiplied(draft: Draft, nodes: list[Node], data: Value) -> list[Node] | None:
    """The nodes, and the one that multiplies the data by what the last of them gives."""
    factor = nodes[-1].outputs[0]
    last = draft.only_reader(factor)
    if last is None or draft.kind(last) != "Multiply" or beside(last, factor) is not data:
        return None
    return [*nodes, last]
