"""Resize lowered to Interpolate, or else by axis to a Gather of the nearest elements, or a product with weights."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import floor
from typing import Literal, NamedTuple

import numpy as np

from ir_exec import build
from ir_exec.build import Value
from ir_exec.codes import Code
from ir_exec.errors import InvalidAttributeError, ShapeError
from ir_exec.onnx.lowering.attributes import Ints
from ir_exec.onnx.lowering.values import (
    as_i64,
    as_vector,
    cast,
    ints,
    known_rank,
    normal_axis,
    number,
    shape_of,
    size_along,
)
from ir_exec.onnx.ops.coordinates import KnownAxis, exact_nearest, exact_places, nearest_of_sizes
from ir_exec.types import ElementType

__all__ = ["Resampling", "resample"]

_NATIVE: Mapping[str, Literal["half_pixel", "asymmetric", "align_corners", "tf_half_pixel_for_nn"]] = {
    "half_pixel": "half_pixel",
    "asymmetric": "asymmetric",
    "align_corners": "align_corners",
    "tf_half_pixel_for_nn": "tf_half_pixel_for_nn",
}
"""The coordinate modes that Interpolate supports too."""

_COORDINATES = {*_NATIVE, "pytorch_half_pixel", "tf_crop_and_resize", "half_pixel_symmetric"}
_NEAREST: Mapping[str, Literal["round_prefer_floor", "round_prefer_ceil", "floor", "ceil", "simple"]] = {
    "round_prefer_floor": "round_prefer_floor",
    "round_prefer_ceil": "round_prefer_ceil",
    "floor": "floor",
    "ceil": "ceil",
    "simple": "simple",
}
_MODES: Mapping[str, Literal["nearest", "linear_onnx", "cubic"]] = {
    "nearest": "nearest",
    "linear": "linear_onnx",
    "cubic": "cubic",
}


_MOST_PLACES = 2**15
"""Maximum elements of a resized axis whose positions are computed at conversion."""


class Resampling(NamedTuple):
    """The attributes of Resize."""

    mode: str
    coordinates: str
    nearest: str = "round_prefer_floor"
    antialias: bool = False
    cubic: float = -0.75
    exclude_outside: bool = False
    extrapolation: float = 0.0
    policy: str = "stretch"

    def check(self) -> None:
        """Raise InvalidAttributeError for an unknown name."""
        for name, value, allowed in (
            ("mode", self.mode, set(_MODES)),
            ("coordinate_transformation_mode", self.coordinates, _COORDINATES),
            ("nearest_mode", self.nearest, set(_NEAREST)),
            ("keep_aspect_ratio_policy", self.policy, {"stretch", "not_larger", "not_smaller"}),
        ):
            if value not in allowed:
                raise InvalidAttributeError(
                    f"{name} is", actual=repr(value), expected=f"one of {', '.join(sorted(allowed))}"
                )

    @property
    def is_native(self) -> bool:
        """Return True if Interpolate is equivalent."""
        return not self.antialias and not self.exclude_outside and self.coordinates in _NATIVE


class _Target(NamedTuple):
    """The target of a resize.

    Attributes:
        axes: The given axes.
        lengths: Their new sizes, or None if scales are given.
        scales: Their factors, or None if sizes are given individually; one number for all if the aspect ratio is kept.
        known_axes: Each axis, with the facts known at conversion.
    """

    axes: Ints
    lengths: Value | None
    scales: Value | None
    known_axes: list[KnownAxis | None]


def resample(
    data: Value,
    way: Resampling,
    *,
    scales: Value | None = None,
    sizes: Value | None = None,
    roi: Value | None = None,
    axes: Ints = (),
) -> Value:
    """The data resized to `sizes`, or by `scales`, along `axes` (all by default)."""
    way.check()
    rank = known_rank(data, "the input")
    scales, sizes, roi = (None if value is None else as_vector(value) for value in (scales, sizes, roi))
    extents = scales if scales is not None else sizes
    if extents is None or (scales is not None and sizes is not None):
        raise InvalidAttributeError("scales and sizes are both given or both missing", expected="one of them")
    if way.coordinates == "tf_crop_and_resize" and roi is None:
        raise InvalidAttributeError("the input roi is missing: tf_crop_and_resize requires it")
    every = tuple(normal_axis(axis, rank) for axis in axes) if axes else tuple(range(rank))
    counts = extents.shape.dims
    if counts is not None and (len(counts) != 1 or len(every) not in counts[0]):
        raise ShapeError(
            f"{'scales' if sizes is None else 'sizes'} is",
            actual=extents.type,
            expected=f"one for each of {len(every)} axes",
            code=Code.dims_differ,
        )
    target = _target(data, way, every, scales, sizes, roi)
    left = _changing_axes(data, target, way)
    native = [position for position in left if _is_native(data, way, target, position)]
    mixes = len(native) < len(left) and data.element_type.is_integer and way.mode != "nearest"
    if native and not mixes and not (way.mode == "linear" and len(native) > 3):
        data = _interpolate_axes(data, way, extents, every, tuple(native), by_scale=scales is not None)
        left = [position for position in left if position not in native]
    numbers = cast(data, ElementType.f32) if way.mode != "nearest" and left else data
    for position in left:
        numbers = _along_axis(numbers, way, target, position, roi)
    return cast(numbers, data.element_type)


def _target(
    data: Value, way: Resampling, axes: Ints, scales: Value | None, sizes: Value | None, roi: Value | None
) -> _Target:
    lengths = sizes
    if sizes is not None and way.policy != "stretch":
        input_sizes = build.gather(shape_of(data), ints(*axes), 0)
        ratios = build.divide(cast(sizes, ElementType.f32), cast(input_sizes, ElementType.f32))
        reduce = build.reduce_min if way.policy == "not_larger" else build.reduce_max
        scales = reduce(ratios, 0, keep_dims=False)
        grown = build.add(build.multiply(cast(input_sizes, ElementType.f32), scales), _f32(0.5))
        lengths = as_i64(build.floor(grown))
    return _Target(axes, lengths, scales, _known_axes(data, way, axes, scales, sizes, roi))


def _known_axes(
    data: Value, way: Resampling, axes: Ints, scales: Value | None, sizes: Value | None, roi: Value | None
) -> list[KnownAxis | None]:
    unknown: list[KnownAxis | None] = [None] * len(axes)
    dims = [size_along(data, axis) for axis in axes]
    regions = [(Fraction(0), Fraction(1))] * len(axes)
    if way.coordinates == "tf_crop_and_resize":
        bounds = None if roi is None or roi.constant is None else roi.constant.astype(np.float64).ravel()
        if bounds is None or len(bounds) != 2 * len(axes) or not np.isfinite(bounds).all():
            return unknown
        regions = [(Fraction(start), Fraction(end)) for start, end in zip(bounds, bounds[len(axes) :], strict=False)]
    known_axes = unknown
    if sizes is not None and sizes.constant is not None:
        lengths = [int(length) for length in sizes.constant.ravel()]
        ratio = None
        if way.policy != "stretch":
            if not all(dim.is_static and dim.size > 0 for dim in dims):
                return unknown
            ratios = [Fraction(length, dim.size) for length, dim in zip(lengths, dims, strict=True)]
            ratio = min(ratios) if way.policy == "not_larger" else max(ratios)
            lengths = [floor(ratio * dim.size + Fraction(1, 2)) for dim in dims]
        for position, (dim, count) in enumerate(zip(dims, lengths, strict=True)):
            if dim.is_static and dim.size > 0 and 0 <= count <= _MOST_PLACES:
                scale = Fraction(count, dim.size) if ratio is None else ratio
                known_axes[position] = KnownAxis(dim.size, count, scale, regions[position])
    elif sizes is None and scales is not None and scales.constant is not None:
        for position, (dim, factor) in enumerate(zip(dims, scales.constant.ravel().tolist(), strict=True)):
            if dim.is_static and dim.size > 0 and 0 < factor * dim.size <= _MOST_PLACES:
                count = int(np.float32(dim.size) * np.float32(factor))
                known_axes[position] = KnownAxis(dim.size, count, Fraction(factor), regions[position])
    return known_axes


def _changing_axes(data: Value, target: _Target, way: Resampling) -> list[int]:
    """The positions of axes that may change; an axis of scale 1 is unchanged, unless a region of it is resampled."""
    every = list(range(len(target.axes)))
    if way.coordinates == "tf_crop_and_resize":
        return every
    if target.lengths is None:
        constant = None if target.scales is None else target.scales.constant
        return every if constant is None else [position for position in every if constant.ravel()[position] != 1]
    if target.scales is not None:
        # The common ratio of all axes differs from the ratio of their sizes, which are rounded.
        return every
    constant = target.lengths.constant
    if constant is None:
        return every
    dims = [size_along(data, axis) for axis in target.axes]
    return [at for at in every if not (dims[at].is_static and dims[at].size == constant.ravel()[at])]


def _is_native(data: Value, way: Resampling, target: _Target, position: int) -> bool:
    """Return True if Interpolate is equivalent along an axis.

    With scales it copies an axis that keeps its size. With sizes it selects the nearest elements by scales in f32.
    """
    if not way.is_native or (target.lengths is not None and target.scales is not None):
        return False
    axis = target.known_axes[position]
    if target.lengths is None:
        scales = None if target.scales is None else target.scales.constant
        if scales is None:
            return True
        if axis is None:
            # For two elements or more, a scale of at least 1.5 adds elements.
            return not 1 < scales.ravel()[position] < 1.5
        return axis.size != axis.length or axis.size == 1
    if way.mode != "nearest" or way.coordinates == "align_corners":
        return True
    if axis is None:
        return False
    probe = build.constant(np.arange(axis.size, dtype=np.int32))
    length = ints(axis.length)
    native = _interpolate(probe, way, length, ints(0), by_scale=False)
    selected = native.layer.op.evaluate(probe.constant, length.constant, np.zeros(1, np.int64))
    return np.array_equal(selected, exact_nearest(way.coordinates, way.nearest, axis))


def _along_axis(data: Value, way: Resampling, target: _Target, position: int, roi: Value | None) -> Value:
    """Resample along one axis, for modes that Interpolate does not support."""
    axis, known_axis = target.axes[position], target.known_axes[position]
    size = build.gather(shape_of(data), axis, 0)
    # The ties of scales are computed in f32, as in onnxruntime; sizes have exact ties.
    if known_axis is not None and (way.mode != "nearest" or target.lengths is not None):
        at: Value = build.constant(exact_places(way.coordinates, known_axis))
        nearest = None
        if way.mode == "nearest":
            nearest = build.constant(exact_nearest(way.coordinates, way.nearest, known_axis))
        return _along(data, way, axis, size, at, _f32(float(known_axis.scale)), nearest)
    float_size = cast(size, ElementType.f32)
    if target.lengths is None:
        assert target.scales is not None
        scale = cast(build.gather(target.scales, position, 0), ElementType.f32)
        count = as_i64(build.floor(build.multiply(float_size, scale)))
    else:
        count = as_i64(build.gather(target.lengths, position, 0))
        scale = build.divide(cast(count, ElementType.f32), float_size) if target.scales is None else target.scales
    bounds = None
    if way.coordinates == "tf_crop_and_resize":
        assert roi is not None
        region = cast(roi, ElementType.f32)
        bounds = build.gather(region, position, 0), build.gather(region, position + len(target.axes), 0)
    at = _coordinates(way, size, count, scale, bounds)
    of_sizes = way.mode == "nearest" and target.lengths is not None and target.scales is None
    exact = nearest_of_sizes(way.coordinates, way.nearest, size, count) if of_sizes else None
    return _along(data, way, axis, size, at, scale, exact)


def _interpolate_axes(
    data: Value, way: Resampling, target: Value, axes: Ints, moved: tuple[int, ...], *, by_scale: bool
) -> Value:
    chosen = build.gather(target, ints(*moved), 0) if len(moved) < len(axes) else target
    wide = data
    if data.element_type in (ElementType.i16, ElementType.u16, ElementType.u32, ElementType.u64):
        wide = cast(data, ElementType.f32)
    named = ints(*[axes[position] for position in moved])
    return cast(_interpolate(wide, way, chosen, named, by_scale=by_scale), data.element_type)


def _interpolate(data: Value, way: Resampling, target: Value, axes: Value, *, by_scale: bool) -> Value:
    return build.interpolate(
        data,
        cast(target, ElementType.f32) if by_scale else as_i64(target),
        axes,
        mode=_MODES[way.mode],
        shape_calculation_mode="scales" if by_scale else "sizes",
        coordinate_transformation_mode=_NATIVE[way.coordinates],
        nearest_mode=_NEAREST[way.nearest],
        cube_coeff=way.cubic,
    )


def _f32(value: float) -> Value:
    return build.constant(np.float32(value))


def _coordinates(way: Resampling, size: Value, count: Value, scale: Value, bounds: tuple[Value, Value] | None) -> Value:
    """The coordinate in the input of each element of the output, in f32."""
    out = cast(build.range(0, count, 1, output_type="i64"), ElementType.f32)
    input_size, output_size = cast(size, ElementType.f32), cast(count, ElementType.f32)
    last = build.subtract(input_size, _f32(1))
    several = build.greater(output_size, _f32(1))
    steps = build.select(several, build.subtract(output_size, _f32(1)), _f32(1))
    centered = build.subtract(build.divide(build.add(out, _f32(0.5)), scale), _f32(0.5))
    match way.coordinates:
        case "asymmetric":
            return build.divide(out, scale)
        case "align_corners":
            return build.multiply(out, build.divide(last, steps))
        case "tf_half_pixel_for_nn":
            return build.divide(build.add(out, _f32(0.5)), scale)
        case "pytorch_half_pixel":
            return build.select(several, centered, _f32(0))
        case "half_pixel_symmetric":
            # If scale * size is not an integer, the output is cropped equally at both ends.
            adjustment = build.divide(output_size, build.multiply(scale, input_size))
            middle = build.divide(input_size, _f32(2))
            return build.add(build.multiply(middle, build.subtract(_f32(1), adjustment)), centered)
        case "tf_crop_and_resize":
            assert bounds is not None
            start, end = bounds
            span = build.multiply(build.subtract(end, start), last)
            spaced = build.add(build.multiply(start, last), build.multiply(out, build.divide(span, steps)))
            alone = build.multiply(build.multiply(build.add(start, end), _f32(0.5)), last)
            return build.select(several, spaced, alone)
        case _:
            return centered


def _along(
    data: Value, way: Resampling, axis: int, size: Value, at: Value, scale: Value, nearest: Value | None
) -> Value:
    """Resample along one axis.

    Args:
        at: The coordinate of each output element.
        nearest: The nearest element, if exact.
    """
    last = build.subtract(cast(size, ElementType.f32), _f32(1))
    if way.mode == "nearest":
        if nearest is None:
            nearest = as_i64(build.minimum(build.maximum(_round_coordinates(way.nearest, at, scale), _f32(0)), last))
        result = build.gather(data, nearest, axis)
    else:
        weights = _weights(way, size, at, scale)
        rank = known_rank(data, "the input")
        order = [*[dim for dim in range(rank) if dim != axis], axis]
        back = list(np.argsort(order))
        turned = build.matmul(build.transpose(data, ints(*order)), weights, transpose_b=True)
        result = build.transpose(turned, ints(*[int(dim) for dim in back]))
    if way.coordinates != "tf_crop_and_resize":
        return result
    inside = build.logical_and(build.greater_equal(at, _f32(0)), build.less_equal(at, last))
    behind = known_rank(data, "the input") - 1 - axis
    shaped = build.unsqueeze(inside, ints(*range(1, 1 + behind))) if behind else inside
    return build.select(shaped, result, number(way.extrapolation, result))


def _round_coordinates(nearest: str, at: Value, scale: Value) -> Value:
    match nearest:
        case "floor":
            return build.floor(at)
        case "ceil":
            return build.ceiling(at)
        case "round_prefer_floor":
            return build.ceiling(build.subtract(at, _f32(0.5)))
        case "simple":
            return build.select(build.less(scale, _f32(1)), build.ceiling(at), build.floor(at))
        case _:
            return build.floor(build.add(at, _f32(0.5)))


_REACH = {"linear": 1, "cubic": 2}


def _weights(way: Resampling, size: Value, at: Value, scale: Value) -> Value:
    """[count, size]: the weight of each element of the input in each element of the output.

    Elements beyond the ends are copies of the ends, or have weight 0 with `exclude_outside`. Antialiasing widens the
    filter if the output is smaller.
    """
    float_size = cast(size, ElementType.f32)
    shrunk = build.minimum(scale, _f32(1)) if way.antialias else _f32(1)
    reach = build.add(build.ceiling(build.divide(_f32(_REACH[way.mode]), shrunk)), _f32(1))
    beyond = build.range(
        as_i64(build.negative(reach)),
        as_i64(build.add(float_size, reach)),
        build.constant(np.int64(1)),
        output_type="i64",
    )
    places = cast(beyond, ElementType.f32)
    distance = build.abs(build.multiply(build.subtract(build.unsqueeze(at, 1), places), shrunk))
    part = _linear(distance) if way.mode == "linear" else _cubic(distance, way.cubic)
    last = build.subtract(float_size, _f32(1))
    clamped = build.maximum(build.minimum(places, last), _f32(0))
    if way.exclude_outside:
        part = build.multiply(part, cast(build.equal(places, clamped), ElementType.f32))
    inside = cast(build.range(0, size, 1, output_type="i64"), ElementType.f32)
    folded = cast(build.equal(build.unsqueeze(clamped, 1), inside), ElementType.f32)
    if way.antialias or way.exclude_outside:
        part = build.divide(part, build.reduce_sum(part, ints(1), keep_dims=True))
    return build.matmul(part, folded)


def _linear(distance: Value) -> Value:
    return build.relu(build.subtract(_f32(1), distance))


def _cubic(distance: Value, a: float) -> Value:
    """Keys' cubic filter, up to a distance of 2."""
    square = build.multiply(distance, distance)
    cube = build.multiply(square, distance)
    near = build.add(build.subtract(build.multiply(cube, _f32(a + 2)), build.multiply(square, _f32(a + 3))), _f32(1))
    far = build.subtract(
        build.add(
            build.subtract(build.multiply(cube, _f32(a)), build.multiply(square, _f32(5 * a))),
            build.multiply(distance, _f32(8 * a)),
        ),
        _f32(4 * a),
    )
    outer = build.select(build.less(distance, _f32(2)), far, _f32(0))
    return build.select(build.less_equal(distance, _f32(1)), near, outer)
