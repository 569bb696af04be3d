"""Lowerings of pooling."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from ir_exec.kernels.precision import type_limits
from ir_exec.onnx.export.algebra import I64, Expr, concat, convert_output, input_tensors, widen
from ir_exec.onnx.export.ops.convolution import sizes_of
from ir_exec.onnx.export.registry import export
from ir_exec.ops.pooling.adaptive import AdaptiveAvgPool, AdaptiveMaxPool
from ir_exec.ops.pooling.windows import AvgPool1, AvgPool14, AvgPool16, MaxPool1, MaxPool8, MaxPool14, _element_counts
from ir_exec.types import ElementType

if TYPE_CHECKING:
    from ir_exec.onnx.export.node import ExportNode

_MAX_TYPES = {np.dtype(dtype) for dtype in (np.float32, np.float64, np.float16, np.int8, np.uint8)}


def _static_pads(node: ExportNode) -> list[tuple[int, int]] | None:
    """The padding with which windows end at the end of the padded data; None if it depends on unknown sizes."""
    op, sizes = node.op, sizes_of(node, 0, 2)
    if sizes is None or None in sizes:
        if op._same or op.rounding_type != "floor":
            return None
        return list(op._explicit_pads(len(op.kernel_sizes)))
    axes = op._sliding((1, 1, *sizes))
    pads = []
    for axis in axes:
        extent = (axis.kernel - 1) * axis.dilation + 1
        end = (axis.count - 1) * axis.stride + extent - axis.size - axis.pad
        pads.append((axis.pad, max(end, 0)))
    return pads


def _attributes(node: ExportNode) -> dict[str, Any]:
    op = node.op
    attributes: dict[str, Any] = {"kernel_shape": list(op.kernel_sizes), "strides": list(op.strides)}
    if any(dilation != 1 for dilation in op._spacing):
        attributes["dilations"] = list(op._spacing)
    return attributes


def _pad_spatial(node: ExportNode, data: Expr, value: Any) -> tuple[Expr, list[Expr], list[Expr]]:
    """Data padded along each spatial axis by sizes computed at run time, and the padding before and after it."""
    op, rank = node.op, len(node.op.kernel_sizes)
    begins: list[Expr] = []
    ends: list[Expr] = []
    for axis in range(rank):
        size, stride, extent = data.dim(2 + axis), op.strides[axis], op._extent(axis).size
        if op._same:
            needed = ((size + (stride - 1)) // stride * stride - stride + extent - size).at_least(0)
            less = needed // 2
            begin, end = (less, needed - less) if op.auto_pad == "same_upper" else (needed - less, less)
        else:
            first, last = op._explicit_pads(rank)[axis]
            begin, end = data.sheet.ints(first), data.sheet.ints(last)
            if op.rounding_type != "floor":
                room = size + (first + last - extent)
                steps = (room + (stride - 1)) // stride
                if op.rounding_type == "ceil_torch":
                    is_out = (steps * stride >= size + first).to(I64)
                    steps = (steps - is_out).at_least(0)
                end = (steps * stride + extent - size - first).at_least(0)
        begins.append(begin)
        ends.append(end)
    return data.pad([0, 0, *begins], [0, 0, *ends], value), begins, ends


def _fit(pads: list[tuple[int, int]] | None, kernel: tuple[int, ...]) -> bool:
    """Return True if pads are known and smaller than the windows, as onnxruntime requires."""
    return pads is not None and all(max(pad) < size for pad, size in zip(pads, kernel, strict=True))


@export(MaxPool1, MaxPool8, MaxPool14)
def max_pool(node: ExportNode) -> str | tuple[str, ...]:
    """MaxPool; of explicitly padded data for windows of padding only, or for unknown sizes."""
    op = node.op
    (data,) = input_tensors(node)
    if data.dtype in _MAX_TYPES:
        dtype = data.dtype
    else:
        element = ElementType.of_dtype(data.dtype)
        dtype = np.dtype(np.float32 if element.bits <= 16 else np.float64)
    real = data.to(dtype)
    if dtype.kind == "f" and not node.writer.finite:
        # NaN and -inf are never the maximum.
        lowest = type_limits(dtype)[0]
        real = real.call("IsNaN", dtype=np.bool_).where(lowest, real).at_least(lowest)
    pads = _static_pads(node)
    indices_wanted = not isinstance(op, MaxPool1)
    attributes = _attributes(node)
    begins: list[Expr] | None = None
    if _fit(pads, op.kernel_sizes):
        assert pads is not None
        attributes["pads"] = [pad[0] for pad in pads] + [pad[1] for pad in pads]
        pooled = real
    else:
        pooled, begins, _ = _pad_spatial(node, real, type_limits(dtype)[0])
    sheet = data.sheet
    if not indices_wanted:
        return convert_output(pooled.call("MaxPool", **attributes), data.dtype).name
    values, indices = sheet.emit("MaxPool", pooled.name, dtypes=[dtype, I64], **attributes)
    if begins is not None:
        indices = _to_unpadded_indices(node, indices, pooled, data, begins)
    axis = op.axis % (len(op.kernel_sizes) + 2)
    size = data.call("Shape", dtype=I64, start=axis).call("ReduceProd", keepdims=1).at_least(1)
    return convert_output(values, data.dtype).name, (indices % size).to(op.index_element_type.dtype).name


def _to_unpadded_indices(node: ExportNode, indices: Expr, padded: Expr, data: Expr, begins: list[Expr]) -> Expr:
    """Indices in padded data as indices in the data; windows of padding only have the first index of a channel."""
    remaining, factor, sheet = indices, data.sheet.ints(1), data.sheet
    total, exists = sheet.constant(0, I64), sheet.constant(True)
    for axis in reversed(range(len(begins))):
        size, own = padded.dim(2 + axis), data.dim(2 + axis)
        coordinate = (remaining % size - begins[axis]).at_least(0).at_most(own - 1)
        remaining = remaining // size
        total = total + coordinate * factor
        factor = factor * own
        starts = sheet.arange(indices.dim(2 + axis)) * node.op.strides[axis] - begins[axis]
        within = (starts < own) & (starts + (node.op._extent(axis).size - 1) >= 0)
        exists = exists & within.reshape(-1, *[1] * (len(begins) - axis - 1))
    return exists.where(total, 0) + remaining * factor


@export(AvgPool1, AvgPool14, AvgPool16)
def avg_pool(node: ExportNode) -> str:
    """AveragePool; sums divided by counts of elements if windows extend beyond the padded data."""
    op = node.op
    (data,) = input_tensors(node)
    is_integer = ElementType.of_dtype(data.dtype).is_integer
    real = widen(data)
    if is_integer:
        real = data.to(np.float32 if ElementType.of_dtype(data.dtype).bits <= 16 else np.float64)
    attributes = _attributes(node)
    if "dilations" in attributes and node.opset < 19:
        node.refuse("dilations of AveragePool require opset 19 of ONNX")
    pads, rank = _static_pads(node), len(op.kernel_sizes)
    explicit = op._explicit_pads(rank)
    plain = op.rounding_type == "floor" and not op._same
    is_padded = op._same or any(map(any, explicit))
    sizes = sizes_of(node, 0, 2)
    if plain and _fit(pads, op.kernel_sizes):
        assert pads is not None
        # Padding counts wherever there is any: in windows that fit, AveragePool counts it too.
        attributes["pads"] = [pad[0] for pad in explicit] + [pad[1] for pad in explicit]
        means = real.call("AveragePool", count_include_pad=int(not op.exclude_pad and is_padded), **attributes)
    else:
        padded, begins, ends = _pad_spatial(node, real, 0)
        means = padded.call("AveragePool", **attributes)
        if op.exclude_pad or not is_padded:
            means = means * _shares(node, real, attributes, sizes)
        elif op._same:
            # Without padding no elements need to be counted; all windows are then complete.
            total = concat([*begins, *ends], 0).sum([0])
            means = (total > 0).where(means, means * _shares(node, real, attributes, sizes))
    if is_integer:
        means = means.rint()
    return convert_output(means, data.dtype).name


def _shares(node: ExportNode, real: Expr, attributes: dict[str, Any], sizes: list[int | None] | None) -> Expr:
    """The ratio of the size of a complete window to the number of elements of each window."""
    op = node.op
    if sizes is not None and None not in sizes:
        counts = _element_counts(op._sliding((1, 1, *sizes)))
        return real.sheet.constant((prod(op.kernel_sizes) / counts).astype(real.dtype))
    ones = real.sheet.zeros(real.sheet.ints(1, 1, real.call("Shape", dtype=I64, start=2)), real.dtype, 1)
    padded, _, _ = _pad_spatial(node, ones, 0)
    share = padded.call("AveragePool", **attributes)
    return 1 / share.at_least(1 / prod(op.kernel_sizes))


def _windows(node: ExportNode, data: Expr, counts: Expr, axis: int) -> tuple[Expr, Expr, Expr]:
    """The elements of the windows of an axis, [count, longest], short ones padded; their mask; their lengths."""
    sheet = data.sheet
    size, count = data.dim(axis), counts.slice(0, axis - 2, axis - 1)
    numbers = sheet.arange(count)
    starts = numbers * size // count
    stops = ((numbers + 1) * size + (count - 1)) // count
    lengths = (stops - starts).reshape(-1, 1)
    longest = sheet.arange(lengths.max([0, 1]).reshape(1))
    elements = starts.reshape(-1, 1) + longest
    last = (stops - 1).reshape(-1, 1)
    return elements.at_most(last), elements <= last, lengths


@export(AdaptiveAvgPool)
def adaptive_avg_pool(node: ExportNode) -> str:
    """Means of gathered windows, axis by axis; AveragePool if the windows are equal."""
    data, counts = input_tensors(node)
    is_integer = ElementType.of_dtype(data.dtype).is_integer
    real = data.to(np.float64) if is_integer else widen(data)
    rank = _rank(node)
    kernel = _alike(node)
    if kernel is not None and not is_integer:
        if all(size == 1 for size in kernel[1]):
            return real.call("GlobalAveragePool").to(data.dtype).name
        return real.call("AveragePool", kernel_shape=kernel[0], strides=kernel[0]).to(data.dtype).name
    counts = counts.to(I64)
    result = real
    for axis in range(2, rank):
        elements, exists, lengths = _windows(node, result, counts, axis)
        behind = [1] * (rank - axis - 1)
        gathered = result.gather(elements, axis) * exists.to(real.dtype).reshape(exists.shape(), *behind)
        result = gathered.sum([axis + 1], keep=False) / lengths.to(real.dtype).reshape(-1, *behind)
    return convert_output(result.rint() if is_integer else result, data.dtype).name


def _rank(node: ExportNode) -> int:
    rank = node.types[0].rank
    if rank is None:
        node.refuse("the rank of data is unknown")
    return rank


def _alike(node: ExportNode) -> tuple[list[int], list[int]] | None:
    """The size of the windows and their number, if all are equal on each axis; else None."""
    counts, sizes = node.known(1), sizes_of(node, 0, 2)
    if counts is None:
        return None
    numbers = [int(count) for count in counts.ravel()]
    if sizes is None or None in sizes:
        return ([], numbers) if sizes is not None and numbers and all(number == 1 for number in numbers) else None
    if not all(count and size and size % count == 0 for size, count in zip(sizes, numbers, strict=True)):
        return None
    return [(size or 0) // count for size, count in zip(sizes, numbers, strict=True)], numbers


@export(AdaptiveMaxPool)
def adaptive_max_pool(node: ExportNode) -> tuple[str, ...]:
    """The maximum of gathered windows, the last axis first: of equal elements the first is selected."""
    data, counts = input_tensors(node)
    rank, sheet = _rank(node), data.sheet
    values, counts = widen(data), counts.to(I64)
    sizes = data.call("Shape", dtype=I64, start=2)
    total = sizes.call("ReduceProd", keepdims=1)
    places = sheet.arange(total).call("Reshape", sizes, allowzero=1).expand_to(data.shape())
    for axis in reversed(range(2, rank)):
        elements, _, _ = _windows(node, values, counts, axis)
        apart = values.gather(elements, axis)
        which = apart.argmax(axis + 1)
        values = apart.take_along(which, axis + 1).squeeze(axis + 1)
        places = places.gather(elements, axis).take_along(which, axis + 1).squeeze(axis + 1)
    return convert_output(values, data.dtype).name, places.to(node.op.index_element_type.dtype).name
