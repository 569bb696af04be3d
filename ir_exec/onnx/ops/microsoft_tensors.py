"""Operators of the domain com.microsoft that move, generate or look up elements."""

from __future__ import annotations

import numpy as np

from ir_exec import build
from ir_exec.build import Value
from ir_exec.codes import Code
from ir_exec.errors import GraphError, InvalidAttributeError, ShapeError
from ir_exec.onnx.lowering.attributes import Ints
from ir_exec.onnx.lowering.registry import MICROSOFT, onnx_op
from ir_exec.onnx.lowering.values import (
    cast,
    checked_gather,
    ints,
    known_array,
    known_rank,
    known_size,
    normal_axis,
    number,
    reshape,
    shape_of,
)
from ir_exec.onnx.ops.attention import heads_of, heads_of_size, merge_heads, rotate_pairs
from ir_exec.onnx.ops.microsoft import embed_layer_normalization
from ir_exec.onnx.ops.movement import pad_axes, trilu
from ir_exec.onnx.ops.quantization import dequantize
from ir_exec.onnx.ops.shape import scalar_range
from ir_exec.types import Array, ElementType

__all__: list[str] = []


@onnx_op("Trilu", since=1, domain=MICROSOFT)
def trilu_of_microsoft(data: Value, k: Value | None, *, upper: bool) -> Value:
    return trilu(data, k, upper=upper)


@onnx_op("GatherND", since=1, domain=MICROSOFT)
def gather_nd_of_microsoft(data: Value, indices: Value) -> Value:
    return build.gather_nd(data, indices)


@onnx_op("Range", since=1, domain=MICROSOFT)
def range_of_microsoft(start: Value, limit: Value, delta: Value | None) -> Value:
    return scalar_range(start, limit, number(1, start) if delta is None else delta)


@onnx_op("Pad", since=1, domain=MICROSOFT)
def pad_of_microsoft(data: Value, pads: Value, value: Value | None, *, mode: str) -> Value:
    """The pads may be a row, and the value may have rank 1."""
    fill = None if value is None else reshape(value)
    return pad_axes(data, reshape(pads, -1), fill, None, mode)


@onnx_op("UnfoldTensor", since=1, domain=MICROSOFT)
def unfold_tensor(data: Value, *, dim: int, size: int, step: int) -> Value:
    """All windows of an axis, with the elements of a window along a new last axis."""
    rank = known_rank(data, "the input")
    axis = normal_axis(dim, rank)
    if size < 1 or step < 1:
        raise InvalidAttributeError("size and step are", actual=f"{size} and {step}", expected="positive numbers")
    length = build.gather(shape_of(data), axis, 0)
    last = build.subtract(length, build.constant(np.int64(size - 1)))
    starts = build.range(0, last, step, output_type="i64")
    places = build.add(build.unsqueeze(starts, 1), build.constant(np.arange(size, dtype=np.int64)))
    windows = build.gather(data, places, axis)
    return build.transpose(windows, ints(*range(axis + 1), *range(axis + 2, rank + 1), axis + 1))


@onnx_op("ScaledSiLU", since=1, domain=MICROSOFT)
def scaled_silu(data: Value, scale: Value | None, *, alpha: float) -> Value:
    """x times its sigmoid, after a scale; each step is rounded to the element type."""
    wide = cast(data, ElementType.f32)
    factor = number(alpha, wide) if scale is None else cast(scale, ElementType.f32)
    scaled = cast(build.multiply(wide, factor), data.element_type)
    return build.multiply(scaled, cast(build.sigmoid(cast(scaled, ElementType.f32)), data.element_type))


@onnx_op("MatMulInteger16", since=1, domain=MICROSOFT)
def matmul_integer_16(a: Value, b: Value) -> Value:
    """The matrix product of integers of 16 bits, exact in f64, modulo 2**32."""
    wide = build.matmul(cast(a, ElementType.f64), cast(b, ElementType.f64))
    is_signed = a.element_type.is_signed or b.element_type.is_signed
    return cast(cast(wide, ElementType.i64), ElementType.i32 if is_signed else ElementType.u32)


@onnx_op("NGramRepeatBlock", since=1, domain=MICROSOFT)
def ngram_repeat_block(tokens: Value, scores: Value, *, ngram_size: int) -> Value:
    """Scores of minus infinity for tokens that would repeat an n-gram of [batch, length]."""
    if ngram_size < 1:
        raise InvalidAttributeError("ngram_size is", actual=ngram_size, expected="1 or more")
    zero = ints(0)
    length = build.gather(shape_of(tokens), ints(1), 0)
    windows = build.maximum(build.subtract(length, ints(ngram_size - 1)), zero)

    def items(position: int) -> Value:
        return build.slice(tokens, ints(position), build.add(windows, ints(position)), ints(1), ints(1))

    last = items(ngram_size - 1)
    repeats = build.equal(last, last)
    for position in range(ngram_size - 1):
        recent = build.gather(tokens, build.maximum(build.add(windows, ints(position)), zero), 1)
        repeats = build.logical_and(repeats, build.equal(items(position), recent))
    words = build.range(0, build.gather(shape_of(scores), 1, 0), 1, output_type=tokens.element_type)
    is_word = build.logical_and(build.equal(build.unsqueeze(last, 2), words), build.unsqueeze(repeats, 2))
    blocked = build.reduce_logical_or(is_word, ints(1), keep_dims=False)
    return build.select(blocked, number(-np.inf, scores), scores)


@onnx_op("QEmbedLayerNormalization", since=1, domain=MICROSOFT)
def quantized_embed_layer_normalization(
    input_ids: Value,
    segment_ids: Value | None,
    words: Value,
    positions: Value,
    segments: Value | None,
    gamma: Value,
    beta: Value,
    mask: Value | None,
    words_scale: Value,
    positions_scale: Value,
    segments_scale: Value | None,
    gamma_scale: Value,
    beta_scale: Value,
    words_zero_point: Value,
    positions_zero_point: Value,
    segments_zero_point: Value | None,
    gamma_zero_point: Value,
    beta_zero_point: Value,
    *,
    epsilon: float,
) -> list[Value]:
    """EmbedLayerNormalization of quantized tables."""
    table = None
    if segments is not None:
        if segments_scale is None:
            raise GraphError(
                "segment_embedding_scale is missing",
                expected="it with segment_embedding",
                code=Code.wrong_number_of_inputs,
            )
        table = dequantize(segments, segments_scale, segments_zero_point)
    outputs = embed_layer_normalization(
        input_ids,
        segment_ids,
        dequantize(words, words_scale, words_zero_point),
        dequantize(positions, positions_scale, positions_zero_point),
        table,
        dequantize(gamma, gamma_scale, gamma_zero_point),
        dequantize(beta, beta_scale, beta_zero_point),
        mask,
        None,
        epsilon=epsilon,
    )
    return outputs[:2]


@onnx_op("MRotaryEmbedding", since=1, domain=MICROSOFT, unused=("is_packed_batching",))
def multimodal_rotary_embedding(
    data: Value,
    position_ids: Value,
    cos_cache: Value,
    sin_cache: Value,
    *,
    interleaved: bool,
    mrope_layout: int = 0,
    mrope_section: Ints,
    num_heads: int = 0,
    rotary_embedding_dim: int = 0,
    scale: float = 1.0,
) -> Value:
    """RotaryEmbedding with positions in time, height and width, each for some of the angles.

    Args:
        position_ids: [3, batch, length].
        mrope_section: The numbers of angles of the three positions.
        mrope_layout: 0 for sections one after the other, 1 for angles that alternate.
    """
    half = known_size(cos_cache, 1, "the last dim of cos_cache")
    size = rotary_embedding_dim or 2 * half
    sections = _sections(mrope_section, mrope_layout, half)
    cosine, sine = (_by_section(checked_gather(cache, position_ids, 0), sections) for cache in (cos_cache, sin_cache))
    if scale != 1:
        cosine, sine = (build.multiply(factor, number(scale, factor)) for factor in (cosine, sine))
    is_flat = known_rank(data, "the input") == 3
    x = data
    if is_flat:
        x = heads_of(data, num_heads) if num_heads else heads_of_size(data, size)
    rotated = rotate_pairs(x, cosine, sine, size, interleaved)
    return merge_heads(rotated) if is_flat else rotated


def _sections(lengths: Ints, layout: int, half: int) -> list[int]:
    """The index of the position that each angle belongs to."""
    if len(lengths) != 3 or min(lengths) < 0 or sum(lengths) != half:
        raise InvalidAttributeError(
            "mrope_section is", actual=list(lengths), expected=f"three numbers with the sum {half}"
        )
    if layout == 0:
        return [index for index, length in enumerate(lengths) for _ in range(length)]
    if layout != 1:
        raise InvalidAttributeError("mrope_layout is", actual=layout, expected="0 or 1")
    sections = [0] * half
    for index in (1, 2):
        for angle in range(index, min(3 * lengths[index], half), 3):
            sections[angle] = index
    return sections


def _by_section(angles: Value, sections: list[int]) -> Value:
    """[batch, length, angles] from [3, batch, length, angles]."""
    chosen = build.gather(angles, 0, 0)
    for index in (1, 2):
        is_chosen = build.constant(np.array([section == index for section in sections]))
        chosen = build.select(is_chosen, build.gather(angles, index, 0), chosen)
    return chosen


@onnx_op("DynamicTimeWarping", since=1, domain=MICROSOFT)
def dynamic_time_warping(costs: Value) -> Value:
    """[2, steps]: the rows and columns of the cheapest path through a matrix, which must be known."""
    table = known_array(costs, "the costs")
    if table.ndim == 3 and table.shape[0] == 1:
        table = table[0]
    if table.ndim != 2 or not table.size:
        raise ShapeError(
            "the costs have shape", actual=list(table.shape), expected="[M, N] or [1, M, N]", code=Code.wrong_rank
        )
    return build.constant(_cheapest_path(table.astype(np.float32)))


def _cheapest_path(costs: Array) -> Array:
    """Of equal predecessors the one in the same row is taken, as in onnxruntime."""
    rows, columns = costs.shape
    total = np.full((rows + 1, columns + 1), np.inf, np.float32)
    total[0, 0] = 0
    back = np.zeros((rows + 1, columns + 1), np.int8)
    for diagonal in range(2, rows + columns + 1):
        i = np.arange(max(1, diagonal - columns), min(rows, diagonal - 1) + 1)
        j = diagonal - i
        both, above, left = total[i - 1, j - 1], total[i - 1, j], total[i, j - 1]
        is_both = (both < above) & (both < left)
        is_above = (above < both) & (above < left)
        back[i, j] = np.where(is_both, 0, np.where(is_above, 1, 2))
        total[i, j] = costs[i - 1, j - 1] + np.where(is_both, both, np.where(is_above, above, left))
    back[0, :], back[:, 0] = 2, 1
    i, j = rows, columns
    path = []
    while i > 0 or j > 0:
        path.append((i - 1, j - 1))
        step = back[i, j]
        i, j = i - int(step != 2), j - int(step != 1)
    return np.array(path[::-1], np.int32).T
