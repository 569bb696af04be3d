"""What a class says of its inputs, in words."""

from __future__ import annotations

import pytest

from ir_exec.errors import IRError
from ir_exec.types import ElementType, Shape, TensorType
from tests.helpers.operators import make

ANY = TensorType(ElementType.f32, Shape.unknown())


@pytest.mark.parametrize(
    ("type_name", "attributes", "count", "message"),
    [
        ("Relu", {}, 0, "expected 1 input (data), found 0"),
        ("Relu", {}, 2, "expected 1 input (data), found 2"),
        ("Divide", {"auto_broadcast": "numpy"}, 1, "expected 2 inputs (a, b), found 1"),
        ("Concat", {"axis": 0}, 0, "expected 1 or more inputs (inputs...), found 0"),
        ("Squeeze", {}, 3, "expected 1 to 2 inputs (data, [axes]), found 3"),
        ("Parameter", {"shape": "1", "element_type": "f32"}, 1, "expected no inputs, found 1"),
    ],
)
def test_how_many_inputs_are_expected(type_name: str, attributes: dict[str, object], count: int, message: str) -> None:
    found: list[IRError] = []
    assert not make(type_name, **attributes).check_inputs([ANY] * count, found.append)
    assert [error.message for error in found] == [message]
