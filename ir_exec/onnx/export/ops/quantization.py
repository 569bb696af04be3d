"""Lowerings of the folder quantization."""

from __future__ import annotations

import numpy as np

from ir_exec.onnx.export.node import ExportNode
from ir_exec.onnx.export.ops.common import narrow, rounded_to, working
from ir_exec.onnx.export.registry import Outputs, export
from ir_exec.ops.quantization import FakeConvert, FakeQuantize
from ir_exec.types import Array, ElementType

_CODES = {256: np.uint8, 65536: np.uint16}


@export(FakeQuantize)
def fake_quantize(node: ExportNode) -> Outputs:
    element_type = node.kind()
    limits = [node.known(position) for position in range(1, 5)]
    constants = [limit for limit in limits if limit is not None]
    if len(constants) == 4 and element_type in (ElementType.f32, ElementType.f16):
        steps = _linear(node, constants)
        if steps is not None:
            return steps
    wide = ElementType.f64 if element_type.is_integer or element_type is ElementType.f64 else ElementType.f32
    data = node.cast(working(node, 0), wide)
    steps_name = node.constant(node.op.levels - 1, wide)
    if len(constants) == 4:
        low, high, first, last = (array.astype(wide.dtype) for array in constants)
        result = _find_levels(node, data, node.constant(low), node.constant(high - low), steps_name, wide)
        step = node.constant((last - first) / wide.dtype.type(node.op.levels - 1))
        result = node.emit("Add", node.emit("Mul", result, step), node.constant(first))
        is_plain = bool(((high > low) & np.isfinite(high - low)).all())
        ends = [node.constant(array) for array in (np.minimum(low, high), np.maximum(low, high), first, last)]
    else:
        names = [node.cast(working(node, position), wide) for position in range(1, 5)]
        result = _find_levels(node, data, names[0], node.emit("Sub", names[1], names[0]), steps_name, wide)
        step = node.emit("Div", node.emit("Sub", names[3], names[2]), steps_name)
        result = node.emit("Add", node.emit("Mul", result, step), names[2])
        is_plain = False
        ends = [node.emit("Min", names[0], names[1]), node.emit("Max", names[0], names[1]), *names[2:]]
    if not is_plain:
        least, most, first_name, last_name = ends
        result = node.emit("Where", node.emit("LessOrEqual", data, least), first_name, result)
        result = node.emit("Where", node.emit("Greater", data, most), last_name, result)
    return (
        rounded_to(node, result, wide, element_type) if element_type.is_integer else narrow(node, result, element_type)
    )


def _find_levels(node: ExportNode, data: str, low: str, span: str, steps: str, wide: ElementType) -> str:
    """The index of the level of each element."""
    share = node.emit("Mul", node.emit("Div", node.emit("Sub", data, low), span), steps)
    return node.emit("Round", node.emit("Min", node.emit("Max", share, node.constant(0, wide)), steps))


def _linear(node: ExportNode, limits: list[Array]) -> str | None:
    """QuantizeLinear and DequantizeLinear, if the levels are whole multiples of a step; else None."""
    codes = _CODES.get(node.op.levels)
    if codes is None or (codes is np.uint16 and node.opset < 21):
        return None
    low, high, first, last = (array.astype(np.float32) for array in np.broadcast_arrays(*limits))
    if not (np.array_equal(low, first) and np.array_equal(high, last) and (high > low).all()):
        return None
    most = np.float32(node.op.levels - 1)
    scale = (high - low) / most
    zero = np.rint(-low / scale)
    if ((zero < 0) | (zero > most) | (-zero * scale != low) | ((most - zero) * scale != high)).any():
        return None
    axes = [axis for axis, size in enumerate(low.shape) if size > 1]
    rank = node.rank()
    if len(axes) > 1 or (axes and rank is None):
        return None
    axis = None if not axes else axes[0] - low.ndim + (rank or 0)
    shape = (-1,) if axes else ()
    steps = node.constant(scale.reshape(shape))
    zeros = node.constant(zero.reshape(shape).astype(codes))
    data = node.cast(node.inputs[0], ElementType.f32)
    quantized = node.emit("QuantizeLinear", data, steps, zeros, axis=axis, kinds=ElementType.of_dtype(np.dtype(codes)))
    dequantized = node.emit("DequantizeLinear", quantized, steps, zeros, axis=axis, kinds=ElementType.f32)
    return node.cast(dequantized, node.kind())


@export(FakeConvert, opset=19)
def fake_convert(node: ExportNode) -> Outputs:
    target = ElementType[node.op.destination_type]
    data, scale = (node.cast(node.inputs[position], ElementType.f32) for position in (0, 1))
    shift = node.cast(node.inputs[2], ElementType.f32) if node.has(2) else ""
    result = node.emit("Mul", data, scale)
    if shift:
        result = node.emit("Sub", result, shift)
    largest = 448.0 if target is ElementType.f8e4m3 else 57344.0
    halves = node.cast(result, ElementType.f16)
    limits = [node.constant(limit, ElementType.f16) for limit in (-largest, largest)]
    clipped = node.emit("Clip", halves, *limits)
    # Clip does not necessarily keep NaN.
    clipped = node.emit("Where", node.emit("IsNaN", halves), halves, clipped)
    short = node.emit("Cast", clipped, to=node.writer.code(target), kinds=target)
    result = node.cast(short, ElementType.f32)
    if shift:
        result = node.emit("Add", result, shift)
    return narrow(node, node.emit("Div", result, scale), node.kind())
