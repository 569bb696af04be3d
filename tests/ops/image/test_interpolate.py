"""Interpolate: shapes from bounds, errors, and values against the plain loops of the specification."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ir_exec.errors import (
    ElementTypeError,
    EvaluationError,
    InvalidAttributeError,
    ShapeError,
    UnsupportedError,
    raise_error,
)
from ir_exec.ops.image.interpolate import Interpolate1, Interpolate4, Interpolate11
from ir_exec.types import Array, TensorType
from tests.helpers.facts import facts, fault_with, mentions
from tests.helpers.operators import make
from tests.helpers.values import between, constant, make_type

SIZES = Interpolate11(mode="nearest", shape_calculation_mode="sizes")
SCALES = Interpolate11(mode="nearest", shape_calculation_mode="scales")


def test_sizes_may_be_known_in_part() -> None:
    end = 2**63 - 1
    output_type = SIZES.infer(make_type("1,2,?,?"), between([3, 0], [8, end]), constant([2, 3]))
    assert str(output_type) == "f32[1,2,3..8,?]"


@pytest.mark.parametrize(
    ("data", "scales", "expected"),
    [
        ("1,2..5,10", (2, 0.5), "f32[1,4..10,5]"),
        ("1,?,3..", (2, 1.5), "f32[1,?,4..]"),
        ("1,3,3", (1 / 3, 2 / 3), "f32[1,1,2]"),
        ("1,3,3", (1, 0), "f32[1,3,0]"),
        ("1,3,?", (3e38, 3e38), "f32[1,9223372036854775807,?]"),
    ],
)
def test_dims_are_scaled_at_both_ends(data: str, scales: tuple[float, float], expected: str) -> None:
    assert str(SCALES.infer(make_type(data), constant([*scales], element_type="f32"), constant([1, 2]))) == expected


def test_pads_come_before_scales_and_stay_on_other_axes() -> None:
    operator = Interpolate11(mode="nearest", shape_calculation_mode="scales", pads_begin=(1, 1), pads_end=(0, 0, 2))
    output_type = operator.infer(make_type("2,3,4..6"), constant([2], element_type="f32"), constant([2]))
    assert str(output_type) == "f32[3,4,12..16]"


def test_unknown_axes_leave_the_rank() -> None:
    assert SIZES.infer(make_type("1,2,3"), constant([4]), make_type("1", "i64")) == make_type("?,?,?")


@pytest.mark.parametrize(
    ("target", "axes", "code", "fault"),
    [
        (constant([4, 5]), constant([2, 4]), "IR503", fault_with(actual=4, expected="-4 to 3")),
        (constant([4, 5]), constant([2, -1]), "IR503", fault_with(actual=-1, expected="axes of 0 or more")),
        (constant([4, 5]), constant([2, 2]), "IR503", fault_with(actual="[2, 2]", expected="distinct axes")),
        (constant([4]), constant([2, 3]), "IR505", fault_with(actual=1, expected="2 or more")),
        (
            constant([4, -5]),
            constant([2, 3]),
            "IR505",
            fault_with("scales_or_sizes", actual="[4, -5]", expected=mentions()),
        ),
        (constant([1, 2]), TensorType.of(np.array(2)), "IR501", fault_with("[]", actual=0, expected=1)),
        (TensorType.of(np.array(2)), constant([2]), "IR501", fault_with("scales_or_sizes", "[]", actual=0, expected=1)),
    ],
)
def test_sizes_and_axes_that_do_not_fit(target: TensorType, axes: TensorType, code: str, fault: fault_with) -> None:
    with pytest.raises(ShapeError) as error:
        SIZES.infer(make_type("1,2,3,4"), target, axes)
    assert (error.value.code, error.value) == (code, fault)


@pytest.mark.parametrize("scale", [-1.0, np.nan, np.inf])
def test_scale_is_nonnegative(scale: float) -> None:
    with pytest.raises(ShapeError) as error:
        SCALES.infer(make_type("3,4"), constant([scale, 1], element_type="f32"))
    assert error.value == fault_with(code="IR505", actual=scale, expected=mentions("finite", 0))


def test_second_input_type_follows_mode() -> None:
    with pytest.raises(ElementTypeError) as error:
        SCALES.infer(make_type("3,4"), constant([3, 4]))
    fault = fault_with("scales_or_sizes", "scales", actual="i64", expected="one of bf16, f16, f32")
    assert (error.value.code, error.value) == ("IR401", fault)


def test_nothing_cannot_become_something() -> None:
    operator = Interpolate4(mode="linear", shape_calculation_mode="sizes")
    with pytest.raises(EvaluationError) as error, np.errstate(all="ignore"):
        operator.evaluate(np.zeros((0,), np.float32), np.array([3]), np.ones(1, np.float32))
    assert (error.value.code, error.value) == ("IR704", fault_with("data", "[0]", "[3]"))


def test_area_is_the_name_of_nothing() -> None:
    with pytest.raises(UnsupportedError):
        Interpolate1(mode="area", axes=(0,)).evaluate(np.zeros(4, np.float32), np.array([2]))


def test_pads_on_other_axes_than_interpolate_1() -> None:
    with pytest.raises(ShapeError) as error:
        Interpolate1(mode="nearest", axes=(1,), pads_begin=(1, 0)).infer(make_type("3,4"), constant([8]))
    assert facts(error.value.message) == ["0"]


def test_single_pad_covers_all_axes_of_interpolate_1() -> None:
    operator = Interpolate1(mode="nearest", axes=(0, 1), pads_begin=(1,), pads_end=(0,), align_corners=False)
    result = operator.evaluate(np.array([[5.0]], np.float32), np.array([2, 2]))
    assert result.tolist() == [[0, 0], [0, 5]]


def test_attributes_are_checked() -> None:
    with pytest.raises(InvalidAttributeError) as error:
        Interpolate4.parse({"mode": "bilinear_pillow", "shape_calculation_mode": "sizes"}, raise_error)
    assert error.value.code == "IR302"
    with pytest.raises(InvalidAttributeError) as error:
        Interpolate4.parse({"mode": "linear", "shape_calculation_mode": "sizes", "pads_begin": "-1"}, raise_error)
    assert error.value.code == "IR302"


# The functions of the specification (image/interpolate-4), for one axis.
SOURCES: dict[str, Callable[[int, float, int, int], float]] = {
    "half_pixel": lambda x, scale, new, old: (x + 0.5) / scale - 0.5,
    "pytorch_half_pixel": lambda x, scale, new, old: (x + 0.5) / scale - 0.5 if new > 1 else 0.0,
    "asymmetric": lambda x, scale, new, old: x / scale,
    "tf_half_pixel_for_nn": lambda x, scale, new, old: (x + 0.5) / scale,
    "align_corners": lambda x, scale, new, old: 0 if new == 1 else x * (old - 1) / (new - 1),
}
ROUNDINGS: dict[str, Callable[[float, bool], int]] = {
    "round_prefer_floor": lambda x, smaller: math.ceil(x - 0.5),
    "round_prefer_ceil": lambda x, smaller: math.floor(x + 0.5),
    "floor": lambda x, smaller: math.floor(x),
    "ceil": lambda x, smaller: math.ceil(x),
    "simple": lambda x, smaller: math.ceil(x) if smaller else int(x),
}


def cubic(data: Array, x: float, a: float) -> float:
    base = math.floor(x)
    s = x - base
    shares = [
        a * (s - 1) * (s - 1) * s,
        ((a + 2) * s - (a + 3)) * s * s + 1,
        (((-a - 2) * s + (2 * a + 3)) * s - a) * s,
        -a * s * s * (s - 1),
    ]
    return sum(share * data[min(max(base + i - 1, 0), len(data) - 1)] for i, share in enumerate(shares))


def linear(data: Array, x: float, scale: float, antialias: bool) -> float:
    a = scale if antialias and scale < 1 else 1.0
    radius = 2 if scale > 1 else math.ceil(2 / a)
    middle = round(x)
    total = share = 0.0
    for index in range(middle - radius, middle + radius + 1):
        if 0 <= index < len(data):
            weight = a * max(0.0, 1 - abs(a * (x - index)))
            total += weight * data[index]
            share += weight
    return total / share if share else 0.0


def resize(data: Array, size: int, mode: str, **attributes: object) -> Array:
    operator = Interpolate4(mode=mode, shape_calculation_mode="sizes", **attributes)  # type: ignore[arg-type]  # as a caller
    with np.errstate(all="ignore"):
        return operator.evaluate(data, np.array([size]), np.ones(1, np.float32))


LENGTHS = st.integers(1, 40)


@settings(max_examples=60)
@given(LENGTHS, LENGTHS, st.sampled_from(sorted(SOURCES)), st.sampled_from(sorted(ROUNDINGS)))
def test_nearest_matches_specification(old: int, new: int, source: str, rounding: str) -> None:
    data = np.arange(old, dtype=np.float32)
    result = resize(data, new, "nearest", coordinate_transformation_mode=source, nearest_mode=rounding)
    for x in range(new):
        position = float(x) if old == new else SOURCES[source](x, new / old, new, old)
        near = {ROUNDINGS[rounding](position + error, new < old) for error in (0, 1e-4, -1e-4)}
        assert int(result[x]) in {min(max(index, 0), old - 1) for index in near}


@settings(max_examples=60)
@given(LENGTHS, LENGTHS, st.sampled_from(sorted(SOURCES)), st.sampled_from([-0.75, -0.5, 0.2]))
def test_cubic_matches_specification(old: int, new: int, source: str, a: float) -> None:
    data = np.random.default_rng(old).random(old).astype(np.float32)
    result = resize(data, new, "cubic", coordinate_transformation_mode=source, cube_coeff=a)
    places = [float(x) if old == new else SOURCES[source](x, new / old, new, old) for x in range(new)]
    np.testing.assert_allclose(result, [cubic(data, position, a) for position in places], rtol=1e-4, atol=1e-4)


@settings(max_examples=60)
@given(LENGTHS, LENGTHS, st.sampled_from(sorted(SOURCES)), st.booleans())
def test_linear_matches_specification(old: int, new: int, source: str, antialias: bool) -> None:
    data = np.random.default_rng(old).random(old).astype(np.float32)
    actual = resize(data, new, "linear", coordinate_transformation_mode=source, antialias=antialias)
    places = [float(x) if old == new else SOURCES[source](x, new / old, new, old) for x in range(new)]
    expected = [linear(data, position, new / old, antialias) for position in places]
    np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("size", [31, 2000])
def test_long_axis_matches_specification(size: int) -> None:
    data = np.random.default_rng(0).random(1000).astype(np.float32)
    result = resize(data, size, "cubic")
    places = [SOURCES["half_pixel"](x, size / 1000, size, 1000) for x in range(size)]
    np.testing.assert_allclose(result, [cubic(data, position, -0.75) for position in places], rtol=1e-3, atol=1e-3)


def test_nan_stays_in_place() -> None:
    data = np.array([1, 2, np.inf, 4, 5, 6, np.nan, 8], np.float32)
    result = resize(data, 16, "linear_onnx")
    # Elements 2 and 6 are read between 1 and 3, and between 5 and 7.
    assert np.flatnonzero(~np.isfinite(result)).tolist() == [3, 4, 5, 6, 11, 12, 13, 14]


@pytest.mark.parametrize("mode", ["linear", "linear_onnx", "cubic", "nearest"])
def test_single_element_of_pytorch_half_pixel_is_the_first(mode: str) -> None:
    data = np.array([[[[5, 1, 2, 4]] * 4]], np.float32)
    attributes = {
        "mode": mode,
        "shape_calculation_mode": "sizes",
        "coordinate_transformation_mode": "pytorch_half_pixel",
    }
    operator = make("Interpolate", 4, **attributes)
    result = operator.evaluate(data, np.array([1, 1]), np.ones(2, np.float32), np.array([2, 3]))
    assert result.shape == (1, 1, 1, 1)
    np.testing.assert_allclose(result.item(), 5, rtol=1e-6)
