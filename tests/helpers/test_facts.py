"""Facts of messages: what is equal in two wordings, and what is not."""

from __future__ import annotations

import pytest

from ir_exec.check.findings import Diagnostic
from ir_exec.errors import IRError, Location, ShapeError
from tests.helpers.facts import coded, facts, fault_with, mentions, naming

MESSAGE = "axis 1 of indices is 3, expected 2 as in 'data' f32[2,3]"


def test_the_facts_of_a_message() -> None:
    assert facts(MESSAGE) == ["1", "2", "3", "data", "f32[2,3]"]
    assert facts(None) == []


@pytest.mark.parametrize(
    "other",
    [
        MESSAGE,
        "expected 2 in axis 1 of indices, as 'data' of type f32[2,3] has, found 3",
        "indices: axis 1 is 3,\nand data (f32[2,3]) has 2 elements there",
    ],
)
def test_wordings_of_the_same_facts(other: str) -> None:
    assert other == mentions("indices", "axis", 1, 3, 2, "data", "f32[2,3]")
    assert [other] == [mentions("indices", 3)]


@pytest.mark.parametrize("names", [("index",), ("indices", 4), (3, 3), ("f32[2,4]",), ("f32[2,3]", 23), ("dat",)])
def test_other_facts(names: tuple[object, ...]) -> None:
    assert mentions(*names) != MESSAGE
    assert mentions(*names) not in MESSAGE.splitlines()


def test_numbers_are_whole_and_counted() -> None:
    assert mentions(2, 2) == "2 of 2 layers"
    assert mentions(2, 2) != "2 of 3 layers"
    assert mentions(2) != "12 layers"
    assert mentions(2) != "-2 layers"
    assert mentions(2) != "f32[2,3]"


def test_only_text_is_compared() -> None:
    assert mentions() != 3
    assert mentions() != None  # noqa: E711 - the comparison itself is tested
    assert repr(mentions("axis", 3)) == "mentions('axis', '3')"


RANK = ShapeError("axis of data is", actual=3, expected="-2 to 1", code="IR503", port="axis", location=Location(line=7))


def test_fault_with_equals_errors_faults_and_findings() -> None:
    expected = fault_with("data", code="IR503", port="axis", line=7, severity="error", actual=3, expected="-2 to 1")
    assert expected == RANK
    assert [RANK.fault, Diagnostic.of(RANK)] == [expected, expected]
    assert fault_with(actual=mentions(3), expected=mentions(-2, 1)) == RANK
    assert ShapeError("no rank") == fault_with("rank")


@pytest.mark.parametrize(
    "other",
    [
        fault_with(actual="-2 to 1", expected=3),
        fault_with(actual=2, expected="-2 to 1"),
        fault_with(actual=3, expected="-2 to 2"),
        fault_with(actual=3),
        fault_with(expected="-2 to 1"),
        fault_with(),
        fault_with("indices", actual=3, expected="-2 to 1"),
        fault_with(code="IR501", actual=3, expected="-2 to 1"),
        fault_with(line=8, actual=3, expected="-2 to 1"),
        fault_with(actual=mentions(4), expected=mentions()),
    ],
    ids=repr,
)
def test_other_faults(other: fault_with) -> None:
    assert other != RANK
    assert other != RANK.message
    assert ShapeError("no rank") != fault_with(actual=mentions(), expected=mentions())


def test_patterns_for_raises() -> None:
    with pytest.raises(ValueError, match=naming("f32[2,3]", "indices")):
        raise ValueError(MESSAGE)
    with pytest.raises(AssertionError), pytest.raises(ValueError, match=naming("f32[2,3]", 4)):
        raise ValueError(MESSAGE)


def test_codes_and_places() -> None:
    error = ShapeError("x", code="IR502", port="indices", location=Location(line=7))
    assert coded("IR502")(error)
    assert coded("IR502", port="indices", line=7)(error)
    assert not coded("IR502", port="data")(error)
    assert not coded("IR501")(error)
    assert not coded(IRError.default_code)(ValueError("x"))
