"""Recurrent cells and sequences: against plain loops, and what they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ir_exec.errors import EvaluationError, InvalidAttributeError, IRError, ShapeError, raise_error
from ir_exec.ops.sequence.cells import GRUCell, LSTMCell1, LSTMCell4, RNNCell
from ir_exec.ops.sequence.sequences import GRUSequence, LSTMSequence, RNNSequence
from ir_exec.types import Array, ElementType, Shape, TensorType

CELLS: dict[str, Any] = {"RNN": RNNCell, "GRU": GRUCell, "LSTM": LSTMCell4}
SEQUENCES: dict[str, Any] = {"RNN": RNNSequence, "GRU": GRUSequence, "LSTM": LSTMSequence}
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}


def kind(text: str, element_type: str = "f32") -> TensorType:
    return TensorType(ElementType[element_type], Shape.parse(text))


class Weights:
    """Random inputs of a sequence; states [batch, ways, hidden], one or two."""

    def __init__(self, name: str, ways: int, batch: int, steps: int, seed: int) -> None:
        random = np.random.default_rng(seed)
        size, hidden, gates = 3, 2, GATES[name]
        uniform = lambda *shape: random.uniform(-1, 1, shape)  # noqa: E731  # a short name for a short thing
        self.x = uniform(batch, steps, size)
        self.states = [uniform(batch, ways, hidden) for _ in range(2 if name == "LSTM" else 1)]
        self.w, self.r = uniform(ways, gates * hidden, size), uniform(ways, gates * hidden, hidden)
        self.b = uniform(ways, gates * hidden)


def step_by_step(name: str, given: Weights, lengths: list[int], backward: list[bool]) -> list[Array]:
    """One sequence, one direction and one step after the other, each with the cell."""
    cell = CELLS[name](hidden_size=2)
    batch, steps, _ = given.x.shape
    y = np.zeros((batch, len(backward), steps, 2))
    last = [np.zeros_like(state) for state in given.states]
    for n in range(batch):
        for way, turned in enumerate(backward):
            states = tuple(state[n : n + 1, way] for state in given.states)
            times = range(lengths[n])
            for time in reversed(times) if turned else times:
                found = cell.evaluate(given.x[n : n + 1, time], *states, given.w[way], given.r[way], given.b[way])
                states = found if isinstance(found, tuple) else (found,)
                y[n, way, time] = states[0][0]
            for end, state in zip(last, states, strict=True):
                end[n, way] = state[0] if lengths[n] else 0
    return [y, *last]


@pytest.mark.parametrize("name", SEQUENCES)
@settings(max_examples=25)
@given(data=st.data())
def test_a_sequence_is_its_cell_step_by_step(name: str, data: st.DataObject) -> None:
    steps, batch = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 4))
    lengths = data.draw(st.lists(st.integers(0, steps), min_size=batch, max_size=batch))
    direction = data.draw(st.sampled_from(["forward", "reverse", "bidirectional"]))
    backward = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}[direction]
    given = Weights(name, len(backward), batch, steps, data.draw(st.integers(0, 99)))
    operator = SEQUENCES[name](hidden_size=2, direction=direction)
    found = operator.evaluate(given.x, *given.states, np.array(lengths), given.w, given.r, given.b)
    for ours, theirs in zip(found, step_by_step(name, given, lengths, backward), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("cls", [RNNCell, GRUCell, LSTMCell4, LSTMCell1])
def test_a_cell_without_biases_has_biases_of_zero(cls: Any) -> None:
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


@pytest.mark.parametrize(("steps", "expected"), [(0, (0, 0)), (1, (1, 1))])
def test_sequences_without_steps_or_batch(steps: int, expected: tuple[int, int]) -> None:
    given = Weights("LSTM", 1, 2, steps, 0)
    operator = LSTMSequence(hidden_size=2, direction="forward")
    y, hidden, cell = operator.evaluate(given.x, *given.states, np.full(2, steps), given.w, given.r, given.b)
    assert y.shape == (2, 1, steps, 2)
    assert (hidden.any(), cell.any()) == expected
    nobody = operator.evaluate(given.x[:0], *(s[:0] for s in given.states), np.zeros(0, int), given.w, given.r, given.b)
    assert [array.shape for array in nobody] == [(0, 1, steps, 2), (0, 1, 2), (0, 1, 2)]


def test_large_gates_neither_overflow_nor_warn() -> None:
    x = np.array([[1000.0], [-1000.0]], np.float32)
    w, zeros = np.ones((4, 1), np.float32), np.zeros((2, 1), np.float32)
    with np.errstate(all="ignore"):
        hidden, cell = LSTMCell4(hidden_size=1).evaluate(x, zeros, zeros, w, np.zeros((4, 1), np.float32))
    assert cell.tolist() == [[1], [0]]
    np.testing.assert_allclose(hidden, [[np.tanh(1)], [0]], rtol=1e-6)


@pytest.mark.parametrize(
    ("lengths", "message"),
    [
        ([2, -1], "a sequence has length -1, expected 0 to 3, the seq_length of x"),
        ([4, 0], "a sequence has length 4, expected 0 to 3, the seq_length of x"),
    ],
)
def test_lengths_that_are_none(lengths: list[int], message: str) -> None:
    given = Weights("RNN", 1, 2, 3, 0)
    with pytest.raises(EvaluationError) as error:
        RNNSequence(hidden_size=2, direction="reverse").evaluate(
            given.x, *given.states, np.array(lengths), given.w, given.r, given.b
        )
    assert (error.value.code, error.value.message) == ("IR704", message)
    assert error.value.location.port == "sequence_lengths"


def lstm(
    x: str = "2,3", hidden: str = "2,4", cell: str = "2,4", w: str = "16,3", r: str = "16,4", b: str = "16"
) -> str:
    types = LSTMCell4(hidden_size=4).infer(*(kind(text) for text in (x, hidden, cell, w, r, b)))
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
    ("shapes", "code", "message"),
    [
        ({"x": "2,3,1"}, "IR501", "x has rank 3 ([2,3,1]), expected 2"),
        ({"cell": "3,4"}, "IR502", "batch_size of initial_cell_state and of the inputs before it must be equal, "
         "found 2 and 3"),
        ({"w": "16,5"}, "IR502", "input_size of w and of the inputs before it must be equal, found 3 and 5"),
        ({"r": "20,4"}, "IR502", "hidden_size of r and of the inputs before it must be equal, found 4 and 5"),
        ({"b": "15"}, "IR505", "axis 0 of b is 15, expected a multiple of 4"),
    ],
)  # fmt: skip
def test_shapes_that_contradict_each_other(shapes: dict[str, str], code: str, message: str) -> None:
    with pytest.raises(ShapeError) as error:
        lstm(**shapes)
    assert (error.value.code, error.value.message) == (code, message)


def test_the_number_of_directions_is_that_of_the_attribute() -> None:
    operator = GRUSequence(hidden_size=4, direction="bidirectional")
    types = [kind("2,5,3"), kind("2,1,4"), kind("2", "i32"), kind("1,12,3"), kind("1,12,4"), kind("1,12")]
    with pytest.raises(ShapeError) as error:
        operator.infer(*types)
    message = "num_directions of initial_hidden_state and of the inputs before it must be equal, found 2 and 1"
    assert (error.value.code, error.value.message) == ("IR502", message)


@pytest.mark.parametrize(
    ("attributes", "code", "words"),
    [
        ({}, "IR301", "attribute hidden_size is missing"),
        ({"hidden_size": "0"}, "IR302", "hidden_size='0'"),
        ({"hidden_size": "4", "activations": "sigmoid,tanh,softsign"}, "IR302", "expected relu, sigmoid or tanh"),
        ({"hidden_size": "4", "activations": "sigmoid,tanh"}, "IR302", "2 activations are given, expected 3"),
        ({"hidden_size": "4", "weights_format": "abcd"}, "IR302", "weights_format"),
    ],
)
def test_attributes_that_are_refused(attributes: dict[str, str], code: str, words: str) -> None:
    with pytest.raises(InvalidAttributeError) as error:
        LSTMCell1.parse(attributes, raise_error)
    assert error.value.code == code
    assert words in error.value.message


def test_attributes_as_files_write_them() -> None:
    attributes = {
        "hidden_size": "4",
        "direction": "BIDIRECTIONAL",
        "activations": "Sigmoid, tanh",
        "activations_alpha": "",
        "activations_beta": "1, 0.5",
        "clip": "inf",
        "linear_before_reset": "1",
    }
    operator = GRUSequence.parse(attributes, raise_error)
    assert operator == GRUSequence(
        hidden_size=4,
        direction="bidirectional",
        activations=("sigmoid", "tanh"),
        activations_beta=(1, 0.5),
        clip=float("inf"),
        linear_before_reset=True,
    )


def test_element_types_are_shared() -> None:
    faults: list[IRError] = []
    types = [kind("2,3"), kind("2,4", "f16"), kind("4,3"), kind("4,4"), kind("4")]
    assert not RNNCell(hidden_size=4).check_inputs(types, faults.append)
    assert [fault.message for fault in faults] == ["initial_hidden_state is f16, expected f32 as x is"]
