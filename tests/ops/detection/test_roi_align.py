"""ROIAlign and ROIAlignRotated: shapes, errors, and boxes of all kinds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ir_exec.errors import EvaluationError, ShapeError
from ir_exec.ops import Op
from ir_exec.ops.detection import roi_align
from ir_exec.ops.detection.roi_align import ROIAlign3, ROIAlign9, ROIAlignRotated
from ir_exec.ops.detection.roi_pooling import DeformablePSROIPooling, PSROIPooling, ROIPooling
from ir_exec.types import TensorType
from tests.helpers.chunks import in_chunks
from tests.helpers.facts import fault_with
from tests.helpers.operators import evaluate
from tests.helpers.values import make_type

ALIGN = ROIAlign9(pooled_h=2, pooled_w=3, sampling_ratio=0, spatial_scale=1.0, mode="avg", aligned_mode="half_pixel")
ROTATED = ROIAlignRotated(pooled_h=2, pooled_w=3, sampling_ratio=0, spatial_scale=1.0)
POOL = ROIPooling(pooled_h=2, pooled_w=3, spatial_scale=1.0)
SENSITIVE = PSROIPooling(output_dim=2, group_size=3, spatial_scale=1.0)
DEFORMABLE = DeformablePSROIPooling(output_dim=2, group_size=3, part_size=3, spatial_scale=1.0)


@pytest.mark.parametrize(
    ("operator", "inputs", "expected"),
    [
        (ALIGN, (make_type("1,4,?,?"), make_type("2..5,4"), make_type("3..9", "i64")), "f32[3..5,4,2,3]"),
        (ALIGN, (make_type("..."), make_type("..."), make_type("...", "i64")), "f32[?,?,2,3]"),
        (ROTATED, (make_type("1,?,3,3"), make_type("7,5"), make_type("...", "i32")), "f32[7,?,2,3]"),
    ],
)
def test_shapes_from_bounds(operator: Op, inputs: tuple[TensorType, ...], expected: str) -> None:
    assert str(operator.infer(*inputs)) == expected


@pytest.mark.parametrize(
    ("operator", "inputs", "code", "fault"),
    [
        (ALIGN, (make_type("1,2,3,4"), make_type("3,5"), make_type("3", "i64")), "IR502",
         fault_with("axis", "rois", 4, actual="5 and 4", expected="equal dims")),
        (ALIGN, (make_type("1,2,3,4"), make_type("3,4"), make_type("2", "i64")), "IR502",
         fault_with("rois", "batch_indices", actual="3 and 2", expected="equal dims")),
    ],
)  # fmt: skip
def test_shapes_that_do_not_fit(operator: Op, inputs: tuple[TensorType, ...], code: str, fault: fault_with) -> None:
    with pytest.raises(ShapeError) as error:
        operator.infer(*inputs)
    assert (error.value.code, error.value) == (code, fault)


@pytest.mark.parametrize(("image", "actual"), [(2, "2"), (-1, "-1"), (-5, "-5")])
def test_missing_image_is_reported(image: int, actual: str) -> None:
    data, box = np.ones((2, 3, 4, 4), np.float32), np.zeros((2, 4), np.float32)
    with pytest.raises(EvaluationError) as error:
        evaluate(ALIGN, data, box, np.array([0, image]))
    assert error.value == fault_with("batch_indices[1]", "data", 2, code="IR701", actual=actual, expected="0 to 1")


@pytest.mark.parametrize("operator", [ALIGN, ROTATED])
def test_huge_box_takes_no_memory(operator: Op) -> None:
    box = np.array([[0, 0, 1e9, 1e9, 0][: 4 if operator is ALIGN else 5]], np.float32)
    with pytest.raises(EvaluationError) as error:
        evaluate(operator, np.ones((1, 1, 4, 4), np.float32), box, np.array([0]))
    assert (error.value.code, error.value.location.port) == ("IR704", "rois")


@pytest.mark.parametrize("operator", [ALIGN, ROTATED])
@pytest.mark.parametrize(("side", "is_refused"), [(2000, False), (2200, True)])
def test_how_many_samples_are_too_many(operator: Op, side: float, is_refused: bool) -> None:
    """Of boxes with about one sample for each element; 2^22 is 2048 squared."""
    half = side / 2
    box = np.array([[0, 0, side, side] if operator is ALIGN else [half, half, side, side, 0]], np.float32)
    inputs = np.ones((1, 1, 4, 4), np.float32), box, np.array([0])
    if is_refused:
        with pytest.raises(EvaluationError) as error:
            evaluate(operator, *inputs)
        assert error.value.code == "IR704"
    else:
        assert evaluate(operator, *inputs).shape == (1, 1, 2, 3)


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


@pytest.mark.parametrize("mode", ["avg", "max"])
@pytest.mark.parametrize("sampling_ratio", [0, 1, 3])
def test_many_regions_equal_single_regions(monkeypatch: pytest.MonkeyPatch, mode: str, sampling_ratio: int) -> None:
    generator = np.random.default_rng(0)
    data = generator.normal(size=(2, 3, 9, 8))
    corners = generator.uniform(-4, 10, (7, 2))
    rois = np.concatenate([corners, corners + generator.uniform(-1, 9, (7, 2))], 1)
    images = np.array([0, 1, 1, 0, 1, 0, 1])
    operator = ROIAlign3(pooled_h=2, pooled_w=3, sampling_ratio=sampling_ratio, spatial_scale=0.9, mode=mode)
    monkeypatch.setattr(roi_align, "FEW_SAMPLES", 0)
    expected = operator.evaluate(data, rois, images)
    for few, chunk in ((1, 10**6), (10**6, 10**6), (10**6, 1)):
        monkeypatch.setattr(roi_align, "FEW_SAMPLES", few)
        in_chunks(monkeypatch, "CHUNK_ELEMENTS", chunk)
        assert np.allclose(operator.evaluate(data, rois, images), expected, rtol=1e-12, atol=1e-12)
