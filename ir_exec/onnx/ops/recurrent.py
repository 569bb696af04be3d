"""RNN, GRU and LSTM."""

from __future__ import annotations

from typing import Unpack

from ir_exec.build import Value
from ir_exec.onnx.lowering.registry import onnx_op
from ir_exec.onnx.ops.recurrent_layers import DIRECTIONS, RecurrentAttributes, gru_layer, lstm_layer, rnn_layer

__all__: list[str] = []


@onnx_op("LSTM", since=(1, 7, 14), unused=("output_sequence",))
def lstm(
    x: Value,
    w: Value,
    r: Value,
    b: Value | None,
    lengths: Value | None,
    h: Value | None,
    c: Value | None,
    p: Value | None,
    *,
    input_forget: bool,
    layout: int,
    **attributes: Unpack[RecurrentAttributes],
) -> list[Value]:
    return lstm_layer((x, w, r, b, lengths, h, c, p), input_forget=input_forget, layout=layout, **attributes)


@onnx_op("GRU", since=(1, 3, 7, 14), unused=("output_sequence",))
def gru(
    x: Value,
    w: Value,
    r: Value,
    b: Value | None,
    lengths: Value | None,
    h: Value | None,
    *,
    layout: int,
    linear_before_reset: bool,
    **attributes: Unpack[RecurrentAttributes],
) -> list[Value]:
    inputs = (x, w, r, b, lengths, h)
    return gru_layer(inputs, layout=layout, linear_before_reset=linear_before_reset, **attributes)


@onnx_op("RNN", since=(1, 7, 14), unused=("output_sequence",))
def rnn(
    x: Value,
    w: Value,
    r: Value,
    b: Value | None,
    lengths: Value | None,
    h: Value | None,
    *,
    layout: int,
    **attributes: Unpack[RecurrentAttributes],
) -> list[Value]:
    # The default has the activations of both directions.
    attributes["activations"] = attributes["activations"][: DIRECTIONS.get(attributes["direction"], 1)]
    return rnn_layer((x, w, r, b, lengths, h), layout=layout, **attributes)
