"""Helpers shared by lowerings of several families: broadcasting, functions of real numbers, integer conversions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ir_exec.onnx.export.carriers import is_carried
from ir_exec.onnx.export.node import ExportNode
from ir_exec.types import ElementType

__all__ = ["align_operand", "aligned_name", "narrow", "of_reals", "working", "working_type"]


def align_operand(node: ExportNode, position: int = 1, *, to: int = 0) -> str:
    """An operand of pdpd broadcasting, reshaped for ONNX's broadcasting; any other operand unchanged."""
    return aligned_name(node, node.inputs[position], position, to=to)


def aligned_name(node: ExportNode, name: str, position: int = 1, *, to: int = 0) -> str:
    """A tensor with the shape of an input, reshaped like the input in `align_operand`."""
    if node.op.auto_broadcast != "pdpd" or node.op.axis == -1:
        return name
    rank, shape = node.known_rank(to), node.dims(position)
    if shape.dims is None:
        node.refuse("the rank of an input with pdpd broadcasting is unknown")
    leading_dims = list(shape.dims)
    while leading_dims and leading_dims[-1].is_static and leading_dims[-1].size == 1:
        leading_dims.pop()
    after = rank - node.op.axis - len(leading_dims)
    if not after and len(leading_dims) == len(shape.dims):
        return name
    dims = [0] * len(leading_dims) + [1] * after
    if all(dim.is_static for dim in leading_dims):
        return node.reshape(name, [dim.size for dim in leading_dims] + [1] * after)
    return node.reshape(name, dims)


def working_type(element_type: ElementType) -> ElementType:
    """The element type in which elements of this type are computed."""
    if element_type.is_float:
        return element_type if element_type.bits >= 16 and element_type is not ElementType.bf16 else ElementType.f32
    if element_type.is_integer and element_type.bits < 8:
        return ElementType.i8 if element_type.is_signed else ElementType.u8
    return element_type


def working(node: ExportNode, position: int) -> str:
    """An input in the working type of its elements."""
    element_type = node.kind(position)
    name = node.inputs[position]
    if is_carried(element_type, node.opset) and element_type.is_float:
        return node.decoded(name, element_type)
    return node.cast(name, working_type(element_type))


def narrow(node: ExportNode, value: str, element_type: ElementType) -> str:
    """A result of a working type in the element type of the layer; integers of few bits wrap."""
    if node.code_of(value) == node.writer.code(element_type) and not is_carried(element_type, node.opset):
        return value
    if element_type.is_integer and element_type.bits < 8:
        wide = node.cast(value, ElementType.i32)
        full = 2**element_type.bits
        wrapped = node.emit("Mod", wide, node.constant(full, ElementType.i32))
        if element_type.is_signed:
            half = node.constant(full // 2, ElementType.i32)
            shifted = node.emit("Mod", node.emit("Add", wide, half), node.constant(full, ElementType.i32))
            wrapped = node.emit("Sub", shifted, half)
        small = node.cast(wrapped, ElementType.i8 if element_type.is_signed else ElementType.u8)
        return node.cast(small, element_type)
    if is_carried(element_type, node.opset) and element_type.is_float:
        node.refuse(f"opset {node.opset} has no element type {element_type}")
    return node.cast(value, element_type)


def of_reals(node: ExportNode, function: Callable[[str], str], *, element_type: ElementType = ElementType.f64) -> str:
    """A real function of the first input; integers are converted for it, and its results are rounded.

    Args:
        element_type: The element type to which integers are converted.
    """
    own = node.kind()
    if own.is_float:
        return narrow(node, function(working(node, 0)), own)
    real = node.cast(working(node, 0), element_type)
    return rounded_to(node, function(real), element_type, own)


def rounded_to(node: ExportNode, value: str, element_type: ElementType, own: ElementType) -> str:
    """Real numbers rounded to the nearest integers of a type, saturated at its ends, 0 for NaN."""
    rounded = node.emit("Round", value)
    zero = node.constant(0.0, element_type)
    rounded = node.emit("Where", node.emit("IsNaN", node.cast(value, ElementType.f32)), zero, rounded)
    bits = own.bits
    low = -(2.0 ** (bits - 1)) if own.is_signed else 0.0
    high = 2.0 ** (bits - own.is_signed) - 1
    if bits == 64:
        high = float(np.nextafter(high + 1, 0))
    clipped = node.emit("Clip", rounded, node.constant(low, element_type), node.constant(high, element_type))
    integers = node.cast(clipped, working_type(own))
    if not own.is_signed and bits > 8:
        # Negative numbers wrap.
        wrapped = node.cast(node.cast(rounded, ElementType.i64), own)
        integers = node.emit("Where", node.emit("Less", rounded, zero), wrapped, integers)
    return narrow(node, integers, own)
