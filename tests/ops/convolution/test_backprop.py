"""Transposed convolutions against the sums that define them, and their errors for wrong inputs."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ir_exec.errors import EvaluationError, ShapeError
from ir_exec.ops.convolution.backprop import ConvolutionBackpropData, GroupConvolutionBackpropData
from ir_exec.types import Array, ElementType, Shape, TensorType
from tests.helpers.chunks import in_chunks
from tests.helpers.convolution_problems import problems
from tests.helpers.drawing import draw_wider
from tests.helpers.facts import fault_with, mentions
from tests.helpers.operators import assert_holds, inference_error
from tests.helpers.values import make_type


def transposed_convolution(
    data: Array, filters: Array, steps: list[tuple[int, int, int]], sizes: tuple[int, ...]
) -> Array:
    """By its definition: filters [groups, C, O, kernel...]."""
    groups, channels, outputs, *kernel = filters.shape
    result = np.zeros((data.shape[0], groups * outputs, *sizes))
    for b, g, c, o in np.ndindex(data.shape[0], groups, channels, outputs):
        for window, element in product(np.ndindex(*data.shape[2:]), np.ndindex(*kernel)):
            position = [
                i * stride + k * dilation - pad
                for i, k, (stride, dilation, pad) in zip(window, element, steps, strict=True)
            ]
            if all(0 <= x < size for x, size in zip(position, sizes, strict=True)):
                value = data[(b, g * channels + c, *window)]
                result[(b, g * outputs + o, *position)] += value * filters[(g, c, o, *element)]
    return result


@given(problem=problems(), more=st.integers(0, 2), named=st.booleans(), widening=st.data())
@settings(max_examples=80)
def test_transposed_convolution_equals_definition(
    problem: dict[str, Any], more: int, named: bool, widening: st.DataObject
) -> None:
    data, steps, mode = problem["data"], problem["steps"], problem["auto_pad"]
    filters = problem["filters"].swapaxes(1, 2)
    rank = data.ndim - 2
    operator = GroupConvolutionBackpropData(**steps, auto_pad=mode, output_padding=(more,) * rank)
    full = [
        (size - 1) * stride + (kernel - 1) * dilation + 1
        for size, kernel, stride, dilation in zip(
            data.shape[2:], filters.shape[3:], steps["strides"], steps["dilations"], strict=True
        )
    ]
    ends = zip(steps["pads_begin"], steps["pads_end"], strict=True)
    pads = [begin + end if mode == "explicit" else 0 for begin, end in ends]
    sizes = tuple(size - pad + more for size, pad in zip(full, pads, strict=True))
    begins = list(steps["pads_begin"]) if mode == "explicit" else [0] * rank
    arrays = [data, filters]
    if named:
        sizes = tuple(max(size - 1, 1) for size in full)
        arrays.append(np.array(sizes))
        if mode.startswith("same"):
            surplus = [max(size - expected + more, 0) for size, expected in zip(full, sizes, strict=True)]
            begins = [total // 2 if mode == "same_lower" else total - total // 2 for total in surplus]
    if min(sizes) < 0:
        with pytest.raises(ShapeError) as error:
            operator.infer(*[TensorType.of(array) for array in arrays])
        assert error.value.code == "IR505"
        return
    expected = transposed_convolution(
        data, filters, list(zip(steps["strides"], steps["dilations"], begins, strict=True)), sizes
    )
    with pytest.MonkeyPatch.context() as patch:
        in_chunks(patch, "INTERMEDIATE_ELEMENTS", problem["block"])
        in_chunks(patch, "LEAST_WINDOWS", 1)
        in_chunks(patch, "CHUNK_ELEMENTS", problem["block"])
        assert np.array_equal(operator.evaluate(*arrays), expected)
    wider = [TensorType(ElementType.f32, draw_wider(widening.draw, array.shape)) for array in arrays[:2]]
    assert_holds(operator, wider + [TensorType.of(array) for array in arrays[2:]], arrays)


@pytest.mark.parametrize(
    ("output_shape", "code", "fault"),
    [
        (TensorType.of(np.array(3)), "IR501", fault_with("output_shape", "[]", actual=0, expected=1)),
        (TensorType.of(np.array([3])), "IR502", fault_with("output_shape", actual=1, expected=2)),
        (TensorType.of(np.array([3, -1])), "IR505", fault_with("output_shape", actual="[3, -1]", expected=mentions())),
    ],
)
def test_an_output_shape_that_cannot_be(output_shape: TensorType, code: str, fault: fault_with) -> None:
    error = inference_error(ConvolutionBackpropData(), make_type("1,2,4,4"), make_type("2,3,2,2"), output_shape)
    assert error == (code, fault)


@pytest.mark.parametrize("sizes", [[3], [3, -1], [3, 4, 5]])
def test_output_shape_known_at_run_time(sizes: list[int]) -> None:
    data, filters = np.zeros((1, 2, 4, 4), np.float32), np.zeros((2, 3, 2, 2), np.float32)
    with pytest.raises(EvaluationError) as error:
        ConvolutionBackpropData().evaluate(data, filters, np.array(sizes))
    assert (error.value.code, error.value.location.port) == ("IR704", "output_shape")
    assert error.value == fault_with("output_shape", actual=sizes, expected=mentions(2, 0))


def test_bounds_of_an_output_shape_are_dims() -> None:
    bounds = TensorType(ElementType.i64, Shape([2])).with_bounds(np.array([2, 0]), np.array([5, 2**63 - 1]))
    output_type = ConvolutionBackpropData().infer(make_type("1,2,?,?"), make_type("2,3,2,2"), bounds)
    assert output_type == make_type("1,3,2..5,?")
    output_type = ConvolutionBackpropData().infer(make_type("..."), make_type("..."), make_type("3", "i64"))
    assert output_type == make_type("?,?,?,?,?")


@pytest.mark.parametrize(("block", "least"), [(1, 1), (20, 1), (2**18, 128)])
@pytest.mark.parametrize("kernel", [(3,), (2, 3), (1, 2, 3)])
def test_windows_side_by_side(monkeypatch: pytest.MonkeyPatch, kernel: tuple[int, ...], block: int, least: int) -> None:
    in_chunks(monkeypatch, "INTERMEDIATE_ELEMENTS", block)
    in_chunks(monkeypatch, "LEAST_WINDOWS", least)
    generator = np.random.default_rng(0)
    rank = len(kernel)
    counts = (3, 4, 2)[:rank]
    data = generator.integers(-4, 5, (2, 2 * 3, *counts)).astype(np.float32)
    filters = generator.integers(-4, 5, (2, 3, 5, *kernel)).astype(np.float32)
    operator = GroupConvolutionBackpropData(
        strides=kernel, dilations=(1,) * rank, pads_begin=(0,) * rank, pads_end=(0,) * rank
    )
    sizes = tuple(count * size for count, size in zip(counts, kernel, strict=True))
    expected = transposed_convolution(data, filters, [(size, 1, 0) for size in kernel], sizes)
    assert np.array_equal(operator.evaluate(data, filters), expected)


def test_an_infinite_filter_reaches_its_own_elements_alone() -> None:
    data = np.arange(1, 13, dtype=np.float32).reshape(1, 2, 2, 3)
    filters = np.ones((2, 1, 1, 2, 2), np.float32)
    filters[0, 0, 0, 0, 1] = np.inf
    operator = GroupConvolutionBackpropData(strides=(1, 1), dilations=(1, 1), pads_begin=(0, 0), pads_end=(0, 0))
    expected = transposed_convolution(data, filters, [(1, 1, 0)] * 2, (3, 4))
    assert np.isfinite(expected).sum() == 18
    assert np.array_equal(operator.evaluate(data, filters), expected)


def test_infinite_data_reach_their_own_elements_alone() -> None:
    data = np.arange(1, 13, dtype=np.float32).reshape(1, 2, 2, 3)
    data[0, 1, 0, 1] = np.inf
    # Of three elements of a kernel two add to the even elements of the result, and one to the odd ones.
    filters = np.ones((2, 1, 1, 3, 3), np.float32)
    operator = GroupConvolutionBackpropData(strides=(2, 2), dilations=(1, 1), pads_begin=(0, 0), pads_end=(0, 0))
    expected = transposed_convolution(data, filters, [(2, 1, 0)] * 2, (5, 7))
    assert np.isfinite(expected).sum() == 61
    assert np.array_equal(operator.evaluate(data, filters), expected)


@pytest.mark.parametrize("block", [1, 40, 2**18])
@pytest.mark.parametrize(("stride", "dilation", "pad"), [(1, 1, 1), (2, 1, 1), (2, 2, 0), (3, 2, 2), (5, 1, 0)])
def test_groups_of_one_channel(
    monkeypatch: pytest.MonkeyPatch, block: int, stride: int, dilation: int, pad: int
) -> None:
    in_chunks(monkeypatch, "INTERMEDIATE_ELEMENTS", block)
    generator = np.random.default_rng(0)
    data = generator.integers(-4, 5, (2, 3, 4, 5)).astype(np.float32)
    filters = generator.integers(-4, 5, (3, 1, 2, 4, 3)).astype(np.float32)
    operator = GroupConvolutionBackpropData(
        strides=(stride,) * 2, dilations=(dilation,) * 2, pads_begin=(pad,) * 2, pads_end=(pad,) * 2
    )
    sizes = tuple((count - 1) * stride + (k - 1) * dilation + 1 - 2 * pad for count, k in ((4, 4), (5, 3)))
    expected = transposed_convolution(data, filters, [(stride, dilation, pad)] * 2, sizes)
    assert np.array_equal(operator.evaluate(data, filters), expected)
