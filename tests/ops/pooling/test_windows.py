"""Pooling against a look at every window, and errors."""

from __future__ import annotations

import tracemalloc
from itertools import product
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ir_exec.errors import InvalidAttributeError, ShapeError, raise_error
from ir_exec.ops import Op, resolve
from ir_exec.ops.pooling.windows import AvgPool1, AvgPool14, AvgPool16, MaxPool1, MaxPool8, MaxPool14
from ir_exec.types import Array, ElementType, TensorType
from tests.helpers.chunks import in_chunks
from tests.helpers.drawing import draw_wider
from tests.helpers.facts import fault_with
from tests.helpers.operators import assert_holds, inference_error
from tests.helpers.steps import steps_of
from tests.helpers.values import make_type


@st.composite
def problems(draw: st.DrawFn) -> tuple[Array, dict[str, Any]]:
    rank = draw(st.integers(1, 3))

    def values(least: int, most: int) -> tuple[int, ...]:
        return tuple(draw(st.lists(st.integers(least, most), min_size=rank, max_size=rank)))

    attributes = {
        "kernel_sizes": values(1, 3),
        "strides": values(1, 3),
        "dilations": values(1, 2),
        "pads_begin": values(0, 2),
        "pads_end": values(0, 2),
        "rounding_type": draw(st.sampled_from(["floor", "ceil", "ceil_torch"])),
        "auto_pad": draw(st.sampled_from(["explicit", "same_upper", "same_lower", "valid"])),
    }
    shape = (draw(st.integers(1, 2)), draw(st.integers(1, 3)), *values(1, 6))
    seed = draw(st.integers(0, 99))
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(np.float32), attributes


def fits(data: Array, attributes: dict[str, Any]) -> bool:
    if attributes["auto_pad"].startswith("same"):
        return True
    names = ("kernel_sizes", "dilations", "pads_begin", "pads_end")
    return all(
        size + (begin + end if attributes["auto_pad"] == "explicit" else 0) > (kernel - 1) * dilation
        for size, kernel, dilation, begin, end in zip(
            data.shape[2:], *[attributes[name] for name in names], strict=True
        )
    )


def count_windows(size: int, axis: int, attributes: dict[str, Any]) -> tuple[int, int, int]:
    """The number of windows of an axis, and its padding at both ends."""
    kernel, stride, dilation, begin, end = [
        attributes[name][axis] for name in ("kernel_sizes", "strides", "dilations", "pads_begin", "pads_end")
    ]
    extent = (kernel - 1) * dilation + 1
    if attributes["auto_pad"] == "valid":
        begin = end = 0
    elif attributes["auto_pad"] != "explicit":
        needed = max((-(-size // stride) - 1) * stride + extent - size, 0)
        begin, end = needed // 2, needed - needed // 2
        if attributes["auto_pad"] == "same_lower":
            begin, end = end, begin
    room = size + begin + end - extent
    if attributes["rounding_type"] == "floor":
        return room // stride + 1, begin, end
    count = -(-room // stride) + 1
    if attributes["rounding_type"] == "ceil_torch" and (count - 1) * stride >= size + begin:
        count -= 1
    return count, begin, end


@given(
    problem=problems(),
    widening=st.data(),
    axis=st.integers(-3, 2),
    chunk=st.sampled_from([1, 20, 2**17]),
)
@settings(max_examples=120)
def test_pooling_looks_at_every_window(
    problem: tuple[Array, dict[str, Any]], widening: st.DataObject, axis: int, chunk: int
) -> None:
    data, attributes = problem
    if not fits(data, attributes):
        with pytest.raises(ShapeError) as error:
            MaxPool14(**attributes).infer(TensorType.of(data))
        assert error.value.code == "IR505"
        return
    windows = [count_windows(size, i, attributes) for i, size in enumerate(data.shape[2:])]
    counts = [count for count, _, _ in windows]
    padded = any(begin or end for _, begin, end in windows)
    volume = np.prod(attributes["kernel_sizes"])
    lowest = np.finfo(np.float32).min
    greatest = np.full((*data.shape[:2], *counts), lowest, np.float32)
    places = np.zeros(greatest.shape, np.int64)
    means = {excluded: np.zeros(greatest.shape) for excluded in (True, False)}
    strides = [int(np.prod(data.shape[i + 1 :])) for i in range(data.ndim)]
    for index in np.ndindex(*greatest.shape):
        candidates = []
        for element in product(*[range(kernel) for kernel in attributes["kernel_sizes"]]):
            position = [
                i * stride + k * dilation - begin
                for i, k, stride, dilation, (_, begin, _) in zip(
                    index[2:], element, attributes["strides"], attributes["dilations"], windows, strict=True
                )
            ]
            if all(0 <= x < size for x, size in zip(position, data.shape[2:], strict=True)):
                candidates.append((index[:2] + tuple(position), data[index[:2] + tuple(position)]))
        first = max(candidates, key=lambda pair: pair[1], default=((*index[:2], *[0] * len(counts)), lowest))
        greatest[index] = first[1]
        places[index] = sum(x * step for x, step in zip(first[0], strides, strict=True))
        total = sum(value for _, value in candidates)
        means[True][index] = total / max(len(candidates), 1)
        means[False][index] = total / (volume if padded else max(len(candidates), 1))
    with pytest.MonkeyPatch.context() as patch:
        in_chunks(patch, "CHUNK_ELEMENTS", chunk)
        if axis >= -data.ndim:
            values, indices = MaxPool14(**attributes, axis=axis).evaluate(data)
            assert np.array_equal(values, greatest)
            assert np.array_equal(indices, places % np.prod(data.shape[axis:] if axis else data.shape))
        for excluded, expected in means.items():
            average = AvgPool16(**attributes, exclude_pad=excluded)
            assert np.allclose(average.evaluate(data), expected, rtol=1e-5, atol=1e-6)
    operator = AvgPool16(**attributes, exclude_pad=False)
    assert_holds(operator, [TensorType(ElementType.f32, draw_wider(widening.draw, data.shape))], [data])


@pytest.mark.parametrize("element_type", ["f16", "bf16", "f32", "f64"])
def test_maximum_of_nan_only_is_lowest_finite(element_type: str) -> None:
    dtype = ElementType[element_type].dtype
    data = np.array([[[np.nan, np.nan, -np.inf, 1]]], dtype)
    steps = {"strides": (2,), "kernel_sizes": (2,), "pads_begin": (0,), "pads_end": (0,)}
    result = MaxPool1(**steps).evaluate(data)
    assert result.dtype == dtype
    assert result.tolist() == [[[float(ml_dtypes.finfo(dtype).min), 1]]]


@pytest.mark.parametrize(
    ("operator", "data", "code", "fault"),
    [
        (
            MaxPool1(kernel_sizes=(2,), strides=(1,)),
            "4,5",
            "IR501",
            fault_with("data", "[4,5]", actual=2, expected="3 or 4 or 5"),
        ),
        (
            MaxPool1(kernel_sizes=(2,), strides=(1,)),
            "1,1,4,5",
            "IR505",
            fault_with("kernel", "axis", actual=1, expected=2),
        ),
        (
            MaxPool1(kernel_sizes=(2, 2), strides=(1,)),
            "...",
            "IR505",
            fault_with("strides", "axis", actual=1, expected=2),
        ),
        (
            MaxPool1(kernel_sizes=(2, 2), strides=()),
            "1,1,4,5",
            "IR505",
            fault_with("strides", "axis", actual=0, expected=2),
        ),
        (
            MaxPool8(kernel_sizes=(2, 2), strides=(1, 1), dilations=(1, 1, 1)),
            "1,1,4,5",
            "IR505",
            fault_with("dilations", "1,1,1", "axis", actual=3, expected=2),
        ),
        (
            MaxPool8(kernel_sizes=(3, 3), strides=(1, 1), dilations=(2, 1)),
            "1,1,4,5",
            "IR505",
            fault_with("window", 5, "axis", 0, 4, "data"),
        ),
        (
            MaxPool8(kernel_sizes=(2,), strides=(1,), axis=3),
            "1,1,4",
            "IR503",
            fault_with("axis", actual=3, expected="-3 to 2"),
        ),
        (
            AvgPool1(kernel_sizes=(2,), strides=(1,), pads_end=(2,), exclude_pad=True),
            "1,1,4",
            "IR505",
            fault_with("window", 2, 0, 2, "axis", 0),
        ),
    ],
)
def test_pooling_refuses(operator: Any, data: str, code: str, fault: fault_with) -> None:
    assert inference_error(operator, make_type(data)) == (code, fault)


PLAIN = {"kernel": "2", "strides": "1", "exclude-pad": "true"}


@pytest.mark.parametrize(
    ("type", "opset", "attribute", "text", "code"),
    [
        ("MaxPool", 1, "kernel", None, "IR301"),
        ("MaxPool", 1, "strides", None, "IR301"),
        ("AvgPool", 1, "exclude-pad", None, "IR301"),
        ("MaxPool", 1, "kernel", "0", "IR302"),
        ("MaxPool", 1, "strides", "0", "IR302"),
        ("MaxPool", 1, "pads_begin", "-1", "IR302"),
        ("MaxPool", 8, "dilations", "0", "IR302"),
        ("MaxPool", 8, "index_element_type", "u64", "IR302"),
        ("MaxPool", 8, "rounding_type", "ceil_torch", "IR302"),
        ("AvgPool", 1, "rounding_type", "ceil_torch", "IR302"),
        ("AvgPool", 16, "exclude-pad", "maybe", "IR302"),
    ],
)
def test_attributes_that_cannot_be(type: str, opset: int, attribute: str, text: str | None, code: str) -> None:
    attributes = {name: value for name, value in PLAIN.items() if name != attribute}
    attributes |= {} if text is None else {attribute: text}
    with pytest.raises(InvalidAttributeError) as error:
        resolve(type, f"opset{opset}").parse(attributes, raise_error)
    assert error.value.code == code


def test_versions_know_their_ways_to_round() -> None:
    for operator in (MaxPool14, AvgPool14, AvgPool16):
        assert operator.parse(PLAIN | {"rounding_type": "CEIL_TORCH"}, raise_error) is not None


def test_nothing_to_pool() -> None:
    data = np.zeros((1, 2, 0), np.float32)
    values, indices = MaxPool8(kernel_sizes=(2,), strides=(1,), pads_begin=(1,), pads_end=(1,)).evaluate(data)
    assert np.array_equal(values, np.full((1, 2, 1), np.finfo(np.float32).min))
    assert indices.tolist() == [[[0], [0]]]
    assert MaxPool1(kernel_sizes=(2,), strides=(1,)).evaluate(np.zeros((0, 2, 3), np.float32)).shape == (0, 2, 2)


FAR = 10**9


@pytest.mark.parametrize(
    "operator",
    [
        MaxPool1(kernel_sizes=(FAR,), strides=(FAR,), pads_begin=(FAR - 1,), pads_end=(FAR,)),
        MaxPool8(kernel_sizes=(FAR,), strides=(FAR,), pads_begin=(FAR - 1,), pads_end=(FAR,)),
        AvgPool1(kernel_sizes=(FAR,), strides=(FAR,), pads_begin=(FAR - 1,), pads_end=(FAR,), exclude_pad=False),
    ],
)
def test_kernel_beyond_data_takes_few_steps_and_no_memory(operator: Op) -> None:
    data = np.array([[[1, 2, 5, 3]]], np.float32)
    operator.evaluate(data)  # imports its modules
    assert steps_of(lambda: operator.evaluate(data), limit=10_000) > 10
    tracemalloc.start()
    result = operator.evaluate(data)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2**20
    values = result[0] if isinstance(result, tuple) else result
    assert values.shape == (1, 1, 2)
    if isinstance(operator, MaxPool1):
        assert values.tolist() == [[[1, 5]]]
