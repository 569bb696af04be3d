"""Lowerings of Detectron's operators."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ir_exec.onnx.export.algebra import I64, Expr, concat, input_tensors, widen
from ir_exec.onnx.export.boxes import (
    Corners,
    above,
    choose_best,
    lexicographic_order,
    move_boxes,
    places_of,
    stack_columns,
    suppress,
)
from ir_exec.onnx.export.registry import export
from ir_exec.ops.detection.detectron import (
    ExperimentalDetectronDetectionOutput,
    ExperimentalDetectronPriorGridGenerator,
    ExperimentalDetectronROIFeatureExtractor,
)

if TYPE_CHECKING:
    from ir_exec.onnx.export.node import ExportNode

_F32 = np.float32


@export(ExperimentalDetectronPriorGridGenerator)
def prior_grid(node: ExportNode) -> str:
    """The boxes at every point of a grid."""
    op = node.op
    priors, features, image = input_tensors(node)
    sheet, boxes = priors.sheet, priors.to(_F32)
    rows, columns, count = features.dim(2), features.dim(3), priors.dim(0)
    height = sheet.ints(op.h) if op.h else rows
    width = sheet.ints(op.w) if op.w else columns

    def step(own: float, size: Expr, points: Expr) -> Expr:
        if own:
            return sheet.constant([_F32(own)])
        return (size.to(np.float64) / points.at_least(1).to(np.float64)).to(_F32)

    y = (step(op.stride_y, image.dim(2), height) * (sheet.arange(height).to(_F32) + 0.5)).reshape(-1, 1, 1, 1)
    x = (step(op.stride_x, image.dim(3), width) * (sheet.arange(width).to(_F32) + 0.5)).reshape(1, -1, 1, 1)
    shifts = concat([x + y * 0, y + x * 0], 3)
    placed = boxes.reshape(1, 1, -1, 4) + concat([shifts, shifts], 3)
    flat = placed.reshape(-1)
    total = rows * columns * count * 4
    flat = flat.pad([0], [total - flat.dim(0)]).to(priors.dtype)
    if op.flatten:
        return flat.reshape(rows * columns * count, 4).name
    return flat.reshape(rows, columns, count, 4).name


@export(ExperimentalDetectronROIFeatureExtractor)
def roi_features(node: ExportNode) -> tuple[str, ...]:
    """Apply RoiAlign to the regions of each level."""
    op = node.op
    rois, *pyramid = input_tensors(node)
    sheet, boxes, dtype = rois.sheet, rois.to(_F32), widen(rois).dtype
    x0, y0, x1, y1 = (boxes.gather(column, 1) for column in range(4))
    areas = (x1 - x0) * (y1 - y0)
    has_area = areas > 0
    sizes = (has_area.where(areas, 1).sqrt() / _F32(224) + _F32(1e-6)).log() / _F32(np.log(2))
    levels = (sizes + 2).floor().at_least(0).at_most(float(len(pyramid) - 1))
    output = sheet.zeros(sheet.ints(rois.dim(0), pyramid[0].dim(1), op.output_size, op.output_size), dtype)
    for number, (features, scale) in enumerate(zip(pyramid, op.pyramid_scales, strict=False)):
        own = (has_area & levels.equals(float(number))).call("NonZero", dtype=I64).reshape(-1)
        regions = rois.to(dtype).gather(own, 0)
        if op.aligned:
            regions = regions - 0.5 * scale
        pooled = features.to(dtype).call(
            "RoiAlign",
            regions,
            own * 0,
            coordinate_transformation_mode="output_half_pixel",
            mode="avg",
            output_height=op.output_size,
            output_width=op.output_size,
            sampling_ratio=op.sampling_ratio,
            spatial_scale=1 / scale,
        )
        output = output.call("ScatterND", own.unsqueeze(1), pooled)
    return output.to(rois.dtype).name, rois.call("Identity").name


@export(ExperimentalDetectronDetectionOutput)
def detection_output(node: ExportNode) -> tuple[str, ...]:
    """Move the regions for each class, suppress them, and keep the best of all classes."""
    op = node.op
    regions, deltas, scores, _ = (tensor.to(_F32) for tensor in input_tensors(node))
    sheet, dtype, most = regions.sheet, input_tensors(node)[0].dtype, op.max_detections_per_image
    own = [regions.gather(column, 1).unsqueeze(0) for column in range(4)]
    apart = deltas.reshape(regions.dim(0), op.num_classes, 4)
    moves = [apart.gather(column, 2).transpose(1, 0) / _F32(op.deltas_weights[column]) for column in range(4)]
    moves[2:] = [move.at_most(_F32(op.max_delta_log_wh)) for move in moves[2:]]
    boxes = move_boxes(own, moves, 1.0)
    boxes = [tensor.at_least(0) for tensor in (*boxes[:2], boxes[2] - 1, boxes[3] - 1)]
    has_area = (own[2] > own[0]) & (own[3] > own[1])
    # Class 0 is the background.
    boxes = [has_area.where(box, 0).slice(0, 1, 2**62) for box in boxes]
    ranked = has_area.where(scores.transpose(1, 0), 0).slice(0, 1, 2**62)
    final, order, exists = choose_best(ranked, ranked > _F32(op.score_threshold), 2**62)
    boxes = [box.take_along(order, 1) for box in boxes]
    count = None if op.post_nms_count < 0 else op.post_nms_count
    retained = suppress(Corners(boxes, 1.0, touching=False), exists, above(op.nms_threshold), count)
    label, candidate = places_of(retained, 2)
    where = stack_columns([label, candidate], I64)
    score, box = final.gather_nd(where), order.gather_nd(where)
    best = lexicographic_order([-score, box, label])
    # Class by class, unless there are too many: then the best of all.
    numbers = sheet.arange(label.dim(0))
    order_out = (label.dim(0) > most).where(best, numbers).slice(0, 0, most)
    missing = most - order_out.dim(0)

    def take_padded(values: Expr) -> Expr:
        return values.gather(order_out, 0).pad([0], [missing])

    rows = stack_columns([take_padded(box.gather_nd(where)) for box in boxes], dtype)
    labels = take_padded(label + 1)
    return rows.name, labels.to(np.int32).name, take_padded(score).to(dtype).name
