"""Overlaps of rotated boxes, see `boxes`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ir_exec.kernels.boxes import Overlaps, overlaps_of
from ir_exec.types import Array

__all__ = ["RotatedOverlaps"]


class RotatedOverlaps(Overlaps):
    """The overlaps of boxes given as rows of center x, center y, width, height and an angle in radians.

    In the frame aligned with the first box, every vertical line intersects the other box between a lower and an upper
    edge. The common length is the distance between both edges, each clipped to the first box. Its integral over all
    lines is the common area: for every edge the mean of its clipped height times its horizontal extent, negative to the
    left.
    """

    def __init__(self, boxes: Array, clockwise: bool) -> None:
        *self._center, width, height, angle = boxes.astype(np.float64)
        self._angle = angle if clockwise else -angle
        self._areas = width * height
        self._half = np.abs(width) / 2, np.abs(height) / 2

    def __call__(self, first: Array, second: Array) -> Array:
        angle, areas, (half_width, half_height) = self._angle, self._areas, self._half
        turn, cosine, sine = angle[second] - angle[first], np.cos(angle[first]), np.sin(angle[first])
        away_x, away_y = (center[second] - center[first] for center in self._center)
        middle = np.stack([away_x * cosine + away_y * sine, away_y * cosine - away_x * sine])
        right = np.stack([np.cos(turn), np.sin(turn)]) * half_width[second]
        up = np.stack([-np.sin(turn), np.cos(turn)]) * half_height[second]
        corners = np.stack([middle - right - up, middle + right - up, middle + right + up, middle - right + up])
        common = _area_within(corners, half_width[first], half_height[first])
        return overlaps_of(common, areas[first], areas[second]).astype(np.float32)


def _area_within(corners: Array, half_width: Any, half_height: Any) -> Array:
    """The area of each quadrangle inside the axis-aligned box at 0.

    Args:
        corners: The corners of the quadrangles, [corner, x or y, quadrangle].
    """
    start, end = corners, np.roll(corners, -1, axis=0)
    run = end[:, 0] - start[:, 0]
    slope = np.divide(end[:, 1] - start[:, 1], run, out=np.zeros_like(run), where=run != 0)
    left, right = (np.clip(side[:, 0], -half_width, half_width) for side in (start, end))
    first, last = (start[:, 1] + slope * (x - start[:, 0]) for x in (left, right))
    total: Array = np.sum(_mean_held(first, last, half_height) * (left - right), axis=0)
    return np.maximum(total, 0)


def _mean_held(first: Array, last: Array, limit: Any) -> Array:
    """The mean of uniformly spaced numbers from `first` to `last`, each clipped to -limit .. limit."""
    change = last - first
    mean: Array = np.clip((first + last) / 2, -limit, limit)
    np.divide(_integral(last, limit) - _integral(first, limit), change, out=mean, where=np.abs(change) > 1e-6 * limit)
    return mean


def _integral(end: Array, limit: Any) -> Array:
    """The integral of numbers to `end`, each clipped to -limit .. limit, up to a constant."""
    clipped = np.clip(end, -limit, limit)
    total: Array = clipped * (end - clipped / 2)
    return total
