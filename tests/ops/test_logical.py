"""Logical operators against their truth tables, and LogicalNot of numbers."""

from __future__ import annotations

import numpy as np
import pytest

from ir_exec.ops import resolve
from tests.helpers.operators import bounds_of, evaluate, make
from tests.helpers.values import array

A, B = np.array([False, False, True, True]), np.array([False, True, False, True])


@pytest.mark.parametrize(
    ("type", "truth"),
    [
        ("LogicalAnd", [False, False, False, True]),
        ("LogicalOr", [False, True, True, True]),
        ("LogicalXor", [False, True, True, False]),
        ("Xor", [False, True, True, False]),
    ],
)
def test_truth_tables(type: str, truth: list[bool]) -> None:
    result = evaluate(make(type), A, B)
    assert result.dtype == bool
    assert result.tolist() == truth


@pytest.mark.parametrize("type", ["LogicalAnd", "LogicalOr", "LogicalXor", "Xor"])
def test_elements_known_next_to_others(type: str) -> None:
    """The last element of a may be either."""
    bounds = bounds_of(
        make(type), (np.append(A, False), np.append(A, True)), (np.append(B, False), np.append(B, False))
    )
    assert bounds is not None
    for bound, last in zip(bounds, (False, True), strict=True):
        assert bound[:4].tolist() == evaluate(make(type), A, B).tolist()
        assert bound[4] == (last and type != "LogicalAnd")


def test_the_opposite() -> None:
    assert evaluate(make("LogicalNot"), A).tolist() == [True, True, False, False]


@pytest.mark.parametrize("element_type", ["f32", "f16", "i64", "u8", "i8"])
def test_logical_not_of_number_is_0_or_1_of_its_type(element_type: str) -> None:
    data = array(element_type, 0, 1, 2, 100)
    result = evaluate(make("LogicalNot"), data)
    assert result.dtype == data.dtype
    assert result.tolist() == [1, 0, 0, 0]


def test_xor_is_a_type_of_its_own() -> None:
    assert resolve("Xor", "opset1") is not resolve("LogicalXor", "opset1")
