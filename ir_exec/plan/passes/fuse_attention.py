"""Scaled dot-product attention, which exporters write as three to five layers."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from ir_exec.graph import Value
from ir_exec.kernels.attention import Attention
from ir_exec.ops import In, Op
from ir_exec.ops.base.operator import check_contract
from ir_exec.plan.fusing import FusionRule
from ir_exec.plan.memory import byte_size
from ir_exec.plan.patterns import Match, NodePattern, anything, number, one_of, op
from ir_exec.tuning import thresholds
from ir_exec.types import Array, TensorType, element_types

__all__ = ["ATTENTION", "Attending"]

_FLOATS = element_types("f32 f64")


class Attending(Op):
    """output = softmax(query @ transposed key * scale + mask) @ value, for known shapes.

    Inputs:
        query: [..., L, E].
        key: [..., S, E], or [..., E, S] if it is stored by columns.
        value: [..., S, Ev], or [..., Ev, S].
        mask: Broadcasts to the scores [..., L, S].

    Outputs:
        output: [..., L, Ev].
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
        """An attention with a constant scale.

        Args:
            by_columns: Key, and value, are stored by columns.
        """
        vars(self).update(_scale=scale, _by_columns=by_columns, _output=output)

    @property
    def scale(self) -> float:
        """The factor of the scores."""
        return self._scale

    @property
    def by_columns(self) -> tuple[bool, bool]:
        """True for a key, and for a value, that is stored by columns."""
        return self._by_columns

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


def _is_product(match: Match, value: Value) -> bool:
    """Return True for batches of matrices of known shapes, the first of them not transposed."""
    node = match.node(value)
    types = [match.graph.type(operand) for operand in (*node.values_in, value)]
    is_plain = not match.operator(value).transpose_a
    return is_plain and all(
        type.element_type in _FLOATS and type.shape.is_static and (type.rank or 0) > 2 for type in types
    )


def _is_large(match: Match, value: Value) -> bool:
    return byte_size(match.graph.type(value)) > 4 * thresholds.INTERMEDIATE_ELEMENTS


def _is_along_last(match: Match, value: Value) -> bool:
    return match.operator(value).axis in (-1, len(match.graph.type(value).shape) - 1)


def _has_shape_of_scores(match: Match, value: Value) -> bool:
    return match.graph.type(value).shape == match.type("scores").shape


def _product(first: NodePattern, second: NodePattern) -> NodePattern:
    return op("MatMul", first, second).where("a product of batches of matrices of known shapes", _is_product)


_SCORES = (
    _product(anything("query"), anything("key"))
    .where("scores that exceed the cache of a core", _is_large)
    .named("scores")
)
_DIVISOR = number("divisor").where("a divisor other than 0", lambda match, value: match.graph.number(value) != 0)
_SCALED = one_of(_SCORES * number("factor"), _SCORES / _DIVISOR).of_rank("scores") | _SCORES
_SOFTMAX = (
    op("SoftMax|Softmax", _SCALED.perhaps(lambda value: value + anything("mask")))
    .where("a softmax along the last axis", _is_along_last)
    .where("the shape of the scores", _has_shape_of_scores)
)
_ATTENDED = _product(_SOFTMAX, anything("value")).named("attended")


def _attending(match: Match) -> Attending:
    factor = match.number("factor") if "factor" in match.values else 1.0
    if "divisor" in match.values:
        factor = 1 / match.number("divisor")
    scores, attended = (match.operator(match.values[name]) for name in ("scores", "attended"))
    output = match.type("attended").without_values()
    return Attending(factor, (not scores.transpose_b, attended.transpose_b), output)


ATTENTION = FusionRule(
    _ATTENDED,
    inputs=("query", "key", "value", "mask"),
    operator=_attending,
    anchors=frozenset({"SoftMax", "Softmax"}),
)
"""softmax(query @ key · factor + mask) @ value, if all scores exceed the cache of a core.

Queries are multiplied by the factor, not scores.
"""
