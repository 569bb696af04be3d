"""Boxes: their overlaps, and non-maximum suppression.

Boxes are four rows, one for each coordinate: x0, y0, x1, y1 (or y before x, with equal overlaps). Each step of the
arithmetic then runs over all boxes at once, in contiguous memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from math import prod
from typing import Any, NamedTuple

import numpy as np

from ir_exec.kernels.chunks import as_bits
from ir_exec.kernels.limits import check_time, current_limits
from ir_exec.kernels.sorting import least_indices
from ir_exec.tuning import thresholds
from ir_exec.types import Array, ElementType, convert

__all__ = [
    "Candidates",
    "CornerOverlaps",
    "Overlaps",
    "Selected",
    "above",
    "as_rows",
    "best_first",
    "best_of_classes",
    "box_areas",
    "candidates_of",
    "intersections",
    "keep_best",
    "keep_best_of_classes",
    "keep_decaying",
    "keep_few_of_classes",
    "moved_boxes",
    "overlaps_of",
    "parts_of_classes",
]


def as_rows(boxes: Array) -> Array:
    """Boxes [n, coordinates] of any floating type as rows [coordinates, n] of f32, the type of all comparisons."""
    rows: Array = np.ascontiguousarray(convert(boxes, ElementType.f32).T)
    return rows


def box_areas(boxes: Array, margin: float = 0.0) -> Array:
    """Width times height.

    Args:
        margin: 1 for coordinates in pixels; a box from 2 to 4 is then 3 wide.
    """
    extra = boxes.dtype.type(margin)
    areas: Array = (boxes[2] - boxes[0] + extra) * (boxes[3] - boxes[1] + extra)
    return areas


def intersections(boxes: Array, others: Array, margin: float = 0.0, *, touching: bool = True) -> Array:
    """The common area of boxes; the rows of both are broadcast together.

    Args:
        touching: Boxes at a distance below the margin still have a common area.
    """
    extra, least = others.dtype.type(margin), others.dtype.type(0.0 if touching else margin)
    width, height = np.minimum(boxes[2], others[2]), np.minimum(boxes[3], others[3])
    width -= np.maximum(boxes[0], others[0])
    height -= np.maximum(boxes[1], others[1])
    if margin:
        width += extra
        height += extra
    meet = width >= least
    meet &= height >= least
    width *= height
    return _zero_unless(meet, width)


def _zero_unless(condition: Array, values: Array) -> Array:
    """Set the values to 0 where the condition is false, in place.

    Their bits are multiplied: np.where and np.copyto branch at every element, which is five times slower if neither
    case is rare.
    """
    bits = as_bits(values)
    np.multiply(bits, condition, out=bits)
    return values


def overlaps_of(common: Array, area: Any, areas: Array) -> Array:
    """Intersection over union; a box without area overlaps nothing."""
    overlaps = np.asarray(area + areas)
    overlaps -= common
    np.divide(common, overlaps, out=overlaps)
    has_area, have_areas = area > 0, areas > 0
    return overlaps if has_area.all() and have_areas.all() else _zero_unless(has_area & have_areas, overlaps)


class Overlaps:
    """Intersection over union of boxes at two arrays of positions, which are broadcast together."""

    def __call__(self, first: Array, second: Array) -> Array:
        raise NotImplementedError

    def reach(self, first: Array, second: Array, limit: np.float32) -> Array:
        """Return True where the overlaps are at least `limit`, a number above 0; False for NaN."""
        far: Array = self(first, second) >= limit
        return far

    def groups(self, boxes: Array, least: int) -> Array | None:
        """Group numbers of boxes such that overlaps between groups are 0; None for a single group.

        Every group except the last has `least` boxes or more; numbers start at 0.
        """
        return None


class CornerOverlaps(Overlaps):
    """The overlaps of boxes given as rows of two opposite corners, the lesser one first; see `intersections`."""

    def __init__(self, boxes: Array, margin: float = 0.0, *, touching: bool = True) -> None:
        self._boxes = boxes
        self._margin = margin
        self._touching = touching
        self._areas = box_areas(boxes, margin)
        self._reaches: dict[float, Array] = {}

    def __call__(self, first: Array, second: Array) -> Array:
        # Unlike an index, it makes the elements of a row adjacent.
        these, others = self._boxes.take(first, axis=1), self._boxes.take(second, axis=1)
        common = intersections(these, others, self._margin, touching=self._touching)
        areas = self._areas
        return overlaps_of(common, areas[first], areas[second])

    def reach(self, first: Array, second: Array, limit: np.float32) -> Array:
        shape = np.broadcast_shapes(first.shape, second.shape)
        if prod(shape) < thresholds.FEW_ELEMENTS:
            return super().reach(first, second, limit)
        is_far = self.may_reach(first, second, float(limit))
        # np.nonzero is ten times slower for several axes.
        places = np.flatnonzero(is_far)
        if len(places) * thresholds.KEPT_SHARE > is_far.size:
            return super().reach(first, second, limit)
        index = np.unravel_index(places, shape)
        ones, others = (np.broadcast_to(numbers, shape)[index] for numbers in (first, second))
        is_far.reshape(-1)[places] = super().reach(ones, others, limit)
        return is_far

    def groups(self, boxes: Array, least: int) -> Array | None:
        # For detectors that move the boxes of each class to a separate place to suppress all classes at once.
        if self._margin:
            return None
        low, high = self._boxes[0, boxes], self._boxes[2, boxes]
        order = np.argsort(low)
        is_first = np.zeros(len(order), np.bool_)
        is_first[1:] = low[order[1:]] > np.maximum.accumulate(high[order])[:-1]
        end = 0
        for position in np.flatnonzero(is_first).tolist():
            is_first[position] = position - end >= least
            end = position if is_first[position] else end
        if not end:
            return None
        group_of = np.empty(len(order), np.int64)
        group_of[order] = np.cumsum(is_first)
        return group_of

    def may_reach(self, first: Array, second: Array, limit: float) -> Array:
        """Return True where an overlap may be `limit` or more, ten times faster than the overlaps.

        The common area is then, along each axis, at least that fraction of both boxes.
        """
        reach = self._reaches.get(limit)
        if reach is None:
            reach = self._reaches[limit] = self._reach(limit)
        corners, bounds = self._boxes.take(second, axis=1), reach.take(first, axis=1)
        may: Array = corners[2] >= bounds[0]
        may &= corners[3] >= bounds[1]
        may &= corners[0] <= bounds[2]
        may &= corners[1] <= bounds[3]
        return may

    def _reach(self, limit: float) -> Array:
        """The least greater corner and the greatest lesser corner of boxes that may overlap each box enough."""
        low, high = self._boxes.astype(np.float64).reshape(2, 2, -1)
        # Overlaps are rounded, and so are these bounds in the type of the boxes.
        least = (high - low + self._margin) * (limit * 0.999) - self._margin
        inf = self._boxes.dtype.type(np.inf)
        lowest = np.nextafter((low + least).astype(self._boxes.dtype), -inf)
        return np.concatenate([lowest, np.nextafter((high - least).astype(self._boxes.dtype), inf)])


def moved_boxes(boxes: Array, moves: Array, margin: float = 0.0) -> Array:
    """Boxes with centers moved by multiples of width and height, and sizes scaled by exp of the last two rows."""
    size = boxes[2:] - boxes[:2] + boxes.dtype.type(margin)
    center = moves[:2] * size + (boxes[:2] + size / 2)
    half = np.exp(moves[2:]) * size / 2
    return np.concatenate([center - half, center + half])


def above(threshold: float | Array) -> Any:
    """The next number: an overlap of at least this is above the threshold."""
    return np.nextafter(np.float32(threshold), np.float32(np.inf))


def keep_best(
    count: int, overlaps: Overlaps, threshold: float, *, most: int | None = None, shrink: float = 1.0
) -> Array:
    """Positions of the boxes kept when each, best first, removes later ones that it overlaps too much.

    The boxes are in descending order of their scores. An overlap of at least `threshold` removes a box.

    Args:
        most: The maximum number of boxes to keep.
        shrink: A threshold above one half is multiplied by this at each kept box.
    """
    alone = Candidates(np.arange(count)[np.newaxis], [count])
    return keep_best_of_classes(alone, overlaps, threshold, count=count, most=most, shrink=shrink)[1]


class Candidates(NamedTuple):
    """The candidates of each class for suppression, the best first.

    Attributes:
        boxes: [classes, n], their numbers; values after the candidates of a class are arbitrary.
        counts: The number of candidates of each class.
    """

    boxes: Array
    counts: list[int]


def keep_best_of_classes(
    candidates: Candidates,
    overlaps: Overlaps,
    threshold: float,
    *,
    count: int,
    apart: bool = False,
    most: int | None = None,
    shrink: float = 1.0,
) -> tuple[Array, Array]:
    """The classes and numbers of the boxes that `keep_best` keeps in each class, class by class.

    NumPy's calls handle all classes at once where possible.

    Args:
        overlaps: The overlaps of boxes by number; if the classes have boxes `apart`, the numbers continue from class to
            class.
        count: The number of boxes of a class.
    """
    orders, counts = candidates
    limit = np.float32(threshold)
    classes, longest = orders.shape
    most = longest if most is None else most
    if classes == 1 and shrink >= 1 and limit > 0 and min(most, longest) >= 8 * thresholds.BOXES_AT_ONCE:
        groups = overlaps.groups(orders[0, : counts[0]], thresholds.BOXES_AT_ONCE)
        if groups is not None:
            return _keep_of_groups(orders[0, : counts[0]], groups, overlaps, threshold, count=count, most=most)
    block = min(_boxes_at_once(most), longest)
    if classes == 1 and 4 * longest <= 5 * block:
        # A few more boxes at once are faster than three further comparisons.
        block = longest
    moved = orders + count * np.arange(classes)[:, np.newaxis] if apart else orders
    is_shrinking = shrink < 1 and limit > 0.5
    together = (
        not (apart or is_shrinking)
        and count <= 4 * thresholds.BOXES_AT_ONCE
        and count**2 < sum([n * min(n, block) for n in counts])
    )
    retained: list[list[int]] = []
    if is_shrinking:
        falling = np.float32(shrink)
        retained += [
            _keep_shrinking(own[:n], overlaps, limit, most, falling) for own, n in zip(moved, counts, strict=True)
        ]
    elif together:
        every = np.arange(count)
        removed = _removals(_too_far(overlaps, every[:, np.newaxis], every, limit))
        retained += [_keep_in_order(order[:n], removed, most) for order, n in zip(orders.tolist(), counts, strict=True)]
    else:
        for some in parts_of_classes(classes, block):
            first = moved[some, :block]
            removed = _removals(_too_far(overlaps, first[:, :, np.newaxis], first[:, np.newaxis], limit))
            for row, (order, n) in enumerate(zip(moved[some], counts[some], strict=True)):
                best = _keep_in_order(range(min(n, block)), removed[row * block : (row + 1) * block], most)
                _keep_more(best, block, order[:n], overlaps, limit, most)
                retained.append(best)
    labels, positions = (
        np.repeat(np.arange(classes), list(map(len, retained))),
        np.array(list(chain.from_iterable(retained)), np.int64),
    )
    return labels, positions if together else orders[labels, positions]


def _keep_of_groups(
    order: Array, groups: Array, overlaps: Overlaps, threshold: float, *, count: int, most: int
) -> tuple[Array, Array]:
    """`keep_best_of_classes` for one class with groups that do not overlap, the best box first."""
    by_group = np.argsort(groups, kind="stable")
    ends = np.cumsum(np.bincount(groups))[:-1]
    candidates = candidates_of(np.split(order[by_group], ends))
    _, boxes = keep_best_of_classes(candidates, overlaps, threshold, count=count)
    places = np.zeros(count, np.int64)
    places[order] = np.arange(len(order))
    retained = order[np.sort(places[boxes])[:most]]
    return np.zeros(len(retained), np.int64), retained


def parts_of_classes(classes: int, most: int) -> Iterator[slice]:
    """Ranges of classes whose squares of `most` boxes fit the cache together."""
    each = max(thresholds.CHUNK_ELEMENTS // max(most**2, 1), 1)
    for start in range(0, classes, each):
        check_time()
        yield slice(start, start + each)


def _keep_more(retained: list[int], start: int, order: Array, overlaps: Overlaps, limit: np.float32, most: int) -> None:
    """Add the places in `order` that `keep_best` keeps to the ones kept before `start`."""
    size = _boxes_at_once(most)
    for begin in range(start, len(order), size):
        if len(retained) >= most:
            break
        check_time()
        block = np.arange(begin, min(begin + size, len(order)))
        if retained:
            block = block[~_too_far(overlaps, order[block, np.newaxis], order[retained], limit).any(axis=1)]
        boxes = order[block]
        removed = _removals(_too_far(overlaps, boxes[:, np.newaxis], boxes, limit))
        retained += block[_keep_in_order(range(len(block)), removed, most - len(retained))].tolist()


def _boxes_at_once(most: int) -> int:
    """The number of boxes compared at once; half of them are often kept, so small requests need few."""
    return min(thresholds.BOXES_AT_ONCE, max(2 * most, thresholds.FEW_LINES))


def _removals(is_far: Array) -> list[int]:
    """For each row of squares, the boxes that overlap its box too much, as bits of a number: bit j for column j."""
    bits = np.packbits(is_far, axis=-1, bitorder="little")
    width = bits.shape[-1]
    if width <= 8:
        words = np.zeros((bits.size // max(width, 1), 8), np.uint8)
        words[:, :width] = bits.reshape(len(words), width)
        numbers: list[int] = words.view("<u8")[:, 0].tolist()
        return numbers
    data = bits.tobytes()
    return [int.from_bytes(data[start : start + width], "little") for start in range(0, len(data), width)]


def _keep_in_order(boxes: Iterable[int], removals: list[int], most: int) -> list[int]:
    """The boxes, best first, that no preceding one removes: at most `most`."""
    retained: list[int] = []
    removed = 0
    for box in boxes:
        if removed >> box & 1:
            continue
        if len(retained) >= most:
            break
        retained.append(box)
        removed |= removals[box]
    return retained


def _too_far(overlaps: Overlaps, first: Array, second: Array, limit: np.float32) -> Array:
    """Return True where boxes overlap enough for removal; their numbers are broadcast together."""
    if not limit > 0:
        # Every overlap, even 0, is too large.
        return np.ones(np.broadcast_shapes(first.shape, second.shape), np.bool_)
    return overlaps.reach(first, second, limit)


def _keep_shrinking(order: Array, overlaps: Overlaps, limit: np.float32, most: int, shrink: np.float32) -> list[int]:
    """`keep_best` with a decreasing limit: each box is compared with the limit in effect at its turn."""
    retained: list[int] = []
    for start in range(0, len(order), thresholds.BOXES_AT_ONCE):
        check_time()
        block = np.arange(start, min(start + thresholds.BOXES_AT_ONCE, len(order)))
        before = order[np.array(retained, np.int64), np.newaxis]
        worst = np.fmax.reduce(overlaps(before, order[block]), axis=0, initial=0)
        if retained:
            stays = worst < limit
            block, worst = block[stays], worst[stays]
        common = overlaps(order[block, np.newaxis], order[block])
        for i, box in enumerate(block.tolist()):
            if retained and not worst[i] < limit:
                continue
            if len(retained) == most:
                return retained
            retained.append(box)
            if limit > 0.5:
                limit *= shrink
            np.fmax(worst[i + 1 :], common[i, i + 1 :], out=worst[i + 1 :])
    return retained


def keep_decaying(
    scores: Array, overlaps: Overlaps, sigma: float, score_threshold: float, most: int
) -> tuple[Array, Array]:
    """Positions and scores of the boxes kept when each lowers the scores of boxes that it overlaps.

    A score is multiplied by exp(-overlap**2 / (2 * sigma)); a box whose score is no longer above the threshold is
    removed.
    """
    scale, limit = np.float32(-0.5) / np.float32(sigma), np.float32(score_threshold)
    remaining, scores = np.arange(len(scores)), scores.copy()
    retained: list[int] = []
    final: list[Any] = []
    while remaining.size and len(retained) < most:
        check_time()
        best = int(np.argmax(scores))
        box = int(remaining[best])
        retained.append(box)
        final.append(scores[best])
        remaining, scores = np.delete(remaining, best), np.delete(scores, best)
        common = np.fmax(overlaps(np.array(box), remaining), 0)
        scores *= np.exp(scale * common * common)
        stays = scores > limit
        remaining, scores = remaining[stays], scores[stays]
    return np.array(retained, np.int64), np.array(final, np.float32)


ROW_BYTES = 64
"""Bytes per box in `Selected` and in the rows of an output."""


class Selected(NamedTuple):
    """The kept boxes: each array has one element per box, and `box` is the index within the batch element."""

    batch: Array
    label: Array
    box: Array
    score: Array

    @staticmethod
    def of(batch: int, label: Array, box: Array, score: Array) -> Selected:
        """Boxes of one batch element."""
        # np.full is six times slower for few boxes.
        batches = np.empty(len(box), np.int64)
        batches.fill(batch)
        return Selected(batches, label, box, score)

    @staticmethod
    def concatenate(parts: list[Selected]) -> Selected:
        """All arrays concatenated.

        Raises:
            ResourceError: If the memory for them and the outputs is insufficient.
        """
        current_limits().require(ROW_BYTES * sum([len(part.box) for part in parts]))
        if len(parts) == 1:
            return parts[0]
        nothing = np.zeros(0, np.int64)
        empty = Selected(nothing, nothing, nothing, np.zeros(0, np.float32))
        return Selected(*map(np.concatenate, zip(empty, *parts, strict=True)))

    def sort_by(self, *keys: Array) -> Selected:
        """Sorted by the first key, then by the second, and so on."""
        return self.take(np.lexsort(keys[::-1]))

    def take(self, positions: Any) -> Selected:
        return Selected(*(part[positions] for part in self))


def best_first(scores: Array, most: int) -> Array:
    """The indices of the `most` greatest scores of a vector, in descending order; equal scores by index."""
    return least_indices(-scores, min(most, len(scores)), 0)


def best_of_classes(scores: Array, least: Any, most: int | None = None, *, without: int = -1) -> Candidates:
    """`best_first` of each row of scores [classes, boxes], for boxes above `least` only.

    Args:
        most: The maximum number in each row; None for all.
        without: The number of a class without candidates, if it exists.
    """
    boxes = scores.shape[1]
    count = boxes if most is None else min(most, boxes)
    if boxes > 4 * thresholds.BOXES_AT_ONCE and count * thresholds.KEPT_SHARE > boxes:
        candidates = [np.flatnonzero(own > least) for own in scores]
        best = candidates_of([some[best_first(own[some], count)] for own, some in zip(scores, candidates, strict=True)])
    else:
        counts = np.minimum(np.add.reduce(scores > least, axis=1), count).tolist()
        best = Candidates(least_indices(-scores, count, 1)[:, : max(counts, default=0)], counts)
    if 0 <= without < len(scores):
        best.counts[without] = 0
    return best


def keep_few_of_classes(
    scores: Array, least: Any, overlaps: Overlaps, threshold: float, most: int
) -> tuple[Array, Array]:
    """`keep_best_of_classes` for boxes with scores [classes, boxes] above `least`.

    The first candidates often suffice, and the others are then not sorted.
    """
    count, few = scores.shape[1], _boxes_at_once(most)
    if most < few and few * thresholds.KEPT_SHARE <= count:
        candidates = best_of_classes(scores, least, few)
        labels, boxes = keep_best_of_classes(candidates, overlaps, threshold, count=count, most=most)
        selected = np.bincount(labels, minlength=len(scores))
        if np.all((selected >= most) | (np.array(candidates.counts) < few)):
            return labels, boxes
    return keep_best_of_classes(best_of_classes(scores, least), overlaps, threshold, count=count, most=most)


def candidates_of(orders: list[Array]) -> Candidates:
    """Boxes of each class, the best first."""
    counts = list(map(len, orders))
    boxes = np.zeros((len(orders), max(counts, default=0)), np.int64)
    for row, order in zip(boxes, orders, strict=True):
        row[: len(order)] = order
    return Candidates(boxes, counts)
