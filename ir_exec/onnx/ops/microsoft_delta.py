"""GatedDeltaNet of the domain com.microsoft: a matrix state for each head, for packed texts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ir_exec import build
from ir_exec.build import Value
from ir_exec.codes import Code
from ir_exec.errors import GraphError, InvalidAttributeError, UnsupportedError
from ir_exec.onnx.lowering.attributes import chosen
from ir_exec.onnx.lowering.registry import MICROSOFT, onnx_op
from ir_exec.onnx.lowering.values import as_i64, cast, concat, ints, known_rank, known_size, number, reshape, shape_of
from ir_exec.onnx.ops.attention import size_of
from ir_exec.onnx.ops.microsoft_linear import UPDATE_RULES
from ir_exec.types import ElementType

__all__: list[str] = []

_NORM_EPSILON = 1e-6
"""Added to the sum of squares of a query or key."""


class _Heads(NamedTuple):
    """Queries, keys and values, [tokens, heads, size] or [batch, length, heads, size], and their sizes."""

    query: Value
    key: Value
    value: Value
    keys: int
    groups: int
    heads: int


@onnx_op("GatedDeltaNet", since=1, domain=MICROSOFT, unused=("chunk_size",))
def gated_delta_net(
    query: Value,
    key: Value | None,
    value: Value | None,
    cu_seqlens: Value | None,
    decay: Value | None,
    beta: Value | None,
    initial_state: Value | None,
    a_log: Value | None,
    dt_bias: Value | None,
    capture_count: Value | None,
    state_update_active: Value | None,
    *,
    beta_activation: str,
    gate_activation: str,
    gate_lower_bound: float,
    qk_l2_norm: bool,
    scale: float,
    state_update_capacity: int,
    update_rule: str,
) -> list[Value]:
    """LinearAttention with the tokens first, optionally of texts of different lengths.

    Args:
        cu_seqlens: [batch + 1], the first token of each text, and the number of all tokens.
        initial_state: [batch, heads, values, keys].
    """
    is_gated, is_delta = chosen("update_rule", update_rule, UPDATE_RULES)
    if state_update_capacity or capture_count is not None:
        raise UnsupportedError("compact state updates are not supported")
    if (is_gated and decay is None) or (is_delta and beta is None):
        raise GraphError(f"decay or beta is missing for update_rule {update_rule}", code=Code.wrong_number_of_inputs)
    if cu_seqlens is None and initial_state is None:
        raise GraphError("cu_seqlens and initial_state are missing", code=Code.wrong_number_of_inputs)
    parts = _heads(query, key, value, initial_state)
    steps = _Steps(initial_state, cu_seqlens, known_rank(parts.query, "the query") == 4)
    q, k = (cast(tensor, ElementType.f32) for tensor in (parts.query, parts.key))
    if qk_l2_norm:
        q, k = _normalize(q), _normalize(k)
    q, k = (build.gather(tensor, _spread(parts), -2) for tensor in (q, k))
    gates = rates = None
    if is_gated and decay is not None:
        gates = steps.split(build.exp(_decay(decay, a_log, dt_bias, gate_activation, gate_lower_bound, parts)))
    if is_delta and beta is not None:
        plain = cast(beta, ElementType.f32)
        is_sigmoid = chosen("beta_activation", beta_activation, {"none": False, "sigmoid": True})
        rates = steps.split(build.sigmoid(plain) if is_sigmoid else plain)
    queries, keys, values = (steps.split(tensor) for tensor in (q, k, cast(parts.value, ElementType.f32)))

    def step(index: Value, state: Value) -> tuple[None, list[Value], list[Value]]:
        rows = steps.rows(state, index)
        k = build.unsqueeze(build.gather(keys, index, 0), -1)
        v = build.unsqueeze(build.gather(values, index, 0), 2)
        if gates is not None:
            gate = build.gather(gates, index, 0)
            rows = build.multiply(rows, build.unsqueeze(gate, -1 if gate.rank == 3 else ints(2, 3)))
        if rates is not None:
            rate = build.unsqueeze(build.gather(rates, index, 0), ints(2, 3))
            v = build.multiply(build.subtract(v, build.matmul(k, rows, transpose_a=True)), rate)
        rows = build.add(rows, build.multiply(k, v))
        output = build.matmul(build.unsqueeze(build.gather(queries, index, 0), 2), rows)
        return None, [steps.update_rows(state, rows, index)], [build.unsqueeze(build.squeeze(output, 2), 0)]

    state, outputs = build.loop(build.gather(shape_of(queries), 0, 0), None, step, [steps.start(parts)])
    outputs = build.multiply(outputs, number(scale or float(parts.keys) ** -0.5, outputs))
    outputs = build.reshape(steps.join_outputs(outputs), shape_of(parts.value), special_zero=False)
    return [cast(outputs, query.element_type), build.transpose(state, ints(0, 1, 3, 2))]


def _heads(query: Value, key: Value | None, value: Value | None, state: Value | None) -> _Heads:
    if key is not None and value is not None:
        sizes = [known_size(tensor, -2, "the number of heads") for tensor in (query, key, value)]
        if sizes[0] != sizes[1] or sizes[0] < 1 or sizes[2] % sizes[0]:
            raise InvalidAttributeError(
                "query, key and value have",
                actual=sizes,
                detail="heads",
                expected="a multiple of equal numbers for the value",
            )
        return _Heads(query, key, value, known_size(query, -1, "the size of a head"), sizes[0], sizes[2])
    if state is None:
        raise GraphError("initial_state is missing for packed queries", code=Code.wrong_number_of_inputs)
    heads, values, keys = (known_size(state, axis, "a dim of initial_state") for axis in (1, 2, 3))
    width = known_size(query, -1, "the last dim of the query")
    groups = (width - heads * values) // (2 * keys) if keys else 0
    if groups < 1 or 2 * groups * keys + heads * values != width or heads % groups:
        raise InvalidAttributeError(f"the query has {width} features, which do not fit the sizes of initial_state")
    parts = build.variadic_split(query, -1, ints(groups * keys, groups * keys, heads * values))
    lead = [0] * (known_rank(query, "the query") - 1)
    q, k, v = (
        build.reshape(part, ints(*lead, count, size), special_zero=True)
        for part, count, size in zip(parts, (groups, groups, heads), (keys, keys, values), strict=True)
    )
    return _Heads(q, k, v, keys, groups, heads)


def _normalize(x: Value) -> Value:
    squares = build.reduce_sum(build.multiply(x, x), -1, keep_dims=True)
    return build.divide(x, build.sqrt(build.add(squares, number(_NORM_EPSILON, x))))


def _spread(parts: _Heads) -> Value:
    """For each head of the values, the head of the keys that it shares."""
    return build.constant(np.repeat(np.arange(parts.groups), parts.heads // parts.groups))


def _decay(
    decay: Value, a_log: Value | None, dt_bias: Value | None, activation: str, bound: float, parts: _Heads
) -> Value:
    """The logarithm of the decay, for each head or for each key of a head, in f32."""
    plain = cast(decay, ElementType.f32)
    names = {"none": "", "softplus": "softplus", "qwen": "softplus", "sigmoid": "sigmoid", "kda": "sigmoid"}
    function = chosen("gate_activation", activation, names)
    if not function:
        return plain
    if a_log is None or dt_bias is None:
        message = f"a_log or dt_bias is missing for gate_activation {activation}"
        raise GraphError(message, code=Code.wrong_number_of_inputs)
    rate, bias = build.exp(a_log), dt_bias
    if known_rank(decay, "the decay") == known_rank(parts.query, "the query"):
        rate = build.unsqueeze(rate, 1)
        has_one = known_size(dt_bias, 0, "the size of dt_bias") == parts.heads and known_rank(dt_bias, "dt_bias") == 1
        bias = reshape(dt_bias, parts.heads, 1 if has_one else parts.keys)
    moved = build.add(plain, bias)
    if function == "softplus":
        return build.negative(build.multiply(rate, build.softplus(moved)))
    return build.multiply(number(bound, plain), build.sigmoid(build.multiply(rate, moved)))


class _Steps:
    """The tokens of a step: one of each text, or the next token of all texts one after the other.

    Args:
        is_split: True for tensors with the axes batch and length.
    """

    def __init__(self, state: Value | None, starts: Value | None, is_split: bool) -> None:
        self._state = state
        self._starts = None if starts is None else as_i64(starts)
        self._is_split = is_split

    def split(self, tensor: Value) -> Value:
        """[steps, rows, ...]"""
        if self._starts is not None:
            return build.unsqueeze(tensor, 1)
        if not self._is_split:
            assert self._state is not None
            sizes = build.slice(shape_of(tensor), ints(1), ints(2**31 - 1), ints(1))
            tensor = build.reshape(tensor, concat([size_of(self._state, 0), ints(-1), sizes]), special_zero=False)
        rank = known_rank(tensor, "the input")
        return build.transpose(tensor, ints(1, 0, *range(2, rank)))

    def join_outputs(self, outputs: Value) -> Value:
        """The outputs [steps, rows, ...] in the order of the tokens."""
        return outputs if self._starts is not None else build.transpose(outputs, ints(1, 0, 2, 3))

    def start(self, parts: _Heads) -> Value:
        """[batch, heads, keys, values]"""
        if self._state is not None:
            return build.transpose(cast(self._state, ElementType.f32), ints(0, 1, 3, 2))
        assert self._starts is not None
        batch = build.subtract(size_of(self._starts, 0), ints(1))
        sizes = concat([batch, ints(parts.heads, parts.keys), size_of(parts.value, -1)])
        return build.broadcast(build.constant(np.float32(0)), sizes)

    def _row(self, index: Value) -> Value:
        """The text of a token, of rank 1."""
        assert self._starts is not None
        begun = cast(build.less_equal(self._starts, as_i64(index)), ElementType.i64)
        return build.subtract(build.reduce_sum(begun, 0, keep_dims=True), ints(1))

    def rows(self, state: Value, index: Value) -> Value:
        """The states of the texts of a step."""
        return state if self._starts is None else build.gather(state, self._row(index), 0)

    def update_rows(self, state: Value, rows: Value, index: Value) -> Value:
        """The states with those of the texts of a step replaced."""
        return rows if self._starts is None else build.scatter_update(state, self._row(index), rows, 0)
