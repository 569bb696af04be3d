"""Sequences against their cells step by step, and errors."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ir_exec.errors import EvaluationError, ShapeError, raise_error
from ir_exec.kernels.gemm import sharing
from ir_exec.kernels.parallel import THREADS
from ir_exec.ops.sequence import recurrent
from ir_exec.ops.sequence.cells import GRUCell, LSTMCell4, RNNCell
from ir_exec.ops.sequence.recurrent import project
from ir_exec.ops.sequence.sequences import GRUSequence, LSTMSequence, RNNSequence
from ir_exec.types import Array
from tests.helpers.chunks import in_chunks
from tests.helpers.facts import fault_with
from tests.helpers.values import make_type

CELLS: dict[str, Any] = {"RNN": RNNCell, "GRU": GRUCell, "LSTM": LSTMCell4}
SEQUENCES: dict[str, Any] = {"RNN": RNNSequence, "GRU": GRUSequence, "LSTM": LSTMSequence}
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}


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


def step_by_step(name: str, weights: Weights, lengths: list[int], backward: list[bool]) -> list[Array]:
    """One sequence, one direction and one step after the other, each with the cell."""
    cell = CELLS[name](hidden_size=2)
    batch, steps, _ = weights.x.shape
    y = np.zeros((batch, len(backward), steps, 2))
    last = [np.zeros_like(state) for state in weights.states]
    for n in range(batch):
        for way, turned in enumerate(backward):
            states = tuple(state[n : n + 1, way] for state in weights.states)
            times = range(lengths[n])
            for time in reversed(times) if turned else times:
                result = cell.evaluate(
                    weights.x[n : n + 1, time], *states, weights.w[way], weights.r[way], weights.b[way]
                )
                states = result if isinstance(result, tuple) else (result,)
                y[n, way, time] = states[0][0]
            for end, state in zip(last, states, strict=True):
                end[n, way] = state[0] if lengths[n] else 0
    return [y, *last]


@pytest.mark.parametrize("name", SEQUENCES)
@settings(max_examples=25)
@given(data=st.data())
def test_sequence_equals_its_cell_step_by_step(name: str, data: st.DataObject) -> None:
    steps, batch = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 4))
    lengths = data.draw(st.lists(st.integers(0, steps), min_size=batch, max_size=batch))
    direction = data.draw(st.sampled_from(["forward", "reverse", "bidirectional"]))
    backward = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}[direction]
    weights = Weights(name, len(backward), batch, steps, data.draw(st.integers(0, 99)))
    operator = SEQUENCES[name](hidden_size=2, direction=direction)
    result = operator.evaluate(weights.x, *weights.states, np.array(lengths), weights.w, weights.r, weights.b)
    for ours, theirs in zip(result, step_by_step(name, weights, lengths, backward), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", SEQUENCES)
def test_directions_of_large_sequences_run_on_threads(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    weights, lengths = Weights(name, 2, 3, 4, 0), [4, 0, 3]
    in_chunks(monkeypatch, "CHUNK_NANOSECONDS", 0)
    in_chunks(monkeypatch, "SHARED_PRODUCT_NANOSECONDS", 1)
    both = threading.Barrier(2)
    seen = set[int]()

    def meet(*arrays: Array) -> Array:
        # Neither direction is done before the other one has begun.
        if threading.get_ident() not in seen:
            seen.add(threading.get_ident())
            both.wait(timeout=60)
        return project(*arrays)

    monkeypatch.setattr(recurrent, "project", meet)
    monkeypatch.setattr(sharing, "blas_is_single_threaded", lambda: True)
    operator = SEQUENCES[name](hidden_size=2, direction="bidirectional")
    token = THREADS.set(2)
    try:
        result = operator.evaluate(weights.x, *weights.states, np.array(lengths), weights.w, weights.r, weights.b)
    finally:
        THREADS.reset(token)
    assert len(seen) == 2
    for ours, theirs in zip(result, step_by_step(name, weights, lengths, [False, True]), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("steps", "expected"), [(0, (0, 0)), (1, (1, 1))])
def test_sequences_without_steps_or_batch(steps: int, expected: tuple[int, int]) -> None:
    weights = Weights("LSTM", 1, 2, steps, 0)
    operator = LSTMSequence(hidden_size=2, direction="forward")
    y, hidden, cell = operator.evaluate(weights.x, *weights.states, np.full(2, steps), weights.w, weights.r, weights.b)
    assert y.shape == (2, 1, steps, 2)
    assert (hidden.any(), cell.any()) == expected
    nobody = operator.evaluate(
        weights.x[:0], *(s[:0] for s in weights.states), np.zeros(0, int), weights.w, weights.r, weights.b
    )
    assert [array.shape for array in nobody] == [(0, 1, steps, 2), (0, 1, 2), (0, 1, 2)]


@pytest.mark.parametrize(
    ("lengths", "fault"),
    [
        ([2, -1], fault_with("seq_length", "x", actual=-1, expected="0 to 3")),
        ([4, 0], fault_with("seq_length", "x", actual=4, expected="0 to 3")),
    ],
)
def test_invalid_lengths(lengths: list[int], fault: fault_with) -> None:
    weights = Weights("RNN", 1, 2, 3, 0)
    with pytest.raises(EvaluationError) as error:
        RNNSequence(hidden_size=2, direction="reverse").evaluate(
            weights.x, *weights.states, np.array(lengths), weights.w, weights.r, weights.b
        )
    assert (error.value.code, error.value) == ("IR704", fault)
    assert error.value.location.port == "sequence_lengths"


def test_directions_match_attribute() -> None:
    operator = GRUSequence(hidden_size=4, direction="bidirectional")
    types = [
        make_type("2,5,3"),
        make_type("2,1,4"),
        make_type("2", "i32"),
        make_type("1,12,3"),
        make_type("1,12,4"),
        make_type("1,12"),
    ]
    with pytest.raises(ShapeError) as error:
        operator.infer(*types)
    fault = fault_with("num_directions", "initial_hidden_state", actual="2 and 1", expected="equal dims")
    assert (error.value.code, error.value) == ("IR502", fault)


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
