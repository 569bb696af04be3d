"""NonZero, CumSum, TopK, Unique: errors, dynamic shapes, and results against plain loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from ir_exec.errors import EvaluationError, InvalidAttributeError, ShapeError, raise_error
from ir_exec.ops.arithmetic.cumsum import CumSum
from ir_exec.ops.condition import NonZero
from ir_exec.ops.movement.unique import Unique
from ir_exec.ops.sort.top_k import TopK, TopK1, TopK3
from ir_exec.types import Array, ElementType, Shape, TensorType

I64_MAX = 2**63 - 1
ROWS = np.array([[1, 2], [3, 4], [1, 2]], np.float32)

small = arrays.arrays(np.int64, arrays.array_shapes(min_dims=1, max_dims=3, max_side=4), elements=st.integers(-2, 2))


def kind(text: str, element_type: ElementType = ElementType.f32) -> TensorType:
    return TensorType(element_type, Shape.parse(text))


def i64(text: str) -> TensorType:
    return kind(text, ElementType.i64)


def known(value: object) -> TensorType:
    return TensorType.of(np.array(value))


def between(low: int, high: int) -> TensorType:
    return TensorType(ElementType.i64, Shape([])).with_bounds(np.array(low), np.array(high))


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ("2,3", "2,..6"),
        ("?,3", "2,?"),
        ("2..4,3", "2,..12"),
        ("0,3", "2,0"),
        ("...", "?,?"),
        ("", "..1,..1"),
    ],
)
def test_non_zero_shapes(data: str, expected: str) -> None:
    assert NonZero().infer(kind(data)) == i64(expected)


@pytest.mark.parametrize(("value", "expected"), [(0, "0,0"), (5, "1,1"), ([1, 0, 2], "1,2"), ([[0, 0]], "2,0")])
def test_non_zero_of_known_values(value: object, expected: str) -> None:
    assert NonZero().infer(known(value)) == i64(expected)


@pytest.mark.parametrize("name", ["u1", "u2", "u3", "u4", "u6", "i4", "f4e2m1", "f8e4m3", "f8e5m2"])
def test_non_zero_of_small_types(name: str) -> None:
    data = np.array([[0, 1], [1, 0]], np.uint8).view(ElementType[name].dtype)
    assert NonZero().evaluate(data).tolist() == [[0, 1], [1, 0]]
    assert NonZero().evaluate(data[1, 0, ...]).tolist() == [[0]]


def test_non_zero_knows_the_zero_of_nf4_and_that_f8e8m0_has_none() -> None:
    codes = np.array([0, 7, 15], np.uint8)
    assert NonZero().evaluate(codes.view(ElementType.nf4.dtype)).tolist() == [[0, 2]]
    assert NonZero().evaluate(codes.view(ElementType.f8e8m0.dtype)).tolist() == [[0, 1, 2]]


def test_cum_sum_errors() -> None:
    for infer, code, message in (
        (lambda: CumSum().infer(kind("")), "IR501", "data is a scalar, expected rank 1 or more"),
        (
            lambda: CumSum().infer(kind("2,3"), known(2)),
            "IR503",
            "axis 2 is out of range for rank 2 (allowed: -2 to 1)",
        ),
        (
            lambda: CumSum().infer(kind("2,3"), known([0, 1])),
            "IR502",
            "axis has shape [2], expected one element",
        ),
    ):
        with pytest.raises(ShapeError) as raised:
            infer()
        assert (raised.value.code, raised.value.message) == (code, message)
    with pytest.raises(EvaluationError) as evaluated:
        CumSum().evaluate(ROWS, np.array(-3))
    assert (evaluated.value.code, evaluated.value.location.port) == ("IR704", "axis")


@pytest.mark.parametrize(("name", "expected"), [("u2", [3, 2, 1]), ("u4", [3, 6, 9]), ("i4", [3, 6, -7])])
def test_cum_sums_of_small_integers_wrap(name: str, expected: list[int]) -> None:
    data = np.array([3, 3, 3]).astype(ElementType[name].dtype)
    found = CumSum().evaluate(data)
    assert ElementType.of(found) is ElementType[name]
    assert found.astype(int).tolist() == expected


@settings(max_examples=60)
@given(data=small, exclusive=st.booleans(), reverse=st.booleans(), choice=st.integers(-3, 2))
def test_cum_sums_as_the_specification_describes_them(data: Array, exclusive: bool, reverse: bool, choice: int) -> None:
    axis = choice % data.ndim
    found = CumSum(exclusive=exclusive, reverse=reverse).evaluate(data, np.array(axis))
    for index in np.ndindex(data.shape):
        place = index[axis]
        counted = range(place + exclusive, data.shape[axis]) if reverse else range(place + 1 - exclusive)
        line = np.moveaxis(data, axis, -1)[(*index[:axis], *index[axis + 1 :])]
        assert found[index] == sum(int(line[i]) for i in counted)


TOP = {"axis": -1, "mode": "max", "sort": "value"}


def top_k(**attributes: Any) -> TopK:
    return TopK(**(TOP | attributes))


@pytest.mark.parametrize(
    ("data", "k", "expected"),
    [
        ("?", i64(""), "?"),
        ("3..8", i64(""), "..8"),
        ("1..", known(2), "2"),
        ("...", known(2), "..."),
        ("3..8", between(2, 4), "2..4"),
        ("3..8", between(3, I64_MAX), "3..8"),
        ("?", between(3, I64_MAX), "3.."),
        ("3..8", between(-4, 2), "..2"),
    ],
)
def test_top_k_shapes(data: str, k: TensorType, expected: str) -> None:
    for layer in (top_k(), TopK1(**TOP), TopK3(**TOP)):
        assert layer.infer(kind(data), k) == (kind(expected), kind(expected, ElementType.i32))


@pytest.mark.parametrize(
    ("data", "k", "axis", "code", "message"),
    [
        ("3..8", known(9), 0, "IR505", "k is 9, allowed are 0 to 8, the size of the axis"),
        ("3", known(-1), 0, "IR505", "k is -1, allowed are 0 to 3, the size of the axis"),
        ("3", known([1]), 0, "IR501", "k has rank 1 ([1]), expected 0"),
        ("", known(1), 0, "IR501", "data is a scalar, expected rank 1 or more"),
        ("3", known(1), 1, "IR503", "axis 1 is out of range for rank 1 (allowed: -1 to 0)"),
    ],
)
def test_top_k_errors(data: str, k: TensorType, axis: int, code: str, message: str) -> None:
    with pytest.raises(ShapeError) as raised:
        top_k(axis=axis).infer(kind(data), k)
    assert (raised.value.code, raised.value.message) == (code, message)


@pytest.mark.parametrize("k", [-1, 4])
def test_top_k_at_run_time(k: int) -> None:
    with pytest.raises(EvaluationError) as raised:
        top_k().evaluate(np.arange(3), np.array(k))
    assert (raised.value.code, raised.value.location.port) == ("IR704", "k")
    assert raised.value.message == f"k is {k}, allowed are 0 to 3, the size of the axis"


def test_top_k_attributes() -> None:
    texts = {"axis": "0", "mode": "MAX", "sort": "value"}
    assert TopK.parse(texts, raise_error) == top_k(axis=0)
    for change, code in (
        ({"mode": "most"}, "IR302"),
        ({"sort": "up"}, "IR302"),
        ({"index_element_type": "i8"}, "IR302"),
        ({"stable": "true", "sort": "none"}, "IR302"),
    ):
        with pytest.raises(InvalidAttributeError) as raised:
            TopK.parse(texts | change, raise_error)
        assert raised.value.code == code


@settings(max_examples=60)
@given(
    data=small, part=st.floats(0, 1), mode=st.sampled_from(["max", "min"]), order=st.sampled_from(["value", "index"])
)
def test_top_k_against_a_sort_of_every_line(data: Array, part: float, mode: str, order: str) -> None:
    axis = data.ndim - 1
    k = round(part * data.shape[axis])
    values, indices = top_k(axis=axis, mode=mode, sort=order).evaluate(data, np.array(k))
    sign = -1 if mode == "max" else 1
    for lead in np.ndindex(data.shape[:-1]):
        line = data[lead].tolist()
        best = sorted(range(len(line)), key=lambda i, line=line: (sign * line[i], i))[:k]
        best = sorted(best) if order == "index" else best
        assert indices[lead].tolist() == best
        assert values[lead].tolist() == [line[i] for i in best]


@pytest.mark.parametrize(
    "name", ["u2", "u3", "u4", "u6", "i4", "nf4", "f4e2m1", "f8e4m3", "f8e5m2", "f8e8m0", "boolean"]
)
def test_top_k_of_small_types(name: str) -> None:
    codes = np.array([0, 1, 1, 0], np.uint8)
    data = codes.view(ElementType[name].dtype)
    values, indices = top_k().evaluate(data, np.array(3))
    assert values.dtype == data.dtype
    assert indices.tolist() == [1, 2, 0]
    assert top_k(mode="min").evaluate(data, np.array(3))[1].tolist() == [0, 3, 1]


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
    found = Unique().infer(*([kind(data)] if axis is None else [kind(data), known(axis)]))
    assert [str(one.shape) for one in found] == [str(Shape.parse(text)) for text in expected]


def test_unique_of_known_values() -> None:
    found = Unique(count_element_type="i32").infer(TensorType.of(ROWS), known(0))
    assert found == (kind("2,2"), i64("2"), i64("3"), kind("2", ElementType.i32))
    assert Unique().infer(TensorType.of(ROWS), i64("")) == (kind("1..3,1..2"), i64("?"), i64("?"), i64("?"))


def test_unique_errors() -> None:
    for data, axis, code in (("", 0, "IR501"), ("3,4", 2, "IR503"), ("3,4", [0, 1], "IR502")):
        with pytest.raises(ShapeError) as raised:
            Unique().infer(kind(data), known(axis))
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
    keys = [tuple(np.ravel(one).tolist()) for one in slices]
    different = sorted(set(keys)) if ordered else list(dict.fromkeys(keys))
    found = Unique(sorted=ordered).evaluate(data, *([] if axis is None else [np.array(axis)]))
    unique, first, inverse, counts = found
    rows = unique if axis is None else np.moveaxis(unique, axis, 0)
    assert [tuple(np.ravel(one).tolist()) for one in rows] == different
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
