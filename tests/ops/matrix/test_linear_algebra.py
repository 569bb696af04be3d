"""Inverse and GroupedMatMul: shapes and errors."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ir_exec.errors import EvaluationError, ShapeError
from ir_exec.ops.matrix.linear_algebra import GroupedMatMul, Inverse
from ir_exec.types import Array, TensorType
from tests.helpers.facts import fault_with, mentions
from tests.helpers.values import make_type


@pytest.mark.parametrize(
    ("text", "code", "fault"),
    [
        ("3", "IR501", fault_with("data", "[3]", actual=1, expected="2 or more")),
        ("2,3,4", "IR502", fault_with("data", actual="3 and 4", expected="equal dims")),
        ("2..3,4", "IR502", fault_with("data", actual="2..3 and 4", expected="equal dims")),
    ],
)
def test_errors_of_inverse(text: str, code: str, fault: fault_with) -> None:
    with pytest.raises(ShapeError) as error:
        Inverse().infer(make_type(text))
    assert (error.value.code, error.value) == (code, fault)


def test_both_sides_of_a_matrix_tell_its_size() -> None:
    assert Inverse().infer(make_type("?,2..5,3..")) == make_type("?,3..5,3..5")
    assert Inverse().infer(make_type("...")) == make_type("...")


@settings(max_examples=30)
@given(st.integers(1, 6), st.integers(0, 3), st.integers(0, 2**32))
def test_a_matrix_times_its_inverse(side: int, batch: int, seed: int) -> None:
    data = np.random.default_rng(seed).normal(size=(batch, side, side)).astype(np.float32)
    data += np.float32(4 * side) * np.eye(side, dtype=np.float32)[::-1]
    inverse = Inverse().evaluate(data)
    np.testing.assert_allclose(data @ inverse, np.broadcast_to(np.eye(side), data.shape), atol=1e-4)
    assert np.array_equal(Inverse(adjoint=True).evaluate(data), inverse.swapaxes(-1, -2))


def test_a_matrix_without_inverse_spoils_no_other() -> None:
    data = np.stack([np.eye(2), np.ones((2, 2)), 2 * np.eye(2)]).astype(np.float32)
    with np.errstate(all="ignore"):
        result = Inverse().evaluate(data)
    assert result[0].tolist() == [[1, 0], [0, 1]]
    assert result[2].tolist() == [[0.5, 0], [0, 0.5]]
    assert not np.isfinite(result[1]).any()


@pytest.mark.parametrize(
    ("types", "code", "fault"),
    [
        (("5,3", "2,4,3"), "IR505", fault_with("offsets", expected=mentions(2, "mat_a"))),
        (("5,3", "2,4,5", "2"), "IR502", fault_with("mat_a", "mat_b", actual="3 and 5", expected="equal dims")),
        (("2,5,3", "3,4,3"), "IR502", fault_with("axis", 0, "mat_a", "mat_b", actual="2 and 3", expected="equal dims")),
        (("5,3", "4,3", "2"), "IR501", fault_with("mat_b", "[4,3]", actual=2, expected=3)),
        (("3", "2,4,3", "2"), "IR501", fault_with("mat_a", "[3]", actual=1, expected="2 or 3")),
        (("5,3", "2,4,3", "1,2"), "IR501", fault_with("offsets", "[1,2]", actual=2, expected=1)),
        (
            ("5,3", "3,4,3", "2"),
            "IR502",
            fault_with("offsets", "axis", 0, "mat_b", actual="2 and 3..", expected="equal dims"),
        ),
    ],
)
def test_errors_of_grouped_products(types: tuple[str, ...], code: str, fault: fault_with) -> None:
    with pytest.raises(ShapeError) as error:
        GroupedMatMul().infer(*[make_type(text) for text in types])
    assert (error.value.code, error.value) == (code, fault)


def test_partly_known_groups() -> None:
    assert GroupedMatMul().infer(make_type("?,3"), make_type("?,2..4,?"), make_type("?")) == make_type("?,2..4")
    assert GroupedMatMul().infer(make_type("1..5,?,3"), make_type("3..,4,?")) == make_type("3..5,?,4")
    assert GroupedMatMul().infer(make_type("..."), make_type("2,4,3")) == make_type("...")


@pytest.mark.parametrize(
    ("offsets", "fault"),
    [
        ([2, 6], fault_with("offsets[1]", "mat_a", actual=6, expected="2 to 5")),
        ([3, 2], fault_with("offsets[1]", "mat_a", actual=2, expected="3 to 5")),
        ([-1, 5], fault_with("offsets[0]", "mat_a", actual=-1, expected="0 to 5")),
    ],
)
def test_offsets_out_of_range(offsets: list[int], fault: fault_with) -> None:
    a, b = np.ones((5, 3), np.float32), np.ones((2, 4, 3), np.float32)
    with pytest.raises(EvaluationError) as error:
        GroupedMatMul().evaluate(a, b, np.array(offsets))
    assert (error.value.code, error.value) == ("IR701", fault)
    types = (TensorType.of(a).without_values(), TensorType.of(b).without_values(), TensorType.of(np.array(offsets)))
    assert [(error.code, error) for error in GroupedMatMul().check_values(*types)] == [("IR701", fault)]
    assert GroupedMatMul().check_values(make_type("?,3"), *types[1:]) == []


@settings(max_examples=30)
@given(st.lists(st.integers(0, 4), min_size=1, max_size=5), st.integers(0, 3), st.integers(0, 2**32))
def test_groups_against_einsum(counts: list[int], behind: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    a = random.integers(-9, 9, (sum(counts) + behind, 3)).astype(np.int32)
    b = random.integers(-9, 9, (len(counts), 4, 3)).astype(np.int32)
    actual: Array = GroupedMatMul().evaluate(a, b, np.cumsum(counts))
    group_of_row = np.repeat(np.arange(len(counts)), counts)
    expected = np.einsum("rk,rnk->rn", a[: len(group_of_row)], b[group_of_row])
    assert np.array_equal(actual[: len(expected)], expected)
    assert not actual[len(expected) :].any()
