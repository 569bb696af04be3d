"""Descriptions of the inputs of a class, in words."""

from __future__ import annotations

import pytest

from ir_exec.errors import IRError
from ir_exec.types import ElementType, Shape, TensorType
from tests.helpers.facts import fault_with
from tests.helpers.operators import make

ANY = TensorType(ElementType.f32, Shape.unknown())


@pytest.mark.parametrize(
    ("type_name", "attributes", "count", "fault"),
    [
        ("Relu", {}, 0, fault_with("data", actual=0, expected=1)),
        ("Relu", {}, 2, fault_with("data", actual=2, expected=1)),
        ("Divide", {"auto_broadcast": "numpy"}, 1, fault_with("b", actual=1, expected=2)),
        ("Concat", {"axis": 0}, 0, fault_with(actual=0, expected="1 or more")),
        ("Squeeze", {}, 3, fault_with("data", "[axes]", actual=3, expected="1 to 2")),
        ("Parameter", {"shape": "1", "element_type": "f32"}, 1, fault_with(actual=1, expected="none")),
    ],
)
def test_how_many_inputs_are_expected(
    type_name: str, attributes: dict[str, object], count: int, fault: fault_with
) -> None:
    errors: list[IRError] = []
    assert not make(type_name, **attributes).check_inputs([ANY] * count, errors.append)
    assert list(errors) == [fault]
