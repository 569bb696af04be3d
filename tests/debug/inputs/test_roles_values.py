"""Random inputs: in the range of their type, of a shape that the input takes."""

from __future__ import annotations

import numpy as np
import pytest

import ir_exec
from ir_exec import build
from ir_exec.codes import Code
from ir_exec.debug import drawn_inputs
from ir_exec.debug.inputs.roles import draw
from ir_exec.model import ModelPort
from ir_exec.types import Array, ElementType, Shape
from tests.helpers.facts import naming
from tests.helpers.network_text import NetworkText


def port_of(shape: str, element_type: str = "f32") -> ModelPort:
    net = NetworkText()
    net.result(net.parameter(shape, element_type))
    return ir_exec.read_model(net.file().xml).inputs[0]


def draw_values(shape: str, element_type: str = "f32", requested: Shape | None = None) -> Array:
    return draw(port_of(shape, element_type), requested, np.random.default_rng(0))


@pytest.mark.parametrize(
    ("element_type", "least", "most"),
    [
        ("boolean", 0, 1),
        # Narrow integers are data, and take their whole range.
        ("u1", 0, 1),
        ("u2", 0, 3),
        ("u4", 0, 15),
        ("u8", 0, 255),
        ("i4", -8, 7),
        ("i8", -128, 127),
        # Wider ones are indices and masks.
        ("i16", 0, 1),
        ("u16", 0, 1),
        ("i32", 0, 1),
        ("u32", 0, 1),
        ("i64", 0, 1),
        ("u64", 0, 1),
        ("f8e8m0", 2**-4, 2**4),
    ],
)
def test_the_range_of_each_type(element_type: str, least: float, most: float) -> None:
    array = draw_values("10000", element_type)
    assert array.dtype == ElementType[element_type].dtype
    numbers = array.view(np.uint8) if element_type == "u1" else array.astype(np.float64)
    assert (numbers.min(), numbers.max()) == (least, most)


@pytest.mark.parametrize("element_type", ["f16", "bf16", "f32", "f64", "f8e4m3", "f8e5m2"])
def test_floats_are_of_the_normal_distribution(element_type: str) -> None:
    array = draw_values("10000", element_type)
    assert array.dtype == ElementType[element_type].dtype
    numbers = array.astype(np.float64)
    assert abs(numbers.mean()) < 0.05
    assert abs(numbers.std() - 1) < 0.05


def test_strings_are_words() -> None:
    array = draw_values("100", "string")
    assert array.dtype == object
    assert {type(word) for word in array} == {str}
    assert len(set(array)) > 1


@pytest.mark.parametrize(
    ("shape", "sizes"),
    [("2,3", (2, 3)), ("", ()), ("0,2", (0, 2)), ("?,3", (1, 3)), ("..4,2..5", (1, 2)), ("0..3,7..", (1, 7))],
)
def test_unknown_dims_are_least_nonzero_size(shape: str, sizes: tuple[int, ...]) -> None:
    assert draw_values(shape).shape == sizes


def test_required_shape() -> None:
    assert draw_values("?,3", requested=Shape([5, 3])).shape == (5, 3)
    assert draw_values("...", requested=Shape([0, 3])).shape == (0, 3)


def test_an_input_of_unknown_rank_asks_for_a_shape() -> None:
    with pytest.raises(ir_exec.ShapeError, match=naming("parameter0")) as caught:
        draw_values("...")
    assert caught.value.code == Code.input_array_shape


def test_what_does_not_fit_into_memory() -> None:
    with pytest.raises(ir_exec.ResourceError, match=naming("[1000000, 1000000, 1000]")):
        draw_values("1000000,1000000,1000")


def test_numbers_are_drawn_in_64_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ir_exec.debug.inputs.roles.default_budget", lambda: 80)
    assert draw_values("10").shape == (10,)
    with pytest.raises(ir_exec.ResourceError):
        draw_values("11")


def test_the_same_seed_gives_the_same_numbers() -> None:
    np.testing.assert_array_equal(draw_values("5"), draw_values("5"))


def test_constants_with_nan_are_no_warnings() -> None:
    """Their extents are computed for the evidence of the layers that read them."""
    x = build.parameter([2], "f32", name="x")
    extremes = build.constant(np.array([0x7D01, 0x3C00], np.uint16).view(np.float16))  # a signaling NaN
    network = build.model([build.result(build.add(x, build.convert(extremes, "f32")))])
    with np.errstate(all="raise"):
        assert drawn_inputs(network, 0)["x"].shape == (2,)
