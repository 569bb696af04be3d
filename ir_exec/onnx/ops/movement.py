"""Operators that move elements."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np

from ir_exec import build
from ir_exec.build import Value
from ir_exec.codes import Code
from ir_exec.errors import InvalidAttributeError, ShapeError
from ir_exec.onnx.lowering.attributes import Ints, chosen
from ir_exec.onnx.lowering.graphs import Call
from ir_exec.onnx.lowering.registry import onnx_op
from ir_exec.onnx.lowering.values import (
    as_i64,
    as_vector,
    checked_gather,
    concat,
    ints,
    known_rank,
    normal_axis,
    number,
    reshape,
    shape_of,
    size_along,
)
from ir_exec.types import Dim, ElementType

__all__ = ["pad_axes"]

_REDUCTIONS: Mapping[str, Literal["none", "sum", "prod", "min", "max"]] = {
    "none": "none",
    "add": "sum",
    "mul": "prod",
    "min": "min",
    "max": "max",
}

_PAD_MODES: Mapping[str, Literal["constant", "reflect", "edge"]] = {
    "constant": "constant",
    "reflect": "reflect",
    "edge": "edge",
}


@onnx_op("Gather", since=1)
def gather(data: Value, indices: Value, *, axis: int) -> Value:
    return checked_gather(data, indices, axis)


@onnx_op("GatherElements", since=11)
def gather_elements(data: Value, indices: Value, *, axis: int, call: Call) -> Value:
    dims, index_dims = data.shape.dims, indices.shape.dims
    if dims is None or index_dims is None:
        # Their other axes are assumed to be equal.
        call.assume()
    if dims is not None and index_dims is not None and len(dims) == len(index_dims):
        along = normal_axis(axis, len(dims))
        pairs = enumerate(zip(dims, index_dims, strict=True))
        cut = [position for position, (dim, size) in pairs if position != along and not (dim.is_static and dim == size)]
        if cut:
            # In IR these axes have equal sizes. Indices may have fewer elements here.
            ends = build.gather(shape_of(indices), ints(*cut), 0)
            data = build.slice(data, ints(*[0] * len(cut)), ends, ints(*[1] * len(cut)), ints(*cut))
    return build.gather_elements(data, indices, axis=axis)


@onnx_op("GatherND", since=(11, 12))
def gather_nd(data: Value, indices: Value, *, batch_dims: int, call: Call) -> Value:
    """Batch axes of data of size 1 broadcast to those of indices, with a warning: ONNX's text requires equal sizes."""
    mine, theirs = data.shape.dims, indices.shape.dims
    if mine is not None and theirs is not None and min(len(mine), len(theirs)) > batch_dims >= 0:
        single = [axis for axis in range(batch_dims) if mine[axis] == 1 and theirs[axis] != 1]
        if not all(mine[axis].is_static for axis in range(batch_dims)):
            call.assume()
        if single:
            wrong = [axis for axis in single if theirs[axis].is_static]
            if wrong:
                call.warn(_unequal_batch(mine[wrong[0]], theirs[wrong[0]], wrong[0]))
            front = build.slice(shape_of(indices), ints(0), ints(batch_dims), ints(1))
            behind = build.slice(shape_of(data), ints(batch_dims), ints(len(mine)), ints(1))
            data = build.broadcast(data, concat([front, behind]), mode="bidirectional")
    return build.gather_nd(data, indices, batch_dims=batch_dims)


def _unequal_batch(mine: Dim, theirs: Dim, axis: int) -> ShapeError:
    message = f"batch axis {axis} has size {mine} in data and {theirs} in indices: data is broadcast"
    hint = "expand the data: ONNX requires equal batch axes"
    return ShapeError(message, code=Code.dims_differ, severity="warning", port="data", hint=hint)


@onnx_op("Scatter", since=9)
def scatter(data: Value, indices: Value, updates: Value, *, axis: int) -> Value:
    return build.scatter_elements_update(data, indices, updates, axis)


@onnx_op("ScatterElements", since=(11, 16))
def scatter_elements(data: Value, indices: Value, updates: Value, *, axis: int, reduction: str) -> Value:
    ir_reduction = chosen("reduction", reduction, _REDUCTIONS)
    return build.scatter_elements_update(data, indices, updates, axis, reduction=ir_reduction)


@onnx_op("ScatterND", since=(11, 16))
def scatter_nd(data: Value, indices: Value, updates: Value, *, reduction: str) -> Value:
    ir_reduction = chosen("reduction", reduction, _REDUCTIONS)
    return build.scatter_nd_update(data, indices, updates, reduction=ir_reduction)


@onnx_op("TensorScatter", since=24)
def tensor_scatter(past_cache: Value, update: Value, write_indices: Value | None, *, axis: int, mode: str) -> Value:
    """Write `update` into the cache, starting at an index of each batch, along `axis`."""
    if mode not in ("linear", "circular"):
        raise InvalidAttributeError("mode is", actual=repr(mode), expected="linear or circular")
    rank = known_rank(past_cache, "past_cache")
    axis = normal_axis(axis, rank)
    length = build.gather(shape_of(update), axis, 0)
    steps = build.range(0, length, 1, output_type="i64")
    start = ints(0) if write_indices is None else as_i64(write_indices)
    places = build.add(build.unsqueeze(start, 1), build.unsqueeze(steps, 0))
    if mode == "circular":
        places = build.floor_mod(places, build.gather(shape_of(past_cache), axis, 0))
    ones = [1] * rank
    shaped = build.reshape(
        places,
        concat(
            [
                ints(-1 if write_indices is not None else 1, *ones[1:axis]),
                build.unsqueeze(length, 0),
                ints(*ones[axis + 1 :]),
            ]
        )
        if axis < rank - 1
        else concat([ints(-1, *ones[1:axis]), build.unsqueeze(length, 0)]),
        special_zero=False,
    )
    indices = build.broadcast(shaped, shape_of(update))
    return build.scatter_elements_update(past_cache, indices, update, axis)


@onnx_op("Concat", since=(1, 4))
def concat_along(*inputs: Value, axis: int = 1) -> Value:
    """The default is the default of version 1 by its text."""
    return build.concat(inputs, axis)


@onnx_op("Transpose", since=1)
def transpose(data: Value, *, perm: Ints | None) -> Value:
    return build.transpose(data, ints() if perm is None else ints(*perm))


@onnx_op("Reshape", since=1)
def reshape_1(data: Value, *, shape: Ints) -> Value:
    return build.reshape(data, ints(*shape), special_zero=True)


@onnx_op("Reshape", since=(5, 14))
def reshape_14(data: Value, shape: Value, *, allowzero: bool) -> Value:
    return build.reshape(data, shape, special_zero=not allowzero)


@onnx_op("Flatten", since=1)
def flatten(data: Value, *, axis: int) -> Value:
    """The axes before `axis` become the first dim, the others the second."""
    if axis == 0:
        return reshape(data, 1, -1)
    if axis == 1 and not _may_be_empty(data):
        return build.reshape(data, ints(0, -1), special_zero=True)
    rank = known_rank(data, "the input")
    if not -rank <= axis <= rank:
        raise ShapeError(f"axis {axis} is out of range for rank {rank}", code=Code.axis_out_of_range)
    axis = axis if axis >= 0 else axis + rank
    sizes = shape_of(data)
    before = build.reduce_prod(build.slice(sizes, ints(0), ints(axis), ints(1)), ints(0), keep_dims=True)
    behind = build.reduce_prod(build.slice(sizes, ints(axis), ints(rank), ints(1)), ints(0), keep_dims=True)
    return build.reshape(data, concat([before, behind]), special_zero=False)


def _may_be_empty(data: Value) -> bool:
    return data.shape.dims is None or len(data.shape.dims) < 2 or any(dim.lo == 0 for dim in data.shape.dims)


@onnx_op("Squeeze", since=1)
def squeeze_1(data: Value, *, axes: Ints) -> Value:
    return squeeze_13(data, ints(*axes) if axes else None)


@onnx_op("Squeeze", since=13)
def squeeze_13(data: Value, axes: Value | None) -> Value:
    if axes is None:
        return build.squeeze(data)
    for axis in () if axes.constant is None else axes.constant.ravel().tolist():
        if 1 not in (dim := size_along(data, axis)):
            # The operator of IR keeps such an axis.
            raise ShapeError(f"axis {axis} of the input has size", actual=dim, expected=1, code=Code.dims_differ)
    return build.squeeze(data, axes)


@onnx_op("Unsqueeze", since=1)
def unsqueeze_1(data: Value, *, axes: Ints, call: Call) -> Value:
    return unsqueeze_13(data, ints(*axes), call=call)


@onnx_op("Unsqueeze", since=13)
def unsqueeze_13(data: Value, axes: Value, *, call: Call) -> Value:
    if 0 in axes.shape.size and not axes.shape.is_static:
        call.assume()
    # The operator of IR does not accept empty axes, which converters of einsum write.
    return data if axes.shape.size == 0 else build.unsqueeze(data, axes)


@onnx_op("Expand", since=8)
def expand(data: Value, shape: Value) -> Value:
    return build.broadcast(data, as_vector(shape), mode="bidirectional")


@onnx_op("Tile", since=1)
def tile_1(data: Value, tiles: Value, axis: Value) -> Value:
    """Repeat along one axis."""
    rank = known_rank(data, "the input")
    counts = build.scatter_elements_update(ints(*[1] * rank), as_i64(reshape(axis, 1)), as_i64(reshape(tiles, 1)), 0)
    return build.tile(data, counts)


@onnx_op("Tile", since=6)
def tile(data: Value, repeats: Value) -> Value:
    return build.tile(data, repeats)


def _index(value: Value) -> Value:
    return value if value.element_type in (ElementType.i32, ElementType.i64) else as_i64(value)


@onnx_op("Slice", since=1)
def slice_1(data: Value, *, starts: Ints, ends: Ints, axes: Ints | None) -> Value:
    steps = ints(*[1] * len(starts))
    axes = tuple(range(len(starts))) if axes is None else axes
    return build.slice(data, ints(*starts), ints(*ends), steps, ints(*axes))


@onnx_op("Slice", since=10)
def slice_10(data: Value, starts: Value, ends: Value, axes: Value | None, steps: Value | None) -> Value:
    if steps is None:
        steps = build.broadcast(build.constant(np.ones((), starts.element_type.dtype)), shape_of(starts))
    if axes is None:
        return build.slice(data, starts, ends, steps)
    return build.slice(data, starts, ends, steps, axes)


@onnx_op("Split", since=(1, 2))
def split_1(data: Value, split: Value | None, *, axis: int = 0, split_: Ints, call: Call) -> list[Value]:
    """The sizes are an attribute, or in version 1 an input."""
    return _split(data, axis, ints(*split_) if split_ else split, call.outputs)


@onnx_op("Split", since=(13, 18))
def split(
    data: Value, split: Value | None, *, axis: int, num_outputs: int | None, call: Call, since: int
) -> list[Value]:
    """Without sizes all outputs have equal sizes, since version 18 except a smaller last one."""
    count = num_outputs if num_outputs is not None else call.outputs
    if count != call.outputs:
        raise InvalidAttributeError(
            "num_outputs is", actual=count, expected=call.outputs, reason="the outputs of the node"
        )
    if since < 18 or split is not None or _divides(data, axis, count):
        return _split(data, axis, split, count)
    size = build.gather(shape_of(data), axis, 0)
    each = build.divide(build.add(size, count - 1), count)
    last = build.subtract(size, build.multiply(each, count - 1))
    sizes = concat([*[build.unsqueeze(each, 0)] * (count - 1), build.unsqueeze(last, 0)])
    return _split(data, axis, sizes, count)


def _divides(data: Value, axis: int, count: int) -> bool:
    dim = size_along(data, axis)
    return dim.is_static and dim.size % count == 0


def _split(data: Value, axis: int, sizes: Value | None, count: int) -> list[Value]:
    if sizes is None:
        if count == 1:
            return [data]
        return list(build.split(data, axis, num_splits=count))
    if sizes.shape.dims is None or not sizes.shape.is_static:
        # One size for each output of the node.
        sizes = reshape(sizes, count)
    parts = build.variadic_split(data, axis, sizes)
    return [parts] if isinstance(parts, Value) else list(parts)


@onnx_op("Pad", since=1)
def pad_1(data: Value, *, paddings: Ints, mode: str, value: float) -> Value:
    return pad_2(data, pads=paddings, mode=mode, value=value)


@onnx_op("Pad", since=2)
def pad_2(data: Value, *, pads: Ints, mode: str, value: float) -> Value:
    return pad_axes(data, ints(*pads), number(value, data), None, mode)


@onnx_op("Pad", since=(11, 18))
def pad(data: Value, pads: Value, constant_value: Value | None, axes: Value | None, *, mode: str, since: int) -> Value:
    """Version 19 introduced the mode wrap, which exporters already write for 18."""
    return pad_axes(data, pads, constant_value, axes, mode, wraps=since >= 18)


def pad_axes(
    data: Value, pads: Value, fill: Value | None, axes: Value | None, mode: str, *, wraps: bool = False
) -> Value:
    """Pads for `axes`, or for all axes: at the beginnings, then at the ends."""
    way = "wrap" if wraps and mode == "wrap" else chosen("mode", mode, _PAD_MODES)
    rank = known_rank(data, "the input")
    begins, ends = build.split(as_vector(pads), 0, num_splits=2)
    if axes is not None:
        if axes.rank is not None and axes.shape.is_static and axes.shape.static == (0,):
            return data
        zeros = build.constant(np.zeros(rank, np.int64))
        begins = build.scatter_elements_update(zeros, axes, as_i64(begins), 0)
        ends = build.scatter_elements_update(zeros, axes, as_i64(ends), 0)
    if way == "wrap":
        return _wrap(data, begins, ends, rank)
    if way != "constant":
        return build.pad(data, begins, ends, pad_mode=way)
    fill = number(0, data) if fill is None else build.squeeze(fill) if fill.rank != 0 else fill
    return build.pad(data, begins, ends, fill, pad_mode=way)


def _wrap(data: Value, begins: Value, ends: Value, rank: int) -> Value:
    """Pad with elements from the opposite end of each axis, after negative pads are removed."""
    begins, ends = as_i64(begins), as_i64(ends)
    zero = number(0, begins)
    if any(pads.constant is None or pads.constant.min() < 0 for pads in (begins, ends)):
        data = build.pad(data, build.minimum(begins, zero), build.minimum(ends, zero), pad_mode="constant")
    for axis in range(rank):
        size = build.gather(shape_of(data), axis, 0)
        start = build.negative(build.gather(build.maximum(begins, zero), axis, 0))
        stop = build.add(size, build.gather(build.maximum(ends, zero), axis, 0))
        places = build.floor_mod(build.range(start, stop, 1, output_type="i64"), size)
        data = build.gather(data, places, axis)
    return data


@onnx_op("DepthToSpace", since=(1, 11))
def depth_to_space(data: Value, *, blocksize: int, mode: str) -> Value:
    if mode not in ("DCR", "CRD"):
        raise InvalidAttributeError("mode is", actual=repr(mode), expected="DCR or CRD")
    return build.depth_to_space(data, block_size=blocksize, mode="blocks_first" if mode == "DCR" else "depth_first")


@onnx_op("SpaceToDepth", since=(1, 28))
def space_to_depth(data: Value, *, blocksize: int, mode: str) -> Value:
    if mode not in ("DCR", "CRD"):
        raise InvalidAttributeError("mode is", actual=repr(mode), expected="DCR or CRD")
    return build.space_to_depth(data, block_size=blocksize, mode="blocks_first" if mode == "DCR" else "depth_first")


@onnx_op("ReverseSequence", since=10)
def reverse_sequence(data: Value, sequence_lens: Value, *, batch_axis: int, time_axis: int) -> Value:
    return build.reverse_sequence(data, sequence_lens, batch_axis=batch_axis, seq_axis=time_axis)


@onnx_op("Compress", since=9)
def compress(data: Value, condition: Value, *, axis: int | None) -> Value:
    """The slices at indices with a true condition; a condition may be shorter than the axis."""
    if axis is None:
        data, axis = reshape(data, -1), 0
    places = build.squeeze(build.non_zero(condition, output_type="i64"), 0)
    return checked_gather(data, places, axis)


@onnx_op("Trilu", since=14)
def trilu(data: Value, k: Value | None, *, upper: bool) -> Value:
    """Keep the elements on one side of the diagonal `k`, and the diagonal."""
    sizes = shape_of(data)
    rows = build.range(0, build.gather(sizes, -2, 0), 1, output_type="i64")
    columns = build.range(0, build.gather(sizes, -1, 0), 1, output_type="i64")
    shift = build.constant(np.int64(0)) if k is None else as_i64(build.squeeze(k) if k.rank != 0 else k)
    diagonal = build.add(build.unsqueeze(rows, 1), shift)
    compared = build.greater_equal if upper else build.less_equal
    is_retained = compared(build.unsqueeze(columns, 0), diagonal)
    zero = build.constant(np.zeros((), data.element_type.dtype))
    return build.select(is_retained, data, zero)


@onnx_op("CenterCropPad", since=18)
def center_crop_pad(data: Value, shape: Value, *, axes: Ints | None) -> Value:
    """Crop or pad the axes to these sizes, equally at both ends."""
    rank = known_rank(data, "the input")
    for position, axis in enumerate(range(rank) if axes is None else [normal_axis(axis, rank) for axis in axes]):
        target = build.gather(as_i64(shape), ints(position), 0)
        size = build.gather(shape_of(data), ints(axis), 0)
        zero = ints(0)
        cut = build.maximum(build.subtract(size, target), zero)
        begin = build.divide(cut, ints(2))
        data = build.slice(data, begin, build.add(begin, build.minimum(size, target)), ints(1), ints(axis))
        lacking = build.maximum(build.subtract(target, size), zero)
        before = build.divide(lacking, ints(2))
        begins = build.scatter_elements_update(ints(*[0] * rank), ints(axis), before, 0)
        ends = build.scatter_elements_update(ints(*[0] * rank), ints(axis), build.subtract(lacking, before), 0)
        data = build.pad(data, begins, ends, number(0, data), pad_mode="constant")
    return data
