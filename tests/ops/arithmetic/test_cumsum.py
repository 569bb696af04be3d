"""CumSum: errors, and the specification's own words as a loop."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from ir_exec.errors import EvaluationError, ShapeError
from ir_exec.ops.arithmetic.cumsum import CumSum
from ir_exec.tuning import thresholds
from ir_exec.types import Array, ElementType
from tests.helpers.facts import fault_with
from tests.helpers.values import constant, make_type

ROWS = np.array([[1, 2], [3, 4], [1, 2]], np.float32)

small = arrays.arrays(np.int64, arrays.array_shapes(min_dims=1, max_dims=3, max_side=4), elements=st.integers(-2, 2))


def test_cum_sum_errors() -> None:
    for infer, fault in (
        (lambda: CumSum().infer(make_type("")), fault_with("data", code="IR501", actual=0, expected="1 or more")),
        (
            lambda: CumSum().infer(make_type("2,3"), constant(2)),
            fault_with("axis", code="IR503", actual=2, expected="-2 to 1"),
        ),
        (
            lambda: CumSum().infer(make_type("2,3"), constant([0, 1])),
            fault_with("axis", code="IR502", actual="[2]", expected="one element"),
        ),
    ):
        with pytest.raises(ShapeError) as raised:
            infer()
        assert raised.value == fault
    with pytest.raises(EvaluationError) as evaluated:
        CumSum().evaluate(ROWS, np.array(-3))
    assert (evaluated.value.code, evaluated.value.location.port) == ("IR704", "axis")


@pytest.mark.parametrize(("name", "expected"), [("u2", [3, 2, 1]), ("u4", [3, 6, 9]), ("i4", [3, 6, -7])])
def test_cum_sums_of_small_integers_wrap(name: str, expected: list[int]) -> None:
    data = np.array([3, 3, 3]).astype(ElementType[name].dtype)
    actual = CumSum().evaluate(data)
    assert ElementType.of(actual) is ElementType[name]
    assert actual.astype(int).tolist() == expected


@settings(max_examples=60)
@given(data=small, exclusive=st.booleans(), reverse=st.booleans(), choice=st.integers(-3, 2))
def test_cumulative_sums_match_specification(data: Array, exclusive: bool, reverse: bool, choice: int) -> None:
    axis = choice % data.ndim
    result = CumSum(exclusive=exclusive, reverse=reverse).evaluate(data, np.array(axis))
    for index in np.ndindex(data.shape):
        position = index[axis]
        counted = range(position + exclusive, data.shape[axis]) if reverse else range(position + 1 - exclusive)
        line = np.moveaxis(data, axis, -1)[(*index[:axis], *index[axis + 1 :])]
        assert result[index] == sum(int(line[i]) for i in counted)


@pytest.mark.parametrize("shape", [(3, 45, 70), (200, 48), (920, 9, 1), (9001,), (8, 0, 3)])
@pytest.mark.parametrize("dtype", [np.float32, np.uint8, np.bool_])
@pytest.mark.parametrize("reverse", [False, True])
def test_sums_in_blocks(shape: tuple[int, ...], dtype: type, *, reverse: bool) -> None:
    """Of whole numbers, whose sums are exact."""
    data = np.random.default_rng(0).integers(0, 100, shape).astype(dtype)
    for axis in range(len(shape)):
        turned = np.flip(data, axis) if reverse else data
        expected = np.cumsum(turned, axis, dtype)
        for exclusive in (False, True):
            actual = CumSum(exclusive=exclusive, reverse=reverse).evaluate(data, np.array(axis))
            assert actual.dtype == dtype
            actual = np.flip(actual, axis) if reverse else actual
            if exclusive:
                assert not np.take(actual, [0][: shape[axis]], axis).any()
                actual = np.delete(actual, [0][: shape[axis]], axis)
            np.testing.assert_array_equal(actual, np.take(expected, range(actual.shape[axis]), axis))


def test_block_sum_beyond_the_type() -> None:
    data = np.zeros(thresholds.TABLE_ELEMENTS, np.float32)
    data[0], data[8:10] = -3e38, 3e38
    with np.errstate(over="ignore"):
        result = CumSum().evaluate(data, np.array(0))
    np.testing.assert_array_equal(result, np.cumsum(data))
