"""DetectionOutput: shapes, and inputs that do not fit."""

from __future__ import annotations

import numpy as np
import pytest

from ir_exec.errors import GraphError, InvalidAttributeError, ShapeError
from ir_exec.ops import Op
from ir_exec.types import Array
from tests.helpers.facts import naming
from tests.helpers.operators import make, run
from tests.helpers.values import make_type


def detector(since: int = 8, **attributes: object) -> Op:
    return make("DetectionOutput", since, keep_top_k=3, nms_threshold=0.5, normalized="true", **attributes)


def two_priors(scores: list[float]) -> tuple[Array, Array, Array]:
    """Inputs with two prior boxes far from each other that do not move, and two classes."""
    priors = np.array([[[0, 0, 0.25, 0.25, 0.5, 0.5, 1, 1], [0.1] * 8]], np.float32)
    return np.zeros((1, 8), np.float32), np.array([scores], np.float32), priors


def test_detections_end_with_minus_one() -> None:
    output = run(detector(confidence_threshold=0.3), *two_priors([0.9, 0.1, 0.25, 0.75]))
    assert output[0, 0].tolist() == [[0, 1, 0.75, 0.5, 0.5, 1, 1], [-1, 0, 0, 0, 0, 0, 0], [0] * 7]


def test_detector_leaving_out_the_first_class() -> None:
    output = run(detector(decrease_label_id="true"), *two_priors([0.9, 0.1, 0.25, 0.75]))
    assert output[0, 0, :, :3].tolist() == [[0, 0, 0.75], [0, 0, np.float32(0.1)], [-1, 0, 0]]


def test_first_class_is_dropped_for_any_background() -> None:
    """OpenVINO's CPU plugin refuses another background than the first class here."""
    for background, classes in ((0, [0]), (-1, [0]), (5, [0]), (1, [])):
        attributes = {"decrease_label_id": "true", "background_label_id": background}
        output = run(detector(**attributes), *two_priors([0.2, 0.9, 0.75, 0.25]))
        rows = output[0, 0]
        assert [row[1] for row in rows[: len(classes)].tolist()] == classes
        assert sum(row[0] == 0 and row[2] > 0 for row in rows.tolist()) == 2 * len(classes)


@pytest.mark.parametrize("leaves_out", ["true", "false"])
def test_a_detector_of_no_classes_finds_nothing(leaves_out: str) -> None:
    logits, _, priors = two_priors([0.9, 0.1, 0.25, 0.75])
    output = run(detector(decrease_label_id=leaves_out), logits, np.zeros((1, 0), np.float32), priors)
    assert output[0, 0].tolist() == [[-1, 0, 0, 0, 0, 0, 0], [0] * 7, [0] * 7]


def test_boxes_are_cut_off_at_the_image() -> None:
    _, scores, priors = two_priors([0.9, 0.1, 0.25, 0.75])
    moves = np.array([[-30, -30, 30, 30, -1, 0, 2, 1]], np.float32)
    output = run(detector(confidence_threshold=0.05, clip_after_nms="true"), moves, scores, priors)
    assert output[0, 0, :2, 3:].min() == 0
    assert output[0, 0, :2, 3:].max() == 1


def test_rows_for_every_way_to_count_them() -> None:
    inputs = (make_type("2,60"), make_type("2,45"), make_type("1,2,60"))
    for attributes, rows in (({"keep_top_k": 7}, 14), ({"keep_top_k": -1, "top_k": 4}, 24), ({"keep_top_k": -1}, 90)):
        operator = make("DetectionOutput", 8, nms_threshold=0.5, normalized="true", **attributes)
        assert operator.infer(*inputs).shape == [1, 1, rows, 7]
    unknown = make("DetectionOutput", 8, keep_top_k=-1, nms_threshold=0.5, normalized="true")
    assert unknown.infer(make_type("2..3,?"), *inputs[1:]).shape == [1, 1, 90, 7]
    assert unknown.infer(make_type("..."), make_type("..."), make_type("...")).shape == [1, 1, None, 7]


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
        detector().infer(*(make_type(shape) for shape in shapes))
    assert caught.value.code == code


def test_four_inputs_are_one_too_few() -> None:
    with pytest.raises(GraphError, match=naming("3", "4", "5")):
        detector().infer(*(make_type(shape) for shape in ("2,60", "2,45", "1,2,60", "2,30")))


def test_attributes_that_cannot_be() -> None:
    for attributes in ({"keep_top_k": ""}, {"code_type": "caffe.PriorBoxParameter.MIDDLE"}):
        with pytest.raises(InvalidAttributeError):
            make("DetectionOutput", 8, **{"keep_top_k": 3, "nms_threshold": 0.5, **attributes})
