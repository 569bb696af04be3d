"""Shared parts of the tables of logical and bitwise operators."""

from __future__ import annotations

import numpy as np

from ir_exec.types import Array
from tests.conformance.case import Case


def truth(shape: tuple[int, ...], seed: int) -> Array:
    return np.random.default_rng(seed).integers(0, 2, shape).astype(bool)


def case(type: str, opset: int, *inputs: Array, **fields: object) -> Case:
    return Case(type, opset, inputs, **fields)  # type: ignore[arg-type]  # as a caller
