"""Cells and sequences: LSTM, GRU, RNN.

The blob `weights` holds the concatenated weights of the input and of the hidden state, [gates * hidden, input +
hidden]; gates are in the current order, forget, input, cell, output for LSTM. Source: RNNBaseValidator and
mkldnn_rnn.cpp.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ir_exec import build
from ir_exec.build import Value
from ir_exec.codes import Code
from ir_exec.errors import ShapeError, WeightsError
from ir_exec.older.call import LayerCall
from ir_exec.older.registry import older_layer
from ir_exec.older.values import as_floats, as_integers, as_number, dims_of, vector

__all__: list[str] = []

_GATES = {"lstm": 4, "gru": 3, "rnn": 1}
_ACTIVATIONS = {"lstm": ("sigmoid", "tanh", "tanh"), "gru": ("sigmoid", "tanh"), "rnn": ("tanh",)}


class _OlderCell(NamedTuple):
    """Weights with a first axis for the directions, and attributes."""

    weights: Value
    recurrence: Value
    biases: Value
    told: dict[str, Any]


def _cell(layer: LayerCall, cell_type: str, width: int, directions: int) -> _OlderCell:
    hidden = layer.integer("hidden_size")
    if hidden < 1:
        raise ShapeError("hidden_size is", actual=hidden, expected="1 or more", code=Code.impossible_shape)
    gates = _GATES[cell_type]
    is_linear = cell_type == "gru" and layer.flag("linear_before_reset", False)
    rows = gates * hidden
    both = layer.blob("weights", directions, rows, width + hidden)
    weights, recurrence = build.variadic_split(both, vector(2), vector(width, hidden))
    bias_rows = (gates + is_linear) * hidden
    if layer.has_blob("biases"):
        if layer.blob_count("biases") not in (bias_rows * directions,):
            raise WeightsError(
                "biases has",
                actual=layer.blob_count("biases"),
                detail="elements",
                expected=bias_rows * directions,
                code=Code.constant_size,
            )
        biases = layer.blob("biases", directions, bias_rows)
    else:
        biases = build.constant(np.zeros((directions, bias_rows), np.float32))
    names = layer.text("activations", ",".join(_ACTIVATIONS[cell_type])).lower().replace(" ", "").split(",")
    told: dict[str, Any] = {
        "hidden_size": hidden,
        "activations": tuple(names),
        "activations_alpha": layer.numbers("activation_alpha", ()) or layer.numbers("activations_alpha", ()),
        "activations_beta": layer.numbers("activation_beta", ()) or layer.numbers("activations_beta", ()),
        "clip": layer.number("clip", 0.0),
    }
    if cell_type == "gru":
        told["linear_before_reset"] = is_linear
    return _OlderCell(weights, recurrence, biases, told)


def _cell_inputs(
    layer: LayerCall, cell_type: str, x: Value, states: Sequence[Value]
) -> tuple[list[Value], dict[str, Any]]:
    dims = dims_of(x)
    if len(dims) != 2:
        raise ShapeError("the input of a cell has rank", actual=len(dims), expected=2, code=Code.wrong_rank)
    cell = _cell(layer, cell_type, dims[1], 1)
    parts = [build.squeeze(tensor, vector(0)) for tensor in (cell.weights, cell.recurrence, cell.biases)]
    return [as_floats(tensor) for tensor in (x, *states)] + parts, cell.told


@older_layer("LSTMCell")
def lstm_cell(layer: LayerCall, x: Value, hidden: Value, cell: Value) -> Sequence[Value]:
    """One step; the new hidden state and the new cell state."""
    inputs, told = _cell_inputs(layer, "lstm", x, (hidden, cell))
    outputs: Sequence[Value] = build.lstm_cell(*inputs, **told)
    return outputs


@older_layer("GRUCell")
def gru_cell(layer: LayerCall, x: Value, hidden: Value) -> Value:
    """One step; the new hidden state."""
    inputs, told = _cell_inputs(layer, "gru", x, (hidden,))
    return build.gru_cell(*inputs, **told)


@older_layer("RNNCell")
def rnn_cell(layer: LayerCall, x: Value, hidden: Value) -> Value:
    """One step; the new hidden state."""
    inputs, told = _cell_inputs(layer, "rnn", x, (hidden,))
    return build.rnn_cell(*inputs, **told)


_DIRECTIONS = {
    "forward": "forward",
    "backward": "reverse",
    "reverse": "reverse",
    "bidirectional": "bidirectional",
}


def _sequence(layer: LayerCall, cell_type: str, x: Value, inputs: Sequence[Value]) -> list[Value]:
    """All steps; [batch, time, hidden] or, with `axis` 0, [time, batch, hidden], and the last states."""
    x = as_floats(x)
    dims = dims_of(x)
    if len(dims) != 3:
        raise ShapeError("the input has rank", actual=len(dims), expected=3, code=Code.wrong_rank)
    direction = layer.choice("direction", _DIRECTIONS)
    directions = 2 if direction == "bidirectional" else 1
    is_time_first = layer.integer("axis", 1) == 0
    batch, time = (dims[1], dims[0]) if is_time_first else (dims[0], dims[1])
    x = build.transpose(x, vector(1, 0, 2)) if is_time_first else x
    cell = _cell(layer, cell_type, dims[2], directions)
    count = 2 if cell_type == "lstm" else 1
    hidden = cell.told["hidden_size"]
    zeros = build.broadcast(as_number(0), vector(batch, directions, hidden))
    states = [_state(state, batch, directions, hidden) for state in inputs[:count]]
    states += [zeros] * (count - len(states))
    lengths = as_integers(inputs[count]) if len(inputs) > count else _all_steps(batch, time)
    functions: dict[str, Callable[..., Sequence[Value]]] = {
        "lstm": build.lstm_sequence,
        "gru": build.gru_sequence,
        "rnn": build.rnn_sequence,
    }
    told: dict[str, Any] = {"direction": direction, **cell.told}
    steps, *last = functions[cell_type](x, *states, lengths, cell.weights, cell.recurrence, cell.biases, **told)
    # [batch, directions, time, hidden]
    if directions == 1:
        steps = build.squeeze(steps, vector(1))
        last = [build.squeeze(state, vector(1)) for state in last]
    else:
        steps = build.reshape(build.transpose(steps, vector(0, 2, 1, 3)), vector(batch, time, -1), special_zero=False)
        last = [build.reshape(state, vector(batch, -1), special_zero=False) for state in last]
    return [build.transpose(steps, vector(1, 0, 2)) if is_time_first else steps, *last]


def _all_steps(batch: int, time: int) -> Value:
    """The length of every sequence, if all steps count."""
    if time >= 2**31:
        raise ShapeError(
            "the sequence has", actual=time, detail="steps", expected="less than 2^31", code=Code.impossible_shape
        )
    return build.broadcast(build.constant(np.int32(time)), vector(batch))


def _state(value: Value, batch: int, directions: int, hidden: int) -> Value:
    return build.reshape(as_floats(value), vector(batch, directions, hidden), special_zero=False)


@older_layer("LSTMSequence")
def lstm_sequence(layer: LayerCall, x: Value, *states: Value) -> list[Value]:
    """Apply an LSTMCell in each step."""
    return _sequence(layer, "lstm", x, states)


@older_layer("GRUSequence")
def gru_sequence(layer: LayerCall, x: Value, *states: Value) -> list[Value]:
    """Apply a GRUCell in each step."""
    return _sequence(layer, "gru", x, states)


@older_layer("RNNSequence")
def rnn_sequence(layer: LayerCall, x: Value, *states: Value) -> list[Value]:
    """Apply an RNNCell in each step; `cell_type` may select another cell."""
    kinds = {"rnncell": "rnn", "lstmcell": "lstm", "grucell": "gru", "rnn": "rnn", "lstm": "lstm", "gru": "gru"}
    return _sequence(layer, layer.choice("cell_type", kinds, "RNN"), x, states)
