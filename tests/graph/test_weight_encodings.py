"""Names, element types and levels of the formats of weights."""

from __future__ import annotations

import numpy as np
import pytest

from ir_exec.graph.weight_encodings import ENCODINGS, encoding_name, level_gaps, range_of_type, types_of_mode
from ir_exec.types import ElementType

GREATEST = {
    "int8_asym": 255,
    "int8_sym": 128,
    "int4_asym": 15,
    "int4_sym": 8,
    "nf4": 1,
    "fp4": 6,
    "mxfp4": 6,
    "nvfp4": 6,
    "fp8_e4m3": 448,
    "fp8_e5m2": 57344,
    "mxfp8_e4m3": 448,
    "mxfp8_e5m2": 57344,
}


@pytest.mark.parametrize("name", ENCODINGS)
def test_the_code_of_the_greatest_magnitude(name: str) -> None:
    assert ENCODINGS[name].greatest == GREATEST[name]


@pytest.mark.parametrize("name", ENCODINGS)
def test_a_name_follows_from_the_types(name: str) -> None:
    encoding = ENCODINGS[name]
    assert encoding_name(encoding.element_type, {encoding.scale_type}, is_symmetric=not encoding.has_zero) == name


def test_names_of_other_types() -> None:
    assert encoding_name(ElementType.u2, (), is_symmetric=False) == "int2_asym"
    assert encoding_name(ElementType.u4, {ElementType.f16}, is_symmetric=True) == "int4_sym"
    assert encoding_name(ElementType.nf4, {ElementType.f8e8m0}, is_symmetric=True) == "nf4"
    assert encoding_name(ElementType.f8e5m2, (), is_symmetric=True) == "fp8_e5m2"


@pytest.mark.parametrize(
    ("mode", "types"),
    [
        ("int4_asym", {"i4", "u4"}),
        ("int4_sym", {"i4", "u4"}),
        ("int8", {"i8", "u8"}),
        ("nf4", {"nf4"}),
        ("e2m1", {"f4e2m1"}),
        ("mxfp4", {"f4e2m1"}),
        ("mxfp8_e4m3", {"f8e4m3", "f8e5m2"}),
        ("nvfp4", {"f4e2m1"}),
        ("fp8_e4m3", {"f8e4m3", "f8e5m2"}),
        ("fp4", {"f4e2m1"}),
        ("codebook", None),
        ("cb4_f8e4m3", None),
        ("", None),
        (None, None),
    ],
)
def test_element_types_of_modes(mode: str | None, types: set[str] | None) -> None:
    assert types_of_mode(mode) == types


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [("u4", 0, 15), ("i4", -7, 7), ("u8", 0, 255), ("i8", -127, 127), ("nf4", -1, 1), ("f8e4m3", -448, 448)],
)
def test_the_range_of_a_type(name: str, low: float, high: float) -> None:
    assert range_of_type(ElementType[name]) == (low, high)


def test_gaps_between_levels() -> None:
    levels = np.array([0, 1, 4, 5, np.nan], np.float32)
    assert level_gaps(levels[:4], levels).tolist() == [1, 3, 3, 1]
    assert level_gaps(np.ones(2, np.float32), levels[:1]).tolist() == [0, 0]
    # f4e2m1: 0, 0.5, 1, 1.5, 2, 3, 4, 6 and their negatives.
    assert level_gaps(np.array([0, 2, 6], np.float32), ElementType.f4e2m1).tolist() == [0.5, 1, 2]
