"""Bounds of an output, against all values that the inputs may have."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ir_exec.errors import EvaluationError
from ir_exec.types import Array, Bounds
from tests.helpers.operators import bounds_of, evaluate, make

BINARY = ["Add", "Subtract", "Multiply", "Divide", "Mod", "FloorMod", "Power", "Maximum", "Minimum"]
COMPARISONS = ["Less", "LessEqual", "Greater", "GreaterEqual", "Equal", "NotEqual"]
UNARY = ["Abs", "Negative", "Relu", "Sign"]

INTERVALS = st.tuples(st.integers(-9, 9), st.integers(0, 5)).map(lambda pair: (pair[0], sum(pair)))


def bounds(interval: tuple[int, int]) -> Bounds:
    return np.array([interval[0]], np.int64), np.array([interval[1]], np.int64)


def values(interval: tuple[int, int]) -> Array:
    return np.arange(interval[0], interval[1] + 1)


@pytest.mark.parametrize("type_name", [*BINARY, *COMPARISONS])
@settings(max_examples=60)
@given(a=INTERVALS, b=INTERVALS)
def test_bounds_hold_every_result(type_name: str, a: tuple[int, int], b: tuple[int, int]) -> None:
    operator = make(type_name)
    limits = bounds_of(operator, bounds(a), bounds(b))
    if limits is None:
        return
    lower, upper = (int(limit[0]) for limit in limits)
    for left, right in product(values(a), values(b)):
        try:
            # What inference computes: its Divide rounds down, that of a run towards zero.
            result = int(operator.evaluate_known(np.array([left]), np.array([right]))[0])
        except EvaluationError:
            continue  # no result, so nothing to hold
        assert lower <= result <= upper, f"{left}, {right}"


@pytest.mark.parametrize("type_name", UNARY)
@given(a=INTERVALS)
def test_bounds_of_one_operand_are_extreme_results(type_name: str, a: tuple[int, int]) -> None:
    operator = make(type_name)
    limits = bounds_of(operator, bounds(a))
    if limits is not None:
        results = evaluate(operator, values(a))
        assert int(limits[0][0]) <= results.min()
        assert int(limits[1][0]) >= results.max()


@pytest.mark.parametrize("type_name", ["Add", "Subtract", "Multiply", "Maximum", "Minimum", *COMPARISONS])
@given(a=INTERVALS, b=INTERVALS)
def test_bounds_are_reached(type_name: str, a: tuple[int, int], b: tuple[int, int]) -> None:
    operator = make(type_name)
    limits = bounds_of(operator, bounds(a), bounds(b))
    assert limits is not None
    results = evaluate(operator, values(a)[:, np.newaxis], values(b))
    assert (int(limits[0][0]), int(limits[1][0])) == (int(results.min()), int(results.max()))
