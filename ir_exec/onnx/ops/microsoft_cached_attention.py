"""Attention of the domain com.microsoft with cached keys and values."""

from __future__ import annotations

from ir_exec import build
from ir_exec.build import Value
from ir_exec.errors import InvalidAttributeError, UnsupportedError
from ir_exec.onnx.lowering.graphs import Call
from ir_exec.onnx.lowering.registry import MICROSOFT, onnx_op
from ir_exec.onnx.lowering.values import as_i64, cast, ints, known_size, number, reshape, shape_of
from ir_exec.onnx.ops.attention import (
    attend,
    heads_of,
    lowest,
    merge_heads,
    repeat_heads,
    rotate_at_positions,
    scores_of,
    shares_of,
    size_of,
)
from ir_exec.onnx.ops.caches import up_to, write_to_cache
from ir_exec.types import ElementType

__all__: list[str] = []


def _split_packed(packed: Value, heads: int, shared: int) -> tuple[Value, Value, Value]:
    """Queries, keys and values from one tensor of their concatenation."""
    size = known_size(packed, 2, "the last dim of the query") // (heads + 2 * shared)
    query, key, value = build.variadic_split(packed, 2, ints(heads * size, shared * size, shared * size))
    return query, key, value


def _places(lengths: Value, queries: Value, total: Value) -> Value:
    """[batch, queries]: the position of each query among the `lengths` keys of its entry of the batch.

    A first prompt may be shorter than others of the batch: it still starts at the first position.
    """
    is_first = build.equal(queries, total)
    start = build.select(is_first, ints(0), build.subtract(lengths, queries))
    steps = build.range(0, build.squeeze(queries, 0), 1, output_type="i64")
    return build.add(build.unsqueeze(start, 1), steps)


def _both_rotated(
    q: Value, k: Value, cosines: Value | None, sines: Value | None, places: Value, interleaved: bool
) -> tuple[Value, Value]:
    if cosines is None or sines is None:
        raise UnsupportedError("rotary embeddings require cos_cache and sin_cache")
    size = 2 * known_size(cosines, 1, "the last dim of cos_cache")
    return tuple(rotate_at_positions(tensor, cosines, sines, places, size, interleaved) for tensor in (q, k))  # type: ignore[return-value]


@onnx_op(
    "GroupQueryAttention",
    since=1,
    domain=MICROSOFT,
    unused=("k_norm_epsilon", "kv_cache_bit_width", "q_norm_epsilon", "qk_norm_epsilon"),
)
def group_query_attention(
    query: Value,
    key: Value | None,
    value: Value | None,
    past_key: Value | None,
    past_value: Value | None,
    seqlens_k: Value,
    total_sequence_length: Value,
    cos_cache: Value | None,
    sin_cache: Value | None,
    position_ids: Value | None,
    attention_bias: Value | None,
    head_sink: Value | None,
    k_scale: Value | None,
    v_scale: Value | None,
    q_norm_weight: Value | None,
    k_norm_weight: Value | None,
    query_seqlens: Value | None,
    *,
    causal: bool,
    do_rotary: bool,
    k_quant_type: str,
    kv_num_heads: int,
    local_window_size: int,
    num_heads: int,
    qk_output: int,
    rotary_interleaved: bool,
    scale: float | None,
    sliding_window_cache: bool,
    smooth_softmax: int,
    softcap: float = 0.0,
    v_quant_type: str,
    call: Call,
) -> list[Value]:
    """Groups of heads share keys and values; the cache grows by the keys and values of this call.

    Args:
        qk_output: 1 for the scores as the last output, 2 for their softmax; both are 0 for masked keys.
        seqlens_k: For each entry of the batch, the number of its keys minus one.
    """
    quantized = (k_quant_type, v_quant_type) != ("NONE", "NONE") or k_scale is not None or v_scale is not None
    if quantized or q_norm_weight is not None or k_norm_weight is not None or query_seqlens is not None:
        raise UnsupportedError(
            "quantized caches, norms and lengths of queries are not supported in GroupQueryAttention"
        )
    if sliding_window_cache or not causal:
        raise UnsupportedError("a cache of a window and non-causal attention are not supported")
    if qk_output not in (0, 1, 2):
        raise InvalidAttributeError("qk_output is", actual=qk_output, expected="0, 1 or 2")
    if key is None or value is None:
        query, key, value = _split_packed(query, num_heads, kv_num_heads)
    q, k, v = heads_of(query, num_heads), heads_of(key, kv_num_heads), heads_of(value, kv_num_heads)
    total = as_i64(reshape(total_sequence_length, 1))
    lengths = build.add(as_i64(reshape(seqlens_k, -1)), ints(1))
    places = _places(lengths, size_of(q, 2), total)
    if do_rotary:
        at = places if position_ids is None else position_ids
        q, k = _both_rotated(q, k, cos_cache, sin_cache, at, rotary_interleaved)
    cache = write_to_cache(k, v, past_key, past_value, places, total)
    columns = build.range(0, build.gather(shape_of(cache.keys), 2, 0), 1, output_type="i64")
    rows = build.unsqueeze(places, 2)
    # The queries that pad a first prompt see no further keys.
    seen = build.logical_and(build.less_equal(columns, rows), build.less(columns, build.unsqueeze(lengths, ints(1, 2))))
    if local_window_size > 0:
        seen = build.logical_and(seen, build.greater(columns, build.subtract(rows, ints(local_window_size))))
    mask = build.unsqueeze(build.select(seen, number(0, q), lowest(q)), 1)
    if attention_bias is not None:
        mask = build.add(mask, attention_bias)
    group = num_heads // kv_num_heads
    shared = [repeat_heads(tensor, group) for tensor in (cache.keys, cache.values)]
    sink = head_sink
    if sink is None and smooth_softmax == 1:
        sink = build.broadcast(number(0, q), ints(num_heads))
    outputs = [
        merge_heads(attend(q, shared[0], shared[1], mask, scale or None, softcap, sink)),
        cache.keys,
        cache.values,
    ]
    if call.wants(3):
        if not qk_output:
            raise UnsupportedError("the output output_qk is used", expected="qk_output of 1 or 2")
        bias = attention_bias if qk_output == 1 else mask
        scores = scores_of(q, shared[0], bias, scale or None, softcap)
        if qk_output == 1:
            scores = build.select(build.unsqueeze(seen, 1), scores, number(0, scores))
        outputs.append(up_to(scores if qk_output == 1 else shares_of(scores, sink), total, 3))
    return outputs


@onnx_op("SparseAttention", since=1, domain=MICROSOFT)
def sparse_attention(
    query: Value,
    key: Value | None,
    value: Value | None,
    past_key: Value,
    past_value: Value,
    block_row_indices: Value,
    block_col_indices: Value,
    total_sequence_length: Value,
    key_total_sequence_lengths: Value,
    cos_cache: Value | None,
    sin_cache: Value | None,
    *,
    do_rotary: bool,
    kv_num_heads: int,
    num_heads: int,
    rotary_interleaved: bool,
    scale: float = 0.0,
    sparse_block_size: int,
) -> list[Value]:
    """Causal attention to the blocks of keys that the layout of a head lists for the block of the query.

    The caches have space for all keys: [batch, heads, maximum keys, size].

    Args:
        block_row_indices: The offsets of the rows of each layout in compressed row format, [layouts, rows + 1].
        block_col_indices: The blocks of each row, [layouts, entries].
    """
    if key is None or value is None:
        query, key, value = _split_packed(query, num_heads, kv_num_heads)
    q, k, v = heads_of(query, num_heads), heads_of(key, kv_num_heads), heads_of(value, kv_num_heads)
    total = as_i64(reshape(total_sequence_length, 1))
    places = _places(as_i64(reshape(key_total_sequence_lengths, -1)), size_of(q, 2), total)
    if do_rotary:
        q, k = _both_rotated(q, k, cos_cache, sin_cache, places, rotary_interleaved)
    cache = write_to_cache(k, v, past_key, past_value, places, total)
    columns = build.range(0, build.gather(shape_of(cache.keys), 2, 0), 1, output_type="i64")
    seen = build.unsqueeze(build.less_equal(columns, build.unsqueeze(places, 2)), 1)
    listed = _listed_blocks(as_i64(block_row_indices), as_i64(block_col_indices))
    block = ints(sparse_block_size)
    # [layouts, batch, queries, keys]; the heads cycle through the layouts.
    by_query = build.gather(listed, build.divide(places, block), 1)
    last = build.subtract(size_of(listed, 2), ints(1))
    by_key = build.gather(by_query, build.minimum(build.divide(columns, block), last), 3)
    heads = build.floor_mod(build.range(0, num_heads, 1, output_type="i64"), size_of(listed, 0))
    chosen = build.transpose(build.gather(by_key, heads, 0), ints(1, 0, 2, 3))
    mask = build.select(build.logical_and(seen, chosen), number(0, q), lowest(q))
    shared = [repeat_heads(tensor, num_heads // kv_num_heads) for tensor in (cache.keys, cache.values)]
    return [merge_heads(attend(q, shared[0], shared[1], mask, scale or None)), cache.keys, cache.values]


def _listed_blocks(rows: Value, columns: Value) -> Value:
    """[layouts, rows, columns], with equal numbers of rows and columns: the blocks listed by compressed rows."""
    count = build.subtract(size_of(rows, 1), ints(1))
    ends = build.slice(rows, ints(1), ints(2**31 - 1), ints(1), ints(1))
    starts = build.slice(rows, ints(0), ints(-1), ints(1), ints(1))
    entries = build.range(0, build.gather(shape_of(columns), 1, 0), 1, output_type="i64")
    behind = build.greater_equal(entries, build.unsqueeze(starts, 2))
    within = build.logical_and(behind, build.less(entries, build.unsqueeze(ends, 2)))
    blocks = build.range(0, build.squeeze(count, 0), 1, output_type="i64")
    at = build.equal(build.unsqueeze(columns, 2), blocks)
    counts = build.matmul(cast(within, ElementType.f32), cast(at, ElementType.f32))
    return build.greater(counts, number(0, counts))
