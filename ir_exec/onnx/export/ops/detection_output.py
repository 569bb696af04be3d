"""The lowering of DetectionOutput."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ir_exec.onnx.export.algebra import BOOL, I64, Expr, input_tensors
from ir_exec.onnx.export.boxes import (
    Corners,
    above,
    choose_best,
    lexicographic_order,
    places_of,
    ranks,
    stack_columns,
    suppress,
)
from ir_exec.onnx.export.registry import export
from ir_exec.ops.detection.output import _CORNER, DetectionOutput1, DetectionOutput8

if TYPE_CHECKING:
    from ir_exec.onnx.export.node import ExportNode

_F32 = np.float32
_ALL = 2**62


@export(DetectionOutput1, DetectionOutput8)
def detection_output(node: ExportNode) -> str:
    """Move the prior boxes, suppress them class by class, and keep the best of each image."""
    op = node.op
    logits, predictions, proposals, *aux = (tensor.to(_F32) for tensor in input_tensors(node))
    sheet, images = logits.sheet, logits.dim(0)
    coordinates = 4 if op.normalized else 5
    priors = proposals.dim(2) // coordinates
    class_count = op._known_classes()
    classes = sheet.ints(class_count) if class_count is not None else predictions.dim(1) // priors.at_least(1)
    own = sheet.ints(1) if op.share_location else classes
    scores = predictions.reshape(images, priors, classes).transpose(0, 2, 1)
    if aux:
        objects = aux[0].reshape(images, priors, 2).gather(1, 2).unsqueeze(1)
        nothing = sheet.arange(classes).equals(op.background_label_id).to(_F32).reshape(1, -1, 1)
        scores = (objects < _F32(op.objectness_score)).where(nothing, scores)
    rows = proposals.gather(0, 1).reshape(proposals.dim(0), priors, coordinates)
    start = [rows.gather(coordinates - 4 + column, 2).unsqueeze(1) for column in range(4)]
    variance = None
    if not op.variance_encoded_in_target:
        each = proposals.gather(1, 1).slice(1, 0, priors * 4).reshape(proposals.dim(0), priors, 4)
        variance = [each.gather(column, 2).unsqueeze(1) for column in range(4)]
    if aux:
        start = _decode_boxes(node, start, _moves(aux[1], images, priors, own), variance)
    boxes = _decode_boxes(node, start, _moves(logits, images, priors, own), variance)
    exists = None
    if not op.normalized:
        exists = rows.gather(0, 2).equals(-1).to(I64).cumsum(1).equals(0).unsqueeze(1)
    label, box, score, image = _select_boxes(node, boxes, scores, exists, images, classes, priors)
    return _rows(node, boxes, image, label, box, score, (images, classes, priors), input_tensors(node)[0].dtype)


def _moves(values: Expr, images: Expr, priors: Expr, classes: Expr) -> list[Expr]:
    """Four numbers for each prior and class, [images, classes or 1, priors] each."""
    apart = values.reshape(images, priors, classes, 4)
    return [apart.gather(column, 3).transpose(0, 2, 1) for column in range(4)]


def _decode_boxes(node: ExportNode, priors: list[Expr], moves: list[Expr], variance: list[Expr] | None) -> list[Expr]:
    """The prior boxes moved and scaled by the predictions."""
    op = node.op
    if not op.normalized:
        sizes = [_F32(op.input_width), _F32(op.input_height)] * 2
        priors = [coordinate / size for coordinate, size in zip(priors, sizes, strict=True)]
    if variance is not None:
        moves = [factor * coordinate for factor, coordinate in zip(variance, moves, strict=True)]
    if op.code_type == _CORNER:
        boxes = [coordinate + move for coordinate, move in zip(priors, moves, strict=True)]
    else:
        ends = []
        for axis in range(2):
            size, center = priors[2 + axis] - priors[axis], (priors[axis] + priors[2 + axis]) / 2
            middle, half = moves[axis] * size + center, moves[2 + axis].exp() * size / 2
            ends.append((middle - half, middle + half))
        boxes = [ends[0][0], ends[1][0], ends[0][1], ends[1][1]]
    return [box.clip(0, 1) for box in boxes] if op.clip_before_nms else boxes


def _select_boxes(
    node: ExportNode,
    boxes: list[Expr],
    scores: Expr,
    exists: Expr | None,
    images: Expr,
    classes: Expr,
    priors: Expr,
) -> tuple[Expr, Expr, Expr, Expr]:
    """Class, prior, score and image of the kept boxes, image by image, class by class."""
    op, sheet = node.op, scores.sheet
    numbers = sheet.arange(classes).reshape(1, -1, 1)
    spread = [box.expand(images, classes, priors) for box in boxes]
    most = _ALL if op.top_k < 0 else op.top_k
    if op.decrease_label_id:
        usable = (scores >= _F32(op.confidence_threshold)) & (scores > -1)
        usable = usable & ~(numbers.equals(0) | numbers.equals(op.background_label_id))
        usable = usable if exists is None else usable & exists
        ranked = usable.where(scores, -np.inf)
        best, greatest = ranked.argmax(1), ranked.max([1])
        # For equal scores the lower class is first: the boxes are already sorted by class.
        _, by_class = best.squeeze(1).topk(priors, 1, largest=False)
        _, order = greatest.squeeze(1).take_along(by_class, 1).topk(priors.at_most(most), 1)
        order = by_class.take_along(order, 1).unsqueeze(1)
        order = order.expand(images, classes, order.dim(2))
        is_there = usable.to(np.int32).take_along(order, 2).to(BOOL)
        is_there = is_there & best.expand(images, classes, priors).take_along(order, 2).equals(numbers)
        order, is_there = _flat(order, images, classes), _flat(is_there, images, classes)
        final = _flat(scores, images, classes).take_along(order, 1)
    else:
        candidates = (scores > _F32(op.confidence_threshold)) & ~numbers.equals(op.background_label_id)
        candidates = candidates if exists is None else candidates & exists
        final, order, is_there = choose_best(_flat(scores, images, classes), _flat(candidates, images, classes), most)
    own = [_flat(tensor, images, classes).take_along(order, 1) for tensor in spread]
    retained = suppress(Corners(own), is_there, above(op.nms_threshold))
    row, candidate = places_of(retained, 2)
    where = stack_columns([row, candidate], I64)
    divisor = classes.at_least(1)
    fields = [row % divisor, order.gather_nd(where), final.gather_nd(where), row // divisor]
    keep = op.keep_top_k[0]
    if keep > -1:
        label, box, score, image = fields
        by_score = lexicographic_order([image, -score, box, label])
        fields = [tensor.gather(by_score, 0) for tensor in fields]
        places, _ = ranks(fields[3], images)
        stays = (places < keep).call("NonZero", dtype=I64).reshape(-1)
        fields = [tensor.gather(stays, 0) for tensor in fields]
        by_label = lexicographic_order([fields[3], fields[0]])
        fields = [tensor.gather(by_label, 0) for tensor in fields]
    return fields[0], fields[1], fields[2], fields[3]


def _flat(values: Expr, images: Expr, classes: Expr) -> Expr:
    return values.reshape(images * classes, values.dim(2))


def _rows(
    node: ExportNode,
    boxes: list[Expr],
    image: Expr,
    label: Expr,
    box: Expr,
    score: Expr,
    counts: tuple[Expr, Expr, Expr],
    dtype: np.dtype[np.generic],
) -> str:
    """Rows of image, class, score and box, followed by a row of -1 and by zeros."""
    op, (images, classes, priors) = node.op, counts
    where = stack_columns([image, label * 0 if op.share_location else label, box], I64)
    corners = [box.expand(images, box.dim(1), priors).gather_nd(where) for box in boxes]
    if op.clip_after_nms:
        corners = [corner.clip(0, 1) for corner in corners]
    rows = stack_columns([image, label - int(op.decrease_label_id), score, *corners], _F32)
    keep = op.keep_top_k[0]
    total = images * keep if keep > 0 else images * classes * (op.top_k if keep == -1 and op.top_k > 0 else priors)
    rows = rows.slice(0, 0, total)
    count = rows.dim(0)
    output = rows.pad([0, 0], [total - count, 0])
    numbers = rows.sheet.arange(total).reshape(-1, 1)
    ends = numbers.equals(count) & rows.sheet.constant([[True, *[False] * 6]])
    return ends.where(-1, output).unsqueeze(0, 1).to(dtype).name
