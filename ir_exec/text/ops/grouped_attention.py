"""Attention of OpenVINO's ONNX frontend with a cache of keys and values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from ir_exec.codes import Code
from ir_exec.errors import ElementTypeError, EvaluationError, ShapeError, UnsupportedError
from ir_exec.kernels.attention import Attention
from ir_exec.ops.base import In, Op
from ir_exec.ops.base.attributes import AttributeValueError, Bool, Float, Int, Positive
from ir_exec.ops.base.shapes import known_int, merge_dims, require_rank
from ir_exec.text.ops.base import text_op
from ir_exec.types import ALL, INDEX, Array, Dim, ElementType, Shape, TensorType, element_types

__all__ = ["GroupQueryAttention"]

_FLOATS = element_types("bf16 f16 f32")
_LOWEST = np.finfo(np.float32).min

_OPTIONAL = {
    "cos_cache": _FLOATS,
    "sin_cache": _FLOATS,
    "position_ids": INDEX,
    "attention_bias": _FLOATS,
    "head_sink": _FLOATS,
    "k_scale": _FLOATS,
    "v_scale": _FLOATS,
    "q_norm_weight": _FLOATS,
    "k_norm_weight": _FLOATS,
}
"""The optional inputs and their element types."""

_Quantization = Literal["NONE", "PER_TENSOR", "PER_CHANNEL"]


def _present_or_none(array: Array | None) -> Array | None:
    """Return the array; None for a missing input, which files represent by an empty constant without a type."""
    return None if array is None or array.size == 0 else array


@text_op("GroupQueryAttention")
class GroupQueryAttention(Op):
    """Attention over a cache of keys and values, with groups of heads that share them.

    The new keys and values are written into the cache after the past ones of their batch entry, and each query attends
    to the keys up to its own position.

    All have the same type, f32, f16 or bf16.

    OpenVINO truncates unused positions of dynamic shapes, and runs only one batch entry. Computed in f32.

    Source: OpenVINO, openvino/op/group_query_attention.hpp; onnxruntime, com.microsoft.GroupQueryAttention.

    Inputs:
        query: [batch, num_heads, tokens, channels].
        key: [batch, kv_num_heads, tokens, channels].
        value: [batch, kv_num_heads, tokens, channels].
        past_key: [batch, kv_num_heads, past, channels].
        past_value: [batch, kv_num_heads, past, channels].
        seqlens_k: Integers, the number of keys of each batch entry, including new keys, minus one.
        total_sequence_length: Integer, one element, the largest number of keys in the batch.
        cos_cache: [positions, pairs], with do_rotary: query and key are rotated by the rows of their positions, channel
            c with c + pairs, or with its neighbor if rotary_interleaved.
        sin_cache: Like `cos_cache`.
        position_ids: Integers [batch, tokens], rows of these tables; by default the positions in the cache.
        attention_bias: [1 or batch, 1 or num_heads, tokens, keys], added to the scores.
        head_sink: [num_heads], an additional score for each query without a value; 0 with smooth_softmax. cos_cache and
            all following inputs are optional: they may be omitted, or empty constants of the type `dynamic`.

    Attributes:
        scale: The factor of the scores; 0 for 1 / sqrt(channels).
        causal: If false, a query attends to all keys.
        local_window_size: The number of keys that a query attends to, -1 for all.

    Outputs:
        output: [batch, tokens, num_heads * channels].
        present_key: The cache, with the length of the past cache or total_sequence_length, whichever is longer.
        present_value: Like `present_key`.

    Raises:
        IRError: IR501 and IR502 for ranks and sizes, IR900 for quantized caches and for sliding_window_cache.
    """

    inputs = (
        In("query", types=_FLOATS),
        In("key", types=_FLOATS, like="query"),
        In("value", types=_FLOATS, like="query"),
        In("past_key", types=_FLOATS, like="query"),
        In("past_value", types=_FLOATS, like="query"),
        In("seqlens_k", types=INDEX),
        In("total_sequence_length", types=INDEX),
        # `takes_untyped`: a missing input is u8 in a run.
        *[In(name, types=ALL, optional=True) for name in _OPTIONAL],
    )
    outputs = ("output", "present_key", "present_value")
    takes_untyped = True

    num_heads: Positive
    kv_num_heads: Positive
    scale: Float = 0.0
    do_rotary: Bool = False
    rotary_interleaved: Bool = False
    causal: Bool = True
    local_window_size: Int = -1
    smooth_softmax: Bool = False
    sliding_window_cache: Bool = False
    kv_cache_bit_width: Int = 0
    k_quant_type: _Quantization = "NONE"
    v_quant_type: _Quantization = "NONE"

    def check_attributes(self) -> None:
        if self.num_heads % self.kv_num_heads:
            raise AttributeValueError(
                "attribute num_heads is",
                actual=self.num_heads,
                expected=f"a multiple of {self.kv_num_heads}",
                reason="the attribute kv_num_heads",
            )
        if self.local_window_size != -1 and self.local_window_size < 1:
            raise AttributeValueError(
                "attribute local_window_size is", actual=self.local_window_size, expected="-1, or 1 or more"
            )

    def infer(
        self,
        query: TensorType,
        key: TensorType,
        value: TensorType,
        past_key: TensorType,
        past_value: TensorType,
        seqlens_k: TensorType,
        total_sequence_length: TensorType,
        cos_cache: TensorType | None = None,
        sin_cache: TensorType | None = None,
        position_ids: TensorType | None = None,
        attention_bias: TensorType | None = None,
        head_sink: TensorType | None = None,
        k_scale: TensorType | None = None,
        v_scale: TensorType | None = None,
        q_norm_weight: TensorType | None = None,
        k_norm_weight: TensorType | None = None,
    ) -> tuple[TensorType, TensorType, TensorType]:
        if self.kv_cache_bit_width or (self.k_quant_type, self.v_quant_type) != ("NONE", "NONE"):
            raise UnsupportedError("GroupQueryAttention with a quantized cache")
        if self.sliding_window_cache or any(_is_there(candidate) for candidate in (q_norm_weight, k_norm_weight)):
            raise UnsupportedError("GroupQueryAttention with a sliding-window cache or norms")
        optional = (cos_cache, sin_cache, position_ids, attention_bias, head_sink, k_scale, v_scale)
        for tensor, (name, types) in zip(optional, _OPTIONAL.items(), strict=False):
            _check_type(tensor, name, types)
        if self.do_rotary and not (_is_there(cos_cache) and _is_there(sin_cache)):
            raise ShapeError(
                "cos_cache or sin_cache is missing", expected="both for do_rotary", code=Code.wrong_number_of_inputs
            )
        batch, tokens, channels = Dim.any(), Dim.any(), Dim.any()
        past = Dim.any()
        for tensor, name, heads in (
            (query, "query", self.num_heads),
            (key, "key", self.kv_num_heads),
            (value, "value", self.kv_num_heads),
            (past_key, "past_key", self.kv_num_heads),
            (past_value, "past_value", self.kv_num_heads),
        ):
            require_rank(tensor, 4, name)
            if tensor.shape.dims is None:
                continue
            batch = merge_dims(batch, tensor.shape[0], f"the batches of query and {name}", port=name)
            merge_dims(Dim(heads), tensor.shape[1], f"the attribute and the heads of {name}", port=name)
            channels = merge_dims(channels, tensor.shape[3], f"the channels of query and {name}", port=name)
            if name.startswith("past"):
                past = merge_dims(past, tensor.shape[2], f"axis 2 of past_key and {name}", port=name)
            else:
                tokens = merge_dims(tokens, tensor.shape[2], f"the tokens of query and {name}", port=name)
        total = known_int(total_sequence_length)
        keys = past | (past + tokens) if total is None else Dim(max(past.lo, total), max(past.hi, total))
        cache = Shape([batch, Dim(self.kv_num_heads), keys, channels])
        typed = next(
            (candidate for candidate in (query, key, value, past_key) if candidate.element_type.is_known), query
        )
        merged = Shape([batch, tokens, channels * self.num_heads])
        return typed.with_shape(merged), typed.with_shape(cache), typed.with_shape(cache)

    def count_terms(self, inputs: Sequence[Array]) -> int:
        """A sum over the keys, each with a score that is a sum over the channels."""
        query, _, _, past_key, _, _, total = inputs[:7]
        keys = max(past_key.shape[2], int(np.ravel(total)[0]))
        return int(keys * (query.shape[-1] + 1))

    def evaluate(
        self,
        query: Array,
        key: Array,
        value: Array,
        past_key: Array,
        past_value: Array,
        seqlens_k: Array,
        total_sequence_length: Array,
        cos_cache: Array | None = None,
        sin_cache: Array | None = None,
        position_ids: Array | None = None,
        attention_bias: Array | None = None,
        head_sink: Array | None = None,
        k_scale: Array | None = None,
        v_scale: Array | None = None,
        q_norm_weight: Array | None = None,
        k_norm_weight: Array | None = None,
    ) -> tuple[Array, Array, Array]:
        dtype = ElementType.of(query).dtype
        batch, _, tokens, channels = query.shape
        total = int(np.ravel(total_sequence_length)[0])
        places = self._places(np.ravel(seqlens_k).astype(np.int64), batch, tokens, total)
        wide = [array.astype(np.float32) for array in (query, key)]
        if self.do_rotary:
            assert cos_cache is not None
            assert sin_cache is not None
            rows = _present_or_none(position_ids)
            at = places if rows is None else rows.reshape(-1, tokens).astype(np.int64)
            if at.size and not 0 <= at.min() <= at.max() < len(cos_cache):
                outside = int(at.min()) if at.min() < 0 else int(at.max())
                raise EvaluationError(
                    "a position is",
                    actual=outside,
                    expected=f"0 to {len(cos_cache) - 1}",
                    reason="the rows of cos_cache",
                )
            tables = [table.astype(np.float32)[at][:, np.newaxis] for table in (cos_cache, sin_cache)]
            wide = [_rotate(array, *tables, is_interleaved=self.rotary_interleaved) for array in wide]
        present_key = _append_to_cache(past_key, wide[1].astype(dtype), places, total)
        present_value = _append_to_cache(past_value, value, places, total)
        mask = self._mask(places, present_key.shape[2], _present_or_none(attention_bias))
        attended = self._attend(wide[0].astype(dtype), present_key, present_value, mask, _present_or_none(head_sink))
        merged = attended.transpose(0, 2, 1, 3).reshape(batch, tokens, self.num_heads * channels)
        return merged.astype(dtype), present_key, present_value

    def _places(self, last: Array, batch: int, tokens: int, total: int) -> Array:
        """The position of each token in the cache of its batch entry, [batch, tokens].

        The first prompt of an entry may be shorter than others of the batch, but begins at the first position.
        """
        start = np.zeros(batch, np.int64) if tokens == total else np.broadcast_to(last, batch) + 1 - tokens
        if start.size and start.min() < 0:
            raise EvaluationError(
                "seqlens_k is", actual=int(last.min()), expected=f"{tokens - 1} or more", reason=f" for {tokens} tokens"
            )
        positions: Array = start[:, np.newaxis] + np.arange(tokens)
        return positions

    def _mask(self, places: Array, keys: int, bias: Array | None) -> Array:
        """The mask and bias that are added to the scores, [batch, 1 or num_heads, tokens, keys]."""
        columns, rows = np.arange(keys), places[:, :, np.newaxis]
        seen = columns <= (rows if self.causal else rows[:, -1:])
        if self.local_window_size > 0:
            seen = seen & (columns > rows - self.local_window_size)
        mask: Array = np.where(seen, np.float32(0), _LOWEST)[:, np.newaxis]
        if bias is None:
            return mask
        wide = bias[..., :keys].astype(np.float32)
        filled = np.pad(wide, [(0, 0)] * (wide.ndim - 1) + [(0, keys - wide.shape[-1])])
        with np.errstate(over="ignore"):
            return mask + filled

    def _attend(self, query: Array, keys: Array, values: Array, mask: Array, sink: Array | None) -> Array:
        """The result of the attention, [batch, num_heads, tokens, channels], f32."""
        group = self.num_heads // self.kv_num_heads
        q, k, v = (array.astype(np.float32) for array in (query, keys, values))
        k, v = np.repeat(k, group, axis=1), np.repeat(v, group, axis=1)
        last = None
        if sink is not None:
            last = sink.astype(np.float32).reshape(1, self.num_heads, 1, 1)
        elif self.smooth_softmax:
            last = np.zeros((1, 1, 1, 1), np.float32)
        shape = None if last is None else last.shape
        attend = Attention(q.shape, k.shape, v.shape, mask.shape, shape, is_causal=False, dtype=q.dtype)
        return attend(q, k, v, mask, np.array(self.scale, np.float32) if self.scale else None, last)


def _check_type(tensor: TensorType | None, name: str, types: frozenset[ElementType]) -> None:
    if tensor is None or not _is_there(tensor) or not tensor.element_type.is_known:
        return
    if tensor.element_type not in types:
        expected = ", ".join(sorted(type.name for type in types))
        raise ElementTypeError(
            f"{name} is",
            actual=tensor.element_type,
            expected=f"one of {expected}",
            code=Code.element_type_not_taken,
            port=name,
        )


def _is_there(tensor: TensorType | None) -> bool:
    return tensor is not None and 0 not in tensor.shape.size


def _append_to_cache(past: Array, new: Array, places: Array, total: int) -> Array:
    """The past keys or values, with the new ones written at their positions."""
    batch, heads, length, channels = past.shape
    if places.size:
        total = max(total, int(places.max()) + 1)
    cache = np.zeros((batch, heads, max(length, total), channels), past.dtype)
    cache[:, :, :length] = past
    np.put_along_axis(cache, places[:, np.newaxis, :, np.newaxis], new, axis=2)
    return cache


def _rotate(wide: Array, cos: Array, sin: Array, *, is_interleaved: bool) -> Array:
    """Rotate the first channels; the tables have one channel for each pair."""
    half = cos.shape[-1]
    pairs = (slice(0, 2 * half, 2), slice(1, 2 * half, 2)) if is_interleaved else (slice(half), slice(half, 2 * half))
    first, second = (wide[..., pair] for pair in pairs)
    rotated = wide.copy()
    rotated[..., pairs[0]] = first * cos - second * sin
    rotated[..., pairs[1]] = second * cos + first * sin
    return rotated
