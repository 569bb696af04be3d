"""Attention of the domain com.microsoft."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ir_exec import build
from ir_exec.build import Value
from ir_exec.errors import UnsupportedError
from ir_exec.onnx.attributes import Ints
from ir_exec.onnx.convert import Call
from ir_exec.onnx.ops.microsoft_quantized import matmul_integer_to_float
from ir_exec.onnx.registry import MICROSOFT, onnx_op
from ir_exec.onnx.values import (
    as_i64,
    cast,
    checked_gather,
    concat,
    ints,
    known_rank,
    known_size,
    number,
    reshape,
    shape_of,
    size_along,
)
from ir_exec.types import ElementType

__all__: list[str] = []

_MASKED = -10000.0
"""What onnxruntime adds to the scores of masked keys, unless the node says another number."""


def _size(value: Value, axis: int) -> Value:
    """A size as a tensor of rank 1."""
    return build.gather(shape_of(value), ints(axis), 0)


def _heads(value: Value, count: int) -> Value:
    """[batch, length, heads * size] as [batch, heads, length, size]."""
    return build.transpose(build.reshape(value, ints(0, 0, count, -1), special_zero=True), ints(0, 2, 1, 3))


def _joined(value: Value) -> Value:
    """The inverse."""
    return build.reshape(build.transpose(value, ints(0, 2, 1, 3)), ints(0, 0, -1), special_zero=True)


def _causal(queries: Value, keys: Value, like: Value) -> Value:
    """[queries, keys]: 0 for keys up to the query itself, of which the last stands at the last key."""
    many, all_keys = build.gather(shape_of(queries), 2, 0), build.gather(shape_of(keys), 2, 0)
    rows = build.add(build.range(0, many, 1, output_type="i64"), build.subtract(all_keys, many))
    columns = build.range(0, all_keys, 1, output_type="i64")
    seen = build.less_equal(columns, build.unsqueeze(rows, 1))
    return build.select(seen, number(0, like), _lowest(like))


def _lowest(like: Value) -> Value:
    kind = ElementType.f32 if like.element_type is not ElementType.f64 else like.element_type
    low = float(np.finfo(np.float16).min) if like.element_type is ElementType.f16 else float(np.finfo(kind.dtype).min)
    return number(low, like)


def _attended(
    q: Value,
    k: Value,
    v: Value,
    mask: Value | None,
    scale: float | None,
    softcap: float = 0.0,
    sink: Value | None = None,
) -> Value:
    """softmax(q k^T scale + mask) v, all [batch, heads, length, size].

    sink: [heads], scores of a key that takes part in the softmax and gives nothing.
    """
    if softcap == 0 and sink is None:
        factor = None if scale is None else number(scale, q)
        if factor is not None and mask is None:
            mask = number(0, q)
        return build.scaled_dot_product_attention(q, k, v, mask, factor, causal=False)
    if scale is None:
        scale = 1 / float(np.sqrt(known_size(q, -1, "the size of a head")))
    scores = build.multiply(build.matmul(q, k, transpose_b=True), number(scale, q))
    if softcap:
        scores = build.multiply(build.tanh(build.divide(scores, number(softcap, q))), number(softcap, q))
    scores = scores if mask is None else build.add(scores, mask)
    if sink is None:
        return build.matmul(build.softmax(scores, axis=-1), v)
    column = build.broadcast(
        build.unsqueeze(sink, ints(1, 2)), concat([*(_size(scores, at) for at in range(3)), ints(1)])
    )
    shares = build.softmax(build.concat([scores, column], -1), axis=-1)
    return build.matmul(build.slice(shares, ints(0), ints(-1), ints(1), ints(-1)), v)


def _added(first: Value | None, second: Value | None) -> Value | None:
    if first is None or second is None:
        return first if second is None else second
    return build.add(first, second)


def _padding(mask: Value, keys: Value, like: Value, masked: float) -> Value:
    """What is added to the scores, from 1 for keys to attend to: [batch, keys], [batch, queries, keys], or the number
    of keys of each entry of the batch, [batch], which the places of their first keys may follow, [2 batch]."""
    rank = known_rank(mask, "the mask")
    if rank == 1:
        # The place behind the last key of each entry of the batch and then, perhaps, that of the first key.
        batch = _size(keys, 0)
        ends = build.slice(mask, ints(0), batch, ints(1))
        padded = build.concat([mask, build.broadcast(number(0, mask), batch)], 0)
        starts = build.slice(padded, batch, build.multiply(batch, 2), ints(1))
        columns = cast(build.range(0, build.gather(shape_of(keys), 2, 0), 1, output_type="i64"), mask.element_type)
        behind = build.greater_equal(columns, build.unsqueeze(starts, 1))
        kept = build.logical_and(behind, build.less(columns, build.unsqueeze(ends, 1)))
        kept = build.unsqueeze(kept, ints(1, 2))
    elif rank == 2:
        kept = build.unsqueeze(build.not_equal(mask, number(0, mask)), ints(1, 2))
    elif rank == 3:
        kept = build.unsqueeze(build.not_equal(mask, number(0, mask)), ints(1))
    else:
        raise UnsupportedError(f"a mask of rank {rank}")
    return build.select(kept, number(0, like), number(masked, like))


@onnx_op("Attention", since=1, domain=MICROSOFT)
def attention(
    data: Value,
    weights: Value,
    bias: Value | None = None,
    mask_index: Value | None = None,
    past: Value | None = None,
    attention_bias: Value | None = None,
    past_sequence_length: Value | None = None,
    *,
    do_rotary: bool = False,
    mask_filter_value: float = _MASKED,
    num_heads: int,
    past_present_share_buffer: bool = False,
    qkv_hidden_sizes: Ints = (),
    rotary_embedding_dim: int = 0,
    scale: float | None = None,
    unidirectional: bool = False,
    call: Call,
) -> list[Value]:
    """Query, key and value are projections of one input."""
    if do_rotary or past_present_share_buffer:
        raise UnsupportedError("rotary embeddings or a shared buffer in Attention")
    projected = build.matmul(data, weights)
    projected = projected if bias is None else build.add(projected, bias)
    form = _Form(num_heads, qkv_hidden_sizes, scale, mask_filter_value, unidirectional)
    return _self_attention(projected, mask_index, past, attention_bias, form, wants_present=call.wants(1))


class _Form(NamedTuple):
    """How heads of one projection attend to each other. sizes: of query, key and value, all alike where empty."""

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
    """Attention over query, key and value, which lie behind each other along the last axis."""
    if form.sizes:
        parts = build.variadic_split(projected, -1, ints(*form.sizes))
    else:
        parts = build.split(projected, -1, num_splits=3)
    q, k, v = (_heads(part, form.heads) for part in parts)
    if past is not None:
        k = build.concat([build.gather(past, 0, 0), k], 2)
        v = build.concat([build.gather(past, 1, 0), v], 2)
    mask = attention_bias
    if mask_index is not None:
        mask = _added(mask, _padding(mask_index, k, q, form.masked))
    if form.is_causal:
        mask = _added(mask, _causal(q, k, q))
    found = [_joined(_attended(q, k, v, mask, form.scale))]
    if wants_present:
        found.append(build.concat([build.unsqueeze(k, 0), build.unsqueeze(v, 0)], 0))
    return found


@onnx_op("QAttention", since=1, domain=MICROSOFT)
def qattention(
    data: Value,
    weights: Value,
    bias: Value,
    input_scale: Value,
    weight_scale: Value,
    mask_index: Value | None = None,
    input_zero_point: Value | None = None,
    weight_zero_point: Value | None = None,
    past: Value | None = None,
    *,
    do_rotary: bool = False,
    mask_filter_value: float = _MASKED,
    num_heads: int,
    past_present_share_buffer: bool = False,
    scale: float | None = None,
    unidirectional: bool = False,
    call: Call,
) -> list[Value]:
    """Attention whose projection is a product of integers."""
    if do_rotary or past_present_share_buffer:
        raise UnsupportedError("rotary embeddings or a shared buffer in QAttention")
    projected = matmul_integer_to_float(
        data, weights, input_scale, weight_scale, input_zero_point, weight_zero_point, bias
    )
    form = _Form(num_heads, (), scale, mask_filter_value, unidirectional)
    return _self_attention(projected, mask_index, past, None, form, wants_present=call.wants(1))


@onnx_op("MultiHeadAttention", since=1, domain=MICROSOFT)
def multi_head_attention(
    query: Value,
    key: Value | None = None,
    value: Value | None = None,
    bias: Value | None = None,
    key_padding_mask: Value | None = None,
    attention_bias: Value | None = None,
    past_key: Value | None = None,
    past_value: Value | None = None,
    past_sequence_length: Value | None = None,
    cache_indirection: Value | None = None,
    *,
    mask_filter_value: float = _MASKED,
    num_heads: int,
    scale: float | None = None,
    unidirectional: bool = False,
) -> list[Value]:
    """Key and value may be packed with the query, or be those of a cache, [batch, heads, length, size]."""
    if past_sequence_length is not None or cache_indirection is not None:
        raise UnsupportedError("a cache of a fixed size")
    if key is None:
        parts = [build.gather(query, index, 3) for index in range(3)]
        q, k, v = (build.transpose(part, ints(0, 2, 1, 3)) for part in parts)
        if bias is not None:
            raise UnsupportedError("a bias of packed queries, keys and values")
    else:
        size = known_size(query, 2, "the last dim of the query") if bias is not None else 0
        biases: list[Value | None] = [None] * 3
        if bias is not None:
            rest = known_size(bias, 0, "the size of the bias") - 2 * size
            biases = list(build.variadic_split(bias, 0, ints(size, size, rest)))
        if known_rank(key, "the key") == 5:
            tensors = [build.gather(key, index, 3) for index in range(2)]
            k, v = (build.transpose(part, ints(0, 2, 1, 3)) for part in tensors)
        elif value is None:
            raise UnsupportedError("a key without a value")
        else:
            k, v = (
                one if one.rank == 4 else _heads(one if extra is None else build.add(one, extra), num_heads)
                for one, extra in zip((key, value), biases[1:], strict=True)
            )
        q = _heads(query if biases[0] is None else build.add(query, biases[0]), num_heads)
    if past_key is not None and past_value is not None:
        k, v = build.concat([past_key, k], 2), build.concat([past_value, v], 2)
    mask = attention_bias
    if key_padding_mask is not None:
        mask = _added(mask, _padding(key_padding_mask, k, q, mask_filter_value))
    if unidirectional:
        mask = _added(mask, _causal(q, k, q))
    return [_joined(_attended(q, k, v, mask, scale)), k, v]


def _rotated(x: Value, cosines: Value, sines: Value, positions: Value, size: int, interleaved: bool) -> Value:
    """Pairs of the first `size` features turned by the angles of their positions. x: [batch, heads, length, features];
    cosines, sines: [most positions, size / 2]; positions: [batch, length]."""
    cosine, sine = (build.unsqueeze(checked_gather(one, positions, 0), 1) for one in (cosines, sines))
    features = size_along(x, 3)
    turned, left = x, None
    if not features.is_static or features.size != size:
        turned = build.slice(x, ints(0), ints(size), ints(1), ints(3))
        left = build.slice(x, ints(size), ints(2**31 - 1), ints(1), ints(3))
    if interleaved:
        paired = build.reshape(turned, ints(0, 0, 0, -1, 2), special_zero=True)
        a, b = build.gather(paired, 0, 4), build.gather(paired, 1, 4)
    else:
        a, b = build.split(turned, 3, num_splits=2)
    first = build.subtract(build.multiply(a, cosine), build.multiply(b, sine))
    second = build.add(build.multiply(a, sine), build.multiply(b, cosine))
    if interleaved:
        stacked = build.concat([build.unsqueeze(first, 4), build.unsqueeze(second, 4)], 4)
        found = build.reshape(stacked, ints(0, 0, 0, -1), special_zero=True)
    else:
        found = build.concat([first, second], 3)
    return found if left is None else build.concat([found, left], 3)


@onnx_op("RotaryEmbedding", since=1, domain=MICROSOFT)
def rotary_embedding(
    data: Value,
    position_ids: Value,
    cos_cache: Value,
    sin_cache: Value,
    *,
    interleaved: bool = False,
    is_packed_batching: bool = False,
    num_heads: int = 0,
    rotary_embedding_dim: int = 0,
    scale: float = 1.0,
) -> Value:
    """[batch, length, heads * size] or [batch, heads, length, size]; one position is that of the first element."""
    if scale != 1:
        raise UnsupportedError(f"the scale {scale}")
    size = rotary_embedding_dim or 2 * known_size(cos_cache, 1, "the last dim of cos_cache")
    is_flat = known_rank(data, "the input") == 3
    x = data
    if is_flat:
        x = _heads(data, num_heads) if num_heads else _of_size(data, size)
    length = build.gather(shape_of(x), 2, 0)
    positions = position_ids
    if position_ids.rank == 1:
        steps = build.unsqueeze(build.range(0, length, 1, output_type="i64"), 0)
        positions = build.broadcast(build.add(steps, as_i64(position_ids)), concat([_size(x, 0), _size(x, 2)]))
    found = _rotated(x, cos_cache, sin_cache, positions, size, interleaved)
    return _joined(found) if is_flat else found


def _of_size(value: Value, size: int) -> Value:
    """[batch, length, heads * size] as [batch, heads, length, size], for a known size."""
    return build.transpose(build.reshape(value, ints(0, 0, -1, size), special_zero=True), ints(0, 2, 1, 3))


class _Cache(NamedTuple):
    """Keys and values up to the last query, and the place of each query among them, [batch, queries]."""

    keys: Value
    values: Value
    places: Value


def _cached(k: Value, v: Value, past_k: Value | None, past_v: Value | None, places: Value, total: Value) -> _Cache:
    """The new keys and values, written behind those of each entry of the batch."""
    if past_k is None or past_v is None:
        return _Cache(k, v, places)
    length = build.maximum(_size(past_k, 2), total)
    grown = build.subtract(length, _size(past_k, 2))
    zeros = ints(0, 0, 0, 0)
    ends = concat([ints(0, 0), grown, ints(0)])
    found = []
    for past, new in ((past_k, k), (past_v, v)):
        room = build.pad(past, zeros, ends, number(0, past), pad_mode="constant")
        where = build.broadcast(build.unsqueeze(places, ints(1, 3)), shape_of(new))
        found.append(build.scatter_elements_update(room, where, new, 2))
    return _Cache(found[0], found[1], places)


@onnx_op("GroupQueryAttention", since=1, domain=MICROSOFT)
def group_query_attention(
    query: Value,
    key: Value | None,
    value: Value | None,
    past_key: Value | None,
    past_value: Value | None,
    seqlens_k: Value,
    total_sequence_length: Value,
    cos_cache: Value | None = None,
    sin_cache: Value | None = None,
    position_ids: Value | None = None,
    attention_bias: Value | None = None,
    head_sink: Value | None = None,
    k_scale: Value | None = None,
    v_scale: Value | None = None,
    q_norm_weight: Value | None = None,
    k_norm_weight: Value | None = None,
    query_seqlens: Value | None = None,
    *,
    causal: bool = True,
    do_rotary: bool = False,
    k_norm_epsilon: float | None = None,
    k_quant_type: str = "NONE",
    kv_cache_bit_width: int = 0,
    kv_num_heads: int,
    local_window_size: int = -1,
    num_heads: int,
    q_norm_epsilon: float | None = None,
    qk_norm_epsilon: float = 1e-6,
    qk_output: int = 0,
    rotary_interleaved: bool = False,
    scale: float | None = None,
    sliding_window_cache: bool = False,
    smooth_softmax: int = -1,
    softcap: float = 0.0,
    v_quant_type: str = "NONE",
) -> list[Value]:
    """Groups of heads share keys and values; the cache grows by those of this call.

    seqlens_k: for each entry of the batch, the number of its keys less one.
    """
    quantized = (k_quant_type, v_quant_type) != ("NONE", "NONE") or k_scale is not None or v_scale is not None
    if quantized or q_norm_weight is not None or k_norm_weight is not None or query_seqlens is not None:
        raise UnsupportedError("quantized caches, norms or lengths of queries in GroupQueryAttention")
    if qk_output or sliding_window_cache or not causal:
        raise UnsupportedError("scores as an output, a cache of a window, or attention that is not causal")
    if key is None or value is None:
        features = known_size(query, 2, "the last dim of the query") // (num_heads + 2 * kv_num_heads)
        sizes = ints(num_heads * features, kv_num_heads * features, kv_num_heads * features)
        query, key, value = build.variadic_split(query, 2, sizes)
    q, k, v = _heads(query, num_heads), _heads(key, kv_num_heads), _heads(value, kv_num_heads)
    total = as_i64(reshape(total_sequence_length, 1))
    length = _size(q, 2)
    steps = build.range(0, build.squeeze(length, 0), 1, output_type="i64")
    # A first prompt may be shorter than others of the batch: it still starts at the first place.
    is_first = build.equal(length, total)
    start = build.subtract(build.add(as_i64(reshape(seqlens_k, -1)), ints(1)), length)
    start = build.select(is_first, ints(0), start)
    places = build.add(build.unsqueeze(start, 1), steps)
    if do_rotary:
        if cos_cache is None or sin_cache is None:
            raise UnsupportedError("rotary embeddings without their angles")
        at = places if position_ids is None else position_ids
        size = 2 * known_size(cos_cache, 1, "the last dim of cos_cache")
        q = _rotated(q, cos_cache, sin_cache, at, size, rotary_interleaved)
        k = _rotated(k, cos_cache, sin_cache, at, size, rotary_interleaved)
    cache = _cached(k, v, past_key, past_value, places, total)
    columns = build.range(0, build.gather(shape_of(cache.keys), 2, 0), 1, output_type="i64")
    rows = build.unsqueeze(places, 2)
    seen = build.less_equal(columns, rows)
    if local_window_size > 0:
        seen = build.logical_and(seen, build.greater(columns, build.subtract(rows, ints(local_window_size))))
    mask = build.unsqueeze(build.select(seen, number(0, q), _lowest(q)), 1)
    if attention_bias is not None:
        mask = build.add(mask, attention_bias)
    group = num_heads // kv_num_heads
    shared = [_repeated(one, group) for one in (cache.keys, cache.values)]
    sink = head_sink
    if sink is None and smooth_softmax == 1:
        sink = build.broadcast(number(0, q), ints(num_heads))
    found = _attended(q, shared[0], shared[1], mask, scale or None, softcap, sink)
    return [_joined(found), cache.keys, cache.values]


def _repeated(value: Value, group: int) -> Value:
    """Each head as often as it is shared."""
    if group == 1:
        return value
    apart = build.unsqueeze(value, 2)
    sizes = concat([_size(value, 0), _size(value, 1), ints(group), _size(value, 2), _size(value, 3)])
    spread = build.broadcast(apart, sizes)
    return build.reshape(
        spread, concat([_size(value, 0), ints(-1), _size(value, 2), _size(value, 3)]), special_zero=False
    )
