"""Pooling of regions: shapes, errors, and boxes of all kinds."""

from __future__ import annotations

import numpy as np
import pytest

from ir_exec.errors import EvaluationError, InvalidAttributeError, IRError, ShapeError, raise_error
from ir_exec.ops import Op
from ir_exec.ops.detection.roi_pooling import DeformablePSROIPooling, PSROIPooling, ROIPooling
from ir_exec.types import TensorType
from tests.helpers.facts import mentions
from tests.helpers.operators import evaluate
from tests.helpers.values import typed

POOL = ROIPooling(pooled_h=2, pooled_w=3, spatial_scale=1.0)
SENSITIVE = PSROIPooling(output_dim=2, group_size=3, spatial_scale=1.0)
DEFORMABLE = DeformablePSROIPooling(output_dim=2, group_size=3, part_size=3, spatial_scale=1.0)


@pytest.mark.parametrize(
    ("operator", "inputs", "expected"),
    [
        (POOL, (typed("1,4..6,3,3"), typed("2..,5")), "f32[2..,4..6,2,3]"),
        (SENSITIVE, (typed("1,?,3,3"), typed("4,5", "f16")), "f32[4,2,3,3]"),
        (DEFORMABLE, (typed("1,18..,3,3"), typed("4,5"), typed("4,?,3,3")), "f32[4,2,3,3]"),
    ],
)
def test_shapes_from_bounds(operator: Op, inputs: tuple[TensorType, ...], expected: str) -> None:
    assert str(operator.infer(*inputs)) == expected


@pytest.mark.parametrize(
    ("operator", "inputs", "code", "message"),
    [
        (POOL, (typed("1,2,3,4"), typed("3,4")), "IR502", mentions("axis", "rois", 5, 4, 5)),
        (SENSITIVE, (typed("1,17,3,4"), typed("3,5")), "IR502",
         mentions("data", 17, 18)),
        (DEFORMABLE, (typed("1,17,3,4"), typed("3,5")), "IR502", mentions("data", 17, 18)),
        (DEFORMABLE, (typed("1,18,3,4"), typed("3,5"), typed("3,6,3,3")), "IR505",
         mentions("offsets", 3, "x", "y", "output_dim", 2)),
        (DEFORMABLE, (typed("1,18,3,4"), typed("3,5"), typed("3,2,3,4")), "IR502",
         mentions("offsets", "part_size", 4, 3)),
    ],
)  # fmt: skip
def test_shapes_that_do_not_fit(operator: Op, inputs: tuple[TensorType, ...], code: str, message: mentions) -> None:
    with pytest.raises(ShapeError) as error:
        operator.infer(*inputs)
    assert (error.value.code, error.value.message) == (code, message)


@pytest.mark.parametrize("operator", [POOL, SENSITIVE, DEFORMABLE])
def test_images_are_floats(operator: Op) -> None:
    errors: list[IRError] = []
    operator.check_inputs([typed("1,18,3,3", "i32"), typed("4,5", "i32")], errors.append)
    assert (errors[0].code, errors[0].location.port) == ("IR401", "data")


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


def test_parts_of_a_region_count_in_the_mode_that_has_them() -> None:
    given = {"output_dim": "2", "spatial_scale": "1", "spatial_bins_x": "0"}
    assert PSROIPooling.parse(given, raise_error) is not None
    with pytest.raises(InvalidAttributeError) as error:
        PSROIPooling.parse(given | {"mode": "bilinear"}, raise_error)
    message = mentions("spatial_bins_x", "spatial_bins_y", 1, "bilinear")
    assert (error.value.code, error.value.message) == ("IR302", message)


@pytest.mark.parametrize("scale", ["0", "-1", "nan", "inf"])
def test_a_scale_is_positive(scale: str) -> None:
    with pytest.raises(InvalidAttributeError) as error:
        ROIPooling.parse({"pooled_h": "1", "pooled_w": "1", "spatial_scale": scale}, raise_error)
    assert error.value.code == "IR302"
