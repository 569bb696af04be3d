"""Unique: errors, dynamic shapes, and a plain loop."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from ir_exec.errors import ShapeError
from ir_exec.ops.movement.unique import Unique
from ir_exec.types import Array, ElementType, Shape, TensorType
from tests.helpers.values import constant, make_type

ROWS = np.array([[1, 2], [3, 4], [1, 2]], np.float32)

small = arrays.arrays(np.int64, arrays.array_shapes(min_dims=1, max_dims=3, max_side=4), elements=st.integers(-2, 2))


def i64(text: str) -> TensorType:
    return make_type(text, ElementType.i64)


@pytest.mark.parametrize(
    ("data", "axis", "expected"),
    [
        ("3,4", None, ["1..12", "1..12", "12", "1..12"]),
        ("?,2", None, ["?", "?", "?", "?"]),
        ("...", None, ["?", "?", "?", "?"]),
        ("", None, ["1", "1", "1", "1"]),
        ("0,3", None, ["0", "0", "0", "0"]),
        ("?,2", 0, ["?,2", "?", "?", "?"]),
        ("2..4,3", 0, ["1..4,3", "1..4", "2..4", "1..4"]),
        ("0,3", 0, ["0,3", "0", "0", "0"]),
        ("3,?", 0, ["1..3,?", "1..3", "3", "1..3"]),
        ("...", 0, ["...", "?", "?", "?"]),
    ],
)
def test_unique_shapes(data: str, axis: int | None, expected: list[str]) -> None:
    output_types = Unique().infer(*([make_type(data)] if axis is None else [make_type(data), constant(axis)]))
    assert [str(output.shape) for output in output_types] == [str(Shape.parse(text)) for text in expected]


def test_unique_of_known_values() -> None:
    output_types = Unique(count_element_type="i32").infer(TensorType.of(ROWS), constant(0))
    assert output_types == (make_type("2,2"), i64("2"), i64("3"), make_type("2", ElementType.i32))
    assert Unique().infer(TensorType.of(ROWS), i64("")) == (make_type("1..3,1..2"), i64("?"), i64("?"), i64("?"))


def test_unique_errors() -> None:
    for data, axis, code in (("", 0, "IR501"), ("3,4", 2, "IR503"), ("3,4", [0, 1], "IR502")):
        with pytest.raises(ShapeError) as raised:
            Unique().infer(make_type(data), constant(axis))
        assert raised.value.code == code


@pytest.mark.parametrize(
    ("data", "axis", "shape", "count"),
    [
        (ROWS[:0], None, (0,), 0),
        (ROWS[:0], 0, (0, 2), 0),
        (ROWS[:0], 1, (0, 1), 1),
        (ROWS[:, :0], 0, (1, 0), 1),
    ],
)
def test_unique_of_nothing(data: Array, axis: int | None, shape: tuple[int, ...], count: int) -> None:
    for ordered in (True, False):
        unique, first, inverse, counts = Unique(sorted=ordered).evaluate(
            data, *([] if axis is None else [np.array(axis)])
        )
        assert unique.shape == shape
        assert first.tolist() == [0] * count
        size = data.size if axis is None else data.shape[axis]
        assert inverse.tolist() == [0] * size
        assert counts.tolist() == [size] * count


@settings(max_examples=80)
@given(data=small, choice=st.none() | st.integers(-3, 2), ordered=st.booleans())
def test_unique_against_a_plain_loop(data: Array, choice: int | None, ordered: bool) -> None:
    axis = None if choice is None else choice % data.ndim
    slices = data.ravel() if axis is None else np.moveaxis(data, axis, 0)
    keys = [tuple(np.ravel(piece).tolist()) for piece in slices]
    different = sorted(set(keys)) if ordered else list(dict.fromkeys(keys))
    result = Unique(sorted=ordered).evaluate(data, *([] if axis is None else [np.array(axis)]))
    unique, first, inverse, counts = result
    rows = unique if axis is None else np.moveaxis(unique, axis, 0)
    assert [tuple(np.ravel(row).tolist()) for row in rows] == different
    assert first.tolist() == [keys.index(key) for key in different]
    assert inverse.tolist() == [different.index(key) for key in keys]
    assert counts.tolist() == [keys.count(key) for key in different]


@pytest.mark.parametrize("name", ["u1", "u2", "u3", "u4", "u6", "i4", "nf4", "f4e2m1", "f8e4m3", "f8e8m0", "string"])
def test_unique_of_types_that_openvino_cannot_compare(name: str) -> None:
    codes = np.array([[1, 0, 1], [0, 0, 0]], np.uint8)
    data = codes.astype(str).astype(object) if name == "string" else codes.view(ElementType[name].dtype)
    unique, first, inverse, counts = Unique().evaluate(data)
    assert unique.dtype == data.dtype
    assert unique.tolist() == data[0, 1::-1].tolist()
    assert (first.tolist(), inverse.tolist(), counts.tolist()) == ([1, 0], [1, 0, 1, 0, 0, 0], [4, 2])
    columns, first, inverse, counts = Unique(sorted=False).evaluate(data, np.array(1))
    assert columns.tolist() == data[:, :2].tolist()
    assert (first.tolist(), inverse.tolist(), counts.tolist()) == ([0, 1], [0, 1, 0], [2, 1])
