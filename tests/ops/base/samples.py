"""Layers with the arrays of a run, from the conformance tables, by class."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from ir_exec.errors import IRError
from ir_exec.ops import Op
from ir_exec.types import Array, ElementType
from tests.conformance.checks import families, table
from tests.conformance.ours import operator

__all__ = ["Sample", "all_samples_by_class", "are_equal", "fill_like", "samples_by_class", "shift_elements"]

_MOST_ELEMENTS = 200
"""Of the inputs of a sample."""

_MOST_SAMPLES = 10
"""Of a class, spread over its table."""


class Sample(NamedTuple):
    """A layer with the arrays of one run."""

    layer: Op
    inputs: tuple[Array, ...]

    def evaluate(self, inputs: Sequence[Array]) -> tuple[Array, ...]:
        with np.errstate(all="ignore"):
            outputs = self.layer.evaluate(*inputs)
        return outputs if isinstance(outputs, tuple) else (outputs,)

    def evaluate_with(self, position: int, array: Array) -> tuple[Array, ...] | None:
        """The outputs with another array for one input; None if they are rejected."""
        return self.try_inputs([array if i == position else original for i, original in enumerate(self.inputs)])

    def try_inputs(self, inputs: Sequence[Array]) -> tuple[Array, ...] | None:
        try:
            return self.evaluate(inputs)
        except (IRError, ValueError, OverflowError, MemoryError):
            return None

    def positions(self, names: Sequence[str]) -> list[int]:
        """The positions of the inputs with these names."""
        return [i for i in range(len(self.inputs)) if self.layer.declared_input(i).name in names]


@cache
def all_samples_by_class() -> dict[type[Op], list[Sample]]:
    samples: dict[type[Op], list[Sample]] = defaultdict(list)
    for family in families():
        for case in table(family):
            samples[type(operator(case))].append(Sample(operator(case), case.inputs))
    return samples


@cache
def samples_by_class() -> dict[type[Op], list[Sample]]:
    """Samples of each class, the small ones and at least one."""
    return {cls: _select(rows) for cls, rows in all_samples_by_class().items()}


def _select(samples: list[Sample]) -> list[Sample]:
    by_size = sorted(samples, key=lambda sample: sum(array.size for array in sample.inputs))
    small = [row for row in by_size if sum(array.size for array in row.inputs) <= _MOST_ELEMENTS] or by_size[:1]
    return small[:: -(-len(small) // _MOST_SAMPLES)]


def are_equal(left: Sequence[Array] | None, right: Sequence[Array] | None) -> bool:
    """Return True if the arrays have equal shapes and elements; NaN equals NaN."""
    if left is None or right is None:
        return left is right
    return len(left) == len(right) and all(
        a.shape == b.shape and bool(((a == b) | ((a != a) & (b != b))).all()) for a, b in zip(left, right, strict=True)
    )


def fill_like(array: Array, value: float) -> Array:
    """An array of the same type and shape with one number, or one text, in every element."""
    if ElementType.of(array) is ElementType.string:
        return np.full(array.shape, str(value), object)
    with np.errstate(all="ignore"):
        return np.full(array.shape, np.array(value).astype(array.dtype))


def shift_elements(array: Array) -> Array:
    """The array with other elements: numbers grow by 1, texts by a letter, booleans are inverted."""
    element_type = ElementType.of(array)
    if element_type is ElementType.string:
        return np.array([f"{text}x" for text in array.reshape(-1)], object).reshape(array.shape)
    if element_type is ElementType.boolean:
        return ~array
    with np.errstate(all="ignore"):
        return (array.astype(np.float64 if element_type.is_float else np.int64) + 1).astype(array.dtype)
