"""Quantizations to 256 integer levels and back: QuantizeLinear and DequantizeLinear.

value -> Divide (scale) -> Round -> FakeQuantize (integers) -> Multiply (scale)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ir_exec.graph import Value
from ir_exec.ops.arithmetic.binary import Divide, Multiply
from ir_exec.ops.arithmetic.unary import Round
from ir_exec.ops.quantization import FakeQuantize
from ir_exec.types import Array, ElementType

if TYPE_CHECKING:
    from ir_exec.onnx.export.node import ExportNode

__all__ = ["emit_levels"]

_STEPS = 255


def emit_levels(node: ExportNode) -> str | None:
    """The output of a DequantizeLinear for a Multiply that ends a quantization; None for other layers."""
    if not isinstance(node.op, Multiply) or node.kind() is not ElementType.f32 or len(node.values) != 2:
        return None
    codes, scale_value = node.values
    scale = node.known(1)
    if codes is None or scale_value is None or scale is None:
        return None
    source = _find_dividend(node, codes, scale)
    low = None if source is None else _lowest_code(node, codes)
    if source is None or low is None:
        return None
    rank = node.lowerer.type_of(source).rank
    axes = {axis - array.ndim for array in (scale, low) for axis, size in enumerate(array.shape) if size > 1}
    if len(axes) > 1 or rank is None:
        return None
    shape: tuple[int, ...] = ()
    axis = None
    if axes:
        axis = rank + min(axes)
        shape = (max(scale.size, low.size),)
    factors, lowest = (
        np.broadcast_to(array.reshape(-1) if shape else array.reshape(()), shape) for array in (scale, low)
    )
    element_type = ElementType.i8 if (lowest == -128).all() else ElementType.u8
    points = (0 if element_type is ElementType.i8 else -lowest) * np.ones(shape)
    inputs = [node.constant(factors, ElementType.f32), node.constant(points, element_type)]
    name = node.lowerer.names[source]
    quantized = node.emit("QuantizeLinear", name, *inputs, axis=axis, kinds=element_type)
    return node.emit("DequantizeLinear", quantized, *inputs, axis=axis, kinds=ElementType.f32)


def _find_dividend(node: ExportNode, codes: Value, scale: Array) -> Value | None:
    """The value whose quotient by the scale is rounded to codes; None if they have another origin."""
    if not isinstance(codes.node.op, FakeQuantize):
        return None
    rounded = codes.node.values_in[0].node
    if not isinstance(rounded.op, Round) or rounded.op.mode != "half_to_even":
        return None
    quotient = rounded.values_in[0].node
    if not isinstance(quotient.op, Divide) or len(quotient.values_in) != 2:
        return None
    source, divisor = quotient.values_in
    divisor_value = node.lowerer.type_of(divisor).value
    is_equal = divisor_value is not None and divisor_value.shape == scale.shape and np.array_equal(divisor_value, scale)
    return source if is_equal and source in node.lowerer.names else None


def _lowest_code(node: ExportNode, codes: Value) -> Array | None:
    """The lowest level of a FakeQuantize whose levels are 256 successive integers around 0; None for other levels."""
    limits = [node.lowerer.type_of(value).value for value in codes.node.values_in[1:]]
    if len(limits) != 4 or any(limit is None for limit in limits):
        return None
    low, high, first, last = (np.asarray(limit) for limit in limits)
    same = low.shape == high.shape and np.array_equal(low, first) and np.array_equal(high, last)
    levels = getattr(codes.node.op, "levels", 0)
    if not same or levels != _STEPS + 1 or not (high - low == _STEPS).all():
        return None
    return low if ((low == np.rint(low)) & (low <= 0) & (high >= 0)).all() else None
