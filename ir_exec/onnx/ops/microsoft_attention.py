"""Attention of the domain com.microsoft."""

from __future__ import annotations

from typing import NamedTuple

from ir_exec import build
from ir_exec.build import Value
from ir_exec.errors import UnsupportedError
from ir_exec.onnx.lowering.attributes import Ints
from ir_exec.onnx.lowering.graphs import Call
from ir_exec.onnx.lowering.registry import MICROSOFT, onnx_op
from ir_exec.onnx.lowering.values import (
    as_i64,
    cast,
    concat,
    ints,
    known_rank,
    known_size,
    number,
    shape_of,
)
from ir_exec.onnx.ops.attention import (
    attend,
    causal,
    heads_of,
    heads_of_size,
    merge_heads,
    rotate_at_positions,
    scores_of,
    size_of,
)
from ir_exec.onnx.ops.caches import Extended, extend_cache
from ir_exec.onnx.ops.microsoft_quantized import matmul_integer_to_float

__all__: list[str] = []

_MASKED = -10000.0
"""The number that onnxruntime adds to the scores of masked keys, unless the node declares another one."""


def _add_masks(first: Value | None, second: Value | None) -> Value | None:
    if first is None or second is None:
        return first if second is None else second
    return build.add(first, second)


def _padding(mask: Value, keys: Value, like: Value, masked: float) -> Value:
    """The mask to add to the scores, from one of three forms of `mask`.

    1 for keys to attend to, [batch, keys] or [batch, queries, keys]; the number of keys of each entry of the batch,
    [batch]; or these numbers followed by the index of each first key, [2 batch].
    """
    rank = known_rank(mask, "the mask")
    if rank == 1:
        # The index after the last key of each entry of the batch, optionally followed by the index of the first key.
        batch = size_of(keys, 0)
        ends = build.slice(mask, ints(0), batch, ints(1))
        padded = build.concat([mask, build.broadcast(number(0, mask), batch)], 0)
        starts = build.slice(padded, batch, build.multiply(batch, 2), ints(1))
        columns = cast(build.range(0, build.gather(shape_of(keys), 2, 0), 1, output_type="i64"), mask.element_type)
        behind = build.greater_equal(columns, build.unsqueeze(starts, 1))
        is_visible = build.logical_and(behind, build.less(columns, build.unsqueeze(ends, 1)))
        is_visible = build.unsqueeze(is_visible, ints(1, 2))
    elif rank == 2:
        is_visible = build.unsqueeze(build.not_equal(mask, number(0, mask)), ints(1, 2))
    elif rank == 3:
        is_visible = build.unsqueeze(build.not_equal(mask, number(0, mask)), ints(1))
    else:
        raise UnsupportedError(f"a mask of rank {rank} is not supported")
    return build.select(is_visible, number(0, like), number(masked, like))


@onnx_op("Attention", since=1, domain=MICROSOFT, unused=("rotary_embedding_dim",))
def attention(
    data: Value,
    weights: Value,
    bias: Value | None,
    mask_index: Value | None,
    past: Value | None,
    attention_bias: Value | None,
    past_sequence_length: Value | None,
    *,
    do_rotary: bool,
    mask_filter_value: float = _MASKED,
    num_heads: int,
    past_present_share_buffer: bool,
    qkv_hidden_sizes: Ints,
    scale: float | None,
    unidirectional: bool,
    call: Call,
) -> list[Value]:
    """Query, key and value are projections of one input."""
    if do_rotary or past_present_share_buffer:
        raise UnsupportedError("rotary embeddings and a shared buffer are not supported in Attention")
    projected = build.matmul(data, weights)
    projected = projected if bias is None else build.add(projected, bias)
    form = _Form(num_heads, qkv_hidden_sizes, scale, mask_filter_value, unidirectional)
    return _self_attention(projected, mask_index, past, attention_bias, form, wants_present=call.wants(1))


class _Form(NamedTuple):
    """Attributes of self-attention.

    Attributes:
        sizes: The sizes of query, key and value; empty if they are equal.
    """

    heads: int
    sizes: Ints
    scale: float | None
    masked: float
    is_causal: bool


def _self_attention(
    projected: Value,
    mask_index: Value | None,
    past: Value | None,
    attention_bias: Value | None,
    form: _Form,
    *,
    wants_present: bool,
) -> list[Value]:
    """Attention over query, key and value, which are concatenated along the last axis."""
    if form.sizes:
        parts = build.variadic_split(projected, -1, ints(*form.sizes))
    else:
        parts = build.split(projected, -1, num_splits=3)
    q, k, v = (heads_of(part, form.heads) for part in parts)
    if past is not None:
        k = build.concat([build.gather(past, 0, 0), k], 2)
        v = build.concat([build.gather(past, 1, 0), v], 2)
    mask = attention_bias
    if mask_index is not None:
        mask = _add_masks(mask, _padding(mask_index, k, q, form.masked))
    if form.is_causal:
        mask = _add_masks(mask, causal(q, k, q))
    outputs = [merge_heads(attend(q, k, v, mask, form.scale))]
    if wants_present:
        outputs.append(build.concat([build.unsqueeze(k, 0), build.unsqueeze(v, 0)], 0))
    return outputs


@onnx_op("QAttention", since=1, domain=MICROSOFT)
def qattention(
    data: Value,
    weights: Value,
    bias: Value,
    input_scale: Value,
    weight_scale: Value,
    mask_index: Value | None,
    input_zero_point: Value | None,
    weight_zero_point: Value | None,
    past: Value | None,
    *,
    do_rotary: bool,
    mask_filter_value: float = _MASKED,
    num_heads: int,
    past_present_share_buffer: bool,
    scale: float | None,
    unidirectional: bool,
    call: Call,
) -> list[Value]:
    """Attention whose projection is a product of integers."""
    if do_rotary or past_present_share_buffer:
        raise UnsupportedError("rotary embeddings and a shared buffer are not supported in QAttention")
    projected = matmul_integer_to_float(
        data, weights, input_scale, weight_scale, input_zero_point, weight_zero_point, bias
    )
    form = _Form(num_heads, (), scale, mask_filter_value, unidirectional)
    return _self_attention(projected, mask_index, past, None, form, wants_present=call.wants(1))


@onnx_op("MultiHeadAttention", since=1, domain=MICROSOFT)
def multi_head_attention(
    query: Value,
    key: Value | None,
    value: Value | None,
    bias: Value | None,
    key_padding_mask: Value | None,
    attention_bias: Value | None,
    past_key: Value | None,
    past_value: Value | None,
    past_sequence_length: Value | None,
    cache_indirection: Value | None,
    *,
    mask_filter_value: float = _MASKED,
    num_heads: int,
    scale: float | None,
    unidirectional: bool,
    call: Call,
) -> list[Value]:
    """Key and value may be packed with the query, or come from a cache, [batch, heads, length, size].

    Args:
        past_sequence_length: The number of keys in a cache with space for all keys.
        cache_indirection: [batch, beams, keys], the beam whose key each beam uses.
    """
    if key is None:
        parts = [build.gather(query, index, 3) for index in range(3)]
        q, k, v = (build.transpose(part, ints(0, 2, 1, 3)) for part in parts)
        if bias is not None:
            raise UnsupportedError("a bias of packed queries, keys and values is not supported")
    else:
        size = known_size(query, 2, "the last dim of the query") if bias is not None else 0
        biases: list[Value | None] = [None] * 3
        if bias is not None:
            value_size = known_size(bias, 0, "the size of the bias") - 2 * size
            biases = list(build.variadic_split(bias, 0, ints(size, size, value_size)))
        if known_rank(key, "the key") == 5:
            tensors = [build.gather(key, index, 3) for index in range(2)]
            k, v = (build.transpose(part, ints(0, 2, 1, 3)) for part in tensors)
        elif value is None:
            raise UnsupportedError("the key is given without the value")
        else:
            k, v = (
                tensor
                if tensor.rank == 4
                else heads_of(tensor if extra is None else build.add(tensor, extra), num_heads)
                for tensor, extra in zip((key, value), biases[1:], strict=True)
            )
        q = heads_of(query if biases[0] is None else build.add(query, biases[0]), num_heads)
    cache = extend_cache(k, v, past_key, past_value, past_sequence_length, cache_indirection)
    mask = attention_bias
    if key_padding_mask is not None:
        mask = _add_masks(mask, _padding(key_padding_mask, cache.keys, q, mask_filter_value))
    if unidirectional:
        mask = _add_masks(mask, causal(q, cache.keys, q, cache.past_length))
    return _attention_outputs(q, cache, mask, scale, wants_scores=call.wants(3))


def _attention_outputs(
    q: Value, cache: Extended, mask: Value | None, scale: float | None, *, wants_scores: bool
) -> list[Value]:
    output = merge_heads(attend(q, cache.keys, cache.values, mask, scale))
    outputs = [output, cache.present_keys, cache.present_values]
    return [*outputs, scores_of(q, cache.keys, mask, scale)] if wants_scores else outputs


@onnx_op("DecoderMaskedMultiHeadAttention", since=1, domain=MICROSOFT, unused=("output_qk",))
def decoder_masked_multi_head_attention(
    query: Value,
    key: Value | None,
    value: Value | None,
    mask_index: Value | None,
    attention_bias: Value | None,
    past_key: Value | None,
    past_value: Value | None,
    past_sequence_length: Value | None,
    beam_width: Value | None,
    cache_indirection: Value | None,
    bias: Value | None,
    *,
    mask_filter_value: float = _MASKED,
    num_heads: int,
    past_present_share_buffer: bool,
    scale: float | None,
    call: Call,
) -> list[Value]:
    """One query for each entry of the batch; see MultiHeadAttention for the caches.

    Keys and values of rank 4 are those of an encoder, without caches.
    """
    is_cross = key is not None and known_rank(key, "the key") == 4
    if key is None:
        query, key, value = _packed_parts(query, past_key, past_value, num_heads)
    if value is None:
        raise UnsupportedError("the key is given without the value")
    if bias is not None:
        size = known_size(query, 2, "the last dim of the query")
        value_size = known_size(bias, 0, "the size of the bias") - 2 * size
        biases = build.variadic_split(bias, 0, ints(size, size, value_size))
        query = build.add(query, biases[0])
        if not is_cross:
            key, value = build.add(key, biases[1]), build.add(value, biases[2])
    q = heads_of(query, num_heads)
    if is_cross:
        cache = extend_cache(key, value, None, None)
    else:
        length = past_sequence_length if past_present_share_buffer else None
        k, v = heads_of(key, num_heads), heads_of(value, num_heads)
        cache = extend_cache(k, v, past_key, past_value, length, cache_indirection)
    mask = attention_bias
    if mask_index is not None:
        mask = _add_masks(mask, _padding(mask_index, cache.keys, q, mask_filter_value))
    return _attention_outputs(q, cache, mask, scale, wants_scores=call.wants(3))


def _packed_parts(packed: Value, past_key: Value | None, past_value: Value | None, heads: int) -> list[Value]:
    """Query, key and value from one tensor; the caches have the sizes of their heads."""
    total = known_size(packed, 2, "the last dim of the query")
    size = total // 3
    if past_key is not None and past_value is not None:
        size = heads * known_size(past_key, 3, "the size of a cached key")
    return list(build.variadic_split(packed, 2, ints(size, size, total - 2 * size)))


# onnxruntime reads the scale, but does not apply it.
@onnx_op("RotaryEmbedding", since=1, domain=MICROSOFT, unused=("is_packed_batching", "scale"))
def rotary_embedding(
    data: Value,
    position_ids: Value,
    cos_cache: Value,
    sin_cache: Value,
    *,
    interleaved: bool,
    num_heads: int = 0,
    rotary_embedding_dim: int = 0,
) -> Value:
    """[batch, length, heads * size] or [batch, heads, length, size]; a single position belongs to the first element."""
    size = rotary_embedding_dim or 2 * known_size(cos_cache, 1, "the last dim of cos_cache")
    is_flat = known_rank(data, "the input") == 3
    x = data
    if is_flat:
        x = heads_of(data, num_heads) if num_heads else heads_of_size(data, size)
    length = build.gather(shape_of(x), 2, 0)
    positions = position_ids
    if position_ids.rank == 1:
        steps = build.unsqueeze(build.range(0, length, 1, output_type="i64"), 0)
        positions = build.broadcast(build.add(steps, as_i64(position_ids)), concat([size_of(x, 0), size_of(x, 2)]))
    output = rotate_at_positions(x, cos_cache, sin_cache, positions, size, interleaved)
    return merge_heads(output) if is_flat else output
