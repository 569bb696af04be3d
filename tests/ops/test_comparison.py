"""Comparisons against Python's own: order, NaN, and results from bounds."""

from __future__ import annotations

import operator as python
from collections.abc import Callable

import numpy as np
import pytest

from ir_exec.types import ElementType, Shape, TensorType
from tests.helpers.operators import bounds_of, evaluate, make
from tests.helpers.values import array

DEFINITIONS: dict[str, Callable[[object, object], bool]] = {
    "Equal": python.eq,
    "NotEqual": python.ne,
    "Greater": python.gt,
    "GreaterEqual": python.ge,
    "Less": python.lt,
    "LessEqual": python.le,
}

each_type = pytest.mark.parametrize("type", DEFINITIONS)


@each_type
@pytest.mark.parametrize("element_type", ["f32", "bf16", "i4", "u64", "i64"])
def test_every_pair(type: str, element_type: str) -> None:
    numbers = (0, 1, 2, 7) if element_type == "u64" else (-8, -1, 0, 1, 7)
    data = array(element_type, *numbers)
    result = evaluate(make(type), data[:, None], data)
    assert result.dtype == bool
    assert result.tolist() == [[DEFINITIONS[type](a, b) for b in numbers] for a in numbers]


@each_type
def test_the_largest_integers_are_told_apart(type: str) -> None:
    result = evaluate(make(type), array("i64", 2**63 - 1), array("i64", 2**63 - 2))
    assert result.tolist() == [DEFINITIONS[type](1, 0)]


@each_type
@pytest.mark.parametrize(("a", "b"), [((5000, 3), (3,)), ((80, 1, 2), (1, 70, 2))])
def test_many_short_rows_are_booleans_too(type: str, a: tuple[int, ...], b: tuple[int, ...]) -> None:
    random = np.random.default_rng(0)
    left, right = (random.integers(0, 3, shape).astype(np.float32) for shape in (a, b))
    types = [TensorType(ElementType.f32, Shape(shape)) for shape in (a, b)]
    result = make(type).kernel(*types)(left, right)
    assert result.dtype == bool
    assert np.array_equal(result, DEFINITIONS[type](left, right))


@each_type
def test_nan_differs_from_everything(type: str) -> None:
    result = evaluate(make(type), array("f32", np.nan, np.nan, 1), array("f32", np.nan, 1, np.nan))
    assert result.tolist() == [type == "NotEqual"] * 3


@pytest.mark.parametrize(
    ("type", "sure"), [("Less", (1, 1)), ("Greater", (0, 0)), ("Equal", (0, 0)), ("NotEqual", (1, 1))]
)
def test_bounds_that_do_not_meet_decide(type: str, sure: tuple[int, int]) -> None:
    bounds = bounds_of(make(type), (array("i64", 1), array("i64", 2)), (array("i64", 3), array("i64", 9)))
    assert bounds is not None
    assert tuple(int(bound[0]) for bound in bounds) == sure
