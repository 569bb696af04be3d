"""SDPAFusion: scaled dot-product attention from MatMul, Softmax and MatMul.

OpenVINO 2026.4, src/common/transformations/src/transformations/common_optimizations/sdpa_fusion.cpp.
"""

from __future__ import annotations

from math import prod

from ir_exec.fusions.network import FusionGraph
from ir_exec.fusions.transformation import Matches, search
from ir_exec.fusions.transformations.states import appends_to_variable, has_one_reader, list_readers
from ir_exec.graph import Value
from ir_exec.plan.patterns import Condition, Match, NodePattern, anything, op
from ir_exec.types import Dim

__all__ = ["find_attention_parts"]

_MOST_AXES = 4


def _has_flags(**flags: bool) -> Condition:
    def test(match: Match, value: Value) -> bool:
        operator = match.operator(value)
        return all(getattr(operator, name) == flag for name, flag in flags.items())

    return test


def _is_along_last(match: Match, value: Value) -> bool:
    rank = match.graph.type(value).rank
    return rank is not None and match.operator(value).axis in (-1, rank - 1)


def _is_scalar(match: Match, value: Value) -> bool:
    shape = match.graph.type(value).shape
    return shape.dims is not None and (not shape.is_static or prod(shape.static) == 1)


def _is_mask(match: Match, value: Value) -> bool:
    rank = match.graph.type(value).rank
    return rank is not None and rank <= _MOST_AXES


def _may_be_equal(left: Dim, right: Dim) -> bool:
    return not left.is_static or not right.is_static or left == right


def _has_attention_shapes(match: Match, value: Value) -> bool:
    """Return True if queries, keys and values have equal heads and head sizes."""
    query, key, values = (match.type(name).shape.dims for name in ("query", "key", "value"))
    if query is None or key is None or values is None or not len(query) == len(key) == len(values) or len(query) < 2:
        return False
    is_transposed = match.operator(match.values["scores"]).transpose_b
    size, length = (key[-1], key[-2]) if is_transposed else (key[-2], key[-1])
    heads_are_equal = len(query) < 3 or (_may_be_equal(query[-3], key[-3]) and _may_be_equal(key[-3], values[-3]))
    return heads_are_equal and _may_be_equal(query[-1], size) and _may_be_equal(length, values[-2])


def _apply_scale(value: NodePattern) -> NodePattern:
    scale = anything("scale").where("a scale of one element", _is_scalar)
    return op("Multiply", value, scale) | op("Divide", value, scale)


def _allow_reshape(value: NodePattern) -> NodePattern:
    return value.perhaps(lambda inner: op("Reshape|Unsqueeze|Squeeze", inner, anything()))


_KEY = anything("key")
_SCORES = (
    op("MatMul", anything("query"), _KEY)
    .where("transpose_a false", _has_flags(transpose_a=False))
    .where("no other reader", has_one_reader, list_readers)
    .named("scores")
)
_SCALED = _allow_reshape(_allow_reshape(_SCORES).perhaps(_apply_scale))
_MASKED = _SCALED | op("Add", _SCALED, anything("mask").where("a mask of at most four axes", _is_mask)).where(
    "no other reader", has_one_reader, list_readers
)
_WEIGHTS = (
    op("Softmax|SoftMax", _allow_reshape(_MASKED))
    .where("the last axis", _is_along_last)
    .where("no other reader", has_one_reader, list_readers)
)
_PATTERN = (
    op("MatMul", _allow_reshape(_WEIGHTS), anything("value"))
    .where("no transposed input", _has_flags(transpose_a=False, transpose_b=False))
    .where("queries, keys and values of equal heads", _has_attention_shapes)
)
_ANCHOR = op("Softmax|SoftMax")


def find_attention_parts(graph: FusionGraph, *, only_with_state: bool) -> Matches:
    """Attention in parts, which the matcher fuses, and near misses.

    Args:
        only_with_state: Leave out attention whose keys and values are not those of a variable.
    """

    def is_without_state(part: Match) -> bool:
        return not appends_to_variable(graph, part.nodes[0])

    matches = search(graph, _PATTERN, _ANCHOR, least=2, is_other=is_without_state if only_with_state else None)
    if not only_with_state:
        return matches
    selected = [
        (root, match)
        for root, match in zip(matches.roots, matches.details, strict=True)
        if appends_to_variable(graph, match.nodes[0])
    ]
    return Matches(tuple(root for root, _ in selected), tuple(match for _, match in selected), matches.missed)
