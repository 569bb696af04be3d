"""Lowerings of the folder quantization."""

from __future__ import annotations

import numpy as np

from ir_exec.graph import Value
from ir_exec.graph.constant_parts import is_constant_part, read_numbers
from ir_exec.onnx.export.node import ExportNode
from ir_exec.onnx.export.ops.common import narrow, rounded_to, working
from ir_exec.onnx.export.registry import Outputs, export
from ir_exec.ops.base.bodies import WeightsReader
from ir_exec.ops.quantization import FakeConvert, FakeQuantize
from ir_exec.types import Array, ElementType

_CODES = {256: np.uint8, 65536: np.uint16}

_ZERO_SHIFT = 1 / 16
"""Maximum distance of 0 from a level, in steps, if levels become integers: limits in f16 move it as far."""


@export(FakeQuantize)
def fake_quantize(node: ExportNode) -> Outputs:
    element_type = node.kind()
    limits = [node.known(position) for position in range(1, 5)]
    constants = [limit for limit in limits if limit is not None]
    if len(constants) == 4 and element_type in (ElementType.f32, ElementType.f16):
        steps = _integers(node, constants) if node.writer.int8 else None
        steps = steps or _linear(node, constants)
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


def _integers(node: ExportNode, limits: list[Array]) -> str | None:
    """Up to 256 levels as unsigned integers of 8 bits, with 0 nearly at a level; None for other levels.

    The levels of the input may differ from those of the output.
    """
    count = node.op.levels
    low, high, first, last = (array.astype(np.float64) for array in np.broadcast_arrays(*limits))
    if not 2 <= count <= 256 or not (high > low).all() or not (last > first).all():
        return None
    steps = [(most - least) / (count - 1) for least, most in ((low, high), (first, last))]
    zeros = [-least / step for least, step in zip((low, first), steps, strict=True)]
    zero_levels = [np.rint(zero) for zero in zeros]
    if any((abs(zero - level) > _ZERO_SHIFT).any() for zero, level in zip(zeros, zero_levels, strict=True)):
        return None
    if any((level < 0).any() or (level > count - 1).any() for level in zero_levels):
        return None
    value = node.values[0]
    weights = node.lowerer.weights
    if value is not None and weights is not None and is_constant_part(value):
        return _integer_constant(node, value, weights, (low, steps[0], zero_levels[0]), (steps[1], zero_levels[1]))
    axes = [axis for axis, size in enumerate(low.shape) if size > 1]
    rank = node.rank()
    if len(axes) > 1 or (axes and rank is None):
        return None
    axis = None if not axes else axes[0] - low.ndim + (rank or 0)
    shape = (-1,) if axes else ()
    inputs, outputs = (
        [
            node.constant(step.reshape(shape).astype(np.float32)),
            node.constant(level.reshape(shape).astype(np.uint8)),
        ]
        for step, level in zip(steps, zero_levels, strict=True)
    )
    data = node.cast(node.inputs[0], ElementType.f32)
    codes = node.emit("QuantizeLinear", data, *inputs, axis=axis, kinds=ElementType.u8)
    if count < 256:
        codes = node.emit("Clip", codes, node.constant(0, ElementType.u8), node.constant(count - 1, ElementType.u8))
    dequantized = node.emit("DequantizeLinear", codes, *outputs, axis=axis, kinds=ElementType.f32)
    return node.cast(dequantized, node.kind())


def _integer_constant(
    node: ExportNode,
    value: Value,
    weights: WeightsReader,
    levels: tuple[Array, Array, Array],
    outputs: tuple[Array, Array],
) -> str | None:
    """A quantized constant as integers times a step: signed ones, or unsigned ones minus their zero points.

    Args:
        levels: The lowest level of the input, the step, and the index of the level of 0.
        outputs: The step of the output, and the index of the level of 0.
    """
    (low, step, _), (factor, zero) = levels, outputs
    count, shape = node.op.levels, node.dims()
    if not shape.is_static:
        return None
    is_signed = not (zero > 128).any() and not (count - 1 - zero > 127).any()
    shift = zero if is_signed else np.zeros(())
    element_type = ElementType.i8 if is_signed else ElementType.u8

    def quantize() -> Array:
        numbers = read_numbers(value, weights)
        index = np.rint((numbers - low.astype(np.float32)) / step.astype(np.float32))
        codes: Array = (np.clip(index, 0, count - 1) - shift).astype(element_type.dtype)
        return codes

    name = node.writer.element_constant(f"{node.name}/codes", element_type, shape.static, quantize)
    numbers = node.cast(name, ElementType.f32)
    if not is_signed:
        numbers = node.emit("Sub", numbers, node.constant(zero, ElementType.f32))
    return node.cast(node.emit("Mul", numbers, node.constant(factor, ElementType.f32)), node.kind())


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
