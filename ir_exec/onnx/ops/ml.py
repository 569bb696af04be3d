"""Operators of the domain ai.onnx.ml that tensors and tables say."""

from __future__ import annotations

import numpy as np

from ir_exec import build
from ir_exec.build import Value
from ir_exec.errors import InvalidAttributeError, UnsupportedError
from ir_exec.onnx.attributes import Floats, Ints, Strings, Tensor
from ir_exec.onnx.convert import Call
from ir_exec.onnx.registry import ML, onnx_op
from ir_exec.onnx.values import as_i64, cast, checked_gather, ints, number, numbers, reshape
from ir_exec.types import Array, ElementType

__all__: list[str] = []


@onnx_op("ArrayFeatureExtractor", since=1, domain=ML)
def array_feature_extractor(data: Value, indices: Value) -> Value:
    """Columns of the last axis, in two axes at least."""
    if data.rank == 1:
        data = build.unsqueeze(data, ints(0))
    return checked_gather(data, reshape(indices, -1), -1)


@onnx_op("Binarizer", since=1, domain=ML)
def binarizer(data: Value, *, threshold: float = 0.0) -> Value:
    """1 above the threshold, a float, which integers are compared with as f64."""
    wide = cast(data, ElementType.f64) if data.element_type.is_integer else data
    return cast(build.greater(wide, number(threshold, wide)), data.element_type)


@onnx_op("Scaler", since=1, domain=ML)
def scaler(data: Value, *, offset: Floats = (), scale: Floats = ()) -> Value:
    """(data - offset) * scale, in f32; both are one number, or one for each column."""
    data = cast(data, ElementType.f32)
    moved = build.subtract(data, numbers(offset, data)) if offset else data
    return build.multiply(moved, numbers(scale, data)) if scale else moved


@onnx_op("LinearRegressor", since=1, domain=ML)
def linear_regressor(
    data: Value,
    *,
    coefficients: Floats = (),
    intercepts: Floats = (),
    post_transform: str = "NONE",
    targets: int = 1,
) -> Value:
    """A column of sums for each target, whose coefficients lie in one row."""
    data = cast(data, ElementType.f32)
    if targets < 1 or not coefficients or len(coefficients) % targets:
        raise InvalidAttributeError(f"{len(coefficients)} coefficients for {targets} targets")
    weights = np.array(coefficients, np.float32).reshape(targets, -1)
    found = build.matmul(data, build.constant(weights), transpose_b=True)
    found = build.add(found, numbers(intercepts, found)) if intercepts else found
    if post_transform == "NONE":
        return found
    if post_transform == "LOGISTIC":
        return build.sigmoid(found)
    if post_transform == "SOFTMAX":
        return build.softmax(found, axis=-1)
    raise UnsupportedError(f"post_transform {post_transform}")


@onnx_op("LabelEncoder", since=2, domain=ML)
def label_encoder_2(
    data: Value,
    *,
    default_float: float = -0.0,
    default_int64: int = -1,
    default_string: str = "_Unused",
    keys_floats: Floats = (),
    keys_int64s: Ints = (),
    keys_strings: Strings = (),
    values_floats: Floats = (),
    values_int64s: Ints = (),
    values_strings: Strings = (),
) -> Value:
    keys = _column(keys_floats, keys_int64s, keys_strings, "keys")
    values = _column(values_floats, values_int64s, values_strings, "values")
    default = default_string if values_strings else default_int64 if values_int64s else default_float
    return _looked_up(data, keys, values, np.array([default], values.dtype))


@onnx_op("LabelEncoder", since=4, domain=ML)
def label_encoder(
    data: Value,
    *,
    default_float: float = -0.0,
    default_int64: int = -1,
    default_string: str = "_Unused",
    default_tensor: Tensor | None = None,
    keys_floats: Floats = (),
    keys_int64s: Ints = (),
    keys_strings: Strings = (),
    keys_tensor: Tensor | None = None,
    values_floats: Floats = (),
    values_int64s: Ints = (),
    values_strings: Strings = (),
    values_tensor: Tensor | None = None,
    call: Call,
) -> Value:
    if keys_tensor is not None:
        keys = call.array(keys_tensor)
    else:
        keys = _column(keys_floats, keys_int64s, keys_strings, "keys")
    if values_tensor is not None:
        values = call.array(values_tensor)
    else:
        values = _column(values_floats, values_int64s, values_strings, "values")
    if default_tensor is not None:
        default = call.array(default_tensor)
        if default.size != 1:
            raise InvalidAttributeError(f"default_tensor has {default.size} elements, expected one")
        default = default.reshape(1)
    elif values.dtype == object:
        default = np.array([default_string], object)
    else:
        default = np.array([default_float if values.dtype.kind == "f" else default_int64]).astype(values.dtype)
    return _looked_up(data, keys.ravel(), values.ravel(), default)


def _column(floats: Floats, integers: Ints, strings: Strings, what: str) -> Array:
    given = [one for one in (floats, integers, strings) if one]
    if len(given) != 1:
        raise InvalidAttributeError(f"expected one list of {what}")
    if strings:
        return np.array(strings, object)
    return np.array(floats, np.float32) if floats else np.array(integers, np.int64)


def _looked_up(data: Value, keys: Array, values: Array, default: Array) -> Value:
    """The value behind the last key that an element equals; NaN equals NaN."""
    if len(keys) != len(values):
        raise InvalidAttributeError(f"{len(keys)} keys and {len(values)} values")
    apart, known = build.unsqueeze(data, ints(-1)), build.constant(keys)
    equal = build.equal(apart, known)
    if keys.dtype.kind == "f":
        equal = build.logical_or(equal, build.logical_and(build.is_nan(apart), build.is_nan(known)))
    places = build.constant(np.arange(1, len(keys) + 1))
    place = build.reduce_max(build.select(equal, places, build.constant(np.int64(0))), ints(-1), keep_dims=False)
    return build.gather(build.constant(np.concatenate([default, values])), as_i64(place), 0)
