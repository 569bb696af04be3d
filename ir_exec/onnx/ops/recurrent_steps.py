"""RNN, GRU and LSTM step by step: activations, peepholes and coupled gates that the sequences of IR do not have.

The formulas are those of ONNX, and so is the order of the gates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

from ir_exec import build
from ir_exec.build import Value
from ir_exec.errors import InvalidAttributeError
from ir_exec.onnx.attributes import Floats
from ir_exec.onnx.ops import elementwise
from ir_exec.onnx.values import cast, concat, number, shape_of

__all__ = ["Activation", "Cell", "Steps", "activations_of", "gru_cell", "lstm_cell", "rnn_cell", "run_steps"]

Activation: TypeAlias = Callable[[Value], Value]

Cell: TypeAlias = Callable[..., list[Value]]
"""From the inputs of a step, [batch, size], and the states before it to those after it; the first state is shown."""


class _Kind(NamedTuple):
    """takes: of how many numbers it is a function, alpha and then beta. A default of None: the number must be given."""

    function: Callable[..., Value]
    alpha: float | None = None
    beta: float | None = None
    takes: int = 0


def _affine(data: Value, *, alpha: float, beta: float) -> Value:
    return build.add(build.multiply(data, number(alpha, data)), number(beta, data))


def _scaled_tanh(data: Value, *, alpha: float, beta: float) -> Value:
    return build.multiply(build.tanh(build.multiply(data, number(beta, data))), number(alpha, data))


_KINDS = {
    "affine": _Kind(_affine, takes=2),
    "elu": _Kind(elementwise.elu, 1.0, takes=1),
    "hardsigmoid": _Kind(elementwise.hard_sigmoid, 0.2, 0.5, takes=2),
    "leakyrelu": _Kind(elementwise.leaky_relu, 0.01, takes=1),
    "relu": _Kind(build.relu),
    "scaledtanh": _Kind(_scaled_tanh, takes=2),
    "sigmoid": _Kind(build.sigmoid),
    "softplus": _Kind(build.softplus),
    "softsign": _Kind(build.softsign),
    "tanh": _Kind(build.tanh),
    "thresholdedrelu": _Kind(elementwise.thresholded_relu, 1.0, takes=1),
}


def activations_of(names: tuple[str, ...], alphas: Floats, betas: Floats) -> list[Activation]:
    """The functions of these names, in lower case, which take their numbers from the lists one after the other."""
    left = iter(alphas), iter(betas)
    return [_activation(name, *left) for name in names]


def _activation(name: str, alphas: Iterator[float], betas: Iterator[float]) -> Activation:
    kind = _KINDS.get(name)
    if kind is None:
        raise InvalidAttributeError(f"the activation {name!r} is none of {', '.join(_KINDS)}")
    numbers = {}
    for parameter, given, default in (("alpha", alphas, kind.alpha), ("beta", betas, kind.beta))[: kind.takes]:
        found = next(given, default)
        if found is None:
            raise InvalidAttributeError(f"the activation {name!r} needs activation_{parameter}")
        numbers[parameter] = found
    return lambda data: kind.function(data, **numbers)


class Steps(NamedTuple):
    """What is stepped through.

    x: [batch, steps, size]. lengths: the steps of each entry of the batch, behind which its states stay as they are.
    """

    x: Value
    lengths: Value
    is_backwards: bool


def run_steps(steps: Steps, cell: Cell, states: list[Value]) -> list[Value]:
    """What is shown of each step, [batch, steps, hidden], zero behind the length, and the last states."""
    x, lengths, is_backwards = steps
    count = build.gather(shape_of(x), 1, 0)
    positions = cast(build.range(0, count, 1, output_type="i64"), lengths.element_type)
    if is_backwards:
        x = build.reverse_sequence(x, lengths, batch_axis=0, seq_axis=1)

    def step(*given: Value) -> tuple[list[Value], list[build.Collected]]:
        *before, position, part = given
        after = cell(build.squeeze(part, 1), *before)
        goes_on = build.unsqueeze(build.less(position, lengths), 1)
        kept = [build.select(goes_on, new, old) for new, old in zip(after, before, strict=True)]
        shown = build.select(goes_on, after[0], number(0, after[0]))
        return kept, [build.Collected(build.unsqueeze(shown, 1), 1)]

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
    """rounded: what is done to a state before it is multiplied."""
    f, g, last = activations
    total = concat([build.add(bias[gate], bias[gate + 4]) for gate in range(4)])
    peeps = None if peepholes is None else list(build.split(peepholes, 0, num_splits=3))

    def gated(sums: Value, gate: int, c: Value) -> Value:
        return f(clip(sums if peeps is None else build.add(sums, build.multiply(peeps[gate], c))))

    def cell(x: Value, h: Value, c: Value) -> list[Value]:
        sums = build.add(build.add(_product(x, w), _product(h if rounded is None else rounded(h), r)), total)
        i, o, forget, new = build.split(sums, 1, num_splits=4)
        i = gated(i, 0, c)
        forget = build.subtract(number(1, i), i) if input_forget else gated(forget, 2, c)
        after = build.add(build.multiply(forget, c), build.multiply(i, g(clip(new))))
        return [build.multiply(gated(o, 1, after), last(after)), after]

    return cell
