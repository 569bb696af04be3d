"""Resample, Interp and Upsampling.

The declared output is used if it is one of the sizes that a rounding of the factor gives: the Model Optimizer rounded
in different ways, and runtimes used the declared dims. Source: resample.cpp, interp.cpp and their shape inference.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor
from typing import Any

from ir_exec import build
from ir_exec.build import Value
from ir_exec.codes import Code
from ir_exec.errors import InvalidAttributeError, ShapeError, UnsupportedError
from ir_exec.older.call import LayerCall
from ir_exec.older.registry import older_layer
from ir_exec.older.values import as_floats, dims_of, known_integers, vector

__all__: list[str] = []

_TYPES = {
    "caffe.resampleparameter.nearest": "nearest",
    "caffe.resampleparameter.linear": "linear",
    "nearest": "nearest",
    "linear": "linear",
    "bilinear": "linear",
}


def _image(data: Value) -> tuple[Value, tuple[int, ...]]:
    data = as_floats(data)
    dims = dims_of(data)
    if len(dims) not in (4, 5):
        raise ShapeError("the input has rank", actual=len(dims), expected="4 or 5", code=Code.wrong_rank)
    return data, dims


def _chosen(layer: LayerCall, dims: tuple[int, ...], candidates: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """The spatial sizes of the output: the declared sizes if they are a candidate, or if there are no candidates."""
    declared = layer.declared_dims()
    declared_sizes = declared[2:] if declared is not None and len(declared) == len(dims) else None
    if declared_sizes is not None and (not candidates or declared_sizes in candidates):
        return declared_sizes
    if not candidates:
        raise InvalidAttributeError(
            "the size is missing", expected="an attribute or the dims of the output port", code=Code.missing_attribute
        )
    if min(candidates[0]) < 1:
        raise ShapeError(
            "the output has sizes", actual=list(candidates[0]), expected="1 or more", code=Code.impossible_shape
        )
    return candidates[0]


def _target(layer: LayerCall, dims: tuple[int, ...], size: Value | None, factor: float) -> tuple[int, ...]:
    if size is not None:
        # The dims of the output, with or without batch and channels.
        return known_integers(size, "the size")[-(len(dims) - 2) :]
    height, width = layer.integer("height", 0), layer.integer("width", 0)
    spatial = dims[2:]
    if height and width and len(spatial) == 2:
        return _chosen(layer, dims, [(height, width)])
    if not factor:
        return _chosen(layer, dims, [])
    if factor < 0 or factor > 2**31:
        raise InvalidAttributeError("the factor is", actual=factor, expected="0 to 2^31", code=Code.invalid_attribute)
    # Caffe's Interp inserts `zoom - 1` new positions between two old ones.
    between = tuple(length + int((length - 1) * (factor - 1)) for length in spatial)
    sizes = [tuple(rounding(length * factor) for length in spatial) for rounding in (floor, ceil, round)]
    return _chosen(layer, dims, [*sizes, between])


def _interpolate(data: Value, sizes: tuple[int, ...], mode: str, way: str, *, antialias: bool = False) -> Value:
    axes = vector(*range(2, 2 + len(sizes)))
    told: dict[str, Any] = {
        "mode": mode,
        "shape_calculation_mode": "sizes",
        "coordinate_transformation_mode": way,
        "nearest_mode": "round_prefer_ceil",
        "antialias": antialias,
    }
    return build.interpolate(data, vector(*sizes), axes, **told)


@older_layer("Resample")
def resample(layer: LayerCall, data: Value, size: Value | None = None) -> Value:
    """The nearest element, or a mean weighted by distance, aligned at the centers of elements."""
    data, dims = _image(data)
    sizes = _target(layer, dims, size, layer.number("factor", 0.0))
    mode = layer.choice("type", _TYPES, "caffe.ResampleParameter.NEAREST")
    shrinks = any(new < old for new, old in zip(sizes, dims[2:], strict=True))
    told: dict[str, Any] = {
        "mode": mode,
        "shape_calculation_mode": "sizes",
        "coordinate_transformation_mode": "half_pixel",
    }
    return build.interpolate(
        data,
        vector(*sizes),
        vector(*range(2, len(dims))),
        nearest_mode="round_prefer_ceil",
        antialias=mode == "linear" and shrinks and layer.flag("antialias", False),
        **told,
    )


@older_layer("Upsampling")
def upsampling(layer: LayerCall, data: Value) -> Value:
    """Repeat every element `scale` times along each spatial axis."""
    data, dims = _image(data)
    scale = layer.integer("scale")
    sizes = _chosen(layer, dims, [tuple(dim * scale for dim in dims[2:])])
    return _interpolate(data, sizes, "nearest", "half_pixel")


@older_layer("Interp")
def interp(layer: LayerCall, data: Value, size: Value | None = None) -> Value:
    """Linear interpolation; with `align_corners`, the default, the corners keep their positions."""
    data, dims = _image(data)
    shrink, zoom = layer.number("shrink_factor", 0.0), layer.number("zoom_factor", 0.0)
    factor = layer.number("factor", 0.0)
    if shrink or zoom:
        factor = (zoom or factor or 1.0) / (shrink or 1.0)
    sizes = _target(layer, dims, size, factor)
    begin, end = layer.integer("pad_beg", 0), layer.integer("pad_end", 0)
    if begin > 0 or end > 0:
        raise UnsupportedError(
            "pad_beg and pad_end are", actual=f"{begin} and {end}", expected=0, reason=" for an Interp"
        )
    axes = list(range(2, len(dims)))
    if begin or end:
        starts, stops = [-begin] * len(axes), [dim + end for dim in dims[2:]]
        data = build.slice(data, vector(*starts), vector(*stops), vector(*[1] * len(axes)), vector(*axes))
    way = "align_corners" if layer.flag("align_corners", True) else "asymmetric"
    told: dict[str, Any] = {
        "mode": "linear_onnx",
        "shape_calculation_mode": "sizes",
        "coordinate_transformation_mode": way,
    }
    return build.interpolate(data, vector(*sizes), vector(*axes), **told)
