"""What RNN, GRU and LSTM are in operators of IR, whatever their version.

ONNX has the steps before the batch (`layout` 0) and the directions first in weights and states; IR has the batch first
everywhere. The gates of an LSTM are i, o, f, c in ONNX and f, i, c, o in IR; biases of inputs and states are added up.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from ir_exec import build
from ir_exec.build import Value
from ir_exec.errors import InvalidAttributeError, UnsupportedError
from ir_exec.onnx.attributes import Floats, Strings
from ir_exec.onnx.values import cast, concat, ints, number, shape_of, size_along

__all__ = ["DIRECTIONS", "gru_layer", "lstm_layer", "rnn_layer"]

DIRECTIONS = {"forward": 1, "reverse": 1, "bidirectional": 2}
_KNOWN = ("relu", "sigmoid", "tanh")

Inputs: TypeAlias = tuple[Value | None, ...]
"""As the node has them, with None for those that it leaves out."""


class _Layer:
    """What the three have in common: batch first, the directions behind it."""

    def __init__(
        self,
        x: Value,
        w: Value,
        r: Value,
        lengths: Value | None,
        *,
        direction: str,
        hidden_size: int | None,
        activations: Strings,
        defaults: tuple[str, ...],
        clip: float | None,
        layout: int,
        parameters: bool,
    ) -> None:
        if direction not in DIRECTIONS:
            raise InvalidAttributeError(f"direction is {direction!r}, expected {', '.join(DIRECTIONS)}")
        self.layout = layout
        self.x = x if layout else build.transpose(x, ints(1, 0, 2))
        self.directions = DIRECTIONS[direction]
        self.direction = direction
        size = size_along(r, 2)
        self.hidden = hidden_size if hidden_size is not None else size.size if size.is_static else 0
        names = tuple(name.lower() for name in activations) or defaults * self.directions
        if len(names) != len(defaults) * self.directions:
            raise InvalidAttributeError(f"activations has {len(names)} elements")
        first, second = names[: len(defaults)], names[-len(defaults) :]
        unknown = [name for name in names if name not in _KNOWN]
        if unknown or parameters:
            raise UnsupportedError(f"the activation {(unknown or names)[0]} in a recurrent layer")
        if first != second:
            raise UnsupportedError("activations that differ by direction")
        self.attributes: dict[str, Any] = {
            "hidden_size": self.hidden,
            "activations": first,
            "clip": 0.0 if clip is None else clip,
            "direction": direction,
        }
        sizes = shape_of(self.x)
        self.batch = build.slice(sizes, ints(0), ints(1), ints(1))
        steps = build.slice(sizes, ints(1), ints(2), ints(1))
        self.lengths = build.broadcast(build.squeeze(steps, 0), self.batch) if lengths is None else lengths

    def state(self, given: Value | None) -> Value:
        """A state with the batch first; zeros where none is given."""
        if given is None:
            return build.broadcast(number(0, self.x), concat([self.batch, ints(self.directions, self.hidden)]))
        return given if self.layout else build.transpose(given, ints(1, 0, 2))

    def bias(self, given: Value | None, gates: int) -> list[Value]:
        """The biases of each gate, those of the inputs before those of the states; [directions, hidden] each."""
        if given is None:
            zero = build.broadcast(number(0, self.x), ints(self.directions, self.hidden))
            return [zero] * (2 * gates)
        return list(build.split(given, 1, num_splits=2 * gates))

    def outputs(self, y: Value, *states: Value) -> list[Value]:
        """[batch, directions, steps, hidden] and [batch, directions, hidden] as ONNX has them."""
        if self.layout:
            return [build.transpose(y, ints(0, 2, 1, 3)), *states]
        return [build.transpose(y, ints(2, 1, 0, 3)), *[build.transpose(one, ints(1, 0, 2)) for one in states]]


def lstm_layer(
    inputs: Inputs,
    *,
    activation_alpha: Floats,
    activation_beta: Floats,
    activations: Strings,
    clip: float | None,
    direction: str,
    hidden_size: int | None,
    input_forget: bool,
    layout: int = 0,
) -> list[Value]:
    x, w, r, b, lengths, h, c, peepholes = inputs
    assert x is not None
    assert w is not None
    assert r is not None
    layer = _Layer(
        x,
        w,
        r,
        lengths,
        direction=direction,
        hidden_size=hidden_size,
        activations=activations,
        defaults=("sigmoid", "tanh", "tanh"),
        clip=clip,
        layout=layout,
        parameters=bool(activation_alpha or activation_beta),
    )
    bias = layer.bias(b, 4)
    if input_forget or peepholes is not None:
        return _stepwise_lstm(layer, w, r, bias, layer.state(h), layer.state(c), peepholes, input_forget)
    sums = [build.add(bias[gate], bias[gate + 4]) for gate in range(4)]
    y, last_h, last_c = build.lstm_sequence(
        layer.x,
        layer.state(h),
        layer.state(c),
        layer.lengths,
        _reordered(w),
        _reordered(r),
        concat([sums[gate] for gate in (2, 0, 3, 1)], 1),
        **layer.attributes,
    )
    return layer.outputs(y, last_h, last_c)


def _reordered(weights: Value) -> Value:
    parts = build.split(weights, 1, num_splits=4)
    return concat([parts[gate] for gate in (2, 0, 3, 1)], 1)


def _stepwise_lstm(
    layer: _Layer,
    w: Value,
    r: Value,
    bias: list[Value],
    h: Value,
    c: Value,
    peepholes: Value | None,
    input_forget: bool,
) -> list[Value]:
    """The formulas step by step, for what the sequence of IR does not have: peepholes, and coupled gates."""
    activate = {"relu": build.relu, "sigmoid": build.sigmoid, "tanh": build.tanh}
    f, g, last = (activate[name] for name in layer.attributes["activations"])
    ys, hs, cs = [], [], []
    for index in range(layer.directions):
        one = [build.gather(value, index, 0) for value in (w, r)]
        biases = concat([build.gather(build.add(bias[gate], bias[gate + 4]), index, 0) for gate in range(4)])
        if peepholes is None:
            peeps = [number(0, layer.x)] * 3
        else:
            peeps = list(build.split(build.gather(peepholes, index, 0), 0, num_splits=3))
        backwards = layer.direction == "reverse" or index == 1
        x = build.reverse_sequence(layer.x, layer.lengths, batch_axis=0, seq_axis=1) if backwards else layer.x

        def step(
            h: Value,
            c: Value,
            position: Value,
            x: Value,
            one: list[Value] = one,
            biases: Value = biases,
            peeps: list[Value] = peeps,
        ) -> tuple[list[Value], list[build.Collected]]:
            sums = build.add(
                build.add(
                    build.matmul(build.squeeze(x, 1), one[0], transpose_b=True),
                    build.matmul(h, one[1], transpose_b=True),
                ),
                biases,
            )
            i, o, forget, cell = build.split(sums, 1, num_splits=4)
            i = f(_clipped(layer, build.add(i, build.multiply(peeps[0], c))))
            if input_forget:
                forget = build.subtract(number(1, i), i)
            else:
                forget = f(_clipped(layer, build.add(forget, build.multiply(peeps[2], c))))
            after_c = build.add(build.multiply(forget, c), build.multiply(i, g(_clipped(layer, cell))))
            o = f(_clipped(layer, build.add(o, build.multiply(peeps[1], after_c))))
            after_h = build.multiply(o, last(after_c))
            goes_on = build.unsqueeze(build.less(position, layer.lengths), 1)
            kept_h, kept_c = build.select(goes_on, after_h, h), build.select(goes_on, after_c, c)
            shown = build.select(goes_on, after_h, number(0, after_h))
            return [kept_h, kept_c], [build.Collected(build.unsqueeze(shown, 1), 1)]

        count = build.gather(shape_of(layer.x), 1, 0)
        positions = cast(build.range(0, count, 1, output_type="i64"), layer.lengths.element_type)
        h_end, c_end, y = build.tensor_iterator(
            step,
            [build.gather(h, index, 1), build.gather(c, index, 1)],
            [build.Sliced(positions, 0), build.Sliced(x, 1)],
        )
        if backwards:
            y = build.reverse_sequence(y, layer.lengths, batch_axis=0, seq_axis=1)
        ys.append(build.unsqueeze(y, 1))
        hs.append(build.unsqueeze(h_end, 1))
        cs.append(build.unsqueeze(c_end, 1))
    return layer.outputs(concat(ys, 1), concat(hs, 1), concat(cs, 1))


def _clipped(layer: _Layer, value: Value) -> Value:
    clip = layer.attributes["clip"]
    return build.clamp(value, min=-clip, max=clip) if clip > 0 else value


def gru_layer(
    inputs: Inputs,
    *,
    activation_alpha: Floats,
    activation_beta: Floats,
    activations: Strings,
    clip: float | None,
    direction: str,
    hidden_size: int | None,
    layout: int = 0,
    linear_before_reset: bool = False,
) -> list[Value]:
    x, w, r, b, lengths, h = inputs
    assert x is not None
    assert w is not None
    assert r is not None
    layer = _Layer(
        x,
        w,
        r,
        lengths,
        direction=direction,
        hidden_size=hidden_size,
        activations=activations,
        defaults=("sigmoid", "tanh"),
        clip=clip,
        layout=layout,
        parameters=bool(activation_alpha or activation_beta),
    )
    bias = layer.bias(b, 3)
    sums = [build.add(bias[gate], bias[gate + 3]) for gate in range(3)]
    biases = [sums[0], sums[1], bias[2], bias[5]] if linear_before_reset else sums
    y, last = build.gru_sequence(
        layer.x,
        layer.state(h),
        layer.lengths,
        w,
        r,
        concat(biases, 1),
        linear_before_reset=linear_before_reset,
        **layer.attributes,
    )
    return layer.outputs(y, last)


def rnn_layer(
    inputs: Inputs,
    *,
    activation_alpha: Floats,
    activation_beta: Floats,
    activations: Strings,
    clip: float | None,
    direction: str,
    hidden_size: int | None,
    layout: int = 0,
) -> list[Value]:
    x, w, r, b, lengths, h = inputs
    assert x is not None
    assert w is not None
    assert r is not None
    layer = _Layer(
        x,
        w,
        r,
        lengths,
        direction=direction,
        hidden_size=hidden_size,
        activations=activations,
        defaults=("tanh",),
        clip=clip,
        layout=layout,
        parameters=bool(activation_alpha or activation_beta),
    )
    bias = layer.bias(b, 1)
    y, last = build.rnn_sequence(
        layer.x, layer.state(h), layer.lengths, w, r, build.add(bias[0], bias[1]), **layer.attributes
    )
    return layer.outputs(y, last)
