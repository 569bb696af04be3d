"""Resize said in Interpolate, or for what that does not have, axis by axis: a Gather of the nearest elements, or a
product with the weights of all elements, computed from their distances."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

import numpy as np

from ir_exec import build
from ir_exec.build import Value
from ir_exec.codes import Code
from ir_exec.errors import InvalidAttributeError, ShapeError
from ir_exec.onnx.attributes import Ints
from ir_exec.onnx.values import (
    as_i64,
    cast,
    ints,
    known_rank,
    normal_axis,
    number,
    shape_of,
    size_along,
)
from ir_exec.types import ElementType

__all__ = ["Resampling", "resampled"]

_NATIVE: Mapping[str, Literal["half_pixel", "asymmetric", "align_corners", "tf_half_pixel_for_nn"]] = {
    "half_pixel": "half_pixel",
    "asymmetric": "asymmetric",
    "align_corners": "align_corners",
    "tf_half_pixel_for_nn": "tf_half_pixel_for_nn",
}
"""The coordinates that Interpolate has too."""

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
        """Raises InvalidAttributeError for a name that no version has."""
        for name, value, allowed in (
            ("mode", self.mode, set(_MODES)),
            ("coordinate_transformation_mode", self.coordinates, _COORDINATES),
            ("nearest_mode", self.nearest, set(_NEAREST)),
            ("keep_aspect_ratio_policy", self.policy, {"stretch", "not_larger", "not_smaller"}),
        ):
            if value not in allowed:
                raise InvalidAttributeError(f"{name} is {value!r}, expected one of {', '.join(sorted(allowed))}")

    @property
    def is_native(self) -> bool:
        """Whether Interpolate does the same."""
        return not self.antialias and not self.exclude_outside and self.coordinates in _NATIVE


def resampled(
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
    if (scales is None) == (sizes is None):
        raise InvalidAttributeError("expected either scales or sizes")
    every = tuple(normal_axis(axis, rank) for axis in axes) if axes else tuple(range(rank))
    target = scales if scales is not None else sizes
    assert target is not None
    counts = target.shape.dims
    if counts is not None and (len(counts) != 1 or len(every) not in counts[0]):
        message = (
            f"{'scales' if sizes is None else 'sizes'} is {target.type}, expected one for each of {len(every)} axes"
        )
        raise ShapeError(message, code=Code.dims_differ)
    whole = build.gather(shape_of(data), ints(*every), 0)
    if sizes is not None and way.policy != "stretch":
        ratios = build.divide(cast(sizes, ElementType.f32), cast(whole, ElementType.f32))
        reduce = build.reduce_min if way.policy == "not_larger" else build.reduce_max
        ratio = reduce(ratios, 0, keep_dims=False)
        target = as_i64(build.floor(build.add(build.multiply(cast(whole, ElementType.f32), ratio), _f32(0.5))))
        sizes = target
    else:
        ratio = None
    # One ratio for all axes is not that of their sizes, which are rounded.
    moved = _moved(data, every, scales, sizes, way) if ratio is None else tuple(range(len(every)))
    fits = way.coordinates != "align_corners" or scales is None or _whole_sizes(data, every, scales)
    if way.is_native and fits and ratio is None and not (way.mode == "linear" and len(moved) > 3):
        return _interpolated(data, way, target, every, moved, by_scale=scales is not None)
    numbers = cast(data, ElementType.f32) if way.mode != "nearest" else data
    for position, axis in enumerate(every):
        if position not in moved:
            continue
        size = build.gather(shape_of(data), axis, 0)
        held = cast(size, ElementType.f32)
        if scales is not None:
            scale = cast(build.gather(scales, position, 0), ElementType.f32)
            count = as_i64(build.floor(build.multiply(held, scale)))
        else:
            assert sizes is not None
            count = as_i64(build.gather(sizes, position, 0))
            scale = build.divide(cast(count, ElementType.f32), held) if ratio is None else ratio
        bounds = None
        if way.coordinates == "tf_crop_and_resize":
            if roi is None:
                raise InvalidAttributeError("tf_crop_and_resize needs the input roi")
            region = cast(roi, ElementType.f32)
            bounds = build.gather(region, position, 0), build.gather(region, position + len(every), 0)
        length = build.multiply(held, scale) if scales is not None else cast(count, ElementType.f32)
        at = _coordinates(way, size, count, length, scale, bounds)
        numbers = _along(numbers, way, axis, size, at, scale)
    return cast(numbers, data.element_type)


def _moved(data: Value, axes: Ints, scales: Value | None, sizes: Value | None, way: Resampling) -> tuple[int, ...]:
    """Which of the axes may change; an axis of scale 1 stays as it is, unless a part of it is cropped."""
    known = scales.constant if scales is not None else sizes.constant if sizes is not None else None
    if known is None or way.coordinates == "tf_crop_and_resize":
        return tuple(range(len(axes)))
    found = []
    for position, (axis, wanted) in enumerate(zip(axes, known.ravel(), strict=True)):
        dim = size_along(data, axis)
        same = wanted == 1 if scales is not None else dim.is_static and dim.size == wanted
        if not same:
            found.append(position)
    return tuple(found)


def _whole_sizes(data: Value, axes: Ints, scales: Value) -> bool:
    """Whether every size times its scale is known to be an integer: Interpolate rounds it before it aligns corners."""
    known = scales.constant
    if known is None:
        return False
    dims = [size_along(data, axis) for axis in axes]
    sizes = [(dim, float(scale)) for dim, scale in zip(dims, known.ravel(), strict=True)]
    return all(scale.is_integer() or (dim.is_static and (dim.size * scale).is_integer()) for dim, scale in sizes)


def _interpolated(
    data: Value, way: Resampling, target: Value, axes: Ints, moved: tuple[int, ...], *, by_scale: bool
) -> Value:
    if not moved:
        return data
    chosen = build.gather(target, ints(*moved), 0) if len(moved) < len(axes) else target
    wide = data
    if data.element_type in (ElementType.i16, ElementType.u16, ElementType.u32, ElementType.u64):
        wide = cast(data, ElementType.f32)
    found = build.interpolate(
        wide,
        cast(chosen, ElementType.f32) if by_scale else as_i64(chosen),
        ints(*[axes[position] for position in moved]),
        mode=_MODES[way.mode],
        shape_calculation_mode="scales" if by_scale else "sizes",
        coordinate_transformation_mode=_NATIVE[way.coordinates],
        nearest_mode=_NEAREST[way.nearest],
        cube_coeff=way.cubic,
    )
    return cast(found, data.element_type)


def _f32(value: float) -> Value:
    return build.constant(np.float32(value))


def _coordinates(
    way: Resampling, size: Value, count: Value, length: Value, scale: Value, bounds: tuple[Value, Value] | None
) -> Value:
    """Where each element of the output lies in the input; `length` is `count` before it is rounded down."""
    out = cast(build.range(0, count, 1, output_type="i64"), ElementType.f32)
    held, made = cast(size, ElementType.f32), cast(count, ElementType.f32)
    last = build.subtract(held, _f32(1))
    several = build.greater(made, _f32(1))
    steps = build.select(several, build.subtract(length, _f32(1)), _f32(1))
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
            # The output is cut off on both sides alike where scale * size is no integer.
            adjustment = build.divide(made, build.multiply(scale, held))
            middle = build.divide(held, _f32(2))
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


def _along(data: Value, way: Resampling, axis: int, size: Value, at: Value, scale: Value) -> Value:
    last = build.subtract(cast(size, ElementType.f32), _f32(1))
    if way.mode == "nearest":
        place = build.minimum(build.maximum(_rounded(way.nearest, at), _f32(0)), last)
        found = build.gather(data, as_i64(place), axis)
    else:
        weights = _weights(way, size, at, scale)
        rank = known_rank(data, "the input")
        order = [*[one for one in range(rank) if one != axis], axis]
        back = list(np.argsort(order))
        turned = build.matmul(build.transpose(data, ints(*order)), weights, transpose_b=True)
        found = build.transpose(turned, ints(*[int(one) for one in back]))
    if way.coordinates != "tf_crop_and_resize":
        return found
    inside = build.logical_and(build.greater_equal(at, _f32(0)), build.less_equal(at, last))
    behind = known_rank(data, "the input") - 1 - axis
    shaped = build.unsqueeze(inside, ints(*range(1, 1 + behind))) if behind else inside
    return build.select(shaped, found, number(way.extrapolation, found))


def _rounded(nearest: str, at: Value) -> Value:
    match nearest:
        case "floor":
            return build.floor(at)
        case "ceil":
            return build.ceiling(at)
        case "round_prefer_floor":
            return build.ceiling(build.subtract(at, _f32(0.5)))
        case _:
            return build.floor(build.add(at, _f32(0.5)))


_REACH = {"linear": 1, "cubic": 2}


def _weights(way: Resampling, size: Value, at: Value, scale: Value) -> Value:
    """[count, size]: how much of each element of the input is in each of the output.

    Elements beyond the ends are those at the ends, or have no part where `exclude_outside` says so. Antialiasing widens
    the filter where the output is smaller.
    """
    held = cast(size, ElementType.f32)
    shrunk = build.minimum(scale, _f32(1)) if way.antialias else _f32(1)
    reach = build.add(build.ceiling(build.divide(_f32(_REACH[way.mode]), shrunk)), _f32(1))
    beyond = build.range(
        as_i64(build.negative(reach)), as_i64(build.add(held, reach)), build.constant(np.int64(1)), output_type="i64"
    )
    places = cast(beyond, ElementType.f32)
    distance = build.abs(build.multiply(build.subtract(build.unsqueeze(at, 1), places), shrunk))
    part = _linear(distance) if way.mode == "linear" else _cubic(distance, way.cubic)
    last = build.subtract(held, _f32(1))
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
    """Keys' cubic, up to a distance of 2."""
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
