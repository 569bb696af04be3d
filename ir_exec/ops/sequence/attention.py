"""Scaled dot-product attention."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from ir_exec.codes import Code
from ir_exec.errors import ElementTypeError, ShapeError
from ir_exec.kernels.attention import Attention, attention_for
from ir_exec.kernels.precision import CALCULABLE_FLOAT, accumulator
from ir_exec.ops.base import In, Op, op
from ir_exec.ops.base.attributes import Bool
from ir_exec.ops.base.inputs import AttentionMask
from ir_exec.ops.base.shapes import broadcast_shapes, merge_dims, rank_error, require_least_rank
from ir_exec.types import BOOLEAN, Array, Dim, ElementType, Shape, TensorType

__all__ = ["ScaledDotProductAttention"]


@op("ScaledDotProductAttention", since=13)
class ScaledDotProductAttention(Op):
    """output = softmax(query @ transposed key * scale + attention_mask) @ value.

    With L queries and S keys; the batches N, ... broadcast.

    Specification: sequence/scaled-dot-product-attention; the sink is an extension of OpenVINO since 2025.4.

    Inputs:
        query: [N, ..., L, E], a float type.
        key: [N, ..., S, E], the type of query.
        value: [N, ..., S, Ev], the type of query.
        attention_mask: Added to the scores [N, ..., L, S], to which it broadcasts, or boolean, where false masks a pair
            out; rank 2 or more, or a scalar. Ignored if `causal`, which masks all keys after the query's position.
        scale: One element; by default 1 / sqrt(E).
        sink: One more score for each query, which counts in the sum of the softmax and has no value; the rank of query,
            last axis 1.

    Outputs:
        output: [N, ..., L, Ev] of the element type of query; NaN for a query whose keys are all masked, 0 without keys.

    Raises:
        IRError: IR402 for a mask of another float type, IR501, IR502, IR504 for wrong ranks and shapes.
    """

    inputs = (
        In("query", types=CALCULABLE_FLOAT),
        In("key", types=CALCULABLE_FLOAT, like="query"),
        In("value", types=CALCULABLE_FLOAT, like="query"),
        In("attention_mask", types=CALCULABLE_FLOAT | BOOLEAN, optional=True, domain=AttentionMask()),
        In("scale", types=CALCULABLE_FLOAT, like="query", optional=True),
        In("sink", types=CALCULABLE_FLOAT, like="query", optional=True),
    )
    term_inputs = ("value",)

    causal: Bool

    def infer(
        self,
        query: TensorType,
        key: TensorType,
        value: TensorType,
        attention_mask: TensorType | None = None,
        scale: TensorType | None = None,
        sink: TensorType | None = None,
    ) -> TensorType:
        typed = next((tensor for tensor in (query, key, value) if tensor.element_type.is_known), query)
        batch, queries, embedding = _split(query, "query")
        key_batch, keys, key_embedding = _split(key, "key")
        value_batch, value_keys, output_embedding = _split(value, "value")
        merge_dims(embedding, key_embedding, "the last axis of query and key", port="key")
        keys = merge_dims(keys, value_keys, "the axis before the last of key and value", port="value")
        for other in (key_batch, value_batch):
            batch = batch if other is None else _broadcast(batch, other)
        if attention_mask is not None:
            _check_mask_type(attention_mask, typed.element_type)
        if attention_mask is not None and not self.causal:
            batch, queries = _broadcast_mask(batch, queries, keys, attention_mask)
        if scale is not None:
            _check_scale(scale)
        if sink is not None:
            _check_sink(sink, query.rank, batch, queries)
        if batch is None:
            return typed.with_shape(Shape.unknown())
        return typed.with_shape(Shape([*batch, queries, output_embedding]))

    def multiply_adds(self, inputs: Sequence[tuple[int, ...]], outputs: Sequence[tuple[int, ...]]) -> int:
        """Count the multiply-adds of the scores and the sums of values; `causal` does not reduce them."""
        query, _, value = inputs[:3]
        batch_and_queries = prod(outputs[0][:-1])
        return batch_and_queries * value[-2] * (query[-1] + value[-1])

    def count_terms(self, inputs: Sequence[Array]) -> int:
        """A sum over the keys, each with a score that is a sum over the embedding."""
        _, key, _ = inputs[:3]
        return int(key.shape[-2] * (key.shape[-1] + 1))

    def evaluate(
        self,
        query: Array,
        key: Array,
        value: Array,
        attention_mask: Array | None = None,
        scale: Array | None = None,
        sink: Array | None = None,
    ) -> Array:
        arrays = (query, key, value, attention_mask, None, sink)
        attend = self._attention([None if array is None else array.shape for array in arrays], query.dtype)
        return attend(query, key, value, attention_mask, scale, sink)

    def kernel(self, *types: TensorType, unread: frozenset[str] = frozenset()) -> Callable[..., Any]:
        return self._attention([type.shape.static for type in types], types[0].element_type.dtype)

    def _attention(self, shapes: Sequence[tuple[int, ...] | None], dtype: np.dtype[Any]) -> Attention:
        query, key, value = shapes[:3]
        mask, _, sink = (*shapes[3:], None, None, None)[:3]
        assert query is not None
        assert key is not None
        assert value is not None
        return attention_for(query, key, value, mask, sink, self.causal, accumulator(dtype))


def _split(tensor: TensorType, name: str) -> tuple[Shape | None, Dim, Dim]:
    """The batch dims (None: unknown) and the last two dims."""
    if tensor.shape.dims is None:
        return None, Dim.any(), Dim.any()
    require_least_rank(tensor, 3, name)
    return Shape(tensor.shape[:-2]), tensor.shape[-2], tensor.shape[-1]


def _broadcast(batch: Shape | None, other: Shape) -> Shape | None:
    return None if batch is None else broadcast_shapes(batch, other)


def _broadcast_mask(batch: Shape | None, queries: Dim, keys: Dim, mask: TensorType) -> tuple[Shape | None, Dim]:
    """The batch dims and the number of queries of the scores with the mask added."""
    if mask.shape.dims is None or not len(mask.shape):
        return batch, queries
    if len(mask.shape) < 2:
        raise rank_error(mask, "0, or 2 or more", "attention_mask")
    rows, columns = queries.broadcast(mask.shape[-2]), keys.broadcast(mask.shape[-1])
    if rows is None or columns is None or (keys == 1 and mask.shape[-1].lo > 1):
        raise ShapeError(
            f"attention_mask {mask.shape} does not broadcast to the scores [...,{queries},{keys}]",
            code=Code.no_broadcast,
            port="attention_mask",
        )
    return _broadcast(batch, Shape(mask.shape[:-2])), rows


def _check_mask_type(mask: TensorType, expected: ElementType) -> None:
    element_type = mask.element_type
    if element_type.is_known and expected.is_known and element_type not in BOOLEAN and element_type is not expected:
        raise ElementTypeError(
            "attention_mask is",
            actual=element_type,
            expected=f"boolean or {expected}",
            reason=" as query is",
            code=Code.element_types_differ,
            port="attention_mask",
        )


def _check_scale(scale: TensorType) -> None:
    if scale.rank not in (None, 0, 1):
        raise ShapeError(
            "scale has rank",
            actual=scale.rank,
            detail=f"({scale.shape})",
            expected="0 or 1",
            code=Code.wrong_rank,
            port="scale",
        )
    if 1 not in scale.shape.size:
        raise ShapeError(
            f"scale {scale.shape} has", actual=scale.shape.size, detail="elements", expected=1, port="scale"
        )


def _check_sink(sink: TensorType, rank: int | None, batch: Shape | None, queries: Dim) -> None:
    if sink.shape.dims is None or rank is None:
        return
    if sink.rank != rank:
        raise ShapeError(
            "sink has rank",
            actual=sink.rank,
            detail=f"({sink.shape})",
            expected=f"rank(query) = {rank}",
            code=Code.wrong_rank,
            port="sink",
        )
    expected = Shape([*batch, queries, 1]) if batch is not None else Shape.unknown()
    shape = broadcast_shapes(expected, sink.shape)
    if 1 not in sink.shape[-1] or shape & expected is None:
        raise ShapeError(
            "sink has shape",
            actual=sink.shape,
            expected=expected,
            reason="or a shape that broadcasts to it",
            code=Code.no_broadcast,
            port="sink",
        )
