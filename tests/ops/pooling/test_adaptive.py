"""Adaptive pooling: shapes, and errors."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ir_exec.errors import EvaluationError, ShapeError
from ir_exec.ops.pooling.adaptive import AdaptiveAvgPool, AdaptiveMaxPool
from ir_exec.types import ElementType, Shape, TensorType
from tests.helpers.facts import facts, fault_with, mentions
from tests.helpers.operators import inference_error
from tests.helpers.values import make_type


@given(
    sizes=st.lists(st.integers(1, 7), min_size=1, max_size=3),
    expected=st.lists(st.integers(0, 9), min_size=3, max_size=3),
    seed=st.integers(0, 99),
)
@settings(max_examples=60)
def test_adaptive_windows(sizes: list[int], expected: list[int], seed: int) -> None:
    data = np.random.default_rng(seed).integers(0, 5, (2, 2, *sizes)).astype(np.float32)
    counts = expected[: len(sizes)]
    output_shape = np.array(counts)
    means = AdaptiveAvgPool().evaluate(data, output_shape)
    greatest, indices = AdaptiveMaxPool(index_element_type=ElementType.i32).evaluate(data, output_shape)
    assert indices.dtype == np.int32
    assert means.shape == greatest.shape == indices.shape == (2, 2, *counts)
    for index in np.ndindex(*means.shape):
        window = tuple(
            slice(int(np.floor(i * size / count)), int(np.ceil((i + 1) * size / count)))
            for i, size, count in zip(index[2:], sizes, counts, strict=True)
        )
        elements = data[index[:2]][window]
        assert np.isclose(means[index], elements.mean())
        assert greatest[index] == elements.max()
        numbers = np.arange(np.prod(sizes)).reshape(sizes)[window]
        assert indices[index] == numbers.ravel()[np.argmax(elements)]


def test_adaptive_windows_take_only_their_results() -> None:
    data = np.array([[[3, 1, 2]]], np.float32)
    tracemalloc.start()
    means = AdaptiveAvgPool().evaluate(data, np.array([300_000]))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert means[0, 0, [0, 99_999, 100_000, 299_999]].tolist() == [3, 3, 1, 2]
    assert peak < 64 * 300_000


@pytest.mark.parametrize("operator", [AdaptiveAvgPool(), AdaptiveMaxPool()])
def test_adaptive_pooling_refuses(operator: Any) -> None:
    data = make_type("1,2,4,5")
    what = fault_with("output_shape", actual="3 and 2", expected="equal dims")
    assert inference_error(operator, data, TensorType.of(np.array([1, 2, 3]))) == ("IR502", what)
    with pytest.raises(ShapeError) as raised:
        operator.infer(data, TensorType.of(np.array([1, 2, 3])))
    assert raised.value.location.port == "output_shape"
    failure = inference_error(operator, data, TensorType.of(np.array([1, -2])))
    assert failure == ("IR505", fault_with("output_shape", actual="[1, -2]", expected=mentions()))
    assert inference_error(operator, data, make_type("", "i64"))[0] == "IR501"
    assert inference_error(operator, make_type("1,2"), make_type("?", "i64"))[0] == "IR501"
    with pytest.raises(EvaluationError) as error:
        operator.evaluate(np.zeros((1, 2, 4, 5), np.float32), np.array([1, -2]))
    fault = fault_with("output_shape", actual="[1, -2]", expected="2 sizes of 0 or more")
    assert (error.value.code, error.value) == ("IR704", fault)
    with pytest.raises(EvaluationError) as error:
        operator.evaluate(np.zeros((1, 2, 0, 5), np.float32), np.array([1, 2]))
    assert facts(error.value.message) == ["[1, 2, 0, 5]"]


def test_adaptive_pooling_with_little_known() -> None:
    bounds = TensorType(ElementType.i64, Shape([2])).with_bounds(np.array([2, 0]), np.array([5, 2**63 - 1]))
    assert AdaptiveAvgPool().infer(make_type("1,?,?,?"), bounds) == make_type("1,?,2..5,?")
    assert AdaptiveAvgPool().infer(make_type("1,2,3"), make_type("?", "i64")) == make_type("1,2,?")
    output_types = AdaptiveMaxPool(index_element_type=ElementType.i32).infer(make_type("..."), make_type("2", "i64"))
    assert output_types == (make_type("..."), make_type("...", "i32"))


@pytest.mark.parametrize("batch", [0, 2])
def test_large_windows_hold_first_of_equal_elements_and_nan(batch: int) -> None:
    data = np.random.default_rng(0).integers(0, 9, (batch, 3, 21, 23)).astype(np.float32)
    data[:1, 1, 5:7, 4:6] = np.nan
    values, places = AdaptiveMaxPool().evaluate(data, np.array([2, 2]))
    for row, column in np.ndindex(2, 2):
        down, along = slice(row * 10, row * 10 + 11), slice(column * 11, column * 11 + 12)
        flat = data[..., down, along].reshape(batch, 3, 11 * 12)
        first = flat.argmax(2)
        np.testing.assert_array_equal(values[..., row, column], np.take_along_axis(flat, first[..., None], 2)[..., 0])
        expected = (first // 12 + down.start) * 23 + first % 12 + along.start
        np.testing.assert_array_equal(places[..., row, column], expected)
