"""The coordinates of the elements of a resized axis on the original axis, in exact arithmetic.

Every coordinate mode of Resize is a slope times the index, plus an offset. Nearest modes depend on exact ties, which
float arithmetic misses: 4.5 / f32(0.3) is less than 15.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor
from typing import NamedTuple

import numpy as np

from ir_exec import build
from ir_exec.build import Value
from ir_exec.onnx.lowering.values import as_i64
from ir_exec.types import Array

__all__ = ["KnownAxis", "exact_nearest", "exact_places", "nearest_of_sizes"]

_HALF = Fraction(1, 2)


class KnownAxis(NamedTuple):
    """An axis whose sizes and scale are known at conversion.

    Attributes:
        size: The size before resizing.
        length: The size after resizing.
        scale: The factor; length / size if sizes are given.
        region: The resampled range, used only by tf_crop_and_resize.
    """

    size: int
    length: int
    scale: Fraction
    region: tuple[Fraction, Fraction] = (Fraction(0), Fraction(1))


def _line(coordinates: str, axis: KnownAxis) -> tuple[Fraction, Fraction]:
    """The slope and the offset."""
    size, count, scale, (start, end) = axis
    is_one = count <= 1
    slope = 1 / scale if scale else Fraction(0)
    centered = slope, slope / 2 - _HALF
    match coordinates:
        case "asymmetric":
            return slope, Fraction(0)
        case "align_corners":
            return Fraction(0) if is_one else Fraction(size - 1, count - 1), Fraction(0)
        case "tf_half_pixel_for_nn":
            return slope, slope / 2
        case "pytorch_half_pixel":
            return (Fraction(0), Fraction(0)) if is_one else centered
        case "half_pixel_symmetric":
            # If scale * size is not an integer, the output is cropped equally at both ends.
            scaled_size = scale * size
            cut = Fraction(size, 2) * (1 - count / scaled_size) if scaled_size else Fraction(0)
            return slope, centered[1] + cut
        case "tf_crop_and_resize":
            if is_one:
                return Fraction(0), (start + end) / 2 * (size - 1)
            return (end - start) * (size - 1) / (count - 1), start * (size - 1)
        case _:
            return centered


def exact_places(coordinates: str, axis: KnownAxis) -> Array:
    """f32[count]: the coordinates, each rounded once."""
    slope, offset = _line(coordinates, axis)
    return np.array([float(slope * index + offset) for index in range(axis.length)], np.float32)


def exact_nearest(coordinates: str, nearest: str, axis: KnownAxis) -> Array:
    """i64[count]: the element nearest to each coordinate, clipped to the axis."""
    slope, offset = _line(coordinates, axis)
    last = max(axis.size - 1, 0)
    places = (slope * index + offset for index in range(axis.length))
    return np.array(
        [min(max(_round_coordinate(nearest, coordinate, axis.scale), 0), last) for coordinate in places], np.int64
    )


def _round_coordinate(nearest: str, coordinate: Fraction, scale: Fraction) -> int:
    match nearest:
        case "round_prefer_floor":
            return ceil(coordinate - _HALF)
        case "round_prefer_ceil":
            return floor(coordinate + _HALF)
        case "floor":
            return floor(coordinate)
        case "ceil":
            return ceil(coordinate)
        case _:
            return ceil(coordinate) if scale < 1 else floor(coordinate)


def nearest_of_sizes(coordinates: str, nearest: str, size: Value, count: Value) -> Value | None:
    """The nearest elements in integer operators of IR, for sizes known only at run time; None for regions."""
    if coordinates == "tf_crop_and_resize":
        return None
    index = build.range(0, count, 1, output_type="i64")
    one, two = _i64(1), _i64(2)
    size, count = as_i64(size), as_i64(count)
    odd = build.add(build.multiply(index, two), one)
    # The coordinate is above / below.
    below = build.multiply(count, two)
    match coordinates:
        case "asymmetric":
            above = build.multiply(build.multiply(index, two), size)
        case "tf_half_pixel_for_nn":
            above = build.multiply(odd, size)
        case "align_corners":
            below = build.multiply(build.maximum(build.subtract(count, one), one), two)
            above = build.multiply(build.multiply(index, two), build.subtract(size, one))
        case _:
            above = build.subtract(build.multiply(odd, size), count)
    if coordinates == "pytorch_half_pixel":
        above = build.select(build.greater(count, one), above, _i64(0))
    half = build.divide(below, two)
    match nearest:
        case "round_prefer_floor":
            shift = build.subtract(half, one)
        case "round_prefer_ceil":
            shift = half
        case "floor":
            shift = _i64(0)
        case "ceil":
            shift = build.subtract(below, one)
        case _:
            shift = build.select(build.less(count, size), build.subtract(below, one), _i64(0))
    # Negative coordinates are before the first element in any case.
    shifted = build.maximum(build.add(above, shift), _i64(0))
    last = build.maximum(build.subtract(size, one), _i64(0))
    return build.minimum(build.divide(shifted, build.maximum(below, one)), last)


def _i64(value: int) -> Value:
    return build.constant(np.int64(value))
