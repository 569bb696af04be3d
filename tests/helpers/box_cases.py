"""Random boxes and scores, for tables of detection and of suppression."""

from __future__ import annotations

import numpy as np

from ir_exec.types import Array, ElementType
from tests.conformance.case import Case
from tests.helpers.values import uniform


def distinct(shape: tuple[int, ...], seed: int) -> Array:
    """Scores that differ from each other, none of them 0."""
    size = int(np.prod(shape))
    order = np.random.default_rng(seed).permutation(size) + 1
    return (order / (size + 1)).reshape(shape).astype(np.float32)


def boxes(shape: tuple[int, ...], seed: int, reach: float = 40.0, size: float = 30.0) -> Array:
    start = uniform((*shape, 2), 0, reach, seed)
    return np.concatenate([start, start + uniform((*shape, 2), 5, size, seed + 1)], axis=-1)


def cast(case: Case, element_type: str, tolerance: float) -> Case:
    """The case with inputs of another floating type."""
    inputs = tuple(array.astype(ElementType[element_type].dtype) for array in case.inputs)
    return Case(case.type, case.opset, inputs, case.attributes, (), case.outputs, rtol=tolerance, atol=tolerance)
