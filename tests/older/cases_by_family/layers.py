"""Recurrent layers, sorting and quantization."""

from __future__ import annotations

import numpy as np

from ir_exec.types import Array
from tests.older.cases_by_family.single import Case, X, case, image, sigmoid, single_layer


@case
def arg_max_of_items() -> Case:
    x = image(2, 3, 4)
    order = np.argsort(-x.reshape(2, -1), 1)[:, :2]
    return single_layer("ArgMax", [x], order[:, None].astype(np.float32), {"top_k": 2, "out_max_val": 0})


@case
def arg_max_with_values() -> Case:
    x = image(2, 3, 4)
    order = np.argsort(-x.reshape(2, -1), 1)[:, :2]
    values = np.take_along_axis(x.reshape(2, -1), order, 1)
    return single_layer("ArgMax", [x], np.stack([order, values], 1).astype(np.float32), {"top_k": 2, "out_max_val": 1})


@case
def arg_max_along_an_axis() -> Case:
    return single_layer(
        "ArgMax", [X], X.argmax(1)[:, None].astype(np.float32), {"top_k": 1, "axis": 1, "out_max_val": 0}
    )


@case
def arg_max_values_along_an_axis() -> Case:
    return single_layer("ArgMax", [X], X.max(1)[:, None], {"top_k": 1, "axis": 1, "out_max_val": 1})


@case
def topk() -> Case:
    x = image(2, 5)
    order = np.argsort(-x, 1)[:, :3]
    expected = [np.take_along_axis(x, order, 1), order.astype(np.int32)]
    told = {"axis": 1, "mode": "max", "sort": "value"}
    return single_layer(
        "TopK", [x], expected, told, consts=[(np.int32([3]), "I32")], precisions=["FP32", "I32"], version=7
    )


@case
def bucketize() -> Case:
    x, bounds = np.float32([[-1, 0.5, 1, 3]]), np.float32([0, 1, 2])
    expected = np.searchsorted(bounds, x).astype(np.int32)
    told = {"with_right_bound": "True"}
    return single_layer("Bucketize", [x], expected, told, consts=[(bounds, "FP32")], precisions=["I32"])


@case
def fake_quantize() -> Case:
    bounds = [(np.float32([value]).reshape(1, 1, 1, 1), "FP32") for value in (-1, 1, -2, 2)]
    expected = np.round((np.clip(X, -1, 1) + 1) / 2 * 4) / 4 * 4 - 2
    return single_layer("FakeQuantize", [X], expected.astype(np.float32), {"levels": 5}, consts=bounds)


@case
def quantize_of_version_5() -> Case:
    bounds = [(np.float32([value]).reshape(1, 1, 1, 1), "FP32") for value in (-1, 1, -2, 2)]
    expected = np.round((np.clip(X, -1, 1) + 1) / 2 * 4) / 4 * 4 - 2
    return single_layer("Quantize", [X], expected.astype(np.float32), {"levels": 5}, consts=bounds, version=5)


@case
def lstm_cell() -> Case:
    x, h, c = image(2, 3), image(2, 4, seed=1), image(2, 4, seed=2)
    w, b = image(16, 7, seed=3), image(16, seed=4)
    gates = np.concatenate([x, h], 1) @ w.T + b
    forget, enter, cell, leave = np.split(gates, 4, 1)
    new = sigmoid(forget) * c + sigmoid(enter) * np.tanh(cell)
    return single_layer(
        "LSTMCell", [x, h, c], [sigmoid(leave) * np.tanh(new), new], {"hidden_size": 4}, {"weights": w, "biases": b}
    )


def _gru(x: Array, h: Array, w: Array, b: Array) -> Array:
    size = h.shape[1]
    both = np.concatenate([x, h], 1) @ w[: 2 * size].T + b[: 2 * size]
    update, reset = np.split(sigmoid(both), 2, 1)
    new = np.tanh(np.concatenate([x, reset * h], 1) @ w[2 * size :].T + b[2 * size :])
    return update * h + (1 - update) * new


@case
def gru_cell() -> Case:
    x, h, w, b = image(2, 3), image(2, 4, seed=1), image(12, 7, seed=3), image(12, seed=4)
    return single_layer("GRUCell", [x, h], _gru(x, h, w, b), {"hidden_size": 4}, {"weights": w, "biases": b})


@case
def rnn_cell() -> Case:
    x, h, w, b = image(2, 3), image(2, 4, seed=1), image(4, 7, seed=3), image(4, seed=4)
    expected = np.maximum(np.concatenate([x, h], 1) @ w.T + b, 0)
    return single_layer(
        "RNNCell", [x, h], expected, {"hidden_size": 4, "activations": "relu"}, {"weights": w, "biases": b}
    )


@case
def gru_sequence_backward() -> Case:
    x, h, w, b = image(2, 5, 3), image(2, 4, seed=1), image(12, 7, seed=3), image(12, seed=4)
    steps, state = np.zeros((2, 5, 4), np.float32), h
    for step in reversed(range(5)):
        state = steps[:, step] = _gru(x[:, step], state, w, b)
    told = {"hidden_size": 4, "direction": "Backward", "axis": 1}
    return single_layer("GRUSequence", [x, h], [steps, steps[:, 0]], told, {"weights": w, "biases": b})


@case
def lstm_sequence_with_time_first() -> Case:
    x, h, c = image(5, 2, 3), image(2, 4, seed=1), image(2, 4, seed=2)
    w, b = image(16, 7, seed=3), image(16, seed=4)
    steps = np.zeros((5, 2, 4), np.float32)
    state, cell = h, c
    for step in range(5):
        forget, enter, new, leave = np.split(np.concatenate([x[step], state], 1) @ w.T + b, 4, 1)
        cell = sigmoid(forget) * cell + sigmoid(enter) * np.tanh(new)
        state = steps[step] = sigmoid(leave) * np.tanh(cell)
    told = {"hidden_size": 4, "direction": "Forward", "axis": 0}
    return single_layer("LSTMSequence", [x, h, c], [steps, state, cell], told, {"weights": w, "biases": b})


@case
def rnn_sequence() -> Case:
    x, h, w, b = image(2, 5, 3), image(2, 4, seed=1), image(4, 7, seed=3), image(4, seed=4)
    steps, state = np.zeros((2, 5, 4), np.float32), h
    for step in range(5):
        state = steps[:, step] = np.tanh(np.concatenate([x[:, step], state], 1) @ w.T + b)
    told = {"hidden_size": 4, "direction": "Forward", "axis": 1}
    return single_layer("RNNSequence", [x, h], [steps, state], told, {"weights": w, "biases": b})
