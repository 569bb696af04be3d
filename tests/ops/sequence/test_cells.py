"""Cells: shapes, and errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ir_exec.errors import InvalidAttributeError, IRError, ShapeError, raise_error
from ir_exec.ops.sequence.cells import GRUCell, LSTMCell1, LSTMCell4, RNNCell
from tests.helpers.facts import fault_with, mentions
from tests.helpers.values import make_type


@pytest.mark.parametrize("cls", [RNNCell, GRUCell, LSTMCell4, LSTMCell1])
def test_missing_biases_are_zero(cls: Any) -> None:
    random = np.random.default_rng(0)
    gates, states = cls.gates, len(cls.inputs) - 4 - (cls is LSTMCell1)
    inputs = [random.uniform(-1, 1, shape) for shape in ((2, 3), *[(2, 4)] * states, (gates * 4, 3), (gates * 4, 4))]
    operator = cls(hidden_size=4)
    without, zeros = operator.evaluate(*inputs), operator.evaluate(*inputs, np.zeros(gates * 4))
    np.testing.assert_array_equal(without, zeros)


def test_a_gru_without_biases_may_be_linear_before_reset() -> None:
    random = np.random.default_rng(0)
    inputs = [random.uniform(-1, 1, shape) for shape in ((2, 3), (2, 4), (12, 3), (12, 4))]
    operator = GRUCell(hidden_size=4, linear_before_reset=True)
    np.testing.assert_array_equal(operator.evaluate(*inputs), operator.evaluate(*inputs, np.zeros(16)))


def test_large_gates_neither_overflow_nor_warn() -> None:
    x = np.array([[1000.0], [-1000.0]], np.float32)
    w, zeros = np.ones((4, 1), np.float32), np.zeros((2, 1), np.float32)
    with np.errstate(all="ignore"):
        hidden, cell = LSTMCell4(hidden_size=1).evaluate(x, zeros, zeros, w, np.zeros((4, 1), np.float32))
    assert cell.tolist() == [[1], [0]]
    np.testing.assert_allclose(hidden, [[np.tanh(1)], [0]], rtol=1e-6)


def lstm(
    x: str = "2,3", hidden: str = "2,4", cell: str = "2,4", w: str = "16,3", r: str = "16,4", b: str = "16"
) -> str:
    types = LSTMCell4(hidden_size=4).infer(*(make_type(text) for text in (x, hidden, cell, w, r, b)))
    return str(types[1].shape)


@pytest.mark.parametrize(
    ("shapes", "expected"),
    [
        ({}, "[2,4]"),
        ({"x": "?,3", "hidden": "?,?", "cell": "..."}, "[?,4]"),
        ({"x": "1..5,3", "hidden": "3..9,4", "cell": "?,4"}, "[3..5,4]"),
        ({"hidden": "2,?", "cell": "2,?", "r": "?,?", "w": "?,3", "b": "4..9"}, "[2,1..2]"),
        ({"hidden": "...", "cell": "...", "r": "...", "w": "...", "b": "..."}, "[2,4]"),
    ],
)
def test_dims_are_told_by_all_inputs(shapes: dict[str, str], expected: str) -> None:
    assert lstm(**shapes) == expected


@pytest.mark.parametrize(
    ("shapes", "code", "fault"),
    [
        ({"x": "2,3,1"}, "IR501", fault_with("x", "[2,3,1]", actual=3, expected=2)),
        ({"cell": "3,4"}, "IR502",
         fault_with("batch_size", "initial_cell_state", actual="2 and 3", expected="equal dims")),
        ({"w": "16,5"}, "IR502", fault_with("input_size", "w", actual="3 and 5", expected="equal dims")),
        ({"r": "20,4"}, "IR502", fault_with("hidden_size", "r", actual="4 and 5", expected="equal dims")),
        ({"b": "15"}, "IR505", fault_with("axis", 0, "b", actual=15, expected=mentions(4))),
    ],
)  # fmt: skip
def test_shapes_that_contradict_each_other(shapes: dict[str, str], code: str, fault: fault_with) -> None:
    with pytest.raises(ShapeError) as error:
        lstm(**shapes)
    assert (error.value.code, error.value) == (code, fault)


@pytest.mark.parametrize(
    ("attributes", "code", "words"),
    [
        ({}, "IR301", fault_with("hidden_size")),
        ({"hidden_size": "0"}, "IR302", fault_with("hidden_size", actual="'0'", expected="1 or more")),
        (
            {"hidden_size": "4", "activations": "sigmoid,tanh,softsign"},
            "IR302",
            fault_with(actual="'sigmoid,tanh,softsign'", expected=mentions()),
        ),
        ({"hidden_size": "4", "activations": "sigmoid,tanh"}, "IR302", fault_with("activations", actual=2, expected=3)),
        (
            {"hidden_size": "4", "weights_format": "abcd"},
            "IR302",
            fault_with("weights_format", actual="'abcd'", expected=mentions()),
        ),
    ],
)
def test_refused_attributes(attributes: dict[str, str], code: str, words: fault_with) -> None:
    with pytest.raises(InvalidAttributeError) as error:
        LSTMCell1.parse(attributes, raise_error)
    assert error.value.code == code
    assert error.value == words


def test_element_types_are_shared() -> None:
    faults: list[IRError] = []
    types = [make_type("2,3"), make_type("2,4", "f16"), make_type("4,3"), make_type("4,4"), make_type("4")]
    assert not RNNCell(hidden_size=4).check_inputs(types, faults.append)
    assert list(faults) == [fault_with("initial_hidden_state", "x", actual="f16", expected="f32")]
