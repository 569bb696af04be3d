"""Layers of the domain com.microsoft that carry a state from one chunk of a text to the next."""

from __future__ import annotations

import numpy as np

from ir_exec import build
from ir_exec.build import Value
from ir_exec.codes import Code
from ir_exec.errors import GraphError, InvalidAttributeError, UnsupportedError
from ir_exec.onnx.lowering.attributes import chosen
from ir_exec.onnx.lowering.registry import MICROSOFT, onnx_op
from ir_exec.onnx.lowering.values import cast, concat, dims_of, ints, known_rank, known_size, number, shape_of
from ir_exec.onnx.ops.convolution import convolve
from ir_exec.types import ElementType

__all__ = ["UPDATE_RULES"]


def _steps(value: Value, heads: int) -> Value:
    """[batch, length, heads * size] as [length, batch, heads, size], in f32."""
    apart = build.reshape(cast(value, ElementType.f32), ints(0, 0, heads, -1), special_zero=True)
    return build.transpose(apart, ints(1, 0, 2, 3))


def _repeat_heads(value: Value, heads: int, total: int) -> Value:
    """Repeat each head to reach a total number of heads.

    Args:
        value: [length, batch, heads, size].
    """
    if heads == total:
        return value
    if heads < 1 or total % heads:
        raise InvalidAttributeError("the number of heads is", actual=heads, expected=f"a divisor of {total}")
    return build.gather(value, build.constant(np.repeat(np.arange(heads), total // heads)), 2)


UPDATE_RULES = {"linear": (False, False), "gated": (True, False), "delta": (False, True), "gated_delta": (True, True)}
"""For each rule: True if it has a decay, and True if it adds only the difference from the state's prediction."""


@onnx_op("LinearAttention", since=1, domain=MICROSOFT, unused=("chunk_size",))
def linear_attention(
    query: Value,
    key: Value,
    value: Value,
    past_state: Value | None,
    decay: Value | None,
    beta: Value | None,
    *,
    kv_num_heads: int,
    q_num_heads: int,
    scale: float,
    state_window: int,
    update_rule: str,
) -> list[Value]:
    """A matrix state for each head, [keys, values], decayed and updated by every token, and multiplied by its query."""
    is_gated, is_delta = chosen("update_rule", update_rule, UPDATE_RULES)
    if state_window:
        raise UnsupportedError("states of several positions are not supported")
    if (is_gated and decay is None) or (is_delta and beta is None):
        raise GraphError(f"decay or beta is missing for update_rule {update_rule}", code=Code.wrong_number_of_inputs)
    if q_num_heads < 1 or kv_num_heads < 1:
        raise InvalidAttributeError(
            "q_num_heads and kv_num_heads are", actual=f"{q_num_heads} and {kv_num_heads}", expected="positive numbers"
        )
    features = known_size(query, -1, "the last dim of the query")
    size = features // q_num_heads
    if size < 1:
        raise InvalidAttributeError(
            "q_num_heads is", actual=q_num_heads, expected=f"at most {features}", reason="the features of the query"
        )
    key_heads = known_size(key, -1, "the last dim of the key") // size
    wide_heads = max(q_num_heads, kv_num_heads)
    queries = _repeat_heads(_steps(query, q_num_heads), q_num_heads, wide_heads)
    queries = build.reshape(queries, ints(0, 0, kv_num_heads, -1, size), special_zero=True)
    keys = _repeat_heads(_steps(key, key_heads), key_heads, kv_num_heads)
    values = _steps(value, kv_num_heads)
    gates = None if decay is None or not is_gated else build.exp(_steps(decay, kv_num_heads))
    rates = None if beta is None or not is_delta else build.transpose(cast(beta, ElementType.f32), ints(1, 0, 2))

    def step(index: Value, state: Value) -> tuple[None, list[Value], list[Value]]:
        k = build.unsqueeze(build.gather(keys, index, 0), -1)
        v = build.unsqueeze(build.gather(values, index, 0), 2)
        if gates is not None:
            state = build.multiply(state, build.unsqueeze(build.gather(gates, index, 0), -1))
        if rates is not None:
            predicted = build.matmul(k, state, transpose_a=True)
            rate = build.unsqueeze(build.gather(rates, index, 0), ints(2, 3))
            v = build.multiply(build.subtract(v, predicted), rate)
        state = build.add(state, build.multiply(k, v))
        output = build.matmul(build.gather(queries, index, 0), state)
        return None, [state], [build.unsqueeze(output, 0)]

    start = _start(past_state, keys, values)
    count = build.gather(shape_of(query), 1, 0)
    state, outputs = build.loop(count, None, step, [start])
    outputs = build.reshape(build.transpose(outputs, ints(1, 0, 2, 3, 4)), ints(0, 0, -1), special_zero=True)
    outputs = build.multiply(outputs, number(scale or float(size) ** -0.5, outputs))
    state_type = query.element_type if past_state is None else past_state.element_type
    return [cast(outputs, query.element_type), cast(state, state_type)]


def _start(past: Value | None, keys: Value, values: Value) -> Value:
    """[batch, heads, keys, values]"""
    if past is not None:
        return cast(past, ElementType.f32)
    sizes = concat([build.slice(shape_of(keys), ints(1), ints(4), ints(1)), build.gather(shape_of(values), ints(3), 0)])
    return build.broadcast(number(0, keys), sizes)


@onnx_op("CausalConvWithState", since=1, domain=MICROSOFT)
def causal_conv_with_state(
    data: Value,
    weight: Value,
    bias: Value | None,
    past_state: Value | None,
    *,
    activation: str,
    channels_last: bool,
    dilation: int,
    input_channel_offset: int,
    input_channels: int,
    ndim: int,
    state_channels_last: int,
    state_length: int,
    state_update_capacity: int,
    state_window: int,
) -> list[Value]:
    """A convolution of each channel with positions up to its own; the state has the positions before the first one."""
    extended = (input_channel_offset, input_channels, state_length, state_update_capacity, state_window)
    if ndim != 1 or any(extended) or state_channels_last != -1:
        raise UnsupportedError(
            "several spatial axes, subsets of channels and states of several positions are not supported"
        )
    is_swish = chosen("activation", activation, {"none": False, "silu": True, "swish": True})
    if dilation < 1 or known_rank(data, "the input") != 3 or known_rank(weight, "the weight") != 3:
        raise UnsupportedError(f"an input of rank {data.rank} with a dilation of {dilation} is not supported")
    turned = build.transpose(data, ints(0, 2, 1)) if channels_last else data
    channels, _, taps = dims_of(weight, "the weight")
    if taps < 1:
        raise UnsupportedError("the weight has no taps")
    history = (taps - 1) * dilation
    if past_state is None:
        padded = build.pad(turned, ints(0, 0, history), ints(0, 0, 0), number(0, turned), pad_mode="constant")
    else:
        past = build.transpose(past_state, ints(0, 2, 1)) if channels_last else past_state
        padded = build.concat([past, turned], 2)
    output = convolve(
        padded,
        weight,
        bias,
        auto_pad="NOTSET",
        dilations=(dilation,),
        group=channels,
        kernel_shape=(taps,),
        pads=(),
        strides=(),
    )
    output = build.swish(output) if is_swish else output
    length = build.gather(shape_of(turned), ints(2), 0)
    state = build.slice(padded, length, build.add(length, ints(history)), ints(1), ints(2))
    results = [output, state]
    return [build.transpose(result, ints(0, 2, 1)) for result in results] if channels_last else results
