"""Lowerings of NonMaxSuppression and NMSRotated."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ir_exec.onnx.export.algebra import I64, Expr, concat, either, input_tensors, loop
from ir_exec.onnx.export.boxes import (
    Corners,
    above,
    below,
    choose_best,
    greedy,
    lexicographic_order,
    overlaps_of,
    places_of,
    rows_of,
    stack_columns,
)
from ir_exec.onnx.export.registry import export
from ir_exec.ops.sort.nms import (
    NMSRotated,
    NonMaxSuppression1,
    NonMaxSuppression3,
    NonMaxSuppression4,
    NonMaxSuppression5,
    NonMaxSuppression9,
)

if TYPE_CHECKING:
    from ir_exec.onnx.export.node import ExportNode

_INDICES_ONLY = (NonMaxSuppression1, NonMaxSuppression3, NonMaxSuppression4)


def _number(node: ExportNode, position: int, dtype: type[np.generic]) -> Expr | None:
    return input_tensors(node)[position].to(dtype).reshape(1) if node.has(position) else None


@export(*_INDICES_ONLY, NonMaxSuppression5, NonMaxSuppression9)
def non_max_suppression(node: ExportNode) -> str | tuple[str, ...]:
    """ONNX's NonMaxSuppression; a Loop if scores decay, or if the threshold is unknown or 0."""
    boxes, scores = (tensor.to(np.float32) for tensor in input_tensors(node)[:2])
    sheet = boxes.sheet
    most = _number(node, 2, np.int64)
    threshold = node.known(3) if node.has(3) else np.float32(0)
    sigma = node.known(5) if node.has(5) else np.float32(0)
    least = _number(node, 4, np.float32) or sheet.constant(np.zeros(1, np.float32))
    limit = None if threshold is None else np.float32(np.asarray(threshold).astype(np.float32).ravel()[0])
    if most is None:
        most = sheet.constant(np.zeros(1, np.int64))

    def soft(by: Expr) -> tuple[Expr, ...]:
        return _soft(node, boxes, scores, most, least, by)

    def hard() -> tuple[Expr, ...]:
        return _hard(node, boxes, scores, most, least, limit)

    if sigma is None:
        decay = input_tensors(node)[5].to(np.float32).reshape(1)
        return _results(node, *either(decay > 0, lambda: soft(decay), hard))
    constant_sigma = np.asarray(sigma).astype(np.float32).reshape(1)
    return _results(node, *(soft(sheet.constant(constant_sigma)) if constant_sigma[0] > 0 else hard()))


def _hard(
    node: ExportNode,
    boxes: Expr,
    scores: Expr,
    most: Expr,
    least: Expr,
    limit: np.float32 | None,
) -> tuple[Expr, ...]:
    """ONNX's NonMaxSuppression, or a Loop if the threshold is unknown or 0."""
    sheet = boxes.sheet
    if limit is None or not limit > 0:
        dims = scores.shape()
        classes, count = scores.dim(1), scores.dim(2)
        flat = scores.call("Reshape", concat([scores.dim(0) * classes, count], 0), allowzero=1)
        spread = [
            corner.unsqueeze(1).expand_to(dims).call("Reshape", flat.shape(), allowzero=1)
            for corner in _corners(node, boxes)
        ]
        edge = input_tensors(node)[3] if limit is None else limit
        return _by_loop(node, flat, spread, classes, most, least, edge)
    clipped_limit = np.float32(min(max(float(below(float(limit))), 0.0), 1.0))
    names = [boxes.name, scores.name, most.name, sheet.constant(np.array([clipped_limit])).name, least.name]
    is_center = int(node.op.box_encoding == "center")
    indices = sheet.emit("NonMaxSuppression", *names, dtypes=[I64], center_point_box=is_center)[0]
    batch, label, box = (indices.gather(column, 1) for column in range(3))
    return batch, label, box, scores.gather_nd(indices)


def _corners(node: ExportNode, boxes: Expr) -> list[Expr]:
    """The coordinates [batches, boxes], the lesser corner first."""
    first, second, third, fourth = rows_of(boxes)
    if node.op.box_encoding == "center":
        return [first - third * 0.5, second - fourth * 0.5, first + third * 0.5, second + fourth * 0.5]
    return [first.at_most(third), second.at_most(fourth), first.at_least(third), second.at_least(fourth)]


def _by_loop(
    node: ExportNode,
    scores: Expr,
    coordinates: list[Expr],
    classes: Expr,
    most: Expr,
    least: Expr,
    limit: Expr | np.float32,
) -> tuple[Expr, ...]:
    """Suppression of boxes by overlaps computed in the graph; scores and coordinates [batches * classes, boxes]."""
    final, order, exists = choose_best(scores, scores > least, scores.dim(1))
    own = [coordinate.take_along(order, 1) for coordinate in coordinates]
    if len(own) == 4:
        overlaps: Callable[[Expr], Expr] = Corners(own).overlaps_with
    else:
        overlaps = _Rotated(own, node.op.clockwise).overlaps_with
    retained = greedy(overlaps, exists, limit, most.squeeze(0))
    row, candidate = places_of(retained, 2)
    where = stack_columns([row, candidate], I64)
    classes = classes.at_least(1)
    return row // classes, row % classes, order.gather_nd(where), final.gather_nd(where)


def _soft(node: ExportNode, boxes: Expr, scores: Expr, most: Expr, least: Expr, sigma: Expr) -> tuple[Expr, ...]:
    """Repeatedly select the best box of each row, whose overlaps lower the scores of the others."""
    dims, classes = scores.shape(), scores.dim(1)
    flat = scores.call("Reshape", concat([scores.dim(0) * classes, scores.dim(2)], 0), allowzero=1)
    # A box is compared with boxes of its own batch element: rows are batch elements times classes.
    own = [
        corner.unsqueeze(1).expand_to(dims).call("Reshape", flat.shape(), allowzero=1)
        for corner in _corners(node, boxes)
    ]
    corners = Corners(own)
    numbers = flat.sheet.arange(flat.dim(1)).unsqueeze(0)
    scale = sigma.like(-0.5) / sigma

    def body(_: Expr, remaining: Expr) -> tuple[list[Expr], list[Expr]]:
        best = remaining.argmax(1)
        score = remaining.take_along(best, 1)
        chosen_one = [coordinate.take_along(best, 1) for coordinate in corners.coordinates]
        area = corners.areas.take_along(best, 1)
        common = overlaps_of(corners.common(chosen_one, corners.coordinates), area, corners.areas).at_least(0)
        after = remaining * (common * scale * common).exp()
        after = ((after > least) & ~numbers.equals(best)).where(after, -np.inf)
        # Finished rows do not change.
        after = (remaining > least).where(after, -np.inf)
        return [after], [best.squeeze(1), score.squeeze(1)]

    begun = (flat > least).where(flat, -np.inf)
    trips = most.at_most(flat.dim(1)).at_least(0)
    _, boxes_kept, scores_kept = loop(trips, [begun], body, [1, 1])
    step, row = places_of(scores_kept > -np.inf, 2)
    where = stack_columns([step, row], I64)
    order = lexicographic_order([row, step])
    where, row = where.gather(order, 0), row.gather(order, 0)
    classes = classes.at_least(1)
    return row // classes, row % classes, boxes_kept.gather_nd(where), scores_kept.gather_nd(where)


def _results(node: ExportNode, batch: Expr, label: Expr, box: Expr, score: Expr) -> str | tuple[str, ...]:
    """The outputs, the best boxes first if the layer sorts them."""
    op, sheet = node.op, batch.sheet
    if op.sort_result_descending:
        order = lexicographic_order([-score, batch, label, box])
        batch, label, box, score = (column.gather(order, 0) for column in (batch, label, box, score))
    indices = stack_columns([batch, label, box], I64)
    if isinstance(op, _INDICES_ONLY):
        dims = node.out_types[0].shape.dims
        if dims is not None and dims[0].is_static:
            missing = (dims[0].lo - indices.dim(0)).at_least(0)
            indices = concat([indices, sheet.zeros(sheet.ints(missing, 3), I64, -1)], 0)
        return indices.to(op.output_type.dtype).name
    scores = stack_columns([batch, label, score], np.float32)
    return indices.to(op.output_type.dtype).name, scores.name, indices.dim(0).to(op.output_type.dtype).name


@export(NMSRotated)
def nms_rotated(node: ExportNode) -> str | tuple[str, ...]:
    """A Loop with the overlaps of rotated boxes."""
    boxes, scores, most, threshold, least = input_tensors(node)
    scores = scores.to(np.float32)
    dims, classes = scores.shape(), scores.dim(1)
    flat = scores.call("Reshape", concat([scores.dim(0) * classes, scores.dim(2)], 0), allowzero=1)
    coordinates = [
        boxes.to(np.float32).gather(column, -1).unsqueeze(1).expand_to(dims).call("Reshape", flat.shape(), allowzero=1)
        for column in range(5)
    ]
    constant_threshold = node.known(3)
    if constant_threshold is None:
        # Overlaps are f32: above the threshold is equivalent to not below the next larger number.
        limit: Expr | np.float32 = (threshold.to(np.float32) * np.float32(1 + 2**-23)).at_least(above(0))
    else:
        limit = above(float(np.asarray(constant_threshold).astype(np.float32).ravel()[0]))
    most, least = most.to(I64).reshape(1), least.to(np.float32).reshape(1)
    return _results(node, *_by_loop(node, flat, coordinates, classes, most, least, limit))


class _Rotated:
    """The overlaps of rotated boxes [rows, n], by the area of each in the frame of the other, in f64."""

    def __init__(self, coordinates: list[Expr], clockwise: bool) -> None:
        self._x, self._y, width, height, angle = (coordinate.to(np.float64) for coordinate in coordinates)
        self._angle = angle if clockwise else -angle
        self._areas = width * height
        self._half = width.abs() / 2, height.abs() / 2

    def overlaps_with(self, number: Expr) -> Expr:
        """The overlaps of all boxes with one box of their row."""

        def own(values: Expr) -> Expr:
            return values.gather(number, 1).unsqueeze(1)

        turn = self._angle - own(self._angle)
        cosine, sine = _wave("Cos", own(self._angle)), _wave("Sin", own(self._angle))
        away_x, away_y = self._x - own(self._x), self._y - own(self._y)
        middle = away_x * cosine + away_y * sine, away_y * cosine - away_x * sine
        turned_cosine, turned_sine = _wave("Cos", turn), _wave("Sin", turn)
        right = turned_cosine * self._half[0], turned_sine * self._half[0]
        up = -turned_sine * self._half[1], turned_cosine * self._half[1]
        signs = ((-1, -1), (1, -1), (1, 1), (-1, 1))
        corners = [
            tuple(middle[axis] + right[axis] * float(a) + up[axis] * float(b) for axis in range(2)) for a, b in signs
        ]
        half_width, half_height = own(self._half[0]), own(self._half[1])
        total: Expr | None = None
        for start, end in zip(corners, corners[1:] + corners[:1], strict=True):
            run = end[0] - start[0]
            is_upright = run.equals(0)
            slope = is_upright.where(0, (end[1] - start[1]) / is_upright.where(1, run))
            left, last = (_between(side[0], half_width) for side in (start, end))
            first_y, last_y = (start[1] + slope * (x - start[0]) for x in (left, last))
            part = _mean_clipped(first_y, last_y, half_height) * (left - last)
            total = part if total is None else total + part
        assert total is not None
        overlaps = overlaps_of(total.at_least(0), own(self._areas), self._areas)
        return overlaps.to(np.float32)


def _wave(function: str, angle: Expr) -> Expr:
    """Sine or cosine in f64: onnxruntime computes only f32, with fewer digits than the overlaps need."""
    return angle.call(function)


def _between(values: Expr, limit: Expr) -> Expr:
    return values.at_least(-limit).at_most(limit)


def _mean_clipped(first: Expr, last: Expr, limit: Expr) -> Expr:
    """The mean of numbers evenly spaced from `first` to `last`, each clipped to -limit to limit."""
    change = last - first
    mean = _between((first + last) / 2, limit)
    changes = change.abs() > limit * 1e-6
    return changes.where((_integral(last, limit) - _integral(first, limit)) / changes.where(change, 1), mean)


def _integral(end: Expr, limit: Expr) -> Expr:
    clipped = _between(end, limit)
    return clipped * (end - clipped / 2)
