"""Operators of the domain ai.onnx.ml that are expressed by tensors and tables."""

from __future__ import annotations

import numpy as np

from ir_exec import build
from ir_exec.build import Value
from ir_exec.codes import Code
from ir_exec.errors import ElementTypeError, InvalidAttributeError, ShapeError
from ir_exec.onnx.lowering.attributes import Floats, Ints, Strings, Tensor, chosen
from ir_exec.onnx.lowering.graphs import Call
from ir_exec.onnx.lowering.registry import ML, onnx_op
from ir_exec.onnx.lowering.values import (
    as_i64,
    cast,
    checked_gather,
    concat,
    ints,
    known_rank,
    known_size,
    number,
    numbers,
    reshape,
    size_along,
)
from ir_exec.onnx.ops.lookups import look_up
from ir_exec.types import Array, ElementType

__all__: list[str] = []


@onnx_op("ArrayFeatureExtractor", since=1, domain=ML)
def array_feature_extractor(data: Value, indices: Value) -> Value:
    """Columns of the last axis, with at least two axes."""
    if data.rank == 1:
        data = build.unsqueeze(data, ints(0))
    return checked_gather(data, reshape(indices, -1), -1)


@onnx_op("Binarizer", since=1, domain=ML)
def binarizer(data: Value, *, threshold: float) -> Value:
    """1 above the threshold, a float to which integers are compared as f64."""
    wide = cast(data, ElementType.f64) if data.element_type.is_integer else data
    return cast(build.greater(wide, number(threshold, wide)), data.element_type)


@onnx_op("Scaler", since=1, domain=ML)
def scaler(data: Value, *, offset: Floats, scale: Floats) -> Value:
    """(data - offset) * scale, in f32 or, for f64, in f64; both have one element, or one for each column."""
    wide = data if data.element_type is ElementType.f64 else cast(data, ElementType.f32)
    moved = build.subtract(wide, numbers(offset, wide)) if offset else wide
    return cast(build.multiply(moved, numbers(scale, wide)) if scale else moved, ElementType.f32)


@onnx_op("Normalizer", since=1, domain=ML)
def normalizer(data: Value, *, norm: str) -> Value:
    """Each row divided by its maximum, its L1 norm or its L2 norm; rows of zeros are unchanged."""
    chosen("norm", norm, {name: name for name in ("MAX", "L1", "L2")})
    if known_rank(data, "the input") not in (1, 2):
        raise ShapeError("the input has rank", actual=data.rank, expected="1 or 2", code=Code.wrong_rank)
    data = cast(data, ElementType.f32)
    if norm == "MAX":
        divisor = build.reduce_max(data, ints(-1), keep_dims=True)
    elif norm == "L1":
        divisor = build.reduce_sum(build.abs(data), ints(-1), keep_dims=True)
    else:
        divisor = build.sqrt(build.reduce_sum(build.multiply(data, data), ints(-1), keep_dims=True))
    divisor = build.select(build.equal(divisor, number(0, divisor)), number(1, divisor), divisor)
    return build.divide(data, divisor)


@onnx_op("Imputer", since=1, domain=ML)
def imputer(
    data: Value,
    *,
    imputed_value_floats: Floats,
    imputed_value_int64s: Ints,
    replaced_value_float: float,
    replaced_value_int64: int,
) -> Value:
    """Replace a number, which may be NaN, by one value for each column, or for all."""
    is_float = data.element_type.is_float
    values: Floats | Ints = imputed_value_floats if is_float else imputed_value_int64s
    replaced = replaced_value_float if is_float else replaced_value_int64
    if bool(imputed_value_floats) == bool(imputed_value_int64s) or not values:
        raise InvalidAttributeError(
            "the lists of imputed values do not fit",
            expected="one list",
            reason=f" of the kind of the input ({data.element_type})",
        )
    if len(values) > 1:
        columns = known_size(data, -1, "the number of columns")
        # onnxruntime uses the first value if their number differs from the columns.
        values = values if columns == len(values) else values[:1]
    missing = build.is_nan(data) if np.isnan(replaced) else build.equal(data, number(replaced, data))
    return build.select(missing, numbers(values, data) if len(values) > 1 else number(values[0], data), data)


@onnx_op("OneHotEncoder", since=1, domain=ML)
def one_hot_encoder(data: Value, *, cats_int64s: Ints, cats_strings: Strings, zeros: bool) -> Value:
    """A last axis with 1 at the category of each element; without `zeros` every element must have a category."""
    keys = _column((), cats_int64s, cats_strings, "categories")
    if (data.element_type is ElementType.string) != bool(cats_strings):
        raise ElementTypeError("the input is", actual=data.element_type, expected="the kind of the categories")
    count = len(keys)
    elements = data if cats_strings else as_i64(data)
    index = look_up(elements, keys, np.arange(count, dtype=np.int64), np.array([count], np.int64))
    return checked_gather(build.constant(np.eye(count + zeros, count, dtype=np.float32)), index, 0)


@onnx_op("CategoryMapper", since=1, domain=ML)
def category_mapper(
    data: Value, *, cats_int64s: Ints, cats_strings: Strings, default_int64: int, default_string: str
) -> Value:
    """Strings as integers, and integers as strings."""
    numbered, named = np.array(cats_int64s, np.int64), np.array(cats_strings, object)
    if data.element_type is ElementType.string:
        return look_up(data, named, numbered, np.array([default_int64], np.int64))
    return look_up(data, numbered, named, np.array([default_string], object))


@onnx_op("FeatureVectorizer", since=1, domain=ML)
def feature_vectorizer(*inputs: Value, inputdimensions: Ints) -> Value:
    """Concatenate the rows of all inputs, each truncated or padded with zeros to its number of columns."""
    if not inputs or len(inputs) != len(inputdimensions) or min(inputdimensions) < 0:
        raise InvalidAttributeError(
            "inputdimensions has",
            actual=len(inputdimensions),
            detail="elements",
            expected=len(inputs),
            reason="one for each input",
        )
    parts = []
    for data, width in zip(inputs, inputdimensions, strict=True):
        rank = known_rank(data, "an input")
        wide = cast(data, ElementType.f32)
        rows = build.reshape(wide, ints(1, -1) if rank == 1 else ints(0, -1), special_zero=True)
        padded = build.pad(rows, ints(0, 0), ints(0, width), number(0, rows), pad_mode="constant")
        parts.append(build.slice(padded, ints(0), ints(width), ints(1), ints(1)))
    return concat(parts, 1)


@onnx_op("ZipMap", since=1, domain=ML)
def zip_map(data: Value, *, classlabels_int64s: Ints, classlabels_strings: Strings, call: Call) -> Value:
    """The scores unchanged: IR has no maps from labels to them."""
    count = len(_column((), classlabels_int64s, classlabels_strings, "labels"))
    if known_rank(data, "the scores") not in (1, 2):
        raise ShapeError("the scores have rank", actual=data.rank, expected="1 or 2", code=Code.wrong_rank)
    columns = size_along(data, -1)
    if columns.is_static and columns.size != count:
        raise ShapeError(
            "a row has",
            actual=columns.size,
            detail="scores",
            expected=count,
            reason="one for each label",
            code=Code.dims_differ,
        )
    message = "the output is a tensor of scores, [rows, labels], in place of maps from labels to scores"
    hint = "export without ZipMap: options={'zipmap': False} in skl2onnx, zipmap=False in onnxmltools"
    call.warn(ElementTypeError(message, code=Code.value_info, severity="warning", hint=hint))
    return build.unsqueeze(data, ints(0)) if data.rank == 1 else data


@onnx_op("LabelEncoder", since=1, domain=ML)
def label_encoder_1(data: Value, *, classes_strings: Strings, default_int64: int, default_string: str) -> Value:
    """Strings as their indices in a list, and indices as strings."""
    places = tuple(range(len(classes_strings)))
    return category_mapper(
        data,
        cats_int64s=places,
        cats_strings=classes_strings,
        default_int64=default_int64,
        default_string=default_string,
    )


@onnx_op("LabelEncoder", since=(2, 4), domain=ML)
def label_encoder(
    data: Value,
    *,
    default_float: float,
    default_int64: int,
    default_string: str,
    default_tensor: Tensor | None,
    keys_floats: Floats,
    keys_int64s: Ints,
    keys_strings: Strings,
    keys_tensor: Tensor | None,
    values_floats: Floats,
    values_int64s: Ints,
    values_strings: Strings,
    values_tensor: Tensor | None,
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
            raise InvalidAttributeError("default_tensor has", actual=default.size, detail="elements", expected="one")
        default = default.reshape(1)
    elif values.dtype == object:
        default = np.array([default_string], object)
    else:
        default = np.array([default_float if values.dtype.kind == "f" else default_int64]).astype(values.dtype)
    return look_up(data, keys.ravel(), values.ravel(), default)


def _column(floats: Floats, integers: Ints, strings: Strings, what: str) -> Array:
    lists = [values for values in (floats, integers, strings) if values]
    if len(lists) != 1:
        raise InvalidAttributeError("the node has", actual=len(lists), detail=f"lists of {what}", expected=1)
    if strings:
        return np.array(strings, object)
    return np.array(floats, np.float32) if floats else np.array(integers, np.int64)
