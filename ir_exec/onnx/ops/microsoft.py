"""Operators of the domain com.microsoft, written by exporters and onnxruntime's optimizer: fused layers and images."""

from __future__ import annotations

from collections.abc import Callable
from typing import Unpack

from ir_exec import build
from ir_exec.build import Value
from ir_exec.errors import InvalidAttributeError, UnsupportedError
from ir_exec.onnx.lowering.attributes import Floats, chosen
from ir_exec.onnx.lowering.registry import MICROSOFT, onnx_op
from ir_exec.onnx.lowering.values import (
    as_i64,
    cast,
    concat,
    gather_from_front,
    ints,
    known_rank,
    normal_axis,
    number,
    shape_of,
)
from ir_exec.onnx.ops.convolution import ConvAttributes, convolve
from ir_exec.onnx.ops.elementwise import gelu as standard_gelu
from ir_exec.onnx.ops.image import grid_sample_16
from ir_exec.onnx.ops.matrix import gemm
from ir_exec.onnx.ops.normalization import normalize
from ir_exec.types import ElementType

__all__: list[str] = []


@onnx_op("Gelu", since=1, domain=MICROSOFT)
def gelu(data: Value) -> Value:
    return standard_gelu(data, approximate="none")


@onnx_op("FastGelu", since=1, domain=MICROSOFT)
def fast_gelu(data: Value, bias: Value | None) -> Value:
    return standard_gelu(data if bias is None else build.add(data, bias), approximate="tanh")


@onnx_op("BiasGelu", since=1, domain=MICROSOFT)
def bias_gelu(data: Value, bias: Value) -> Value:
    return standard_gelu(build.add(data, bias), approximate="none")


@onnx_op("QuickGelu", since=1, domain=MICROSOFT)
def quick_gelu(data: Value, *, alpha: float) -> Value:
    return build.swish(data, number(alpha, data))


@onnx_op("BiasAdd", since=1, domain=MICROSOFT)
def bias_add(data: Value, bias: Value, skip: Value) -> Value:
    return build.add(build.add(data, bias), skip)


@onnx_op("BiasSplitGelu", since=1, domain=MICROSOFT)
def bias_split_gelu(data: Value, bias: Value) -> Value:
    """One half of the last axis times the Gelu of the other half."""
    left, right = build.split(build.add(data, bias), -1, num_splits=2)
    return build.multiply(left, standard_gelu(right, approximate="none"))


def _matmul(
    a: Value, b: Value, *, alpha: float, trans_a: bool, trans_b: bool, batch_a: bool = False, batch_b: bool = False
) -> Value:
    sides = [_batch_last(a) if batch_a else a, _batch_last(b) if batch_b else b]
    product = build.matmul(sides[0], sides[1], transpose_a=trans_a, transpose_b=trans_b)
    return product if alpha == 1 else build.multiply(product, number(alpha, product))


def _batch_last(value: Value) -> Value:
    """Move the first axis before the last one."""
    rank = known_rank(value, "the input")
    return build.transpose(value, ints(*range(1, rank - 1), 0, rank - 1))


@onnx_op("FusedMatMul", since=1, domain=MICROSOFT)
def fused_matmul(
    a: Value, b: Value, *, alpha: float, transA: bool, transB: bool, transBatchA: bool, transBatchB: bool
) -> Value:
    return _matmul(a, b, alpha=alpha, trans_a=transA, trans_b=transB, batch_a=transBatchA, batch_b=transBatchB)


@onnx_op("TransposeMatMul", since=1, domain=MICROSOFT)
def transpose_matmul(a: Value, b: Value, *, alpha: float, transA: bool, transB: bool) -> Value:
    return _matmul(a, b, alpha=alpha, trans_a=transA, trans_b=transB)


def _activate(data: Value, name: str, parameters: Floats) -> Value:
    """Apply an activation by onnxruntime's name and parameters."""
    first = parameters[0] if parameters else None
    second = parameters[1] if len(parameters) > 1 else None
    functions: dict[str, Callable[[], Value]] = {
        "": lambda: data,
        "Relu": lambda: build.relu(data),
        "Tanh": lambda: build.tanh(data),
        "Sigmoid": lambda: build.sigmoid(data),
        "LeakyRelu": lambda: build.prelu(data, number(0.01 if first is None else first, data)),
        "Clip": lambda: build.clamp(
            data, min=-3.4e38 if first is None else first, max=3.4e38 if second is None else second
        ),
        "HardSigmoid": lambda: build.hard_sigmoid(
            data, number(0.2 if first is None else first, data), number(0.5 if second is None else second, data)
        ),
    }
    return chosen("activation", name, functions)()


@onnx_op("FusedConv", since=1, domain=MICROSOFT)
def fused_conv(
    data: Value,
    filters: Value,
    bias: Value | None,
    added: Value | None,
    *,
    activation: str = "",
    activation_params: Floats,
    **attributes: Unpack[ConvAttributes],
) -> Value:
    """A convolution, an addition, and an activation."""
    output = convolve(data, filters, bias, **attributes)
    return _activate(output if added is None else build.add(output, added), activation, activation_params)


@onnx_op("FusedGemm", since=1, domain=MICROSOFT)
def fused_gemm(
    a: Value,
    b: Value,
    c: Value | None,
    *,
    activation: str = "",
    activation_alpha: float | None,
    activation_beta: float | None,
    activation_gamma: float | None,
    alpha: float,
    beta: float,
    transA: bool,
    transB: bool,
) -> Value:
    parameters = tuple(value for value in (activation_alpha, activation_beta, activation_gamma) if value is not None)
    return _activate(gemm(a, b, c, alpha=alpha, beta=beta, transA=transA, transB=transB), activation, parameters)


@onnx_op("NhwcConv", since=1, domain=MICROSOFT)
def nhwc_conv(
    data: Value,
    filters: Value,
    bias: Value | None,
    **attributes: Unpack[ConvAttributes],
) -> Value:
    """The channels are the last axis of the data, and of the filters."""
    rank = known_rank(data, "the input")
    first = ints(0, rank - 1, *range(1, rank - 1))
    output = convolve(build.transpose(data, first), build.transpose(filters, first), bias, **attributes)
    return build.transpose(output, ints(0, *range(2, rank), 1))


def _normalized_with_skip(
    data: Value, skip: Value, gamma: Value, beta: Value | None, bias: Value | None, epsilon: float, centered: bool
) -> list[Value]:
    total = build.add(data, skip)
    total = total if bias is None else build.add(total, bias)
    normal, mean, inverse = normalize(total, gamma, beta, epsilon, centered=centered)
    return [normal, inverse if mean is None else mean, inverse, total]


@onnx_op("SkipLayerNormalization", since=1, domain=MICROSOFT)
def skip_layer_normalization(
    data: Value, skip: Value, gamma: Value, beta: Value | None, bias: Value | None, *, epsilon: float
) -> list[Value]:
    """The further outputs are the mean, the inverse deviation, and the sum before normalization."""
    return _normalized_with_skip(data, skip, gamma, beta, bias, epsilon, centered=True)


@onnx_op("SkipSimplifiedLayerNormalization", since=1, domain=MICROSOFT)
def skip_simplified_layer_normalization(
    data: Value, skip: Value, gamma: Value, bias: Value | None, *, epsilon: float
) -> list[Value]:
    return _normalized_with_skip(data, skip, gamma, None, bias, epsilon, centered=False)


@onnx_op("EmbedLayerNormalization", since=1, domain=MICROSOFT, unused=("mask_index_type",))
def embed_layer_normalization(
    input_ids: Value,
    segment_ids: Value | None,
    words: Value,
    positions: Value,
    segments: Value | None,
    gamma: Value,
    beta: Value,
    mask: Value | None,
    position_ids: Value | None,
    *,
    epsilon: float,
) -> list[Value]:
    """Embeddings of words, positions and segments, added and normalized; the second output counts the mask."""
    total = gather_from_front(words, input_ids, 0, "input_ids")
    if position_ids is None:
        length = build.gather(shape_of(input_ids), 1, 0)
        position_ids = build.unsqueeze(build.range(0, length, 1, output_type="i64"), 0)
    total = build.add(total, gather_from_front(positions, position_ids, 0, "position_ids"))
    if segment_ids is not None and segments is not None:
        total = build.add(total, gather_from_front(segments, segment_ids, 0, "segment_ids"))
    normal, _, _ = normalize(total, gamma, beta, epsilon, centered=True)
    batch = build.slice(shape_of(input_ids), ints(0), ints(1), ints(1))
    if mask is None:
        counted = build.broadcast(build.constant(0, "i32"), batch)
    else:
        counted = build.reduce_sum(cast(mask, ElementType.i32), ints(1), keep_dims=False)
    return [normal, counted, total]


@onnx_op("BiasSoftmax", since=1, domain=MICROSOFT)
def bias_softmax(data: Value, bias: Value, *, axis: int, is_inner_broadcast: bool) -> Value:
    """Softmax over all axes starting at `axis`, merged into one."""
    rank = known_rank(data, "the input")
    first_axis = normal_axis(axis, rank)
    if not is_inner_broadcast and known_rank(bias, "the bias") != rank:
        raise UnsupportedError("the bias is repeated over outer axes")
    total = build.add(data, bias)
    if first_axis == rank - 1:
        return build.softmax(total, axis=-1)
    sizes = shape_of(total)
    front = build.slice(sizes, ints(0), ints(first_axis), ints(1))
    flat = build.reshape(total, concat([front, ints(-1)]), special_zero=False)
    return build.reshape(build.softmax(flat, axis=-1), sizes, special_zero=False)


@onnx_op("GridSample", since=1, domain=MICROSOFT)
def grid_sample(data: Value, grid: Value, *, align_corners: bool, mode: str, padding_mode: str) -> Value:
    return grid_sample_16(data, grid, align_corners=align_corners, mode=mode, padding_mode=padding_mode)


@onnx_op("Inverse", since=1, domain=MICROSOFT)
def inverse(data: Value) -> Value:
    return build.inverse(data)


@onnx_op("ExpandDims", since=1, domain=MICROSOFT)
def expand_dims(data: Value, axis: Value) -> Value:
    return build.unsqueeze(data, axis)


@onnx_op("Unique", since=1, domain=MICROSOFT)
def unique(data: Value) -> list[Value]:
    """In the order of first occurrence: values, the index of each element among them, and counts."""
    values, _, places, counts = build.unique(
        data, None, sorted=False, index_element_type="i64", count_element_type="i64"
    )
    return [values, places, counts]


@onnx_op("CropAndResize", since=1, domain=MICROSOFT)
def crop_and_resize(
    data: Value, rois: Value, batch_indices: Value, crop_size: Value, *, extrapolation_value: float, mode: str
) -> Value:
    """Regions (y1, x1, y2, x2, from 0 to 1) resampled to one size; positions outside have the extrapolation value."""
    if mode not in ("bilinear", "nearest"):
        raise InvalidAttributeError("mode is", actual=repr(mode), expected="bilinear or nearest")
    sizes = shape_of(data)
    images = build.transpose(gather_from_front(data, batch_indices, 0, "batch_indices"), ints(0, 2, 3, 1))
    coordinates, insides = [], []
    for axis in (0, 1):
        last = cast(build.subtract(build.gather(sizes, 2 + axis, 0), build.constant(1)), rois.element_type)
        count = as_i64(build.gather(crop_size, axis, 0))
        start = build.unsqueeze(build.gather(rois, axis, 1), 1)
        end = build.unsqueeze(build.gather(rois, 2 + axis, 1), 1)
        steps = cast(build.range(0, count, 1, output_type="i64"), rois.element_type)
        gaps = cast(build.subtract(count, build.constant(1)), rois.element_type)
        several = build.greater(gaps, number(0, gaps))
        width = build.multiply(build.subtract(end, start), last)
        spread = build.divide(width, build.maximum(gaps, number(1, gaps)))
        spaced = build.add(build.multiply(start, last), build.multiply(steps, spread))
        middle = build.multiply(build.multiply(build.add(start, end), number(0.5, start)), last)
        coordinate = build.select(several, spaced, middle)
        inside = build.logical_and(
            build.greater_equal(coordinate, number(0, coordinate)), build.less_equal(coordinate, last)
        )
        insides.append(build.unsqueeze(inside, ints(2 - axis)))
        coordinates.append((build.minimum(build.maximum(coordinate, number(0, coordinate)), last), last))
    crops = _sample(images, coordinates, mode)
    outside = build.logical_not(build.logical_and(insides[0], insides[1]))
    crops = build.select(build.unsqueeze(outside, -1), number(extrapolation_value, crops), crops)
    return build.transpose(crops, ints(0, 3, 1, 2))


def _sample(images: Value, coordinates: list[tuple[Value, Value]], mode: str) -> Value:
    """Rows, then columns, by one or two nearest neighbors.

    Args:
        images: [regions, height, width, channels].
    """
    samples = images
    for axis, (coordinate, last) in enumerate(coordinates, 1):
        if mode == "nearest":
            near = as_i64(build.floor(build.add(coordinate, number(0.5, coordinate))))
            samples = build.gather(samples, near, axis, batch_dims=1) if axis == 1 else _columns(samples, near)
            continue
        low = build.floor(coordinate)
        high = build.minimum(build.add(low, number(1, low)), last)
        share = cast(build.subtract(coordinate, low), samples.element_type)
        share = build.unsqueeze(share, ints(2, 3) if axis == 1 else ints(1, 3))
        pick = _rows if axis == 1 else _columns
        first, second = pick(samples, as_i64(low)), pick(samples, as_i64(high))
        samples = build.add(first, build.multiply(build.subtract(second, first), share))
    return samples


def _rows(images: Value, places: Value) -> Value:
    return build.gather(images, places, 1, batch_dims=1)


def _columns(images: Value, places: Value) -> Value:
    turned = build.gather(build.transpose(images, ints(0, 2, 1, 3)), places, 1, batch_dims=1)
    return build.transpose(turned, ints(0, 2, 1, 3))
