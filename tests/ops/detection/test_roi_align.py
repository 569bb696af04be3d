"""GridSample and the pooling of regions: shapes, errors, and boxes that nobody should draw."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ir_exec.errors import EvaluationError, InvalidAttributeError, ShapeError, raise_error
from ir_exec.ops import Op
from ir_exec.ops.detection.roi_align import ROIAlign3, ROIAlign9, ROIAlignRotated
from ir_exec.ops.detection.roi_pooling import DeformablePSROIPooling, PSROIPooling, ROIPooling
from ir_exec.ops.image.grid_sample import GridSample
from ir_exec.types import Array, ElementType, Shape, TensorType


def kind(text: str, name: str = "f32") -> TensorType:
    return TensorType(ElementType[name], Shape.parse(text))


ALIGN = ROIAlign9(pooled_h=2, pooled_w=3, sampling_ratio=0, spatial_scale=1.0, mode="avg", aligned_mode="half_pixel")
ROTATED = ROIAlignRotated(pooled_h=2, pooled_w=3, sampling_ratio=0, spatial_scale=1.0)
POOL = ROIPooling(pooled_h=2, pooled_w=3, spatial_scale=1.0)
SENSITIVE = PSROIPooling(output_dim=2, group_size=3, spatial_scale=1.0)
DEFORMABLE = DeformablePSROIPooling(output_dim=2, group_size=3, part_size=3, spatial_scale=1.0)


@pytest.mark.parametrize(
    ("operator", "inputs", "expected"),
    [
        (GridSample(), (kind("2..3,4,5,6", "i8"), kind("1..2,?,8,2")), "i8[2,4,?,8]"),
        (GridSample(), (kind("..."), kind("...")), "f32[?,?,?,?]"),
        (ALIGN, (kind("1,4,?,?"), kind("2..5,4"), kind("3..9", "i64")), "f32[3..5,4,2,3]"),
        (ALIGN, (kind("..."), kind("..."), kind("...", "i64")), "f32[?,?,2,3]"),
        (ROTATED, (kind("1,?,3,3"), kind("7,5"), kind("...", "i32")), "f32[7,?,2,3]"),
        (POOL, (kind("1,4..6,3,3"), kind("2..,5")), "f32[2..,4..6,2,3]"),
        (SENSITIVE, (kind("1,?,3,3"), kind("4,5", "f16")), "f32[4,2,3,3]"),
        (DEFORMABLE, (kind("1,18..,3,3"), kind("4,5"), kind("4,?,3,3")), "f32[4,2,3,3]"),
    ],
)
def test_shapes_from_bounds(operator: Op, inputs: tuple[TensorType, ...], expected: str) -> None:
    assert str(operator.infer(*inputs)) == expected


@pytest.mark.parametrize(
    ("operator", "inputs", "code", "message"),
    [
        (GridSample(), (kind("1,2,3,4"), kind("1,2,3,3")), "IR502",
         "the last axis of grid and 2 must be equal, found 3 and 2"),
        (GridSample(), (kind("1,2,3,4"), kind("2,2,3,2")), "IR502",
         "the batches of data and grid must be equal, found 1 and 2"),
        (GridSample(), (kind("1,2,3"), kind("2,2,3,2")), "IR501", "data has rank 3 ([1,2,3]), expected 4"),
        (ALIGN, (kind("1,2,3,4"), kind("3,5"), kind("3", "i64")), "IR502",
         "the last axis of rois and 4 must be equal, found 5 and 4"),
        (ALIGN, (kind("1,2,3,4"), kind("3,4"), kind("2", "i64")), "IR502",
         "the number of rois and the length of batch_indices must be equal, found 3 and 2"),
        (POOL, (kind("1,2,3,4"), kind("3,4")), "IR502", "the last axis of rois and 5 must be equal, found 4 and 5"),
        (SENSITIVE, (kind("1,17,3,4"), kind("3,5")), "IR502",
         "the channels of data and those of all bins together must be equal, found 17 and 18"),
        (DEFORMABLE, (kind("1,17,3,4"), kind("3,5")), "IR502", "data has 17 channels, expected 18 or more"),
        (DEFORMABLE, (kind("1,18,3,4"), kind("3,5"), kind("3,6,3,3")), "IR505",
         "offsets has 3 classes of x and y, expected a divisor of output_dim 2"),
        (DEFORMABLE, (kind("1,18,3,4"), kind("3,5"), kind("3,2,3,4")), "IR502",
         "the last two axes of offsets and part_size must be equal, found 4 and 3"),
    ],
)  # fmt: skip
def test_shapes_that_do_not_fit(operator: Op, inputs: tuple[TensorType, ...], code: str, message: str) -> None:
    with pytest.raises(ShapeError) as error:
        operator.infer(*inputs)
    assert (error.value.code, error.value.message) == (code, message)


def evaluate(operator: Op, *inputs: Array) -> Array:
    with np.errstate(all="ignore"):
        found: Array = operator.evaluate(*inputs)
    return found


@pytest.mark.parametrize(("image", "found"), [(2, "2"), (-1, "-1"), (-5, "-5")])
def test_an_image_that_there_is_not(image: int, found: str) -> None:
    data, box = np.ones((2, 3, 4, 4), np.float32), np.zeros((2, 4), np.float32)
    with pytest.raises(EvaluationError) as error:
        evaluate(ALIGN, data, box, np.array([0, image]))
    message = f"batch_indices[1] is {found}, allowed are 0 to 1: data has 2 images"
    assert (error.value.code, error.value.message) == ("IR701", message)


@pytest.mark.parametrize("operator", [POOL, PSROIPooling(output_dim=3, spatial_scale=1.0)])
def test_a_region_in_an_image_that_there_is_not(operator: Op) -> None:
    data = np.ones((2, 3, 4, 4), np.float32)
    for image, allowed in ((2.0, False), (-2.0, False), (np.nan, False), (-1.0, True), (1.9, True)):
        rois = np.array([[0, 0, 0, 1, 1], [image, 0, 0, 1, 1]], np.float32)
        if allowed:
            assert evaluate(operator, data, rois).shape[0] == 2
            continue
        with pytest.raises(EvaluationError) as error:
            evaluate(operator, data, rois)
        assert (error.value.code, error.value.location.port) == ("IR701", "rois")


@pytest.mark.parametrize("operator", [ALIGN, ROTATED])
def test_a_box_as_large_as_a_city_claims_no_memory(operator: Op) -> None:
    box = np.array([[0, 0, 1e9, 1e9, 0][: 4 if operator is ALIGN else 5]], np.float32)
    with pytest.raises(EvaluationError) as error:
        evaluate(operator, np.ones((1, 1, 4, 4), np.float32), box, np.array([0]))
    assert (error.value.code, error.value.location.port) == ("IR704", "rois")


NUMBERS = st.sampled_from([0.0, 1.0, -2.5, 3.7, 40.0, np.nan, np.inf, -np.inf, 1e30, -1e30])


@settings(max_examples=60)
@given(st.lists(NUMBERS, min_size=5, max_size=5), st.sampled_from(["avg", "max"]))
def test_no_box_breaks_anything(box: list[float], mode: str) -> None:
    data = np.random.default_rng(0).random((1, 18, 4, 5)).astype(np.float32)
    align = ROIAlign3(pooled_h=2, pooled_w=2, sampling_ratio=2, spatial_scale=0.5, mode=mode)
    corners = np.array([box[:4]], np.float32)
    assert evaluate(align, data, corners, np.array([0])).shape == (1, 18, 2, 2)
    turned = ROIAlignRotated(pooled_h=2, pooled_w=2, sampling_ratio=2, spatial_scale=0.5)
    assert evaluate(turned, data, np.array([box], np.float32), np.array([0])).shape == (1, 18, 2, 2)
    rois = np.array([[0, *box[:4]]], np.float32)
    for operator in (
        POOL,
        ROIPooling(pooled_h=2, pooled_w=1, spatial_scale=1.0, method="bilinear"),
        SENSITIVE,
        PSROIPooling(
            output_dim=2, group_size=2, spatial_scale=1.0, mode="bilinear", spatial_bins_x=3, spatial_bins_y=3
        ),
        DEFORMABLE,
    ):
        assert evaluate(operator, data, rois).shape[0] == 1


@settings(max_examples=60)
@given(
    st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=4),
    st.sampled_from(["bilinear", "nearest", "bicubic"]),
    st.sampled_from(["zeros", "border", "reflection"]),
    st.booleans(),
)
def test_no_place_breaks_anything(places: list[tuple[float, float]], mode: str, padding: str, align: bool) -> None:
    data = np.random.default_rng(0).random((1, 2, 4, 5)).astype(np.float32)
    operator = GridSample(mode=mode, padding_mode=padding, align_corners=align)
    found = evaluate(operator, data, np.array([[places]], np.float32))
    if mode == "nearest":
        assert np.isin(found, [*data.ravel(), 0]).all()


def test_an_empty_image_has_nothing_to_read() -> None:
    grid = np.zeros((1, 1, 1, 2), np.float32)
    with pytest.raises(EvaluationError) as error:
        evaluate(GridSample(), np.zeros((1, 2, 0, 3), np.float32), grid)
    assert error.value.message == "data [1, 2, 0, 3] has no elements to read"


def test_parts_of_a_region_count_in_the_mode_that_has_them() -> None:
    given = {"output_dim": "2", "spatial_scale": "1", "spatial_bins_x": "0"}
    assert PSROIPooling.parse(given, raise_error) is not None
    with pytest.raises(InvalidAttributeError) as error:
        PSROIPooling.parse(given | {"mode": "bilinear"}, raise_error)
    message = "spatial_bins_x and spatial_bins_y must be 1 or more in the mode bilinear"
    assert (error.value.code, error.value.message) == ("IR302", message)


@pytest.mark.parametrize("scale", ["0", "-1", "nan", "inf"])
def test_a_scale_is_positive(scale: str) -> None:
    with pytest.raises(InvalidAttributeError) as error:
        ROIPooling.parse({"pooled_h": "1", "pooled_w": "1", "spatial_scale": scale}, raise_error)
    assert error.value.code == "IR302"
