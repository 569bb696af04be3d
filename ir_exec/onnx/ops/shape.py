"""Operators that return shapes, and operators that create tensors of a shape."""

from __future__ import annotations

import numpy as np

from ir_exec import build
from ir_exec.build import Value
from ir_exec.codes import Code
from ir_exec.errors import InvalidAttributeError, ShapeError
from ir_exec.onnx.lowering.attributes import Tensor
from ir_exec.onnx.lowering.graphs import Call
from ir_exec.onnx.lowering.registry import onnx_op
from ir_exec.onnx.lowering.values import as_i64, as_vector, cast, ints, shape_of
from ir_exec.onnx.reading.tensors import element_type_of
from ir_exec.types import ElementType

__all__ = ["scalar_range"]


@onnx_op("Shape", since=(1, 15))
def shape(data: Value, *, start: int, end: int | None) -> Value:
    sizes = shape_of(data)
    if start == 0 and end is None:
        return sizes
    return build.slice(sizes, ints(start), ints(2**31 - 1 if end is None else end), ints(1))


@onnx_op("Size", since=1)
def size(data: Value) -> Value:
    return build.reduce_prod(shape_of(data), ints(0), keep_dims=False)


@onnx_op("ConstantOfShape", since=9)
def constant_of_shape(shape: Value, *, value: Tensor | None, call: Call) -> Value:
    fill = np.zeros(1, np.float32) if value is None else call.array(value)
    if fill.size != 1:
        raise InvalidAttributeError("value has", actual=fill.size, detail="elements", expected="one")
    return build.broadcast(build.constant(fill.reshape(())), as_vector(shape))


@onnx_op("EyeLike", since=9)
def eye_like(data: Value, *, dtype: int | None, k: int) -> Value:
    element_type = data.element_type if dtype is None else element_type_of(dtype)
    if data.rank not in (None, 2):
        raise ShapeError("the input has rank", actual=data.rank, expected=2, code=Code.wrong_rank)
    sizes = shape_of(data)
    eye_type = ElementType.i8 if element_type not in _EYE else element_type
    eye = build.eye(build.gather(sizes, 0, 0), build.gather(sizes, 1, 0), ints(k), output_type=eye_type)
    return cast(eye, element_type)


_EYE = frozenset(ElementType[name] for name in ["f16", "bf16", "f32", "f64", "i8", "i32", "i64", "u8"])


def scalar_range(start: Value, limit: Value, delta: Value) -> Value:
    """A range in the element type of its start; each limit may have any rank with one element."""
    first, end, step = (
        value if value.rank == 0 else build.reshape(value, ints(), special_zero=False)
        for value in (start, limit, delta)
    )
    return build.range(first, end, step, output_type=start.element_type)


@onnx_op("Range", since=(11, 27))
def range_(start: Value, limit: Value, delta: Value, *, stash_type: int, since: int) -> Value:
    """Since version 27, 16-bit floats are computed in the type that `stash_type` declares."""
    if since < 27 or start.element_type not in (ElementType.f16, ElementType.bf16):
        return scalar_range(start, limit, delta)
    first, end, step = (cast(value, element_type_of(stash_type)) for value in (start, limit, delta))
    return cast(scalar_range(first, end, step), start.element_type)


@onnx_op("OneHot", since=9)
def one_hot(indices: Value, depth: Value, values: Value, *, axis: int) -> Value:
    """Negative indices count from the end: in version 9 too, as in onnxruntime, against its text."""
    depth = build.reshape(as_i64(depth), ints(), special_zero=False)
    off, on = (build.gather(values, position, 0) for position in (0, 1))
    return build.one_hot(as_i64(indices), depth, on, off, axis, negative_indices_mode="normalize")


@onnx_op("NonZero", since=9)
def non_zero(data: Value) -> Value:
    return build.non_zero(data, output_type="i64")
