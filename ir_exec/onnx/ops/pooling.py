"""Pooling."""

from __future__ import annotations

from math import inf, prod
from typing import Any, TypedDict, Unpack

import numpy as np

from ir_exec import build
from ir_exec.build import Value
from ir_exec.codes import Code
from ir_exec.errors import InvalidAttributeError, ShapeError
from ir_exec.onnx.lowering.attributes import Ints
from ir_exec.onnx.lowering.graphs import Call
from ir_exec.onnx.lowering.registry import onnx_op
from ir_exec.onnx.lowering.values import as_i64, concat, dims_of, ints, known_rank, number, reshape, shape_of
from ir_exec.onnx.ops.convolution import halves, padding, per_axis

__all__ = ["average_pool", "spatial_axes"]


class PoolAttributes(TypedDict):
    """Attributes shared by poolings; `strides` and `pads` may be empty."""

    auto_pad: str
    ceil_mode: bool
    kernel_shape: Ints
    pads: Ints
    strides: Ints


def _windows(dilations: Ints, attributes: PoolAttributes) -> dict[str, Any]:
    rank = len(attributes["kernel_shape"])
    way, begins, ends = padding(attributes["auto_pad"], attributes["pads"], rank)
    return {
        "kernel_sizes": attributes["kernel_shape"],
        "strides": per_axis(attributes["strides"], "strides", rank),
        "pads_begin": begins,
        "pads_end": ends,
        "auto_pad": way,
        "rounding_type": "ceil_torch" if attributes["ceil_mode"] else "floor",
        "dilations": per_axis(dilations, "dilations", rank),
    }


@onnx_op("AveragePool", since=(1, 7, 10, 19))
def average_pool(
    data: Value, *, count_include_pad: bool, dilations: Ints, **attributes: Unpack[PoolAttributes]
) -> Value:
    windows = _windows(dilations, attributes)
    is_padded = windows["auto_pad"] == "explicit" and any(attributes["pads"])
    if attributes["ceil_mode"] and count_include_pad and is_padded:
        return _counting_pads(data, windows)
    return build.avg_pool(data, exclude_pad=not count_include_pad, **windows)


def _counting_pads(data: Value, windows: dict[str, Any]) -> Value:
    """Averages that include the pads, but not elements beyond them in windows that extend further."""
    begins, ends, strides = windows["pads_begin"], windows["pads_end"], windows["strides"]
    padded = build.pad(data, ints(0, 0, *begins), ints(0, 0, *ends), number(0, data), pad_mode="constant")
    none = (0,) * len(begins)
    windows = {**windows, "pads_begin": none, "pads_end": none}
    averages = build.avg_pool(padded, exclude_pad=True, **windows)
    # No window starts in the end pads.
    spatial = ints(*range(2, 2 + len(begins)))
    sizes = build.gather(shape_of(data), spatial, 0)
    last = build.divide(build.add(sizes, ints(*(begin - 1 for begin in begins))), ints(*strides))
    return build.slice(
        averages, ints(*none), build.add(last, ints(*(1 for _ in none))), ints(*(1 for _ in none)), spatial
    )


@onnx_op("MaxPool", since=(1, 8, 10))
def max_pool(
    data: Value, *, dilations: Ints, storage_order: int, call: Call, **attributes: Unpack[PoolAttributes]
) -> list[Value]:
    # Integers of 8 bits are pooled directly; indices refer to the flattened tensor.
    pooled, indices = build.max_pool(data, index_element_type="i64", **_windows(dilations, attributes))
    if call.wants(1) and storage_order:
        indices = _column_major(indices, data)
    return [pooled, indices]


def _column_major(indices: Value, data: Value) -> Value:
    """Row-major indices as column-major indices: the last spatial axis becomes the slowest."""
    sizes = dims_of(data, "the input")[2:]
    each = prod(sizes)
    flat = build.floor_mod(indices, build.constant(np.int64(each)))
    base = build.subtract(indices, flat)
    step = 1
    for axis, size in enumerate(sizes):
        behind = build.constant(np.int64(prod(sizes[axis + 1 :])))
        index = build.floor_mod(build.divide(flat, behind), build.constant(np.int64(size)))
        base = build.add(base, build.multiply(index, build.constant(np.int64(step))))
        step *= size
    return base


def _lp_pool(data: Value, p: float, windows: dict[str, Any]) -> Value:
    """The root of the sum of powers, with zeros outside of the data."""
    _check_norm(p)
    size = prod(windows["kernel_sizes"])
    powers = build.power(build.abs(data), number(p, data))
    padded = _pad_windows(powers, windows)
    total = build.multiply(build.avg_pool(padded, exclude_pad=False, **windows), number(size, data))
    return build.power(total, number(1 / p, data))


def _check_norm(p: float) -> None:
    if not 0 < p < inf:
        raise InvalidAttributeError("p is", actual=p, expected="a number above 0")


def _pad_windows(data: Value, windows: dict[str, Any]) -> Value:
    """The data padded with zeros to contain all of its windows."""
    rank = len(windows["kernel_sizes"])
    auto_pad = windows["auto_pad"]
    begins, ends = list(windows["pads_begin"]), list(windows["pads_end"])
    if auto_pad in ("same_upper", "same_lower") or windows["rounding_type"] != "floor":
        sizes = dims_of(data, "the input")[2:]
        if len(sizes) != rank:
            raise ShapeError(
                "kernel_shape has",
                actual=rank,
                detail="elements",
                expected=len(sizes),
                reason="one for each spatial axis",
                code=Code.wrong_rank,
            )
        for axis in range(rank):
            stride = windows["strides"][axis]
            span = (windows["kernel_sizes"][axis] - 1) * windows["dilations"][axis] + 1
            size = sizes[axis]
            if auto_pad in ("same_upper", "same_lower"):
                total = max((-(-size // stride) - 1) * stride + span - size, 0)
                less = total // 2
                begins[axis], ends[axis] = (less, total - less) if auto_pad == "same_upper" else (total - less, less)
            else:
                padded_size = size + begins[axis] + ends[axis]
                count = -(-(padded_size - span) // stride) + 1
                if (count - 1) * stride >= size + begins[axis]:
                    count -= 1
                ends[axis] += max((count - 1) * stride + span - padded_size, 0)
    windows.update(auto_pad="valid", pads_begin=(0,) * rank, pads_end=(0,) * rank, rounding_type="floor")
    if not any(begins) and not any(ends):
        return data
    return build.pad(data, ints(0, 0, *begins), ints(0, 0, *ends), number(0, data), pad_mode="constant")


@onnx_op("LpPool", since=1)
def lp_pool_1(data: Value, *, dilations: Ints, p: float, **attributes: Unpack[PoolAttributes]) -> Value:
    if not attributes["kernel_shape"]:
        raise InvalidAttributeError("attribute kernel_shape is missing", code=Code.missing_attribute)
    return _lp_pool(data, p, _windows(dilations, attributes))


@onnx_op("LpPool", since=(2, 18))
def lp_pool(data: Value, *, dilations: Ints, p: int, **attributes: Unpack[PoolAttributes]) -> Value:
    return _lp_pool(data, p, _windows(dilations, attributes))


def spatial_axes(data: Value) -> Value:
    """All axes after batch and channels."""
    return ints(*range(2, known_rank(data, "the input")))


@onnx_op("GlobalAveragePool", since=1)
def global_average_pool(data: Value) -> Value:
    return build.reduce_mean(data, spatial_axes(data), keep_dims=True)


@onnx_op("GlobalMaxPool", since=1)
def global_max_pool(data: Value) -> Value:
    return build.reduce_max(data, spatial_axes(data), keep_dims=True)


@onnx_op("GlobalLpPool", since=1)
def global_lp_pool_1(data: Value, *, p: float) -> Value:
    _check_norm(p)
    powers = build.power(build.abs(data), number(p, data))
    return build.power(build.reduce_sum(powers, spatial_axes(data), keep_dims=True), number(1 / p, data))


@onnx_op("GlobalLpPool", since=2)
def global_lp_pool(data: Value, *, p: int) -> Value:
    return global_lp_pool_1(data, p=float(p))


@onnx_op("MaxUnpool", since=9)
def max_unpool(
    data: Value, indices: Value, output_shape: Value | None, *, kernel_shape: Ints, pads: Ints, strides: Ints
) -> Value:
    """Every element is written to its index in the unpooled tensor; all others are zero.

    Indices refer to a tensor of the size that the windows imply, for any `output_shape`.
    """
    rank = len(kernel_shape)
    begins, ends = halves(pads, rank)
    sizes = shape_of(data)
    front = build.slice(sizes, ints(0), ints(2), ints(1))
    pooled = build.slice(sizes, ints(2), ints(2 + rank), ints(1))
    fixed = [k - b - e for k, b, e in zip(kernel_shape, begins, ends, strict=True)]
    spread = build.multiply(build.subtract(pooled, ints(1)), ints(*per_axis(strides, "strides", rank)))
    natural = concat([front, build.add(spread, ints(*fixed))])
    target = natural if output_shape is None else as_i64(output_shape)
    zeros = build.broadcast(number(0, data), build.reduce_prod(natural, ints(0), keep_dims=True))
    flat = build.scatter_elements_update(zeros, reshape(indices, -1), reshape(data, -1), 0)
    unpooled = build.reshape(flat, natural, special_zero=False)
    if output_shape is None:
        return unpooled
    ends_of = build.subtract(target, natural)
    return build.pad(unpooled, ints(*[0] * (rank + 2)), ends_of, number(0, data), pad_mode="constant")


@onnx_op("MaxRoiPool", since=1)
def max_roi_pool(data: Value, rois: Value, *, pooled_shape: Ints, spatial_scale: float) -> Value:
    if len(pooled_shape) != 2:
        raise InvalidAttributeError("pooled_shape has", actual=len(pooled_shape), detail="elements", expected=2)
    height, width = pooled_shape
    return build.roi_pooling(data, rois, spatial_scale=spatial_scale, pooled_h=height, pooled_w=width, method="max")
