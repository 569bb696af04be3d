"""Suppression against plain loops, and what it says about wrong shapes and values."""

from __future__ import annotations

from math import cos, sin

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ir_exec.errors import EvaluationError, InvalidAttributeError, ShapeError
from ir_exec.kernels.boxes import corner_overlaps, keep_best, rotated_overlaps
from ir_exec.kernels.costs import BOXES_AT_ONCE
from ir_exec.ops import Op
from ir_exec.types import Array, Shape, TensorType
from tests.ops.indexing import known, make, typed


def run(operator: Op, *inputs: Array) -> tuple[Array, ...]:
    """Infer, evaluate, and hold the outputs against the inferred types."""
    types = operator.infer(*(TensorType.of(array) for array in inputs))
    with np.errstate(all="ignore"):
        found = operator.evaluate(*inputs)
    types, found = (types, found) if isinstance(found, tuple) else ((types,), (found,))
    for kind, array in zip(types, found, strict=True):
        assert kind.element_type.dtype == array.dtype
        assert kind.shape & Shape(array.shape) is not None
    return tuple(found)


def plain_overlap(one: list[float], other: list[float]) -> float:
    width = min(one[2], other[2]) - max(one[0], other[0])
    height = min(one[3], other[3]) - max(one[1], other[1])
    common = max(width, 0.0) * max(height, 0.0)
    union = (one[2] - one[0]) * (one[3] - one[1]) + (other[2] - other[0]) * (other[3] - other[1]) - common
    return common / union


# Whole numbers, so that neither loop rounds.
CORNERS = st.lists(st.tuples(*[st.integers(0, 9)] * 2, *[st.integers(1, 5)] * 2), max_size=12)


@settings(max_examples=100)
@given(CORNERS, st.sampled_from([0.21, 0.4, 0.61]), st.integers(1, 12), st.randoms(use_true_random=False))
def test_NonMaxSuppression_is_a_loop(sizes: list[tuple[int, ...]], limit: float, most: int, random: object) -> None:
    boxes = [[float(x), float(y), float(x + w), float(y + h)] for x, y, w, h in sizes]
    scores = [(i + 1) / 16 for i in range(len(boxes))]
    random.shuffle(scores)  # type: ignore[attr-defined]  # hypothesis declares no class for it
    kept: list[int] = []
    for box in sorted(range(len(boxes)), key=lambda i: -scores[i]):
        if scores[box] > 0.1 and all(plain_overlap(boxes[box], boxes[k]) < limit for k in kept) and len(kept) < most:
            kept.append(box)
    inputs = (np.array(boxes, np.float32).reshape(1, -1, 4), np.array(scores, np.float32).reshape(1, 1, -1))
    numbers = (np.array(most, np.int64), np.array(limit, np.float32), np.array(0.1, np.float32))
    indices, chosen, count = run(make("NonMaxSuppression", 9), *inputs, *numbers)
    assert indices[:, 2].tolist() == kept
    assert chosen[:, 2].tolist() == [scores[box] for box in kept]
    assert count.tolist() == [len(kept)]


@pytest.mark.parametrize("count", [BOXES_AT_ONCE - 1, BOXES_AT_ONCE, BOXES_AT_ONCE + 1, 3 * BOXES_AT_ONCE])
def test_blocks_do_not_show(count: int) -> None:
    random = np.random.default_rng(count)
    start = random.uniform(0, 30, (2, count))
    boxes = np.concatenate([start, start + random.uniform(1, 4, (2, count))]).astype(np.float32)
    overlaps = corner_overlaps(boxes)(np.arange(count)[:, np.newaxis], np.arange(count))
    kept: list[int] = []
    for box in range(count):
        if not (overlaps[box, kept] >= np.float32(0.2)).any():
            kept.append(box)
    assert keep_best(count, corner_overlaps(boxes), 0.2).tolist() == kept
    assert keep_best(count, corner_overlaps(boxes), 0.2, most=7).tolist() == kept[:7]


def test_boxes_that_overlap_by_the_threshold_are_removed_as_openvino_does() -> None:
    boxes = np.array([[[0, 0, 1, 1], [0, 0, 1, 2], [0, 5, 1, 6]]], np.float32)
    scores = np.array([[[0.9, 0.8, 0.7]]], np.float32)
    numbers = (np.array(3, np.int64), np.array(0.5, np.float32), np.array(0, np.float32))
    assert run(make("NonMaxSuppression", 9), boxes, scores, *numbers)[0][:, 2].tolist() == [0, 2]


def test_rows_up_to_version_4_are_those_of_boxes_that_are_kept() -> None:
    boxes = np.array([[[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, 10, 1, 11]]], np.float32)
    scores = np.array([[[0.9, 0.75, 0.95]]], np.float32)
    numbers = (np.array(3, np.int64), np.array(0.5, np.float32), np.array(0, np.float32))
    for since in (1, 3, 4):
        operator = make("NonMaxSuppression", since)
        # As OpenVINO 2026.4 does: a static type, and an output of the rows that are there.
        assert operator.infer(*map(TensorType.of, (boxes, scores, *numbers))).shape == [3, 3]
        assert operator.evaluate(boxes, scores, *numbers).tolist() == [[0, 0, 2], [0, 0, 0]]


def test_one_number_of_rows_for_each_version() -> None:
    inputs = (typed("f32", "2,10,4"), typed("f32", "2,3,10"), known(4))
    rows = {since: make("NonMaxSuppression", since).infer(*inputs) for since in (1, 3, 4)}
    assert [rows[since].shape for since in (1, 3, 4)] == [[10, 3], [10, 3], [24, 3]]
    indices, scores, count = make("NonMaxSuppression", 9).infer(*inputs)
    assert (str(indices), str(scores), str(count)) == ("i64[..24,3]", "f32[..24,3]", "i64[1]")
    unknown = make("NonMaxSuppression", 9).infer(typed("f32", "2..5,?,4"), typed("f32", "?,3,10"), known(4))
    assert str(unknown[0]) == "i64[..60,3]"


def polygon(box: list[float]) -> list[tuple[float, float]]:
    x, y, width, height, angle = box
    c, s = cos(angle), sin(angle)
    corners = [(-width / 2, -height / 2), (width / 2, -height / 2), (width / 2, height / 2), (-width / 2, height / 2)]
    return [(x + dx * c - dy * s, y + dx * s + dy * c) for dx, dy in corners]


def clipped(subject: list[tuple[float, float]], window: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """What of a polygon lies inside a convex one, cut off edge by edge."""
    for (ax, ay), (bx, by) in zip(window, window[1:] + window[:1], strict=True):
        side = [(bx - ax) * (y - ay) - (by - ay) * (x - ax) for x, y in subject]
        left = []
        for i, (here, there) in enumerate(zip(subject, subject[1:] + subject[:1], strict=True)):
            near, far = side[i], side[(i + 1) % len(subject)]
            if near >= 0:
                left.append(here)
            if (near > 0 > far) or (near < 0 < far):
                part = near / (near - far)
                left.append((here[0] + part * (there[0] - here[0]), here[1] + part * (there[1] - here[1])))
        subject = left
    return subject


def area(points: list[tuple[float, float]]) -> float:
    return abs(sum(a[0] * b[1] - b[0] * a[1] for a, b in zip(points, points[1:] + points[:1], strict=True))) / 2


ROTATED = st.tuples(*[st.floats(-2, 2)] * 2, *[st.floats(0.5, 4)] * 2, st.sampled_from([0, 0.3, 1, 1.5707963, -2, 3]))


@settings(max_examples=200)
@given(ROTATED, ROTATED)
def test_rotated_overlaps_are_those_of_clipped_polygons(one: tuple[float, ...], other: tuple[float, ...]) -> None:
    common = area(clipped(polygon(list(one)), polygon(list(other))))
    wanted = common / (one[2] * one[3] + other[2] * other[3] - common)
    found = rotated_overlaps(np.array([one, other]).T, True)(np.array(0), np.array([0, 1]))
    assert found == pytest.approx([1, wanted], abs=1e-5)


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
            nms.infer(typed("f32", boxes), typed("f32", scores))
        assert caught.value.code == code
    with pytest.raises(ShapeError, match="axis 0 of iou_threshold and one element must be equal, found 2 and 1"):
        nms.infer(typed("f32", "1,6,4"), typed("f32", "1,1,6"), known(3), typed("f32", "2"))
    with pytest.raises(ShapeError, match=r"max_output_boxes_per_class has rank 1 \(\[1\]\), expected 0"):
        make("NonMaxSuppression", 4).infer(typed("f32", "1,6,4"), typed("f32", "1,1,6"), typed("i64", "1"))


def test_roisnum_of_more_boxes_than_there_are() -> None:
    operator = make("MulticlassNms", 9)
    boxes, scores = np.zeros((2, 3, 4), np.float32), np.zeros((2, 3), np.float32)
    for counts in ([2, 2], [2**62, 2**62]):
        with pytest.raises(EvaluationError) as caught:
            operator.evaluate(boxes, scores, np.array(counts, np.int64))
        assert caught.value.message == "the sum of roisnum is greater than 3, the number of boxes"
        assert (caught.value.code, caught.value.location.port) == ("IR704", "roisnum")
    outputs = run(operator, boxes + np.array([0, 0, 1, 1], np.float32), scores, np.array([-1, 3], np.int64))
    assert outputs[2].tolist() == [0, 2]


@pytest.mark.parametrize("attributes", [{"nms_top_k": -2}, {"background_class": -2}, {"nms_eta": 1.5}])
def test_attributes_out_of_range(attributes: dict[str, object]) -> None:
    with pytest.raises(InvalidAttributeError) as caught:
        make("MulticlassNms", 8, **attributes)
    assert caught.value.code == "IR302"
