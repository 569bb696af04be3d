"""Quantized operators of the domain com.microsoft."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Unpack

from ir_exec import build
from ir_exec.build import Value
from ir_exec.codes import Code
from ir_exec.errors import GraphError, UnsupportedError
from ir_exec.onnx.lowering.attributes import Ints
from ir_exec.onnx.lowering.registry import MICROSOFT, onnx_op
from ir_exec.onnx.lowering.values import cast, ints, known_rank, number
from ir_exec.onnx.ops.convolution import ConvAttributes
from ir_exec.onnx.ops.pooling import PoolAttributes, average_pool
from ir_exec.onnx.ops.quantization import (
    dequantize,
    dynamic_quantize_linear,
    exact_product,
    qlinear_conv,
    quantize,
)
from ir_exec.onnx.ops.recurrent_layers import RecurrentAttributes, lstm_layer
from ir_exec.types import ElementType

__all__: list[str] = []


def _quantize_like(result: Value, scale: Value, zero_point: Value | None, like: Value) -> Value:
    element_type = zero_point.element_type if zero_point is not None else like.element_type
    return quantize(result, scale, zero_point, element_type)


def _binary(name: str, function: Callable[[Value, Value], Value]) -> None:
    def convert(
        a: Value,
        a_scale: Value,
        a_zero_point: Value | None,
        b: Value,
        b_scale: Value,
        b_zero_point: Value | None,
        c_scale: Value,
        c_zero_point: Value | None = None,
    ) -> Value:
        result = function(dequantize(a, a_scale, a_zero_point), dequantize(b, b_scale, b_zero_point))
        return _quantize_like(result, c_scale, c_zero_point, a)

    onnx_op(name, since=1, domain=MICROSOFT)(convert)


_binary("QLinearAdd", build.add)
_binary("QLinearMul", build.multiply)


@onnx_op("QLinearSigmoid", since=1, domain=MICROSOFT)
def qlinear_sigmoid(
    x: Value, x_scale: Value, x_zero_point: Value | None, y_scale: Value, y_zero_point: Value | None
) -> Value:
    return _quantize_like(build.sigmoid(dequantize(x, x_scale, x_zero_point)), y_scale, y_zero_point, x)


@onnx_op("QLinearLeakyRelu", since=1, domain=MICROSOFT)
def qlinear_leaky_relu(
    x: Value, x_scale: Value, x_zero_point: Value | None, y_scale: Value, y_zero_point: Value | None, *, alpha: float
) -> Value:
    plain = dequantize(x, x_scale, x_zero_point)
    return _quantize_like(build.prelu(plain, number(alpha, plain)), y_scale, y_zero_point, x)


@onnx_op("QLinearSoftmax", since=1, domain=MICROSOFT)
def qlinear_softmax(
    x: Value, x_scale: Value, x_zero_point: Value | None, y_scale: Value, y_zero_point: Value, *, axis: int, opset: int
) -> Value:
    if opset < 13 and axis not in (-1, known_rank(x, "the input") - 1):
        raise UnsupportedError("a softmax over several axes is not supported")
    output = build.softmax(dequantize(x, x_scale, x_zero_point), axis=axis)
    return _quantize_like(output, y_scale, y_zero_point, x)


@onnx_op("QLinearWhere", since=1, domain=MICROSOFT)
def qlinear_where(
    condition: Value,
    x: Value,
    x_scale: Value,
    x_zero_point: Value,
    y: Value,
    y_scale: Value,
    y_zero_point: Value,
    z_scale: Value,
    z_zero_point: Value,
) -> Value:
    output = build.select(condition, dequantize(x, x_scale, x_zero_point), dequantize(y, y_scale, y_zero_point))
    return _quantize_like(output, z_scale, z_zero_point, x)


@onnx_op("QLinearConcat", since=1, domain=MICROSOFT)
def qlinear_concat(y_scale: Value, y_zero_point: Value, *inputs: Value, axis: int) -> Value:
    """Concatenate inputs given as triples of a tensor, its scale and its zero point."""
    if not inputs or len(inputs) % 3:
        raise GraphError(
            "the node has",
            actual=len(inputs),
            detail="inputs after the first two",
            expected="a multiple of 3",
            code=Code.wrong_number_of_inputs,
        )
    parts = [dequantize(*inputs[start : start + 3]) for start in range(0, len(inputs), 3)]
    return _quantize_like(build.concat(parts, axis), y_scale, y_zero_point, inputs[0])


def _channels_first(data: Value, last: bool) -> tuple[Value, Ints]:
    """The data with its channels after the batch, and the permutation that moves them back."""
    rank = known_rank(data, "the input")
    if not last:
        return data, tuple(range(rank))
    return build.transpose(data, ints(0, rank - 1, *range(1, rank - 1))), (0, *range(2, rank), 1)


@onnx_op("QLinearAveragePool", since=1, domain=MICROSOFT)
def qlinear_average_pool(
    x: Value,
    x_scale: Value,
    x_zero_point: Value | None,
    y_scale: Value,
    y_zero_point: Value | None,
    *,
    channels_last: bool,
    count_include_pad: bool,
    **attributes: Unpack[PoolAttributes],
) -> Value:
    plain, back = _channels_first(dequantize(x, x_scale, x_zero_point), channels_last)
    pooled = average_pool(plain, count_include_pad=count_include_pad, dilations=(), **attributes)
    pooled = build.transpose(pooled, ints(*back)) if channels_last else pooled
    return _quantize_like(pooled, y_scale, y_zero_point, x)


@onnx_op("QLinearGlobalAveragePool", since=1, domain=MICROSOFT)
def qlinear_global_average_pool(
    x: Value, x_scale: Value, x_zero_point: Value, y_scale: Value, y_zero_point: Value, *, channels_last: bool
) -> Value:
    rank = known_rank(x, "the input")
    axes = range(1, rank - 1) if channels_last else range(2, rank)
    means = build.reduce_mean(dequantize(x, x_scale, x_zero_point), ints(*axes), keep_dims=True)
    return _quantize_like(means, y_scale, y_zero_point, x)


@onnx_op("QLinearReduceMean", since=1, domain=MICROSOFT)
def qlinear_reduce_mean(
    data: Value,
    data_scale: Value,
    data_zero_point: Value | None,
    reduced_scale: Value,
    reduced_zero_point: Value | None,
    *,
    axes: Ints,
    keepdims: bool,
) -> Value:
    """The mean over all axes if none is given."""
    over = ints(*axes) if axes else ints(*range(known_rank(data, "the input")))
    means = build.reduce_mean(dequantize(data, data_scale, data_zero_point), over, keep_dims=keepdims)
    return _quantize_like(means, reduced_scale, reduced_zero_point, data)


@onnx_op("QLinearConv", since=1, domain=MICROSOFT)
def qlinear_conv_of_channels(
    x: Value,
    x_scale: Value,
    x_zero_point: Value,
    w: Value,
    w_scale: Value,
    w_zero_point: Value,
    y_scale: Value,
    y_zero_point: Value,
    bias: Value | None,
    *,
    channels_last: bool,
    **attributes: Unpack[ConvAttributes],
) -> Value:
    """QLinearConv of ONNX, with optionally the channels as the last axis."""
    data, back = _channels_first(x, channels_last)
    weights, output_scale = (w, w_scale, w_zero_point), (y_scale, y_zero_point)
    output = qlinear_conv(data, x_scale, x_zero_point, *weights, *output_scale, bias, **attributes)
    return build.transpose(output, ints(*back)) if channels_last else output


@onnx_op("QuantizeLinear", since=1, domain=MICROSOFT)
def quantize_linear(data: Value, scale: Value, zero_point: Value | None, *, axis: int = 1) -> Value:
    element_type = zero_point.element_type if zero_point is not None else ElementType.u8
    return quantize(data, scale, zero_point, element_type, axis=axis)


@onnx_op("DequantizeLinear", since=1, domain=MICROSOFT)
def dequantize_linear(data: Value, scale: Value, zero_point: Value | None, *, axis: int = 1) -> Value:
    return dequantize(data, scale, zero_point, axis=axis)


def _scale_product(product: Value, scales: Sequence[Value], bias: Value | None) -> Value:
    result = cast(product, ElementType.f32)
    for scale in scales:
        result = build.multiply(result, _as_number(scale)) if _is_one(scale) else (build.multiply(result, scale))
    return result if bias is None else build.add(result, bias)


def _as_number(scale: Value) -> Value:
    """A scale of one element, reshaped to a scalar."""
    return build.squeeze(scale) if scale.rank else scale


def _is_one(value: Value) -> bool:
    return value.rank == 0 or (value.shape.is_static and value.shape.static == (1,))


@onnx_op("MatMulIntegerToFloat", since=1, domain=MICROSOFT)
def matmul_integer_to_float(
    a: Value,
    b: Value,
    a_scale: Value,
    b_scale: Value,
    a_zero_point: Value | None,
    b_zero_point: Value | None,
    bias: Value | None,
) -> Value:
    product = exact_product(a, b, a_zero_point, b_zero_point)
    scale = build.multiply(_as_number(a_scale), b_scale)
    return _scale_product(product, [scale], bias)


@onnx_op("QGemm", since=1, domain=MICROSOFT)
def qgemm(
    a: Value,
    a_scale: Value,
    a_zero_point: Value,
    b: Value,
    b_scale: Value,
    b_zero_point: Value,
    c: Value | None,
    y_scale: Value | None,
    y_zero_point: Value | None,
    *,
    alpha: float,
    transA: bool,
    transB: bool,
) -> Value:
    """alpha (a b + c) in integers times both scales; floats if there is no scale of the output.

    Scales and zero points of `b` have one element, or one for each column of the product.
    """
    a = build.transpose(a, ints(1, 0)) if transA else a
    b = build.transpose(b, ints(1, 0)) if transB else b
    product = exact_product(a, b, a_zero_point, b_zero_point)
    product = product if c is None else build.add(product, c)
    scale = build.multiply(_as_number(a_scale), b_scale)
    product = _scale_product(product, [build.multiply(scale, number(alpha, scale))], None)
    return product if y_scale is None else _quantize_like(product, y_scale, y_zero_point, a)


@onnx_op("DynamicQuantizeMatMul", since=1, domain=MICROSOFT)
def dynamic_quantize_matmul(
    a: Value, b: Value, b_scale: Value, b_zero_point: Value | None, bias: Value | None
) -> Value:
    """The left matrix is quantized to u8 by its own minimum and maximum."""
    axes = ints(*range(known_rank(a, "the input")))
    zero, most = number(0, a), number(255, a)
    low = build.minimum(build.reduce_min(a, axes, keep_dims=False), zero)
    high = build.maximum(build.reduce_max(a, axes, keep_dims=False), zero)
    scale = build.divide(build.subtract(high, low), most)
    scale = build.select(build.equal(scale, zero), number(1, a), scale)
    point = build.round(build.divide(build.negative(low), scale), mode="half_to_even")
    point = cast(build.clamp(point, min=0.0, max=255.0), ElementType.u8)
    return matmul_integer_to_float(
        quantize(a, scale, point, ElementType.u8), b, scale, b_scale, point, b_zero_point, bias
    )


@onnx_op("DynamicQuantizeLSTM", since=1, domain=MICROSOFT)
def dynamic_quantize_lstm(
    x: Value,
    w: Value,
    r: Value,
    b: Value | None,
    lengths: Value | None,
    h: Value | None,
    c: Value | None,
    p: Value | None,
    w_scale: Value | None,
    w_zero_point: Value | None,
    r_scale: Value | None,
    r_zero_point: Value | None,
    *,
    input_forget: bool,
    **attributes: Unpack[RecurrentAttributes],
) -> list[Value]:
    """An LSTM with weights of 8 bits, [directions, inputs, gates], whose inputs and states are quantized to 8 bits.

    The inputs of all steps share a scale, and each state has its own.
    """
    return lstm_layer(
        (
            _quantize_over_range(x),
            _weights(w, w_scale, w_zero_point),
            _weights(r, r_scale, r_zero_point),
            b,
            lengths,
            h,
            c,
            p,
        ),
        input_forget=input_forget,
        rounded=_quantize_over_range,
        **attributes,
    )


def _quantize_over_range(data: Value) -> Value:
    """The values after quantization of the data over its range."""
    return dequantize(*dynamic_quantize_linear(data))


def _weights(stored: Value, scale: Value | None, zero_point: Value | None) -> Value:
    """[directions, gates, inputs] in floats, with one scale for each direction or for each of its gates."""
    if scale is None or zero_point is None:
        raise GraphError("the scales and the zero points of the weights are missing", code=Code.wrong_number_of_inputs)
    axes = ints(1, 2) if known_rank(scale, "the scale") == 1 else ints(1)
    shifted = build.subtract(cast(stored, ElementType.f32), build.unsqueeze(cast(zero_point, ElementType.f32), axes))
    return build.transpose(build.multiply(shifted, build.unsqueeze(scale, axes)), ints(0, 2, 1))
