"""Real functions of elements of any type, in pieces and at once, into new arrays and into given ones."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest

from ir_exec.kernels import costs
from ir_exec.kernels.elementwise import Function, calculated_real
from ir_exec.types import Array

FLOATS = (np.float16, ml_dtypes.bfloat16, np.float32, np.float64)
INTEGERS = (np.int8, np.uint8, np.int16, np.int32, np.int64, np.uint64)


def in_place(numbers: Array) -> Array:
    """An exponential that writes into the vector that it is given."""
    numbers[...] = np.exp(numbers)
    return numbers


@pytest.fixture(params=[1, 4, 2**16], ids=["one by one", "by fours", "at once"])
def _pieces(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(costs, "PIECE_ELEMENTS", request.param)
    monkeypatch.setattr(costs, "SPLIT_ELEMENTS", 4 * request.param)


@pytest.mark.usefixtures("_pieces")
@pytest.mark.parametrize("function", [np.exp, in_place], ids=["ufunc", "expression"])
@pytest.mark.parametrize("dtype", FLOATS + INTEGERS, ids=lambda dtype: dtype.__name__)
@pytest.mark.parametrize("shape", [(), (0, 3), (4,), (2, 1, 3)], ids=str)
def test_every_element_is_that_of_the_function(function: Function, dtype: type, shape: tuple[int, ...]) -> None:
    data = (np.arange(math.prod(shape)) % 5).reshape(shape).astype(dtype)
    exact = np.array([math.exp(number) for number in data.ravel().tolist()]).reshape(shape)
    expected = exact.astype(dtype) if dtype in FLOATS else np.array([round(number) for number in exact.flat], dtype)
    tolerance = 2 * float(ml_dtypes.finfo(dtype).eps) if dtype in FLOATS else 0

    def same(found: Array) -> None:
        assert (found.shape, found.dtype) == (shape, np.dtype(dtype))
        np.testing.assert_allclose(
            found.astype(np.float64), expected.reshape(shape).astype(np.float64), rtol=tolerance, atol=0
        )

    before, out, over = data.copy(), np.full(shape, 77, dtype), data.copy()
    same(calculated_real(function, data))
    assert calculated_real(function, data, out) is out
    same(out)
    np.testing.assert_array_equal(data, before)
    assert calculated_real(function, over, over) is over
    same(over)


def test_integers_are_calculated_with_in_f64() -> None:
    roots = [2**26 + 1, 2**26 + 3]
    found = calculated_real(np.sqrt, np.array([root**2 for root in roots], np.int64))
    assert found.tolist() == roots


def test_what_an_integer_type_cannot_hold() -> None:
    assert calculated_real(lambda x: x * 100, np.array([-2, 1, 2], np.int8)).tolist() == [-128, 100, 127]
