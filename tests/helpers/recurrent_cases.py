"""Shared parts of the tables of recurrent cells and sequences."""

from __future__ import annotations

import numpy as np

from ir_exec.types import Array, ElementType

TOLERANCE = {"f64": 1e-5, "f32": 1e-5, "f16": 4e-3, "bf16": 3e-2}
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
STATES = {"RNN": 1, "GRU": 1, "LSTM": 2}
ACTIVATIONS = {"RNN": ("tanh",), "GRU": ("sigmoid", "tanh"), "LSTM": ("sigmoid", "tanh", "tanh")}


class Arrays:
    """Random arrays of one element type."""

    def __init__(self, element_type: str, seed: int = 0, spread: float = 1.0) -> None:
        self.dtype = ElementType[element_type].dtype
        self.spread = spread
        self.random = np.random.default_rng(seed)

    def __call__(self, *shape: int) -> Array:
        return self.random.uniform(-self.spread, self.spread, shape).astype(self.dtype)
