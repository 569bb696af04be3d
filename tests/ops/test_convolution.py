"""Convolutions against plain loops; blocks, memory, errors."""

from __future__ import annotations

import tracemalloc
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ir_exec.errors import EvaluationError, InvalidAttributeError, ShapeError, raise_error
from ir_exec.kernels import costs
from ir_exec.kernels.parallel import THREADS
from ir_exec.ops import resolve
from ir_exec.ops.convolution.backprop import ConvolutionBackpropData, GroupConvolutionBackpropData
from ir_exec.ops.convolution.binary import BinaryConvolution
from ir_exec.ops.convolution.convolution import Convolution, GroupConvolution
from ir_exec.ops.convolution.deformable import DeformableConvolution1, DeformableConvolution8
from ir_exec.types import Array, ElementType, Shape, TensorType
from tests.ops.indexing import typed
from tests.ops.intervals import assert_holds, draw_wider


def convolved(data: Array, filters: Array, steps: list[tuple[int, int, int]], counts: tuple[int, ...]) -> Array:
    """By its definition: filters [groups, O, C, kernel...], steps the stride, dilation and pad of each axis."""
    groups, outputs, channels, *kernel = filters.shape
    result = np.zeros((data.shape[0], groups * outputs, *counts))
    for b, g, o, c in np.ndindex(data.shape[0], groups, outputs, channels):
        for window, element in product(np.ndindex(*counts), np.ndindex(*kernel)):
            place = [
                i * stride + k * dilation - pad
                for i, k, (stride, dilation, pad) in zip(window, element, steps, strict=True)
            ]
            if all(0 <= x < size for x, size in zip(place, data.shape[2:], strict=True)):
                value = data[(b, g * channels + c, *place)]
                result[(b, g * outputs + o, *window)] += value * filters[(g, o, c, *element)]
    return result


def transposed(data: Array, filters: Array, steps: list[tuple[int, int, int]], sizes: tuple[int, ...]) -> Array:
    """By its definition: filters [groups, C, O, kernel...]."""
    groups, channels, outputs, *kernel = filters.shape
    result = np.zeros((data.shape[0], groups * outputs, *sizes))
    for b, g, c, o in np.ndindex(data.shape[0], groups, channels, outputs):
        for window, element in product(np.ndindex(*data.shape[2:]), np.ndindex(*kernel)):
            place = [
                i * stride + k * dilation - pad
                for i, k, (stride, dilation, pad) in zip(window, element, steps, strict=True)
            ]
            if all(0 <= x < size for x, size in zip(place, sizes, strict=True)):
                value = data[(b, g * channels + c, *window)]
                result[(b, g * outputs + o, *place)] += value * filters[(g, c, o, *element)]
    return result


@st.composite
def problems(draw: st.DrawFn) -> dict[str, Any]:
    """Attributes, data [batch, groups * C, spatial...] and filters [groups, A, B, kernel...]."""
    rank = draw(st.integers(1, 3))
    sizes = draw(st.lists(st.integers(1, 5), min_size=rank, max_size=rank))
    kernel = draw(st.lists(st.integers(1, 3), min_size=rank, max_size=rank))
    steps = {
        name: tuple(draw(st.lists(st.integers(least, most), min_size=rank, max_size=rank)))
        for name, least, most in [("strides", 1, 3), ("dilations", 1, 2), ("pads_begin", 0, 3), ("pads_end", 0, 3)]
    }
    groups, one, other = [draw(st.integers(1, most)) for most in (2, 2, 3)]
    generator = np.random.default_rng(draw(st.integers(0, 99)))
    return {
        "steps": steps,
        "data": generator.integers(-4, 5, (draw(st.integers(1, 2)), groups * one, *sizes)).astype(np.float32),
        "filters": generator.integers(-4, 5, (groups, other, one, *kernel)).astype(np.float32),
        "auto_pad": draw(st.sampled_from(["explicit", "same_upper", "same_lower", "valid"])),
        "block": draw(st.sampled_from([1, 7, 50, 2**18])),
        "short": draw(st.sampled_from([0, 10**6])),
        "many": draw(st.sampled_from([1, 32])),
    }


def _pads(problem: dict[str, Any]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The padding that an attribute names; with `same` there is always enough."""
    begin, end = problem["steps"]["pads_begin"], problem["steps"]["pads_end"]
    amount = {"explicit": None, "valid": 0}.get(problem["auto_pad"], 99)
    return (begin, end) if amount is None else ((amount,) * len(begin), (amount,) * len(end))


@given(problem=problems(), widening=st.data())
@settings(max_examples=80)
def test_convolution_is_the_sum_that_defines_it(problem: dict[str, Any], widening: st.DataObject) -> None:
    data, filters, steps = problem["data"], problem["filters"], problem["steps"]
    operator = GroupConvolution(**steps, auto_pad=problem["auto_pad"])
    sizes = zip(data.shape[2:], filters.shape[3:], steps["dilations"], *_pads(problem), strict=True)
    if any(size + begin + end < (kernel - 1) * dilation + 1 for size, kernel, dilation, begin, end in sizes):
        assert refused(operator, TensorType.of(data), TensorType.of(filters))[0] == "IR505"
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
    wanted = convolved(data, filters, list(zip(steps["strides"], steps["dilations"], pads, strict=True)), counts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(costs, "WINDOW_ELEMENTS", problem["block"])
        patch.setattr(costs, "CHUNK_ELEMENTS", problem["block"] // 8)
        patch.setattr(costs, "PIECE_ELEMENTS", problem["block"] // 16)
        patch.setattr(costs, "LEAST_WINDOWS", 1)
        patch.setattr(costs, "LEAST_COLUMNS", 1)
        patch.setattr(costs, "SHORT_CONVOLUTION_MULTIPLICATIONS", problem["short"])
        patch.setattr(costs, "MANY_CHANNELS", problem["many"])
        assert np.array_equal(operator.evaluate(data, filters), wanted)
    arrays = [data, filters]
    wider = [TensorType(ElementType.f32, draw_wider(widening.draw, array.shape)) for array in arrays]
    assert_holds(operator, wider, arrays)


@given(problem=problems(), more=st.integers(0, 2), named=st.booleans(), widening=st.data())
@settings(max_examples=80)
def test_transposed_convolution_is_the_sum_that_defines_it(
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
            surplus = [max(size - wanted + more, 0) for size, wanted in zip(full, sizes, strict=True)]
            begins = [total // 2 if mode == "same_lower" else total - total // 2 for total in surplus]
    if min(sizes) < 0:
        with pytest.raises(ShapeError) as error:
            operator.infer(*[TensorType.of(array) for array in arrays])
        assert error.value.code == "IR505"
        return
    wanted = transposed(data, filters, list(zip(steps["strides"], steps["dilations"], begins, strict=True)), sizes)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(costs, "INTERMEDIATE_ELEMENTS", problem["block"])
        patch.setattr(costs, "LEAST_WINDOWS", 1)
        assert np.array_equal(operator.evaluate(*arrays), wanted)
    wider = [TensorType(ElementType.f32, draw_wider(widening.draw, array.shape)) for array in arrays[:2]]
    assert_holds(operator, wider + [TensorType.of(array) for array in arrays[2:]], arrays)


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
def test_every_arrangement_gives_what_sums_in_integers_give(data: tuple[int, ...], filters: tuple[int, ...]) -> None:
    generator = np.random.default_rng(0)
    arrays = [generator.integers(-8, 9, shape) for shape in (data, filters)]
    operator = GroupConvolution(strides=(1,) * (len(data) - 2), auto_pad="same_upper")
    exact = operator.evaluate(*[array.astype(np.int64) for array in arrays])
    for threads in (1, 3):
        around = THREADS.set(threads)
        try:
            found = operator.evaluate(*[array.astype(np.float32) for array in arrays])
        finally:
            THREADS.reset(around)
        assert np.array_equal(found, exact)


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


def test_padding_takes_no_memory_that_is_not_used() -> None:
    far = 10**6
    operator = Convolution(strides=(far,), pads_begin=(far,), pads_end=(far,))
    found = operator.evaluate(np.array([[[3]]], np.float32), np.array([[[2]]], np.float32))
    assert found.tolist() == [[[0, 6, 0]]]


def refused(operator: Any, *types: TensorType) -> tuple[str, str]:
    with pytest.raises(ShapeError) as error:
        operator.infer(*types)
    return error.value.code, error.value.message


@pytest.mark.parametrize(
    ("data", "filters", "attributes", "code", "message"),
    [
        ("1,2", "1,2,3", {}, "IR501", "data has rank 2 ([1,2]), expected 3 or 4 or 5"),
        ("1,2,3,4,5,6", "...", {}, "IR501", "data has rank 6 ([1,2,3,4,5,6]), expected 3 or 4 or 5"),
        ("...", "3,2", {}, "IR501", "filters has rank 2 ([3,2]), expected 3 or 4 or 5"),
        ("1,2,5", "3,2,1,1", {}, "IR501", "filters [3,2,1,1] have 2 spatial axes, data [1,2,5] has 1"),
        ("1,2,5", "3,4,1", {}, "IR502", "the channels of data and filters must be equal, found 2 and 4"),
        (
            "1,2,5",
            "3,2,6",
            {"pads_begin": (0,), "pads_end": (0,)},
            "IR505",
            "a window of 6 elements on spatial axis 0 does not fit into the 5 elements of the padded data",
        ),
        (
            "1,2,5,5",
            "3,2,2,3",
            {"dilations": (1, 3), "pads_end": (0, 1)},
            "IR505",
            "a window of 7 elements on spatial axis 1 does not fit into the 6 elements of the padded data",
        ),
        (
            "1,2,5,5",
            "3,2,2,2",
            {"strides": (1,)},
            "IR505",
            "strides 1 has 1 values, expected 2, one for each spatial axis",
        ),
        (
            "...",
            "3,2,2",
            {"pads_end": (1, 2)},
            "IR505",
            "pads_end 1,2 has 2 values, expected 1, one for each spatial axis",
        ),
    ],
)
def test_convolution_refuses(data: str, filters: str, attributes: dict[str, Any], code: str, message: str) -> None:
    assert refused(Convolution(**attributes), typed("f32", data), typed("f32", filters)) == (code, message)


@pytest.mark.parametrize("operator", [GroupConvolution(), GroupConvolutionBackpropData()])
def test_channels_of_groups_that_do_not_fit(operator: Any) -> None:
    filters = "2,3,3,1,1"
    message = "data [1,5,4,4] has 5 channels, filters [2,3,3,1,1] take 3 in each of 2 groups"
    assert refused(operator, typed("f32", "1,5,4,4"), typed("f32", filters)) == ("IR502", message)
    found = operator.infer(typed("f32", "1,?,4,4"), typed("f32", "?,3,3,1,1"))
    assert found == typed("f32", "1,?,4,4")
    found = operator.infer(typed("f32", "1,6..9,4,4"), typed("f32", "?,3,3,1,1"))
    assert found == typed("f32", "1,6..9,4,4")


def test_an_attribute_out_of_its_range() -> None:
    for name, text in [("strides", "0,1"), ("dilations", "1,-1"), ("auto_pad", "notset"), ("strides", "one")]:
        with pytest.raises(InvalidAttributeError) as error:
            Convolution.parse({name: text}, raise_error)
        assert error.value.code == "IR302"
    with pytest.raises(InvalidAttributeError) as error:
        ConvolutionBackpropData.parse({"output_padding": "-1"}, raise_error)
    assert error.value.code == "IR302"


@pytest.mark.parametrize(
    ("output_shape", "code", "message"),
    [
        (TensorType.of(np.array(3)), "IR501", "output_shape has rank 0 ([]), expected 1"),
        (TensorType.of(np.array([3])), "IR502", "output_shape has 1 elements, expected 2, one for each spatial axis"),
        (TensorType.of(np.array([3, -1])), "IR505", "output_shape names a negative size"),
    ],
)
def test_an_output_shape_that_cannot_be(output_shape: TensorType, code: str, message: str) -> None:
    found = refused(ConvolutionBackpropData(), typed("f32", "1,2,4,4"), typed("f32", "2,3,2,2"), output_shape)
    assert found == (code, message)


@pytest.mark.parametrize("sizes", [[3], [3, -1], [3, 4, 5]])
def test_an_output_shape_that_only_the_run_knows(sizes: list[int]) -> None:
    data, filters = np.zeros((1, 2, 4, 4), np.float32), np.zeros((2, 3, 2, 2), np.float32)
    with pytest.raises(EvaluationError) as error:
        ConvolutionBackpropData().evaluate(data, filters, np.array(sizes))
    assert (error.value.code, error.value.location.port) == ("IR704", "output_shape")
    assert error.value.message == f"output_shape is {sizes}, expected 2 sizes from 0 on"


def test_bounds_of_an_output_shape_are_dims() -> None:
    bounds = TensorType(ElementType.i64, Shape([2])).with_bounds(np.array([2, 0]), np.array([5, 2**63 - 1]))
    found = ConvolutionBackpropData().infer(typed("f32", "1,2,?,?"), typed("f32", "2,3,2,2"), bounds)
    assert found == typed("f32", "1,3,2..5,?")
    found = ConvolutionBackpropData().infer(typed("f32", "..."), typed("f32", "..."), typed("i64", "3"))
    assert found == typed("f32", "?,?,?,?,?")


def test_binary_convolution_refuses() -> None:
    attributes = {"mode": "xnor-popcount", "pad_value": "0"}
    operator = BinaryConvolution.parse(attributes, raise_error)
    assert operator is not None
    found = refused(operator, typed("f32", "1,2,4"), typed("u1", "3,2,1,1"))
    assert found == ("IR501", "data has rank 3 ([1,2,4]), expected 4")
    for wrong in ({"mode": "and"}, {"pad_value": "x"}):
        with pytest.raises(InvalidAttributeError) as error:
            BinaryConvolution.parse(attributes | wrong, raise_error)
        assert error.value.code == "IR302"
    with pytest.raises(InvalidAttributeError) as error:
        BinaryConvolution.parse({"mode": "xnor-popcount"}, raise_error)
    assert error.value.code == "IR301"


CHANNELS = "the channels of {} and the elements of windows must be equal, found {} and {}"


@pytest.mark.parametrize(
    ("shapes", "attributes", "message"),
    [
        (("1,4,5,5", "1,7,4,4", "4,4,2,2"), {}, CHANNELS.format("offsets", 7, 8)),
        (("1,4,5,5", "2,8,4,4", "4,4,2,2"), {}, "the batches of data and offsets must be equal, found 1 and 2"),
        (("1,4,5,5", "1,8,4,5", "4,4,2,2"), {}, "axis 3 of offsets and the output must be equal, found 5 and 4"),
        (("1,3,5,5", "1,8,4,4", "4,1,2,2"), {"group": 2}, "the 3 channels of data are no multiple of 2 groups"),
        (("1,4,5,5", "1,8,4,4", "3,2,2,2"), {"group": 2}, "the 3 outputs of filters are no multiple of 2 groups"),
        (
            ("1,4,5,5", "1,9,4,4", "4,4,?,?"),
            {"deformable_group": 2},
            "the 9 channels of offsets are no multiple of 2 groups",
        ),
        (("1,4,5,5", "1,8,4,4", "4,4,2,2", "1,3,4,4"), {}, CHANNELS.format("mask", 3, 4)),
        (
            ("1,4,5,5", "1,8,4,4", "4,3,2,2"),
            {},
            "the channels of data and those of filters in all groups must be equal, found 4 and 3",
        ),
    ],
)
def test_deformable_convolution_refuses(shapes: tuple[str, ...], attributes: dict[str, Any], message: str) -> None:
    operator = DeformableConvolution8(**attributes)
    assert refused(operator, *[typed("f32", text) for text in shapes]) == ("IR502", message)


def test_deformable_convolution_with_little_known() -> None:
    operator = DeformableConvolution1(pads_begin=(1, 1), pads_end=(1, 1))
    unknown = typed("f32", "...")
    assert operator.infer(unknown, unknown, unknown).shape == Shape.unknown()
    found = operator.infer(typed("f32", "?,4,8,?"), typed("f32", "2,?,?,?"), typed("f32", "3,4,3,3"))
    assert found == typed("f32", "2,3,8,1..")


def test_offsets_that_are_no_numbers_lie_outside() -> None:
    data = np.ones((1, 1, 2, 2), np.float32)
    offsets = np.array([np.nan, np.inf, -np.inf, 1e30, 0, 0, 0, 0], np.float32).reshape(1, 2, 2, 2)
    filters = np.ones((1, 1, 1, 1), np.float32)
    with np.errstate(all="ignore"):
        for operator in (DeformableConvolution1(), DeformableConvolution8(bilinear_interpolation_pad=True)):
            assert operator.evaluate(data, offsets, filters).tolist() == [[[[0, 0], [0, 0]]]]


def test_an_infinity_outside_of_a_window_does_no_harm() -> None:
    data = np.array([[[[1, 2, np.inf], [3, 4, np.nan]]]], np.float32)
    for filters in (np.zeros((1, 1, 2, 2), np.float32), np.zeros((3, 1, 2, 2), np.float32)):
        with np.errstate(all="ignore"):
            found = Convolution().evaluate(data, filters)
        assert found[0, 0, 0, 0] == 0
        assert np.isnan(found[0, 0, 0, 1])
