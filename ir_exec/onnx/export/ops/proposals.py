"""Lowerings of operators that propose regions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ir_exec.onnx.export.algebra import I64, Expr, concat, input_tensors
from ir_exec.onnx.export.boxes import Corners, above, compact_rows, move_boxes, places_of, stack_columns, suppress
from ir_exec.onnx.export.registry import export
from ir_exec.ops.detection.proposals import (
    _LARGEST_GROWTH,
    ExperimentalDetectronGenerateProposalsSingleImage,
    GenerateProposals,
    Proposal1,
    Proposal4,
    _anchors,
)

if TYPE_CHECKING:
    from ir_exec.onnx.export.node import ExportNode

_F32 = np.float32


def _by_points(values: Expr, numbers: int) -> list[Expr]:
    """Numbers of anchors [N, anchors * numbers, H, W] as rows [N, points * anchors], point by point."""
    batch, rows, columns = values.dim(0), values.dim(2), values.dim(3)
    anchors = values.dim(1) // numbers
    apart = values.reshape(batch, anchors, numbers, rows, columns)
    flat = rows * columns * anchors
    return [apart.gather(i, 2).transpose(0, 2, 3, 1).reshape(batch, flat) for i in range(numbers)]


def _best(scores: Expr, most: int) -> tuple[Expr, Expr]:
    """The greatest scores of each row and their indices."""
    return scores.topk(scores.dim(1).at_most(most), 1)


@export(Proposal1, Proposal4, slow_from=0)
def proposal(node: ExportNode) -> str | tuple[str, ...]:
    """Anchors at every point, moved, clipped, and suppressed."""
    op = node.op
    probs, deltas, info = (tensor.to(_F32) for tensor in input_tensors(node))
    sheet, dtype = probs.sheet, input_tensors(node)[0].dtype
    most, margin = op.post_nms_topn, op._margin()
    numbers = [info.slice(0, index, index + 1) for index in range(2)]
    height, width = reversed(numbers) if op.framework else numbers
    least_height, least_width = info.slice(0, 2, 3) * _F32(op.min_size), info.slice(0, -1, 2**62) * _F32(op.min_size)
    anchors = _anchors(op.base_size, op.ratio, op.scale, bool(op.framework))
    rows, columns = deltas.dim(2), deltas.dim(3)
    x = (sheet.arange(columns).to(_F32) * _F32(op.feat_stride)).reshape(1, -1, 1)
    y = (sheet.arange(rows).to(_F32) * _F32(op.feat_stride)).reshape(-1, 1, 1)
    edges = (width, height, width, height)
    boxes = []
    points = rows * columns * anchors.shape[1]
    for index in range(4):
        is_x = index % 2 == (1 if op.framework else 0)
        spread = (x + y * 0) if is_x else (y + x * 0)
        tensor = (spread + sheet.constant(anchors[index].copy())).reshape(1, points)
        boxes.append(tensor.at_least(0).at_most(edges[index]) if op.framework else tensor)
    scales = [op.box_coordinate_scale] * 2 + [op.box_size_scale] * 2
    moves = [tensor / _F32(scale) for tensor, scale in zip(_by_points(deltas, 4), scales, strict=True)]
    boxes = move_boxes(boxes, moves, margin)
    if op.clip_before_nms:
        boxes = [
            tensor.at_least(0).at_most((edge - margin).at_least(0)) for tensor, edge in zip(boxes, edges, strict=True)
        ]
    count = anchors.shape[1]
    (scores,) = _by_points(probs.slice(1, count, 2**62), 1)
    own_width, own_height = (boxes[2 + axis] - boxes[axis] + margin for axis in (0, 1))
    is_large = (own_width >= least_width) & (own_height >= least_height)
    scores = is_large.where(scores, scores * 0)
    best, order = _best(scores, op.pre_nms_topn)
    boxes = [box.take_along(order, 1) for box in boxes]
    exists = order >= 0
    retained = suppress(Corners(boxes, margin, touching=False), exists, above(op.nms_thresh), most)
    proposals = boxes
    if op.clip_after_nms:
        proposals = [tensor.at_least(0).at_most(edge) for tensor, edge in zip(proposals, edges, strict=True)]
    if op.normalize:
        proposals = [tensor / edge for tensor, edge in zip(proposals, edges, strict=True)]
    number = retained.to(I64).sum([1])
    places, batch = sheet.arange(most).reshape(1, -1), sheet.arange(probs.dim(0)).reshape(-1, 1)
    first = places.equals(number).where(-1, (places < number).where(batch, 0)).to(_F32)
    columns_out = [first, *(compact_rows(tensor, retained, most) for tensor in proposals)]
    rois = concat([tensor.unsqueeze(2) for tensor in columns_out], 2).reshape(-1, 5).to(dtype)
    if isinstance(op, Proposal1):
        return rois.name
    return rois.name, compact_rows(best, retained, most).reshape(-1).to(dtype).name


def _propose_boxes(
    anchors: list[Expr],
    deltas: Expr,
    edges: tuple[Expr, Expr],
    least: tuple[Expr | np.float32, Expr | np.float32],
    margin: float,
) -> tuple[list[Expr], Expr]:
    """Anchors [1, n] moved and clipped to the image, and a mask of sufficient sizes.

    Args:
        edges: The height and width of the image.
        least: The minimum height and width of a box.
    """
    moves = _by_points(deltas, 4)
    moves[2:] = [move.at_most(_F32(_LARGEST_GROWTH)) for move in moves[2:]]
    boxes = move_boxes(anchors, moves, margin)
    boxes[2:] = [box - margin for box in boxes[2:]] if margin else boxes[2:]
    height, width = edges
    ends = [edge - margin for edge in (width, height, width, height)]
    boxes = [coordinate.at_most(end).at_least(0) for coordinate, end in zip(boxes, ends, strict=True)]
    is_large = (boxes[3] - boxes[1] + margin >= least[0]) & (boxes[2] - boxes[0] + margin >= least[1])
    return boxes, is_large


@export(ExperimentalDetectronGenerateProposalsSingleImage)
def proposals_of_one_image(node: ExportNode) -> tuple[str, ...]:
    """Anchors moved, clipped and suppressed."""
    op = node.op
    info, anchors, deltas, scores = (tensor.to(_F32) for tensor in input_tensors(node))
    dtype, most = input_tensors(node)[3].dtype, op.post_nms_count
    own = [anchors.gather(column, 1).unsqueeze(0) for column in range(4)]
    least = _F32(op.min_size)
    edges = info.slice(0, 0, 1), info.slice(0, 1, 2)
    boxes, is_large = _propose_boxes(own, deltas.unsqueeze(0), edges, (least, least), 1.0)
    (ranked,) = _by_points(scores.unsqueeze(0), 1)
    ranked = is_large.where(ranked, ranked * 0)
    best, order = _best(ranked, op.pre_nms_count)
    boxes = [box.take_along(order, 1) for box in boxes]
    retained = suppress(Corners(boxes), order >= 0, above(op.nms_threshold), most)
    rois = stack_columns([compact_rows(box, retained, most).squeeze(0) for box in boxes], dtype)
    return rois.name, compact_rows(best, retained, most).squeeze(0).to(dtype).name


@export(GenerateProposals)
def generate_proposals(node: ExportNode) -> tuple[str, ...]:
    """Anchors moved, clipped and suppressed, for each image."""
    op = node.op
    info, anchors, deltas, scores = (tensor.to(_F32) for tensor in input_tensors(node))
    dtype, margin = input_tensors(node)[0].dtype, 0.0 if op.normalized else 1.0
    own = [anchors.reshape(-1, 4).gather(column, 1).unsqueeze(0) for column in range(4)]
    edges = info.slice(1, 0, 1), info.slice(1, 1, 2)
    least = info.slice(1, 2, 3) * _F32(op.min_size), info.slice(1, -1, 2**62) * _F32(op.min_size)
    boxes, is_large = _propose_boxes(own, deltas, edges, least, margin)
    (ranked,) = _by_points(scores, 1)
    best, order = _best(ranked, op.pre_nms_count)
    boxes = [box.take_along(order, 1) for box in boxes]
    exists = is_large.to(np.int32).take_along(order, 1).to(np.bool_)
    corners = Corners(boxes, margin, touching=False)
    retained = suppress(corners, exists, above(op.nms_threshold), op.post_nms_count, op.nms_eta)
    where = stack_columns(places_of(retained, 2), I64)
    rois = stack_columns([box.gather_nd(where) for box in boxes], dtype)
    numbers = retained.to(I64).sum([1], keep=False).to(op.roi_num_type.dtype)
    return rois.name, best.gather_nd(where).to(dtype).name, numbers.name
