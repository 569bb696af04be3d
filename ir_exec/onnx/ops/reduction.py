"""Reductions over axes. Axes are an attribute in early versions, an input since version 13 (ReduceSum) or 18."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np

from ir_exec import build
from ir_exec.build import Value
from ir_exec.onnx.lowering.attributes import Ints
from ir_exec.onnx.lowering.registry import onnx_op
from ir_exec.onnx.lowering.values import as_i64, cast, ints, number, shape_of
from ir_exec.types import ElementType

__all__ = ["all_axes"]

Reduce = Callable[[Value, Value, bool], Value]


class _ReductionKind(NamedTuple):
    """A reduction.

    Attributes:
        reduce: Over axes.
        alone: Applied to one element if nothing is reduced.
    """

    reduce: Reduce
    alone: Callable[[Value], Value]
    since_input: int


def all_axes(data: Value) -> Value:
    """The axes of a tensor, also of unknown rank."""
    if data.rank is not None:
        return ints(*range(data.rank))
    rank = build.squeeze(shape_of(shape_of(data)), 0)
    return build.range(0, rank, 1, output_type="i64")


def _max(data: Value, axes: Value, keep: bool) -> Value:
    if data.element_type is ElementType.boolean:
        return build.reduce_logical_or(data, axes, keep_dims=keep)
    return build.reduce_max(data, axes, keep_dims=keep)


def _min(data: Value, axes: Value, keep: bool) -> Value:
    if data.element_type is ElementType.boolean:
        return build.reduce_logical_and(data, axes, keep_dims=keep)
    return build.reduce_min(data, axes, keep_dims=keep)


def _log_sum(data: Value, axes: Value, keep: bool) -> Value:
    return build.log(build.reduce_sum(data, axes, keep_dims=keep))


def _log_sum_exp(data: Value, axes: Value, keep: bool) -> Value:
    """The largest element is subtracted to prevent overflow of the exponentials."""
    if data.element_type.is_integer:
        # The exponentials of integers are computed in a type that can represent them.
        wide = cast(data, ElementType.f64)
        return cast(_log_sum_exp(wide, axes, keep), data.element_type)
    peak = build.reduce_max(data, axes, keep_dims=True)
    peak = build.select(build.is_finite(peak), peak, number(0, data))
    total = build.log(build.reduce_sum(build.exp(build.subtract(data, peak)), axes, keep_dims=keep))
    return build.add(total, peak if keep else build.reduce_sum(peak, axes, keep_dims=False))


def _sum_square(data: Value, axes: Value, keep: bool) -> Value:
    return build.reduce_sum(build.multiply(data, data), axes, keep_dims=keep)


def _identity(data: Value) -> Value:
    return data


_KINDS = {
    "ReduceL1": _ReductionKind(lambda x, axes, keep: build.reduce_l1(x, axes, keep_dims=keep), build.abs, 18),
    "ReduceL2": _ReductionKind(lambda x, axes, keep: build.reduce_l2(x, axes, keep_dims=keep), build.abs, 18),
    "ReduceLogSum": _ReductionKind(_log_sum, build.log, 18),
    "ReduceLogSumExp": _ReductionKind(_log_sum_exp, _identity, 18),
    "ReduceMax": _ReductionKind(_max, _identity, 18),
    "ReduceMean": _ReductionKind(lambda x, axes, keep: build.reduce_mean(x, axes, keep_dims=keep), _identity, 18),
    "ReduceMin": _ReductionKind(_min, _identity, 18),
    "ReduceProd": _ReductionKind(lambda x, axes, keep: build.reduce_prod(x, axes, keep_dims=keep), _identity, 18),
    "ReduceSum": _ReductionKind(lambda x, axes, keep: build.reduce_sum(x, axes, keep_dims=keep), _identity, 13),
    "ReduceSumSquare": _ReductionKind(_sum_square, lambda x: build.multiply(x, x), 18),
}


def _or_all(axes: Value, data: Value) -> Value:
    """Axes whose number is known only at run time: all axes of the data if there are none."""
    axes, every = as_i64(axes), all_axes(data)
    has_none = as_i64(build.equal(shape_of(axes), ints(0)))
    count = build.multiply(has_none, shape_of(every))
    return build.concat([axes, build.slice(every, ints(0), count, ints(1))], 0)


def _register(name: str, reduction: _ReductionKind) -> None:
    def by_attribute(data: Value, *, axes: Ints, keepdims: bool) -> Value:
        return reduction.reduce(data, ints(*axes) if axes else all_axes(data), keepdims)

    def by_input(data: Value, axes: Value | None, *, keepdims: bool, noop_with_empty_axes: bool) -> Value:
        if axes is None or (axes.shape.is_static and axes.shape.static == (0,)):
            if noop_with_empty_axes:
                return reduction.alone(data)
            return reduction.reduce(data, all_axes(data), keepdims)
        if not (noop_with_empty_axes or axes.shape.is_static):
            axes = _or_all(axes, data)
        return reduction.reduce(data, axes, keepdims)

    onnx_op(name, since=1)(by_attribute)
    onnx_op(name, since=reduction.since_input)(by_input)


for _name, _reduction in _KINDS.items():
    _register(_name, _reduction)


def _arg(data: Value, axis: int, keepdims: bool, mode: Literal["max", "min"], last: bool) -> Value:
    """The index of the best element along an axis; of equal elements the first, or the last."""
    searched = build.reverse(data, ints(axis if axis >= 0 else axis + (data.rank or 0)), mode="index") if last else data
    if data.element_type is ElementType.boolean:
        searched = cast(searched, ElementType.u8)
    _, indices = build.topk(searched, 1, axis, mode, "value", index_element_type="i64", stable=True)
    if last:
        size = build.gather(shape_of(data), axis, 0)
        indices = build.subtract(build.subtract(size, build.constant(np.int64(1))), indices)
    return indices if keepdims else build.squeeze(indices, ints(axis))


def _register_arg(name: str, mode: Literal["max", "min"]) -> None:
    def index_of_best(data: Value, *, axis: int, keepdims: bool, select_last_index: bool) -> Value:
        return _arg(data, axis, keepdims, mode, last=select_last_index)

    onnx_op(name, since=(1, 12))(index_of_best)


_register_arg("ArgMax", "max")
_register_arg("ArgMin", "min")
