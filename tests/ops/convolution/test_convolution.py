"""Convolutions against the sums that define them, and their errors for wrong inputs."""

from __future__ import annotations

import tracemalloc
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ir_exec.errors import InvalidAttributeError, raise_error
from ir_exec.kernels.parallel import THREADS
from ir_exec.ops import resolve
from ir_exec.ops.convolution.backprop import ConvolutionBackpropData, GroupConvolutionBackpropData
from ir_exec.ops.convolution.convolution import Convolution, GroupConvolution
from ir_exec.types import Array, ElementType, TensorType
from tests.helpers.chunks import in_chunks
from tests.helpers.convolution_problems import problems
from tests.helpers.drawing import draw_wider
from tests.helpers.facts import fault_with
from tests.helpers.operators import assert_holds, inference_error
from tests.helpers.values import make_type


def convolve(data: Array, filters: Array, steps: list[tuple[int, int, int]], counts: tuple[int, ...]) -> Array:
    """By its definition: filters [groups, O, C, kernel...], steps the stride, dilation and pad of each axis."""
    groups, outputs, channels, *kernel = filters.shape
    result = np.zeros((data.shape[0], groups * outputs, *counts))
    for b, g, o, c in np.ndindex(data.shape[0], groups, outputs, channels):
        for window, element in product(np.ndindex(*counts), np.ndindex(*kernel)):
            position = [
                i * stride + k * dilation - pad
                for i, k, (stride, dilation, pad) in zip(window, element, steps, strict=True)
            ]
            if all(0 <= x < size for x, size in zip(position, data.shape[2:], strict=True)):
                value = data[(b, g * channels + c, *position)]
                result[(b, g * outputs + o, *window)] += value * filters[(g, o, c, *element)]
    return result


def _pads(problem: dict[str, Any]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The padding that an attribute names; with `same` there is always enough."""
    begin, end = problem["steps"]["pads_begin"], problem["steps"]["pads_end"]
    amount = {"explicit": None, "valid": 0}.get(problem["auto_pad"], 99)
    return (begin, end) if amount is None else ((amount,) * len(begin), (amount,) * len(end))


@given(problem=problems(), widening=st.data())
@settings(max_examples=80)
def test_convolution_equals_definition(problem: dict[str, Any], widening: st.DataObject) -> None:
    data, filters, steps = problem["data"], problem["filters"], problem["steps"]
    operator = GroupConvolution(**steps, auto_pad=problem["auto_pad"])
    sizes = zip(data.shape[2:], filters.shape[3:], steps["dilations"], *_pads(problem), strict=True)
    if any(size + begin + end < (kernel - 1) * dilation + 1 for size, kernel, dilation, begin, end in sizes):
        assert inference_error(operator, TensorType.of(data), TensorType.of(filters))[0] == "IR505"
        return
    counts = operator.infer(TensorType.of(data), TensorType.of(filters)).shape.static[2:]
    pads = []
    for axis, size in enumerate(data.shape[2:]):
        stride, extent = steps["strides"][axis], (filters.shape[3 + axis] - 1) * steps["dilations"][axis] + 1
        if problem["auto_pad"] == "explicit":
            assert counts[axis] == (size + steps["pads_begin"][axis] + steps["pads_end"][axis] - extent) // stride + 1
            pads.append(steps["pads_begin"][axis])
        elif problem["auto_pad"] == "valid":
            assert counts[axis] == (size - extent) // stride + 1
            pads.append(0)
        else:
            assert counts[axis] == -(-size // stride)
            needed = max((counts[axis] - 1) * stride + extent - size, 0)
            pads.append(needed // 2 if problem["auto_pad"] == "same_upper" else needed - needed // 2)
    expected = convolve(data, filters, list(zip(steps["strides"], steps["dilations"], pads, strict=True)), counts)
    with pytest.MonkeyPatch.context() as patch:
        in_chunks(patch, "WINDOW_ELEMENTS", problem["block"])
        in_chunks(patch, "LEAST_WINDOWS", 1)
        assert np.array_equal(operator.evaluate(data, filters), expected)
    arrays = [data, filters]
    wider = [TensorType(ElementType.f32, draw_wider(widening.draw, array.shape)) for array in arrays]
    assert_holds(operator, wider, arrays)


@pytest.mark.parametrize("type", ["Convolution", "GroupConvolution"])
def test_the_kernel_of_a_plan_does_the_same(type: str) -> None:
    generator = np.random.default_rng(0)
    data = generator.uniform(-1, 1, (2, 3, 6, 7)).astype(np.float32)
    operator = resolve(type, "opset1").parse({"strides": "2,1", "auto_pad": "same_upper"}, raise_error)
    assert operator is not None
    shape = (4, 3, 3, 2) if type == "Convolution" else (3, 2, 1, 3, 2)
    filters = generator.uniform(-1, 1, shape).astype(np.float32)
    kernel = operator.kernel(TensorType.of(data), TensorType.of(filters))
    assert np.array_equal(kernel(data, filters), operator.evaluate(data, filters))


@pytest.mark.parametrize(
    ("data", "filters"),
    [
        ((2, 48, 5, 6), (48, 2, 1, 3, 2)),
        ((1, 40, 40, 33), (40, 1, 1, 3, 3)),
        ((1, 16, 70, 60), (1, 24, 16, 1, 1)),
        ((1, 12, 40, 40), (2, 8, 6, 3, 3)),
        ((1, 6, 120, 90), (1, 20, 6, 3, 3)),
        ((2, 3, 300), (1, 4, 3, 5)),
    ],
)
def test_arrangements_equal_integer_sums(data: tuple[int, ...], filters: tuple[int, ...]) -> None:
    generator = np.random.default_rng(0)
    arrays = [generator.integers(-8, 9, shape) for shape in (data, filters)]
    operator = GroupConvolution(strides=(1,) * (len(data) - 2), auto_pad="same_upper")
    exact = operator.evaluate(*[array.astype(np.int64) for array in arrays])
    for threads in (1, 3):
        token = THREADS.set(threads)
        try:
            result = operator.evaluate(*[array.astype(np.float32) for array in arrays])
        finally:
            THREADS.reset(token)
        assert np.array_equal(result, exact)


@pytest.mark.parametrize(
    ("data", "filters", "strides"),
    [((1, 8, 300, 300), (4, 8, 9, 9), 1), ((1, 4, 400000), (2, 4, 64), 1), ((1, 2, 60, 60, 60), (2, 2, 5, 5, 5), 1)],
)
def test_windows_are_never_copied_all_at_once(data: tuple[int, ...], filters: tuple[int, ...], strides: int) -> None:
    operator = Convolution(strides=(strides,) * (len(data) - 2))
    arrays = np.zeros(data, np.float32), np.zeros(filters, np.float32)
    tracemalloc.start()
    output = operator.evaluate(*arrays)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    everything = output[0, 0].size * np.prod(filters[1:]) * 4
    assert peak - output.nbytes < 2**24 < everything


def test_unused_padding_takes_no_memory() -> None:
    far = 10**6
    operator = Convolution(strides=(far,), pads_begin=(far,), pads_end=(far,))
    result = operator.evaluate(np.array([[[3]]], np.float32), np.array([[[2]]], np.float32))
    assert result.tolist() == [[[0, 6, 0]]]


@pytest.mark.parametrize(
    ("data", "filters", "attributes", "code", "fault"),
    [
        ("1,2", "1,2,3", {}, "IR501", fault_with("data", "[1,2]", actual=2, expected="3 or 4 or 5")),
        ("1,2,3,4,5,6", "...", {}, "IR501", fault_with("data", "[1,2,3,4,5,6]", actual=6, expected="3 or 4 or 5")),
        ("...", "3,2", {}, "IR501", fault_with("filters", "[3,2]", actual=2, expected="3 or 4 or 5")),
        ("1,2,5", "3,2,1,1", {}, "IR501", fault_with("filters", "[3,2,1,1]", 2, "data", "[1,2,5]", 1)),
        ("1,2,5", "3,4,1", {}, "IR502", fault_with("data", "filters", actual="2 and 4", expected="equal dims")),
        (
            "1,2,5",
            "3,2,6",
            {"pads_begin": (0,), "pads_end": (0,)},
            "IR505",
            fault_with("window", 6, "axis", 0, 5, "data"),
        ),
        (
            "1,2,5,5",
            "3,2,2,3",
            {"dilations": (1, 3), "pads_end": (0, 1)},
            "IR505",
            fault_with("window", 7, "axis", 1, 6, "data"),
        ),
        (
            "1,2,5,5",
            "3,2,2,2",
            {"strides": (1,)},
            "IR505",
            fault_with("strides", "axis", actual=1, expected=2),
        ),
        (
            "...",
            "3,2,2",
            {"pads_end": (1, 2)},
            "IR505",
            fault_with("pads_end", "1,2", "axis", actual=2, expected=1),
        ),
    ],
)
def test_convolution_refuses(data: str, filters: str, attributes: dict[str, Any], code: str, fault: fault_with) -> None:
    assert inference_error(Convolution(**attributes), make_type(data), make_type(filters)) == (code, fault)


@pytest.mark.parametrize("operator", [GroupConvolution(), GroupConvolutionBackpropData()])
def test_channels_of_groups_that_do_not_fit(operator: Any) -> None:
    filters = "2,3,3,1,1"
    fault = fault_with("data", "[1,5,4,4]", 5, "filters", "[2,3,3,1,1]", 3, 2)
    assert inference_error(operator, make_type("1,5,4,4"), make_type(filters)) == ("IR502", fault)
    output_type = operator.infer(make_type("1,?,4,4"), make_type("?,3,3,1,1"))
    assert output_type == make_type("1,?,4,4")
    output_type = operator.infer(make_type("1,6..9,4,4"), make_type("?,3,3,1,1"))
    assert output_type == make_type("1,6..9,4,4")


def test_an_attribute_out_of_its_range() -> None:
    for name, text in [("strides", "0,1"), ("dilations", "1,-1"), ("auto_pad", "notset"), ("strides", "one")]:
        with pytest.raises(InvalidAttributeError) as error:
            Convolution.parse({name: text}, raise_error)
        assert error.value.code == "IR302"
    with pytest.raises(InvalidAttributeError) as error:
        ConvolutionBackpropData.parse({"output_padding": "-1"}, raise_error)
    assert error.value.code == "IR302"


def test_an_infinity_outside_of_a_window_does_no_harm() -> None:
    data = np.array([[[[1, 2, np.inf], [3, 4, np.nan]]]], np.float32)
    for filters in (np.zeros((1, 1, 2, 2), np.float32), np.zeros((3, 1, 2, 2), np.float32)):
        with np.errstate(all="ignore"):
            result = Convolution().evaluate(data, filters)
        assert result[0, 0, 0, 0] == 0
        assert np.isnan(result[0, 0, 0, 1])
