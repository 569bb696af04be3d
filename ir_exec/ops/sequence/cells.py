"""RNNCell, GRUCell and LSTMCell: one step of a recurrent network."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np

from ir_exec.kernels.precision import round_to, widen
from ir_exec.ops.base import In, op
from ir_exec.ops.base.attributes import LOWER, Bool
from ir_exec.ops.base.dims import element_type_of, merged_dims
from ir_exec.ops.sequence.recurrent import GRU, LSTM, RNN, Recurrence, X, like_x
from ir_exec.types import Array, Dim, Shape, TensorType

__all__ = ["GRUCell", "LSTMCell1", "LSTMCell4", "RNNCell"]

_WEIGHTS = (like_x("w"), like_x("r"), like_x("b", optional=True))


class _Cell(Recurrence):
    """The base of the cells.

    The rows of the gates follow each other in the order of the formulas.

    The size of the state is taken from the inputs. The attribute hidden_size counts only for an LSTMCell whose inputs
    do not determine the size, as in OpenVINO.

    Inputs:
        x: [batch_size, input_size], a float type, shared by the other inputs.
        initial_hidden_state: [batch_size, hidden_size].
        w: [gates * hidden_size, input_size].
        r: [gates * hidden_size, hidden_size].
        b: [gates * hidden_size], by default zeros.
        initial_cell_state: For an LSTM, [batch_size, hidden_size].

    Outputs:
        output: The state after the step, like initial_hidden_state.
        hidden_state: The hidden state after the step, like initial_hidden_state.
        cell_state: The cell state after the step, like initial_cell_state.

    Raises:
        IRError: IR501 for a wrong rank, IR502 for dims that contradict each other, IR505 for rows that do not divide
            into gates.
    """

    def infer_inputs(
        self,
        *,
        x: TensorType,
        w: TensorType,
        r: TensorType,
        b: TensorType | None = None,
        p: TensorType | None = None,
        **states: TensorType,
    ) -> tuple[TensorType, ...]:
        """The types of the states after the step."""
        dims = merged_dims(
            {
                "x": (x, ["batch_size", "input_size"]),
                **{name: (state, ["batch_size", "hidden_size"]) for name, state in states.items()},
                "w": (w, [("hidden_size", self.gates), "input_size"]),
                "r": (r, [("hidden_size", self.gates), "hidden_size"]),
                "b": (b, [("hidden_size", self.bias_gates)]),
                "p": (p, [("hidden_size", 3)]),
            },
        )
        hidden = dims["hidden_size"]
        if isinstance(self, LSTM) and not hidden.is_static and self.hidden_size in hidden:
            hidden = Dim(self.hidden_size)
        element_type = element_type_of([x, *states.values(), r, b])
        return (TensorType(element_type, Shape([dims["batch_size"], hidden])),) * len(states)

    def evaluate_inputs(
        self, *, x: Array, w: Array, r: Array, b: Array | None = None, p: Array | None = None, **states: Array
    ) -> tuple[Array, ...]:
        """The states after the step, in the element type of x."""
        wide = widen(x)
        shares = self.share(wide.T[np.newaxis], w.astype(wide.dtype, copy=False), None if b is None else widen(b))
        hidden, *cells = [widen(state).T for state in states.values()]
        step, buffers = self.stepper(widen(r), len(x))
        for buffer, cell in zip(buffers, cells, strict=True):
            buffer[...] = cell
        after = np.empty(hidden.shape, wide.dtype)
        step(shares[0], hidden, after)
        return tuple([round_to(np.ascontiguousarray(state.T), x.dtype) for state in (after, *buffers)])


@op("RNNCell", since=1)
class RNNCell(RNN, _Cell):
    """H' = f(x * w^T + H * r^T + b), with f = tanh unless `activations` names another function.

    Specification: sequence/rnn-cell-3. A cell without b is an extension of OpenVINO.
    """

    inputs = (X, like_x("initial_hidden_state"), *_WEIGHTS)


@op("GRUCell", since=3)
class GRUCell(GRU, _Cell):
    """H' = (1 - z) . h + z . H, with the gates z, r and h; see `GRU` for their formulas.

    Specification: sequence/gru-cell-3.

    Inputs:
        w: As in OpenVINO, it may have a different float type.
        b: With linear_before_reset it has four blocks of hidden_size elements: for z, r and h, and for H * rh^T.
    """

    inputs = (X, like_x("initial_hidden_state"), In("w", types=X.types), *_WEIGHTS[1:])


@op("LSTMCell", since=4)
class LSTMCell4(LSTM, _Cell):
    """C' = f . C + i . c and H' = o . h(C'), with the gates f, i, c and o; see `LSTM` for their formulas.

    hidden_state is H', cell_state is C'. Specification: sequence/lstm-cell-1.
    """

    inputs = (X, like_x("initial_hidden_state"), like_x("initial_cell_state"), *_WEIGHTS)
    outputs = ("hidden_state", "cell_state")


@op("LSTMCell", since=1)
class LSTMCell1(LSTM, _Cell):
    """LSTMCell-4 with attributes and an input that have no effect.

    Files have `weights_format`, `input_forget` and peepholes p, [3 * hidden_size], which the specification does not
    define. As in OpenVINO's CPU plugin, the gates are always in the order f, i, c, o, and the peepholes are ignored,
    including their float type. Specification: sequence/lstm-cell-1.
    """

    inputs = (*LSTMCell4.inputs, In("p", types=X.types, optional=True, only_shape=True))
    outputs = ("hidden_state", "cell_state")

    weights_format: Annotated[Literal["fico", "icof", "ifco", "ifoc", "iofc"], LOWER] = "fico"
    input_forget: Bool = False
