"""Resampling: a table for each axis lists the input elements of an output element, and their weights.

Axes are resampled one after another. Arbitrary points and lattices are sampled from four elements each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import prod
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from ir_exec.errors import EvaluationError
from ir_exec.kernels.gemm.product import matrix_product
from ir_exec.tuning import thresholds
from ir_exec.types import Array, ElementType, saturate

__all__ = [
    "Coordinates",
    "Filter",
    "Line",
    "Mode",
    "Nearest",
    "TapTable",
    "channels_last",
    "copy_channels",
    "count_taps",
    "interpolate",
    "read_between",
    "sample_lattice",
    "sample_points",
]

Coordinates: TypeAlias = Literal[
    "half_pixel", "pytorch_half_pixel", "asymmetric", "tf_half_pixel_for_nn", "align_corners"
]

Nearest: TypeAlias = Literal["round_prefer_floor", "round_prefer_ceil", "floor", "ceil", "simple"]


@dataclass(frozen=True)
class TapTable:
    """output[i] = sum over t of weights[i, t] * input[indices[i, t]], along one axis.

    Attributes:
        indices: i64 [size of the output, taps], all of them in range.
        weights: As many floats, or None for a single tap that is copied.
    """

    indices: Array
    weights: Array | None

    def matrix(self, size: int, dtype: np.dtype[Any]) -> Array:
        """The weights as a dense matrix, [size of the output, size of the input], for an input of this size."""
        dense = self._matrices.get(dtype)
        if dense is None:
            assert self.weights is not None
            dense = self._matrices[dtype] = np.zeros((len(self.indices), size), dtype)
            # A clipped tap may occur more than once.
            np.add.at(
                dense, (np.arange(len(dense))[:, np.newaxis], self.indices), self.weights.astype(dtype, copy=False)
            )
        return dense

    @cached_property
    def _matrices(self) -> dict[np.dtype[Any], Array]:
        return {}


def _source_coordinates(mode: Coordinates, size_in: int, size_out: int, scale: np.float32) -> Array:
    """The coordinate on the input axis of each element of the output axis, in f32 as in OpenVINO.

    An axis that keeps its size keeps its elements, in any mode.
    """
    places = np.arange(size_out, dtype=np.float32)
    half = np.float32(0.5)
    if scale == 1 or size_in == size_out:
        return places
    if mode == "asymmetric":
        return places / scale
    if mode == "tf_half_pixel_for_nn":
        return (places + half) / scale
    if mode == "align_corners":
        return places * np.float32(size_in - 1) / np.float32(max(size_out - 1, 1))
    if mode == "pytorch_half_pixel" and size_out == 1:
        return np.zeros(1, np.float32)
    return (places + half) / scale - half


def _nearest_table(coordinates: Array, size_in: int, rounding: Nearest, downsampled: bool) -> TapTable:
    """The element nearest to each coordinate."""
    # In f64 the halves are exact.
    exact = coordinates.astype(np.float64)
    if rounding == "round_prefer_floor":
        exact = np.ceil(exact - 0.5)
    elif rounding == "round_prefer_ceil":
        exact = np.floor(exact + 0.5)
    elif rounding == "floor":
        exact = np.floor(exact)
    elif rounding == "ceil" or downsampled:
        exact = np.ceil(exact)
    return TapTable(np.clip(exact, 0, size_in - 1).astype(np.int64)[:, np.newaxis], None)


def _linear_table(coordinates: Array, size_in: int, *, clamped: bool) -> TapTable:
    """The two neighbors of each coordinate, the nearer with the greater weight.

    Args:
        clamped: A coordinate outside of the axis counts as its end. Otherwise only neighbors on the axis count, and
            the result is 0 if there is none.
    """
    if clamped:
        coordinates = np.clip(coordinates, np.float32(0), np.float32(size_in - 1))
    first = np.floor(coordinates)
    return _triangle_table(coordinates, first[:, np.newaxis] + np.arange(2, dtype=np.float32), np.float32(1), size_in)


def _antialiased_table(coordinates: Array, size_in: int, scale: np.float32) -> TapTable:
    """A triangle that widens with a smaller scale, so no element of the input is omitted."""
    radius = 2 if scale > 1 else int(np.ceil(np.float32(2) / scale))
    # The distance of a tap outside of the axis is at most its size, for any scale.
    radius = min(radius, size_in)
    middle = np.trunc(coordinates + np.copysign(np.float32(0.5), coordinates))
    return _triangle_table(coordinates, middle[:, np.newaxis] + np.arange(-radius, radius + 1), scale, size_in)


def _triangle_table(coordinates: Array, taps: Array, slope: np.float32, size_in: int) -> TapTable:
    distance = np.abs(coordinates[:, np.newaxis] - taps) * slope
    weights = np.maximum(1 - distance, 0).astype(np.float32)
    weights[(taps < 0) | (taps >= size_in)] = 0
    return TapTable(np.clip(taps, 0, size_in - 1).astype(np.int64), _shares(weights))


def _cubic_table(coordinates: Array, size_in: int, cube_coeff: float) -> TapTable:
    """The four nearest elements of each coordinate, weighted by Keys' cubic with the parameter a; ends are repeated."""
    a = np.float32(cube_coeff)
    first = np.floor(coordinates)
    near = coordinates - first
    far = 1 - near
    weights = np.stack(
        [
            a * near * far * far,
            ((a + 2) * near - (a + 3)) * near * near + 1,
            ((a + 2) * far - (a + 3)) * far * far + 1,
            a * far * near * near,
        ],
        axis=1,
    )
    taps = first[:, np.newaxis] + np.arange(-1, 3)
    return TapTable(np.clip(taps, 0, size_in - 1).astype(np.int64), weights)


def _pillow_table(size_in: int, size_out: int, *, cubic: bool) -> TapTable:
    """The filter of the Pillow library: a triangle, or Keys' cubic with a = -0.5, stretched when shrinking."""
    scale = size_in / size_out
    stretch = max(scale, 1.0)
    support = (2 if cubic else 1) * stretch
    centers = (np.arange(size_out) + 0.5) * scale
    begin = np.maximum(np.trunc(centers - support + 0.5), 0)
    end = np.minimum(np.trunc(centers + support + 0.5), size_in)
    taps = begin[:, np.newaxis] + np.arange(int(np.max(end - begin, initial=0)))
    distance = np.abs(taps - centers[:, np.newaxis] + 0.5) / stretch
    weights = _pillow_cubic(distance) if cubic else np.maximum(1 - distance, 0)
    weights[taps >= end[:, np.newaxis]] = 0
    return TapTable(np.clip(taps, 0, size_in - 1).astype(np.int64), _shares(weights))


def _pillow_cubic(distance: Array) -> Array:
    inner = (1.5 * distance - 2.5) * distance * distance + 1
    outer = (((distance - 5) * distance + 8) * distance - 4) * -0.5
    return np.where(distance < 1, inner, np.where(distance < 2, outer, 0))


def _shares(weights: Array) -> Array:
    """Normalize the weights of each element to a sum of 1; zeros remain."""
    total = weights.sum(axis=1, keepdims=True)
    total[total == 0] = 1
    weights /= total
    return weights


def _resample(data: Array, axis: int, table: TapTable) -> Array:
    """The tensor with this axis resampled; all axes have elements.

    With weights, data is f32 or f64, and so is the result.
    """
    shape = (*data.shape[:axis], len(table.indices), *data.shape[axis + 1 :])
    before, size = prod(shape[:axis]), data.shape[axis]
    rows = data.reshape(before, size, -1)
    if table.weights is None:
        return _repeat_rows(rows, table.indices[:, 0]).reshape(shape)
    weights = table.weights.astype(rows.dtype, copy=False)
    taps = weights.shape[1]
    small = size <= 4 * thresholds.ELEMENTS_A_CALL * taps and size * len(table.indices) <= thresholds.WORKING_ELEMENTS
    # In a product 0 * inf would spread NaN over the whole axis; the sum shows if there is any such element.
    if small and np.isfinite(rows.sum()):
        return _product(rows, table.matrix(size, rows.dtype)).reshape(shape)
    return _interpolate_rows(rows, table.indices, weights).reshape(shape)


def _repeat_rows(rows: Array, indices: Array) -> Array:
    """rows[:, indices], where rows are (before, axis, after)."""
    before, size, after = rows.shape
    times, remainder = divmod(len(indices), size)
    output = np.empty((before, len(indices), after), rows.dtype)
    if after == 1 and times and not remainder and np.array_equal(indices, np.arange(len(indices)) // times):
        # Every element is repeated equally often: strided copies are faster than single look-ups.
        for offset in range(times):
            output[:, offset::times] = rows
        return output
    return np.take(rows, indices, axis=1, out=output, mode="clip")


def _product(rows: Array, matrix: Array) -> Array:
    before, size, after = rows.shape
    if after >= thresholds.FEW_LINES:
        return matrix_product(matrix, rows)
    # One product of many rows is faster than many products of few columns.
    flat = rows.swapaxes(1, 2).reshape(before * after, size)
    return matrix_product(flat, matrix.T).reshape(before, after, len(matrix)).swapaxes(1, 2)


def _interpolate_rows(rows: Array, indices: Array, weights: Array) -> Array:
    output = np.zeros((rows.shape[0], len(indices), rows.shape[2]), rows.dtype)
    elements = np.empty_like(output)
    for tap, factors in zip(indices.T, weights.T, strict=True):
        np.take(rows, tap, axis=1, out=elements, mode="clip")
        elements *= factors[:, np.newaxis]
        output += elements
    return output


Mode: TypeAlias = Literal["nearest", "linear", "linear_onnx", "cubic", "bilinear_pillow", "bicubic_pillow"]


@dataclass(frozen=True, slots=True)
class Filter:
    """The method of interpolation."""

    mode: Mode
    coordinates: Coordinates = "half_pixel"
    nearest: Nearest = "round_prefer_floor"
    antialias: bool = False
    cube_coeff: float = -0.75

    @property
    def of_pillow(self) -> bool:
        return self.mode in ("bilinear_pillow", "bicubic_pillow")

    def table(self, size_in: int, size_out: int, scale: np.float32, antialias: bool) -> TapTable:
        """The table for resampling an axis; tables of short axes are cached."""
        make = _kept_table if max(size_in, size_out) <= thresholds.LONG_ROW else Filter._new_table
        return make(self, size_in, size_out, scale, antialias)

    def _new_table(self, size_in: int, size_out: int, scale: np.float32, antialias: bool) -> TapTable:
        if self.of_pillow:
            return _pillow_table(size_in, size_out, cubic=self.mode == "bicubic_pillow")
        coordinates = _source_coordinates(self.coordinates, size_in, size_out, scale)
        if self.mode == "nearest":
            return _nearest_table(coordinates, size_in, self.nearest, bool(scale < 1))
        if self.mode == "cubic":
            return _cubic_table(coordinates, size_in, self.cube_coeff)
        if self.mode == "linear" and antialias:
            return _antialiased_table(coordinates, size_in, scale)
        return _linear_table(coordinates, size_in, clamped=self.mode == "linear_onnx")


_kept_table = lru_cache(maxsize=32)(Filter._new_table)
"""Maximum number of cached tables.

A table of 512 elements with four taps takes 24 KiB, and its matrix in f32 1 MiB more: up to 32 MiB in usual models,
three times as much if the same axes are also resampled in f64."""


def interpolate(
    data: Array, axes: Sequence[int], sizes: Sequence[int], scales: Sequence[np.float32], how: Filter
) -> Array:
    """The tensor with `axes` resampled to `sizes`; its scale need not be the ratio of an axis' sizes."""
    steps = [step for step in zip(axes, sizes, scales, strict=True) if data.shape[step[0]] != step[1]]
    shape = list(data.shape)
    for axis, size, _ in steps:
        shape[axis] = size
    if 0 in shape:
        return np.empty(shape, data.dtype)
    if not data.size:
        raise EvaluationError(f"data {list(data.shape)} is empty, it cannot be resampled to {shape}")
    if how.of_pillow:
        # Pillow resamples from the last axis to the first, and rounds integers in between.
        steps.reverse()
    else:
        # The axis that shrinks most comes first, of equal ones the last: this moves the least data.
        steps.sort(key=lambda step: (step[1] / max(data.shape[step[0]], 1), -step[0]))
    antialias = how.antialias and any(scale < 1 for scale in scales)
    element_type = ElementType.of(data)
    if how.mode == "nearest":
        for axis, size, scale in steps:
            data = _resample(data, axis, how.table(data.shape[axis], size, scale, antialias))
        return data
    for axis, size, scale in steps:
        table = how.table(data.shape[axis], size, scale, antialias)
        data = _resample(data.astype(_working_dtype(element_type, how), copy=False), axis, table)
        if element_type.is_integer and how.of_pillow:
            data = saturate(np.trunc(data + np.copysign(0.5, data)), element_type)
    if element_type.is_integer:
        return saturate(np.rint(data) if data.dtype.kind == "f" else data, element_type)
    return data.astype(element_type.dtype, copy=False)


def count_taps(
    shape: Sequence[int], axes: Sequence[int], sizes: Sequence[int], scales: Sequence[np.float32], how: Filter
) -> int:
    """The maximum number of elements of a tensor of this shape that a filter as wide as the scale combines to one.

    1 for filters that read only the neighbors of a position.
    """
    antialias = how.antialias and any(scale < 1 for scale in scales)
    if not (how.of_pillow or antialias):
        return 1
    counts = [1]
    for axis, size, scale in zip(axes, sizes, scales, strict=True):
        if shape[axis] and shape[axis] != size:
            weights = how.table(shape[axis], size, scale, antialias).weights
            counts += [] if weights is None else [int(np.count_nonzero(weights, axis=1).max(initial=1))]
    return prod(counts)


def _working_dtype(element_type: ElementType, how: Filter) -> np.dtype[np.floating]:
    """f32, or f64 if values or their halves need more digits."""
    wide = element_type.bits >= 32 and element_type is not ElementType.f32
    return np.dtype(np.float64 if wide or (element_type.is_integer and how.of_pillow) else np.float32)


class Line(NamedTuple):
    """Places on one axis between two elements: the weight of `low` is 1 - `share`, that of `high` is `share`."""

    low: Array
    high: Array
    share: Array


def read_between(positions: Array) -> Line:
    """Convert positions within an axis to pairs of elements and weights."""
    low = np.floor(positions)
    return Line(low.astype(np.int64), np.ceil(positions).astype(np.int64), positions - low)


def channels_last(images: Array) -> Array:
    """Images [N, C, H, W] as [N, H, W, C], with contiguous channels."""
    return np.ascontiguousarray(images.transpose(0, 2, 3, 1))


def copy_channels(planes: Array, target: Array) -> None:
    """target[...] = planes, of equal shape; the last axis, the channels, is not contiguous in planes."""
    if planes.shape[-1] > thresholds.FEW_CHANNELS:
        target[...] = planes
        return
    for channel in range(planes.shape[-1]):
        target[..., channel] = planes[..., channel]


def sample_lattice(image: Array, rows: Line, columns: Line) -> Array:
    """An image [H, W, C] sampled at the crossings of rows and columns: [rows, columns, C]."""
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
    """An image [H, W, C] sampled at points, given by their places on both axes: [points, C]."""
    share, across = rows.share[:, np.newaxis], columns.share[:, np.newaxis]
    points: Array = image[rows.low, columns.low] * ((1 - share) * (1 - across))
    points += image[rows.low, columns.high] * ((1 - share) * across)
    points += image[rows.high, columns.low] * (share * (1 - across))
    points += image[rows.high, columns.high] * (share * across)
    return points
