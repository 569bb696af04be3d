"""GridSample: shapes, errors, and places far outside."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ir_exec.errors import EvaluationError, ShapeError
from ir_exec.ops import Op
from ir_exec.ops.image.grid_sample import GridSample
from ir_exec.types import Array, TensorType
from tests.helpers.chunks import in_chunks
from tests.helpers.facts import facts, fault_with
from tests.helpers.operators import evaluate
from tests.helpers.values import make_type


@pytest.mark.parametrize(
    ("operator", "inputs", "expected"),
    [
        (GridSample(), (make_type("2..3,4,5,6", "i8"), make_type("1..2,?,8,2")), "i8[2,4,?,8]"),
        (GridSample(), (make_type("..."), make_type("...")), "f32[?,?,?,?]"),
    ],
)
def test_shapes_from_bounds(operator: Op, inputs: tuple[TensorType, ...], expected: str) -> None:
    assert str(operator.infer(*inputs)) == expected


@pytest.mark.parametrize(
    ("operator", "inputs", "code", "fault"),
    [
        (GridSample(), (make_type("1,2,3,4"), make_type("1,2,3,3")), "IR502",
         fault_with("axis", "grid", 2, actual="3 and 2", expected="equal dims")),
        (GridSample(), (make_type("1,2,3,4"), make_type("2,2,3,2")), "IR502",
         fault_with("data", "grid", actual="1 and 2", expected="equal dims")),
        (GridSample(), (make_type("1,2,3"), make_type("2,2,3,2")), "IR501",
         fault_with("data", "[1,2,3]", actual=3, expected=4)),
    ],
)  # fmt: skip
def test_shapes_that_do_not_fit(operator: Op, inputs: tuple[TensorType, ...], code: str, fault: fault_with) -> None:
    with pytest.raises(ShapeError) as error:
        operator.infer(*inputs)
    assert (error.value.code, error.value) == (code, fault)


NUMBERS = st.sampled_from([0.0, 1.0, -2.5, 3.7, 40.0, np.nan, np.inf, -np.inf, 1e30, -1e30])


@settings(max_examples=60)
@given(
    st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=4),
    st.sampled_from(["bilinear", "nearest", "bicubic"]),
    st.sampled_from(["zeros", "border", "reflection"]),
    st.booleans(),
)
def test_no_place_breaks_anything(places: list[tuple[float, float]], mode: str, padding: str, align: bool) -> None:
    data = np.random.default_rng(0).random((1, 2, 4, 5)).astype(np.float32)
    operator = GridSample(mode=mode, padding_mode=padding, align_corners=align)
    result = evaluate(operator, data, np.array([[places]], np.float32))
    if mode == "nearest":
        assert np.isin(result, [*data.ravel(), 0]).all()


def test_an_empty_image_has_nothing_to_read() -> None:
    grid = np.zeros((1, 1, 1, 2), np.float32)
    with pytest.raises(EvaluationError) as error:
        evaluate(GridSample(), np.zeros((1, 2, 0, 3), np.float32), grid)
    assert facts(error.value.message) == ["[1, 2, 0, 3]"]


@pytest.mark.parametrize(
    "data",
    [
        np.array([2**62 + 1, -(2**62) - 1, 2**53 + 1, 7], np.int64),
        np.array([2**31 - 1, -(2**31) + 1, 2**24 + 1, 7], np.int32),
        np.array([1 + 2**-50, 1e300, -1e-300, 0.1]),
    ],
)
def test_nearest_copies_every_digit(data: Array) -> None:
    grid = np.array([[-1, 0], [1 / 3, 0], [-1 / 3, 0], [1, 0]], np.float32).reshape(1, 1, 4, 2)
    result = evaluate(GridSample(mode="nearest", align_corners=True), data.reshape(1, 1, 1, 4), grid)
    assert result.dtype == data.dtype
    assert result.ravel().tolist() == data[[0, 2, 1, 3]].tolist()


@pytest.mark.parametrize("mode", ["nearest", "bilinear", "bicubic"])
@pytest.mark.parametrize("padding_mode", ["zeros", "border"])
def test_pieces_and_copies_change_nothing(monkeypatch: pytest.MonkeyPatch, mode: str, padding_mode: str) -> None:
    generator = np.random.default_rng(0)
    data = generator.normal(size=(3, 2, 5, 4)).astype(np.float32)
    points = generator.uniform(-1.5, 1.5, (3, 6, 7, 2)).astype(np.float32)
    operator = GridSample(mode=mode, padding_mode=padding_mode)
    # Images are copied for many points, and read where they are for a few.
    for grid in (points, points[:, :1, :2]):
        expected = np.concatenate([operator.evaluate(data[n : n + 1], grid[n : n + 1]) for n in range(3)])
        for chunk in (1, 20, 100, 10**6):
            in_chunks(monkeypatch, "CHUNK_ELEMENTS", chunk)
            assert np.array_equal(operator.evaluate(data, grid), expected)
