"""Lowerings of conversions between YUV and RGB."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ir_exec.onnx.export.algebra import Expr, concat, input_tensors
from ir_exec.onnx.export.registry import export
from ir_exec.ops.image.color import BGRtoNV12, I420toBGR, I420toRGB, NV12toBGR, NV12toRGB, RGBtoNV12

if TYPE_CHECKING:
    from ir_exec.onnx.export.node import ExportNode


def _working(image: Expr) -> Expr:
    return image.to(np.float64 if image.dtype == np.float64 else np.float32)


@export(NV12toRGB, NV12toBGR, slow_from=0)
def nv12(node: ExportNode) -> str:
    """Convert from the plane of Y and the plane of alternating U and V, or one plane with both."""
    y, *others = input_tensors(node)
    columns = y.dim(2)
    if others:
        colors = others[0]
    else:
        part = y.dim(1) // 3
        colors = y.slice(1, part * 2, part * 3).reshape(y.dim(0), part, columns // 2, 2)
        y = y.slice(1, 0, part * 2)
    return _rgb(node, y, colors.slice(3, 0, 1), colors.slice(3, 1, 2))


@export(I420toRGB, I420toBGR, slow_from=0)
def i420(node: ExportNode) -> str:
    """Convert from planes of Y, U and V, or one plane with all of them."""
    y, *others = input_tensors(node)
    if others:
        return _rgb(node, y, *others)
    part, columns, batch = y.dim(1) // 3, y.dim(2), y.dim(0)
    size = part * columns // 2
    flat = y.reshape(batch, size * 6)
    u, v = (flat.slice(1, size * begin, size * (begin + 1)).reshape(batch, part, columns // 2, 1) for begin in (4, 5))
    return _rgb(node, y.slice(1, 0, part * 2), u, v)


def _rgb(node: ExportNode, y: Expr, u: Expr, v: Expr) -> str:
    """Convert y [N, H, W, 1] and u, v [N, H/2, W/2, 1] to RGB."""
    batch, rows, columns = y.dim(0), u.dim(1), u.dim(2)
    d, e = (_working(plane).reshape(batch, rows, 1, columns, 1, 1) - 128 for plane in (u, v))
    luma = (_working(y).reshape(batch, rows, 2, columns, 2, 1) - 16) * 1.164
    channels = [luma + e * 1.596, luma + d * -0.391 + e * -0.813, luma + d * 2.018]
    if node.op.blue_first:
        channels.reverse()
    image = concat(channels, 5).clip(0, 255)
    if y.dtype == np.uint8:
        image = image.rint()
    return image.reshape(batch, y.dim(1), y.dim(2), 3).to(y.dtype).name


@export(RGBtoNV12, BGRtoNV12)
def to_nv12(node: ExportNode) -> str | tuple[str, ...]:
    """The plane of Y, and the means of U and V in blocks of four pixels."""
    (image,) = input_tensors(node)
    wide, is_bytes = _working(image), image.dtype == np.uint8
    places = (2, 1, 0) if node.op.blue_first else (0, 1, 2)
    red, green, blue = (wide.slice(3, channel, channel + 1) for channel in places)

    def clip_range(values: Expr) -> Expr:
        limited = values.clip(0, 255)
        return (limited + 0.5).floor() if is_bytes else limited.to(image.dtype).to(wide.dtype)

    y = clip_range(red * 0.257 + green * 0.504 + blue * 0.098 + 16)
    colors = concat(
        [red * -0.148 - green * 0.291 + blue * 0.439 + 128, red * 0.439 - green * 0.368 - blue * 0.071 + 128], 3
    )
    batch, rows, columns = image.dim(0), image.dim(1) // 2, image.dim(2) // 2
    blocks = clip_range(colors).reshape(batch, rows, 2, columns, 2, 2)
    uv = clip_range(blocks.sum([2, 4], keep=False) / 4).to(image.dtype)
    if not node.op.single_plane:
        return y.to(image.dtype).name, uv.name
    return concat([y.to(image.dtype), uv.reshape(batch, rows, image.dim(2), 1)], 1).name
