"""Caches of keys and values in operators of IR, for attention of com.microsoft."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ir_exec import build
from ir_exec.build import Value
from ir_exec.onnx.lowering.values import as_i64, concat, ints, known_size, number, reshape, shape_of
from ir_exec.onnx.ops.attention import size_of

__all__ = ["Cache", "Extended", "extend_cache", "from_beams", "up_to", "write_to_cache"]


class Cache(NamedTuple):
    """Keys and values up to the last query, and the position of each query among them, [batch, queries]."""

    keys: Value
    values: Value
    places: Value


class Extended(NamedTuple):
    """Keys and values to attend to, the new caches, and the number of keys before the new ones, a scalar."""

    keys: Value
    values: Value
    present_keys: Value
    present_values: Value
    past_length: Value


def write_to_cache(
    k: Value, v: Value, past_k: Value | None, past_v: Value | None, places: Value, total: Value
) -> Cache:
    """The new keys and values, written after the cached ones of each entry of the batch."""
    if past_k is None or past_v is None:
        return Cache(k, v, places)
    length = build.maximum(size_of(past_k, 2), total)
    grown = build.subtract(length, size_of(past_k, 2))
    zeros = ints(0, 0, 0, 0)
    ends = concat([ints(0, 0), grown, ints(0)])
    tensors = []
    for past, new in ((past_k, k), (past_v, v)):
        room = build.pad(past, zeros, ends, number(0, past), pad_mode="constant")
        where = build.broadcast(build.unsqueeze(places, ints(1, 3)), shape_of(new))
        tensors.append(build.scatter_elements_update(room, where, new, 2))
    return Cache(tensors[0], tensors[1], places)


def extend_cache(
    k: Value,
    v: Value,
    past_k: Value | None,
    past_v: Value | None,
    past_length: Value | None = None,
    sources: Value | None = None,
) -> Extended:
    """The new keys and values after the cached ones, all [batch, heads, length, size].

    Args:
        past_length: The number of cached keys, one element, for caches with space for all keys.
        sources: The beam of each cached key, as for `from_beams`.
    """
    if past_k is None or past_v is None:
        return Extended(k, v, k, v, build.constant(np.int64(0)))
    if past_length is None:
        keys, values = build.concat([past_k, k], 2), build.concat([past_v, v], 2)
        return Extended(keys, values, keys, values, build.gather(shape_of(past_k), 2, 0))
    start = as_i64(reshape(past_length, 1))
    total = build.add(start, size_of(k, 2))
    steps = build.range(0, build.squeeze(size_of(k, 2), 0), 1, output_type="i64")
    places = build.broadcast(build.add(start, steps), concat([size_of(k, 0), size_of(k, 2)]))
    room = write_to_cache(k, v, past_k, past_v, places, total)
    keys, values = (
        up_to(cache if sources is None else from_beams(cache, sources, start), total)
        for cache in (room.keys, room.values)
    )
    return Extended(keys, values, room.keys, room.values, build.squeeze(start, 0))


def up_to(tensor: Value, total: Value, axis: int = 2) -> Value:
    """The elements of an axis up to a number, of rank 1."""
    return build.slice(tensor, ints(0), total, ints(1), ints(axis))


def from_beams(tensor: Value, sources: Value, past_length: Value) -> Value:
    """A cache [batch * beams, heads, keys, size] in which each cached key is that of its beam.

    Args:
        sources: [batch, beams, keys or more], the beam of each key.
        past_length: The number of cached keys, of rank 1; later keys belong to the beam itself.
    """
    beams = known_size(sources, 1, "the number of beams")
    rows = build.range(0, build.squeeze(size_of(tensor, 0), 0), 1, output_type="i64")
    columns = build.range(0, build.squeeze(size_of(tensor, 2), 0), 1, output_type="i64")
    flat = build.reshape(as_i64(sources), concat([size_of(tensor, 0), ints(-1)]), special_zero=False)
    flat = up_to(flat, size_of(tensor, 2), 1)
    rows = build.unsqueeze(rows, 1)
    first = build.multiply(build.divide(rows, ints(beams)), ints(beams))
    is_past = build.less(columns, past_length)
    indices = build.unsqueeze(build.select(is_past, build.add(first, flat), rows), ints(1, 3))
    return build.gather_elements(tensor, build.broadcast(indices, shape_of(tensor)), 0)
