"""Mixtures of experts of the domain com.microsoft."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import NamedTuple

import numpy as np

from ir_exec import build
from ir_exec.build import Value
from ir_exec.codes import Code
from ir_exec.errors import GraphError, InvalidAttributeError, ShapeError, UnsupportedError
from ir_exec.onnx.lowering.attributes import chosen
from ir_exec.onnx.lowering.registry import MICROSOFT, onnx_op
from ir_exec.onnx.lowering.values import cast, concat, ints, known_rank, known_size, number, shape_of
from ir_exec.onnx.ops.elementwise import gelu
from ir_exec.onnx.ops.microsoft_blocks import unpack_bits
from ir_exec.types import ElementType

__all__: list[str] = []

_LEAST = 1e-8
"""Experts with a weight of at most this number are skipped, as in onnxruntime."""

Weights = Callable[[Value], Value]
"""The weights [outputs, inputs] of the expert of this index, as f32."""


class _ExpertLayer(NamedTuple):
    """A linear layer of every expert.

    Attributes:
        bias: [experts, outputs].
    """

    weights: Weights
    bias: Value | None

    def __call__(self, expert: Value, data: Value) -> Value:
        product = build.matmul(data, self.weights(expert), transpose_b=True)
        if self.bias is None:
            return product
        return build.add(product, cast(build.gather(self.bias, expert, 0), ElementType.f32))


class _Activation(NamedTuple):
    """The activation between the two layers of an expert, by the attributes of the node."""

    name: str
    alpha: float
    beta: float
    limit: float
    fusion: int
    limits_after: bool

    def __call__(self, data: Value, linear: Value | None) -> Value:
        if self.name not in ("swiglu", "geglu"):
            activated = self._simple(data)
            return activated if linear is None else build.multiply(activated, linear)
        if linear is None:
            data, linear = self._halves(data)
        if self.name == "geglu":
            return build.multiply(gelu(data, approximate="tanh"), linear)
        gate = data if self.limits_after else self._limit(data, -inf)
        activated = build.multiply(gate, build.sigmoid(build.multiply(gate, number(self.alpha, gate))))
        activated = self._limit(activated, -inf) if self.limits_after else activated
        return build.multiply(activated, build.add(self._limit(linear, -self.limit), number(self.beta, linear)))

    def _simple(self, data: Value) -> Value:
        functions: dict[str, Callable[[], Value]] = {
            "relu": lambda: build.relu(data),
            "relu2": lambda: build.power(build.relu(data), number(2, data)),
            "gelu": lambda: gelu(data, approximate="tanh"),
            "silu": lambda: build.swish(data),
            "identity": lambda: data,
        }
        return chosen("activation_type", self.name, functions)()

    def _limit(self, data: Value, low: float) -> Value:
        return data if self.limit == inf else build.clamp(data, min=low, max=self.limit)

    def _halves(self, data: Value) -> tuple[Value, Value]:
        """Gate and linear part of one layer with both outputs, interleaved or concatenated."""
        if self.fusion == 2:
            first, second = build.split(data, -1, num_splits=2)
            return first, second
        if self.fusion != 1:
            raise UnsupportedError(f"{self.name} with swiglu_fusion {self.fusion} requires third weights")
        pairs = build.reshape(data, ints(0, -1, 2), special_zero=True)
        return build.gather(pairs, 0, 2), build.gather(pairs, 1, 2)


def _route(
    logits: Value, weights: Value | None, count: int, normalize: bool, use_sparse_mixer: bool, experts: int
) -> Value:
    """[tokens, experts]: the weight of each expert for a token, zero except for `count` experts."""
    if use_sparse_mixer:
        raise UnsupportedError("the sparse mixer is not supported")
    if not 1 <= count <= experts:
        raise InvalidAttributeError("k is", actual=count, expected=f"1 to {experts}")
    shares = build.softmax(cast(logits, ElementType.f32), axis=-1)
    best, places = build.topk(shares, count, 1, "max", "value", index_element_type="i64", stable=True)
    if weights is not None:
        best = build.gather_elements(cast(weights, ElementType.f32), places, 1)
    if normalize:
        best = build.divide(best, build.reduce_sum(best, ints(1), keep_dims=True))
    if weights is not None:
        best = build.select(build.greater(best, number(_LEAST, best)), best, number(0, best))
    none = build.multiply(shares, number(0, shares))
    return build.scatter_elements_update(none, places, best, 1)


def _mix(data: Value, routing: Value, experts: int, expert: Callable[[Value, Value], Value]) -> Value:
    """The weighted sum of the outputs of the experts for their rows; all experts are computed in sequence."""
    width = build.slice(shape_of(data), ints(-1), ints(2**31), ints(1))
    rows = build.reshape(cast(data, ElementType.f32), concat([ints(-1), width]), special_zero=False)

    def step(index: Value, total: Value) -> tuple[None, list[Value], list[Value]]:
        shares = build.gather(routing, index, 1)
        theirs = build.reshape(build.non_zero(shares), ints(-1), special_zero=False)
        outputs = expert(index, build.gather(rows, theirs, 0))
        weighted = build.multiply(outputs, build.unsqueeze(build.gather(shares, theirs, 0), 1))
        added = build.scatter_nd_update(total, build.unsqueeze(theirs, 1), weighted, reduction="sum")
        return None, [added], []

    (total,) = build.loop(build.constant(np.int64(experts)), None, step, [build.multiply(rows, number(0, rows))])
    return cast(build.reshape(total, shape_of(data), special_zero=False), data.element_type)


def _expert_count(weights: Value) -> int:
    if known_rank(weights, "the weights") != 3:
        raise ShapeError("the weights have rank", actual=weights.rank, expected=3, code=Code.wrong_rank)
    return known_size(weights, 0, "the number of experts")


def _two_layers(
    first: _ExpertLayer, second: _ExpertLayer, third: _ExpertLayer | None, activation: _Activation
) -> Callable[..., Value]:
    def expert(index: Value, data: Value) -> Value:
        linear = None if third is None else third(index, data)
        return second(index, activation(first(index, data), linear))

    return expert


@onnx_op("MoE", since=1, domain=MICROSOFT)
def moe(
    data: Value,
    router_probs: Value,
    fc1_experts_weights: Value,
    fc1_experts_bias: Value | None,
    fc2_experts_weights: Value,
    fc2_experts_bias: Value | None,
    fc3_experts_weights: Value | None,
    fc3_experts_bias: Value | None,
    *,
    activation_alpha: float,
    activation_beta: float,
    activation_type: str,
    k: int,
    normalize_routing_weights: bool,
    swiglu_fusion: int,
    swiglu_limit: float = inf,
    swiglu_limit_after_activation: bool,
    use_sparse_mixer: bool,
) -> Value:
    """Each row is processed by the k experts of highest probability; weights are [experts, outputs, inputs]."""
    count = _expert_count(fc1_experts_weights)
    routing = _route(router_probs, None, k, normalize_routing_weights, use_sparse_mixer, count)
    activation = _Activation(
        activation_type,
        activation_alpha,
        activation_beta,
        swiglu_limit,
        swiglu_fusion,
        swiglu_limit_after_activation,
    )

    def layer(weights: Value, bias: Value | None) -> _ExpertLayer:
        return _ExpertLayer(lambda expert: cast(build.gather(weights, expert, 0), ElementType.f32), bias)

    third = None if fc3_experts_weights is None else layer(fc3_experts_weights, fc3_experts_bias)
    first, second = layer(fc1_experts_weights, fc1_experts_bias), layer(fc2_experts_weights, fc2_experts_bias)
    return _mix(data, routing, count, _two_layers(first, second, third, activation))


def _quantized_layer(
    weights: Value, scales: Value | None, bias: Value | None, zero_points: Value | None, bits: int
) -> _ExpertLayer:
    """Weights of a number of bits, with a scale for each output or for each block of its inputs."""
    if scales is None:
        raise GraphError("the scales of the weights are missing", code=Code.wrong_number_of_inputs)
    if bits not in (2, 4, 8):
        raise UnsupportedError(f"weights of {bits} bits are not supported")
    rank = known_rank(scales, "the scales")
    factors, zeros = scales, zero_points

    def plain(expert: Value) -> Value:
        codes = cast(unpack_bits(build.gather(weights, expert, 0), bits), ElementType.f32)
        scale = cast(build.gather(factors, expert, 0), ElementType.f32)
        scale = build.unsqueeze(scale, -1) if rank == 2 else scale
        shape = shape_of(codes)
        blocks = build.reshape(codes, concat([shape_of(scale), ints(-1)]), special_zero=False)
        if zeros is None:
            zero = number(2 ** (bits - 1), codes)
        else:
            zero = cast(unpack_bits(build.gather(zeros, expert, 0), bits), ElementType.f32)
            zero = build.unsqueeze(zero, -1) if rank == 2 else zero
            ends = shape_of(scale)
            zero = build.slice(zero, ints(0, 0), ends, ints(1, 1))
            zero = build.unsqueeze(zero, -1)
        values = build.multiply(build.subtract(blocks, zero), build.unsqueeze(scale, -1))
        return build.reshape(values, shape, special_zero=False)

    return _ExpertLayer(plain, bias)


@onnx_op("QMoE", since=1, domain=MICROSOFT, unused=("accuracy_level", "block_size"))
def qmoe(
    data: Value,
    router_probs: Value,
    fc1_experts_weights: Value,
    fc1_scales: Value | None,
    fc1_experts_bias: Value | None,
    fc2_experts_weights: Value,
    fc2_scales: Value | None,
    fc2_experts_bias: Value | None,
    fc3_experts_weights: Value | None,
    fc3_scales: Value | None,
    fc3_experts_bias: Value | None,
    fc1_zero_points: Value | None,
    fc2_zero_points: Value | None,
    fc3_zero_points: Value | None,
    router_weights: Value | None,
    fc1_global_scale: Value | None,
    fc2_global_scale: Value | None,
    fc1_act_scale: Value | None,
    fc2_act_scale: Value | None,
    fc1_act_block_scale: Value | None,
    fc2_act_block_scale: Value | None,
    *,
    activation_alpha: float,
    activation_beta: float,
    activation_type: str,
    expert_weight_bits: int,
    fc1_expert_weight_bits: int | None,
    fc2_expert_weight_bits: int | None,
    fc3_expert_weight_bits: int | None,
    k: int,
    normalize_routing_weights: bool,
    quant_type: str,
    swiglu_fusion: int,
    swiglu_limit: float = inf,
    swiglu_limit_after_activation: bool,
    use_sparse_mixer: bool,
    weights_prepacked: int,
) -> Value:
    """MoE with weights of 2, 4 or 8 bits: [experts, outputs, bytes].

    As in onnxruntime on a CPU, weights are normalized among the chosen experts for any normalize_routing_weights,
    unless router_weights are given.
    """
    scaled = (fc1_global_scale, fc2_global_scale, fc1_act_scale, fc2_act_scale, fc1_act_block_scale)
    if (
        quant_type != "int"
        or weights_prepacked == 1
        or any(scale is not None for scale in (*scaled, fc2_act_block_scale))
    ):
        raise UnsupportedError(f"weights of quant_type {quant_type}, or packed for a processor, are not supported")
    count = _expert_count(fc1_experts_weights)
    normalize = normalize_routing_weights or router_weights is None
    routing = _route(router_probs, router_weights, k, normalize, use_sparse_mixer, count)
    activation = _Activation(
        activation_type,
        activation_alpha,
        activation_beta,
        swiglu_limit,
        swiglu_fusion,
        swiglu_limit_after_activation,
    )
    third = None
    if fc3_experts_weights is not None:
        bits = fc3_expert_weight_bits or expert_weight_bits
        third = _quantized_layer(fc3_experts_weights, fc3_scales, fc3_experts_bias, fc3_zero_points, bits)
    bits = fc1_expert_weight_bits or expert_weight_bits
    first = _quantized_layer(fc1_experts_weights, fc1_scales, fc1_experts_bias, fc1_zero_points, bits)
    bits = fc2_expert_weight_bits or expert_weight_bits
    second = _quantized_layer(fc2_experts_weights, fc2_scales, fc2_experts_bias, fc2_zero_points, bits)
    return _mix(data, routing, count, _two_layers(first, second, third, activation))
