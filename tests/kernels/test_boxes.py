"""Overlaps of boxes against other ways to compute them."""

from __future__ import annotations

from math import cos, sin

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ir_exec.kernels.boxes import corner_overlaps, keep_best, rotated_overlaps
from ir_exec.kernels.costs import BOXES_AT_ONCE


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
