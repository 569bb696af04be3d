"""What RNN, GRU and LSTM are in operators of IR, whatever their version.

ONNX has the steps before the batch (`layout` 0) and the directions first in weights and states; IR has the batch first
everywhere. The gates of an LSTM are i, o, f, c in ONNX and f, i, c, o in IR; biases of inputs and states are added up.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NotRequired, TypeAlias, TypedDict, Unpack

from ir_exec import build
from ir_exec.build import Value
from ir_exec.errors import InvalidAttributeError
from ir_exec.onnx.attributes import Floats, Strings
from ir_exec.onnx.ops.recurrent_steps import (
    Activation,
    Cell,
    Steps,
    activations_of,
    gru_cell,
    lstm_cell,
    rnn_cell,
    run_steps,
)
from ir_exec.onnx.values import concat, ints, number, shape_of, size_along

__all__ = ["DIRECTIONS", "gru_layer", "lstm_layer", "rnn_layer"]

DIRECTIONS = {"forward": 1, "reverse": 1, "bidirectional": 2}
_KNOWN = frozenset({"relu", "sigmoid", "tanh"})
"""Activations that the sequences of IR have."""

Inputs: TypeAlias = tuple[Value | None, ...]
"""As the node has them, with None for those that it leaves out."""


class _Attributes(TypedDict):
    """Those that the three have in common."""

    activation_alpha: Floats
    activation_beta: Floats
    activations: Strings
    clip: float | None
    direction: str
    hidden_size: int | None
    layout: NotRequired[int]


class _Layer:
    """What the three have in common: batch first, the directions behind it."""

    def __init__(
        self,
        inputs: Inputs,
        defaults: tuple[str, ...],
        *,
        activation_alpha: Floats,
        activation_beta: Floats,
        activations: Strings,
        clip: float | None,
        direction: str,
        hidden_size: int | None,
        layout: int = 0,
    ) -> None:
        x, w, r, _, lengths, *_ = inputs
        assert x is not None
        assert w is not None
        assert r is not None
        self.w, self.r = w, r
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
        functions = activations_of(names, activation_alpha, activation_beta)
        per = len(defaults)
        self._functions = [functions[start : start + per] for start in range(0, len(functions), per)]
        first = names[:per]
        self.is_of_ir = names == first * self.directions and set(first) <= _KNOWN
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

    def stepwise(
        self, cell: Callable[..., Cell], states: list[Value], weights: list[Value], bias: list[Value]
    ) -> list[Value]:
        """What the sequences of IR would give, by steps: `cell` makes that of a direction from what it has."""
        found = []
        for index, activations in enumerate(self._functions):
            parts = [build.gather(value, index, 0) for value in (*weights, *bias)]
            made = cell(activations, self._clipped, parts[: len(weights)], parts[len(weights) :])
            steps = Steps(self.x, self.lengths, self.direction == "reverse" or index == 1)
            found.append(run_steps(steps, made, [build.gather(state, index, 1) for state in states]))
        return [concat([build.unsqueeze(one, 1) for one in column], 1) for column in zip(*found, strict=True)]

    @property
    def _clipped(self) -> Activation:
        clip = self.attributes["clip"]
        return lambda value: build.clamp(value, min=-clip, max=clip) if clip > 0 else value

    def outputs(self, y: Value, *states: Value) -> list[Value]:
        """[batch, directions, steps, hidden] and [batch, directions, hidden] as ONNX has them."""
        if self.layout:
            return [build.transpose(y, ints(0, 2, 1, 3)), *states]
        return [build.transpose(y, ints(2, 1, 0, 3)), *[build.transpose(one, ints(1, 0, 2)) for one in states]]


def lstm_layer(
    inputs: Inputs,
    *,
    input_forget: bool,
    rounded: Activation | None = None,
    **attributes: Unpack[_Attributes],
) -> list[Value]:
    """rounded: what is done to each state before it is multiplied."""
    b, h, c, peepholes = inputs[3], *inputs[5:]
    layer = _Layer(inputs, ("sigmoid", "tanh", "tanh"), **attributes)
    bias = layer.bias(b, 4)
    if input_forget or peepholes is not None or rounded is not None or not layer.is_of_ir:

        def cell(activations: list[Activation], clip: Activation, weights: list[Value], biases: list[Value]) -> Cell:
            w, r, *peeps = weights
            given = peeps[0] if peeps else None
            return lstm_cell(
                activations, clip, w, r, biases, peepholes=given, input_forget=input_forget, rounded=rounded
            )

        weights = [layer.w, layer.r] if peepholes is None else [layer.w, layer.r, peepholes]
        return layer.outputs(*layer.stepwise(cell, [layer.state(h), layer.state(c)], weights, bias))
    sums = [build.add(bias[gate], bias[gate + 4]) for gate in range(4)]
    y, last_h, last_c = build.lstm_sequence(
        layer.x,
        layer.state(h),
        layer.state(c),
        layer.lengths,
        _reordered(layer.w),
        _reordered(layer.r),
        concat([sums[gate] for gate in (2, 0, 3, 1)], 1),
        **layer.attributes,
    )
    return layer.outputs(y, last_h, last_c)


def _reordered(weights: Value) -> Value:
    parts = build.split(weights, 1, num_splits=4)
    return concat([parts[gate] for gate in (2, 0, 3, 1)], 1)


def gru_layer(
    inputs: Inputs,
    *,
    linear_before_reset: bool = False,
    **attributes: Unpack[_Attributes],
) -> list[Value]:
    b, h = inputs[3], inputs[5]
    layer = _Layer(inputs, ("sigmoid", "tanh"), **attributes)
    bias = layer.bias(b, 3)
    if not layer.is_of_ir:

        def cell(activations: list[Activation], clip: Activation, weights: list[Value], biases: list[Value]) -> Cell:
            w, r = weights
            return gru_cell(activations, clip, w, r, biases, linear_before_reset=linear_before_reset)

        return layer.outputs(*layer.stepwise(cell, [layer.state(h)], [layer.w, layer.r], bias))
    sums = [build.add(bias[gate], bias[gate + 3]) for gate in range(3)]
    biases = [sums[0], sums[1], bias[2], bias[5]] if linear_before_reset else sums
    y, last = build.gru_sequence(
        layer.x,
        layer.state(h),
        layer.lengths,
        layer.w,
        layer.r,
        concat(biases, 1),
        linear_before_reset=linear_before_reset,
        **layer.attributes,
    )
    return layer.outputs(y, last)


def rnn_layer(inputs: Inputs, **attributes: Unpack[_Attributes]) -> list[Value]:
    b, h = inputs[3], inputs[5]
    layer = _Layer(inputs, ("tanh",), **attributes)
    bias = layer.bias(b, 1)
    if not layer.is_of_ir:

        def cell(activations: list[Activation], clip: Activation, weights: list[Value], biases: list[Value]) -> Cell:
            w, r = weights
            return rnn_cell(activations, clip, w, r, biases)

        return layer.outputs(*layer.stepwise(cell, [layer.state(h)], [layer.w, layer.r], bias))
    y, last = build.rnn_sequence(
        layer.x, layer.state(h), layer.lengths, layer.w, layer.r, build.add(bias[0], bias[1]), **layer.attributes
    )
    return layer.outputs(y, last)
