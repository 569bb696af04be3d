"""Lowerings of ROIPooling, PSROIPooling and DeformablePSROIPooling."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ir_exec.onnx.export.algebra import I64, Expr, input_tensors, widen
from ir_exec.onnx.export.ops.roi_align import sample_images
from ir_exec.onnx.export.registry import export
from ir_exec.ops.detection.roi_pooling import _FAR, DeformablePSROIPooling, PSROIPooling, ROIPooling

if TYPE_CHECKING:
    from ir_exec.onnx.export.node import ExportNode


def _images(rois: Expr) -> tuple[Expr, Expr]:
    """The image of each region, 0 after the end of the list, and a mask of the regions before the end."""
    numbers = rois.gather(0, 1).trunc()
    exists = numbers.equals(-1).to(I64).cumsum(0).equals(0)
    return exists.where(numbers, 0).to(I64), exists


def _round_half_away(values: Expr) -> Expr:
    """Round to the nearest integer, halves away from zero; 0 for NaN."""
    exact = values.to(np.float64)
    exact = exact.call("IsNaN", dtype=np.bool_).where(0, exact).clip(-_FAR, _FAR)
    return exact.call("Sign") * (exact.abs() + 0.5).floor()


def _bins(firsts: Expr, extents: Expr, count: int, size: Expr) -> tuple[Expr, Expr]:
    """The start and the end of each bin of every region, [regions, count], clipped to the axis."""
    sizes = extents / float(count)
    numbers = firsts.sheet.arange(count).to(firsts.dtype).reshape(1, -1)
    limit = size.to(firsts.dtype)
    begins = (numbers * sizes + firsts).floor().at_least(0).at_most(limit)
    ends = ((numbers + 1) * sizes + firsts).ceil().at_least(0).at_most(limit)
    return begins.to(I64), ends.to(I64)


def _without_ended(result: Expr, exists: Expr) -> Expr:
    return exists.reshape(-1, 1, 1, 1).where(result, 0)


@export(ROIPooling)
def roi_pooling(node: ExportNode) -> str:
    """The maxima of bins, or interpolated samples."""
    op = node.op
    data, rois = input_tensors(node)
    wide, boxes = widen(data), widen(rois)
    images, exists = _images(boxes)
    result = _lattice(node, wide, boxes, images) if op.method == "bilinear" else _greatest(node, wide, boxes, images)
    return _without_ended(result, exists).to(data.dtype).name


def _greatest(node: ExportNode, data: Expr, boxes: Expr, images: Expr) -> Expr:
    """The maxima of bins: along the columns of each, then along its rows."""
    op, sheet, dtype = node.op, data.sheet, boxes.dtype
    corners = [_round_half_away(boxes.gather(column, 1) * op.spatial_scale) for column in range(1, 5)]
    lines = []
    for axis, bins in ((1, op.pooled_h), (0, op.pooled_w)):
        extents = (corners[axis + 2] - corners[axis] + 1).at_least(1)
        size = data.dim(3 - axis)
        begins, ends = _bins(corners[axis].to(dtype).unsqueeze(1), extents.to(dtype).unsqueeze(1), bins, size)
        longest = (ends - begins).pad([0, 0], [1, 0]).max([0, 1], keep=False).at_least(1).reshape(1)
        places = begins.unsqueeze(2) + sheet.arange(longest).reshape(1, 1, -1)
        inside = places < ends.unsqueeze(2)
        lines.append((places.at_most(size - 1), inside))
    (rows, row_inside), (columns, column_inside) = lines
    height, width = data.dim(2), data.dim(3)
    # [regions, rows of bins, columns of bins, elements]
    first = (images.reshape(-1, 1, 1, 1, 1) * height + rows.unsqueeze(2, 4)) * width
    places = first + columns.unsqueeze(1, 3)
    counts = row_inside.unsqueeze(2, 4) & column_inside.unsqueeze(1, 3)
    elements = data.transpose(0, 2, 3, 1).reshape(data.dim(0) * height * width, data.dim(1))
    read = counts.unsqueeze(5).where(elements.gather(places, 0), -np.inf)
    maxima = read.max([3, 4], keep=False)
    any_inside = counts.to(np.int32).max([3, 4], keep=False) > 0
    return any_inside.unsqueeze(3).where(maxima, 0).transpose(0, 3, 1, 2)


def _lattice(node: ExportNode, data: Expr, boxes: Expr, images: Expr) -> Expr:
    """Interpolated points from corner to corner; corners are fractions of the image."""
    op, sheet, dtype = node.op, data.sheet, boxes.dtype
    lines = []
    for axis, bins in ((2, op.pooled_h), (1, op.pooled_w)):
        last = (data.dim(4 - axis if axis == 2 else 3) - 1).to(dtype)
        first, end = (boxes.gather(column, 1).unsqueeze(1) for column in (axis, axis + 2))
        if bins == 1:
            places = (first + end) / 2 * last
        else:
            numbers = sheet.arange(bins).to(dtype).reshape(1, -1)
            steps = numbers * ((end - first) * last / float(bins - 1)) + first * last
            places = numbers.equals(bins - 1).where(end * last, steps)
        lines.append((places, (places >= 0) & (places <= last)))
    (y, y_inside), (x, x_inside) = lines
    y, x = y.unsqueeze(2), x.unsqueeze(1)
    y, x = y + x * 0, x + y * 0
    counts = y_inside.unsqueeze(2) & x_inside.unsqueeze(1)
    return sample_images(data, images.reshape(-1, 1, 1), y, x, counts).transpose(0, 3, 1, 2)


@export(PSROIPooling)
def psroi_pooling(node: ExportNode) -> str:
    """Means of bins by sums over all elements before a corner, or interpolated samples."""
    op = node.op
    data, rois = input_tensors(node)
    wide, boxes = widen(data), widen(rois)
    images, exists = _images(boxes)
    result = _position_means(node, wide, boxes, images) if op.mode == "average" else _parts(node, wide, boxes, images)
    return _without_ended(result, exists).to(data.dtype).name


def _position_means(node: ExportNode, data: Expr, boxes: Expr, images: Expr) -> Expr:
    op, sheet, dtype, group = node.op, data.sheet, boxes.dtype, node.op.group_size
    corners = [_round_half_away(boxes.gather(column, 1) + (1 if column > 2 else 0)).to(dtype) for column in range(1, 5)]
    x0, y0, x1, y1 = ((corner * op.spatial_scale).unsqueeze(1) for corner in corners)
    rows = _bins(y0, (y1 - y0).at_least(0.1), group, data.dim(2))
    columns = _bins(x0, (x1 - x0).at_least(0.1), group, data.dim(3))
    # sums[y, x]: all elements above and left of a corner, in f64 for sufficiently exact differences.
    sums = data.to(np.float64).cumsum(2).cumsum(3).pad([0, 0, 1, 1], [0, 0, 0, 0])
    height, width = sums.dim(2), sums.dim(3)
    flat = sums.reshape(-1)
    shape = (-1, 1, 1, 1)
    channel = sheet.arange(op.output_dim).reshape(*shape) * group**2
    channel = channel + sheet.arange(group).reshape(-1, 1) * group + sheet.arange(group)
    planes = images.reshape(-1, 1, 1, 1) * data.dim(1) + channel.squeeze(1).unsqueeze(0)

    def at(y: Expr, x: Expr) -> Expr:
        return flat.gather((planes * height + y.unsqueeze(1, 3)) * width + x.unsqueeze(1, 2), 0)

    (top, bottom), (left, right) = rows, columns
    bottom, right = bottom.at_least(top), right.at_least(left)
    total = at(bottom, right) - at(top, right) - at(bottom, left) + at(top, left)
    number = ((bottom - top).unsqueeze(1, 3) * (right - left).unsqueeze(1, 2)).at_least(1)
    return (total / number.to(np.float64)).to(data.dtype)


def _parts(node: ExportNode, data: Expr, boxes: Expr, images: Expr) -> Expr:
    """The means of samples in all parts of the region, each part from separate channels."""
    op, sheet, dtype, group = node.op, data.sheet, boxes.dtype, node.op.group_size
    corners = [(boxes.gather(column, 1) * op.spatial_scale).unsqueeze(1) for column in range(1, 5)]

    def places(first: Expr, end: Expr, parts: int, size: Expr) -> Expr:
        last = (size - 1).to(dtype)
        step = (end - first) / float(parts)
        numbers = sheet.arange(parts).to(dtype).reshape(1, -1)
        begins, ends = (first + numbers * step).unsqueeze(2), (first + (numbers + 1) * step).unsqueeze(2)
        if group == 1:
            return (begins + ends) * 0.5 * last
        each = (ends - begins) * last / float(group - 1)
        return sheet.arange(group).to(dtype).reshape(1, 1, -1) * each + begins * last

    down, across = op.spatial_bins_y, op.spatial_bins_x
    y = places(corners[1], corners[3], down, data.dim(2)).unsqueeze(2, 4)
    x = places(corners[0], corners[2], across, data.dim(3)).unsqueeze(1, 3)
    # [regions, parts down, parts across, group, group]
    y, x = y + x * 0, x + y * 0
    last_y, last_x = ((data.dim(axis) - 1).to(dtype) for axis in (2, 3))
    counts = (y >= 0) & (y <= last_y) & (x >= 0) & (x <= last_x)
    planes = data.reshape(data.dim(0) * down * across, op.output_dim, data.dim(2), data.dim(3))
    part = sheet.arange(down).reshape(-1, 1, 1, 1) * across + sheet.arange(across).reshape(-1, 1, 1)
    numbers = images.reshape(-1, 1, 1, 1, 1) * (down * across) + part
    means = sample_images(planes, numbers, y, x, counts).sum([1, 2], keep=False) / float(down * across)
    return means.transpose(0, 3, 1, 2)


@export(DeformablePSROIPooling)
def deformable_psroi_pooling(node: ExportNode) -> str:
    """Means of samples in bins that are moved by offsets."""
    op = node.op
    data, rois, *offsets = input_tensors(node)
    wide, boxes = widen(data), widen(rois)
    images, exists = _images(boxes)
    sheet, dtype, group = data.sheet, boxes.dtype, op.group_size
    batch, height, width = data.dim(0), data.dim(2), data.dim(3)
    if offsets:
        moves = widen(offsets[0]).to(dtype) * op.trans_std
        classes = offsets[0].dim(1) // 2
        part = sheet.arange(group) * op.part_size // group
        moves = moves.gather(part, 2).gather(part, 3).reshape(rois.dim(0), classes, 2, group, group)
    else:
        classes = sheet.ints(1)
        moves = sheet.zeros(sheet.ints(rois.dim(0), 1, 2, group, group), dtype)
    corners = [_round_half_away(boxes.gather(column, 1)).to(dtype) for column in range(1, 5)]
    axes = []
    for axis, parts in ((1, op.spatial_bins_y), (0, op.spatial_bins_x)):
        first = corners[axis] * op.spatial_scale - 0.5
        extent = ((corners[axis + 2] + 1) * op.spatial_scale - 0.5 - first).at_least(0.1)
        first, extent = (tensor.reshape(-1, 1, 1, 1, 1, 1) for tensor in (first, extent))
        size = extent / float(group)
        grid = sheet.arange(group).to(dtype)
        grid = grid.reshape(-1, 1, 1, 1) if axis else grid.reshape(1, -1, 1, 1)
        begins = grid * size + first + moves.gather(axis, 2).unsqueeze(4, 5) * extent
        steps = sheet.arange(parts).to(dtype)
        steps = steps.reshape(-1, 1) if axis else steps.reshape(1, -1)
        axes.append(begins + steps * (size / float(parts)))
    # [regions, classes, group, group, points down, points across]
    y, x = axes
    y, x = y + x * 0, x + y * 0
    ends = [size.to(dtype) - 0.5 for size in (height, width)]
    counts = (y >= -0.5) & (y <= ends[0]) & (x >= -0.5) & (x <= ends[1])
    channels = (sheet.ints(op.output_dim)) // classes
    planes = wide.slice(1, 0, op.output_dim * group**2).reshape(batch, classes, channels, group**2, height, width)
    planes = planes.transpose(0, 1, 3, 2, 4, 5).reshape(batch * classes * group**2, channels, height, width)
    bins = (sheet.arange(group).reshape(-1, 1) * group + sheet.arange(group)).unsqueeze(2, 3)
    numbers = images.reshape(-1, 1, 1, 1, 1, 1) * classes + sheet.arange(classes).reshape(-1, 1, 1, 1, 1)
    sums = sample_images(planes, numbers * group**2 + bins, y, x, counts).sum([4, 5], keep=False)
    number = counts.to(dtype).sum([4, 5], keep=False).at_least(1).unsqueeze(4).to(wide.dtype)
    result = (sums / number).transpose(0, 1, 4, 2, 3).reshape(rois.dim(0), op.output_dim, group, group)
    return _without_ended(result, exists).to(data.dtype).name
