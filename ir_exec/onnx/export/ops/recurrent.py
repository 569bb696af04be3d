"""Lowerings of recurrent cells and sequences."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ir_exec.onnx.export.algebra import I64, Expr, concat, input_tensors, loop, widen
from ir_exec.onnx.export.registry import export
from ir_exec.ops.sequence.cells import GRUCell, LSTMCell1, LSTMCell4, RNNCell
from ir_exec.ops.sequence.recurrent import GRU, LSTM
from ir_exec.ops.sequence.sequences import GRUSequence, LSTMSequence, RNNSequence
from ir_exec.types import ElementType, convert

if TYPE_CHECKING:
    from ir_exec.onnx.export.node import ExportNode

_LSTM_ORDER = (1, 3, 0, 2)
"""The indices of ONNX's gates i, o, f, c among f, i, c, o."""


def _operator(op: Any) -> str:
    return "LSTM" if isinstance(op, LSTM) else "GRU" if isinstance(op, GRU) else "RNN"


def _weights(node: ExportNode, position: int, dtype: np.dtype[Any], gates: int, axis: int) -> Expr:
    """An input with gates along an axis, in ONNX's order."""
    constant, op = node.known(position), node.op
    wide = input_tensors(node)[position].to(dtype)
    if not isinstance(op, LSTM):
        return wide
    if constant is not None:
        parts = np.split(convert(constant, ElementType.of_dtype(dtype)), gates, axis)
        return wide.sheet.constant(np.concatenate([parts[i] for i in _LSTM_ORDER], axis))
    size = wide.dim(axis) // gates
    pieces = [wide.slice(axis, size * i, size * (i + 1)) for i in range(gates)]
    return concat([pieces[i] for i in _LSTM_ORDER], axis)


def _bias(node: ExportNode, position: int, dtype: np.dtype[Any], axis: int) -> Expr:
    """The biases in ONNX's form: for the input, followed by the hidden state."""
    op = node.op
    bias = _weights(node, position, dtype, op.gates, axis)
    if isinstance(op, GRU) and op.linear_before_reset:
        size = bias.dim(axis) // 4
        own = bias.slice(axis, 0, size * 3)
        nothing = bias.slice(axis, 0, size * 2) * 0
        return concat([own, nothing, bias.slice(axis, size * 3, size * 4)], axis)
    return concat([bias, bias * 0], axis)


def _attributes(op: Any, directions: int) -> dict[str, Any]:
    functions = [name.title() for name in op.activations[: len(type(op).activations)]]
    attributes: dict[str, Any] = {"activations": functions * directions}
    if op._is_clipped:
        attributes["clip"] = float(op.clip)
    if isinstance(op, GRU):
        attributes["linear_before_reset"] = int(op.linear_before_reset)
    return attributes


def _hidden_size(node: ExportNode, position: int) -> int:
    """The size of the states, a required attribute in ONNX."""
    op, gates = node.op, node.op.gates
    for input_position, axis, divisor in ((1, -1, 1), (position, -2, gates), (position + 1, -1, 1)):
        dims = node.types[input_position].shape.dims
        if dims is not None and dims[axis].is_static:
            return int(dims[axis].lo) // divisor
    return int(op.hidden_size)


@export(RNNCell, GRUCell, LSTMCell1, LSTMCell4)
def cell(node: ExportNode) -> tuple[str, ...]:
    """One step of RNN, GRU or LSTM; arithmetic for f64, which onnxruntime's kernels do not support."""
    op, values = node.op, input_tensors(node)
    count = 2 if isinstance(op, LSTM) else 1
    x, states, first = values[0], values[1 : 1 + count], 1 + count
    dtype = widen(x).dtype
    has_bias = node.has(first + 2)
    if dtype == np.float64:
        step = _step(node, dtype, *(values[i].to(dtype) for i in range(first, first + 2 + has_bias)))
        outputs = step(x, *states)
        return tuple(output.to(x.dtype).name for output in outputs)
    w = _weights(node, first, dtype, op.gates, 0).unsqueeze(0)
    r = _weights(node, first + 1, dtype, op.gates, 0).unsqueeze(0)
    bias = _bias(node, first + 2, dtype, 0).unsqueeze(0) if has_bias else None
    inputs = [x.to(dtype).unsqueeze(0), w, r, bias, None, *[state.to(dtype).unsqueeze(0) for state in states]]
    names = ["" if input is None else input.name for input in inputs]
    attributes = _attributes(op, 1) | {"hidden_size": _hidden_size(node, first)}
    outputs = x.sheet.emit(_operator(op), *names, dtypes=[dtype] * (1 + count), **attributes)
    return tuple(output.squeeze(0).to(x.dtype).name for output in outputs[1:])


@export(RNNSequence, GRUSequence, LSTMSequence)
def sequence(node: ExportNode) -> tuple[str, ...]:
    """RNN, GRU or LSTM; a Loop for f64, which onnxruntime's kernels do not support."""
    op, values = node.op, input_tensors(node)
    count = 2 if isinstance(op, LSTM) else 1
    x, states, first = values[0], values[1 : 1 + count], 2 + count
    dtype, lengths = widen(x).dtype, values[1 + count]
    exists = (lengths.to(np.int32) > 0).to(dtype).reshape(-1, 1, 1)
    begun = [state.to(dtype) * exists for state in states]
    if dtype == np.float64:
        return _emit_loop(node, x, begun, lengths.to(I64), [values[i].to(dtype) for i in range(first, first + 3)])
    w = _weights(node, first, dtype, op.gates, 1)
    r = _weights(node, first + 1, dtype, op.gates, 1)
    names = [
        x.to(dtype).transpose(1, 0, 2).name,
        w.name,
        r.name,
        _bias(node, first + 2, dtype, 1).name,
        "" if _are_complete(node, 1 + count) else lengths.to(np.int32).name,
        *[state.transpose(1, 0, 2).name for state in begun],
    ]
    attributes = _attributes(op, op._directions)
    attributes |= {"hidden_size": _hidden_size(node, first), "direction": op.direction}
    y, *last = x.sheet.emit(_operator(op), *names, dtypes=[dtype] * (1 + count), **attributes)
    ends = [state.transpose(1, 0, 2) * exists for state in last]
    return y.transpose(2, 1, 0, 3).to(x.dtype).name, *[state.to(x.dtype).name for state in ends]


def _are_complete(node: ExportNode, position: int) -> bool:
    """Return True if every sequence is known to have all steps."""
    lengths, dims = node.known(position), node.types[0].shape.dims
    return bool(lengths is not None and dims is not None and dims[1].is_static and (lengths == dims[1].lo).all())


def _emit_loop(node: ExportNode, x: Expr, states: list[Expr], lengths: Expr, weights: list[Expr]) -> tuple[str, ...]:
    """A sequence as a Loop over its steps, for each direction."""
    op, dtype = node.op, states[0].dtype
    steps, found_y, found_last = x.dim(1), [], []
    ends = lengths.reshape(-1, 1)
    for way in range(op._directions):
        backward = op.direction == "reverse" or way == 1
        step = _step(node, dtype, *[weight.gather(way, 0) for weight in weights])

        def body(time: Expr, *before: Expr, step: Any = step, backward: bool = backward) -> Any:
            time_index = (ends - 1 - time).at_least(0) if backward else (ends * 0 + time)
            width = x.dim(2)
            row = x.to(dtype).take_along(time_index.unsqueeze(2).expand(x.dim(0), 1, width), 1).squeeze(1)
            inside = ends > time
            after = step(row, *before)
            updated = [inside.where(new, old) for new, old in zip(after, before, strict=True)]
            return updated, [inside.where(after[0], 0)]

        *last, y = loop(steps, [state.gather(way, 1) for state in states], body, [2])
        y = y.transpose(1, 0, 2)
        if backward:
            times = x.sheet.arange(steps).reshape(1, -1)
            order = (times < ends).where(ends - 1 - times, times).unsqueeze(2)
            y = y.take_along(order.expand_to(y.shape()), 1)
        found_y.append(y.unsqueeze(1))
        found_last.append([state.unsqueeze(1) for state in last])
    y = concat(found_y, 1)
    finals = [concat([last[i] for last in found_last], 1) for i in range(len(states))]
    return y.to(x.dtype).name, *[state.to(x.dtype).name for state in finals]


def _step(node: ExportNode, dtype: Any, w: Expr, r: Expr, b: Expr | None = None) -> Callable[..., list[Expr]]:
    """One step by arithmetic, from x and the states to the next states."""
    op, gates = node.op, node.op.gates
    functions: dict[str, Callable[[Expr], Expr]] = {
        "relu": lambda x: x.at_least(0),
        "sigmoid": lambda x: x.call("Sigmoid"),
        "tanh": lambda x: x.call("Tanh"),
    }

    def activate(which: int, value: Expr, clips: bool = True) -> Expr:
        clipped = value.clip(-op.clip, op.clip) if clips and op._is_clipped else value
        return functions[op.activations[which]](clipped)

    def parts(value: Expr, count: int, axis: int) -> list[Expr]:
        size = value.dim(axis) // count
        return [value.slice(axis, size * i, size * (i + 1)) for i in range(count)]

    def step(x: Expr, hidden: Expr, *cells: Expr) -> list[Expr]:
        biases = None if b is None else parts(b, op.bias_gates, 0)
        shares = [x.to(dtype) @ part.transpose(1, 0) for part in parts(w, gates, 0)]
        rows = [part.transpose(1, 0) for part in parts(r, gates, 0)]
        if biases is not None:
            shares = [share + bias for share, bias in zip(shares, biases, strict=False)]
        if isinstance(op, LSTM):
            f, i, c, o = (share + hidden @ row for share, row in zip(shares, rows, strict=True))
            after = activate(0, f) * cells[0] + activate(0, i) * activate(1, c)
            return [activate(0, o) * activate(2, after, clips=False), after]
        if not isinstance(op, GRU):
            return [activate(0, shares[0] + hidden @ rows[0])]
        z, reset = (activate(0, shares[i] + hidden @ rows[i]) for i in range(2))
        if op.linear_before_reset:
            linear = hidden @ rows[2]
            candidate = activate(1, shares[2] + reset * (linear if biases is None else linear + biases[3]))
        else:
            candidate = activate(1, shares[2] + (reset * hidden) @ rows[2])
        return [(1 - z) * candidate + z * hidden]

    return step
