"""Experimental operators of early versions of ONNX, which later versions removed.

They have no versions, and occur in files of any opset. They follow ONNX's text, and onnxruntime if the text is silent;
FC and GRUUnit follow Caffe2. ATen is not included, because ONNX does not define its functions.
"""

from __future__ import annotations

import numpy as np

from ir_exec import build
from ir_exec.build import Value
from ir_exec.codes import Code
from ir_exec.errors import InvalidAttributeError, ShapeError
from ir_exec.onnx.lowering.attributes import Floats, Ints
from ir_exec.onnx.lowering.registry import onnx_op
from ir_exec.onnx.lowering.values import (
    cast,
    concat,
    in_floats,
    ints,
    known_rank,
    number,
    numbers,
    reshape,
    shape_of,
    size_along,
)
from ir_exec.onnx.ops.elementwise import thresholded_relu
from ir_exec.onnx.ops.movement import slice_10
from ir_exec.onnx.reading.tensors import element_type_of

__all__: list[str] = []

_SPATIAL = 4
"""The rank of [N, C, H, W], which ImageScaler and Crop require."""


_MATRIX = 2


@onnx_op("Affine", since=1, instead="Mul and Add")
def affine(data: Value, *, alpha: float, beta: float) -> Value:
    return in_floats(data, lambda x: build.add(build.multiply(x, number(alpha, x)), number(beta, x)))


@onnx_op("Scale", since=1, instead="Mul")
def scale_(data: Value, *, scale: float) -> Value:
    return in_floats(data, lambda x: build.multiply(x, number(scale, x)))


@onnx_op("ParametricSoftplus", since=1, instead="Mul and Softplus")
def parametric_softplus(data: Value, *, alpha: float, beta: float) -> Value:
    """alpha log(exp(beta x) + 1)."""
    return build.multiply(build.softplus(build.multiply(data, number(beta, data))), number(alpha, data))


@onnx_op("ScaledTanh", since=1, instead="Mul and Tanh")
def scaled_tanh(data: Value, *, alpha: float, beta: float) -> Value:
    """alpha tanh(beta x)."""
    return build.multiply(build.tanh(build.multiply(data, number(beta, data))), number(alpha, data))


@onnx_op("ThresholdedRelu", since=1, instead="ThresholdedRelu of opset 10")
def thresholded_relu_1(data: Value, *, alpha: float) -> Value:
    return thresholded_relu(data, alpha=alpha)


@onnx_op("FC", since=1, instead="Gemm")
def fully_connected(data: Value, weights: Value, bias: Value, *, axis: int = 1, axis_w: int = 1) -> Value:
    """x W^T + b of a matrix x; the axes of both starting at `axis` and `axis_w` are merged."""
    rows, width = _as_matrix(data, axis), _as_matrix(weights, axis_w)
    product = build.add(build.matmul(rows, width, transpose_b=True), bias)
    if known_rank(data, "the input") == axis + 1 == _MATRIX:
        return product
    front = build.slice(shape_of(data), ints(0), ints(axis), ints(1))
    return build.reshape(product, concat([front, ints(-1)]), special_zero=False)


def _as_matrix(data: Value, axis: int) -> Value:
    rank = known_rank(data, "an input")
    if not 0 < axis < rank:
        raise InvalidAttributeError("axis is", actual=axis, expected=f"1 to {rank - 1}", reason=f" for rank {rank}")
    if rank == _MATRIX:
        return data
    columns = build.reduce_prod(build.slice(shape_of(data), ints(axis), ints(rank), ints(1)), 0, keep_dims=True)
    return build.reshape(data, concat([ints(-1), columns]), special_zero=False)


@onnx_op("GRUUnit", since=1, instead="GRU")
def gru_unit(hidden: Value, gates: Value, lengths: Value | None, t: Value | None, *, drop_states: bool) -> Value:
    """One step of a GRU from gates that include the products of the state: z h + (1 - z) tanh(n).

    Sequences that end before the step `t` keep their state, or are set to zeros with drop_states.

    Args:
        hidden: [1, batch, size].
        gates: [1, batch, 3 size], the gates r, z and n, with r already applied in n.
    """
    _, update, fresh = build.split(gates, -1, num_splits=3)
    share = build.sigmoid(update)
    fresh_share = build.subtract(number(1, share), share)
    state = build.add(build.multiply(share, hidden), build.multiply(fresh_share, build.tanh(fresh)))
    if lengths is None or t is None:
        return state
    goes_on = build.unsqueeze(build.less(cast(t, lengths.element_type), lengths), ints(1))
    return build.select(goes_on, state, number(0, state) if drop_states else hidden)


@onnx_op("ImageScaler", since=1, instead="Mul and Add")
def image_scaler(data: Value, *, bias: Floats, scale: float) -> Value:
    """scale x + bias, with a bias for each channel."""
    _require_image(data)
    channels = size_along(data, 1)
    if bias and channels.is_static and channels.size != len(bias):
        raise ShapeError(
            "bias has",
            actual=len(bias),
            detail="elements",
            expected=channels.size,
            reason="one for each channel",
            code=Code.dims_differ,
        )

    def scale_image(x: Value) -> Value:
        product = build.multiply(x, number(scale, x))
        return build.add(product, reshape(numbers(bias, x), 1, len(bias), 1, 1)) if bias else product

    return in_floats(data, scale_image)


@onnx_op("Crop", since=1, instead="Slice")
def crop(data: Value, *, border: Ints = (0, 0, 0, 0), scale: Ints) -> Value:
    """The input without the left, top, right, bottom `border`, or `scale` rows and columns after them."""
    _require_image(data)
    if len(border) != 4 or min(border) < 0:
        raise InvalidAttributeError("border is", actual=list(border), expected="four numbers of 0 or more")
    if scale and (len(scale) != 2 or min(scale) < 1):
        raise InvalidAttributeError("scale is", actual=list(scale), expected="the scales of height and width")
    left, top, right, bottom = border
    starts = ints(top, left)
    sizes = build.gather(shape_of(data), ints(2, 3), 0)
    ends = build.add(starts, ints(*scale)) if scale else build.subtract(sizes, ints(bottom, right))
    return build.slice(data, starts, ends, ints(1, 1), ints(2, 3))


@onnx_op("DynamicSlice", since=1, instead="Slice of opset 10")
def dynamic_slice(data: Value, starts: Value, ends: Value, axes: Value | None) -> Value:
    return slice_10(data, starts, ends, axes, None)


@onnx_op("MeanVarianceNormalization", since=1, instead="MeanVarianceNormalization of opset 9")
def mean_variance_normalization_1(data: Value, *, across_channels: bool, normalize_variance: bool) -> Value:
    """Normalize over batch and spatial axes, and over the channels too with `across_channels`, as onnxruntime does."""
    rank = known_rank(data, "the input")
    axes = ints(*range(rank) if across_channels else [axis for axis in range(rank) if axis != 1])
    return build.mvn(data, axes, eps=1e-9, normalize_variance=normalize_variance, eps_mode="outside_sqrt")


@onnx_op("ConstantFill", since=1, instead="ConstantOfShape")
def constant_fill(
    data: Value | None = None,
    *,
    dtype: int = 1,
    extra_shape: Ints = (),
    input_as_shape: bool = False,
    shape: Ints | None = None,
    value: float = 0.0,
) -> Value:
    element_type = element_type_of(dtype)
    filling = build.constant(np.asarray(value).astype(element_type.dtype))
    return build.broadcast(filling, _filled_shape(data, shape, extra_shape, input_as_shape))


@onnx_op("GivenTensorFill", since=1, instead="Constant")
def given_tensor_fill(
    data: Value | None, *, extra_shape: Ints, input_as_shape: bool, shape: Ints | None, values: Floats
) -> Value:
    """`values` in this shape; their numbers of elements must be equal."""
    dtype = np.float32 if data is None or not data.element_type.is_float else data.element_type.dtype
    filling = build.constant(np.array(values).astype(dtype))
    return build.reshape(filling, _filled_shape(data, shape, extra_shape, input_as_shape), special_zero=False)


def _filled_shape(data: Value | None, shape: Ints | None, extra: Ints, is_shape: bool) -> Value:
    """The attribute `shape`; or the shape of the input, or its value, followed by further dims."""
    if data is None or shape is not None:
        if data is not None or shape is None or extra:
            raise InvalidAttributeError(
                "the shape is given by the wrong attributes",
                expected="either the attribute shape, or an input with or without extra_shape",
            )
        if min(shape, default=0) < 0:
            raise InvalidAttributeError("shape is", actual=list(shape), expected="sizes of 0 or more")
        return ints(*shape)
    if is_shape:
        return concat([build.convert(data, "i64"), ints(*extra)]) if extra else build.convert(data, "i64")
    return concat([shape_of(data), ints(*extra)]) if extra else shape_of(data)


def _require_image(data: Value) -> None:
    rank = known_rank(data, "the input")
    if rank != _SPATIAL:
        raise ShapeError("the input has rank", actual=rank, expected=4, reason=": [N, C, H, W]", code=Code.wrong_rank)
