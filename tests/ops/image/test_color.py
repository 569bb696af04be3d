"""Images in YUV and RGB: shapes and errors."""

from __future__ import annotations

import numpy as np
import pytest

from ir_exec.errors import GraphError, ShapeError
from ir_exec.ops.image.color import I420toBGR, I420toRGB, NV12toRGB, RGBtoNV12
from ir_exec.types import ElementType, Shape, TensorType
from tests.helpers.facts import fault_with, mentions


def make_type(text: str, name: str = "u8") -> TensorType:
    return TensorType(ElementType[name], Shape.parse(text))


@pytest.mark.parametrize(
    ("planes", "expected"),
    [
        ((make_type("?,6..13,4,1"),), "u8[?,4..8,4,3]"),
        ((make_type("..."),), "u8[?,?,?,3]"),
        ((make_type("...", "f32"), make_type("2,3,4..5,2", "f32")), "f32[2,6,8..10,3]"),
        ((make_type("?,2..9,?,?"), make_type("1,1..3,?,2")), "u8[1,2..6,?,3]"),
        ((make_type("?,4,4,1"), make_type("...")), "u8[?,4,4,3]"),
    ],
)
def test_image_size_follows_its_planes(planes: tuple[TensorType, ...], expected: str) -> None:
    assert str(NV12toRGB().infer(*planes)) == expected


def test_planes_of_u_and_v_tell_of_each_other() -> None:
    output_type = I420toRGB().infer(make_type("..."), make_type("?,2,?,1"), make_type("3,?,4,1"))
    assert str(output_type) == "u8[3,4,8,3]"


@pytest.mark.parametrize(
    ("planes", "code", "fault"),
    [
        ((make_type("1,4,4"),), "IR501", fault_with("y", "[1,4,4]", actual=3, expected=4)),
        ((make_type("1,6,4,3"),), "IR502", fault_with("y", "[1,6,4,3]", actual=3, expected=1)),
        ((make_type("1,7,4,1"),), "IR505", fault_with("1.5", "y", actual=14, expected=mentions(3))),
        ((make_type("1,9,4,1"),), None, None),
        ((make_type("1,6,3,1"),), "IR505", fault_with("image", actual=3, expected=mentions(2))),
        ((make_type("1,4,4,1"), make_type("1,2,2,1")), "IR502", fault_with("[1,2,2,1]", actual=1, expected=2)),
        ((make_type("1,4,4,1"), make_type("1,2,3,2")), "IR502",
         fault_with("y", actual="4 and 6", expected="equal dims")),
        ((make_type("1,4,4,1"), make_type("2,2,2,2")), "IR502",
         fault_with("planes", actual="1 and 2", expected="equal dims")),
    ],
)  # fmt: skip
def test_planes_that_do_not_fit(planes: tuple[TensorType, ...], code: str | None, fault: str | None) -> None:
    if code is None:
        assert str(NV12toRGB().infer(*planes)) == "u8[1,6,4,3]"
        return
    with pytest.raises(ShapeError) as error:
        NV12toRGB().infer(*planes)
    assert (error.value.code, error.value) == (code, fault)


def test_i420_has_one_plane_or_three() -> None:
    with pytest.raises(GraphError) as error:
        I420toBGR().infer(make_type("1,4,4,1"), make_type("1,2,2,1"))
    assert error.value == fault_with(code="IR106", actual=2, expected="1 or 3")


@pytest.mark.parametrize(
    ("single", "expected"), [(True, ["u8[?,3..12,2..,1]"]), (False, ["u8[?,2..8,2..,1]", "u8[?,1..4,1..,2]"])]
)
def test_planes_of_an_image_of_unknown_size(single: bool, expected: list[str]) -> None:
    output_types = RGBtoNV12(single_plane=single).infer(make_type("?,2..8,2..,3"))
    assert [
        str(output_type) for output_type in (output_types if isinstance(output_types, tuple) else (output_types,))
    ] == expected


def test_gray_stays_gray_there_and_back() -> None:
    gray = np.full((1, 4, 4, 3), 130, np.uint8)
    result = NV12toRGB().evaluate(RGBtoNV12().evaluate(gray))
    # Y = 0.859 * 130 + 16 = 127.67; 1.164 * (128 - 16) = 130.4.
    assert np.unique(result).tolist() == [130]
