"""RNN, GRU and LSTM in operators of IR, for all of their versions.

ONNX has the steps before the batch (`layout` 0) and the directions first in weights and states; IR has the batch first
everywhere. The gates of an LSTM are i, o, f, c in ONNX and f, i, c, o in IR; biases of inputs and states are added.

Activations, peepholes and coupled gates that the sequences of IR do not support are computed step by step, by ONNX's
formulas and in its order of the gates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeAlias, TypedDict, Unpack

from ir_exec import build
from ir_exec.build import Value
from ir_exec.errors import InvalidAttributeError
from ir_exec.onnx.lowering.attributes import Floats, Strings, chosen
from ir_exec.onnx.lowering.values import cast, concat, ints, number, shape_of, size_along
from ir_exec.onnx.ops import elementwise

__all__ = ["DIRECTIONS", "RecurrentAttributes", "gru_layer", "lstm_layer", "rnn_layer"]

DIRECTIONS = {"forward": 1, "reverse": 1, "bidirectional": 2}
_KNOWN = frozenset({"relu", "sigmoid", "tanh"})
"""Activations that the sequences of IR support."""

Inputs: TypeAlias = tuple[Value | None, ...]
"""The inputs of the node, with None for missing ones."""


class RecurrentAttributes(TypedDict):
    """Attributes shared by RNN, GRU and LSTM."""

    activation_alpha: Floats
    activation_beta: Floats
    activations: Strings
    clip: float | None
    direction: str
    hidden_size: int | None


class _RecurrentLayer:
    """The common parts of RNN, GRU and LSTM: batch first, followed by the directions."""

    def __init__(
        self, inputs: Inputs, defaults: tuple[str, ...], layout: int, **attributes: Unpack[RecurrentAttributes]
    ) -> None:
        x, w, r, _, lengths, *_ = inputs
        assert x is not None
        assert w is not None
        assert r is not None
        self.w, self.r = w, r
        self.direction = attributes["direction"]
        self.directions = chosen("direction", self.direction, DIRECTIONS)
        self.layout = layout
        self.x = x if self.layout else build.transpose(x, ints(1, 0, 2))
        size, hidden_size = size_along(r, 2), attributes["hidden_size"]
        self.hidden = hidden_size if hidden_size is not None else size.size if size.is_static else 0
        names = tuple(name.lower() for name in attributes["activations"]) or defaults * self.directions
        if len(names) != len(defaults) * self.directions:
            raise InvalidAttributeError(
                "activations has", actual=len(names), detail="elements", expected=len(defaults) * self.directions
            )
        functions = activations_of(names, attributes["activation_alpha"], attributes["activation_beta"])
        per = len(defaults)
        self._functions = [functions[start : start + per] for start in range(0, len(functions), per)]
        first = names[:per]
        self.is_of_ir = names == first * self.directions and set(first) <= _KNOWN
        self.attributes: dict[str, Any] = {
            "hidden_size": self.hidden,
            "activations": first,
            "clip": attributes["clip"] or 0.0,
            "direction": self.direction,
        }
        sizes = shape_of(self.x)
        self.batch = build.slice(sizes, ints(0), ints(1), ints(1))
        steps = build.slice(sizes, ints(1), ints(2), ints(1))
        self.lengths = build.broadcast(build.squeeze(steps, 0), self.batch) if lengths is None else lengths

    def state(self, initial: Value | None) -> Value:
        """A state with the batch first; zeros if none is given."""
        if initial is None:
            return build.broadcast(number(0, self.x), concat([self.batch, ints(self.directions, self.hidden)]))
        return initial if self.layout else build.transpose(initial, ints(1, 0, 2))

    def bias(self, biases: Value | None, gates: int) -> list[Value]:
        """The biases of each gate, first for the inputs, then for the states; [directions, hidden] each."""
        if biases is None:
            zero = build.broadcast(number(0, self.x), ints(self.directions, self.hidden))
            return [zero] * (2 * gates)
        return list(build.split(biases, 1, num_splits=2 * gates))

    def stepwise(
        self, cell: Callable[..., Cell], states: list[Value], weights: list[Value], bias: list[Value]
    ) -> list[Value]:
        """The outputs of the sequences of IR by single steps: `cell` returns the cell of a direction."""
        outputs = []
        for index, activations in enumerate(self._functions):
            parts = [build.gather(value, index, 0) for value in (*weights, *bias)]
            direction_cell = cell(activations, self._clip, parts[: len(weights)], parts[len(weights) :])
            steps = RecurrentSteps(self.x, self.lengths, self.direction == "reverse" or index == 1)
            outputs.append(run_steps(steps, direction_cell, [build.gather(state, index, 1) for state in states]))
        return [concat([build.unsqueeze(output, 1) for output in column], 1) for column in zip(*outputs, strict=True)]

    @property
    def _clip(self) -> Activation:
        clip = self.attributes["clip"]
        return lambda value: build.clamp(value, min=-clip, max=clip) if clip > 0 else value

    def outputs(self, y: Value, *states: Value) -> list[Value]:
        """[batch, directions, steps, hidden] and [batch, directions, hidden] in the order of ONNX."""
        if self.layout:
            return [build.transpose(y, ints(0, 2, 1, 3)), *states]
        return [build.transpose(y, ints(2, 1, 0, 3)), *[build.transpose(state, ints(1, 0, 2)) for state in states]]


def lstm_layer(
    inputs: Inputs,
    *,
    input_forget: bool,
    layout: int = 0,
    rounded: Activation | None = None,
    **attributes: Unpack[RecurrentAttributes],
) -> list[Value]:
    """A sequence of LSTM steps.

    Args:
        rounded: Applied to each state before it is multiplied.
    """
    b, h, c, peepholes = inputs[3], *inputs[5:]
    layer = _RecurrentLayer(inputs, ("sigmoid", "tanh", "tanh"), layout, **attributes)
    bias = layer.bias(b, 4)
    if input_forget or peepholes is not None or rounded is not None or not layer.is_of_ir:

        def cell(activations: list[Activation], clip: Activation, weights: list[Value], biases: list[Value]) -> Cell:
            w, r, *peeps = weights
            direction_peepholes = peeps[0] if peeps else None
            return lstm_cell(
                activations,
                clip,
                w,
                r,
                biases,
                peepholes=direction_peepholes,
                input_forget=input_forget,
                rounded=rounded,
            )

        weights = [layer.w, layer.r] if peepholes is None else [layer.w, layer.r, peepholes]
        return layer.outputs(*layer.stepwise(cell, [layer.state(h), layer.state(c)], weights, bias))
    sums = [build.add(bias[gate], bias[gate + 4]) for gate in range(4)]
    y, last_h, last_c = build.lstm_sequence(
        layer.x,
        layer.state(h),
        layer.state(c),
        layer.lengths,
        _reorder_gates(layer.w),
        _reorder_gates(layer.r),
        concat([sums[gate] for gate in (2, 0, 3, 1)], 1),
        **layer.attributes,
    )
    return layer.outputs(y, last_h, last_c)


def _reorder_gates(weights: Value) -> Value:
    parts = build.split(weights, 1, num_splits=4)
    return concat([parts[gate] for gate in (2, 0, 3, 1)], 1)


def gru_layer(
    inputs: Inputs, *, layout: int, linear_before_reset: bool, **attributes: Unpack[RecurrentAttributes]
) -> list[Value]:
    b, h = inputs[3], inputs[5]
    layer = _RecurrentLayer(inputs, ("sigmoid", "tanh"), layout, **attributes)
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


def rnn_layer(inputs: Inputs, *, layout: int, **attributes: Unpack[RecurrentAttributes]) -> list[Value]:
    b, h = inputs[3], inputs[5]
    layer = _RecurrentLayer(inputs, ("tanh",), layout, **attributes)
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


Activation: TypeAlias = Callable[[Value], Value]

Cell: TypeAlias = Callable[..., list[Value]]
"""A function from inputs [batch, size] of a step and states to the next states; the first state is the output."""


class _ActivationKind(NamedTuple):
    """An activation.

    Their defaults are from ONNX's operators, or from onnxruntime if ONNX has no such operator.

    Attributes:
        takes: The number of its parameters, alpha and then beta.
    """

    function: Callable[..., Value]
    alpha: float = 0.0
    beta: float = 0.0
    takes: int = 0


def _affine(data: Value, *, alpha: float, beta: float) -> Value:
    return build.add(build.multiply(data, number(alpha, data)), number(beta, data))


def _scaled_tanh(data: Value, *, alpha: float, beta: float) -> Value:
    return build.multiply(build.tanh(build.multiply(data, number(beta, data))), number(alpha, data))


_KINDS = {
    "affine": _ActivationKind(_affine, 0.0, 0.0, takes=2),
    "elu": _ActivationKind(elementwise.elu, 1.0, takes=1),
    "hardsigmoid": _ActivationKind(elementwise.hard_sigmoid, 0.2, 0.5, takes=2),
    "leakyrelu": _ActivationKind(elementwise.leaky_relu, 0.01, takes=1),
    "relu": _ActivationKind(build.relu),
    "scaledtanh": _ActivationKind(_scaled_tanh, 0.0, 0.0, takes=2),
    "sigmoid": _ActivationKind(build.sigmoid),
    "softplus": _ActivationKind(build.softplus),
    "softsign": _ActivationKind(build.softsign),
    "tanh": _ActivationKind(build.tanh),
    "thresholdedrelu": _ActivationKind(elementwise.thresholded_relu, 1.0, takes=1),
}


def activations_of(names: tuple[str, ...], alphas: Floats, betas: Floats) -> list[Activation]:
    """The functions of these names, in lower case, with parameters from the lists in order."""
    left = iter(alphas), iter(betas)
    return [_activation(name, *left) for name in names]


def _activation(name: str, alphas: Iterator[float], betas: Iterator[float]) -> Activation:
    activation = _KINDS.get(name)
    if activation is None:
        raise InvalidAttributeError("unknown activation", actual=repr(name), expected=f"one of {', '.join(_KINDS)}")
    numbers = {}
    for parameter, values, default in (("alpha", alphas, activation.alpha), ("beta", betas, activation.beta))[
        : activation.takes
    ]:
        numbers[parameter] = next(values, default)
    return lambda data: activation.function(data, **numbers)


class RecurrentSteps(NamedTuple):
    """The input sequences of a step function.

    Attributes:
        x: [batch, steps, size].
        lengths: The steps of each entry of the batch; after them its states remain unchanged.
    """

    x: Value
    lengths: Value
    is_backwards: bool


def run_steps(steps: RecurrentSteps, cell: Cell, states: list[Value]) -> list[Value]:
    """The outputs of each step, [batch, steps, hidden], zero after the length, and the last states."""
    x, lengths, is_backwards = steps
    count = build.gather(shape_of(x), 1, 0)
    positions = cast(build.range(0, count, 1, output_type="i64"), lengths.element_type)
    if is_backwards:
        x = build.reverse_sequence(x, lengths, batch_axis=0, seq_axis=1)

    def step(*slices: Value) -> tuple[list[Value], list[build.Collected]]:
        *before, position, part = slices
        after = cell(build.squeeze(part, 1), *before)
        goes_on = build.unsqueeze(build.less(position, lengths), 1)
        next_states = [build.select(goes_on, new, old) for new, old in zip(after, before, strict=True)]
        shown = build.select(goes_on, after[0], number(0, after[0]))
        return next_states, [build.Collected(build.unsqueeze(shown, 1), 1)]

    *last, y = build.tensor_iterator(step, states, [build.Sliced(positions, 0), build.Sliced(x, 1)])
    if is_backwards:
        y = build.reverse_sequence(y, lengths, batch_axis=0, seq_axis=1)
    return [y, *last]


def _product(data: Value, weights: Value) -> Value:
    return build.matmul(data, weights, transpose_b=True)


def rnn_cell(activations: list[Activation], clip: Activation, w: Value, r: Value, bias: list[Value]) -> Cell:
    (f,) = activations
    total = build.add(*bias)

    def cell(x: Value, h: Value) -> list[Value]:
        return [f(clip(build.add(build.add(_product(x, w), _product(h, r)), total)))]

    return cell


def gru_cell(
    activations: list[Activation], clip: Activation, w: Value, r: Value, bias: list[Value], *, linear_before_reset: bool
) -> Cell:
    f, g = activations
    reads = list(build.split(r, 0, num_splits=3))

    def cell(x: Value, h: Value) -> list[Value]:
        from_x = list(build.split(build.add(_product(x, w), concat(bias[:3])), 1, num_splits=3))
        z, reset = (
            f(clip(build.add(from_x[gate], build.add(_product(h, reads[gate]), bias[3 + gate])))) for gate in range(2)
        )
        if linear_before_reset:
            from_h = build.multiply(reset, build.add(_product(h, reads[2]), bias[5]))
        else:
            from_h = build.add(_product(build.multiply(reset, h), reads[2]), bias[5])
        new = g(clip(build.add(from_x[2], from_h)))
        return [build.add(build.multiply(build.subtract(number(1, z), z), new), build.multiply(z, h))]

    return cell


def lstm_cell(
    activations: list[Activation],
    clip: Activation,
    w: Value,
    r: Value,
    bias: list[Value],
    *,
    peepholes: Value | None,
    input_forget: bool,
    rounded: Activation | None,
) -> Cell:
    """One LSTM step.

    Args:
        rounded: Applied to a state before it is multiplied.
    """
    f, g, last = activations
    total = concat([build.add(bias[gate], bias[gate + 4]) for gate in range(4)])
    peeps = None if peepholes is None else list(build.split(peepholes, 0, num_splits=3))

    def activate_gate(sums: Value, gate: int, c: Value) -> Value:
        return f(clip(sums if peeps is None else build.add(sums, build.multiply(peeps[gate], c))))

    def cell(x: Value, h: Value, c: Value) -> list[Value]:
        sums = build.add(build.add(_product(x, w), _product(h if rounded is None else rounded(h), r)), total)
        i, o, forget, new = build.split(sums, 1, num_splits=4)
        i = activate_gate(i, 0, c)
        forget = build.subtract(number(1, i), i) if input_forget else activate_gate(forget, 2, c)
        after = build.add(build.multiply(forget, c), build.multiply(i, g(clip(new))))
        return [build.multiply(activate_gate(o, 1, after), last(after)), after]

    return cell
