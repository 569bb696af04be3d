"""Normalization with vectors known before a run, as one step in place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ir_exec.graph import Node, Value
from ir_exec.kernels.elementwise import in_parts
from ir_exec.ops import In, Op
from ir_exec.ops.base.operator import check_contract
from ir_exec.plan.fusing import FusionRule
from ir_exec.plan.patterns import Match, anything, one_of, op
from ir_exec.tuning import thresholds
from ir_exec.types import Array, TensorType, element_types

__all__ = ["BATCH_NORM", "KNOWN_BATCH_NORM", "BatchNorm", "known_vectors"]

BATCH_NORM = "BatchNormInference"

_FLOATS = element_types("f32 f64")


class BatchNorm(Op):
    """output[b, c, ...] = (data[b, c, ...] - mean[c]) * scale[c] + beta[c]."""

    inputs = (In("data", types=_FLOATS),)
    inplace_inputs = ("data",)

    _vectors: tuple[Array, ...]

    def __init__(self, mean: Array, scale: Array, beta: Array) -> None:
        """All [channels, 1, ...]."""
        vars(self).update(_vectors=(mean, scale, beta))

    def infer(self, data: TensorType) -> TensorType:
        return data.without_values()

    def evaluate(self, data: Array, *, out: Array | None = None) -> Array:
        out = np.empty_like(data) if out is None else out
        if data.size >= thresholds.SPLIT_ELEMENTS:
            return in_parts(_normalize, (data, *self._vectors), out)
        _normalize(data, *self._vectors, out=out)
        return out


def _normalize(data: Array, mean: Array, scale: Array, beta: Array, *, out: Array) -> None:
    np.subtract(data, mean, out=out)
    out *= scale
    out += beta


check_contract(BatchNorm, "BatchNorm")


def known_vectors(
    op: Any, node: Node, find_constant: Callable[[Value], Array | None]
) -> tuple[Value, Array, Array, Array] | None:
    """The data of a BatchNormInference, and its mean, scale and beta; None if one of its vectors is not known."""
    inputs = dict(zip([declared.name for declared in op.inputs], node.values_in, strict=True))
    data = inputs.pop("data")
    arrays = {name: array for name, value in inputs.items() if (array := find_constant(value)) is not None}
    if len(arrays) < len(inputs):
        return None
    variance = arrays["variance"]
    scale = arrays["gamma"] / np.sqrt(variance + variance.dtype.type(op.epsilon))
    return data, arrays["mean"], scale, arrays["beta"]


def _vectors(match: Match, value: Value) -> tuple[Value, Array, Array, Array] | None:
    return known_vectors(match.operator(value), match.node(value), match.graph.known)


def _has_vectors(match: Match, value: Value) -> bool:
    vectors = _vectors(match, value)
    return vectors is not None and vectors[0] is match.values["x"]


def _batch_norm(match: Match) -> BatchNorm:
    vectors = _vectors(match, match.values["normalized"])
    assert vectors is not None, "the pattern requires these vectors"
    rank = match.type("x").rank or 0
    mean, scale, beta = (vector.reshape(-1, *[1] * (rank - 2)) for vector in vectors[1:])
    return BatchNorm(mean, scale, beta)


_ANY = anything()
_X = anything("x", types=_FLOATS).where("a known rank", lambda match, value: bool(match.graph.type(value).rank))

KNOWN_BATCH_NORM = FusionRule(
    one_of(op(BATCH_NORM, _X, *[_ANY] * 4), op(BATCH_NORM, _ANY, _ANY, _X, _ANY, _ANY))
    .where("vectors that are known before the run", _has_vectors)
    .named("normalized"),
    inputs=("x",),
    operator=_batch_norm,
    anchors=frozenset({BATCH_NORM}),
)
"""A BatchNormInference with known vectors; its versions differ in the position of the data. The results are equal."""
