"""Convolutions of integers of 8 bits minus zero points: ConvInteger, for which onnxruntime has a kernel.

Const or value (u8, i8) -> Convert [-> Subtract] [-> Reshape] -> Convolution, GroupConvolution
"""

from __future__ import annotations

from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ir_exec.graph import Value
from ir_exec.ops.arithmetic.binary import Subtract
from ir_exec.ops.convolution.convolution import GroupConvolution
from ir_exec.ops.infrastructure.values import Const
from ir_exec.ops.shape import Reshape, Squeeze, Unsqueeze
from ir_exec.ops.type import Convert
from ir_exec.types import Array, ElementType

if TYPE_CHECKING:
    from ir_exec.onnx.export.node import ExportNode

__all__ = ["convolve_integers"]

_BYTES = (ElementType.u8, ElementType.i8)

_WORKING = (ElementType.u8, ElementType.i8, ElementType.i16, ElementType.i32)
"""Element types of convolutions whose sums are those of i32, in range or modulo their size."""


class _ByteTensor(NamedTuple):
    """A tensor of integers of 8 bits, and the scalar that is subtracted from it.

    Attributes:
        zero: "" for 0.
    """

    name: str
    element_type: ElementType
    zero: str = ""


def convolve_integers(node: ExportNode, attributes: dict[str, Any]) -> str | None:
    """The i32 output of a ConvInteger for a convolution of integers; None if the inputs have more than 8 bits.

    Args:
        attributes: The attributes of Conv.
    """
    if node.kind() not in _WORKING or any(pad < 0 for pad in attributes.get("pads", ())):
        return None
    data, filters = (_parts(node, value) if value is not None else None for value in node.values[:2])
    shape = node.types[1].shape
    if data is None or filters is None or (isinstance(node.op, GroupConvolution) and not shape.is_static):
        return None
    total = ""
    for (left_sign, left), (right_sign, right) in product(data, filters):
        if isinstance(node.op, GroupConvolution):
            groups, outputs, *sizes = shape.static
            right = right._replace(name=node.reshape(right.name, [groups * outputs, *sizes]))
        left = _to_unsigned(node, left) if left.element_type is ElementType.i8 else left
        inputs = [left.name, right.name]
        if left.zero or right.zero:
            inputs += [
                operand.zero or node.constant(np.zeros((), operand.element_type.dtype)) for operand in (left, right)
            ]
        part = node.emit("ConvInteger", *inputs, kinds=ElementType.i32, **attributes)
        total = part if not total else node.emit("Add" if left_sign == right_sign else "Sub", total, part)
    return total


def _parts(node: ExportNode, value: Value) -> list[tuple[int, _ByteTensor]] | None:
    """Integers of 8 bits whose sum, with these signs, is a value; None for a value of more bits.

    The first sign is positive. With a zero point for each channel, values have 9 bits: they are split by sign.
    """
    operand = _operand(node, value)
    if operand is not None:
        return [(1, operand)]
    name = node.lowerer.names.get(value)
    if name is None or not _has_nine_bits(node, value):
        return None
    zero = node.scalar_like(0, name)
    halves = [node.emit("Max", number, zero) for number in (name, node.emit("Neg", name))]
    element_type = ElementType.u8
    return [
        (sign, _ByteTensor(node.cast(half, element_type), element_type))
        for sign, half in zip((1, -1), halves, strict=True)
    ]


def _has_nine_bits(node: ExportNode, value: Value) -> bool:
    """Return True for constants from -255 to 255, and for differences of integers of 8 bits of one element type."""
    array = node.lowerer.type_of(value).value
    if array is not None:
        return array.size == 0 or (int(array.min()) >= -255 and int(array.max()) <= 255)
    source = value.node
    if isinstance(source.op, Reshape):
        return _has_nine_bits(node, source.values_in[0])
    if not isinstance(source.op, Subtract):
        return False
    element_type = _stored_type(node, source.values_in[0])
    zeros = node.lowerer.type_of(source.values_in[1]).value
    if element_type is None or zeros is None:
        return element_type is not None and element_type is _stored_type(node, source.values_in[1])
    low, high = (0, 255) if element_type is ElementType.u8 else (-128, 127)
    return zeros.size == 0 or (int(zeros.min()) >= low and int(zeros.max()) <= high)


def _stored_type(node: ExportNode, value: Value) -> ElementType | None:
    """The element type of 8 bits from which a value is converted; None for another origin."""
    while isinstance(value.node.op, Convert | Reshape | Squeeze | Unsqueeze):
        value = value.node.values_in[0]
        element_type = node.lowerer.type_of(value).element_type
        if element_type in _BYTES:
            return element_type
    return None


def _operand(node: ExportNode, value: Value) -> _ByteTensor | None:
    """The integers of 8 bits from which a value originates; None if it has others."""
    lowerer, source = node.lowerer, value.node
    element_type = lowerer.type_of(value).element_type
    if element_type in _BYTES:
        name = lowerer.names.get(value)
        return None if name is None else _ByteTensor(name, element_type)
    if isinstance(source.op, Const):
        return _constant(node, value)
    if isinstance(source.op, Convert):
        stored = source.values_in[0]
        return _operand(node, stored) if lowerer.type_of(stored).element_type in _BYTES else None
    if isinstance(source.op, Subtract):
        operand = _operand(node, source.values_in[0])
        zero = None if operand is None or operand.zero else _scalar(node, source.values_in[1], operand.element_type)
        return None if operand is None or zero is None else operand._replace(zero=zero)
    shape = lowerer.type_of(value).shape
    if isinstance(source.op, Reshape) and shape.is_static:
        operand = _operand(node, source.values_in[0])
        return None if operand is None else operand._replace(name=node.reshape(operand.name, shape.static))
    return None


def _constant(node: ExportNode, value: Value) -> _ByteTensor | None:
    """A constant as integers of 8 bits, with the least element as negative zero point if they are below both types."""
    array = node.lowerer.type_of(value).value
    if array is None or not array.size:
        return None
    least, most = int(array.min()), int(array.max())
    zero = 0
    element_type = ElementType.i8 if least < 0 else ElementType.u8
    if least < -128 or most > (127 if least < 0 else 255):
        element_type, zero = ElementType.u8, -least
    if not 0 <= zero <= 255 or most + zero > 255:
        return None
    narrow = (array.astype(np.int64) + zero).astype(element_type.dtype)
    name = node.constant(narrow, element_type, name=value.node.name)
    return _ByteTensor(name, element_type, node.constant(np.array(zero), element_type) if zero else "")


def _scalar(node: ExportNode, value: Value, element_type: ElementType) -> str | None:
    """A zero point as a scalar of this element type; None for several ones, and for values of other types."""
    lowerer = node.lowerer
    array: Array | None = lowerer.type_of(value).value
    if array is not None:
        numbers = np.unique(array)
        low, high = (0, 255) if element_type is ElementType.u8 else (-128, 127)
        is_same = numbers.size == 1 and low <= numbers[0] <= high
        return node.constant(np.array(int(numbers[0])), element_type) if is_same else None
    shape = lowerer.type_of(value).shape
    if not shape.is_static or prod(shape.static) != 1:
        return None
    while isinstance(value.node.op, Convert | Reshape | Squeeze | Unsqueeze):
        value = value.node.values_in[0]
        if lowerer.type_of(value).element_type is element_type and value in lowerer.names:
            return node.reshape(lowerer.names[value], [])
    return None


def _to_unsigned(node: ExportNode, operand: _ByteTensor) -> _ByteTensor:
    """Signed integers as u8 with another zero point: onnxruntime convolves no signed data."""
    shifted = [
        node.cast(
            node.emit("Add", node.cast(name, ElementType.i32), node.constant(128, ElementType.i32)), ElementType.u8
        )
        if name
        else node.constant(128, ElementType.u8)
        for name in (operand.name, operand.zero)
    ]
    return _ByteTensor(shifted[0], ElementType.u8, shifted[1])
