"""Real functions of elements of any type, in blocks and at once, into new arrays and into `out`."""

from __future__ import annotations

import math
from collections.abc import Callable

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.lib import introspect

from ir_exec.kernels import elementwise
from ir_exec.kernels.elementwise import (
    Function,
    apply_real,
    floor_remainder,
    of_copy,
    select,
    truncated_remainder,
)
from ir_exec.types import Array
from tests.helpers.chunks import in_chunks

FLOATS = (np.float16, ml_dtypes.bfloat16, np.float32, np.float64)
INTEGERS = (np.int8, np.uint8, np.int16, np.int32, np.int64, np.uint64)


def in_place(numbers: Array) -> Array:
    """An exponential that writes into the vector that it is given."""
    numbers[...] = np.exp(numbers)
    return numbers


@pytest.fixture(params=[1, 4, 2**16], ids=["one by one", "by fours", "at once"])
def _pieces(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    in_chunks(monkeypatch, "CHUNK_ELEMENTS", request.param)
    in_chunks(monkeypatch, "SPLIT_ELEMENTS", 4 * request.param)


@pytest.mark.usefixtures("_pieces")
@pytest.mark.parametrize("function", [np.exp, in_place], ids=["ufunc", "expression"])
@pytest.mark.parametrize("dtype", FLOATS + INTEGERS, ids=lambda dtype: dtype.__name__)
@pytest.mark.parametrize("shape", [(), (0, 3), (4,), (2, 1, 3)], ids=str)
def test_every_element_is_that_of_the_function(function: Function, dtype: type, shape: tuple[int, ...]) -> None:
    data = (np.arange(math.prod(shape)) % 5).reshape(shape).astype(dtype)
    exact = np.array([math.exp(number) for number in data.ravel().tolist()]).reshape(shape)
    expected = exact.astype(dtype) if dtype in FLOATS else np.array([round(number) for number in exact.flat], dtype)
    tolerance = 2 * float(ml_dtypes.finfo(dtype).eps) if dtype in FLOATS else 0

    def same(actual: Array) -> None:
        assert (actual.shape, actual.dtype) == (shape, np.dtype(dtype))
        np.testing.assert_allclose(
            actual.astype(np.float64), expected.reshape(shape).astype(np.float64), rtol=tolerance, atol=0
        )

    before, out, over = data.copy(), np.full(shape, 77, dtype), data.copy()
    same(apply_real(function, data))
    assert apply_real(function, data, out) is out
    same(out)
    np.testing.assert_array_equal(data, before)
    assert apply_real(function, over, over) is over
    same(over)


@pytest.mark.usefixtures("_pieces")
@pytest.mark.parametrize("function", [np.exp, in_place], ids=["ufunc", "expression"])
@pytest.mark.parametrize("dtype", FLOATS, ids=lambda dtype: dtype.__name__)
@pytest.mark.parametrize(
    "lie",
    [
        lambda data: data.transpose(0, 2, 1),
        lambda data: data.transpose(2, 0, 1),
        lambda data: data[:, 1:, ::2],
        lambda data: data[:, 1:].transpose(0, 2, 1),
        lambda data: data[..., ::-1],
        lambda data: np.broadcast_to(data[:, :1], (2, 5, 6)),
    ],
    ids=["transposed", "turned", "part", "transposed part", "reversed", "repeated"],
)
def test_elements_may_lie_in_any_order(lie: Callable[[Array], Array], dtype: type, function: Function) -> None:
    data = lie((np.arange(48) % 7).reshape(2, 4, 6).astype(dtype))
    before = data.copy()
    actual = apply_real(function, data)
    expected = apply_real(function, np.ascontiguousarray(data))
    assert np.array_equal(actual, expected)
    single = data.astype(np.float32, copy=False)
    assert np.array_equal(of_copy(in_place, single), of_copy(in_place, before.astype(np.float32)))
    assert np.array_equal(data, before)


def test_transposed_tensors_stay_transposed(monkeypatch: pytest.MonkeyPatch) -> None:
    in_chunks(monkeypatch, "CHUNK_ELEMENTS", 4)
    data = np.ones((1, 6, 4), np.float32).transpose(0, 2, 1)
    for actual in (apply_real(in_place, data), of_copy(in_place, data)):
        assert actual[0].strides == data[0].strides


def test_integers_are_calculated_with_in_f64() -> None:
    roots = [2**26 + 1, 2**26 + 3]
    actual = apply_real(np.sqrt, np.array([root**2 for root in roots], np.int64))
    assert actual.tolist() == roots


def test_what_an_integer_type_cannot_hold() -> None:
    assert apply_real(lambda x: x * 100, np.array([-2, 1, 2], np.int8)).tolist() == [-128, 100, 127]


SELECTED = [
    [np.nan, -0.0, 1, -2, np.inf, 3],
    [-1, np.nan, -0.0, 0, 2, -np.inf],
]


@pytest.mark.usefixtures("_pieces")
@pytest.mark.parametrize("copies", [1, 1000], ids=["NumPy's", "bits"])
@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS, np.bool_, ml_dtypes.int4, ml_dtypes.float8_e4m3fn, np.object_])
@pytest.mark.parametrize(
    "shapes",
    [((6,), (6,), (6,)), ((2, 1), (6,), ()), ((6,), (3, 2, 1), (2, 6)), ((), (0, 6), (1,)), ((4, 1, 6), (), ())],
    ids=str,
)
def test_selected_elements_are_those_of_numpy(shapes: tuple[tuple[int, ...], ...], dtype: type, copies: int) -> None:
    # More elements are put together from bits.
    rank = max(map(len, shapes))
    chosen, *sizes = [(copies, *[1] * (rank - len(shape)), *shape) for shape in shapes]
    cond = np.resize([True, False, False, True, True], chosen)
    with np.errstate(invalid="ignore"):
        then, else_ = [
            np.resize(np.asarray(numbers, np.float32).astype(dtype), size)
            for numbers, size in zip(SELECTED, sizes, strict=True)
        ]
    expected = np.where(cond, then, else_)
    actual = select(cond, then, else_)
    assert actual.dtype == then.dtype
    assert actual.shape == expected.shape
    if dtype is np.object_:
        assert repr(actual) == repr(expected)
        return
    assert actual.tobytes() == expected.tobytes()
    out = np.broadcast_to(then, expected.shape).copy()
    assert select(cond, out, else_, out) is out
    assert out.tobytes() == expected.tobytes()


@pytest.mark.parametrize("copies", [1, 1000])
def test_any_byte_but_0_is_a_true_condition(copies: int) -> None:
    cond = np.array([[0, 1, 2, 128, 255]] * copies, np.uint8).view(np.bool_)
    assert select(cond, np.arange(5), np.array(-1)).tolist() == [[-1, 1, 2, 3, 4]] * copies


FUNCTIONS = (floor_remainder, np.remainder), (truncated_remainder, np.fmod)

NUMBERS = st.floats(width=32) | st.integers(-30, 30).map(float) | st.sampled_from([2.0**23, 2.0**-149, -(2.0**-126)])


def assert_same_bits(actual: Array, expected: Array) -> None:
    np.testing.assert_array_equal(np.isnan(actual), np.isnan(expected))
    is_number = ~np.isnan(expected)
    np.testing.assert_array_equal(actual[is_number].view(np.uint32), expected[is_number].view(np.uint32))


@pytest.mark.parametrize(("function", "expected"), FUNCTIONS)
@given(a=arrays(np.float32, 3, elements=NUMBERS), b=arrays(np.float32, 3, elements=NUMBERS))
def test_remainders_are_those_of_numpy(function, expected, a: Array, b: Array) -> None:
    # Few elements are left to NumPy.
    a, b = np.tile(a, 1000), np.repeat(b, 1000)
    with np.errstate(all="ignore"):
        assert_same_bits(function(a, b), expected(a, b))


@pytest.mark.parametrize(("function", "expected"), FUNCTIONS)
@pytest.mark.parametrize("scale", [1.0, 1e-3, 1e4, 1e8])
def test_remainders_of_many_elements(function, expected, scale: float) -> None:
    generator = np.random.default_rng(0)
    a = (generator.standard_normal((7, 400_000)) * scale).astype(np.float32)
    a[0, :1000] = generator.integers(-40, 40, 1000)
    b = generator.standard_normal((7, 1)).astype(np.float32)
    b[0] = 3
    # Just below multiples of the divisor.
    a[1:, :200] = np.nextafter(b[1:] * np.arange(200, dtype=np.float32), np.float32(0))
    out = np.empty_like(a)
    assert function(a, b, out) is out
    assert_same_bits(out, expected(a, b))


@pytest.mark.parametrize(("function", "expected"), FUNCTIONS)
def test_remainders_are_written_over_an_argument(function, expected) -> None:
    a, b = np.float32([7.5, -7.5, -0.0, 6]), np.float32([2, 2, -3, -3])
    result = expected(a, b)
    assert_same_bits(function(a, b, b), result)


@pytest.mark.parametrize(("function", "expected"), FUNCTIONS)
@pytest.mark.parametrize("shape", [(), (1, 1), (0, 3)])
def test_remainders_of_few_elements(function, expected, shape: tuple[int, ...]) -> None:
    a, b = np.full(shape, -7.5, np.float32), np.full(shape, 2, np.float32)
    actual = function(a, b)
    assert actual.shape == shape
    assert_same_bits(np.atleast_1d(actual), np.atleast_1d(expected(a, b)))


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float32, 1e-5), (np.float64, 1e-13)])
def test_powers_are_exponentials(dtype: type, tolerance: float) -> None:
    """In either base; which one is taken depends on the machine."""
    x = np.linspace(-80, 80, 1001).astype(dtype)
    actual = elementwise.power(x * dtype(elementwise.EXPONENT))
    assert actual.dtype == dtype
    np.testing.assert_allclose(actual, [math.exp(number) for number in x.tolist()], rtol=tolerance)
    assert elementwise.power(dtype(-math.inf)) == 0


@pytest.mark.parametrize(
    ("loops", "expected"),
    [
        ({"exp2": {"ff": {"current": "AVX512_SKX", "available": "AVX512_SKX baseline(SSE)"}}}, True),
        ({"exp2": {"ff": {"current": "baseline(SSE SSE2)", "available": "AVX512_SKX baseline(SSE)"}}}, False),
        ({"exp2": {"dd": {"current": "AVX512_SKX", "available": "AVX512_SKX"}}}, False),
        ({}, False),
    ],
    ids=["avx512", "avx2", "no loop of f32", "not told"],
)
def test_base_2_if_vectorized(monkeypatch: pytest.MonkeyPatch, loops: dict[str, object], expected: bool) -> None:
    monkeypatch.setattr(introspect, "opt_func_info", lambda func_name: loops)
    assert elementwise.has_vectors_of_base_2() == expected
