"""RNN, GRU and LSTM: their versions, which differ in attributes."""

from __future__ import annotations

from ir_exec.build import Value
from ir_exec.onnx.lowering.attributes import Floats, Strings
from ir_exec.onnx.lowering.registry import onnx_op
from ir_exec.onnx.ops.recurrent_layers import DIRECTIONS, gru_layer, lstm_layer, rnn_layer

__all__: list[str] = []


@onnx_op("LSTM", since=1)
def lstm_1(
    x: Value,
    w: Value,
    r: Value,
    b: Value | None = None,
    lengths: Value | None = None,
    h: Value | None = None,
    c: Value | None = None,
    p: Value | None = None,
    *,
    activation_alpha: Floats = (),
    activation_beta: Floats = (),
    activations: Strings = (),
    clip: float | None = None,
    direction: str = "forward",
    hidden_size: int | None = None,
    input_forget: bool = False,
    output_sequence: bool = False,
) -> list[Value]:
    return lstm(
        x,
        w,
        r,
        b,
        lengths,
        h,
        c,
        p,
        activation_alpha=activation_alpha,
        activation_beta=activation_beta,
        activations=activations,
        clip=clip,
        direction=direction,
        hidden_size=hidden_size,
        input_forget=input_forget,
    )


@onnx_op("LSTM", since=7)
def lstm(
    x: Value,
    w: Value,
    r: Value,
    b: Value | None = None,
    lengths: Value | None = None,
    h: Value | None = None,
    c: Value | None = None,
    p: Value | None = None,
    *,
    activation_alpha: Floats = (),
    activation_beta: Floats = (),
    activations: Strings = (),
    clip: float | None = None,
    direction: str = "forward",
    hidden_size: int | None = None,
    input_forget: bool = False,
) -> list[Value]:
    return lstm_14(
        x,
        w,
        r,
        b,
        lengths,
        h,
        c,
        p,
        activation_alpha=activation_alpha,
        activation_beta=activation_beta,
        activations=activations,
        clip=clip,
        direction=direction,
        hidden_size=hidden_size,
        input_forget=input_forget,
    )


@onnx_op("LSTM", since=14)
def lstm_14(
    x: Value,
    w: Value,
    r: Value,
    b: Value | None = None,
    lengths: Value | None = None,
    h: Value | None = None,
    c: Value | None = None,
    p: Value | None = None,
    *,
    activation_alpha: Floats = (),
    activation_beta: Floats = (),
    activations: Strings = (),
    clip: float | None = None,
    direction: str = "forward",
    hidden_size: int | None = None,
    input_forget: bool = False,
    layout: int = 0,
) -> list[Value]:
    return lstm_layer(
        (x, w, r, b, lengths, h, c, p),
        activation_alpha=activation_alpha,
        activation_beta=activation_beta,
        activations=activations,
        clip=clip,
        direction=direction,
        hidden_size=hidden_size,
        input_forget=input_forget,
        layout=layout,
    )


@onnx_op("GRU", since=1)
def gru_1(
    x: Value,
    w: Value,
    r: Value,
    b: Value | None = None,
    lengths: Value | None = None,
    h: Value | None = None,
    *,
    activation_alpha: Floats = (),
    activation_beta: Floats = (),
    activations: Strings = (),
    clip: float | None = None,
    direction: str = "foward",
    hidden_size: int | None = None,
    output_sequence: bool = False,
) -> list[Value]:
    """The default has this spelling in the definition."""
    direction = "forward" if direction == "foward" else direction
    return gru_14(
        x,
        w,
        r,
        b,
        lengths,
        h,
        activation_alpha=activation_alpha,
        activation_beta=activation_beta,
        activations=activations,
        clip=clip,
        direction=direction,
        hidden_size=hidden_size,
    )


@onnx_op("GRU", since=3)
def gru_3(
    x: Value,
    w: Value,
    r: Value,
    b: Value | None = None,
    lengths: Value | None = None,
    h: Value | None = None,
    *,
    activation_alpha: Floats = (),
    activation_beta: Floats = (),
    activations: Strings = (),
    clip: float | None = None,
    direction: str = "forward",
    hidden_size: int | None = None,
    linear_before_reset: bool = False,
    output_sequence: bool = False,
) -> list[Value]:
    return gru_14(
        x,
        w,
        r,
        b,
        lengths,
        h,
        activation_alpha=activation_alpha,
        activation_beta=activation_beta,
        activations=activations,
        clip=clip,
        direction=direction,
        hidden_size=hidden_size,
        linear_before_reset=linear_before_reset,
    )


@onnx_op("GRU", since=7)
def gru_7(
    x: Value,
    w: Value,
    r: Value,
    b: Value | None = None,
    lengths: Value | None = None,
    h: Value | None = None,
    *,
    activation_alpha: Floats = (),
    activation_beta: Floats = (),
    activations: Strings = (),
    clip: float | None = None,
    direction: str = "forward",
    hidden_size: int | None = None,
    linear_before_reset: bool = False,
) -> list[Value]:
    return gru_14(
        x,
        w,
        r,
        b,
        lengths,
        h,
        activation_alpha=activation_alpha,
        activation_beta=activation_beta,
        activations=activations,
        clip=clip,
        direction=direction,
        hidden_size=hidden_size,
        linear_before_reset=linear_before_reset,
    )


@onnx_op("GRU", since=14)
def gru_14(
    x: Value,
    w: Value,
    r: Value,
    b: Value | None = None,
    lengths: Value | None = None,
    h: Value | None = None,
    *,
    activation_alpha: Floats = (),
    activation_beta: Floats = (),
    activations: Strings = (),
    clip: float | None = None,
    direction: str = "forward",
    hidden_size: int | None = None,
    layout: int = 0,
    linear_before_reset: bool = False,
) -> list[Value]:
    return gru_layer(
        (x, w, r, b, lengths, h),
        activation_alpha=activation_alpha,
        activation_beta=activation_beta,
        activations=activations,
        clip=clip,
        direction=direction,
        hidden_size=hidden_size,
        layout=layout,
        linear_before_reset=linear_before_reset,
    )


@onnx_op("RNN", since=1)
def rnn_1(
    x: Value,
    w: Value,
    r: Value,
    b: Value | None = None,
    lengths: Value | None = None,
    h: Value | None = None,
    *,
    activation_alpha: Floats = (),
    activation_beta: Floats = (),
    activations: Strings = ("Tanh", "Tanh"),
    clip: float | None = None,
    direction: str = "forward",
    hidden_size: int | None = None,
    output_sequence: bool = False,
) -> list[Value]:
    return rnn_7(
        x,
        w,
        r,
        b,
        lengths,
        h,
        activation_alpha=activation_alpha,
        activation_beta=activation_beta,
        activations=activations,
        clip=clip,
        direction=direction,
        hidden_size=hidden_size,
    )


@onnx_op("RNN", since=7)
def rnn_7(
    x: Value,
    w: Value,
    r: Value,
    b: Value | None = None,
    lengths: Value | None = None,
    h: Value | None = None,
    *,
    activation_alpha: Floats = (),
    activation_beta: Floats = (),
    activations: Strings = ("Tanh", "Tanh"),
    clip: float | None = None,
    direction: str = "forward",
    hidden_size: int | None = None,
) -> list[Value]:
    return rnn_14(
        x,
        w,
        r,
        b,
        lengths,
        h,
        activation_alpha=activation_alpha,
        activation_beta=activation_beta,
        activations=activations,
        clip=clip,
        direction=direction,
        hidden_size=hidden_size,
    )


@onnx_op("RNN", since=14)
def rnn_14(
    x: Value,
    w: Value,
    r: Value,
    b: Value | None = None,
    lengths: Value | None = None,
    h: Value | None = None,
    *,
    activation_alpha: Floats = (),
    activation_beta: Floats = (),
    activations: Strings = ("Tanh", "Tanh"),
    clip: float | None = None,
    direction: str = "forward",
    hidden_size: int | None = None,
    layout: int = 0,
) -> list[Value]:
    return rnn_layer(
        (x, w, r, b, lengths, h),
        activation_alpha=activation_alpha,
        activation_beta=activation_beta,
        activations=activations[: DIRECTIONS.get(direction, 1)],
        clip=clip,
        direction=direction,
        hidden_size=hidden_size,
        layout=layout,
    )
