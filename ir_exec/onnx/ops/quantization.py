"""Integers, and floats of 8 bits, with a scale and a zero point."""

from __future__ import annotations

from typing import NamedTuple, Unpack

import numpy as np

from ir_exec import build
from ir_exec.build import Value
from ir_exec.build.values import BuiltLayer, current_scope
from ir_exec.codes import Code
from ir_exec.errors import ElementTypeError, ShapeError
from ir_exec.onnx.lowering.registry import onnx_op
from ir_exec.onnx.lowering.values import (
    GraphValue,
    Narrow,
    cast,
    dims_of,
    known_rank,
    known_size,
    normal_axis,
    number,
    reshape,
    shape_of,
    size_along,
)
from ir_exec.onnx.ops.convolution import ConvAttributes, convolve
from ir_exec.onnx.ops.type import convert_saturated, convert_to, type_of
from ir_exec.onnx.reading.tensors import element_type_of, is_narrow
from ir_exec.types import Array, ElementType

__all__ = ["dequantize", "exact_product", "quantize", "spread"]

_BOUNDS = {
    ElementType.i4: (-8, 7),
    ElementType.i8: (-128, 127),
    ElementType.i16: (-(2**15), 2**15 - 1),
    ElementType.i32: (-(2**31), 2**31 - 1),
    ElementType.u2: (0, 3),
    ElementType.u4: (0, 15),
    ElementType.u8: (0, 255),
    ElementType.u16: (0, 2**16 - 1),
}

_EXACT = 2**24
"""Integers up to this magnitude are exact in f32."""


def spread(value: Value, data: Value, axis: int, block: int = 0) -> Value:
    """A scale or zero point reshaped to broadcast: one number, one for each index of an axis, or one for each block."""
    own = known_rank(value, "the scale")
    if own == 0:
        return reshape(value)
    if own == 1 and value.shape.is_static and value.shape.static == (1,):
        return build.squeeze(value, 0)
    rank = known_rank(data, "the input")
    # An axis that the input does not have occurs with one number for all elements.
    if own == 1 and not -rank <= axis < rank and known_size(value, 0, "the size of the scale") == 1:
        return build.squeeze(value, 0)
    axis = normal_axis(axis, rank)
    if own == 1 and not block:
        return build.unsqueeze(value, list(range(1, rank - axis))) if rank - axis > 1 else value
    if own != rank:
        raise ShapeError(
            "the scale has rank", actual=own, expected=rank, reason="the rank of the input", code=Code.wrong_rank
        )
    size = build.gather(shape_of(data), axis, 0)
    places = build.divide(build.range(0, size, 1, output_type="i64"), build.constant(np.int64(block or 1)))
    return build.gather(value, places, axis)


def quantize(
    data: Value,
    scale: Value,
    zero_point: Value | None,
    element_type: ElementType,
    *,
    axis: int = 1,
    block: int = 0,
    saturate: bool = True,
    precision: ElementType | None = None,
) -> Value:
    """round(data / scale) + zero point, saturated to the element type; floats round when they are stored."""
    precision = precision or (scale.element_type if scale.element_type.is_float else ElementType.f32)
    divided = build.divide(cast(data, precision), spread(cast(scale, precision), data, axis, block))
    # Further steps are exact in f32, even for integers that f16 cannot represent.
    wide = cast(divided, ElementType.f64 if element_type is ElementType.i32 else ElementType.f32)
    if element_type is ElementType.f32:
        return wide
    if element_type.is_float:
        if zero_point is not None:
            wide = build.add(wide, spread(cast(zero_point, wide.element_type), data, axis, block))
        return convert_saturated(wide, element_type, saturate)
    if element_type not in _BOUNDS:
        raise ElementTypeError(f"the output is {element_type}, which quantization does not support")
    codes = build.round(wide, mode="half_to_even")
    if zero_point is not None:
        codes = build.add(codes, spread(cast(zero_point, wide.element_type), data, axis, block))
    low, high = _BOUNDS[element_type]
    return cast(build.clamp(codes, min=float(low), max=float(high)), element_type)


def dequantize(
    data: Value,
    scale: Value,
    zero_point: Value | None,
    *,
    axis: int = 1,
    block: int = 0,
    element_type: ElementType | None = None,
) -> Value:
    """(data - zero point) times the scale, in the type of the scale or in `element_type`."""
    if element_type in (None, ElementType.f32):
        result = _as_fake_quantize(data, scale, zero_point, axis, block)
        if result is not None:
            return result
    wide = ElementType.f64 if data.element_type is ElementType.i32 and zero_point is not None else ElementType.f32
    values = cast(data, wide)
    if zero_point is not None:
        values = build.subtract(values, spread(cast(zero_point, wide), data, axis, block))
    values = build.multiply(values, spread(cast(scale, wide), data, axis, block))
    return cast(values, element_type or scale.element_type)


@onnx_op("QuantizeLinear", since=(10, 13, 19, 21, 23))
def quantize_linear(
    data: Value,
    scale: Value,
    zero_point: GraphValue,
    *,
    axis: int,
    block_size: int,
    output_dtype: int,
    precision: int,
    saturate: bool,
) -> GraphValue:
    """The result has the type of the zero point; without one the type is `output_dtype`, or u8."""
    from onnx import TensorProto

    code = type_of(zero_point) if zero_point is not None else output_dtype or TensorProto.UINT8
    zero = zero_point.value if isinstance(zero_point, Narrow) else zero_point
    assert zero is None or isinstance(zero, Value)
    computed = element_type_of(precision) if precision else None
    if not is_narrow(code):
        element_type = element_type_of(code)
        return quantize(
            data, scale, zero, element_type, axis=axis, block=block_size, saturate=saturate, precision=computed
        )
    if TensorProto.DataType.Name(code) == "INT2":
        wide = quantize(data, scale, zero, ElementType.i8, axis=axis, block=block_size, precision=computed)
        return Narrow(build.clamp(wide, min=-2.0, max=1.0), code)
    wide = quantize(data, scale, zero, ElementType.f32, axis=axis, block=block_size, precision=computed)
    return convert_to(wide, code, saturate)


_LEVELS = 256

_LAYOUTS = frozenset({"Reshape", "Squeeze", "Transpose", "Unsqueeze"})
"""Operators between a quantization and its dequantization that may follow both."""


def _apply_layout(data: Value, layer: BuiltLayer) -> Value:
    """The data after the operator of a layer of `_LAYOUTS`."""
    order = layer.inputs[1]
    if layer.type == "Reshape":
        return build.reshape(data, order, special_zero=bool(vars(layer.op)["special_zero"]))
    if layer.type == "Transpose":
        return build.transpose(data, order)
    return build.squeeze(data, order) if layer.type == "Squeeze" else build.unsqueeze(data, order)


class _Quantization(NamedTuple):
    """The layers of `quantize`, for integers of 8 bits.

    Attributes:
        steps: The data divided by the scale, and rounded.
        scale: Broadcasts to the data, as does the zero point.
    """

    steps: Value
    scale: Value
    zero_point: Array


def _quantization_of(data: Value) -> _Quantization | None:
    """The quantization that computes a value; None for values of other layers, and for constants."""
    layers = []
    for type in ("Convert", "Clamp", "Add", "Round", "Divide"):
        layer = data.layer
        if layer.type != type:
            if type == "Add":
                continue
            return None
        if layer.scope is not current_scope():
            return None
        layers.append(layer)
        data = layer.inputs[0]
    zero = layers[2].inputs[1].constant if len(layers) == 5 else np.zeros((), np.float32)
    scale = layers[-1].inputs[1]
    if zero is None or scale.constant is None or scale.element_type is not ElementType.f32 or data.constant is not None:
        return None
    return _Quantization(layers[-2].outputs[0], scale, zero)


def _as_fake_quantize(data: Value, scale: Value, zero_point: Value | None, axis: int, block: int) -> Value | None:
    """The dequantized values of a quantization with equal parameters; None without one.

    The codes less their zero point are rounded exactly, and then again by a FakeQuantize of 256 integer levels, which
    changes none: from it, OpenVINO recognizes the quantization.
    """
    if data.element_type not in (ElementType.u8, ElementType.i8) or scale.element_type is not ElementType.f32:
        return None
    moves = []
    source = data
    while source.layer.type in _LAYOUTS and len(source.layer.inputs) == 2 and source.layer.scope is current_scope():
        moves.append(source.layer)
        source = source.layer.inputs[0]
    quantization = _quantization_of(source)
    if quantization is None or (
        moves and quantization.scale.constant is not None and quantization.scale.constant.size != 1
    ):
        return None
    own_scale = spread(scale, data, axis, block).constant
    own_zero = np.zeros((), np.float32)
    if zero_point is not None:
        zero = spread(cast(zero_point, ElementType.f32), data, axis, block).constant
        if zero is None:
            return None
        own_zero = zero
    if own_scale is None or quantization.scale.constant is None:
        return None
    pairs = ((own_scale, quantization.scale.constant), (own_zero, quantization.zero_point))
    if not all(mine.size == theirs.size or 1 in (mine.size, theirs.size) for mine, theirs in pairs):
        return None
    if not all((mine.ravel() == theirs.ravel()).all() for mine, theirs in pairs):
        return None
    points = np.unique(quantization.zero_point)
    if points.size != 1:
        # OpenVINO has no FakeQuantize with limits for each index of every axis.
        return None
    low, high = (build.constant(np.float32(end - points[0])) for end in _BOUNDS[source.element_type])
    codes = build.fake_quantize(quantization.steps, low, high, low, high, levels=_LEVELS)
    result = build.multiply(codes, quantization.scale)
    for layer in reversed(moves):
        result = _apply_layout(result, layer)
    return result


@onnx_op("DequantizeLinear", since=(10, 13, 21, 23))
def dequantize_linear(
    data: GraphValue, scale: Value, zero_point: GraphValue, *, axis: int, block_size: int, output_dtype: int
) -> Value:
    tensor, zero = (operand.value if isinstance(operand, Narrow) else operand for operand in (data, zero_point))
    assert isinstance(tensor, Value)
    assert zero is None or isinstance(zero, Value)
    element_type = element_type_of(output_dtype) if output_dtype else None
    return dequantize(tensor, scale, zero, axis=axis, block=block_size, element_type=element_type)


@onnx_op("DynamicQuantizeLinear", since=11)
def dynamic_quantize_linear(data: Value) -> list[Value]:
    """Quantize over the whole range, including zero. If all elements are zero the scale is 1, as in onnxruntime."""
    axes = build.range(0, build.squeeze(shape_of(shape_of(data))), 1, output_type="i64")
    low = build.minimum(build.reduce_min(data, axes, keep_dims=False), number(0, data))
    high = build.maximum(build.reduce_max(data, axes, keep_dims=False), number(0, data))
    scale = build.divide(build.subtract(high, low), number(255, data))
    scale = build.select(build.greater(scale, number(0, data)), scale, number(1, data))
    steps = build.clamp(build.divide(build.negative(low), scale), min=0, max=255)
    zero_point = cast(build.round(steps, mode="half_to_even"), ElementType.u8)
    return [quantize(data, scale, zero_point, ElementType.u8), scale, zero_point]


def exact_product(a: Value, b: Value, a_zero: Value | None, b_zero: Value | None) -> Value:
    """The matrix product of integers of 8 bits minus their zero points, as i32.

    It is computed in a float type in which every sum is exact; processors multiply floats fastest.
    """
    depth = size_along(a, -1) if a.rank else None
    small = depth is not None and depth.is_bounded and depth.hi * 255 * 255 <= _EXACT
    float_type = ElementType.f32 if small else ElementType.f64
    parts = []
    for value, zero, is_row in ((a, a_zero, True), (b, b_zero, False)):
        wide = cast(value, float_type)
        if zero is not None:
            wide = build.subtract(wide, _by_row(cast(zero, float_type), is_row))
        parts.append(wide)
    return cast(build.matmul(*parts), ElementType.i32)


def _by_row(value: Value, is_row: bool) -> Value:
    """Scales and zero points of rank 1 apply to the rows of the left matrix, and to the columns of the right one."""
    if known_rank(value, "the scale") != 1:
        return value
    if dims_of(value, "the scale") == (1,):
        return build.squeeze(value, 0)
    return build.unsqueeze(value, 1) if is_row else value


@onnx_op("MatMulInteger", since=10)
def matmul_integer(a: Value, b: Value, a_zero_point: Value | None, b_zero_point: Value | None) -> Value:
    return exact_product(a, b, a_zero_point, b_zero_point)


@onnx_op("QLinearMatMul", since=10)
def qlinear_matmul(
    a: Value,
    a_scale: Value,
    a_zero_point: Value,
    b: Value,
    b_scale: Value,
    b_zero_point: Value,
    y_scale: Value,
    y_zero_point: Value,
) -> Value:
    product = exact_product(a, b, a_zero_point, b_zero_point)
    wide = ElementType.f32
    scale = build.multiply(_by_row(cast(a_scale, wide), True), _by_row(cast(b_scale, wide), False))
    scaled = build.multiply(cast(product, wide), scale)
    return quantize(scaled, _by_row(cast(y_scale, wide), True), _by_row(y_zero_point, True), y_zero_point.element_type)


@onnx_op("QLinearConv", since=10)
def qlinear_conv(
    x: Value,
    x_scale: Value,
    x_zero_point: Value,
    w: Value,
    w_scale: Value,
    w_zero_point: Value,
    y_scale: Value,
    y_zero_point: Value,
    bias: Value | None,
    **attributes: Unpack[ConvAttributes],
) -> Value:
    """The bias is an integer whose scale is the product of the scales of data and weights."""
    wide = ElementType.f32
    data = build.subtract(cast(x, wide), spread(cast(x_zero_point, wide), x, 1))
    filters = build.subtract(cast(w, wide), spread(cast(w_zero_point, wide), w, 0))
    product = convolve(data, filters, None if bias is None else cast(bias, wide), **attributes)
    scale = build.multiply(build.squeeze(x_scale) if x_scale.rank else x_scale, w_scale)
    scaled = build.multiply(product, spread(scale, product, 1))
    return quantize(scaled, y_scale, y_zero_point, y_zero_point.element_type)
