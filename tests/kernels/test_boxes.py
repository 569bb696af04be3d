"""Overlaps of boxes against other ways to compute them."""

from __future__ import annotations

from math import cos, sin

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ir_exec.kernels.boxes import CornerOverlaps, Overlaps, keep_best, keep_few_of_classes, overlaps_of
from ir_exec.kernels.rotated_boxes import RotatedOverlaps
from ir_exec.tuning.thresholds import BOXES_AT_ONCE
from ir_exec.types import Array
from tests.helpers.chunks import in_chunks


@pytest.mark.parametrize("count", [BOXES_AT_ONCE - 1, BOXES_AT_ONCE, BOXES_AT_ONCE + 1, 3 * BOXES_AT_ONCE])
def test_blocks_do_not_show(count: int) -> None:
    random = np.random.default_rng(count)
    start = random.uniform(0, 30, (2, count))
    boxes = np.concatenate([start, start + random.uniform(1, 4, (2, count))]).astype(np.float32)
    overlaps = CornerOverlaps(boxes)(np.arange(count)[:, np.newaxis], np.arange(count))
    retained: list[int] = []
    for box in range(count):
        if not (overlaps[box, retained] >= np.float32(0.2)).any():
            retained.append(box)
    assert keep_best(count, CornerOverlaps(boxes), 0.2).tolist() == retained
    assert keep_best(count, CornerOverlaps(boxes), 0.2, most=7).tolist() == retained[:7]


@settings(max_examples=60)
@given(
    st.integers(0, 10**6),
    st.sampled_from([0.0, 1.0]),
    st.sampled_from([0.1, 0.25, 0.5, 1.0]),
    st.sampled_from([0.0, 1e4, -1e6]),
)
def test_only_overlapping_pairs_are_compared(seed: int, margin: float, threshold: float, shift: float) -> None:
    """Small whole numbers meet the thresholds exactly; some boxes have no area, or corners that are no numbers."""
    random = np.random.default_rng(seed)
    boxes = random.integers(0, 9, (4, 40)).astype(np.float32) + np.float32(shift)
    boxes[2:] = np.maximum(boxes[:2], boxes[2:])
    boxes[:, :4] = random.choice([np.nan, np.inf, -np.inf, 1.0], (4, 4))
    every = np.arange(40)
    with np.errstate(all="ignore"):
        overlaps = CornerOverlaps(boxes, margin)
        far = Overlaps.reach(overlaps, every[:, np.newaxis], every, np.float32(threshold))
        assert overlaps.may_reach(every[:, np.newaxis], every, float(np.float32(threshold)))[far].all()
        # So many pairs that those which may overlap are looked for first.
        assert np.array_equal(
            np.tile(far, (6, 6)),
            overlaps.reach(np.tile(every, 6)[:, np.newaxis], np.tile(every, 6), np.float32(threshold)),
        )


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.sampled_from([1, 4]), st.sampled_from([2.0, 8.0, 9.0]), st.sampled_from([300, 250]))
def test_disjoint_groups_keep_the_same_boxes(seed: int, least: int, shift: float, most: int) -> None:
    random = np.random.default_rng(seed)
    boxes = random.integers(0, 9, (4, 300)).astype(np.float32)
    boxes += np.float32(shift) * random.integers(0, 40, 300).astype(np.float32)
    boxes[:, :2] = random.choice([np.nan, np.inf, -np.inf, 1.0], (4, 2)) if seed % 2 else 0
    with np.errstate(all="ignore"), pytest.MonkeyPatch.context() as patch:
        expected = keep_best(300, CornerOverlaps(boxes), 0.3, most=most)
        in_chunks(patch, "BOXES_AT_ONCE", least)
        assert keep_best(300, CornerOverlaps(boxes), 0.3, most=most).tolist() == expected.tolist()


def test_boxes_of_other_places_are_not_compared() -> None:
    """Twenty classes, moved so that they do not overlap, as exported detectors do."""
    compared = 0

    class Counted(CornerOverlaps):
        def reach(self, first: Array, other: Array, limit: np.float32) -> Array:
            nonlocal compared
            far = super().reach(first, other, limit)
            compared += far.size
            return far

    count = 4_000
    random = np.random.default_rng(0)
    start = random.uniform(0, 300, (2, count)) + 400 * random.integers(0, 20, count)
    boxes = np.concatenate([start, start + random.uniform(1, 20, (2, count))]).astype(np.float32)
    assert len(keep_best(count, Counted(boxes), 0.5)) > count / 2
    assert compared < count**2 / 10


@pytest.mark.parametrize("most", [1, 3, 8, 40, 200])
@pytest.mark.parametrize("spread", [1, 30, 3000])
def test_first_candidates_equal_all(spread: float, most: int) -> None:
    """In the first class all are out, in the second few are candidates, in the others scores are equal or not."""
    random = np.random.default_rng(0)
    start = random.uniform(0, spread, (2, 600))
    overlaps = CornerOverlaps(np.concatenate([start, start + 4]).astype(np.float32))
    scores = random.random((4, 600), dtype=np.float32)
    scores[0], scores[1, 9:], scores[2] = 0, 0, np.round(scores[2], 1)
    selected = keep_few_of_classes(scores, np.float32(0.05), overlaps, 0.5, most)
    for label, own in enumerate(scores):
        order = np.argsort(-own, kind="stable")[: np.count_nonzero(own > 0.05)]
        retained: list[int] = []
        for box in order.tolist():
            if len(retained) < most and not (overlaps(np.array(retained, np.int64), np.array(box)) >= 0.5).any():
                retained.append(box)
        assert selected[1][selected[0] == label].tolist() == retained


def test_a_box_without_area_overlaps_nothing() -> None:
    areas = np.array([2, 0, -1, 0.5], np.float32)
    common = np.full(4, 0.25, np.float32)
    assert overlaps_of(common, np.float32(1), areas).tolist() == pytest.approx([0.25 / 2.75, 0, 0, 0.2])
    for area in (0, -1):
        assert overlaps_of(common, np.float32(area), areas).tolist() == [0, 0, 0, 0]


def test_boxes_apart_by_less_than_the_margin_touch() -> None:
    boxes = np.array([[0, 0, 1, 1], [1.5, 0, 2.5, 1], [2, 0, 3, 1], [2.5, 0, 3.5, 1]], np.float32).T
    first, others = np.array(0), np.arange(4)
    # Sizes count as one more: areas of 4; 0.5 x 2 in common with the second.
    assert CornerOverlaps(boxes, 1.0)(first, others).tolist() == pytest.approx([1, 1 / 7, 0, 0])
    assert CornerOverlaps(boxes, 1.0, touching=False)(first, others).tolist() == [1, 0, 0, 0]
    assert CornerOverlaps(boxes)(first, others).tolist() == [1, 0, 0, 0]


@pytest.mark.parametrize(("threshold", "retained"), [(-1.0, [0]), (0.0, [0]), (0.1, [0, 1, 2]), (1.0, [0, 1, 2])])
def test_nan_removes_nothing_by_default(threshold: float, retained: list[int]) -> None:
    class Unknown(Overlaps):
        def __call__(self, first: Array, other: Array) -> Array:
            return np.full(np.broadcast_shapes(first.shape, other.shape), np.nan, np.float32)

    assert keep_best(3, Unknown(), threshold).tolist() == retained


@settings(max_examples=60)
@given(
    st.integers(0, 25),
    st.integers(0, 10**6),
    st.sampled_from([0.1, 0.5, 0.51, 0.7, 0.95]),
    st.sampled_from([1.0, 0.9, 0.5]),
    st.integers(1, 8),
)
def test_threshold_above_one_half_shrinks_with_each_box(
    count: int, seed: int, threshold: float, shrink: float, most: int
) -> None:
    random = np.random.default_rng(seed)
    start = random.uniform(0, 4, (2, count))
    boxes = np.concatenate([start, start + random.uniform(1, 4, (2, count))]).astype(np.float32)
    overlaps = CornerOverlaps(boxes)(np.arange(count)[:, np.newaxis], np.arange(count))
    limit, retained = np.float32(threshold), list[int]()
    for box in range(count):
        if len(retained) < most and not (overlaps[box, retained] >= limit).any():
            retained.append(box)
            if shrink < 1 and limit > 0.5:
                limit *= np.float32(shrink)
    with pytest.MonkeyPatch.context() as patch:
        in_chunks(patch, "BOXES_AT_ONCE", 4)
        assert keep_best(count, CornerOverlaps(boxes), threshold, most=most, shrink=shrink).tolist() == retained


def polygon(box: list[float]) -> list[tuple[float, float]]:
    x, y, width, height, angle = box
    c, s = cos(angle), sin(angle)
    corners = [(-width / 2, -height / 2), (width / 2, -height / 2), (width / 2, height / 2), (-width / 2, height / 2)]
    return [(x + dx * c - dy * s, y + dx * s + dy * c) for dx, dy in corners]


def clip_polygon(subject: list[tuple[float, float]], window: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """The part of a polygon inside a convex one, cut off edge by edge."""
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
def test_rotated_overlaps_are_those_of_clipped_polygons(first: tuple[float, ...], other: tuple[float, ...]) -> None:
    common = area(clip_polygon(polygon(list(first)), polygon(list(other))))
    expected = common / (first[2] * first[3] + other[2] * other[3] - common)
    actual = RotatedOverlaps(np.array([first, other]).T, True)(np.array(0), np.array([0, 1]))
    assert actual == pytest.approx([1, expected], abs=1e-5)
