"""Layers that move elements: Concat, Split, Permute, Crop, Tile, Pad, StridedSlice, Gather and others."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ir_exec import build
from ir_exec.build import Value
from ir_exec.codes import Code
from ir_exec.errors import InvalidAttributeError, ShapeError
from ir_exec.older.call import LayerCall
from ir_exec.older.registry import older_layer
from ir_exec.older.values import (
    as_integers,
    as_number,
    axis_of,
    cast,
    dims_of,
    known_integers,
    number,
    of_one_type,
    rank_of,
    vector,
)
from ir_exec.types import ElementType

__all__: list[str] = []


@older_layer("Concat")
def concat(layer: LayerCall, *parts: Value) -> Value:
    """Concatenate the inputs along `axis`."""
    if not parts:
        raise ShapeError(
            "the layer has", actual=0, detail="inputs", expected="1 or more", code=Code.wrong_number_of_inputs
        )
    return build.concat(of_one_type(parts), axis_of(layer.integer("axis", 1), parts[0]))


@older_layer("Split", "Slice")
def split(layer: LayerCall, data: Value, _axis: Value | None = None) -> Sequence[Value]:
    """Slices along `axis`: of `out_sizes` elements, with ends at `slice_point`, of the declared sizes, or equal."""
    dims = dims_of(data)
    axis = axis_of(layer.integer("axis", 1), data)
    count = max(len(layer.layer.outputs), 1)
    sizes = layer.integers("out_sizes", ()) or _slice_sizes(layer, dims[axis])
    if not sizes:
        declared = [layer.declared_dims(position) for position in range(count)]
        if all(port_dims is not None and len(port_dims) == len(dims) for port_dims in declared):
            sizes = tuple([port_dims[axis] for port_dims in declared if port_dims is not None])
        else:
            sizes = (dims[axis] // count,) * count
    if sum(sizes) != dims[axis] or min(sizes) < 0:
        raise ShapeError(
            "the sizes are",
            actual=", ".join(map(str, sizes)),
            expected=f"the sum {dims[axis]}",
            reason=f"the size of axis {axis}",
            code=Code.dims_differ,
        )
    if len(sizes) != count:
        raise ShapeError(
            "the layer has",
            actual=len(sizes),
            detail="sizes",
            expected=count,
            reason="one for each output",
            code=Code.too_many_outputs,
        )
    parts = build.variadic_split(data, vector(axis), vector(*sizes))
    return [parts] if isinstance(parts, Value) else list(parts)


def _slice_sizes(layer: LayerCall, size: int) -> tuple[int, ...]:
    points = layer.integers("slice_point", ()) or layer.integers("slice_points", ())
    return tuple([end - start for start, end in pairwise((0, *points, size))]) if points else ()


@older_layer("Permute")
def permute(layer: LayerCall, data: Value) -> Value:
    """Axis i of the output is axis order[i] of the input."""
    order = layer.integers("order")
    if sorted(order) != list(range(rank_of(data))):
        raise InvalidAttributeError(
            "order is",
            actual=list(order),
            expected=f"a permutation of {rank_of(data)} axes",
            code=Code.invalid_attribute,
        )
    return build.transpose(data, vector(*order))


@older_layer("Crop")
def crop(layer: LayerCall, data: Value, like: Value | None = None) -> Value:
    """Elements from `offset`, as many as `dim` or the second input has; or without `crop_begin` and `crop_end`.

    Source: CropValidator, ie_crop_shape_infer.hpp.
    """
    dims = dims_of(data)
    axes = [axis_of(axis, data) for axis in layer.integers("axis")]
    begins = layer.integers("crop_begin", ()) or layer.integers("offset", (0,) * len(axes))
    if like is not None:
        other = dims_of(like)
        sizes = [other[axis] for axis in axes]
    elif layer.has("dim"):
        sizes = list(layer.integers("dim"))
    elif layer.has("crop_end"):
        pairs = zip(axes, begins, layer.integers("crop_end"), strict=False)
        sizes = [dims[axis] - begin - end for axis, begin, end in pairs]
    else:
        declared = layer.declared_dims() or dims
        sizes = [declared[axis] for axis in axes]
    if not len(axes) == len(begins) == len(sizes):
        raise InvalidAttributeError(
            "the numbers of axes, offsets and sizes are",
            actual=f"{len(axes)}, {len(begins)} and {len(sizes)}",
            expected="equal numbers",
            code=Code.invalid_attribute,
        )
    for axis, begin, size in zip(axes, begins, sizes, strict=True):
        if begin < 0 or size < 0 or begin + size > dims[axis]:
            message = f"elements {begin} to {begin + size} are outside axis {axis}, which has size {dims[axis]}"
            raise ShapeError(message, code=Code.dims_differ)
    stops = [begin + size for begin, size in zip(begins, sizes, strict=True)]
    return build.slice(data, vector(*begins), vector(*stops), vector(*[1] * len(axes)), vector(*axes))


@older_layer("Tile")
def tile(layer: LayerCall, data: Value) -> Value:
    """`tiles` copies along `axis`."""
    axis, tiles = axis_of(layer.integer("axis"), data), layer.integer("tiles")
    if tiles < 1:
        raise InvalidAttributeError("tiles is", actual=tiles, expected="1 or more", code=Code.invalid_attribute)
    return build.tile(data, vector(*[tiles if position == axis else 1 for position in range(rank_of(data))]))


_PAD_MODES = {mode: mode for mode in ("constant", "edge", "reflect", "symmetric")}


@older_layer("Pad")
def pad(layer: LayerCall, data: Value) -> Value:
    """Pad each axis at the beginning and the end.

    Source: PadValidator.
    """
    begins, ends = layer.integers("pads_begin"), layer.integers("pads_end")
    mode = layer.choice("pad_mode", _PAD_MODES, "constant")
    value = number(layer.number("pad_value", 0.0), data)
    attributes: dict[str, Any] = {"pad_mode": mode}
    return build.pad(data, vector(*begins), vector(*ends), value, **attributes)


@older_layer("StridedSlice")
def strided_slice(layer: LayerCall, data: Value, begin: Value, end: Value, stride: Value | None = None) -> Value:
    """A range of each axis; the masks default to 1.

    Source: StridedSliceValidator, strided_slice.cpp.
    """
    count = len(known_integers(begin, "begin"))
    bounds = [as_integers(bound) for bound in (begin, end, *([stride] if stride is not None else []))]
    masks: dict[str, Any] = {
        name: _bits(layer, name) for name in ("new_axis_mask", "shrink_axis_mask", "ellipsis_mask")
    }
    for name in ("begin_mask", "end_mask"):
        # In these files 1 means that the bound is used; in current files, that it is ignored.
        bits = [1 - bit for bit in _bits(layer, name)]
        masks[name] = (*bits, *[0] * max(0, count - len(bits)))
    result = build.strided_slice(data, *[cast(bound, ElementType.i64) for bound in bounds], **masks)
    return build.unsqueeze(result, vector(0)) if result.rank == 0 and layer.declared_dims() == (1,) else result


def _bits(layer: LayerCall, name: str) -> tuple[int, ...]:
    """A mask: each 0 and 1 of the text; separators are ignored."""
    return tuple([int(digit) for digit in layer.text(name, "") if digit in "01"])


@older_layer("Gather")
def gather(layer: LayerCall, data: Value, indices: Value) -> Value:
    """Slices of the data along `axis`. No version has the inputs in reverse order, indices first."""
    axis = axis_of(layer.integer("axis", 0), data)
    return build.gather(data, as_integers(indices), vector(axis), opset=1)


@older_layer("GatherTree")
def gather_tree(layer: LayerCall, step_ids: Value, parents: Value, lengths: Value, end: Value) -> Value:
    """The beams of a beam search from their steps and parents."""
    end = build.reshape(end, build.constant(np.empty(0, np.int64)), special_zero=False)
    return build.gather_tree(*of_one_type([step_ids, parents, lengths, end]))


@older_layer("ScatterUpdate")
def scatter_update(layer: LayerCall, data: Value, indices: Value, updates: Value) -> Value:
    """The data with slices along `axis` replaced."""
    axis = axis_of(layer.integer("axis", 0), data)
    return build.scatter_update(data, as_integers(indices), updates, vector(axis))


@older_layer("DepthToSpace")
def depth_to_space(layer: LayerCall, data: Value) -> Value:
    """Depth to space: the blocks are the slowest part of the channels.

    Source: depth_to_space.cpp.
    """
    return build.depth_to_space(data, mode="blocks_first", block_size=layer.integer("block_size", 1))


@older_layer("SpaceToDepth")
def space_to_depth(layer: LayerCall, data: Value) -> Value:
    """Space to depth, the inverse of DepthToSpace."""
    return build.space_to_depth(data, mode="blocks_first", block_size=layer.integer("block_size", 1))


@older_layer("ShuffleChannels")
def shuffle_channels(layer: LayerCall, data: Value) -> Value:
    """Interleave the channels of all groups."""
    return build.shuffle_channels(data, axis=layer.integer("axis", 1), group=layer.integer("group", 1))


@older_layer("ReverseSequence")
def reverse_sequence(layer: LayerCall, data: Value, lengths: Value) -> Value:
    """Reverse the beginning of each sequence."""
    attributes: dict[str, Any] = {
        "batch_axis": layer.integer("batch_axis", 0),
        "seq_axis": layer.integer("seq_axis", 1),
    }
    return build.reverse_sequence(data, as_integers(lengths), **attributes)


@older_layer("OneHot")
def one_hot(layer: LayerCall, indices: Value) -> Value:
    """`on_value` at the index along a new axis, `off_value` elsewhere."""
    on, off = as_number(layer.number("on_value", 1.0)), as_number(layer.number("off_value", 0.0))
    depth, axis = layer.integer("depth"), layer.integer("axis", -1)
    return build.one_hot(as_integers(indices), build.constant(np.int64(depth)), on, off, axis)


@older_layer("Broadcast")
def broadcast(layer: LayerCall, data: Value, dims: Value) -> Value:
    """The data repeated along axes of size 1."""
    return build.broadcast(data, as_integers(dims))


@older_layer("Expand")
def expand(layer: LayerCall, data: Value, dims: Value | None = None) -> Value:
    """The data repeated along axes of size 1, to the declared dims."""
    target = as_integers(dims) if dims is not None else vector(*(layer.declared_dims() or dims_of(data)))
    return build.broadcast(data, target)


@older_layer("Fill")
def fill(layer: LayerCall, dims: Value, value: Value) -> Value:
    """A tensor of these dims filled with one number."""
    scalar = build.reshape(value, build.constant(np.empty(0, np.int64)), special_zero=False)
    return build.broadcast(scalar, as_integers(dims))


@older_layer("Range")
def range_(layer: LayerCall, start: Value, stop: Value, step: Value) -> Value:
    """Numbers from start to stop, exclusive."""
    values = of_one_type([start, stop, step])
    element_type = values[0].element_type
    scalar = build.constant(np.empty(0, np.int64))
    first, last, by = (build.reshape(value, scalar, special_zero=False) if value.rank else value for value in values)
    return build.range(first, last, by, output_type=element_type.name)
