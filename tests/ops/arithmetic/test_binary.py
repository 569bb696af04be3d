"""Integer division, remainders and powers, against plain Python."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from ir_exec.errors import EvaluationError
from ir_exec.ops.base import elementwise
from ir_exec.types import TensorType
from tests.cases.arithmetic.binary import TYPES
from tests.helpers.operators import bounds_of, evaluate, make
from tests.helpers.values import array, make_type

SIGNED = ("i8", "i16", "i32", "i64", "i4")
UNSIGNED = ("u8", "u16", "u32", "u64", "u4")


def truncated_quotient(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


@settings(max_examples=60)
@given(
    element_type=st.sampled_from(SIGNED), pairs=st.lists(st.tuples(st.integers(-7, 7), st.integers(-7, 7)), min_size=1)
)
def test_signed_division_is_pythons_or_cs(element_type: str, pairs: list[tuple[int, int]]) -> None:
    pairs = [(a, b or 3) for a, b in pairs]
    a, b = (array(element_type, *column) for column in zip(*pairs, strict=True))
    for operator, formula in (
        (make("Divide"), truncated_quotient),
        (make("Divide", m_pythondiv="true"), truncated_quotient),
        (make("Divide", m_pythondiv="false"), truncated_quotient),
        (make("FloorMod"), lambda x, y: x % y),
        (make("Mod"), lambda x, y: x - y * truncated_quotient(x, y)),
    ):
        result = evaluate(operator, a, b)
        assert result.dtype == a.dtype
        assert result.astype(int).tolist() == [formula(x, y) for x, y in pairs]
    inferred = make("Divide").evaluate_known(a, b)
    assert inferred.astype(int).tolist() == [x // y for x, y in pairs]


@pytest.mark.parametrize("type", ["Add", "Less", "Maximum"])
def test_scalars_in_numpy_versions_returning_numbers(type: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(elementwise, "GIVES_ARRAYS", False)
    a, b = np.array(1.5, np.float32), np.array(2.5, np.float32)
    result = make(type).kernel(make_type(""), make_type(""))(a, b)
    assert isinstance(result, np.ndarray)
    assert_array_equal(result, evaluate(make(type), a, b), strict=True)


@pytest.mark.parametrize("element_type", ["i8", "u8", "i32", "u32", "i64", "u64"])
def test_two_integers_are_divided_as_many(element_type: str) -> None:
    dtype = array(element_type, 0).dtype
    least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
    numbers = [0, 1, 6, 7, most - 1, most] + [-1, -6, -7, least + 1, least] * (least < 0)
    for a in numbers:
        for b in numbers:
            pair = np.array(a, dtype), np.array(b, dtype)
            kernel = make("Divide").kernel(make_type("", element_type), make_type("", element_type))
            if not b or (a == least < 0 and b == -1):
                continue
            result = kernel(*pair)
            assert (result.dtype, result.shape, result.item()) == (dtype, (), truncated_quotient(a, b))
            assert kernel(*pair, out=pair[0]) is pair[0]
            assert pair[0] == result
    with pytest.raises(EvaluationError) as caught:
        kernel(np.array(1, dtype), np.array(0, dtype))
    assert caught.value.code == "IR704"


@pytest.mark.parametrize("element_type", ["i8", "i16", "i32", "i64"])
def test_paddle_division_rounds_down_except_8_bits(element_type: str) -> None:
    divide = make("Divide", auto_broadcast="pdpd")
    lowest = np.iinfo(element_type.replace("i", "int")).min
    result = evaluate(divide, array(element_type, -9, -1, 0, 9, 9, lowest), array(element_type, 4, 4, -4, -4, 4, -1))
    assert result.tolist() == ([-2, 0, 0, -2, 2, lowest] if element_type == "i8" else [-3, -1, 0, -3, 2, lowest])


@pytest.mark.parametrize("python", ["true", "false"])
@pytest.mark.parametrize("element_type", ["f32", "i32", "u8"])
def test_known_values_are_divided_like_runs(element_type: str, python: str) -> None:
    divide = make("Divide", m_pythondiv=python)
    a, b = array(element_type, 12, 1, 9), array(element_type, 5, 4, 3)
    assert_array_equal(divide.evaluate_known(a, b), evaluate(divide, a, b))


@pytest.mark.parametrize("element_type", ["i32", "i64", "u8"])
def test_integer_powers_are_written_to_out(element_type: str) -> None:
    out = array(element_type, 0, 0)
    assert make("Power").evaluate(array(element_type, 2, 3), array(element_type, 3, 2), out=out) is out
    assert out.tolist() == [8, 9]


@pytest.mark.parametrize("element_type", UNSIGNED)
def test_unsigned_division(element_type: str) -> None:
    a, b = array(element_type, 15, 7, 0, 9), array(element_type, 4, 8, 3, 3)
    for type, expected in (("Divide", [3, 0, 0, 3]), ("Mod", [3, 7, 0, 0]), ("FloorMod", [3, 7, 0, 0])):
        assert evaluate(make(type), a, b).astype(int).tolist() == expected


@pytest.mark.parametrize("type", ["Divide", "Mod", "FloorMod"])
@pytest.mark.parametrize("element_type", ["i32", "u8", "i64", "i4"])
def test_an_integer_divided_by_zero(type: str, element_type: str) -> None:
    with pytest.raises(EvaluationError) as caught:
        evaluate(make(type), array(element_type, 1, 2), array(element_type, 3, 0))
    assert (caught.value.code, caught.value.location.port) == ("IR704", "b")


@pytest.mark.parametrize("type", ["Divide", "Mod", "FloorMod"])
def test_empty_division_by_zero_is_no_error(type: str) -> None:
    assert evaluate(make(type), np.empty((0, 2), np.int32), array("i32", 0, 0)).shape == (0, 2)
    nothing, zeros = np.empty((0, 2), np.int32), array("i32", 0, 0)
    divisor = TensorType.of(zeros).with_bounds(zeros, zeros)
    assert make(type).check_values(TensorType.of(nothing), divisor) == []
    assert len(make(type).check_values(TensorType.of(np.ones((1, 2), np.int32)), divisor)) == 1


def test_the_lowest_integer_divided_by_minus_one_wraps() -> None:
    lowest = array("i64", -(2**63))
    assert evaluate(make("Divide"), lowest, array("i64", -1)).tolist() == [-(2**63)]
    assert evaluate(make("Divide", m_pythondiv="false"), lowest, array("i64", -1)).tolist() == [-(2**63)]
    assert evaluate(make("Mod"), lowest, array("i64", -1)).tolist() == [0]
    assert evaluate(make("FloorMod"), lowest, array("i64", -1)).tolist() == [0]


def test_large_integers_keep_all_their_digits() -> None:
    a, b = np.array([2**63 - 1, -(2**63) + 1]), np.array([10, 10])
    assert evaluate(make("Divide"), a, b).tolist() == [(2**63 - 1) // 10, -((2**63 - 1) // 10)]
    assert evaluate(make("FloorMod"), a, b).tolist() == [(2**63 - 1) % 10, (-(2**63) + 1) % 10]
    assert evaluate(make("Power"), np.array([3]), np.array([39])).tolist() == [3**39]


@settings(max_examples=60)
@given(pairs=st.lists(st.tuples(st.integers(-9, 9), st.integers(-3, 12)), min_size=1))
def test_integer_powers(pairs: list[tuple[int, int]]) -> None:
    pairs = [(base or 1, exponent) for base, exponent in pairs]
    a, b = (array("i64", *column) for column in zip(*pairs, strict=True))
    # Towards zero: of a reciprocal only 1 and -1 are left.
    assert evaluate(make("Power"), a, b).tolist() == [int(base**exponent) for base, exponent in pairs]


def test_integer_powers_wrap() -> None:
    assert evaluate(make("Power"), array("i32", 3, 2, 2), array("i32", 40, 31, 32)).tolist() == [
        (3**40 + 2**31) % 2**32 - 2**31,
        -(2**31),
        0,
    ]
    assert evaluate(make("Power"), array("u8", 3), array("u8", 6)).tolist() == [3**6 % 256]


def test_zero_to_a_negative_power() -> None:
    with pytest.raises(EvaluationError) as caught:
        evaluate(make("Power"), array("i32", 2, 0), array("i32", -1, -1))
    assert (caught.value.code, caught.value.location.port) == ("IR704", "b")


@pytest.mark.parametrize("element_type", ["f32", "f64", "f16", "bf16"])
@pytest.mark.parametrize("exponent", [0, 0.5, 1, 2, 3, -1, -2])
def test_single_exponent_equals_many(element_type: str, exponent: float) -> None:
    base = array(element_type, 0.5, 1, 2, 3.5)
    result = evaluate(make("Power"), base, array(element_type, exponent))
    many = evaluate(make("Power"), base, array(element_type, *[exponent] * 4))
    assert result.dtype == base.dtype
    np.testing.assert_allclose(
        result.astype(np.float64), many.astype(np.float64), rtol=1e-6 if element_type != "bf16" else 1e-2
    )


@pytest.mark.parametrize("element_type", ["f32", "f16", "bf16", "i32", "u8"])
@pytest.mark.parametrize("type", TYPES)
def test_no_elements(type: str, element_type: str) -> None:
    for a, b in (((0,), (0,)), ((0,), (1,)), ((1,), (0,)), ((2, 0), (2, 1)), ((0, 3), ()), ((), (0, 3))):
        result = evaluate(
            make(type), np.ones(a, array(element_type, 1).dtype), np.ones(b, array(element_type, 1).dtype)
        )
        assert (result.shape, result.dtype) == (np.broadcast_shapes(a, b), array(element_type, 1).dtype)


def test_an_exponent_of_higher_rank_shapes_the_output() -> None:
    assert evaluate(make("Power"), array("f32", 1, 2), np.full((1, 1), 2, np.float32)).shape == (1, 2)


def test_maximum_and_minimum_keep_nan() -> None:
    for type in ("Maximum", "Minimum"):
        for element_type in ("f32", "bf16", "f16"):
            result = evaluate(make(type), array(element_type, np.nan, 1), array(element_type, 1, np.nan))
            assert_array_equal(np.isnan(result), [True, True])


@pytest.mark.parametrize(
    ("type", "a", "b", "expected"),
    [
        ("Mod", (1, 3), (4, 10), (1, 3)),
        ("Mod", (-3, 3), (4, 10), (-3, 3)),
        ("Mod", (1, 4), (4, 10), (0, 4)),
        ("FloorMod", (1, 3), (4, 10), (1, 3)),
        ("FloorMod", (1, 4), (4, 10), (0, 9)),
        ("FloorMod", (-5, -1), (3, 3), (0, 2)),
        ("FloorMod", (-5, 9), (3, 3), (0, 2)),
        ("FloorMod", (5, 9), (-3, -3), (-2, 0)),
        ("FloorMod", (-2, -1), (-5, -3), (-4, 0)),
        ("FloorMod", (0, 9), (-3, 4), (-2, 3)),
        ("Mod", (-5, -1), (3, 3), (-2, 0)),
        ("Mod", (5, 9), (-3, -3), (0, 2)),
        ("Divide", (2**60, 2**62), (1, 2), (2**59, 2**62)),
        ("Divide", (-(2**62), -(2**60)), (1, 2), (-(2**62), -(2**59))),
        # Bounds beyond f64 are wider.
        ("Mod", (2**60, 2**62), (2, 2**61), (0, 2**63 - 1)),
        ("FloorMod", (2**60, 2**61), (2**62, 2**62), (0, 2**63 - 1)),
        ("FloorMod", (-(2**61), -(2**60)), (-(2**62), -(2**62)), (-(2**62), 0)),
        ("Divide", (0, 2**63 - 1), (0, 2**63 - 1), (0, 2**63 - 1)),
        ("Divide", (7, 9), (2, 3), (2, 4)),
        ("Power", (2, 3), (1, 4), (2, 81)),
        ("Power", (1, 7), (0, 1), (1, 7)),
        ("Multiply", (-2, 3), (-5, 4), (-15, 12)),
        ("Subtract", (-2, 3), (1, 4), (-6, 2)),
    ],
)
def test_bounds_are_tight(type: str, a: tuple[int, int], b: tuple[int, int], expected: tuple[int, int]) -> None:
    given_bounds = [(array("i64", lower), array("i64", upper)) for lower, upper in (a, b)]
    bounds = bounds_of(make(type), *given_bounds)
    assert bounds is not None
    assert tuple(int(bound[0]) for bound in bounds) == expected


@pytest.mark.parametrize(
    "shapes", [((1, 2**20), (3, 1)), ((3, 1), (1, 2**20)), ((2**20,), (3, 1)), ((1, 2**20), (1, 1))]
)
def test_large_arrays_broadcast_both_ways(shapes: tuple[tuple[int, ...], ...]) -> None:
    """They are large enough for several threads, of which each has a part of the output."""
    a, b = (np.arange(np.prod(shape), dtype=np.float32).reshape(shape) for shape in shapes)
    long, short = (a, b) if a.size > b.size else (b, a)
    result = make("Add").evaluate(a, b)
    assert result.shape == (short.size, long.size)
    for row, number in zip(result, short.ravel(), strict=True):
        np.testing.assert_array_equal(row, long.ravel() + number)


@pytest.mark.parametrize("element_type", ["f32", "f64", "f16", "bf16"])
@pytest.mark.parametrize("exponent", [-3, -2, 0, 2, 3, 4, 5])
def test_whole_exponents_of_every_kind_of_base(element_type: str, exponent: int) -> None:
    base = array(element_type, -np.inf, -3.5, -1, -0.0, 0.0, 0.5, 2, np.inf, np.nan)
    with np.errstate(divide="ignore"):
        actual = evaluate(make("Power"), base, array(element_type, exponent)).astype(np.float64)
        expected = np.power(base.astype(np.float64), exponent)
    np.testing.assert_allclose(actual, expected, rtol={"f16": 1e-3, "bf16": 1e-2}.get(element_type, 1e-6))
    np.testing.assert_array_equal(np.signbit(actual[:-1]), np.signbit(expected[:-1]))
