"""Types and conditions that pass between a layer and its bodies."""

from __future__ import annotations

import numpy as np
import pytest

from ir_exec.ops.base.bodies import by_position, either, known_truth
from ir_exec.types import Array, ElementType, Shape, TensorType
from tests.helpers.values import make_type


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (np.array(True), True),
        (np.array(False), False),
        (np.array([True]), True),
        (np.array([[0]], np.int32), False),
        (np.array([0, 1], np.int32), False),
        (np.array([], np.bool_), None),
    ],
)
def test_the_first_element_of_a_condition_counts(value: Array, expected: bool | None) -> None:
    assert known_truth(TensorType.of(value)) is expected


def test_unknown_condition() -> None:
    assert known_truth(make_type("[]", "boolean")) is None
    between = TensorType(ElementType.i32, Shape([1])).with_bounds(np.array([0], np.int32), np.array([1], np.int32))
    assert known_truth(between) is None


def test_outputs_that_no_body_gives() -> None:
    unknown = str(TensorType.unknown())
    assert [str(output) for output in by_position({2: make_type("[3]"), 0: make_type("[1]")})] == [
        "f32[1]",
        unknown,
        "f32[3]",
    ]
    assert by_position({}) == ()


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        (make_type("[2,3]"), make_type("[2,3]"), "f32[2,3]"),
        (make_type("[2,3]"), make_type("[4,3]"), "f32[2..4,3]"),
        (make_type("[2,3]"), make_type("[2,3]", "f16"), "dynamic[2,3]"),
        (make_type("[2,3]"), make_type("[2]"), "f32[...]"),
        (make_type("[2,?]"), make_type("[2,5]"), "f32[2,?]"),
    ],
)
def test_what_both_fit(left: TensorType, right: TensorType, expected: str) -> None:
    assert str(either(left, right)) == str(either(right, left)) == expected
