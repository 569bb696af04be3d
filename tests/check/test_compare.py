"""Two types of one value, side by side."""

from __future__ import annotations

import pytest

from ir_exec.check.compare import contradiction, difference, fits, merged
from ir_exec.codes import Code
from ir_exec.types import ElementType, Shape, TensorType

KIND, RANK, DIMS = Code.declared_element_type, Code.declared_rank, Code.declared_dims


def type_of(text: str) -> TensorType:
    kind, _, dims = text.partition("[")
    return TensorType(ElementType[kind], Shape.parse(dims.removesuffix("]")))


@pytest.mark.parametrize(
    ("declared", "found"),
    [
        ("f32[2,3]", "f32[2,3]"),
        ("f32[2,?]", "f32[2,3]"),
        ("f32[2,3]", "f32[2,?]"),
        ("f32[...]", "f32[2,3]"),
        ("f32[2,3]", "f32[...]"),
        ("dynamic[2,3]", "f32[2,3]"),
        ("f32[2,3]", "dynamic[2,3]"),
        # Ranges that share a size, be it the last of one and the first of the other.
        ("f32[1..4]", "f32[4..8]"),
        ("f32[4..8]", "f32[1..4]"),
        ("f32[4]", "f32[4..8]"),
        ("f32[8]", "f32[4..8]"),
        ("f32[4..]", "f32[1..4]"),
        ("f32[]", "f32[]"),
    ],
)
def test_types_that_fit(declared: str, found: str) -> None:
    assert fits(type_of(declared), type_of(found))


@pytest.mark.parametrize(
    ("declared", "found", "code", "message"),
    [
        ("f32[2,3]", "f16[2,3]", KIND, "the element type is f16, not f32"),
        ("f32[2,3]", "f16[2,4]", KIND, "the element type is f16, not f32, dim 1 is 4, not 3"),
        ("f32[...]", "f16[2]", KIND, "the element type is f16, not f32"),
        ("f32[2,3]", "f16[2]", KIND, "the element type is f16, not f32, the rank is 1, not 2"),
        ("f32[2,3]", "f32[2]", RANK, "the rank is 1, not 2"),
        ("f32[]", "f32[1]", RANK, "the rank is 1, not 0"),
        ("f32[2,3]", "f32[2,4]", DIMS, "dim 1 is 4, not 3"),
        ("dynamic[2,3]", "f32[1,4]", DIMS, "dim 0 is 1, not 2, dim 1 is 4, not 3"),
        ("f32[1..3]", "f32[4..8]", DIMS, "dim 0 is 4 to 8, not 1 to 3"),
        ("f32[4..8]", "f32[3]", DIMS, "dim 0 is 3, not 4 to 8"),
        ("f32[9]", "f32[10..]", DIMS, "dim 0 is at least 10, not 9"),
        ("f32[?,9..]", "f32[5,8]", DIMS, "dim 1 is 8, not at least 9"),
    ],
)
def test_types_that_contradict_each_other(declared: str, found: str, code: Code, message: str) -> None:
    types = type_of(declared), type_of(found)
    assert not fits(*types)
    assert not fits(*reversed(types))
    assert contradiction(*types) == code
    assert difference(*types) == message


@pytest.mark.parametrize(
    ("chosen", "other", "expected"),
    [
        ("f32[2,?]", "f32[?,3]", "f32[2,3]"),
        ("dynamic[...]", "f16[2,?]", "f16[2,?]"),
        ("f32[...]", "f16[2]", "f32[2]"),
        ("dynamic[2]", "f16[...]", "f16[2]"),
        # Where they contradict each other the chosen one holds.
        ("f32[2,?]", "f16[5,3]", "f32[2,3]"),
        ("f32[2,?]", "f32[5]", "f32[2,?]"),
        ("f32[1..6]", "f32[4..8]", "f32[4..6]"),
    ],
)
def test_what_one_type_does_not_say_is_taken_from_the_other(chosen: str, other: str, expected: str) -> None:
    assert merged(type_of(chosen), type_of(other)) == type_of(expected)
