"""Operators of OpenVINO with a state that is updated token by token: linear attention and state space models."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ir_exec.codes import Code
from ir_exec.errors import ShapeError
from ir_exec.ops.base import In, Op
from ir_exec.ops.base.attributes import Bool, Float
from ir_exec.ops.base.shapes import merge_dims, require_rank
from ir_exec.text.ops.base import text_op
from ir_exec.types import Array, Dim, ElementType, Shape, TensorType, element_types

__all__ = ["GatedDeltaNet", "SelectiveSSM"]

_FLOATS = element_types("bf16 f16 f32")


def _dims(tensor: TensorType, rank: int, name: str) -> tuple[Dim, ...]:
    """The dims of an input with this rank, dynamic if its rank is unknown; IR501 for another rank."""
    require_rank(tensor, rank, name)
    return (Dim.any(),) * rank if tensor.shape.dims is None else tuple(tensor.shape)


def _require_multiple(heads: Dim, groups: Dim, what: str) -> None:
    if heads.is_static and groups.is_static and (groups == 0 or heads.size % groups.size):
        raise ShapeError(
            f"the number of {what} is", actual=heads, expected=f"a multiple of {groups}", code=Code.dims_differ
        )


@text_op("GatedDeltaNet")
class GatedDeltaNet(Op):
    """Linear attention with a gated delta rule, token by token.

    For each token: state = state * exp(gate); state = state + key (x) (value - key @ state) * beta; and
    output = query / sqrt(channels) @ state.

    All are f32, f16 or bf16. Computed in f32.

    Source: OpenVINO, openvino/op/gated_delta_net.hpp and openvino/reference/gated_delta_net.hpp.

    Inputs:
        query: [batch, tokens, heads, channels].
        key: [batch, tokens, heads, channels].
        value: [batch, tokens, value heads, value channels]; groups of value heads share a query and a key.
        state: [batch, value heads, channels, value channels].
        gate: [batch, tokens, value heads].
        beta: [batch, tokens, value heads].

    Attributes:
        fuse_qk_l2norm: query and key are divided by sqrt(sum of their squares + epsilon) first.

    Outputs:
        output: The shape of value and the type of query.
        new_state: The state after the last token.

    Raises:
        IRError: IR501 for another rank, IR502 for sizes that differ.
    """

    inputs = (
        In("query", types=_FLOATS),
        In("key", types=_FLOATS),
        In("value", types=_FLOATS),
        In("state", types=_FLOATS),
        In("gate", types=_FLOATS),
        In("beta", types=_FLOATS),
    )
    outputs = ("output", "new_state")

    fuse_qk_l2norm: Bool = False
    q_l2_norm_eps: Float = 1e-6
    k_l2_norm_eps: Float = 1e-6

    def infer(
        self,
        query: TensorType,
        key: TensorType,
        value: TensorType,
        state: TensorType,
        gate: TensorType,
        beta: TensorType,
    ) -> tuple[TensorType, TensorType]:
        batch, tokens, heads, channels = _dims(query, 4, "query")
        value_heads, value_channels = Dim.any(), Dim.any()
        for tensor, name in ((key, "key"), (value, "value"), (gate, "gate"), (beta, "beta")):
            dims = _dims(tensor, 4 if tensor is key or tensor is value else 3, name)
            batch = merge_dims(batch, dims[0], f"the batches of query and {name}", port=name)
            tokens = merge_dims(tokens, dims[1], f"the tokens of query and {name}", port=name)
            if tensor is key:
                heads = merge_dims(heads, dims[2], "the heads of query and key", port=name)
                channels = merge_dims(channels, dims[3], "the channels of query and key", port=name)
            else:
                value_heads = merge_dims(value_heads, dims[2], f"the heads of value and {name}", port=name)
            if tensor is value:
                value_channels = dims[3]
        state_dims = _dims(state, 4, "state")
        expected = (batch, value_heads, channels, value_channels)
        whats = ("the batches of query and state", "the heads of value and state", "the channels of key and state")
        batch, value_heads, channels, value_channels = (
            merge_dims(a, b, what, port="state")
            for a, b, what in zip(expected, state_dims, (*whats, "the channels of value and state"), strict=True)
        )
        _require_multiple(value_heads, heads, "heads of value")
        return (
            query.with_shape(Shape([batch, tokens, value_heads, value_channels])),
            state.with_shape(Shape([batch, value_heads, channels, value_channels])),
        )

    def count_terms(self, inputs: Sequence[Array]) -> int:
        """The state takes the product of a key and itself in every token; the output is its product with a query."""
        tokens, channels = inputs[0].shape[1], inputs[0].shape[-1]
        return int(channels * (tokens + 1) * (2 if self.fuse_qk_l2norm else 1))

    def evaluate(
        self, query: Array, key: Array, value: Array, state: Array, gate: Array, beta: Array
    ) -> tuple[Array, Array]:
        q, k, v = (array.astype(np.float32) for array in (query, key, value))
        if self.fuse_qk_l2norm:
            q, k = _of_length_1(q, self.q_l2_norm_eps), _of_length_1(k, self.k_l2_norm_eps)
        q = q / np.sqrt(np.float32(q.shape[-1]))
        group = v.shape[2] // q.shape[2]
        q, k = np.repeat(q, group, axis=2), np.repeat(k, group, axis=2)
        decay, rate = np.exp(gate.astype(np.float32)), beta.astype(np.float32)
        memory = state.astype(np.float32)
        outputs = np.empty(v.shape, np.float32)
        for token in range(v.shape[1]):
            memory = memory * decay[:, token, :, np.newaxis, np.newaxis]
            new = k[:, token, :, np.newaxis]
            change = (v[:, token, :, np.newaxis] - new @ memory) * rate[:, token, :, np.newaxis, np.newaxis]
            memory = memory + new.swapaxes(-1, -2) @ change
            outputs[:, token] = (q[:, token, :, np.newaxis] @ memory)[..., 0, :]
        return outputs.astype(ElementType.of(query).dtype), memory.astype(ElementType.of(state).dtype)


def _of_length_1(array: Array, epsilon: float) -> Array:
    normalized: Array = array / np.sqrt(np.sum(np.square(array), axis=-1, keepdims=True) + np.float32(epsilon))
    return normalized


@text_op("SelectiveSSM")
class SelectiveSSM(Op):
    """The recurrence of a selective state space model (Mamba 2), token by token.

    For each token: state = state * exp(a * dt) + (dt * b) (x) x, and output = sum of state * c over the states.

    All are f32, f16 or bf16. Computed in f32.

    Source: OpenVINO, openvino/op/selective_ssm.hpp; Dao and Gu, arXiv:2405.21060.

    Inputs:
        a: [heads].
        dt: [batch, tokens, heads].
        b: [batch, tokens, groups, states]; groups of heads share them.
        x: [batch, tokens, heads, channels].
        c: Like `b`.
        state: [batch, heads, channels, states].

    Outputs:
        output: The shape and type of x.
        new_state: The state after the last token.

    Raises:
        IRError: IR501 for another rank, IR502 for sizes that differ.
    """

    inputs = (
        In("a", types=_FLOATS),
        In("dt", types=_FLOATS),
        In("b", types=_FLOATS),
        In("x", types=_FLOATS),
        In("c", types=_FLOATS),
        In("state", types=_FLOATS),
    )
    outputs = ("output", "new_state")

    def infer(
        self, a: TensorType, dt: TensorType, b: TensorType, x: TensorType, c: TensorType, state: TensorType
    ) -> tuple[TensorType, TensorType]:
        batch, tokens, heads, channels = _dims(x, 4, "x")
        (rates,) = _dims(a, 1, "a")
        heads = merge_dims(heads, rates, "the heads of x and a", port="a")
        steps = _dims(dt, 3, "dt")
        heads = merge_dims(heads, steps[2], "the heads of x and dt", port="dt")
        groups, states = Dim.any(), Dim.any()
        for dims, name in ((steps, "dt"), (_dims(b, 4, "b"), "b"), (_dims(c, 4, "c"), "c")):
            batch = merge_dims(batch, dims[0], f"the batches of x and {name}", port=name)
            tokens = merge_dims(tokens, dims[1], f"the tokens of x and {name}", port=name)
            if dims is not steps:
                groups = merge_dims(groups, dims[2], "the groups of b and c", port=name)
                states = merge_dims(states, dims[3], "the states of b and c", port=name)
        expected = (batch, heads, channels, states)
        whats = ("the batches of x and state", "the heads of x and state", "the channels of x and state")
        batch, heads, channels, states = (
            merge_dims(dim, other, what, port="state")
            for dim, other, what in zip(
                expected, _dims(state, 4, "state"), (*whats, "the states of b and state"), strict=True
            )
        )
        _require_multiple(heads, groups, "heads of x")
        return (
            x.with_shape(Shape([batch, tokens, heads, channels])),
            state.with_shape(Shape([batch, heads, channels, states])),
        )

    def count_terms(self, inputs: Sequence[Array]) -> int:
        """An output is a sum over the states, each of which is a sum over the tokens."""
        state = inputs[5]
        return int(state.shape[-1] * (inputs[3].shape[1] + 1))

    def evaluate(self, a: Array, dt: Array, b: Array, x: Array, c: Array, state: Array) -> tuple[Array, Array]:
        steps, wide = dt.astype(np.float32), x.astype(np.float32)
        group = wide.shape[2] // b.shape[2]
        ins, outs = (np.repeat(array.astype(np.float32), group, axis=2) for array in (b, c))
        decay = np.exp(a.astype(np.float32) * steps)[..., np.newaxis, np.newaxis]
        ins = ins * steps[..., np.newaxis]
        memory = state.astype(np.float32)
        outputs = np.empty(wide.shape, np.float32)
        for token in range(wide.shape[1]):
            new = wide[:, token, :, :, np.newaxis] * ins[:, token, :, np.newaxis]
            memory = memory * decay[:, token] + new
            outputs[:, token] = (memory @ outs[:, token, :, :, np.newaxis])[..., 0]
        return outputs.astype(ElementType.of(x).dtype), memory.astype(ElementType.of(state).dtype)
