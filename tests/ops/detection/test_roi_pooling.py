"""Pooling of regions: shapes, errors, and boxes of all kinds."""

from __future__ import annotations

import numpy as np
import pytest

from ir_exec.errors import EvaluationError, InvalidAttributeError, IRError, ShapeError, raise_error
from ir_exec.ops import Op
from ir_exec.ops.detection.roi_pooling import DeformablePSROIPooling, PSROIPooling, ROIPooling
from ir_exec.types import TensorType
from tests.helpers.facts import fault_with, mentions
from tests.helpers.operators import evaluate
from tests.helpers.values import make_type

POOL = ROIPooling(pooled_h=2, pooled_w=3, spatial_scale=1.0)
SENSITIVE = PSROIPooling(output_dim=2, group_size=3, spatial_scale=1.0)
DEFORMABLE = DeformablePSROIPooling(output_dim=2, group_size=3, part_size=3, spatial_scale=1.0)


@pytest.mark.parametrize(
    ("operator", "inputs", "expected"),
    [
        (POOL, (make_type("1,4..6,3,3"), make_type("2..,5")), "f32[2..,4..6,2,3]"),
        (SENSITIVE, (make_type("1,?,3,3"), make_type("4,5", "f16")), "f32[4,2,3,3]"),
        (DEFORMABLE, (make_type("1,18..,3,3"), make_type("4,5"), make_type("4,?,3,3")), "f32[4,2,3,3]"),
    ],
)
def test_shapes_from_bounds(operator: Op, inputs: tuple[TensorType, ...], expected: str) -> None:
    assert str(operator.infer(*inputs)) == expected


@pytest.mark.parametrize(
    ("operator", "inputs", "code", "fault"),
    [
        (POOL, (make_type("1,2,3,4"), make_type("3,4")), "IR502",
         fault_with("axis", "rois", 5, actual="4 and 5", expected="equal dims")),
        (SENSITIVE, (make_type("1,17,3,4"), make_type("3,5")), "IR502",
         fault_with("data", actual="17 and 18", expected="equal dims")),
        (DEFORMABLE, (make_type("1,17,3,4"), make_type("3,5")), "IR502",
         fault_with("data", actual=17, expected="18 or more")),
        (DEFORMABLE, (make_type("1,18,3,4"), make_type("3,5"), make_type("3,6,3,3")), "IR505",
         fault_with("offsets", "x", "y", actual=3, expected=mentions(2, "output_dim"))),
        (DEFORMABLE, (make_type("1,18,3,4"), make_type("3,5"), make_type("3,2,3,4")), "IR502",
         fault_with("offsets", "part_size", actual="4 and 3", expected="equal dims")),
    ],
)  # fmt: skip
def test_shapes_that_do_not_fit(operator: Op, inputs: tuple[TensorType, ...], code: str, fault: fault_with) -> None:
    with pytest.raises(ShapeError) as error:
        operator.infer(*inputs)
    assert (error.value.code, error.value) == (code, fault)


@pytest.mark.parametrize("operator", [POOL, SENSITIVE, DEFORMABLE])
def test_images_are_floats(operator: Op) -> None:
    errors: list[IRError] = []
    operator.check_inputs([make_type("1,18,3,3", "i32"), make_type("4,5", "i32")], errors.append)
    assert (errors[0].code, errors[0].location.port) == ("IR401", "data")


@pytest.mark.parametrize("operator", [POOL, PSROIPooling(output_dim=3, spatial_scale=1.0)])
def test_missing_image_is_reported(operator: Op) -> None:
    data = np.ones((2, 3, 4, 4), np.float32)
    for image, allowed in ((2.0, False), (-2.0, False), (np.nan, False), (-1.0, True), (1.9, True)):
        rois = np.array([[0, 0, 0, 1, 1], [image, 0, 0, 1, 1]], np.float32)
        if allowed:
            assert evaluate(operator, data, rois).shape[0] == 2
            continue
        with pytest.raises(EvaluationError) as error:
            evaluate(operator, data, rois)
        assert (error.value.code, error.value.location.port) == ("IR701", "rois")


def test_region_parts_count_in_their_mode_only() -> None:
    attributes = {"output_dim": "2", "spatial_scale": "1", "spatial_bins_x": "0"}
    assert PSROIPooling.parse(attributes, raise_error) is not None
    with pytest.raises(InvalidAttributeError) as error:
        PSROIPooling.parse(attributes | {"mode": "bilinear"}, raise_error)
    assert error.value == fault_with("spatial_bins_x", "bilinear", code="IR302", actual=0, expected="1 or more")


@pytest.mark.parametrize("scale", ["0", "-1", "nan", "inf"])
def test_a_scale_is_positive(scale: str) -> None:
    with pytest.raises(InvalidAttributeError) as error:
        ROIPooling.parse({"pooled_h": "1", "pooled_w": "1", "spatial_scale": scale}, raise_error)
    assert error.value.code == "IR302"
