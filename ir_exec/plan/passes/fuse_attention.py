"""Scaled dot-product attention, which exporters write as three to five layers."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from ir_exec.graph import Node, Value
from ir_exec.kernels.attention import Attention
from ir_exec.ops import In, Op
from ir_exec.ops.base.operator import check_contract
from ir_exec.plan.graph import Fusion, PlanGraph, beside, with_number
from ir_exec.plan.memory import byte_size
from ir_exec.tuning import thresholds
from ir_exec.types import Array, TensorType, element_types

__all__ = ["Attending", "as_attention"]

_FLOATS = element_types("f32 f64")


class Attending(Op):
    """output = softmax(query @ transposed key * scale + mask) @ value, for shapes that are known.

    query: [..., L, E]. key: [..., S, E], or [..., E, S] if it is by columns. value: [..., S, Ev], or [..., Ev, S].
    mask: broadcasts to the scores [..., L, S]. output: [..., L, Ev].
    """

    inputs = (
        In("query", types=_FLOATS),
        In("key", types=_FLOATS, like="query"),
        In("value", types=_FLOATS, like="query"),
        In("mask", types=_FLOATS, like="query", optional=True),
    )

    _scale: float
    _by_columns: tuple[bool, bool]
    _output: TensorType

    def __init__(self, scale: float, by_columns: tuple[bool, bool], output: TensorType) -> None:
        """by_columns: whether key is, and value."""
        vars(self).update(_scale=scale, _by_columns=by_columns, _output=output)

    def infer(
        self, query: TensorType, key: TensorType, value: TensorType, mask: TensorType | None = None
    ) -> TensorType:
        return self._output

    def multiply_adds(self, inputs: Sequence[tuple[int, ...]], outputs: Sequence[tuple[int, ...]]) -> int:
        query, value = inputs[0], inputs[2]
        return prod(outputs[0][:-1]) * value[-1 if self._by_columns[1] else -2] * (query[-1] + outputs[0][-1])

    def evaluate(self, query: Array, key: Array, value: Array, mask: Array | None = None) -> Array:
        key, value = (
            array.swapaxes(-1, -2) if turned else array
            for array, turned in zip((key, value), self._by_columns, strict=True)
        )
        shape = None if mask is None else mask.shape
        attend = Attention(query.shape, key.shape, value.shape, shape, None, is_causal=False, dtype=query.dtype)
        return attend(query, key, value, mask, np.array(self._scale, query.dtype))


check_contract(Attending, "Attending")


def as_attention(draft: PlanGraph, node: Node) -> Fusion | None:
    """A MatMul whose product is perhaps multiplied by a number, and a mask added, before a SoftMax along the last axis
    and a second MatMul; where the cache of a core does not hold all scores.

    Queries are multiplied by the number, not scores.
    """
    if not _is_product(draft, node) or byte_size(draft.type(node.outputs[0])) <= 4 * thresholds.INTERMEDIATE_ELEMENTS:
        return None
    scores, nodes, scale, mask = draft.type(node.outputs[0]), [node], 1.0, None
    following = draft.only_reader(node.outputs[0])
    factor = _factor(draft, following, node.outputs[0])
    if following is not None and factor is not None:
        nodes, scale = [*nodes, following], factor
        following = draft.only_reader(following.outputs[0])
    if following is not None and draft.kind(following) == "Add":
        mask = beside(following, nodes[-1].outputs[0])
        if mask is None:
            return None
        nodes = [*nodes, following]
        following = draft.only_reader(following.outputs[0])
    if following is None or not _is_softmax(draft, following, scores):
        return None
    last = draft.only_reader(following.outputs[0])
    if last is None or not _is_product(draft, last) or last.values_in[0] is not following.outputs[0]:
        return None
    by_columns = (not _is_transposed(draft, node), _is_transposed(draft, last))
    op = Attending(scale, by_columns, draft.type(last.outputs[0]).without_values())
    inputs = [*node.values_in, last.values_in[1], *([] if mask is None else [mask])]
    return Fusion([*nodes, following, last], op, inputs)


def _is_product(draft: PlanGraph, node: Node) -> bool:
    """Whether a node multiplies batches of matrices of known shapes, the first of them as they are."""
    if draft.kind(node) != "MatMul" or vars(draft.operator(node))["transpose_a"]:
        return False
    types = [draft.type(value) for value in (*node.values_in, *node.outputs)]
    return all(one.element_type in _FLOATS and one.shape.is_static and (one.rank or 0) > 2 for one in types)


def _is_transposed(draft: PlanGraph, node: Node) -> bool:
    return bool(vars(draft.operator(node))["transpose_b"])


def _factor(draft: PlanGraph, node: Node | None, value: Value) -> float | None:
    """The number by which a node multiplies a value."""
    found = with_number(draft, node, "Multiply", "Divide")
    if node is None or found is None or draft.type(node.outputs[0]).rank != draft.type(value).rank:
        return None
    if draft.kind(node) == "Multiply":
        return found[1]
    return 1 / found[1] if found[1] else None


def _is_softmax(draft: PlanGraph, node: Node, scores: TensorType) -> bool:
    """Whether a node is a SoftMax along the last axis of something that has the shape of the scores."""
    if draft.kind(node) not in ("SoftMax", "Softmax") or draft.type(node.values_in[0]).shape != scores.shape:
        return False
    return vars(draft.operator(node))["axis"] in (-1, len(scores.shape) - 1)
