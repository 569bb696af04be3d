"""Suppression against plain loops, and its errors for wrong inputs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ir_exec
from ir_exec.errors import ShapeError
from ir_exec.types import TensorType
from tests.helpers.facts import naming
from tests.helpers.network_text import NetworkText
from tests.helpers.operators import make, run_all
from tests.helpers.values import constant, make_type


def plain_overlap(left: list[float], right: list[float]) -> float:
    width = min(left[2], right[2]) - max(left[0], right[0])
    height = min(left[3], right[3]) - max(left[1], right[1])
    common = max(width, 0.0) * max(height, 0.0)
    union = (left[2] - left[0]) * (left[3] - left[1]) + (right[2] - right[0]) * (right[3] - right[1]) - common
    return common / union


# Whole numbers, so that neither loop rounds.
CORNERS = st.lists(st.tuples(*[st.integers(0, 9)] * 2, *[st.integers(1, 5)] * 2), max_size=12)


@settings(max_examples=100)
@given(CORNERS, st.sampled_from([0.21, 0.4, 0.61]), st.integers(1, 12), st.randoms(use_true_random=False))
def test_NonMaxSuppression_is_a_loop(sizes: list[tuple[int, ...]], limit: float, most: int, random: object) -> None:
    boxes = [[float(x), float(y), float(x + w), float(y + h)] for x, y, w, h in sizes]
    scores = [(i + 1) / 16 for i in range(len(boxes))]
    random.shuffle(scores)  # type: ignore[attr-defined]  # hypothesis declares no class for it
    selected: list[int] = []
    for box in sorted(range(len(boxes)), key=lambda i: -scores[i]):
        if (
            scores[box] > 0.1
            and all(plain_overlap(boxes[box], boxes[k]) < limit for k in selected)
            and len(selected) < most
        ):
            selected.append(box)
    inputs = (np.array(boxes, np.float32).reshape(1, -1, 4), np.array(scores, np.float32).reshape(1, 1, -1))
    numbers = (np.array(most, np.int64), np.array(limit, np.float32), np.array(0.1, np.float32))
    indices, chosen, count = run_all(make("NonMaxSuppression", 9), *inputs, *numbers)
    assert indices[:, 2].tolist() == selected
    assert chosen[:, 2].tolist() == [scores[box] for box in selected]
    assert count.tolist() == [len(selected)]


def test_threshold_overlap_is_removed_like_openvino() -> None:
    boxes = np.array([[[0, 0, 1, 1], [0, 0, 1, 2], [0, 5, 1, 6]]], np.float32)
    scores = np.array([[[0.9, 0.8, 0.7]]], np.float32)
    numbers = (np.array(3, np.int64), np.array(0.5, np.float32), np.array(0, np.float32))
    assert run_all(make("NonMaxSuppression", 9), boxes, scores, *numbers)[0][:, 2].tolist() == [0, 2]


def test_rows_up_to_version_4_are_selected_boxes() -> None:
    boxes = np.array([[[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, 10, 1, 11]]], np.float32)
    scores = np.array([[[0.9, 0.75, 0.95]]], np.float32)
    numbers = (np.array(3, np.int64), np.array(0.5, np.float32), np.array(0, np.float32))
    for since in (1, 3, 4):
        operator = make("NonMaxSuppression", since)
        # As OpenVINO 2026.4 does: a static type, and an output of the selected rows.
        assert operator.infer(*map(TensorType.of, (boxes, scores, *numbers))).shape == [3, 3]
        assert operator.evaluate(boxes, scores, *numbers).tolist() == [[0, 0, 2], [0, 0, 0]]


@pytest.mark.parametrize(("since", "rows"), [(1, 4), (3, 4), (4, 8)])
def test_rows_up_to_version_4_are_padded_to_known_count(since: int, rows: int) -> None:
    boxes = np.array([[[0, 0, 1, 1], [0, 0.05, 1, 1.05], [0, 10, 1, 11], [0, 20, 1, 21]]], np.float32)
    scores = np.array([[[0.9, 0.8, 0.7, 0.1], [0.1, 0.1, 0.6, 0.1]]], np.float32)
    net = NetworkText()
    most, overlap, least = net.const(np.array(4)), net.const(np.float32(0.5)), net.const(np.float32(0.2))
    inputs = (net.parameter("1,4,4"), net.parameter("1,2,4"), most, overlap, least)
    selected = net.op("NonMaxSuppression", *inputs, opset=since)
    net.result(net.op("Reshape", selected, net.const(np.array([1, rows, 3])), special_zero="false"))
    file = net.file()
    (result,) = ir_exec.compile_model(ir_exec.read_model(file.xml, weights=file.weights))([boxes, scores]).values()
    assert result[0].tolist() == [[0, 0, 0], [0, 0, 2], [0, 1, 2], *[[-1, -1, -1]] * (rows - 3)]
    assert result.dtype == np.int64


def test_no_row_of_version_1_is_dropped() -> None:
    boxes = np.array([[[0, 0, 1, 1], [0, 10, 1, 11]]] * 2, np.float32)
    scores = np.array([[[0.9, 0.8]], [[0.7, 0.6]]], np.float32)
    operator, numbers = make("NonMaxSuppression", 1), (np.array(4), np.array(0.5, np.float32))
    types = [TensorType.of(array) for array in (boxes, scores, *numbers)]
    assert operator.infer(*types).shape == [2, 3]
    selected = operator.kernel(*types)(boxes, scores, *numbers)
    assert selected.tolist() == [[0, 0, 0], [0, 0, 1], [1, 0, 0], [1, 0, 1]]


def test_one_number_of_rows_for_each_version() -> None:
    inputs = (make_type("2,10,4"), make_type("2,3,10"), constant(4))
    rows = {since: make("NonMaxSuppression", since).infer(*inputs) for since in (1, 3, 4)}
    assert [rows[since].shape for since in (1, 3, 4)] == [[10, 3], [10, 3], [24, 3]]
    indices, scores, count = make("NonMaxSuppression", 9).infer(*inputs)
    assert (str(indices), str(scores), str(count)) == ("i64[..24,3]", "f32[..24,3]", "i64[1]")
    unknown = make("NonMaxSuppression", 9).infer(make_type("2..5,?,4"), make_type("?,3,10"), constant(4))
    assert str(unknown[0]) == "i64[..60,3]"


def test_shapes_that_do_not_fit() -> None:
    nms = make("NonMaxSuppression", 9)
    for boxes, scores, code in (
        ("1,6", "1,1,6", "IR501"),
        ("1,6,4", "1,6", "IR501"),
        ("1,6,5", "1,1,6", "IR502"),
        ("2,6,4", "1,1,6", "IR502"),
        ("1,6,4", "1,1,7", "IR502"),
    ):
        with pytest.raises(ShapeError) as caught:
            nms.infer(make_type(boxes), make_type(scores))
        assert caught.value.code == code
    with pytest.raises(ShapeError, match=naming("0", "1", "2", "iou_threshold")):
        nms.infer(make_type("1,6,4"), make_type("1,1,6"), constant(3), make_type("2"))
    with pytest.raises(ShapeError, match=naming("0", "1", "[1]", "max_output_boxes_per_class")):
        make("NonMaxSuppression", 4).infer(make_type("1,6,4"), make_type("1,1,6"), make_type("1", "i64"))


@pytest.mark.parametrize("since", [1, 3, 4, 5, 9])
def test_score_equal_to_threshold_is_dropped(since: int) -> None:
    boxes = np.array([[[0, 0, 1, 1], [0, 5, 1, 6], [0, 10, 1, 11]]], np.float32)
    scores = np.array([[[0.5, 0.25, 0.75]]], np.float32)
    numbers = (np.array(3), np.array(0.5, np.float32), np.array(0.5, np.float32))
    result = make("NonMaxSuppression", since).evaluate(boxes, scores, *numbers)
    indices = result[0] if isinstance(result, tuple) else result
    assert indices[:, 2].tolist() == [2]
