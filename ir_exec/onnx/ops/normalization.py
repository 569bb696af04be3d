"""Normalizations, and functions along an axis."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import NamedTuple

import numpy as np

from ir_exec import build
from ir_exec.build import Value
from ir_exec.errors import InvalidAttributeError, UnsupportedError
from ir_exec.onnx.lowering.attributes import Ints
from ir_exec.onnx.lowering.graphs import Call
from ir_exec.onnx.lowering.registry import MICROSOFT, onnx_op
from ir_exec.onnx.lowering.values import (
    as_vector,
    cast,
    concat,
    dims_of,
    in_floats,
    ints,
    known_rank,
    known_scalar,
    normal_axis,
    number,
    shape_of,
)
from ir_exec.onnx.reading.tensors import element_type_of
from ir_exec.types import Array, ElementType

__all__: list[str] = []

AlongAxis = Callable[[Value, int], Value]


def _softmax(data: Value, axis: int) -> Value:
    return build.softmax(data, axis=axis)


def _log_softmax(data: Value, axis: int) -> Value:
    return build.log_softmax(data, axis=axis)


def _hardmax(data: Value, axis: int) -> Value:
    """One at the first of the largest elements, zero elsewhere."""
    _, best = build.topk(data, 1, axis, "max", "value", index_element_type="i64", stable=True)
    depth = build.gather(shape_of(data), axis, 0)
    return build.one_hot(build.squeeze(best, axis), depth, number(1, data), number(0, data), axis)


def _register(name: str, function: AlongAxis) -> None:
    def flatten_and_apply(data: Value, *, axis: int) -> Value:
        """Up to version 12 all axes starting at `axis` are merged."""
        rank = known_rank(data, "the input")
        start = normal_axis(axis, rank) if axis != rank else rank
        if rank and start == rank - 1:
            return function(data, -1)
        sizes = shape_of(data)
        front = build.slice(sizes, ints(0), ints(start), ints(1))
        flat = build.reshape(data, concat([front, ints(-1)]), special_zero=False)
        return build.reshape(function(flat, -1), sizes, special_zero=False)

    def along(data: Value, *, axis: int) -> Value:
        return function(data, axis)

    onnx_op(name, since=1)(flatten_and_apply)
    onnx_op(name, since=13)(along)


_register("Softmax", _softmax)
_register("LogSoftmax", _log_softmax)
_register("Hardmax", _hardmax)


def per_channel(value: Value, data: Value) -> Value:
    """A tensor of rank 1 with trailing axes of size 1, aligned with the channels of `data`."""
    behind = known_rank(data, "the input") - 2
    return build.unsqueeze(value, list(range(1, 1 + behind))) if behind > 0 else value


class _Statistics(NamedTuple):
    """The parameters of a batch normalization, one element for each channel."""

    scale: Value
    bias: Value
    mean: Value
    variance: Value


def _batch_norm(data: Value, by_channel: _Statistics, epsilon: float) -> Value:
    """Normalize by given statistics. Data of rank 1 is a batch of one channel."""
    if data.rank == 1:
        return build.squeeze(_batch_norm(build.unsqueeze(data, ints(1)), by_channel, epsilon), ints(1))
    types = {tensor.element_type for tensor in (data, *by_channel)}
    if len(types) > 1:
        # Since version 15 the statistics may have a wider type.
        wide = max(types, key=lambda element_type: element_type.bits)
        normal = _batch_norm(
            cast(data, wide), _Statistics(*(cast(statistic, wide) for statistic in by_channel)), epsilon
        )
        return cast(normal, data.element_type)
    return build.batch_norm_inference(data, *by_channel, epsilon=epsilon)


def _trained_batch_norm(data: Value, by_channel: _Statistics, epsilon: float, momentum: float) -> list[Value]:
    """Normalize by the statistics of the batch, and update the running ones.

    The outputs: the data, the running mean and variance, and the mean and inverse deviation of the batch, which
    onnxruntime returns for `saved_mean` and `saved_var`.
    """
    if known_rank(data, "the input") == 1:
        outputs = _trained_batch_norm(build.unsqueeze(data, ints(1)), by_channel, epsilon, momentum)
        return [build.squeeze(outputs[0], ints(1)), *outputs[1:]]
    scale, bias, *running = by_channel
    wide = cast(data, ElementType.f64 if data.element_type is ElementType.f64 else ElementType.f32)
    axes = ints(0, *range(2, known_rank(data, "the input")))
    mean = build.reduce_mean(wide, axes, keep_dims=False)
    centered = build.subtract(wide, build.reduce_mean(wide, axes, keep_dims=True))
    variance = build.reduce_mean(build.multiply(centered, centered), axes, keep_dims=False)
    moved = [
        build.add(
            build.multiply(old, number(momentum, old)),
            build.multiply(cast(now, old.element_type), number(1 - momentum, old)),
        )
        for old, now in zip(running, (mean, variance), strict=True)
    ]
    inverse = build.divide(number(1, wide), build.sqrt(build.add(variance, number(epsilon, wide))))
    saved = [cast(statistic, old.element_type) for statistic, old in zip((mean, inverse), running, strict=True)]
    return [_batch_norm(data, _Statistics(scale, bias, mean, variance), epsilon), *moved, *saved]


def _normalized_batch(
    data: Value, by_channel: _Statistics, epsilon: float, momentum: float, *, is_training: bool, spatial: bool = True
) -> list[Value]:
    """Normalize in inference or training mode; without `spatial` every element of an item has separate statistics."""
    if not spatial:
        flat = _Statistics(*(build.reshape(statistic, ints(-1), special_zero=False) for statistic in by_channel))
        apart = build.reshape(data, ints(0, -1), special_zero=True)
        outputs = _normalized_batch(apart, flat, epsilon, momentum, is_training=is_training)
        shapes = shape_of(data), shape_of(by_channel.mean)
        return [
            build.reshape(output, shapes[min(position, 1)], special_zero=False)
            for position, output in enumerate(outputs)
        ]
    if is_training:
        return _trained_batch_norm(data, by_channel, epsilon, momentum)
    return [_batch_norm(data, by_channel, epsilon)]


@onnx_op("BatchNormalization", since=(1, 6, 7, 9, 14))
def batch_normalization(
    data: Value,
    scale: Value,
    bias: Value,
    mean: Value,
    variance: Value,
    *,
    epsilon: float,
    is_test: bool,
    momentum: float,
    spatial: bool,
    training_mode: bool,
    call: Call,
    since: int,
) -> list[Value]:
    """In training mode the statistics of the batch are used, and update the running ones."""
    # In the versions without an attribute for it, training adds the outputs after the first.
    is_training = not is_test if since < 7 else call.outputs > 1 if since < 14 else training_mode
    by_channel = _Statistics(scale, bias, mean, variance)
    outputs = _normalized_batch(data, by_channel, epsilon, momentum, is_training=is_training, spatial=spatial)
    return outputs[:3] if since >= 14 else outputs


@onnx_op("InstanceNormalization", since=(1, 6))
def instance_normalization(data: Value, scale: Value, bias: Value, *, epsilon: float) -> Value:
    axes = ints(*range(2, known_rank(data, "the input")))
    normal = build.mvn(data, axes, eps=epsilon, normalize_variance=True, eps_mode="inside_sqrt")
    return build.add(build.multiply(normal, per_channel(scale, data)), per_channel(bias, data))


@onnx_op("MeanVarianceNormalization", since=9)
def mean_variance_normalization(data: Value, *, axes: Ints) -> Value:
    return build.mvn(data, ints(*axes), eps=1e-9, normalize_variance=True, eps_mode="outside_sqrt")


@onnx_op("LayerNormalization", since=1, ignores_attributes=True)
def layer_normalization(
    data: Value, scale: Value, bias: Value | None, *, axis: int, epsilon: float, stash_type: int, call: Call
) -> list[Value]:
    """Mean and inverse deviation are further outputs. onnxruntime writes this operator for opsets before 17 too."""
    rank = known_rank(data, "the input")
    axes = ints(*range(normal_axis(axis, rank), rank))
    wide = cast(data, element_type_of(stash_type))
    if call.outputs == 1:
        normal, further = build.mvn(wide, axes, eps=epsilon, normalize_variance=True, eps_mode="inside_sqrt"), []
    else:
        mean = build.reduce_mean(wide, axes, keep_dims=True)
        centered = build.subtract(wide, mean)
        variance = build.reduce_mean(build.multiply(centered, centered), axes, keep_dims=True)
        inverse = build.divide(number(1, wide), build.sqrt(build.add(variance, number(epsilon, wide))))
        normal, further = build.multiply(centered, inverse), [mean, inverse]
    scaled = build.multiply(cast(normal, data.element_type), scale)
    return [scaled if bias is None else build.add(scaled, bias), *further]


@onnx_op("RMSNormalization", since=23)
def rms_normalization(data: Value, scale: Value, *, axis: int, epsilon: float, stash_type: int) -> Value:
    rank = known_rank(data, "the input")
    axes = ints(*range(normal_axis(axis, rank), rank))
    wide = cast(data, element_type_of(stash_type))
    square = build.reduce_mean(build.multiply(wide, wide), axes, keep_dims=True)
    root = build.sqrt(build.add(square, number(epsilon, wide)))
    return build.multiply(cast(build.divide(wide, root), data.element_type), cast(scale, data.element_type))


def normalize(
    data: Value, gamma: Value, beta: Value | None, epsilon: float, *, centered: bool, axis: int = -1
) -> tuple[Value, Value | None, Value]:
    """The data normalized over the axes from `axis` on, its mean if `centered`, and its inverse standard deviation."""
    rank = known_rank(data, "the input")
    axes = ints(*range(normal_axis(axis, rank), rank))
    wide = cast(data, ElementType.f32)
    mean = build.reduce_mean(wide, axes, keep_dims=True) if centered else None
    left = wide if mean is None else build.subtract(wide, mean)
    variance = build.reduce_mean(build.multiply(left, left), axes, keep_dims=True)
    inverse = build.divide(number(1, wide), build.sqrt(build.add(variance, number(epsilon, wide))))
    scaled = build.multiply(build.multiply(left, inverse), cast(gamma, wide.element_type))
    scaled = scaled if beta is None else build.add(scaled, cast(beta, wide.element_type))
    return cast(scaled, data.element_type), mean, inverse


@onnx_op("SimplifiedLayerNormalization", since=1, ignores_attributes=True)
@onnx_op("SimplifiedLayerNormalization", since=1, domain=MICROSOFT)
def simplified_layer_normalization(
    data: Value, scale: Value, *, axis: int = -1, epsilon: float = 1e-5, stash_type: int = 1
) -> list[Value]:
    """onnxruntime defines it in the standard domain."""
    if element_type_of(stash_type) is not ElementType.f32:
        raise UnsupportedError("the statistics are not f32")
    normal, _, inverse = normalize(data, scale, None, epsilon, centered=False, axis=axis)
    return [normal, inverse]


@onnx_op("GroupNormalization", since=18)
def group_normalization_18(data: Value, scale: Value, bias: Value, *, num_groups: int, epsilon: float) -> Value:
    """Scale and bias apply to the groups."""
    rank = known_rank(data, "the input")
    grouped = build.reshape(data, ints(0, num_groups, -1), special_zero=True)
    normal = build.mvn(grouped, ints(2), eps=epsilon, normalize_variance=True, eps_mode="inside_sqrt")
    shaped = [build.unsqueeze(as_vector(parameter), 1) for parameter in (scale, bias)]
    output = build.add(build.multiply(normal, shaped[0]), shaped[1])
    assert rank
    return build.reshape(output, shape_of(data), special_zero=False)


@onnx_op("GroupNormalization", since=21)
def group_normalization(
    data: Value, scale: Value, bias: Value, *, num_groups: int, epsilon: float, stash_type: int
) -> Value:
    """Scale and bias apply to the channels."""
    element_type = element_type_of(stash_type)
    wide, gamma, beta = (cast(tensor, element_type) for tensor in (data, as_vector(scale), as_vector(bias)))
    output = build.group_normalization(wide, gamma, beta, num_groups=num_groups, epsilon=epsilon)
    return cast(output, data.element_type)


@onnx_op("LpNormalization", since=1)
def lp_normalization(data: Value, *, axis: int, p: int) -> Value:
    """Zeros remain zeros."""
    reduce = build.reduce_l1 if p == 1 else build.reduce_l2
    norm = reduce(data, ints(axis), keep_dims=True)
    is_zero = build.equal(norm, number(0, norm))
    return build.divide(data, build.select(is_zero, number(1, norm), norm))


@onnx_op("LRN", since=1)
def lrn(data: Value, *, alpha: float, beta: float, bias: float, size: int) -> Value:
    """In f32 for narrower floats, as in onnxruntime: alpha and beta are floats; integers are computed as f64."""
    if data.element_type.is_float and data.element_type.bits < 32:
        wide = lrn(cast(data, ElementType.f32), alpha=alpha, beta=beta, bias=bias, size=size)
        return cast(wide, data.element_type)
    return in_floats(data, lambda wide: _lrn(wide, alpha, beta, bias, size))


def _lrn(data: Value, alpha: float, beta: float, bias: float, size: int) -> Value:
    if size % 2:
        return build.lrn(data, ints(1), alpha=alpha, beta=beta, bias=bias, size=size)
    # An even number of channels includes one more after than before, but LRN of IR is symmetric.
    squares = build.reshape(build.multiply(data, data), ints(0, 0, -1), special_zero=True)
    means = build.avg_pool(
        build.unsqueeze(squares, 1),
        strides=(1, 1),
        pads_begin=((size - 1) // 2, 0),
        pads_end=(size // 2, 0),
        kernel_sizes=(size, 1),
        exclude_pad=False,
    )
    local_means = build.reshape(means, shape_of(data), special_zero=False)
    scaled = build.add(build.multiply(local_means, number(alpha, data)), number(bias, data))
    return build.divide(data, build.power(scaled, number(beta, data)))


@onnx_op("Dropout", since=(1, 6, 7))
def dropout_1(data: Value, *, is_test: bool, ratio: float, since: int) -> list[Value]:
    if since < 7 and not is_test and ratio:
        raise UnsupportedError("training mode drops elements at random")
    return _retain_all(data)


@onnx_op("Dropout", since=12)
def dropout(data: Value, ratio: Value | None, training_mode: Value | None, *, seed: int | None) -> list[Value]:
    """Dropout is random only in training mode, which must be known, and then requires a seed.

    The elements are those that onnxruntime drops in the first run of a session.
    """
    is_training = training_mode is not None and bool(known_scalar(training_mode, "training_mode"))
    share = 0.5 if ratio is None else known_scalar(ratio, "ratio")
    if not is_training or not share:
        return _retain_all(data)
    if seed is None:
        raise UnsupportedError("training mode drops elements at random", expected="a seed")
    if not 0 <= share < 1:
        raise InvalidAttributeError("the ratio is", actual=share, expected="a number from 0 to below 1")
    sizes = dims_of(data, "the input")
    is_kept = (uniform_floats(seed, prod(sizes)) >= np.float32(share)).reshape(sizes)
    scale = float(np.float32(1) / (np.float32(1) - np.float32(share)))
    mask = build.constant(is_kept)
    return [build.multiply(build.multiply(data, cast(mask, data.element_type)), number(scale, data)), mask]


def _retain_all(data: Value) -> list[Value]:
    return [data, build.broadcast(build.constant(True), shape_of(data))]


def uniform_floats(seed: int, count: int) -> Array:
    """f32 numbers of [0, 1) of the generator minstd_rand0 (Park and Miller, 1988), the default of libstdc++."""
    modulus, factor = 2**31 - 1, 16807
    powers = np.array([factor], np.uint64)
    while powers.size < count:
        powers = np.concatenate([powers, powers * powers[-1] % np.uint64(modulus)])
    start = np.uint64(seed % 2**64 % modulus or 1)
    steps = powers[:count] * start % np.uint64(modulus)
    return (steps - np.uint64(1)).astype(np.float32) / np.float32(modulus - 1)
