"""Shared parts of the tables of regions of images: random images, and cases with the tolerance of their type."""

from __future__ import annotations

import numpy as np

from ir_exec.types import Array, ElementType
from tests.conformance.case import Case

TOLERANCE = {"f64": 1e-4, "f32": 1e-4, "f16": 1e-2, "bf16": 5e-2}


def numbers(*shape: int, low: float = 0, high: float = 1, element_type: str = "f32", seed: int = 0) -> Array:
    return np.random.default_rng(seed).uniform(low, high, shape).astype(ElementType[element_type].dtype)


def case(type: str, opset: int, inputs: tuple[Array, ...], attributes: dict[str, object], **fields: object) -> Case:
    tolerance = TOLERANCE.get(ElementType.of(inputs[0]).name, 0)
    settings = {"rtol": tolerance, "atol": tolerance} | fields
    return Case(type, opset, inputs, attributes, **settings)  # type: ignore[arg-type]  # as a caller
