"""What recurrent cells and sequences share: inputs, attributes, and the arithmetic of one step of RNN, GRU and LSTM.

A cell updates a hidden state (an LSTM a cell state too) from an input x: x is multiplied by the weights w, the hidden
state by the weights r. The rows of both are the gates of the cell, hidden_size rows each. What depends on x alone is
computed for all steps of a sequence at once (`project`), the rest step by step (`Recurrence.step`). Floats of 16 bits
are computed in f32.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isfinite, prod
from typing import Annotated, ClassVar, Literal, TypeAlias

import numpy as np

from ir_exec.kernels.elementwise import sigmoid
from ir_exec.kernels.products import matrix_product, product_for
from ir_exec.ops.base import Family, In
from ir_exec.ops.base.attributes import Bool, Float, Floats, Positive
from ir_exec.types import Array, element_types

__all__ = ["GRU", "LSTM", "RNN", "Recurrence", "States", "Step", "X", "like_x", "project"]

_FLOATS = element_types("f16 bf16 f32 f64")

X = In("x", types=_FLOATS)


def like_x(name: str, *, optional: bool = False) -> In:
    """An input of the element type of x."""
    return In(name, types=_FLOATS, like="x", optional=optional)


def _names(text: str) -> tuple[str, ...]:
    return tuple([name.strip().lower() for name in text.split(",")])


Activations = Annotated[tuple[Literal["relu", "sigmoid", "tanh"], ...], _names]


def _tanh(x: Array, out: Array) -> None:
    np.tanh(x, out=out)


def _relu(x: Array, out: Array) -> None:
    np.maximum(x, 0, out=out)


_ACTIVATIONS: dict[str, Callable[[Array, Array], object]] = {"relu": _relu, "sigmoid": sigmoid, "tanh": _tanh}
"""Each writes its second argument, which may be the first."""

States: TypeAlias = tuple[Array, ...]
"""Of [hidden_size, batch_size] each, the hidden state first."""

Step: TypeAlias = Callable[[Array, States, States], None]
"""One step: from the projected input, [gates * hidden_size, batch_size], and the states to the next states, which are
written into the third argument. It has memory of its own, so that one thread may call it at a time.

The batch is the last axis: BLAS is up to three times faster at multiplying the weights by few columns than at
multiplying few rows by the weights.
"""


class Recurrence(Family):
    """The attributes of all recurrent operators.

    activations: relu, sigmoid or tanh for each of the functions f, g and h in the formulas. None of these has
    parameters, so that `activations_alpha` and `activations_beta` mean nothing. clip: the arguments of the gates'
    functions are clipped to -clip .. clip; 0, negative numbers and infinity mean no clipping.
    """

    gates: ClassVar[int]

    hidden_size: Positive
    activations: Activations
    activations_alpha: Floats = ()
    activations_beta: Floats = ()
    clip: Float = 0.0

    def check_attributes(self) -> None:
        needed = len(type(self).activations)
        if len(self.activations) < needed:
            raise ValueError(f"{len(self.activations)} activations are given, expected {needed}")

    def multiply_adds(self, inputs: Sequence[tuple[int, ...]], outputs: Sequence[tuple[int, ...]]) -> int:
        """x and the hidden state are multiplied by the weights in each step of each sequence."""
        sizes = dict(zip((declared.name for declared in self.inputs), inputs, strict=False))
        return prod(sizes["x"][:-1]) * (prod(sizes["w"]) + prod(sizes["r"]))

    @property
    def bias_gates(self) -> int:
        """The size of b in multiples of hidden_size."""
        return self.gates

    def input_bias(self, b: Array | None) -> Array | None:
        """The part of b that is added to the projected input."""
        return b

    def arranged(self, rows: Array) -> Array:
        """Weights, or biases, of all gates in the order and the scale in which `step` is fastest."""
        return rows

    def step(self, r: Array, b: Array | None, batch: int, *, is_arranged: bool = False) -> Step:
        """The step for these weights, [gates * hidden_size, hidden_size], and biases.

        is_arranged: whether the weights, and what is projected, are as `arranged` has them, and not as the file has.
        """
        raise NotImplementedError

    @property
    def _is_usual(self) -> bool:
        """Whether the activations are the operator's own, sigmoid and tanh, and nothing is clipped.

        Then a sigmoid is (tanh(x / 2) + 1) / 2, with x / 2 from halved weights, which is exact: one call for all gates.
        """
        usual = type(self).activations
        return self.activations[: len(usual)] == usual and not (self.clip > 0 and isfinite(self.clip))

    def _activate(self, which: int, gate: Array) -> Array:
        """Clip a gate and apply one of the activation functions to it, both in place."""
        if self.clip > 0 and isfinite(self.clip):
            np.clip(gate, -self.clip, self.clip, out=gate)
        _ACTIVATIONS[self.activations[which]](gate, gate)
        return gate


class RNN(Recurrence):
    """H' = f(x * w^T + H * r^T + b)."""

    gates = 1

    activations: Activations = ("tanh",)

    def step(self, r: Array, b: Array | None, batch: int, *, is_arranged: bool = False) -> Step:
        multiply = _product(r, batch)
        is_plain = self._is_usual

        def step(projected: Array, states: States, out: States) -> None:
            (gate,) = out
            multiply(r, states[0], gate)
            np.add(gate, projected, gate)
            if is_plain:
                np.tanh(gate, gate)
            else:
                self._activate(0, gate)

        return step


class GRU(Recurrence):
    """The gates are z (update), r (reset) and h (candidate), in this order:

    z = f(x * wz^T + H * rz^T + bz)
    r = f(x * wr^T + H * rr^T + br)
    h = g(x * wh^T + (r . H) * rh^T + bh), or with linear_before_reset
    h = g(x * wh^T + r . (H * rh^T + b4) + bh), where b4 is a fourth part of b
    H' = (1 - z) . h + z . H
    """

    gates = 3

    activations: Activations = ("sigmoid", "tanh")
    linear_before_reset: Bool = False

    @property
    def bias_gates(self) -> int:
        return 4 if self.linear_before_reset else 3

    def input_bias(self, b: Array | None) -> Array | None:
        return b[: len(b) // 4 * 3] if self.linear_before_reset and b is not None else b

    def arranged(self, rows: Array) -> Array:
        """The gates of `_is_usual` halved."""
        if not self._is_usual:
            return rows
        halved = rows.copy()
        halved[: len(rows) // 3 * 2] *= 0.5
        return halved

    def step(self, r: Array, b: Array | None, batch: int, *, is_arranged: bool = False) -> Step:
        size = len(r) // 3
        bias = b[3 * size :, np.newaxis] if self.linear_before_reset and b is not None else None
        linear = np.empty((len(r), batch), r.dtype)
        gates, candidate = linear[: 2 * size], linear[2 * size :]
        update, reset = gates[:size], gates[size:]
        of_gates, of_candidate = r[: 2 * size], r[2 * size :]
        kept = np.empty((size, batch), r.dtype)

        is_halved = is_arranged and self._is_usual
        half = np.array(0.5, r.dtype)

        def activate_gates(projected: Array) -> None:
            np.add(gates, projected[: 2 * size], gates)
            if is_halved:
                _sigmoid_of_half(gates, half)
            else:
                self._activate(0, gates)

        product, product_of_gates, product_of_candidate = [
            _product(rows, batch) for rows in (r, of_gates, of_candidate)
        ]

        def reset_before(projected: Array, hidden: Array) -> None:
            product_of_gates(of_gates, hidden, gates)
            activate_gates(projected)
            product_of_candidate(of_candidate, np.multiply(reset, hidden, kept), candidate)

        def reset_behind(projected: Array, hidden: Array) -> None:
            product(r, hidden, linear)
            activate_gates(projected)
            if bias is not None:
                np.add(candidate, bias, candidate)
            np.multiply(candidate, reset, candidate)

        multiply = reset_behind if self.linear_before_reset else reset_before

        def step(projected: Array, states: States, out: States) -> None:
            (hidden,), (updated,) = states, out
            multiply(projected, hidden)
            np.add(candidate, projected[2 * size :], candidate)
            if is_halved:
                np.tanh(candidate, candidate)
            else:
                self._activate(1, candidate)
            # (1 - z) . h + z . H with one multiplication less
            np.subtract(hidden, candidate, updated)
            np.multiply(updated, update, updated)
            np.add(updated, candidate, updated)

        return step


class LSTM(Recurrence):
    """The gates are f (forget), i (input), c (candidate) and o (output), in this order:

    f = f(x * wf^T + H * rf^T + bf)
    i = f(x * wi^T + H * ri^T + bi)
    c = g(x * wc^T + H * rc^T + bc)
    o = f(x * wo^T + H * ro^T + bo)
    C' = f . C + i . c
    H' = o . h(C')
    """

    gates = 4

    activations: Activations = ("sigmoid", "tanh", "tanh")

    def arranged(self, rows: Array) -> Array:
        """The gates of one activation function next to each other: i, f, o, c; those of `_is_usual` halved."""
        forget, add, candidate, output = rows.reshape(4, len(rows) // 4, *rows.shape[1:])
        found = np.concatenate((add, forget, output, candidate))
        if self._is_usual:
            found[: 3 * len(add)] *= 0.5
        return found

    def step(self, r: Array, b: Array | None, batch: int, *, is_arranged: bool = False) -> Step:
        if is_arranged and self._is_usual:
            return self._usual_step(r, batch)
        size = len(r) // 4
        gates = np.empty((len(r), batch), r.dtype)
        first, second, third, fourth = gates.reshape(4, size, batch)
        if is_arranged:
            add, forget, output, candidate = first, second, third, fourth
        else:
            forget, add, candidate, output = first, second, third, fourth
        alike = [gates[: 3 * size]] if is_arranged else [gates[: 2 * size], output]
        squash = _ACTIVATIONS[self.activations[2]]
        multiply = _product(r, batch)

        def step(projected: Array, states: States, out: States) -> None:
            hidden, cell = out
            multiply(r, states[0], gates)
            np.add(gates, projected, out=gates)
            for some in alike:
                self._activate(0, some)
            self._activate(1, candidate)
            np.multiply(forget, states[1], out=cell)
            cell += np.multiply(candidate, add, out=candidate)
            # Clipping is for gates, not for the cell state.
            squash(cell, hidden)
            hidden *= output

        return step

    @staticmethod
    def _usual_step(r: Array, batch: int) -> Step:
        """The step for weights as `arranged` has them, if `_is_usual`: few calls, of which a step is made."""
        size = len(r) // 4
        # The cell state behind the candidate, so that i . c and f . C are one multiplication.
        gates = np.empty((5 * size, batch), r.dtype)
        given, squashed, chosen = gates[: 4 * size], gates[: 3 * size], gates[: 2 * size]
        output, added, kept = gates[2 * size : 3 * size], gates[3 * size :], gates[4 * size :]
        products = np.empty((2, size, batch), r.dtype)
        flat = products.reshape(2 * size, batch)
        half = np.array(0.5, r.dtype)
        multiply = _product(r, batch)

        def step(projected: Array, states: States, out: States) -> None:
            hidden, cell = out
            kept[...] = states[1]
            multiply(r, states[0], given)
            np.add(given, projected, given)
            np.tanh(given, given)
            np.multiply(squashed, half, squashed)
            np.add(squashed, half, squashed)
            np.multiply(chosen, added, flat)
            np.add(products[0], products[1], cell)
            np.tanh(cell, hidden)
            np.multiply(hidden, output, hidden)

        return step


def _product(r: Array, batch: int) -> Callable[[Array, Array, Array], Array]:
    """How recurrent weights are multiplied by the hidden states of a batch."""
    return product_for(r.shape, (r.shape[1], batch), r.dtype)


def _sigmoid_of_half(halves: Array, half: Array) -> None:
    """The sigmoid of twice the argument, in place."""
    np.tanh(halves, halves)
    np.multiply(halves, half, halves)
    np.add(halves, half, halves)


def project(x: Array, w: Array, bias: Array | None) -> Array:
    """The input's share of the gates, w * x^T + bias: [gates * hidden_size, rows of x].

    BLAS takes a fifth less for it than for x * w^T where x has few rows.
    """
    projected = matrix_product(w, x.T)
    if bias is not None:
        projected += bias[:, np.newaxis]
    return projected
