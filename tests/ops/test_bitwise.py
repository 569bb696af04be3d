"""Shifts at the ends of the types."""

from __future__ import annotations

import pytest

from ir_exec.errors import EvaluationError
from ir_exec.types import ElementType
from tests.helpers.facts import fault_with
from tests.helpers.operators import evaluate, make
from tests.helpers.values import array


@pytest.mark.parametrize("type", ["BitwiseLeftShift", "BitwiseRightShift"])
@pytest.mark.parametrize(("element_type", "count"), [("i32", -1), ("i32", 32), ("u8", 8), ("i64", 64), ("u4", 4)])
def test_shifts_beyond_the_bits(type: str, element_type: str, count: int) -> None:
    bits = ElementType[element_type].bits
    with pytest.raises(EvaluationError) as caught:
        evaluate(make(type, 15), array(element_type, 1, 1), array(element_type, 1, count))
    assert caught.value == fault_with(element_type, code="IR704", port="b", actual=count, expected=f"0 to {bits - 1}")


def test_shifts_to_the_end_of_the_type() -> None:
    assert evaluate(make("BitwiseLeftShift", 15), array("i32", 1, 3), array("i32", 31, 31)).tolist() == [-(2**31)] * 2
    assert evaluate(make("BitwiseRightShift", 15), array("i64", -1, 2**62), array("i64", 63, 62)).tolist() == [-1, 1]
    assert evaluate(make("BitwiseLeftShift", 15), array("u4", 3), array("u4", 3)).astype(int).tolist() == [8]
    assert evaluate(make("BitwiseNot", 13), array("u4", 3)).astype(int).tolist() == [12]
    assert evaluate(make("BitwiseNot", 13), array("i4", 3)).astype(int).tolist() == [-4]
