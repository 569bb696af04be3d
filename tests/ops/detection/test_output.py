"""What detection operators find in small examples, and what they say about wrong shapes and values."""

from __future__ import annotations

import numpy as np
import pytest

from ir_exec.errors import EvaluationError, GraphError, InvalidAttributeError, ShapeError
from ir_exec.ops import Op
from ir_exec.types import Array
from tests.helpers.indexing import make, run, typed


def detector(since: int = 8, **attributes: object) -> Op:
    return make("DetectionOutput", since, keep_top_k=3, nms_threshold=0.5, normalized="true", **attributes)


def two_priors(scores: list[float]) -> tuple[Array, Array, Array]:
    """Inputs with two prior boxes far from each other that do not move, and two classes."""
    priors = np.array([[[0, 0, 0.25, 0.25, 0.5, 0.5, 1, 1], [0.1] * 8]], np.float32)
    return np.zeros((1, 8), np.float32), np.array([scores], np.float32), priors


def test_detections_end_with_minus_one() -> None:
    output = run(detector(confidence_threshold=0.3), *two_priors([0.9, 0.1, 0.25, 0.75]))
    assert output[0, 0].tolist() == [[0, 1, 0.75, 0.5, 0.5, 1, 1], [-1, 0, 0, 0, 0, 0, 0], [0] * 7]


def test_classes_of_a_detector_that_leaves_out_the_first() -> None:
    output = run(detector(decrease_label_id="true"), *two_priors([0.9, 0.1, 0.25, 0.75]))
    assert output[0, 0, :, :3].tolist() == [[0, 0, 0.75], [0, 0, np.float32(0.1)], [-1, 0, 0]]


def test_rows_for_every_way_to_count_them() -> None:
    inputs = (typed("f32", "2,60"), typed("f32", "2,45"), typed("f32", "1,2,60"))
    for attributes, rows in (({"keep_top_k": 7}, 14), ({"keep_top_k": -1, "top_k": 4}, 24), ({"keep_top_k": -1}, 90)):
        operator = make("DetectionOutput", 8, nms_threshold=0.5, normalized="true", **attributes)
        assert operator.infer(*inputs).shape == [1, 1, rows, 7]
    unknown = make("DetectionOutput", 8, keep_top_k=-1, nms_threshold=0.5, normalized="true")
    assert unknown.infer(typed("f32", "2..3,?"), *inputs[1:]).shape == [1, 1, 90, 7]
    assert unknown.infer(typed("f32", "..."), typed("f32", "..."), typed("f32", "...")).shape == [1, 1, None, 7]


@pytest.mark.parametrize(
    ("shapes", "code"),
    [
        (("2,60,1", "2,45", "1,2,60"), "IR501"),
        (("2,60", "3,45", "1,2,60"), "IR502"),
        (("2,60", "2,45", "1,1,60"), "IR502"),
        (("2,60", "2,45", "3,2,60"), "IR502"),
        (("2,56", "2,45", "1,2,60"), "IR502"),
        (("2,60", "2,44", "1,2,60"), "IR505"),
        (("2,60", "2,45", "1,2,61"), "IR505"),
        (("2,60", "2,45", "1,2,60", "2,31", "2,60"), "IR505"),
        (("2,60", "2,45", "1,2,60", "2,30", "2,64"), "IR502"),
    ],
)
def test_shapes_that_do_not_fit(shapes: tuple[str, ...], code: str) -> None:
    with pytest.raises(ShapeError) as caught:
        detector().infer(*(typed("f32", shape) for shape in shapes))
    assert caught.value.code == code


def test_four_inputs_are_one_too_few() -> None:
    with pytest.raises(GraphError, match="expected 3 inputs or 5, found 4"):
        detector().infer(*(typed("f32", shape) for shape in ("2,60", "2,45", "1,2,60", "2,30")))


def test_attributes_that_cannot_be() -> None:
    for attributes in ({"keep_top_k": ""}, {"code_type": "caffe.PriorBoxParameter.MIDDLE"}):
        with pytest.raises(InvalidAttributeError):
            make("DetectionOutput", 8, **{"keep_top_k": 3, "nms_threshold": 0.5, **attributes})


def test_region_with_too_few_channels() -> None:
    operator = make("RegionYolo", 1, axis=1, end_axis=3, coords=4, classes=3, num=2, do_softmax="true")
    with pytest.raises(ShapeError) as caught:
        operator.infer(typed("f32", "1,15,2,2"))
    assert caught.value.message == "axis 1 of data is 15, expected 16: regions * (coords + classes + 1)"


def test_region_channels_behind_the_regions_stay_as_they_are() -> None:
    operator = make("RegionYolo", 1, axis=1, end_axis=3, coords=2, classes=1, num=1, do_softmax="true")
    data = np.arange(10, dtype=np.float32).reshape(2, 5, 1, 1)
    output = run(operator, data)
    logistic = 1 / (1 + np.exp(-data.reshape(2, 5)[:, :3]))
    assert output[:, :3] == pytest.approx(logistic)
    assert output[:, 3:].tolist() == [[1, 4], [1, 9]]


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
            proposal().infer(typed("f32", scores), typed("f32", moves), typed("f32", image))
        assert caught.value.code == "IR502"
