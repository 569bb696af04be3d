"""The base of recurrent cells and sequences: inputs, attributes, and the arithmetic of one step.

A cell (RNN, GRU or LSTM) updates a hidden state, and a cell state in an LSTM, from an input x: x is multiplied by the
weights w, the hidden state by the weights r. The rows of both are the gates of the cell, hidden_size rows each. The
terms of x are computed for all steps of a sequence at once (`Recurrence.share`), the rest step by step
(`Recurrence.stepper`). Floats of 16 bits are computed in f32.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isfinite, prod
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, TypeAlias

import numpy as np

from ir_exec.kernels.elementwise import clip_elements, sigmoid
from ir_exec.kernels.gemm.product import matrix_product, product_for
from ir_exec.ops.base import Family, In
from ir_exec.ops.base.attributes import AttributeValueError, Bool, Float, Floats, Positive
from ir_exec.ops.base.facts import Accuracy
from ir_exec.types import Array, element_types

__all__ = ["GRU", "LSTM", "RNN", "Recurrence", "Stepper", "X", "like_x"]

_FLOATS = element_types("f16 bf16 f32 f64")

X = In("x", types=_FLOATS)


def like_x(name: str, *, optional: bool = False) -> In:
    """An input of the element type of x."""
    return In(name, types=_FLOATS, like="x", optional=optional)


def _names(text: str) -> tuple[str, ...]:
    return tuple([name.strip().lower() for name in text.split(",")])


Activations = Annotated[tuple[Literal["relu", "sigmoid", "tanh"], ...], _names]


Activation: TypeAlias = Callable[[Array, Array], object]
"""Compute a function of the first array into the second, which may be the same."""


def _relu(x: Array, out: Array) -> None:
    np.maximum(x, 0, out=out)


_ACTIVATIONS: dict[str, Activation] = {"relu": _relu, "sigmoid": sigmoid, "tanh": np.tanh}

Step: TypeAlias = Callable[[Array, Array, Array], None]
"""Compute the next hidden state, the third array, from the input's share (`Recurrence.share`) and the hidden state.

Both states have the shape [hidden_size, batch_size]. The batch is the last axis: BLAS multiplies the weights by few
columns up to three times faster than few rows by the weights.
"""


class Stepper(NamedTuple):
    """The step for some weights, with its own memory: one thread may call it at a time.

    Attributes:
        cells: The cell state of an LSTM, [hidden_size, batch_size], which `step` reads and replaces; else empty.
    """

    step: Step
    cells: tuple[Array, ...] = ()


class _Calls(NamedTuple):
    """The functions of a step of gates; `Recurrence.calls` describes the opposite signs.

    Attributes:
        join: The shares of the input and the hidden state.
        open: The gates' function, in place.
        apply: A value and an open gate.
        squash: The candidate's function.
        less: A state without the candidate.
        more: A state with the candidate.
    """

    join: np.ufunc
    open: Callable[[Array], None]
    apply: np.ufunc
    squash: Activation
    less: np.ufunc
    more: np.ufunc


class Recurrence(Family):
    """The base of recurrent operators.

    Attributes:
        activations: relu, sigmoid or tanh for each of the functions f, g and h in the formulas. None of these has
            parameters, so `activations_alpha` and `activations_beta` have no effect.
        clip: The arguments of the gates' functions are clipped to -clip .. clip; 0, negative numbers and infinity mean
            no clipping.
    """

    accuracy = Accuracy(absolute=8, reason="Sigmoid and Tanh of the gates, once per step")

    gates: ClassVar[int]

    hidden_size: Positive
    activations: Activations
    activations_alpha: Floats = ()
    activations_beta: Floats = ()
    clip: Float = 0.0

    def check_attributes(self) -> None:
        needed = len(type(self).activations)
        if len(self.activations) < needed:
            raise AttributeValueError(
                "attribute activations has", actual=len(self.activations), detail="values", expected=needed
            )

    def multiply_adds(self, inputs: Sequence[tuple[int, ...]], outputs: Sequence[tuple[int, ...]]) -> int:
        """Count the products of x and the hidden state with the weights in each step of each sequence."""
        sizes = dict(zip((declared.name for declared in self.inputs), inputs, strict=False))
        return prod(sizes["x"][:-1]) * (prod(sizes["w"]) + prod(sizes["r"]))

    def count_terms(self, inputs: Sequence[Array]) -> int:
        shapes = dict(zip((declared.name for declared in self.inputs), (array.shape for array in inputs), strict=False))
        steps = max(shapes["x"][1:-1], default=1)
        return int(steps * self.gates * (shapes["w"][-1] + shapes["r"][-1]))

    @property
    def bias_gates(self) -> int:
        """The size of b in multiples of hidden_size."""
        return self.gates

    def share(self, x: Array, w: Array, b: Array | None) -> Array:
        """The terms of x, [steps, input_size, batch_size], and the biases in the gates.

        The shape is [steps, gates * hidden_size, batch_size]. The signs are opposite for opposite gates, see `calls`.
        There are more gates if a step needs more biases.
        """
        projected = project(x, w)
        if b is not None:
            projected += b[:, np.newaxis]
        return self._apply_sign(projected)

    def stepper(self, r: Array, batch: int) -> Stepper:
        """The step for these weights, [gates * hidden_size, hidden_size]."""
        raise NotImplementedError

    def calls(self, dtype: np.dtype[Any]) -> _Calls:
        """The functions of a step of gates, for weights of this dtype.

        With the usual activations it computes with the opposites of the gates' arguments: exp(-x) + 1 is the divisor of
        a sigmoid, two calls instead of four, and tanh is odd, so candidates are opposite too. If the exponential
        overflows, the quotient is correctly 0.
        """
        if self._is_usual:
            unit = np.array(1, dtype)

            def divisors(gates: Array) -> None:
                np.exp(gates, gates)
                np.add(gates, unit, gates)

            return _Calls(np.subtract, divisors, np.divide, np.tanh, np.add, np.subtract)
        activate = self._activation(0)

        def factors(gates: Array) -> None:
            activate(gates, gates)

        return _Calls(np.add, factors, np.multiply, self._activation(1), np.subtract, np.add)

    def _apply_sign(self, share: Array) -> Array:
        return np.negative(share, share) if self._is_usual else share

    @property
    def _is_usual(self) -> bool:
        """Return True if the activations are the operator's defaults, sigmoid and tanh, without clipping."""
        usual = type(self).activations
        return self.activations[: len(usual)] == usual and not self._is_clipped

    @property
    def _is_clipped(self) -> bool:
        return self.clip > 0 and isfinite(self.clip)

    def _activation(self, which: int) -> Activation:
        """One of the activation functions, with the clipping before it."""
        function = _ACTIVATIONS[self.activations[which]]
        if not self._is_clipped:
            return function

        def clip_and_activate(gate: Array, out: Array) -> None:
            clip_elements(gate, lowest=-self.clip, highest=self.clip, out=out)
            function(out, out)

        return clip_and_activate


class RNN(Recurrence):
    """H' = f(x * w^T + H * r^T + b)."""

    gates = 1

    activations: Activations = ("tanh",)

    def stepper(self, r: Array, batch: int) -> Stepper:
        multiply = _product(r, batch)
        activate = self._activation(0)

        def step(share: Array, hidden: Array, out: Array) -> None:
            multiply(r, hidden, out)
            np.add(out, share, out)
            activate(out, out)

        return Stepper(step)

    def _apply_sign(self, share: Array) -> Array:
        return share


class GRU(Recurrence):
    """The gates are z (update), r (reset) and h (candidate), in this order:

    z = f(x * wz^T + H * rz^T + bz)
    r = f(x * wr^T + H * rr^T + br)
    h = g(x * wh^T + (r . H) * rh^T + bh), or with linear_before_reset
    h = g(x * wh^T + r . (H * rh^T + b4) + bh), where b4 is a fourth block of b
    H' = (1 - z) . h + z . H
    """

    gates = 3

    activations: Activations = ("sigmoid", "tanh")
    linear_before_reset: Bool = False

    @property
    def bias_gates(self) -> int:
        return 4 if self.linear_before_reset else 3

    def share(self, x: Array, w: Array, b: Array | None) -> Array:
        """The shares of z, r, b4 alone, and h with linear_before_reset."""
        if not self.linear_before_reset:
            return super().share(x, w, b)
        size = len(w) // 3
        projected = project(x, w)
        shares = np.empty((len(x), 4 * size, x.shape[2]), projected.dtype)
        own = shares[:, 2 * size : 3 * size]
        if b is None:
            own[...] = 0
        else:
            projected += b[: 3 * size, np.newaxis]
            own[...] = b[3 * size :, np.newaxis]
        shares[:, : 2 * size], shares[:, 3 * size :] = projected[:, : 2 * size], projected[:, 2 * size :]
        return self._apply_sign(shares)

    def stepper(self, r: Array, batch: int) -> Stepper:
        size = len(r) // 3
        linear = np.empty((len(r), batch), r.dtype)
        gates, candidate = linear[: 2 * size], linear[2 * size :]
        update, reset = gates[:size], gates[size:]
        join, open_gates, apply, squash, less, more = self.calls(r.dtype)

        def blend(hidden: Array, out: Array) -> None:
            """(1 - z) . h + z . H with one multiplication less."""
            squash(candidate, candidate)
            less(hidden, candidate, out)
            apply(out, update, out)
            more(out, candidate, out)

        if self.linear_before_reset:
            multiply = _product(r, batch)

            def step(share: Array, hidden: Array, out: Array) -> None:
                multiply(r, hidden, linear)
                join(share[: 3 * size], linear, linear)
                open_gates(gates)
                apply(candidate, reset, candidate)
                np.add(candidate, share[3 * size :], candidate)
                blend(hidden, out)

            return Stepper(step)

        of_gates, of_candidate = r[: 2 * size], r[2 * size :]
        multiply_gates, multiply_candidate = _product(of_gates, batch), _product(of_candidate, batch)
        reset_hidden = np.empty((size, batch), r.dtype)

        def step_reset_first(share: Array, hidden: Array, out: Array) -> None:
            multiply_gates(of_gates, hidden, gates)
            join(share[: 2 * size], gates, gates)
            open_gates(gates)
            apply(hidden, reset, reset_hidden)
            multiply_candidate(of_candidate, reset_hidden, candidate)
            join(share[2 * size :], candidate, candidate)
            blend(hidden, out)

        return Stepper(step_reset_first)


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
    redundant_attributes = "input_forget"

    activations: Activations = ("sigmoid", "tanh", "tanh")

    def stepper(self, r: Array, batch: int) -> Stepper:
        size = len(r) // 4
        gates = np.empty((len(r), batch), r.dtype)
        forget_and_add, candidate, output = gates[: 2 * size], gates[2 * size : 3 * size], gates[3 * size :]
        # The candidate follows the cell state: f . C and i . c are one multiplication.
        parts = np.empty((2 * size, batch), r.dtype)
        cell, added = parts[:size], parts[size:]
        products = np.empty((2 * size, batch), r.dtype)
        of_forget, of_add = products[:size], products[size:]
        multiply = _product(r, batch)
        join, open_gates, apply, squash, _, more = self.calls(r.dtype)
        # Clipping is for gates, not for the cell state.
        squash_cell = _ACTIVATIONS[self.activations[2]]

        def step(share: Array, hidden: Array, out: Array) -> None:
            multiply(r, hidden, gates)
            join(share, gates, gates)
            squash(candidate, added)
            # The product of the candidate is not used, but one call is faster than two.
            open_gates(gates)
            apply(parts, forget_and_add, products)
            more(of_forget, of_add, cell)
            squash_cell(cell, out)
            apply(out, output, out)

        return Stepper(step, (cell,))


def _product(r: Array, batch: int) -> Callable[[Array, Array, Array], Array]:
    """The function that multiplies recurrent weights by the hidden states of a batch."""
    return product_for(r.shape, (r.shape[1], batch), r.dtype)


def project(x: Array, w: Array) -> Array:
    """w * x for each step, [steps, rows of w, batch_size]; as one product if BLAS is slow for few columns."""
    steps, size, batch = x.shape
    products = matrix_product(w, x.swapaxes(1, 2).reshape(steps * batch, size).T)
    return np.ascontiguousarray(products.reshape(len(w), steps, batch).swapaxes(0, 1))
