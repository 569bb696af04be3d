"""Normalization whose vectors are known before a run, as one step in place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ir_exec.graph import Node, Value
from ir_exec.kernels.elementwise import in_parts
from ir_exec.ops import In, Op
from ir_exec.ops.base.operator import check_contract
from ir_exec.plan.graph import Fusion, PlanGraph
from ir_exec.tuning import thresholds
from ir_exec.types import Array, TensorType, element_types

__all__ = ["BATCH_NORM", "BatchNorm", "as_batch_norm", "known_vectors"]

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


def as_batch_norm(draft: PlanGraph, node: Node) -> Fusion | None:
    """A BatchNormInference with known vectors. The results are the same."""
    found = known_vectors(draft.operator(node), node, draft.known) if draft.kind(node) == BATCH_NORM else None
    data = None if found is None else draft.type(found[0])
    if found is None or data is None or data.element_type not in _FLOATS or not data.rank:
        return None
    vectors = [vector.reshape(-1, *[1] * (data.rank - 2)) for vector in found[1:]]
    return Fusion([node], BatchNorm(*vectors), [found[0]])


def known_vectors(
    op: Any, node: Node, known: Callable[[Value], Array | None]
) -> tuple[Value, Array, Array, Array] | None:
    """The data of a BatchNormInference, and its mean, scale and beta; None where one of its vectors is not known."""
    inputs = dict(zip([declared.name for declared in op.inputs], node.values_in, strict=True))
    data = inputs.pop("data")
    arrays = {name: array for name, value in inputs.items() if (array := known(value)) is not None}
    if len(arrays) < len(inputs):
        return None
    variance = arrays["variance"]
    scale = arrays["gamma"] / np.sqrt(variance + variance.dtype.type(op.epsilon))
    return data, arrays["mean"], scale, arrays["beta"]
