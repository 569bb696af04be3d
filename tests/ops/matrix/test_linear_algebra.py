"""Inverse and GroupedMatMul: shapes and errors."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ir_exec.errors import EvaluationError, ShapeError
from ir_exec.ops.matrix.linear_algebra import GroupedMatMul, Inverse
from ir_exec.types import Array, TensorType
from tests.helpers.facts import mentions
from tests.helpers.values import typed


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ("3", "IR501", mentions("data", 1, "[3]", 2)),
        ("2,3,4", "IR502", mentions("data", 3, 4)),
        ("2..3,4", "IR502", mentions("data", 2, 3, 4)),
    ],
)
def test_errors_of_inverse(text: str, code: str, message: mentions) -> None:
    with pytest.raises(ShapeError) as error:
        Inverse().infer(typed(text))
    assert (error.value.code, error.value.message) == (code, message)


def test_both_sides_of_a_matrix_tell_its_size() -> None:
    assert Inverse().infer(typed("?,2..5,3..")) == typed("?,3..5,3..5")
    assert Inverse().infer(typed("...")) == typed("...")


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
        found = Inverse().evaluate(data)
    assert found[0].tolist() == [[1, 0], [0, 1]]
    assert found[2].tolist() == [[0.5, 0], [0, 0.5]]
    assert not np.isfinite(found[1]).any()


@pytest.mark.parametrize(
    ("types", "code", "message"),
    [
        (("5,3", "2,4,3"), "IR505", mentions("offsets", "ends", "mat_a", 2)),
        (("5,3", "2,4,5", "2"), "IR502", mentions("mat_a", "mat_b", 3, 5)),
        (("2,5,3", "3,4,3"), "IR502", mentions("axis", 0, "mat_a", "mat_b", 2, 3)),
        (("5,3", "4,3", "2"), "IR501", mentions("mat_b", 2, "[4,3]", 3)),
        (("3", "2,4,3", "2"), "IR501", mentions("mat_a", 1, "[3]", 2, 3)),
        (("5,3", "2,4,3", "1,2"), "IR501", mentions("offsets", 2, "[1,2]", 1)),
        (("5,3", "3,4,3", "2"), "IR502", mentions("offsets", "axis", 0, "mat_b", 2, 3)),
    ],
)
def test_errors_of_grouped_products(types: tuple[str, ...], code: str, message: mentions) -> None:
    with pytest.raises(ShapeError) as error:
        GroupedMatMul().infer(*[typed(text) for text in types])
    assert (error.value.code, error.value.message) == (code, message)


def test_partly_known_groups() -> None:
    assert GroupedMatMul().infer(typed("?,3"), typed("?,2..4,?"), typed("?")) == typed("?,2..4")
    assert GroupedMatMul().infer(typed("1..5,?,3"), typed("3..,4,?")) == typed("3..5,?,4")
    assert GroupedMatMul().infer(typed("..."), typed("2,4,3")) == typed("...")


@pytest.mark.parametrize(
    ("offsets", "message"),
    [
        ([2, 6], mentions("offsets[1]", 6, 2, 5, "mat_a")),
        ([3, 2], mentions("offsets[1]", 2, 3, 5, "mat_a")),
        ([-1, 5], mentions("offsets[0]", -1, 0, 5, "mat_a")),
    ],
)
def test_offsets_out_of_range(offsets: list[int], message: mentions) -> None:
    a, b = np.ones((5, 3), np.float32), np.ones((2, 4, 3), np.float32)
    with pytest.raises(EvaluationError) as error:
        GroupedMatMul().evaluate(a, b, np.array(offsets))
    assert (error.value.code, error.value.message) == ("IR701", message)
    types = (TensorType.of(a).without_values(), TensorType.of(b).without_values(), TensorType.of(np.array(offsets)))
    assert [(found.code, found.message) for found in GroupedMatMul().check_values(*types)] == [("IR701", message)]
    assert GroupedMatMul().check_values(typed("?,3"), *types[1:]) == []


@settings(max_examples=30)
@given(st.lists(st.integers(0, 4), min_size=1, max_size=5), st.integers(0, 3), st.integers(0, 2**32))
def test_groups_against_einsum(counts: list[int], behind: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    a = random.integers(-9, 9, (sum(counts) + behind, 3)).astype(np.int32)
    b = random.integers(-9, 9, (len(counts), 4, 3)).astype(np.int32)
    found: Array = GroupedMatMul().evaluate(a, b, np.cumsum(counts))
    group_of_row = np.repeat(np.arange(len(counts)), counts)
    wanted = np.einsum("rk,rnk->rn", a[: len(group_of_row)], b[group_of_row])
    assert np.array_equal(found[: len(wanted)], wanted)
    assert not found[len(wanted) :].any()
