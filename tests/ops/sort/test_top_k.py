"""TopK: errors, dynamic shapes, and a plain loop."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from ir_exec.errors import EvaluationError, InvalidAttributeError, ShapeError, raise_error
from ir_exec.ops.sort.top_k import TopK, TopK1, TopK3
from ir_exec.types import Array, ElementType, TensorType
from tests.helpers.facts import fault_with
from tests.helpers.operators import make, run
from tests.helpers.values import between, constant, make_type

I64_MAX = 2**63 - 1

small = arrays.arrays(np.int64, arrays.array_shapes(min_dims=1, max_dims=3, max_side=4), elements=st.integers(-2, 2))


def i64(text: str) -> TensorType:
    return make_type(text, ElementType.i64)


TOP = {"axis": -1, "mode": "max", "sort": "value"}


def top_k(**attributes: Any) -> TopK:
    return TopK(**(TOP | attributes))


@pytest.mark.parametrize(
    ("data", "k", "expected"),
    [
        ("?", i64(""), "?"),
        ("3..8", i64(""), "..8"),
        ("1..", constant(2), "2"),
        ("...", constant(2), "..."),
        ("3..8", between(2, 4), "2..4"),
        ("3..8", between(3, I64_MAX), "3..8"),
        ("?", between(3, I64_MAX), "3.."),
        ("3..8", between(-4, 2), "..2"),
    ],
)
def test_top_k_shapes(data: str, k: TensorType, expected: str) -> None:
    for layer in (top_k(), TopK1(**TOP), TopK3(**TOP)):
        assert layer.infer(make_type(data), k) == (make_type(expected), make_type(expected, ElementType.i32))


@pytest.mark.parametrize(
    ("data", "k", "axis", "code", "fault"),
    [
        ("3..8", constant(9), 0, "IR505", fault_with("k", "axis", actual=9, expected="0 to 8")),
        ("3", constant(-1), 0, "IR505", fault_with("k", "axis", actual=-1, expected="0 to 3")),
        ("3", constant([1]), 0, "IR501", fault_with("k", "[1]", actual=1, expected=0)),
        ("", constant(1), 0, "IR501", fault_with("data", actual=0, expected="1 or more")),
        ("3", constant(1), 1, "IR503", fault_with("axis", actual=1, expected="-1 to 0")),
    ],
)
def test_top_k_errors(data: str, k: TensorType, axis: int, code: str, fault: fault_with) -> None:
    with pytest.raises(ShapeError) as raised:
        top_k(axis=axis).infer(make_type(data), k)
    assert (raised.value.code, raised.value) == (code, fault)


@pytest.mark.parametrize("k", [-1, 4])
def test_top_k_at_run_time(k: int) -> None:
    with pytest.raises(EvaluationError) as raised:
        top_k().evaluate(np.arange(3), np.array(k))
    assert raised.value == fault_with("k", code="IR704", port="k", actual=k, expected="0 to 3")


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


@pytest.mark.parametrize("mode", ["max", "min"])
@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.float16])
def test_thousands_of_equal_elements_keep_their_order(mode: str, dtype: type) -> None:
    data = np.random.default_rng(0).integers(0, 3, (2, 20_000)).astype(dtype)
    for sort in ("value", "index"):
        operator = make("TopK", 11, axis=1, mode=mode, sort=sort, stable="true")
        values, indices = operator.evaluate(data, np.array(15_000))
        for row, actual in zip(data.tolist(), indices.tolist(), strict=True):
            order = sorted(range(len(row)), key=lambda i: -row[i] if mode == "max" else row[i])[:15_000]  # at once
            assert actual == (sorted(order) if sort == "index" else order)
        np.testing.assert_array_equal(values, np.take_along_axis(data, indices, 1))


def test_best_rois_first_of_equal_ones_the_first() -> None:
    rois = np.arange(16, dtype=np.float32).reshape(4, 4)
    output = run(make("ExperimentalDetectronTopKROIs", 6, max_rois=5), rois, np.array([1, 3, 1, 2], np.float32))
    assert output.tolist() == [*rois[[1, 3, 0, 2]].tolist(), [0, 0, 0, 0]]
