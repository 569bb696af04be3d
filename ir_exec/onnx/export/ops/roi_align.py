"""Lowerings of ROIAlign and ROIAlignRotated, and interpolated samples, which other operators use too."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ir_exec.onnx.export.algebra import I64, Expr, input_tensors, widen
from ir_exec.onnx.export.registry import export
from ir_exec.ops.detection.roi_align import ROIAlign3, ROIAlign9, ROIAlignRotated

if TYPE_CHECKING:
    from ir_exec.onnx.export.node import ExportNode


def sample_images(images: Expr, numbers: Expr, y: Expr, x: Expr, counts: Expr) -> Expr:
    """Interpolated samples [..., C] of images [M, C, H, W], 0 for points outside the mask.

    Args:
        numbers: The image of each point.
        y: The row coordinate of each point, of the shape of x.
        x: The column coordinate of each point.
        counts: The mask of the points to interpolate.
    """
    height, width = images.dim(2), images.dim(3)
    rows = images.transpose(0, 2, 3, 1).reshape(images.dim(0) * height * width, images.dim(1))
    lines = []
    for coordinate, size in ((y, height), (x, width)):
        clipped = counts.where(coordinate, 0).at_least(0).at_most((size - 1).to(coordinate.dtype))
        low = clipped.floor()
        share = clipped - low
        lines.append(((low.to(I64), 1 - share), (clipped.ceil().to(I64), share)))
    total: Expr | None = None
    for row, row_share in lines[0]:
        for column, column_share in lines[1]:
            read = rows.gather((numbers * height + row) * width + column, 0)
            weighted = read * counts.where(row_share * column_share, 0).unsqueeze(-1)
            total = weighted if total is None else total + weighted
    assert total is not None
    return total


def _is_inside(y: Expr, x: Expr, images: Expr) -> Expr:
    """A mask of points at most one element outside the image."""
    height, width = images.dim(2).to(y.dtype), images.dim(3).to(y.dtype)
    return (y >= -1) & (y <= height) & (x >= -1) & (x <= width)


@export(ROIAlign3, ROIAlign9)
def roi_align(node: ExportNode) -> str:
    """RoiAlign for means; gathered samples for the maximum."""
    op = node.op
    data, rois, numbers = input_tensors(node)
    wide, boxes = widen(data), widen(rois)
    mode = getattr(op, "aligned_mode", "asymmetric")
    if mode == "half_pixel":
        boxes = boxes + 0.5
    if op.mode == "avg":
        attributes = {
            "coordinate_transformation_mode": "output_half_pixel" if mode == "asymmetric" else "half_pixel",
            "mode": "avg",
            "output_height": op.pooled_h,
            "output_width": op.pooled_w,
            "sampling_ratio": op.sampling_ratio,
            "spatial_scale": op.spatial_scale,
        }
        return wide.call("RoiAlign", boxes, numbers.to(I64), **attributes).to(data.dtype).name
    corners = boxes * op.spatial_scale
    if mode != "asymmetric":
        corners = corners - 0.5
    x0, y0, x1, y1 = (corners.gather(column, 1).unsqueeze(1, 2) for column in range(4))
    extents = [y1 - y0, x1 - x0]
    if mode == "asymmetric":
        extents = [extent.at_least(1) for extent in extents]
    y, row_counts = _places(node, y0, extents[0], op.pooled_h)
    x, column_counts = _places(node, x0, extents[1], op.pooled_w)
    # [regions, rows of bins, samples, columns of bins, samples]
    y, x = y.unsqueeze(3, 4), x.unsqueeze(1, 2)
    y, x = y + x * 0, x + y * 0
    counts = _is_inside(y, x, data) & row_counts.unsqueeze(3, 4) & column_counts.unsqueeze(1, 2)
    images = numbers.to(I64).reshape(-1, 1, 1, 1, 1)
    samples = sample_images(wide, images, y, x, counts)
    # A bin has a size of at least 0, and may have no samples.
    bins = samples.at_least(0).pad([0] * 6, [0, 0, 1, 0, 1, 0]).max([2, 4], keep=False)
    return bins.transpose(0, 3, 1, 2).to(data.dtype).name


def _places(node: ExportNode, begin: Expr, extent: Expr, bins: int) -> tuple[Expr, Expr]:
    """The sampling points of each bin along an axis, [regions, bins, samples], and a mask of actual points."""
    op, sheet, dtype = node.op, begin.sheet, begin.dtype
    size = extent / float(bins)
    if op.sampling_ratio:
        most: Expr = sheet.ints(op.sampling_ratio)
        count = (size * 0 + float(op.sampling_ratio)).to(dtype)
        count = count.call("IsNaN", dtype=np.bool_).where(float(op.sampling_ratio), count)
    else:
        count = size.ceil()
        count = count.call("IsNaN", dtype=np.bool_).where(0, count).at_least(0)
        most = count.pad([0, 0, 0], [1, 0, 0]).max([0, 1, 2], keep=False).to(I64).reshape(1)
    numbers = sheet.arange(most).to(dtype).reshape(1, 1, -1)
    starts = begin + sheet.arange(bins).to(dtype).reshape(1, -1, 1) * size
    places = starts + (size / count.at_least(1)) * (numbers + 0.5)
    return places, (numbers < count) & (places.equals(places) | places.equals(0))


@export(ROIAlignRotated)
def roi_align_rotated(node: ExportNode) -> str:
    """Means of gathered samples."""
    op = node.op
    data, rois, numbers = input_tensors(node)
    wide, boxes = widen(data), widen(rois)
    x0, y0, width, height, angle = (boxes.gather(column, 1).unsqueeze(1, 2) for column in range(5))
    center_y, center_x = y0 * op.spatial_scale - 0.5, x0 * op.spatial_scale - 0.5
    height, width = height * op.spatial_scale, width * op.spatial_scale
    down, row_counts = _places(node, -height / 2, height, op.pooled_h)
    across, column_counts = _places(node, -width / 2, width, op.pooled_w)
    turn = -angle if op.clockwise_mode else angle
    sine, cosine = turn.call("Sin").unsqueeze(3, 4), turn.call("Cos").unsqueeze(3, 4)
    down, across = down.unsqueeze(3, 4), across.unsqueeze(1, 2)
    y = down * cosine - across * sine + center_y.unsqueeze(3, 4)
    x = down * sine + across * cosine + center_x.unsqueeze(3, 4)
    exists = row_counts.unsqueeze(3, 4) & column_counts.unsqueeze(1, 2)
    counts = _is_inside(y, x, data) & exists
    samples = sample_images(wide, numbers.to(I64).reshape(-1, 1, 1, 1, 1), y, x, counts)
    total = samples.sum([2, 4], keep=False)
    number = exists.to(wide.dtype).sum([2, 4], keep=False).at_least(1)
    return (total / number.unsqueeze(3)).transpose(0, 3, 1, 2).to(data.dtype).name
