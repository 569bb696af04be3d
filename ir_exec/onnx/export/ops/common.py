"""Helpers shared by lowerings of several families: broadcasting, functions of real numbers, integer conversions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ir_exec.onnx.export.carriers import is_carried
from ir_exec.onnx.export.node import ExportNode
from ir_exec.types import ElementType

__all__ = ["aligned", "aligned_name", "narrow", "of_reals", "working", "working_kind"]


def aligned(node: ExportNode, position: int = 1, *, to: int = 0) -> str:
    """An operand of pdpd broadcasting, reshaped for ONNX's broadcasting; any other operand unchanged."""
    return aligned_name(node, node.inputs[position], position, to=to)


def aligned_name(node: ExportNode, name: str, position: int = 1, *, to: int = 0) -> str:
    """A tensor with the shape of an input, reshaped like the input in `aligned`."""
    if node.op.auto_broadcast != "pdpd" or node.op.axis == -1:
        return name
    rank, shape = node.known_rank(to), node.dims(position)
    if shape.dims is None:
        node.refuse("the rank of an input with pdpd broadcasting is unknown")
    kept = list(shape.dims)
    while kept and kept[-1].is_static and kept[-1].size == 1:
        kept.pop()
    after = rank - node.op.axis - len(kept)
    if not after and len(kept) == len(shape.dims):
        return name
    dims = [0] * len(kept) + [1] * after
    if all(dim.is_static for dim in kept):
        return node.reshape(name, [dim.size for dim in kept] + [1] * after)
    return node.reshape(name, dims)


def working_kind(kind: ElementType) -> ElementType:
    """The element type in which elements of this type are computed."""
    if kind.is_float:
        return kind if kind.bits >= 16 and kind is not ElementType.bf16 else ElementType.f32
    if kind.is_integer and kind.bits < 8:
        return ElementType.i8 if kind.is_signed else ElementType.u8
    return kind


def working(node: ExportNode, position: int) -> str:
    """An input in the working type of its elements."""
    kind = node.kind(position)
    name = node.inputs[position]
    if is_carried(kind, node.opset) and kind.is_float:
        return node.decoded(name, kind)
    return node.cast(name, working_kind(kind))


def narrow(node: ExportNode, value: str, kind: ElementType) -> str:
    """A result of a working type in the element type of the layer; integers of few bits wrap."""
    if node.code_of(value) == node.writer.code(kind) and not is_carried(kind, node.opset):
        return value
    if kind.is_integer and kind.bits < 8:
        wide = node.cast(value, ElementType.i32)
        full = 2**kind.bits
        wrapped = node.emit("Mod", wide, node.constant(full, ElementType.i32))
        if kind.is_signed:
            half = node.constant(full // 2, ElementType.i32)
            shifted = node.emit("Mod", node.emit("Add", wide, half), node.constant(full, ElementType.i32))
            wrapped = node.emit("Sub", shifted, half)
        small = node.cast(wrapped, ElementType.i8 if kind.is_signed else ElementType.u8)
        return node.cast(small, kind)
    if is_carried(kind, node.opset) and kind.is_float:
        node.refuse(f"opset {node.opset} has no element type {kind}")
    return node.cast(value, kind)


def of_reals(node: ExportNode, function: Callable[[str], str], *, kind: ElementType = ElementType.f64) -> str:
    """A real function of the first input; integers are converted for it, and its results are rounded.

    Args:
        kind: The element type to which integers are converted.
    """
    own = node.kind()
    if own.is_float:
        return narrow(node, function(working(node, 0)), own)
    real = node.cast(working(node, 0), kind)
    return rounded_to(node, function(real), kind, own)


def rounded_to(node: ExportNode, value: str, kind: ElementType, own: ElementType) -> str:
    """Real numbers rounded to the nearest integers of a type, saturated at its ends, 0 for NaN."""
    whole = node.emit("Round", value)
    zero = node.constant(0.0, kind)
    whole = node.emit("Where", node.emit("IsNaN", node.cast(value, ElementType.f32)), zero, whole)
    bits = own.bits
    low = -(2.0 ** (bits - 1)) if own.is_signed else 0.0
    high = 2.0 ** (bits - own.is_signed) - 1
    if bits == 64:
        high = float(np.nextafter(high + 1, 0))
    clipped = node.emit("Clip", whole, node.constant(low, kind), node.constant(high, kind))
    found = node.cast(clipped, working_kind(own))
    if not own.is_signed and bits > 8:
        # Negative numbers wrap.
        wrapped = node.cast(node.cast(whole, ElementType.i64), own)
        found = node.emit("Where", node.emit("Less", whole, zero), wrapped, found)
    return narrow(node, found, own)
