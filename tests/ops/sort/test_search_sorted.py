"""SearchSorted against the searches of Python."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ir_exec.errors import ShapeError
from ir_exec.ops.sort.search_sorted import SearchSorted
from ir_exec.types import ElementType
from tests.helpers.facts import fault_with
from tests.helpers.values import make_type

NUMBERS = st.integers(-5, 5)


@given(rows=st.lists(st.tuples(st.lists(NUMBERS, min_size=6, max_size=6), NUMBERS), min_size=1), right=st.booleans())
def test_rows_are_searched_one_by_one(rows: list[tuple[list[int], int]], right: bool) -> None:
    sequences = np.sort(np.array([sequence for sequence, _ in rows]), axis=1)
    values = np.array([[value] for _, value in rows])
    result = SearchSorted(right_mode=right).evaluate(sequences, values)
    search = bisect_right if right else bisect_left
    assert result[:, 0].tolist() == [
        search(row.tolist(), value) for row, (_, value) in zip(sequences, rows, strict=True)
    ]


@pytest.mark.parametrize(
    ("sequence", "values", "expected"),
    [
        ("2,3", "2,5", "[2,5]"),
        ("?,3", "2,5", "[2,5]"),
        ("2..6,3", "4..9,5", "[4..6,5]"),
        ("2,3", "...", "[2,?]"),
        ("3", "...", "[...]"),
        ("3", "2,5", "[2,5]"),
        ("...", "2,5", "[2,5]"),
        ("3", "", "[]"),
    ],
)
def test_the_output_has_the_shape_of_values(sequence: str, values: str, expected: str) -> None:
    output_type = SearchSorted(output_type=ElementType.i32).infer(make_type(sequence), make_type(values))
    assert str(output_type) == "i32" + expected


@pytest.mark.parametrize(
    ("sequence", "values", "code", "fault"),
    [
        ("", "2", "IR501", fault_with("sorted_sequence", actual=0, expected="1 or more")),
        ("2,3", "", "IR501", fault_with("sorted_sequence", "[2,3]", actual=2, expected=1)),
        ("2,3", "2,3,4", "IR501", fault_with("[2,3,4]", "sorted_sequence", actual=3, expected=2)),
        ("2,3", "4,3", "IR502", fault_with("axis", 0, "sorted_sequence", actual="2 and 4", expected="equal dims")),
    ],
)
def test_shapes_that_do_not_fit(sequence: str, values: str, code: str, fault: fault_with) -> None:
    with pytest.raises(ShapeError) as error:
        SearchSorted().infer(make_type(sequence), make_type(values))
    assert (error.value.code, error.value) == (code, fault)
