"""Lowerings of convolutions."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from ir_exec.kernels.windows import SlidingAxis
from ir_exec.onnx.export.algebra import I64, Expr, convert_output, input_tensors, widen
from ir_exec.onnx.export.integers import convolve_integers
from ir_exec.onnx.export.registry import export
from ir_exec.ops.convolution.backprop import ConvolutionBackpropData, GroupConvolutionBackpropData
from ir_exec.ops.convolution.binary import BinaryConvolution
from ir_exec.ops.convolution.convolution import Convolution, GroupConvolution
from ir_exec.ops.convolution.deformable import DeformableConvolution1, DeformableConvolution8
from ir_exec.ops.infrastructure.values import Const
from ir_exec.types import ElementType, convert

if TYPE_CHECKING:
    from ir_exec.onnx.export.node import ExportNode


def sizes_of(node: ExportNode, position: int, skipped: int) -> list[int | None] | None:
    """The dims of an input after the skipped axes, None for unknown ones; None if the rank is unknown."""
    dims = node.types[position].shape.dims
    return None if dims is None else [dim.lo if dim.is_static else None for dim in dims[skipped:]]


def _spatial_rank(node: ExportNode) -> int:
    rank = node.op._spatial_rank(*node.types[:2])
    if rank is None:
        node.refuse("the number of spatial axes is unknown")
    return int(rank)


def pads_of(node: ExportNode, spatial_rank: int, kernel: list[int | None]) -> dict[str, Any]:
    """The padding attributes: pads, or auto_pad if pads depend on unknown sizes."""
    op, sizes = node.op, sizes_of(node, 0, 2)
    if not op._same:
        pads = op._explicit_pads(spatial_rank)
        return {"pads": [pad[0] for pad in pads] + [pad[1] for pad in pads]}
    if sizes is None or None in sizes or None in kernel:
        return {"auto_pad": op.auto_pad.upper()}
    steps = op._steps(spatial_rank)
    same_pads = [
        op._same_pads(size, ((count or 1) - 1) * dilation + 1, stride)
        for size, count, (stride, dilation) in zip(sizes, kernel, steps, strict=True)
    ]
    return {"pads": [pad[0] for pad in same_pads] + [pad[1] for pad in same_pads]}


def _same_pads(node: ExportNode, data: Expr, axis: int, kernel: int) -> tuple[Expr, Expr]:
    """The padding of `same_upper` and `same_lower` along a spatial axis of a size known only at run time."""
    stride, dilation = node.op._steps(2)[axis]
    size, extent = data.dim(2 + axis), (kernel - 1) * dilation + 1
    needed = ((size + (stride - 1)) // stride * stride - stride + extent - size).at_least(0)
    less = needed // 2
    return (less, needed - less) if node.op.auto_pad == "same_upper" else (needed - less, less)


def _crop_data(data: Expr, attributes: dict[str, Any]) -> Expr:
    """The data without the elements that negative pads remove."""
    pads = attributes.get("pads", [])
    if all(pad >= 0 for pad in pads):
        return data
    half = len(pads) // 2
    negative = [min(pad, 0) for pad in pads]
    attributes["pads"] = [max(pad, 0) for pad in pads]
    return data.pad([0, 0, *negative[:half]], [0, 0, *negative[half:]])


def _working(data: Expr, filters: Expr, terms: int) -> tuple[Expr, Expr]:
    """Data and filters in a float type in which products and sums are exact, or as exact as those of the operator."""
    element_type = ElementType.of_dtype(data.dtype)
    if element_type.is_float:
        wide = (
            data.dtype if element_type in (ElementType.f16, ElementType.f32, ElementType.f64) else np.dtype(np.float32)
        )
    else:
        wide = np.dtype(np.float32 if element_type.bits <= 8 and terms <= 256 else np.float64)
    return data.to(wide), filters.to(wide)


def _terms(node: ExportNode, axis: int) -> int:
    dims = node.types[1].shape.dims
    sizes = [1 << 30] if dims is None else [dim.lo if dim.is_static else 1 << 30 for dim in dims[axis:]]
    return prod(sizes)


def _merge_groups(node: ExportNode, filters: Expr, groups: int, spatial_rank: int) -> Expr:
    """Filters of groups, with the group axis and the next axis merged."""
    weights, shape_of_filters = node.known(1), node.dims(1)
    if node.writer.int8 and shape_of_filters.is_static and not _is_stored(node, 1):
        # The integers of the filters remain, which a known value does not have.
        return filters.call("Reshape", filters.sheet.ints(-1, *shape_of_filters.static[2:]))
    if weights is not None:
        return filters.sheet.constant(weights.reshape(-1, *weights.shape[2:]))
    shape = filters.sheet.ints(-1, filters.call("Shape", dtype=I64, start=2))
    return filters.call("Reshape", shape)


def _is_stored(node: ExportNode, position: int) -> bool:
    value = node.values[position]
    return value is not None and isinstance(value.node.op, Const)


@export(Convolution, GroupConvolution, inline=True)
def convolution(node: ExportNode) -> str:
    """Conv in the float type itself, ConvInteger, or Conv in a type in which integers are exact."""
    op, rank = node.op, _spatial_rank(node)
    data, filters = input_tensors(node)
    kernel: list[int | None] = sizes_of(node, 1, op.filter_axes) or [None] * rank
    attributes = pads_of(node, rank, kernel)
    groups = _groups(node) if isinstance(op, GroupConvolution) else 1
    if None not in kernel:
        attributes["kernel_shape"] = kernel
    steps = op._steps(rank)
    attributes |= {"strides": [step[0] for step in steps], "dilations": [step[1] for step in steps], "group": groups}
    product = convolve_integers(node, attributes)
    if product is not None:
        return convert_output(Expr(data.sheet, product, np.int32), data.dtype).name
    if isinstance(op, GroupConvolution):
        filters = _merge_groups(node, filters, groups, rank)
    wide, factors = _working(_crop_data(data, attributes), filters, _terms(node, op.filter_axes - 1))
    return convert_output(wide.call("Conv", factors, **attributes), data.dtype).name


def _groups(node: ExportNode) -> int:
    dims = node.types[1].shape.dims
    if dims is None or not dims[0].is_static:
        node.refuse("the number of groups is unknown")
    return int(dims[0].lo)


@export(ConvolutionBackpropData, GroupConvolutionBackpropData, inline=True)
def convolution_backprop(node: ExportNode) -> str:
    """ConvTranspose, followed by padding or cropping if its own pads cannot produce the size."""
    op, rank = node.op, _spatial_rank(node)
    data, filters, *shapes = input_tensors(node)
    groups = 1
    kernel: list[int | None] = sizes_of(node, 1, op.filter_axes) or [None] * rank
    terms = _terms(node, op.filter_axes)
    dims = node.types[1].shape.dims
    terms *= dims[op.filter_axes - 2].lo if dims is not None else 1 << 30
    if isinstance(op, GroupConvolutionBackpropData):
        groups = _groups(node)
        filters = _merge_groups(node, filters, groups, rank)
    wide, factors = _working(data, filters, terms)
    steps = op._steps(rank)
    attributes: dict[str, Any] = {"strides": [step[0] for step in steps], "dilations": [step[1] for step in steps]}
    attributes["group"] = groups
    if None not in kernel:
        attributes["kernel_shape"] = kernel
    ends = _static_ends(node, rank, kernel)
    if ends is not None and all(
        begin >= 0 and -end < step for (begin, end), (step, _) in zip(ends, steps, strict=True)
    ):
        attributes["pads"] = [begin for begin, _ in ends] + [max(end, 0) for _, end in ends]
        if any(end < 0 for _, end in ends):
            attributes["output_padding"] = [max(-end, 0) for _, end in ends]
        output = wide.call("ConvTranspose", factors, **attributes)
    else:
        full = wide.call("ConvTranspose", factors, **attributes)
        if ends is not None:
            output = full.pad([0, 0, *[-begin for begin, _ in ends]], [0, 0, *[-end for _, end in ends]])
        else:
            output = _fit_output_shape(node, full, shapes[0], rank)
    return convert_output(output, data.dtype).name


def _static_ends(node: ExportNode, rank: int, kernel: list[int | None]) -> list[tuple[int, int]] | None:
    """The elements that the output lacks at both ends of each full spatial axis; None if sizes determine it."""
    op = node.op
    more = op.output_padding or (0,) * rank
    explicit = op._explicit_pads(rank)
    if len(node.inputs) < 3:
        return [(begin, end - extra) for (begin, end), extra in zip(explicit, more, strict=True)]
    named, sizes = node.known(2), sizes_of(node, 0, 2)
    if named is None or sizes is None or None in sizes or None in kernel:
        return None
    axes: Sequence[SlidingAxis] = op._transposed_axes(sizes, kernel, [int(size) for size in named.ravel()])
    ends = []
    for axis in axes:
        full = (axis.count - 1) * axis.stride + (axis.kernel - 1) * axis.dilation + 1
        ends.append((axis.pad, full - axis.pad - axis.size))
    return ends


def _fit_output_shape(node: ExportNode, full: Expr, shape: Expr, rank: int) -> Expr:
    """The full output padded or cropped to an output_shape that is known only at run time."""
    op = node.op
    length = full.call("Shape", dtype=I64, start=2)
    target = shape.to(I64)
    if op._same:
        more = full.sheet.constant(np.array(op.output_padding or (0,) * rank, np.int64))
        surplus = (length - target + more).at_least(0)
        less = surplus // 2
        begin = surplus - less if op.auto_pad == "same_upper" else less
    else:
        begin = full.sheet.constant(np.array([pad[0] for pad in op._explicit_pads(rank)], np.int64))
    none = full.sheet.constant(np.zeros(2, np.int64))
    pads = none.call("Concat", -begin, none, target - length + begin, axis=0)
    return full.call("Pad", pads, full.sheet.constant(0, full.dtype), mode="constant")


@export(BinaryConvolution)
def binary_convolution(node: ExportNode) -> str:
    """A Conv with weights of 1 and -1."""
    op = node.op
    data = input_tensors(node)[0]
    kernel = sizes_of(node, 1, 2) or [None, None]
    signs = (data.to(np.float32) > 0).where(data.sheet.constant(1, np.float32), data.sheet.constant(-1, np.float32))
    attributes = pads_of(node, 2, kernel)
    if None in kernel:
        node.refuse("the size of the kernel is unknown")
    pads_begin: list[Expr | int] = []
    pads_end: list[Expr | int] = []
    if "pads" in attributes:
        pads_begin, pads_end = attributes["pads"][:2], attributes["pads"][2:]
    else:
        for axis in range(2):
            begin, end = _same_pads(node, data, axis, kernel[axis] or 1)
            pads_begin.append(begin)
            pads_end.append(end)
    (top, left), (bottom, right) = pads_begin, pads_end
    signs = signs.pad([0, 0, top, left], [0, 0, bottom, right], 1 if op.pad_value > 0 else -1)
    weights = node.known(1)
    if weights is not None:
        ones = np.where(convert(weights, ElementType.f32) > 0, np.float32(1), np.float32(-1))
        filters = data.sheet.constant(ones)
    else:
        numbers = input_tensors(node)[1].to(np.float32)
        filters = (numbers > 0).where(data.sheet.constant(1, np.float32), data.sheet.constant(-1, np.float32))
    strides, dilations = zip(*op._steps(2), strict=True)
    sums = signs.call("Conv", filters, strides=list(strides), dilations=list(dilations))
    return convert_output(sums, data.dtype).name


@export(DeformableConvolution1, DeformableConvolution8)
def deformable_convolution(node: ExportNode) -> str:
    """Interpolated samples, gathered and weighted, and their product with the filters."""
    op = node.op
    data, offsets, filters, *masks = input_tensors(node)
    kernel = sizes_of(node, 1, 0) and sizes_of(node, 2, 2)
    sheet, parts = data.sheet, op.deformable_group
    if kernel and None not in kernel:
        elements = sheet.ints(prod([size or 0 for size in kernel]))
        places_of_elements = [
            sheet.constant(index.reshape(-1, 1, 1)) for index in np.indices([size or 0 for size in kernel])
        ]
    elif op._same:
        node.refuse("the size of the kernel is unknown and auto_pad is set")
    else:
        width = filters.dim(3)
        elements = filters.dim(2) * width
        numbers = sheet.arange(elements).reshape(-1, 1, 1)
        places_of_elements = [numbers // width, numbers % width]
    real = data.to(np.float64) if ElementType.of_dtype(data.dtype).is_integer else widen(data)
    dtype = real.dtype
    batch, height, width = data.dim(0), data.dim(2), data.dim(3)
    counts = offsets.call("Shape", dtype=I64, start=2)
    images = real.reshape(batch, parts, data.dim(1) // parts, height * width)
    shifts = offsets.to(dtype).reshape(batch, parts, elements, 2, counts)
    pads: list[Expr | int] = [pad[0] for pad in op._explicit_pads(2)]
    if op._same:
        pads = [_same_pads(node, data, axis, (kernel or [1, 1])[axis] or 1)[0] for axis in range(2)]
    neighbors: list[list[tuple[Expr, Expr]]] = []
    inside: Expr | None = None
    for axis, size in enumerate((height, width)):
        stride, dilation = op._steps(2)[axis]
        of_element = places_of_elements[axis] * dilation
        window = sheet.arange(offsets.dim(2 + axis)) * stride
        window = window.reshape(-1, 1) if axis == 0 else window.reshape(1, -1)
        places = window + of_element - pads[axis]
        position = shifts.gather(axis, 3) + places.to(dtype)
        end = size.to(dtype)
        within = ((position > -1) if op._beyond else (position >= 0)) & (position < end)
        inside = within if inside is None else inside & within
        low = position.floor()
        share, first = position - low, low.to(I64)
        second = first + 1
        neighbors.append([])
        for index, weight in ((first, 1 - share), (second, share)):
            if op._beyond:
                exists = ((index >= 0) & (index < size)).to(dtype)
                weight = weight * exists
            clipped = index.at_least(0).at_most(size - 1)
            neighbors[-1].append((clipped, weight))
    assert inside is not None
    scale = inside.to(dtype)
    if masks:
        scale = scale * masks[0].to(dtype).reshape(batch, parts, elements, counts)
    total: Expr | None = None
    shape = images.shape()
    for (y, weight_y), (x, weight_x) in product(*neighbors):
        points = (y * width + x).reshape(batch, parts, 1, -1)
        spread = points.expand(shape.slice(0, 0, 3), points.dim(3))
        weights = inside.where(weight_y * weight_x, 0) * scale
        samples = images.take_along(spread, 3) * weights.reshape(batch, parts, 1, -1)
        total = samples if total is None else total + samples
    assert total is not None
    columns = total.reshape(batch, op.group, data.dim(1) // op.group * elements, -1)
    rows = filters.to(dtype).reshape(1, op.group, filters.dim(0) // op.group, filters.dim(1) * elements)
    result = (rows @ columns).reshape(batch, filters.dim(0), counts)
    return convert_output(result, data.dtype).name
