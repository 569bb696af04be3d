"""RNNSequence, GRUSequence and LSTMSequence: recurrent steps along a sequence, in one or both directions."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np

from ir_exec.errors import EvaluationError, IRError
from ir_exec.kernels.gemm.sharing import product_nanoseconds, share_products
from ir_exec.kernels.limits import check_time
from ir_exec.kernels.precision import round_to, widen
from ir_exec.ops.base import In, op
from ir_exec.ops.base.attributes import LOWER
from ir_exec.ops.base.dims import element_type_of, merged_dims
from ir_exec.ops.base.inputs import Lengths
from ir_exec.ops.base.shapes import known_faults, largest_dim
from ir_exec.ops.sequence.recurrent import GRU, LSTM, RNN, Recurrence, Stepper, X, like_x
from ir_exec.tuning import thresholds
from ir_exec.types import Array, Dim, Shape, TensorType, element_types

__all__ = ["GRUSequence", "LSTMSequence", "RNNSequence"]


_LENGTHS = In("sequence_lengths", types=element_types("i8 i16 i32 i64 u8 u16 u32 u64"), domain=Lengths("x", 1))

_WEIGHTS = (like_x("w"), like_x("r"), like_x("b"))

_STATE = ["batch_size", "num_directions", "hidden_size"]


class _Sequence(Recurrence):
    """The base of the sequences.

    The rows of the gates are in the order of the formulas.

    The direction `reverse` begins at the end of each sequence; `bidirectional` has it as its second direction. After
    the end of a sequence y is 0, and the states are unchanged; states of a sequence without steps are 0, as in
    OpenVINO. The size of the states is taken from the inputs; the attribute hidden_size is ignored, as in OpenVINO.

    Inputs:
        x: [batch_size, seq_length, input_size], a float type, shared by all inputs except the lengths.
        initial_hidden_state: [batch_size, num_directions, hidden_size].
        sequence_lengths: [batch_size], integers, 0 to seq_length.
        w: [num_directions, gates * hidden_size, input_size].
        r: [num_directions, gates * hidden_size, hidden_size].
        b: [num_directions, gates * hidden_size].
        initial_cell_state: For an LSTM, [batch_size, num_directions, hidden_size].

    Outputs:
        y: The hidden states after all steps, [batch_size, num_directions, seq_length, hidden_size].
        hidden_state: The last hidden state, like initial_hidden_state.
        cell_state: The last cell state, like initial_cell_state.

    Raises:
        IRError: IR501 for a wrong rank, IR502 for dims that contradict each other, IR505 for rows that do not divide
            into gates, IR704 for a length that is negative or greater than seq_length.
    """

    direction: Annotated[Literal["forward", "reverse", "bidirectional"], LOWER]

    def infer_inputs(
        self,
        *,
        x: TensorType,
        sequence_lengths: TensorType,
        w: TensorType,
        r: TensorType,
        b: TensorType,
        **states: TensorType,
    ) -> tuple[TensorType, ...]:
        """The types of y and of the last states."""
        dims = merged_dims(
            {
                "x": (x, ["batch_size", "seq_length", "input_size"]),
                **{name: (state, _STATE) for name, state in states.items()},
                "sequence_lengths": (sequence_lengths, ["batch_size"]),
                "w": (w, ["num_directions", ("hidden_size", self.gates), "input_size"]),
                "r": (r, ["num_directions", ("hidden_size", self.gates), "hidden_size"]),
                "b": (b, ["num_directions", ("hidden_size", self.bias_gates)]),
            },
            declared={"num_directions": Dim(self._directions)},
        )
        element_type = element_type_of([x, *states.values(), w, r, b])
        batch, directions, hidden = dims["batch_size"], dims["num_directions"], dims["hidden_size"]
        state = TensorType(element_type, Shape([batch, directions, hidden]))
        return (state.with_shape(Shape([batch, directions, dims["seq_length"], hidden])), *[state] * len(states))

    def evaluate_inputs(
        self, *, x: Array, sequence_lengths: Array, w: Array, r: Array, b: Array, **states: Array
    ) -> tuple[Array, ...]:
        """y and the last states, in the element type of x."""
        batch, steps, _ = x.shape
        ends = _ends(sequence_lengths, steps)
        wide = widen(x)
        first, *others = [widen(state) for state in states.values()]
        y = np.zeros((batch, self._directions, steps, first.shape[2]), x.dtype)
        last = [np.empty(first.shape, x.dtype) for _ in states]

        def walk(way: int) -> None:
            backward = self.direction == "reverse" or way == 1
            columns = _reverse(wide, ends, backward).transpose(1, 2, 0)
            shares = self.share(columns, widen(w[way]), widen(b[way]))
            stepper = self.stepper(widen(r[way]), batch)
            for cell, state in zip(stepper.cells, others, strict=True):
                cell[...] = _initial_states(state[:, way], ends).T
            hidden, final = _walk(stepper, shares, _initial_states(first[:, way], ends).T, ends)
            y[:, way] = round_to(_reverse(hidden.transpose(2, 0, 1), ends, backward), x.dtype)
            for state, result in zip(last, (final, *stepper.cells), strict=True):
                state[:, way] = round_to(result.T, x.dtype)

        # Threads wait for each other if calls are short.
        each = product_nanoseconds(r[0].shape, (r.shape[2], batch), r.shape[1] * batch, wide.dtype)
        alone = each < thresholds.CHUNK_NANOSECONDS
        share_products(self._directions, lambda: walk, nanoseconds=0 if alone else 2 * steps * each)
        return (y, *last)

    def check_values(self, *types: TensorType) -> list[IRError]:
        named = dict(zip(self._names, types, strict=True))
        return known_faults(_ends, named["sequence_lengths"], steps=largest_dim(named["x"], 1))

    @property
    def _directions(self) -> int:
        return 2 if self.direction == "bidirectional" else 1


def _ends(lengths: Array, steps: int) -> Array | None:
    """The lengths of the sequences as i64, or None if each of them has `steps` steps."""
    lowest, highest = (int(lengths.min()), int(lengths.max())) if lengths.size else (steps, steps)
    if lowest < 0 or highest > steps:
        extreme = lowest if lowest < 0 else highest
        raise EvaluationError(
            "a sequence has length",
            actual=extreme,
            expected=f"0 to {steps}",
            reason="the seq_length of x",
            port="sequence_lengths",
        )
    return None if 0 < lowest == steps else lengths.astype(np.int64)


def _reverse(data: Array, ends: Array | None, backward: bool) -> Array:
    """data, [batch_size, seq_length, ...], with each sequence reversed within its length if `backward`."""
    if not backward:
        return data
    if ends is None:
        return data[:, ::-1]
    time = np.arange(data.shape[1])
    last = ends[:, np.newaxis] - 1
    order = np.where(time <= last, last - time, time)
    return np.take_along_axis(data, order[:, :, np.newaxis], axis=1)


def _initial_states(states: Array, ends: Array | None) -> Array:
    """The states [batch_size, hidden_size] before the first step: 0 for sequences without steps."""
    return states if ends is None else np.where(ends[:, np.newaxis] > 0, states, 0)


def _walk(stepper: Stepper, shares: Array, hidden: Array, ends: Array | None) -> tuple[Array, Array]:
    """The hidden states of all steps, [seq_length, hidden_size, batch_size], 0 after the ends; the last one."""
    step, cells = stepper
    outputs = np.empty((len(shares), *hidden.shape), shares.dtype)
    for time, (share, target) in enumerate(zip(shares, outputs, strict=True)):
        check_time()
        before = [] if ends is None else [cell.copy() for cell in cells]
        step(share, hidden, target)
        if ends is not None:
            for after, state in zip((target, *cells), (hidden, *before), strict=True):
                np.copyto(after, state, where=time >= ends)
        hidden = target
    if ends is None:
        return outputs, hidden
    outside = np.arange(len(outputs))[:, np.newaxis] >= ends
    return np.where(outside[:, np.newaxis], 0, outputs), hidden


@op("RNNSequence", since=5)
class RNNSequence(RNN, _Sequence):
    """H' = f(x * w^T + H * r^T + b) along a sequence, with f = tanh unless `activations` names another function.

    Specification: sequence/rnn-sequence-5.
    """

    inputs = (X, like_x("initial_hidden_state"), _LENGTHS, *_WEIGHTS)
    outputs = ("y", "hidden_state")


@op("GRUSequence", since=5)
class GRUSequence(GRU, _Sequence):
    """H' = (1 - z) . h + z . H along a sequence, with the gates z, r and h; see `GRU` for their formulas.

    Specification: sequence/gru-sequence-5.

    Inputs:
        b: With linear_before_reset it has four blocks of hidden_size elements in each direction: for z, r and h, and
            for H * rh^T.
    """

    inputs = (X, like_x("initial_hidden_state"), _LENGTHS, *_WEIGHTS)
    outputs = ("y", "hidden_state")


@op("LSTMSequence", since=5)
class LSTMSequence(LSTM, _Sequence):
    """C' = f . C + i . c and H' = o . h(C') along a sequence; see `LSTM` for the gates f, i, c and o.

    Specification: sequence/lstm-sequence-5.
    """

    inputs = (X, like_x("initial_hidden_state"), like_x("initial_cell_state"), _LENGTHS, *_WEIGHTS)
    outputs = ("y", "hidden_state", "cell_state")
