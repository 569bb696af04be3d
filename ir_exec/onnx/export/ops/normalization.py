"""Lowerings of normalizations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ir_exec.onnx.export.algebra import I64, Expr, convert_output, input_tensors, widen
from ir_exec.onnx.export.registry import export
from ir_exec.ops.base.dims import axes_of
from ir_exec.ops.normalization import (
    GRN,
    LRN,
    MVN1,
    MVN6,
    BatchNormInference1,
    BatchNormInference5,
    GroupNormalization,
    NormalizeL2,
)

if TYPE_CHECKING:
    from ir_exec.onnx.export.node import ExportNode


def rank_of(node: ExportNode, position: int = 0) -> int:
    """The rank of an input; refuses the layer if it is unknown."""
    rank = node.types[position].rank
    if rank is None:
        node.refuse(f"the rank of input {position} is unknown")
    return rank


def known_axes(node: ExportNode, position: int, rank: int) -> tuple[int, ...] | None:
    """The axes in an input as non-negative numbers; None if they are unknown."""
    axes = node.known(position)
    return None if axes is None else axes_of(axes, rank)


@export(BatchNormInference1, BatchNormInference5, inline=True)
def batch_norm(node: ExportNode) -> str:
    """BatchNormalization; floats without a kernel of onnxruntime are computed in f32."""
    values = input_tensors(node)
    order = (2, 0, 1, 3, 4) if isinstance(node.op, BatchNormInference1) else (0, 1, 2, 3, 4)
    data, *vectors = [widen(values[i]) for i in order]
    normalized = data.call("BatchNormalization", *vectors, epsilon=float(node.op.epsilon))
    return normalized.to(values[order[0]].dtype).name


@export(GroupNormalization)
def group_normalization(node: ExportNode) -> str:
    """InstanceNormalization of the groups as channels, then scale and bias."""
    data, scale, bias = input_tensors(node)
    wide = widen(data)
    rank, groups = rank_of(node), node.op.num_groups
    shape = data.shape()
    apart = wide.reshape(data.dim(0), groups, -1) if _has_elements(node) else wide.reshape(data.dim(0), groups, 0)
    ones, zeros = (wide.sheet.constant(np.full(groups, value, wide.dtype)) for value in (1, 0))
    if wide.dtype == np.float32 and _has_elements(node):
        normal = apart.call("InstanceNormalization", ones, zeros, epsilon=float(node.op.epsilon))
    else:
        centered = apart - apart.mean([2])
        normal = centered / ((centered * centered).mean([2]) + node.op.epsilon).sqrt()
    result = normal.call("Reshape", shape, allowzero=1)
    factors, terms = (widen(tensor).to(wide.dtype).reshape(-1, *[1] * (rank - 2)) for tensor in (scale, bias))
    return (result * factors + terms).to(data.dtype).name


def _has_elements(node: ExportNode) -> bool:
    dims = node.types[0].shape.dims
    return dims is not None and all(dim.lo > 0 or not dim.is_static for dim in dims)


@export(GRN)
def grn(node: ExportNode) -> str:
    (data,) = input_tensors(node)
    wide = widen(data)
    bias: float = node.op.bias
    return (wide / ((wide * wide).sum([1]) + bias).sqrt()).to(data.dtype).name


@export(NormalizeL2)
def normalize_l2(node: ExportNode) -> str:
    """The elements divided by the norm along axes; without axes 1, but 0 for an element of 0."""
    data, axes = input_tensors(node)
    wide = widen(data)
    constant_axes = known_axes(node, 1, rank_of(node))
    signs = (~wide.equals(0)).to(data.dtype)
    if constant_axes == ():
        return signs.name
    squares = wide * wide
    if constant_axes is not None:
        total = squares.sum(constant_axes)
    else:
        total = squares.call("ReduceSum", axes.to(I64).reshape(-1), keepdims=1, noop_with_empty_axes=1)
    eps = node.op.eps
    total = total + eps if node.op.eps_mode == "add" else total.at_least(eps)
    result = (wide / total.sqrt()).to(data.dtype)
    if constant_axes is not None:
        return result.name
    return axes.call("Size", dtype=I64).equals(0).where(signs, result).name


@export(LRN, slow_from=2**14)
def lrn(node: ExportNode) -> str:
    """LRN along the channels of images; else sums of shifted squares."""
    op, rank = node.op, rank_of(node)
    data, axes = input_tensors(node)
    wide, reach = widen(data), (node.op.size - 1) // 2
    constant_axes = known_axes(node, 1, rank)
    width = 2 * reach + 1
    if constant_axes == (1,) and rank == 4 and wide.dtype == np.float32:
        alpha = op.alpha * width / op.size
        return wide.call("LRN", size=width, alpha=alpha, beta=op.beta, bias=op.bias).to(data.dtype).name
    total = wide * wide
    for axis in range(rank) if constant_axes is None else constant_axes:
        sums = _sum_around(total, axis, reach, rank)
        if constant_axes is None:
            chosen = (axes.to(I64).equals(axis) | axes.to(I64).equals(axis - rank)).to(np.int32).max([0], keep=False)
            sums = chosen.to(np.bool_).where(sums, total)
        total = sums
    if constant_axes is None:
        count = axes.call("Size", dtype=I64).to(wide.dtype)
        share = wide.like(op.alpha) / (wide.like(op.size) ** count)
    else:
        share = wide.like(op.alpha / float(op.size) ** len(constant_axes))
    return convert_output(wide / ((total * share + op.bias) ** op.beta), data.dtype).name


def _sum_around(data: Expr, axis: int, reach: int, rank: int) -> Expr:
    """The sums of the elements at a distance of at most `reach` along an axis."""
    pads = [reach if i == axis else 0 for i in range(rank)]
    wide, size = data.pad(pads, pads), data.dim(axis)
    total = data
    for shift in range(2 * reach + 1):
        if shift != reach:
            total = total + wide.slice(axis, shift, size + shift)
    return total


@export(MVN1)
def mvn_1(node: ExportNode) -> str:
    (data,) = input_tensors(node)
    axes = node.op._axes(rank_of(node))
    return _center_and_scale(data, axes, None, node.op.eps if node.op.normalize_variance else None, True)


@export(MVN6)
def mvn_6(node: ExportNode) -> str:
    data, axes = input_tensors(node)
    constant_axes = known_axes(node, 1, rank_of(node))
    inside = node.op.eps_mode == "inside_sqrt"
    size = node.types[0].shape[-1] if node.rank() else None
    is_last = (
        constant_axes is not None and constant_axes == (rank_of(node) - 1,) and size is not None and size.is_static
    )
    if node.target == "onnxruntime" and is_last and inside and node.op.normalize_variance and data.dtype == np.float32:
        assert size is not None
        ones = data.sheet.constant(np.ones(size.size, np.float32))
        return data.call("LayerNormalization", ones, axis=-1, epsilon=float(node.op.eps)).name
    return _center_and_scale(data, constant_axes, axes, node.op.eps if node.op.normalize_variance else None, inside)


def _center_and_scale(
    data: Expr, constant_axes: tuple[int, ...] | None, axes: Expr | None, eps: float | None, inside: bool
) -> str:
    """The elements minus their mean, divided by their deviation unless eps is None.

    In this order of nodes onnxruntime's optimizer recognizes a LayerNormalization, including the following scale and
    bias.
    """

    def mean(tensor: Expr) -> Expr:
        if constant_axes is not None:
            return tensor.mean(constant_axes) if constant_axes else tensor
        assert axes is not None
        total = tensor.call("ReduceSum", axes.to(I64), keepdims=1, noop_with_empty_axes=1)
        return total * (
            total.call("Size", dtype=I64).to(tensor.dtype) / tensor.call("Size", dtype=I64).to(tensor.dtype)
        )

    wide = widen(data)
    centered = wide - mean(wide)
    if eps is None:
        return convert_output(centered, data.dtype).name
    variance = mean(centered**2)
    deviation = (variance + eps).sqrt() if inside else variance.sqrt() + eps
    return convert_output(centered / deviation, data.dtype).name
