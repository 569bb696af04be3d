"""FakeQuantize and FakeConvert: the formula, shapes, errors."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ir_exec.errors import InvalidAttributeError, raise_error
from ir_exec.kernels.parallel import THREADS
from ir_exec.ops.quantization import FakeConvert, FakeQuantize
from ir_exec.types import Array, ElementType, TensorType
from tests.helpers.chunks import in_chunks
from tests.helpers.facts import fault_with
from tests.helpers.operators import inference_error
from tests.helpers.values import make_type


def by_the_formula(x: float, low: float, high: float, to_low: float, to_high: float, levels: int) -> float:
    if x <= min(low, high):
        return to_low
    if x > max(low, high):
        return to_high
    return round((x - low) / (high - low) * (levels - 1)) / (levels - 1) * (to_high - to_low) + to_low


@st.composite
def problems(draw: st.DrawFn) -> tuple[list[Array], int, int]:
    """Data and four limits that broadcast to it, levels, and how many elements to take at a time."""
    shape = draw(st.lists(st.integers(1, 4), min_size=0, max_size=3))
    generator = np.random.default_rng(draw(st.integers(0, 999)))
    arrays = [generator.integers(-8, 9, shape) / 4]
    for _ in range(4):
        extents = [size if draw(st.booleans()) else 1 for size in shape]
        first = draw(st.integers(-1, len(extents)))
        limits = extents[first:] if first >= 0 else [1, *extents]
        arrays.append(generator.integers(-6, 7, limits) / 2)
    return arrays, draw(st.sampled_from([2, 3, 5, 9])), draw(st.sampled_from([1, 3, 2**16]))


def test_reversed_limits_equal_for_all_channels(monkeypatch: pytest.MonkeyPatch) -> None:
    in_chunks(monkeypatch, "CHUNK_ELEMENTS", 4)
    data = np.arange(-12, 12).reshape(2, 3, 4) / 8
    limits = [np.full((1, 3, 1), limit) for limit in (1.0, -1.0, 2.0, 4.0)]
    result = FakeQuantize(levels=5).evaluate(data, *limits)
    expected = [by_the_formula(x, 1, -1, 2, 4, 5) for x in data.reshape(-1)]
    np.testing.assert_array_equal(result.reshape(-1), expected)


@given(problem=problems())
@settings(max_examples=80)
def test_fake_quantize_is_its_formula(problem: tuple[list[Array], int, int]) -> None:
    arrays, levels, chunk = problem
    operator = FakeQuantize(levels=levels)
    assert operator.infer(*[TensorType.of(array) for array in arrays]) == TensorType.of(arrays[0])
    with pytest.MonkeyPatch.context() as patch, np.errstate(all="ignore"):
        in_chunks(patch, "CHUNK_ELEMENTS", chunk)
        result = operator.evaluate(*arrays)
    data, *limits = arrays
    limits = [limit.reshape(limit.shape[max(limit.ndim - data.ndim, 0) :]) for limit in limits]
    for index in np.ndindex(*data.shape):
        numbers = [np.broadcast_to(array, data.shape)[index] for array in (data, *limits)]
        assert np.isclose(result[index], by_the_formula(*numbers, levels))


SCALAR = make_type("")


def test_limits_that_do_not_broadcast() -> None:
    operator = FakeQuantize(levels=5)
    data = make_type("2,3")
    fault = fault_with("input_high", "[2]", "data", "[2,3]")
    assert inference_error(operator, data, SCALAR, make_type("2"), SCALAR, SCALAR) == ("IR504", fault)
    fault = fault_with("output_low", "[4,1]", "data", "[1,3]")
    assert inference_error(operator, make_type("1,3"), SCALAR, SCALAR, make_type("4,1"), SCALAR) == ("IR504", fault)
    for limit in ("...", "?,3", "1,1,1,1", "..5"):
        assert operator.infer(data, SCALAR, SCALAR, make_type(limit), SCALAR) == data
    assert operator.infer(make_type("..."), SCALAR, SCALAR, data, SCALAR) == make_type("...")


def test_without_broadcasting_shapes_are_equal() -> None:
    operator = FakeQuantize(levels=5, auto_broadcast="none")
    data = make_type("2,3")
    assert operator.infer(data, data, data, make_type("?,3"), data) == data
    _, error = inference_error(operator, data, data, make_type("2,1"), data, data)
    actual = "[2,3] and [2,1]"
    assert error == fault_with("data", "input_high", code="IR502", actual=actual, expected="equal shapes")


@pytest.mark.parametrize("attributes", [{"levels": "1"}, {"levels": "5", "auto_broadcast": "matlab"}])
def test_attributes_that_cannot_be(attributes: dict[str, str]) -> None:
    with pytest.raises(InvalidAttributeError) as error:
        FakeQuantize.parse(attributes, raise_error)
    assert error.value.code == "IR302"


@pytest.mark.parametrize(("name", "dtype"), [("f8e4m3", ml_dtypes.float8_e4m3fn), ("f8e5m2", ml_dtypes.float8_e5m2)])
def test_every_number_of_the_short_type_stays(name: str, dtype: type) -> None:
    codes = np.arange(256, dtype=np.uint8).view(dtype).astype(np.float32)
    numbers = codes[np.isfinite(codes)]
    operator = FakeConvert.parse({"destination_type": name}, raise_error)
    assert operator is not None
    for element_type in ("f32", "f16", "bf16"):
        data = numbers.astype(ElementType[element_type].dtype)
        result = operator.evaluate(data, np.array(1, data.dtype))
        assert result.dtype == data.dtype
        assert np.array_equal(result, data)


def test_fake_convert_refuses() -> None:
    operator = FakeConvert(destination_type="f8e4m3")
    data = make_type("2,3")
    fault = fault_with("shift", actual="[3] and [1,3]", expected="equal shapes")
    assert inference_error(operator, data, make_type("3"), make_type("1,3")) == ("IR501", fault)
    fault = fault_with("[1,1,1]", "data", "[2,3]")
    assert inference_error(operator, data, make_type("1,1,1")) == ("IR504", fault)
    fault = fault_with("[2]", "data", "[2,3]")
    assert inference_error(operator, data, make_type("2")) == ("IR504", fault)
    with pytest.raises(InvalidAttributeError) as error:
        FakeConvert.parse({"destination_type": "f8e8m0"}, raise_error)
    assert error.value.code == "IR302"


def test_what_scale_tells_of_the_data() -> None:
    operator = FakeConvert(destination_type="f8e5m2")
    assert operator.infer(make_type("?,?"), make_type("1,3")) == make_type("?,3")
    assert operator.infer(make_type("..."), make_type("1,3")) == make_type("...")
    assert operator.infer(make_type("2,?"), make_type("..."), make_type("3")) == make_type("2,3")


@settings(max_examples=60, deadline=None)
@given(problems())
def test_constant_limits_are_used_once(problem: tuple[list[Array], int, int]) -> None:
    (data, *limits), levels, _ = problem
    fake = FakeQuantize(levels=levels)
    kernel = fake.with_constants(dict(enumerate(limits, 1)))
    assert kernel is not None
    for dtype in (np.float64, np.float32, np.float16, np.int32, np.uint8):
        with np.errstate(all="ignore"):  # as in a run
            converted = data.astype(dtype)
            result, expected = kernel(converted, *limits), fake.evaluate(converted, *limits)
        assert result.dtype == dtype
        np.testing.assert_array_equal(result, expected)


def test_non_constant_limits_come_from_the_call() -> None:
    limit = np.ones((), np.float32)
    assert FakeQuantize(levels=2).with_constants({1: limit, 2: limit, 3: limit}) is None


@pytest.mark.parametrize("axis", [None, 0, 1, 2])
def test_threads_share_large_data(axis: int | None) -> None:
    """The parts of large data are those of the data quantized row by row."""
    generator = np.random.default_rng(1)
    data = generator.normal(size=(3, 400, 501)).astype(np.float32)
    shape = [1, 1, 1]
    if axis is not None:
        shape[axis] = data.shape[axis]
    low = -generator.uniform(1, 2, shape).astype(np.float32)
    limits = [low, -low, low, -low]
    fake = FakeQuantize(levels=16)
    token = THREADS.set(3)
    try:
        complete = fake.evaluate(data, *limits)
    finally:
        THREADS.reset(token)
    for row in range(0, 400, 100):
        some = slice(row, row + 100)
        cut = [limit[:, some] if axis == 1 else limit for limit in limits]
        np.testing.assert_array_equal(complete[:, some], fake.evaluate(data[:, some], *cut))


@pytest.mark.parametrize("name", ["f8e4m3", "f8e5m2"])
@pytest.mark.parametrize("channels", [1, 3])
def test_many_elements_convert_like_few(name: str, channels: int) -> None:
    operator = FakeConvert.parse({"destination_type": name}, raise_error)
    assert operator is not None
    generator = np.random.default_rng(0)
    data = (generator.standard_normal((6000, 3)) * 10.0 ** generator.integers(-6, 6, (6000, 3))).astype(np.float32)
    data[:3, 0] = np.nan, np.inf, -np.inf
    scale, shift = (generator.standard_normal((2, channels)) + 3).astype(np.float32)
    with np.errstate(all="ignore"):
        actual = operator.evaluate(data, scale, shift)
        expected = np.concatenate([operator.evaluate(part, scale, shift) for part in np.split(data, 6)])
    assert np.array_equal(actual, expected, equal_nan=True)
