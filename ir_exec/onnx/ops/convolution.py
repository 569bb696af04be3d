"""Convolutions."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from math import prod
from typing import Any, Literal, TypeAlias, TypedDict, Unpack

import numpy as np

from ir_exec import build
from ir_exec.build import Value
from ir_exec.codes import Code
from ir_exec.errors import InvalidAttributeError, ShapeError, UnsupportedError
from ir_exec.onnx.lowering.attributes import Ints, chosen
from ir_exec.onnx.lowering.registry import onnx_op
from ir_exec.onnx.lowering.values import (
    as_i64,
    cast,
    concat,
    dims_of,
    ints,
    known_ints,
    known_rank,
    number,
    reshape,
    shape_of,
)
from ir_exec.types import ElementType

__all__ = ["convolve", "halves", "padding", "per_axis"]

_MOST_SPATIAL = 3
"""Maximum spatial axes of a convolution of IR."""

_MOST_FILTERS = 2**10
"""Maximum elements of a block, each of which has a filter as large as the block."""

AutoPad: TypeAlias = Literal["explicit", "same_upper", "same_lower", "valid"]

AUTO_PAD: Mapping[str, AutoPad] = {
    "NOTSET": "explicit",
    "SAME_UPPER": "same_upper",
    "SAME_LOWER": "same_lower",
    "VALID": "valid",
}


class ConvAttributes(TypedDict):
    """Attributes shared by convolutions; an empty list stands for the default of each spatial axis."""

    auto_pad: str
    dilations: Ints
    group: int
    kernel_shape: Ints
    pads: Ints
    strides: Ints


def padding(auto_pad: str, pads: Ints, rank: int) -> tuple[AutoPad, Ints, Ints]:
    """The IR equivalent of `auto_pad`, where "" means NOTSET, and the explicit pads at beginnings and ends."""
    way = chosen("auto_pad", auto_pad or "NOTSET", AUTO_PAD)
    return (way, *halves(pads if way == "explicit" else (), rank))


def halves(pads: Ints, rank: int) -> tuple[Ints, Ints]:
    """Pads at the beginnings and at the ends of the spatial axes."""
    if not pads:
        return (0,) * rank, (0,) * rank
    if len(pads) != 2 * rank:
        raise InvalidAttributeError("pads has", actual=len(pads), detail="elements", expected=2 * rank)
    return pads[:rank], pads[rank:]


def per_axis(values: Ints, name: str, rank: int, default: int = 1) -> Ints:
    """An attribute with a number for each spatial axis."""
    if values and len(values) != rank:
        raise InvalidAttributeError(f"{name} has", actual=len(values), detail="elements", expected=rank)
    return values or (default,) * rank


def _checked_kernel(filters: Value, kernel: Ints) -> None:
    shape = filters.shape
    if kernel and shape.is_static and shape.static[2:] != tuple(kernel):
        raise InvalidAttributeError(
            "kernel_shape is", actual=list(kernel), expected=list(shape.static[2:]), reason="the sizes of the weights"
        )


def group_filters(filters: Value, group: int) -> Value:
    """[O, I, ...] as [G, O / G, I, ...]."""
    sizes = shape_of(filters)
    tail = build.slice(sizes, ints(1), ints(2**31 - 1), ints(1))
    return build.reshape(filters, concat([ints(group, -1), tail]), special_zero=False)


@onnx_op("Conv", since=1)
def convolve(data: Value, filters: Value, bias: Value | None, **attributes: Unpack[ConvAttributes]) -> Value:
    """A convolution with a bias for each output channel."""
    rank, group = known_rank(filters, "the weights") - 2, attributes["group"]
    if rank == 0:
        raise UnsupportedError("the input has no spatial axes")
    _checked_kernel(filters, attributes["kernel_shape"])
    way, begins, ends = padding(attributes["auto_pad"], attributes["pads"], rank)
    windows: dict[str, Any] = {
        "strides": per_axis(attributes["strides"], "strides", rank),
        "dilations": per_axis(attributes["dilations"], "dilations", rank),
        "pads_begin": begins,
        "pads_end": ends,
        "auto_pad": way,
    }
    if rank > _MOST_SPATIAL:
        output = _by_taps(data, filters, group, windows)
    elif group == 1:
        output = build.convolution(data, filters, **windows)
    else:
        output = build.group_convolution(data, group_filters(filters, group), **windows)
    return add_bias(output, bias, rank)


def _by_taps(data: Value, filters: Value, group: int, attributes: dict[str, Any]) -> Value:
    """The sum of convolutions along the last three spatial axes, one for each tap of the other axes.

    The other axes are axes of the batch in each convolution.
    """
    sizes, kernel = dims_of(data, "the input"), dims_of(filters, "the weights")[2:]
    extra = len(kernel) - _MOST_SPATIAL
    pads = [_axis_pads(sizes[2 + axis], kernel[axis], axis, attributes) for axis in range(extra)]
    begins, ends = ([0, 0, *(pad[side] for pad in pads), *[0] * _MOST_SPATIAL] for side in (0, 1))
    data = build.pad(data, ints(*begins), ints(*ends), number(0, data), pad_mode="constant")
    counts = []
    for axis in range(extra):
        reach = (kernel[axis] - 1) * attributes["dilations"][axis] + 1
        counts.append((sizes[2 + axis] + sum(pads[axis]) - reach) // attributes["strides"][axis] + 1)
    if min(counts) < 1 or not prod(kernel):
        raise ShapeError("the kernel is larger than the padded input", code=Code.impossible_shape)
    inner: ConvAttributes = {
        "auto_pad": {way: name for name, way in AUTO_PAD.items()}[attributes["auto_pad"]],
        "dilations": attributes["dilations"][extra:],
        "group": group,
        "kernel_shape": (),
        "pads": (*attributes["pads_begin"][extra:], *attributes["pads_end"][extra:]),
        "strides": attributes["strides"][extra:],
    }
    total: Value | None = None
    for tap in product(*map(range, kernel[:extra])):
        starts = [index * step for index, step in zip(tap, attributes["dilations"], strict=False)]
        stops = [
            start + (count - 1) * step + 1
            for start, count, step in zip(starts, counts, attributes["strides"], strict=False)
        ]
        axes = range(2, 2 + extra)
        part = build.slice(data, ints(*starts), ints(*stops), ints(*attributes["strides"][:extra]), ints(*axes))
        part = build.transpose(part, ints(0, *axes, 1, *range(2 + extra, 2 + len(kernel))))
        part = reshape(part, -1, *sizes[1:2], *sizes[2 + extra :])
        taps = filters
        for index in tap:
            taps = build.gather(taps, index, 2)
        term = convolve(part, taps, None, **inner)
        total = term if total is None else build.add(total, term)
    assert total is not None
    tail = build.slice(shape_of(total), ints(1), ints(2 + _MOST_SPATIAL), ints(1))
    apart = build.reshape(total, concat([ints(sizes[0], *counts), tail]), special_zero=False)
    return build.transpose(apart, ints(0, 1 + extra, *range(1, 1 + extra), *range(2 + extra, 2 + len(kernel))))


def _axis_pads(size: int, kernel: int, axis: int, attributes: Mapping[str, Any]) -> tuple[int, int]:
    """The pads at the beginning and at the end of a spatial axis."""
    if not attributes["auto_pad"].startswith("same"):
        return attributes["pads_begin"][axis], attributes["pads_end"][axis]
    stride = attributes["strides"][axis]
    needed = max(((size + stride - 1) // stride - 1) * stride + (kernel - 1) * attributes["dilations"][axis] + 1, size)
    less, more = (needed - size) // 2, (needed - size + 1) // 2
    return (less, more) if attributes["auto_pad"] == "same_upper" else (more, less)


def add_bias(output: Value, bias: Value | None, rank: int) -> Value:
    return output if bias is None else build.add(output, reshape(bias, 1, -1, *[1] * rank))


@onnx_op("ConvInteger", since=10)
def conv_integer(
    data: Value,
    filters: Value,
    data_zero_point: Value | None,
    filters_zero_point: Value | None,
    **attributes: Unpack[ConvAttributes],
) -> Value:
    """Convolution of integers minus their zero points; the padding equals the zero point and adds nothing."""
    wide = _less_zero_point(data, data_zero_point, along=None)
    return convolve(wide, _less_zero_point(filters, filters_zero_point, along=0), None, **attributes)


def _less_zero_point(data: Value, zero_point: Value | None, along: int | None) -> Value:
    """The value minus its zero point as i32; zero points of rank 1 apply to the first axis."""
    wide = cast(data, ElementType.i32)
    if zero_point is None:
        return wide
    zero = cast(zero_point, ElementType.i32)
    if zero.rank == 1 and along is not None:
        zero = build.unsqueeze(zero, list(range(1, known_rank(data, "the weights"))))
    return build.subtract(wide, zero)


@onnx_op("ConvTranspose", since=1)
def conv_transpose(
    data: Value,
    filters: Value,
    bias: Value | None,
    *,
    output_padding: Ints,
    output_shape: Ints,
    **attributes: Unpack[ConvAttributes],
) -> Value:
    """Transposed convolution. `output_shape` determines the cropping; without it SAME multiplies each dim by `strides`.

    If the full output is smaller, zeros are added: SAME splits them like the cropping, otherwise they are added at the
    end, as in onnxruntime.
    """
    rank = known_rank(filters, "the weights") - 2
    strides = per_axis(attributes["strides"], "strides", rank)
    dilations = per_axis(attributes["dilations"], "dilations", rank)
    extra, group = per_axis(output_padding, "output_padding", rank, 0), attributes["group"]
    way, begins, ends = padding(attributes["auto_pad"], attributes["pads"], rank)
    before = (0,) * rank
    is_same = way in ("same_upper", "same_lower")
    if output_shape or is_same:
        kernel = dims_of(filters, "the weights")[2:]
        spans = [(size - 1) * dilation + 1 for size, dilation in zip(kernel, dilations, strict=True)]
        if output_shape:
            sizes = dims_of(data, "the input")[2:]
            target_sizes = per_axis(output_shape[-rank:], "output_shape", rank)
            if len(sizes) != rank:
                raise ShapeError(
                    "the input has rank", actual=len(sizes) + 2, expected=rank + 2, reason="the rank of the weights"
                )
            cut = [
                s * (n - 1) + e + k - o
                for s, n, e, k, o in zip(strides, sizes, extra, spans, target_sizes, strict=True)
            ]
        else:
            cut = [e + k - s for e, k, s in zip(extra, spans, strides, strict=True)]
        less = [c // 2 if is_same or c > 0 else c for c in cut]
        more = [c - half for c, half in zip(cut, less, strict=True)]
        firsts, lasts = (less, more) if way == "same_upper" else (more, less)
        before = tuple(max(-first, 0) for first in firsts)
        extra = tuple(e + max(-last, 0) for e, last in zip(extra, lasts, strict=True))
        begins, ends = (tuple(max(pad, 0) for pad in side) for side in (firsts, lasts))
    windows: dict[str, Any] = {
        "strides": strides,
        "dilations": dilations,
        "pads_begin": begins,
        "pads_end": ends,
        "auto_pad": "valid" if way == "valid" and not output_shape else "explicit",
        "output_padding": extra,
    }
    if group == 1:
        output = build.convolution_backprop_data(data, filters, **windows)
    else:
        output = build.group_convolution_backprop_data(data, group_filters(filters, group), **windows)
    if any(before):
        nothing = [0] * (rank + 2)
        output = build.pad(output, ints(0, 0, *before), ints(*nothing), number(0, output), pad_mode="constant")
    return add_bias(output, bias, rank)


@onnx_op("DeformConv", since=19)
def deform_conv(
    data: Value,
    filters: Value,
    offset: Value,
    bias: Value | None,
    mask: Value | None,
    *,
    dilations: Ints,
    group: int,
    kernel_shape: Ints,
    offset_group: int,
    pads: Ints,
    strides: Ints,
) -> Value:
    rank = known_rank(filters, "the weights") - 2
    begins, ends = halves(pads, rank)
    output = build.deformable_convolution(
        data,
        offset,
        filters,
        mask,
        strides=per_axis(strides, "strides", rank),
        pads_begin=begins,
        pads_end=ends,
        auto_pad="explicit",
        dilations=per_axis(dilations, "dilations", rank),
        group=group,
        deformable_group=offset_group,
        bilinear_interpolation_pad=True,
    )
    return add_bias(output, bias, rank)


@onnx_op("Col2Im", since=18)
def col2im(data: Value, image_shape: Value, block_shape: Value, *, dilations: Ints, pads: Ints, strides: Ints) -> Value:
    """Col2Im; images with one axis are computed as images with two axes, the first of size 1."""
    sizes = dims_of(image_shape, "image_shape")
    if len(sizes) != 1:
        raise ShapeError(
            "image_shape has rank", actual=len(sizes), expected=1, code=Code.wrong_rank, port="image_shape"
        )
    count = sizes[0]
    if count > 2:
        return _col2im_of_many(data, image_shape, block_shape, count, dilations, pads, strides)
    begins, ends = halves(pads, count)
    missing = 2 - count
    before, ones = (0,) * missing, (1,) * missing
    images = build.col2im(
        data,
        concat([ints(*ones), as_i64(image_shape)]) if missing else as_i64(image_shape),
        concat([ints(*ones), as_i64(block_shape)]) if missing else as_i64(block_shape),
        strides=(*ones, *per_axis(strides, "strides", count)),
        dilations=(*ones, *per_axis(dilations, "dilations", count)),
        pads_begin=(*before, *begins),
        pads_end=(*before, *ends),
    )
    return build.squeeze(images, 2) if missing else images


def _col2im_of_many(
    data: Value,
    image_shape: Value,
    block_shape: Value,
    count: int,
    dilations: Ints,
    pads: Ints,
    strides: Ints,
) -> Value:
    """A transposed convolution with a filter for each element of the block, which writes its column there."""
    sizes = per_axis(known_ints(image_shape, "image_shape"), "image_shape", count)
    block = per_axis(known_ints(block_shape, "block_shape"), "block_shape", count)
    strides, dilations = per_axis(strides, "strides", count), per_axis(dilations, "dilations", count)
    begins, ends = halves(pads, count)
    if prod(block) > _MOST_FILTERS:
        raise UnsupportedError(f"the block has {prod(block)} elements, which is not supported")
    spans = [(k - 1) * d + 1 for k, d in zip(block, dilations, strict=True)]
    positions = [(n + b + e - k) // s + 1 for n, b, e, k, s in zip(sizes, begins, ends, spans, strides, strict=True)]
    remainders = [(n + b + e - k) % s for n, b, e, k, s in zip(sizes, begins, ends, spans, strides, strict=True)]
    eye = np.eye(prod(block), dtype=data.element_type.dtype).reshape(prod(block), 1, *block)
    columns = build.reshape(data, ints(-1, prod(block), *positions), special_zero=False)
    images = build.convolution_backprop_data(
        columns,
        build.constant(eye),
        strides=strides,
        dilations=dilations,
        pads_begin=begins,
        pads_end=ends,
        auto_pad="explicit",
        output_padding=tuple(remainders),
    )
    batch = build.slice(shape_of(data), ints(0), ints(1), ints(1))
    return build.reshape(images, concat([batch, ints(-1, *sizes)]), special_zero=False)
