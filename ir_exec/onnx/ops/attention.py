"""Attention in operators of IR, for operators of com.microsoft."""

from __future__ import annotations

import numpy as np

from ir_exec import build
from ir_exec.build import Value
from ir_exec.onnx.lowering.values import checked_gather, concat, ints, known_size, number, shape_of, size_along
from ir_exec.types import ElementType

__all__ = [
    "attend",
    "causal",
    "heads_of",
    "heads_of_size",
    "lowest",
    "merge_heads",
    "repeat_heads",
    "rotate_at_positions",
    "rotate_pairs",
    "scores_of",
    "shares_of",
    "size_of",
]


def size_of(value: Value, axis: int) -> Value:
    """The size of an axis as a tensor of rank 1."""
    return build.gather(shape_of(value), ints(axis), 0)


def heads_of(value: Value, count: int) -> Value:
    """[batch, length, heads * size] as [batch, heads, length, size]."""
    return build.transpose(build.reshape(value, ints(0, 0, count, -1), special_zero=True), ints(0, 2, 1, 3))


def merge_heads(value: Value) -> Value:
    """[batch, heads, length, size] as [batch, length, heads * size]."""
    return build.reshape(build.transpose(value, ints(0, 2, 1, 3)), ints(0, 0, -1), special_zero=True)


def causal(queries: Value, keys: Value, like: Value, past: Value | None = None) -> Value:
    """[queries, keys]: 0 for keys up to the query's position, else the lowest value.

    Args:
        past: The number of keys before the key of the first query; by default the last positions align.
    """
    many, all_keys = build.gather(shape_of(queries), 2, 0), build.gather(shape_of(keys), 2, 0)
    first = build.subtract(all_keys, many) if past is None else past
    rows = build.add(build.range(0, many, 1, output_type="i64"), first)
    columns = build.range(0, all_keys, 1, output_type="i64")
    seen = build.less_equal(columns, build.unsqueeze(rows, 1))
    return build.select(seen, number(0, like), lowest(like))


def lowest(like: Value) -> Value:
    float_type = ElementType.f32 if like.element_type is not ElementType.f64 else like.element_type
    low = (
        float(np.finfo(np.float16).min)
        if like.element_type is ElementType.f16
        else float(np.finfo(float_type.dtype).min)
    )
    return number(low, like)


def attend(
    q: Value,
    k: Value,
    v: Value,
    mask: Value | None,
    scale: float | None,
    softcap: float = 0.0,
    sink: Value | None = None,
) -> Value:
    """softmax(q k^T scale + mask) v, all [batch, heads, length, size].

    Args:
        sink: [heads], scores of an extra key that is included in the softmax but has no value.
    """
    if softcap == 0 and sink is None:
        factor = None if scale is None else number(scale, q)
        if factor is not None and mask is None:
            mask = number(0, q)
        return build.scaled_dot_product_attention(q, k, v, mask, factor, causal=False)
    shares = shares_of(scores_of(q, k, mask, scale, softcap), sink)
    return build.matmul(shares, v)


def scores_of(q: Value, k: Value, mask: Value | None, scale: float | None, softcap: float = 0.0) -> Value:
    """q k^T scale + mask, [batch, heads, queries, keys]."""
    if scale is None:
        scale = 1 / float(np.sqrt(known_size(q, -1, "the size of a head")))
    scores = build.multiply(build.matmul(q, k, transpose_b=True), number(scale, q))
    if softcap:
        scores = build.multiply(build.tanh(build.divide(scores, number(softcap, q))), number(softcap, q))
    return scores if mask is None else build.add(scores, mask)


def shares_of(scores: Value, sink: Value | None = None) -> Value:
    """The softmax of scores over the keys; see `attend`."""
    if sink is None:
        return build.softmax(scores, axis=-1)
    column = build.broadcast(
        build.unsqueeze(sink, ints(1, 2)), concat([*(size_of(scores, at) for at in range(3)), ints(1)])
    )
    shares = build.softmax(build.concat([scores, column], -1), axis=-1)
    return build.slice(shares, ints(0), ints(-1), ints(1), ints(-1))


def rotate_at_positions(
    x: Value, cosines: Value, sines: Value, positions: Value, size: int, interleaved: bool
) -> Value:
    """Pairs of the first `size` features rotated by the angles of their positions.

    Args:
        x: [batch, heads, length, features].
        cosines: [maximum positions, size / 2].
        sines: [maximum positions, size / 2].
        positions: [batch, length].
    """
    cosine, sine = (checked_gather(cache, positions, 0) for cache in (cosines, sines))
    return rotate_pairs(x, cosine, sine, size, interleaved)


def rotate_pairs(x: Value, cosine: Value, sine: Value, size: int, interleaved: bool) -> Value:
    """Pairs of the first `size` features rotated by angles.

    Args:
        x: [batch, heads, length, features].
        cosine: [batch, length, size / 2].
        sine: [batch, length, size / 2].
    """
    cosine, sine = (build.unsqueeze(factor, 1) for factor in (cosine, sine))
    features = size_along(x, 3)
    turned, unrotated = x, None
    if not features.is_static or features.size != size:
        turned = build.slice(x, ints(0), ints(size), ints(1), ints(3))
        unrotated = build.slice(x, ints(size), ints(2**31 - 1), ints(1), ints(3))
    if interleaved:
        paired = build.reshape(turned, ints(0, 0, 0, -1, 2), special_zero=True)
        a, b = build.gather(paired, 0, 4), build.gather(paired, 1, 4)
    else:
        a, b = build.split(turned, 3, num_splits=2)
    first = build.subtract(build.multiply(a, cosine), build.multiply(b, sine))
    second = build.add(build.multiply(a, sine), build.multiply(b, cosine))
    if interleaved:
        stacked = build.concat([build.unsqueeze(first, 4), build.unsqueeze(second, 4)], 4)
        result = build.reshape(stacked, ints(0, 0, 0, -1), special_zero=True)
    else:
        result = build.concat([first, second], 3)
    return result if unrotated is None else build.concat([result, unrotated], 3)


def heads_of_size(value: Value, size: int) -> Value:
    """[batch, length, heads * size] as [batch, heads, length, size], for a known size."""
    return build.transpose(build.reshape(value, ints(0, 0, -1, size), special_zero=True), ints(0, 2, 1, 3))


def repeat_heads(value: Value, group: int) -> Value:
    """Repeat each head `group` times."""
    if group == 1:
        return value
    apart = build.unsqueeze(value, 2)
    sizes = concat([size_of(value, 0), size_of(value, 1), ints(group), size_of(value, 2), size_of(value, 3)])
    spread = build.broadcast(apart, sizes)
    return build.reshape(
        spread, concat([size_of(value, 0), ints(-1), size_of(value, 2), size_of(value, 3)]), special_zero=False
    )
