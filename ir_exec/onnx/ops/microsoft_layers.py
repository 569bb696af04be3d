"""Operators of the domain com.microsoft for images, distances and gates."""

from __future__ import annotations

from typing import Unpack

from ir_exec import build
from ir_exec.build import Value
from ir_exec.codes import Code
from ir_exec.errors import InvalidAttributeError, ShapeError, UnsupportedError
from ir_exec.onnx.lowering.attributes import Ints, chosen
from ir_exec.onnx.lowering.graphs import Call
from ir_exec.onnx.lowering.registry import MICROSOFT, onnx_op
from ir_exec.onnx.lowering.values import cast, ints, known_rank, number, shape_of
from ir_exec.onnx.ops.pooling import PoolAttributes, max_pool
from ir_exec.types import ElementType

__all__: list[str] = []


def _channels(data: Value, is_last: bool) -> tuple[Value, Ints]:
    """The data with its channels after the batch, and the permutation that moves them back."""
    rank = known_rank(data, "the input")
    if not is_last:
        return data, tuple(range(rank))
    return build.transpose(data, ints(0, rank - 1, *range(1, rank - 1))), (0, *range(2, rank), 1)


def _group_norm(
    data: Value, gamma: Value, beta: Value, activation: int, channels_last: bool, epsilon: float, groups: int
) -> Value:
    """Group normalization in f32; an activation of 1 is SiLU."""
    if activation not in (0, 1):
        raise InvalidAttributeError("activation is", actual=activation, expected="0 or 1")
    wide, back = _channels(cast(data, ElementType.f32), channels_last)
    scale, shift = cast(gamma, ElementType.f32), cast(beta, ElementType.f32)
    output = build.group_normalization(wide, scale, shift, num_groups=groups, epsilon=epsilon)
    output = build.transpose(output, ints(*back)) if channels_last else output
    output = build.swish(output) if activation else output
    return cast(output, data.element_type)


@onnx_op("GroupNorm", since=1, domain=MICROSOFT)
def group_norm(
    data: Value, gamma: Value, beta: Value, *, activation: int, channels_last: bool, epsilon: float, groups: int
) -> Value:
    return _group_norm(data, gamma, beta, activation, channels_last, epsilon, groups)


@onnx_op("SkipGroupNorm", since=1, domain=MICROSOFT)
def skip_group_norm(
    data: Value,
    gamma: Value,
    beta: Value,
    skip: Value,
    bias: Value | None,
    *,
    activation: int,
    channels_last: bool,
    epsilon: float,
    groups: int,
) -> list[Value]:
    """The second output is the sum before normalization."""
    flat = known_rank(skip, "the skip input") == 2
    spatial = known_rank(data, "the input") - 2
    behind = ints(*range(1, 1 + spatial)) if channels_last else ints(*range(2, 2 + spatial))
    total = build.add(data, build.unsqueeze(skip, behind) if flat else skip)
    if bias is not None:
        total = build.add(total, bias if channels_last else build.unsqueeze(bias, ints(*range(1, 1 + spatial))))
    return [_group_norm(total, gamma, beta, activation, channels_last, epsilon, groups), total]


@onnx_op("NhwcMaxPool", since=1, domain=MICROSOFT)
def nhwc_max_pool(data: Value, *, dilations: Ints, call: Call, **attributes: Unpack[PoolAttributes]) -> Value:
    """The channels are the last axis."""
    turned, back = _channels(data, True)
    pooled, _ = max_pool(turned, dilations=dilations, storage_order=0, call=call, **attributes)
    return build.transpose(pooled, ints(*back))


@onnx_op("CDist", since=1, domain=MICROSOFT)
def cdist(a: Value, b: Value, *, metric: str) -> Value:
    """Distances between all rows of two matrices, from the squares of both and their products."""
    if metric not in ("euclidean", "sqeuclidean"):
        raise UnsupportedError(f"the metric {metric} is not supported")
    for name, value in (("A", a), ("B", b)):
        if known_rank(value, name) != 2:
            raise ShapeError(f"{name} has rank", actual=value.rank, expected=2, code=Code.wrong_rank, port=name.lower())
    sides = build.reduce_sum(build.multiply(a, a), ints(1), keep_dims=True)
    others = build.reduce_sum(build.multiply(b, b), ints(1), keep_dims=False)
    products = build.multiply(build.matmul(a, b, transpose_b=True), number(2, a))
    squares = build.subtract(build.add(sides, others), products)
    squared_distances = build.maximum(squares, number(0, squares))
    return build.sqrt(squared_distances) if metric == "euclidean" else squared_distances


@onnx_op("GatedAdd", since=1, domain=MICROSOFT)
def gated_add(x: Value, y: Value, gate: Value, gate_weight: Value | None) -> Value:
    """x + y times a gate for each row; the gate may be the sigmoid of a product."""
    if gate_weight is not None:
        product = build.matmul(cast(gate, ElementType.f32), cast(gate_weight, ElementType.f32))
        rounded = cast(cast(product, x.element_type), ElementType.f32)
        gate = cast(build.sigmoid(rounded), x.element_type)
    return build.add(x, build.multiply(y, gate))


@onnx_op("GatedRMSNorm", since=1, domain=MICROSOFT)
def gated_rms_norm(x: Value, scale: Value, gate: Value, *, activation: str, epsilon: float) -> Value:
    """Normalize groups with the length of the scale, and multiply them by an activation of the gate."""
    activated = chosen("activation", activation, {name: name for name in ("silu", "swish", "sigmoid")})
    wide, control = cast(x, ElementType.f32), cast(gate, ElementType.f32)
    rank = known_rank(x, "the input")
    parts = build.reshape(wide, _group_dims(scale, rank), special_zero=True)
    squares = build.reduce_mean(build.multiply(parts, parts), ints(-1), keep_dims=True)
    roots = build.sqrt(build.add(squares, number(epsilon, squares)))
    normal = build.multiply(build.divide(parts, roots), cast(scale, ElementType.f32))
    normal = build.reshape(normal, shape_of(x), special_zero=False)
    control = build.sigmoid(control) if activated == "sigmoid" else build.swish(control)
    return cast(build.multiply(normal, control), x.element_type)


def _group_dims(scale: Value, rank: int) -> Value:
    """The dims of a tensor whose last axis is split into groups of the length of the scale."""
    return build.concat([ints(*[0] * (rank - 1), -1), shape_of(scale)], 0)


@onnx_op("LinearAttentionGate", since=1, domain=MICROSOFT)
def linear_attention_gate(a: Value, dt_bias: Value, decay_scale: Value, b: Value | None) -> list[Value]:
    """The decay and the update rate of each head, computed in f32."""
    decay = build.multiply(decay_scale, build.softplus(build.add(cast(a, ElementType.f32), dt_bias)))
    outputs = [cast(decay, a.element_type)]
    if b is not None:
        outputs.append(cast(build.sigmoid(cast(b, ElementType.f32)), b.element_type))
    return outputs
