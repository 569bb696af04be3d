"""Lowerings of prior boxes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ir_exec.onnx.export.algebra import I64, Expr, concat, input_tensors
from ir_exec.onnx.export.registry import export
from ir_exec.ops.detection.priors import PriorBox1, PriorBox8, PriorBoxClustered

if TYPE_CHECKING:
    from ir_exec.onnx.export.node import ExportNode

_F32 = np.float32


def _constant_boxes(node: ExportNode) -> str | None:
    """The boxes as a constant, if all sizes are known."""
    sizes, image = node.known(0), node.known(1)
    if sizes is None or image is None:
        return None
    return input_tensors(node)[0].sheet.constant(node.op.evaluate(sizes, image)).name


def _grid(node: ExportNode) -> tuple[Expr, Expr, Expr, Expr]:
    """Height and width of the grid in i64, of the image in f32; vectors of one element."""
    grid, image = input_tensors(node)
    height, width = (grid.to(I64).slice(0, i, i + 1) for i in range(2))
    image_height, image_width = (image.to(I64).to(_F32).slice(0, i, i + 1) for i in range(2))
    return height, width, image_height, image_width


def _points(count: Expr, offset: float, step: Expr) -> Expr:
    return (count.sheet.arange(count).to(_F32) + _F32(offset)) * step


def _result(node: ExportNode, boxes: Expr, height: Expr, width: Expr) -> str:
    """The boxes truncated or padded to the size of the output, and the variances in the second row."""
    op, sheet = node.op, boxes.sheet
    count = height * width * op._count()
    flat = boxes.reshape(-1).slice(0, 0, count * 4)
    flat = flat.pad([0], [count * 4 - flat.dim(0)])
    variance = np.broadcast_to(np.array(op.variance or (0.1,), _F32), 4)
    variances = sheet.constant(variance.reshape(1, 4)).expand(count, 4).reshape(-1)
    return concat([flat.unsqueeze(0), variances.unsqueeze(0)], 0).name


@export(PriorBoxClustered)
def prior_box_clustered(node: ExportNode) -> str:
    """Boxes of given sizes at every point."""
    constant = _constant_boxes(node)
    if constant is not None:
        return constant
    op = node.op
    height, width, image_height, image_width = _grid(node)
    sheet = height.sheet
    step_x, step_y = (_F32(own or op.step) for own in (op.step_w, op.step_h))
    if step_x == 0 and step_y == 0:
        across, down = image_width / width.to(_F32), image_height / height.to(_F32)
    else:
        across, down = sheet.constant([step_x]), sheet.constant([step_y])
    x = _points(width, op.offset, across).reshape(1, -1, 1)
    y = _points(height, op.offset, down).reshape(-1, 1, 1)
    half_width, half_height = (sheet.constant(np.array(sizes, _F32) / 2) for sizes in (op.width, op.height))
    return _result(node, _frame_boxes(node, x, y, half_width, half_height, image_width, image_height), height, width)


def _frame_boxes(
    node: ExportNode,
    x: Expr,
    y: Expr,
    half_width: Expr,
    half_height: Expr,
    image_width: Expr,
    image_height: Expr,
    reciprocal: bool = False,
) -> Expr:
    """Boxes [height, width, n, 4] centered at points, as fractions of the image."""
    shape = (x + y + half_width).shape()
    parts = []
    for center, half, size in ((x, half_width, image_width), (y, half_height, image_height)):
        for edge in (center - half, center + half):
            fraction = edge * (1 / size) if reciprocal else edge / size
            parts.append(fraction.expand_to(shape).unsqueeze(3))
    boxes = concat([parts[i] for i in (0, 2, 1, 3)], 3)
    return boxes.clip(0, 1) if node.op.clip else boxes


@export(PriorBox1, PriorBox8)
def prior_box(node: ExportNode) -> str:
    """Boxes of several sizes and ratios at every point."""
    constant = _constant_boxes(node)
    if constant is not None:
        return constant
    op = node.op
    height, width, image_height, image_width = _grid(node)
    sheet = height.sheet
    step: Expr = sheet.constant([_F32(op.step)])
    # Sizes that are fractions of the image height are multiplied by it at run time.
    unit = image_height if not op.scale_all_sizes else sheet.constant([_F32(1)])
    if not op.scale_all_sizes:
        step = image_height / height.to(_F32) if op.step == -1 else step * image_height
    if op.step == 0:
        x = _points(width, 0.5, image_width / width.to(_F32))
        y = _points(height, 0.5, image_height / height.to(_F32))
    else:
        x, y = (_points(count, op.offset, step) for count in (width, height))
    lengths = np.array(op.min_size, _F32)
    rows = [np.concatenate([box, np.zeros((len(box), 1), _F32)], 1) for box in op._dense_boxes()]
    rows += [np.array([[0, 0, *half, 0, 1]], _F32) for half in op._half_sizes(lengths)]
    if not op.scale_all_sizes and op.max_size:
        node.refuse("max_size is given with relative sizes and an unknown image height")
    table = np.concatenate(rows)
    shift_x, shift_y, half_width, half_height, cut, scaled = (sheet.constant(column.copy()) for column in table.T)
    factor = (scaled > 0).where(unit, 1) if not op.scale_all_sizes else None
    if factor is not None:
        half_width, half_height = half_width * factor, half_height * factor
    boxes = _frame_boxes(
        node,
        x.reshape(1, -1, 1) + shift_x,
        y.reshape(-1, 1, 1) + shift_y,
        half_width,
        half_height,
        image_width,
        image_height,
        reciprocal=True,
    )
    if op.fixed_size:
        low = np.array([0, 0, -np.inf, -np.inf], _F32)
        high = np.array([np.inf, np.inf, 1, 1], _F32)
        clipped = boxes.at_least(sheet.constant(low)).at_most(sheet.constant(high))
        boxes = (cut.unsqueeze(1) > 0).where(clipped, boxes)
    return _result(node, boxes, height, width)
