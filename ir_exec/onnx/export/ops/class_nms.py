"""Lowerings of MatrixNms and MulticlassNms."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ir_exec.onnx.export.algebra import I64, Expr, concat, input_tensors
from ir_exec.onnx.export.boxes import (
    Corners,
    choose_best,
    lexicographic_order,
    places_of,
    ranks,
    rows_of,
    stack_columns,
    suppress,
)
from ir_exec.onnx.export.registry import export
from ir_exec.ops.sort.class_nms import MatrixNms, MulticlassNms8, MulticlassNms9

if TYPE_CHECKING:
    from ir_exec.onnx.export.node import ExportNode


def _candidates(node: ExportNode, scores: Expr, exists: Expr) -> tuple[Expr, Expr, Expr]:
    """The best candidates of each row [batches * classes, boxes]: scores, indices, and a mask of actual candidates."""
    op = node.op
    return choose_best(scores, exists, 2**62 if op.nms_top_k < 0 else op.nms_top_k)


def _foreground(node: ExportNode, exists: Expr, classes: Expr) -> Expr:
    """Candidates [batches, classes, boxes] without those of the background."""
    background = node.op.background_class
    if background < 0:
        return exists
    return exists & ~exists.sheet.arange(classes).reshape(-1, 1).equals(background)


def _rows(values: Expr, count: Expr) -> Expr:
    """Values [batches, classes, boxes] as rows."""
    return values.reshape(values.dim(0) * values.dim(1), count)


def _select_boxes(
    node: ExportNode,
    batch: Expr,
    label: Expr,
    box: Expr,
    score: Expr,
    batches: Expr,
    *,
    by_class: bool,
) -> tuple[list[Expr], Expr]:
    """Batch, class, box and score of the kept boxes, in the order of the output; counts by batch element."""
    op = node.op
    fields = [batch, label, box, score]
    order = lexicographic_order([batch, -score, label, box])
    fields = [field.gather(order, 0) for field in fields]
    places, sizes = ranks(fields[0], batches)
    if op.keep_top_k >= 0:
        stays = (places < op.keep_top_k).call("NonZero", dtype=I64).reshape(-1)
        fields = [field.gather(stays, 0) for field in fields]
        sizes = sizes.at_most(op.keep_top_k)
    batch, label, box, score = fields
    keys: list[Expr] | None = None
    if op.sort_result_across_batch and op.sort_result_type == "score":
        keys = [-score, batch, label, box]
    elif op.sort_result_across_batch and op.sort_result_type == "classid":
        keys = [label, batch, -score, box]
    elif by_class:
        keys = [batch, label, -score, box]
    if keys is not None:
        order = lexicographic_order(keys)
        fields = [field.gather(order, 0) for field in fields]
    return fields, sizes


def _outputs(node: ExportNode, label: Expr, score: Expr, boxes: Expr, places: Expr, sizes: Expr) -> tuple[str, ...]:
    dtype = node.op.output_type.dtype
    rows = concat([stack_columns([label, score], boxes.dtype), boxes], 1)
    return rows.name, places.unsqueeze(1).to(dtype).name, sizes.to(dtype).name


@export(MatrixNms, slow_from=2**10)
def matrix_nms(node: ExportNode) -> tuple[str, ...]:
    """Decays from the overlaps of all candidates of a class."""
    op = node.op
    boxes, scores = input_tensors(node)
    sheet, wide = boxes.sheet, scores.to(np.float32)
    batches, classes, count = scores.dim(0), scores.dim(1), boxes.dim(1)
    exists = _foreground(node, wide > np.float32(op.score_threshold), classes)
    final, order, is_there = _candidates(node, _rows(wide, count), _rows(exists, count))
    spread = [
        _rows(corner.unsqueeze(1).expand(batches, classes, count), count).take_along(order, 1)
        for corner in rows_of(boxes.to(np.float32))
    ]
    margin = 0.0 if op.normalized else 1.0
    corners = Corners(spread, margin, touching=False)
    x0, y0, x1, y1 = corners.coordinates
    areas = ((x1 < x0) | (y1 < y0)).where(0, corners.areas)
    better, own = ([coordinate.unsqueeze(axis) for coordinate in corners.coordinates] for axis in (2, 1))
    common = corners.common(better, own)
    overlaps = common / (areas.unsqueeze(2) + areas.unsqueeze(1) - common)
    numbers = sheet.arange(order.dim(1))
    is_better = (numbers.unsqueeze(1) < numbers.unsqueeze(0)).to(np.float32)
    overlaps = overlaps.call("IsNaN", dtype=np.bool_).where(0, overlaps) * is_better
    ones = sheet.zeros(sheet.ints(overlaps.dim(0), 1, overlaps.dim(2)), np.float32)
    worst = concat([ones, overlaps], 1).max([1], keep=False).unsqueeze(2)
    if op.decay_function == "gaussian":
        decays = ((worst * worst - overlaps * overlaps) * (is_better * np.float32(op.gaussian_sigma))).exp()
    else:
        decays = (1 - overlaps.to(np.float64)) / (1 - worst.to(np.float64) + float(np.float32(1e-10)))
    decays = concat([ones.to(decays.dtype) + 1, decays], 1)
    least = -((-decays).max([1], keep=False))
    final = final * least.to(np.float32)
    row, candidate = places_of((final > np.float32(op.post_threshold)) & is_there, 2)
    where = stack_columns([row, candidate], I64)
    box, score = order.gather_nd(where), final.gather_nd(where)
    divisor = classes.at_least(1)
    selection, sizes = _select_boxes(node, row // divisor, row % divisor, box, score, batches, by_class=False)
    batch, label, box, score = selection
    return _outputs(node, label, score, boxes.gather_nd(stack_columns([batch, box], I64)), batch * count + box, sizes)


@export(MulticlassNms8, MulticlassNms9)
def multiclass_nms(node: ExportNode) -> tuple[str, ...]:
    """A Loop over the candidates of all classes; each class may have separate boxes."""
    op = node.op
    boxes, scores, *numbers = input_tensors(node)
    sheet, wide = boxes.sheet, scores.to(np.float32)
    least = np.nextafter(np.float32(op.score_threshold), np.float32(-np.inf))
    own = [coordinate.to(np.float32) for coordinate in rows_of(boxes)]
    if numbers:
        # Boxes of all batch elements, [classes, boxes]; each batch element uses its own.
        batches, classes, count = numbers[0].dim(0), scores.dim(0), scores.dim(1)
        sizes = numbers[0].to(I64).at_least(0)
        starts = sizes.cumsum(0, exclusive=True)
        places = sheet.arange(count).unsqueeze(0)
        inside = (places >= starts.unsqueeze(1)) & (places < (starts + sizes).unsqueeze(1))
        exists = inside.unsqueeze(1) & (wide > least).unsqueeze(0)
        wide = wide.unsqueeze(0).expand(batches, classes, count)
        own = [coordinate.unsqueeze(0).expand(batches, classes, count) for coordinate in own]
    else:
        batches, classes, count = scores.dim(0), scores.dim(1), boxes.dim(1)
        exists = wide > least
        own = [coordinate.unsqueeze(1).expand(batches, classes, count) for coordinate in own]
    exists = _foreground(node, exists, classes)
    final, order, is_there = _candidates(node, _rows(wide, count), _rows(exists, count))
    corners = Corners(
        [_rows(coordinate, count).take_along(order, 1) for coordinate in own], 0.0 if op.normalized else 1.0
    )
    retained = suppress(corners, is_there, np.float32(op.iou_threshold), shrink=op.nms_eta)
    row, candidate = places_of(retained, 2)
    where = stack_columns([row, candidate], I64)
    divisor = classes.at_least(1)
    by_class = op.sort_result_type == "classid" and not op.sort_result_across_batch
    selection, selection_sizes = _select_boxes(
        node,
        row // divisor,
        row % divisor,
        order.gather_nd(where),
        final.gather_nd(where),
        batches,
        by_class=by_class,
    )
    batch, label, box, score = selection
    if numbers:
        rows = boxes.gather_nd(stack_columns([label, box], I64))
        return _outputs(node, label, score, rows, box * classes + label, selection_sizes)
    rows = boxes.gather_nd(stack_columns([batch, box], I64))
    return _outputs(node, label, score, rows, batch * count + box, selection_sizes)
