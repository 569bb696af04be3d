"""Bilinear samples of images, at points or on lattices."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ir_exec.kernels import costs
from ir_exec.types import Array

__all__ = [
    "Line",
    "channels_last",
    "copy_channels",
    "read_between",
    "sample_lattice",
    "sample_points",
]


class Line(NamedTuple):
    """Places on one axis between two elements: the weight of `low` is 1 - `share`, that of `high` is `share`."""

    low: Array
    high: Array
    share: Array


def read_between(positions: Array) -> Line:
    """Positions that lie on an axis as the elements around them."""
    low = np.floor(positions)
    return Line(low.astype(np.int64), np.ceil(positions).astype(np.int64), positions - low)


def channels_last(images: Array) -> Array:
    """Images [N, C, H, W] as [N, H, W, C], where the channels of a place are contiguous."""
    return np.ascontiguousarray(images.transpose(0, 2, 3, 1))


def copy_channels(planes: Array, target: Array) -> None:
    """target[...] = planes, of the same shape, whose last axis counts the channels and is not contiguous in planes."""
    if planes.shape[-1] > costs.FEW_CHANNELS:
        target[...] = planes
        return
    for channel in range(planes.shape[-1]):
        target[..., channel] = planes[..., channel]


def sample_lattice(image: Array, rows: Line, columns: Line) -> Array:
    """An image [H, W, C] read where rows and columns cross: [rows, columns, C]."""
    if not (rows.low.size and columns.low.size):
        return np.zeros((rows.low.size, columns.low.size, image.shape[2]), image.dtype)
    first = int(columns.low.min())
    part = image[:, first : int(columns.high.max()) + 1]
    share = rows.share[:, np.newaxis, np.newaxis]
    lines = part[rows.low] * (1 - share)
    lines += part[rows.high] * share
    share = columns.share[:, np.newaxis]
    crossings: Array = lines[:, columns.low - first] * (1 - share)
    crossings += lines[:, columns.high - first] * share
    return crossings


def sample_points(image: Array, rows: Line, columns: Line) -> Array:
    """An image [H, W, C] read at points, given by their places on both axes: [points, C]."""
    share, across = rows.share[:, np.newaxis], columns.share[:, np.newaxis]
    points: Array = image[rows.low, columns.low] * ((1 - share) * (1 - across))
    points += image[rows.low, columns.high] * ((1 - share) * across)
    points += image[rows.high, columns.low] * (share * (1 - across))
    points += image[rows.high, columns.high] * (share * across)
    return points
