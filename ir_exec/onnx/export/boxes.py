"""Boxes in compositions of ONNX nodes: their overlaps, their order, and non-maximum suppression.

Rows are classes, or batch elements and classes: all functions compute all rows at once, [rows, boxes].
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ir_exec.onnx.export.algebra import BOOL, I64, Expr, concat, loop

__all__ = [
    "Corners",
    "above",
    "below",
    "choose_best",
    "compact_rows",
    "greedy",
    "lexicographic_order",
    "move_boxes",
    "overlaps_of",
    "places_of",
    "ranks",
    "rows_of",
    "stack_columns",
    "suppress",
]

_NONE = -np.inf


def above(threshold: float) -> np.float32:
    """The next larger number: an overlap of at least this number is above the threshold."""
    return np.float32(np.nextafter(np.float32(threshold), np.float32(np.inf)))


def below(threshold: float) -> np.float32:
    """The next smaller number: an overlap above this number is at least the threshold."""
    return np.float32(np.nextafter(np.float32(threshold), np.float32(-np.inf)))


class Corners:
    """Boxes [rows, n] as four tensors x0, y0, x1, y1, the lesser corner first.

    Attributes:
        margin: 1 for coordinates in pixels; a box from 2 to 4 is then 3 wide.
        touching: Boxes closer than the margin have an intersection. Otherwise boxes without area overlap no other box.
    """

    def __init__(self, coordinates: Sequence[Expr], margin: float = 0.0, *, touching: bool = True) -> None:
        self.coordinates = list(coordinates)
        self.margin, self.touching = margin, touching
        x0, y0, x1, y1 = self.coordinates
        self.areas = (x1 - x0 + margin) * (y1 - y0 + margin) if margin else (x1 - x0) * (y1 - y0)

    def common(self, left: Sequence[Expr], right: Sequence[Expr]) -> Expr:
        """The area of the intersection of boxes."""
        width = left[2].at_most(right[2]) - left[0].at_least(right[0])
        height = left[3].at_most(right[3]) - left[1].at_least(right[1])
        if self.margin:
            width, height = width + self.margin, height + self.margin
        least = 0.0 if self.touching else self.margin
        return ((width >= least) & (height >= least)).where(width * height, 0)

    def overlaps_with(self, number: Expr) -> Expr:
        """The overlaps of all boxes with one box of their row."""
        own = [coordinate.gather(number, 1).unsqueeze(1) for coordinate in self.coordinates]
        area = self.areas.gather(number, 1).unsqueeze(1)
        return overlaps_of(self.common(own, self.coordinates), area, self.areas)


def overlaps_of(common: Expr, area: Expr, areas: Expr) -> Expr:
    """Intersection over union; a box without area overlaps no other box."""
    exists = (area > 0) & (areas > 0)
    return exists.where(common / (area + areas - common), 0)


def greedy(
    overlaps_with: Callable[[Expr], Expr],
    is_candidate: Expr,
    limit: Expr | np.float32,
    most: Expr | int | None = None,
    shrink: float = 1.0,
) -> Expr:
    """A mask of the boxes [rows, n] that remain when each box, best first, removes the boxes that it overlaps too far.

    The boxes are sorted by descending scores.

    Args:
        overlaps_with: Returns the overlaps of all boxes with the box of an index in their row. A box is removed by an
            overlap of at least `limit`.
        most: Maximum boxes kept in each row.
        shrink: A limit above one half is multiplied by this factor at each kept box.
    """
    sheet = is_candidate.sheet
    rows = is_candidate.dim(0)
    ones = sheet.zeros(sheet.ints(rows, 1), np.float32, 1)
    limits = ones * (limit.to(np.float32).reshape(1) if isinstance(limit, Expr) else limit)
    worst = is_candidate.to(np.float32) * 0
    retained_count = sheet.zeros(sheet.ints(rows, 1), I64)
    bound = None if most is None else most.to(I64) if isinstance(most, Expr) else sheet.constant(most, I64)

    def body(number: Expr, worst: Expr, limits: Expr, count: Expr) -> Any:
        own = worst.gather(number, 1).unsqueeze(1)
        keeps = is_candidate.gather(number, 1).unsqueeze(1) & (count.equals(0) | (own < limits))
        if bound is not None:
            keeps = keeps & (count < bound)
        overlaps = overlaps_with(number)
        overlaps = overlaps.call("IsNaN", dtype=BOOL).where(0, overlaps)
        after = keeps.where(worst.at_least(overlaps), worst)
        falls = keeps & (limits > 0.5)
        shrunk = falls.where(limits * np.float32(shrink), limits) if shrink < 1 else limits
        counted = count + keeps.to(I64)
        if bound is None:
            return [after, shrunk, counted], [keeps.squeeze(1)]
        # The loop ends when every row has enough boxes.
        goes_on = (counted < bound).to(I64).sum([0, 1], keep=False) > 0
        return [after, shrunk, counted], [keeps.squeeze(1)], goes_on

    *_, retained = loop(is_candidate.dim(1), [worst, limits, retained_count], body, [1])
    mask = retained.transpose(1, 0)
    if bound is None:
        return mask
    missing = is_candidate.dim(1) - mask.dim(1)
    return concat([mask, sheet.zeros(sheet.ints(rows, missing), BOOL, False)], 1)


def suppress(
    corners: Corners,
    is_candidate: Expr,
    limit: np.float32,
    most: int | None = None,
    shrink: float = 1.0,
) -> Expr:
    """`greedy` for boxes, by ONNX's NonMaxSuppression if that is equivalent."""
    if corners.margin or shrink < 1 or not limit > 0:
        return greedy(corners.overlaps_with, is_candidate, limit, most, shrink)
    sheet, count = is_candidate.sheet, is_candidate.dim(1)
    # The boxes are sorted by descending scores: their indices replace the scores.
    scores = is_candidate.where((count - sheet.arange(count)).to(np.float32), -1)
    # Boxes with reversed corners overlap no other box; the operator would exchange their corners.
    x0, y0, x1, y1 = corners.coordinates
    boxes = concat([corner.unsqueeze(2) for corner in (x0, y0, x1.at_least(x0), y1.at_least(y0))], 2)
    clipped_limit = np.float32(min(max(float(below(float(limit))), 0.0), 1.0))
    names = [
        boxes.name,
        scores.unsqueeze(1).name,
        (count if most is None else sheet.ints(most)).name,
        sheet.constant(np.array([clipped_limit])).name,
        sheet.constant(np.zeros(1, np.float32)).name,
    ]
    selected = sheet.emit("NonMaxSuppression", *names, dtypes=[I64])[0].gather([0, 2], 1)
    ones = sheet.zeros(selected.dim(0), np.int32, 1)
    mask = sheet.zeros(is_candidate.shape(), np.int32).call("ScatterND", selected, ones)
    return mask.to(BOOL)


def compact_rows(values: Expr, retained: Expr, width: int) -> Expr:
    """The kept values of each row [rows, n] moved to its beginning, truncated or padded with zeros to a width."""
    sheet = values.sheet
    column = (retained.to(I64).cumsum(1) - 1).at_most(width)
    where = retained.where(column, width)
    empty = sheet.zeros(sheet.ints(values.dim(0), width + 1), values.dtype)
    return empty.call("ScatterElements", where, values, axis=1).slice(1, 0, width)


def rows_of(boxes: Expr) -> list[Expr]:
    """The coordinates of boxes [..., n, coordinates] as tensors [..., n]."""
    count = 4
    return [boxes.gather(column, -1) for column in range(count)]


def move_boxes(boxes: Sequence[Expr], moves: Sequence[Expr], margin: float = 0.0) -> list[Expr]:
    """Boxes with centers moved in units of their sizes, and sizes multiplied by exp of the last two moves."""
    ends = []
    for axis in range(2):
        size = boxes[2 + axis] - boxes[axis] + margin
        center = moves[axis] * size + (boxes[axis] + size / 2)
        half = moves[2 + axis].exp() * size / 2
        ends.append((center - half, center + half))
    return [ends[0][0], ends[1][0], ends[0][1], ends[1][1]]


def choose_best(scores: Expr, is_candidate: Expr, most: int | Expr) -> tuple[Expr, Expr, Expr]:
    """The best candidates of each row: their scores, their indices, and a mask of actual candidates."""
    ranked = is_candidate.where(scores, _NONE)
    count = scores.dim(1).at_most(most)
    _, order = ranked.topk(count, 1)
    return scores.take_along(order, 1), order, is_candidate.to(np.int32).take_along(order, 1).to(BOOL)


def lexicographic_order(keys: Sequence[Expr]) -> Expr:
    """The ascending order of elements by the first key, for equal elements by the second, and so on."""
    order: Expr | None = None
    for key in reversed(keys):
        current = key if order is None else key.gather(order, 0)
        _, step = current.topk(current.dim(0), 0, largest=False)
        order = step if order is None else order.gather(step, 0)
    assert order is not None
    return order


def places_of(mask: Expr, axes: int) -> list[Expr]:
    """The indices of the true elements along each axis, in order."""
    indices = mask.call("NonZero", dtype=I64)
    return [indices.gather(axis, 0) for axis in range(axes)]


def ranks(groups: Expr, count: Expr) -> tuple[Expr, Expr]:
    """The index of each element in its group, for elements sorted by groups, and the size of each group."""
    sheet = groups.sheet
    ones = sheet.zeros(groups.shape(), I64, 1)
    sizes = sheet.zeros(count, I64).call("ScatterND", groups.unsqueeze(1), ones, reduction="add")
    starts = sizes.cumsum(0, exclusive=True)
    return sheet.arange(groups.dim(0)) - starts.gather(groups, 0), sizes


def stack_columns(columns: Sequence[Expr], dtype: Any) -> Expr:
    """Stack vectors as the columns of a matrix."""
    return concat([column.to(dtype).unsqueeze(1) for column in columns], 1)
