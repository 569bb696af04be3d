"""Lowerings of Detectron's operators."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ir_exec.onnx.export.algebra import I64, Expr, concat, given, widened
from ir_exec.onnx.export.boxes import Corners, above, chosen, joined, lexsorted, moved, places_of, suppressed
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
    priors, features, image = given(node)
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
    rois, *pyramid = given(node)
    sheet, boxes, kind = rois.sheet, rois.to(_F32), widened(rois).dtype
    x0, y0, x1, y1 = (boxes.gather(place, 1) for place in range(4))
    areas = (x1 - x0) * (y1 - y0)
    has_area = areas > 0
    sizes = (has_area.where(areas, 1).sqrt() / _F32(224) + _F32(1e-6)).log() / _F32(np.log(2))
    levels = (sizes + 2).floor().at_least(0).at_most(float(len(pyramid) - 1))
    output = sheet.zeros(sheet.ints(rois.dim(0), pyramid[0].dim(1), op.output_size, op.output_size), kind)
    for number, (features, scale) in enumerate(zip(pyramid, op.pyramid_scales, strict=False)):
        own = (has_area & levels.equals(float(number))).call("NonZero", dtype=I64).reshape(-1)
        regions = rois.to(kind).gather(own, 0)
        if op.aligned:
            regions = regions - 0.5 * scale
        found = features.to(kind).call(
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
        output = output.call("ScatterND", own.unsqueeze(1), found)
    return output.to(rois.dtype).name, rois.call("Identity").name


@export(ExperimentalDetectronDetectionOutput)
def detection_output(node: ExportNode) -> tuple[str, ...]:
    """Move the regions for each class, suppress them, and keep the best of all classes."""
    op = node.op
    regions, deltas, scores, _ = (one.to(_F32) for one in given(node))
    sheet, kind, most = regions.sheet, given(node)[0].dtype, op.max_detections_per_image
    own = [regions.gather(place, 1).unsqueeze(0) for place in range(4)]
    apart = deltas.reshape(regions.dim(0), op.num_classes, 4)
    moves = [apart.gather(place, 2).transpose(1, 0) / _F32(op.deltas_weights[place]) for place in range(4)]
    moves[2:] = [move.at_most(_F32(op.max_delta_log_wh)) for move in moves[2:]]
    boxes = moved(own, moves, 1.0)
    boxes = [one.at_least(0) for one in (*boxes[:2], boxes[2] - 1, boxes[3] - 1)]
    has_area = (own[2] > own[0]) & (own[3] > own[1])
    # Class 0 is the background.
    boxes = [has_area.where(box, 0).slice(0, 1, 2**62) for box in boxes]
    ranked = has_area.where(scores.transpose(1, 0), 0).slice(0, 1, 2**62)
    final, order, exists = chosen(ranked, ranked > _F32(op.score_threshold), 2**62)
    boxes = [box.take_along(order, 1) for box in boxes]
    count = None if op.post_nms_count < 0 else op.post_nms_count
    kept = suppressed(Corners(boxes, 1.0, touching=False), exists, above(op.nms_threshold), count)
    label, place = places_of(kept, 2)
    where = joined([label, place], I64)
    score, box = final.gather_nd(where), order.gather_nd(where)
    best = lexsorted([-score, box, label])
    # Class by class, unless there are too many: then the best of all.
    numbers = sheet.arange(label.dim(0))
    order_out = (label.dim(0) > most).where(best, numbers).slice(0, 0, most)
    missing = most - order_out.dim(0)

    def filled(values: Expr) -> Expr:
        return values.gather(order_out, 0).pad([0], [missing])

    rows = joined([filled(box.gather_nd(where)) for box in boxes], kind)
    labels = filled(label + 1)
    return rows.name, labels.to(np.int32).name, filled(score).to(kind).name
