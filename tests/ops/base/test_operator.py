"""What a class says of its inputs, in words."""

from __future__ import annotations

import pytest

from ir_exec.errors import IRError
from ir_exec.types import ElementType, Shape, TensorType
from tests.helpers.facts import mentions
from tests.helpers.operators import make

ANY = TensorType(ElementType.f32, Shape.unknown())


@pytest.mark.parametrize(
    ("type_name", "attributes", "count", "message"),
    [
        ("Relu", {}, 0, mentions(1, "data", 0)),
        ("Relu", {}, 2, mentions(1, "data", 2)),
        ("Divide", {"auto_broadcast": "numpy"}, 1, mentions(2, "b", 1)),
        ("Concat", {"axis": 0}, 0, mentions(1, 0)),
        ("Squeeze", {}, 3, mentions(1, 2, "data", "[axes]", 3)),
        ("Parameter", {"shape": "1", "element_type": "f32"}, 1, mentions(1)),
    ],
)
def test_how_many_inputs_are_expected(
    type_name: str, attributes: dict[str, object], count: int, message: mentions
) -> None:
    found: list[IRError] = []
    assert not make(type_name, **attributes).check_inputs([ANY] * count, found.append)
    assert [error.message for error in found] == [message]
