"""Inputs and rows of the tables of activation functions."""

from __future__ import annotations

import numpy as np

from ir_exec.types import Array, ElementType
from tests.conformance.case import Case

SINCE = {"Gelu": 2, "Swish": 4, "HSwish": 4, "HSigmoid": 5, "SoftPlus": 4, "SoftSign": 9, "Mish": 4}
REQUIRED: dict[str, dict[str, object]] = {"Elu": {"alpha": 1.5}, "Clamp": {"min": -1.25, "max": 2.5}}
FLOATS = ("f32", "f64", "f16", "bf16")
TOLERANCE = {"f64": 2e-5, "f32": 2e-5, "f16": 3e-3, "bf16": 1.5e-2}
SHAPES = ((), (1,), (0, 3), (1, 1, 1), (7, 3), (2, 3, 1, 2, 2))
EXTREMES = (-1e30, -1000, -100, -20, -1e-6, 0, 1e-6, 20, 100, 1000, 1e30)


def scalar(element_type: str, value: float) -> Array:
    return np.array(value, ElementType[element_type].dtype)


def data_of(element_type: str, shape: tuple[int, ...], low: float = -8, high: float = 8, seed: int = 0) -> Array:
    return np.random.default_rng(seed).uniform(low, high, shape).astype(ElementType[element_type].dtype)


def case(type: str, *inputs: Array, opset: int | None = None, **fields: object) -> Case:
    tolerance = TOLERANCE.get(ElementType.of(inputs[0]).name, 0.0)
    attributes = fields.pop("attributes", REQUIRED.get(type, {}))
    fields = {"rtol": tolerance, "atol": tolerance, **fields}
    return Case(type, opset or SINCE.get(type, 1), inputs, attributes, **fields)  # type: ignore[arg-type]  # as a caller
