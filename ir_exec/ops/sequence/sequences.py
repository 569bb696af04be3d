"""RNNSequence, GRUSequence and LSTMSequence: the steps of a recurrent network along a sequence, one way or both.

x: [batch_size, seq_length, input_size]; the states: [batch_size, num_directions, hidden_size]; sequence_lengths:
[batch_size]; w: [num_directions, gates * hidden_size, input_size]; r: [num_directions, gates * hidden_size,
hidden_size]; b: [num_directions, gates * hidden_size]. All but the lengths have one float type, and so have the
outputs: y, the hidden states after all steps, [batch_size, num_directions, seq_length, hidden_size], and the last
states, of the shape of the first.

The direction `reverse` begins at the end of each sequence; `bidirectional` has it as its second direction. Behind the
end of a sequence y is 0, and the states stay as they were at its end; those of a sequence of no steps are 0, as in
OpenVINO.

The inputs tell the size of the states; the attribute hidden_size is not looked at, as in OpenVINO.
Errors: IR501 for a wrong rank, IR502 for dims that contradict each other, IR505 for rows that do not divide into gates,
IR704 for a length that is negative or greater than seq_length.
"""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np

from ir_exec.errors import EvaluationError
from ir_exec.kernels.precision import rounded, widened
from ir_exec.ops.base import In, op
from ir_exec.ops.base.attributes import LOWER
from ir_exec.ops.base.named_dims import element_type_of, merged_dims
from ir_exec.ops.sequence.recurrent import FLOATS, GRU, LENGTHS, LSTM, RNN, Recurrence, Step, project
from ir_exec.types import Array, Dim, Shape, TensorType

__all__ = ["GRUSequence", "LSTMSequence", "RNNSequence"]


def _like_x(name: str) -> In:
    return In(name, types=FLOATS, like="x")


_X = In("x", types=FLOATS)

_LENGTHS = In("sequence_lengths", types=LENGTHS)

_WEIGHTS = (_like_x("w"), _like_x("r"), _like_x("b"))

_STATE = ["batch_size", "num_directions", "hidden_size"]


class _Sequence(Recurrence):
    direction: Annotated[Literal["forward", "reverse", "bidirectional"], LOWER]

    def _types(
        self,
        x: TensorType,
        states: dict[str, TensorType],
        lengths: TensorType,
        w: TensorType,
        r: TensorType,
        b: TensorType,
    ) -> tuple[TensorType, ...]:
        """The types of y and of the last states."""
        dims = merged_dims(
            {
                "x": (x, ["batch_size", "seq_length", "input_size"]),
                **{name: (state, _STATE) for name, state in states.items()},
                "sequence_lengths": (lengths, ["batch_size"]),
                "w": (w, ["num_directions", ("hidden_size", self.gates), "input_size"]),
                "r": (r, ["num_directions", ("hidden_size", self.gates), "hidden_size"]),
                "b": (b, ["num_directions", ("hidden_size", self.bias_gates)]),
            },
            known={"num_directions": Dim(self._directions)},
        )
        kind = element_type_of([x, *states.values(), w, r, b])
        batch, directions, hidden = dims["batch_size"], dims["num_directions"], dims["hidden_size"]
        state = TensorType(kind, Shape([batch, directions, hidden]))
        return (state.with_shape(Shape([batch, directions, dims["seq_length"], hidden])), *[state] * len(states))

    def _run(
        self, x: Array, states: tuple[Array, ...], lengths: Array, w: Array, r: Array, b: Array
    ) -> tuple[Array, ...]:
        """y and the last states, in the element type of x."""
        batch, steps, size = x.shape
        ends = _ends(lengths, steps)
        wide = widened(x)
        y = np.zeros((batch, self._directions, steps, states[0].shape[2]), x.dtype)
        last = [np.empty(state.shape, x.dtype) for state in states]
        for way in range(self._directions):
            backward = self.direction == "reverse" or way == 1
            # Time comes first, so that what one step needs lies together.
            ordered = np.ascontiguousarray(_turned(wide, ends, backward).swapaxes(0, 1))
            bias = widened(b[way])
            given = project(ordered.reshape(steps * batch, size), widened(w[way]), self.input_bias(bias))
            first = tuple(widened(state[:, way]).T for state in states)
            passed, end = _walk(
                self.step(widened(r[way]), bias), given.reshape(steps, batch, given.shape[1]), first, ends
            )
            y[:, way] = rounded(_turned(passed.swapaxes(0, 1), ends, backward), x.dtype)
            for state, found in zip(last, end, strict=True):
                state[:, way] = rounded(found.T, x.dtype)
        return (y, *last)

    @property
    def _directions(self) -> int:
        return 2 if self.direction == "bidirectional" else 1


def _ends(lengths: Array, steps: int) -> Array | None:
    """The lengths of the sequences as i64, or None where all are as long as can be."""
    lowest, highest = int(lengths.min(initial=steps)), int(lengths.max(initial=steps))
    if lowest < 0 or highest > steps:
        found = lowest if lowest < 0 else highest
        message = f"a sequence has length {found}, expected 0 to {steps}, the seq_length of x"
        raise EvaluationError(message, port="sequence_lengths")
    return None if 0 < lowest == steps else lengths.astype(np.int64)


def _turned(data: Array, ends: Array | None, backward: bool) -> Array:
    """Each sequence of data, [batch_size, seq_length, ...], from its end to its beginning, if `backward`."""
    if not backward:
        return data
    if ends is None:
        return data[:, ::-1]
    time = np.arange(data.shape[1])
    last = ends[:, np.newaxis] - 1
    order = np.where(time <= last, last - time, time)
    return np.take_along_axis(data, order[:, :, np.newaxis], axis=1)


def _walk(step: Step, given: Array, states: tuple[Array, ...], ends: Array | None) -> tuple[Array, tuple[Array, ...]]:
    """The hidden states after all steps, [seq_length, batch_size, hidden_size], 0 behind the ends; the last states."""
    passed = np.zeros((*given.shape[:2], len(states[0])), given.dtype)
    if ends is not None:
        states = tuple(np.where(ends > 0, state, 0) for state in states)
    for time in range(len(given)):
        renewed = step(given[time].T, states)
        if ends is not None:
            going = time < ends
            renewed = tuple(np.where(going, new, old) for new, old in zip(renewed, states, strict=True))
            np.copyto(passed[time], renewed[0].T, where=going[:, np.newaxis])
        else:
            passed[time] = renewed[0].T
        states = renewed
    return passed, states


@op("RNNSequence", since=5)
class RNNSequence(RNN, _Sequence):
    """H' = f(x * w^T + H * r^T + b) along a sequence, with f = tanh where `activations` says nothing else.

    Outputs: y and the last hidden state. Specification: sequence/rnn-sequence-5.
    """

    inputs = (_X, _like_x("initial_hidden_state"), _LENGTHS, *_WEIGHTS)
    outputs = ("y", "hidden_state")

    def infer(
        self,
        x: TensorType,
        initial_hidden_state: TensorType,
        sequence_lengths: TensorType,
        w: TensorType,
        r: TensorType,
        b: TensorType,
    ) -> tuple[TensorType, ...]:
        return self._types(x, {"initial_hidden_state": initial_hidden_state}, sequence_lengths, w, r, b)

    def evaluate(
        self, x: Array, initial_hidden_state: Array, sequence_lengths: Array, w: Array, r: Array, b: Array
    ) -> tuple[Array, ...]:
        return self._run(x, (initial_hidden_state,), sequence_lengths, w, r, b)


@op("GRUSequence", since=5)
class GRUSequence(GRU, _Sequence):
    """H' = (1 - z) . h + z . H along a sequence, with the gates z, r and h; `GRU` has their formulas.

    With linear_before_reset b has four parts of hidden_size elements in each direction: those of z, r and h, and that
    of H * rh^T. Outputs: y and the last hidden state. Specification: sequence/gru-sequence-5.
    """

    inputs = (_X, _like_x("initial_hidden_state"), _LENGTHS, *_WEIGHTS)
    outputs = ("y", "hidden_state")

    def infer(
        self,
        x: TensorType,
        initial_hidden_state: TensorType,
        sequence_lengths: TensorType,
        w: TensorType,
        r: TensorType,
        b: TensorType,
    ) -> tuple[TensorType, ...]:
        return self._types(x, {"initial_hidden_state": initial_hidden_state}, sequence_lengths, w, r, b)

    def evaluate(
        self, x: Array, initial_hidden_state: Array, sequence_lengths: Array, w: Array, r: Array, b: Array
    ) -> tuple[Array, ...]:
        return self._run(x, (initial_hidden_state,), sequence_lengths, w, r, b)


@op("LSTMSequence", since=5)
class LSTMSequence(LSTM, _Sequence):
    """C' = f . C + i . c and H' = o . h(C') along a sequence, with the gates f, i, c and o; `LSTM` has their formulas.

    Outputs: y, the last hidden state and the last cell state. Specification: sequence/lstm-sequence-5.
    """

    inputs = (_X, _like_x("initial_hidden_state"), _like_x("initial_cell_state"), _LENGTHS, *_WEIGHTS)
    outputs = ("y", "hidden_state", "cell_state")

    def infer(
        self,
        x: TensorType,
        initial_hidden_state: TensorType,
        initial_cell_state: TensorType,
        sequence_lengths: TensorType,
        w: TensorType,
        r: TensorType,
        b: TensorType,
    ) -> tuple[TensorType, ...]:
        states = {"initial_hidden_state": initial_hidden_state, "initial_cell_state": initial_cell_state}
        return self._types(x, states, sequence_lengths, w, r, b)

    def evaluate(
        self,
        x: Array,
        initial_hidden_state: Array,
        initial_cell_state: Array,
        sequence_lengths: Array,
        w: Array,
        r: Array,
        b: Array,
    ) -> tuple[Array, ...]:
        return self._run(x, (initial_hidden_state, initial_cell_state), sequence_lengths, w, r, b)
