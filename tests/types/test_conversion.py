"""Conversion of values, against the bits and tables that define the types."""

from __future__ import annotations

import math
import struct
import warnings

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ir_exec.types import BOOLEAN, INTEGER, NUMERIC, Array, ElementType, convert, saturate
from tests.helpers.facts import naming

KINDS = sorted(NUMERIC | BOOLEAN, key=lambda element_type: element_type.name)
WHOLE = [element_type for element_type in KINDS if element_type in INTEGER]


def codes(element_type: str, *bits: int) -> Array:
    array = np.array(bits, np.uint8)
    if element_type == "i4":
        array = ((array ^ 8) - 8).astype(np.uint8)
    return array.view(ElementType[element_type].dtype)


def to(element_type: str, array: Array) -> Array:
    with np.errstate(all="ignore"):
        return convert(array, ElementType[element_type])


def bits(array: Array) -> list[int]:
    numbers: list[int] = array.view(np.uint8).tolist()
    return numbers


@pytest.mark.parametrize("source", KINDS, ids=str)
def test_one_is_one_in_every_type(source: ElementType) -> None:
    ones = convert(np.ones((2, 1, 3), np.float32), source)
    scalar = ones[0, 0, 0, ...].reshape(())
    for target in KINDS:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            converted, alone = convert(ones, target), convert(scalar, target)
        assert converted.dtype == alone.dtype == target.dtype
        assert (converted.shape, alone.shape) == ((2, 1, 3), ())
        assert (convert(converted, ElementType.f32) == 1).all()
        assert (convert(alone, ElementType.i32) == 1).all()


@pytest.mark.parametrize("source", KINDS, ids=str)
def test_nothing_is_nothing_in_every_type(source: ElementType) -> None:
    for target in KINDS:
        converted = convert(np.zeros((2, 0), source.dtype), target)
        assert (converted.dtype, converted.shape) == (target.dtype, (2, 0))


@pytest.mark.parametrize("target", ["i32", "i64"])
def test_single_number_beyond_range_is_like_many(target: str) -> None:
    far = np.array([1e30, -1e30, 2.0**63, np.inf, -np.inf, np.nan, 2.0**31], np.float64)
    many = to(target, far)
    assert [int(to(target, far[i : i + 1])[0]) for i in range(len(far))] == many.tolist()


def test_the_same_type_is_the_same_array() -> None:
    array = np.zeros(3, np.float16)
    assert convert(array, ElementType.f16) is array


@given(st.sampled_from(WHOLE), st.sampled_from(WHOLE), st.integers(-(2**63), 2**64 - 1))
def test_integers_wrap(source: ElementType, target: ElementType, number: int) -> None:
    def wrap(value: int, element_type: ElementType) -> int:
        value %= 2**element_type.bits
        return (
            value - 2**element_type.bits if element_type.is_signed and value >= 2 ** (element_type.bits - 1) else value
        )

    number = wrap(number, source)
    if source.dtype.kind in "iu":
        array = np.array([number], source.dtype)
    else:
        array = codes(source.name, number % 2**source.bits)
    converted = convert(array, target)
    value = int(converted[0]) if target.dtype.names is None else bits(converted)[0]
    assert value == wrap(number, target)


@given(st.floats(-(2**31), 2**31 - 1, width=64), st.sampled_from([k for k in WHOLE if k.name not in ("u64",)]))
def test_fractions_are_dropped(number: float, target: ElementType) -> None:
    converted = convert(np.array([number]), target)
    value = int(converted[0]) if target.dtype.names is None else bits(converted)[0]
    assert value % 2**target.bits == math.trunc(number) % 2**target.bits


def test_floats_beyond_integers() -> None:
    far = np.array([np.nan, np.inf, -np.inf, 3e38, -3e38], np.float32)
    assert to("i32", far).tolist() == [-(2**31)] * 5
    assert to("i64", far).tolist() == [-(2**63)] * 5
    for element_type in ("i8", "u8", "i16", "u16", "u32"):
        assert to(element_type, far).tolist() == [0] * 5
    assert to("u64", np.array([2.0**63, 2.0**64 - 2048, -1.5])).tolist() == [2**63, 2**64 - 2048, 2**64 - 1]
    assert to("u32", np.array([2.0**32 - 1, -1.0])).tolist() == [2**32 - 1] * 2
    assert to("boolean", far).all()


def test_small_integers_keep_their_bits() -> None:
    assert to("i8", codes("i4", *range(16))).tolist() == [*range(8), *range(-8, 0)]
    assert to("u8", codes("u6", 0, 33, 63)).tolist() == [0, 33, 63]
    assert bits(to("u3", np.array([-1, 8, 13]))) == [7, 0, 5]
    assert bits(to("u1", np.array([2, 3]))) == [0, 1]
    # ml_dtypes leaves the high half of such a byte as it comes.
    assert to("i8", np.array([-1, 7], np.int8).astype(ml_dtypes.int4)).tolist() == [-1, 7]


NF4 = [
    -1.0, -0.6961928, -0.52507305, -0.3949175, -0.28444138, -0.18477343, -0.09105004, 0.0,
    0.0795803, 0.1609302, 0.2461123, 0.33791524, 0.44070983, 0.562617, 0.72295684, 1.0,
]  # fmt: skip


def test_nf4_is_the_nearest_of_its_values() -> None:
    decoded = to("f32", codes("nf4", *range(16)))
    assert np.allclose(decoded, NF4, rtol=1e-6)
    numbers = np.linspace(-1.5, 1.5, 1001, dtype=np.float32)
    nearest = np.abs(numbers[:, np.newaxis] - np.array(NF4)).argmin(1)
    assert bits(to("nf4", numbers)) == nearest.tolist()
    assert bits(to("nf4", np.array([np.nan, np.inf, -np.inf]))) == [0, 15, 0]


def test_f8e8m0_is_an_exponent() -> None:
    assert to("f32", codes("f8e8m0", 0, 126, 127, 128, 254)).tolist() == [2.0**e for e in (-127, -1, 0, 1, 127)]
    assert np.isnan(to("f32", codes("f8e8m0", 255)))
    # The middle between two powers goes to the even code.
    assert bits(to("f8e8m0", np.array([1.49, 1.5, 1.51, 2.99, 3.0, 3.01]))) == [127, 128, 128, 128, 128, 129]
    assert bits(to("f8e8m0", np.array([0.0, -0.0, -3.0, 1e-45, 2.0**-126, 3e38, np.inf, np.nan]))) == [
        *(0, 0, 0, 0, 1, 254, 254, 255)
    ]


def test_f4e2m1_and_the_8_bit_floats() -> None:
    assert to("f32", codes("f4e2m1", *range(8))).tolist() == [0, 0.5, 1, 1.5, 2, 3, 4, 6]
    assert to("f32", to("f4e2m1", np.array([2.5, 3.5, 5, 7, -9, np.nan]))).tolist() == [2, 4, 4, 6, -6, 6]
    assert to("f32", to("f8e4m3", np.array([448, 464, -464]))).tolist() == [448, 448, -448]
    assert np.isnan(to("f32", to("f8e4m3", np.array([465, np.inf])))).all()
    assert to("f32", to("f8e5m2", np.array([57344, 70000, -np.inf]))).tolist() == [57344, np.inf, -np.inf]
    # In two steps: 464.1 is 464 in f16.
    assert to("f32", to("f8e4m3", np.array([464.1], np.float32))).tolist() == [448]


def test_f64_becomes_f16_by_way_of_f32() -> None:
    # 1 + 2**-11 + 2**-40 is nearer to 1 + 2**-10, but in f32 it is the middle.
    assert to("f16", np.array([1 + 2.0**-11 + 2.0**-40])).tolist() == [1.0]
    assert to("bf16", np.array([0.4])).tolist() == [0.400390625]


@pytest.mark.parametrize("element_type", ["u4", "i4", "nf4", "f4e2m1", "f8e4m3", "f8e8m0", "u8", "i8"])
def test_many_elements_are_as_few(element_type: str) -> None:
    few = codes(element_type, *range(min(2 ** ElementType[element_type].bits, 256)))
    many = np.tile(few, 2000 // few.size + 1)
    for target in ("f16", "f32", "bf16", "i32"):
        ours, other = to(target, many[::-1]), np.tile(to(target, few), 2000 // few.size + 1)[::-1]
        assert ours.tobytes() == np.ascontiguousarray(other).tobytes()


def test_bounds_end_at_the_ends_of_the_range() -> None:
    i32, i64 = np.iinfo(np.int32), np.iinfo(np.int64)
    bounds = np.array([i64.max, 2**31, 5, -5, i64.min])
    assert saturate(bounds, ElementType.i32).tolist() == [i32.max, i32.max, 5, -5, i32.min]
    assert saturate(bounds, ElementType.u8).tolist() == [255, 255, 5, 0, 0]
    assert saturate(bounds, ElementType.u64).tolist() == [i64.max, 2**31, 5, 0, 0]
    real = saturate(bounds, ElementType.f32)
    assert real.dtype == np.float32
    assert saturate(real, ElementType.i64).tolist() == [i64.max, 2**31, 5, -5, i64.min]
    assert saturate(np.array(i64.max), ElementType.i32).tolist() == i32.max
    assert saturate(np.array([9]), ElementType.u1).dtype == ElementType.u1.dtype


def test_strings_are_no_numbers() -> None:
    with pytest.raises(ValueError, match=naming("f32")):
        convert(np.array(["1"], object), ElementType.f32)
    with pytest.raises(ValueError, match=naming("f32")):
        convert(np.zeros(1, np.float32), ElementType.string)
    with pytest.raises(ValueError, match=naming("f32")):
        convert(np.zeros(1, np.float32), ElementType.dynamic)


def test_every_f16_becomes_the_f32_of_the_same_value() -> None:
    codes = np.arange(2**16, dtype=np.uint16).view(np.float16)
    converted = convert(codes, ElementType.f32)
    assert converted.dtype == np.float32
    # Python's own decoding of halves.
    expected = [struct.unpack("<e", code.tobytes())[0] for code in codes]
    np.testing.assert_array_equal(converted, np.array(expected))
    np.testing.assert_array_equal(np.signbit(converted), np.signbit(codes))


def test_ties_of_nf4_go_down() -> None:
    """Rounding of OpenVINO: half of the way from 0 to the least positive value is 0, the next number is not."""
    codes = np.arange(16, dtype=np.uint8).view(ElementType.nf4.dtype)
    values = convert(codes, ElementType.f32)
    tie = values[8] / np.float32(2)
    numbers = np.array([tie, np.nextafter(tie, np.float32(1)), -tie, values[8]], np.float32)
    converted = convert(convert(numbers, ElementType.nf4), ElementType.f32)
    assert converted.tolist() == [0, values[8], 0, values[8]]
