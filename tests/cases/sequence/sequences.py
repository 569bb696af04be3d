"""RNNSequence, GRUSequence, LSTMSequence."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.conformance.case import Case
from tests.helpers.recurrent_cases import ACTIVATIONS, GATES, STATES, TOLERANCE, Arrays


def sequence(
    cell_type: str = "LSTM",
    direction: str = "forward",
    lengths: Any = None,
    *,
    batch: int = 2,
    steps: int = 4,
    size: int = 3,
    hidden: int = 2,
    element_type: str = "f32",
    constants: tuple[int, ...] = (),
    spread: float = 1.0,
    **attributes: object,
) -> Case:
    arrays = Arrays(element_type, spread=spread)
    gates, ways = GATES[cell_type], 2 if direction.lower() == "bidirectional" else 1
    lengths = np.full(batch, steps) if lengths is None else lengths
    inputs = [arrays(batch, steps, size), *(arrays(batch, ways, hidden) for _ in range(STATES[cell_type]))]
    inputs += [np.asarray(lengths, getattr(lengths, "dtype", np.int64))]
    inputs += [arrays(ways, gates * hidden, size), arrays(ways, gates * hidden, hidden)]
    inputs.append(arrays(ways, (gates + bool(attributes.get("linear_before_reset"))) * hidden))
    tolerance = TOLERANCE[element_type] * max(spread, 1)
    return Case(
        f"{cell_type}Sequence",
        5,
        tuple(inputs),
        {"hidden_size": hidden, "direction": direction, "activations": ACTIVATIONS[cell_type], **attributes},
        constants,
        outputs=1 + STATES[cell_type],
        rtol=tolerance,
        atol=tolerance,
    )


KINDS = ("RNN", "GRU", "LSTM")
FUNCTIONS = {
    "RNN": [("relu",), ("sigmoid",), ("tanh",)],
    "GRU": [("sigmoid", "tanh"), ("tanh", "relu"), ("relu", "sigmoid")],
    "LSTM": [("sigmoid", "tanh", "tanh"), ("tanh", "relu", "sigmoid"), ("relu", "sigmoid", "relu")],
}

DIRECTIONS = ("forward", "reverse", "bidirectional")
CASES: list[Case] = []

for cell_type in KINDS:
    first = 2 + STATES[cell_type]
    weights = tuple(range(first, first + 3))
    CASES += [
        sequence(cell_type, direction, lengths, batch=3, constants=constants)
        for direction in DIRECTIONS
        for lengths, constants in (
            (None, (first - 1, *weights)),
            (None, ()),
            ((2, 4, 1), ()),
            ((4, 0, 3), weights),
            ((0, 0, 0), ()),
        )
    ]
    CASES += [
        sequence(cell_type, "bidirectional", activations=functions, spread=2.0) for functions in FUNCTIONS[cell_type]
    ]
    CASES += [sequence(cell_type, "bidirectional", clip=clip, spread=2.0) for clip in (0.5, 2.0)]
    CASES += [sequence(cell_type, "Reverse", batch=1, steps=1, size=1, hidden=1)]
    CASES += [sequence(cell_type, "BIDIRECTIONAL", (5, 2), steps=6, size=5, hidden=7)]
    CASES += [sequence(cell_type, "forward", np.array([3, 2], np.int32))]
    CASES += [sequence(cell_type, "bidirectional", (3, 1), element_type=name) for name in ("f16", "bf16", "f64")]
CASES += [sequence("GRU", way, (2, 4), linear_before_reset=True) for way in DIRECTIONS]
CASES += [sequence("GRU", "bidirectional", linear_before_reset=True, clip=0.5, spread=2.0)]
