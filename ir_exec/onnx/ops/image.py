"""Images resized, and sampled at computed positions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

import numpy as np

from ir_exec import build
from ir_exec.build import Value
from ir_exec.errors import ShapeError, UnsupportedError
from ir_exec.onnx.lowering.attributes import Floats, Ints, chosen
from ir_exec.onnx.lowering.registry import onnx_op
from ir_exec.onnx.lowering.values import as_i64, cast, concat, ints, known_rank, number, shape_of
from ir_exec.onnx.ops.resampling import Resampling, resample

__all__: list[str] = []

Sampling: TypeAlias = Literal["bilinear", "nearest", "bicubic"]

_BEYOND: Mapping[str, Literal["zeros", "border", "reflection"]] = {
    "zeros": "zeros",
    "border": "border",
    "reflection": "reflection",
}

_ALIGNED: Mapping[str, Literal["asymmetric", "half_pixel_for_nn"]] = {
    "half_pixel": "half_pixel_for_nn",
    "output_half_pixel": "asymmetric",
}


@onnx_op("Upsample", since=1, instead="Resize")
def upsample_1(data: Value, *, height_scale: float, mode: str, width_scale: float) -> Value:
    return upsample_7(data, mode=mode, scales=(1.0, 1.0, height_scale, width_scale))


@onnx_op("Upsample", since=7, instead="Resize")
def upsample_7(data: Value, *, mode: str, scales: Floats) -> Value:
    return upsample(data, build.constant(np.array(scales, np.float32)), mode=mode)


@onnx_op("Upsample", since=9, instead="Resize")
def upsample(data: Value, scales: Value, *, mode: str) -> Value:
    return resize_10(data, scales, mode="linear" if mode == "bilinear" else mode)


@onnx_op("Resize", since=10)
def resize_10(data: Value, scales: Value, *, mode: str) -> Value:
    """Version 10 does not define the rounding of coordinates: as in onnxruntime, down to enlarge and up to shrink."""
    way = Resampling(mode, coordinates="asymmetric", nearest="simple")
    return resample(data, way, scales=scales)


@onnx_op("Resize", since=(11, 18))
def resize(
    data: Value,
    roi: Value | None,
    scales: Value | None,
    sizes: Value | None,
    *,
    antialias: bool,
    axes: Ints,
    coordinate_transformation_mode: str,
    cubic_coeff_a: float,
    exclude_outside: bool,
    extrapolation_value: float,
    keep_aspect_ratio_policy: str,
    mode: str,
    nearest_mode: str,
) -> Value:
    way = Resampling(
        mode,
        coordinates=coordinate_transformation_mode,
        nearest=nearest_mode,
        antialias=antialias,
        cubic=cubic_coeff_a,
        exclude_outside=exclude_outside,
        extrapolation=extrapolation_value,
        policy=keep_aspect_ratio_policy,
    )
    empty = scales is not None and scales.shape.is_static and scales.shape.static == (0,)
    return resample(data, way, scales=None if empty else scales, sizes=sizes, roi=roi, axes=axes)


def _grid_sample(data: Value, grid: Value, align_corners: bool, mode: Sampling, padding_mode: str) -> Value:
    beyond = chosen("padding_mode", padding_mode, _BEYOND)
    if known_rank(data, "the input") == 5:
        return _volume_sample(data, grid, align_corners, mode, padding_mode)
    return build.grid_sample(data, grid, align_corners=align_corners, mode=mode, padding_mode=beyond)


@onnx_op("GridSample", since=16)
def grid_sample_16(data: Value, grid: Value, *, align_corners: bool, mode: str, padding_mode: str) -> Value:
    names: Mapping[str, Sampling] = {"bilinear": "bilinear", "nearest": "nearest", "bicubic": "bicubic"}
    return _grid_sample(data, grid, align_corners, chosen("mode", mode, names), padding_mode)


@onnx_op("GridSample", since=20)
def grid_sample(data: Value, grid: Value, *, align_corners: bool, mode: str, padding_mode: str) -> Value:
    """The modes have the names of one-dimensional interpolation."""
    names: Mapping[str, Sampling] = {"linear": "bilinear", "nearest": "nearest", "cubic": "bicubic"}
    return _grid_sample(data, grid, align_corners, chosen("mode", mode, names), padding_mode)


def _volume_sample(data: Value, grid: Value, align_corners: bool, mode: str, padding_mode: str) -> Value:
    """Sampling of volumes, which GridSample of IR does not support: a weighted sum of gathered neighbors."""
    if mode == "bicubic":
        raise ShapeError("mode is cubic", expected="an image of rank 4", reason=" as input")
    rank = 3
    sizes = [build.gather(shape_of(data), 2 + axis, 0) for axis in range(rank)]
    coordinates = []
    for axis in range(rank):
        at = build.gather(grid, rank - 1 - axis, -1)
        size = cast(sizes[axis], at.element_type)
        coordinates.append(_index_of_coordinate(at, size, align_corners, padding_mode, mode))
    moved = build.transpose(data, ints(0, 2, 3, 4, 1))
    if mode == "nearest":
        corners: list[tuple[int, ...]] = [(0, 0, 0)]
        lower = [build.round(coordinate, mode="half_to_even") for coordinate in coordinates]
    else:
        corners = [(i, j, k) for i in (0, 1) for j in (0, 1) for k in (0, 1)]
        lower = [build.floor(coordinate) for coordinate in coordinates]
    total: Value | None = None
    for corner in corners:
        weight: Value | None = None
        indices = []
        inside: Value | None = None
        for axis in range(rank):
            at = build.add(lower[axis], number(corner[axis], lower[axis]))
            last = build.subtract(cast(sizes[axis], at.element_type), number(1, at))
            clipped = build.maximum(build.minimum(at, last), number(0, at))
            indices.append(build.unsqueeze(as_i64(clipped), -1))
            holds = build.equal(clipped, at)
            inside = holds if inside is None else build.logical_and(inside, holds)
            if mode != "nearest":
                near = build.subtract(number(1, at), build.abs(build.subtract(coordinates[axis], at)))
                weight = near if weight is None else build.multiply(weight, near)
        neighbors = build.gather_nd(moved, concat(indices, -1), batch_dims=1)
        assert inside is not None
        factor = cast(inside, neighbors.element_type)
        if weight is not None:
            factor = build.multiply(factor, cast(weight, neighbors.element_type))
        part = build.multiply(neighbors, build.unsqueeze(factor, -1))
        total = part if total is None else build.add(total, part)
    assert total is not None
    return build.transpose(total, ints(0, 4, 1, 2, 3))


def _index_of_coordinate(at: Value, size: Value, align_corners: bool, padding_mode: str, mode: str) -> Value:
    """Convert from -1 .. 1 to indices along an axis of this size, clipped or reflected as the padding mode requires."""
    one, half = number(1, at), number(0.5, at)
    last = build.subtract(size, one)
    scaled = build.multiply(build.add(at, one), half)
    index = build.multiply(scaled, last) if align_corners else build.subtract(build.multiply(scaled, size), half)
    if padding_mode == "border":
        return build.maximum(build.minimum(index, last), number(0, at))
    if padding_mode == "reflection":
        low = number(0 if align_corners else -0.5, at)
        span = last if align_corners else size
        beyond = build.abs(build.subtract(index, low))
        period = build.multiply(span, number(2, at))
        left = build.floor_mod(beyond, period)
        turned = build.add(build.minimum(left, build.subtract(period, left)), low)
        return build.maximum(build.minimum(turned, last), number(0, at))
    return index


@onnx_op("RoiAlign", since=(10, 16))
def roi_align(
    data: Value,
    rois: Value,
    batch_indices: Value,
    *,
    coordinate_transformation_mode: str,
    mode: str,
    output_height: int,
    output_width: int,
    sampling_ratio: int,
    spatial_scale: float,
    since: int,
) -> Value:
    coordinates = coordinate_transformation_mode if since >= 16 else "output_half_pixel"
    aligned = chosen("coordinate_transformation_mode", coordinates, _ALIGNED)
    if mode != "avg":
        # ONNX selects the largest weighted neighbor, ROIAlign of IR the largest of the interpolated samples.
        raise UnsupportedError(f"mode is {mode!r}: IR takes the maximum over different values")
    return build.roi_align(
        data,
        rois,
        batch_indices,
        pooled_h=output_height,
        pooled_w=output_width,
        sampling_ratio=sampling_ratio,
        spatial_scale=spatial_scale,
        mode="avg",
        aligned_mode=aligned,
    )
