"""ExperimentalDetectronTopKROIs."""

from __future__ import annotations

from typing import Any

import numpy as np

from ir_exec.types import Array, ElementType
from tests.conformance.case import Case


def floats(shape: tuple[int, ...], low: float, high: float, seed: int) -> Array:
    return np.random.default_rng(seed).uniform(low, high, shape).astype(np.float32)


def distinct(shape: tuple[int, ...], seed: int) -> Array:
    """Scores that differ from each other, none of them 0."""
    size = int(np.prod(shape))
    order = np.random.default_rng(seed).permutation(size) + 1
    return (order / (size + 1)).reshape(shape).astype(np.float32)


def boxes(shape: tuple[int, ...], seed: int, reach: float = 40.0, size: float = 30.0) -> Array:
    start = floats((*shape, 2), 0, reach, seed)
    return np.concatenate([start, start + floats((*shape, 2), 5, size, seed + 1)], axis=-1)


def cast(case: Case, kind: str, tolerance: float) -> Case:
    """The same with inputs of another floating type."""
    inputs = tuple(array.astype(ElementType[kind].dtype) for array in case.inputs)
    return Case(case.type, case.opset, inputs, case.attributes, (), case.outputs, rtol=tolerance, atol=tolerance)


# ExperimentalDetectronTopKROIs.
def top(count: int, most: int, **rest: Any) -> Case:
    inputs = (boxes((count,), 600), distinct((count,), 601))
    return Case("ExperimentalDetectronTopKROIs", 6, inputs, {"max_rois": most}, **rest)


CASES: list[Case] = []

CASES += [top(9, 4), top(9, 9), top(1, 1), top(9, 0), top(20, 3)]
CASES += [cast(top(9, 4), kind, 0) for kind in ("f16", "bf16")]
few = top(2, 4)
rows = np.concatenate([few.inputs[0][np.argsort(-few.inputs[1])], np.zeros((2, 4), np.float32)])
CASES.append(Case(few.type, 6, few.inputs, few.attributes, (), 1, (rows,), "nobody", note="what is left is open"))
