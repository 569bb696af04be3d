"""What the operators of Detectron models say about wrong shapes, and where specification and OpenVINO leave it open."""

from __future__ import annotations

import numpy as np
import pytest

from ir_exec.errors import InvalidAttributeError, ShapeError
from ir_exec.types import Shape
from tests.helpers.indexing import make, run, typed


def test_best_rois_first_of_equal_ones_the_first() -> None:
    rois = np.arange(16, dtype=np.float32).reshape(4, 4)
    output = run(make("ExperimentalDetectronTopKROIs", 6, max_rois=5), rois, np.array([1, 3, 1, 2], np.float32))
    assert output.tolist() == [*rois[[1, 3, 0, 2]].tolist(), [0, 0, 0, 0]]


def test_a_grid_larger_than_the_feature_map() -> None:
    operator = make("ExperimentalDetectronPriorGridGenerator", 6, h=4)
    with pytest.raises(ShapeError, match="h is 4, more than 3, the size of feature_map"):
        operator.infer(typed("f32", "2,4"), typed("f32", "1,8,3,3"), typed("f32", "1,3,9,9"))
    shape = operator.infer(typed("f32", "2,4"), typed("f32", "1,8,?,3"), typed("f32", "1,3,9,9")).shape
    assert shape == Shape([None, 3, 2, 4])


def test_more_levels_than_scales() -> None:
    operator = make(
        "ExperimentalDetectronROIFeatureExtractor", 6, output_size=2, sampling_ratio=1, pyramid_scales="4,8"
    )
    levels = [typed("f32", "1,2,4,4")] * 3
    with pytest.raises(ShapeError, match="there are 3 levels, but 2 pyramid_scales"):
        operator.infer(typed("f32", "5,4"), *levels)
    with pytest.raises(ShapeError, match="channels of pyramid"):
        operator.infer(typed("f32", "5,4"), levels[0], typed("f32", "1,3,4,4"))
    features, boxes = operator.infer(typed("f32", "..."), typed("f32", "..."), levels[0])
    assert (features.shape, boxes.shape) == ([None, 2, 2, 2], [None, 4])


def test_features_of_a_flat_pyramid_are_its_levels() -> None:
    operator = make(
        "ExperimentalDetectronROIFeatureExtractor", 6, output_size=2, sampling_ratio=2, pyramid_scales="4,8,16"
    )
    levels = [np.full((1, 1, 64 >> i, 64 >> i), i + 1, np.float32) for i in range(3)]
    sizes = [20, 111, 113, 223, 225, 0]
    rois = np.array([[0, 0, size, size] for size in sizes], np.float32)
    features, boxes = operator.evaluate(rois, *levels)
    assert features.mean(axis=(1, 2, 3)).tolist() == [1, 1, 2, 2, 3, 0]
    assert boxes.tolist() == rois.tolist()
    assert not np.may_share_memory(boxes, rois)


PROPOSALS = {"min_size": 1, "nms_threshold": 0.5, "pre_nms_count": 9, "post_nms_count": 4}


def test_proposals_of_shapes_that_do_not_fit() -> None:
    operator = make("GenerateProposals", 9, **PROPOSALS)
    for shapes, code in (
        (("2,5", "3,4,2,4", "2,8,3,4", "2,2,3,4"), "IR502"),
        (("2,3", "3,4,2,5", "2,8,3,4", "2,2,3,4"), "IR502"),
        (("2,3", "3,4,3,4", "2,8,3,4", "2,2,3,4"), "IR502"),
        (("1,3", "3,4,2,4", "2,8,3,4", "2,2,3,4"), "IR502"),
        (("2,3", "3,4,2,4", "2,7,3,4", "2,2,3,4"), "IR505"),
        (("2,3", "3,4,2,4", "2,8,3,4", "2,2,4,3"), "IR502"),
        (("3", "3,4,2,4", "2,8,3,4", "2,2,3,4"), "IR501"),
    ):
        with pytest.raises(ShapeError) as caught:
            operator.infer(*(typed("f32", shape) for shape in shapes))
        assert caught.value.code == code
    rois, scores, numbers = operator.infer(*(typed("f32", s) for s in ("2,3", "...", "?,8,3,4", "?,2,?,4")))
    assert (str(rois), str(scores), str(numbers)) == ("f32[..8,4]", "f32[..8]", "i64[2]")


def test_proposals_with_a_threshold_that_shrinks() -> None:
    scores = np.array([0.9, 0.8, 0.7], np.float32).reshape(1, 3, 1, 1)
    # The second overlaps the first by 5/7, the third overlaps both by less than one half.
    anchors = np.array([[0, 0, 12, 10], [2, 0, 14, 10], [9, 0, 21, 10]], np.float32).reshape(1, 1, 3, 4)
    inputs = (np.array([[50, 50, 1]], np.float32), anchors, np.zeros((1, 12, 1, 1), np.float32), scores)
    for eta, kept in ((1.0, [0, 1, 2]), (0.8, [0, 2])):
        operator = make("GenerateProposals", 9, **{**PROPOSALS, "nms_threshold": 0.75, "nms_eta": eta})
        rois, _, numbers = operator.evaluate(*inputs)
        assert rois.tolist() == anchors[0, 0, kept].tolist()
        assert numbers.tolist() == [len(kept)]


def test_attributes_that_cannot_be() -> None:
    for attributes in ({"pre_nms_count": 0}, {"nms_eta": -0.5}, {"roi_num_type": "u8"}):
        with pytest.raises(InvalidAttributeError):
            make("GenerateProposals", 9, **{**PROPOSALS, **attributes})
    with pytest.raises(InvalidAttributeError, match="expected 4 values, found 3"):
        make(
            "ExperimentalDetectronDetectionOutput",
            6,
            score_threshold=0,
            nms_threshold=1,
            num_classes=2,
            post_nms_count=1,
            max_detections_per_image=1,
            max_delta_log_wh=1,
            deltas_weights="1,1,1",
        )
