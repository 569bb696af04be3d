"""DeformableConvolution: places between the pixels, shapes, and errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ir_exec.errors import ShapeError
from ir_exec.ops.convolution.deformable import DeformableConvolution1, DeformableConvolution8
from ir_exec.types import Shape
from tests.helpers.chunks import in_chunks
from tests.helpers.facts import fault_with
from tests.helpers.operators import inference_error
from tests.helpers.values import make_type

CHANNELS = "the channels of {} and the elements of windows must be equal, found {} and {}"


@pytest.mark.parametrize(
    ("shapes", "attributes", "fault"),
    [
        (("1,4,5,5", "1,7,4,4", "4,4,2,2"), {}, fault_with("offsets", actual="7 and 8", expected="equal dims")),
        (("1,4,5,5", "2,8,4,4", "4,4,2,2"), {}, fault_with("data", "offsets", actual="1 and 2", expected="equal dims")),
        (
            ("1,4,5,5", "1,8,4,5", "4,4,2,2"),
            {},
            fault_with("axis", 3, "offsets", actual="5 and 4", expected="equal dims"),
        ),
        (("1,3,5,5", "1,8,4,4", "4,1,2,2"), {"group": 2}, fault_with(3, "data", 2)),
        (("1,4,5,5", "1,8,4,4", "3,2,2,2"), {"group": 2}, fault_with(3, "filters", 2)),
        (
            ("1,4,5,5", "1,9,4,4", "4,4,?,?"),
            {"deformable_group": 2},
            fault_with(9, "offsets", 2),
        ),
        (("1,4,5,5", "1,8,4,4", "4,4,2,2", "1,3,4,4"), {}, fault_with("mask", actual="3 and 4", expected="equal dims")),
        (
            ("1,4,5,5", "1,8,4,4", "4,3,2,2"),
            {},
            fault_with("data", "filters", actual="4 and 3", expected="equal dims"),
        ),
    ],
)
def test_deformable_convolution_refuses(shapes: tuple[str, ...], attributes: dict[str, Any], fault: fault_with) -> None:
    operator = DeformableConvolution8(**attributes)
    assert inference_error(operator, *[make_type(text) for text in shapes]) == ("IR502", fault)


def test_deformable_convolution_with_little_known() -> None:
    operator = DeformableConvolution1(pads_begin=(1, 1), pads_end=(1, 1))
    unknown = make_type("...")
    assert operator.infer(unknown, unknown, unknown).shape == Shape.unknown()
    output_type = operator.infer(make_type("?,4,8,?"), make_type("2,?,?,?"), make_type("3,4,3,3"))
    assert output_type == make_type("2,3,8,1..")


def test_nan_offsets_are_outside() -> None:
    data = np.ones((1, 1, 2, 2), np.float32)
    offsets = np.array([np.nan, np.inf, -np.inf, 1e30, 0, 0, 0, 0], np.float32).reshape(1, 2, 2, 2)
    filters = np.ones((1, 1, 1, 1), np.float32)
    with np.errstate(all="ignore"):
        for operator in (DeformableConvolution1(), DeformableConvolution8(bilinear_interpolation_pad=True)):
            assert operator.evaluate(data, offsets, filters).tolist() == [[[[0, 0], [0, 0]]]]


@pytest.mark.parametrize("beyond", [False, True])
def test_products_of_places_equal_samples(monkeypatch: pytest.MonkeyPatch, beyond: bool) -> None:
    random = np.random.default_rng(0)
    arrays = [random.standard_normal(shape) for shape in ((2, 6, 5, 7), (2, 24, 4, 6), (4, 6, 2, 2), (2, 12, 4, 6))]
    operator = DeformableConvolution8(pads_begin=(0, 0), deformable_group=3, bilinear_interpolation_pad=beyond)
    result = operator.evaluate(*arrays)
    in_chunks(monkeypatch, "WORKING_ELEMENTS", 0)
    np.testing.assert_allclose(result, operator.evaluate(*arrays), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("size", [(0, 3), (3, 0), (0, 0)])
def test_an_image_without_elements_is_all_padding(size: tuple[int, int]) -> None:
    data = np.zeros((1, 1, *size), np.float32)
    counts = (size[0] + 2, size[1] + 2)
    offsets = np.zeros((1, 2, *counts), np.float32)
    filters = np.ones((1, 1, 1, 1), np.float32)
    for operator in (
        DeformableConvolution1(pads_begin=(1, 1), pads_end=(1, 1)),
        DeformableConvolution8(pads_begin=(1, 1), pads_end=(1, 1), bilinear_interpolation_pad=True),
    ):
        assert np.array_equal(operator.evaluate(data, offsets, filters), np.zeros((1, 1, *counts)))


@pytest.mark.parametrize(("position", "name"), [(0, "data"), (1, "offsets"), (2, "filters"), (3, "mask")])
@pytest.mark.parametrize("rank", [3, 5])
def test_ranks_other_than_four(position: int, name: str, rank: int) -> None:
    types = [make_type("...")] * 4
    types[position] = make_type(",".join("?" * rank))
    with pytest.raises(ShapeError) as error:
        DeformableConvolution8().infer(*types)
    assert (error.value.code, error.value.location.port) == ("IR501", name)
