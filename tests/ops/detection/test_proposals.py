"""Proposals: shapes, and attributes that cannot be."""

from __future__ import annotations

import numpy as np
import pytest

from ir_exec.errors import EvaluationError, InvalidAttributeError, ShapeError
from ir_exec.ops import Op
from tests.helpers.facts import naming
from tests.helpers.operators import make
from tests.helpers.values import make_type

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
            operator.infer(*(make_type(shape) for shape in shapes))
        assert caught.value.code == code
    rois, scores, numbers = operator.infer(*(make_type(s) for s in ("2,3", "...", "?,8,3,4", "?,2,?,4")))
    assert (str(rois), str(scores), str(numbers)) == ("f32[..8,4]", "f32[..8]", "i64[2]")


def test_proposals_with_a_threshold_that_shrinks() -> None:
    scores = np.array([0.9, 0.8, 0.7], np.float32).reshape(1, 3, 1, 1)
    # The second overlaps the first by 5/7, the third overlaps both by less than one half.
    anchors = np.array([[0, 0, 12, 10], [2, 0, 14, 10], [9, 0, 21, 10]], np.float32).reshape(1, 1, 3, 4)
    inputs = (np.array([[50, 50, 1]], np.float32), anchors, np.zeros((1, 12, 1, 1), np.float32), scores)
    for eta, retained in ((1.0, [0, 1, 2]), (0.8, [0, 2])):
        operator = make("GenerateProposals", 9, **{**PROPOSALS, "nms_threshold": 0.75, "nms_eta": eta})
        rois, _, numbers = operator.evaluate(*inputs)
        assert rois.tolist() == anchors[0, 0, retained].tolist()
        assert numbers.tolist() == [len(retained)]


def test_attributes_that_cannot_be() -> None:
    for attributes in ({"pre_nms_count": 0}, {"nms_eta": -0.5}, {"roi_num_type": "u8"}):
        with pytest.raises(InvalidAttributeError):
            make("GenerateProposals", 9, **{**PROPOSALS, **attributes})
    with pytest.raises(InvalidAttributeError, match=naming("1,1,1", "4")):
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


@pytest.mark.parametrize("image", [[0, 10, 1], [10, np.nan, 1], [10, -1, 1], [10, 10, np.inf], [10, 10, 1, -1]])
def test_proposals_for_an_image_that_cannot_be(image: list[float]) -> None:
    operator = proposal()
    inputs = (np.ones((1, 4, 2, 2), np.float32), np.zeros((1, 8, 2, 2), np.float32), np.array(image, np.float32))
    with pytest.raises(EvaluationError) as caught:
        operator.evaluate(*inputs)
    assert (caught.value.code, caught.value.location.port) == ("IR704", "image_shape")


def proposal() -> Op:
    counts = {"base_size": 4, "pre_nms_topn": 9, "post_nms_topn": 2, "feat_stride": 2, "min_size": 1}
    return make("Proposal", 1, nms_thresh=0.5, ratio=1, scale="1,2", **counts)


def test_proposals_of_other_anchors() -> None:
    for scores, moves, image in (
        ("1,6,2,2", "1,12,2,2", "3"),
        ("1,4,2,2", "1,8,2,3", "3"),
        ("1,4,2,2", "1,8,2,2", "5"),
    ):
        with pytest.raises(ShapeError) as caught:
            proposal().infer(make_type(scores), make_type(moves), make_type(image))
        assert caught.value.code == "IR502"
